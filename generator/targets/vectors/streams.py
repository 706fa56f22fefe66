"""Vectors of streamed types: bytes that the machine takes, each of their beginnings, and changed bytes.

The value has the fields that are read in order. Instances, which are read on request, are beside it. A type
that is read only within another is a part of vectors of what holds it.
"""

from __future__ import annotations

import copy
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from kodec.generator.code.machine import Code, Machine
from kodec.generator.code.objects import Node, Read, Stream
from kodec.generator.code.stream_writer import StreamWriter
from kodec.generator.json_values import JsonValues, to_json
from kodec.generator.plan.steps import (
    Bounds,
    Choice,
    FixedNumber,
    InstancePlan,
    Many,
    Nested,
    One,
    Program,
    Slot,
    Unit,
    steps_in,
    values_of,
)
from kodec.generator.plan.streams import asks_stream, streams_of
from kodec.generator.plan.values import (
    Constant,
    FieldOf,
    MemberOf,
    Value,
    Whole,
    bare,
    values_in,
)
from kodec.generator.schema.expression_types import Kinds
from kodec.generator.schema.model import Model, Schema, Struct
from kodec.generator.search import Made, Spent, led, samples
from kodec.generator.targets.vectors.plan import SchemaVectors, Vector, error_of
from kodec.generator.targets.vectors.samples import arguments_of
from kodec.generator.wire import WIRE
from kodec.runtime.errors import EncodeError, FormatError, LimitExceeded
from kodec.runtime.fields import ReadOptions

__all__ = ["stream_vectors"]

_SAMPLES = 3
_MOST_BYTES = 16384
_NEAR = 48
_FAR = 8
_MOST_REFUSED = 8
# how deep instances of instances go, and how many there are in a vector
_DEEPEST, _MOST_INSTANCES = 4, 200
# of the search for bytes in which a type occurs
_MOST_SEARCHES, _LONG, _ROOM = 100, 512, 64
# of the search for all bytes of a schema; a type may take one of so many shares of what is left
MOST_STEPS, _SHARES = 12_000_000, 4
# less than what any reader allows: what is beyond has no vectors
_OPTIONS = ReadOptions(elements=1000, depth=40, decompressed_bytes=1 << 16)

Arguments = dict[str, Any]


def stream_vectors(model: Model) -> Iterator[SchemaVectors]:
    """The vectors of each streamed schema that defines types."""
    if not any(schema.streamed for schema in model.schemas):
        return
    kinds = Kinds(model)
    program = streams_of(model, kinds)
    code, writing = Code(program), _Writing(program)
    for schema in model.schemas:
        if schema.streamed and schema.structs:
            yield _OfSchema(model, kinds, code, schema, writing).vectors()


@dataclass(frozen=True, slots=True)
class _Sample:
    """Bytes of a type that its reader takes, with the arguments that it receives."""

    unit: Unit
    arguments: Arguments
    made: Made

    @property
    def data(self) -> bytes:
        return self.made.data


@dataclass(slots=True)
class _Budget:
    """How many steps a search for bytes may take: `left` in all, to `least` in the part that has begun.
    A part that took all of them `ended_early`.

    Steps are counted, and no time is taken: a schema has the same vectors on every machine.
    """

    left: int
    least: int = 0
    ended_early: bool = False

    def begin(self, shares: int) -> None:
        """Another part, which may take one of so many shares of what is left."""
        self.least = self.left - self.left // shares

    @property
    def is_spent(self) -> bool:
        return self.left <= self.least


class _OfSchema:
    """The vectors of one schema."""

    def __init__(self, model: Model, kinds: Kinds, code: Code, schema: Schema, writing: _Writing) -> None:
        self.model = model
        self.kinds = kinds
        self.code = code
        self.schema = schema
        self.writing = writing
        self.reasons: dict[str, str] = {}
        self.budget = _Budget(MOST_STEPS)

    def vectors(self) -> SchemaVectors:
        found: list[_Sample] = []
        for struct in self.schema.structs:
            found += self._samples(struct)
        parts = _Parts(self.model, self.code, set(self.reasons), self.budget)
        found += parts.search(found)
        numbers: dict[str, int] = {}
        made: list[Vector] = []
        for each in found:
            number = numbers[each.unit.name] = numbers.get(each.unit.name, 0) + 1
            made += _OfSample(self.code, each, number, parts.of(each), self.writing).vectors()
        without = ((name, why) for name, why in self.reasons.items() if name not in parts.found)
        order = {struct.name: index for index, struct in enumerate(self.schema.structs)}
        made.sort(key=lambda vector: order[vector.type])
        return SchemaVectors(self.schema, tuple(made), tuple(without))

    def _samples(self, struct: Struct) -> list[_Sample]:
        """Samples of a type that can be read alone; if there are none, `reasons` has why."""
        if self.kinds.needs_others(struct):
            self.reasons[struct.name] = "it is read as a part of what holds it"
            return []
        unit = self.code.program.units[struct.name]
        missing = next((each.name for each in unit.parameters if not any(arguments_of((each,)))), None)
        if missing is not None:
            self.reasons[struct.name] = f"it is given `{missing}`, an object or a list, from outside"
            return []
        found: list[_Sample] = []
        self.budget.begin(_SHARES)
        for given in arguments_of(unit.parameters):
            most = _SAMPLES if not given else 1
            read = _Reading(self.code, unit, given, self.budget)
            found += [_Sample(unit, given, each) for each in islice(samples(self.model, read), most)]
            if len(found) >= _SAMPLES:
                break
        if not found:
            self.reasons[struct.name] = (
                "the search for its bytes took too many steps"
                if self.budget.is_spent
                else "no bytes were found that it is read from"
            )
        return found


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads bytes as a search wants it: the value, and where it ends. Raises: FormatError; Spent."""

    code: Code
    unit: Unit
    arguments: Arguments
    budget: _Budget | None = None

    def __call__(self, data: bytes) -> tuple[Any, int]:
        if self.budget is not None and self.budget.is_spent:
            self.budget.ended_early = True
            raise Spent
        machine = self._machine(data)
        try:
            return _shown(self._read(machine)), machine.stream.at
        finally:
            if self.budget is not None:
                self.budget.left -= machine.steps

    def node(self, data: bytes) -> tuple[Machine, Node]:
        machine = self._machine(data)
        return machine, self._read(machine)

    def _machine(self, data: bytes) -> Machine:
        return Machine(self.code, data, _OPTIONS)

    def _read(self, machine: Machine) -> Node:
        node: Node = machine.read(self.unit.name, tuple(self.arguments.values()))
        return node


class _Writing:
    """Writes values of vectors by the plan: objects with nothing but their fields."""

    def __init__(self, program: Program) -> None:
        self._writer = StreamWriter(program)
        self._values = JsonValues(program, self._writer.new)

    def written(self, name: str, value: Any, arguments: Arguments) -> bytes:
        """The bytes of a value. Raises EncodeError."""
        return self._writer.written(self._values.of(name, value), tuple(arguments.values()))


class _OfSample:
    """The vectors near one sample."""

    def __init__(
        self,
        code: Code,
        sample: _Sample,
        number: int,
        parts: tuple[tuple[str, str], ...],
        writing: _Writing,
    ) -> None:
        self.sample = sample
        self.number = number
        self.parts = parts
        self.writing = writing
        self.reading = _Reading(code, sample.unit, sample.arguments)
        self.instances: dict[str, Any] | None = None

    def vectors(self) -> Iterator[Vector]:
        judged: set[bytes] = set()
        for what, data in _near(self.sample.data):
            if data in judged:
                continue
            judged.add(data)
            try:
                vector = self._accepted(what, data)
            except LimitExceeded:
                continue
            except FormatError as error:
                vector = self._vector(what, data, error=error_of(error))
            if len(repr(vector.value)) <= _MOST_BYTES:
                yield vector
                if not what:
                    yield from self._refused_values(vector)

    def _accepted(self, what: str, data: bytes) -> Vector:
        machine, node = self.reading.node(data)
        value = _shown(node)
        instances = _Instances(machine).of(node)
        if what:
            # those of the sample are not repeated
            instances = None if instances == self.instances else instances
        else:
            self.instances = instances
        vector = self._vector(what, data, value=value)
        parts = () if what else self.parts
        encodes = self._encodes(value, data)
        return replace(vector, instances=instances or None, parts=parts, encodes=encodes)

    def _encodes(self, value: Any, data: bytes) -> str | None:
        """Whether an object with these fields, and no more, is written as the bytes, or as others of that
        value; None if the plan refuses it, as where the place of an instance is missing.
        """
        name, arguments = self.sample.unit.name, self.sample.arguments
        if len(repr(value)) > _MOST_BYTES or "nan" in json.dumps(value):
            return None  # what is not a number has many forms, of which a vector has none
        try:
            written = self.writing.written(name, value, arguments)
            if written == data:
                return "same"
            again, end = self.reading(written)
        except (EncodeError, FormatError):
            return None
        return "reads_back" if again == value and end == len(written) else None

    def _refused_values(self, vector: Vector) -> Iterator[Vector]:
        """Values beyond the types of their numbers, those that a writer computes excepted."""
        if vector.encodes is None:
            return
        name, arguments = self.sample.unit.name, self.sample.arguments
        _, node = self.reading.node(self.sample.data)
        seen: set[tuple[str, str]] = set()
        for at, each in _nodes(node):
            for spec in each.unit.fields:
                kind = bare(spec.type)
                if not isinstance(kind, Whole) or spec.name in each.unit.follows:
                    continue
                if each.values.get(spec.name) is None:
                    continue
                if (each.unit.name, spec.name) in seen or len(seen) >= _MOST_REFUSED:
                    continue
                seen.add((each.unit.name, spec.name))
                path = f"{at}.{spec.name}".lstrip(".")
                value = _changed(vector.value, path, to_json(kind.high + 1))
                try:
                    self.writing.written(name, value, arguments)
                except EncodeError as error:
                    if error.path == path:
                        what = f", {path} is larger than its type"
                        found = self._vector(what, None, value=value, error=error_of(error))
                        yield replace(found, must="refuse")

    def _vector(
        self, what: str, data: bytes | None, *, value: Any = None, error: dict[str, Any] | None = None
    ) -> Vector:
        tests = f"values {self.number}{what}"
        name = self.sample.unit.name
        key = f"{name}/{tests.replace(',', '').replace(' ', '-')}"
        must = "accept" if error is None else "refuse"
        found = Vector(key, name, None, tests, must, None, data, False, value, (), None, error)
        given = {each: to_json(argument) for each, argument in self.sample.arguments.items()}
        return replace(found, arguments=given or None)


def _changed(value: Any, path: str, new: Any) -> Any:
    """A value with another one at a path."""
    found = copy.deepcopy(value)
    *before, last = re.findall(r"\w+", path)
    at = found
    for each in before:
        at = at[int(each) if isinstance(at, list) else each]
    at[last] = new
    return found


def _near(data: bytes) -> Iterator[tuple[str, bytes]]:
    """(changed part, bytes): all of the first positions, and some of the rest."""
    yield "", data
    near = min(len(data), _NEAR)
    places = [*range(near), *range(near, len(data), max(1, (len(data) - near) // _FAR))]
    for at in places:
        yield f", ends at byte {at}", data[:at]
    for at in places:
        for mask in (0x01, 0xFF):
            changed = bytes([data[at] ^ mask])
            yield f", byte {at} is {changed.hex()}", data[:at] + changed + data[at + 1 :]


def _shown(value: Any) -> Any:
    """What the machine read, for JSON: the fields of objects; null for a missing one."""
    if isinstance(value, Node):
        return {each.name: _shown(value.values.get(each.name)) for each in value.unit.fields}
    if isinstance(value, list):
        return [_shown(each) for each in value]
    return to_json(value)


# -- instances ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Instances:
    """The instances of an object and of all that it holds, by the path of each object."""

    machine: Machine
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    count: int = 0

    def of(self, node: Node) -> dict[str, Any] | None:
        """None: too much for a vector."""
        self._node(node, "", 0)
        fits = self.count <= _MOST_INSTANCES and len(repr(self.found)) <= _MOST_BYTES
        return self.found if fits else None

    def _node(self, node: Node, path: str, deep: int) -> None:
        for spec in node.unit.fields:
            self._inside(node.values.get(spec.name), f"{path}.{spec.name}".lstrip("."), deep)
        assert node.unit.streamed is not None
        for each in node.unit.streamed.instances:
            if self.count > _MOST_INSTANCES or deep >= _DEEPEST or not _is_shown(each):
                continue
            self.count += 1
            try:
                value = self.machine.member(node, each.name)
            except LimitExceeded:
                continue
            except FormatError as error:
                self.found.setdefault(path, {})[each.name] = {"error": error_of(error)}
                continue
            if each.step is None and _has_object(value):
                continue  # it is elsewhere in the value
            self.found.setdefault(path, {})[each.name] = {"value": _shown(value)}
            self._inside(value, f"{path}.{each.name}".lstrip("."), deep + 1)

    def _inside(self, value: Any, path: str, deep: int) -> None:
        if isinstance(value, Node):
            self._node(value, path, deep)
        elif isinstance(value, list):
            for index, each in enumerate(value):
                self._inside(each, f"{path}[{index}]", deep)


def _is_shown(instance: InstancePlan) -> bool:
    """Whether the value of an instance is the same whenever it is asked for."""
    values = [each for each in (instance.value, instance.test) if each is not None]
    return not any(map(asks_stream, values))


def _has_object(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_has_object, value))
    return isinstance(value, (Node, Stream))


# -- types that are read only within others -------------------------------------------------------------


class _Parts:
    """Samples in which types occur that cannot be read alone.

    Attributes:
        found: the types for which there is a sample.
    """

    def __init__(self, model: Model, code: Code, wanted: set[str], budget: _Budget) -> None:
        self.model = model
        self.code = code
        self.wanted = wanted
        self.budget = budget
        self.found: set[str] = set()
        self._of: dict[int, tuple[tuple[str, str], ...]] = {}
        self._inner = {name: _inner_of(unit) for name, unit in code.program.units.items()}

    def of(self, sample: _Sample) -> tuple[tuple[str, str], ...]:
        """(type, path) of the first object of each wanted type in a sample."""
        return self._of.get(id(sample.made), ())

    def search(self, given: list[_Sample]) -> list[_Sample]:
        """Further samples, so that more types occur: another case of a switch is chosen, one by one."""
        more: list[_Sample] = []
        todo: deque[_Sample] = deque(given)
        tried: set[tuple[str, Any, bool]] = set()
        searches = 0
        self.budget.begin(1)
        while todo:
            sample = todo.popleft()
            machine, node = _Reading(self.code, sample.unit, sample.arguments).node(sample.data)
            self._note(sample, node)
            for key, made in self._cases(sample, machine, node):
                if searches >= _MOST_SEARCHES or not self.wanted - self.found:
                    break
                if key in tried:
                    continue
                tried.add(key)
                searches += 1
                reading = _Reading(self.code, sample.unit, sample.arguments, self.budget)
                better = led(self.model, reading, made)
                if better is None:
                    continue
                _, other = reading.node(better.data)
                if self._seen(other) & (self._leading() - self._seen(node)):
                    new = replace(sample, made=better)
                    more.append(new)
                    todo.append(new)
        for each in more:
            _, node = _Reading(self.code, each.unit, each.arguments).node(each.data)
            self._note(each, node)
        return [each for each in more if self.of(each)]

    def _note(self, sample: _Sample, node: Node) -> None:
        own: dict[str, str] = {}
        for path, each in _nodes(node):
            if each.unit.name in self.wanted:
                own.setdefault(each.unit.name, path)
        self.found |= own.keys()
        self._of[id(sample.made)] = tuple(own.items())

    @staticmethod
    def _seen(node: Node) -> set[str]:
        return {each.unit.name for _, each in _nodes(node)}

    def _leading(self) -> set[str]:
        """The types that are missing, and all that lead to them."""
        found = self.wanted - self.found
        while more := {name for name, inner in self._inner.items() if inner & found} - found:
            found |= more
        return found

    def _cases(
        self, sample: _Sample, machine: Machine, node: Node
    ) -> Iterator[tuple[tuple[str, Any, bool], Made]]:
        """What chooses a case that leads to a missing type, and the bytes changed so: first as they are, then
        with more of them for what is read.
        """
        fill, data, leading = sample.made.fill, sample.data, self._leading()
        for _, each in _nodes(node):
            for step in steps_in(each.unit.steps):
                if not isinstance(step, (One, Many)) or not isinstance(step.element, Choice):
                    continue
                for case in step.element.cases:
                    if not isinstance(case.value, Constant) or not _inner_of(case) & leading:
                        continue
                    change = _stored(_read_of(machine, each, (step.element.on,)), case.value.value, each)
                    if change is None:
                        continue
                    key = f"{each.unit.name}.{step.name}", case.value.value
                    changed = _with(data, change)
                    yield (*key, False), Made(_LONG, (changed + fill * _LONG)[:_LONG])
                    more = self._wider(machine, each, step, changed, fill)
                    if more is not None:
                        yield (*key, True), Made(len(more), more)

    @staticmethod
    def _wider(machine: Machine, node: Node, step: One | Many, data: bytes, fill: bytes) -> bytes | None:
        """The bytes with more of them for a field, if a number states its size."""
        sizes = [each.size for each in values_of(step.element) if isinstance(each, Bounds) and each.size]
        read = _read_of(machine, node, sizes)
        inside = [
            each for each in machine.reads if each.path[: len(node.path) + 1] == (*node.path, step.name)
        ]
        if read is None or not isinstance(read.value, int):
            return None
        # without bytes nothing was read of it
        start = min((each.bits[0] for each in inside), default=8 * max(read.bits[1] // 8, 0)) // 8
        change = _stored(read, read.value + _ROOM, node)
        if change is None or any(each.buf is not read.buf for each in inside):
            return None
        data = _with(data, change)
        return data[:start] + (fill * _ROOM)[:_ROOM] + data[start:]


def _inner_of(part: object) -> set[str]:
    """The types of the objects that a unit or an element holds."""
    return {each.unit for each in values_of(part) if isinstance(each, Nested)}


def _nodes(value: Any, path: str = "") -> Iterator[tuple[str, Node]]:
    """The objects that fields hold, by path."""
    if isinstance(value, Node):
        yield path, value
        for spec in value.unit.fields:
            yield from _nodes(value.values.get(spec.name), f"{path}.{spec.name}".lstrip("."))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _nodes(each, f"{path}[{index}]")


def _read_of(machine: Machine, node: Node, values: Iterable[Value]) -> Read | None:
    """Where the field stands that values depend on: in the object, or the last one of that name before."""
    assert node.unit.streamed is not None
    inner = {each.name: each.value for each in node.unit.streamed.instances}
    todo, names = list(values), set[str]()
    for value in todo:
        for each in values_in(value):
            if isinstance(each, (FieldOf, MemberOf)) and each.name not in names:
                names.add(each.name)
                more = inner.get(each.name)
                todo += [] if more is None else [more]
    own = [each for each in machine.reads if each.path[:-1] == node.path and each.path[-1] in names]
    others = [each for each in machine.reads if each.path[-1] in names]
    return next(iter(own[-1:] or others[-1:]), None)


def _stored(read: Read | None, value: Any, node: Node) -> tuple[int, bytes] | None:
    """The position of a read, and a value as its bytes; None if it has another form."""
    if read is None:
        return None
    size, left = divmod(read.bits[1] - read.bits[0], 8)
    if left or read.bits[0] % 8 or read.buf is not node.stream.buf:
        return None
    data: bytes | None = None
    if isinstance(value, str):
        value = value.encode("ascii", "replace")
    if isinstance(value, bytes):
        data = value.ljust(size, b"\0")
    elif isinstance(read.what, (Slot, FixedNumber)) and isinstance(value, int):
        little = node.little if read.what.order == "by" else read.what.order == "le"
        bits = 8 * size - (value < 0)
        if read.what.wire and WIRE[read.what.wire].least == size and -(1 << bits) <= value < 1 << bits:
            data = value.to_bytes(size, "little" if little else "big", signed=value < 0)
    return None if data is None or len(data) != size else (read.bits[0] // 8, data)


def _with(data: bytes, change: tuple[int, bytes]) -> bytes:
    at, part = change
    return data[:at] + part + data[at + len(part) :]
