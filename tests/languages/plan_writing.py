"""The plan's writer beside the generated one: the same objects, the same edits, the same bytes or errors."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from kodec.generator.code.machine import Machine
from kodec.generator.code.stream_writer import PlanNode, StreamWriter
from kodec.generator.plan.steps import Program
from kodec.generator.targets.python.names import attribute
from kodec.runtime.errors import EncodeError, FormatError
from kodec.runtime.fields import ReadOptions
from kodec.runtime.streams import StreamNode

OPT = ReadOptions(elements=1000, depth=40, decompressed_bytes=1 << 16)


def outcome(value: Any) -> Any:
    """The bytes of an object, or its error."""
    try:
        return value.to_bytes()
    except EncodeError as error:
        return "error", error.path, error.reason, plain(error.need), plain(error.have)
    except (FormatError, RecursionError, ValueError, TypeError, AttributeError) as error:
        return "crash", type(error).__name__


def plain(value: Any) -> Any:
    """What an error shows: objects and members of enums by what they are."""
    if isinstance(value, StreamNode):
        return "object"
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, IntEnum):
        return int(value)
    return "nan" if value != value else value


def pairs(one: Any, other: Any) -> Iterator[tuple[PlanNode, StreamNode]]:
    """The objects of both that are in the same place."""
    todo, seen = [(one, other)], set[int]()
    while todo:
        one, other = todo.pop()
        if isinstance(one, list):
            todo += zip(one, other, strict=True)
        elif isinstance(one, PlanNode) and id(one) not in seen:
            seen.add(id(one))
            assert isinstance(other, StreamNode)
            yield one, other
            assert one._unit.streamed is not None
            todo += [(getattr(one, mine), getattr(other, theirs)) for mine, theirs in names(one)]
            for name, value in (one._values or {}).items():
                if other._values is not None and name in other._values:
                    todo.append((value, other._values[name]))


def names(one: PlanNode) -> list[tuple[str, str]]:
    """The attributes of the fields of both."""
    own = [each.name for each in one._kodec_fields]  # type: ignore[attr-defined]
    shown = [each.name for each in (*one._unit.fields, *one._unit.parameters)]
    return [
        (mine, attribute(name))
        for mine, name in zip(own, shown, strict=True)
        if any(each.name == name for each in one._unit.fields)
    ]


def touch(one: Any, other: Any) -> None:
    """Read the instances of both."""
    for mine, theirs in pairs(one, other):
        assert mine._unit.streamed is not None
        for each in mine._unit.streamed.instances:
            with contextlib.suppress(FormatError, EncodeError):
                getattr(theirs, attribute(each.name))
            with contextlib.suppress(FormatError, EncodeError):
                getattr(mine, each.name)


def edit(one: Any, other: Any, drawn: random.Random) -> bool:
    """Change one field of both in the same way; whether there is any."""
    found = [
        (mine, theirs, *each)
        for mine, theirs in pairs(one, other)
        for each in names(mine)
        if getattr(mine, each[0]) is not None
    ]
    if not found:
        return False
    mine, theirs, name, same = drawn.choice(found)
    value, choice = getattr(mine, name), drawn.randrange(4)
    if isinstance(value, list):
        for items in (value, getattr(theirs, same)):
            if items and choice == 0:
                items.pop()
            elif items and choice == 1:
                items.append(items[0])
            elif items and choice == 2:
                items.insert(0, items[-1])
            else:
                items.clear()
        return True
    new: Any = None
    if isinstance(value, bool):
        new = not value
    elif isinstance(value, int):
        new = (value + 1, 0, None, value - 1)[choice]
    elif isinstance(value, (bytes, str)):
        more: Any = b"!" if isinstance(value, bytes) else "!"
        new = (value + more, value[:-1], value + more * 40, None)[choice]
    for each, key in ((mine, name), (theirs, same)):
        setattr(each, key, new)
    return True


def compare(program: Program, kind: Any, name: str, data: bytes, drawn: random.Random) -> Counter[str]:
    """How often both write the same bytes, and raise the same error. Raises: AssertionError, FormatError."""
    found: Counter[str] = Counter()
    for edits in (0, 0, 1, 1, 2, 3):
        writer = StreamWriter(program)
        reader = Machine(writer.code, data, OPT)
        mine = writer.object_of(reader.read(name), reader)
        theirs = kind.from_bytes(data, opt=OPT, exact=False)
        if drawn.randrange(3):
            touch(mine, theirs)
        for _ in range(edits):
            edit(mine, theirs, drawn)
        one, other = outcome(mine), outcome(theirs)
        assert one == other, (data, edits, one, other)
        found[one[0] if isinstance(one, tuple) else "bytes"] += 1
    return found
