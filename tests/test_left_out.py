"""The table of what was left out: every verb and public reader x everything that can stand in its way.

Each cell makes a log directory, puts one obstacle into it, and compares what a user sees: the exit code, and
the name on stderr, or the error of a reader in Python. `python -m tests.test_left_out` prints the table.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.files.checkpoints import write_offsets, write_partition_metadata
from kodec.log.files.listing import TopicPartition
from kodec.runtime.errors import KodecError
from tests.data import DATA
from tests.log import made, unreadable

VIEWS = DATA / "views-4.3.1/logs"
ORDERS = "orders-0"
STRAY = "orders-7.0123456789abcdef0123456789abcdef-stray"


class Door(NamedTuple):
    """A way in: `arguments` of the command line, where {root} and {out} are folders, or a function.

    `log` is the topic-partition that it reads; the obstacle is put there. Of a door that reads `headers`
    only, as its help says, the content of batches is no part of the answer. One of `files` reads all
    segments, whatever the names of their folders. A `strict` one ends with exit code 1 where another may
    say it only.
    """

    name: str
    arguments: str = ""
    log: str = ORDERS
    headers: bool = False
    files: bool = False
    strict: bool = False
    read: Callable[[Path], object] | None = None


DOORS = [
    Door("ls", "ls {root}", headers=True),
    Door("find", "find {root}"),
    Door("find --count", "find {root} --count", headers=True),
    Door("find --last", "find {root} --last 1000"),
    Door("find --json", "find {root} --json"),
    Door("dump", "dump {root}", files=True),
    Door("inventory", "inventory {root} --engine local", headers=True),
    Door("report", "report {root} --to {out}.html", headers=True),
    Door("offsets", "offsets {root}", "__consumer_offsets-0"),
    Door("groups", "groups {root}", "__consumer_offsets-0"),
    Door("transactions", "transactions {root}", "__transaction_state-0"),
    Door("producers", "producers {root}", headers=True),
    Door("metadata", "metadata {root}", "__cluster_metadata-0"),
    Door("epochs", "epochs {root}", headers=True),
    Door("retention", "retention {root}", headers=True),
    Door("verify", "verify {root} --engine local", strict=True),
    Door("salvage", "salvage {root} --to {out}"),
    Door("compact", "compact {root} --topic orders --from-start"),
    Door("redact", "redact {root} --key nobody"),
    Door("convert", "convert {root} --topic orders --to {out} --magic 2 --compression gzip"),
    Door("backup", "backup {root} --to {out}"),
    Door("export", "export {root} --to {out} --engine local"),
    Door("export skip", "export {root} --to {out} --engine local --on-error skip"),
    Door("compact-view", "compact-view {root} --to {out} --engine local"),
    Door("read_records", read=lambda root: list(kodec.read_records(root))),
    Door("read_table", read=kodec.read_table),
    Door("count_rows", read=kodec.count_rows, headers=True),
    Door("find_records", read=lambda root: list(kodec.LogDirectory(root).find_records(kodec.RecordFilter()))),
]


class Obstacle(NamedTuple):
    """What stands in the way of a log directory: `put` puts it there and returns a part of its name.

    Attributes:
        said: whether it is no loss: named, with exit code 0.
        content: whether only those see it who read more than headers.
        folder: whether it is a folder that no log is read from.
    """

    name: str
    put: Callable[[Path, str], str]
    said: bool = False
    content: bool = False
    folder: bool = False


def _replaced(make: Callable[[Path], object]) -> Callable[[Path, str], str]:
    """Something else has the name of the topic-partition's folder."""

    def put(root: Path, log: str) -> str:
        shutil.rmtree(root / log)
        make(root / log)
        return log

    return put


def _segment(make: Callable[[Path], object]) -> Callable[[Path, str], str]:
    """Something else, or nothing, has the name of a segment in the middle."""

    def put(root: Path, log: str) -> str:
        path = sorted((root / log).glob("*.log"))[1]
        path.unlink()
        make(path)
        return path.name if os.path.lexists(path) else log

    return put


def _changed(change: Callable[[bytes], bytes]) -> Callable[[Path, str], str]:
    """A segment in the middle has other bytes."""

    def put(root: Path, log: str) -> str:
        path = sorted((root / log).glob("*.log"))[1]
        path.write_bytes(change(path.read_bytes()))
        return log

    return put


def _strange(name: str | bytes) -> Callable[[Path, str], str]:
    """A folder of another name, full of segments."""

    def put(root: Path, log: str) -> str:
        folder = os.fsencode(root) + b"/" + os.fsencode(name)
        os.mkdir(folder)  # noqa: PTH102  # a name that is not UTF-8
        shutil.copy(sorted((root / ORDERS).glob("*.log"))[0], os.fsdecode(folder))
        return os.fsdecode(name).split("\n")[0].split("\udcff")[0]

    return put


def _crc(data: bytes) -> bytes:
    """The first batch of some, with the right checksum."""
    from crc32c import crc32c

    size = 12 + int.from_bytes(data[8:12], "big")
    return data[:17] + crc32c(data[21:size]).to_bytes(4, "big") + data[21:]


def _content(data: bytes) -> bytes:
    """Records that are nonsense, with a right checksum."""
    return _crc(data[:61] + b"\xff" * 12 + data[73:])


def _recovery_point(root: Path, log: str) -> str:
    topic, _, number = log.rpartition("-")
    write_offsets(root / "recovery-point-offset-checkpoint", {TopicPartition(topic, int(number)): 1_000})
    return log


def _stray(root: Path, log: str) -> str:
    shutil.copytree(root / ORDERS, root / STRAY)
    return STRAY


def _torn_tail(root: Path, log: str) -> str:
    path = sorted((root / log).glob("*.log"))[-1]
    path.write_bytes(path.read_bytes()[:-3])
    return path.name


def _unlisted(root: Path, log: str) -> str:
    # `table_row` makes listing it fail
    return log


NOWHERE = "/kodec-nowhere/at-all"
OBSTACLES = [
    Obstacle("folder is a dangling link", _replaced(lambda path: path.symlink_to(NOWHERE))),
    Obstacle("folder is a loop", _replaced(lambda path: path.symlink_to(path))),
    Obstacle("folder is a file", _replaced(lambda path: path.write_bytes(b"?"))),
    Obstacle("folder refused", _unlisted),
    Obstacle("segment is a dangling link", _segment(lambda path: path.symlink_to(NOWHERE))),
    Obstacle("segment is a loop", _segment(lambda path: path.symlink_to(path))),
    Obstacle("segment is a folder", _segment(lambda path: path.mkdir())),
    Obstacle("segment is a FIFO", _segment(os.mkfifo)),
    Obstacle("segment missing", _segment(lambda path: None)),
    Obstacle("segment empty", _changed(lambda data: b"")),
    Obstacle("segment torn", _changed(lambda data: data[:-3])),
    Obstacle("wrong checksum", _changed(lambda data: data[:-1] + bytes([data[-1] ^ 1])), content=True),
    Obstacle("wrong content, right checksum", _changed(_content), content=True),
    Obstacle("unknown magic", _changed(lambda data: data[:16] + b"\x09" + data[17:])),
    Obstacle("unknown codec", _changed(lambda data: _crc(data[:22] + b"\x07" + data[23:]))),
    Obstacle("end below a checkpoint", _recovery_point),
    Obstacle("folder topic-00", _strange("topic-00"), folder=True),
    Obstacle("folder topic-", _strange("topic-"), folder=True),
    Obstacle("folder with a line break", _strange("or\nders-0"), folder=True),
    Obstacle("folder not UTF-8", _strange(b"or\xffders-0"), folder=True),
    Obstacle("stray replica", _stray, said=True, folder=True),
    Obstacle("torn end", _torn_tail, said=True),
]


def directory(root: Path) -> None:
    """A log directory: the broker's topics that the views read, and one with three segments."""
    root.mkdir()
    for name in ("meta.properties", "__cluster_metadata-0", "__consumer_offsets-0", "__transaction_state-0"):
        source = VIEWS / name
        shutil.copytree(source, root / name) if source.is_dir() else shutil.copy(source, root / name)
    for name in ("__cluster_metadata-0", "__consumer_offsets-0", "__transaction_state-0"):
        _in_three(root / name)
    segments = [
        (
            base,
            [
                made.batch(at, [(b"k%d" % n, b"v")] * 1, time=1_700_000_000_000)
                for n, at in enumerate(offsets)
            ],
        )
        for base in (0, 10, 20)
        for offsets in [range(base, base + 10)]
    ]
    made.make(root / ORDERS, segments)
    made.make(root / "other-0", [(0, [made.batch(0, [(b"k", b"v")], time=1_700_000_000_000)])])
    for number, name in enumerate((ORDERS, "other-0"), 1):
        write_partition_metadata(root / name / "partition.metadata", UUID(int=number))


def _in_three(folder: Path) -> None:
    """A log of one segment as one of three, without the files that would tell."""
    (log,) = folder.glob("*.log")
    batches = list(kodec.read_batches(log))
    for path in folder.glob("0*"):
        path.unlink()
    third = len(batches) // 3
    for part in (batches[:third], batches[third : 2 * third], batches[2 * third :]):
        (folder / f"{part[0].base_offset:020d}.log").write_bytes(b"".join(each.data for each in part))


class Seen(NamedTuple):
    """What a user sees."""

    code: int
    out: str
    err: str


def seen(door: Door, root: Path, out: Path) -> Seen:
    stdout, stderr = io.StringIO(), io.StringIO()
    if door.read is not None:
        try:
            result = door.read(root)
        except (KodecError, OSError) as error:
            return Seen(1, "", str(error))
        omissions = getattr(result, "omissions", ())
        return Seen(0, str(result), "\n".join(map(str, omissions)))
    arguments = [each.format(root=root, out=out) for each in door.arguments.split(" ")]
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        code = main(arguments)
    return Seen(code, stdout.getvalue(), stderr.getvalue())


@contextlib.contextmanager
def refused(obstacle: Obstacle, folder: Path) -> Iterator[None]:
    """Listing a folder that is closed to this user; root may list everything."""
    if obstacle.put is not _unlisted:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        unreadable.unlisted(patch, folder, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
        yield


# A replica that is not searched may hold what is to be erased; a conversion makes nothing of a torn end.
REFUSED = {("redact", "stray replica"), ("convert", "torn end")}


def wrong(door: Door, obstacle: Obstacle, folder: Path) -> str:
    """What is wrong with what a user sees; "" if nothing is."""
    root = folder / "logs"
    directory(root)
    name = obstacle.put(root, door.log)
    with refused(obstacle, root / door.log):
        found = seen(door, root, folder / "out")
    said = found.out + found.err if door.name in ("verify", "ls", "recover", "salvage") else found.err
    problems = []
    is_said = obstacle.said and (door.name, obstacle.name) not in REFUSED
    if not is_said and found.code != 1:
        problems.append(f"exit {found.code}")
    if is_said and found.code not in (0, 3) and not door.strict:
        problems.append(f"exit {found.code}")
    if name not in said and not (obstacle.said and door.read is not None):
        problems.append(f"{name} is not named")
    if "Traceback" in found.err:
        problems.append("traceback")
    if problems and __name__ == "__main__" and os.environ.get("VERBOSE"):
        print(found)
    return ", ".join(problems)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_a_healthy_directory(door: Door, tmp_path: Path) -> None:
    directory(tmp_path / "logs")
    found = seen(door, tmp_path / "logs", tmp_path / "out")
    assert found.code in (0, 3) or (door.name, found.code) == ("redact", 1), found


# A key whose bytes are not in a batch is in none of its records, whatever else is wrong with them.
PROVEN = {("redact", "wrong content, right checksum")}
CELLS = [
    (door, each)
    for door in DOORS
    for each in OBSTACLES
    if not ((door.headers and each.content) or (door.files and each.folder))
    and (door.name, each.name) not in PROVEN
]


@pytest.mark.parametrize(
    ("door", "obstacle"), CELLS, ids=[f"{door.name}: {each.name}" for door, each in CELLS]
)
def test_what_was_left_out_is_said(door: Door, obstacle: Obstacle, tmp_path: Path) -> None:
    assert wrong(door, obstacle, tmp_path) == ""


def test_json_has_the_account(tmp_path: Path) -> None:
    directory(tmp_path / "logs")
    OBSTACLES[0].put(tmp_path / "logs", ORDERS)
    found = seen(Door("find", "find {root} --json"), tmp_path / "logs", tmp_path / "out")
    *_, last = map(json.loads, found.out.splitlines())
    assert [(each["cause"], Path(each["path"]).name) for each in last["leftOut"]] == [("unreachable", ORDERS)]


if __name__ == "__main__":
    import sys

    for door, obstacle in CELLS:
        if len(sys.argv) > 1 and not any(door.name.startswith(each) for each in sys.argv[1:]):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            try:
                told = wrong(door, obstacle, Path(scratch))
            except BaseException as error:
                told = f"{type(error).__name__}: {error}"[:100]
        if told:
            print(f"{door.name:16} | {obstacle.name:32} | {told}", flush=True)
