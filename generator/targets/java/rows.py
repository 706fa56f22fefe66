"""The fast path: rows of units that follow one another, one straight loop into columns.

A unit is a container of rows, or is one row. Nothing is made of what is no column, and inside a row no bound
is looked at that a later one covers: each sized part must end where its size says, and an index past the end
of the array raises. Where anything is wrong, the path gives up, and the reader of the same type says what and
where.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kodec.generator.layout import BitGroup, Run
from kodec.generator.reserved import Taken
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import (
    Bits,
    Bytes,
    Column,
    Derive,
    Field,
    Prim,
    Ref,
    Schema,
    Str,
    Struct,
)
from kodec.generator.schema.roles import RowContent, codec_enum, listed_rows, row_content
from kodec.generator.targets.java.expressions import Beyond, Java, plain
from kodec.generator.targets.java.names import camel, column_name, lower
from kodec.generator.targets.java.reader import Reader, load, opposite
from kodec.generator.targets.java.types import BOOL, INT, JType, integer, prim_type
from kodec.generator.targets.java.views import Code, Member, Method, TypeView
from kodec.generator.text import Text, java_literal, javadoc, one_line
from kodec.generator.wire import VARINTS, WIRE

__all__ = ["rows_of"]

_ARRAYS = {
    "int8": "byte",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "uint8": "short",
    "uint16": "int",
    "uint32": "long",
    "uint64": "long",
    "float": "float",
    "double": "double",
    "bool": "boolean",
}
_RANGES = {"byte": "Byte", "short": "Short"}
_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)")
MOST_COLUMNS = 64


class NotFlat(Exception):
    """The type holds what the fast path does not do; its reader still does."""


def rows_of(reader: Reader, schema: Schema) -> TypeView | None:
    """The class `Rows` of a schema whose outermost type is a container of rows, or a list of them."""
    content = row_content(reader.model, schema.root)
    unit = schema.root if content is not None else listed_rows(reader.model, schema.root)
    if unit is None or unit.params or unit.versions:
        return None
    try:
        return _Rows(reader, schema, unit, content).build()
    except (NotFlat, Beyond):
        return None


@dataclass(slots=True)
class _Value:
    """What was read: a variable of a type, or a span of bytes whose place and length are two variables."""

    name: str
    type: JType | None
    spec: Field
    owner: Struct
    nullable: bool = False
    is_local: bool = True

    @property
    def is_span(self) -> bool:
        return self.type is None

    @property
    def start(self) -> str:
        return f"{self.name}_start" if self.is_local else f"{self.name}Start"

    @property
    def length(self) -> str:
        return f"{self.name}_length" if self.is_local else f"{self.name}Length"


_Path = tuple[str, ...]


@dataclass(slots=True)
class _Place:
    """Where names lead: to values by their path from the unit, or the element; behind `_batch` to the
    container's."""

    values: dict[_Path, _Value]
    at: _Path = ()
    container: _Place | None = None
    extra: dict[str, tuple[str, JType]] = field(default_factory=dict)

    def resolve(self, expr: ex.Expr) -> tuple[str, JType] | None:
        if isinstance(expr, ex.Name) and expr.name in self.extra:
            return self.extra[expr.name]
        path = _path(expr)
        if path is None:
            return None
        place: _Place | None = self
        if path[0] == "_batch":
            place, path = self.container, path[1:]
        if place is None:
            return None
        found = place.values.get(place.at + path)
        return None if found is None or found.type is None else (found.name, found.type)


def _path(expr: ex.Expr) -> _Path | None:
    match expr:
        case ex.Name(name):
            return (name,)
        case ex.Attr(of, name) if name not in ("to_i", "size", "length"):
            inner = _path(of)
            return None if inner is None else (*inner, name)
    return None


@dataclass(frozen=True, slots=True)
class _List:
    """A list in a row: `path` of the field, the values of its elements by their names, columns of them."""

    path: _Path
    name: str
    columns: tuple[tuple[Column, _Value], ...]


class _Rows:
    def __init__(self, reader: Reader, schema: Schema, unit: Struct, content: RowContent | None) -> None:
        self.reader = reader
        self.model = reader.model
        self.layouts = reader.layouts
        self.schema = schema
        self.unit = unit
        self.content = content
        self.row = unit if content is None else content.row
        self.head: dict[_Path, _Value] = {}
        self.element: dict[_Path, _Value] = {}
        self.lists: dict[_Path, _List] = {}
        self.codec_at: _Path | None = None
        self._numbers = 0
        self._inside = False
        self._values = Taken()
        self._members = Taken(["count", "capacity", "unitEnd"])
        self._constants = Taken(["ALL"])
        self._called: dict[str, str] = {}

    # -- the class --------------------------------------------------------------------------------

    def build(self) -> TypeView:
        head = Code()
        head.add("int p = start;", "int end = stop;")
        self._steps(head, self.unit, (), "end")
        head.add("unitEnd = p;", "return true;")
        rows = Code()
        if self.content is not None:
            self._inside = True
            self._loop(rows, self.content)
        else:
            self._single(rows)
        columns = self._columns()
        if not columns or len(columns) > MOST_COLUMNS:
            raise NotFlat
        members, methods = self._printed(columns, head, rows)
        what = f"`{self.unit.id}`"
        doc = Text.of(
            f"Columns of the rows in {what}, which is read unit after unit; for one thread. Places of bytes "
            "count in the array that the rows were read from: it has to be the same one for all rows up to "
            "`clear`.\n\nWhere a method gives false, nothing of the unit was kept: the reader of "
            f"{what} says what is wrong with it."
        )
        return TypeView("Rows", javadoc(doc, "    "), None, members, methods)

    @property
    def _place(self) -> _Place:
        """Where the expressions of columns and of the row's rules stand."""
        if self.content is None:
            return _Place(self.head)
        at: _Path = ()
        if self.content.row is not self.content.element:
            at = next(
                (spec.id,) for spec in self.content.element.fields if spec.type == Ref(self.content.row.name)
            )
        return _Place(self.element, at, _Place(self.head))

    # -- names ------------------------------------------------------------------------------------

    def _new(self, path: _Path, spec: Field, owner: Struct, kind: JType | None, prefix: str = "") -> _Value:
        values = self.element if self._inside else self.head
        if self._inside:
            name = self._values.claim(self.reader.names.local(f"{prefix}{spec.id}"))
        else:
            name = self._members.claim("head" + "".join(map(camel, path)), ("", "Start", "Length"))
            self._values.claim(name)
        nullable = spec.nullable is not None
        found = _Value(name, kind, spec, owner, nullable, self._inside)
        values[path] = found
        return found

    def _number(self, stem: str) -> str:
        self._numbers += 1
        return f"{stem}_{self._numbers}"

    def _java(self, at: _Path) -> Java:
        values = self.element if self._inside else self.head
        container = _Place(self.head) if self._inside else None
        return Java(_Place(values, at, container).resolve, self.model)

    # -- steps ------------------------------------------------------------------------------------

    def _steps(self, code: Code, struct: Struct, at: _Path, stop: str, prefix: str = "") -> None:
        """The lines that read a type at `p`; `stop` is the variable that says where its bytes end."""
        if struct.params or struct.versions:
            raise NotFlat
        ranges: dict[str, list[tuple[Field, Derive]]] = {}
        starts: set[str] = set()
        for spec in struct.fields:
            if spec.derive is not None and spec.derive.is_range:
                starts.add(spec.derive.first)
                ranges.setdefault(spec.derive.last or spec.derive.first, []).append((spec, spec.derive))
        if ranges and self._inside:
            raise NotFlat
        for step in self.layouts.layout(struct, {}).steps:
            if isinstance(step, Run):
                self._run(code, step, struct, at, stop, starts)
                ids = [each.id for item in step.fields if (each := item.field) is not None]
            else:
                if step.field.id in starts:
                    code.add(f"int {_start(at, step.field.id)} = p;")
                self._one(code, step.field, struct, at, stop, prefix)
                ids = [step.field.id]
            for ident in ids:
                for spec, derive in ranges.get(ident, ()):
                    self._ended(code, spec, derive, at)

    def _ended(self, code: Code, spec: Field, derive: Derive, at: _Path) -> None:
        values = self.element if self._inside else self.head
        mine = values.get((*at, spec.id))
        if mine is None or derive.plus is not None:
            raise NotFlat
        start = _start(at, derive.first)
        test = f"{mine.name} != p - {start}"
        if derive.is_checksum:
            test = f"checkCrc && {mine.name} != Checksums.{derive.kind}(buf, {start}, p)"
        self._give_up(code, test)

    @staticmethod
    def _give_up(code: Code, test: str) -> None:
        code.add(f"if ({test}) {{", "    return false;", "}")

    def _run(self, code: Code, run: Run, struct: Struct, at: _Path, stop: str, starts: set[str]) -> None:
        if not self._inside:
            self._give_up(code, f"{stop} - p < {run.size}")
        checks: list[tuple[Field, _Value, _Path]] = []
        for item in run.fields:
            if item.field is not None and item.field.id in starts:
                code.add(f"int {_start(at, item.field.id)} = p{_plus(item.offset)};")
        self._loads(code, run, struct, at, 0, checks)
        for spec, value, where in checks:
            self._check(code, spec, value, where)
        code.add(f"p += {run.size};")

    def _loads(
        self,
        code: Code,
        run: Run,
        struct: Struct,
        at: _Path,
        base: int,
        checks: list[tuple[Field, _Value, _Path]],
    ) -> None:
        for item in run.fields:
            where = f"p{_plus(base + item.offset)}"
            spec = item.field
            if isinstance(item.what, BitGroup):
                self._bits(code, item.what, item.size, where, struct, at, checks)
                continue
            assert spec is not None
            if item.inner is not None:
                assert isinstance(spec.type, Ref)
                inner = self.model.struct(spec.type.target)
                self._loads(code, item.inner, inner, (*at, spec.id), base + item.offset, checks)
                continue
            if spec.contents is not None or isinstance(item.what, Ref):
                raise NotFlat
            if isinstance(item.what, Prim):
                if self._inside and _hidden(spec) and spec.valid is None and not self._named(spec):
                    continue
                value = self._new((*at, spec.id), spec, struct, prim_type(item.what))
                code.add(f"{self._declared(value)}{value.name} = {load(item.what, where)};")
            else:
                value = self._new((*at, spec.id), spec, struct, None)
                self._span(code, value, where, str(item.size), declare=True)
            checks.append((spec, value, at))

    def _named(self, spec: Field) -> bool:
        """Whether an expression may name a field that is no column."""
        return any(spec.id in ex.names(expr) for expr in self._all_expressions())

    def _all_expressions(self) -> list[ex.Expr]:
        found: list[ex.Expr] = []
        for struct in self.schema.structs:
            for spec in struct.fields:
                found += [e for e in (spec.size, spec.repeat_expr, spec.condition) if e is not None]
                if spec.column is not None and spec.column.value is not None:
                    found.append(spec.column.value)
        schema = self.model.schema_of(self.row.name)
        for struct in schema.structs:
            for spec in struct.fields:
                found += [e for e in (spec.size, spec.repeat_expr, spec.condition) if e is not None]
                if spec.column is not None and spec.column.value is not None:
                    found.append(spec.column.value)
            found += [c.value for c in struct.columns if isinstance(c, Column) and c.value is not None]
        return found

    def _declared(self, value: _Value) -> str:
        """The type before a variable of the loop; a head's are fields of the class."""
        return f"{value.type.text} " if self._inside and value.type is not None else ""

    def _bits(
        self,
        code: Code,
        group: BitGroup,
        size: int,
        where: str,
        struct: Struct,
        at: _Path,
        checks: list[tuple[Field, _Value, _Path]],
    ) -> None:
        if size > 8:
            raise NotFlat
        raw = self._number("bits")
        code.add(f"long {raw} = Load.bits(buf, {where}, {size});")
        for member, shift, width in group.members:
            if width > 63:
                raise NotFlat
            kind = BOOL if width == 1 and member.enum is None else integer(width, False)
            value = self._new((*at, member.id), member, struct, kind)
            shifted = f"{raw} >>> {shift}" if shift else raw
            text = f"{shifted} & {(1 << width) - 1:#x}L"
            text = f"({text}) != 0" if kind is BOOL else f"(int) ({text})" if kind is INT else text
            code.add(f"{self._declared(value)}{value.name} = {text};")
            checks.append((member, value, at))

    def _span(self, code: Code, value: _Value, start: str, length: str, *, declare: bool) -> None:
        kind = "int " if self._inside and declare else ""
        code.add(f"{kind}{value.start} = {start};", f"{kind}{value.length} = {length};")

    def _check(self, code: Code, spec: Field, value: _Value, at: _Path) -> None:
        valid = spec.valid
        if valid is None:
            return
        if value.type is None or value.type.kind not in ("int", "long", "bool"):
            raise NotFlat
        values = self.element if self._inside else self.head
        container = _Place(self.head) if self._inside else None
        place = _Place(values, at, container, {"_": (value.name, value.type)})
        java = Java(place.resolve, self.model)
        here = ex.Name("_")
        tests: list[ex.Expr] = [
            ex.Binary(op, here, bound)
            for op, bound in (("==", valid.eq), (">=", valid.min), ("<=", valid.max))
            if bound is not None
        ]
        if valid.any_of:
            choice: ex.Expr = ex.Binary("==", here, valid.any_of[0])
            for each in valid.any_of[1:]:
                choice = ex.Binary("or", choice, ex.Binary("==", here, each))
            tests.append(choice)
        if valid.expr is not None:
            tests.append(valid.expr)
        for test in tests:
            self._give_up(code, opposite(java.condition(self.layouts.inline(value.owner, test))))

    def _one(self, code: Code, spec: Field, struct: Struct, at: _Path, stop: str, prefix: str) -> None:
        if spec.tags or spec.terminator is not None or spec.process is not None:
            raise NotFlat
        if spec.repeat is not None:
            self._list(code, spec, struct, at, stop)
            return
        kind = spec.type
        wire = self.layouts.wire_of(struct, spec.id)
        if spec.codec is None and isinstance(kind, Ref) and wire is None:
            self._part(code, spec, struct, at, stop)
            return
        java = self._java(at)
        guard = None if spec.condition is None else plain(java.condition(spec.condition))
        path = (*at, spec.id)
        if spec.codec is not None or isinstance(kind, (Bytes, Str)):
            if spec.contents is not None or (spec.size is None and not spec.size_eos):
                raise NotFlat
            value = self._new(path, spec, struct, None, prefix)
            if spec.codec is not None:
                self.codec_at = path
            size = None if spec.size is None else plain(java.number(spec.size))
            self._blob(code, spec, value, size, guard, stop)
            return
        if isinstance(kind, Prim):
            value = self._new(path, spec, struct, prim_type(kind), prefix)
            lines = [f"{value.name} = {load(kind, 'p')};", f"p += {kind.width};"]
            if not self._inside:
                lines = [f"if ({stop} - p < {kind.width}) {{", "    return false;", "}", *lines]
        elif wire in VARINTS:
            form = WIRE[wire]
            value = self._new(path, spec, struct, integer(form.bits, form.signed), prefix)
            lines = self._varint(value, wire, stop)
        else:
            raise NotFlat
        assert value.type is not None
        absent = self.reader.types.absent(struct, struct.field(spec.id) or spec)
        if guard is not None:
            if absent == "null":
                raise NotFlat
            code.add(f"{self._declared(value)}{value.name} = {absent};", f"if ({guard}) {{")
            with code.deeper():
                code.add(*lines)
                self._check(code, spec, value, at)
            code.add("}")
            return
        if self._inside:
            code.add(f"{value.type.text} {lines[0]}" if lines[0].startswith(value.name) else lines[0])
            code.add(*lines[1:])
        else:
            code.add(*lines)
        self._check(code, spec, value, at)

    def _varint(self, value: _Value, wire: str, stop: str) -> list[str]:
        form = WIRE[wire]
        name = value.name
        wide = "64" if form.bits == 64 else "32"
        one = f"{name} >>> 1 ^ -({name} & 1)" if form.zigzag else name
        lines = [f"{name} = buf[p];", f"if ({name} >= 0) {{"]
        lines += [f"    {name} = {one};"] if form.zigzag else []
        lines += ["    p++;", "} else {"]
        lines += [f"    {name} = Varints.{wire}(buf, p);", f"    p = Varints.end{wide}(buf, p);", "}"]
        if not self._inside:
            lines += [f"if (p > {stop}) {{", "    return false;", "}"]
        return lines

    def _blob(
        self, code: Code, spec: Field, value: _Value, size: str | None, guard: str | None, stop: str
    ) -> None:
        if guard is not None:
            fixed = isinstance(spec.size, ex.Literal) and spec.size.value
            if not value.nullable and (fixed or spec.default not in (None, ex.Literal(""))):
                raise NotFlat
            length = "-1" if value.nullable else "0"
            self._span(code, value, "p", length, declare=True)
            code.add(f"if ({guard}) {{")
        elif self._inside:
            code.add(f"int {value.start};", f"int {value.length};")
        lines = Code(depth=1 if guard is not None else 0)
        if size is None:
            lines.add(f"{value.start} = p;", f"{value.length} = {stop} - p;", f"p = {stop};")
        else:
            wide = self._number("size")
            lines.add(f"long {wide} = {size};")
            self._give_up(lines, f"{wide} < 0 || {wide} > {stop} - p")
            lines.add(f"{value.start} = p;", f"{value.length} = (int) {wide};", f"p += (int) {wide};")
        code.add(*lines.lines)
        if guard is not None:
            code.add("}")

    def _part(self, code: Code, spec: Field, struct: Struct, at: _Path, stop: str) -> None:
        assert isinstance(spec.type, Ref)
        inner = self.model.struct(spec.type.target)
        if spec.condition is not None or inner.wire or spec.type.args or spec.valid is not None:
            raise NotFlat
        if spec.size is None:
            self._steps(code, inner, (*at, spec.id), stop)
            if spec.size_eos:
                self._give_up(code, f"p != {stop}")
            return
        size, mine = self._number("size"), self._number("stop")
        code.add(f"long {size} = {plain(self._java(at).number(spec.size))};")
        self._give_up(code, f"{size} < 0 || {size} > {stop} - p")
        code.add(f"int {mine} = p + (int) {size};")
        self._steps(code, inner, (*at, spec.id), mine)
        self._give_up(code, f"p != {mine}")

    def _list(self, code: Code, spec: Field, struct: Struct, at: _Path, stop: str) -> None:
        if not self._inside or spec.repeat != "expr" or not isinstance(spec.type, Ref):
            raise NotFlat
        if spec.condition is not None or spec.size is not None or spec.repeat_expr is None:
            raise NotFlat
        element = self.model.struct(spec.type.target)
        if element.wire or spec.type.args:
            raise NotFlat
        column = spec.column or Column(spec.id)
        path = (*at, spec.id)
        name = self._column_name(column)
        count, index = self._number("items"), self._number("item")
        least = max(1, self.layouts.layout(element, {}).min_size)
        code.add(f"long {count} = {plain(self._java(at).number(spec.repeat_expr))};")
        self._give_up(code, f"{count} < 0 || {count} > ({stop} - p) / {least}")
        code.add(f"room -= {count};")
        self._give_up(code, "room < 0")
        wanted = f"this.{name}Start != null"
        code.add(f"if ({wanted}) {{", f"    grow{camel(name)}((int) {count});", "}")
        code.add(f"for (int {index} = 0; {index} < {count}; {index}++) {{")
        before = dict(self.element)
        with code.deeper():
            self._steps(code, element, path, stop, f"{spec.id}_")
            made = [
                (each.spec.column or Column(each.spec.id), each)
                for key, each in self.element.items()
                if key not in before and not _is_length(each.spec) and not _hidden(each.spec)
            ]
            code.add(f"if ({wanted}) {{")
            for each, value in made:
                inner = self._inner_name(name, each)
                if value.is_span:
                    code.add(f"    this.{inner}Start[this.{name}Count] = {value.start};")
                    code.add(f"    this.{inner}Length[this.{name}Count] = {value.length};")
                else:
                    code.add(f"    this.{inner}[this.{name}Count] = {value.name};")
            code.add(f"    this.{name}Count++;", "}")
        code.add("}")
        self.lists[path] = _List(path, name, tuple(made))

    # -- columns ----------------------------------------------------------------------------------

    def _column_name(self, column: Column) -> str:
        """The array of a column, or what the names of its arrays start with."""
        if column.name not in self._called:
            suffixes = ("", "Start", "Length", "Count")
            self._called[column.name] = self._members.claim(column_name(column.name), suffixes)
        return self._called[column.name]

    def _inner_name(self, name: str, column: Column) -> str:
        """The same of a column of a list's elements."""
        key = f"{name}.{column.name}"
        if key not in self._called:
            self._called[key] = self._members.claim(f"{name}{camel(column.name)}", ("", "Start", "Length"))
        return self._called[key]

    def _columns(self) -> list[tuple[str, Column, object]]:
        """Name, column, and a value, a list or an expression of each column of the row, in order."""
        values = self.head if self.content is None else self.element
        place = self._place
        found: dict[str, tuple[Column, object]] = {}
        for path in self._paths(self.row, place.at):
            if path in self.lists:
                each = self.lists[path]
                spec = self._spec(path, self.row, place.at)
                column = spec.column or Column(spec.id)
                found[column.name] = (column, each)
                continue
            value = values.get(path)
            if value is None or _is_length(value.spec) or _hidden(value.spec):
                continue
            column = value.spec.column or Column(value.spec.id)
            if column.name in found:
                raise NotFlat
            found[column.name] = (column, column.value if column.value is not None else value)
        ordered = list(found.values())
        if self.row.columns:
            ordered = []
            for item in self.row.columns:
                if isinstance(item, Column):
                    ordered.append((item, item.value))
                elif item in found:
                    ordered.append(found[item])
                else:
                    raise NotFlat
        ordered += [(item, item.value) for item in self.row.row_head]
        return [(self._column_name(column), column, what) for column, what in ordered]

    def _paths(self, struct: Struct, at: _Path) -> list[_Path]:
        """The paths of the fields of a type, and of the types in it, in order."""
        found: list[_Path] = []
        for spec in struct.fields:
            path = (*at, spec.id)
            inner = spec.type
            if isinstance(inner, Ref) and spec.repeat is None and not self.model.struct(inner.target).wire:
                if spec.codec is None and not _hidden(spec):
                    found += self._paths(self.model.struct(inner.target), path)
                    continue
                if not _hidden(spec):
                    found.append(path)
                continue
            found.append(path)
        return found

    def _spec(self, path: _Path, struct: Struct, at: _Path) -> Field:
        spec = struct.field(path[len(at)])
        assert spec is not None
        return spec

    def _array(self, column: Column, what: object) -> tuple[str, str]:
        """The type of a column's elements, and Java of a row's value (where it is a number)."""
        wanted = column.type
        if isinstance(what, _Value):
            assert what.type is not None
            text, kind = what.name, what.type
            if wanted is None:
                if isinstance(what.spec.type, (Bits, Ref)):
                    return kind.text, text
                wanted = WIRE[what.spec.type.name].arrow if isinstance(what.spec.type, Prim) else "int64"
        else:
            assert isinstance(what, ex.Expr)
            java = Java(self._place.resolve, self.model)
            expr = self._known(self.layouts.inline(self.row, what))
            text, kind = plain(java.number(expr)), java.value(expr)[1]
        kind_of = "long" if _TIMESTAMP.match(wanted or "") else _ARRAYS.get(wanted or "int64")
        if kind_of is None:
            raise NotFlat
        if kind_of in ("float", "double") or kind.kind == "float":
            if kind.text != kind_of:
                raise NotFlat
            return kind_of, text
        if kind_of == "boolean":
            if kind.kind != "bool":
                raise NotFlat
            return kind_of, text
        if kind.kind == "bool":
            text = f"({text} ? 1 : 0)"
        if kind_of == "int" and kind.kind == "long":
            text = f"Math.toIntExact({text})"
        if kind_of in _RANGES:
            text = f"({kind_of}) ({text})"
        return kind_of, text

    def _known(self, expr: ex.Expr) -> ex.Expr:
        """Enums of the container's schema with their full names."""

        def swap(part: ex.Expr) -> ex.Expr | None:
            if isinstance(part, ex.EnumValue) and "::" not in part.enum:
                return ex.EnumValue(f"{self.schema.id}::{part.enum}", part.value)
            return None

        return ex.replace(expr, swap)

    # -- the loop ---------------------------------------------------------------------------------

    def _loop(self, code: Code, content: RowContent) -> None:
        layout = self.layouts.layout(content.element, {})
        count = self.head[(content.count.id,)]
        least = max(1, layout.min_size)
        code.add(f"long expected = {count.name};")
        self._give_up(code, f"expected < 0 || expected > elements || expected > (stop - start) / {least}")
        code.add("reserve((int) expected);", "long room = elements - expected;", "byte[] buf = data;")
        code.add("int p = start;", "int last = count + (int) expected;")
        body = Code(depth=1)
        self._steps(body, content.element, (), "stop")
        columns = self._columns()
        code.add(*(line for name, column, what in columns for line in self._arrays_of(name, column, what)))
        code.add("for (int n = count; n < last; n++) {")
        code.lines += body.lines
        with code.deeper():
            for name, column, what in columns:
                self._put(code, name, column, what)
        code.add("}")
        self._give_up(code, "p != stop")
        code.add("count = last;", "return true;")

    def _arrays_of(self, name: str, column: Column, what: object) -> list[str]:
        """Local variables for the arrays of a column, so that the loop does not look for them."""
        if isinstance(what, _List):
            return []
        if isinstance(what, _Value) and what.is_span:
            return [f"int[] {name}_starts = this.{name}Start;", f"int[] {name}_lengths = this.{name}Length;"]
        kind, _ = self._array(column, what)
        return [f"{kind}[] {name}_values = this.{name};"]

    def _put(self, code: Code, name: str, column: Column, what: object) -> None:
        if isinstance(what, _List):
            code.add(f"if (this.{name}Start != null) {{")
            code.add(f"    this.{name}Start[n + 1] = this.{name}Count;", "}")
        elif isinstance(what, _Value) and what.is_span:
            code.add(f"if ({name}_starts != null) {{")
            code.add(f"    {name}_starts[n] = {what.start};", f"    {name}_lengths[n] = {what.length};")
            code.add("}")
        else:
            _, text = self._array(column, what)
            code.add(f"if ({name}_values != null) {{", f"    {name}_values[n] = {text};", "}")

    def _single(self, code: Code) -> None:
        """The unit that was read as one row more."""
        columns = self._columns()
        code.add("reserve(1);", "int n = count;")
        for name, column, what in columns:
            if isinstance(what, _List):
                raise NotFlat
            code.add(*self._arrays_of(name, column, what))
        for name, column, what in columns:
            self._put(code, name, column, what)
        code.add("count++;", "return true;")

    # -- what is printed --------------------------------------------------------------------------

    def _printed(
        self, columns: list[tuple[str, Column, object]], head: Code, rows: Code
    ) -> tuple[tuple[Member, ...], tuple[Method, ...]]:
        members: list[Member] = []
        constants = {name: self._constants.claim(_constant(name)) for name, _, _ in columns}
        for index, (name, column, _) in enumerate(columns):
            text = f"public static final long {constants[name]} = 1L << {index};"
            members.append(Member(text, f"Asks for the column {{@code {column.name}}}."))
        members.append(
            Member(f"public static final long ALL = {(1 << len(columns)) - 1:#x}L;", "All columns.")
        )
        for path, value in self.head.items():
            doc = javadoc(one_line(value.spec.doc), "")
            if value.is_span and path != self.codec_at:
                members.append(Member(f"public int {value.name}Start;", f"Where {'.'.join(path)} starts."))
                members.append(Member(f"public int {value.name}Length;", "Its bytes; -1 where it is null."))
            elif value.is_span:
                members.append(Member(f"public int {value.name}Start;", "Where the content starts."))
                members.append(Member(f"public int {value.name}Length;", "Its bytes; -1 where it is null."))
            else:
                assert value.type is not None
                members.append(Member(f"public {value.type.text} {value.name};", doc))
        members.append(Member("public int unitEnd;", "The byte after the unit that was read last."))
        members.append(Member("public int count;", "How many rows there are."))
        fills: list[str] = []
        grows: list[str] = []
        extra: list[Method] = []
        for name, column, what in columns:
            wanted = f"(wanted & {constants[name]}) != 0"
            arrays: list[tuple[str, str, str]] = []
            if isinstance(what, _List):
                about = f"Where the elements of {column.name} start, for each row and behind the last one."
                arrays = [(f"{name}Start", "int", about)]
                extra.append(self._grown_list(name, what, members, fills, wanted))
            elif isinstance(what, _Value) and what.is_span:
                arrays = [
                    (f"{name}Start", "int", f"Where {column.name} starts; null where not asked for."),
                    (f"{name}Length", "int", "Its bytes; -1 where it is null."),
                ]
            else:
                kind, _ = self._array(column, what)
                arrays = [(name, kind, f"{column.name}; null where not asked for.")]
            more = " + 1" if isinstance(what, _List) else ""
            for array, kind, about in arrays:
                members.append(Member(f"public {kind}[] {array};", about))
                array = f"this.{array}"
                fills.append(f"{array} = {wanted} ? new {kind}[this.capacity{more}] : null;")
                grows.append(f"{array} = {array} == null ? null : Arrays.copyOf({array}, size{more});")
        make = ["this.capacity = Math.max(1, capacity);", *fills]
        members.append(Member("private int capacity;"))
        lists = [f"this.{each.name}Count = 0;" for each in self.lists.values()]
        methods = [
            Method(
                "public Rows(long wanted, int capacity)",
                "For the columns whose bits are set, with room for so many rows at first.",
                tuple(make),
            ),
            Method("public void clear()", "Drops all rows.", ("count = 0;", *lists)),
            *self._reading(head, rows),
            Method(
                "private void reserve(int more)",
                "",
                (
                    "if (count + more > capacity) {",
                    "    int size = Math.max(count + more, 2 * capacity);",
                    *(f"    {line}" for line in grows),
                    "    capacity = size;",
                    "}",
                ),
            ),
            *extra,
            *self._of_head(),
        ]
        return tuple(members), tuple(methods)

    def _grown_list(
        self, name: str, what: _List, members: list[Member], fills: list[str], wanted: str
    ) -> Method:
        members.append(Member(f"public int {name}Count;", f"How many elements all {name} have."))
        lines: list[str] = []
        first = ""
        for column, value in what.columns:
            inner = self._inner_name(name, column)
            arrays = [(f"{inner}Start", "int"), (f"{inner}Length", "int")]
            if not value.is_span:
                assert value.type is not None
                arrays = [(inner, value.type.text)]
            for array, kind in arrays:
                first = first or array
                about = f"{column.name} of each element"
                about += " (-1 where it is null)." if array.endswith("Length") else "."
                members.append(Member(f"public {kind}[] {array};", about))
                fills.append(f"this.{array} = {wanted} ? new {kind}[this.capacity] : null;")
                lines.append(f"    this.{array} = Arrays.copyOf(this.{array}, size);")
        if not first:
            raise NotFlat
        return Method(
            f"private void grow{camel(name)}(int more)",
            "",
            (
                f"if (this.{name}Count + more > this.{first}.length) {{",
                f"    int size = Math.max(this.{name}Count + more, 2 * this.{first}.length);",
                *lines,
                "}",
            ),
        )

    def _reading(self, head: Code, rows: Code) -> list[Method]:
        caught = "} catch (IndexOutOfBoundsException | ArithmeticException | Varints.TooLong error) {"
        methods = [
            Method(
                "public boolean head(byte[] buf, int start, int stop, boolean checkCrc)",
                "Reads the head of the unit at {@code start}, all but its rows; false where not all is well.",
                (
                    "try {",
                    "    return headOf(buf, start, stop, checkCrc);",
                    caught,
                    "    return false;",
                    "}",
                ),
            ),
            Method(
                "private boolean headOf(byte[] buf, int start, int stop, boolean checkCrc)", "", head.text
            ),
        ]
        if self.content is None:
            methods.append(
                Method(
                    "public boolean add()",
                    "Appends the unit that was read, which is one row; false where a value does not fit.",
                    (
                        "try {",
                        "    return added();",
                        "} catch (ArithmeticException error) {",
                        "    return false;",
                        "}",
                    ),
                )
            )
            methods.append(Method("private boolean added()", "", rows.text))
            return methods
        kept = [f"int {each.name}_before = this.{each.name}Count;" for each in self.lists.values()]
        back = [f"this.{each.name}Count = {each.name}_before;" for each in self.lists.values()]
        methods.append(
            Method(
                "public boolean rows(byte[] data, int start, int stop, long elements)",
                "Appends the rows of the unit whose head was read: its content, decompressed, is in "
                "{@code data} from\n * {@code start} to {@code stop}. False where not all is well, or there "
                "are more than {@code elements}\n * rows and elements of lists in them.",
                (
                    *kept,
                    "try {",
                    "    if (rowsOf(data, start, stop, elements)) {",
                    "        return true;",
                    "    }",
                    caught,
                    "    // what is wrong is for the careful reader to say",
                    "}",
                    *back,
                    "return false;",
                ),
            )
        )
        methods.append(
            Method(
                "private boolean rowsOf(byte[] data, int start, int stop, long elements)",
                "",
                rows.text,
            )
        )
        return methods

    def _of_head(self) -> list[Method]:
        """What the head says of the unit's rows."""
        found: list[Method] = []
        java = Java(self._place.resolve, self.model)
        row = self.row

        def known(expr: ex.Expr) -> ex.Expr:
            return self._known(self.layouts.inline(row, expr))

        if row.row_unless is not None:
            found.append(
                Method(
                    "public boolean hidden()",
                    "Whether the unit's rows are not for users.",
                    (f"return {plain(java.condition(known(row.row_unless)))};",),
                )
            )
        for bound in row.row_bounds:
            for end, word, value in (("First", "below", bound.first), ("Last", "above", bound.last)):
                if value is not None:
                    found.append(
                        Method(
                            f"public long {lower(bound.column)}{end}()",
                            f"No {{@code {bound.column}}} of the unit's rows is {word} this.",
                            (f"return {plain(java.number(known(value)))};",),
                        )
                    )
        if self.codec_at is not None:
            found.append(self._codec(self.head[self.codec_at]))
        return found

    def _codec(self, value: _Value) -> Method:
        codec = value.spec.codec
        assert codec is not None and self.codec_at is not None
        place = _Place(self.head, self.codec_at[:-1])
        java = Java(place.resolve, self.model)
        number, kind = java.value(codec.by)
        swapped = dict(codec.replace)
        when = None if codec.when is None else plain(java.condition(codec.when))
        code = Code()
        with code.block(f"switch ({number if kind.kind == 'int' else f'(int) {number}'})"):
            for item in self.model.enum(codec_enum(self.model, value.owner, codec.by)).items:
                text = java_literal(item.id)
                if item.id in swapped:
                    other = java_literal(swapped[item.id])
                    text = other if when is None else f"{when} ? {other} : {text}"
                code.add(f"case {item.value}:", f"    return {text};")
            code.add("default:", "    return null;")
        doc = "The codec of the unit's content; null where the schema does not know it."
        return Method("public String codec()", doc, code.text)


def _plus(number: int) -> str:
    return f" + {number}" if number else ""


def _start(at: _Path, name: str) -> str:
    return f"startOf_{'_'.join(map(lower, (*at, name)))}"


def _constant(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).upper().rstrip("_")


def _hidden(spec: Field) -> bool:
    return spec.column is not None and spec.column.hidden


def _is_length(spec: Field) -> bool:
    return spec.derive is not None and spec.derive.is_length
