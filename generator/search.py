"""Finds bytes that a streamed type can be read from, by trying.

A reader's error shows which bytes must be where, and how many it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from kodec.generator.contract import same
from kodec.generator.schema.model import Model, Prim
from kodec.runtime.errors import FormatError

__all__ = ["Made", "samples"]

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

Read = Callable[[bytes], tuple[Any, int]]
"""The value of the bytes, and where reading stopped. Raises FormatError."""


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
    for fill in _FILLS:
        for size in _SIZES:
            made = search.led(Made(size, fill))
            if made is not None and made.data not in seen:
                seen.add(made.data)
                yield made
                break


class _Search:
    def __init__(self, model: Model, read: Read) -> None:
        self.read = read
        self.numbers: dict[str, list[Prim]] = {}
        for schema in model.schemas:
            for struct in schema.structs:
                for spec in struct.fields:
                    if isinstance(spec.type, Prim) and not spec.type.floating:
                        self.numbers.setdefault(spec.id, []).append(spec.type)

    def led(self, made: Made) -> Made | None:
        """The bytes with what their reader requires; None if the search fails."""
        for _ in range(_MOST_STEPS):
            try:
                self.read(made.data)
            except FormatError as error:
                better = self._better(made, error)
                if better is None:
                    return self._beginning(made)
                made = better
            else:
                return self._shortest(made)
        return None

    def _better(self, made: Made, error: FormatError) -> Made | None:
        need, have = error.need, error.have
        if isinstance(need, bytes) and isinstance(have, bytes):
            return self._with(made, error.at, need)
        if isinstance(need, int) and not isinstance(need, bool) and isinstance(have, int):
            if error.reason == "value not allowed":
                return self._with_number(made, error, need, have)
            if have < need <= _MOST_BYTES:
                # a list that reads to the end never ends
                size = error.at + need
                return replace(made, size=size) if made.size < size <= _MOST_BYTES else None
        return None

    @staticmethod
    def _with(made: Made, at: int, part: bytes) -> Made | None:
        if at < 0 or at + len(part) > made.size or made.data[at : at + len(part)] == part:
            return None
        return replace(made, parts={**made.parts, at: part})

    def _with_number(self, made: Made, error: FormatError, need: int, have: int) -> Made | None:
        """The number that a rule requires, at the position of the error's field."""
        name = error.path.rpartition(".")[2].partition("[")[0]
        for prim in self.numbers.get(name, ()):
            for order in (
                ("little", "big") if prim.endian == "by" else ("little" if prim.endian == "le" else "big",)
            ):
                byte_order: Literal["little", "big"] = "little" if order == "little" else "big"
                for at in (error.at, error.at - prim.width):
                    stored = made.data[max(at, 0) : at + prim.width]
                    if at >= 0 and int.from_bytes(stored, byte_order, signed=prim.signed) == have:
                        try:
                            part = need.to_bytes(prim.width, byte_order, signed=prim.signed)
                        except OverflowError:
                            continue
                        return self._with(made, at, part)
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
