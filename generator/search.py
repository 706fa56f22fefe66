"""Finds bytes that a streamed type can be read from, by trying.

A reader's error shows which bytes must be where, and how many it needs. Where it does not, as of a size that
follows from a number before it, small numbers are put there until reading gets further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from struct import pack
from typing import Any, Literal

from kodec.generator.contract import same
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Field, Model, Prim, Str
from kodec.generator.wire import ENCODINGS
from kodec.runtime.errors import FormatError, Truncated

__all__ = ["Made", "Spent", "led", "samples"]

# numbers that work as sizes and counts, in both byte orders; spaces and digits for texts
_FILLS = (
    b"\0",
    b"\1",
    b"\2",
    b"\0\0\0\x10",
    b"\x10\0\0\0",
    b"\0\0\0\x40",
    b"\x40\0\0\0",
    b" ",
    b"0",
    b"\xff",
)
_SIZES = (64, 256)
_MOST_STEPS = 60
_MOST_BYTES = 1500
# of a second search, where the first one found nothing
_MORE_BYTES = 8192
_WIDE = 3
_MOST_TRIES = 2000
_BEFORE, _AFTER = 48, 8
_NUMBERS = (16, 64, 40, 1, 4, 2, 0, 100, 512)

Read = Callable[[bytes], tuple[Any, int]]
"""The value of the bytes, and where reading stopped. Raises FormatError; Spent, which ends the search."""


class Spent(Exception):
    """The search has taken as many steps as it may."""


@dataclass(frozen=True, slots=True)
class Made:
    """`size` bytes: `fill` repeated, and other bytes at some positions."""

    size: int
    fill: bytes
    parts: Mapping[int, bytes] = field(default_factory=dict)

    @property
    def data(self) -> bytes:
        found = bytearray((self.fill * self.size)[: self.size])
        for at, part in self.parts.items():
            found[at : at + len(part)] = part
        return bytes(found[: self.size])


def samples(model: Model, read: Read) -> Iterator[Made]:
    """Different bytes that `read` accepts; none if the search fails."""
    search = _Search(model, read)
    seen: set[bytes] = set()
    for search.wide in (False, True):
        for fill in _FILLS[: _WIDE if search.wide else None]:
            for size in _SIZES:
                search.tries = _MOST_TRIES
                try:
                    made = search.led(Made(size, fill))
                except Spent:
                    return
                if made is not None and made.data not in seen:
                    seen.add(made.data)
                    yield made
                    break
        if seen:
            return


def led(model: Model, read: Read, made: Made) -> Made | None:
    """The bytes with what `read` requires; None if the search fails."""
    search = _Search(model, read)
    search.tries = _MOST_TRIES
    try:
        return search.led(made)
    except Spent:
        return None


class _Search:
    """A search; a `wide` one tries more."""

    def __init__(self, model: Model, read: Read) -> None:
        self.model = model
        self.read = read
        self.wide = False
        self.tries = 0
        self.specs: dict[str, list[Field]] = {}
        structs = [struct for schema in model.schemas for struct in schema.structs]
        for struct in structs:
            for spec in (*struct.fields, *(each.reads for each in struct.instances if each.reads)):
                self.specs.setdefault(spec.id, []).append(spec)
        self.orders = dict.fromkeys(
            word
            for struct in structs
            if struct.endian is not None
            for spec in self._named(struct.endian.on)
            for case, _ in struct.endian.cases
            for word in self._words(spec, case)
        )
        self.ends = dict.fromkeys(
            word
            for specs in self.specs.values()
            for spec in specs
            for word in self._words(spec, spec.repeat_until)
        )

    def _named(self, on: ex.Expr) -> Iterator[Field]:
        """The fields that an expression names."""
        for each in ex.walk(on):
            if isinstance(each, (ex.Name, ex.Attr)):
                yield from self.specs.get(each.name, ())

    def _words(self, spec: Field, value: ex.Expr | None) -> Iterator[bytes]:
        """What an expression compares a field with, as bytes."""
        for each in () if value is None else ex.walk(value):
            plain = self._literal(each)
            if plain is not None:
                yield from self._stored(spec, plain)
                if isinstance(plain, str):
                    yield plain.encode()
                elif isinstance(plain, int) and 0 <= plain < 256 and not isinstance(spec.type, Prim):
                    yield bytes([plain])

    def _literal(self, expr: ex.Expr) -> int | float | str | bytes | None:
        """What an expression always is, if that is plain to see."""
        match ex.fold(expr):
            case ex.Literal(value):
                return value
            case ex.EnumValue(enum, value):
                return next((each.value for each in self.model.enum(enum).items if each.id == value), None)
            case ex.Items(items):
                values = [self._literal(each) for each in items]
                return bytes(v & 0xFF for v in values if isinstance(v, int))
        return None

    def led(self, made: Made) -> Made | None:
        """The bytes with what their reader requires; None if the search fails."""
        for _ in range(_MOST_STEPS):
            try:
                self.read(made.data)
            except FormatError as error:
                better = None
                if self.wide and isinstance(error, Truncated):
                    better = self._further(made, error, self.ends)
                better = better or self._better(made, error)
                if better is None and self.wide:
                    better = self._further(made, error, (*self.orders, *self.ends, *_PARTS))
                if better is None:
                    return self._beginning(made)
                made = better
            else:
                return self._shortest(made)
        return None

    def _better(self, made: Made, error: FormatError) -> Made | None:
        need, have = error.need, error.have
        most = _MORE_BYTES if self.wide else _MOST_BYTES
        found = None
        if isinstance(need, bytes) and isinstance(have, bytes):
            found = self._with(made, error.at, need)
        elif error.reason == "no terminator":
            return self._ended(made, error)
        elif error.reason != "value not allowed" and type(need) is type(have) is int and have < need <= most:
            # a list that reads to the end never ends
            size = error.at + need
            return replace(made, size=size) if made.size < size <= most else None
        if found is None and error.reason == "value not allowed":
            found = self._allowed(made, error)
        return found

    @staticmethod
    def _with(made: Made, at: int, part: bytes) -> Made | None:
        if at < 0 or at + len(part) > made.size or made.data[at : at + len(part)] == part:
            return None
        return replace(made, parts={**made.parts, at: part})

    def _of(self, error: FormatError) -> list[Field]:
        """The fields that an error may be about."""
        return self.specs.get(error.path.rpartition(".")[2].partition("[")[0], [])

    def _ended(self, made: Made, error: FormatError) -> Made | None:
        """The bytes with the terminator that is missing, some bytes later; in a longer stream if needed."""
        for spec in self._of(error):
            end = spec.terminator
            if end is not None:
                at = error.at + 2 * len(end)
                wider = replace(made, size=max(made.size, at + len(end)))
                return self._with(wider, at, end) or self._with(made, error.at, end)
        return None

    def _allowed(self, made: Made, error: FormatError) -> Made | None:
        """The value that a rule requires, at the position of the error's field."""
        for spec in self._of(error):
            for need in self._needs(spec, error):
                for part, before in zip(
                    self._stored(spec, need), self._stored(spec, error.have), strict=False
                ):
                    for at in (error.at, error.at - len(before), error.at - len(part)):
                        if at >= 0 and made.data[at : at + len(before)] == before:
                            found = self._with(made, at, part.ljust(len(before), b"\0"))
                            if found is not None:
                                return found
        return None

    def _needs(self, spec: Field, error: FormatError) -> tuple[Any, ...]:
        """The values that a rule of the field allows: those of the schema, else the error's."""
        valid = spec.valid
        if valid is not None and valid.in_enum and spec.enum is not None:
            return tuple(each.value for each in self.model.enum(spec.enum).items[:1])
        rules = () if valid is None else (valid.eq, valid.min, valid.max, *(valid.any_of or ()))
        plain = [self._literal(each) for each in rules if each is not None]
        found = tuple(each for each in plain if each is not None)
        return found or (error.need if isinstance(error.need, tuple) else (error.need,))

    @staticmethod
    def _stored(spec: Field, value: Any) -> list[bytes]:
        """A value as the bytes of a field, in each order of bytes that it may have."""
        match spec.type:
            case Prim(width=width, floating=True) if isinstance(value, (int, float)):
                return [pack(sign + ("f" if width == 4 else "d"), value) for sign in _signs(spec.type)]
            case Prim(width=width, signed=signed) if isinstance(value, int):
                orders: dict[str, Literal["little", "big"]] = {"<": "little", ">": "big"}
                low, high = (-(1 << 8 * width - 1), 1 << 8 * width - 1) if signed else (0, 1 << 8 * width)
                fits = low <= value < high
                signs = _signs(spec.type) if fits else ()
                return [value.to_bytes(width, orders[sign], signed=signed) for sign in signs]
            case Str(encoding) if isinstance(value, str):
                form = ENCODINGS[encoding]
                return [value.encode(form.python, "replace")]
        return [value] if isinstance(value, bytes) else []

    def _further(self, made: Made, error: FormatError, parts: Iterable[bytes]) -> Made | None:
        """The bytes with one of the parts near the error, or where one is, so that reading gets further."""
        near = range(error.at + _AFTER, max(error.at - _BEFORE, 0) - 1, -1)
        for part, at in product(parts, dict.fromkeys((*near, *made.parts))):
            changed = self._with(made, at, part) if self.tries > 0 else None
            if changed is None:
                continue
            self.tries -= 1 + made.size // 128
            try:
                self.read(changed.data)
            except FormatError as other:
                if other.at > error.at or (other.at == error.at and other.path.startswith(f"{error.path}.")):
                    return changed
            else:
                return changed
        return None

    def _beginning(self, made: Made) -> Made | None:
        """The longest prefix that can be read: a list to the end stops at an element."""
        for size in range(min(made.size, max(_SIZES)) - 1, 0, -1):
            shorter = replace(made, size=size)
            try:
                self.read(shorter.data)
            except FormatError:
                continue
            return shorter
        return None

    def _shortest(self, made: Made) -> Made:
        """Without the bytes after the value, unless something in it needs them."""
        value, stop = self.read(made.data)
        shorter = replace(made, size=max(1, stop))
        try:
            is_enough = shorter.size < made.size and same(value, self.read(shorter.data)[0])
        except FormatError:
            return made
        return shorter if is_enough else made


def _signs(kind: Prim) -> tuple[str, ...]:
    return ("<", ">") if kind.endian == "by" else ("<",) if kind.endian == "le" else (">",)


_PARTS = tuple(
    dict.fromkeys(
        (
            *(
                number.to_bytes(width, order)
                for number in _NUMBERS
                for width in (4, 2, 1, 8)
                for order in ("little", "big")
                if number < 256**width
            ),
            b"AAAA",
        )
    )
)
