"""Starts a schema from samples of an unknown format: what their bytes suggest, with the evidence for it.

Nothing here is certain. A guess is made only where chance is unlikely: evidence is counted in bits, as the
logarithm of how seldom random bytes would look like that.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise, product
from math import log2
from typing import Literal

__all__ = ["Chain", "Guess", "guess"]

_TEXT = re.compile(rb"[\x20-\x7e]{6,}")
_WORD = re.compile(rb"[\x00-\xff]?[A-Za-z][A-Za-z0-9!_ .-]{2,15}")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LETTERS = re.compile(rb"[A-Za-z0-9 _.+-]+\Z")
# where lists may begin, what may be around a length, and how much evidence makes a list of it
_MOST_HEADER = 96
_BEFORE, _MORE = (*range(13), 16), (*range(9), 12, 16)
_LEAST_BITS = 14.0
_COUNTED = 1 << 14
_MOST_ELEMENTS, _ALIKE, _MOST_STEPS = 100_000, 64, 1_500_000
_MOST_RECORD, _LEAST_RECORDS = 512, 8
_SAMPLE = 1 << 20
_SHOWN = 6
_LONG_TEXT = 10
Order = Literal["little", "big"]
_LENGTHS: tuple[tuple[int, Order], ...] = (
    (4, "big"), (4, "little"), (8, "big"), (8, "little"), (2, "big"), (2, "little"),
)  # fmt: skip
_ORDERS: tuple[Order, ...] = ("little", "big")
_SHORT = {"little": "le", "big": "be"}


@dataclass(frozen=True, slots=True)
class Chain:
    """Elements with a length, one after another from `start` to the end.

    Attributes:
        before: bytes of an element before its length.
        width, order: of the length.
        more: bytes of an element that its length does not count; below 0 where it counts some of its own.
        align: an element ends at a multiple of this many bytes.
        places: where the elements begin, and where the last one ends, of the first sample.
        bits: the evidence.
    """

    start: int
    before: int
    width: int
    order: Order
    more: int
    align: int
    places: tuple[int, ...]
    bits: float

    @property
    def count(self) -> int:
        return len(self.places) - 1

    @property
    def head(self) -> int:
        return self.before + self.width


@dataclass
class Guess:
    """A schema, as text, and what it is based on, line by line."""

    text: str = ""
    notes: list[str] = field(default_factory=list)


def guess(samples: Sequence[bytes], ident: str, *, extension: str = "", names: Sequence[str] = ()) -> Guess:
    """A schema that reads every sample completely: what is not understood is a field of bytes.

    Args:
        samples: the bytes of files of one format, the first one leads; at least one.
        ident: the id of the schema.
        extension: of the files' names.
        names: of the files, for a comment.
    """
    result = Guess()
    writer = _Writer([bytes(sample) for sample in samples], result)
    body = writer.schema()
    shown = ", ".join(f"{name} ({len(data):,} bytes)" for name, data in zip(names, samples, strict=False))
    head = [
        f"# Started by `kodec new`{f' from {_comment(shown)}' if shown else ''}.",
        "# Everything here is a guess from the bytes; the comments show the evidence.",
        "meta:",
        f"  id: {ident}",
        *([f"  file-extension: {json.dumps(extension)}"] if extension else []),
        f"  endian: {_SHORT[writer.order]}  # {writer.why_order}",
    ]
    result.text = "\n".join([*head, *body, ""])
    return result


def _comment(text: str) -> str:
    """Text on one line of a comment."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


class _Writer:
    def __init__(self, samples: list[bytes], guess: Guess) -> None:
        self.samples = samples
        self.data = samples[0]
        self.guess = guess
        self.lines = all(len(sample) > 1 and _is_text(sample) for sample in samples)
        self.record = None if self.lines else _records(self.data)
        if self.record is not None and len({len(sample) % self.record for sample in samples}) > 1:
            self.record = None
        self.chain = None if self.lines or self.record is not None else _chain(samples)
        self.order, self.why_order = self._order()

    def _order(self) -> tuple[Order, str]:
        """The byte order, with the reason."""
        if self.lines:
            return "little", "not used: text has no numbers"
        if self.chain is not None and self.chain.width > 1:
            return (
                self.chain.order,
                f"the lengths of {self.chain.count} elements are {self.chain.order}-endian",
            )
        for order in _ORDERS:
            for position, width in product(range(min(_MOST_HEADER, len(self.data))), (4, 8)):
                if all(_counts_bytes(sample, position, width, order) is not None for sample in self.samples):
                    return order, f"the number at byte {position} fits the size of the file"
        counts = [_small(self.data[:4096], order) for order in _ORDERS]
        little, big = counts
        if little == big == 0:
            return "little", "unknown: no numbers were recognized"
        if max(counts) < 3 * min(counts):
            return "little", f"unknown: {little} small numbers are little-endian, {big} big-endian"
        order = "big" if big > little else "little"
        return order, f"{max(counts)} small numbers are {order}-endian, {min(counts)} the other way round"

    # -- the text ---------------------------------------------------------------------------------

    def schema(self) -> list[str]:
        if self.lines:
            return [*self._text_lines()]
        lines = self._strings()
        lines.append("seq:")
        start = 0 if self.chain is None else self.chain.start
        record = self.record
        if record is not None:
            start = len(self.data) % record
        magic = self._magic(start if self.chain is not None or record is not None else _MOST_HEADER)
        if magic:
            shown = ", ".join(f"0x{byte:02x}" for byte in magic)
            several = len(self.samples) > 1
            lines += [
                f"  # {self._why_magic(several)}",
                "  - id: magic",
                f"    contents: [{shown}]  # {_shown(magic)}",
            ]
        ended = self.chain is not None or record is not None
        end = min(start if ended else self._header_end(len(magic)), *map(len, self.samples), len(self.data))
        lines += self._header(len(magic), end)
        if self.chain is not None:
            lines += self._elements(self.chain)
        elif record is not None:
            lines += self._fixed(record, (len(self.data) - start) // record)
        else:
            lines += [
                "  # Unknown: describe it field by field, and keep this one as the last.",
                "  - id: rest",
                "    size-eos: true",
            ]
            self.guess.notes.append("no list was recognized: the rest is one field of bytes")
        return lines

    def _text_lines(self) -> Iterator[str]:
        """A file of text as lines."""
        note = "the file is text" if len(self.samples) == 1 else "the files are text"
        self.guess.notes.append(f"{note}: a list of lines")
        kind = "ASCII" if all(map(bytes.isascii, self.samples)) else "UTF-8"
        yield from (
            f"  encoding: {kind}",
            "seq:",
            "  # Guess: lines; the last one may be without an end.",
            "  - id: lines",
            "    type: str",
            "    terminator: 0x0a",
            "    eos-error: false",
            "    repeat: eos",
        )

    def _why_magic(self, several: bool) -> str:
        return f"All {len(self.samples)} files begin with it." if several else "Guess: a signature."

    def _magic(self, most: int) -> bytes:
        """The bytes that every file begins with: the common ones of several samples, else a word."""
        if len(self.samples) > 1:
            common = 0
            while (
                common < min(most, 16, *map(len, self.samples))
                and len({sample[common] for sample in self.samples}) == 1
            ):
                common += 1
            magic = self.data[:common]
        else:
            word = _WORD.match(self.data[:16])
            magic = b"" if word is None or _is_text(self.data[:64]) else self.data[: min(word.end(), most)]
            magic = magic if len(magic) <= 8 else magic[:4]
            while 0 < len(magic) < min(most, 8) and self.data[len(magic) : len(magic) + 1] in (
                b"\r",
                b"\n",
                b"\x1a",
            ):
                magic = self.data[: len(magic) + 1]
        if magic:
            self.guess.notes.append(f"the signature {_shown(magic)}")
        return magic

    def _header_end(self, start: int) -> int:
        """Where the numbers of a header end, if there is no list: four or so are worth a field."""
        return min(start + 16, len(self.data)) if start and len(self.data) >= start + 16 else start

    def _header(self, position: int, end: int) -> Iterator[str]:
        """The bytes between the signature and the list, as numbers where these are small."""
        while position < end:
            width = next(
                (
                    w
                    for w in (4, 2)
                    if position % w == 0
                    and position + w <= end
                    and all(len(s) >= position + w for s in self.samples)
                ),
                0,
            )
            sized = next(((w, reason) for w in (8, 4) if position + w <= end
                          and (reason := self._sized(position, w))), None)  # fmt: skip
            if sized is not None:
                width, reason = sized
                self.guess.notes.append(f"byte {position}: {reason}")
                yield from (f"  # {reason}", f"  - id: len_file_{position}", f"    type: u{width}")
                position += width
                continue
            value = int.from_bytes(self.data[position : position + width], self.order)
            counted = self.chain is not None and value == self.chain.count and width
            if width and (value < 1 << 8 * width - 8 or width == 2):
                meaning = ", the number of elements" if counted else ""
                yield from (f"  - id: field_{position}", f"    type: u{width}  # {value:,}{meaning}")
                position += width
            else:
                size = width or 1
                part = self.data[position : position + size]
                if not position:
                    yield "  # A signature? A second sample would show it."
                yield from (f"  - id: unknown_{position}", f"    size: {size}  # {_shown(part)}")
                position += size

    def _sized(self, position: int, width: int) -> str:
        """Why a number is the size of something, in every sample."""
        more = {_counts_bytes(sample, position, width, self.order) for sample in self.samples}
        if len(more) != 1 or None in more:
            return ""
        difference = next(iter(more))
        assert difference is not None
        return "The size of the file." if difference == 0 else f"The size of the file, less {difference}."

    def _elements(self, chain: Chain) -> Iterator[str]:
        data = self.data
        note = (
            f"{chain.count:,} elements with a u{chain.width} of their length at byte {chain.before} of each; "
            f"they reach from byte {chain.start} exactly to the end"
        )
        self.guess.notes.append(note)
        yield from (
            f"  # {note}.",
            "  - id: elements",
            "    type: element",
            "    repeat: eos",
            "types:",
            "  element:",
            "    seq:",
        )
        yield from self._around("head", 0, chain.before)
        is_default = chain.width == 1 or chain.order == self.order
        yield from (
            "      - id: len_body",
            f"        type: u{chain.width}{'' if is_default else _SHORT[chain.order]}",
        )
        after = max(chain.more, 0)
        tag = 4 if after >= 4 and all(_LETTERS.match(part) for part in self._parts(chain.head, 4)) else 0
        yield from self._around("tag", chain.head, tag)
        crc, order = _checksum(data, chain, tag) if after - tag == 4 else ("", self.order)
        if after > tag and not crc:
            yield "      # Before the body, or after it: nothing shows which."
            yield from self._around("more", chain.head + tag, after - tag)
        yield from (
            "      - id: body",
            f"        size: len_body{f' - {-chain.more}' if chain.more < 0 else ''}",
        )
        if crc:
            self.guess.notes.append(f"the last 4 bytes of an element: {crc[0].lower()}{crc[1:]}")
            yield from (f"      # {crc}.", "      - id: crc", f"        type: u4{_SHORT[order]}")
        if chain.align > 1:
            yield f"      # Elements begin at a multiple of {chain.align} bytes."
            yield from (
                "      - id: padding",
                f"        size: ({chain.align} - _io.pos % {chain.align}) % {chain.align}",
            )

    def _parts(self, first: int, size: int) -> list[bytes]:
        """Some bytes of each element of the first sample."""
        assert self.chain is not None
        return [self.data[start + first : start + first + size] for start in self.chain.places[:-1]]

    def _around(self, name: str, first: int, size: int) -> Iterator[str]:
        """Bytes of an element beside its length and body: text, numbers, or bytes."""
        parts = self._parts(first, size)
        numbers = [int.from_bytes(part, self.order) for part in parts]
        if not size:
            return
        if all(_LETTERS.match(part) for part in parts):
            shown = ", ".join(_shown(part) for part in list(dict.fromkeys(parts))[:_SHOWN])
            yield from (f"      - id: {name}  # {shown}", "        type: str", f"        size: {size}")
            yield "        encoding: ASCII"
        elif size in (1, 2, 4) or (size == 8 and max(numbers) < 1 << 40):
            shown = ", ".join(dict.fromkeys(map(str, numbers[:_SHOWN])))
            yield from (f"      - id: {name}", f"        type: u{size}  # {shown}")
        elif size % 4 == 0:
            for offset in range(0, size, 4):
                yield from self._around(f"{name}_{offset}", first + offset, 4)
        else:
            yield from (f"      - id: {name}", f"        size: {size}  # {_shown(parts[0])}")

    def _fixed(self, size: int, count: int) -> Iterator[str]:
        note = f"{count:,} records of {size} bytes, to the end: bytes {size} apart are alike"
        self.guess.notes.append(note)
        yield from (
            f"  # {note}.",
            "  - id: records",
            "    type: record",
            "    repeat: eos",
            "types:",
            "  record:",
            "    seq:",
        )
        yield from ("      - id: data", f"        size: {size}")

    def _strings(self) -> list[str]:
        """Texts in the first sample, as comments: long ones, and those with a sign of where they end."""
        comments = []
        for match in _TEXT.finditer(self.data[:_SAMPLE]):
            text, position, how = match[0], match.start(), ""
            if self.data[match.end() : match.end() + 1] == b"\0":
                how = ", then a zero byte"
            for width, order in product((4, 2, 1), _ORDERS):
                if position >= width and int.from_bytes(self.data[position - width : position], order) in (
                    len(text),
                    len(text) + 1,
                ):
                    how = f", after its length in {width} byte{'s' * (width > 1)}"
                    break
            if len(text) >= _LONG_TEXT or how:
                comments.append(f"#   {position:>8}: {_shown(text[:60])}{how}")
            if len(comments) == _SHOWN:
                comments.append("#   ...")
                break
        return ["# Texts, by the byte at which they begin:", *comments] if comments else []


def _shown(data: bytes) -> str:
    """Bytes for a comment."""
    text = data.decode("latin-1")
    return f'"{text}"' if text.isascii() and text.isprintable() and text else data.hex(" ") or "nothing"


def _is_text(data: bytes) -> bool:
    """Whether bytes are text in UTF-8, without control characters."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return _CONTROL.search(data) is None


def _counts_bytes(data: bytes, position: int, width: int, order: Order) -> int | None:
    """How many bytes of the file a number leaves out that is its size, or the size of what follows it."""
    if position + width > len(data) or len(data) < 64:
        return None
    value = int.from_bytes(data[position : position + width], order)
    less = len(data) - value
    return less if less in (0, position, position + width) else None


def _small(data: bytes, order: Order) -> int:
    """How many aligned numbers are small in this byte order, and not in the other one."""
    count = 0
    other: Order = "big" if order == "little" else "little"
    for position in range(0, len(data) - 3, 4):
        part = data[position : position + 4]
        count += 0 < int.from_bytes(part, order) < 1 << 16 <= int.from_bytes(part, other)
    return count


def _checksum(data: bytes, chain: Chain, tag: int) -> tuple[str, Order]:
    """Of which bytes the last four of every element are the CRC-32, and its byte order; "" if of none."""
    spans = {"the element before it": 0, "the body": chain.head + tag, "what is after the length": chain.head}
    for name, first in spans.items():
        for order in _ORDERS:
            if all(
                zlib.crc32(data[start + first : end - 4]) == int.from_bytes(data[end - 4 : end], order)
                for start, end in pairwise(chain.places)
            ):
                return f"The CRC-32 of {name}, in every element of the sample", order
    return "", "big"


# -- lists ----------------------------------------------------------------------------------------


def _chain(samples: list[bytes]) -> Chain | None:
    """The list of elements with lengths for which there is most evidence, in all samples."""
    data = samples[0]
    size, chains, budget = len(data), list[Chain](), _MOST_STEPS
    for width, order in _LENGTHS:
        rare = [_rarity(sample, width, order) for sample in samples]
        for before, start in product(_BEFORE, range(min(_MOST_HEADER, size) + 1)):
            head = before + width
            first = int.from_bytes(data[start + before : start + head], order)
            if start + head > size or first > size:
                continue
            for more, align in product((-head, -width, *_MORE), (1, 2, 4)):
                if align > 1 and more > 0:
                    continue
                walks = []
                for sample in samples:
                    if budget <= 0:
                        break
                    places, ends = _walked(sample, start, before, width, order, more, align)
                    budget -= len(places)
                    if not ends:
                        break
                    walks.append(places)
                if len(walks) < len(samples):
                    continue
                bits = sum(map(partial(_evidence, before, width, align), samples, walks, rare))
                chain = Chain(start, before, width, order, more, align, tuple(walks[0]), 0.0)
                if more >= 4 and any(_checksum(data, chain, tag)[0] for tag in (0, 4)):
                    bits += 32.0 * chain.count
                if bits >= _LEAST_BITS + log2(size):
                    chains.append(replace(chain, bits=bits))
    most = max((chain.bits for chain in chains), default=0.0)
    near = [chain for chain in chains if chain.bits >= 0.7 * most]
    return min(
        near,
        key=lambda chain: (chain.start, chain.before % chain.width, chain.align, -chain.bits),
        default=None,
    )


def _walked(
    data: bytes, start: int, before: int, width: int, order: Order, more: int, align: int
) -> tuple[list[int], bool]:
    """Where elements begin and the last one ends, and whether that is the end of the data and they vary."""
    size, position, head, least = len(data), start, before + width, max(before + width, 1)
    places = [position]
    first = 0
    varies = False
    while position < size:
        stop = position + head + more + int.from_bytes(data[position + before : position + head], order)
        stop = -(-stop // align) * align if align > 1 else stop
        if position + head > size or stop > size or stop < position + least:
            return places, False
        first = first or stop - position
        varies = varies or stop - position != first
        position = stop
        places.append(position)
        if len(places) > (_MOST_ELEMENTS if varies else _ALIKE):
            return places, False
    return places, varies


def _rarity(data: bytes, width: int, order: Order) -> float:
    """Evidence in a number that could be a length, in bits: how seldom these data have one."""
    part = data[:_COUNTED]
    numbers = (
        int.from_bytes(part[position : position + width], order) for position in range(len(part) - width + 1)
    )
    count = sum(0 < number <= len(data) for number in numbers)
    return -log2(max(count, 1) / max(len(part), 2))


def _evidence(before: int, width: int, align: int, data: bytes, places: Sequence[int], rare: float) -> float:
    """The evidence in a walk that ends where the data do: its lengths, words before them, and the end."""
    heads = [data[start : start + before] for start in places[:-1]]
    words = before == 4 and all(map(_LETTERS.match, heads))
    # a length of 0 shows nothing: zeros are everywhere
    counted = sum(any(data[start + before : start + before + width]) for start in places[:-1])
    average = (places[-1] - places[0]) / len(heads)
    return counted * (rare + 6.0 * words) + log2(average) - log2(align)


def _records(data: bytes) -> int | None:
    """The size of records to the end that are alike: bytes so far apart are often the same, others not."""
    part = data[-_SAMPLE // 16 :]
    most = min(_MOST_RECORD, len(part) // _LEAST_RECORDS)
    if most < 4:
        return None
    alike = {step: _share(part, step) for step in range(2, most + 1)}
    usual = sorted(alike.values())[len(alike) // 2]
    best = max(alike.values())
    if best < usual + 0.25:
        return None
    record_size = next(step for step, share in alike.items() if share >= best - 0.05)
    # several records are more alike than one if a field of them repeats
    least = max(usual + 0.25, 0.75 * best)
    record_size = next(step for step, share in alike.items() if not record_size % step and share >= least)
    # what only repeats, as a tone does, has no column that is always the same
    columns = [
        part[offset - len(part) % record_size :: record_size]
        for offset in range(len(part) % record_size, len(part) % record_size + record_size)
    ]
    constant = sum(max(map(column.count, set(column))) >= 0.9 * len(column) for column in columns)
    return record_size if constant * 4 >= record_size else None


def _share(data: bytes, step: int) -> float:
    """How many of the bytes are the same as `step` before; runs of one byte show nothing."""
    moved = int.from_bytes(data[step:], "big") ^ int.from_bytes(data[:-step], "big")
    same = moved.to_bytes(len(data) - step, "big").count(0)
    return same / (len(data) - step)
