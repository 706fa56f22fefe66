"""What each option of Spark's Kafka source chooses, compared with Kafka's own consumer if there is one."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.log.directories.partition import PartitionLog
from kodec.log.messages.decoding import decode_record
from kodec.pipeline import schema
from kodec.pipeline.options import READ_OPTIONS, OptionError, Options
from kodec.pipeline.plan import DataLoss, list_segments, tasks_of
from tests.data import DATA, LOGS

from .test_which_rows import load, of, rows

LAYOUT = {"t-0": [range(10), range(10, 20), range(20, 30)], "t-1": [range(5, 10)], "other-0": [range(2)]}

NOW = 1_600_000_000_000


def by(**partitions: int) -> str:
    return json.dumps({"t": {name[1:]: value for name, value in partitions.items()}})


DEFAULTS = {
    name: option.shown_default.strip("`")
    for name, option in READ_OPTIONS.items()
    if option.shown_default.strip("`").isalnum() or option.shown_default == "`read_uncommitted`"
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_documented_default_is_the_default(name: str) -> None:
    assert Options.parse({"path": "/", name: DEFAULTS[name]}) == Options.parse({"path": "/"})


def test_most_defaults_are_documented() -> None:
    assert len(DEFAULTS) > 12


# -- topics ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"subscribe": "t"}, {"t-0", "t-1"}),
        ({"subscribePattern": "t|u"}, {"t-0", "t-1"}),
        ({"subscribePattern": "o.*"}, {"other-0"}),
        ({"subscribePattern": "(?i)T"}, {"t-0", "t-1"}),
        ({"assign": '{"t":[1],"other":[0]}'}, {"t-1", "other-0"}),
        ({}, {"t-0", "t-1", "other-0"}),
    ],
)
def test_topics(options: dict[str, str], names: set[str], logs: Path) -> None:
    assert {name for name, _ in rows(logs, **options)} == names


def test_a_pattern_is_for_whole_names_and_leaves_internal_topics_out(logs: Path) -> None:
    shutil.copytree(logs / "other-0", logs / "__t-0")
    assert {name for name, _ in rows(logs, subscribePattern=".*t")} == {"t-0", "t-1"}
    found = rows(logs, subscribePattern=".*t", includeInternal="true")
    assert {name for name, _ in found} == {"t-0", "t-1", "__t-0"}
    with pytest.raises(OptionError, match="of subscribePattern=x there are __t-0, other-0, t-0, t-1"):
        rows(logs, subscribePattern="x")


def test_a_glob_stands_for_a_bounded_number_of_paths(logs: Path) -> None:
    """Whoever writes SQL chooses it."""
    with pytest.raises(OptionError, match="more than 10,000 paths"):
        rows(f"{logs}/{'{a,b}' * 40}")
    assert rows(f"{logs}/{{t-{{0,7}},other-{{0,1}}}}") == of("other-0", 0, 1) + of("t-0", *range(30))


# -- offsets and times ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["1", "1g"])
@pytest.mark.parametrize(
    ("options", "zero", "one"),
    [
        ({"startingOffsets": by(p0=13, p1=-2)}, range(13, 30), range(5, 10)),
        ({"startingOffsets": by(p0=30, p1=7)}, [], range(7, 10)),
        ({"endingOffsets": by(p0=13, p1=-1)}, range(13), range(5, 10)),
        ({"startingOffsets": by(p0=3, p1=6), "endingOffsets": by(p0=27, p1=8)}, range(3, 27), [6, 7]),
        ({"startingTimestamp": str(NOW + 7)}, range(7, 30), range(7, 10)),
        ({"endingTimestamp": str(NOW + 7)}, range(7), [5, 6]),
        ({"startingOffsetsByTimestamp": by(p0=NOW + 21, p1=0)}, range(21, 30), range(5, 10)),
        ({"endingOffsetsByTimestamp": by(p0=NOW + 21, p1=NOW + 99)}, range(21), range(5, 10)),
        # A time for all goes before times, and these before offsets.
        (
            {"startingTimestamp": str(NOW + 7), "startingOffsetsByTimestamp": by(p0=0, p1=0)},
            range(7, 30),
            range(7, 10),
        ),
        (
            {"endingOffsetsByTimestamp": by(p0=NOW + 1, p1=NOW), "endingOffsets": by(p0=9, p1=9)},
            [0],
            [],
        ),
        ({"startingOffsets": "EARLIEST", "endingOffsets": "latest"}, range(30), range(5, 10)),
    ],
)
def test_where_rows_begin_and_end(
    options: dict[str, str], zero: range, one: range, size: str, logs: Path
) -> None:
    found = rows(logs, subscribe="t", maxPartitionBytes=size, **options)
    assert found == of("t-0", *zero) + of("t-1", *one)


def test_a_time_after_all_records(logs: Path) -> None:
    late = {"startingTimestamp": str(NOW + 9), "subscribe": "t"}
    assert rows(logs, **late) == of("t-0", *range(9, 30)) + of("t-1", 9)
    late["startingTimestamp"] = str(NOW + 10)
    with pytest.raises(
        OptionError, match=r"t-1 has no record at 1600000000010 ms or later; .*Strategy=latest"
    ):
        rows(logs, **late)
    found = rows(logs, **late, startingOffsetsByTimestampStrategy="latest")
    assert found == of("t-0", *range(10, 30))


def test_each_topic_partition_has_its_offset(logs: Path) -> None:
    with pytest.raises(
        OptionError, match="startingOffsets: it does not set where t-1 is; use -2 for earliest"
    ):
        rows(logs, subscribe="t", startingOffsets=by(p0=1))
    with pytest.raises(OptionError, match="endingOffsets: not among what is read: t-7; leave them out"):
        rows(logs, subscribe="t", endingOffsets=by(p0=1, p1=1, p7=1))
    with pytest.raises(
        OptionError, match="endingOffsetsByTimestamp: it does not set where t-1 is; give each"
    ):
        rows(logs, subscribe="t", endingOffsetsByTimestamp=by(p0=1))


@pytest.mark.parametrize(
    ("name", "value", "left"), [("startingOffsets", 40, []), ("endingOffsets", 40, range(30))]
)
def test_offsets_that_are_not_there(name: str, value: int, left: range, logs: Path) -> None:
    given: dict[str, Any] = {"assign": '{"t":[0]}', name: by(p0=value)}
    with pytest.raises(DataLoss, match=rf"{name}: t-0 has offsets 0 to 30 \(exclusive\), not 40; failOnData"):
        rows(logs, **given)
    assert rows(logs, **given, failOnDataLoss="false") == of("t-0", *left)
    (logs / "meta.properties").touch()
    (logs / "log-start-offset-checkpoint").write_text("0\n1\nt 0 13\n")
    below: dict[str, Any] = {"assign": '{"t":[0]}', "startingOffsets": by(p0=5)}
    with pytest.raises(DataLoss, match="t-0 has offsets 13 to 30"):
        rows(logs, **below)
    assert rows(logs, **below, failOnDataLoss="false") == of("t-0", *range(13, 30))


# -- transactions ---------------------------------------------------------------------------------

TRANSACTIONAL = [
    folder
    for release in sorted(DATA.glob("kafka-*"))
    for folder in sorted((release / "logs").glob("*-[0-9]*"))
    if list((release / "consumed").glob(f"{folder.name.rpartition('-')[0]}.read_committed.jsonl"))
]


def consumed(folder: Path, isolation: str) -> list[tuple[int, bytes | None, bytes | None]]:
    topic, _, number = folder.name.rpartition("-")
    file = folder.parents[1] / "consumed" / f"{topic}.{isolation}.jsonl"
    found = [json.loads(line) for line in file.read_text("utf-8").splitlines()]

    def plain(text: str | None) -> bytes | None:
        return None if text is None else base64.b64decode(text)

    mine = [row for row in found if row["partition"] == int(number)]
    return [(row["offset"], plain(row["key"]), plain(row["value"])) for row in mine]


@pytest.mark.parametrize("size", ["1", "1g"])
@pytest.mark.parametrize("index", [True, False], ids=["by index", "by control records"])
@pytest.mark.parametrize("folder", TRANSACTIONAL, ids=lambda each: f"{each.parents[1].name}/{each.name}")
def test_read_committed_gives_what_the_consumer_got(
    folder: Path, index: bool, size: str, tmp_path: Path
) -> None:
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    for path in [] if index else [*copy.glob("*.txnindex"), *copy.glob("*.snapshot")]:
        path.unlink()
    start = folder.parent / "log-start-offset-checkpoint"
    if start.exists():
        shutil.copy(start, tmp_path)
    options = {"kafka.isolation.level": "read_committed", "maxPartitionBytes": size}
    found = load(copy, **options)
    wanted = consumed(folder, "read_committed")
    assert [(row["offset"], row["key"], row["value"]) for row in found] == wanted
    parts = rows(copy, **options, maxRecordsPerPartition="7")
    assert [offset for _, offset in parts] == [offset for offset, _, _ in wanted]


def test_an_open_transaction_ends_what_is_committed(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    plain = kodec.encode([kodec.Record(offset=n, value=b"v") for n in range(5)])
    is_open = kodec.encode(
        [kodec.Record(offset=5, value=b"v")],
        transactional=True,
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
    )
    after = kodec.encode([kodec.Record(offset=6, value=b"v")])
    (folder / "00000000000000000000.log").write_bytes(plain + is_open + after)
    assert rows(folder) == of("t-0", *range(7))
    assert rows(folder, **{"kafka.isolation.level": "read_committed"}) == of("t-0", *range(5))


def test_the_tier_has_transactions_too() -> None:
    tiered = DATA / "tiered-4.3.1"
    paths = [str(tiered / "logs"), str(tiered / "tier")]
    lines = (tiered / "consumed" / "tiered.read_committed.jsonl").read_text("utf-8").splitlines()
    found = rows(paths, **{"kafka.isolation.level": "read_committed"})
    assert [offset for _, offset in found] == [json.loads(line)["offset"] for line in lines]


# -- tasks ----------------------------------------------------------------------------------------


def tasks(path: Path, **options: str) -> list[list[tuple[str, int, int | None]]]:
    parsed = Options.parse({"path": str(path), **options})
    return [
        [(str(part.topic_partition), part.start, part.stop) for part in task]
        for task in tasks_of(parsed, list_segments(parsed))
    ]


@pytest.mark.parametrize("least", [1, 2, 3, 7, 20, 100])
def test_at_least_so_many_tasks(least: int, logs: Path) -> None:
    found = tasks(logs, minPartitions=str(least))
    assert len(found) >= min(least, 37)
    assert rows(logs, minPartitions=str(least)) == rows(logs)


@pytest.mark.parametrize("most", [1, 3, 10, 1000])
def test_at_most_so_many_records_in_a_task(most: int, logs: Path) -> None:
    found = tasks(logs, maxRecordsPerPartition=str(most))
    assert all(sum((stop or 0) - start for _, start, stop in task) <= most for task in found)
    assert rows(logs, maxRecordsPerPartition=str(most)) == rows(logs)
    with pytest.raises(OptionError, match="would make more than"):
        (logs / "t-0" / "00000000002000000000.log").touch()
        tasks(logs, maxRecordsPerPartition="1")


@pytest.mark.parametrize("folder", sorted(DATA.glob("kafka-4.3.1/logs/*-0")), ids=lambda each: each.name)
def test_the_rows_of_a_real_log_are_the_same_in_parts(folder: Path) -> None:
    for most in ("5", "64"):
        assert load(folder, includeHeaders="true", maxRecordsPerPartition=most) == load(
            folder, includeHeaders="true"
        )


def test_a_row_in_the_middle_is_found_by_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "t-0"
    with kodec.LogWriter(folder) as log:
        for _ in range(300):
            log.append([kodec.Record(value=bytes(1000))])
    opened: list[tuple[int, int | None]] = []
    from kodec.pipeline import rows as module

    scan: Any = vars(module)["scan_rows"]

    def spies(*given: Any, start: int, stop: int | None, **options: Any) -> Any:
        opened.append((start, stop))
        return scan(*given, start=start, stop=stop, **options)

    monkeypatch.setattr(module, "scan_rows", spies)
    given = {"startingOffsets": '{"t":{"0":200}}', "endingOffsets": '{"t":{"0":202}}'}
    assert rows(folder, **given) == of("t-0", 200, 201)
    ((start, stop),) = opened
    assert stop is not None and 0 < stop - start < 10_000


# -- columns --------------------------------------------------------------------------------------


def test_columns_by_name(logs: Path) -> None:
    found = load(logs / "t-0", columns="value, offset,headers,isControl")
    assert [*found[0]] == ["value", "offset", "headers", "isControl"]
    assert [row["offset"] for row in found] == list(range(30))


def test_messages_by_name() -> None:
    found = load(LOGS, includeInternal="true", includeDecoded="true")
    assert [*found[0]][-2:] == ["keyDecoded", "valueDecoded"]
    by_topic = {row["topic"]: row for row in found}
    assert '"name": ' in by_topic["__consumer_offsets"]["keyDecoded"]
    assert '"type": ' in by_topic["__cluster_metadata"]["valueDecoded"]
    for row in found:
        key, value = decode_record(row["topic"], row["key"], row["value"])
        known = row["topic"].startswith("__")
        assert row["keyDecoded"] == (key.text() if known and key else None)
        assert row["valueDecoded"] == (value.text() if known and value else None)
    marked = load(
        LOGS / "transactions-0",
        columns="isControl,valueDecoded", includeControlRecords="true",
    )  # fmt: skip
    assert {row["isControl"] for row in marked} == {True, False}
    assert all((row["valueDecoded"] is not None) is row["isControl"] for row in marked)


@pytest.mark.parametrize(
    "folder",
    [*sorted(DATA.glob("kafka-4.3.1/logs/*-[0-9]")), *sorted(DATA.glob("kafka-0.9.0.1/logs/*-0"))],
    ids=lambda each: f"{each.parents[1].name}/{each.name}",
)
def test_metadata_is_that_of_the_batch(folder: Path) -> None:
    options = {"includeBatchMetadata": "true", "includeControlRecords": "true", "includeHeaders": "true"}
    found = load(folder, **options, includeInternal="true")
    names = [field.name for field in schema(headers=True, batch=True)]
    wanted = []
    log = PartitionLog(folder)
    for segment in log.segments:
        for batch in segment.batches():
            for record in batch.records(control=True):
                if record.offset < log.start_offset:
                    continue
                sequence = -1
                if batch.base_sequence >= 0:
                    sequence = (batch.base_sequence + record.offset - batch.base_offset) % 2**31
                wanted.append(
                    (
                        record.offset,
                        batch.partition_leader_epoch,
                        batch.producer_id,
                        batch.producer_epoch,
                        sequence,
                        batch.is_transactional,
                        batch.is_control,
                        batch.codec,
                        batch.magic,
                        batch.position,
                        batch.size,
                        str(segment.path),
                    )
                )
    got = [tuple(row[name] for name in ["offset", *names[8:]]) for row in found]
    assert got == wanted
    assert not found or [*found[0]] == names


def test_a_sequence_goes_round(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    records = [kodec.Record(offset=n, value=b"v") for n in range(3)]
    data = kodec.encode(records, producer_id=1, producer_epoch=0, base_sequence=2**31 - 2)
    (tmp_path / "t-0" / "00000000000000000000.log").write_bytes(data)
    found = load(tmp_path / "t-0", columns="sequence")
    assert [row["sequence"] for row in found] == [2**31 - 2, 2**31 - 1, 0]


def test_control_records_and_checksums(tmp_path: Path) -> None:
    folder = LOGS / "transactions-0"
    controls = [
        row["offset"]
        for row in load(folder, columns="offset,isControl", includeControlRecords="true")
        if row["isControl"]
    ]
    assert controls and not set(controls) & {offset for _, offset in rows(folder)}
    (tmp_path / "t-0").mkdir()
    data = bytearray(kodec.encode([kodec.Record(offset=0, value=b"value")]))
    data[-2] ^= 1
    (tmp_path / "t-0" / "00000000000000000000.log").write_bytes(data)
    with pytest.raises(kodec.errors.CrcMismatch):
        rows(tmp_path)
    assert rows(tmp_path, verifyCrc="false") == of("t-0", 0)


# -- quarantine -----------------------------------------------------------------------------------


def test_what_is_not_among_the_rows_is_in_the_second_table(logs: Path) -> None:
    first, middle, last = sorted((logs / "t-0").glob("*.log"))
    data = bytearray(first.read_bytes())
    data[70] ^= 1
    first.write_bytes(data)
    size = next(iter(kodec.read_batches(first, check_crc=False))).size
    middle.unlink()
    last.write_bytes(last.read_bytes() + b"torn")
    found = load(logs, mode="quarantine", subscribe="t")
    assert [(row["kind"], row["file"], row["position"], row["size"]) for row in found] == [
        ("damaged", str(first), 0, size),
        ("missing", str(first), None, None),
        ("unfinished", str(last), last.stat().st_size - 4, 4),
    ]
    assert [(row["firstOffset"], row["lastOffset"]) for row in found] == [
        (None, None),
        (10, 19),
        (None, None),
    ]
    assert "stored 0x" in found[0]["message"]
    assert rows(logs, mode="permissive", subscribe="t")[:5] == of("t-0", *range(5, 10))
    assert [*load(logs, mode="quarantine", columns="kind,topic")[0]] == ["kind", "topic"]


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "5", "[5]", '"a"', "null", "9" * 5_000, '{"a": 1e999}'])
@pytest.mark.parametrize("name", ["paths", "assign", "startingOffsets", "endingOffsets"])
def test_json_of_others_in_an_option(name: str, text: str) -> None:
    given = {name: text} if name == "paths" else {"path": "/", name: text}
    with pytest.raises(OptionError, match=name):
        Options.parse(given)
