"""Redpanda's data directories: rows, offsets, damage, and what is refused; kodec wrote none of the bytes."""

from __future__ import annotations

import errno
import os
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kodec
from kodec.cli.main import main
from kodec.generated.log.record_batch import RecordBatch
from kodec.generated.redpanda.redpanda_batch import BatchType, RedpandaBatch
from kodec.log.batches.redpanda import HEAD_SIZE, read_header
from kodec.log.files.names import REDPANDA_OFFSETS
from kodec.log.remote.opening import open_location
from kodec.runtime.errors import ArgumentError, FormatError, OffsetsMissing, ReadFailed
from kodec.stores.context import DEFAULT
from kodec.stores.storage import StorePath
from tests.golden import Golden
from tests.log import redpandas
from tests.log.redpandas import Disk, Row

ORDERS = Path("kafka", "orders", "0_12")
EVENTS = Path("kafka", "events", "3_14")


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    DEFAULT.notes.take()
    return redpandas.disk(tmp_path / "data")


def rows_of(path: Path, topic: str, partition: int) -> list[Row]:
    log = kodec.LogDirectory(path).partition(topic, partition)
    return [Row(each.offset, each.timestamp, each.key, each.value, each.headers) for each in log.records()]


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    return code, *capsys.readouterr()


# -- rows -------------------------------------------------------------------------------------------


def test_rows_have_kafkas_offsets(disk: Disk, backend: str) -> None:
    for (topic, partition), rows in disk.rows.items():
        assert rows_of(disk.root, topic, partition) == rows


def test_a_table_has_the_same_rows(disk: Disk, backend: str) -> None:
    table = kodec.read_table(disk.root, topics=["orders"])
    rows = disk.rows["orders", 0]
    assert table["offset"].to_pylist() == [each.offset for each in rows]
    assert table["value"].to_pylist() == [each.value for each in rows]


@pytest.mark.parametrize("part", [".", "kafka", "kafka/orders", ORDERS, ORDERS / "0-1-v1.log"], ids=str)
def test_every_part_of_the_directory_is_read(disk: Disk, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [each for each in disk.rows["orders", 0] if part != ORDERS / "0-1-v1.log" or each.offset < 10]
    monkeypatch.chdir(disk.root / part if (disk.root / part).is_dir() else disk.root)
    for path in (disk.root / part, ".") if Path.cwd() != disk.root else (disk.root / part,):
        found = [each.offset for each in kodec.read_records(path) if "events" not in str(path)]
        assert set(found) >= {each.offset for each in rows}
        assert isinstance(open_location(path), StorePath)


@pytest.mark.parametrize("name", ["0_1", "kafka", "12-3-v1.log"])
def test_a_name_alone_is_not_redpandas(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "notes.txt").write_text("nothing")
    assert open_location(tmp_path / name) == tmp_path / name
    assert not isinstance(open_location(tmp_path / name), StorePath)


def test_headers_are_translated_field_by_field() -> None:
    fields = (0b101 << 3, 7, 11, 13, 17, 19, 23, 1)
    body = b"\0" * 5
    head = struct.pack("<iqbIhiqqqhii", 61 + len(body), 1000, 1, 0xDEADBEEF, *fields)
    data = struct.pack("<I", redpandas.crc(head)) + head + body
    header = read_header(data)
    assert header is not None
    made = header.as_kafka(990, 5)
    assert len(made) == HEAD_SIZE == RecordBatch.FORMS[2]["records"][0]
    want = struct.pack(">qiibIhiqqqhii", 990, 49 + len(body), 5, 2, 0xDEADBEEF, *fields)
    assert made == want
    assert RedpandaBatch.from_bytes(data).to_bytes() == data


def test_types_without_offsets_are_redpandas() -> None:
    """Those of `model::offset_translator_batch_types`."""
    found = {int(each) for each in BatchType if RedpandaBatch(type=each).takes_no_kafka_offset}
    assert found == {2, 19, 23, 25, 34, 38}


_PARTS = st.lists(
    st.tuples(st.sampled_from(["data", "own", "fence", "thinned", "segment"]), st.integers(1, 3)), max_size=12
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(parts=_PARTS)
def test_offsets_of_any_log(tmp_path: Path, parts: list[tuple[str, int]]) -> None:
    """A model counts: all offsets of the Raft log, and those of Kafka's among them."""
    folder = tmp_path / "data" / "kafka" / "any" / "0_1"
    shutil.rmtree(folder, ignore_errors=True)
    raft = kafka = base = 0
    term, batches, expected = 1, list[bytes](), list[Row]()
    for kind, count in parts:
        if kind == "segment":
            redpandas.segment(folder, base, term, *batches)
            batches, base, term = [], raft, term + 1
            continue
        if kind == "thinned" and batches:
            # compaction leaves gaps, but none at the start or the end of a segment
            raft, kafka = raft + count, kafka + count
        if kind in ("data", "thinned"):
            rows = redpandas.rows(kafka, count)
            expected += rows
            batches.append(redpandas.batch(raft, rows))
        else:
            own = redpandas.CONFIGURATION if kind == "own" else redpandas.TX_FENCE
            batches.append(redpandas.own(raft, own, count))
        raft, kafka = raft + count, kafka + (0 if kind == "own" else count)
    redpandas.segment(folder, base, term, *batches, zeros=100)
    assert rows_of(tmp_path / "data", "any", 0) == expected


# -- where the log starts ---------------------------------------------------------------------------


def test_a_snapshot_in_the_log_hides_deleted_records(disk: Disk, capsys: pytest.CaptureFixture[str]) -> None:
    # of the first segment, the offsets 0 to 8 of the Raft log, of which the first is not Kafka's
    redpandas.snapshot(disk.root / ORDERS, 8, 1, 1)
    assert rows_of(disk.root, "orders", 0) == disk.rows["orders", 0][8:]


def test_a_log_without_its_start_is_refused(
    disk: Disk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (disk.root / EVENTS / "snapshot").unlink()
    with pytest.raises(ReadFailed, match="Kafka's offsets are unknown: the log begins at the offset 100"):
        rows_of(disk.root, "events", 3)
    code, out, err = run(capsys, "find", disk.root, "--topic", "events")
    assert (code, out) == (1, "")
    assert REDPANDA_OFFSETS in err
    assert run(capsys, "find", disk.root, "--topic", "orders", "--last", "1")[0] == 0
    monkeypatch.setenv(REDPANDA_OFFSETS, "raft")
    kept = disk.rows["events", 3]
    offsets = [*range(100, 103), *range(104, 110)]
    assert rows_of(disk.root, "events", 3) == [
        row._replace(offset=at) for row, at in zip(kept, offsets, strict=True)
    ]


@pytest.mark.parametrize(("last", "delta"), [(99, -1), (99, 101), (90, 40), (300, 40)])
def test_a_snapshot_that_does_not_fit_shows_no_offsets(disk: Disk, last: int, delta: int) -> None:
    redpandas.snapshot(disk.root / EVENTS, last, 4, delta)
    with pytest.raises(ReadFailed, match="offsets are unknown"):
        rows_of(disk.root, "events", 3)


@pytest.mark.parametrize("size", range(0, 40, 3))
def test_a_damaged_snapshot_is_an_error_of_its_log(disk: Disk, size: int) -> None:
    path = disk.root / EVENTS / "snapshot"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ReadFailed, match="snapshot"):
        rows_of(disk.root, "events", 3)
    assert rows_of(disk.root, "orders", 0) == disk.rows["orders", 0]


# -- damage -----------------------------------------------------------------------------------------


def salvaged(source: Path, to: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code, _, err = run(capsys, "salvage", source, "--to", to, "--apply")
    assert run(capsys, "verify", to)[0] == 0 or code
    return code, err


def test_salvage_and_convert_write_kafkas_logs(
    disk: Disk, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    new = disk.root.parent / "new"
    code, err = salvaged(disk.root, new, capsys)
    assert code == 0
    golden(err)
    converted = disk.root.parent / "converted"
    words = ("convert", disk.root / ORDERS, "--compression", "zstd", "--to", converted, "--apply")
    assert run(capsys, *words)[0] == 0
    for (topic, partition), rows in disk.rows.items():
        assert rows_of(new, topic, partition) == rows
    assert rows_of(converted, "orders", 0) == disk.rows["orders", 0]
    assert run(capsys, "diff", disk.root, new)[0] == 0


def changed(path: Path, change: Callable[[bytearray], object]) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def flip(at: int) -> Callable[[bytearray], object]:
    def change(data: bytearray) -> None:
        data[at] ^= 1

    return change


FIRST = len(redpandas.own(0))


@pytest.mark.parametrize("at", [*range(FIRST, FIRST + 61, 4), FIRST + 61, FIRST + 90])
def test_a_damaged_batch_is_left_out_and_the_others_kept(
    disk: Disk, at: int, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(disk.root / ORDERS / "0-1-v1.log", flip(at))
    with pytest.raises(FormatError):
        rows_of(disk.root, "orders", 0)
    assert run(capsys, "verify", disk.root)[0] == 1
    code, err = salvaged(disk.root, disk.root.parent / "new", capsys)
    assert (code, "offsets 0 to 3" in err) == (1, True)
    assert rows_of(disk.root.parent / "new", "orders", 0) == disk.rows["orders", 0][4:]
    if at < FIRST + 61:
        assert f"byte {FIRST}: no header of a batch" in err


def test_zeros_where_batches_were_are_damage(disk: Disk, capsys: pytest.CaptureFixture[str]) -> None:
    changed(disk.root / EVENTS / "100-5-v1.log", lambda data: data.__setitem__(slice(10, 400), bytes(390)))
    code, err = salvaged(disk.root, disk.root.parent / "new", capsys)
    assert (code, "offsets from 60 on: Malformed" in err) == (1, True)


@pytest.mark.parametrize("cut", [20, 290, 330])
def test_a_batch_that_was_not_written_whole_is_a_torn_tail(
    disk: Disk, cut: int, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(disk.root / EVENTS / "100-5-v1.log", lambda data: data.__delitem__(slice(-cut, None)))
    assert "torn" in run(capsys, "ls", disk.root)[1]
    assert rows_of(disk.root, "events", 3) == disk.rows["events", 3][:3]


@pytest.mark.parametrize("kind", [redpandas.CLOUD, 77, 0, -5])
def test_records_that_cannot_be_read_are_said(
    disk: Disk, kind: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = disk.root / EVENTS / "100-5-v1.log"
    more = redpandas.rows(70, 2)
    path.write_bytes(path.read_bytes() + redpandas.own(110, kind) + redpandas.batch(111, more))
    with pytest.raises(FormatError):
        rows_of(disk.root, "events", 3)
    code, err = salvaged(disk.root, disk.root.parent / "new", capsys)
    assert (code, "offsets 69 to 69" in err) == (1, True)
    assert rows_of(disk.root.parent / "new", "events", 3) == disk.rows["events", 3] + more
    assert ("object storage" in err) == (kind == redpandas.CLOUD)


def test_a_missing_segment_is_said(disk: Disk, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    (disk.root / ORDERS / "11-2-v1.log").unlink()
    code, _, err = run(capsys, "find", disk.root, "--topic", "orders", "--count")
    assert code == 1
    golden(err)


def test_two_segments_of_one_offset_are_refused(disk: Disk) -> None:
    redpandas.segment(disk.root / ORDERS, 0, 9, redpandas.batch(0, redpandas.rows(0, 1)))
    with pytest.raises(ReadFailed):
        rows_of(disk.root, "orders", 0)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_bytes_give_records_or_our_errors(tmp_path: Path, data: st.DataObject) -> None:
    root = tmp_path / "data"
    shutil.rmtree(root, ignore_errors=True)
    whole = redpandas.disk(root)
    for path in (root / ORDERS / "0-1-v1.log", root / EVENTS / "100-5-v1.log", root / EVENTS / "snapshot"):
        at = data.draw(st.integers(0, path.stat().st_size))
        kind = data.draw(st.sampled_from(["cut", "flip", "insert", "zeros", "none"]))
        some = data.draw(st.binary(max_size=80))
        old = path.read_bytes()
        new = {
            "cut": old[:at],
            "flip": old[:at] + some + old[at + len(some) :],
            "insert": old[:at] + some + old[at:],
            "zeros": old[:at] + bytes(len(some)) + old[at + len(some) :],
            "none": old,
        }[kind]
        path.write_bytes(new)
    written = {(each.timestamp, each.key, each.value) for rows in whole.rows.values() for each in rows}
    for folder in (ORDERS, EVENTS):
        try:
            found = list(kodec.read_records(root / folder, on_error="skip"))
        except (FormatError, ReadFailed, OffsetsMissing):
            continue
        assert {(each.timestamp, each.key, each.value) for each in found} <= written


def test_a_folder_that_cannot_be_listed_is_said(
    disk: Disk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    list_folder = os.scandir

    def scandir(path: Path) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        if Path(path).name in ("lost+found", "pays"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return list_folder(path)

    (disk.root / "lost+found").mkdir()
    monkeypatch.setattr(os, "scandir", scandir)
    code, out, err = run(capsys, "ls", disk.root)
    assert (code, "orders" in out, "pays" in out) == (1, True, False)
    golden(err)
    assert "lost+found" not in err


# -- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("recover", "LOGS"),
        ("compact", "LOGS"),
        ("trim", "LOGS", "--topic", "orders", "--before-offset", "3"),
        ("redact", "LOGS", "--topic", "orders", "--key", "key-1"),
        ("reindex", "LOGS"),
        ("backup", "LOGS", "--to", "NEW"),
    ],
    ids=lambda words: str(words[0]),
)
def test_verbs_that_write_in_place_refuse(
    disk: Disk, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in disk.root.rglob("*") if path.is_file()}
    for logs in (disk.root, disk.root / "kafka", disk.root / ORDERS):
        given = [{"LOGS": str(logs), "NEW": str(disk.root.parent / "new")}.get(word, word) for word in words]
        code, _, err = run(capsys, *given)
        assert (code, "Redpanda's data, which is only read" in " ".join(err.split())) == (2, True), err
    assert {path: path.read_bytes() for path in disk.root.rglob("*") if path.is_file()} == before
    assert not (disk.root.parent / "new").exists()


def test_nothing_is_written_into_the_directory(disk: Disk, capsys: pytest.CaptureFixture[str]) -> None:
    kafkas = Path(kodec.__file__).parents[2] / "tests" / "data" / "kafka-4.3.1" / "logs" / "orders-0"
    new = disk.root / "new"
    for words, why in (
        (("salvage", disk.root / ORDERS, "--to", new, "--apply"), "Redpanda's data, which is only read"),
        (("salvage", kafkas, "--to", new, "--apply"), "Redpanda's data, which is only read"),
        (("export", disk.root / ORDERS, "--to", new), "is inside the source"),
    ):
        code, _, err = run(capsys, *words)
        assert (code != 0, why in " ".join(err.split()), new.exists()) == (True, True, False), err
    with pytest.raises(ArgumentError):
        (open_location(disk.root / ORDERS) / "new").open("wb")


def test_a_segment_with_a_schema_is_read_as_it_is(disk: Disk, capsys: pytest.CaptureFixture[str]) -> None:
    schema = Path(kodec.__file__).parent / "schemas" / "redpanda" / "redpanda_segment.ksy"
    code, out, _ = run(capsys, "dump", "--schema", schema, disk.root / ORDERS / "0-1-v1.log")
    assert code == 0
    assert "type: raft_configuration" in out
