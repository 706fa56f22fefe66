"""What fields of streams are derived from: bytes between marks, as typed operations."""

from __future__ import annotations

from kodec.generator.code.typed import LONG, ULONG, Code, Do, Lacking, Statement
from kodec.generator.code.typed_values import TypedValues, call, constant
from kodec.generator.plan.steps import Program, Unit
from kodec.generator.plan.values import ANY, MISSING, OBJECT, OCTETS, Computed, ObjectOf
from kodec.generator.wire import CHECKSUMS, SUMS

__all__ = ["DerivedValues", "marks_of"]


class DerivedValues(TypedValues):
    """The values of one unit, also those that are computed of bytes."""

    def __init__(self, program: Program, unit: Unit, asked: dict[str, tuple[str, ...]]) -> None:
        super().__init__(program, unit, asked)
        # the statements of the block that is made
        self._made: list[Statement] = []

    def computed(self, value: Computed) -> Code:
        if value.where is not None:
            raise Lacking("a condition for elements (`where`)")
        owner = self.this if value.of is None else self._there(self.code(value.of))
        if not isinstance(owner.type, ObjectOf):
            raise Lacking(f"`{value.first}` of an object of one of several types")
        unit = self.units[owner.type.unit]
        if value.function == "count_of":
            asked = value.first, MISSING
            return call("size_of", LONG, self._ask(self.member(owner, unit, value.first), asked))
        holder, marks = self.as_(owner, OBJECT), marks_of(unit)
        for name in dict.fromkeys((value.first, value.last)):
            # an instance is read when its bytes are asked for
            member = self.member(owner, unit, name)
            if member.op == "instance":
                self._made.append(Do(member))
        first = constant(marks[value.first]), value.first
        if value.function == "position_of":
            return call("position", LONG, holder, *first)
        last = constant(marks[value.last]), value.last
        own = -1 if value.byte is None else marks_of(self.unit)[value.own]
        data = call("between", OCTETS, holder, *first, *last, constant(own), constant(value.byte or 0))
        if value.unpack:
            data = call("unpacked", OCTETS, data, value.unpack, value.first)
        if value.function == "length_of":
            return call("size_of", LONG, data)
        if value.function in SUMS:
            size, order = SUMS[value.function]
            return call("sum_of", ULONG, data, constant(size), constant(order == "le"))
        bits = CHECKSUMS[value.function]
        return call("checksum" if bits else "digest", LONG if bits else OCTETS, value.function, data)

    def mark(self, name: str, *, end: bool) -> Do:
        """Note where a field or an instance begins, or ends."""
        marks = marks_of(self.unit)
        place = constant(marks[name]), constant(len(marks)), constant(end)
        return Do(call("mark", ANY, self.io, *place))


def marks_of(unit: Unit) -> dict[str, int]:
    """The fields and instances whose bytes are asked for, and the number of each."""
    assert unit.streamed is not None
    return {name: index for index, name in enumerate(sorted(unit.streamed.marked))}
