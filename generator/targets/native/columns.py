"""The columns of a kernel: those of its rows, and those of the numbers in a unit's head."""

from __future__ import annotations

import dataclasses
import re

from kodec.generator.plan.rows import Elements, NoRows, RowColumn, RowNumber, RowPlan, Span, variables
from kodec.generator.plan.steps import Slot
from kodec.generator.plan.values import FieldOf
from kodec.generator.targets.native.expressions import Expressions, bare
from kodec.generator.targets.native.kernel_plan import BoundPlan, Bytes, ColumnPlan, Flag, Flat, Lists, Number
from kodec.generator.targets.native.names import Constants, c_name
from kodec.generator.targets.native.places import Places, arrow_of, c_path, is_number, kind_of
from kodec.generator.wire import ENCODINGS

__all__ = ["Columns"]

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
# a bit for each shows whether it is wanted
MOST_COLUMNS = 64
_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:,\s*([\w/+:-]+))?\]")
_UNITS = {"s": "s", "ms": "m", "us": "u", "ns": "n"}


class Columns:
    """Plans columns. Raises NoRows."""

    def __init__(self, plan: RowPlan, places: Places, text: Expressions) -> None:
        self._plan = plan
        self._places = places
        self._text = text
        self._fields = dict(variables((*plan.head, *(plan.element or ()))))

    def of_rows(self) -> tuple[ColumnPlan, ...]:
        """The columns of a row, then those with one value for all rows of a unit."""
        if len(self._plan.columns) > MOST_COLUMNS:
            raise NoRows(f"more than {MOST_COLUMNS} columns")
        constant = Constants("COLUMN")
        return tuple(
            dataclasses.replace(self._column(each), index=index, constant=constant(each.name))
            for index, each in enumerate(self._plan.columns)
        )

    def of_heads(self, bounds: tuple[BoundPlan, ...]) -> tuple[Number | Flag, ...]:
        """Every number in a unit's head, as a column, and its bounds for the rows' columns."""
        found: dict[str, Number | Flag] = {}
        for path, made in variables(self._plan.head):
            if isinstance(made, Span) or not is_number(made):
                continue
            name = path.rpartition(".")[2]
            name = name if name not in found else path.replace(".", "_")
            if name in found or name in ("position", "size"):
                raise NoRows(f"two columns are called `{name}`", self._plan.fields[path].place)
            found[name] = dataclasses.replace(self._number(name, "", path, made), within=c_path(path))
        for bound in bounds:
            for end, value in (("first", bound.first), ("last", bound.last)):
                name = f"{bound.column}_{end}"
                if value is not None and name not in found:
                    found[name] = Number(name, c_name(name), value, "int64_t", "l", 8, computed=True)
        return tuple(dataclasses.replace(column, index=index) for index, column in enumerate(found.values()))

    def _column(self, column: RowColumn) -> ColumnPlan:
        if isinstance(column.source, Elements):
            step = column.source
            children = tuple(self._flat(each) for each in step.columns)
            return Lists(column.name, c_name(column.name), self._places.list_index(step), children, step.name)
        return self._flat(column)

    def _flat(self, column: RowColumn) -> Flat:
        source = column.source
        assert not isinstance(source, Elements)
        if isinstance(source, Span):
            known = source.encoding and ENCODINGS[source.encoding].arrow == "string"
            text = bool(known) and column.arrow != "binary"
            return Bytes(
                column.name,
                c_name(column.name),
                self._places(source.name),
                "u" if text else "z",
                source.nullable,
                text,
                source.name,
                source.encoding,
            )
        if column.computed or not isinstance(source, FieldOf):
            c_type, arrow, bits, signed = _number_type(column.arrow)
            return Number(
                column.name,
                c_name(column.name),
                bare(self._text.number(source)),
                c_type,
                arrow,
                bits // 8,
                checked=bits < 64 or not signed,
                filtered=True,
                expression=source,
            )
        made = self._fields[source.name]
        assert not isinstance(made, Span)
        try:
            return self._number(column.name, column.arrow, source.name, made)
        except NoRows as error:
            error.place = error.place or self._plan.fields[source.name].place
            raise

    def _number(self, name: str, asked: str, path: str, made: Slot | RowNumber) -> Number | Flag:
        natural, kind, source = arrow_of(made), kind_of(made), self._places(path)
        if natural == "bool" and asked in ("", "bool"):
            return Flag(name, c_name(name), source, path)
        c_type, arrow, bits, signed = _number_type(asked or natural)
        _, _, own_bits, own_signed = _number_type("uint8" if natural == "bool" else natural)
        fits = (
            kind in ("float", "double")
            or (own_bits <= bits and own_signed == signed)
            or (not own_signed and own_bits < bits)
        )
        if kind == "uint" and arrow != "L":
            raise NoRows(f"`{path}` is an unsigned number of 64 bits in a narrower column")
        return Number(
            name,
            c_name(name),
            source,
            c_type,
            arrow,
            bits // 8,
            _VALUES[kind],
            checked=not fits,
            filtered=kind == "int",
            path=path,
            stored=kind[0],
        )


_VALUES = {"int": "int64_t", "uint": "uint64_t", "float": "float", "double": "double"}


def _number_type(text: str) -> tuple[str, str, int, bool]:
    """C type, Arrow format, bits and sign of an Arrow type. Raises NotColumnar."""
    if text in _NUMBERS:
        return _NUMBERS[text]
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise NoRows(f"a number cannot be a column of type `{text}`")
    return "int64_t", f"ts{_UNITS[match[1]]}:{match[2] or ''}", 64, True
