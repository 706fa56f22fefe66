"""Maps the bytes of a file to fields, by any schema, for people."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kodec.runtime.errors import FormatError, MissingDependency
from kodec.runtime.extras import install_command
from kodec.runtime.fields import ReadOptions

if TYPE_CHECKING:
    from kodec.generator.interpreter.reader import PlanReader
    from kodec.generator.interpreter.streams import StreamReader
    from kodec.generator.plan.steps import Unit

__all__ = ["Area", "Explainer", "Explanation", "Part"]


@dataclass(frozen=True, slots=True)
class Part:
    """Neighbouring bytes that are read together or belong to no field.

    Attributes:
        start, end: in the bytes of its area; the same of a field that takes none.
        fields: the path of each field and its value, as in `records[3].key`; several for bit fields that
            share bytes; none for bytes that belong to no field.
        note: a description of bytes without a field, or a remark on others; may be empty.
    """

    start: int
    end: int
    fields: tuple[tuple[str, Any], ...] = ()
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
    """

    path: str
    note: str
    data: bytes
    position: int = 0
    parts: list[Part] = field(default_factory=list)
    others: list[Part] = field(default_factory=list)


@dataclass(slots=True)
class Explanation:
    """An explanation of bytes: `areas` with the outermost first, and the error in them, or None."""

    areas: list[Area]
    error: FormatError | None = None


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
            from kodec.generator.plan.build import program_of
            from kodec.generator.plan.streams import streams_of
            from kodec.generator.schema.expression_types import Kinds
        except ImportError as error:
            raise MissingDependency(
                f"explaining needs `{error.name}`: {install_command('generator')}"
            ) from error
        if is_plan(Path(schema)):
            self._model, self._schema = model_of_plan(Path(schema), chosen=bool(import_path or overlays))
        else:
            self._model, self._schema = collected(Path(schema), import_path, overlays)
        model = self._model
        self._program = streams_of(model, Kinds(model)) if self._schema.streamed else program_of(model)
        self.id = self._schema.id

    @property
    def types(self) -> list[str]:
        """The types that can be explained: the schema's own type and those inside it."""
        return [name for name in self._program.units if name.split("::")[0] == self.id]

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
        unit = self._program.units.get(self.id if type is None else type)
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
        options: ReadOptions = ReadOptions(),
    ) -> Explanation:
        """Explain every byte of `data`, up to the wrong one, if there is one.

        Args:
            data: the bytes of one object, and perhaps more after it, which is marked.
            type: one of `types`; None: the schema's own.
            arguments: of the type's parameters, such as the version of a message.
            position: the number of bytes before `data` in its file.
            options: limits.

        Raises: ValueError for a type that is missing, or for other arguments than it has.
        """
        unit = self._named(type)
        name = unit.name
        if len(unit.parameters) != len(arguments):
            wanted = ", ".join(each.name for each in unit.parameters) or "none"
            raise ValueError(f"`{name}` takes {wanted}: {len(arguments)} given")
        outer = Area("", "", data, position)
        if self._schema.streamed:
            return self._streamed(name, outer, arguments, options)
        from kodec.generator.interpreter.reader import PlanReader

        reader = PlanReader(self._program, data, options)
        error: FormatError | None = None
        end = 0
        try:
            reader.read(name, len(data), arguments)
            end = reader.pos
        except FormatError as wrong:
            error = wrong
        areas = list(_areas(reader, outer, ()))
        _complete(outer, end, error)
        return Explanation(areas, error)

    def _streamed(
        self, name: str, outer: Area, arguments: tuple[Any, ...], options: ReadOptions
    ) -> Explanation:
        from kodec.generator.interpreter.streams import StreamReader

        reader = StreamReader(self._program, outer.data, options)
        error: FormatError | None = None
        end = 0
        try:
            root = reader.read(name, arguments)
            end = reader.stream.at
            _read_instances(reader, root)
        except FormatError as wrong:
            error = wrong
        areas = _areas_of_streams(reader, outer)
        _complete(outer, end, error)
        return Explanation(areas, error)


def _path(path: Iterable[str | int]) -> str:
    found = ""
    for each in path:
        if each != "":
            found += f"[{each}]" if isinstance(each, int) else f".{each}" if found else each
    return found


def _areas(reader: PlanReader, area: Area, prefix: tuple[str | int, ...], shift: int = 0) -> Iterator[Area]:
    """An area with its fields, and the areas decompressed from it."""
    from kodec.generator.plan.steps import Checksum, Tagged

    yield area
    inside = {(each.start, each.end): each for each in reader.contents}
    parts, tags = [], []
    for leaf in reader.leaves:
        if isinstance(leaf.what, Tagged):
            tags.append((leaf.start + shift, leaf.end + shift, _path((*prefix, *leaf.within, *leaf.path))))
        elif not isinstance(leaf.what, Checksum):
            name = _path((*prefix, *leaf.within, *leaf.path))
            parts.append(Part(leaf.start + shift, leaf.end + shift, ((name, leaf.value),)))
    for within, start, end in reader.stored:
        content = inside.get((start, end))
        if content is None or content.codec != "none":
            name, note = _path((*prefix, *within)), ""
            if content is not None:
                note = f"{content.codec} of {len(content.reader.buf)} bytes"
            data = area.data[start + shift : end + shift]
            parts.append(Part(start + shift, end + shift, ((name, data),), note))
    held = _Held(tags)
    below: list[Area] = []
    for content in reader.contents:
        path = (*prefix, *content.within)
        if content.codec == "none":
            nested = Area("", "", area.data)
            below += [*_areas(content.reader, nested, path, shift + content.start)][1:]
            parts += [each for each in nested.parts if each.fields or each.note]
        else:
            place = f"{content.codec}, {content.end - content.start} bytes at byte {content.start + shift}"
            inner = Area(_path(path), place, content.reader.buf)
            below += _areas(content.reader, inner, path)
            _complete(inner, content.reader.pos, None)
    area.parts = list(_in_order(parts, area.others, held))
    yield from below


class _Held:
    """The tagged sections that contain bytes without their own field."""

    def __init__(self, sections: list[tuple[int, int, str]]) -> None:
        self.sections = sorted(sections)
        self.starts = [each[0] for each in self.sections]

    def __call__(self, start: int, end: int) -> str:
        """A description of bytes without a field."""
        for first, last, path in reversed(self.sections[: bisect_right(self.starts, start)]):
            if start >= first and end <= last:
                return f"{path}: the count, numbers and sizes of tags, and unknown ones"
        return "no field"


def _in_order(parts: list[Part], others: list[Part], held: _Held) -> Iterator[Part]:
    """Parts by place, bit fields joined, gaps named; what overlaps others goes to `others`."""
    before: Part | None = None
    end = min((each.start for each in parts), default=0)
    for part in sorted(parts, key=lambda each: (each.start, each.end)):
        if before is not None and part.start < end:
            if (part.start, part.end) == (before.start, before.end):
                before = Part(part.start, part.end, before.fields + part.fields, before.note)
            else:
                others.append(part)
            continue
        if before is not None:
            yield before
        if part.start > end:
            yield Part(end, part.start, (), held(end, part.start))
        before, end = part, max(end, part.end)
    if before is not None:
        yield before
    tails = [each for each in held.sections if each[1] > end]
    if tails:
        last = max(each[1] for each in tails)
        yield Part(end, last, (), held(end, last))


def _complete(area: Area, end: int, error: FormatError | None) -> None:
    """Describe the bytes after the parts."""
    known = area.parts[-1].end if area.parts else 0
    if area.parts and area.parts[0].start:
        area.parts.insert(0, Part(0, area.parts[0].start, (), "no field"))
    if known < len(area.data):
        note = "behind the end" if error is None and known >= end else "not read" if error else "no field"
        area.parts.append(Part(known, len(area.data), (), note))


def _read_instances(reader: StreamReader, root: Any) -> None:
    """All instances that stand at a position or on another stream; others are not bytes."""
    seen: set[int] = set()
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo += node
            continue
        if not hasattr(node, "unit") or id(node) in seen:
            continue
        seen.add(id(node))
        for instance in node.unit.streamed.instances if node.unit.streamed else ():
            if instance.step is not None:
                todo.append(reader.member(node, instance.name))
        todo += node.values.values()


def _areas_of_streams(reader: StreamReader, outer: Area) -> list[Area]:
    areas = {id(outer.data): outer}
    bits: dict[int, list[tuple[int, int, str, Any]]] = {id(outer.data): []}
    for each in reader.reads:
        key, path = id(each.buf), _path(each.path)
        if key not in areas:
            areas[key] = Area(path, "decoded", each.buf)
            bits[key] = []
        bits[key].append((*each.bits, path, each.value))
    for key, area in areas.items():
        parts: list[Part] = []
        for first, last, path, value in sorted(bits[key], key=lambda each: each[:2]):
            start, end = first // 8, (last + 7) // 8
            before = parts[-1] if parts else None
            if before is not None and start < before.end and (first % 8 or (before.fields and last % 8)):
                parts[-1] = Part(before.start, max(end, before.end), (*before.fields, (path, value)))
            else:
                parts.append(Part(start, end, ((path, value),)))
        area.parts = list(_in_order(parts, area.others, _Held([])))
        if area is not outer:
            _complete(area, len(area.data), None)
    return list(areas.values())
