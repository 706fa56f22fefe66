"""A file that cannot be read, or not wholly, or that has gone: each door names it, and the rest goes on."""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.cli.main import main
from kodec.errors import KodecError, ReadFailed
from kodec.log.batches.options import OnError
from tests.log import made
from tests.log.made import START, batch
from tests.log.unreadable import unlisted, unreadable

EIO = OSError(errno.EIO, os.strerror(errno.EIO))
DENIED = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
BATCHES = 60
VALUES = [b"%d:" % n + b"x" * 400 for n in range(BATCHES)]
# Of blocks that hold some batches, and parts of two more.
RANGE = 8192, 16384


def root(tmp_path: Path) -> Path:
    """Three topic-partitions; the middle one has three segments, of which the middle one will fail."""
    logs = tmp_path / "logs"
    for name in ("a-0", "b-0", "c-0"):
        made.make(
            logs / name,
            [
                (at, [batch(n, [(b"k", VALUES[n])], time=START + n) for n in range(at, at + BATCHES // 3)])
                for at in range(0, BATCHES, BATCHES // 3)
            ],
        )
    return logs


def long(tmp_path: Path) -> Path:
    """One segment of all batches."""
    return (
        made.make(
            tmp_path / "topic-0",
            [(0, [batch(n, [(b"k", VALUES[n])], time=START + n) for n in range(BATCHES)])],
        )
        / f"{0:020d}.log"
    )


def readable(path: Path) -> tuple[list[bytes], int, int]:
    """The values of the batches outside of the range, and the bytes of those in it."""
    batches = list(kodec.read_batches(path))
    hit = [each for each in batches if each.position < RANGE[1] and each.position + each.size > RANGE[0]]
    kept = [each.records()[0].value or b"" for each in batches if each not in hit]
    return kept, hit[0].position, hit[-1].position + hit[-1].size


# -- a range of a file ----------------------------------------------------------------------------

Door = Callable[[Any, OnError], tuple[list[bytes], Any]]


def _records(source: Any, on_error: OnError, **options: bool) -> tuple[list[bytes], Any]:
    reader = kodec.read_records(source, on_error=on_error, **options)
    return [record.value or b"" for record in reader], reader


def _batches(source: Any, on_error: OnError) -> tuple[list[bytes], Any]:
    reader = kodec.read_batches(source, on_error=on_error)
    return [record.value or b"" for each in reader for record in each.records()], reader


def _table(source: Any, on_error: OnError) -> tuple[list[bytes], Any]:
    reader = kodec.scan_table(source, ["value"], on_error=on_error)
    return [value for each in reader for value in each["value"].to_pylist()], reader


def _batch_table(source: Any, on_error: OnError) -> tuple[list[bytes], Any]:
    reader = kodec.scan_batch_table(source, on_error=on_error)
    return [VALUES[offset] for each in reader for offset in each["base_offset"].to_pylist()], reader


DOORS: dict[str, Door] = {
    "read_records": _records,
    "read_records, unchecked": lambda source, on_error: _records(source, on_error, check_crc=False),
    "read_batches": _batches,
    "scan_table": _table,
    "scan_batch_table": _batch_table,
}


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", ["path", "file", "buffered file"])
def test_a_range_that_cannot_be_read_is_skipped(
    door: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = long(tmp_path)
    kept, start, end = readable(path)
    assert 0 < len(kept) < BATCHES - 5
    unreadable(monkeypatch, {path: RANGE})

    files = ExitStack()

    def source() -> Any:
        if kind == "path":
            return path
        file = files.enter_context(path.open("rb"))
        return io.BufferedReader(file) if kind == "buffered file" else file  # type: ignore[type-var]

    values, reader = DOORS[door](source(), "skip")
    assert values == kept
    assert [(each.start, each.end) for each in reader.skipped] in ([(start, end)], [(start, RANGE[1])])
    error = reader.skipped[0].error
    assert isinstance(error, ReadFailed) and isinstance(error, OSError)
    assert (error.errno, error.at) == (errno.EIO, RANGE[0])
    assert reader.torn_tail is None

    with pytest.raises(ReadFailed) as caught:
        DOORS[door](source(), "raise")
    files.close()
    assert str(path) in str(caught.value) and "Input/output error" in str(caught.value)
    assert caught.value.filename == str(path)
    other = pickle.loads(pickle.dumps(caught.value))
    assert (str(other), other.errno, other.at) == (str(caught.value), errno.EIO, caught.value.at)


@pytest.mark.usefixtures("backend")
def test_what_is_before_the_range_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = long(tmp_path)
    _, start, _ = readable(path)
    before = [each.records()[0].value for each in kodec.read_batches(path) if each.position < start]
    unreadable(monkeypatch, {path: RANGE})
    reader, found = kodec.read_records(path), []
    with pytest.raises(ReadFailed):
        for record in reader:
            found.append(record.value)
    assert found == before and reader.position == start


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("tail", ["batches", "a torn batch", "zeros", "some bytes"])
def test_a_range_at_the_end_is_no_torn_tail(
    tail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = long(tmp_path)
    data = path.read_bytes()
    rest = {"batches": b"", "a torn batch": data[:300], "zeros": bytes(9000), "some bytes": b"\0" * 9}[tail]
    path.write_bytes(data + rest)
    size = len(data) + len(rest)
    unreadable(monkeypatch, {path: (size - 1, size)})
    reader = kodec.read_records(path, on_error="skip")
    values = [record.value for record in reader]
    assert values == VALUES[: len(values)]
    assert reader.torn_tail is None
    assert [each.end for each in reader.skipped][-1] == size
    assert isinstance(reader.skipped[-1].error, ReadFailed)


@pytest.mark.usefixtures("backend")
def test_a_file_of_which_nothing_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = long(tmp_path)
    size = path.stat().st_size
    unreadable(monkeypatch, {path: (0, size)})
    reader = kodec.read_records(path, on_error="skip")
    assert list(reader) == []
    assert [(each.start, each.end) for each in reader.skipped] == [(0, size)]


# -- every verb -----------------------------------------------------------------------------------

FAULTS: dict[str, tuple[int, int] | OSError | None] = {
    "a range": (0, 4096),
    "cannot be opened": EIO,
    "not allowed": DENIED,
    "gone": None,
}
# What each prints of those that are not hit, and whether a file that has gone is worth a word.
VERBS: dict[str, tuple[list[str], list[str]]] = {
    "ls": (["ls", "{root}"], ["3 topic-partitions"]),
    "ls, json": (["ls", "--json", "{root}"], ['"topic": "c"']),
    "verify": (["verify", "{root}"], ["9 segments"]),
    "verify, json": (["verify", "--json", "{root}"], ['"segments": 9']),
    "recover": (["recover", "--from-start", "{root}"], ["3 topic-partitions"]),
    "recover, json": (["recover", "--from-start", "--json", "{root}"], ['"partitions": 3']),
    "reindex": (["reindex", "{root}"], ["3 topic-partitions"]),
    "dump": (["dump", "{root}"], ["a-0", "c-0"]),
    "dump, json": (["dump", "--json", "{root}"], []),
    "salvage": (
        ["salvage", "{root}", "--topic", "a", "--topic", "b", "--topic", "c", "--to", "{to}"], ["c-0:"]
    ),
    "convert": (
        ["convert", "{root}", "--topic", "a", "--topic", "b", "--topic", "c", "--to", "{to}", "--level", "1",
         "--compression", "gzip"],
        ["a-0:", "c-0:"],
    ),
    "compact": (["compact", "{root}", "--topic", "a", "--topic", "b", "--topic", "c"], ["a-0", "c-0"]),
    "trim": (
        ["trim", "{root}", "--topic", "a", "--topic", "b", "--topic", "c", "--retention-bytes", "1"],
        ["a-0", "c-0"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", ["log", "index", "timeindex"])
@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_names_the_file_and_goes_on(
    verb: str,
    kind: str,
    fault: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs = root(tmp_path)
    bad = logs / "b-0" / f"{BATCHES // 3:020d}.{kind}"
    unreadable(monkeypatch, {bad: FAULTS[fault]})
    command, rest = VERBS[verb]
    code = main([each.format(root=logs, to=tmp_path / "out") for each in command])
    told = capsys.readouterr()
    everything = told.out + told.err
    assert "Traceback" not in everything
    assert code in (0, 1, 3)
    for text in rest:
        assert text in everything
    if code == 1:
        # a segment that is deleted from the middle of a log is missed by the next one
        assert str(bad) in everything or (fault == "gone" and "20 to 39 in no segment" in everything)
    needs = kind == "log" and verb.partition(",")[0] not in ("trim",)
    deleted = fault == "gone" and verb.partition(",")[0] in ("dump", "ls", "verify")
    if needs and not deleted and not verb.startswith("salvage"):
        assert code == 1 and bad.name in everything
    if verb == "salvage":
        assert code == (1 if kind == "log" else 3)
        assert (bad.name in everything) == (kind == "log")
    if verb.endswith("json"):
        for line in told.out.splitlines():
            json.loads(line)


@pytest.mark.parametrize("fault", ["cannot be opened", "not allowed", "gone"])
@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_goes_on_where_a_folder_cannot_be_listed(
    verb: str,
    fault: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs = root(tmp_path)
    bad = logs / "b-0"
    kind = FAULTS[fault]
    assert not isinstance(kind, tuple)
    unlisted(monkeypatch, bad, kind)
    command, rest = VERBS[verb]
    code = main([each.format(root=logs, to=tmp_path / "out") for each in command])
    told = capsys.readouterr()
    everything = told.out + told.err
    assert "Traceback" not in everything
    assert code == 1 and str(bad) in everything
    for text in rest:
        assert text.replace("9", "6") in everything or "topic-partitions" in text


def test_names_that_are_not_utf_8(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    logs = root(tmp_path / os.fsdecode(b"\xfflogs"))
    for name in (b"x\xfe.swap", b"x\xfe.deleted", b"caf\xe9.log"):
        (logs / "b-0" / os.fsdecode(name)).write_bytes(b"")
    for name in (b"caf\xe9-0", b"b-1.\xe9-delete", b"b-1.\xe9-stray"):
        (logs / os.fsdecode(name)).mkdir()
    to = tmp_path / os.fsdecode(b"out\xff")
    for verb, (command, _) in VERBS.items():
        code = main([each.format(root=logs, to=to) for each in command])
        told = capfd.readouterr()
        assert code in (0, 1, 3) and "Traceback" not in told.err
        (told.out + told.err).encode()
        assert "\\udc" not in told.out + told.err
        if verb in ("ls, json", "verify", "verify, json", "recover", "recover, json", "reindex", "dump"):
            assert "\\xff" in told.out + told.err
        if verb.endswith("json"):
            for line in told.out.splitlines():
                json.dumps(json.loads(line), ensure_ascii=False).encode()
    assert main(["recover", "--from-start", "--apply", str(logs)]) == 0


# -- what programs call -------------------------------------------------------------------------------


def of_logs(use: Callable[[kodec.PartitionLog], object]) -> Callable[[Path], object]:
    def call(folder: Path) -> object:
        with kodec.PartitionLog(folder) as log:
            return use(log)

    return call


CALLS: dict[str, Callable[[Path], object]] = {
    "records": of_logs(lambda log: list(log.records())),
    "records, committed": of_logs(lambda log: list(log.records(isolation="read_committed"))),
    "batches": of_logs(lambda log: list(log.batches())),
    "headers": of_logs(lambda log: list(log.headers())),
    "read": of_logs(lambda log: log.read(BATCHES // 3 + 9)),
    "find": of_logs(lambda log: log.find(BATCHES // 3 + 9)),
    "find_timestamp": of_logs(lambda log: log.find_timestamp(START + BATCHES // 3 + 9)),
    "plan_reindex": kodec.repair.plan_reindex,
    "plan_recovery": lambda folder: kodec.repair.plan_recovery(folder, from_start=True),
    "plan_compaction": lambda folder: kodec.operations.plan_compaction(folder).preview(),
    "plan_conversion": lambda folder: kodec.operations.plan_conversion(
        folder, folder.parent.parent / "out" / "b-0", kodec.operations.ConvertOptions(compression="gzip")
    ).preview(),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("call", CALLS)
def test_each_call_names_the_file(
    call: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = root(tmp_path)
    bad = logs / "b-0" / f"{BATCHES // 3:020d}.log"
    unreadable(monkeypatch, {bad: (0, 1 << 20) if fault == "a range" else FAULTS[fault]})
    with pytest.raises(OSError, match=bad.name) as caught:
        CALLS[call](logs / "b-0")
    assert isinstance(caught.value, KodecError) or caught.value.filename == str(bad)
    monkeypatch.undo()
    CALLS[call](logs / "b-0")
