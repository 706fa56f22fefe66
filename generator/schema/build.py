"""From the trees of all schema files to the model; every key is known, or a problem."""

from __future__ import annotations

from pathlib import Path

from kodec.generator.problems import Place, Problems
from kodec.generator.schema import expr as ex
from kodec.generator.schema.fields import Fields
from kodec.generator.schema.files import IDENT, Unit, load_unit
from kodec.generator.schema.load import Node
from kodec.generator.schema.model import Bound, Column, Enum, EnumItem, Instance, Model, Param, Schema, Struct
from kodec.generator.schema.roles import TRANSPARENT
from kodec.generator.schema.types import PRIM
from kodec.generator.schema.versions import VersionRange
from kodec.generator.wire import INTRINSICS

__all__ = ["build"]

WIRE_KINDS = (*INTRINSICS, *TRANSPARENT, "tags")


def build(folder: Path) -> Model:
    """Read every .ksy under `folder`. Raises SchemaError with every problem found."""
    problems = Problems()
    files = sorted(folder.rglob("*.ksy"))
    if not files:
        problems.add(Place(str(folder), 1, 1), "", "no .ksy file in this folder")
    units: dict[str, Unit] = {}
    for file in files:
        unit = load_unit(file, file.relative_to(folder).as_posix(), folder, problems)
        if unit is None:
            continue
        if unit.id in units:
            problems.add(
                unit.root.place, unit.id, f"two files have the id: the other is {units[unit.id].path}"
            )
        units[unit.id] = unit
    builder = Builder(units, problems)
    schemas = [builder.schema(unit) for unit in units.values()]
    problems.raise_if_any()
    return Model(tuple(sorted(schemas, key=lambda schema: schema.path)))


class Builder(Fields):
    """Reads whole schemas: types, their rows and versions, instances and enums."""

    def schema(self, unit: Unit) -> Schema:
        self.unit = unit
        meta = unit.root.get("meta")
        assert meta is not None
        self.known(meta, "meta", "meta")
        self.endian = self.word(meta, "endian", "meta", ("be", "le"))
        self.encoding = self.text(meta, "encoding")
        if self.word(meta, "bit-endian", "meta", ("be", "le")) == "le":
            self.bad(
                meta.map["bit-endian"], "meta", "little-endian bit fields are not supported", "bit-endian: be"
            )
        structs = tuple(self._struct(name, node) for name, node in unit.types.items())
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

    def _struct(self, name: str, node: Node) -> Struct:
        path = name.replace("::", ".")
        assert self.unit is not None
        top = name == self.unit.id
        self.scope = name
        self.known(node, "schema" if top else "type", path)
        wire = self.word(node, "-wire", path, WIRE_KINDS)
        versions, version_field = self._versions(node, path)
        params = tuple(self._param(item, path) for item in self.items_of(node, "params", path))
        fields = tuple(self.field(item, name, path) for item in self.items_of(node, "seq", path))
        instances = tuple(
            self._instance(str(key), item, path)
            for key, item in self.mapping_of(node, "instances", path).items()
        )
        seen: set[str] = set()
        for ident in [p.id for p in params] + [f.id for f in fields] + [i.id for i in instances]:
            if ident in seen:
                self.bad(node, f"{path}.{ident}", "the name stands twice in this type")
            seen.add(ident)
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
        )

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
        if child is None or not isinstance(child.value, dict):
            found = self.version_range(node, "-versions", path)
            if found is not None and (not found or found.last - found.first > 255):
                self.bad(
                    node.map["-versions"], path, "-versions must be a closed range of at most 256 versions"
                )
                found = None
            return found, "version"
        self.known(child, "-versions", path)
        return self.version_range(child, "range", path), self.text(child, "field") or "version"

    def _param(self, node: Node, path: str) -> Param:
        self.known(node, "parameter", path)
        ident = self.ident(node, path)
        kind = self.text(node, "type") or ""
        if kind != "bool" and not PRIM.match(kind):
            self.bad(
                node,
                f"{path}.{ident}",
                f"a parameter of type `{kind}` is not supported",
                "bool, or an integer type",
            )
        return Param(ident, kind, self.words(node, "doc"))

    def _instance(self, ident: str, node: Node, path: str) -> Instance:
        path = f"{path}.{ident}"
        if not IDENT.match(ident):
            self.bad(node, path, f"`{ident}` is not a name", "lower_snake_case")
        self.known(node, "instance", path)
        doc = self.words(node, "doc")
        for key in ("if", "enum"):
            if node.get(key) is not None:
                self.bad(node, path, f"`{key}` on an instance is not supported", "put it in the expression")
        if node.get("pos") is None:
            value = self.expr(node.get("value"), path)
            if value is None and node.get("value") is None:
                self.bad(node, path, "an instance needs `value`, or `pos` and `type`")
            return Instance(ident, node.place, value, doc=doc)
        pos = self.expr(node.get("pos"), path)
        at = _peek_distance(pos) if pos is not None else None
        text = self.text(node, "type") or ""
        match = PRIM.match(text)
        if at is None or match is None:
            self.bad(
                node, path, "this `pos` is not supported", "an integer peeked at `_io.pos + n`, n a number"
            )
            return Instance(ident, node.place, ex.Literal(0), doc=doc)
        kind = self.prim(node, text, int(match[2]), match[1] == "s", False, match[3], path)
        return Instance(ident, node.place, None, at, kind, doc)

    def _enum(self, name: str, node: Node) -> Enum:
        path = name.replace("::", ".")
        items: list[EnumItem] = []
        if not isinstance(node.value, dict):
            self.bad(node, path, "a mapping is expected here")
        seen: set[str] = set()
        for value, item in node.map.items():
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
                items.append(EnumItem(value, str(item.value)))
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
