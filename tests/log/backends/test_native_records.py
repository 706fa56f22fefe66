"""Records of the native reader are like any other record, and are made whole, a batch at a time."""

from __future__ import annotations

import dataclasses
import gc
import io
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.log import kernel
from kodec.log.batches.options import LogReadOptions
from tests.log.conftest import Sample
from tests.log.wire import PAIRS, batch, log_of, record

if not kernel.is_built():
    pytest.skip("the native kernel is not built", allow_module_level=True)

from kodec.generated.kernels import record_batch
from kodec.log.backends.native.records import NativeRecordDecoder
from tests.data import LOGS

FIELDS = [field.name for field in dataclasses.fields(kodec.Record)]
EXPECTED = kodec.Record(
    offset=7,
    timestamp=1000,
    timestamp_type=kodec.TimestampType.CREATE_TIME,
    key=b"k",
    value=None,
    headers=(("a", b"1"), ("\udcff", None), ("", b"")),
)
DATA = kodec.encode([EXPECTED])


@pytest.fixture(autouse=True)
def native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "backend", lambda: "native")


def one() -> kodec.Record:
    (found,) = kodec.read_records(DATA)
    return found


def many(count: int, *, per_batch: int = 100, codec: str = "none") -> bytes:
    records = [
        kodec.Record(offset=at, timestamp=at, key=b"%d" % at, value=bytes(at % 50)) for at in range(count)
    ]
    return kodec.encode(records, batch_records=per_batch, compression=codec)


def test_it_is_the_reader_in_use() -> None:
    assert isinstance(kernel.record_decoder(LogReadOptions()), NativeRecordDecoder)


# -- a record is a record -------------------------------------------------------------------------


def test_nothing_is_added_to_the_class() -> None:
    found = one()
    assert type(found) is kodec.Record and found == EXPECTED and repr(found) == repr(EXPECTED)
    assert [type(getattr(found, name)) for name in FIELDS] == [
        type(getattr(EXPECTED, name)) for name in FIELDS
    ]
    assert not hasattr(kodec.Record, "__getattr__") and list(kodec.Record.__slots__) == list(FIELDS)
    assert kodec.Record.__bases__ == (object,)


def test_it_has_the_hash_of_its_fields_and_no_other_attribute() -> None:
    found = one()
    names = [each.name for each in dataclasses.fields(found)]
    again = kodec.Record(**{name: getattr(found, name) for name in names})
    assert again == found and hash(again) == hash(found)
    assert hash(dataclasses.replace(found, offset=found.offset + 1)) != hash(found)
    with pytest.raises(AttributeError, match="'Record' object has no attribute 'nothing'"):
        found.nothing  # noqa: B018  # that it raises is the test
    with pytest.raises(AttributeError):
        found.nothing = 1


def test_control_records_stand_where_they_were() -> None:
    path = LOGS / "transactions-0/00000000000000000000.log"
    found = list(kodec.read_records(path, control=True))
    kinds = {type(each) for each in found}
    assert kinds == {kodec.Record, kodec.ControlRecord}
    assert [each.offset for each in found] == sorted(each.offset for each in found)


def test_all_of_a_record_is_there_at_once() -> None:
    for found in kodec.read_records(many(300)):
        held = {id(each) for each in gc.get_referents(found)} - {id(kodec.Record)}
        assert held == {id(getattr(found, name)) for name in FIELDS}


# -- what is kept alive ---------------------------------------------------------------------------


def test_a_record_that_nobody_kept_is_filled_again() -> None:
    seen = {id(found) for found in kodec.read_records(many(1000))}
    assert len(seen) <= 120
    kept = list(kodec.read_records(many(1000)))
    assert len({id(found) for found in kept}) == 1000
    assert [found.offset for found in kept] == list(range(1000))


def test_nothing_of_what_was_set_is_left_in_a_record_that_is_filled_again() -> None:
    data = kodec.encode([kodec.Record(offset=at) for at in range(100)], batch_records=10)
    for found in kodec.read_records(data):
        assert found == kodec.Record(offset=found.offset)
        found.timestamp, found.key, found.value = 5, b"k", b"v"
        found.timestamp_type, found.headers = kodec.TimestampType.LOG_APPEND_TIME, (("a", b"b"),)


def test_what_was_deleted_from_a_record_is_there_in_the_next() -> None:
    for found in kodec.read_records(many(100, per_batch=10)):
        assert found.key == b"%d" % found.offset
        for name in FIELDS:
            delattr(found, name)


def test_a_record_that_changed_its_class_is_not_filled_again() -> None:
    @dataclasses.dataclass(slots=True)
    class Other(kodec.Record):
        pass

    count = 0
    for count, found in enumerate(kodec.read_records(many(100, per_batch=10)), 1):  # noqa: B007  # both are checked after the loop
        assert type(found) is kodec.Record
        found.__class__ = Other
    assert count == 100


def test_batches_of_any_sizes_after_each_other() -> None:
    sizes = (10, 1, 30, 7, 7, 100, 3)
    records = [kodec.Record(offset=at, value=b"%d" % at) for at in range(sum(sizes))]
    data, first = b"", 0
    for size in sizes:
        data += kodec.encode(records[first : first + size])
        first += size
    assert [found.value for found in kodec.read_records(data)] == [found.value for found in records]


def test_header_names_are_shared_and_right() -> None:
    names = ["a", "b", "a", "ä", "", "\udcff", "a" * 300]
    records = [
        kodec.Record(
            offset=at, headers=tuple((names[(at + place) % 7], b"%d" % at) for place in range(at % 13))
        )
        for at in range(200)
    ]
    assert list(kodec.read_records(kodec.encode(records, batch_records=9))) == records
    same = [kodec.Record(offset=at, headers=(("content-type", b"x"),)) for at in range(10)]
    found = list(kodec.read_records(kodec.encode(same)))
    assert len({id(each.headers[0][0]) for each in found}) == 1


@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_some_are_kept(step: int) -> None:
    kept = [found for index, found in enumerate(kodec.read_records(many(5000))) if index % step == 0]
    assert [(each.offset, each.key) for each in kept] == [(at, b"%d" % at) for at in range(0, 5000, step)]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_record_holds_nothing_of_its_batch(codec: str) -> None:
    large = kodec.encode(
        [kodec.Record(offset=at, value=bytes(1 << 20)) for at in range(8)],
        compression=codec,
        batch_bytes=1 << 30,
    )
    tracemalloc.start()
    try:
        first = next(iter(kodec.read_records(io.BytesIO(large))))
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert first.offset == 0
    assert 1 << 20 <= kept < 2 << 20


@pytest.mark.parametrize("way", ["walk", "keep", "drop", "list"])
def test_nothing_leaks(way: str) -> None:
    data = many(2000, codec="lz4") + many(2000)
    before = sys.getrefcount(data)

    def run() -> None:
        reader = kodec.read_records(data)
        if way == "list":
            assert list(reader)[17].offset == 17
            return
        kept = []
        for index, found in enumerate(reader):
            if way == "keep":
                kept.append(found)
                if index % 3 == 0:
                    found.key = b"mine"
            if way == "drop" and index == 1234:
                break

    run()
    gc.collect()
    tracemalloc.start()
    try:
        run()
        gc.collect()
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(5):
            run()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - start < 20_000
    finally:
        tracemalloc.stop()
    assert sys.getrefcount(data) == before


def test_a_cycle_through_a_record_is_collected() -> None:
    class Sentinel:
        gone = 0

        def __del__(self) -> None:
            Sentinel.gone += 1

    for found in kodec.read_records(DATA):
        found.value = [found, Sentinel()]
    del found
    gc.collect()
    assert Sentinel.gone == 1


def test_code_that_runs_when_a_value_is_dropped() -> None:
    class Sentinel:
        def __del__(self) -> None:
            asked.append(reader.position)
            gc.collect()

    asked: list[int] = []
    got = []
    reader = kodec.read_records(many(50, per_batch=10))
    for found in reader:
        got.append(found.offset)
        if found.offset % 10 == 5:
            found.value = Sentinel()
    assert got == list(range(50)) and len(asked) == 5


def test_memory_that_may_change_is_copied() -> None:
    data = bytearray(DATA)
    (found,) = kodec.read_records(data)
    data[:] = bytes(len(data))
    assert found == EXPECTED
    view = memoryview(bytearray(DATA))
    (found,) = kodec.read_records(view)
    view[:] = bytes(len(view))
    assert found == EXPECTED
    source = b"..." + DATA + b"..."
    (found,) = kodec.read_records(memoryview(source)[3:-3])
    assert found == EXPECTED


SHARED = """
import sys, threading, kodec
sys.setswitchinterval(1e-5)
rows = [kodec.Record(offset=i, value=b"v" * 20) for i in range(2000)]
data = kodec.encode(rows, batch_records=50)
refused = []
def read(reader):
    try:
        while next(reader, None) is not None:
            pass
    except ValueError as error:
        refused.append(str(error))
for _ in range(300):
    reader = kodec.read_records(data)
    threads = [threading.Thread(target=read, args=(reader,)) for _ in range(4)]
    [each.start() for each in threads]
    [each.join() for each in threads]
print(sorted(set(refused)))
"""


@pytest.mark.parametrize("pure", ["0", "1"])
def test_threads_that_share_a_reader_are_refused_and_nothing_crashes(pure: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHARED],
        env={**os.environ, "KODEC_PURE": pure},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) in ((0, "['generator already executing']"), (0, "[]")), done


# -- what is written again ------------------------------------------------------------------------

LARGE = 1 << 31
"""Offsets from here on have as many digits as each other, so that their objects can be written again."""


def alike(count: int, magic: int = 2) -> list[kodec.Record]:
    """Records whose values are of the same sizes, each unlike any other's."""
    kind = kodec.TimestampType.CREATE_TIME if magic else kodec.TimestampType.NO_TIMESTAMP_TYPE
    return [
        kodec.Record(
            offset=LARGE + at,
            timestamp=2 * LARGE + at if magic else -1,
            timestamp_type=kind,
            key=b"k%08d" % at,
            value=b"v%030d" % at,
            headers=(("a", b"%08d" % at), ("b", b"%08d" % -at)) if magic == 2 else (),
        )
        for at in range(count)
    ]


def encoded(records: list[kodec.Record], magic: int = 2) -> bytes:
    return kodec.encode(records, magic=magic, batch_records=10)


PARTS: dict[str, Callable[[kodec.Record], Any]] = {
    **{name: attrgetter(name) for name in FIELDS},
    "a header": lambda found: found.headers[0],
    "a header's value": lambda found: found.headers[1][1],
    "a view": lambda found: memoryview(found.value or b""),
    "a method": lambda found: (found.value or b"").hex,
}


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("part", PARTS)
def test_a_value_that_is_kept_stays_as_it_is(part: str, magic: int) -> None:
    if magic < 2 and part.startswith("a header"):
        return
    records = alike(2000, magic)
    kept = [PARTS[part](found) for found in kodec.read_records(encoded(records, magic))]
    expected = [PARTS[part](each) for each in records]
    if part == "a method":
        assert [each() for each in kept] == [each() for each in expected]
    else:
        assert kept == expected


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_values_that_nobody_kept_are_written_again(magic: int) -> None:
    seen: dict[str, set[int]] = {name: set() for name in FIELDS}
    for found in kodec.read_records(encoded(alike(2000, magic), magic)):
        for name in FIELDS:
            seen[name].add(id(getattr(found, name)))
    assert max(len(each) for each in seen.values()) <= 600


def test_hashes_are_those_of_what_is_there() -> None:
    records = alike(2000)
    for found, expected in zip(kodec.read_records(encoded(records)), records, strict=True):
        for name in ("offset", "key", "value", "headers"):
            assert hash(getattr(found, name)) == hash(getattr(expected, name))


def test_numbers_of_any_size_after_each_other() -> None:
    edges = [0, 1, 255, 256, 257, 1023, 1024, 1025, 1 << 15, 1 << 30, 1 << 31, 1 << 60, 1 << 62]
    numbers = sorted({edge + by for edge in edges for by in range(-3, 4) if edge + by >= 0})
    times = [
        *numbers,
        *numbers[::-1],
        *(number for pair in zip(numbers, numbers[::-1], strict=True) for number in pair),
    ]
    records = [kodec.Record(offset=at, timestamp=time) for at, time in enumerate(times)]
    for size in (1, 2, 3, 10):
        data = kodec.encode(records, batch_records=size)
        assert [found.timestamp for found in kodec.read_records(data)] == times


def test_lists_of_any_length_after_each_other() -> None:
    records = [
        kodec.Record(
            offset=at, headers=tuple((f"{place}", bytes(at % 4) or None) for place in range(at % 7 % 4))
        )
        for at in range(1000)
    ]
    for size in (1, 2, 3, 10):
        assert list(kodec.read_records(kodec.encode(records, batch_records=size))) == records


def test_values_of_others_are_left_alone() -> None:
    class Text(bytes):
        pass

    records = alike(2000)
    mine, whole = b"mine" * 8, 3 * LARGE
    for at, found in enumerate(kodec.read_records(encoded(records))):
        assert found == records[at]
        found.value = Text(b"v%030d" % 0) if at % 2 else mine[1:]
        found.key, found.offset, found.timestamp = mine[:9], whole, True
        found.headers = (["a"], ("b", [found])) if at % 3 else ((mine, mine), (mine, mine))  # type: ignore[assignment]
    assert mine == b"mine" * 8 and whole == 3 * LARGE


@pytest.mark.parametrize("place", [0, 1])
def test_code_that_takes_away_what_is_being_written(place: int) -> None:
    class Loud:
        __slots__ = ()

        def __del__(self) -> None:
            dropped.append(1)
            for each in objects.items:
                each.headers = ()

    def run() -> None:
        dropped.clear()
        _, at = objects.next(data, 0, len(data))
        for found in objects.items:
            inner: list[Any] = ["a", bytes([3] * 300)]
            inner[place] = Loud()
            found.headers = (tuple(inner), ("b", bytes([4] * 301)))
        del found, inner
        _, at = objects.next(data, at, len(data))
        assert len(dropped) == 10
        objects.next(data, at, len(data))
        assert objects.items == records[20:]

    dropped: list[int] = []
    objects = record_batch.Objects(record_batch.Shape(kodec.Record))
    records = [kodec.Record(offset=at, headers=(("a", b"1" * 300), ("b", b"2" * 300))) for at in range(30)]
    data = kodec.encode(records, batch_records=10)
    run()
    tracemalloc.start()
    try:
        run()
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(100):
            run()
        # what is written into a tuple that is gone is never given back
        assert tracemalloc.get_traced_memory()[0] - start < 20_000
    finally:
        tracemalloc.stop()


def test_where_messages_end_is_known_of_each() -> None:
    records = alike(700, 1)
    reader = kodec.read_records(encoded(records, 1))
    ends = [(found.offset, reader.position) for found in reader]
    size = len(encoded(records[:1], 1))
    assert ends == [(each.offset, size * at) for at, each in enumerate(records, 1)]


# -- the same as pure Python ----------------------------------------------------------------------


def both(monkeypatch: pytest.MonkeyPatch, data: Any, **options: Any) -> list[Any]:
    """What each backend gives: the records, and where and why it ended."""
    found = []
    for name in ("pure", "native"):
        monkeypatch.setattr(kernel, "backend", lambda name=name: name)
        source = data() if callable(data) else data
        reader = kodec.read_records(source, **options)
        records: list[kodec.Record] = []
        error = None
        positions = []
        try:
            for each in reader:
                records.append(each)
                positions.append(reader.position)
        except kodec.errors.FormatError as raised:
            error = (type(raised), str(raised), raised.at, raised.path)
        skipped = [(each.start, each.end, str(each.error)) for each in reader.skipped]
        found.append((records, positions, error, reader.position, reader.torn_tail, skipped))
    return found


@pytest.mark.parametrize("control", [False, True])
def test_samples_are_read_alike(sample: Sample, control: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for source in (sample.data, sample.path, lambda: io.BytesIO(sample.data), bytearray(sample.data)):
        pure, native = both(monkeypatch, source, control=control)
        assert native == pure
        assert [tuple(map(type, dataclasses.astuple(each))) for each in native[0]] == [
            tuple(map(type, dataclasses.astuple(each))) for each in pure[0]
        ]


@pytest.mark.parametrize(("magic", "codec"), PAIRS)
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_damage_is_found_alike(
    magic: int, codec: str, on_error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = log_of(magic, codec, [b"a", b"", b"c" * 20]) + batch([record(0, b"k", b"tail")], base=900)
    for at in range(0, len(whole), 3):
        data = bytearray(whole)
        data[at] ^= 0x10
        for check_crc in (True, False):
            pure, native = both(monkeypatch, bytes(data), on_error=on_error, check_crc=check_crc)
            assert native == pure


def test_offsets_that_do_not_fit_are_left_to_pure_python(monkeypatch: pytest.MonkeyPatch) -> None:
    data = batch([record(0, b"k", b"v"), record(5, b"k", b"v")], base=2**63 - 3)
    pure, native = both(monkeypatch, data)
    assert native == pure
    assert [each.offset for each in native[0]] == [2**63 - 3, 2**63 + 2]


def test_a_large_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    data = many(5000, per_batch=5000)
    pure, native = both(monkeypatch, data)
    assert native == pure and len(native[0]) == 5000


def test_a_small_window_on_a_file_with_many_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = []
    for at in range(300):
        magic, codec = PAIRS[at % len(PAIRS)]
        parts.append(log_of(magic, codec, [b"%d" % at], base=at + (at >= 150)))
    parts.insert(150, b"\xff" * 100)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(parts) + b"\0" * 10)
    pure, native = both(monkeypatch, path, on_error="skip")
    assert native == pure and len(native[0]) == 300


# -- classes that are refused ---------------------------------------------------------------------


def test_a_class_without_the_slots_is_refused() -> None:
    class Plain:
        pass

    @dataclasses.dataclass(slots=True)
    class Short:
        offset: int = 0

    for cls in (Plain, Short, int):
        with pytest.raises(TypeError, match="has no slot"):
            record_batch.Shape(cls)
    with pytest.raises(ValueError, match="not a column of whole numbers"):
        record_batch.Shape(kodec.Record, {"key": {}})
    with pytest.raises(TypeError, match="has no slot"):
        record_batch.Shape(kodec.Record, None, {"more": ()})


def test_a_class_with_more_than_its_slots_is_made_anew_each_time() -> None:
    class More(kodec.Record):
        pass  # which gives it a __dict__

    objects = record_batch.Objects(record_batch.Shape(More))
    seen = []
    data = many(20, per_batch=10)
    status, at = objects.next(data, 0, len(data))
    while status == "ok":
        for found in objects.items:
            assert found.__dict__ == {}
            found.mine = 1
            seen.append(type(found))
        del found
        status, at = objects.next(data, at, len(data))
    assert seen == [More] * 20


def test_a_list_that_somebody_holds_stays_as_it_is() -> None:
    objects = record_batch.Objects(record_batch.Shape(kodec.Record))
    data = many(20, per_batch=10)
    _, at = objects.next(data, 0, len(data))
    held = objects.items
    objects.next(data, at, len(data))
    assert [found.offset for found in held] == list(range(10))
    assert [found.offset for found in objects.items] == list(range(10, 20))
