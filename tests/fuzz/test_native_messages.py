"""Messages read and written natively: it is done, it is what Python does, and memory is given back."""

from __future__ import annotations

import gc
import inspect
import itertools
import os
import pickle
import random
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from kodec.generated.metadata.partition_record import PartitionRecord
from kodec.generator.contract import same
from kodec.runtime import messages
from kodec.runtime.errors import EncodeError, Truncated
from kodec.runtime.fields import ReadOptions
from kodec.runtime.messages import in_python
from kodec.runtime.native import native_module

from . import messages as fuzz

native = native_module("messages")
pytestmark = pytest.mark.skipif(native is None, reason="the native kernels are not built")


def versions_of(kind: Any) -> Iterator[tuple[int | None, dict[str, int]]]:
    """Each version of a class, and how it is given."""
    for version in getattr(kind, "VERSIONS", (None,)):
        given = version is not None and not fuzz.has_version(kind)
        yield version, {"version": version} if given else {}


def of_version(kind: Any, version: int | None, seed: str = "") -> Any:
    """A value that the version can carry."""
    for number in range(10_000):
        value = fuzz.thing(random.Random(f"{seed}/{number}"), kind, version, tidy=True)
        given = {} if version is None or fuzz.has_version(kind) else {"version": version}
        if fuzz.has_version(kind):
            value.version = version
        if (
            fuzz.outcome(lambda value=value, given=given: in_python(kind.to_bytes)(value, **given))[0]
            == "value"
        ):
            return value
    raise AssertionError(f"no value of {kind.__name__} in version {version} can be written")


def never(*_: object, **__: object) -> Any:
    raise AssertionError("it was left to Python")


def strictly(kind: Any) -> tuple[Any, Any, Any]:
    """The native methods of a class, with nothing after them."""
    assert native is not None
    peers: dict[type, Any] = {}
    module = sys.modules[kind.__module__]
    found = re.search(r"messages\.use_native_methods\((.*)\)", inspect.getsource(module), re.DOTALL)
    assert found is not None
    for cls, rows in eval(found[1].strip(), vars(module)).items():
        peers[cls] = native.Message(cls, rows, peers, messages._defaults)
    message = peers[kind]
    return (
        native.Function(message, "from_bytes", never),
        native.Function(message, "read_from", never),
        native.Method(message, "to_bytes", never),
    )


@pytest.mark.parametrize("kind", fuzz.of_kafka(), ids=lambda kind: kind.__name__)
def test_what_is_right_is_done_natively(kind: Any) -> None:
    """Each version: nothing is left to Python, and it gives the same."""
    assert isinstance(kind.from_bytes, native.Function) and isinstance(kind.to_bytes, native.Method)
    from_bytes, read_from, to_bytes = strictly(kind)
    for version, given in versions_of(kind):
        for seed in "abc":
            value = of_version(kind, version, seed)
            data = in_python(kind.to_bytes)(value, **given)
            assert to_bytes(value, **given) == data == value.to_bytes(**given)
            read = in_python(kind.from_bytes)(data, **given)
            for again in (
                from_bytes(data, **given),
                from_bytes(memoryview(data), **given),
                kind.from_bytes(data, **given),
            ):
                assert fuzz.alike(again, read, set())
            again, end = read_from(b"??" + data + b"!", 2, 2 + len(data), **given)
            assert fuzz.alike(again, read, set()) and end == 2 + len(data)


@pytest.mark.parametrize("seed", ["a", "b"])
def test_any_bytes_and_any_values(seed: str) -> None:
    """Some hundred of what `make fuzz` tries for longer."""
    tally = fuzz.Tally()
    for kind, rng in itertools.islice(fuzz.questions(seed), 400):
        fuzz.asked(kind, rng, tally)
    assert not tally.different, "\n".join(tally.different)
    assert len(tally.counts) > 12


def test_every_kind() -> None:
    """All that the native code knows, in each version."""
    kind = fuzz.wire_kinds()
    assert isinstance(kind.from_bytes, native.Function)
    for version, given in versions_of(kind):
        for number in range(30):
            value = of_version(kind, version, str(number))
            data = in_python(kind.to_bytes)(value, **given)
            assert value.to_bytes(**given) == data
            assert same(in_python(kind.from_bytes)(data, **given), kind.from_bytes(data, **given))


@dataclass(slots=True)
class Node:
    """What no schema can have: a type that holds itself."""

    nodes: list[Node] = field(default_factory=list)


def test_objects_in_each_other() -> None:
    """What is too deep is left to Python, before the stack ends."""
    assert native is not None
    peers: dict[type, Any] = {}
    row = messages.Wire("nodes", messages.Counted("list", "u1", Node))
    message = peers[Node] = native.Message(Node, (row,), peers, messages._defaults)
    read = native.Function(message, "from_bytes", lambda data: "in Python")
    write = native.Method(message, "to_bytes", lambda value: "in Python")
    for depth in (0, 5, 63, 64, 100, 200_000):
        data = b"\1" * depth + b"\0"
        value = Node()
        for _ in range(depth if depth < 1000 else 0):
            value = Node([value])
        if depth < 64:
            assert write(value) == data and read(data) == value
        else:
            assert read(data) == "in Python"
            assert depth > 1000 or write(value) == "in Python"


def test_counts_are_bounded_before_anything_is_made() -> None:
    kind = fuzz.wire_kinds()
    module = sys.modules[kind.__module__]
    few = ReadOptions(elements=2)
    data = module.Branch("x", twigs=[module.Leaf()] * 3).to_bytes(version=0)
    for read in (module.Branch.from_bytes, in_python(module.Branch.from_bytes)):
        with pytest.raises(fuzz.FormatError, match="too many elements"):
            read(data, opt=few, version=0)
    record = bytes(20) + b"\xff\xff\xff\xff\x07" + bytes(100)
    with pytest.raises(Truncated) as caught:
        PartitionRecord.from_bytes(record, version=0)
    assert caught.value.path == "replicas" and caught.value.at == 25


def test_memory_is_given_back() -> None:
    kind = fuzz.wire_kinds()
    value = of_version(kind, 3, "many")
    data = value.to_bytes(version=3)
    wrong = [data[:size] for size in range(0, len(data), 7)]
    spoilt = of_version(kind, 3, "many")
    spoilt.weight = "heavy"

    def work() -> None:
        for _ in range(20):
            kind.from_bytes(data, version=3)
            value.to_bytes(version=3)
            fuzz.outcome(lambda: spoilt.to_bytes(version=3))
        for each in wrong:
            fuzz.outcome(lambda each=each: kind.from_bytes(each, version=3))  # type: ignore[misc]

    work()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(20):
        work()
    gc.collect()
    assert sys.getallocatedblocks() - before < 200


def test_the_collector_knows_what_was_read() -> None:
    """A circle through what was read is found."""
    record = PartitionRecord.from_bytes(PartitionRecord(replicas=[1]).to_bytes(version=0), version=0)
    assert gc.is_tracked(record) and gc.is_tracked(record.replicas) and gc.is_tracked(record.tagged_fields)
    record.replicas.append(record)  # type: ignore[arg-type]
    gc.collect()
    del record
    assert gc.collect() >= 2


def test_threads() -> None:
    """Nothing is shared between calls."""
    kind = fuzz.wire_kinds()
    values = [of_version(kind, 3, str(number)) for number in range(8)]
    failed: list[object] = []

    def work(value: Any) -> None:
        data = in_python(kind.to_bytes)(value, version=3)
        read = in_python(kind.from_bytes)(data, version=3)
        for _ in range(300):
            if value.to_bytes(version=3) != data or not same(read, kind.from_bytes(data, version=3)):
                failed.append(value)

    threads = [threading.Thread(target=work, args=(value,)) for value in values]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not failed


def test_threads_that_come_first() -> None:
    """What is made of a table when it is first used is whole for whoever sees it."""
    assert native is not None
    kind = next(kind for kind in fuzz.of_kafka() if kind.__name__ == "StreamsGroupTopologyValue")
    value = of_version(kind, 0, "first")
    data = in_python(kind.to_bytes)(value)
    read = in_python(kind.from_bytes)(data)
    failed: list[object] = []
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            from_bytes, _, to_bytes = strictly(kind)
            start = threading.Barrier(4)

            def work(start: Any = start, from_bytes: Any = from_bytes, to_bytes: Any = to_bytes) -> None:
                start.wait()
                if to_bytes(value) != data or not same(read, from_bytes(data)):
                    failed.append(start)

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not failed


@pytest.mark.skipif(fuzz._testcapi is None, reason="this Python cannot make allocations fail")
def test_a_class_is_whole_again_once_there_is_memory() -> None:
    """Whichever allocation fails when a table is first used, the next use is as if nothing had been."""
    kind = next(kind for kind in fuzz.of_kafka() if kind.__name__ == "StreamsGroupTopologyValue")
    value = of_version(kind, 0, "first")
    data = in_python(kind.to_bytes)(value)
    read = in_python(kind.from_bytes)(data)
    failed = 0
    for number in range(0, 400, 3):
        from_bytes, _, to_bytes = strictly(kind)
        for call, right in (
            (lambda call=from_bytes: call(data), read),
            (lambda call=to_bytes: call(value), data),
        ):
            try:
                fuzz._testcapi.set_nomemory(number, number + 1)
                try:
                    call()
                finally:
                    fuzz._testcapi.remove_mem_hooks()
            except MemoryError:
                failed += 1
            assert fuzz.alike(call(), right, set())
    assert failed > 50


class Derived(PartitionRecord):
    """A class of a program's own, with a dict."""


def test_classes_of_a_program() -> None:
    """They read what the generated class reads, and are written as such."""
    mine = Derived(partition_id=4, replicas=[1])
    mine.note = "mine"  # type: ignore[attr-defined]
    data = mine.to_bytes(version=1)
    assert data == PartitionRecord(partition_id=4, replicas=[1]).to_bytes(version=1)
    assert type(Derived.from_bytes(data, version=1)) is PartitionRecord


def test_methods_are_what_they_stand_for() -> None:
    assert inspect.signature(PartitionRecord.from_bytes) == inspect.signature(
        in_python(PartitionRecord.from_bytes)
    )
    assert list(inspect.signature(PartitionRecord().to_bytes).parameters) == ["opt", "version"]
    assert "Raises EncodeError" in str(PartitionRecord.to_bytes.__doc__)
    for method in (PartitionRecord.from_bytes, PartitionRecord.to_bytes):
        assert pickle.loads(pickle.dumps(method)) is method
    record = PartitionRecord(leader=7)
    bound = record.to_bytes
    assert PartitionRecord.from_bytes(bound(version=0), version=0) == record
    assert PartitionRecord.from_bytes(data=bound(version=0), exact=True, version=0) == record
    with pytest.raises(TypeError):
        record.to_bytes(version=1, other=2)
    with pytest.raises(EncodeError, match="version: not given"):
        record.to_bytes()


@pytest.mark.parametrize(
    "row",
    [
        messages.Wire("partition_id", "s3"),
        messages.Wire("partition_id", "list"),
        messages.Wire("partition_id", messages.Counted("list", "s8", "s4")),
        messages.Wire("partition_id", messages.Counted("list", "s4")),
        messages.Wire("partition_id", messages.Counted("text", "s4", "s4")),
        messages.Wire("partition_id", messages.Counted("s4", "s4", null=True)),
        messages.Wire("partition_id", messages.Counted("object", "s1", Node)),
        messages.Wire("partition_id", messages.Only("u8", 1)),
        messages.Wire("partition_id", Node),
        messages.Wire("nothing", "s4"),
    ],
)
def test_rows_that_say_nothing(row: messages.Wire) -> None:
    assert native is not None
    peers: dict[type, Any] = {}
    message = peers[PartitionRecord] = native.Message(PartitionRecord, (row,), peers, messages._defaults)
    for _ in range(2):
        with pytest.raises((ValueError, KeyError)):
            native.Function(message, "from_bytes", never)(bytes(100), version=0)


def test_python_is_chosen_by_the_environment() -> None:
    code = (
        "from kodec.generated.metadata.topic_record import TopicRecord as T; print(type(T.to_bytes).__name__)"
    )
    for pure, kind in (("1", "function"), ("0", "Method")):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "KODEC_PURE": pure},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == kind
