"""The Python back end: layouts to the small views that the templates print.

Everything that has to be decided (names, types, expressions, the order of derivations) is decided
here; a template only gives it shape.
"""

from __future__ import annotations

import keyword
import posixpath
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kodec.generator import expr as ex
from kodec.generator.layout import BitGroup, Layout, Layouts, One, Run, RunField, Variant, byte_order
from kodec.generator.model import (
    Bits, Bytes, Derive, Enum, Field, Model, Prim, Ref, Schema, Str, Struct, Switch, TypeRef, Valid,
)  # fmt: skip
from kodec.generator.problems import Place
from kodec.generator.pyexpr import emit, negate

__all__ = ["ModuleView", "PythonBackEnd", "attribute", "camel", "codec_field", "transparent"]

_LOCALS = {
    "buf", "pos", "end", "opt", "out", "stop", "start", "after", "error", "v", "cls", "self", "tag", "tags", "item",
    "items", "count", "data", "inner", "codec", "values", "at", "raw", "rows", "append", "make", "len", "int", "bytes",
    "bool", "str", "range", "list", "isinstance", "enumerate", "type", "max", "min", "UUID", "Struct", "struct",
}  # fmt: skip
_METHODS = {"from_bytes", "to_bytes", "read_from"}
_CODES = {"u1": "B", "s1": "b", "u2": "H", "s2": "h", "u4": "I", "s4": "i", "u8": "Q", "s8": "q", "f4": "f", "f8": "d"}
_BIT_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_READ_WIRE = {"zigzag32": "read_zigzag32", "zigzag64": "read_zigzag64", "uvarint32": "read_uvarint32", "uuid": "read_uuid"}
_WRITE_WIRE = {"zigzag32": "write_zigzag32", "zigzag64": "write_zigzag64", "uvarint32": "write_uvarint32"}
_VARINTS = ("zigzag32", "zigzag64", "uvarint32")
_LOSSLESS = {"utf-8": "surrogateescape", "ascii": "surrogateescape"}


def camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def local(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) or name in _LOCALS else name


def attribute(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) or name in _METHODS else name


@dataclass(slots=True)
class View:
    """A bag of ready-made text for a template."""

    kind: str
    facts: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.facts[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(slots=True)
class ModuleView:
    schema: Schema
    path: str
    doc: str
    runtime: list[tuple[str, list[str]]]
    siblings: list[tuple[str, list[str]]]
    uses: set[str]
    runs: list[tuple[str, str, list[tuple[str, int]], list[tuple[str, str]]]]
    enums: list[View]
    structs: list[View]
    exports: list[str]


def wrap_doc(text: str, indent: str, width: int = 100) -> str:
    """Schema documentation as the inside of a docstring: paragraphs kept, lines wrapped."""
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    parts = []
    for paragraph in text.strip().split("\n\n"):
        lines = paragraph.splitlines()
        if any(line.lstrip().startswith(("-", "*", "|")) for line in lines):
            parts.append("\n".join(f"{indent}{line.rstrip()}" for line in lines))
        else:
            parts.append(textwrap.fill(" ".join(paragraph.split()), width, initial_indent=indent, subsequent_indent=indent))
    return "\n\n".join(parts).strip()


class PythonBackEnd:
    """Views of every schema of a model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.layouts = Layouts(model)
        self.classes = {struct.name: self._class_name(schema, struct) for schema in model.schemas for struct in schema.structs}

    def _class_name(self, schema: Schema, struct: Struct) -> str:
        twins = [each for each in schema.structs if each.id == struct.id]
        return camel(struct.id) if len(twins) == 1 else "".join(camel(part) for part in struct.name.split("::")[1:])

    def _function(self, struct: Struct) -> str:
        schema = self.model.schema_of(struct.name)
        twins = [each for each in schema.structs if each.id == struct.id]
        return struct.id if len(twins) == 1 else "_".join(struct.name.split("::")[1:])

    def enum_class(self, name: str) -> str:
        return camel(name.rpartition("::")[2])

    def wanted(self, schema: Schema) -> bool:
        """Whether the schema gives a module at all; an intrinsic lives in the runtime."""
        return any(not self.in_runtime(struct) for struct in schema.structs)

    def in_runtime(self, struct: Struct) -> bool:
        if struct.wire in (*_READ_WIRE, "tags"):
            return True
        # the parts of a tagged section are framed by the runtime
        parent = struct.name.rpartition("::")[0]
        return any(
            other.wire == "tags" and any(isinstance(f.type, Ref) and f.type.target == struct.name for f in other.fields)
            for other in self.model.schema_of(struct.name).structs
            if other.name.startswith(parent) or parent.startswith(other.name.rpartition("::")[0])
        )

    def tag_section(self, spec: Field) -> Field | None:
        """The field that carries `-tags`, where `spec` is a tagged section."""
        if not isinstance(spec.type, Ref) or self.model.struct(spec.type.target).wire != "tags":
            return None
        section = self.model.struct(spec.type.target)
        for inner in section.fields:
            if isinstance(inner.type, Ref) and inner.repeat:
                for part in self.model.struct(inner.type.target).fields:
                    if part.tags:
                        return part
        return Field(spec.id, Bytes(), spec.place)

    def checksum(self, struct: Struct) -> tuple[str, int, int] | None:
        """(function, where it stands, what it covers from) of a checksum at a fixed place, over all to the type's end."""
        if struct.versions or struct.params:
            return None
        places: dict[str, int] = {}
        at = 0
        for step in self.layouts.layout(struct, {}).steps:
            places |= {spec.id: at for spec in _fields_of(step)}
            if not isinstance(step, Run):
                break
            places |= {item.field.id: at + item.offset for item in step.fields if item.field is not None}
            at += step.size
        for spec in struct.fields:
            derive = spec.derive
            if derive is None or not derive.is_checksum or (derive.last or derive.first) != struct.fields[-1].id:
                continue
            if spec.id in places and derive.first in places:
                return derive.kind, places[spec.id], places[derive.first]
        return None

    def module(self, schema: Schema) -> ModuleView:
        return _Module(self, schema).build()


@dataclass(slots=True)
class _Env:
    """How names become Python in one function: `names` maps a field to an expression."""

    names: dict[str, str]
    struct: Struct

    def __call__(self, name: str) -> str:
        return self.names[name] if name in self.names else local(name)


class _Module:
    def __init__(self, back: PythonBackEnd, schema: Schema) -> None:
        self.back = back
        self.model = back.model
        self.layouts = back.layouts
        self.schema = schema
        self.path = schema.path.removesuffix(".ksy") + ".py"
        self.uses: set[str] = set()
        self.sibling_names: dict[str, set[str]] = {}
        self.own_names = {back.classes[struct.name] for struct in schema.structs}
        for struct in schema.structs:
            self.own_names |= {f"{verb}_{back._function(struct)}" for verb in ("read", "write")}
        self.runs: dict[tuple[Any, ...], tuple[str, str, list[tuple[str, int]], list[tuple[str, str]]]] = {}

    # -- the module ---------------------------------------------------------------------------

    def build(self) -> ModuleView:
        structs = [self._struct(struct) for struct in self._ordered() if not self.back.in_runtime(struct)]
        enums = [self._enum(enum) for enum in self.schema.enums]
        exports = sorted(name for view in structs for name in view.exports)
        exports += [view.name for view in enums]
        siblings = sorted((self._relative(schema), sorted(names)) for schema, names in self.sibling_names.items())
        head = self.schema.title or camel(self.schema.id)
        doc = self.schema.root.doc
        return ModuleView(
            self.schema, self.path, wrap_doc(f"{head}.\n\n{doc}" if doc else f"{head}.", ""), self._runtime(), siblings, self.uses,
            list(self.runs.values()), enums, structs, sorted(exports),
        )  # fmt: skip

    def _ordered(self) -> list[Struct]:
        """Types before those that hold them."""
        done: dict[str, Struct] = {}

        def visit(struct: Struct, trail: tuple[str, ...]) -> None:
            if struct.name in done or struct.name in trail:
                return
            for name in _targets(struct):
                if name.partition("::")[0] == self.schema.id:
                    visit(self.model.struct(name), (*trail, struct.name))
            done[struct.name] = struct

        for struct in self.schema.structs:
            visit(struct, ())
        return list(done.values())

    _RUNTIME = {
        "compression": {"compress", "decompress"},
        "crc": {"crc32", "crc32c"},
        "errors": {"CrcMismatch", "EncodeError", "FormatError", "Malformed", "Unsupported"},
        "fields": {
            "DEFAULT_READ", "DEFAULT_WRITE", "ReadOptions", "WriteOptions", "bad_run", "bit_field", "bounded_count",
            "ends_exactly", "read_tags", "read_uuid", "span", "truncated_run", "unknown_version", "write_tags",
            "member_of", "exact_size",
        },
        "varint": {
            "ZIGZAG_SMALL", "read_uvarint32", "read_zigzag32", "read_zigzag64", "write_uvarint32", "write_zigzag32",
            "write_zigzag64",
        },
    }  # fmt: skip

    def _runtime(self) -> list[tuple[str, list[str]]]:
        found = [(module, sorted(names & self.uses)) for module, names in self._RUNTIME.items()]
        return [(module, names) for module, names in found if names]

    def use(self, *names: str) -> None:
        self.uses.update(names)

    def _relative(self, schema_id: str) -> str:
        here = posixpath.dirname(self.path)
        there = self.model.schema(schema_id).path.removesuffix(".ksy")
        relative = posixpath.relpath(there, here or ".")
        ups = relative.count("../")
        return "." * (ups + 1) + relative.replace("../", "").replace("/", ".")

    def imported(self, owner: str, name: str) -> str:
        """`name` of the module of type `owner`, imported where that is another module."""
        schema = self.model.schema_of(owner)
        if schema.id == self.schema.id:
            return name
        if name not in self.own_names:
            self.sibling_names.setdefault(schema.id, set()).add(name)
            return name
        # both modules have the name: take theirs in by a longer one
        verb, _, rest = name.partition("_")
        alias = f"{verb}_{schema.id}_{rest}" if rest else camel(schema.id) + name
        self.sibling_names.setdefault(schema.id, set()).add(f"{name} as {alias}")
        return alias

    def class_of(self, struct_name: str) -> str:
        return self.imported(struct_name, self.back.classes[struct_name])

    def _enum(self, enum: Enum) -> View:
        items = [
            {"name": item.id.upper() + ("_" if keyword.iskeyword(item.id.upper()) else ""), "value": item.value,
             "doc": wrap_doc(item.doc, "    ")}
            for item in enum.items
        ]  # fmt: skip
        return View("enum", {"name": self.back.enum_class(enum.name), "items": items, "id": enum.name.replace("::", ".")})

    # -- types and defaults -------------------------------------------------------------------

    def py_type(self, kind: TypeRef, spec: Field | None = None) -> str:
        if spec is not None and spec.enum is not None:
            return f"{self.imported(spec.enum, self.back.enum_class(spec.enum))} | int"
        match kind:
            case Prim(floating=True):
                return "float"
            case Prim():
                return "int"
            case Bits(1):
                return "bool"
            case Bits():
                return "int"
            case Bytes():
                return "bytes"
            case Str():
                return "str"
            case Ref(target):
                struct = self.model.struct(target)
                if struct.wire == "uuid":
                    self.use("UUID")
                    return "UUID"
                if struct.wire in _VARINTS:
                    return "int"
                inner = transparent(struct)
                if inner is not None:
                    text = self.py_type(inner.type, inner)
                    text = f"list[{text}]" if inner.repeat else text
                    return f"{text} | None" if inner.nullable is not None and not text.endswith("None") else text
                return self.class_of(target)
            case Switch(_, cases, default):
                kinds = {self.py_type(each) for _, each in cases}
                kinds.add("bytes" if default is None else self.py_type(default))
                return " | ".join(sorted(kinds))
        raise TypeError(kind)

    def is_nullable(self, spec: Field) -> bool:
        if spec.nullable is not None:
            return True
        if isinstance(spec.type, Ref) and not spec.repeat:
            inner = transparent(self.model.struct(spec.type.target))
            return inner is not None and inner.nullable is not None
        return False

    def annotation(self, struct: Struct, spec: Field) -> str:
        if spec.codec is not None:
            inner = self.py_type(Ref(spec.codec.inner))
            return f"{inner} | bytes" + (" | None" if spec.nullable is not None else "")
        text = self.py_type(spec.type, spec)
        if spec.repeat is not None:
            text = f"list[{text}]"
        optional = spec.nullable is not None or (spec.derive is not None and not isinstance(spec.type, Bits))
        return f"{text} | None" if optional and not text.endswith("None") else text

    def default(self, struct: Struct, spec: Field) -> str:
        """The value of the attribute when none is given, as Python."""
        if spec.default is not None:
            return self._default_value(spec)
        if spec.derive is not None or self.is_nullable(spec):
            return "None"
        if spec.repeat is not None:
            return "field(default_factory=list)"
        if spec.codec is not None:
            inner = self.model.struct(spec.codec.inner)
            return "field(default_factory=list)" if inner.wire == "list" else 'b""'
        if struct.versions and spec.id == struct.version_field:
            return str(struct.versions.last)
        if spec.valid is not None and isinstance(spec.valid.eq, ex.Literal):
            return repr(spec.valid.eq.value)
        if spec.enum is not None:
            zero = next((item for item in self.model.enum(spec.enum).items if item.value == 0), None)
            return "0" if zero is None else f"{self.back.enum_class(spec.enum)}.{zero.id.upper()}"
        return self._zero(spec.type, spec)

    def _default_value(self, spec: Field) -> str:
        value = spec.default
        assert value is not None
        if spec.enum is not None and isinstance(value, ex.Name):
            return f"{self.back.enum_class(spec.enum)}.{value.name.upper()}"
        if isinstance(value, ex.Name) and value.name == "null":
            return "None"
        return emit(value, lambda name: name, self.model)

    def _zero(self, kind: TypeRef, spec: Field | None = None) -> str:
        match kind:
            case Prim(floating=True):
                return "0.0"
            case Bits(1):
                return "False"
            case Prim() | Bits():
                return "0"
            case Bytes():
                size = spec.size if spec is not None else None
                return f"bytes({size.value})" if isinstance(size, ex.Literal) and size.value else 'b""'
            case Str():
                return '""'
            case Ref(target):
                struct = self.model.struct(target)
                if struct.wire == "uuid":
                    return "UUID(int=0)"
                if struct.wire in _VARINTS:
                    return "0"
                inner = transparent(struct)
                if inner is not None:
                    return "field(default_factory=list)" if inner.repeat else self._zero(inner.type, inner)
                return f"field(default_factory={self.class_of(target)})"
            case Switch():
                return 'b""'
        raise TypeError(kind)

    def plain_default(self, struct: Struct, spec: Field) -> str:
        """The default as a value to compare with."""
        text = self.default(struct, spec)
        if text == "field(default_factory=list)":
            return "[]"
        return text.removeprefix("field(default_factory=").removesuffix(")") + "()" if text.startswith("field(") else text

    # -- what an object keeps -----------------------------------------------------------------

    def stored(self, struct: Struct, spec: Field) -> bool:
        if spec.contents is not None:
            return False
        if spec.derive is None or not spec.derive.is_length:
            return True
        # The head of a container can be read without its content: keep what says how much there is.
        return codec_field(struct) is not None

    def attrs(self, struct: Struct) -> list[View]:
        views = []
        for spec in struct.fields:
            section = self.back.tag_section(spec)
            if section is not None:
                for tag in section.tags:
                    made = Field(tag.id, tag.type, spec.place, orig_id=tag.orig_id, doc=tag.doc, default=tag.default)
                    views.append(self._attr(struct, made))
                views.append(
                    View("attr", {"name": attribute(spec.id), "type": "list[tuple[int, bytes]]",
                                  "default": "field(default_factory=list)",
                                  "doc": wrap_doc(spec.doc or "Tagged fields that the schema does not know: (tag, bytes).", "    ")})
                )  # fmt: skip
                self.use("field")
                continue
            if self.stored(struct, spec):
                views.append(self._attr(struct, spec))
        return views

    def _attr(self, struct: Struct, spec: Field) -> View:
        default = self.default(struct, spec)
        if "field(" in default:
            self.use("field")
        return View(
            "attr",
            {"name": attribute(spec.id), "type": self.annotation(struct, spec), "default": default, "doc": wrap_doc(spec.doc, "    ")},
        )

    # -- a struct -----------------------------------------------------------------------------

    def _struct(self, struct: Struct) -> View:
        name = self.back.classes[struct.name]
        function = self.back._function(struct)
        inner = transparent(struct)
        peeks = [each for each in struct.instances if each.peek_at is not None]
        dynamic = [param for param in struct.params if param.type != "bool"]
        returns = self.py_type(Ref(struct.name)) if inner is not None else name
        flags = [param for param in struct.params if param.type == "bool"]
        readers: list[View] = []
        writers: list[View] = []
        exports: list[str] = [] if inner is not None else [name]
        for known in self.layouts.bindings(struct):
            suffix = "".join(f"_{key}" for key, value in known.items() if value)
            variants = self.layouts.variants(struct, known)
            exports += [f"read_{function}{suffix}", f"write_{function}{suffix}"]
            readers.append(self._reader(struct, function, suffix, variants, dynamic, returns))
            writers.append(self._writer(struct, function, suffix, variants, dynamic, returns))
        head = codec_field(struct)
        if head is not None:
            exports += [f"read_{function}_head"]
        rows = self._rows(struct, function)
        if rows is not None:
            exports += [rows.reader, rows.writer]
        peek = None
        if peeks:
            peek = self._peek(function, struct)
            exports += [peek.name, f"PEEK_{function.upper()}_AT", f"PEEK_{function.upper()}_SIZE"]
            exports += [f"{peek.name}_{value['name']}" for value in peek.values_]
        checksum = self._checksum(struct)
        if checksum is not None:
            exports.append(checksum.name)
        methods = inner is None and not flags
        if methods:
            self.use("DEFAULT_READ", "DEFAULT_WRITE", "ReadOptions", "WriteOptions", "ends_exactly")
        facts = {
            "name": name, "function": function, "doc": self._class_doc(struct), "attrs": self.attrs(struct) if inner is None else [],
            "transparent": inner is not None, "readers": readers, "writers": writers, "head": head is not None,
            "peek": peek, "dynamic": [View("param", {"name": local(param.id), "doc": param.doc}) for param in dynamic],
            "rows": rows, "checksum": checksum, "exports": exports, "methods": methods,
            "constants": self._constants(struct) if inner is None else [], "returns": returns,
        }  # fmt: skip
        return View("struct", facts)

    def _checksum(self, struct: Struct) -> View | None:
        found = self.back.checksum(struct)
        if found is None:
            return None
        kind, at, start = found
        self.use(kind)
        name = f"checksum_of_{self.back._function(struct)}"
        return View("checksum", {"name": name, "at": at, "start": start, "function": kind})

    def _class_doc(self, struct: Struct) -> str:
        doc = struct.doc or f"`{struct.id}` of {self.schema.path}."
        if struct.doc_ref:
            doc += "\n\nSource: " + "; ".join(struct.doc_ref)
        return wrap_doc(doc, "    ")

    def _constants(self, struct: Struct) -> list[tuple[str, str]]:
        found = []
        if struct.versions:
            found.append(("VERSIONS", f"range({struct.versions.first}, {struct.versions.last + 1})"))
        if struct.flexible is not None:
            flexible = struct.flexible if not struct.versions else struct.flexible.intersect(struct.versions)
            found.append(("FLEXIBLE", f"range({flexible.first}, {flexible.last + 1})" if flexible else "range(0)"))
        if struct.topic:
            found.append(("TOPIC", repr(struct.topic)))
        return found

    def _peek(self, function: str, struct: Struct) -> View:
        peeks = sorted((i for i in struct.instances if i.peek_type is not None), key=lambda i: i.peek_at or 0)
        codes = ""
        at = 0
        names = []
        for each in peeks:
            assert each.peek_at is not None and each.peek_type is not None
            codes += f"{each.peek_at - at}x" * (each.peek_at > at) + _CODES[each.peek_type.name]
            at = each.peek_at + each.peek_type.width
            names.append(each.id)
        order = ">" if next((p.peek_type.endian for p in peeks if p.peek_type and p.peek_type.width > 1), "be") == "be" else "<"
        env = _Env({}, struct)
        values = [
            {"name": each.id, "expr": emit(self.layouts.inline(struct, each.value), env, self.model), "doc": each.doc}
            for each in struct.instances if each.value is not None
        ]  # fmt: skip
        values = [value for value in values if set(ex.names(ex.parse(str(value["name"])))) and self._only(struct, str(value["name"]), names)]
        self.use("Struct")
        return View("peek", {"name": f"peek_{function}", "format": order + codes, "names": names, "size": at, "values_": values,
                             "places": [(each.id, each.peek_at) for each in peeks]})  # fmt: skip

    def _only(self, struct: Struct, instance: str, allowed: list[str]) -> bool:
        found = struct.instance(instance)
        assert found is not None and found.value is not None
        return ex.names(self.layouts.inline(struct, found.value)) <= set(allowed)

    # -- reading ------------------------------------------------------------------------------

    def _reader(
        self, struct: Struct, function: str, suffix: str, variants: list[Variant], dynamic: list[Any], returns: str
    ) -> View:
        bodies = []
        for variant in variants:
            many = len(variants) > 1
            tail = f"_v{variant.versions[0]}" if many else ""
            bodies.append(
                View("body", {"name": f"_read_{function}{suffix}{tail}" if struct.versions else f"read_{function}{suffix}",
                              "versions": variant.versions, **self._read_body(struct, variant.layout, returns)})
            )  # fmt: skip
        dispatch = self._dispatch(struct, variants, f"_read_{function}{suffix}") if struct.versions else None
        self.use("ReadOptions", "DEFAULT_READ")
        return View("reader", {"name": f"read_{function}{suffix}", "bodies": bodies, "dispatch": dispatch})

    def _dispatch(self, struct: Struct, variants: list[Variant], stem: str) -> View:
        assert struct.versions
        table = {}
        for variant in variants:
            tail = f"_v{variant.versions[0]}" if len(variants) > 1 else ""
            table.update({version: f"{stem}{tail}" for version in variant.versions})
        name = struct.version_field
        field_ = struct.field(name)
        facts: dict[str, Any] = {
            "table": table, "known": str(struct.versions), "field": name, "single": len(variants) == 1,
            "target": f"{stem}", "peek": None, "local": local(name),
        }  # fmt: skip
        self.use("unknown_version", "EncodeError")
        if field_ is not None:
            first = variants[0].layout.steps[0]
            if not isinstance(first, Run):
                raise TypeError("the version must stand at a fixed place")
            at = next(f for f in first.fields if f.field is not None and f.field.id == name)
            assert isinstance(at.what, Prim)
            self.use("Struct", "truncated_run")
            order = ">" if at.what.endian == "be" else "<"
            facts["peek"] = {"offset": at.offset, "size": at.size, "format": order + _CODES[at.what.name]}
            facts["run"] = self._run_id(first)
        return View("dispatch", facts)

    def _read_body(self, struct: Struct, layout: Layout, returns: str) -> dict[str, Any]:
        env = _Env({}, struct)
        steps: list[View] = []
        spans = self._spans(layout)
        absent = {spec.id for spec in layout.absent}
        kept = [spec for spec in struct.fields if spec.id not in absent]
        codec = codec_field(struct)
        for step in layout.steps:
            if isinstance(step, Run):
                steps.append(self._read_run(step, env, spans))
            else:
                steps.append(self._read_one(struct, layout, step.field, env, spans))
        checks = self._derived_checks(struct, layout, env, after_head=False)
        inner = transparent(struct)
        if inner is not None:
            result = local(inner.id)
            if inner.id in absent:
                result = "None"
        else:
            names = []
            for spec in kept:
                section = self.back.tag_section(spec)
                if section is not None:
                    names += [tag.id for tag in section.tags] + [spec.id]
                elif self.stored(struct, next(f for f in struct.fields if f.id == spec.id)):
                    names.append(spec.id)
            result = ", ".join(f"{attribute(name)}={local(name)}" for name in names)
            result = f"{self.back.classes[struct.name]}({result})"
        facts: dict[str, Any] = {
            "steps": steps, "result": result, "checks": checks, "returns": returns, "starts": spans.starts,
            "peek": self._peeked(struct, layout),
        }  # fmt: skip
        if codec is not None:
            facts["decode"] = self._decode(struct, layout, codec)
        return facts

    def _peeked(self, struct: Struct, layout: Layout) -> View | None:
        """The peek, where a field's expressions look at what it gives."""
        peeks = {each.id for each in struct.instances if each.peek_at is not None}
        used: set[str] = set()
        for step in layout.steps:
            for spec in _fields_of(step):
                used |= {name for expr in _expressions(spec) for name in ex.names(expr)}
        if not peeks & used:
            return None
        self.use("truncated_run")
        return self._peek(self.back._function(struct), struct)

    def _run_id(self, run: Run, prefix: str = "") -> int:
        codes, sizes, names = self._run_codes(run)
        order = ">" if self._order(run) == "be" else "<"
        key = (order, codes, tuple(names))
        if key not in self.runs:
            self.use("Struct", "truncated_run")
            self.runs[key] = (str(len(self.runs) + 1), order + codes, sizes, names)
        return int(self.runs[key][0])

    def _order(self, run: Run) -> str:
        return byte_order(run.fields) or "be"

    def _run_codes(self, run: Run, prefix: str = "") -> tuple[str, list[tuple[str, int]], list[tuple[str, str]]]:
        codes = ""
        sizes: list[tuple[str, int]] = []
        names: list[tuple[str, str]] = []
        for item in run.fields:
            name = prefix + (item.field.id if item.field is not None else self._group_name(item))
            if item.inner is not None:
                inner = self._run_codes(item.inner, f"{name}.")
                codes += inner[0]
                sizes += inner[1]
                names += inner[2]
                continue
            code = self._code(item)
            codes += code
            sizes.append((name, item.size))
            names.append((name, code))
        return codes, sizes, names

    @staticmethod
    def _group_name(item: RunField) -> str:
        assert isinstance(item.what, BitGroup)
        return item.what.members[0][0].id

    @staticmethod
    def _code(item: RunField) -> str:
        if isinstance(item.what, Prim):
            return _CODES[item.what.name]
        if isinstance(item.what, BitGroup):
            return _BIT_CODES.get(item.size, f"{item.size}s")
        return f"{item.size}s"

    def _read_run(self, run: Run, env: _Env, spans: _Spans) -> View:
        targets: list[str] = []
        made: list[str] = []
        checks: list[View] = []
        self._unpack(run, "", 0, targets, made, checks, env)
        starts = [
            {"name": item.field.id, "offset": item.offset}
            for item in run.fields if item.field is not None and item.field.id in spans.starts
        ]  # fmt: skip
        number = self._run_id(run)
        return View(
            "run",
            {"number": number, "size": run.size, "targets": targets, "made": made, "checks": checks, "starts": starts,
             "guard": None, "after": spans.after(run)},
        )  # fmt: skip

    def _unpack(
        self, run: Run, prefix: str, base: int, targets: list[str], made: list[str], checks: list[View], env: _Env
    ) -> dict[str, str]:
        """Names for the values of a run, and the lines that make objects of them."""
        values: dict[str, str] = {}
        for item in run.fields:
            at = base + item.offset
            if isinstance(item.what, BitGroup):
                raw = f"{prefix}bits" if prefix else f"{self._group_name(item)}_bits"
                targets.append(raw)
                if item.size not in _BIT_CODES:
                    made.append(f'{raw}_int = int.from_bytes({raw}, "big")')
                    raw = f"{raw}_int"
                for member, shift, width in item.what.members:
                    text = self._bits(raw, shift, width, member)
                    if prefix:
                        values[member.id] = text
                    else:
                        made.append(f"{local(member.id)} = {text}")
                        checks += self._checks(member, local(member.id), f"pos + {at}" if at else "pos", env)
                continue
            assert item.field is not None
            spec = item.field
            name = f"{prefix}{spec.id}" if prefix else local(spec.id)
            if item.inner is not None:
                parts = self._unpack(item.inner, f"{name}_", at, targets, made, checks, env)
                made.append(self._construct(spec, parts))
                continue
            targets.append(name)
            if isinstance(item.what, Ref):
                self.use("UUID")
                made.append(f"{name} = UUID(bytes={name})" if not prefix else "")
                values[spec.id] = name if not prefix else f"UUID(bytes={name})"
                made[:] = [line for line in made if line]
            else:
                values[spec.id] = name
            where = f"pos + {at}" if at else "pos"
            if spec.contents is not None:
                checks.append(self._contents_check(spec, name, where))
            checks += self._checks(spec, name, where, env if not prefix else _Env({spec.id: name}, env.struct))
            if spec.enum is not None:
                text = self._enum_get(spec.enum, name)
                if prefix:
                    values[spec.id] = text
                else:
                    made.append(f"{name} = {text}")
        return values

    def _construct(self, spec: Field, values: dict[str, str]) -> str:
        assert isinstance(spec.type, Ref)
        struct = self.model.struct(spec.type.target)
        args = ", ".join(f"{attribute(f.id)}={values[f.id]}" for f in struct.fields if f.contents is None)
        return f"{local(spec.id)} = {self.class_of(struct.name)}({args})"

    def _bits(self, raw: str, shift: int, width: int, member: Field) -> str:
        if width == 1 and member.enum is None:
            return f"{raw} & {hex(1 << shift)} != 0"
        text = f"{raw} >> {shift}" if shift else raw
        text = f"{text} & {hex((1 << width) - 1)}"
        return self._enum_get(member.enum, text) if member.enum is not None else text

    def _enum_get(self, enum: str, text: str) -> str:
        self.use("member_of")
        return f"member_of({self.imported(enum, self.back.enum_class(enum))}, {text})"

    def _contents_check(self, spec: Field, name: str, where: str) -> View:
        self.use("Malformed")
        return View("check", {"bad": f"{name} != {spec.contents!r}", "path": spec.id, "reason": "wrong fixed bytes", "at": where,
                              "need": repr(spec.contents), "have": name})  # fmt: skip

    def _checks(self, spec: Field, name: str, where: str, env: _Env) -> list[View]:
        """The `valid` rules of a field as conditions that must not hold."""
        valid = spec.valid
        if valid is None:
            return []
        self.use("Malformed")
        inner = _Env({**env.names, "_": name, spec.id: name}, env.struct)

        def py(expr: ex.Expr) -> str:
            return emit(expr, inner, self.model)

        found: list[tuple[str, str]] = []
        if valid.eq is not None:
            found.append((f"{name} != {py(valid.eq)}", py(valid.eq)))
        if valid.min is not None:
            found.append((f"{name} < {py(valid.min)}", f"at least {py(valid.min)}"))
        if valid.max is not None:
            found.append((f"{name} > {py(valid.max)}", f"at most {py(valid.max)}"))
        if valid.any_of is not None:
            choices = ", ".join(py(choice) for choice in valid.any_of)
            found.append((f"{name} not in ({choices},)", f"one of {choices}"))
        if valid.expr is not None:
            plain = ex.replace(valid.expr, lambda e: ex.Name("_") if e == ex.Attr(ex.Name("_"), "value") else None)
            found.append((py(negate(plain)), ex.text_of(plain)))
        return [
            View("check", {"bad": bad, "path": spec.id, "reason": "value not allowed", "at": where, "need": repr(need), "have": name})
            for bad, need in found
        ]

    def _spans(self, layout: Layout) -> _Spans:
        return _Spans(self, layout)

    def _read_one(self, struct: Struct, layout: Layout, spec: Field, env: _Env, spans: _Spans) -> View:
        guard = None if spec.condition is None else emit(spec.condition, env, self.model)
        original = struct.field(spec.id)
        assert original is not None
        facts: dict[str, Any] = {
            "var": local(spec.id), "path": self._shown(struct, spec), "guard": guard,
            "absent": "", "checks": [],
            "start": spec.id in spans.starts, "after": spans.after(One(spec)),
            "annotation": "",
        }  # fmt: skip
        if self.back.tag_section(spec) is not None:
            return self._read_tags(spec, facts)
        facts["absent"] = self._absent_value(struct, original)
        if self.stored(struct, original) or spec.repeat:
            facts["annotation"] = self.annotation(struct, original)
        if spec.codec is not None:
            facts |= {"size": self._size(spec, env), "eos": spec.size_eos}
            self.use("span")
            return View("stored", facts)
        facts["checks"] = self._checks(spec, "item" if spec.repeat else local(spec.id), "at", env)
        if spec.repeat is not None:
            return self._read_repeat(struct, spec, env, facts)
        facts["element"] = self._element(spec.type, spec, env, local(spec.id), self._shown(struct, spec))
        return View("one", facts)

    @staticmethod
    def _shown(struct: Struct, spec: Field) -> str:
        """The field's name in error paths; what its type stands for has none of its own."""
        stands_for = transparent(struct)
        return "" if stands_for is not None and stands_for.id == spec.id else spec.id

    def _absent_value(self, struct: Struct, spec: Field) -> str:
        if spec.derive is not None or self.is_nullable(spec):
            return "None"
        if spec.repeat is not None or spec.codec is not None:
            return "[]" if spec.repeat is not None or self.model.struct(spec.codec.inner).wire == "list" else 'b""'  # type: ignore[union-attr]
        return self.plain_default(struct, spec)

    def _size(self, spec: Field, env: _Env) -> str | None:
        return None if spec.size is None else emit(spec.size, env, self.model)

    def _element(self, kind: TypeRef, spec: Field, env: _Env, var: str, path: str) -> View:
        """How to read one value of `kind` into `var`."""
        size = self._size(spec, env)
        facts: dict[str, Any] = {"var": var, "path": path, "size": size, "eos": spec.size_eos, "enum": None}
        if size is not None:
            self.use("span")
        if spec.enum is not None:
            facts["enum"] = self._enum_get(spec.enum, var)
        match kind:
            case Prim(width=width) as prim:
                order = ">" if prim.endian == "be" else "<"
                run = Run((RunField(Field(spec.id, prim, spec.place), 0, width, prim),), width)
                return View("prim", {**facts, "number": self._run_id(run), "width": width, "code": order + _CODES[prim.name]})
            case Bytes():
                facts["contents"] = None
                return View("bytes", facts)
            case Str(encoding):
                return View("str", {**facts, "encoding": encoding, "errors": _LOSSLESS.get(encoding, "strict")})
            case Ref(target, args):
                struct = self.model.struct(target)
                if struct.wire in _READ_WIRE:
                    self.use(_READ_WIRE[struct.wire])
                    return View("wire", {**facts, "call": _READ_WIRE[struct.wire]})
                self.use("FormatError", "ends_exactly")
                call, extra = self._call("read", struct, args, env)
                return View("struct", {**facts, "call": call, "args": extra})
            case Switch(on, cases, default):
                branches = [
                    {"value": emit(case, env, self.model), "element": self._element(each, _bare(spec), env, var, path)}
                    for case, each in cases
                ]  # fmt: skip
                other = None if default is None else self._element(default, _bare(spec), env, var, path)
                self.use("Unsupported", "ends_exactly")
                return View("switch", {**facts, "on": emit(on, env, self.model), "branches": branches, "other": other})
        raise TypeError(kind)

    def _call(self, verb: str, struct: Struct, args: Iterable[ex.Expr], env: _Env) -> tuple[str, list[str]]:
        """The function that reads or writes `struct`, chosen by its flags, and its further arguments."""
        function = self.back._function(struct)
        extra: list[str] = []
        suffix = ""
        for param, arg in zip(struct.params, args, strict=True):
            if param.type != "bool":
                extra.append(emit(arg, env, self.model))
            elif isinstance(arg, ex.Literal):
                suffix += f"_{param.id}" if arg.value else ""
            else:
                test = emit(arg, env, self.model, outer=False)
                yes = self.imported(struct.name, f"{verb}_{function}_{param.id}")
                no = self.imported(struct.name, f"{verb}_{function}")
                return f"({yes} if {test} else {no})", extra
        return self.imported(struct.name, f"{verb}_{function}{suffix}"), extra

    def _read_repeat(self, struct: Struct, spec: Field, env: _Env, facts: dict[str, Any]) -> View:
        self.use("bounded_count")
        inner = Field(spec.id, spec.type, spec.place, size=spec.size, enum=spec.enum)
        least = self.layouts.least_of(spec.type) if spec.size is None else 0
        if isinstance(spec.size, ex.Literal) and isinstance(spec.size.value, int):
            least = spec.size.value
        facts |= {
            "mode": spec.repeat,
            "count": None if spec.repeat_expr is None else emit(spec.repeat_expr, env, self.model),
            "until": None if spec.repeat_until is None
            else emit(spec.repeat_until, _Env({**env.names, "_": "item", spec.id: local(spec.id)}, struct), self.model),
            "element": self._element(spec.type, inner, env, "item", ""),
            "least": least,
            "item_type": self.py_type(spec.type, spec),
        }  # fmt: skip
        self.use("FormatError")
        return View("repeat", facts)

    def _read_tags(self, spec: Field, facts: dict[str, Any]) -> View:
        section = self.back.tag_section(spec)
        assert section is not None
        self.use("read_tags", "ends_exactly", "FormatError")
        known = []
        for tag in section.tags:
            made = Field(tag.id, tag.type, spec.place, default=tag.default)
            known.append(
                {"number": tag.number, "var": local(tag.id), "default": self._tag_default(made), "element": self._element(tag.type, made, _Env({}, _EMPTY), local(tag.id), tag.id),
                 "type": self.py_type(tag.type)}
            )  # fmt: skip
        return View("tags", {**facts, "known": known})

    def _tag_default(self, made: Field) -> str:
        return self.plain_default(_EMPTY, made)

    # -- compressed content -------------------------------------------------------------------

    def _decode(self, struct: Struct, layout: Layout, codec_field: Field) -> View:
        codec = codec_field.codec
        assert codec is not None
        env = _Env({f.id: f"v.{attribute(f.id)}" for f in struct.fields}, struct)
        by = emit(self.layouts.inline(struct, codec.by), env, self.model)
        inner = self.model.struct(codec.inner)
        read, _ = self._call("read", inner, (), env)
        write, _ = self._call("write", inner, (), env)
        swap = [{"from": a, "to": b} for a, b in codec.replace]
        when = emit(self.layouts.inline(struct, codec.when), env, self.model) if codec.when is not None else None
        plain = codec_field.type
        parsed_plain = isinstance(plain, Switch) or (isinstance(plain, Ref))
        self.use("compress", "decompress", "FormatError", "Unsupported", "EncodeError", "ends_exactly", "ReadOptions")
        enum = self._codec_enum(struct, codec.by)
        names = {item.value: item.id for item in self.model.enum(enum).items}
        return View("decode", {
            "field": attribute(codec_field.id), "by": by, "names": names, "read": read, "write": write, "swap": swap,
            "when": when, "parsed_plain": parsed_plain, "path": codec_field.id, "by_path": ex.text_of(codec.by),
            "checks": self._derived_checks(struct, layout, env, after_head=True),
            "lists": inner.wire == "list", "inner_type": self.py_type(Ref(codec.inner)),
            "known": ", ".join(f"{value} ({name})" for value, name in names.items()),
            "nullable": codec_field.nullable is not None,
        })  # fmt: skip

    def _codec_enum(self, struct: Struct, by: ex.Expr) -> str:
        """The enum of the field that `by` names, across nested types."""
        path: list[str] = []
        at = by
        while isinstance(at, ex.Attr):
            path.insert(0, at.name)
            at = at.of
        assert isinstance(at, ex.Name)
        found = struct.field(at.name)
        for name in path:
            assert found is not None and isinstance(found.type, Ref)
            found = self.model.struct(found.type.target).field(name)
        assert found is not None and found.enum is not None
        return found.enum

    # -- derived fields, on reading -----------------------------------------------------------

    def _derived_checks(self, struct: Struct, layout: Layout, env: _Env, after_head: bool) -> list[View]:
        """Counts, lasts and maxima that must agree with what was read; lengths and checksums are span checks."""
        container = codec_field(struct)
        checks: list[View] = []
        for step in layout.steps:
            for spec in _fields_of(step):
                derive = spec.derive
                if derive is None or derive.is_checksum or derive.kind == "length_of":
                    continue
                if (container is not None and derive.first == container.id) is not after_head:
                    continue
                if derive.kind == "count_of" and self._sizes_by(layout, derive.first, spec.id):
                    continue
                checks.append(self._derived_check(struct, spec, derive, env))
        return checks

    @staticmethod
    def _sizes_by(layout: Layout, target: str, name: str) -> bool:
        """Whether `target` is read by the count `name` itself, so that the two cannot differ."""
        for step in layout.steps:
            for spec in _fields_of(step):
                if spec.id == target and spec.repeat_expr is not None and name in ex.names(spec.repeat_expr):
                    return True
        return False

    def _derived_check(self, struct: Struct, spec: Field, derive: Derive, env: _Env) -> View:
        mine = env(spec.id)
        target = env(derive.first)
        wanted = self._derived_value(derive, target, env)
        when = [] if derive.when is None else [emit(self.layouts.inline(struct, derive.when), env, self.model, outer=False)]
        if derive.kind in ("last", "max"):
            when.insert(0, target)
            when.insert(0, "opt.verify")
        op = "!=" if derive.verify == "equal" else "<"
        if spec.derive is not None and mine.startswith("v."):
            when.append(f"{mine} is not None")
        need = "at least " if derive.verify == "at_least" else ""
        self.use("Malformed")
        return View("derived", {
            "when": " and ".join(when), "mine": mine, "wanted": wanted, "op": op, "path": spec.id, "need": need,
            "reason": f"not what {derive.kind}({derive.first}{'.' + derive.member if derive.member else ''}) gives",
        })  # fmt: skip

    def _derived_value(self, derive: Derive, target: str, env: _Env) -> str:
        member = attribute(derive.member or "")
        path = self._member_path(derive, env)
        match derive.kind:
            case "count_of":
                text = f"len({target})"
            case "last":
                text = f"{target}[-1].{path or member}"
            case "max":
                text = f"max(item.{path or member} for item in {target})"
            case _:
                raise TypeError(derive.kind)
        if derive.plus is not None:
            text += f" + {emit(self.layouts.inline(env.struct, derive.plus), env, self.model, outer=False)}"
        return text

    def _member_path(self, derive: Derive, env: _Env) -> str:
        """`body.offset_delta` for `offset_delta`, where the element keeps it in a sized part."""
        spec = env.struct.field(derive.first)
        assert spec is not None
        kind: TypeRef = Ref(spec.codec.inner) if spec.codec is not None else spec.type
        if not isinstance(kind, Ref):
            return ""
        struct = self.model.struct(kind.target)
        inner = transparent(struct)
        if inner is not None and isinstance(inner.type, Ref):
            struct = self.model.struct(inner.type.target)
        return ".".join(attribute(name) for name in self.find_member(struct, derive.member or ""))

    def find_member(self, struct: Struct, name: str) -> list[str]:
        if struct.field(name) is not None:
            return [name]
        for spec in struct.fields:
            if isinstance(spec.type, Ref) and not spec.repeat:
                below = self.find_member(self.model.struct(spec.type.target), name)
                if below:
                    return [spec.id, *below]
        return []

    # -- writing ------------------------------------------------------------------------------

    def _writer(
        self, struct: Struct, function: str, suffix: str, variants: list[Variant], dynamic: list[Any], returns: str
    ) -> View:
        bodies = []
        for variant in variants:
            tail = f"_v{variant.versions[0]}" if len(variants) > 1 else ""
            bodies.append(
                View("body", {"name": f"_write_{function}{suffix}{tail}" if struct.versions else f"write_{function}{suffix}",
                              "versions": variant.versions, **self._write_body(struct, variant.layout, returns, variant.versions)})
            )  # fmt: skip
        dispatch = self._dispatch(struct, variants, f"_write_{function}{suffix}") if struct.versions else None
        self.use("WriteOptions", "DEFAULT_WRITE")
        return View("writer", {"name": f"write_{function}{suffix}", "bodies": bodies, "dispatch": dispatch})

    def _write_body(self, struct: Struct, layout: Layout, returns: str, versions: tuple[int, ...]) -> dict[str, Any]:
        return _Writer(self, struct, layout, returns, versions).body()

    # -- rows ---------------------------------------------------------------------------------

    def _rows(self, struct: Struct, function: str) -> View | None:
        from kodec.generator.pyrows import rows_view

        return rows_view(self, struct, function)


class _Spans:
    """Ranges of fields that a length or a checksum covers: where they start, and what follows their end."""

    def __init__(self, module: _Module, layout: Layout) -> None:
        self.module = module
        self.starts: set[str] = set()
        self._after: dict[str, list[View]] = {}
        for step in layout.steps:
            for spec in _fields_of(step):
                derive = spec.derive
                if derive is None or not (derive.is_checksum or (derive.kind == "length_of" and derive.last is not None)):
                    continue
                last = derive.last or derive.first
                self.starts.add(derive.first)
                name = local(spec.id)
                start = f"start_{derive.first}"
                if derive.is_checksum:
                    module.use(derive.kind, "CrcMismatch")
                    view = View("crc", {"function": derive.kind, "start": start, "mine": name, "path": spec.id})
                else:
                    plus = "" if derive.plus is None else f" + {emit(derive.plus, _Env({}, layout.struct), module.model, outer=False)}"
                    module.use("Malformed")
                    view = View("length", {"start": start, "mine": name, "path": spec.id, "plus": plus})
                self._after.setdefault(last, []).append(view)
                self.starts.add(spec.id)

    def after(self, step: Run | One) -> list[View]:
        return [view for spec in _fields_of(step) for view in self._after.get(spec.id, ())]


class _Writer:
    """The lines that write one layout."""

    def __init__(self, module: _Module, struct: Struct, layout: Layout, returns: str, versions: tuple[int, ...]) -> None:
        self.m = module
        self.struct = struct
        self.layout = layout
        self.returns = returns
        self.versions = versions
        self.inner = transparent(struct)
        self.fields = [spec for step in layout.steps for spec in _fields_of(step)]
        self.env = _Env({spec.id: self.value(spec) for spec in struct.fields}, struct)
        for tag in (t for spec in struct.fields if (s := module.back.tag_section(spec)) for t in s.tags):
            self.env.names[tag.id] = f"v.{attribute(tag.id)}"

    def value(self, spec: Field) -> str:
        """The Python expression of a field's value while writing."""
        if spec.derive is not None:
            return local(spec.id)
        if self.inner is not None and spec.id == self.inner.id:
            return "v"
        return f"v.{attribute(spec.id)}" if self.m.stored(self.struct, spec) else local(spec.id)

    def body(self) -> dict[str, Any]:
        prepare = self._prepare()
        steps = [self._run(step) if isinstance(step, Run) else self._one(step.field) for step in self.layout.steps]
        patches = self._patches()
        starts = {name for patch in patches for name in (patch.start_name, patch.end_name, patch.field_name)}
        for step in steps:
            step.facts["marks"] = [mark for mark in step.facts.get("marks", []) if mark["name"] in starts]
            step.facts["end_marks"] = [name for name in step.facts.get("end_marks", []) if f"end_{name}" in {p.end_text for p in patches}]
        absent = [view for spec in self.layout.absent if (view := self._absent(spec)) is not None]
        return {"prepare": prepare, "steps": steps, "patches": patches, "absent": absent, "type": self.returns}

    def _absent(self, spec: Field) -> View | None:
        """A value that this version cannot carry must be the default (or the field is ignorable)."""
        if self.inner is not None or spec.ignorable or spec.derive is not None or not self.m.stored(self.struct, spec):
            return None
        if self.m.back.tag_section(spec) is not None or not self.versions:
            return None
        self.m.use("EncodeError")
        return View("absent", {"path": spec.id, "value": self.value(spec), "default": self.m.plain_default(self.struct, spec)})

    # -- values worked out before anything is written

    def _prepare(self) -> list[View]:
        views: list[View] = []
        measured = {spec.derive.first for spec in self.fields if spec.derive is not None and spec.derive.kind == "length_of" and spec.derive.last is None}
        for spec in self.fields:
            if isinstance(spec.type, Str) and spec.repeat is None:
                views.append(View("encode", {"var": f"data_{spec.id}", "value": self.value(spec), "encoding": spec.type.encoding,
                                             "errors": _LOSSLESS.get(spec.type.encoding, "strict"), "path": spec.id,
                                             "nullable": spec.nullable is not None}))  # fmt: skip
                self.m.use("EncodeError")
            elif spec.id in measured and self._serialised(spec):
                views.append(self._measure(spec))
            if spec.codec is not None:
                views.append(View("compress", {"var": f"data_{spec.id}", "function": f"_stored_{self.m.back._function(self.struct)}"}))
        for spec in self.fields:
            if spec.derive is not None and not spec.derive.is_checksum and not (spec.derive.kind == "length_of" and spec.derive.last):
                views.append(self._derived(spec, spec.derive))
        return views

    def _serialised(self, spec: Field) -> bool:
        return not isinstance(spec.type, (Bytes, Str)) and spec.codec is None or spec.repeat is not None

    def _measure(self, spec: Field) -> View:
        part = self._one(spec, into=f"data_{spec.id}", unmeasured=True)
        return View("measure", {"var": f"data_{spec.id}", "step": part})

    def _derived(self, spec: Field, derive: Derive) -> View:
        var = local(spec.id)
        stored = self.m.stored(self.struct, spec)
        target = self.struct.field(derive.first)
        assert target is not None
        value = self.value(target)
        plus = "" if derive.plus is None else f" + {emit(self.m.layouts.inline(self.struct, derive.plus), self.env, self.m.model, outer=False)}"
        null = self._null_sign(target, spec)
        if derive.kind == "length_of":
            source = f"data_{target.id}" if isinstance(target.type, Str) or self._serialised(target) or target.codec is not None else value
            text = f"len({source}){plus}"
            if target.nullable is not None:
                text = f"{null} if {source} is None else {text}"
            return View("let", {"var": var, "value": text})
        if derive.kind == "count_of":
            text = f"len({value}){plus}"
            if target.codec is not None:
                self.m.use("EncodeError")
                return View("count", {"var": var, "value": value, "text": text, "given": f"v.{attribute(spec.id)}", "path": spec.id})
            if target.nullable is not None:
                text = f"{null} if {value} is None else {text}"
            return View("let", {"var": var, "value": text})
        assert stored
        self.m.use("EncodeError")
        env = _Env({**self.env.names, derive.first: value}, self.struct)
        when = "" if derive.when is None else emit(self.m.layouts.inline(self.struct, derive.when), self.env, self.m.model)
        return View("aggregate", {
            "var": var, "given": f"v.{attribute(spec.id)}", "target": value, "text": self.m._derived_value(derive, value, env),
            "when": when, "path": spec.id, "codec": target.codec is not None,
        })  # fmt: skip

    def _null_sign(self, target: Field, length: Field) -> int | None:
        return self.m.layouts.null_sign(self.struct, target, length, dict(self.layout.known))

    # -- steps

    def _marks(self, run: Run) -> list[dict[str, Any]]:
        return [{"name": item.field.id, "offset": item.offset} for item in run.fields if item.field is not None]

    def _run(self, run: Run) -> View:
        values: list[str] = []
        checks: list[View] = []
        self._values(run, "", values, checks, self.env)
        self.m.use("bad_run")
        last = run.fields[-1].field
        return View("run", {"number": self.m._run_id(run), "values": values, "checks": checks, "guard": None, "marks": self._marks(run),
                            "end_marks": [last.id] if last is not None else []})  # fmt: skip

    def _values(self, run: Run, owner: str, values: list[str], checks: list[View], env: _Env) -> None:
        for item in run.fields:
            if isinstance(item.what, BitGroup):
                self.m.use("bit_field")
                parts = [
                    f'bit_field("{member.id}", {self._of(owner, member)}, {width})' + (f" << {shift}" if shift else "")
                    for member, shift, width in item.what.members
                ]  # fmt: skip
                text = " | ".join(parts)
                values.append(text if item.size in _BIT_CODES else f'({text}).to_bytes({item.size}, "big")')
                continue
            spec = item.field
            assert spec is not None
            value = self._of(owner, spec)
            if item.inner is not None:
                self._values(item.inner, value, values, checks, env)
                continue
            if spec.contents is not None:
                values.append(repr(spec.contents))
            elif isinstance(item.what, Ref):
                values.append(f"{value}.bytes")
            elif isinstance(item.what, Bytes):
                self.m.use("exact_size")
                values.append(f'exact_size("{spec.id}", {value}, {item.size})')
            elif spec.derive is not None and (spec.derive.is_checksum or (spec.derive.kind == "length_of" and spec.derive.last)):
                values.append("0")
            else:
                values.append(value)
            if spec.derive is None and spec.valid is not None:
                checks += self._checks(spec, value, env)

    def _of(self, owner: str, spec: Field) -> str:
        return f"{owner}.{attribute(spec.id)}" if owner else self.value(spec)

    def _checks(self, spec: Field, value: str, env: _Env) -> list[View]:
        self.m.use("EncodeError")
        return self.m._checks(spec, value, "", env)

    def _one(self, spec: Field, into: str = "out", unmeasured: bool = False) -> View:
        value = self.value(spec)
        guard = None if spec.condition is None else emit(spec.condition, self.env, self.m.model)
        source = value
        if isinstance(spec.type, Str) and spec.repeat is None:
            source = f"data_{spec.id}"
        if spec.nullable is not None:
            guard = f"{source if spec.codec is None else f'data_{spec.id}'} is not None"
        facts: dict[str, Any] = {"guard": guard, "path": self.m._shown(self.struct, spec), "out": into, "marks": [{"name": spec.id, "offset": 0}],
                                 "end_marks": [spec.id], "checks": []}  # fmt: skip
        if self.m.back.tag_section(spec) is not None:
            return self._tags(spec, facts)
        measured = any(f.derive is not None and f.derive.kind == "length_of" and f.derive.last is None and f.derive.first == spec.id for f in self.fields)
        if (measured and self._serialised(spec) and not unmeasured) or spec.codec is not None:
            return View("copy", {**facts, "value": f"data_{spec.id}"})
        if spec.derive is None and spec.valid is not None:
            facts["checks"] = self._checks(spec, "item" if spec.repeat else value, self.env)
        if spec.repeat is not None:
            self.m.use("EncodeError")
            count = None
            if spec.repeat_expr is not None and not self._free(spec.repeat_expr):
                count = emit(spec.repeat_expr, self.env, self.m.model)
            bare = Field(spec.id, spec.type, spec.place, size=spec.size, enum=spec.enum)
            return View("repeat", {**facts, "value": value, "count": count, "element": self._element(bare, "item", into)})
        return View("one", {**facts, "element": self._element(spec, source, into, value)})

    def _free(self, expr: ex.Expr) -> bool:
        """Whether a size follows from what is written, because a name in it is derived or peeked."""
        for name in ex.names(expr):
            spec, instance = self.struct.field(name), self.struct.instance(name)
            if (spec is not None and spec.derive is not None) or (instance is not None and instance.peek_at is not None):
                return True
        return False

    def _element(self, spec: Field, source: str, into: str, original: str | None = None) -> View:
        facts: dict[str, Any] = {"value": source, "path": self.m._shown(self.struct, spec), "out": into, "size": None}
        if spec.size is not None and not self._free(spec.size):
            facts["size"] = emit(spec.size, self.env, self.m.model)
            self.m.use("exact_size")
        match spec.type:
            case Prim(width=width) as prim:
                run = Run((RunField(Field(spec.id, prim, spec.place), 0, width, prim),), width)
                self.m.use("bad_run")
                return View("prim", {**facts, "number": self.m._run_id(run)})
            case Bytes():
                return View("bytes", facts)
            case Str(encoding):
                if source == "item":
                    facts["value"] = f'item.encode("{encoding}", "{_LOSSLESS.get(encoding, "strict")}")'
                return View("bytes", facts)
            case Ref(target, args):
                struct = self.m.model.struct(target)
                if struct.wire == "uuid":
                    return View("bytes", {**facts, "value": f"{source}.bytes"})
                if struct.wire in _WRITE_WIRE:
                    self.m.use(_WRITE_WIRE[struct.wire], "EncodeError")
                    return View("wire", {**facts, "call": _WRITE_WIRE[struct.wire]})
                call, extra = self.m._call("write", struct, args, self.env)
                self.m.use("EncodeError")
                return View("struct", {**facts, "call": call, "args": extra})
            case Switch():
                return self._switch(spec, spec.type, source, into, facts)
        raise TypeError(spec.type)

    def _switch(self, spec: Field, switch: Switch, source: str, into: str, facts: dict[str, Any]) -> View:
        """Cases by the value switched on; by the type of what is there, where that value was peeked."""
        self.m.use("EncodeError")
        peeked = any((i := self.struct.instance(n)) is not None and i.peek_at is not None for n in ex.names(switch.on))
        on = None if peeked else emit(switch.on, self.env, self.m.model)
        branches: dict[str, View] = {}
        for case, each in switch.cases:
            test = f"isinstance({source}, {self.m.py_type(each)})"
            if not peeked:
                test = f"chosen == {emit(case, self.env, self.m.model)} and not isinstance({source}, bytes)"
            branches[test] = self._element(_with_type(spec, each), source, into)
        other = None if switch.default is None else self._element(_with_type(spec, switch.default), source, into)
        return View("switch", {**facts, "on": on, "branches": branches, "other": other})

    def _tags(self, spec: Field, facts: dict[str, Any]) -> View:
        section = self.m.back.tag_section(spec)
        assert section is not None
        self.m.use("write_tags")
        known = []
        for tag in section.tags:
            made = Field(tag.id, tag.type, spec.place, default=tag.default)
            value = f"v.{attribute(tag.id)}"
            known.append({"number": tag.number, "value": value, "default": self.m._tag_default(made),
                          "element": self._element(made, value, "inner")})  # fmt: skip
        return View("tags", {**facts, "value": f"v.{attribute(spec.id)}", "known": known})

    def _patches(self) -> list[View]:
        """Lengths of ranges, then checksums: each is known only when the bytes it speaks of are."""
        patches = []
        for spec in self.fields:
            derive = spec.derive
            if derive is None or not (derive.is_checksum or (derive.kind == "length_of" and derive.last)):
                continue
            assert isinstance(spec.type, Prim)
            order = ">" if spec.type.endian == "be" else "<"
            last = derive.last or derive.first
            self.m.use("Struct", *([derive.kind] if derive.is_checksum else []))
            plus = "" if derive.plus is None else f" + {emit(derive.plus, self.env, self.m.model, outer=False)}"
            run = Run((RunField(Field(spec.id, spec.type, spec.place), 0, spec.type.width, spec.type),), spec.type.width)
            self.m.use("bad_run")
            patches.append(View("patch", {
                "start_name": derive.first, "end_name": last, "field_name": spec.id, "crc": derive.kind if derive.is_checksum else None,
                "number": self.m._run_id(run), "plus": plus, "order": order, "end_text": f"end_{last}",
                "to_end": self.fields[-1].id == last, "path": spec.id,
            }))  # fmt: skip
        patches.sort(key=lambda patch: patch.crc is not None)
        return patches


def _expressions(spec: Field) -> list[ex.Expr]:
    """Every expression that has a part in how the field is read."""
    found = [spec.size, spec.repeat_expr, spec.repeat_until, spec.condition]
    if isinstance(spec.type, Switch):
        found.append(spec.type.on)
    if isinstance(spec.type, Ref):
        found += spec.type.args
    return [expr for expr in found if expr is not None]


def _bare(spec: Field) -> Field:
    return Field(spec.id, spec.type, spec.place)


def _with_type(spec: Field, kind: TypeRef) -> Field:
    return Field(spec.id, kind, spec.place)


def _fields_of(step: Run | One) -> list[Field]:
    if isinstance(step, One):
        return [step.field]
    found: list[Field] = []
    for item in step.fields:
        if isinstance(item.what, BitGroup):
            found += [member for member, _, _ in item.what.members]
        elif item.field is not None:
            found.append(item.field)
    return found


def transparent(struct: Struct) -> Field | None:
    """The member whose value the type stands for, where `-wire` says that it does."""
    if struct.wire in ("string", "bytes"):
        return struct.field("value")
    if struct.wire == "list":
        return next((spec for spec in struct.fields if spec.repeat is not None), None)
    return None


def codec_field(struct: Struct) -> Field | None:
    return next((spec for spec in struct.fields if spec.codec is not None), None)


def _targets(struct: Struct) -> list[str]:
    found: list[str] = []

    def visit(kind: TypeRef) -> None:
        if isinstance(kind, Ref):
            found.append(kind.target)
        elif isinstance(kind, Switch):
            for _, each in kind.cases:
                visit(each)
            if kind.default is not None:
                visit(kind.default)

    for spec in struct.fields:
        visit(spec.type)
        if spec.codec is not None:
            found.append(spec.codec.inner)
    return found


_EMPTY = Struct("", Place("", 0, 0))
