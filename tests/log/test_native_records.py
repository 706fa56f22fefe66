"""Records of the native reader: read when they are touched, and otherwise like any other record."""

from __future__ import annotations

import copy
import dataclasses
import gc
import io
import os
import pickle
import subprocess
import sys
import textwrap
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.log import kernel
from kodec.log.entries.options import ReadOptions

from .conftest import Sample
from .wire import PAIRS, batch, log_of, record

if not kernel.is_built():
    pytest.skip("the native kernel is not built", allow_module_level=True)

from kodec.generated.kernels import record_batch
from kodec.log.backends.native.records import NativeRecordDecoder

FIELDS = [field.name for field in dataclasses.fields(kodec.Record)]
EXPECTED = kodec.Record(
    7, 1000, kodec.TimestampType.CreateTime, b"k", None, (("a", b"1"), ("\udcff", None), ("", b""))
)
DATA = kodec.encode([EXPECTED])


@pytest.fixture(autouse=True)
def native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "backend", lambda: "native")


def is_unread(found: kodec.Record) -> bool:
    try:
        return type(object.__getattribute__(found, "_batch")) is record_batch.Unread
    except AttributeError:
        return False


def unread() -> kodec.Record:
    (found,) = kodec.read_records(DATA)
    assert is_unread(found)
    return found


def many(count: int, *, per_batch: int = 100, codec: str = "none") -> bytes:
    records = [kodec.Record(at, at, key=b"%d" % at, value=bytes(at % 50)) for at in range(count)]
    return kodec.encode(records, batch_records=per_batch, compression=codec)


def test_it_is_the_reader_in_use() -> None:
    assert isinstance(kernel.record_decoder(ReadOptions()), NativeRecordDecoder)


# -- an unread record is a record -----------------------------------------------------------------

LOOKS: dict[str, Callable[[kodec.Record], Any]] = {
    "==": lambda found: found == EXPECTED,
    "== from the right": EXPECTED.__eq__,
    "== unread": lambda found: found == unread(),
    "!=": lambda found: found != dataclasses.replace(EXPECTED, offset=8),
    "repr": repr,
    "pickle": lambda found: pickle.loads(pickle.dumps(found)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "replace": lambda found: dataclasses.replace(found, offset=8),
    "asdict": dataclasses.asdict,
    "astuple": dataclasses.astuple,
    "hasattr": lambda found: (hasattr(found, "value"), hasattr(found, "nothing"), hasattr(found, "__len__")),
    "encode": lambda found: kodec.encode([found]),
    **{name: lambda found, name=name: getattr(found, name) for name in FIELDS},
}


@pytest.mark.parametrize("look", LOOKS)
def test_whatever_looks_at_it(look: str) -> None:
    found = unread()
    assert type(found) is kodec.Record
    assert LOOKS[look](found) == LOOKS[look](copy.copy(EXPECTED))
    assert not is_unread(found)
    assert found == EXPECTED and repr(found) == repr(EXPECTED)
    assert [type(getattr(found, name)) for name in FIELDS] == [
        type(getattr(EXPECTED, name)) for name in FIELDS
    ]


def test_a_match_looks_at_it() -> None:
    match unread():
        case kodec.Record(offset, _, kodec.TimestampType.CreateTime, b"k", None, [*headers]):
            assert offset == 7 and len(headers) == 3
        case _:
            pytest.fail("no match")


def test_it_has_no_hash_and_no_other_attribute() -> None:
    found = unread()
    with pytest.raises(TypeError, match="unhashable"):
        hash(found)
    with pytest.raises(AttributeError, match="'Record' object has no attribute 'nothing'"):
        found.nothing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError):
        found.nothing = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", FIELDS)
def test_what_was_set_before_it_was_read_stays(name: str) -> None:
    found = unread()
    setattr(found, name, "mine")
    assert getattr(found, name) == "mine"
    assert found == dataclasses.replace(EXPECTED, **{name: "mine"})


def test_control_records_are_read_at_once() -> None:
    path = Path(__file__).parents[1] / "data/kafka-4.3.1/logs/transactions-0/00000000000000000000.log"
    found = list(kodec.read_records(path, control=True))
    kinds = {type(each) for each in found}
    assert kinds == {kodec.Record, kodec.ControlRecord}
    assert all(is_unread(each) == (type(each) is kodec.Record) for each in found)


def test_records_of_a_batch_are_read_at_once() -> None:
    (found,) = kodec.read_batches(DATA)
    records = found.records()
    assert not any(map(is_unread, records)) and records == [EXPECTED]


# -- what is kept alive ---------------------------------------------------------------------------


def test_a_habit_is_learned_and_forgotten() -> None:
    habits = []
    for touch in (False, True, False):
        made = 0
        for found in kodec.read_records(many(3000)):
            made += is_unread(found)
            if touch:
                assert found.offset >= 0
        habits.append(made)
    assert habits[0] == habits[2] == 3000 and 4 <= habits[1] < 20


def test_a_record_that_nobody_kept_is_used_again() -> None:
    seen = {id(found) for found in kodec.read_records(many(1000))}
    assert len(seen) <= 3
    kept = list(kodec.read_records(many(1000)))
    assert len({id(found) for found in kept}) == 1000
    assert [found.offset for found in kept] == list(range(1000))


@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_some_are_kept_and_some_are_touched(step: int) -> None:
    kept, touched = [], []
    for index, found in enumerate(kodec.read_records(many(5000))):
        if index % step == 0:
            kept.append(found)
        if index % 2 == 0:
            touched.append(found.offset)
    assert touched == list(range(0, 5000, 2))
    assert [(each.offset, each.key) for each in kept] == [(at, b"%d" % at) for at in range(0, 5000, step)]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_touched_record_lets_go_of_its_batch(codec: str) -> None:
    large = kodec.encode(
        [kodec.Record(at, value=bytes(1 << 20)) for at in range(8)], compression=codec, batch_bytes=1 << 30
    )
    tracemalloc.start()
    try:
        first = next(iter(kodec.read_records(io.BytesIO(large))))
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
        assert first.offset == 0
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept > 8 << 20
    assert after < 2 << 20


@pytest.mark.parametrize("way", ["walk", "touch", "keep", "drop", "list"])
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
            if way == "touch":
                assert found.value is not None
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
        found.value = [found, Sentinel()]  # type: ignore[assignment]
    del found
    gc.collect()
    assert Sentinel.gone == 1


def test_code_that_runs_when_a_value_is_dropped() -> None:
    class Sentinel:
        def __del__(self) -> None:
            got.append(next(reader).offset)

    got: list[int] = []
    reader = kodec.read_records(many(50, per_batch=10))
    for found in reader:
        got.append(found.offset)
        if found.offset == 20:
            found.value = Sentinel()  # type: ignore[assignment]
    assert sorted(got) == sorted(set(got)) and set(got) == set(range(50))


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


def test_threads_may_touch_the_same_records() -> None:
    expected = [found.offset for found in kodec.read_records(many(20_000))]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            shared = list(kodec.read_records(many(20_000)))
            found = pool.map(lambda _: [each.offset for each in shared], range(4))  # noqa: B023
            assert all(each == expected for each in found)


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


def test_a_batch_with_more_rows_than_numbers_kept_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    data = many(5000, per_batch=5000)
    pure, native = both(monkeypatch, data)
    assert native == pure and len(native[0]) == 5000


def test_a_small_window_on_a_file_with_many_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = []
    for at in range(300):
        magic, codec = PAIRS[at % len(PAIRS)]
        parts.append(log_of(magic, codec, [b"%d" % at], base=10 * at))
    parts.insert(150, b"\xff" * 100)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(parts) + b"\0" * 10)
    pure, native = both(monkeypatch, path, on_error="skip")
    assert native == pure and len(native[0]) == 300


# -- hostile to the slots -------------------------------------------------------------------------


def test_slots_that_were_tampered_with_do_no_harm() -> None:
    script = """
        import kodec
        data = kodec.encode([kodec.Record(at, at, key=b"k") for at in range(3)])
        first, second, third = kodec.read_records(data)
        for number in (3, -1, 10**30, "x"):
            first._row = number
            try:
                first.offset
            except (IndexError, OverflowError, TypeError, AttributeError) as error:
                print(type(error).__name__)
        first._row = 1
        print(first.offset)
        second._batch = object()
        try:
            second.offset
        except AttributeError as error:
            print(error)
        third._batch.read(kodec.Record())
        try:
            third._batch.read(5)
        except TypeError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[4:6] == ["1", "'Record' object has no attribute 'offset'"]
    assert len(done.stdout.split("\n")) == 8


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
