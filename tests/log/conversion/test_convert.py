"""Conversion keeps what the new format can hold, reports what it cannot, and never moves an offset."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kodec
from kodec.cli.main import main
from kodec.log.batches.batch import Batch
from kodec.log.conversion.batches import convert_batches
from kodec.log.conversion.options import ConvertOptions
from kodec.log.conversion.partition import plan_conversion
from kodec.log.conversion.report import ConversionReport, Loss
from kodec.log.files.listing import ReplicaKind, TopicPartition, parse_folder_name
from kodec.log.verification.verify import verify_partition
from tests.data import DATA
from tests.log import made, wire
from tests.log.made import DAY, START, batch, marker

pytestmark = pytest.mark.quick

SAMPLES = sorted((DATA / "samples").glob("*.log"))
TOPICS = ("compacted", "compacted-often", "transactions", "upgraded", "append.time", "segments", "orders")
LOGS = [
    folder
    for release in ("kafka-0.9.0.1", "kafka-0.10.2.2", "kafka-0.11.0.3", "kafka-3.9.1", "kafka-4.3.1")
    for folder in sorted((DATA / release / "logs").glob("*-0"))
    if folder.name[:-2] in TOPICS or folder.name.startswith("v")
]
Row = tuple[int, int, str, bytes | None, bytes | None, Any]


@pytest.fixture(autouse=True, scope="module")
def _no_waiting_for_the_disk() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


def row(record: kodec.Record) -> Row:
    kind = str(record.timestamp_type)
    return (record.offset, record.timestamp, kind, record.key, record.value, tuple(record.headers))


def held(rows: list[Row], magic: int | None) -> list[Row]:
    """What a format can hold of rows."""
    if magic is None:
        return rows
    found = []
    for offset, timestamp, kind, key, value, headers in rows:
        if magic == 0:
            found.append((offset, -1, "NoTimestampType", key, value, ()))
        else:
            known = "CreateTime" if kind == "NoTimestampType" else kind
            found.append((offset, timestamp, known, key, value, headers if magic == 2 else ()))
    return found


def names(report: ConversionReport) -> dict[str, int]:
    return {what.name: losses.count for what, losses in report.losses.items()}


# -- batches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("codec", list(wire.CODES))
def test_recompressing_keeps_every_row_and_every_other_field(path: Path, codec: str) -> None:
    old = list(kodec.read_batches(path))
    if codec == "zstd" and any(each.magic != 2 for each in old):
        with pytest.raises(kodec.errors.EncodeError, match="not a codec of magic"):
            list(convert_batches(old, ConvertOptions(compression=codec)))
        return
    data = b"".join(convert_batches(old, ConvertOptions(compression=codec)))
    new = list(kodec.read_batches(data))
    assert [row(record) for each in new for record in each.records()] == [
        row(record) for each in old for record in each.records()
    ]
    assert all(each.crc_ok for each in new)
    assert {each.codec for each in new if each.count} == {codec}
    for before, after in zip(old, new, strict=False):
        if before.magic == 2:
            assert header(before) == header(after)
    # Back again, and the content is what it was.
    if all(each.magic == 2 for each in old):
        again = list(convert_batches(new, ConvertOptions(compression="none")))
        assert again == list(convert_batches(old, ConvertOptions(compression="none")))


def header(batch: Batch) -> dict[str, Any]:
    """All that a header of magic 2 says but its length, checksum and codec."""
    fields = "base_offset last_offset base_timestamp max_timestamp count partition_leader_epoch"
    more = (
        " producer_id producer_epoch base_sequence delete_horizon timestamp_type is_transactional is_control"
    )
    found = {name: getattr(batch, name) for name in (fields + more).split()}
    return found | {"bits": batch.attributes & ~7}


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
@pytest.mark.parametrize("other", ["gzip", "snappy", "lz4"])
def test_a_wrapper_keeps_its_header_and_the_messages_inside(magic: int, codec: str, other: str) -> None:
    inner = wire.message(0, b"a", b"1", magic=magic, time=7) + wire.message(
        3, b"b", None, magic=magic, time=5
    )
    # A wrapper whose own time is not that of a message inside, as old brokers left it.
    data = wire.wrapper(13, inner, codec, magic=magic, time=99)
    (old,) = kodec.read_batches(data)
    (new,) = kodec.read_batches(b"".join(convert_batches([old], ConvertOptions(compression=other))))
    assert [row(record) for record in new.records()] == [row(record) for record in old.records()]
    assert (new.codec, new.last_offset, new.max_timestamp) == (other, 13, old.max_timestamp)


def test_messages_that_stand_alone_become_batches_of_a_size() -> None:
    data = b"".join(wire.message(at, b"k", b"v" * 100, magic=1, time=at) for at in range(100))
    old = list(kodec.read_batches(data))
    for options, least, most in (
        ({"magic": 2, "batch_bytes": 1000}, 11, 20),
        ({"compression": "gzip"}, 1, 1),
        ({"magic": 2, "compression": "zstd", "batch_bytes": 1}, 100, 100),
        ({"magic": 0}, 100, 100),
    ):
        report = ConversionReport()
        parts = list(convert_batches(old, ConvertOptions(**options), report=report))
        new = list(kodec.read_batches(b"".join(parts)))
        assert least <= len(new) <= most
        assert report.records == report.records_written == 100
        rows = held([row(record) for each in old for record in each.records()], options.get("magic"))
        assert [row(record) for each in new for record in each.records()] == rows


def test_a_level_alone_compresses_anew_what_has_levels() -> None:
    pairs: list[tuple[bytes | None, bytes | None]] = [
        (b"k%d" % at, b"value %d" % (at % 7)) for at in range(500)
    ]
    old = [
        next(iter(kodec.read_batches(batch(0, pairs, codec=codec))))
        for codec in ("none", "snappy", "gzip", "zstd")
    ]
    new = list(convert_batches(old, ConvertOptions(level=9)))
    assert [data == each.data for data, each in zip(new, old, strict=True)] == [True, True, False, False]
    assert len(new[2]) < old[2].size
    with pytest.raises(kodec.errors.EncodeError, match="level"):
        list(convert_batches(old, ConvertOptions(compression="snappy", level=9)))


def test_what_compaction_left_stays() -> None:
    rows = wire.record(4, b"a", b"1", time=-500) + wire.record(7, b"b", None, time=-400)
    sparse = wire.batch(
        rows, base=100, count=2, attributes=0x40 | 0x180, last_delta=20, base_time=START, max_time=START - 400
    )
    empty = wire.batch(
        [], base=121, last_delta=9, base_time=-1, max_time=START, producer=(5, 1, 70), attributes=4
    )
    old = list(kodec.read_batches(sparse + empty))
    new = list(kodec.read_batches(b"".join(convert_batches(old, ConvertOptions(compression="lz4")))))
    assert [header(each) for each in new] == [header(each) for each in old]
    assert new[1].data == empty
    assert new[0].records() == old[0].records()


def test_a_header_with_garbage_behind_is_an_error() -> None:
    (old,) = kodec.read_batches(wire.batch(b"no zstd", count=1, attributes=4))
    with pytest.raises(kodec.errors.FormatError, match=r"RecordBatch\(base_offset=0\)\.records"):
        list(convert_batches([old], ConvertOptions(compression="none")))


records = st.lists(
    st.builds(
        kodec.Record,
        timestamp=st.integers(0, 1 << 40),
        key=st.none() | st.binary(max_size=4),
        value=st.none() | st.binary(max_size=4),
        headers=st.lists(st.tuples(st.text(max_size=2), st.none() | st.binary(max_size=2)), max_size=2).map(
            tuple
        ),
    ),
    min_size=1,
    max_size=8,
)


@given(st.lists(st.tuples(records, st.sampled_from(["none", "gzip", "lz4"])), max_size=4), st.integers(0, 9))
def test_down_and_up_again_keeps_what_the_old_format_can_hold(
    parts: list[tuple[list[kodec.Record], str]], base: int
) -> None:
    data, at = b"", base
    for part, codec in parts:
        data += kodec.encode(part, compression=codec, base_offset=at)
        at += len(part) + 2
    old = [row(record) for record in kodec.read_records(data)]
    for magic in (1, 0):
        report = ConversionReport()
        down = b"".join(convert_batches(kodec.read_batches(data), ConvertOptions(magic=magic), report=report))
        assert {each.magic for each in kodec.read_batches(down)} <= {magic}
        assert [row(record) for record in kodec.read_records(down)] == held(old, magic)
        lost = names(report)
        assert lost.get("HEADERS", 0) == sum(bool(each[5]) for each in old)
        assert lost.get("TIMESTAMPS", 0) == (len(old) if magic == 0 else 0)
        up = b"".join(convert_batches(kodec.read_batches(down), ConvertOptions(magic=2)))
        assert {each.magic for each in kodec.read_batches(up)} <= {2}
        assert [row(record) for record in kodec.read_records(up)] == held(held(old, magic), 2)
    same = list(convert_batches(kodec.read_batches(data), ConvertOptions(magic=2)))
    assert b"".join(same) == data


def test_each_loss_is_told_with_its_first_places(tmp_path: Path) -> None:
    folder = made.make(
        tmp_path / "topic-0",
        [
            (
                0,
                [
                    batch(0, [(b"a", b"1"), (b"b", b"2")], producer=(1, 0, 0), transactional=True),
                    marker(2, 1, commit=False),
                    batch(3, [(b"a", b"1")], producer=(2, 0, 0), transactional=True),
                    marker(4, 2, commit=True),
                    wire.batch([], base=5, last_delta=4, producer=(2, 0, 1), epoch=0),
                ],
            ),
            (10, [batch(10, [(b"c", b"1")], producer=(3, 0, 0), transactional=True)]),
            (11, [wire.batch([wire.record(0, b"d")], base=11, last_delta=3, attributes=0x40)]),
        ],
        aborted=[(1, 0, 2)],
    )
    report = plan_conversion(folder, tmp_path / "preview" / "topic-0", ConvertOptions(magic=1)).preview()
    assert names(report) == {
        "PRODUCERS": 4,
        "TRANSACTIONAL": 3,
        "LEADER_EPOCHS": 4,
        "HEADERS": 4,
        "ABORTED": 2,
        "CONTROL": 2,
        "EMPTY": 1,
        "UNDECIDED": 1,
        "DELETE_HORIZONS": 1,
        "LAST_OFFSETS": 1,
    }
    first = "00000000000000000000.log"
    assert report.losses[Loss.CONTROL].first == [(first, 2), (first, 4)]
    assert report.losses[Loss.UNDECIDED].first == [("00000000000000000010.log", 10)]
    assert report.end_segment == 15
    assert (report.records, report.records_written) == (7, 5)
    plain = plan_conversion(
        folder, tmp_path / "out" / "topic-0", ConvertOptions(magic=1, committed=True)
    ).apply()
    assert names(plain)["LEFT_OUT"] == 3
    assert [record.offset for record in made.rows(tmp_path / "out" / "topic-0")] == [3, 11]
    up = plan_conversion(
        folder, tmp_path / "preview" / "topic-0", ConvertOptions(magic=2, compression="zstd")
    ).preview()
    assert up.losses == {}
    assert up.end_segment is None


# -- folders ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", LOGS, ids=lambda each: each.relative_to(DATA).as_posix())
@pytest.mark.parametrize(
    ("magic", "codec"),
    [(None, "lz4"), (None, "none"), (0, "gzip"), (1, "snappy"), (1, "none"), (2, None), (2, "zstd")],
)
def test_real_logs(folder: Path, magic: int | None, codec: str | None, tmp_path: Path) -> None:
    target = tmp_path / folder.name
    plan = plan_conversion(folder, target, ConvertOptions(magic=magic, compression=codec))
    told = plan.preview()
    done = plan.apply()
    assert done.target == target
    done.target = None
    assert done == told
    with kodec.PartitionLog(folder) as old, kodec.PartitionLog(target) as new:
        assert (new.start_offset, new.end_offset) == (old.start_offset, old.end_offset)
        with_markers = magic in (None, 2)
        rows = [row(record) for record in old.records(control=with_markers)]
        assert [row(record) for record in new.records(control=with_markers)] == held(rows, magic)
        if with_markers:
            committed = [record.offset for record in old.records(isolation="read_committed")]
            assert [record.offset for record in new.records(isolation="read_committed")] == committed
            assert new.leader_epochs() == old.leader_epochs()
        if codec is not None:
            assert {each.codec for each in new.batches() if not each.is_control and each.count} <= {codec}
        assert [str(each) for each in verify_partition(new) if not each.note] == []
        assert done.bytes_written == new.size
        assert done.batches_written == sum(1 for _ in new.batches())
        assert new.metadata() == old.metadata()
    for path in target.glob("*.log"):
        if (folder / path.name).is_file():
            assert path.stat().st_mtime_ns == (folder / path.name).stat().st_mtime_ns


def test_rows_are_those_of_the_consumer(tmp_path: Path) -> None:
    """Kafka's own consumer read these from the broker; from what was converted we read the same."""
    release = DATA / "kafka-4.3.1"
    plan_conversion(
        release / "logs" / "orders-0", tmp_path / "orders-0", ConvertOptions(magic=1, compression="gzip")
    ).apply()
    lines = (release / "consumed" / "orders.read_uncommitted.jsonl").read_text("utf-8").splitlines()
    wanted = [each for each in map(json.loads, lines) if each["partition"] == 0]
    found = [(each.offset, each.timestamp, each.key, each.value) for each in made.rows(tmp_path / "orders-0")]

    def plain(text: str | None) -> bytes | None:
        return None if text is None else base64.b64decode(text)

    assert found == [(w["offset"], w["timestamp"], plain(w["key"]), plain(w["value"])) for w in wanted]


def test_a_damaged_transaction_index_is_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "transactions-0"
    shutil.copytree(DATA / "kafka-4.3.1/logs/transactions-0", folder)
    (index,) = folder.glob("*.txnindex")
    whole = index.read_bytes()
    for damage in (b"\xff" * len(whole), None):
        index.unlink() if damage is None else index.write_bytes(damage)
        target = tmp_path / f"{damage is None}" / "transactions-0"
        plan_conversion(folder, target, ConvertOptions(compression="zstd")).apply()
        assert (target / index.name).read_bytes() == whole


def test_the_start_offset_goes_with_the_log(tmp_path: Path) -> None:
    folder = made.make(tmp_path / "in" / "topic-0", [(0, [batch(0, [(b"a", b"1")] * 5)])])
    (tmp_path / "in" / "log-start-offset-checkpoint").write_text("0\n1\ntopic 0 3\n")
    plan_conversion(folder, tmp_path / "out" / "other-7", ConvertOptions(magic=1)).apply()
    assert (tmp_path / "out" / "log-start-offset-checkpoint").read_text() == "0\n1\nother 7 3\n"
    assert [record.offset for record in made.rows(tmp_path / "out" / "other-7")] == [3, 4]


def test_a_segment_that_grows_too_large_is_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [batch(at * 10, [(b"a", b"1" * 100)] * 10, codec="gzip") for at in range(20)]
    folder = made.make(tmp_path / "in" / "topic-0", [(0, entries)])
    monkeypatch.setattr("kodec.log.conversion.partition.MAX_SEGMENT", 5000)
    report = plan_conversion(
        folder, tmp_path / "topic-0", ConvertOptions(magic=1, compression="none")
    ).apply()
    assert report.segments == 1
    assert report.segments_written > 3
    assert made.rows(tmp_path / "topic-0") == [
        kodec.Record(
            offset=each.offset,
            timestamp=each.timestamp,
            timestamp_type=each.timestamp_type,
            key=each.key,
            value=each.value,
        )
        for each in made.rows(folder)
    ]
    assert [
        str(each) for each in verify_partition(kodec.PartitionLog(tmp_path / "topic-0")) if not each.note
    ] == []


def test_a_split_leaves_no_gap_between_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [batch(at, [(b"a", b"1" * 2000)] * 2, codec="gzip") for at in (0, 2, 100, 102)]
    folder = made.make(tmp_path / "in" / "topic-0", [(0, entries)])
    monkeypatch.setattr("kodec.log.conversion.partition.MAX_SEGMENT", 20_000)
    plan_conversion(folder, tmp_path / "topic-0", ConvertOptions(compression="none")).apply()
    log = kodec.PartitionLog(tmp_path / "topic-0")
    assert [each.base_offset for each in log.segments] == [0, 4]
    assert [str(each) for each in verify_partition(log) if each.what == "offsets"] == []


def test_a_dry_run_refuses_what_cannot_be_written(tmp_path: Path) -> None:
    entries = [batch(at, [(b"a", b"1")] * 5) for at in (0, 5, 10)]
    folder = made.make(tmp_path / "in" / "topic-0", [(0, entries)])
    # No checksum covers the offset.
    (log,) = folder.glob("*.log")
    log.write_bytes(b"".join([*entries[:2], (3).to_bytes(8, "big"), entries[2][8:]]))
    plan = plan_conversion(folder, tmp_path / "topic-0", ConvertOptions(compression="gzip"))
    for run in (plan.preview, plan.apply):
        with pytest.raises(kodec.errors.EncodeError, match=r"must ascend.*at least 10, have 7.*topic-0/0"):
            run()


def test_refusals_leave_nothing_behind(tmp_path: Path) -> None:
    folder = made.make(tmp_path / "in" / "topic-0", [(0, [batch(0, [(b"a", b"1")] * 5, codec="zstd")])])
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(ValueError, match="named like orders-0"):
        plan_conversion(folder, out / "topic", ConvertOptions()).apply()
    with pytest.raises(kodec.errors.EncodeError, match=r"not a codec of magic 1.*topic-0/0{20}\.log"):
        plan_conversion(folder, out / "topic-0", ConvertOptions(magic=1)).apply()
    with pytest.raises(kodec.errors.EncodeError, match="compression: not a codec"):
        plan_conversion(folder, out / "topic-0", ConvertOptions(compression="brotli")).apply()
    log = folder / "00000000000000000000.log"
    log.write_bytes(log.read_bytes() + b"\0" * 9)
    with pytest.raises(kodec.errors.FormatError, match="recover it first"):
        plan_conversion(folder, out / "topic-0", ConvertOptions(magic=1, compression="none")).apply()
    log.write_bytes(log.read_bytes()[:-10])
    with pytest.raises(kodec.errors.FormatError):
        plan_conversion(folder, out / "topic-0", ConvertOptions(magic=1, compression="none")).apply()
    assert list(out.iterdir()) == []
    (out / "topic-0").mkdir()
    with pytest.raises(FileExistsError):
        plan_conversion(folder, out / "topic-0", ConvertOptions()).apply()


def test_what_a_killed_conversion_left_is_in_nobodys_way(tmp_path: Path) -> None:
    folder = made.make(tmp_path / "in" / "topic-0", [(0, [batch(0, [(b"a", b"1")] * 5)])])
    # A broker deletes it too, by the end of its name.
    left = tmp_path / "topic-0.kodec-unfinished-delete"
    name = (TopicPartition("topic", 0), ReplicaKind.DELETED, "kodec-unfinished")
    assert parse_folder_name(left.name) == name
    left.mkdir()
    (left / "00000000000000000000.log").write_bytes(b"half")
    plan_conversion(folder, tmp_path / "topic-0", ConvertOptions()).apply()
    assert made.files(tmp_path / "topic-0") == made.files(folder)
    assert not left.exists()


def test_progress_is_told(tmp_path: Path) -> None:
    entries = [batch(at, [(b"a", b"x" * 3_000_000)], time=START + DAY) for at in range(4)]
    folder = made.make(tmp_path / "topic-0", [(0, entries)])
    seen: list[int] = []
    target = tmp_path / "out" / "topic-0"
    plan_conversion(folder, target, ConvertOptions(compression="lz4"), progress=seen.append).preview()
    assert len(seen) == 4
    assert sum(seen) > 12_000_000


def negative(magic: int, codec: str, root: Path) -> Path:
    """A log in which every other record has a negative timestamp, as some producers have sent them."""
    times = (START, -5, START + 1, -START)
    if magic == 2:
        rows = [wire.record(n, b"k", b"%d" % n, time=time - START) for n, time in enumerate(times)]
        content = b"".join(rows)
        codes = {"none": 0, "gzip": 1}
        data = wire.batch(
            content if codec == "none" else wire.squeeze(codec, content),
            count=len(rows),
            base_time=START,
            max_time=START + 1,
            attributes=codes[codec],
        )
    else:
        single = [wire.message(n, b"k", b"%d" % n, magic=1, time=time) for n, time in enumerate(times)]
        data = b"".join(single) if codec == "none" else wire.wrapper(3, b"".join(single), time=START + 1)
    return made.make(root / "topic-0", [(0, [data])])


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("source", [1, 2])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_negative_timestamps(
    magic: int, source: int, codec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = negative(source, codec, tmp_path / "in")
    before = [each.timestamp for each in made.rows(folder)]
    assert before == [START, -5, START + 1, -START]
    to = tmp_path / "out"
    plan = plan_conversion(folder, to / "topic-0", ConvertOptions(magic=magic, compression="gzip"))
    if source == magic and codec == "gzip":
        # not decoded
        plan.apply()
        assert [each.timestamp for each in made.rows(to / "topic-0")] == before
        return
    if source == magic == 2:
        assert [each.timestamp for each in made.rows(plan.apply().target or to)] == before
        return
    if magic == 0:
        report = plan.apply()
        assert [each.timestamp for each in made.rows(to / "topic-0")] == [-1] * 4
        assert report.losses[Loss.TIMESTAMPS].count == 4
        return
    with pytest.raises(kodec.errors.EncodeError) as caught:
        plan.preview()
    for part in ("topic-0", f"{0:020d}.log", "at byte", "offset 1", "-5", "negative_timestamps=none"):
        assert part in str(caught.value)
    assert caught.value.source == str(folder / f"{0:020d}.log")
    command = ["convert", str(folder), "--to", str(to), "--magic", str(magic), "--compression", "gzip"]
    assert main([*command, "--apply"]) == 1
    assert str(folder / f"{0:020d}.log") in capsys.readouterr().err
    assert main([*command, "--negative-timestamps", "none", "--json", "--apply"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["losses"]["negativeTimestamps"]["count"] == 2
    assert facts["losses"]["negativeTimestamps"]["first"][0]["offset"] == 1
    found = made.rows(to / "topic-0")
    assert [each.timestamp for each in found] == [START, -1, START + 1, -1]
    assert [each.value for each in found] == [b"0", b"1", b"2", b"3"]


def test_other_words_for_negative_timestamps_are_refused(tmp_path: Path) -> None:
    folder = negative(2, "none", tmp_path / "in")
    with pytest.raises(ValueError, match="'refuse' or 'none'"):
        plan_conversion(folder, tmp_path / "topic-0", ConvertOptions(negative_timestamps="zero"))
    assert main(["convert", str(folder), "--to", "x", "--magic", "1", "--negative-timestamps", "zero"]) == 2


def test_a_dry_run_names_every_partition_that_cannot_be_converted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "in"
    good = made.make(root / "good-0", [(0, [batch(0, [(b"a", b"1")] * 5)])])
    bad = made.make(root / "bad-0", [(0, [batch(0, [(b"a", b"1")] * 5)])])
    log = bad / f"{0:020d}.log"
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    torn = made.make(root / "torn-0", [(0, [batch(0, [(b"a", b"1")] * 5)])])
    (torn / f"{0:020d}.log").write_bytes(data[:-3])
    folders = [str(each) for each in (bad, torn, good)]
    arguments = ["convert", *folders, "--to", str(tmp_path / "out"), "--magic", "1"]
    assert main(arguments) == 1
    told = capsys.readouterr()
    for each in (bad, torn):
        assert str(each / f"{0:020d}.log") in told.err
    assert "good-0: 1 batches become" in told.out
    # all or none: the first one ends it
    assert main([*arguments, "--apply"]) == 1
    told = capsys.readouterr()
    assert str(log) in told.err and not told.out and not (tmp_path / "out").exists()
