"""Inverts expressions: which field a size, a count or a position follows from, and the value it must have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from kodec.generator.plan.steps import Solution
from kodec.generator.plan.values import (
    FLAG,
    TEXT,
    Around,
    Binary,
    Cast,
    Choose,
    Constant,
    Digits,
    ElementOf,
    Enumerated,
    FieldOf,
    Item,
    MemberOf,
    Number,
    Required,
    StreamAsked,
    StreamOf,
    This,
    Unary,
    Value,
    Whole,
    arithmetic,
    is_number,
    text_of,
    values_in,
    whole_of,
)

__all__ = ["advised", "asked", "choices", "presence", "solutions", "with_places"]

_MOST_PARTS = 250
_ANY = Whole(-(1 << 64), 1 << 64)
_FLIPPED = {"==": "!=", "!=": "=="}


def solutions(value: Value | None) -> tuple[Solution, ...]:
    """Each field that could be changed so that `value` becomes the `Item` of its solution.

    Also the size of the stream in which it stands: that changes with what is written. None of a long value:
    that of each field would be as long.
    """
    if value is None or next(islice(values_in(value), _MOST_PARTS, None), None) is not None:
        return ()
    return tuple(_solved(value, Item(_ANY), ()))


def _without_streams(found: Iterable[Solution]) -> tuple[Solution, ...]:
    """Solutions of what the size of a stream does not change."""
    return tuple(each for each in found if not isinstance(each.target, StreamAsked))


def choices(on: Value) -> tuple[Solution, ...]:
    """Each field that could be changed so that what chooses a case is the `Item`: a number, or a text."""
    target = _bare(on)
    if on.type == TEXT and isinstance(target, (FieldOf, MemberOf)):
        return (Solution(target, Item(TEXT)),)
    return _without_streams(solutions(on))


def presence(test: Value) -> tuple[Solution, ...]:
    """Each flag that could be changed so that a condition becomes the `Item`, true or false."""
    return _without_streams(_present(test, Item(FLAG), ()))


def asked(value: Value) -> list[str]:
    """The fields that a value is computed of, as errors name them."""
    fields = [text_of(each) for each in values_in(value) if isinstance(each, (FieldOf, MemberOf))]
    return [
        each for each in dict.fromkeys(fields) if not any(each in other for other in fields if other != each)
    ]


def advised(reason: str, value: Value) -> str:
    """The reason of an error, with the fields that a value is computed of as those to set."""
    names = ", ".join(f"`{each}`" for each in asked(value))
    return f"{reason}: set {names}" if names else reason


def _present(test: Value, wanted: Value, tests: tuple[Value, ...]) -> Iterator[Solution]:
    match test:
        case Required(of) | Cast(of):
            yield from _present(of, wanted, tests)
        case Unary("not", of):
            yield from _present(of, Unary("not", wanted, FLAG), tests)
        case FieldOf(type=kind) | MemberOf(type=kind) if kind == FLAG:
            yield Solution(test, wanted, tests)
        case Binary(("==" | "!=") as op, left, Constant(int(number))) if is_number(left.type):
            yield from _equal(left, op, number, wanted, tests)


def _equal(left: Value, op: str, number: int, wanted: Value, tests: tuple[Value, ...]) -> Iterator[Solution]:
    """A comparison of what has two values only: some bits of a number, or one that is 0 or 1."""
    inner = left.of if isinstance(left, Required) else left
    inner = inner.of if isinstance(inner, Number) else inner
    bits = None
    if isinstance(inner, Binary) and inner.op == "&" and isinstance(inner.right, Constant):
        bits = inner.right.value
    kind = whole_of(inner.type)
    if bits is None and kind is not None and (kind.low, kind.high) == (0, 1):
        bits = 1
    if not isinstance(bits, int) or number not in (0, bits) or bits <= 0 or bits & (bits - 1):
        return
    same = (op == "==") == (number != 0)
    test = wanted if same else Unary("not", wanted, FLAG)
    yield from _solved(inner, Choose(test, _whole(bits), _whole(0), Whole(0, bits)), tests)


def _solved(value: Value, wanted: Value, tests: tuple[Value, ...]) -> Iterator[Solution]:
    match value:
        case FieldOf(type=kind) | MemberOf(type=kind):
            if is_number(kind) or kind == FLAG:
                yield Solution(value, wanted, tests)
        case ElementOf(of, _, kind):
            if is_number(kind) and isinstance(_bare(of), (FieldOf, MemberOf)):
                yield Solution(value, wanted, tests)
        case StreamAsked(StreamOf(None), "size"):
            yield Solution(value, wanted, tests)
        case Required(of) | Cast(of) | Enumerated(of):
            yield from _solved(of, wanted, tests)
        case Number(of, _, base):
            if of.type != TEXT:
                yield from _solved(of, wanted, tests)
            elif isinstance(_bare(of), (FieldOf, MemberOf)):
                digits = Digits(wanted, 10 if base is None else _base(base), _bare(of))
                yield Solution(_bare(of), digits, tests)
        case Unary("-" | "~" as op, of):
            yield from _solved(of, Unary(op, wanted, _ANY), tests)
        case Choose(test, yes, no):
            yield from _solved(yes, wanted, (*tests, test))
            yield from _solved(no, wanted, (*tests, Unary("not", test, FLAG)))
        case Binary(op, left, right):
            yield from _binary(op, left, right, wanted, tests)


def _digits(left: Value, right: Value, wanted: Value, tests: tuple[Value, ...]) -> Solution | None:
    """Both parts of `low + (high << n)`, where the lower one has no more than n bits."""
    for high, low in ((left, right), (right, left)):
        match _bare(high):
            case Binary("<<", of, Constant(int(shift))):
                pass
            case Binary("*", of, Constant(int(factor))) if factor > 1 and not factor & (factor - 1):
                shift = factor.bit_length() - 1
            case _:
                continue
        kind = whole_of(low.type)
        if kind is None or kind.low < 0 or kind.high >= 1 << shift:
            continue
        upper = list(_solved(of, _made(">>", wanted, _whole(shift)), tests))
        lower = list(_solved(low, _made("&", wanted, _whole((1 << shift) - 1)), tests))
        if len(upper) == len(lower) == 1:
            first, second = upper[0], lower[0]
            return replace(first, also=(*first.also, replace(second, also=()), *second.also))
    return None


def _binary(
    op: str, left: Value, right: Value, wanted: Value, tests: tuple[Value, ...]
) -> Iterator[Solution]:
    if op in ("+", "|") and (both := _digits(left, right, wanted, tests)) is not None:
        yield both
        return
    match op:
        case "+":
            yield from _solved(left, _made("-", wanted, right), tests)
            yield from _solved(right, _made("-", wanted, left), tests)
        case "-":
            yield from _solved(left, _made("+", wanted, right), tests)
            yield from _solved(right, _made("-", left, wanted), tests)
        case "*":
            # what is no whole multiple is refused, as the size does not fit then
            if _is_positive(right):
                yield from _solved(left, _made("/", wanted, right), tests)
            if _is_positive(left):
                yield from _solved(right, _made("/", wanted, left), tests)
        case "/" if _is_positive(right):
            yield from _solved(left, _made("*", wanted, right), tests)
        case "<<" if _is_shift(right):
            yield from _solved(left, _made(">>", wanted, right), tests)
        case ">>" if _is_shift(right):
            # the bits that are shifted out stay what they are
            low = _made("&", left, _whole((1 << _number(right)) - 1))
            yield from _solved(left, _made("|", _made("<<", wanted, right), low), tests)
        case "&":
            for mask, other in ((right, left), (left, right)):
                if isinstance(mask, Constant) and isinstance(mask.value, int) and mask.value > 0:
                    # and so do those that the mask leaves out
                    rest = _made("&", other, _whole(~mask.value))
                    yield from _solved(other, _made("|", _made("&", wanted, mask), rest), tests)
        case "^":
            yield from _solved(left, _made("^", wanted, right), tests)
            yield from _solved(right, _made("^", wanted, left), tests)


def _bare(value: Value) -> Value:
    while isinstance(value, (Required, Cast)):
        value = value.of
    return value


def _base(value: Value) -> int:
    return int(value.value) if isinstance(value, Constant) and isinstance(value.value, int) else 10


def _number(value: Value) -> int:
    assert isinstance(value, Constant) and isinstance(value.value, int)
    return value.value


def _is_positive(value: Value) -> bool:
    """Whether a divisor is known not to be 0."""
    kind = whole_of(value.type)
    return kind is not None and kind.low > 0


def _is_shift(value: Value) -> bool:
    return isinstance(value, Constant) and isinstance(value.value, int) and 0 <= value.value <= 64


def _whole(number: int) -> Constant:
    return Constant(number, Whole(number, number))


def _made(op: str, left: Value, right: Value) -> Value:
    """An operation; of two constants, or with nothing, its result."""
    if isinstance(right, Constant) and right.value == 0 and op in ("+", "-", "|", "^", "<<", ">>"):
        return left
    return Binary(op, left, right, arithmetic(op, _range(left), _range(right)))


def _range(value: Value) -> Whole:
    return whole_of(value.type) or _ANY


def with_places(value: Value) -> bool:
    """Whether a value asks for what is around the object, which is only there while that is written."""
    return any(isinstance(each, (Around, This)) for each in values_in(value))
