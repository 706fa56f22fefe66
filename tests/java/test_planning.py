"""Which rows the Spark source in the JVM gives, by options, against the one in Python: without a session."""

from __future__ import annotations

import json
import random
import shutil
import struct
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import LongType, StringType, StructField, StructType

import kodec
from kodec.pipeline import KafkaLogDataSource
from kodec.runtime.errors import KodecError
from tests.java.conftest import ROOT, Ask
from tests.java.test_segments import same_error
from tests.log_paths import CASES
from tests.stored_tiers import STORED

LAYOUT = {"t-0": [range(10), range(10, 20), range(20, 30)], "u-0": [range(5, 10)]}

pytestmark = pytest.mark.thorough

DATA = ROOT / "tests" / "data"
LOGS = sorted(DATA.glob("kafka-*/logs"))
NEW = DATA / "kafka-4.3.1" / "logs"
Case = tuple[Path | list[Path], dict[str, str]]


def plain(value: Any) -> Any:
    """A value of a row as the other side writes it."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [[each["key"], plain(each["value"])] for each in value]
    return value


def rows(batches: Iterator[pa.RecordBatch]) -> list[Any]:
    found = []
    for batch in batches:
        columns = [
            column.cast(pa.int64()).to_pylist() if pa.types.is_timestamp(column.type) else column.to_pylist()
            for column in batch.columns
        ]
        found += [[plain(value) for value in row] for row in zip(*columns, strict=True)]
    return found


def given(path: Path | list[Path], options: dict[str, str]) -> dict[str, str]:
    where = (
        {"paths": json.dumps([str(each) for each in path])} if isinstance(path, list) else {"path": str(path)}
    )
    return {**where, **options}


_FILTERED = StructType([StructField("topic", StringType()), StructField("offset", LongType())])


def passes(row: list[Any], filters: dict[str, Any]) -> bool:
    """Whether a row, whose last columns are `_FILTERED`, is wanted."""
    topic, offset = row[-len(_FILTERED) :]
    return topic in filters.get("topics", [topic]) and filters.get("first", offset) <= offset <= filters.get(
        "last", offset
    )


def python(case: Case, **filters: Any) -> Any:
    """The rows of the source in Python, or its error's text."""
    try:
        one = KafkaLogDataSource(given(*case))
        wanted = one.schema()
        reader = one.reader(StructType([*wanted, *_FILTERED]) if filters else wanted)
        found = [row for task in reader.partitions() for row in rows(reader.read(task))]
        return [row[: -len(_FILTERED)] for row in found if passes(row, filters)] if filters else found
    except (KodecError, OSError) as error:
        return str(error)


def question(case: Case, **filters: Any) -> list[str]:
    text = json.dumps({"options": given(*case), **filters})
    return ["rows", "org.kodec.spark.SourceDump", "rows", text.encode().hex()]


def assert_same(answers: list[Any], wanted: list[Any], cases: list[Any]) -> int:
    """Holds the answers against those of Python; how many were left to that one."""
    elsewhere = 0
    for answer, right, case in zip(answers, wanted, cases, strict=True):
        assert "crash" not in answer, (case, answer["crash"])
        found = answer["value"]
        if isinstance(found, dict) and "elsewhere" in found:
            elsewhere += 1
        elif isinstance(right, str):
            assert isinstance(found, dict), (case, right, found[:3])
            assert same_error(found["error"], right), (case, found["error"], right)
        else:
            assert found == right, case
    return elsewhere


def compare(ask: Ask, cases: list[Case]) -> int:
    return assert_same(ask([question(case) for case in cases]), [python(case) for case in cases], cases)


# -- offsets and times ------------------------------------------------------------------------------


def by_chance(shuffled: random.Random) -> dict[str, str]:
    """Options by chance, of which some are wrong together."""
    options: dict[str, str] = {}

    def some(chance: float, name: str, *values: str) -> None:
        if shuffled.random() < chance:
            options[name] = shuffled.choice(values)

    base = 1_700_000_000_000
    topics = ["codec-zstd", "segments", "transactions", "compacted", "records-deleted"]
    one = shuffled.choice(topics)
    which = shuffled.randrange(4)
    if which == 0:
        options["subscribe"] = one
    elif which == 1:
        options["assign"] = json.dumps({one: [0]})
    elif which == 2:
        options["subscribePattern"] = "codec-.*|t.*"
    named = {one: {"0": shuffled.choice([-2, 0, 3, 7, 20, 33])}}
    some(0.3, "startingOffsets", "earliest", json.dumps(named), json.dumps({one: {"0": -2}}))
    ending = {one: {"0": shuffled.choice([-1, 1, 8, 25, 34, 400])}}
    some(0.3, "endingOffsets", "latest", json.dumps(ending))
    some(0.15, "startingTimestamp", str(base + shuffled.randrange(40)), "1", str(base * 2))
    some(0.15, "endingTimestamp", str(base + shuffled.randrange(40)), str(base * 2))
    some(0.1, "startingOffsetsByTimestamp", json.dumps({one: {"0": base + shuffled.randrange(30)}}))
    some(0.1, "endingOffsetsByTimestamp", json.dumps({one: {"0": base + shuffled.randrange(30)}}))
    some(0.2, "startingOffsetsByTimestampStrategy", "error", "latest")
    some(0.3, "failOnDataLoss", "true", "false")
    some(0.3, "kafka.isolation.level", "read_committed", "read_uncommitted")
    some(0.3, "includeHeaders", "true")
    some(0.3, "includeBatchMetadata", "true")
    some(0.2, "includeControlRecords", "true")
    some(0.2, "includeInternal", "true")
    some(0.2, "minPartitions", "3", "11")
    some(0.2, "maxRecordsPerPartition", "4", "50")
    some(0.2, "maxPartitionBytes", "200", "3k", "1m")
    some(0.1, "mode", "permissive", "quarantine", "failfast")
    some(0.1, "columns", "offset,value", "file,sequence,offset,codec", "headers,timestamp")
    some(0.2, "allowEmpty", "true")
    return options


def test_options_by_chance(ask: Ask) -> None:
    shuffled = random.Random(13)
    cases: list[Case] = [(shuffled.choice([NEW, NEW, *LOGS]), by_chance(shuffled)) for _ in range(120)]
    elsewhere = compare(ask, cases)
    assert elsewhere < 60


def test_every_column_of_every_log(ask: Ask) -> None:
    every = {"includeInternal": "true", "includeHeaders": "true", "includeBatchMetadata": "true"}
    more = {"includeControlRecords": "true"}
    committed = {"kafka.isolation.level": "read_committed"}
    paths = [*LOGS, *sorted(DATA.glob("kafka-*/crashed"))]
    cases: list[Case] = [
        (path, every | each) for path, each in zip(paths, cycle((more, committed)), strict=False)
    ]
    cases += [(NEW, {"kafka.isolation.level": "read_committed"}), (NEW, more)]
    assert compare(ask, cases) == 0


def test_filters_leave_out_what_they_may(ask: Ask) -> None:
    shuffled = random.Random(3)
    cases, filters = [], []
    for _ in range(60):
        cases.append((shuffled.choice(LOGS), by_chance(shuffled)))
        bounds: dict[str, Any] = {}
        if shuffled.random() < 0.6:
            bounds["first"] = shuffled.randrange(40)
        if shuffled.random() < 0.6:
            bounds["last"] = shuffled.randrange(60)
        if shuffled.random() < 0.3:
            bounds["topics"] = ["segments", "codec-zstd"]
        filters.append(bounds)
    answers = ask([question(case, **each) for case, each in zip(cases, filters, strict=True)])
    wanted = [python(case, **each) for case, each in zip(cases, filters, strict=True)]
    # what is wrong with a topic that is filtered out is not looked at
    seen = [
        number
        for number, each in enumerate(filters)
        if "topics" not in each or not isinstance(wanted[number], str)
    ]
    assert len(seen) > 45
    kept = [(answers[number], wanted[number], (cases[number], filters[number])) for number in seen]
    assert assert_same(*map(list, zip(*kept, strict=True))) < 30


# -- which logs --------------------------------------------------------------------------------------


def write(folder: Path, first: int, count: int, tail: bytes = b"", **options: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{first:020d}.log"
    half = first + count // 2
    data = b""
    for part in (range(first, half), range(half, first + count)):
        records = [
            kodec.Record(offset=n, timestamp=1_700_000_000_000 + n % 2**40, value=b"value %d" % n)
            for n in part
        ]
        data += kodec.encode(records, **options) if records else b""
    path.write_bytes(data + tail)
    return path


def test_globs_parents_and_replicas(ask: Ask, logs: Path, tmp_path: Path) -> None:
    shutil.copytree(logs / "t-0", logs / "a[b]-0")
    (logs / "empty-0").mkdir()
    stray = f"t-1.{'0' * 32}-stray"
    shutil.copytree(logs / "t-0", logs / stray)
    parent = tmp_path / "disks"
    for number, epochs in ((1, "0\n2\n0 0\n3 12\n"), (2, "0\n1\n0 0\n"), (3, "broken")):
        replica = parent / f"broker-{number}" / "t-0"
        for first in (0, 10, 20)[number - 1 :]:
            write(replica, first, 10 + number)
        (replica / "leader-epoch-checkpoint").write_text(epochs)
    shutil.copytree(parent, tmp_path / "two")
    (tmp_path / "two" / "broker-1" / "log-start-offset-checkpoint").write_text("0\n1\nt 0 13\n")
    cases: list[Case] = [
        (Path(f"{logs}/[tu]-*"), {}),
        (Path(f"{logs}/{{t,u}}-0/*.log"), {}),
        (Path(f"{logs}/[!t]-?"), {}),
        (Path(f"{logs}/a*"), {}),  # is no topic's name: the source in Python reports it
        (logs / stray, {}),
        (logs / stray / f"{10:020d}.log", {}),
        (logs / "t-0" / f"{10:020d}.log", {"kafka.isolation.level": "read_committed"}),
        (logs / "empty-0", {}),
        (parent, {}),
        (parent, {"startingOffsets": '{"t":{"0":7}}', "endingOffsets": '{"t":{"0":23}}'}),
        ([parent / "broker-2", parent / "broker-3", parent / "broker-2"], {}),
        (tmp_path / "two", {}),
        (tmp_path / "two" / "broker-1" / "t-0", {}),
        (tmp_path / "two", {"includeBatchMetadata": "true"}),
        (Path(f"{tmp_path}/two/broker-*/t-0/00*10.log"), {}),
        (logs, {"startingOffsets": '{"t":{"0":5}}'}),
        (logs, {"startingOffsets": '{"t":{"0":5},"u":{"0":7},"x":{"1":2}}'}),
        (logs, {"startingOffsets": "latest"}),
        (logs, {"endingOffsets": "earliest"}),
        (logs, {"maxRecordsPerPartition": "1"}),
    ]
    (tmp_path / "linked").symlink_to(logs)
    twice: Case = ([logs, tmp_path / "linked", tmp_path / "linked" / "u-0"], {})
    assert python(twice) == python((logs, {}))
    cases.append(twice)
    last = 2**63 - 10
    write(tmp_path / "last" / "t-0", last, 9)
    cases += [(tmp_path / "last", {}), (tmp_path / "last", {"maxRecordsPerPartition": "4"})]
    assert compare(ask, cases) == 1


def test_files_of_other_names(ask: Ask, logs: Path, tmp_path: Path) -> None:
    """In a topic-partition's folder they are no part of its log; a glob that names one is refused."""
    other = shutil.copytree(logs, tmp_path / "other")
    segment = f"{10:020d}.log"
    names = (
        f"{segment}.bak",
        f".{segment}",
        f".{segment}.crc",
        f"{segment}~",
        f"copy-of-{segment}",
        "10.log",
    )
    for name in (*names, f".hidden/{segment}", f"sub/{segment}"):
        (other / "t-0" / name).parent.mkdir(exist_ok=True)
        shutil.copy(other / "t-0" / segment, other / "t-0" / name)
    for path in ("", "t-0", "t-0/0*.log", "[tu]-0"):
        assert python((Path(f"{other}/{path}"), {})) == python((Path(f"{logs}/{path}"), {}))
    refused = [Path(f"{other}/t-0/{glob}") for glob in ("*.log", "*.bak", "*~", "0*", "sub", ".hidden")]
    assert all(isinstance(python((path, {})), str) for path in refused)
    good = [other, other / "t-0", Path(f"{other}/t-0/0*.log"), Path(f"{other}/[tu]-0")]
    assert compare(ask, [(path, {}) for path in (*good, *refused)]) == len(refused)
    steps = [["initial"], ["latest", {"t": {"0": 0}, "u": {"0": 5}}, -1]]
    words = [
        "rows",
        "org.kodec.spark.SourceDump",
        "stream",
        json.dumps({"options": given(other, {}), "steps": steps}).encode().hex(),
    ]
    (answer,) = ask([words])
    assert answer["value"] == stream_python(logs, {}, steps)


def known_end(root: Path, name: str, end: int) -> None:
    (root / name).write_text(f"0\n1\nt 0 {end}\n")


COMMITTED = {"kafka.isolation.level": "read_committed"}


def test_what_is_missing_or_damaged(ask: Ask, logs: Path) -> None:
    broken = logs.parent / "broken"
    cases: list[Case] = []

    def case(name: str, change: Callable[[Path], None], **options: str) -> None:
        root = broken / name
        shutil.copytree(logs, root)
        change(root)
        for loss in ({}, {"failOnDataLoss": "false"}, {"failOnDataLoss": "true"}):
            cases.append((root, {**options, **loss}))

    def middle(root: Path) -> Path:
        return root / "t-0" / f"{10:020d}.log"

    def flipped(at: int) -> Callable[[Path], None]:
        def change(root: Path) -> None:
            data = bytearray(middle(root).read_bytes())
            data[at] ^= 0x5A
            middle(root).write_bytes(data)

        return change

    def cut(by: int) -> Callable[[Path], None]:
        def change(root: Path) -> None:
            middle(root).write_bytes(middle(root).read_bytes()[:by])

        return change

    def start(text: str) -> Callable[[Path], None]:
        def change(root: Path) -> None:
            (root / "log-start-offset-checkpoint").write_text(text)

        return change

    def started_and_damaged(root: Path) -> None:
        start("0\n1\nt 0 23\n")(root)
        flipped(40)(root)

    def skipped_and_short(root: Path) -> None:
        """Damage amid the segment does not explain that its last offset is missing."""
        made = [
            kodec.encode([kodec.Record(offset=n, timestamp=n) for n in range(at, at + 3)])
            for at in (10, 13, 16)
        ]
        middle(root).write_bytes(made[0] + made[1][:-1] + b"?" + made[2])

    def torn_and_compacted(root: Path) -> None:
        cut(-5)(root)
        (root / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 20\n")

    case("skipped and short", skipped_and_short)
    case("torn and compacted", torn_and_compacted)
    case("gone", lambda root: middle(root).unlink())
    case("cut", cut(-5))
    case("half", cut(first_size(middle(logs))))
    case("empty", cut(0))
    for at in (3, 9, 16, 22, 40, 80):
        case(f"flipped {at}", flipped(at))
    moved = flipped(first_size(middle(logs)) + 7)
    case("moved", moved, maxRecordsPerPartition="4")
    case("moved, at the start", moved, startingOffsets='{"t":{"0":17},"u":{"0":-2}}')
    case("moved, before the end", moved, endingOffsets='{"t":{"0":22},"u":{"0":-1}}')

    def doubled(root: Path) -> None:
        data = middle(root).read_bytes()
        middle(root).write_bytes(data + data[first_size(middle(root)) :])

    case("doubled", doubled)
    case("doubled, in tasks of a few bytes", doubled, maxPartitionBytes="100")
    case("flipped, but not asked for", flipped(40), startingOffsets='{"t":{"0":20},"u":{"0":-2}}')
    case("started", start("0\n1\nt 0 13\n"))
    case("started, and damaged before", started_and_damaged)
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        case(f"short by {name}", lambda root, name=name: known_end(root, name, 35))
        case(f"not short by {name}", lambda root, name=name: known_end(root, name, 30))
    case("short, in part", lambda root: known_end(root, name, 35), maxRecordsPerPartition="4")
    case("short, and all decided", lambda root: known_end(root, name, 35), **COMMITTED)
    case("below", cut(-5), startingOffsets='{"t":{"0":15},"u":{"0":2}}')
    case("above", cut(-5), endingOffsets='{"t":{"0":99},"u":{"0":7}}')
    assert compare(ask, cases) == 0


def test_checkpoints_are_read_as_strictly(ask: Ask, logs: Path) -> None:
    texts = ("+0\n1\nt 0 5\n", "0\n+1\nt 0 5\n", "0\n1\nt 0 +5\n", "0\n1\nt 0 \u0665\n")
    cases: list[Case] = []
    for number, text in enumerate(texts):
        root = logs.parent / str(number)
        shutil.copytree(logs, root)
        (root / "log-start-offset-checkpoint").write_text(text)
        cases.append((root, {}))
    assert compare(ask, cases) == len(cases)


def test_damage_where_reading_starts_or_ends(ask: Ask, tmp_path: Path) -> None:
    """What an index, an end or a filter passes over is neither taken for what is wanted nor in its way."""
    tens = [range(first, first + 10) for first in range(0, 50, 10)]
    made = [kodec.encode([kodec.Record(offset=n) for n in ten]) for ten in tens]
    size = len(made[0])
    assert {len(each) for each in made} == {size}
    old = kodec.encode([kodec.Record(offset=n) for n in range(5)], magic=1, compression="gzip")
    questions: list[tuple[Case, dict[str, Any]]] = []
    expected: list[list[int] | str] = []

    def log(segments: dict[int, bytes], index: bytes | None = None) -> Path:
        folder = tmp_path / str(len(questions)) / "t-0"
        folder.mkdir(parents=True)
        for base, data in segments.items():
            (folder / f"{base:020d}.log").write_bytes(data)
            if index is not None:
                (folder / f"{base:020d}.index").write_bytes(index)
        return folder.parent

    def case(root: Path, options: dict[str, str], wanted: Any, **filters: Any) -> None:
        questions.append(((root, {"columns": "offset", **options}), filters))
        expected.append(wanted if isinstance(wanted, str) else list(wanted))

    def moved(number: int, base: int) -> bytes:
        data = bytearray(b"".join(made))
        data[number * size : number * size + 8] = base.to_bytes(8, "big", signed=True)
        return bytes(data)

    def ended(number: int, delta: int) -> bytes:
        data = bytearray(b"".join(made))
        data[number * size + 23 : number * size + 27] = delta.to_bytes(4, "big", signed=True)
        return bytes(data)

    first = {"startingOffsets": '{"t":{"0":25}}'}
    skip = {"mode": "permissive"}
    # a header whose last offset is too low hides neither its own rows nor, as the last one, those before it
    for delta in (3, 0, -3, -(2**31)):
        for index in (None, struct.pack(">ii", 19, size)):
            case(log({0: ended(2, delta)}, index), first, ".crc: stored")
            case(log({0: ended(2, delta)}, index), {**first, **skip}, range(30, 50))
        case(log({0: ended(4, delta)}), {"kafka.isolation.level": "read_committed"}, ".crc: stored")
        # where the log ends, and with it which transactions are open, is unknown of a header that cannot be
        right = range(40) if delta >= 0 else ".crc: stored"
        case(log({0: ended(4, delta)}), {"kafka.isolation.level": "read_committed", **skip}, right)
        case(log({0: ended(4, delta)}), {}, ".crc: stored", first=45)
        case(log({0: ended(2, delta)}), {}, ".crc: stored", first=25)
        case(log({0: ended(2, delta)}), first, range(40, 50), first=40)
    case(log({0: ended(4, 9)}), {}, [], first=50)
    entries = b"".join(struct.pack(">ii", offset, position * size) for offset, position in ((19, 1), (39, 3)))
    of_0_11 = b"".join(struct.pack(">ii", offset, position * size) for offset, position in ((10, 1), (20, 2)))
    for base in (5, 12, 15, 19):
        for index in (None, entries):
            case(log({0: moved(2, base)}, index), first, "offsets ascend")
    case(log({0: moved(2, 5)}, of_0_11), first, "offsets ascend")
    case(log({0: moved(2, 5)}), {"startingOffsets": '{"t":{"0":35}}'}, range(35, 50))
    # one that ends where the next one begins, and one just before that
    case(log({0: moved(2, 21)}), {}, "offsets ascend")
    case(log({0: moved(2, 21)[: 3 * size]}), {}, [*range(20), *range(21, 31)])
    case(log({0: moved(0, -5)}), {"startingOffsets": '{"t":{"0":5}}'}, "offsets ascend")
    case(log({0: moved(2, 5)}), {**first, "mode": "permissive"}, range(30, 50))
    for base in (35, 25):
        case(log({0: moved(4, base)}), {"maxRecordsPerPartition": "7"}, "offsets ascend")
    case(log({0: moved(4, 35)}), {"minPartitions": "3", "mode": "permissive"}, range(40))
    # only what is after the end is wrong
    ends = {"endingOffsets": '{"t":{"0":20}}', "maxPartitionBytes": "100"}
    case(log({0: moved(2, 19)}), ends, range(20))
    # what is torn begins with the bytes of a task of its own
    torn = log({0: b"".join(made[:3])[:-5], 30: made[3]})
    for task in ("100", str(size), "1m"):
        case(torn, {"maxPartitionBytes": task}, "offsets 20 to 29 of t-0 are missing")
    # two segments with the same offsets, in which each batch fits its file
    twice = {0: made[0] + made[1], 10: made[1] + made[2]}
    case(log(twice), {}, "outside of its segment: need at most 9, have 19")
    case(log(twice), {"mode": "permissive"}, range(30))
    # a filter passes over a batch whose end is not what it says
    data = bytearray(b"".join(made))
    data[size + 26] = 12
    case(log({0: bytes(data)}), {}, ".crc: stored", first=25, last=39)
    # a wrapper that begins below the base offset of its file
    for options in ({}, {"maxRecordsPerPartition": "9"}):
        case(log({3: old}), options, range(5))
    answers = ask([question(each, **filters) for each, filters in questions])
    # the one in Python has no filters, and checks all
    wanted = [python(each) if not filters else expected[n] for n, (each, filters) in enumerate(questions)]
    for (each, filters), answer, other, right in zip(questions, answers, wanted, expected, strict=True):
        found = answer["value"]
        if "mode" in each[1]:
            assert found == {"elsewhere": "mode=permissive"}
            found = other
        if isinstance(right, str):
            text = found if isinstance(found, str) else found["error"]
            assert right in text and (other == right or same_error(text, other)), (each, found)
        else:
            assert [row[0] for row in found] == right, (each, filters, found)
            assert other == right or other == [[offset] for offset in right], (each, other)


@pytest.mark.parametrize("options", [{}, {"startingOffsets": '{"t":{"0":3},"u":{"0":5}}'}])
def test_what_changes_between_planning_and_reading(ask: Ask, logs: Path, options: dict[str, str]) -> None:
    """Retention, compaction into the segment before, and a file that nobody but a person deletes."""
    first, second, third = (f"{base:020d}.log" for base in (0, 10, 20))
    both = logs.parent / "both" / "t-0"
    whole = write(both, 0, 20)
    for name in (second, third):
        data = (logs / "t-0" / name).read_bytes()
        (both / f"cut {name}").write_bytes(data[: first_size(logs / "t-0" / name)])
    (both / "grown").write_bytes(data + kodec.encode([kodec.Record(offset=n) for n in range(30, 40)]))
    changes: list[list[list[str]]] = [
        [[first]],
        [[first], [second]],
        [[second]],
        [[third]],
        [[second], [first, str(whole)]],
        [[first, str(whole)], [second]],
        [[second, str(both / f"cut {second}")]],
        [[third, str(both / f"cut {third}")]],
        [[third, str(both / "grown")]],
    ]
    start = 3 if options.get("startingOffsets") else 0
    deleted = f"offsets {start} to 9 of t-0 were deleted meanwhile"
    gone = f"{third} cannot be read at byte 0: No such file or directory"
    lost = "offsets {} to {} of t-0 are in no segment, and not for compaction"
    # what is said, or how many rows there are; and that where the cleaner's checkpoint knows the log
    expected: list[tuple[int | str, int | str]] = [
        (deleted, deleted),
        (deleted, deleted),
        (gone.replace(third, second), 25 - start),
        (gone, gone),
        (35 - start, 35 - start),
        (35 - start, 35 - start),
        (lost.format(15, 19), 30 - start),
        (lost.format(25, 29), lost.format(25, 29)),
        (35 - start, 35 - start),
    ]
    questions, wanted = [], []
    for number, change in enumerate(changes):
        for compacted in (False, True):
            ours, theirs = (
                logs.parent / f"{number}-{compacted}" / name / "logs" for name in ("ours", "other")
            )
            for root in (ours, theirs):
                shutil.copytree(logs, root)
                if compacted:
                    (root / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 20\n")
            meanwhile = [[str(ours / "t-0" / name), *more] for name, *more in change]
            questions.append(question((ours, options), meanwhile=meanwhile))
            one = KafkaLogDataSource(given(theirs, options))
            reader = one.reader(one.schema())
            tasks = reader.partitions()
            for name, *more in change:
                (theirs / "t-0" / name).unlink()
                for path in more:
                    shutil.copy(path, theirs / "t-0" / name)
            try:
                wanted.append([row for task in tasks for row in rows(reader.read(task))])
            except (KodecError, OSError) as error:
                wanted.append(str(error).replace(str(theirs), str(ours)))
            right = expected[number][compacted]
            if isinstance(right, str):
                assert right in wanted[-1]
            else:
                assert len(wanted[-1]) == right
    assert assert_same(ask(questions), wanted, questions) == 0


def first_size(path: Path) -> int:
    return next(iter(kodec.read_batches(path))).size


# -- remote storage -------------------------------------------------------------------------------


def plugins(root: Path, kind: str) -> Path:
    """A copy of the tier that Aiven's plugin has stored, of the same segments as Kafka's own tier."""
    (manifest, *_) = (STORED / kind).rglob("*.rsm-manifest")
    return Path(shutil.copytree(manifest.parents[2], root))


def test_remote_storage(ask: Ask, tmp_path: Path) -> None:
    tiered = DATA / "tiered-4.3.1"
    tier = tiered / "tier"
    plain_one = plugins(tmp_path / "plain", "plain")
    (topic,) = plain_one.iterdir()
    half = plugins(tmp_path / "half", "plain")
    max(half.rglob("*.rsm-manifest")).unlink()
    hole = plugins(tmp_path / "hole", "plain")
    sorted(hole.rglob("*.log"))[1].unlink()
    # a log that was torn before the plugin stored it: the manifest has its size
    torn = plugins(tmp_path / "torn", "plain")
    log = min(torn.rglob("*.log"))
    log.write_bytes(log.read_bytes()[:-7])
    manifest = log.with_suffix(".rsm-manifest")
    says = json.loads(manifest.read_bytes())
    for name in ("originalFileSize", "finalTransformedChunkSize"):
        says["chunkIndex"][name] -= 7
    manifest.write_text(json.dumps(says))
    places: list[Path | list[Path]] = [
        tier, next(tier.iterdir()), tiered, [tiered / "logs", tier], plain_one, topic, topic / "0",
        tmp_path / "plain*", [tiered / "logs", plain_one], half, hole, torn,
    ]  # fmt: skip
    choices: list[dict[str, str]] = [
        {},
        {"includeBatchMetadata": "true"},
        {"kafka.isolation.level": "read_committed", "includeControlRecords": "true"},
        {"startingOffsets": '{"tiered":{"0":70}}', "endingOffsets": '{"tiered":{"0":150}}'},
        {"startingTimestamp": "1700000000090", "startingOffsetsByTimestampStrategy": "latest"},
        {"failOnDataLoss": "false", "maxPartitionBytes": "1k"},
        {"subscribe": "other"},
    ]
    cases: list[Case] = [(place, options) for place in places for options in choices]
    # a topic that is missing, of each place
    assert compare(ask, cases) == len(places)
    # what the source in Python decodes, and what is no manifest, the one in the JVM leaves to it
    packed, locked = plugins(tmp_path / "packed", "zstd"), plugins(tmp_path / "locked", "aes")
    for options in ({}, choices[3]):
        assert python((packed, options)) == python((plain_one, options)) != []
    twice = plugins(tmp_path / "twice", "plain")
    second = sorted(twice.rglob("*.rsm-manifest"))[1]
    for name in (second, second.with_suffix(".log"), second.with_suffix(".indexes")):
        shutil.copy(name, name.with_name(f"{name.stem[:-4]}copy{name.suffix}"))
    assert python((twice, {})) == python((plain_one, {}))
    broken = plugins(tmp_path / "broken", "plain")
    min(broken.rglob("*.rsm-manifest")).write_text("{")
    assert "not JSON" in python((broken, {}))
    places = [packed, locked, broken]
    for place, answer in zip(places, ask([question((each, {})) for each in places]), strict=True):
        (log,) = min(place.rglob("*.rsm-manifest")).parent.glob(
            f"{min(place.rglob('*.rsm-manifest')).stem}.log"
        )
        assert answer["value"]["elsewhere"].startswith(f"{log}, which is not stored unchanged")
    assert ask([question((twice, {}))])[0]["value"]["elsewhere"].endswith("overlaps the segment before it")


# -- streams ------------------------------------------------------------------------------------------


def stream_python(logs: Path, options: dict[str, str], steps: list[list[Any]]) -> Any:
    try:
        one = KafkaLogDataSource(given(logs, options))
        stream: Any = one.streamReader(one.schema())
    except KodecError as error:
        return str(error)
    found: list[Any] = []
    for name, *words in steps:
        try:
            if name == "initial":
                found.append(stream.initialOffset())
            elif name == "report":
                found.append(stream.reportLatestOffset())
            elif name == "latest":
                limit = ReadAllAvailable() if words[1] < 0 else ReadMaxRows(words[1])
                if words[1] == 0:
                    limit = stream.getDefaultReadLimit()
                found.append(stream.latestOffset(words[0], limit))
            elif name == "ending":
                found.append(stream.prepareForTriggerAvailableNow())
            else:
                found.append([row for task in stream.partitions(*words) for row in rows(stream.read(task))])
        except (KodecError, OSError) as error:
            found.append({"error": str(error)})
    return found


def test_streams(ask: Ask, logs: Path, tmp_path: Path) -> None:
    def at(t: int, u: int, **more: dict[str, int]) -> dict[str, dict[str, int]]:
        return {"t": {"0": t}, "u": {"0": u}, **more}

    ids = ["AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"]
    with_id = {**at(9, 7), "#topicIds": {"t": {"0": ids[0]}}}
    steps: list[list[Any]] = [
        ["initial"],
        ["report"],
        ["latest", at(0, 5), -1],
        ["latest", at(0, 5), 7],
        ["latest", at(28, 5), 3],
        ["latest", at(30, 10), -1],
        ["latest", at(28, 5), 0],
        ["latest", at(28, 5), 0],
        ["ending"],
        ["latest", at(28, 5), 0],
        ["latest", at(3, 5), -1],
        ["latest", at(34, 5), -1],
        ["latest", at(34, 5), 2],
        ["rows", at(0, 5), at(30, 10)],
        ["rows", at(8, 10), at(21, 10)],
        ["rows", at(30, 10), at(30, 10)],
        ["rows", at(40, 10), at(40, 10)],
        ["rows", at(0, 2), at(30, 10)],
        ["rows", {"t": {"0": 4}}, at(9, 7)],
        ["rows", at(4, 5, x={"3": 7}), at(9, 7)],
        ["rows", at(4, 5), at(9, 7, x={"3": 7})],
        ["latest", at(4, 5, x={"3": 7}), -1],
        ["latest", {**at(4, 5), "#topicIds": {"t": {"0": ids[1]}}}, -1],
        ["latest", {**at(4, 5), "#topicIds": {"t": {"0": ids[0]}}}, -1],
        ["rows", {**at(4, 5), "#topicIds": {"t": {"0": ids[1]}}}, with_id],
        ["rows", {**at(4, 5), "#topicIds": {"t": {"0": ids[0]}}}, with_id],
        [
            "rows",
            {**at(4, 5), "#topicIds": {"t": {"0": ids[1]}}},
            {**with_id, "#topicIds": {"t": {"0": ids[1]}}},
        ],
    ]
    growing = tmp_path / "growing"
    shutil.copytree(logs, growing)
    data = kodec.encode([kodec.Record(offset=n, value=bytes(40)) for n in (30, 31, 32)])
    (growing / "t-0" / f"{30:020d}.log").write_bytes(data + data[:70])
    damaged = tmp_path / "damaged"
    shutil.copytree(logs, damaged)
    last = damaged / "t-0" / f"{20:020d}.log"
    last.write_bytes(last.read_bytes()[:16] + b"\x09" + last.read_bytes()[17:])
    unfinished, undecided = tmp_path / "unfinished", tmp_path / "undecided"
    for root in (unfinished, undecided):
        shutil.copytree(logs, root)
    (unfinished / "t-0" / f"{30:020d}.log").write_bytes(data[:-1] + b"?")
    producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    write(undecided / "t-0", 30, 5, **producer)
    started = tmp_path / "started"
    shutil.copytree(undecided, started)
    (started / "log-start-offset-checkpoint").write_text("0\n1\nt 0 33\n")
    committed = {"kafka.isolation.level": "read_committed"}
    created = tmp_path / "created"
    shutil.copytree(logs, created)
    (created / "t-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: {ids[0]}\n")
    starts = ("earliest", "latest", '{"t":{"0":7},"u":{"0":-2}}')
    cases: list[tuple[Path, dict[str, str]]] = [
        (path, {"startingOffsets": first, **options})
        for path in (logs, growing, damaged, unfinished, created)
        for first in starts
        for options in ({}, {"failOnDataLoss": "false"})
    ]
    cases += [
        (path, {"startingOffsets": first, **committed})
        for path in (undecided, started)
        for first in (*starts, '{"t":{"0":34},"u":{"0":-1}}')
    ]
    cases += [
        (undecided, {"startingTimestamp": "1700000000031", **committed}),
        (NEW, {"subscribe": "transactions", "kafka.isolation.level": "read_committed"}),
        (logs, {"endingOffsets": "latest"}),
        (logs, {"startingTimestamp": "1700000000008"}),
        (logs, {"minOffsetsPerTrigger": "50", "maxOffsetsPerTrigger": "3"}),
        (logs, {"minOffsetsPerTrigger": "50", "maxTriggerDelay": "0s"}),
        (logs, {"minOffsetsPerTrigger": "5"}),
    ]
    questions = [
        [
            "rows",
            "org.kodec.spark.SourceDump",
            "stream",
            json.dumps({"options": given(*case), "steps": steps}),
        ]
        for case in cases
    ]
    answers = ask([[*words[:-1], words[-1].encode().hex()] for words in questions])
    for case, answer in zip(cases, answers, strict=True):
        assert "crash" not in answer, (case, answer["crash"])
        wanted, found = stream_python(*case, steps), answer["value"]
        if isinstance(wanted, str):
            assert found == {"error": wanted}
            continue
        for step, one, other in zip(steps, found, wanted, strict=True):
            assert one == other, (case, step)


def test_paths_mean_what_they_mean_in_python(ask: Ask, tmp_path: Path) -> None:
    """Where Java takes a path for none of a log, Python decides, and raises."""
    questions = []
    for at, case in enumerate(CASES):
        path = case.make(tmp_path / str(at))
        given = {"path": str(path), "includeInternal": "true"} | (
            {} if case.segments is None else {"allowEmpty": "true"}
        )
        text = json.dumps({"options": given})
        questions.append(["rows", "org.kodec.spark.SourceDump", "segments", text.encode().hex()])
    for at, (case, answer) in enumerate(zip(CASES, ask(questions), strict=True)):
        found = answer["value"]
        if case.segments is None:
            assert "elsewhere" in found, (case, found)
        else:
            assert sorted(found) == sorted(str(tmp_path / str(at) / each) for each in case.segments), case
