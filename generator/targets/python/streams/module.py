"""One streamed schema to the view of its module."""

from __future__ import annotations

from kodec.generator.schema import expr as ex
from kodec.generator.schema.kinds import Kinds, Scope
from kodec.generator.schema.model import Enum, Field, Instance, Param, Schema, Struct
from kodec.generator.targets.python.context import Context
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.names import attribute, camel
from kodec.generator.targets.python.streams.expressions import Here
from kodec.generator.targets.python.streams.reader import Reader
from kodec.generator.targets.python.streams.runs import looks_at_stream
from kodec.generator.targets.python.streams.views import ClassView, Code, Property, StreamModule
from kodec.generator.targets.python.streams.writer import Writer
from kodec.generator.targets.python.views.modules import Attribute, EnumClass, EnumMember
from kodec.generator.text import Text, docstring

__all__ = ["stream_module"]


def stream_module(back: ModelIndex, kinds: Kinds, schema: Schema) -> StreamModule:
    """The view of the module of a streamed schema."""
    return _Module(back, kinds, schema).build()


class _Module:
    def __init__(self, back: ModelIndex, kinds: Kinds, schema: Schema) -> None:
        self.context = Context(back, schema)
        self.back = back
        self.kinds = kinds
        self.schema = schema
        self.fields: dict[tuple[str, tuple[str, ...]], int] = {}
        self.reader = Reader(self.context, kinds, self.fields)
        self.writer = Writer(self.context, kinds, self.fields)
        self.each = self.reader.eachable(schema.root)

    def build(self) -> StreamModule:
        classes = tuple(self._class(struct) for struct in self.schema.structs)
        enums = tuple(self._enum(enum) for enum in self.schema.enums)
        context = self.context
        siblings = sorted(
            (context.relative(schema), sorted(names)) for schema, names in context.sibling_names.items()
        )
        head = self.schema.title or Text(camel(self.schema.id))
        doc = self.schema.root.doc
        return StreamModule(
            self.schema,
            context.path,
            docstring(Text.of(head, ".\n\n", doc) if doc else Text.of(head, "."), ""),
            tuple(siblings),
            tuple(self.fields),
            enums,
            classes,
            tuple(sorted([each.name for each in classes] + [each.name for each in enums])),
            self._in_circle(),
        )

    def _in_circle(self) -> bool:
        """Whether the schema imports itself through others."""
        todo, seen = list(self.schema.imports), set[str]()
        while todo:
            each = todo.pop()
            if each not in seen:
                seen.add(each)
                todo += self.context.model.schema(each).imports
        return self.schema.id in seen

    def _enum(self, enum: Enum) -> EnumClass:
        names = self.context.enum_names(enum.name)
        members = [EnumMember(names[item.id], item.value, docstring(item.doc, "    ")) for item in enum.items]
        return EnumClass(self.back.enum_class(enum.name), enum.name.replace("::", "."), tuple(members))

    def _class(self, struct: Struct) -> ClassView:
        doc = struct.doc or Text(f"`{struct.id}` of {self.schema.path}.")
        for index, source in enumerate(struct.doc_ref):
            doc = Text.of(doc, "; " if index else "\n\nSource: ", source)
        each = self.each.get(struct.name, ())
        return ClassView(
            name=self.back.classes[struct.name],
            doc=docstring(doc, "    "),
            part=self.kinds.needs_others(struct),
            params=tuple(self._param(param) for param in struct.params),
            attrs=tuple(self._attribute(spec) for spec in struct.fields),
            properties=tuple(self._property(struct, instance) for instance in struct.instances),
            read=tuple(self.reader.read(struct)),
            write=tuple(self.writer.write(struct)),
            each=tuple(attribute(spec.id) for spec in each),
            read_each=tuple(self.reader.read(struct, each)) if each else (),
        )

    def _param(self, param: Param) -> Attribute:
        kind = self.kinds.of_param(param)
        plain = kind.name in ("integer", "float", "boolean", "text", "bytes", "enum")
        # an object that is told of another may be inside it
        default = "" if plain else " = field(repr=False, compare=False)"
        return Attribute(
            attribute(param.id), self.reader.kind_type(kind), default, docstring(param.doc, "    ")
        )

    def _attribute(self, spec: Field) -> Attribute:
        text = self.reader.annotation(spec)
        optional = spec.condition is not None and not text.endswith("None")
        default = "None" if optional or text.endswith("None") else "REQUIRED"
        if spec.contents is not None and spec.condition is None and spec.repeat is None:
            default = repr(spec.contents)
        return Attribute(
            attribute(spec.id), f"{text} | None" if optional else text, default, docstring(spec.doc, "    ")
        )

    def _property(self, struct: Struct, instance: Instance) -> Property:
        name = attribute(instance.id)
        spec = instance.reads
        doc = docstring(instance.doc or (spec.doc if spec is not None else instance.doc), "        ")
        if spec is None:
            kind = self.kinds.of_instance(struct, instance)
            return Property(
                name, instance.id, self.reader.kind_type(kind), doc, self._value(struct, instance), (), ()
            )
        text = self.reader.annotation(spec)
        text = text if text.endswith("| None") and spec.repeat is None else f"{text} | None"
        lines: tuple[Code, ...] = tuple(self.reader.instance(struct, instance))
        given: tuple[Code, ...] = ()
        if instance.position is not None:
            given = tuple(self.writer.instance(struct, instance))
        return Property(name, instance.id, text, doc, "", lines, given)

    def _value(self, struct: Struct, instance: Instance) -> str:
        """The text that computes a value instance."""
        assert instance.value is not None
        unread = instance.id in self.kinds.asked_from_inside(self.schema.id)
        here = Here(Scope(struct), unread=unread)
        text = self.reader.emitter.text(instance.value, here)
        if instance.enum is not None:
            number = self.reader.emitter.value(instance.value, here)
            text = f"member_of({self.reader.enum(instance.enum)}, {number})"
        when = None if instance.condition is None else self.reader.emitter.value(instance.condition, here, 1)
        if looks_at_stream(instance.value) or looks_at_stream(instance.condition):
            kept = "_mark" if when is None else "_mark_if"
            given = "" if when is None else f"lambda: {when}, "
            return f'self.{kept}("{instance.id}", {given}lambda: {text})'
        if when is not None:
            text = f"({text})" if isinstance(instance.value, ex.Ternary) else text
            return f"{text} if {when} else None"
        return text
