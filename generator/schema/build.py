"""From the trees of all schema files to the model; every key is known, or a problem."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from kodec.generator.problems import Place, Problems, nearest
from kodec.generator.schema import expr as ex
from kodec.generator.schema.keys import IGNORED, KEYS, UNSUPPORTED
from kodec.generator.schema.load import Node, Scalar, load_file
from kodec.generator.schema.model import (
    ARROW_TYPE,
    Bits,
    Bound,
    Bytes,
    Codec,
    Column,
    Derive,
    Enum,
    EnumItem,
    Field,
    Instance,
    Model,
    Param,
    Prim,
    Ref,
    Schema,
    Str,
    Struct,
    Switch,
    Tag,
    TypeRef,
    Valid,
)
from kodec.generator.schema.versions import VersionRange
from kodec.generator.text import NO_TEXT, Text, not_text

__all__ = ["WIRE_INTRINSICS", "WIRE_TRANSPARENT", "build"]

WIRE_INTRINSICS = ("zigzag32", "zigzag64", "uvarint32", "uuid")
WIRE_TRANSPARENT = ("string", "bytes", "list")
WIRE_KINDS = (*WIRE_INTRINSICS, *WIRE_TRANSPARENT, "tags")

_PRIM = re.compile(r"([us])([1248])(le|be)?\Z")
_FLOAT = re.compile(r"f([48])(le|be)?\Z")
_BITS = re.compile(r"b([1-9][0-9]?)(be|le)?\Z")
_IDENT = re.compile(r"[a-z]([a-z0-9_]*[a-z0-9])?\Z")
_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?\Z")
_DERIVE = re.compile(
    r"\s*(length_of|count_of|crc32c|crc32|last|max)\(\s*([a-z][a-z0-9_]*)"
    r"(?:\s*\.\.\s*([a-z][a-z0-9_]*)|\.([a-z][a-z0-9_]*))?\s*\)\s*(?:\+\s*(.+))?\Z"
)
_ENCODINGS = {
    "utf-8": "utf-8",
    "ascii": "ascii",
    "iso-8859-1": "latin-1",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
}


@dataclass(slots=True)
class _Unit:
    """One file while it is being built."""

    id: str
    path: str
    digest: str
    root: Node
    imports: tuple[str, ...]
    types: dict[str, Node]
    enums: dict[str, Node]


def build(folder: Path) -> Model:
    """Read every .ksy under `folder`. Raises SchemaError with every problem found."""
    problems = Problems()
    files = sorted(folder.rglob("*.ksy"))
    if not files:
        problems.add(Place(str(folder), 1, 1), "", "no .ksy file in this folder")
    units: dict[str, _Unit] = {}
    for file in files:
        unit = _load_unit(file, file.relative_to(folder).as_posix(), folder, problems)
        if unit is None:
            continue
        if unit.id in units:
            problems.add(
                unit.root.place, unit.id, f"two files have the id: the other is {units[unit.id].path}"
            )
        units[unit.id] = unit
    builder = _Builder(units, problems)
    schemas = [builder.schema(unit) for unit in units.values()]
    problems.raise_if_any()
    return Model(tuple(sorted(schemas, key=lambda schema: schema.path)))


def _load_unit(file: Path, name: str, folder: Path, problems: Problems) -> _Unit | None:
    shown = (Path(folder.name) / name).as_posix()
    root, data = load_file(file, shown, problems)
    if root is None:
        return None
    meta = root.get("meta")
    ident = meta.get("id") if meta else None
    if meta is None or ident is None or not isinstance(ident.value, str):
        problems.add((meta or root).place, "meta/id", "the schema has no id", f"id: {file.stem}")
        return None
    if ident.value != file.stem:
        problems.add(ident.place, "meta/id", f"`{ident.value}` is not the file's name", f"id: {file.stem}")
    imports = []
    listed = meta.get("imports")
    if listed is not None and not isinstance(listed.value, list):
        problems.add(listed.place, "meta/imports", "`imports` must be a list")
    for item in listed.items if listed else []:
        path = str(item.value)
        target = path[1:] if path.startswith("/") else posixpath.join(posixpath.dirname(name), path)
        target = posixpath.normpath(target) + ".ksy"
        if target.startswith("..") or not (folder / target).is_file():
            problems.add(item.place, "meta/imports", f"`{path}`: there is no {target} in the schema folder")
        else:
            imports.append(posixpath.basename(path))
    types: dict[str, Node] = {}
    enums: dict[str, Node] = {}
    _collect(root, ident.value, types, enums, problems)
    digest = hashlib.sha256(data).hexdigest()
    return _Unit(ident.value, name, digest, root, tuple(imports), types, enums)


def _collect(
    node: Node, name: str, types: dict[str, Node], enums: dict[str, Node], problems: Problems
) -> None:
    types[name] = node
    for key, into in (("enums", enums), ("types", None)):
        children = node.get(key)
        if children is not None and not isinstance(children.value, dict):
            problems.add(children.place, name.replace("::", "."), f"`{key}` must be a mapping")
        for child, value in children.map.items() if children else ():
            full = f"{name}::{child}"
            if not isinstance(child, str) or not _IDENT.match(child):
                problems.add(value.place, full, f"`{child}` is not a name", "lower_snake_case")
            elif into is not None:
                into[full] = value
            else:
                _collect(value, full, types, enums, problems)


class _Builder:
    def __init__(self, units: dict[str, _Unit], problems: Problems) -> None:
        self.units = units
        self.problems = problems
        self.unit = next(iter(units.values()), None)
        self.scope = ""

    def schema(self, unit: _Unit) -> Schema:
        self.unit = unit
        meta = unit.root.get("meta")
        assert meta is not None
        self._known(meta, "meta", "meta")
        self.endian = self._word(meta, "endian", "meta", ("be", "le"))
        self.encoding = self._text(meta, "encoding")
        if self._word(meta, "bit-endian", "meta", ("be", "le")) == "le":
            self._bad(
                meta.map["bit-endian"], "meta", "little-endian bit fields are not supported", "bit-endian: be"
            )
        structs = tuple(self._struct(name, node) for name, node in unit.types.items())
        enums = tuple(self._enum(name, node) for name, node in unit.enums.items())
        return Schema(
            unit.id,
            unit.path,
            unit.digest,
            self._words(meta, "title"),
            self._words(meta, "application"),
            self._words(meta, "license"),
            unit.imports,
            structs,
            enums,
        )

    # -- small readers ------------------------------------------------------------------------

    def _bad(self, node: Node | Place, path: str, text: str, hint: str = "") -> None:
        self.problems.add(node.place if isinstance(node, Node) else node, path, text, hint)

    def _known(self, node: Node, kind: str, path: str) -> None:
        """Report the keys that a mapping of this kind cannot have."""
        known = KEYS[kind]
        if not isinstance(node.value, dict):
            self._bad(node, path, "a mapping is expected here")
            return
        for key, place in node.keys.items():
            name = str(key)
            if name in known or IGNORED.match(name):
                continue
            if name in UNSUPPORTED:
                self._bad(place, path, f"`{name}` is not supported", UNSUPPORTED[name])
            elif name.startswith("-"):
                self._bad(place, path, f"unknown extension key `{name}`", nearest(name, known.own))
            else:
                self._bad(place, path, f"unknown key `{name}`", nearest(name, known.plain))

    def _text(self, node: Node, key: str) -> str | None:
        child = node.get(key)
        if child is None:
            return None
        if isinstance(child.value, (list, dict)):
            self._bad(child, key, f"`{key}` must be text")
            return None
        return None if child.value is None else str(child.value).strip()

    def _words(self, node: Node, key: str) -> Text:
        """What is meant for people; empty where there is none."""
        child = node.get(key)
        return NO_TEXT if child is None else self._as_words(child, self._text(node, key) or "", key)

    def _as_words(self, node: Node, raw: str, key: str) -> Text:
        sign = not_text(raw)
        if sign is not None:
            self._bad(node, key, f"`{key}` holds {sign}, which is not shown as what it is", "leave it out")
            return NO_TEXT
        return Text(raw)

    def _name(self, node: Node, path: str, what: str) -> str:
        """A scalar that has to be a name, but need not be in lower case."""
        text = "" if node.value is None or isinstance(node.value, (list, dict)) else str(node.value)
        if not _NAME.match(text):
            self._bad(node, path, f"{what} `{text}` is not a name", "letters, digits and `_`")
            return f"unnamed_{node.place.line}"
        return text

    def _word(self, node: Node, key: str, path: str, words: Iterable[str]) -> str | None:
        text = self._text(node, key)
        if text is not None and text not in words:
            self._bad(node.map[key], path, f"`{key}: {text}` is not supported", nearest(text, words))
            return None
        return text

    def _list(self, node: Node, key: str, path: str) -> list[Node]:
        child = node.get(key)
        if child is not None and not isinstance(child.value, list):
            self._bad(child, path, f"`{key}` must be a list")
        return child.items if child is not None else []

    def _map(self, node: Node, key: str, path: str) -> dict[Scalar, Node]:
        child = node.get(key)
        if child is not None and not isinstance(child.value, dict):
            self._bad(child, path, f"`{key}` must be a mapping")
        return child.map if child is not None else {}

    def _refs(self, node: Node) -> tuple[Text, ...]:
        child = node.get("doc-ref")
        if child is None:
            return ()
        items = child.items or [child]
        if any(isinstance(item.value, (list, dict)) for item in items):
            self._bad(child, "doc-ref", "`doc-ref` must be text, or a list of texts")
            return ()
        return tuple(self._as_words(item, str(item.value).strip(), "doc-ref") for item in items)

    def _expr(self, node: Node | None, path: str) -> ex.Expr | None:
        if node is None:
            return None
        if isinstance(node.value, (bool, int, float)):
            return ex.Literal(node.value)
        if not isinstance(node.value, str):
            self._bad(node, path, "an expression is expected here")
            return None
        try:
            parsed = ex.parse(node.value)
        except ex.ExprError as error:
            self._bad(node, path, f"`{node.value.strip()}`: {error}")
            return None
        # an expression about the container is resolved where the container is known
        late = "_batch" in ex.names(parsed)
        return ex.replace(
            parsed,
            lambda part: self._enum_value(part, node, path, late) if isinstance(part, ex.EnumValue) else None,
        )

    def _flag(self, node: Node, key: str, path: str) -> bool:
        child = node.get(key)
        if child is not None and not isinstance(child.value, bool):
            self._bad(child, path, f"`{key}` must be true or false")
        return child is not None and child.value is True

    def _number(self, node: Node, key: str, path: str) -> int | None:
        child = node.get(key)
        if child is None:
            return None
        if not isinstance(child.value, int) or isinstance(child.value, bool):
            self._bad(child, path, f"`{key}` must be a whole number")
            return None
        return child.value

    # -- names --------------------------------------------------------------------------------

    def _resolve(self, name: str, scope: str, table: Callable[[_Unit], dict[str, Node]]) -> str | None:
        """The full name that `name` means in type `scope`: own types first, then outwards, then imports."""
        assert self.unit is not None
        around = scope
        while around:
            if (full := f"{around}::{name}") in table(self.unit):
                return full
            around = around.rpartition("::")[0]
        first = name.partition("::")[0]
        if first == self.unit.id or first in self.unit.imports:
            unit = self.units.get(first)
            if unit is not None and name in table(unit):
                return name
        return None

    def _seen_types(self, scope: str) -> list[str]:
        assert self.unit is not None
        return [name.rpartition("::")[2] for name in self.unit.types] + list(self.unit.imports)

    # -- types --------------------------------------------------------------------------------

    def _struct(self, name: str, node: Node) -> Struct:
        path = name.replace("::", ".")
        assert self.unit is not None
        top = name == self.unit.id
        self.scope = name
        self._known(node, "schema" if top else "type", path)
        wire = self._word(node, "-wire", path, WIRE_KINDS)
        versions, version_field = self._versions(node, path)
        params = tuple(self._param(item, path) for item in self._list(node, "params", path))
        fields = tuple(self._field(item, name, path) for item in self._list(node, "seq", path))
        instances = tuple(
            self._instance(str(key), item, path) for key, item in self._map(node, "instances", path).items()
        )
        seen: set[str] = set()
        for ident in [p.id for p in params] + [f.id for f in fields] + [i.id for i in instances]:
            if ident in seen:
                self._bad(node, f"{path}.{ident}", "the name stands twice in this type")
            seen.add(ident)
        row, columns, unless, bounds = self._row(node, path)
        return Struct(
            name,
            node.place,
            fields,
            instances,
            params,
            self._words(node, "doc"),
            self._refs(node),
            wire,
            row,
            columns,
            unless,
            bounds,
            versions,
            version_field,
            self._range(node, "-flexible", path),
            self._words(node, "-topic"),
        )

    def _range(self, node: Node, key: str, path: str) -> VersionRange | None:
        text = self._text(node, key)
        if text is None:
            return None
        try:
            return VersionRange.parse(text)
        except ValueError as error:
            self._bad(node.map[key], path, f"{key}: {error}", "write it as 3, 0-4, 2+ or none")
            return None

    def _row(
        self, node: Node, path: str
    ) -> tuple[bool, tuple[str | Column, ...], ex.Expr | None, tuple[Bound, ...]]:
        child = node.get("-row")
        if child is None or not isinstance(child.value, dict):
            return self._flag(node, "-row", path), (), None, ()
        self._known(child, "-row", path)
        columns: list[str | Column] = []
        for item in self._list(child, "columns", path):
            if isinstance(item.value, dict):
                self._known(item, "column of a -row", path)
                columns.append(
                    Column(
                        self._name(item.get("name") or item, path, "the column"),
                        self._arrow(item, path),
                        self._expr(item.get("value"), path),
                    )
                )
            else:
                columns.append(self._name(item, path, "the column"))
        bounds = []
        for name, item in self._map(child, "bounds", path).items():
            self._known(item, "bound of a -row", path)
            first, last = (self._expr(item.get(key), path) for key in ("first", "last"))
            bounds.append(Bound(str(name), first, last))
        return True, tuple(columns), self._expr(child.get("unless"), path), tuple(bounds)

    def _versions(self, node: Node, path: str) -> tuple[VersionRange | None, str]:
        child = node.get("-versions")
        if child is None or not isinstance(child.value, dict):
            found = self._range(node, "-versions", path)
            if found is not None and (not found or found.last - found.first > 255):
                self._bad(
                    node.map["-versions"], path, "-versions must be a closed range of at most 256 versions"
                )
                found = None
            return found, "version"
        self._known(child, "-versions", path)
        return self._range(child, "range", path), self._text(child, "field") or "version"

    def _param(self, node: Node, path: str) -> Param:
        self._known(node, "parameter", path)
        ident = self._ident(node, path)
        kind = self._text(node, "type") or ""
        if kind != "bool" and not _PRIM.match(kind):
            self._bad(
                node,
                f"{path}.{ident}",
                f"a parameter of type `{kind}` is not supported",
                "bool, or an integer type",
            )
        return Param(ident, kind, self._words(node, "doc"))

    def _ident(self, node: Node, path: str) -> str:
        ident = self._text(node, "id")
        if ident is None or not _IDENT.match(ident):
            self._bad(
                node,
                path,
                "a field needs an id" if ident is None else f"`{ident}` is not a name",
                "lower_snake_case",
            )
            return f"unnamed_{node.place.line}"
        return ident

    def _field(self, node: Node, scope: str, path: str) -> Field:
        ident = self._ident(node, path)
        path = f"{path}.{ident}"
        self._known(node, "field", path)
        kind = self._type(node, scope, path)
        contents = self._contents(node, path)
        enum = self._text(node, "enum")
        if enum is not None:
            found = self._resolve(enum, scope, lambda unit: unit.enums)
            if found is None:
                assert self.unit is not None
                known = [name.rpartition("::")[2] for name in self.unit.enums]
                self._bad(node.map["enum"], path, f"unknown enum `{enum}`", nearest(enum, known))
            enum = found
        repeat = self._word(node, "repeat", path, ("eos", "expr", "until"))
        for word in ("expr", "until"):
            if (repeat == word) != (node.get(f"repeat-{word}") is not None):
                self._bad(node, path, f"`repeat: {word}` and `repeat-{word}` go together")
        codec = self._codec(node, scope, path)
        return Field(
            ident,
            kind,
            node.place,
            self._words(node, "-orig-id"),
            self._expr(node.get("size"), path),
            self._flag(node, "size-eos", path),
            contents,
            repeat,
            self._expr(node.get("repeat-expr"), path),
            self._expr(node.get("repeat-until"), path),
            self._expr(node.get("if"), path),
            enum,
            self._valid(node, path),
            self._derive(node, path),
            self._expr(node.get("-default"), path),
            self._expr(node.get("-nullable"), path),
            self._number(node, "-since", path),
            self._number(node, "-until", path),
            self._flag(node, "-ignorable", path),
            codec,
            self._tags(node, kind, path),
            self._column(node, ident, path),
            self._words(node, "doc"),
            self._refs(node),
            {str(key): each.place for key, each in node.map.items()},
        )

    def _type(self, node: Node, scope: str, path: str) -> TypeRef:
        child = node.get("type")
        sized = node.get("size") is not None or node.get("size-eos") is not None
        if child is None:
            if not sized and node.get("contents") is None:
                self._bad(node, path, "the field has neither a type nor a size")
            return Bytes()
        if isinstance(child.value, dict):
            return self._switch(child, node, scope, path)
        return self._named_type(child, str(child.value).strip(), node, scope, path)

    def _named_type(self, at: Node, text: str, node: Node, scope: str, path: str) -> TypeRef:
        if match := _PRIM.match(text):
            return self._prim(at, text, int(match[2]), match[1] == "s", False, match[3], path)
        if match := _FLOAT.match(text):
            return self._prim(at, text, int(match[1]), True, True, match[2], path)
        if match := _BITS.match(text):
            if match[2] == "le" or not 1 <= int(match[1]) <= 64:
                self._bad(at, path, f"`{text}` is not supported", "b1 to b64, big-endian")
            return Bits(int(match[1]))
        if text == "str":
            encoding = self._text(node, "encoding") or self.encoding or ""
            if encoding.lower() not in _ENCODINGS:
                self._bad(
                    at, path, f"encoding `{encoding}` is not supported", nearest(encoding.lower(), _ENCODINGS)
                )
            if node.get("size") is None and node.get("size-eos") is None:
                self._bad(at, path, "a str needs `size` or `size-eos`")
            return Str(_ENCODINGS.get(encoding.lower(), "utf-8"))
        if text == "strz":
            self._bad(at, path, "`strz` is not supported", "use `str` with a length field and `size`")
            return Bytes()
        return self._ref(at, text, scope, path)

    def _prim(
        self, at: Node, text: str, width: int, signed: bool, floating: bool, endian: str | None, path: str
    ) -> Prim:
        endian = endian or self.endian
        if endian is None and width > 1:
            self._bad(
                at, path, f"`{text}` has no byte order", "set meta/endian, or write the type with le or be"
            )
        name = re.sub(r"(le|be)\Z", "", text)
        return Prim(name, width, signed, floating, endian or "be")

    def _ref(self, at: Node, text: str, scope: str, path: str) -> TypeRef:
        try:
            parsed = ex.parse(text)
        except ex.ExprError as error:
            self._bad(at, path, f"type `{text}`: {error}")
            return Bytes()
        args: tuple[ex.Expr, ...] = ()
        if isinstance(parsed, ex.Call):
            name, args = parsed.name, parsed.args
        else:
            name = text
        target = self._resolve(name, scope, lambda unit: unit.types)
        if target is None:
            self._bad(at, path, f"unknown type `{name}`", nearest(name, self._seen_types(scope)))
            return Bytes()
        wanted = len((self.units[target.partition("::")[0]].types[target].get("params") or _NONE).items)
        if wanted != len(args):
            self._bad(at, path, f"type `{name}` takes {wanted} arguments, {len(args)} given")
        return Ref(target, args)

    def _switch(self, child: Node, node: Node, scope: str, path: str) -> TypeRef:
        self._known(child, "switch", path)
        on = self._expr(child.get("switch-on"), path)
        cases: list[tuple[ex.Expr, TypeRef]] = []
        default: TypeRef | None = None
        for key, item in self._map(child, "cases", path).items():
            kind = self._named_type(item, str(item.value), node, scope, path)
            if key == "_":
                default = kind
                continue
            case = self._expr(Node(key, item.place, {}), path)
            if not isinstance(case, (ex.EnumValue, ex.Literal)):
                self._bad(item, path, f"case `{key}` is neither a number nor an enum value")
            if case is not None:
                cases.append((case, kind))
        if on is None or not cases:
            self._bad(child, path, "a switch needs `switch-on` and `cases`")
            return Bytes()
        return Switch(on, tuple(cases), default)

    def _enum_value(self, value: ex.EnumValue, at: Node, path: str, late: bool) -> ex.EnumValue | None:
        full = self._resolve(value.enum, self.scope, lambda unit: unit.enums)
        if full is None:
            if not late:
                assert self.unit is not None
                known = [name.rpartition("::")[2] for name in self.unit.enums]
                self._bad(at, path, f"unknown enum `{value.enum}`", nearest(value.enum, known))
            return None
        items = self.units[full.partition("::")[0]].enums[full].map.values()
        names = [str(item.map["id"].value if "id" in item.map else item.value) for item in items]
        if value.value not in names:
            self._bad(at, path, f"enum `{value.enum}` has no `{value.value}`", nearest(value.value, names))
        return ex.EnumValue(full, value.value)

    def _contents(self, node: Node, path: str) -> bytes | None:
        child = node.get("contents")
        if child is None:
            return None
        parts = child.items or [child]
        out = b""
        for part in parts:
            if isinstance(part.value, str):
                # a lone surrogate is no character, so that it has no bytes
                if any("\ud800" <= sign <= "\udfff" for sign in part.value):
                    self._bad(part, path, "contents hold half a surrogate pair")
                out += part.value.encode("utf-8", "replace")
            elif isinstance(part.value, int) and 0 <= part.value <= 255:
                out += bytes([part.value])
            else:
                self._bad(part, path, "contents must be text or bytes from 0 to 255")
        return out

    def _valid(self, node: Node, path: str) -> Valid | None:
        child = node.get("valid")
        if child is None:
            return None
        if not isinstance(child.value, dict):
            return Valid(eq=self._expr(child, path))
        self._known(child, "valid", path)
        choices = None
        if child.get("any-of") is not None:
            listed = self._list(child, "any-of", path)
            choices = tuple(e for item in listed if (e := self._expr(item, path)) is not None)
            if not listed:
                self._bad(child, path, "`any-of` lists no value")
        return Valid(
            self._expr(child.get("eq"), path),
            self._expr(child.get("min"), path),
            self._expr(child.get("max"), path),
            choices,
            self._expr(child.get("expr"), path),
        )

    def _derive(self, node: Node, path: str) -> Derive | None:
        child = node.get("-derive")
        if child is None:
            return None
        when: ex.Expr | None = None
        verify = "equal"
        text_node: Node | None = child
        if isinstance(child.value, dict):
            self._known(child, "-derive", path)
            text_node = child.get("value")
            when = self._expr(child.get("when"), path)
            verify = self._word(child, "verify", path, ("equal", "at_least")) or "equal"
        match = _DERIVE.match(str(text_node.value)) if text_node else None
        if match is None:
            self._bad(
                text_node or child,
                path,
                "`-derive` cannot be read",
                "length_of(x), length_of(a..b), count_of(x), crc32(a..b), crc32c(a..b), "
                "last(x.y) or max(x.y), then `+ n`",
            )
            return None
        kind, first, last, member, plus = match.groups()
        wants_member = kind in ("last", "max")
        if wants_member != (member is not None) or (last is not None and kind in ("count_of", "last", "max")):
            self._bad(
                text_node or child,
                path,
                f"`{kind}` does not take what it was given",
                "last(x.y), crc32(a..b), count_of(x)",
            )
            return None
        extra = self._expr(Node(plus, child.place, {}), path) if plus else None
        return Derive(kind, first, last, member, extra, verify, when)

    def _codec(self, node: Node, scope: str, path: str) -> Codec | None:
        child, inner = node.get("-codec"), node.get("-inner")
        if (child is None) != (inner is None):
            self._bad(node, path, "`-codec` and `-inner` go together")
        if child is None or inner is None:
            return None
        by_node: Node | None = child
        pairs: tuple[tuple[str, str], ...] = ()
        when: ex.Expr | None = None
        if isinstance(child.value, dict):
            self._known(child, "-codec", path)
            by_node = child.get("field")
            pairs = tuple(
                (
                    self._name(Node(key, item.place, {}), path, "the codec"),
                    self._name(item, path, "the codec"),
                )
                for key, item in self._map(child, "replace", path).items()
            )
            when = self._expr(child.get("when"), path)
        by = self._expr(by_node, path)
        target = self._resolve(str(inner.value), scope, lambda unit: unit.types)
        if target is None:
            self._bad(
                inner,
                path,
                f"unknown type `{inner.value}`",
                nearest(str(inner.value), self._seen_types(scope)),
            )
        if by is None or target is None:
            return None
        return Codec(by, target, pairs, when)

    def _tags(self, node: Node, kind: TypeRef, path: str) -> tuple[Tag, ...]:
        child = node.get("-tags")
        if child is None:
            return ()
        cases: dict[object, TypeRef] = {}
        if isinstance(kind, Switch):
            cases = {case.value: each for case, each in kind.cases if isinstance(case, ex.Literal)}
        tags: list[Tag] = []
        for number, item in self._map(node, "-tags", path).items():
            if not isinstance(number, int) or number not in cases:
                self._bad(
                    item,
                    path,
                    f"tag {number} has no case in the switch",
                    "each tag is a case of the body's type",
                )
                continue
            if isinstance(item.value, dict):
                self._known(item, "tag", path)
                ident = self._ident(item, path)
                tags.append(
                    Tag(
                        number,
                        ident,
                        cases[number],
                        self._words(item, "-orig-id"),
                        self._words(item, "doc"),
                        self._expr(item.get("-default"), path),
                        self._flag(item, "-ignorable", path),
                    )
                )
            else:
                tags.append(Tag(number, self._name(item, path, "the tag"), cases[number]))
        for case in cases.keys() - {tag.number for tag in tags}:
            self._bad(child, path, f"case {case} of the switch has no tag")
        return tuple(sorted(tags, key=lambda tag: tag.number))

    def _column(self, node: Node, ident: str, path: str) -> Column | None:
        child = node.get("-column")
        if child is None:
            return None
        if child.value is False:
            return Column(ident, hidden=True)
        if isinstance(child.value, str):
            return Column(self._name(child, path, "the column"))
        self._known(child, "-column", path)
        name = child.get("name")
        return Column(
            ident if name is None else self._name(name, path, "the column"),
            self._arrow(child, path),
            self._expr(child.get("value"), path),
        )

    def _arrow(self, node: Node, path: str) -> str | None:
        """The Arrow type of a column."""
        text = self._text(node, "type")
        if text is not None and not ARROW_TYPE.match(text):
            hint = "int8 to int64, uint8 to uint64, float, double, bool, binary, string, timestamp[ms, UTC]"
            self._bad(node.map["type"], path, f"`{text}` is not the type of a column", hint)
            return None
        return text

    def _instance(self, ident: str, node: Node, path: str) -> Instance:
        path = f"{path}.{ident}"
        if not _IDENT.match(ident):
            self._bad(node, path, f"`{ident}` is not a name", "lower_snake_case")
        self._known(node, "instance", path)
        doc = self._words(node, "doc")
        for key in ("if", "enum"):
            if node.get(key) is not None:
                self._bad(node, path, f"`{key}` on an instance is not supported", "put it in the expression")
        if node.get("pos") is None:
            value = self._expr(node.get("value"), path)
            if value is None and node.get("value") is None:
                self._bad(node, path, "an instance needs `value`, or `pos` and `type`")
            return Instance(ident, node.place, value, doc=doc)
        pos = self._expr(node.get("pos"), path)
        at = _peek_distance(pos) if pos is not None else None
        text = self._text(node, "type") or ""
        match = _PRIM.match(text)
        if at is None or match is None:
            self._bad(
                node, path, "this `pos` is not supported", "an integer peeked at `_io.pos + n`, n a number"
            )
            return Instance(ident, node.place, ex.Literal(0), doc=doc)
        kind = self._prim(node, text, int(match[2]), match[1] == "s", False, match[3], path)
        return Instance(ident, node.place, None, at, kind, doc)

    def _enum(self, name: str, node: Node) -> Enum:
        path = name.replace("::", ".")
        items: list[EnumItem] = []
        if not isinstance(node.value, dict):
            self._bad(node, path, "a mapping is expected here")
        seen: set[str] = set()
        for value, item in node.map.items():
            if not isinstance(value, int) or isinstance(value, bool):
                self._bad(item, path, f"`{value}` is not a whole number")
                continue
            if isinstance(item.value, dict):
                self._known(item, "enum value", path)
                items.append(
                    EnumItem(
                        value,
                        self._ident(item, path),
                        self._words(item, "doc"),
                        self._number(item, "-since", path),
                        self._number(item, "-until", path),
                    )
                )
            else:
                items.append(EnumItem(value, str(item.value)))
            ident = items[-1].id
            if not _IDENT.match(ident) or ident in seen:
                what = "stands twice" if ident in seen else "is not a name"
                self._bad(item, path, f"`{ident}` {what}", "" if ident in seen else "lower_snake_case")
            seen.add(ident)
        return Enum(name, tuple(items))


def _peek_distance(pos: ex.Expr) -> int | None:
    """The n of `_io.pos + n`."""
    here = ex.Attr(ex.Name("_io"), "pos")
    match pos:
        case ex.Binary("+", left, ex.Literal(int(n))) if left == here and n >= 0:
            return n
    return 0 if pos == here else None


_NONE = Node({}, Place("", 0, 0), {})
