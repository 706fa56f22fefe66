"""Native against Python: messages, right and wrong, must give the same values, bytes and errors.

Usage: python messages.py [--seconds S] [--seed TEXT] [--sanitize]. With --sanitize the native code is
built with address and undefined-behaviour sanitizers, and tried in a process of its own.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import importlib
import random
import shutil
import struct
import sys
import tempfile
import time
import types
import typing
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

from kodec.generated.index import MESSAGES
from kodec.runtime.errors import EncodeError, FormatError
from kodec.runtime.fields import ReadOptions
from kodec.runtime.messages import in_python
from kodec.runtime.native import native_module

try:
    import _testcapi  # type: ignore[import-not-found]  # it has no types
except ImportError:  # not in every Python
    _testcapi = None

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGE = "kodec_wire_kinds"
# classes that the native code does not support
IN_PYTHON = {"CruiseControlMetric", "PartitionMetricSample"}
CONTROL = {
    "kraft_version_record": "KraftVersionRecord",
    "leader_change_message": "LeaderChangeMessage",
    "voters_record": "VotersRecord",
}
SMALL = ReadOptions(elements=3)
EDGES = (
    0,
    1,
    -1,
    127,
    128,
    255,
    2**15 - 1,
    2**16,
    -(2**31),
    2**31 - 1,
    2**32 - 1,
    2**63 - 1,
    -(2**63),
    2**64 - 1,
)
TEXTS = (
    "",
    "a",
    "group-1",
    "caf\u00e9",
    "\u65e5\u672c",
    "\U0001f600",
    "x" * 130,
    "\udcff",
    "\ud800",
    "y" * 40000,
)


class OtherInt(int):
    """An int that is none of the usual class."""


WRONG = (
    None,
    True,
    2**70,
    -(2**70),
    1.5,
    "text",
    b"bytes",
    bytearray(b"x"),
    (),
    (1,),
    [None],
    [[]],
    object,
    OtherInt(1),
)


@cache
def wire_kinds() -> Any:
    """The class of `wire_kinds.ksy`, generated now."""
    folder = Path(tempfile.mkdtemp(prefix="kodec-wire-"))
    try:
        from kodec.generator.driver import generate

        (folder / "schemas").mkdir()
        for path in (HERE / "wire_kinds.ksy", *(ROOT / "schemas" / "primitives").glob("*.ksy")):
            shutil.copy(path, folder / "schemas")
        generate(folder / "schemas", folder / PACKAGE)
        sys.path.insert(0, str(folder))
        return importlib.import_module(f"{PACKAGE}.wire_kinds").WireKinds
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))
        shutil.rmtree(folder)


@cache
def of_kafka() -> tuple[Any, ...]:
    """All classes of messages in Kafka's topics that are read and written natively."""
    places = [*MESSAGES.values(), *((f"control.{module}", name) for module, name in CONTROL.items())]
    return tuple(
        getattr(importlib.import_module(f"kodec.generated.{module}"), name)
        for module, name in places
        if name not in IN_PYTHON
    )


@cache
def kinds() -> tuple[Any, ...]:
    """All classes of messages; the one that has everything comes often."""
    return (*of_kafka(), *[wire_kinds()] * 20)


@cache
def hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def has_version(kind: type) -> bool:
    """Whether the bytes contain the version; objects of other classes only keep it."""
    return any(each.name == "version" and each.compare for each in dataclasses.fields(kind))


def made(rng: random.Random, hint: Any, version: int | None, depth: int = 0, tidy: bool = False) -> Any:
    """A random value."""
    if isinstance(hint, types.UnionType):
        if rng.random() < 0.3:
            return None
        hint = next(each for each in hint.__args__ if each is not type(None))
    if typing.get_origin(hint) is list:
        item = typing.get_args(hint)[0]
        if depth > 5:
            return []
        return [
            made(rng, item, version, depth + 1, tidy) for _ in range(rng.choice((0, 0, 1, 2, 3, 20 >> depth)))
        ]
    if typing.get_origin(hint) is tuple:
        return rng.choice((0, 3, 20, 127, 128, 400, 2**31 - 1)), rng.randbytes(rng.choice((0, 1, 130)))
    if dataclasses.is_dataclass(hint):
        return thing(rng, hint, version, depth + 1, tidy)
    if hint is int:
        small = rng.choice((0, 1, 2, 100, rng.randint(-128, 127), rng.randint(0, 255)))
        return rng.choice(EDGES) if rng.random() < 0.1 else small
    if hint is str:
        return rng.choice(TEXTS[:-3]) if rng.random() < 0.97 else rng.choice(TEXTS)
    if hint is bytes:
        return rng.randbytes(rng.choice((0, 1, 5, 200)))
    if hint is UUID:
        return UUID(int=rng.choice((0, 1, rng.getrandbits(128), 2**128 - 1)))
    if hint is float:
        if rng.random() < 0.1:
            return struct.unpack(">d", b"\x7f\xf0" + rng.randbytes(6))[0]
        return rng.choice((0.0, -0.0, 1.5, float("inf"), float("nan"), 5e-324, 3.4028235e38, rng.random()))
    assert hint is bool
    return rng.random() < 0.5


def thing(rng: random.Random, kind: Any, version: int | None, depth: int = 0, tidy: bool = False) -> Any:
    """A random object, mostly one that the version can carry; where `tidy`, tags stand once, in order."""
    value = kind()
    lacking = getattr(kind, "IN_VERSIONS", {})
    plain = rng.random() < 0.2
    for each in dataclasses.fields(kind):
        there = version is None or version in lacking.get(each.name, (version,))
        if each.name in ("version", "record_type", "magic") or plain or (not there and rng.random() < 0.97):
            continue
        if each.name == "tagged_fields" and rng.random() < 0.6:
            continue
        if each.name in getattr(kind, "TAGS", {}) and rng.random() < 0.4:
            continue
        chosen = made(rng, hints(kind)[each.name], version, depth, tidy)
        if each.name == "tagged_fields" and (tidy or rng.random() < 0.9):
            known = getattr(kind, "TAGS", {}).values() if tidy else ()
            chosen = sorted(pair for pair in dict(chosen).items() if pair[0] not in known)
        setattr(value, each.name, chosen)
    return value


def spoilt(rng: random.Random, value: Any) -> None:
    """Put something somewhere in an object that does not belong there, or take it away."""
    at = value
    for _ in range(3):
        inner = [getattr(at, each.name, None) for each in dataclasses.fields(at)]
        inner = [item for each in inner for item in (each if isinstance(each, list) else [each])]
        inner = [each for each in inner if dataclasses.is_dataclass(each)]
        if not inner or rng.random() < 0.5:
            break
        at = rng.choice(inner)
    name = rng.choice([each.name for each in dataclasses.fields(at)])
    old = getattr(at, name, None)
    if rng.random() < 0.1:
        if hasattr(at, name):
            delattr(at, name)
    elif isinstance(old, list) and rng.random() < 0.5:
        old.insert(rng.randint(0, len(old)), rng.choice(WRONG))
    else:
        setattr(at, name, rng.choice((*WRONG, *EDGES, *TEXTS)))


def broken(rng: random.Random, data: bytes) -> bytes:
    """Bytes with something wrong."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randint(0, len(found))
        match rng.randint(0, 5):
            case 0:
                del found[at:]
            case 1:
                found[at:at] = rng.randbytes(rng.randint(1, 4))
            case 2:
                found[at : at + 1] = rng.choice(
                    (b"\xff\xff\xff\xff\x0f", b"\x80\x00", b"\x80\x80\x80\x80\x80\x01")
                )
            case 3:
                found[at : at + 4] = rng.choice(
                    (b"\xff" * 4, b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\3")
                )
            case 4 if at < len(found):
                found[at] ^= 1 << rng.randint(0, 7)
            case _:
                found[at:at] = found[rng.randint(0, len(found)) :][:20]
    return bytes(found)


# -- the result -----------------------------------------------------------------------------


def said(value: object) -> str:
    """What a value reports about itself: an object of which a part was deleted cannot."""
    try:
        return repr(value)
    except AttributeError as error:
        return str(error)


def outcome(call: Callable[[], Any]) -> tuple[str, Any]:
    """A value, or all that an error says."""
    try:
        return "value", call()
    except (FormatError, EncodeError) as error:
        facts = sorted((name, said(value)) for name, value in vars(error).items())
        return type(error).__name__, (str(error), error.path, facts)
    except Exception as error:
        return type(error).__name__, str(error)


def alike(one: Any, other: Any, lists: set[int]) -> bool:
    """Whether two values are the same to the last bit, and to the collector; no list is in two places."""
    if type(one) is not type(other):
        return False
    # of tuples the collector looks which need it
    if gc.is_tracked(one) != gc.is_tracked(other) and not isinstance(one, tuple):
        return False
    if isinstance(one, list):
        if id(one) in lists:
            return False
        lists.add(id(one))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(alike(*pair, lists) for pair in zip(one, other, strict=True))
    if dataclasses.is_dataclass(one):
        names = [each.name for each in dataclasses.fields(one)]
        return all(alike(getattr(one, name), getattr(other, name), lists) for name in names)
    if isinstance(one, float):
        return struct.pack(">d", one) == struct.pack(">d", other)
    if isinstance(one, UUID):
        return one == other and one.is_safe is other.is_safe
    return bool(one == other)


def same(one: tuple[str, Any], other: tuple[str, Any]) -> bool:
    return one[0] == other[0] and alike(one[1], other[1], set())


@dataclasses.dataclass(slots=True)
class Tally:
    counts: Counter[str] = dataclasses.field(default_factory=Counter)
    different: list[str] = dataclasses.field(default_factory=list)

    def ask(self, what: str, native: Callable[[], Any], python: Callable[[], Any], about: str) -> None:
        one, other = outcome(native), outcome(python)
        self.counts[f"{what}: {other[0]}"] += 1
        if not same(one, other):
            self.different.append(f"{what} {about}\n  native {one}\n  Python {other}"[:2000])


def asked(kind: Any, rng: random.Random, tally: Tally) -> None:
    """Hold both against each other: one random object, its bytes, and what is wrong with either."""
    versions = getattr(kind, "VERSIONS", None)
    version = None if versions is None else rng.choice(versions)
    given = {} if version is None or has_version(kind) else {"version": version}
    value = thing(rng, kind, version)
    if has_version(kind):
        value.version = version
    if rng.random() < 0.01:
        given = rng.choice(({}, {"version": 99}, {"version": True}, {"version": OtherInt(1)}, {"other": 1}))
    about = f"{kind.__name__} {given}"
    write = in_python(kind.to_bytes)
    tally.ask("write", lambda: value.to_bytes(**given), lambda: write(value, **given), f"{about} {value}")
    try:
        data = write(value, **given)
    except Exception:
        data = rng.randbytes(rng.randint(0, 60))
    for _ in range(3):
        spoilt(rng, value)
        tally.ask(
            "write what is wrong",
            lambda: value.to_bytes(**given),
            lambda: write(value, **given),
            f"{about} {_shown(value)}",
        )
    if rng.random() < 0.03:
        starved(kind, rng, tally)
    readings = [data, data + b"\0"]
    readings += [data[:size] for size in (range(len(data)) if rng.random() < 0.1 else ())]
    readings += [broken(rng, data) for _ in range(6)]
    for each in readings:
        read_both(kind, each, given, rng, tally)


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except AttributeError as error:
        return str(error)


def read_both(kind: Any, data: bytes, given: dict[str, Any], rng: random.Random, tally: Tally) -> None:
    keys = dict(given)
    if rng.random() < 0.2:
        keys["exact"] = rng.random() < 0.5
    if rng.random() < 0.1:
        keys["opt"] = SMALL
    about = f"{kind.__name__} {keys} {data.hex()}"
    form = rng.choice((bytes, bytes, bytes, bytearray, memoryview))
    plain = in_python(kind.from_bytes)
    tally.ask("read", lambda: kind.from_bytes(form(data), **keys), lambda: plain(form(data), **keys), about)
    if rng.random() < 0.3:
        before, behind = rng.randbytes(rng.randint(0, 5)), rng.randbytes(rng.randint(0, 5))
        whole = before + data + behind
        place = (whole, len(before), rng.choice((None, len(before) + len(data), len(whole) + 1, 0)))
        part = in_python(kind.read_from)
        about = f"{kind.__name__} {given} {place[0].hex()} {place[1:]}"
        tally.ask(
            "read a part", lambda: kind.read_from(*place, **given), lambda: part(*place, **given), about
        )


def starved(kind: Any, rng: random.Random, tally: Tally) -> None:
    """Whichever allocation fails, there is a MemoryError or what there would have been, and no harm."""
    if _testcapi is None:
        return
    versions = getattr(kind, "VERSIONS", None)
    version = None if versions is None else rng.choice(versions)
    given = {} if version is None or has_version(kind) else {"version": version}
    value = thing(rng, kind, version, tidy=True)
    if has_version(kind):
        value.version = version
    wanted = outcome(lambda: in_python(kind.to_bytes)(value, **given))
    if wanted[0] != "value":
        return
    data = wanted[1]
    read = in_python(kind.from_bytes)(data, **given)
    calls = ((lambda: kind.from_bytes(data, **given), read), (lambda: value.to_bytes(**given), data))
    for call, right in calls:
        for number in range(rng.randint(0, 5), 300, rng.randint(1, 9)):
            found = None
            try:
                _testcapi.set_nomemory(number, number + 1)
                try:
                    found = call()
                finally:
                    _testcapi.remove_mem_hooks()
            except MemoryError:
                tally.counts["without memory: MemoryError"] += 1
                continue
            tally.counts["without memory: value"] += 1
            if not alike(found, right, set()):
                tally.different.append(
                    f"without memory {number}: {kind.__name__} {given} {data.hex()}"[:2000]
                )
            break


def questions(seed: str) -> Iterator[tuple[Any, random.Random]]:
    for number in range(sys.maxsize):
        rng = random.Random(f"{seed}/{number}")
        yield rng.choice(kinds()), rng


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=20)
    options.add_argument("--seed", default="1")
    options.add_argument("--sanitize", action="store_true")
    given = options.parse_args()
    import sanitized  # beside this script; tests import this module from a package

    if given.sanitize:
        return sanitized.run("messages", [__file__, "--seconds", str(given.seconds), "--seed", given.seed])
    sanitized.use()
    if native_module("messages") is None:
        print("the native code is not built", file=sys.stderr)
        return 1
    tally = Tally()
    end = time.monotonic() + given.seconds
    for kind, rng in questions(given.seed):
        asked(kind, rng, tally)
        if time.monotonic() > end or len(tally.different) > 20:
            break
    for name, count in sorted(tally.counts.items()):
        print(f"{count:>10,} {name}")
    print("\n".join(tally.different[:10]) or "no difference")
    return 1 if tally.different else 0


if __name__ == "__main__":
    sys.exit(main())
