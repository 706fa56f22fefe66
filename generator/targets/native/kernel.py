"""From the model to what the kernel templates need: the units of a log, their rows, and the columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from kodec.generator.layout import Layouts, solve
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Bytes, Column, Field, Model, Prim, Ref, Schema, Str, Struct
from kodec.generator.schema.roles import RowContent, listed_rows, row_content
from kodec.generator.targets.native.expressions import NotColumnar, literal
from kodec.generator.targets.native.objects import gives_objects
from kodec.generator.targets.native.plan import Constants, Member, Names, Parser, Scope, Step, c_name
from kodec.generator.targets.native.writing import Writer, total

__all__ = ["Kernel", "kernel_of", "planned"]

_MEMORY = {"c": "b", "s": "h", "i": "i", "l": "q", "C": "B", "S": "H", "I": "I", "L": "Q", "f": "f", "g": "d"}
"""Arrow's format of a number to that of Python's memoryview."""
_NUMBERS = {
    # Arrow type: C type, format, bits, signed
    "int8": ("int8_t", "c", 8, True),
    "int16": ("int16_t", "s", 16, True),
    "int32": ("int32_t", "i", 32, True),
    "int64": ("int64_t", "l", 64, True),
    "uint8": ("uint8_t", "C", 8, False),
    "uint16": ("uint16_t", "S", 16, False),
    "uint32": ("uint32_t", "I", 32, False),
    "uint64": ("uint64_t", "L", 64, False),
    "float": ("float", "f", 32, True),
    "double": ("double", "g", 64, True),
}
# a bit for each says whether it is wanted
MOST_COLUMNS = 64
_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:,\s*([\w/+:-]+))?\]")
_UNITS = {"s": "s", "ms": "m", "us": "u", "ns": "n"}


@dataclass(slots=True)
class Kernel:
    """What one kernel is made from.

    Attributes:
        schema: whose log of units it reads.
        unit: the type of which one follows another.
        row: the type of one row, the unit itself where `content` is None.
        content: the rows inside a unit, where it is a container.
    """

    schema: Schema
    unit: Struct
    content: RowContent | None
    row: Struct
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.schema.id

    @property
    def element(self) -> Struct | None:
        """What the content of a unit repeats."""
        return None if self.content is None else self.content.element


def kernel_of(model: Model, schema: Schema) -> Kernel | None:
    """The kernel of a schema whose outermost type is a container of rows, or a list of them; else None."""
    try:
        return planned(model, schema)
    except NotColumnar:
        return None


def planned(model: Model, schema: Schema) -> Kernel:
    """As `kernel_of`. Raises NotColumnar, which says why there is none."""
    found = _container(model, schema.root, schema) or _plain_list(model, schema.root, schema)
    if found is None:
        raise NotColumnar("its outermost type is neither a container of rows nor a list of them")
    found.facts = _Builder(model, Layouts(model), found).build()
    return found


def _container(model: Model, struct: Struct, schema: Schema) -> Kernel | None:
    """A type with a compressible field that holds rows."""
    content = row_content(model, struct)
    return None if content is None else Kernel(schema, struct, content, content.row)


def _plain_list(model: Model, struct: Struct, schema: Schema) -> Kernel | None:
    """A type that is rows to its end, one after another."""
    unit = listed_rows(model, struct)
    return None if unit is None else Kernel(schema, unit, None, unit)


class _Builder:
    def __init__(self, model: Model, layouts: Layouts, kernel: Kernel) -> None:
        self.model = model
        self.layouts = layouts
        self.kernel = kernel
        self.names = Names()

    def build(self) -> dict[str, Any]:
        kernel = self.kernel
        unit_parser = Parser(self.model, self.layouts, self.names)
        unit_parser.checksums = 1
        unit = Scope("u->", kernel.unit, [])
        unit_steps = unit_parser.parse(unit, "")
        if unit_parser.lists:
            raise NotColumnar("a list in the head of a container")
        facts: dict[str, Any] = {
            "unit_steps": unit_steps,
            "unit_members": unit.members,
            "unit_least": self.layouts.layout(kernel.unit, {}).min_size,
            "codec": self._codec(unit),
        }
        if kernel.element is not None:
            facts |= self._rows_inside(unit)
        else:
            scope = Scope("u->", kernel.row, unit.members)
            facts |= {
                "row_steps": None,
                "row_members": [],
                "lists": [],
                "columns": self._columns(scope, unit),
            }
            facts |= {"row_scope": scope, "element_scope": scope}
            facts |= self._choices(scope, facts["columns"])
        facts["heads"] = self._heads(unit, facts["bounds"])
        try:
            facts["write"] = self._write(unit, facts)
        except NotColumnar:
            facts["write"] = None
        facts["objects"] = gives_objects(facts["columns"])
        facts["names"] = list(self.names.all.items())
        return facts

    def _rows_inside(self, unit: Scope) -> dict[str, Any]:
        kernel = self.kernel
        assert kernel.content is not None
        holder, count = kernel.content.holder, kernel.content.count
        parser = Parser(self.model, self.layouts, self.names)
        element = Scope("row.", kernel.content.element, [], unit)
        steps = parser.parse(element, f"{holder.id}[]")
        if kernel.row is kernel.content.element:
            scope = element
        else:
            member = next(each for each in element.members if each.spec.type == Ref(kernel.row.name))
            scope = Scope(f"row.{member.name}.", kernel.row, member.members, unit)
        columns = self._columns(scope, unit)
        return {
            "row_steps": steps,
            "row_members": element.members,
            "row_least": max(1, self.layouts.layout(kernel.content.element, {}).min_size),
            "lists": parser.lists,
            "columns": columns,
            "count": f"u->{c_name(count.id)}",
            "count_field": self.names(count.id),
            "holder": holder.id,
            "optional": holder.condition is not None,
            "row_scope": scope,
            "element_scope": element,
            "payload": f"u->{c_name(holder.id)}",
            **self._choices(scope, columns),
        }

    def _choices(self, scope: Scope, columns: list[Step]) -> dict[str, Any]:
        """Which containers' rows are not for users, and what the container says of a column."""
        row = self.kernel.row
        unless = None
        if row.row_unless is not None:
            unless = Parser(self.model, self.layouts, self.names).condition(
                self._known(row.row_unless), scope
            )
        bounds = []
        for bound in row.row_bounds:
            column = next((each for each in columns if each.name == bound.column), None)
            if column is None:
                continue
            parser = Parser(self.model, self.layouts, self.names)
            bounds.append(
                {
                    "constant": column.constant,
                    "column": column.name,
                    "first": None if bound.first is None else parser.number(self._known(bound.first), scope),
                    "last": None if bound.last is None else parser.number(self._known(bound.last), scope),
                }
            )
        return {"unless": unless, "bounds": bounds}

    def _known(self, expr: ex.Expr) -> ex.Expr:
        """Enums of the container's schema with their full names."""

        def swap(part: ex.Expr) -> ex.Expr | None:
            if isinstance(part, ex.EnumValue) and "::" not in part.enum:
                return ex.EnumValue(f"{self.kernel.schema.id}::{part.enum}", part.value)
            return None

        return ex.replace(self.layouts.inline(self.kernel.row, expr), swap)

    # -- compressed content -----------------------------------------------------------------------

    def _codec(self, unit: Scope) -> dict[str, Any] | None:
        """The compressible field, wherever in the unit it is."""
        found = _find_codec(unit.members, "u->")
        if found is None:
            return None
        text, member, siblings = found
        codec = member.spec.codec
        assert codec is not None
        scope = Scope(text.rpartition(member.name)[0], member.owner, siblings)
        parser = Parser(self.model, self.layouts, self.names)
        by = scope.find(codec.by)
        if by is None or by[1].spec.enum is None:
            raise NotColumnar("a codec that no enum says")
        enum = self.model.enum(by[1].spec.enum)
        swapped = dict(codec.replace)
        when = None if codec.when is None else parser.condition(codec.when, scope)
        return {
            "by": by[0],
            "field": self.names(by[1].path),
            "content": text,
            "values": [
                {"value": item.value, "name": item.id, "other": swapped.get(item.id, item.id)}
                for item in enum.items
            ],
            "none": next((item.value for item in enum.items if item.id == "none"), 0),
            "when": when,
        }

    # -- columns ----------------------------------------------------------------------------------

    def _columns(self, scope: Scope, unit: Scope) -> list[Step]:
        found: dict[str, Step] = {}

        def visit(members: list[Member], root: str, owner: Struct) -> None:
            for member in members:
                spec = member.spec
                if spec.column is not None and spec.column.hidden:
                    continue
                if spec.derive is not None and spec.derive.is_length:
                    continue
                if member.kind == "struct":
                    visit(member.members, f"{root}{member.name}.", owner)
                    continue
                column = spec.column or Column(spec.id)
                if column.name in found:
                    raise NotColumnar(f"two columns are called `{column.name}`")
                found[column.name] = self._column(column, member, f"{root}{member.name}", scope)

        visit(scope.members, scope.root, scope.struct)
        row = self.kernel.row
        ordered = list(found.values())
        if row.columns:
            ordered = []
            for item in row.columns:
                if isinstance(item, Column):
                    ordered.append(self._column(item, None, "", scope))
                elif item in found:
                    ordered.append(found[item])
                else:
                    raise NotColumnar(f"no column `{item}`")
        if len(ordered) > MOST_COLUMNS:
            raise NotColumnar(f"more than {MOST_COLUMNS} columns")
        constant = Constants("COLUMN")
        for index, column in enumerate(ordered):
            column.facts["index"] = index
            column.facts["constant"] = constant(column.name)
            column.facts.setdefault("filtered", False)
            if column.kind == "number":
                column.facts["memory"] = _MEMORY.get(column.format, "q")
        return ordered

    def _column(self, column: Column, member: Member | None, source: str, scope: Scope) -> Step:
        name = {"name": column.name, "c_name": c_name(column.name)}
        if member is not None and member.kind == "list":
            children = [
                self._column(
                    each.spec.column or Column(each.spec.id),
                    each,
                    f"item_{member.list_index}.{each.name}",
                    scope,
                )
                for each in member.members
                if not (each.spec.derive is not None and each.spec.derive.is_length)
                and not (each.spec.column is not None and each.spec.column.hidden)
            ]
            return Step("list", {**name, "list": member.list_index, "children": children, "member": member})
        if column.value is not None:
            parser = Parser(self.model, self.layouts, self.names)
            text = parser.number(self._known(column.value), scope)
            c_type, arrow, bits, signed = _number_type(column.type or "int64")
            return Step(
                "number",
                {**name, "value": text, "c_type": c_type, "format": arrow, "width": bits // 8,
                 "value_type": "int64_t", "checked": bits < 64 or not signed, "filtered": True,
                 "expression": column.value},
            )  # fmt: skip
        assert member is not None
        if member.kind == "blob":
            encoding = member.spec.type.encoding if isinstance(member.spec.type, Str) else None
            as_text = encoding in ("utf-8", "ascii") and column.type != "binary"
            return Step(
                "blob",
                {**name, "source": source, "format": "u" if as_text else "z", "nullable": member.nullable,
                 "text": as_text, "member": member},
            )  # fmt: skip
        natural = _natural(member)
        if natural == "bool" and column.type in (None, "bool"):
            return Step(
                "flag",
                {**name, "value": source, "c_type": "uint8_t", "width": 1, "member": member},
            )
        c_type, arrow, bits, signed = _number_type(column.type or natural)
        _, _, own_bits, own_signed = _number_type("uint8" if natural == "bool" else natural)
        floating = member.kind in ("float", "double")
        fits = floating or (own_bits <= bits and own_signed == signed) or (not own_signed and own_bits < bits)
        if member.kind == "uint" and arrow != "L":
            raise NotColumnar(f"`{member.spec.id}` is an unsigned number of 64 bits in a narrower column")
        return Step(
            "number",
            {**name, "value": source, "c_type": c_type, "format": arrow, "width": bits // 8,
             "checked": not fits, "value_type": member.c_type, "filtered": member.kind == "int",
             "member": member},
        )  # fmt: skip

    # -- writing ----------------------------------------------------------------------------------

    def _write(self, unit: Scope, facts: dict[str, Any]) -> dict[str, Any]:
        """The plans for writing rows and, around them, units."""
        kernel = self.kernel
        row: Scope = facts["row_scope"]
        element: Scope = facts["element_scope"]
        root = element.root
        fed: dict[str, str] = {}
        limits: dict[str, str] = {}
        inputs: list[Step] = []
        for column in facts["columns"]:
            if self._feed(column, row, root, fed, limits):
                column.facts["accepted"] = _accepted(column)
                inputs.append(column)

        def row_source(key: str, spec: Field) -> Any:
            if key.startswith("limit:"):
                return limits[key[6:]]
            if key in fed:
                return _pair(fed[key]) if spec.repeat is not None else fed[key]
            if kernel.element is None and not isinstance(spec.type, (Bytes, Str)):
                return "u->" + ".".join(map(c_name, key.split(".")))
            if isinstance(spec.type, (Prim, Bits, Ref)) and spec.repeat is None and spec.valid is None:
                value = spec.default.value if isinstance(spec.default, ex.Literal) else 0
                return literal(int(value))
            raise NotColumnar(f"no column says what `{spec.id}` is")

        writer = Writer(self.model, self.layouts, row_source, self.names)
        path = f"{facts['holder']}[]" if kernel.element is not None else ""
        found: dict[str, Any] = {"inputs": inputs, "derived": []}
        found["row"] = writer.plan(element.struct, element.members, "", path, element)
        found["row_size"] = total(found["row"].size)
        if kernel.element is None:
            return found
        head = Writer(self.model, self.layouts, self._unit_source(facts["holder"]), self.names)
        found["unit"] = head.plan(kernel.unit, unit.members, "", "", unit)
        found["unit_size"] = total(found["unit"].size)
        found["derived"] = [
            self._derived(spec, facts["holder"], unit, row, root, writer)
            for spec in kernel.unit.fields
            if spec.derive is not None and spec.derive.kind in ("last", "max")
        ]
        return found

    def _feed(self, column: Step, row: Scope, root: str, fed: dict[str, str], limits: dict[str, str]) -> bool:
        """Note which field the column gives when it is written; false where it gives none."""
        name = f"in->{column.c_name}"
        if column.kind == "list":
            member = next((each for each in _lists(row.members) if each.list_index == column.list), None)
            if member is None:
                raise NotColumnar(f"the list `{column.name}` is not written")
            path = row.root.removeprefix(root) + member.spec.id
            fed[path] = name
            for child in column.children:
                child.facts["accepted"] = _accepted(child)
                key = f"{path}.{child.member.spec.id}"
                if child.kind == "blob":
                    fed[key] = f"kd_text_at(&{name}.{child.c_name}, item)"
                    limits[key] = f"{name}.{child.c_name}.end"
                else:
                    fed[key] = f"{name}.{child.c_name}[item]"
            return True
        if column.kind == "flag":
            raise NotColumnar(f"the flag `{column.name}` is not written from a column")
        if column.kind == "blob":
            fed[column.member.path] = f"kd_text_at(&{name}, row)"
            limits[column.member.path] = f"{name}.end"
            return True
        expression = column.facts.get("expression")
        if expression is None:
            fed[column.member.path] = f"{name}[row]"
            return True
        expression = self._known(expression)
        parser = Parser(self.model, self.layouts, self.names)
        for ident in sorted(ex.names(expression) - {"_batch"}):
            base = solve(expression, ident)
            if base is None or ex.names(base) - {"_batch"}:
                continue
            path = row.root.removeprefix(root) + ident
            fed[path] = f"kd_sub({name}[row], {parser.number(base, row)}, &wrong)"
            return True
        return False

    def _unit_source(self, holder: str) -> Any:
        def source(key: str, spec: Field) -> str:
            if key == holder:
                return "written"
            if key == f"limit:{holder}":
                return "(written.data + written.size)"
            text = "u->" + ".".join(map(c_name, key.removeprefix("limit:").split(".")))
            return f"({text}.data + {text}.size)" if key.startswith("limit:") else text

        return source

    def _derived(
        self, spec: Field, holder: str, unit: Scope, row: Scope, root: str, writer: Writer
    ) -> dict[str, Any]:
        """What a head says of its rows: the last, or the largest, of one of their fields."""
        derive = spec.derive
        assert derive is not None
        key = f"{row.root.removeprefix(root)}{derive.member}"
        if derive.first != holder or key not in writer.values:
            raise NotColumnar(f"`{spec.id}` is derived from what is not in the rows")
        parser = Parser(self.model, self.layouts, self.names)
        result = f"derived_{spec.id}"
        if derive.plus is not None:
            result = f"kd_add({result}, {parser.number(derive.plus, unit)}, &wrong)"
        return {
            "name": spec.id,
            "c_name": c_name(spec.id),
            "kind": derive.kind,
            "value": writer.values[key],
            "result": result,
            "when": None if derive.when is None else parser.condition(self._known(derive.when), unit),
        }

    # -- heads ------------------------------------------------------------------------------------

    def _heads(self, unit: Scope, bounds: list[dict[str, Any]]) -> list[Step]:
        """Every number in a unit's head, as a column of its own, and what it says of the rows' columns."""
        found: dict[str, Step] = {}

        def visit(members: list[Member], root: str) -> None:
            for member in members:
                if member.kind == "struct":
                    visit(member.members, f"{root}{member.name}.")
                elif member.is_number:
                    name = member.spec.id if member.spec.id not in found else member.path.replace(".", "_")
                    if name in found or name in ("position", "size"):
                        raise NotColumnar(f"two columns are called `{name}`")
                    plain = Column(name)
                    found[name] = self._column(plain, member, f"{root}{member.name}", unit)

        visit(unit.members, unit.root)
        for bound in bounds:
            for end in ("first", "last"):
                name = f"{bound['column']}_{end}"
                if bound[end] is not None and name not in found:
                    facts = {"name": name, "c_name": c_name(name), "value": bound[end], "c_type": "int64_t"}
                    facts |= {"format": "l", "width": 8, "computed": True}
                    found[name] = Step("number", facts)
        for index, column in enumerate(found.values()):
            column.facts["index"] = index
            column.facts.setdefault("computed", False)
        return list(found.values())


def _find_codec(members: list[Member], root: str) -> tuple[str, Member, list[Member]] | None:
    for member in members:
        if member.spec.codec is not None:
            return f"{root}{member.name}", member, members
        if member.kind == "struct":
            found = _find_codec(member.members, f"{root}{member.name}.")
            if found is not None:
                return found
    return None


def _lists(members: list[Member]) -> list[Member]:
    return [member for member in members if member.kind == "list"]


def _pair(text: str) -> tuple[str, str]:
    """Where a row's list starts and stops in its children."""
    return f"{text}.starts[row]", f"{text}.starts[row + 1]"


def _accepted(column: Step) -> str:
    """A C string of the Arrow formats that the column is written from, each behind a blank."""
    if column.kind == "list":
        formats = ["+l"]
    elif column.kind == "blob":
        formats = ["z", "u"]
    else:
        formats = [column.format]
        if column.format.startswith("ts"):
            formats += [f"{column.format[:4]}", "l"]
    return '"' + "".join(f" {each}" for each in dict.fromkeys(formats)) + '"'


def _natural(member: Member) -> str:
    """The Arrow type that holds every value of the field."""
    kind = member.spec.type
    if isinstance(kind, Prim):
        if kind.floating:
            return "float" if kind.width == 4 else "double"
        return f"{'' if kind.signed else 'u'}int{8 * kind.width}"
    if isinstance(kind, Ref):
        return f"{'' if member.signed else 'u'}int{member.bits}"
    if member.bits == 1 and member.spec.enum is None:
        return "bool"
    return next(f"uint{width}" for width in (8, 16, 32, 64) if member.bits <= width)


def _number_type(text: str) -> tuple[str, str, int, bool]:
    """C type, Arrow format, bits and sign of an Arrow type. Raises NotColumnar."""
    if text in _NUMBERS:
        return _NUMBERS[text]
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise NotColumnar(f"a number cannot be a column of type `{text}`")
    return "int64_t", f"ts{_UNITS[match[1]]}:{match[2] or ''}", 64, True
