"""Objects of streamed types that are written: what the plan's writer makes of them, and languages have to."""

from __future__ import annotations

import json
import math
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kodec.generator.code.machine import Machine
from kodec.generator.code.printing import StreamPackage
from kodec.generator.code.stream_writer import PlanNode, StreamWriter
from kodec.generator.driver import load
from kodec.generator.json_values import to_json
from kodec.generator.plan.steps import Bounds, Program, Unit, values_of
from kodec.generator.plan.values import ListOf, ObjectOf, Type, bare
from kodec.runtime.errors import EncodeError, FormatError

from .stream_cases import OPTIONS

Path_ = list[str | int]


@dataclass(frozen=True)
class Writing:
    """What a testee is asked, and the bytes, or None where that is refused.

    Attributes:
        packed: whether libraries compress them differently.
        bare: of an object in which nothing is set: refused or written, as its zeros are in the language.
    """

    request: dict[str, Any]
    data: bytes | None
    packed: bool = False
    bare: bool = False


def writings(
    folder: Path, inputs: dict[str, list[bytes]], edits: int = 4, seed: int = 5
) -> Iterator[Writing]:
    """Each object that bytes are, as it was read, with a field changed, and a new one with its fields."""
    package = StreamPackage.of(load(folder))
    program = package.program
    drawn = random.Random(seed)
    packing = {name.partition("::")[0] for name, unit in program.units.items() if _packs(unit)}
    for name, several in inputs.items():
        yield Writing({"do": "encode", "type": name, "value": {}}, None, bare=True)
        for data in several if package.seeks(name) else _whole(program, name, several):
            for number in range(edits + 2):
                writer = StreamWriter(program)
                reader = Machine(writer.code, data, OPTIONS)
                try:
                    found = writer.object_of(reader.read(name), reader)
                except FormatError:
                    break
                base = {"type": name, "bytes": data.hex()}
                if number == edits + 1:
                    request = {"do": "encode", "type": name, "value": _json(found)}
                    if '"nan"' in json.dumps(request):
                        # it has more bits than JSON says
                        continue
                    new, given = (_written(_again(writer, found, blank)) for blank in (True, False))
                    # other languages cannot tell a zero from a number that was not given
                    yield Writing(request, given if new is None else new, name in packing)
                    continue
                asked: list[Any] = []
                if number:
                    edit = _edit(found, drawn)
                    if edit is None:
                        continue
                    asked.append(edit)
                request = {"do": "rewrite", "edits": asked, **base}
                yield Writing(request, _written(found), name in packing and bool(asked))


def _written(value: Any) -> bytes | None:
    try:
        data: bytes = value.to_bytes()
        return data
    except (EncodeError, FormatError, RecursionError):
        return None


def _fields(node: PlanNode) -> Iterator[tuple[str, str, Type]]:
    """(name, attribute, type) of each field."""
    for spec, own in zip(node._unit.fields, node._kodec_fields, strict=False):  # type: ignore[attr-defined]
        yield spec.name, own.name, spec.type


def _placed(node: PlanNode) -> Iterator[str]:
    assert node._unit.streamed is not None
    for each in node._unit.streamed.instances:
        if each.position is not None and not each.name.endswith("_"):
            yield each.name


def _json(value: Any) -> Any:
    """An object with its instances at positions."""
    if isinstance(value, PlanNode):
        found = {name: _json(getattr(value, own)) for name, own, _ in _fields(value)}
        for name in _placed(value):
            try:
                inner = getattr(value, name)
            except FormatError:
                continue
            if inner is not None:
                found[name] = _json(inner)
        return found
    return [_json(each) for each in value] if isinstance(value, list) else to_json(value)


def _packs(unit: Unit) -> bool:
    bounds = (each for each in values_of((unit.steps, unit.streamed)) if isinstance(each, Bounds))
    return any(each.process is not None and each.process.name == "zlib" for each in bounds)


def _whole(program: Program, name: str, several: list[bytes]) -> Iterator[bytes]:
    """Inputs without bytes after the object."""
    for data in several:
        writer = StreamWriter(program)
        reader = Machine(writer.code, data, OPTIONS)
        try:
            yield data[: reader.read(name).stop]
        except FormatError:
            continue


def _again(writer: StreamWriter, value: Any, blank: bool) -> Any:
    """A new object of the same fields; `blank`: a computed one that is zero or empty was not given."""
    if isinstance(value, list):
        return [_again(writer, each, blank) for each in value]
    if not isinstance(value, PlanNode):
        return value
    new = writer.class_of(value._unit.name)()
    for _, own, _ in _fields(value):
        inner = _again(writer, getattr(value, own), blank)
        follows = blank and own in new._follows and inner in (0, "")
        setattr(new, own, None if follows else inner)
    for name in _placed(value):
        try:
            inner = getattr(value, name)
        except FormatError:
            continue
        if inner is not None:
            setattr(new, name, _again(writer, inner, blank))
    return new


def _places(value: Any, path: Path_, kind: Type) -> Iterator[tuple[Any, str, Path_, Any, Type]]:
    if isinstance(value, PlanNode):
        for name, own, inner in _fields(value):
            held = getattr(value, own)
            if held is not None:
                yield value, own, [*path, name], held, bare(inner)
                yield from _places(held, [*path, name], bare(inner))
    elif isinstance(value, list) and isinstance(kind, ListOf):
        for index, each in enumerate(value):
            yield from _places(each, [*path, index], bare(kind.item))


def _edit(value: Any, drawn: random.Random) -> dict[str, Any] | None:
    """Change a field, and say how."""
    found = list(_places(value, [], ObjectOf(value._unit.name)))
    if not found:
        return None
    node, own, path, held, _ = drawn.choice(found)
    choice = drawn.randrange(4)
    if isinstance(held, list):
        how = ("pop", "double", "clear", "reverse")[choice]
        items = list(held)
        if how == "pop":
            items = items[:-1]
        elif how == "double":
            # the same object cannot be in two places
            items = items + [each for each in items if not isinstance(each, PlanNode)]
        elif how == "clear":
            items = []
        else:
            items = items[::-1]
        setattr(node, own, items)
        return {"path": path, "how": how}
    if isinstance(held, bool):
        new: Any = not held
    elif isinstance(held, int):
        new = (held + 1, 0, held * 2, held - 1)[choice]
    elif isinstance(held, bytes):
        new = (held + b"!", held[:-1], held * 3, b"")[choice]
    elif isinstance(held, str):
        new = (held + "!", held[:-1], held * 3, "")[choice]
    elif isinstance(held, float) and math.isfinite(held):
        new = held + 1
    else:
        return None
    setattr(node, own, new)
    return {"path": path, "how": "set", "value": to_json(new)}


def write_differences(command: list[str], cases: list[Writing], *, lacking: bool = True) -> Iterator[str]:
    """Where a testee writes something else, or refuses what is written; `lacking`: or does not support it."""
    limits = {"limit": OPTIONS.decompressed_bytes, "elements": OPTIONS.elements, "depth": OPTIONS.depth}
    text = "".join(json.dumps({"id": 0, **each.request, **limits}) + "\n" for each in cases)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    answers = done.stdout.split("\n")[:-1]
    for case, line in zip(cases, answers, strict=False):
        answer = json.loads(line)
        if lacking and "unsupported" in answer:
            continue
        if case.bare and ("bytes" in answer or answer["error"]["code"] == "not_encodable"):
            continue
        data = answer.get("bytes")
        need = None if case.data is None else case.data.hex()
        if (data is None) != (need is None) or (data != need and not case.packed):
            yield f"{json.dumps(case.request)[:600]}: {need}; {json.dumps(answer)[:400]}"
    if done.returncode or len(answers) < len(cases):
        yield f"{cases[len(answers)].request}: {done.stderr[-1500:]}"
