"""Maps the bytes of a file to fields, by any schema, for people."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kodec.runtime.errors import FormatError, MissingDependency
from kodec.runtime.extras import install_command
from kodec.runtime.fields import ReadOptions

if TYPE_CHECKING:
    from kodec.generator.code.machine import Machine
    from kodec.generator.plan.steps import Unit
    from kodec.generator.schema.model import Model

__all__ = ["Area", "Explainer", "Explanation", "Field", "Part"]

# Units that a field's documentation states, as in "Largest timestamp, in milliseconds since 1970-01-01".
_TIME = re.compile(r"\b(nano|micro|milli|)seconds since (?:the )?(?:1970|unix epoch|epoch)", re.IGNORECASE)
_UNIT = re.compile(r"\bin (bytes|bits|(?:nano|micro|milli)?seconds|minutes|hours|days)\b")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PER_SECOND = {"": 1, "milli": 1000, "micro": 10**6, "nano": 10**9}


class Field(NamedTuple):
    """A field's value, and what its schema knows about it.

    Attributes:
        path: as in `records[3].key`.
        meaning: the name of an enum's value, or a time in UTC; may be empty.
        unit: as in "bytes"; may be empty. Units and times are those that `doc` states.
        doc: the first sentence of its documentation; may be empty.
    """

    path: str
    value: Any
    meaning: str = ""
    unit: str = ""
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Neighbouring bytes that are read together or belong to no field.

    Attributes:
        start, end: in the bytes of its area; the same of a field that takes none.
        fields: several for bit fields that share bytes; none for bytes that belong to no field.
        note: a description of bytes without a field, or a remark on others; may be empty.
    """

    start: int
    end: int
    fields: tuple[Field, ...] = ()
    note: str = ""


@dataclass(slots=True)
class Area:
    """Bytes with their parts: those of the file (`path` is empty), or a field's decompressed content.

    Attributes:
        path: the field whose content it is.
        note: where the content comes from, as in "gzip, 120 bytes at byte 61".
        data: the bytes.
        position: the number of bytes before them in the file.
        parts: in order, without a gap and without an overlap.
        others: fields that share bytes with others: instances of Kaitai's at a position.
        source: the byte of the outermost area that it was read from.
    """

    path: str
    note: str
    data: bytes
    position: int = 0
    parts: list[Part] = field(default_factory=list)
    others: list[Part] = field(default_factory=list)
    source: int = 0


@dataclass(slots=True)
class Explanation:
    """An explanation of bytes.

    Attributes:
        areas: the outermost first.
        error: what is wrong in the bytes, or None.
        rest: None if every field is there; else, as `most` fields are, the position in the file from which
            fields are missing.
    """

    areas: list[Area]
    error: FormatError | None = None
    rest: int | None = None


class Explainer:
    """Reads by a schema's plan itself, which is slow and records the place of everything.

    Args:
        schema: the path of a .ksy file; its imports are searched for around it. Or of a plan.
        import_path: further folders in which imports are searched for.
        overlays: as for `kodec.formats.load_schema`.

    Raises: SchemaError with all problems of the schema; ValueError for overlays; MissingDependency; OSError.
    """

    def __init__(
        self,
        schema: str | os.PathLike[str],
        import_path: Sequence[Path] = (),
        overlays: Sequence[str] = (),
    ) -> None:
        try:
            from kodec.formats.collect import collected
            from kodec.formats.plans import is_plan, model_of_plan
            from kodec.generator.code.machine import Code
            from kodec.generator.plan.build import program_of
            from kodec.generator.plan.streams import streams_of
            from kodec.generator.schema.expression_types import Kinds
        except ImportError as error:
            raise MissingDependency(
                f"explaining needs `{error.name}`: {install_command('generator')}"
            ) from error
        folders = [import_path] if isinstance(import_path, (str, os.PathLike)) else import_path
        if is_plan(Path(schema)):
            self._model, self._schema = model_of_plan(Path(schema), customized=bool(import_path or overlays))
        else:
            self._model, self._schema = collected(
                Path(schema), [Path(folder) for folder in folders], overlays
            )
        model = self._model
        program = streams_of(model, Kinds(model)) if self._schema.streamed else program_of(model)
        self._code = Code(program)
        self.id = self._schema.id

    @property
    def types(self) -> list[str]:
        """The types that can be explained: the schema's own type and those inside it."""
        return [name for name in self._code.program.units if name.split("::")[0] == self.id]

    @property
    def fallbacks(self) -> Mapping[str, str]:
        """As `kodec.formats.Format.fallbacks`."""
        from kodec.formats.fallbacks import fallbacks

        return fallbacks(self._model)

    def arguments_of(self, texts: Iterable[str], type: str | None = None) -> tuple[Any, ...]:
        """The arguments of a type that are written as NAME=VALUE. Raises: ValueError."""
        from kodec.formats.parameters import from_text, values_of

        name = self._named(type).name
        struct = self._model.struct(name)
        return values_of(self._model, struct, from_text(self._model, struct, texts))

    def _named(self, type: str | None) -> Unit:
        unit = self._code.program.units.get(self.id if type is None else type)
        if unit is None:
            raise ValueError(f"no type {type!r}; types: {', '.join(self.types)}")
        return unit

    def explain(
        self,
        data: bytes,
        type: str | None = None,
        *,
        arguments: tuple[Any, ...] = (),
        position: int = 0,
        start: int = 0,
        most: int | None = None,
        options: ReadOptions = ReadOptions(),
    ) -> Explanation:
        """Explain every byte of `data`, up to the wrong one, if there is one.

        Args:
            data: the bytes of one object, and perhaps more after it, which is marked.
            type: one of `types`; None: the schema's own.
            arguments: of the type's parameters, such as the version of a message.
            position: the number of bytes before `data` in its file.
            start: the byte of `data` whose field is the first to return; those before it are only read.
            most: the number of fields after which it stops; None: no limit.
            options: limits.

        Raises: ValueError for a type that is missing, or for other arguments than it has.
        """
        from kodec.generator.code.machine import Machine
        from kodec.generator.code.objects import Enough

        unit = self._named(type)
        name = unit.name
        if len(unit.parameters) != len(arguments):
            expected = ", ".join(parameter.name for parameter in unit.parameters) or "none"
            raise ValueError(f"`{name}` takes {expected}: {len(arguments)} given")
        outer = Area("", "", data, position)
        machine = Machine(self._code, data, options, start=start, room=most)
        error: FormatError | None = None
        end, stopped = 0, False
        try:
            root = machine.read(name, arguments)
            end = machine.stream.at
            if self._schema.streamed:
                _read_instances(machine, root)
        except FormatError as wrong:
            error = wrong
        except Enough:
            stopped = True
        facts = _Facts(self._model)
        if self._schema.streamed:
            areas = _areas_of_streams(machine, outer, facts)
        else:
            areas = list(_areas(machine, outer, (), facts, stopped=stopped))
        return _within(Explanation(areas, error), start, end, stopped)


class _Facts:
    """What a model knows about fields."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._of = cache(self._documented)

    def field(self, path: str, value: Any, unit: str, name: str) -> Field:
        """The field `name` of a unit with its meaning."""
        doc, names = self._of(unit, name)
        if type(value) is not int:
            return Field(path, value, doc=doc)
        if names:
            return Field(path, value, names.get(value, ""), doc=doc)
        if (time := _TIME.search(doc)) is not None:
            return Field(path, value, _time(value, _PER_SECOND[time[1].lower()]), doc=doc)
        measure = _UNIT.search(doc)
        return Field(path, value, unit=measure[1] if measure is not None else "", doc=doc)

    def _documented(self, unit: str, name: str) -> tuple[str, Mapping[int, str]]:
        """The first sentence about a field, and the names of its values."""
        try:
            struct = self._model.struct(unit)
        except KeyError:
            return "", {}
        instance = struct.instance(name)
        field = struct.field(name) or (None if instance is None else instance.parsed)
        docs = [" ".join(spec.doc.raw.split()) for spec in (field, instance) if spec is not None]
        enums = [spec.enum for spec in (field, instance) if spec is not None and spec.enum is not None]
        items = self._model.enum(enums[0]).items if enums else ()
        return next(filter(None, docs), "").partition(". ")[0].rstrip("."), {
            item.value: item.id for item in items
        }


def _time(value: int, per_second: int) -> str:
    """A number since 1970 as a time; empty if it is negative, which formats use for none, or too large."""
    try:
        time = _EPOCH + timedelta(microseconds=value * 10**6 // per_second)
    except OverflowError:
        return ""
    return f"{time:%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC" if value >= 0 else ""


def _within(explanation: Explanation, start: int, end: int, stopped: bool) -> Explanation:
    """The outer area completed, and cut to what was asked for."""
    outer = explanation.areas[0]
    first = min(start, outer.parts[0].start) if outer.parts else start
    if stopped:
        last = outer.parts[-1].start if outer.parts else first
        if last > max(start, first) and all(area.source < last for area in explanation.areas[1:]):
            # other fields of the bytes of the last part may be missing
            outer.parts = [part for part in outer.parts if part.start < last]
        known = max((part.end for part in outer.parts), default=first)
        outer.data, explanation.rest = outer.data[:known], outer.position + max(start, min(last, known))
    _complete(outer, first, end, "not read" if explanation.error is not None else "")
    if first:
        outer.data, outer.position = outer.data[first:], outer.position + first
        for parts in (outer.parts, outer.others):
            parts[:] = [replace(part, start=part.start - first, end=part.end - first) for part in parts]
    return explanation


def _path(path: Iterable[str | int]) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _areas(
    machine: Machine,
    area: Area,
    prefix: tuple[str | int, ...],
    facts: _Facts,
    *,
    stopped: bool,
    shift: int = 0,
) -> Iterator[Area]:
    """An area with its fields, and the areas decompressed from it."""
    from kodec.generator.plan.steps import Checksum, Stored, Tagged

    yield area
    inside = {(content.start, content.end): content for content in machine.contents}
    parts, tags = [], []
    for read in machine.reads:
        path, start, end = (*prefix, *read.path), read.start + shift, read.end + shift
        if isinstance(read.what, Tagged):
            tags.append((start, end, _path(path)))
        elif isinstance(read.what, Stored):
            content = inside.get((read.start, read.end))
            if content is None or content.codec != "none":
                note = f"{content.codec} of {len(content.machine.stream.buf)} bytes" if content else ""
                parts.append(Part(start, end, (Field(_path(path), area.data[start:end]),), note))
        elif not isinstance(read.what, Checksum):
            name = next((step for step in reversed(path) if isinstance(step, str)), "")
            known = facts.field(_path(path), read.value, read.unit, name)
            parts.append(Part(start, end, (known,)))
    held = _Held(tags)
    below: list[Area] = []
    for content in machine.contents:
        path = (*prefix, *content.path)
        if content.codec == "none":
            nested = Area(area.path, "", area.data, source=area.source)
            position = shift + content.start
            below += [*_areas(content.machine, nested, path, facts, stopped=stopped, shift=position)][1:]
            parts += [part for part in nested.parts if part.fields or part.note]
        else:
            note = f"{content.codec}, {content.end - content.start} bytes at byte {content.start + shift}"
            source = area.source if area.path else content.start + shift
            inner = Area(_path(path), note, content.machine.stream.buf, source=source)
            below += _areas(content.machine, inner, path, facts, stopped=stopped)
            _complete(inner, 0, content.machine.stream.at, "not read" if stopped else "")
    area.parts = list(_in_order(parts, area.others, held))
    yield from below


class _Held:
    """The tagged sections that contain bytes without their own field."""

    def __init__(self, sections: list[tuple[int, int, str]]) -> None:
        self.sections = sorted(sections)
        self.starts = [section[0] for section in self.sections]

    def __call__(self, start: int, end: int) -> str:
        """A description of bytes without a field."""
        for first, last, path in reversed(self.sections[: bisect_right(self.starts, start)]):
            if start >= first and end <= last:
                return f"{path}: the count, numbers and sizes of tags, and unknown ones"
        return "no field"


def _in_order(parts: list[Part], others: list[Part], held: _Held) -> Iterator[Part]:
    """Parts by place, bit fields joined, gaps named; what overlaps others goes to `others`."""
    before: Part | None = None
    end = min((part.start for part in parts), default=0)
    alike = groupby(
        sorted(parts, key=lambda part: (part.start, part.end)), lambda part: (part.start, part.end)
    )
    for _, (first, *same) in alike:
        fields = tuple(known for part in (first, *same) for known in part.fields) if same else first.fields
        part = Part(first.start, first.end, fields, first.note) if same else first
        if before is not None and part.start < end:
            others.append(part)
            continue
        if before is not None:
            yield before
        if part.start > end:
            yield Part(end, part.start, (), held(end, part.start))
        before, end = part, max(end, part.end)
    if before is not None:
        yield before
    tails = [section for section in held.sections if section[1] > end]
    if tails:
        last = max(tail[1] for tail in tails)
        yield Part(end, last, (), held(end, last))


def _complete(area: Area, first: int, end: int, note: str = "") -> None:
    """Describe the bytes before the parts, from the first one, and after them: by `note`, if it is given."""
    known = area.parts[-1].end if area.parts else first
    if area.parts and area.parts[0].start > first:
        area.parts.insert(0, Part(first, area.parts[0].start, (), "no field"))
    if known < len(area.data):
        note = note or ("behind the end" if known >= end else "no field")
        area.parts.append(Part(known, len(area.data), (), note))


def _read_instances(machine: Machine, root: Any) -> None:
    """All instances that stand at a position or on another stream; others are not bytes."""
    visited: set[int] = set()
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo += node
            continue
        if not hasattr(node, "unit") or id(node) in visited:
            continue
        visited.add(id(node))
        for instance in node.unit.streamed.instances if node.unit.streamed else ():
            if instance.step is not None:
                todo.append(machine.member(node, instance.name))
        todo += node.values.values()


def _areas_of_streams(machine: Machine, outer: Area, facts: _Facts) -> list[Area]:
    areas = {id(outer.data): outer}
    bits: dict[int, list[tuple[int, int, Field]]] = {id(outer.data): []}
    for read in machine.reads:
        key, path = id(read.buf), _path(read.path)
        if key not in areas:
            areas[key] = Area(path, "decoded", read.buf)
            bits[key] = []
        name = next((part for part in reversed(read.path) if isinstance(part, str)), "")
        bits[key].append((*read.bits, facts.field(path, read.value, read.unit, name)))
    for key, area in areas.items():
        parts: list[Part] = []
        for first, last, known in sorted(bits[key], key=lambda entry: entry[:2]):
            start, end = first // 8, (last + 7) // 8
            before = parts[-1] if parts else None
            if before is not None and start < before.end and (first % 8 or (before.fields and last % 8)):
                parts[-1] = Part(before.start, max(end, before.end), (*before.fields, known))
            else:
                parts.append(Part(start, end, (known,)))
        area.parts = list(_in_order(parts, area.others, _Held([])))
        if area is not outer:
            _complete(area, 0, len(area.data))
    return list(areas.values())
