"""The contract of every generated codec: checks that generated test modules call.

They need only the standard library, so they run wherever the generated modules do. Codecs of streamed
schemas are checked with samples: a repeated byte pattern, with the bytes that the schema requires.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Protocol

from kodec.runtime.errors import EncodeError, FormatError
from kodec.runtime.fields import ReadOptions
from kodec.runtime.messages import in_python
from kodec.runtime.streams import StreamNode

__all__ = [
    "Sample",
    "check_flips",
    "check_round_trip",
    "check_sample",
    "check_sample_changed",
    "check_sample_cut",
    "check_truncation",
    "check_without_values",
    "covered_by",
    "same",
    "touch",
]

# limits of a check of one sample: changed bytes may announce many objects
_OPTIONS = ReadOptions(elements=2000, decompressed_bytes=1 << 16)
_MOST_OBJECTS = 2000
_MOST_DEPTH = 12
_MOST_PLACES = 48


class GeneratedObject(Protocol):
    """A generated class."""

    def to_bytes(self) -> bytes: ...


def same(given: object, read: object) -> bool:
    """Whether `read` equals the written value: fields left to be derived (None) may have any value."""
    if dataclasses.is_dataclass(given) and type(given) is type(read):
        fields = [each for each in dataclasses.fields(given) if each.compare]
        return all(
            (getattr(given, f.name) is None and f.default is None)
            or same(getattr(given, f.name), getattr(read, f.name))
            for f in fields
        )
    if isinstance(given, list) and isinstance(read, list):
        return len(given) == len(read) and all(map(same, given, read))
    if isinstance(given, float) and isinstance(read, float):
        return given == read or (given != given and read != read)
    return given == read


def check_round_trip(value: GeneratedObject, canonical: bool = True) -> bytes:
    """Write, read, write again: the same value, and (uncompressed) the same bytes. Returns the bytes."""
    read: Callable[[bytes], GeneratedObject] = type(value).from_bytes  # type: ignore[attr-defined]  # see GeneratedObject
    data = value.to_bytes()
    again = read(data)
    assert same(value, again), f"wrote {value}, read {again}"
    twice = again.to_bytes()
    assert same(read(twice), again) or not canonical
    assert twice == data or not canonical
    native = type(value).to_bytes
    plain = in_python(native)
    if plain is not native:
        assert plain(value) == data, f"Python does not write {data!r}"
        _read(type(value), data)
    return data


def _read(kind: Any, data: bytes) -> Any:
    """The value of the bytes, and any error; where native code and Python both read them, the two agree."""
    native = kind.from_bytes
    plain = in_python(native)
    if plain is native:
        return native(data)
    try:
        wanted = plain(data)
    except FormatError as error:
        try:
            found = native(data)
        except FormatError as other:
            assert (type(other), str(other), vars(other)) == (type(error), str(error), vars(error))
            raise
        raise AssertionError(f"read {found}, and in Python: {error}") from error
    found = native(data)
    assert same(found, wanted), f"read {found}, and in Python {wanted}"
    return found


def check_truncation(kind: Any, data: bytes) -> None:
    """Each proper prefix raises our error, or is read as a value of exactly that prefix; no wrong value."""
    for size in range(len(data)):
        cut = data[:size]
        try:
            value = _read(kind, cut)
        except FormatError as error:
            assert 0 <= error.at <= size
            continue
        assert value.to_bytes() == cut


def check_flips(kind: Any, data: bytes, covered: range) -> None:
    """A changed byte raises our error or yields a value, no other exception; under a checksum, the error."""
    for at in range(len(data)):
        for mask in (0x01, 0x80, 0xFF):
            changed = bytearray(data)
            changed[at] ^= mask
            try:
                _read(kind, bytes(changed))
            except FormatError:
                continue
            assert at not in covered, f"byte {at} was changed without an error"


def covered_by(start: int, data: bytes) -> range:
    """The bytes from `start` to the end."""
    return range(start, len(data))


# -- streamed schemas -----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Sample:
    """Bytes that a class of a streamed schema reads.

    Attributes:
        kind: the class.
        size: how many bytes.
        fill: the bytes that are repeated up to this size.
        parts: bytes that replace these, by position.
        arguments: the parameters of the type.
        written: the result of writing the value: the same bytes, other bytes with the same values,
            or an error (as where a process cannot be undone).
    """

    kind: type[StreamNode]
    size: int
    fill: bytes
    parts: Mapping[int, bytes] = dataclasses.field(default_factory=dict)
    arguments: tuple[Any, ...] = ()
    written: Literal["bytes", "values", "error"] = "bytes"

    @property
    def data(self) -> bytes:
        found = bytearray((self.fill * self.size)[: self.size])
        for at, part in self.parts.items():
            found[at : at + len(part)] = part
        return bytes(found[: self.size])

    def read(self, data: bytes) -> StreamNode:
        """The value of the bytes, with its instances."""
        # bytes that nothing reads may follow what an instance reads
        value = self.kind.from_bytes(data, *self.arguments, opt=_OPTIONS, exact=False)
        touch(value)
        return value


def check_sample(sample: Sample) -> None:
    """The value is written as the sample states, and is read again."""
    value = sample.read(sample.data)
    if sample.written == "error":
        try:
            value.to_bytes()
        except EncodeError:
            return
        raise AssertionError("it was written")
    made = value.to_bytes()
    assert sample.written == "values" or made == sample.data
    assert same(value, sample.read(made))


def check_sample_cut(sample: Sample) -> None:
    """Each proper prefix raises our error, or is read as a value of exactly that prefix."""
    for size in _places(sample.size):
        _check_any(sample, sample.data[:size], whole=sample.written == "bytes")


def check_sample_changed(sample: Sample) -> None:
    """A changed byte raises our error, or yields a value that is written as it was read."""
    for at in _places(sample.size):
        for mask in (0x01, 0xFF):
            changed = bytearray(sample.data)
            changed[at] ^= mask
            # bits that nothing describes are written as zeros
            _check_any(sample, bytes(changed), whole=False)


def check_without_values(kind: type[StreamNode]) -> None:
    """Writing an object without values is refused, or its bytes are read as the same object."""
    value = kind()
    try:
        made = value.to_bytes()
    except EncodeError:
        return
    assert same(value, kind.from_bytes(made))


def touch(value: object) -> None:
    """Read every instance, up to a depth and a number: instances may nest without end."""
    todo: list[tuple[object, int]] = [(value, 0)]
    for _ in range(_MOST_OBJECTS):
        if not todo:
            return
        at, depth = todo.pop()
        if isinstance(at, list):
            todo += [(item, depth + 1) for item in at]
        elif isinstance(at, StreamNode) and depth < _MOST_DEPTH:
            todo += [(item, depth + 1) for item in _members(at)]


def _members(value: StreamNode) -> Iterator[object]:
    for name in (each.name for each in dataclasses.fields(value) if each.compare):
        yield getattr(value, name)
    for name, found in vars(type(value)).items():
        if isinstance(found, property):
            try:
                yield getattr(value, name)
            except FormatError:
                continue


def _check_any(sample: Sample, data: bytes, *, whole: bool) -> None:
    try:
        value = sample.read(data)
    except FormatError as error:
        assert error.at >= 0
        return
    try:
        made = value.to_bytes()
    except EncodeError:
        return
    assert made == data or not whole
    assert same(value, sample.read(made))


def _places(size: int) -> list[int]:
    """All of the first bytes, and some of the rest."""
    near = min(size, _MOST_PLACES)
    return [*range(near), *range(near, size, max(1, (size - near) // 8))]
