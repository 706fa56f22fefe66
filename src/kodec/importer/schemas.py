"""A definition as the tree of a .ksy file.

Facts become keys. The meaning of a message, a struct or a field is left to a person: they come without
`doc`. Only what the wire adds, such as counts, is described here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kodec.generator.schema.expr import Literal, text_of
from kodec.generator.schema.implied import NAMES
from kodec.generator.schema.inlined import version_test
from kodec.generator.schema.owners import conjuncts
from kodec.generator.schema.versions import OPEN, VersionRange
from kodec.importer.definitions import BadDefinition, FieldDef, MessageDef, StructDef
from kodec.importer.places import Place

__all__ = ["Names", "schema_of", "shortened", "snake"]

Tree = dict[Any, Any]
Names = Mapping[tuple[str, str], str]
"""A schema's names of fields: by the struct's name in the definition, and the field's."""

_PRIMS = {
    "int8": "s1",
    "int16": "s2",
    "uint16": "u2",
    "int32": "s4",
    "uint32": "u4",
    "int64": "s8",
    "float64": "f8",
    "uuid": "uuid",
    "bool": "bool8",
}
_NUMBERS = tuple(kind for kind in _PRIMS.values() if kind not in ("uuid", "bool8"))
_SIZED = {"string": "text", "bytes": "blob", "records": "blob"}
_TAGS = "tagged_fields"
_LIBRARY = "uuid int8_value int32_value int64_value nullable_int32_list nullable_uuid_list uuid_list"
_COMMON = (
    "blob bool8 count nullable_blob nullable_count nullable_text tagged_fields text unsigned_varint uuid"
)
_IMPORTED = frozenset(f"{_COMMON} {_LIBRARY}".split())
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake(name: str) -> str:
    """`TopicId` as `topic_id`, `KRaftVersion` as `kraft_version`."""
    return _WORD.sub("_", name.replace("KRaft", "Kraft")).lower()


def schema_of(message: MessageDef, destination: Place, names: Names) -> Tree:
    """The tree of the message's schema. Raises BadDefinition for unsupported definitions."""
    return _Maker(message, destination, names).schema()


class _Maker:
    """Makes one schema."""

    def __init__(self, message: MessageDef, destination: Place, names: Names) -> None:
        self.message = message
        self.destination = destination
        self.names = names
        self.id = snake(message.name)
        self.imports: set[str] = set()
        self.types: dict[str, Tree] = {}
        # the versions in which each struct can occur, and whether it is in a tagged section
        self.reach: dict[str, VersionRange] = {message.name: message.valid}
        self.in_tags: set[str] = set()
        self._walk(message.root, message.valid)
        self.varies = {name for name in self.reach if self._varies(self._struct(name))}
        while grown := {n for n in self.reach.keys() - self.varies if self._inner(n) & self.varies}:
            self.varies |= grown
        for name in self.in_tags & self.varies:
            raise self.bad(f"struct `{name}` differs between versions, and is a tagged field")

    def bad(self, reason: str) -> BadDefinition:
        return BadDefinition(self.message.source, reason)

    # -- structs ---------------------------------------------------------------------------------

    def _struct(self, name: str) -> StructDef:
        if name == self.message.name:
            return self.message.root
        return self.message.structs[name]

    def _walk(self, struct: StructDef, reach: VersionRange, depth: int = 0) -> None:
        if depth > 16:
            raise self.bad(f"struct `{struct.name}` holds itself")
        for field in struct.fields:
            valid = field.versions.intersect(reach)
            if field.type not in self.message.structs:
                if field.type not in _PRIMS and field.type not in _SIZED:
                    raise self.bad(f"`{field.name}`: unknown type `{field.type}`")
                continue
            if not valid:
                continue
            if field.tag is not None:
                self.in_tags.add(field.type)
            old = self.reach.get(field.type)
            hull = (
                valid if old is None else VersionRange(min(old.first, valid.first), max(old.last, valid.last))
            )
            self.reach[field.type] = hull
            self._walk(self._struct(field.type), valid, depth + 1)

    def _inner(self, name: str) -> set[str]:
        return {field.type for field in self._struct(name).fields if self._valid_versions(name, field)}

    def _valid_versions(self, name: str, field: FieldDef) -> VersionRange:
        """The versions of a struct in which it has the field."""
        return field.versions.intersect(self.reach[name])

    def _varies(self, struct: StructDef) -> bool:
        """Whether a struct is encoded differently in different versions."""
        reach = self.reach[struct.name]
        flexible = self.message.flexible.intersect(reach)
        if flexible and flexible != reach:
            return True
        for field in struct.fields:
            valid = self._valid_versions(struct.name, field)
            nullable = field.nullable.intersect(valid)
            if valid and (valid != reach or (nullable and nullable != valid)):
                return True
        return False

    # -- the schema -------------------------------------------------------------------------------

    def schema(self) -> Tree:
        message, destination = self.message, self.destination
        front, params = self._front()
        seq = [*front, *self._seq(message.root)]
        for name in self.reach:
            if name != message.name:
                self._type(name)
        tree: Tree = {"meta": self._meta()}
        tree["-names"] = style_of(message)
        tree["-orig-id"] = message.name
        if destination.frame == "given":
            tree["-versions"] = _range(message.valid)
        tree["-message"] = {} if message.number is None else {"kind": message.kind, "number": message.number}
        if destination.topic:
            tree["-message"]["topic"] = destination.topic
        if destination.frame != "number":
            tree["-message"]["flexible"] = _range(message.flexible)
        tree["doc-ref"] = destination.link or "https://kafka.apache.org/protocol.html"
        if params:
            tree["params"] = params
        tree["seq"] = seq
        if self.types:
            # those of the definition first, then what sections are made of
            defined = [self._id(name) for name in self.reach if name != message.name]
            tree["types"] = {name: self.types[name] for name in dict.fromkeys([*defined, *self.types])}
        return tree

    def _meta(self) -> Tree:
        meta: Tree = {
            "id": self.id,
            "title": f"Kafka {self.message.name} ({self.destination.what})",
            "license": "Apache-2.0",
        }
        if self.imports:
            meta["imports"] = [f"../primitives/{name}" for name in sorted(self.imports)]
        return meta | {"endian": "be"}

    def _front(self) -> tuple[list[Tree], list[Tree]]:
        """The fields before the message's own, and the parameters that its type takes."""
        message, valid = self.message, self.message.valid
        if self.destination.frame == "number":
            if message.number is None:
                raise self.bad("a key without a number")
            doc = "Record type, which determines the schemas of the key and the value."
            return [{"id": "record_type", "type": "s2", "valid": message.number, "doc": doc}], []
        if self.destination.frame == "given":
            return [], [{"id": "version", "type": "s2"}]
        if self.destination.frame == "own":
            return [], []
        return [{"id": "version", "type": "s2", "valid": {"min": valid.first, "max": valid.last}}], []

    def _type(self, name: str) -> None:
        struct = self._struct(name)
        tree: Tree = {"-orig-id": name}
        if name in self.varies:
            tree["-versions"] = _range(self.reach[name])
            tree["params"] = [{"id": "version", "type": "s2"}]
        tree["seq"] = self._seq(struct)
        self.types[self._id(name)] = tree

    def _id(self, struct: str) -> str:
        """The id of a struct's type."""
        plain = snake(struct)
        return f"{plain}_entry" if plain in (*_IMPORTED, self.id) else plain

    # -- fields -----------------------------------------------------------------------------------

    def _seq(self, struct: StructDef) -> list[Tree]:
        reach = self.reach[struct.name]
        ids = self._ids(struct)
        seq: list[Tree] = []
        tagged: list[FieldDef] = []
        for field in struct.fields:
            if not self._valid_versions(struct.name, field):
                continue
            if field.tag is None:
                seq += self._field(struct, field, ids)
                continue
            untagged = [v for v in self._valid_versions(struct.name, field) if v not in field.tagged]
            if untagged:
                raise self.bad(f"`{field.name}` is a tagged field in some versions, and not in others")
            tagged.append(field)
        flexible = self.message.flexible.intersect(reach)
        if flexible:
            seq.append(self._section(struct, tagged, ids, flexible))
        elif tagged:
            raise self.bad(f"`{tagged[0].name}` is a tagged field of versions that are not flexible")
        return seq

    def _ids(self, struct: StructDef) -> dict[str, str]:
        """An id for each field of a struct: its name in the schema, or its name in snake case."""
        root = struct.name == self.message.name
        used = {_TAGS} | ({"version"} if struct.name in self.varies or root else set())
        ids: dict[str, str] = {}
        is_own_frame = root and self.destination.frame == "own"
        for field in struct.fields:
            if is_own_frame and not ids:
                if field.name != "Version":
                    raise self.bad("its first field is not its version")
                ids[field.name] = "version"
                continue
            name = self.names.get((struct.name, field.name)) or snake(field.name)
            while name in used:
                name = f"{name}_field"
            ids[field.name] = name
            used.add(name)
        return ids

    def _when(self, struct: StructDef, valid: VersionRange) -> str:
        """The condition on the version; empty if every version of the struct is meant."""
        test = version_test("version", self.reach[struct.name], valid)
        return (
            ""
            if test == Literal(True)
            else " and ".join(text_of(each).strip("()") for each in conjuncts(test))
        )

    def _flag(self, struct: StructDef, field: FieldDef) -> str:
        """Whether text and bytes are compact, as an expression of the version."""
        reach = self.reach[struct.name]
        flexible = (self.message.flexible if field.flexible is None else field.flexible).intersect(reach)
        if field.tag is not None or flexible == reach:
            return "true"
        return f"version >= {flexible.first}" if flexible else "false"

    def _ordered(self, tree: Tree) -> Tree:
        order = (
            "id", "-orig-id", "type", "valid", "repeat", "repeat-expr", "if", "-ignorable", "-default",
            "-nullable",
        )  # fmt: skip
        return {key: tree[key] for key in order if key in tree}

    def _field(self, struct: StructDef, field: FieldDef, ids: Mapping[str, str]) -> Iterator[Tree]:
        valid_versions = self._valid_versions(struct.name, field)
        condition = self._when(struct, valid_versions)
        ident = ids[field.name]
        tree: Tree = {"id": ident, "-orig-id": field.name}
        if condition:
            tree["if"] = condition
            if field.ignorable:
                tree["-ignorable"] = True
        if ident == "version" and self.destination.frame == "own" and struct is self.message.root:
            valid = self.message.valid
            tree["valid"] = {"min": valid.first, "max": valid.last}
        tree |= self._default(field, valid_versions) | self._nulls(field, valid_versions)
        nullable = bool(field.nullable.intersect(valid_versions))
        if field.is_array:
            yield from self._array(struct, field, tree, ids, valid_versions)
            return
        if field.type in self.message.structs:
            tree["type"] = self._struct_type(field.type)
            if nullable:
                mark = self._free(f"has_{ident}", ids)
                yield self._ordered({"id": mark, "type": "s1"} | ({"if": condition} if condition else {})) | {
                    "doc": f"Whether `{ident}` is present: 1, or a negative number if it is null."
                }
                tree["if"] = _both(condition, f"{mark} >= 0")
                tree.setdefault("-nullable", True)
            yield self._ordered(tree)
            return
        tree["type"] = self._plain_type(struct, field, nullable)
        yield self._ordered(tree)

    def _plain_type(self, struct: StructDef, field: FieldDef, nullable: bool) -> str:
        if field.type in _PRIMS:
            if nullable:
                raise self.bad(f"`{field.name}`: a nullable {field.type}")
            return self._prim(field.type)
        name = ("nullable_" if nullable else "") + _SIZED[field.type]
        self.imports.add(name)
        return f"{name}({self._flag(struct, field)})"

    def _prim(self, name: str) -> str:
        kind = _PRIMS[name]
        if kind in _IMPORTED:
            self.imports.add(kind)
        return kind

    def _struct_type(self, name: str) -> str:
        return f"{self._id(name)}(version)" if name in self.varies else self._id(name)

    def _element(self, struct: StructDef, field: FieldDef) -> str:
        if field.type in self.message.structs:
            return self._struct_type(field.type)
        return self._plain_type(struct, field, False)

    def _array(
        self, struct: StructDef, field: FieldDef, tree: Tree, ids: Mapping[str, str], valid: VersionRange
    ) -> Iterator[Tree]:
        """The count, then the elements."""
        ident = tree["id"]
        nullable = bool(field.nullable.intersect(valid))
        flexible = self.message.flexible.intersect(valid)
        compact = "true" if flexible == valid else f"version >= {flexible.first}" if flexible else "false"
        name = self._free(f"num_{ident}", ids)
        yield self._count(name, nullable, compact, tree.get("if", ""))
        tree["type"] = self._element(struct, field)
        tree["repeat"] = "expr"
        tree["repeat-expr"] = f"{name}.value"
        if nullable:
            tree["if"] = _both(tree.get("if", ""), f"{name}.value >= 0")
            tree.setdefault("-nullable", True)
        yield self._ordered(tree)

    def _count(self, name: str, nullable: bool, compact: str, condition: str = "") -> Tree:
        kind = "nullable_count" if nullable else "count"
        self.imports.add(kind)
        return {"id": name, "type": f"{kind}({compact})"} | ({"if": condition} if condition else {})

    def _free(self, name: str, ids: Mapping[str, str]) -> str:
        """The name, or a longer one where a field has it."""
        while name in ids.values():
            name += "_listed"
        return name

    def _default(self, field: FieldDef, valid: VersionRange) -> Tree:
        """The default, if it differs from that of the type."""
        nullable = bool(field.nullable.intersect(valid))
        null = field.null_default or (field.type == "records" and nullable and field.default is None)
        if null:
            if not nullable:
                raise self.bad(f"`{field.name}`: null by default, and never null")
            return {}
        if nullable and field.default in (None, ""):
            return {"-default": "empty"}
        if field.default is None or field.is_array or field.type in self.message.structs:
            return {}
        value = self._value(field)
        return {} if not value and not nullable else {"-default": value}

    def _value(self, field: FieldDef) -> Any:
        default = field.default
        try:
            match field.type:
                case "bool":
                    return {"true": True, "false": False}[str(default).lower()]
                case "float64":
                    return float(default or 0)
                case "string":
                    return (
                        f'"{default}"' if str(default).isascii() and '"' not in str(default) else _no(default)
                    )
                case "uuid" | "bytes" | "records":
                    return _no(default)
            return default if isinstance(default, int) else int(str(default), 0)
        except (KeyError, ValueError):
            raise self.bad(f"`{field.name}`: `{default}` is no {field.type}") from None

    def _nulls(self, field: FieldDef, valid: VersionRange) -> Tree:
        nullable = field.nullable.intersect(valid)
        return {"-nullable": _range(nullable)} if nullable and nullable != valid else {}

    # -- tagged fields ----------------------------------------------------------------------------

    def _section(
        self, struct: StructDef, tagged: list[FieldDef], ids: Mapping[str, str], flexible: VersionRange
    ) -> Tree:
        condition = self._when(struct, flexible)
        tree: Tree = {"id": _TAGS}
        if condition:
            tree["if"] = condition
        if not tagged:
            self.imports.add(_TAGS)
            return self._ordered(tree | {"type": _TAGS})
        stem = "message" if struct.name == self.message.name else self._id(struct.name)
        self.imports.add("unsigned_varint")
        cases: Tree = {}
        tags: Tree = {}
        for field in sorted(tagged, key=lambda field: field.tag or 0):
            if field.tag in cases:
                raise self.bad(f"tag {field.tag} stands twice")
            cases[field.tag] = self._tag_type(struct, field)
            tags[field.tag] = self._tag(struct, field, ids, flexible)
        for field in tagged:
            if cases[field.tag] in _NUMBERS:
                # ksc 0.11 writes C++ and Go that do not compile where a choice of a stated size holds numbers
                cases[field.tag] = self._boxed(field.type)
        fields = {"id": "fields", "type": f"{stem}_tag", "repeat": "expr", "repeat-expr": "num_fields.value"}
        self.types[f"{stem}_tags"] = {
            "doc": "Optional fields, known and unknown.",
            "seq": [{"id": "num_fields", "type": "unsigned_varint"}, fields],
        }
        body = {
            "id": "body",
            "size": "len_body.value",
            "type": {"switch-on": "tag.value.as<s4>", "cases": cases},
            "-tags": tags,
        }
        numbers = [{"id": name, "type": "unsigned_varint"} for name in ("tag", "len_body")]
        self.types[f"{stem}_tag"] = {"seq": [*numbers, body]}
        return self._ordered(tree | {"type": f"{stem}_tags"})

    def _tag(
        self, struct: StructDef, field: FieldDef, ids: Mapping[str, str], flexible: VersionRange
    ) -> Tree:
        valid = self._valid_versions(struct.name, field)
        if valid.first < flexible.first:
            raise self.bad(f"`{field.name}` is a tagged field of versions that are not flexible")
        tree: Tree = {"id": ids[field.name], "-orig-id": field.name}
        if valid != flexible:
            last = OPEN if valid.last == flexible.last else valid.last
            tree["-versions"] = _range(VersionRange(valid.first if valid.first > flexible.first else 0, last))
        if field.ignorable:
            tree["-ignorable"] = True
        return tree | self._default(field, valid) | self._nulls(field, valid)

    def _tag_type(self, struct: StructDef, field: FieldDef) -> str:
        """The type of a tag's value, which has a name: a list or a nullable struct gets one here."""
        nullable = bool(field.nullable.intersect(self._valid_versions(struct.name, field)))
        if field.is_array:
            return self._list(struct, field, nullable)
        if field.type not in self.message.structs:
            return self._plain_type(struct, field, nullable)
        kind = self._id(field.type)
        if nullable:
            self.types[f"nullable_{kind}"] = {
                "-unwrap": "value",
                "doc": f"Value of a tagged field: a `{kind}`, or null.",
                "seq": [
                    {
                        "id": "has_value",
                        "type": "unsigned_varint",
                        "doc": "Whether `value` is present: 1, or 0 if it is null.",
                    },
                    {
                        "id": "value",
                        "type": kind,
                        "if": "has_value.value >= 1",
                        "-nullable": True,
                        "doc": "The value, or null.",
                    },
                ],
            }
        return f"nullable_{kind}" if nullable else kind

    def _boxed(self, prim: str) -> str:
        """A type that stands for a number."""
        name = f"{prim}_value"
        if name in _IMPORTED:
            self.imports.add(name)
            return name
        self.types[name] = {
            "-unwrap": "value",
            "doc": "Value of a tagged field: one number.",
            "seq": [{"id": "value", "type": _PRIMS[prim], "doc": "The number."}],
        }
        return name

    def _list(self, struct: StructDef, field: FieldDef, nullable: bool) -> str:
        plain = self._id(field.type) if field.type in self.message.structs else field.type
        name = f"{'nullable_' if nullable else ''}{plain}_list"
        if name in _IMPORTED:
            self.imports.add(name)
            return name
        items: Tree = {"id": "items", "type": self._element(struct, field), "repeat": "expr"}
        items["repeat-expr"] = "num_items.value"
        if nullable:
            items |= {"if": "num_items.value >= 0", "-nullable": True}
        self.types[name] = {
            "-unwrap": "items",
            "doc": "Value of a tagged field: a list with its length" + (", or null." if nullable else "."),
            "seq": [self._count("num_items", nullable, "true"), items | {"doc": "The elements."}],
        }
        return name


def style_of(message: MessageDef) -> str:
    """The style of the names of a message's fields."""
    names = [field.name for struct in (message.root, *message.structs.values()) for field in struct.fields]
    upper = sum(name[:1].isupper() for name in names)
    return "PascalCase" if upper * 2 > len(names) else "camelCase"


def shortened(tree: Tree) -> Tree:
    """A schema without the names that `-names` gives."""
    return _unnamed(tree, NAMES["PascalCase"](tree["meta"]["id"]), NAMES[tree["-names"]])


def _unnamed(tree: Tree, name: str, style: Callable[[str], str]) -> Tree:
    short = {key: value for key, value in tree.items() if (key, value) != ("-orig-id", name)}
    if "seq" in tree:
        short["seq"] = [_unnamed_field(spec, style) for spec in tree["seq"]]
    if "types" in tree:
        types = tree["types"].items()
        short["types"] = {key: _unnamed(each, NAMES["PascalCase"](key), style) for key, each in types}
    return short


def _unnamed_field(spec: Tree, style: Callable[[str], str]) -> Tree:
    spec = dict(spec)
    valid = spec.get("valid", {})
    constant = not isinstance(valid, dict) or valid.keys() == {"eq"}
    if spec.get("-orig-id") == style(spec["id"]) and spec["id"] != "version" and not constant:
        del spec["-orig-id"]
    tags = {number: _unnamed_field(tag, style) for number, tag in spec.get("-tags", {}).items()}
    if tags:
        spec["-tags"] = {number: tag["id"] if tag.keys() == {"id"} else tag for number, tag in tags.items()}
    return spec


def _range(versions: VersionRange) -> str | int:
    """A range as it is written; one version is a number in YAML."""
    return versions.first if versions.first == versions.last else str(versions)


def _both(first: str, second: str) -> str:
    return f"{first} and {second}" if first else second


def _no(constant: object) -> Any:
    raise ValueError(constant)
