"""Builds the model from the trees of all schema files; every unknown key is a problem."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from kodec.generator.problems import Place, Problems, nearest
from kodec.generator.schema import expr as ex
from kodec.generator.schema.fields import Fields
from kodec.generator.schema.files import IDENT, Unit, load_unit
from kodec.generator.schema.implied import written_out
from kodec.generator.schema.inlined import stands_for_instance
from kodec.generator.schema.keys import NEWEST
from kodec.generator.schema.load import Node, word_of
from kodec.generator.schema.model import (
    Align,
    Bound,
    Column,
    Endian,
    Enum,
    EnumItem,
    Field,
    Instance,
    Message,
    Model,
    Param,
    Prim,
    Role,
    Schema,
    Struct,
)
from kodec.generator.schema.type_roles import TRANSPARENT
from kodec.generator.schema.versions import VersionRange
from kodec.generator.wire import INTRINSICS

__all__ = ["build", "load_units", "model_of"]

_PARAM = re.compile(r"([us][1248]|f[48]|b[1-9][0-9]?|bool|str|bytes|struct|io|any)(le|be)?\Z")
_QUOTED_NUMBER = re.compile(r"-?([1-9][0-9]*|0|0x[0-9a-fA-F]+)\Z")
_PARSED = frozenset(
    [
        "pos",
        "io",
        "type",
        "size",
        "size-eos",
        "contents",
        "terminator",
        "repeat",
        "repeat-expr",
        "repeat-until",
        "process",
        "pad-right",
    ]
)
WIRE_KINDS = (*INTRINSICS, *TRANSPARENT, "tags")


def build(
    folder: Path,
    problems: Problems,
    overlays: Mapping[str, Path] | None = None,
    import_path: Sequence[Path] = (),
) -> Model:
    """Read every .ksy under `folder`; the model has harmless values in place of those with problems.

    `overlays` are files with further keys, by the id of the schema; one beside a schema is found by itself.
    What schemas import is read from the folders of `import_path`, where `folder` does not have it.
    """
    return model_of(load_units(folder, problems, overlays, import_path), problems)


def load_units(
    folder: Path,
    problems: Problems,
    overlays: Mapping[str, Path] | None = None,
    import_path: Sequence[Path] = (),
) -> dict[str, Unit]:
    """The files of a model by their ids, with the arguments of `build`."""
    # editors keep locks and other data in hidden files
    files = sorted(file for file in folder.rglob("*.ksy") if not file.name.startswith("."))
    if not files:
        problems.add(Place(folder.name, 1, 1), "", "no .ksy file in this folder")
    units: dict[str, Unit] = {}
    todo = [file.relative_to(folder).as_posix() for file in reversed(files)]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        unit = load_unit(name, [folder, *import_path], problems, overlays)
        if unit is None:
            continue
        todo += unit.needs if import_path else ()
        if unit.id in units:
            problems.add(
                unit.root.place, unit.id, f"two files have the id: the other is {units[unit.id].path}"
            )
        units[unit.id] = unit
    ids = {unit.path: unit.id for unit in units.values()}
    for unit in units.values():
        unit.imports = tuple(ids.get(each, PurePosixPath(each).stem) for each in unit.needs)
    for ident, overlay in (overlays or {}).items():
        if ident not in units:
            text = f"an overlay of `{ident}`, which is not in {folder.name}"
            problems.add(Place(str(overlay), 1, 1), "schema", text, nearest(ident, units))
    return units


def model_of(units: dict[str, Unit], problems: Problems) -> Model:
    """The model of files."""
    units = written_out(units, problems)
    builder = Builder(units, problems)
    # a number in several forms is written out where fields have it, and has no module
    all_schemas = [(builder.schema(unit), unit) for unit in units.values()]
    schemas = [schema for schema, unit in all_schemas if not stands_for_instance(unit.root)]
    modules: dict[str, Schema] = {}
    for schema in schemas:
        other = modules.setdefault(schema.module, schema)
        if other is not schema:
            text = f"`{schema.path}` and `{other.path}` would be one module"
            problems.add(schema.root.place, schema.id, text, "rename one of the files")
    return Model(tuple(sorted(schemas, key=lambda schema: schema.path)))


class Builder(Fields):
    """Reads whole schemas: types, their rows and versions, instances and enums."""

    def schema(self, unit: Unit) -> Schema:
        self.unit = unit
        meta = unit.root.get("meta")
        assert meta is not None
        self.known(meta, "meta", "meta")
        self._ks_version(meta)
        structs = tuple(self._struct(name, node) for name, node in unit.types.items())
        structs = tuple(each for each in structs if not stands_for_instance(unit.types[each.name]))
        enums = tuple(self._enum(name, node) for name, node in unit.enums.items())
        return Schema(
            unit.id,
            unit.path,
            unit.digest,
            self.words(meta, "title"),
            self.words(meta, "application"),
            self.words(meta, "license"),
            unit.imports,
            structs,
            enums,
        )

    def _ks_version(self, meta: Node) -> None:
        """Report a schema that needs what the language did not have yet."""
        text = self.text(meta, "ks-version")
        if text is None:
            return
        newest = ".".join(map(str, NEWEST))
        parts = re.match(r"([0-9]{1,9})(\.[0-9]{1,9}){0,2}\Z", text)
        if parts is None:
            self.bad(meta.map["ks-version"], "meta", f"`ks-version: {text}` is not a version", newest)
        elif tuple(map(int, text.split("."))) > (*NEWEST, 1 << 30):
            hint = f"the newest version of the language is {newest}"
            text = f"`ks-version: {text}`: the schema needs a newer Kaitai Struct than there is here"
            self.bad(meta.map["ks-version"], "meta", text, hint)

    def _struct(self, name: str, node: Node) -> Struct:
        path = name.replace("::", ".")
        assert self.unit is not None
        top = name == self.unit.id
        self.scope = name
        self.known(node, "schema" if top else "type", path)
        endian = self._defaults(name, path)
        wire = self.word(node, "-wire", path, WIRE_KINDS)
        versions, version_field = self._versions(node, path)
        params = tuple(self._param(item, path) for item in self.items_of(node, "params", path))
        fields = tuple(
            self.field(item, name, path, index) for index, item in enumerate(self.items_of(node, "seq", path))
        )
        instances = tuple(
            self._instance(str(key), item, path)
            for key, item in self.mapping_of(node, "instances", path).items()
        )
        seen: dict[str, Place] = {}
        members: list[Param | Field | Instance] = [*params, *fields, *instances]
        for each in members:
            first = seen.setdefault(each.id, each.place)
            if first is not each.place:
                hint = f"the first is in line {first.line}"
                self.bad(each.place, f"{path}.{each.id}", "the name is used twice in this type", hint)
        row, columns, unless, bounds, head = self._row(node, path)
        return Struct(
            name,
            node.place,
            fields,
            instances,
            params,
            self.words(node, "doc"),
            self.refs(node),
            wire,
            row,
            columns,
            unless,
            bounds,
            head,
            versions,
            version_field,
            self.version_range(node, "-flexible", path),
            self.words(node, "-topic"),
            endian,
            self._message(node, path),
            self.words(node, "-orig-id"),
            self.word(node, "-tail", path, ("moves",)),
            self._roles(node, path),
            {str(key): place for key, place in node.keys.items()},
        )

    def _roles(self, node: Node, path: str) -> tuple[Role, ...]:
        found = self.mapping_of(node, "-roles", path)
        return tuple(
            Role(str(name), tuple(str(each.value).split(".")), each.place) for name, each in found.items()
        )

    def _message(self, node: Node, path: str) -> Message | None:
        child = node.get("-message")
        if child is None:
            return None
        self.known(child, "-message", path)
        kind, number = self.words(child, "kind"), self.number(child, "number", path)
        if child.map and child.map.keys() <= {"topic", "flexible"}:
            return None
        if not kind or number is None:
            self.bad(child, path, "`-message` needs `kind` and `number`", "{kind: request, number: 3}")
            return None
        return Message(kind, number)

    def _defaults(self, name: str, path: str) -> Endian | None:
        """Take byte order, bit order and encoding of a type from its `meta`, or those around it.

        Returns the type's own byte order, if bytes determine it.
        """
        assert self.unit is not None
        self.endian, self.bit_endian, self.encoding = None, "be", None
        own: Endian | None = None
        parts = name.split("::")
        for depth in range(1, len(parts) + 1):
            node = self.unit.types["::".join(parts[:depth])]
            meta = node.get("meta")
            if meta is None:
                continue
            inner = depth == len(parts)
            if inner and depth > 1:
                self.known(meta, "meta", path)
            order = meta.get("endian")
            if order is not None and isinstance(order.value, dict):
                self.endian = "by"
                own = self._endian(order, path) if inner else None
            else:
                self.endian = self.word(meta, "endian", path, ("be", "le")) or self.endian
                own = None if order is not None else own
            self.bit_endian = self.word(meta, "bit-endian", path, ("be", "le")) or self.bit_endian
            self.encoding = self.text(meta, "encoding") or self.encoding
        return own

    def _endian(self, node: Node, path: str) -> Endian | None:
        self.known(node, "switch", path)
        on = self.expr(node.get("switch-on"), path)
        cases: list[tuple[ex.Expr | None, str]] = []
        for key, item in self.mapping_of(node, "cases", path).items():
            if item.value not in ("be", "le"):
                self.bad(item, path, f"`{item.value}` is not a byte order", "le or be")
            elif key == "_":
                cases.append((None, str(item.value)))
            elif (case := self.expr(Node(key, item.place, {}), path)) is not None:
                cases.append((case, str(item.value)))
        return None if on is None else Endian(on, tuple(cases), node.map["switch-on"].place)

    def _row(
        self, node: Node, path: str
    ) -> tuple[bool, tuple[str | Column, ...], ex.Expr | None, tuple[Bound, ...], tuple[Column, ...]]:
        child = node.get("-row")
        if child is None or not isinstance(child.value, dict):
            return self.flag(node, "-row", path), (), None, (), ()
        self.known(child, "-row", path)
        columns: list[str | Column] = []
        for item in self.items_of(child, "columns", path):
            if isinstance(item.value, dict):
                columns.append(self._row_column(item, path))
            else:
                columns.append(self.name(item, path, "the column"))
        head = tuple(self._row_column(item, path) for item in self.items_of(child, "head", path))
        bounds = []
        for name, item in self.mapping_of(child, "bounds", path).items():
            self.known(item, "bound of a -row", path)
            first, last = (self.expr(item.get(key), path) for key in ("first", "last"))
            bounds.append(Bound(str(name), first, last))
        return True, tuple(columns), self.expr(child.get("unless"), path), tuple(bounds), head

    def _row_column(self, node: Node, path: str) -> Column:
        self.known(node, "column of a -row", path)
        name = self.name(node.get("name") or node, path, "the column")
        return Column(name, self.arrow(node, path), self.expr(node.get("value"), path))

    def _versions(self, node: Node, path: str) -> tuple[VersionRange | None, str]:
        child = node.get("-versions")
        field = "version"
        if child is None or not isinstance(child.value, dict):
            found = self.version_range(node, "-versions", path)
        else:
            self.known(child, "-versions", path)
            found, field = self.version_range(child, "range", path), self.text(child, "field") or field
        if child is not None and found is not None and (not found or found.last - found.first > 255):
            self.bad(child, path, "-versions must be a closed range of at most 256 versions")
            found = None
        return found, field

    def _param(self, node: Node, path: str) -> Param:
        self.known(node, "parameter", path)
        ident = self.ident(node, path)
        kind = self.text(node, "type") or "bytes"
        array = kind.endswith("[]")
        kind = kind.removesuffix("[]")
        if match := _PARAM.match(kind):
            kind = match[1]
        else:
            full = self.resolve(kind, self.scope, lambda unit: unit.types)
            if full is None:
                self.bad(node.map.get("type", node), f"{path}.{ident}", f"unknown type `{kind}`",
                         self.like_type(kind, self.scope))  # fmt: skip
            kind = full or "any"
        return Param(
            ident, kind, self.words(node, "doc"), array, self.enum_of(node, self.scope, path), node.place
        )

    def _instance(self, ident: str, node: Node, path: str) -> Instance:
        path = f"{path}.{ident}"
        if not IDENT.match(ident):
            self.bad(node, path, f"`{ident}` is not a name", "lower_snake_case")
        self.known(node, "instance", path)
        doc = self.words(node, "doc")
        places = {str(key): each.place for key, each in node.map.items()}
        enum = self.enum_of(node, self.scope, path)
        condition = self.expr(node.get("if"), path)
        if node.get("value") is not None:
            if extra := [str(key) for key in node.map if str(key) in _PARSED]:
                self.bad(node.keys[extra[0]], path, f"`value` and `{extra[0]}` exclude each other")
            value = self.expr(node.get("value"), path) or ex.Literal(0)
            return Instance(
                ident, node.place, value, doc=doc, condition=condition, enum=enum, key_places=places
            )
        if not any(str(key) in _PARSED for key in node.map):
            self.bad(node, path, "an instance needs `value`, or what is read: `pos` and `type`")
            return Instance(ident, node.place, ex.Literal(0), doc=doc)
        field = self.parsed(node, ident, self.scope, path)
        pos = self.expr(node.get("pos"), path)
        at = _peek_distance(pos) if pos is not None else None
        plain = {str(key) for key in node.map} <= {"pos", "type", "doc", "doc-ref", "-orig-id", "-column"}
        peek = field.type if plain and isinstance(field.type, Prim) and not field.type.floating else None
        if peek is not None and at is not None:
            return Instance(ident, node.place, None, at, peek, doc, key_places=places)
        io = self.expr(node.get("io"), path)
        return Instance(
            ident, node.place, None, None, None, doc, field, pos, io, condition, enum, places,
            self._align(node, pos, path),
        )  # fmt: skip

    def _align(self, node: Node, pos: ex.Expr | None, path: str) -> Align | None:
        key = node.get("-align")
        if key is None:
            return None
        if pos is None or isinstance(ex.fold(pos), ex.Literal):
            self.bad(node.keys["-align"], path, "`-align` has no effect: no field has its position")
        fill: int | None = 0
        if key.map:
            self.known(key, "-align", path)
            to, fill = self.number(key, "to", path), self._byte(key, "fill", path)
        else:
            to = self.number(node, "-align", path)
        if to is None or to < 1:
            self.bad(key, path, "`-align` is a number of bytes", "-align: 16, or {to: 16, fill: 0xff}")
            return None
        return Align(to, fill or 0)

    def _enum(self, name: str, node: Node) -> Enum:
        path = name.replace("::", ".")
        items: list[EnumItem] = []
        if not isinstance(node.value, dict):
            self.bad(node, path, "a mapping is expected here")
        seen: set[str] = set()
        for value, item in node.map.items():
            if isinstance(value, str) and _QUOTED_NUMBER.match(value):
                value = int(value, 0)
            if not isinstance(value, int) or isinstance(value, bool):
                self.bad(item, path, f"`{value}` is not a whole number")
                continue
            if isinstance(item.value, dict):
                self.known(item, "enum value", path)
                items.append(
                    EnumItem(
                        value,
                        self.ident(item, path),
                        self.words(item, "doc"),
                        self.number(item, "-since", path),
                        self.number(item, "-until", path),
                    )
                )
            else:
                items.append(EnumItem(value, word_of(item.value)))
            ident = items[-1].id
            if not IDENT.match(ident) or ident in seen:
                what = "stands twice" if ident in seen else "is not a name"
                self.bad(item, path, f"`{ident}` {what}", "" if ident in seen else "lower_snake_case")
            seen.add(ident)
        return Enum(name, tuple(items))


def _peek_distance(pos: ex.Expr) -> int | None:
    """The n of `_io.pos + n`."""
    here = ex.Attr(ex.Name("_io"), "pos")
    match pos:
        case ex.Binary("+", left, ex.Literal(int(n))) if left == here and n >= 0:
            return n
    return 0 if pos == here else None
