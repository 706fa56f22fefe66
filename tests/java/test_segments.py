"""The Spark source's readers in the JVM against the ones in Python: segments whole, in tasks, damaged."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kodec
from kodec.log.files.listing import SegmentFiles, TopicPartition
from kodec.pipeline.plan import SourceSegment
from kodec.pipeline.rows import SegmentRows
from kodec.pipeline.spark_schema import arrow_schema, schema
from kodec.runtime.crc import crc32c
from kodec.runtime.errors import KodecError
from tests.java.conftest import ROOT, Ask, jars

LOGS = sorted((ROOT / "tests" / "data").glob("kafka-*/*/*-0/*.log"))
MOST = 2**63 - 1
_FILE = re.compile(r"/.*?\.log\b")


def same_error(found: str, wanted: str) -> bool:
    """Whether both name the file, and what a checksum is if that is what is wrong."""
    of_a_batch = ", at byte " in wanted and ".crc: stored" not in wanted
    return _FILE.findall(found) == _FILE.findall(wanted) if of_a_batch else found == wanted


def python(path: Path, first: int = -(2**63), last: int = MOST) -> Any:
    """The rows that the source in Python gives, or its error's text."""
    part = SourceSegment(TopicPartition("orders", 0), SegmentFiles(int(path.stem), path, path.stat().st_size))
    if (first, last) != (-(2**63), MOST):
        part = part._replace(first=first, end=min(last, MOST - 1) + 1)
    rows = []
    try:
        for batch in SegmentRows(part, arrow_schema(schema(headers=True))).batches():
            rows += [row(each) for each in batch.to_pylist()]
    except KodecError as error:
        return str(error)
    return rows


def row(each: dict[str, Any]) -> list[Any]:
    micros = pa.scalar(each["timestamp"], pa.timestamp("us", tz="UTC")).value
    return [
        each["offset"],
        micros // 1000,
        each["timestampType"],
        None if each["key"] is None else each["key"].hex(),
        None if each["value"] is None else each["value"].hex(),
        [
            [header["key"].encode().hex(), None if header["value"] is None else header["value"].hex()]
            for header in each["headers"] or ()
        ],
    ]


def question(path: Path, first: int = -(2**63), last: int = MOST, task: int = 1 << 30) -> list[str]:
    words = [str(path), str(int(path.stem)), "-1", str(first), str(last), str(task)]
    return ["rows", "org.kodec.spark.SegmentDump", "rows", "\t".join(words).encode().hex()]


def java(answer: dict[str, Any]) -> Any:
    assert "crash" not in answer, answer["crash"]
    return answer["text"] if "error" in answer else answer["value"]


def assert_same(answer: dict[str, Any], wanted: Any, what: str) -> None:
    """The same rows, or an error of the same file: why, the source in Python knows better."""
    found = java(answer)
    if isinstance(wanted, str):
        assert isinstance(found, str), what
        assert same_error(found, wanted), (what, found, wanted)
    else:
        assert found == wanted, what


def test_a_name_forges_no_line_of_the_log(ask: Ask) -> None:
    text = "a\n26/11/29 WARN forged\x1b[31m\u202e$1\u2028é"
    (answer,) = ask([["rows", "org.kodec.spark.SegmentDump", "shown", text.encode().hex()]])
    assert java(answer) == r"a\u000a26/11/29 WARN forged\u001b[31m\u202e$1\u2028é"


def test_segments_of_real_logs_give_the_same_rows(ask: Ask) -> None:
    assert len(LOGS) > 80
    for path, answer in zip(LOGS, ask([question(path) for path in LOGS]), strict=True):
        assert_same(answer, python(path), str(path))


def test_each_batch_belongs_to_one_task(ask: Ask) -> None:
    paths = [path for path in LOGS if 300 < path.stat().st_size < 100_000]
    sizes = (61, 250, 1_000)
    answers = iter(ask([question(path, task=size) for path in paths for size in sizes]))
    for path in paths:
        wanted = python(path)
        for _ in sizes:
            assert_same(next(answers), wanted, str(path))


def test_offsets_are_those_asked_for(ask: Ask) -> None:
    shuffled = random.Random(5)
    cases = []
    for path in LOGS:
        rows = python(path)
        if isinstance(rows, str) or len(rows) < 5 or path.stat().st_size > 50_000:
            continue
        for _ in range(2):
            one, other = sorted(shuffled.choice(rows)[0] for _ in range(2))
            cases.append((path, one, other))
    for (path, first, last), answer in zip(cases, ask([question(*each) for each in cases]), strict=True):
        assert_same(answer, python(path, first, last), f"{path} {first} {last}")


def test_a_gap_ends_at_the_last_offset_that_a_segment_can_have(ask: Ask, tmp_path: Path) -> None:
    paths = []
    for last in (2**31 - 2, 2**31 - 1, 2**31):
        path = tmp_path / f"{last}" / "orders-0" / f"{0:020d}.log"
        path.parent.mkdir(parents=True)
        path.write_bytes(
            b"".join(kodec.encode([kodec.Record(offset=each, value=b"x")]) for each in (0, last))
        )
        paths.append(path)
    wanted = [python(path) for path in paths]
    assert [isinstance(each, str) for each in wanted] == [False, False, True]
    for answer, each in zip(ask([question(path) for path in paths]), wanted, strict=True):
        assert_same(answer, each, "")


def test_a_gap_ends_below_the_next_segment(ask: Ask, tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    for base in (10, 20):
        (folder / f"{base:020d}.log").write_bytes(kodec.encode([kodec.Record(offset=base, value=b"x")]))
    path = folder / f"{0:020d}.log"
    path.write_bytes(b"".join(kodec.encode([kodec.Record(offset=each, value=b"x")]) for each in (0, 15)))
    wanted = python(path)
    assert isinstance(wanted, str) and "at most 9" in wanted
    assert_same(ask([question(path)])[0], wanted, "")


# -- damage --------------------------------------------------------------------------------------------


def logs() -> Iterator[bytes]:
    """Small logs of each format and codec, of three batches."""
    for magic, codecs in (
        (0, ("none", "gzip", "snappy", "lz4")),
        (1, ("none", "gzip", "snappy", "lz4")),
        (2, ("none", "gzip", "snappy", "lz4", "zstd")),
    ):
        for codec in codecs:
            data = b""
            for first in (0, 3, 6):
                records = [
                    kodec.Record(
                        offset=first + n,
                        timestamp=1_600_000_000_000 + n if magic else -1,
                        key=b"k%d" % n,
                        value=None if n == 1 else b"value %d " % n * 4,
                        headers=(("h", b"x"),) if magic == 2 and n else (),
                    )
                    for n in range(3)
                ]
                data += kodec.encode(records, magic=magic, compression=codec)
            yield data


def nested() -> Iterator[bytes]:
    """Logs of many batches, values of which hold whole batches: what follows damage may be a part of it."""
    for magic in (0, 1, 2):
        inner = b"".join(
            kodec.encode([kodec.Record(offset=40 + n, value=b"inner")], magic=magic) for n in range(9)
        )
        data = b""
        for first in range(0, 36, 3):
            value = inner[: len(inner) // 9 * 2] if first == 12 else inner if first == 24 else b"value" * 9
            records = [kodec.Record(offset=first + n, value=value) for n in range(3)]
            data += kodec.encode(records, magic=magic)
        yield data


def damaged() -> Iterator[bytes]:
    shuffled = random.Random(23)
    for data in nested():
        for _ in range(30):
            changed = bytearray(data)
            at = shuffled.randrange(len(data))
            changed[at : at + shuffled.choice((1, 2, 9, 70))] = shuffled.randbytes(
                shuffled.choice((1, 2, 9, 60))
            )
            yield bytes(changed)
        for _ in range(20):
            yield data[: shuffled.randrange(len(data))]
    for data in logs():
        yield data
        for _ in range(60):
            changed = bytearray(data)
            at = shuffled.randrange(len(data))
            changed[at] ^= 1 << shuffled.randrange(8)
            yield bytes(changed)
        for _ in range(12):
            yield data[: shuffled.randrange(len(data))]
        yield data + bytes(100)
        yield data + bytes(5)
        yield data + b"\x01" * 30
        second = len(data) // 3
        yield data[:second] + bytes(40) + data[second:]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("broken")
    paths = []
    for number, data in enumerate(damaged()):
        path = root / str(number) / "orders-0" / f"{0:020d}.log"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        paths.append(path)
    return paths


def test_damage_is_an_error_where_it_is_one_in_python(ask: Ask, broken: list[Path]) -> None:
    answers = ask([question(path) for path in broken])
    errors = doubts = 0
    for path, answer in zip(broken, answers, strict=True):
        wanted, found = python(path), java(answer)
        errors += isinstance(wanted, str)
        if isinstance(found, str) and not isinstance(wanted, str):
            # a torn tail that looks like damage
            batches = kodec.read_batches(path)
            list(batches)
            assert batches.torn_tail is not None and "`kodec verify`" in found, path.read_bytes().hex()
            doubts += 1
        else:
            assert_same(answer, wanted, path.read_bytes().hex())
    assert errors > 400 and doubts < 30


def preallocated(path: Path, size: int, changed: int | None = None) -> Path:
    """A log of one batch with a hole after it, in which one byte is not zero."""
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.write(kodec.encode([kodec.Record(value=b"x")]))
        file.truncate(size)
        if changed is not None:
            file.seek(changed)
            file.write(b"\x80")
    return path


def test_zeros_at_the_end_are_a_torn_tail_and_anything_among_them_is_damage(ask: Ask, tmp_path: Path) -> None:
    name, mib = f"{0:020d}.log", 1 << 20
    # the JVM compares a MiB at a time, from the end of the batch on
    start = len(kodec.encode([kodec.Record(value=b"x")]))
    places = (None, start + 17, start + mib - 1, start + mib, start + 2 * mib + 1, 3 * mib - 1)
    paths = [preallocated(tmp_path / f"{at}" / "orders-0" / name, 3 * mib, at) for at in places]
    wanted = [python(path) for path in paths]
    assert [isinstance(each, str) for each in wanted] == [False, True, True, True, True, True]
    for place, answer, each in zip(places, ask([question(path) for path in paths]), wanted, strict=True):
        assert_same(answer, each, f"{place}")


def test_a_hole_is_read_once_however_many_tasks_a_segment_has(ask: Ask, tmp_path: Path) -> None:
    path = preallocated(tmp_path / "orders-0" / f"{0:020d}.log", 1 << 30)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    (answer,) = ask([question(path, task=1 << 22)])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # the JVM's start takes some 3 s of CPU, the hole 0.2 s: in each of 256 tasks it would be 50 s
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 15
    assert len(java(answer)) == 1


def changed(data: bytes, at: int, value: bytes) -> bytes:
    """A batch of format v2 with other bytes, and its checksum."""
    made = bytearray(data)
    made[at : at + len(value)] = value
    made[17:21] = crc32c(bytes(made[21:])).to_bytes(4, "big")
    return bytes(made)


def test_numbers_that_only_a_forged_batch_has(ask: Ask, tmp_path: Path) -> None:
    one = kodec.encode([kodec.Record(value=b"x")])
    two = kodec.encode([kodec.Record(offset=each, value=b"x") for each in (0, 1)])
    inside = gzip.compress(two[61:]) + gzip.compress(b"")[:12]
    zipped = changed(two[:61] + inside, 8, (49 + len(inside)).to_bytes(4, "big"))
    forged = {
        "an offset below 0": changed(one, 64, b"\x37"),
        "offsets beyond 63 bits": (2**63 - 1).to_bytes(8, "big") + two[8:],
        "the start of another gzip member": changed(zipped, 21, b"\x00\x01"),
    }
    paths = []
    for name, data in forged.items():
        path = tmp_path / name / "orders-0" / f"{0:020d}.log"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        paths.append(path)
    wanted = [python(path) for path in paths]
    assert [isinstance(each, str) for each in wanted] == [False, True, True]
    assert wanted[0][0][0] == -28
    for path, answer, each in zip(paths, ask([question(path) for path in paths]), wanted, strict=True):
        assert_same(answer, each, str(path))


def test_a_damaged_length_does_not_cost_its_memory(classes: Path, tmp_path: Path) -> None:
    java = shutil.which("java")
    assert java is not None
    made = [kodec.encode([kodec.Record(offset=each, value=b"x")]) for each in range(3)]
    made[1] = made[1][:8] + (900 << 20).to_bytes(4, "big") + made[1][12:]
    path = tmp_path / "orders-0" / f"{0:020d}.log"
    path.parent.mkdir()
    path.write_bytes(b"".join(made))
    done = subprocess.run(
        [java, "-Xmx64m", "-XX:+UseSerialGC", "-cp", f"{classes}{os.pathsep}{jars()}", "Dump"],
        input=" ".join(question(path)),
        capture_output=True,
        text=True,
        check=False,
    )
    wanted = python(path)
    assert isinstance(wanted, str) and "need 943718412 bytes" in wanted
    assert_same(json.loads(done.stdout), wanted, "")
