"""Bytes that the classes of a streamed schema read, for the tests of their contract."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal

from kodec.generator.contract import Sample
from kodec.generator.modules import Modules
from kodec.generator.schema.expression_types import Kinds
from kodec.generator.schema.model import Model, Param, Schema, Struct
from kodec.generator.search import samples
from kodec.generator.targets.python.index import ModelIndex
from kodec.runtime.errors import EncodeError
from kodec.runtime.streams import StreamNode

__all__ = ["SampleView", "StreamTests", "stream_tests"]

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
    """A module of tests; `alias` is its name for the tested module."""

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
            path = schema.module.replace("/", ".")
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
                found = islice(_samples(back.model, made, arguments), most)
                view.samples += [_shown(struct, f"{alias}.{title}", *each) for each in enumerate(found)]
            if view.samples or view.kinds:
                yield view


def _arguments(kinds: Kinds, struct: Struct) -> tuple[object, ...] | None:
    """Something for each parameter; None if one is an object."""

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


def _samples(model: Model, kind: type[StreamNode], arguments: tuple[object, ...]) -> Iterator[Sample]:
    probe = Sample(kind, 0, b"", {}, arguments)

    def read(data: bytes) -> tuple[Any, int]:
        value = probe.read(data)
        return value, value._stop

    for each in samples(model, read):
        sample = replace(probe, size=each.size, fill=each.fill, parts=each.parts)
        yield replace(sample, written=_written(sample))


def _written(sample: Sample) -> Literal["bytes", "values", "error"]:
    try:
        made = sample.read(sample.data).to_bytes()
    except EncodeError:
        return "error"
    return "bytes" if made == sample.data else "values"
