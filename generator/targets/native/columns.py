"""The columns of a kernel: those of its rows, and those of the numbers in a unit's head."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Column, Prim, Ref, Str, Struct
from kodec.generator.targets.native.expressions import NotColumnar, standing_at
from kodec.generator.targets.native.names import c_name
from kodec.generator.targets.native.plan import Constants, Member, Scope
from kodec.generator.targets.native.steps import (
    BoundPlan,
    Bytes,
    ColumnPlan,
    Flag,
    Flat,
    Lists,
    Number,
)
from kodec.generator.wire import ENCODINGS, WIRE

__all__ = ["head_columns", "row_columns"]

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

Compute = Callable[[ex.Expr, Scope], str]
"""From an expression of a row to C of type int64_t."""


def row_columns(row: Struct, scope: Scope, compute: Compute) -> tuple[ColumnPlan, ...]:
    """The columns of a row, in the order of its `-row`, or of its fields. Raises NotColumnar."""
    found: dict[str, ColumnPlan] = {}

    def visit(members: list[Member], root: str) -> None:
        for member in members:
            spec = member.spec
            if spec.column is not None and spec.column.hidden:
                continue
            if spec.derive is not None and spec.derive.is_length:
                continue
            if member.kind == "struct":
                visit(member.members, f"{root}{member.name}.")
                continue
            column = spec.column or Column(spec.id)
            with standing_at(spec.place):
                if column.name in found:
                    raise NotColumnar(f"two columns are called `{column.name}`")
                found[column.name] = _column(column, member, f"{root}{member.name}", scope, compute)

    visit(scope.members, scope.root)
    ordered = list(found.values())
    if row.columns:
        ordered = []
        for item in row.columns:
            if isinstance(item, Column):
                ordered.append(_computed(item, scope, compute))
            elif item in found:
                ordered.append(found[item])
            else:
                raise NotColumnar(f"no column `{item}`")
    # behind those of the row, which are also what its objects have
    ordered += [_computed(item, scope, compute) for item in row.row_head]
    if len(ordered) > MOST_COLUMNS:
        raise NotColumnar(f"more than {MOST_COLUMNS} columns")
    constant = Constants("COLUMN")
    return tuple(
        dataclasses.replace(column, index=index, constant=constant(column.name))
        for index, column in enumerate(ordered)
    )


def head_columns(unit: Scope, bounds: tuple[BoundPlan, ...], compute: Compute) -> tuple[Number | Flag, ...]:
    """Every number in a unit's head, as a column of its own, and what it says of the rows' columns."""
    found: dict[str, Number | Flag] = {}

    def visit(members: list[Member], inside: str) -> None:
        for member in members:
            within = f"{inside}{member.name}"
            if member.kind == "struct":
                visit(member.members, f"{within}.")
            elif member.is_number:
                name = member.spec.id if member.spec.id not in found else member.path.replace(".", "_")
                if name in found or name in ("position", "size"):
                    raise NotColumnar(f"two columns are called `{name}`", member.spec.place)
                made = _number(Column(name), member, unit.root + within)
                found[name] = dataclasses.replace(made, within=within)

    visit(unit.members, "")
    for bound in bounds:
        for end, value in (("first", bound.first), ("last", bound.last)):
            name = f"{bound.column}_{end}"
            if value is not None and name not in found:
                found[name] = Number(name, c_name(name), value, "int64_t", "l", 8, computed=True)
    return tuple(dataclasses.replace(column, index=index) for index, column in enumerate(found.values()))


def _column(column: Column, member: Member, source: str, scope: Scope, compute: Compute) -> ColumnPlan:
    if member.kind == "list":
        children = [
            _flat(
                each.spec.column or Column(each.spec.id),
                each,
                f"item_{member.list_index}.{each.name}",
                scope,
                compute,
            )
            for each in member.members
            if not (each.spec.derive is not None and each.spec.derive.is_length)
            and not (each.spec.column is not None and each.spec.column.hidden)
        ]
        return Lists(column.name, c_name(column.name), member.list_index, tuple(children), member)
    return _flat(column, member, source, scope, compute)


def _flat(column: Column, member: Member, source: str, scope: Scope, compute: Compute) -> Flat:
    if column.value is not None:
        return _computed(column, scope, compute)
    if member.kind != "blob":
        return _number(column, member, source)
    encoding = member.spec.type.encoding if isinstance(member.spec.type, Str) else None
    plain = encoding is not None and ENCODINGS[encoding].arrow == "string"
    text = plain and column.type != "binary"
    name = c_name(column.name)
    return Bytes(column.name, name, source, "u" if text else "z", member.nullable, text, member)


def _computed(column: Column, scope: Scope, compute: Compute) -> Number:
    assert column.value is not None
    value = compute(column.value, scope)
    c_type, arrow, bits, signed = _number_type(column.type or "int64")
    return Number(
        column.name,
        c_name(column.name),
        value,
        c_type,
        arrow,
        bits // 8,
        checked=bits < 64 or not signed,
        filtered=True,
        expression=column.value,
    )


def _number(column: Column, member: Member, source: str) -> Number | Flag:
    natural = _natural(member)
    if natural == "bool" and column.type in (None, "bool"):
        return Flag(column.name, c_name(column.name), source, member)
    c_type, arrow, bits, signed = _number_type(column.type or natural)
    _, _, own_bits, own_signed = _number_type("uint8" if natural == "bool" else natural)
    floating = member.kind in ("float", "double")
    fits = floating or (own_bits <= bits and own_signed == signed) or (not own_signed and own_bits < bits)
    if member.kind == "uint" and arrow != "L":
        raise NotColumnar(f"`{member.spec.id}` is an unsigned number of 64 bits in a narrower column")
    return Number(
        column.name,
        c_name(column.name),
        source,
        c_type,
        arrow,
        bits // 8,
        member.c_type,
        checked=not fits,
        filtered=member.kind == "int",
        member=member,
    )


def _natural(member: Member) -> str:
    """The Arrow type that holds every value of the field."""
    kind = member.spec.type
    if isinstance(kind, Prim):
        return WIRE[kind.name].arrow
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
