"""What a kernel's classes refuse: calls out of order, and objects that would not hold."""

from __future__ import annotations

import gc
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import kodec
from kodec.log import kernel

if not kernel.is_built():
    pytest.skip("the native kernel is not built", allow_module_level=True)

from kodec.generated.kernels import message_set, record_batch
from kodec.log.backends.native.order import LAYOUT
from kodec.log.batches.partitioner import SEED
from kodec.runtime.native import bindings

RECORDS = [kodec.Record(offset=at, timestamp=1000 + at, key=b"k", value=bytes(at)) for at in range(50)]
DATA = kodec.encode(RECORDS, batch_records=10)
PACKED = kodec.encode(RECORDS, compression="gzip")
KINDS = {"timestamp_type": {int(kind): kind for kind in kodec.TimestampType}}


def gathered(**options: Any) -> record_batch.Rows:
    rows = record_batch.Rows(**options)
    assert rows.run(DATA, 0, len(DATA)) == ("end", len(DATA))
    return rows


def objects(module: Any = record_batch, **options: Any) -> Any:
    others = {"headers": ()} if module is message_set else None
    return module.Objects(module.Shape(kodec.Record, KINDS, others), **options)


@pytest.mark.parametrize("module", [record_batch, message_set])
@pytest.mark.parametrize("codec", range(8))
def test_content_is_that_of_a_compressed_unit_or_an_error(module: Any, codec: int) -> None:
    magic = 2 if module is record_batch else 1
    rows = [kodec.Record(offset=0, timestamp=1)]
    data = bytearray(kodec.encode(rows, magic=magic, compression="gzip"))
    at = 22 if magic == 2 else 17
    data[at] = data[at] & 0xF8 | codec
    for item, read in ((module.Rows(check=False), "run"), (objects(module, check=False), "next")):
        with pytest.raises(ValueError, match="no compressed unit"):
            item.content  # noqa: B018
        with pytest.raises(ValueError, match="no compressed unit"):
            item.rows(b"")
        status, _ = getattr(item, read)(data, 0, len(data))
        if status == "compressed":
            assert item.content[0] in ("gzip", "snappy", "lz4", "zstd")
        else:
            with pytest.raises(ValueError, match="no compressed unit"):
                item.content  # noqa: B018
        assert (status == "compressed") == (codec in (range(1, 5) if magic == 2 else range(1, 4)))


def test_a_view_of_numbers_holds_its_rows() -> None:
    view = gathered().values("offset", 10)
    gc.collect()
    assert (view.format, view.tolist()) == ("q", list(range(10, 50)))
    assert gathered().values("timestamp_type", 48).tolist() == [0, 0]
    assert gathered().values("offset", 50).tolist() == []


def test_a_view_of_numbers_bars_what_would_move_them() -> None:
    rows = gathered()
    view = rows.values("offset", 0)
    part = view[5:7]
    del view
    for call in (lambda: rows.run(DATA, 0, len(DATA)), lambda: rows.cut(1), rows.take):
        with pytest.raises(BufferError, match="in use"):
            call()
    rows.add("offset", 0, 100)
    assert part.tolist() == [105, 106] and len(rows) == 50
    behind = part.obj
    del part
    assert memoryview(behind).tolist()[:2] == [100, 101]
    rows.take()
    with pytest.raises(BufferError, match="the numbers have moved"):
        memoryview(behind)


def test_a_view_that_the_collector_drops_is_a_view_that_is_let_go() -> None:
    rows = gathered()
    gc.collect()
    around: list[Any] = [rows.values("offset", 0)]
    around.append(around)
    with pytest.raises(BufferError, match="in use"):
        rows.take()
    del around
    assert gc.collect() >= 1
    assert pa.array(rows.take()).field("offset").to_pylist() == list(range(50))


def test_a_layout_of_units_is_refused_whose_numbers_are_outside_of_them() -> None:
    assert bindings.in_order(DATA, 0, len(DATA), LAYOUT, -1, 2**62, False) == (len(DATA), 49, False)
    *places, singles, ((kind, *more),) = LAYOUT
    plain = [*places, *more]
    for at in range(len(plain)):
        for number in (-1, 0, 2**31, 2**64 - 1):
            changed = [number if i == at else each for i, each in enumerate(plain)]
            layout = (*changed[:5], singles, ((kind, *changed[5:]),))
            try:
                found = bindings.in_order(DATA, 0, len(DATA), layout, -1, 2**62, False)
            except (ValueError, OverflowError):
                continue
            assert 0 <= found[0] <= len(DATA)
    with pytest.raises(ValueError, match="within the least size"):
        bindings.in_order(DATA, 0, len(DATA), (0, 0, 0, 0, 0, b"", ()), -1, 2**62, False)
    for wrong in (((128, 0, 4, 8),), ((-1, 0, 4, 8),), ((2, 0, 4, 8),) * 2, ((0, 0, 4, 8),)):
        with pytest.raises(ValueError, match="each is there once"):
            bindings.in_order(DATA, 0, len(DATA), (*places, singles, wrong), -1, 2**62, False)
    with pytest.raises(ValueError, match="more than 16 kinds"):
        bindings.in_order(DATA, 0, len(DATA), (*places, b"", ((2, 0, 4, 8),) * 17), -1, 2**62, False)


def test_offsets_of_what_is_hashed_lie_in_the_data() -> None:
    def places(*numbers: int) -> bytes:
        return struct.pack(f"{len(numbers)}i", *numbers)

    (wanted,) = struct.unpack("I", bindings.murmur2(b"foobar", places(0, 6), 0, 1, SEED))
    # As `Utils.murmur2` of Kafka.
    assert wanted == -790332482 & 0xFFFFFFFF
    assert bindings.murmur2(b"xfoobarx", places(9, 1, 7), 1, 1, SEED) == struct.pack("I", wanted)
    assert bindings.murmur2(b"", places(0, 0), 0, 1, SEED) == bindings.murmur2(b"x", places(1, 1), 0, 1, SEED)
    assert bindings.murmur2(b"", places(0), 0, 0, SEED) == b""
    for offsets, first, count in [
        (places(0, 7), 0, 1),
        (places(-1, 3), 0, 1),
        (places(3, 2), 0, 1),
        (places(0, 6), 0, 2),
        (places(0, 6), 2, 0),
        (places(0, 6), 0, 2**64 - 1),
        (places(0, 6), 2**64 - 1, 1),
        (b"", 0, 0),
        (places(0, 6)[:-1], 0, 1),
    ]:
        with pytest.raises(ValueError, match="offsets: "):
            bindings.murmur2(b"foobar", offsets, first, count, SEED)
    with pytest.raises(ValueError, match="not aligned"):
        bindings.murmur2(b"foobar", memoryview(b"." + places(0, 6))[1:], 0, 1, SEED)


def test_a_view_bars_rows_that_were_decompressed() -> None:
    rows = record_batch.Rows()
    rows.run(PACKED, 0, len(PACKED))
    view = rows.values("offset", 0)
    with pytest.raises(BufferError, match="in use"):
        rows.rows(b"")
    assert view.tolist() == []


def test_to_initialise_again_changes_nothing() -> None:
    rows = gathered(columns=["offset"])
    rows.__init__(columns=["value", "headers"], elements=0)  # type: ignore[misc]
    assert rows.run(DATA, 0, len(DATA)) == ("end", len(DATA))
    made = pa.array(rows.take())
    assert (made.type.num_fields, len(made)) == (1, 100)


def test_what_is_of_no_kernel_is_refused() -> None:
    for cls in (bindings.Rows, bindings.Heads, bindings.Writer):
        with pytest.raises(TypeError, match="of no kernel"):
            cls()
    with pytest.raises(TypeError, match="of no kernel"):
        bindings.Shape(kodec.Record)
    with pytest.raises(TypeError, match="not of message_set"):
        message_set.Objects(record_batch.Shape(kodec.Record))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="incorrect name"):
        bindings.Kernel(pa.array([1]).__arrow_c_array__()[0])


def test_columns_that_cannot_be_loaded_leave_none() -> None:
    writer = record_batch.Writer()
    (batch,) = kodec.read_table(DATA).to_batches()
    writer.load(batch)
    for wrong in (pa.record_batch({"nothing": [1] * 50}), pa.record_batch({"offset": ["a"] * 50})):
        with pytest.raises(ValueError, match="is missing, or of another type"):
            writer.load(wrong)
        with pytest.raises(ValueError, match="no such rows"):
            writer.rows(0, 50)
    writer.load(batch)
    assert writer.rows(0, 50) == "ok"
    schema, array = batch.__arrow_c_array__()

    class Given:
        def __arrow_c_array__(self) -> tuple[object, object]:
            return schema, array

    pa.RecordBatch._import_from_c_capsule(schema, array)
    with pytest.raises(ValueError, match="was released"):
        writer.load(Given())


def test_a_call_from_within_another_is_refused() -> None:
    """Code that runs while the objects made before are filled again."""
    reader = objects()
    refused = []

    class Loud:
        def __del__(self) -> None:
            for call in (lambda: reader.next(DATA, 0, len(DATA)), lambda: reader.rows(b"")):
                try:
                    call()
                except ValueError as error:
                    refused.append(str(error))
            reader.forget()
            gc.collect()

    _, at = reader.next(DATA, 0, len(DATA))
    for found in reader.items:
        found.value = Loud()
    del found
    status, _ = reader.next(DATA, at, len(DATA))
    assert status == "ok" and len(refused) == 20
    assert set(refused) == {"already in use by another call", "no compressed unit was reached"}


def test_two_threads_on_one_object_do_no_harm() -> None:
    data = DATA * 200
    rows = record_batch.Rows(rows=1 << 40, nbytes=1 << 40)
    done: list[str] = []

    def work() -> None:
        for _ in range(20):
            try:
                done.append(rows.run(data, 0, len(data))[0])
                rows.take()
            except ValueError as error:
                done.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(done) <= {"end", "already in use by another call"} and len(done) == 80


def test_a_refused_call_loses_nothing_of_what_is_flattened() -> None:
    def lists() -> Iterator[list[int]]:
        for at in range(3):
            with pytest.raises(ValueError, match="already executing"):
                next(flat)
            yield [at, at + 10]

    flat = bindings.Flattened(lists())
    assert list(flat) == [0, 10, 1, 11, 2, 12] and list(flat) == []
