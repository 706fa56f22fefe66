"""Bytes that the classes of a streamed schema read, for the tests of their contract.

They are found by trying: a reader's error says what must stand where, and how many bytes it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from kodec.generator.contract import Sample, same
from kodec.generator.modules import Modules
from kodec.generator.schema.expression_types import Kinds
from kodec.generator.schema.model import Model, Param, Prim, Schema, Struct
from kodec.generator.targets.python.index import ModelIndex
from kodec.runtime.errors import EncodeError, FormatError
from kodec.runtime.streams import StreamNode

__all__ = ["SampleView", "StreamTests", "stream_tests"]

# numbers that are sizes and counts as often as not, in both byte orders; spaces and digits for texts
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
_OF_THE_ROOT = 3
_ARGUMENTS: dict[str, object] = {"integer": 2, "float": 1.0, "boolean": True, "text": "a", "bytes": b"a"}
_TAKEN = frozenset(["SAMPLES", "Sample", "check_sample", "check_sample_changed", "check_sample_cut"])
_MORE_TAKEN = frozenset(["check_without_values", "pytest", "KINDS", "sample", "kind"])


@dataclass(frozen=True, slots=True)
class SampleView:
    """A sample as it is printed: its class, and what differs from the defaults."""

    name: str
    kind: str
    size: int
    fill: str
    parts: str
    arguments: str
    written: str


@dataclass(slots=True)
class StreamTests:
    """A module of tests; `alias` is what it calls the module that it tests."""

    schema: Schema
    package: str
    module: str
    alias: str
    samples: list[SampleView] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)


def stream_tests(back: ModelIndex, kinds: Kinds, package: str) -> Iterator[StreamTests]:
    """The tests of each streamed schema for which there are samples, or classes without parameters."""
    schemas = [schema for schema in back.model.schemas if schema.streamed]
    if not schemas:
        return
    with Modules(back.model) as modules:
        for schema in schemas:
            path = schema.path.removesuffix(".ksy").replace("/", ".")
            inside, _, name = path.rpartition(".")
            alias = f"{name}_" if name in _TAKEN | _MORE_TAKEN else name
            view = StreamTests(schema, f"{package}.{inside}".rstrip("."), name, alias)
            for struct in schema.structs:
                if kinds.needs_others(struct):
                    continue
                title = back.classes[struct.name]
                if not struct.params:
                    view.kinds.append(f"{alias}.{title}")
                arguments = _arguments(kinds, struct)
                if arguments is None:
                    continue
                made = getattr(modules.of(schema), title)
                most = _OF_THE_ROOT if struct is schema.root else 1
                found = _Search(back.model, made, arguments).samples(most)
                view.samples += [_shown(struct, f"{alias}.{title}", *each) for each in enumerate(found)]
            if view.samples or view.kinds:
                yield view


def _arguments(kinds: Kinds, struct: Struct) -> tuple[object, ...] | None:
    """Something for each parameter; None where one is an object."""

    def one(param: Param) -> object:
        return None if param.array else _ARGUMENTS.get(kinds.of_param(param).name)

    found = tuple(one(param) for param in struct.params)
    return None if None in found else found


def _shown(struct: Struct, kind: str, number: int, sample: Sample) -> SampleView:
    parts = ", ".join(f"{at}: {part!r}" for at, part in sorted(sample.parts.items()))
    arguments = ", ".join(map(repr, sample.arguments))
    return SampleView(
        f"{struct.id} {number + 1}" if number else struct.id,
        kind,
        sample.size,
        repr(sample.fill),
        f"{{{parts}}}" if parts else "",
        f"({arguments},)" if arguments else "",
        sample.written,
    )


class _Search:
    """Looks for bytes that a class reads."""

    def __init__(self, model: Model, kind: type[StreamNode], arguments: tuple[object, ...]) -> None:
        self.kind = kind
        self.arguments = arguments
        self.numbers: dict[str, list[Prim]] = {}
        for schema in model.schemas:
            for struct in schema.structs:
                for spec in struct.fields:
                    if isinstance(spec.type, Prim) and not spec.type.floating:
                        self.numbers.setdefault(spec.id, []).append(spec.type)

    def samples(self, most: int) -> list[Sample]:
        found: list[Sample] = []
        seen: set[bytes] = set()
        for fill in _FILLS:
            for size in _SIZES:
                sample = self._led(Sample(self.kind, size, fill, {}, self.arguments))
                if sample is None or sample.data in seen:
                    continue
                seen.add(sample.data)
                found.append(replace(sample, written=_written(sample)))
                break
            if len(found) == most:
                break
        return found

    def _led(self, sample: Sample) -> Sample | None:
        """The sample with what its reader asks for; None where that cannot be found out."""
        for _ in range(_MOST_STEPS):
            try:
                sample.read(sample.data)
            except FormatError as error:
                better = self._better(sample, error)
                if better is None:
                    return self._beginning(sample)
                sample = better
            else:
                return self._shortest(sample)
        return None

    def _better(self, sample: Sample, error: FormatError) -> Sample | None:
        need, have = error.need, error.have
        if isinstance(need, bytes) and isinstance(have, bytes):
            return self._with(sample, error.at, need)
        if isinstance(need, int) and not isinstance(need, bool) and isinstance(have, int):
            if error.reason == "value not allowed":
                return self._with_number(sample, error, need, have)
            if have < need <= _MOST_BYTES:
                # a list to the end goes on for ever
                size = error.at + need
                return replace(sample, size=size) if sample.size < size <= _MOST_BYTES else None
        return None

    @staticmethod
    def _with(sample: Sample, at: int, part: bytes) -> Sample | None:
        if at < 0 or at + len(part) > sample.size or sample.data[at : at + len(part)] == part:
            return None
        return replace(sample, parts={**sample.parts, at: part})

    def _with_number(self, sample: Sample, error: FormatError, need: int, have: int) -> Sample | None:
        """The number that a rule asks for, where the field stands of which the error tells."""
        name = error.path.rpartition(".")[2].partition("[")[0]
        for prim in self.numbers.get(name, ()):
            for order in (
                ("little", "big") if prim.endian == "by" else ("little" if prim.endian == "le" else "big",)
            ):
                byte_order: Literal["little", "big"] = "little" if order == "little" else "big"
                for at in (error.at, error.at - prim.width):
                    stored = sample.data[max(at, 0) : at + prim.width]
                    if at >= 0 and int.from_bytes(stored, byte_order, signed=prim.signed) == have:
                        try:
                            part = need.to_bytes(prim.width, byte_order, signed=prim.signed)
                        except OverflowError:
                            continue
                        return self._with(sample, at, part)
        return None

    def _beginning(self, sample: Sample) -> Sample | None:
        """The longest beginning that can be read: a list to the end stops at an element."""
        for size in range(min(sample.size, max(_SIZES)) - 1, 0, -1):
            shorter = replace(sample, size=size)
            try:
                shorter.read(shorter.data)
            except FormatError:
                continue
            return shorter
        return None

    def _shortest(self, sample: Sample) -> Sample:
        """Without the bytes behind what is read, where nothing in it needs them."""
        value = sample.read(sample.data)
        shorter = replace(sample, size=max(1, value._stop))
        try:
            return (
                shorter if shorter.size < sample.size and same(value, shorter.read(shorter.data)) else sample
            )
        except FormatError:
            return sample


def _written(sample: Sample) -> Literal["bytes", "values", "error"]:
    try:
        made = sample.read(sample.data).to_bytes()
    except EncodeError:
        return "error"
    return "bytes" if made == sample.data else "values"
