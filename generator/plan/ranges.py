"""What is left of a range of fields for one of them: `size: len_body - 8`, where that covers others too.

Its size is compared with what the others take, for values that are drawn.
"""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass

from kodec.generator.plan.layouts import Layout, Layouts
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Derive, Field, Struct, Valid
from kodec.generator.schema.widths import field_bits

__all__ = ["Left", "left_of"]

_PROBES = 50
_NEEDED = (0, 1, 7, 300)


@dataclass(frozen=True, slots=True)
class Left:
    """How a size or a count agrees with what the other fields of its range leave.

    Attributes:
        wrong: how it contradicts that, for some values; empty if it does not.
        always: whether it does so for some sizes of the field, whatever the other fields hold.
        certain: whether the schema alone shows that it agrees. Else a writer compares what it has written.
    """

    wrong: str = ""
    always: bool = False
    certain: bool = True


def left_of(layouts: Layouts, struct: Struct, field: Field, name: str, derive: Derive) -> Left:
    """Of the size or the count of a field, which follows from `name`: the length that `derive` says."""
    found = [
        _of_layout(layouts, struct, variant.layout, field, name, derive)
        for variant in layouts.all_of(struct)
        if any(each.id == field.id for each in variant.layout.fields)
    ]
    return Left(
        next((each.wrong for each in found if each.wrong), ""),
        bool(found) and all(each.always for each in found),
        all(each.certain for each in found),
    )


def _of_layout(
    layouts: Layouts, struct: Struct, layout: Layout, field: Field, name: str, derive: Derive
) -> Left:
    fields = {each.id: each for each in layout.fields}
    ids = list(fields)
    last = derive.last or derive.first
    if not {derive.first, last} <= fields.keys():
        return Left(certain=False)
    inside = [fields[each] for each in ids[ids.index(derive.first) : ids.index(last) + 1]]
    mine = fields[field.id]
    amount, one = mine.size, 8
    if mine.repeat is not None:
        amount = mine.repeat_expr
        one = field_bits(layouts.model, dataclasses.replace(mine, condition=None, repeat=None)) or 0
    if amount is None or not one:
        return Left(certain=amount is None)
    drawn = random.Random(0)
    wrong, certain, fits = "", True, False
    for _ in range(_PROBES):
        values = _Values(layouts, struct, drawn)
        tests = [True if each.condition is None else values.of(each.condition) for each in inside]
        there = [each for each, test in zip(inside, tests, strict=True) if test]
        others = [values.size(each) for each in there if each.id != field.id]
        plus = 0 if derive.plus is None else values.of(derive.plus)
        if mine not in there:
            continue
        is_known = plus is not None and None not in (*tests, *others)
        agrees = True
        for needed in _NEEDED if is_known else ():
            values.known[ex.Name(name)] = (sum(filter(None, others)) + needed * one + 7) // 8 + (plus or 0)
            read = values.of(amount)
            is_known = is_known and read is not None
            if read not in (None, needed):
                agrees = False
                given = ", ".join(f"{ex.text_of(each)} = {value}" for each, value in values.known.items())
                wrong = wrong or f"reads {read} where a writer writes {needed}, with {given}"
        certain = certain and is_known and agrees
        fits = fits or agrees
    return Left(wrong, bool(wrong) and not fits, certain)


class _Values:
    """Numbers for what expressions ask, drawn when they are first asked for."""

    def __init__(self, layouts: Layouts, struct: Struct, drawn: random.Random) -> None:
        self.layouts = layouts
        self.struct = struct
        self.drawn = drawn
        self.known: dict[ex.Expr, int] = {}

    def of(self, expr: ex.Expr) -> int | None:
        """The value of an expression; None if it cannot be computed."""
        plain = self.layouts.inline(self.struct, expr)
        near = [each.value for each in ex.walk(plain) if isinstance(each, ex.Literal)]
        numbers = [0, 1, *(each + by for each in near if isinstance(each, int) for by in (-1, 0, 1))]

        def swap(part: ex.Expr) -> ex.Expr | None:
            if not isinstance(part, (ex.Name, ex.Attr, ex.EnumValue)):
                return None
            if part not in self.known:
                self.known[part] = self.drawn.choice(self._allowed(part, numbers))
            return ex.Literal(self.known[part])

        found = ex.fold(ex.replace(plain, swap))
        return int(found.value) if isinstance(found, ex.Literal) and isinstance(found.value, int) else None

    def _allowed(self, part: ex.Expr, numbers: list[int]) -> list[int]:
        """Those of the numbers that the field of this name can be."""
        spec = self.struct.field(part.name) if isinstance(part, ex.Name) else None
        if spec is None or spec.valid is None:
            return numbers
        valid = spec.valid
        listed = [each for each in map(_number, valid.any_of or ()) if each is not None]
        return [each for each in (*listed, *numbers) if _is_valid(valid, each)] or listed or numbers

    def size(self, field: Field) -> int | None:
        """The bits of a field that is there; None if that is not known."""
        plain = dataclasses.replace(field, condition=None)
        fixed = field_bits(self.layouts.model, plain)
        if fixed is not None or field.repeat is not None or field.size is None:
            return fixed
        size = self.of(field.size)
        return None if size is None or size < 0 else size * 8


def _number(expr: ex.Expr | None) -> int | None:
    return expr.value if isinstance(expr, ex.Literal) and isinstance(expr.value, int) else None


def _is_valid(valid: Valid, number: int) -> bool:
    """Whether a number passes the rules that compare it with numbers; others are not asked."""
    equal, least, most = map(_number, (valid.eq, valid.min, valid.max))
    listed = [_number(each) for each in valid.any_of or ()]
    return (
        (equal is None or number == equal)
        and (least is None or number >= least)
        and (most is None or number <= most)
        and (not listed or None in listed or number in listed)
    )
