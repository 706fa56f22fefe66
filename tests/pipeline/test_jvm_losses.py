"""What the source in the JVM does where something of a log is missing, or cannot be read.

The rule: gone is what a new listing of the folder lacks. All else that cannot be opened, listed or read as
its name says is an error that names it, however the system words it. Offsets that nothing has are an error,
or counted and logged with failOnDataLoss=false. Every case runs in a session of Spark in which permissions
hold for root too (see `spark_cases`).
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import pytest

import kodec
from kodec.log.remote.lineage import CopiedSegment, CopyState
from kodec.pipeline import KafkaLogDataSource
from kodec.pipeline.spark import JAR
from kodec.runtime.crc import crc32c
from tests.data import DATA
from tests.log.tiers import TOPIC_ID, Metadata, text_of
from tests.pipeline.spark_cases import answers

pytestmark = pytest.mark.skipif(not JAR.is_file(), reason="no JDK: the source for the JVM was not built")

Change = list[list[Any]]
SMALL = {"maxPartitionBytes": "500"}
ON = {"failOnDataLoss": "false"}
ALL = range(300)
TIERED = DATA / "tiered-4.3.1/logs"


def log(base: int) -> str:
    return f"t-0/{base:020d}.log"


def batch(offsets: range, delta: int | None = None) -> bytes:
    """Records as one batch; with `delta`, its header has a wrong last offset, and the right checksum."""
    data = kodec.encode([kodec.Record(offset=n, value=b"value %d" % n) for n in offsets])
    if delta is None:
        return data
    # kodec's writer refuses to write it
    body = data[21:23] + struct.pack(">i", delta) + data[27:]
    return data[:17] + struct.pack(">I", crc32c(body)) + body


def segment(base: int, count: int = 100) -> bytes:
    return b"".join(batch(range(first, first + 10)) for first in range(base, base + count, 10))


class Case(NamedTuple):
    """A log directory with the offsets 0 to 299 of t-0 in three segments, and what happens to it.

    Attributes:
        make: changes the folder before it is loaded.
        meanwhile: gives what happens between planning and reading; of a stream, before each further run.
        rows: the offsets that are returned.
        error: what the error has, with `{}` for the folder.
        missing: the ranges that are counted; of a stream those of its last run.
        log: what the driver's log has.
    """

    name: str
    make: Callable[[Path], None] = lambda root: None
    meanwhile: Callable[[Path], list[Any]] = lambda root: []
    options: Mapping[str, str] = MappingProxyType({})
    rows: range | list[int] | None = None
    error: str | None = None
    missing: int = 0
    log: str | None = None
    path: str = ""
    how: str = "rows"
    cause: str | None = None


def closed(name: str) -> Callable[[Path], None]:
    return lambda root: (root / name).chmod(0)


def closing(name: str) -> Callable[[Path], Change]:
    return lambda root: [["chmod", str(root / name), 0]]


def linked(name: str, to: str) -> Callable[[Path], None]:
    """A link in the place of a file or folder."""

    def make(root: Path) -> None:
        (root / name).rename(root.with_name(f"{root.name}-away"))
        (root / name).symlink_to(to)

    return make


def another(name: str, kind: str) -> Callable[[Path], None]:
    """Something else in the place of a file or a folder."""

    def make(root: Path) -> None:
        path = root / name
        if path.exists():
            path.rename(root.with_name(f"{root.name}-away"))
        if kind == "folder":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "file":
            path.touch()
        else:
            # its path has less than 108 bytes only from its own folder
            here = Path.cwd()
            os.chdir(path.parent)
            try:
                with socket.socket(socket.AF_UNIX) as made:
                    made.bind(path.name)
            finally:
                os.chdir(here)

    return make


def checkpoint(name: str, text: str = "0\n1\nt 0 100\n") -> Callable[[Path], None]:
    def make(root: Path) -> None:
        (root / name).write_text(text)
        (root / name).chmod(0)

    return make


def cut(base: int, size: int) -> Callable[[Path], Change]:
    return lambda root: [["truncate", str(root / log(base)), size]]


def appended(**options: Any) -> Callable[[Path], None]:
    """Ten more records, with these options of `encode`."""

    def make(root: Path) -> None:
        records = [kodec.Record(offset=n, value=b"more") for n in range(300, 310)]
        with (root / log(200)).open("ab") as file:
            file.write(kodec.encode(records, **options))

    return make


def removed(*bases: int) -> Callable[[Path], Change]:
    return lambda root: [["unlink", str(root / log(base))] for base in bases]


def replaced(root: Path) -> Change:
    """A whole segment in the place of the last one, with fewer offsets."""
    other = root / "other"
    other.write_bytes(segment(200, 50))
    return [["replace", str(other), str(root / log(200))]]


def disks(root: Path) -> None:
    """A folder of log directories: the log is in one of them."""
    for name in ("disk-1", "disk-2"):
        (root / name / "u-0").mkdir(parents=True)
        (root / name / "meta.properties").write_text("version=1\n")
        (root / name / "u-0" / log(0)[4:]).write_bytes(segment(0))
    (root / "t-0").rename(root / "disk-1" / "t-0")


def then(*makes: Callable[[Path], None]) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        for each in makes:
            each(root)

    return make


STRANGE = "t-", "t-00", "t-0\n", "t-0 ", "t-é", os.fsdecode(b"t-\xff")


def misnamed(root: Path) -> None:
    for name in (*STRANGE, "lost+found"):
        (root / name).mkdir()
        (root / name / log(0)[4:]).write_bytes(segment(0))


def brokers(root: Path) -> None:
    """A folder of log directories that are named like topic-partitions, of which one is not there."""
    (root / "broker-0").mkdir()
    (root / "broker-0" / "meta.properties").write_text("version=1\n")
    (root / "t-0").rename(root / "broker-0" / "t-0")


def old_brokers(root: Path) -> None:
    """A log directory with another one in it."""
    (root / "broker-0" / "v-0").mkdir(parents=True)
    (root / "broker-0" / "v-0" / log(0)[4:]).write_bytes(segment(0))


def known(name: str, end: object, *, folder: str = "t 0") -> Callable[[Path], None]:
    """A checkpoint that has the end of a log."""
    return lambda root: (root / name).write_text(f"0\n1\n{folder} {end}\n") and None


def tail(base: int, data: bytes) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        with (root / log(base)).open("ab") as file:
            file.write(data)

    return make


def topic_id(text: str) -> Callable[[Path], None]:
    return lambda root: (root / "t-0" / "partition.metadata").write_text(text) and None


def gone(root: Path) -> list[Change]:
    """All of a log but its last segment, then that one's end, then all of it."""
    unlink = [["unlink", str(root / log(base))] for base in (0, 100)]
    size = len(segment(200, 50))
    away = str(root / "u-0"), str(root.with_name(f"{root.name}-away"))
    return [[*unlink, ["truncate", str(root / log(200)), size], ["rename", *away]]]


def two_logs(root: Path) -> None:
    (root / "u-0").mkdir()
    (root / "u-0" / log(0)[4:]).write_bytes(segment(0, 10))


def named(parts: bool, on: bool) -> str:
    return (" in parts" if parts else "") + (", with failOnDataLoss=false" if on else "")


def without_first(root: Path) -> None:
    (root / log(0)).unlink()


def remote(
    *copies: tuple[int, int], finished: bool = True, deleted: bool = False, torn: bool = False
) -> Callable[[Path], None]:
    """`__remote_log_metadata` with copies of these offsets of t-0, whose first segment is not here."""

    def make(root: Path) -> None:
        without_first(root)
        metadata = Metadata(TOPIC_ID, kodec.TopicPartition("t", 0))
        for number, (first, last) in enumerate(copies):
            segment = CopiedSegment(text_of(UUID(int=number + 1)), first, last, (), None)
            metadata.begin(segment)
            if finished:
                metadata.change(segment, CopyState.COPY_FINISHED)
        if deleted:
            metadata.partition_deleted()
        metadata.write(root)
        if torn:
            with (root / "__remote_log_metadata-0" / log(0)[4:]).open("ab") as file:
                file.write(b"\xff" * 100)

    return make


def timed(root: Path) -> None:
    """Offset 100 + n has the time 1000 + n."""
    for base in (100, 200):
        rows = [kodec.Record(offset=n, value=b"", timestamp=900 + n) for n in range(base, base + 100)]
        (root / log(base)).write_bytes(kodec.encode(rows))


def other_replica(root: Path) -> None:
    """Of two replicas, the one that is preferred has moved its first segment, and the other has not."""
    for disk in ("disk-1", "disk-2"):
        shutil.copytree(root / "t-0", root / disk / "t-0")
    shutil.rmtree(root / "t-0")
    without_first(root / "disk-2")
    known(STARTS, 5)(root / "disk-2")


def away(first: int) -> str:
    return (
        f"kafka-log: failOnDataLoss: t-0: {{}}/t-0: offsets {first} to 99 are missing: the first segment "
        "begins at 100, and remote storage has those before: give --tier, or begin at a later offset"
    )


STARTS = "log-start-offset-checkpoint"
NO_FILE = "No such file or directory"
LOST = "offsets {} to {} of t-0 are in no segment, and not for compaction"
TORN = "offsets {} to {} of t-0 are missing: it ends in a torn tail"
SHORT = "t-0: offsets {} to {} are missing: the log ends before {}, which {} has"
ENDS = "recovery-point-offset-checkpoint", "replication-offset-checkpoint"
FIRST = [n for n in ALL if n < 200]

UNREACHABLE = [
    # as it is found when a query is planned
    Case("closed folder", closed("t-0"), error="{}/t-0 cannot be read: Permission denied"),
    Case(
        "folder is a link to nothing",
        linked("t-0", "/nowhere"),
        error="{}/t-0 cannot be read: it is a dangling link",
    ),
    Case(
        "folder is a loop", linked("t-0", "t-0"), error="{}/t-0 cannot be read: Too many levels of symbolic"
    ),
    Case("folder is a file", another("t-0", "file"), error="{}/t-0 cannot be read: it is not a folder"),
    Case("folder is a pipe", another("t-0", "pipe"), error="{}/t-0 cannot be read: it is not a regular file"),
    *(
        Case(
            f"{where} segment is {name}", make(log(base)), error=f"{{}}/{log(base)} cannot be read: {reason}"
        )
        for where, base in (("first", 0), ("middle", 100), ("last", 200))
        for name, make, reason in (
            ("a link to nothing", lambda path: linked(path, "/nowhere"), "it is a dangling link"),
            ("a loop", lambda path: linked(path, Path(path).name), "Too many levels of symbolic links"),
            ("a folder", lambda path: another(path, "folder"), "it is not a regular file"),
            ("a pipe", lambda path: another(path, "pipe"), "it is not a regular file"),
            ("a socket", lambda path: another(path, "socket"), "it is not a regular file"),
        )
    ),
    *(
        Case(
            f"closed segment {base}{named(bool(options), bool(more))}",
            meanwhile=closing(log(base)),
            options={**options, **more},
            error=f"{{}}/{log(base)} cannot be read at byte 0: Permission denied",
            cause="unreachable",
        )
        for base, more in ((0, {}), (100, ON), (200, {}))
        for options in ({}, SMALL)
    ),
    Case(
        "folder that is closed meanwhile",
        meanwhile=closing("t-0"),
        error=f"{log(0)} cannot be read",
        cause="unreachable",
    ),
    *(
        Case(f"closed {name}", checkpoint(name), error=f"{{}}/{name} cannot be read: Permission denied")
        for name in ("log-start-offset-checkpoint",)
    ),
    *(
        Case(
            f"start offsets in {kind}",
            another("log-start-offset-checkpoint", kind),
            error="{}/log-start-offset-checkpoint cannot be read: it is not a regular file",
        )
        for kind in ("folder", "pipe")
    ),
    Case(
        "start offsets behind a link to nothing",
        lambda root: (root / "log-start-offset-checkpoint").symlink_to("/nowhere"),
        error="{}/log-start-offset-checkpoint cannot be read: " + NO_FILE,
    ),
    # they would excuse a gap
    Case(
        "closed cleaner-offset-checkpoint with a gap",
        then(checkpoint("cleaner-offset-checkpoint"), lambda root: (root / log(100)).unlink()),
        error="{}/cleaner-offset-checkpoint cannot be read: Permission denied",
        cause="unreachable",
    ),
    Case(
        "closed kodec-omitted-offsets with a gap",
        then(checkpoint("t-0/kodec-omitted-offsets"), lambda root: (root / log(100)).unlink()),
        error="{}/t-0/kodec-omitted-offsets cannot be read: Permission denied",
        cause="unreachable",
    ),
    Case("closed cleaner-offset-checkpoint without a gap", checkpoint("cleaner-offset-checkpoint"), rows=ALL),
    # indexes are hints
    *(
        Case(f"closed {kind}", checkpoint(log(200)[:-3] + kind), options=options, rows=rows)
        for kind, options, rows in (
            ("index", {"startingOffsets": '{"t":{"0":250}}'}, range(250, 300)),
            ("timeindex", {"startingTimestamp": "0", "startingOffsetsByTimestampStrategy": "latest"}, []),
            ("txnindex", {"kafka.isolation.level": "read_committed"}, ALL),
            ("snapshot", {"kafka.isolation.level": "read_committed"}, ALL),
        )
    ),
    # folders of log directories, and globs
    Case(
        "closed log directory",
        then(disks, closed("disk-2")),
        error="{}/disk-2 cannot be read: Permission denied",
    ),
    Case(
        "log directory that is a link to nothing",
        then(disks, linked("disk-2", "/nowhere")),
        error="{}/disk-2 cannot be read: it is a dangling link",
    ),
    Case(
        "log directory that is a loop",
        then(disks, linked("disk-2", "disk-2")),
        error="{}/disk-2 cannot be read: Too many levels of symbolic links",
    ),
    Case(
        "closed folder by a glob",
        then(disks, closed("disk-2")),
        path="/disk-*",
        error="{}/disk-2 cannot be read: Permission",
    ),
    Case(
        "closed folder within a glob",
        then(disks, closed("disk-2")),
        path="/disk-*/*-0",
        error="{}/disk-2 cannot be read: Permission denied",
    ),
    Case(
        "link to nothing by a glob",
        then(disks, linked("disk-2", "/nowhere")),
        path="/disk-*/*-0",
        error="{}/disk-2 cannot be read: it is a dangling link",
    ),
    Case(
        "loop by a glob",
        then(disks, linked("disk-2", "disk-2")),
        path="/{disk-1,disk-2}/t-0",
        error="{}/disk-2 cannot be read: Too many levels of symbolic links",
    ),
    Case(
        "closed lost+found",
        then(disks, lambda root: (root / "lost+found").mkdir(0)),
        options={"subscribe": "t"},
        rows=ALL,
    ),
    Case(
        "closed log that is not wanted", then(two_logs, closed("u-0")), options={"subscribe": "t"}, rows=ALL
    ),
    Case(
        "closed log that is wanted",
        then(two_logs, closed("u-0")),
        error="{}/u-0 cannot be read: Permission denied",
    ),
    Case(
        "names that are not those of logs",
        misnamed,
        rows=ALL,
        log="{}/t-00? is not read: it holds files named like segments, but its name is not",
    ),
    Case(
        "name that is not text",
        misnamed,
        rows=ALL,
        log="is not read: its name is not text in the encoding of this system",
    ),
    Case(
        "log directory whose name is not text",
        then(disks, lambda root: (root / "disk-2").rename(root / os.fsdecode(b"disk-\xff"))),
        error="cannot be read: its name is not text in the encoding of this system",
    ),
    # a folder of log directories that are named like topic-partitions
    *(
        Case(
            f"disk named like a log, {name}", then(brokers, make), error="{}/broker-1 cannot be read: " + why
        )
        for name, make, why in (
            (
                "a link to nothing",
                lambda root: (root / "broker-1").symlink_to("/no"),
                "it is a dangling link",
            ),
            ("a loop", lambda root: (root / "broker-1").symlink_to("broker-1"), "Too many levels"),
            ("closed", lambda root: (root / "broker-1").mkdir(0), "Permission denied"),
        )
    ),
    Case(
        "closed log beside a log directory, not wanted",
        then(old_brokers, lambda root: (root / "u-0").mkdir(0)),
        options={"subscribe": "t"},
        rows=ALL,
    ),
    *(
        Case(f"closed {name}", checkpoint(name), error=f"{{}}/{name} cannot be read: Permission denied")
        for name in ENDS
    ),
    *(
        Case(f"{name} that is none", known(name, "x"), error=f"have x, at byte 0 of {{}}/{name}")
        for name in ENDS
    ),
    *(
        Case(
            f"stream of a topic whose id is {name}",
            topic_id(text),
            options={**ON, "startingOffsets": "earliest"},
            error="at byte 0 of {}/t-0/partition.metadata",
            how="stream",
        )
        for name, text in (
            ("empty", ""),
            ("cut", "version: 0\ntopic_id: AAAAAAAAAAAAAAAA"),
            ("without its version", "topic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"),
            ("none", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n"),
        )
    ),
]

MISSING = [
    *(
        Case(
            f"segment {base} cut to {size} bytes{named(parts, on)}",
            meanwhile=cut(base, size),
            options={**(SMALL if parts else {}), **(ON if on else {})},
            rows=[n for n in ALL if not base + have <= n < base + 100]
            if on and not (parts and base == 100)
            else None,
            # a closed segment of another size was replaced: nobody knows by which parts
            error=(
                "run the query again"
                if parts and base == 100
                else None
                if on
                # one of the tasks behind its end may be the first to report it
                else (LOST if size == 0 else TORN)
                .format(base + have, base + 99)
                .partition("are " if parts else "\0")[0]
            ),
            # each of the four tasks lacks some of it
            missing=(4 if parts else 1) if on else 0,
            cause=None if on else "unreachable" if parts and base == 100 else "missing",
            log=None
            if not on or (parts and base == 100)
            else (LOST if size == 0 else TORN).format(base + have, base + 99),
        )
        for base in (100, 200)
        for size, have in ((0, 0), (300, 10))
        for parts in (False, True)
        for on in (False, True)
    ),
    *(
        Case(
            f"last segment replaced by a shorter one{named(parts, on)}",
            meanwhile=replaced,
            options={**(SMALL if parts else {}), **(ON if on else {})},
            rows=range(250) if on else None,
            error=None if on else LOST.format(250, 299),
            missing=(2 if parts else 1) if on else 0,
            log=LOST.format(250, 299) if on else None,
        )
        for parts in (False, True)
        for on in (False, True)
    ),
    Case(
        "first segment deleted",
        meanwhile=removed(0),
        error="offsets 0 to 99 of t-0 were deleted meanwhile",
        cause="missing",
    ),
    Case(
        "first segment deleted, with failOnDataLoss=false",
        meanwhile=removed(0),
        options=ON,
        rows=range(100, 300),
        missing=1,
        log="offsets 0 to 99 of t-0 were deleted meanwhile",
    ),
    Case(
        "middle segment deleted",
        meanwhile=removed(100),
        error=f"{log(100)} cannot be read at byte 0: {NO_FILE}",
    ),
    Case(
        "middle segment deleted, with failOnDataLoss=false",
        meanwhile=removed(100),
        options=ON,
        rows=[n for n in ALL if n // 100 != 1],
        missing=1,
        log="offsets 100 to 199 of t-0 are missing",
    ),
    Case(
        "last segment deleted, with failOnDataLoss=false",
        meanwhile=removed(200),
        options=ON,
        rows=FIRST,
        missing=1,
        log="offsets 200 to 299 of t-0 are missing",
    ),
    Case(
        "segment deleted in parts, with failOnDataLoss=false",
        meanwhile=removed(200),
        options={**SMALL, **ON},
        error="run the query again",
    ),
    # a checkpoint has more than the log
    *(
        Case(
            f"log that ends below {name}{named(False, on)}",
            known(name, 413),
            options=ON if on else {},
            rows=ALL if on else None,
            error=None if on else SHORT.format(300, 412, 413, name),
            missing=1 if on else 0,
            log=SHORT.format(300, 412, 413, name) if on else None,
        )
        for name in ENDS
        for on in (False, True)
    ),
    *(
        Case(f"log that ends at {name} {end} of {of}", known(name, end, folder=of), rows=ALL)
        for name, end, of in ((ENDS[0], 300, "t 0"), (ENDS[1], 300, "t 0"), (ENDS[1], 413, "u 0"))
    ),
    Case(
        "log without a segment that had some",
        then(
            known(ENDS[0], 413), lambda root: [(root / log(base)).unlink() for base in (0, 100, 200)] and None
        ),
        error=SHORT.format(0, 412, 413, ENDS[0]),
    ),
    Case(
        "short log of which the beginning is wanted",
        known(ENDS[0], 413),
        options={"endingOffsets": '{"t":{"0":300}}'},
        rows=ALL,
    ),
    Case(
        "count of a short log",
        known(ENDS[0], 413),
        options=ON,
        rows=[300],
        how="count",
        log=SHORT.format(300, 412, 413, ENDS[0]),
    ),
    # the end of a file is not a whole batch
    *(
        Case(
            f"{size} bytes after segment {base}",
            tail(base, bytes(size)),
            rows=ALL,
            log=f"{cause}: {{}}/{log(base)}: ends at byte {len(segment(base))}, {size} bytes before the end",
        )
        for base, cause in ((100, "damaged"), (200, "unfinished"))
        for size in (5, 500)
    ),
    Case(
        "open transaction",
        appended(producer_id=7, producer_epoch=0, base_sequence=0, transactional=True),
        options={"kafka.isolation.level": "read_committed"},
        rows=ALL,
        log="unfinished: {}/t-0: read_committed ends before offset 300, where an open transaction of",
    ),
    # found when the query is planned
    Case(
        "offsets beyond the end",
        options={**ON, "endingOffsets": '{"t":{"0":900}}'},
        rows=ALL,
        missing=1,
        log="endingOffsets: t-0 has offsets 0 to 300 (exclusive), not 900",
    ),
    Case(
        "gap",
        lambda root: (root / log(100)).unlink(),
        options=ON,
        rows=[n for n in ALL if n // 100 != 1],
        missing=1,
        log=LOST.format(100, 199),
    ),
    Case(
        "count over a gap",
        lambda root: (root / log(100)).unlink(),
        options=ON,
        rows=[200],
        how="count",
        log=LOST.format(100, 199),
    ),
    Case(
        "stream after a deletion, a truncation, and a folder that is gone",
        two_logs,
        gone,
        {**ON, "startingOffsets": "earliest"},
        rows=sorted([*range(10), *ALL]),
        missing=2,
        how="stream",
        log="t-0 ended at offset 250, and the query had read up to 300",
    ),
    Case(
        "stream over offsets that were deleted",
        options={**ON, "startingOffsets": '{"t":{"0":50}}'},
        rows=range(100, 300),
        make=lambda root: (root / log(0)).unlink(),
        missing=1,
        how="stream",
        log="t-0 has offsets 100 to 300",
    ),
    Case(
        "stream over a closed segment",
        meanwhile=lambda root: [
            [["chmod", str(root / log(100)), 0]],
            [["chmod", str(root / log(100)), 0o644]],
        ],
        options={**ON, "startingOffsets": '{"t":{"0":0}}', "maxOffsetsPerTrigger": "100"},
        rows=ALL,
        how="stream",
    ),
]

# records that remote storage has, and whose tier is not read
FROM_ALL = {"startingOffsets": '{"t":{"0":-2}}'}
MOVED = [
    *(
        Case(
            f"log start below the first segment{named(False, bool(on))}",
            then(without_first, known(STARTS, 20)),
            options=on,
            error=away(20),
        )
        for on in ({}, ON)
    ),
    *(
        Case(
            f"copied{named(False, bool(on))}",
            remote((0, 99)),
            options=on,
            error=away(0),
        )
        for on in ({}, ON)
    ),
    Case("copied, the last ones", remote((50, 69), (70, 99)), error=away(50)),
    Case(
        "copied, of this id",
        then(remote((0, 99)), topic_id(f"version: 0\ntopic_id: {text_of(TOPIC_ID)}\n")),
        error=away(0),
    ),
    Case(
        "copied, of another id",
        then(remote((0, 99)), topic_id(f"version: 0\ntopic_id: {text_of(UUID(int=7))}\n")),
        rows=range(100, 300),
    ),
    Case(
        "copied, of an id that cannot be read",
        then(remote((0, 99)), topic_id("version: 0\ntopic_id: x\n")),
        error=away(0),
    ),
    Case("copied in part", remote((0, 99), finished=False), rows=range(100, 300)),
    Case("copied and deleted", remote((0, 99), deleted=True), rows=range(100, 300)),
    Case("copied, by a damaged topic", remote((0, 99), torn=True), error=away(0)),
    Case("copied below its start", then(remote((0, 99)), known(STARTS, 100)), rows=range(100, 300)),
    Case("copied, of another log", then(remote((0, 99)), known(STARTS, 7, folder="u 0")), error=away(0)),
    Case("deleted by retention", without_first, rows=range(100, 300)),
    Case(
        "copied before a start",
        remote((0, 99)),
        options={"startingOffsets": '{"t":{"0":100}}'},
        rows=range(100, 300),
    ),
    Case("copied, from an earliest one", remote((0, 99)), options=FROM_ALL, error=away(0)),
    Case(
        "copied, from a time before",
        then(remote((0, 99)), timed),
        options={"startingTimestamp": "1000"},
        error=away(0),
    ),
    Case(
        "copied, from a time after",
        then(remote((0, 99)), timed),
        options={"startingTimestamp": "1050"},
        rows=range(150, 300),
    ),
    Case("copied, counted", remote((0, 99)), how="count", error=away(0)),
    Case("copied, one segment", remote((0, 99)), path=f"/{log(100)}", rows=range(100, 200)),
    Case("moved from one of two replicas", other_replica, rows=range(5, 300)),
    Case(
        "of a real broker",
        lambda root: shutil.copytree(TIERED, root, dirs_exist_ok=True) and None,
        error="tiered-0: {}/tiered-0: offsets 0 to 167 are missing: the first segment begins at 168",
    ),
]


def of_magic(magic: int) -> bytes:
    data = batch(range(300, 310))
    return data[:16] + bytes([magic]) + data[17:]


# what nobody can read is named, wherever it is
SHORT_HEAD = batch(range(300, 310))[:8] + struct.pack(">i", 41) + batch(range(300, 310))[12:53]
UNKNOWN_MAGIC = "magic: unknown message format: need 0, 1 or 2, have 9"
UNKNOWN = [
    *(
        Case(
            f"{name}{named(parts, on)}",
            tail(base, data),
            options={**(SMALL if parts else {}), **(ON if on else {})},
            error=error,
            cause=cause,
        )
        for base, name, data, error, cause in (
            (200, "magic that is not known", of_magic(9), UNKNOWN_MAGIC, "unknown"),
            (100, "magic that is not known, before the end", of_magic(9), UNKNOWN_MAGIC, "unknown"),
            (200, "head that is short", SHORT_HEAD, log(200), "damaged"),
        )
        for parts in (False, True)
        for on in (False, True)
    ),
    Case("count over a magic that is not known", tail(200, of_magic(9)), how="count", error=UNKNOWN_MAGIC),
    Case("count over a head that is short", tail(200, SHORT_HEAD), how="count", error=log(200)),
    Case(
        "stream over a magic that is not known",
        tail(200, of_magic(9)),
        options={**ON, "startingOffsets": "earliest"},
        how="stream",
        error=UNKNOWN_MAGIC,
    ),
]
MOVED_STREAM = Case(
    "stream over what was copied",
    remote((0, 99)),
    options={**ON, "startingOffsets": "earliest"},
    how="stream",
    error=away(0),
)

# the batch with the offsets 130 to 139 says in its header that it ends at 133, or, being the last one, at 293
LOW = [
    *(batch(range(n, n + 10)) for n in range(100, 130, 10)),
    batch(range(130, 140), 3),
    *(batch(range(n, n + 10)) for n in range(140, 200, 10)),
]


def low(root: Path) -> None:
    (root / log(100)).write_bytes(b"".join(LOW))
    ends = [(29, 2), (33, 3), (49, 4)]
    entries = (struct.pack(">ii", offset, sum(map(len, LOW[:number]))) for offset, number in ends)
    (root / log(100)).with_suffix(".index").write_bytes(b"".join(entries))
    (root / log(200)).write_bytes(segment(200, 90) + batch(range(290, 300), 3))


def high(root: Path) -> None:
    """A header that ends where the next batch begins, and has fewer records."""
    made = [*LOW[:3], batch(range(130, 134), 9), batch(range(134, 140)), *LOW[4:]]
    (root / log(100)).write_bytes(b"".join(made))


WHERE = {
    "true": ALL,
    "offset = 135": [135],
    "offset >= 135": range(135, 300),
    "offset < 136": range(136),
    "offset between 132 and 138": range(132, 139),
    "offset = 139": [139],
    "offset = 140": [140],
    "offset = 299": [299],
}


def by_header() -> list[tuple[Case, str]]:
    cases = []
    for options in ({}, SMALL):
        for where, rows in WHERE.items():
            cases.append((Case(f"low {where} {options}", low, options=options, rows=rows), where))
        for where in ("true", "offset = 135", "offset between 131 and 138"):
            error = "RecordBatch(base_offset=134).base_offset: offsets ascend: need more than 139, have 134"
            cases.append(
                (Case(f"high {where} {options}", high, options=options, error=error, cause="damaged"), where)
            )
        start, end = ('{"t":{"0":135}}', '{"t":{"0":137}}')
        bounds = {**options, "startingOffsets": start, "endingOffsets": end}
        cases.append((Case(f"bounds {options}", low, options=bounds, rows=[135, 136]), "true"))
        cases.append(
            (
                Case(
                    f"count to a bound {options}",
                    low,
                    options={**options, "endingOffsets": end},
                    rows=[137],
                    how="count",
                ),
                "true",
            )
        )
        cases.append((Case(f"count {options}", low, options=options, rows=[300], how="count"), "true"))
    return cases


HEADERS = by_header()
CASES = [
    *((each, "true") for each in [*UNREACHABLE, *MISSING, *MOVED, MOVED_STREAM, *UNKNOWN]),
    *HEADERS,
    (Case("copied, filtered", remote((0, 99)), rows=range(100, 300)), "offset >= 100"),
    (
        Case("copied, filtered below", remote((0, 99)), error=away(0)),
        "offset < 200",
    ),
    (Case("filter below the end of a short log", known(ENDS[1], 413), rows=range(200)), "offset < 200"),
    (
        Case(
            "filter at the end of a short log",
            known(ENDS[1], 413),
            error=SHORT.format(300, 412, 413, ENDS[1]),
        ),
        "offset > 200",
    ),
]


@pytest.fixture(scope="module")
def answered(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[dict[str, tuple[str, dict[str, Any]]], list[str]]:
    """By the name of a case its folder and what the session gave; and the driver's log."""
    asked, roots = [], []
    for number, (case, where) in enumerate(CASES):
        root = tmp_path_factory.mktemp("case", numbered=True) / f"logs{number}"
        (root / "t-0").mkdir(parents=True)
        for base in (0, 100, 200):
            (root / log(base)).write_bytes(segment(base))
        case.make(root)
        meanwhile = case.meanwhile(root)
        roots.append(str(root))
        asked.append(
            {
                "path": f"{root}{case.path}",
                "options": dict(case.options),
                "where": where,
                "meanwhile": meanwhile,
                "how": case.how,
            }
        )
    names = [case.name for case, _ in CASES]
    assert len(set(names)) == len(names)
    found, lines = answers(asked)
    return dict(zip(names, zip(roots, found, strict=True), strict=True)), lines


@pytest.mark.parametrize("case", [case for case, _ in CASES], ids=[case.name for case, _ in CASES])
def test_what_is_returned_said_and_counted(case: Case, answered: Any) -> None:
    by_name, lines = answered
    root, found = by_name[case.name]
    said = [line for line in lines if root + "/" in line or "kodec" in line]
    if case.error is not None:
        assert case.error.replace("{}", root) in found.get("error", ""), found
        if case.cause is not None:
            assert found["cause"] == case.cause
    else:
        assert case.rows is not None
        assert found.get("rows") == list(case.rows), found
        counted = found["metrics"][-1][-1] if case.how == "stream" else found["metrics"].get("missing", 0)
        if case.how != "count":
            assert int(counted) == case.missing
    if case.log is not None:
        pattern = re.compile(
            "WARN kodec: .*"
            + (case.log.replace("{}", root) if "00?" in case.log else re.escape(case.log.replace("{}", root)))
        )
        assert any(pattern.search(line) for line in said), said


def in_python(case: Case, root: Path) -> tuple[list[int] | None, str]:
    """The offsets that the source in Python gives, or its error."""
    source = KafkaLogDataSource({"path": f"{root}{case.path}", **case.options})
    try:
        if case.how == "stream":
            stream = source.streamReader(source.schema())
            stream.latestOffset(stream.initialOffset())
        reader = source.reader(source.schema())
        found = [
            row["offset"]
            for task in reader.partitions()
            for part in reader.read(task)
            for row in part.to_pylist()
        ]
    except kodec.errors.KodecError as error:
        return None, str(error)
    return found, ""


@pytest.mark.parametrize("case", [*MOVED, MOVED_STREAM, *UNKNOWN], ids=lambda case: case.name)
def test_the_source_in_python_says_the_same(case: Case, answered: Any) -> None:
    root, found = answered[0][case.name]
    rows, error = in_python(case, Path(root))
    if case in UNKNOWN:
        # Python knows more of what is wrong with a head
        assert rows is None and (case.error or "") in error
    elif rows is None:
        assert error in found["error"]
    else:
        assert rows == found["rows"]
