"""Makes vectors of samples: the bytes that the plan writes and reads, and those that it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kodec.generator.code.machine import Code, Machine
from kodec.generator.code.objects import Read
from kodec.generator.code.writer import Writer
from kodec.generator.json_values import lacking, to_json
from kodec.generator.plan.build import program_of
from kodec.generator.plan.steps import Unit
from kodec.generator.plan.values import Whole
from kodec.generator.schema.model import Model, Schema
from kodec.generator.targets.vectors.mutations import NO_TEXT, ORDER, Mutation, mutations
from kodec.generator.targets.vectors.samples import NAMES, NoSample, Samples, arguments_of
from kodec.runtime.errors import (
    CrcMismatch,
    EncodeError,
    FormatError,
    LimitExceeded,
    Malformed,
    Truncated,
    Unsupported,
)
from kodec.runtime.fields import ends_exactly

__all__ = ["CODES", "SchemaVectors", "Vector", "error_of", "vectors"]

_MOST_ARGUMENTS = 3

CODES: dict[type[Exception], str] = {
    Truncated: "truncated",
    Malformed: "malformed",
    CrcMismatch: "bad_checksum",
    Unsupported: "unsupported",
    LimitExceeded: "limit_exceeded",
    EncodeError: "not_encodable",
}
"""The neutral words for errors."""


@dataclass(frozen=True, slots=True)
class Vector:
    """The parts of a vector, as in docs/conformance.md; `kodec.conformance` reads them again."""

    id: str
    type: str
    version: int | None
    tests: str
    must: str
    why: str | None
    data: bytes | None
    exact: bool
    value: Any
    lacking: tuple[str, ...]
    encodes: str | None
    error: dict[str, Any] | None
    arguments: dict[str, Any] | None = None
    instances: dict[str, Any] | None = None
    parts: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"id": self.id, "type": self.type}
        if self.version is not None:
            found["version"] = self.version
        if self.arguments is not None:
            found["arguments"] = self.arguments
        found |= {"tests": self.tests, "origin": {"kind": "constructed"}, "must": self.must}
        if self.why is not None:
            found["why"] = self.why
        if self.data is not None:
            found["bytes"] = self.data.hex()
        if self.exact:
            found["exact"] = True
        if self.value is not None:
            found["value"] = self.value
        if self.instances is not None:
            found["instances"] = self.instances
        if self.parts:
            found["parts"] = [{"type": kind, "path": path} for kind, path in self.parts]
        if self.lacking:
            found["lacking"] = list(self.lacking)
        if self.encodes is not None:
            found["encodes"] = self.encodes
        if self.error is not None:
            found["error"] = self.error
        return found


@dataclass(frozen=True, slots=True)
class SchemaVectors:
    """The vectors of a schema, and the types without any, each with the reason."""

    schema: Schema
    vectors: tuple[Vector, ...]
    without: tuple[tuple[str, str], ...]


def vectors(model: Model) -> Iterator[SchemaVectors]:
    """The vectors of every record schema that defines types."""
    program = program_of(model)
    code, writer = Code(program), Writer(program)
    for schema in model.schemas:
        units = [program.units[each.name] for each in schema.structs if each.name in program.units]
        objects = [each for each in units if each.stands_for is None]
        if objects:
            yield _of_schema(model, code, writer, schema, objects)


def _of_schema(
    model: Model, code: Code, writer: Writer, schema: Schema, units: Iterable[Unit]
) -> SchemaVectors:
    found: list[Vector] = []
    without: list[tuple[str, str]] = []
    for unit in units:
        own = [each for each in unit.parameters if each.name != unit.version_name]
        missing = next((each.name for each in own if not any(arguments_of((each,)))), None)
        if missing is not None:
            without.append((unit.name, f"it is given `{missing}`, an object or a list, from outside"))
            continue
        valid, reason = 0, ""
        for given in arguments_of(own):
            of = _OfType(model, code, writer, unit, given)
            try:
                of.make()
            except FormatError as error:
                # other types, and other schemas, have theirs
                reason = reason or f"what is written of it is refused when it is read: {error}"
                continue
            found += of.found.values() if of.valid or not given else ()
            valid, reason = valid + bool(of.valid), reason or of.reason
            if valid == _MOST_ARGUMENTS:
                break
        if not valid:
            without.append((unit.name, reason or "no values were found that go together"))
    return SchemaVectors(schema, tuple(found), tuple(without))


class _OfType:
    """The vectors of one type, with the same arguments for its parameters other than the version."""

    def __init__(self, model: Model, code: Code, writer: Writer, unit: Unit, given: dict[str, Any]) -> None:
        self.code = code
        self.writer = writer
        self.unit = unit
        self.given = given
        self.samples = Samples(model, code.program)
        self.found: dict[str, Vector] = {}
        self.reason = ""
        self.valid = 0
        self._samples: list[tuple[int | None, Any]] = []
        self._seen: set[tuple[int | None, bytes, bool]] = set()

    def make(self) -> None:
        unit = self.unit
        versions: list[int | None] = [*unit.versions] if unit.versions else [None]
        for version in versions:
            base = b""
            for number, name in enumerate(NAMES):
                data = self._sample(version, number, name)
                base = max(base, data or b"", key=len)
            self._edges(version)
            self._choices(version)
            self._compressed(version)
            if version == versions[-1]:
                self._near(version, base)
        self._lost()
        self._stale()
        if unit.versions and self.valid:
            self._other_versions(unit.versions.first, unit.versions.last, base)

    # -- what is right ----------------------------------------------------------------------------

    def _sample(self, version: int | None, number: int, tests: str) -> bytes | None:
        try:
            value = self.samples.sample(self.unit, number, version, self._told(version))
            data = self._written(value, version)
        except NoSample as reason:
            self.reason = self.reason or str(reason)
            return None
        except EncodeError:
            return None  # values that do not go together
        self._accept(version, tests, data)
        self._samples.append((version, self._read(data, version, exact=False)[0]))
        return data

    def _edges(self, version: int | None) -> None:
        """Each field of the type at its edges, between values that are ordinary."""
        try:
            edges = list(self.samples.edges(self.unit, version, self._told(version)))
        except NoSample:
            return
        for name, what, edge in edges:
            tests = f"{name}: {what}"
            try:
                value = self.samples.sample(self.unit, 1, version, self._told(version), {name: edge})
            except NoSample:
                continue
            try:
                data = self._written(value, version)
            except EncodeError as error:
                self._refuse_value(version, tests, to_json(value), error)
                continue
            self._accept(version, tests, data)
            if what == "largest":
                self._too_large(version, name, value)

    def _choices(self, version: int | None) -> None:
        """Each value of a field that decides which others there are, with all that are there set."""
        for name, shown, value in self.samples.choices(self.unit, version, self._told(version)):
            try:
                data = self._written(value, version)
            except EncodeError:
                continue  # values that do not go together
            self._accept(version, f"{name}: {shown}, with all its fields set", data)

    def _too_large(self, version: int | None, name: str, value: dict[str, Any]) -> None:
        kind = self.unit.field(name).type
        if isinstance(kind, Whole) and name != self.unit.version_name:
            beyond = {**value, name: kind.high + 1}
            try:
                self._written(beyond, version)
            except EncodeError as error:
                self._refuse_value(version, f"{name}: larger than its type", to_json(beyond), error)

    def _lost(self) -> None:
        """Values of fields that a version lacks, as other versions have them."""
        for version, value in dict(self._samples).items():
            for name in (each for each in lacking(value) if each in value):
                held = [each[name] for _, each in self._samples if each[name] != value[name]]
                lost = {**value, name: held[0] if held else value[name]}
                try:
                    self._written(lost, version)
                except EncodeError as error:
                    self._refuse_value(version, f"{name}: not in this version", to_json(lost), error)

    def _stale(self) -> None:
        """Derived values that elements were added to: a reader refuses them, and so does a writer."""
        refused = set()
        for version, value in self._samples:
            for each in self.unit.derived:
                if each.kind not in ("last", "most") or (version, each.name) in refused:
                    continue
                stale = {**value, each.name: value[each.name] - 1}
                try:
                    self._written(stale, version)
                except EncodeError as error:
                    refused.add((version, each.name))
                    tests = f"{each.name}: less than its elements say"
                    self._refuse_value(version, tests, to_json(stale), error)

    def _compressed(self, version: int | None) -> None:
        """A value for each codec: its bytes depend on the codec's library, and are read back."""
        packed = self.unit.packed
        sizes = {each.name for each in self.unit.ranges}
        sizes |= {each.name for each in self.unit.derived if packed is not None and each.of == packed.name}
        for _, codec in packed.codecs if packed is not None else ():
            if codec == "none":
                continue
            try:
                value = self.samples.sample(self.unit, 2, version, self._told(version), codec=codec)
                data = self._written(value, version)
            except (NoSample, EncodeError):
                continue
            read = self._read(data, version, exact=False)[0]
            self._put(
                version,
                f"compressed by {codec}",
                must="accept",
                value={name: each for name, each in to_json(read).items() if name not in sizes},
                lacking=tuple(lacking(read)),
                encodes="reads_back",
            )

    # -- what is wrong, or may be -----------------------------------------------------------------

    def _near(self, version: int | None, data: bytes) -> None:
        if not data:
            return
        _, leaves = self._read(data, version, exact=False)
        for each in mutations(self.unit, data, leaves):
            self._judge(version, each)
        self._judge(version, Mutation("a byte more than the value", data + b"\x00"), exact=True)

    def _other_versions(self, first: int, last: int, data: bytes) -> None:
        """Versions that the type does not have, if they are passed."""
        if self.unit.version_is_passed:
            for version in (first - 1, last + 1):
                self._judge(version, Mutation(f"version {version}, which the type does not have", data))

    def _judge(self, version: int | None, found: Mutation, exact: bool = False) -> None:
        if (version, found.data, exact) in self._seen:
            return
        try:
            value, _ = self._read(found.data, version, exact)
        except FormatError as error:
            must = "refuse" if found.why is None else "may"
            self._put(version, found.what, must, found.why, found.data, exact=exact, error=error_of(error))
            return
        self._accept(version, found.what, found.data, value, found.why)

    def _accept(
        self, version: int | None, tests: str, data: bytes, value: Any = None, why: str | None = None
    ) -> None:
        if (version, data, False) in self._seen:
            return
        value = self._read(data, version, exact=False)[0] if value is None else value
        if why is None:
            why = NO_TEXT if _has_other_bytes(value) else ORDER if _has_other_order(value) else None
        try:
            # what is not a number has many forms, of which a vector has none
            same = self._written(value, version) == data and "nan" not in json.dumps(to_json(value))
        except EncodeError:
            same = False
        self._put(
            version,
            tests,
            "accept" if why is None else "may",
            why,
            data,
            value=to_json(value),
            lacking=tuple(lacking(value)),
            encodes="same" if same else None,
        )
        self.valid += 1

    def _refuse_value(self, version: int | None, tests: str, value: Any, error: EncodeError) -> None:
        self._put(version, tests, "refuse", value=value, error=error_of(error))

    # -- reading and writing ----------------------------------------------------------------------

    def _told(self, version: int | None) -> tuple[Any, ...]:
        return tuple(self.given.get(each.name, version) for each in self.unit.parameters)

    def _written(self, value: Any, version: int | None) -> bytes:
        return self.writer.write(self.unit.name, value, self._told(version))

    def _read(self, data: bytes, version: int | None, exact: bool) -> tuple[Any, list[Read]]:
        machine = Machine(self.code, data)
        value = machine.read(self.unit.name, self._told(version))
        if exact:
            ends_exactly("", machine.stream.at, len(data))
        return value, machine.reads

    def _put(
        self,
        version: int | None,
        tests: str,
        must: str,
        why: str | None = None,
        data: bytes | None = None,
        *,
        exact: bool = False,
        value: Any = None,
        lacking: tuple[str, ...] = (),
        encodes: str | None = None,
        error: dict[str, Any] | None = None,
    ) -> None:
        if data is not None:
            self._seen.add((version, data, exact))
        if self.given:
            tests += " (" + ", ".join(f"{name} = {to_json(each)}" for name, each in self.given.items()) + ")"
        name = self.unit.name if version is None else f"{self.unit.name}@{version}"
        key = f"{name}/{re.sub(r'[^a-z0-9_.]+', '-', tests.lower()).strip('-')}"
        while key in self.found:
            key += "-again"
        told = version if self.unit.version_is_passed else None
        given = {name: to_json(each) for name, each in self.given.items()} or None
        self.found[key] = Vector(
            key, self.unit.name, told, tests, must, why, data, exact, value, lacking, encodes, error, given
        )


def _has_other_bytes(value: Any) -> bool:
    """Whether some text in a value is not of its encoding."""
    if isinstance(value, (dict, list)):
        return any(map(_has_other_bytes, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and isinstance(to_json(value), dict)


def _has_other_order(value: Any) -> bool:
    """Whether some unknown tags in a value are not in ascending order."""
    if isinstance(value, dict):
        return any(map(_has_other_order, value.values()))
    if not isinstance(value, list):
        return False
    numbers = [each[0] for each in value if isinstance(each, tuple)]
    return numbers != sorted(set(numbers)) or any(map(_has_other_order, value))


def error_of(error: FormatError | EncodeError) -> dict[str, Any]:
    """An error in the words of vectors and testees."""
    found: dict[str, Any] = {"code": CODES[type(error)], "path": error.path}
    if isinstance(error, FormatError):
        found["at"] = error.at
    return found
