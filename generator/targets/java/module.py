"""From a schema to the view of its class: records, enums, readers, and the fast path of its rows."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from kodec.generator.layout import Layout, Run, Variant
from kodec.generator.reserved import Taken
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Enum, Field, Param, Prim, Ref, Schema, Struct, Switch
from kodec.generator.schema.roles import codec_enum, codec_field, transparent
from kodec.generator.targets.java.expressions import plain
from kodec.generator.targets.java.names import Names, camel, component, constant
from kodec.generator.targets.java.reader import Reader, Scope, load, parts_of, stored
from kodec.generator.targets.java.rows import rows_of
from kodec.generator.targets.java.types import BYTES, JType
from kodec.generator.targets.java.views import Code, Component, EnumView, Member, Method, TopView, TypeView
from kodec.generator.targets.python.facts import Facts
from kodec.generator.text import Text, java_literal, javadoc, one_line

__all__ = ["ClassOf"]

_RUNTIME = (
    "Buffer",
    "Checksums",
    "Codecs",
    "Fields",
    "FormatException",
    "Input",
    "Load",
    "ReadOptions",
    "Stored",
    "TaggedField",
    "Values",
    "Varints",
)
_JDK = ("ArrayList", "Arrays", "List", "Objects", "UUID")


class ClassOf:
    """The class of one schema."""

    def __init__(self, back: Facts, names: Names, schema: Schema) -> None:
        self.back = back
        self.model = back.model
        self.names = names
        self.schema = schema
        self.reader = Reader(back, names, schema)
        self.types = self.reader.types

    def build(self) -> TopView:
        schema, root = self.schema, self.schema.root
        types = [self._type(struct) for struct in schema.structs if self._has_class(struct)]
        statics: list[Method] = []
        for struct in schema.structs:
            if not self.back.in_runtime(struct) and transparent(struct) is not None:
                statics += self._readers(struct)
        rows = rows_of(self.reader, schema)
        nested = [each for each in types if each.name != self.names.tops[schema.id]]
        if rows is not None:
            nested.append(rows)
        top = next((each for each in types if each not in nested), None)
        doc = Text.of(schema.title or Text(camel(schema.id)), ".")
        if top is None:
            about = javadoc(Text.of(doc, "\n\n", root.doc) if root.doc else doc, "")
            top = TypeView(self.names.tops[schema.id], about, None, (), ())
        runs = tuple(
            Member(f"private static final Fields {name} = Fields.of({_pairs(parts)});")
            for parts, name in self.reader.runs.items()
        )
        top = TypeView(top.name, top.doc, top.components, runs + top.members, top.methods + tuple(statics))
        package = self.names.package(schema)
        view = TopView(
            schema,
            f"{package.replace('.', '/')}/{top.name}.java",
            package,
            (),
            top,
            tuple(nested),
            tuple(self._enum(each) for each in schema.enums),
        )
        return dataclasses.replace(view, imports=_imports(view))

    def _has_class(self, struct: Struct) -> bool:
        return not self.back.in_runtime(struct) and transparent(struct) is None

    # -- classes ----------------------------------------------------------------------------------

    def _enum(self, enum: Enum) -> EnumView:
        doc = javadoc(Text(f"Values of `{enum.name.replace('::', '.')}`."), "    ")
        items = tuple((constant(item.id), item.value, javadoc(item.doc, "        ")) for item in enum.items)
        return EnumView(self.names.enums[enum.name], doc, items)

    def _type(self, struct: Struct) -> TypeView:
        is_top = struct is self.schema.root
        indent = "" if is_top else "    "
        components = tuple(self._components(struct))
        doc = struct.doc or Text(f"`{struct.id}` of {self.schema.path}.")
        for index, source in enumerate(struct.doc_ref):
            doc = Text.of(doc, "; " if index else "\n\nSource: ", source)
        about = javadoc(doc, indent)
        for each in components:
            about += f"\n{indent} * @param {each.name} {each.doc}"
        methods = [*self._enums_of(struct), *self._equality(struct, components), *self._readers(struct)]
        methods += self._peeks(struct)
        return TypeView(self._name(struct), about, components, tuple(self._constants(struct)), tuple(methods))

    def _name(self, struct: Struct) -> str:
        return self.names.types[struct.name]

    def _components(self, struct: Struct) -> Iterator[Component]:
        indent = "" if struct is self.schema.root else "    "

        def made(kind: JType, name: str, doc: Text) -> Component:
            words = javadoc(one_line(doc), indent).replace(" * ", " *     ") or name
            return Component(kind.text, name, words)

        for spec in struct.fields:
            section = self.back.tag_section(spec)
            if section is not None:
                for tag in section.tags:
                    yield made(self.types.of(tag.type), component(tag.id), tag.doc)
                doc = spec.doc or Text("Tagged fields that the schema does not know.")
                yield Component("List<TaggedField>", component(spec.id), made(BYTES, "", doc).doc)
                continue
            if not self.types.stored(struct, spec):
                continue
            kind = self.types.field(struct, spec)
            if spec.codec is None:
                doc = self._unsigned(spec, kind)
                yield made(kind, component(spec.id), doc)
                continue
            parsed, stored = self._codec_names(struct, spec)
            note = "Null where only the head was read"
            if parsed == component(spec.id):
                yield made(kind, parsed, Text.of(spec.doc, f" {note}."))
                yield made(
                    BYTES, stored, Text(f"The stored bytes of `{spec.id}`, where those were not parsed.")
                )
            else:
                doc = Text(
                    f"What is in `{spec.id}`, where that is compressed. {note}, or nothing is compressed."
                )
                yield made(kind, parsed, doc)
                yield made(BYTES, stored, Text.of(spec.doc, f" Null where `{parsed}` is there."))

    @staticmethod
    def _unsigned(spec: Field, kind: JType) -> Text:
        if (
            isinstance(spec.type, Prim)
            and spec.type.width == 8
            and not spec.type.signed
            and kind.kind == "long"
        ):
            return Text.of(spec.doc, " Unsigned: see Long.toUnsignedString.")
        return spec.doc

    def _own_components(self, struct: Struct) -> Taken:
        """The components that are called as the schema calls them."""
        tags = [tag for spec in struct.fields if (it := self.back.tag_section(spec)) for tag in it.tags]
        return Taken(
            component(name) for name in [each.id for each in struct.fields] + [tag.id for tag in tags]
        )

    def _codec_names(self, struct: Struct, spec: Field) -> tuple[str, str]:
        """The components of a compressible field: parsed, and as stored."""
        taken, name = self._own_components(struct), component(spec.id)
        if isinstance(spec.type, (Switch, Ref)):
            return name, taken.claim(f"{name}Stored")
        return taken.claim(f"{name}Inner"), name

    def _constants(self, struct: Struct) -> Iterator[Member]:
        if struct.topic:
            yield Member(f"public static final String TOPIC = {java_literal(struct.topic)};", "Its topic.")
        if struct.versions:
            yield Member(
                f"public static final int FIRST_VERSION = {struct.versions.first};", "The lowest version."
            )
            yield Member(
                f"public static final int LAST_VERSION = {struct.versions.last};", "The highest version."
            )
        shape = self.back.shape(struct)
        if shape.size is not None:
            yield Member(f"public static final int SIZE = {shape.size};", "Bytes that one takes.")
        else:
            yield Member(f"public static final int MIN_SIZE = {shape.least};", "The fewest bytes of one.")
        for name, at in shape.offsets.items():
            yield Member(
                f"public static final int {constant(name)}_AT = {at};",
                f"Where {{@code {name}}} starts, in bytes.",
            )
        fields = {each.id: each for each in struct.fields}
        for name in shape.formats:
            kind = fields[name].type
            if isinstance(kind, Prim) and not kind.floating:
                yield Member(
                    f"public static final Stored {constant(name)}_STORED = Stored.{stored(kind)};",
                    f"How {{@code {name}}} is stored.",
                )
            valid = fields[name].valid
            if valid is not None and isinstance(valid.eq, ex.Literal) and isinstance(valid.eq.value, int):
                yield Member(
                    f"public static final int {constant(name)}_VALUE = {valid.eq.value};",
                    f"What {{@code {name}}} always is.",
                )

    def _enums_of(self, struct: Struct) -> Iterator[Method]:
        taken = self._own_components(struct)
        for spec in struct.fields:
            if spec.enum is None or spec.repeat is not None or not self.types.stored(struct, spec):
                continue
            kind = self.types.field(struct, spec)
            if kind.kind not in ("int", "long"):
                continue
            name, enum = component(spec.id), self.names.enum(spec.enum, self.schema)
            yield Method(
                f"public {enum} {taken.claim(f'{name}Enum')}()",
                f"The member of the enum that {{@code {name}}} is; null where it has none.",
                (f"return {enum}.of({name});",),
            )

    def _equality(self, struct: Struct, components: tuple[Component, ...]) -> Iterator[Method]:
        if not any(each.type == "byte[]" for each in components):
            return
        array = "new Object[] {" + ", ".join(each.name for each in components) + "}"
        yield Method("private Object[] all()", "", (f"return {array};",))
        kind = self.names.type(struct.name, self.schema)
        yield Method(
            "@Override public boolean equals(Object other)",
            "Whether all components are equal, arrays by what they hold.",
            (
                "return other != null && getClass() == other.getClass()",
                f"        && Arrays.deepEquals(all(), (({kind}) other).all());",
            ),
        )
        yield Method(
            "@Override public int hashCode()",
            "As {@link #equals} has it.",
            ("return Arrays.deepHashCode(all());",),
        )

    # -- methods ----------------------------------------------------------------------------------

    def _readers(self, struct: Struct) -> Iterator[Method]:
        dynamic = [param for param in struct.params if param.type != "bool"]
        flags = [param for param in struct.params if param.type == "bool"]
        more = "".join(f", long {self.names.local(param.id)}" for param in dynamic)
        args = "".join(f", {self.names.local(param.id)}" for param in dynamic)
        inner = transparent(struct)
        returns = self._returns(struct)
        stem = "read" if inner is None else f"read{self.names.function(struct)}"
        holder = codec_field(struct)
        for known in self.reader.layouts.bindings(struct):
            suffix = "".join(camel(key) for key, value in known.items() if value)
            name = f"{stem}With{suffix}" if suffix else stem
            variants = self.reader.layouts.variants(struct, known)
            if struct.versions:
                yield self._dispatch(struct, name, variants, returns, more, args)
            for variant in variants:
                own = f"{name}V{variant.versions[0]}" if struct.versions else name
                own = f"{own}Head" if holder is not None else own
                body = self.reader.body(struct, variant.layout, head=holder is not None)
                doc = f"Reads {_article(struct.id)}; the input is behind it then."
                if holder is not None:
                    doc = f"Reads {_article(struct.id)} with its content as it is stored."
                head = f"{'private' if struct.versions else 'public'} static {returns} {own}(Input in{more})"
                yield Method(head, "" if struct.versions else doc, body)
            if holder is not None and not struct.versions:
                yield from self._decoded(struct, variants[0].layout, holder, name, returns)
        if inner is None:
            yield from self._from(struct, flags, more, args, returns)

    def _returns(self, struct: Struct) -> str:
        inner = transparent(struct)
        if inner is None:
            return self.names.type(struct.name, self.schema)
        kind = self.types.of(inner.type)
        return self.types.listed(kind).text if inner.repeat else kind.text

    def _dispatch(
        self, struct: Struct, name: str, variants: list[Variant], returns: str, more: str, args: str
    ) -> Method:
        code = Code()
        version = struct.version_field
        at = "in.pos"
        if struct.field(version) is not None:
            first = variants[0].layout.steps[0]
            assert isinstance(first, Run)
            place = next(f for f in first.fields if f.field is not None and f.field.id == version)
            assert isinstance(place.what, Prim)
            names = parts_of(first)
            need = place.offset + place.size
            with code.block(f"if (in.end - in.pos < {need})"):
                code.add(f"in.need({self.reader.fields_of_run(names)});")
            at = f"in.pos + {place.offset}" if place.offset else "in.pos"
            code.add("byte[] buf = in.buf;", f"long {self.names.local(version)} = {load(place.what, at)};")
        with code.block(f"switch ((int) {self.names.local(version)})"):
            for variant in variants:
                for number in variant.versions:
                    code.add(f"case {number}:")
                code.add(f"    return {name}V{variant.versions[0]}(in{args});")
            code.add("default:")
            text = java_literal(str(struct.versions))
            given = f"{java_literal(version)}, {self.names.local(version)}"
            code.add(f"    throw Input.unknownVersion({given}, {text}, {at});")
        return Method(
            f"public static {returns} {name}(Input in{more})",
            f"Reads {_article(struct.id)}, versions {struct.versions}; the input is behind it then.",
            code.text,
        )

    def _decoded(
        self, struct: Struct, layout: Layout, holder: Field, name: str, returns: str
    ) -> Iterator[Method]:
        """How stored content becomes parsed content."""
        codec = holder.codec
        assert codec is not None
        parsed, stored = self._codec_names(struct, holder)
        scope = Scope(struct, self.types)
        for spec in struct.fields:
            kind = self.types.field(struct, spec)
            scope.names[spec.id] = f"this.{component(spec.id)}", kind
        by = ex.text_of(codec.by)
        place = self.back.places(struct).get(by.partition(".")[0], 0)
        number, kind = scope.java.value(self.reader.layouts.inline(struct, codec.by))
        items = self.model.enum(codec_enum(self.model, struct, codec.by)).items
        known = ", ".join(f"{item.value} ({item.id})" for item in items)
        code = Code()
        swapped = dict(codec.replace)
        when = None
        if codec.when is not None:
            when = plain(scope.java.condition(self.reader.layouts.inline(struct, codec.when)))
        with code.block(f"switch ({number if kind.kind == 'int' else f'(int) {number}'})"):
            for item in items:
                text = java_literal(item.id)
                if item.id in swapped:
                    other = java_literal(swapped[item.id])
                    text = other if when is None else f"{when} ? {other} : {text}"
                code.add(f"case {item.value}:", f"    return {text};")
            code.add("default:")
            code.add(
                f"    throw FormatException.unsupported({java_literal(by)}, "
                f'"unknown codec", {place}, {java_literal(known)}, {number});'
            )
        yield Method(
            "public String codec()",
            f"The codec that {{@code {holder.id}}} is compressed with; {{@code none}} where it is not.",
            code.text,
        )
        yield Method(
            f"public static {returns} {name}(Input in)",
            f"Reads {_article(struct.id)} whole, what is compressed decompressed and parsed.",
            ("int start = in.pos;", f"return {name}Head(in).parsed(start, in.pos, in.opt);"),
        )
        yield self._parse(struct, layout, holder, scope, parsed, stored, returns)

    def _parse(
        self,
        struct: Struct,
        layout: Layout,
        holder: Field,
        scope: Scope,
        parsed: str,
        stored: str,
        returns: str,
    ) -> Method:
        codec = holder.codec
        assert codec is not None
        code = Code()
        path = java_literal(holder.id)
        plain_is_parsed = parsed == component(holder.id)
        code.add(f"byte[] data = this.{stored};")
        with code.block("if (data == null)"):
            code.add("return this;")
        code.add("int at = stop - data.length;", "String codec;")
        code.add("try {", "    codec = codec();", "} catch (FormatException error) {")
        code.add("    throw error.shifted(start);", "}")
        code.add("ReadOptions opt = given;")
        with code.block('if (!codec.equals("none"))'):
            code.add(f"opt = opt.inside({path}, codec, at);")
            code.add("try {", "    data = Codecs.decompressed(codec, data, opt.decompressedBytes());")
            code.add("} catch (FormatException error) {", f"    throw error.within({path}).shifted(at);", "}")
        if not plain_is_parsed:
            code.lines[-1] = "} else {"
            code.add("    return this;", "}")
        inner = self.model.struct(codec.inner)
        kind = self.types.field(struct, holder)
        code.add("Input in = new Input(data, opt);", f"{kind.text} found;")
        code.add("try {", f"    found = {self.reader.call(inner, (), scope)};", '    in.endsExactly("");')
        code.add("} catch (FormatException error) {", f"    error.within({path});")
        code.add('    throw codec.equals("none") ? error.shifted(at) : error.withinCodec(codec, at);', "}")
        scope.names[holder.id] = "found", kind
        self.reader.derived_checks(code, struct, layout, scope, after_head=True)
        args = []
        for spec in struct.fields:
            if spec is holder:
                args += ["found", "null"]
                continue
            section = self.back.tag_section(spec)
            if section is not None:
                args += [f"this.{component(name)}" for name in (*(tag.id for tag in section.tags), spec.id)]
            elif self.types.stored(struct, spec):
                args.append(f"this.{component(spec.id)}")
        code.add(f"return new {returns}({', '.join(args)});")
        return Method(
            f"public {returns} parsed(int start, int stop, ReadOptions given)",
            "The same with its content parsed; what was stored stood from {@code start} to {@code stop}.",
            code.text,
        )

    def _from(
        self, struct: Struct, flags: list[Param], more: str, args: str, returns: str
    ) -> Iterator[Method]:
        wanted = more + "".join(f", boolean {self.names.local(param.id)}" for param in flags)
        given = args + "".join(f", {self.names.local(param.id)}" for param in flags)
        read = _chosen(
            "read", [(self.names.local(param.id), camel(param.id)) for param in flags], f"(in{args})"
        )
        yield Method(
            f"public static {returns} from(byte[] data{wanted})",
            f"Reads {_article(struct.id)} that is all of {{@code data}}. Throws FormatException.",
            (f"return from(data, ReadOptions.DEFAULT{given});",),
        )
        code = Code()
        code.add("Input in = new Input(data, opt);")
        code.add("try {", f"    {returns} found = {read};", '    in.endsExactly("");', "    return found;")
        code.add("} catch (ArithmeticException error) {")
        why = '"a computed value does not fit 64 bits"'
        code.add(f'    throw FormatException.malformed("", {why}, in.pos, null, null);', "}")
        yield Method(
            f"public static {returns} from(byte[] data, ReadOptions opt{wanted})",
            f"Reads {_article(struct.id)} that is all of {{@code data}}. Throws FormatException.",
            code.text,
        )

    def _peeks(self, struct: Struct) -> Iterator[Method]:
        """Numbers that are looked at before the type is read, and what follows from them alone."""
        peeks = sorted((i for i in struct.instances if i.peek_type is not None), key=lambda i: i.peek_at or 0)
        if not peeks:
            return
        ids = {each.id for each in peeks}
        size = max((each.peek_at or 0) + each.peek_type.width for each in peeks if each.peek_type)
        yield Method(
            "public static int peekSize()",
            "The bytes that have to be there for what is looked at before one is read.",
            (f"return {size};",),
        )
        for each in peeks:
            assert each.peek_type is not None
            at = f"at + {each.peek_at}" if each.peek_at else "at"
            yield Method(
                f"public static long peek{camel(each.id)}(byte[] buf, int at)",
                javadoc(each.doc, "") or f"{each.id} of what starts at {{@code at}}.",
                (f"return {load(each.peek_type, at)};",),
            )
            yield Method(
                f"public static int peek{camel(each.id)}At()",
                f"Where {{@code {each.id}}} stands, in bytes from the start.",
                (f"return {each.peek_at};",),
            )
        for each in struct.instances:
            value = None if each.value is None else self.reader.layouts.inline(struct, each.value)
            if value is None or not ex.names(value) <= ids:
                continue
            scope = Scope(struct, self.types)
            used = sorted(ex.names(value))
            code = Code()
            for name in used:
                code.add(f"long {self.names.local(name)} = peek{camel(name)}(buf, at);")
            code.add(f"return {plain(scope.java.number(value))};")
            yield Method(
                f"public static long peek{camel(each.id)}(byte[] buf, int at)",
                javadoc(each.doc, "") or f"{each.id} of what starts at {{@code at}}.",
                code.text,
            )


def _article(name: str) -> str:
    return f"one {{@code {name}}}"


def _pairs(parts: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{java_literal(name)}, {size}" for name, size in parts)


def _chosen(stem: str, flags: list[tuple[str, str]], given: str, suffix: str = "") -> str:
    if not flags:
        return f"{stem}With{suffix}{given}" if suffix else f"{stem}{given}"
    (name, word), *rest = flags
    yes, no = _chosen(stem, rest, given, suffix + word), _chosen(stem, rest, given, suffix)
    return f"({name} ? {yes} : {no})"


def _imports(view: TopView) -> tuple[str, ...]:
    """What the text of a class names of the runtime and of the JDK."""
    lines = [*(member.text for member in view.top.members)]
    for kind in (view.top, *view.types):
        lines += [member.text for member in kind.members]
        lines += [f"{each.type} " for each in kind.components or ()]
        for method in kind.methods:
            lines += [method.head, *method.body]
    words = set(re.findall(r"\w+", "\n".join(lines)))
    found = [f"org.kodec.runtime.{name}" for name in _RUNTIME if name in words]
    return tuple(sorted(found + [f"java.util.{name}" for name in _JDK if name in words]))
