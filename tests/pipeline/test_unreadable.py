"""Files that have gone or cannot be read: named in `failfast`, left out in `permissive`; the rest is read."""

from __future__ import annotations

import errno
import io
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kodec.errors import KodecError, ReadFailed
from kodec.pipeline import ExportOptions, KafkaLogDataSource, export
from kodec.pipeline.plan import DataLoss

SEGMENTS = [range(10), range(10, 20), range(20, 30)]
LAYOUT = {"a-0": SEGMENTS, "b-0": SEGMENTS}

Rows = set[tuple[str, int]]


def middle(logs: Path) -> Path:
    return logs / "a-0" / f"{10:020d}.log"


def everything(*without: int) -> Rows:
    return {(topic, n) for topic in ("a", "b") for n in range(30) if topic == "b" or n not in without}


def planned(path: str, mode: str) -> tuple[Any, list[Any]]:
    one = KafkaLogDataSource({"path": path, "mode": mode, "maxPartitionBytes": "1g"})
    reader = one.reader(one.schema())
    return pickle.loads(pickle.dumps(reader)), pickle.loads(pickle.dumps(reader.partitions()))


def read_all(reader: Any, partitions: list[Any]) -> list[tuple[str, int]]:
    return sorted(
        (row["topic"], row["offset"])
        for partition in partitions
        for batch in reader.read(partition)
        for row in batch.to_pylist()
    )


def read(reader: Any, partitions: list[Any]) -> Rows:
    return set(read_all(reader, partitions))


class _Failing(io.FileIO):
    """A file whose second half cannot be read."""

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        return super().readinto(view[: self._left(len(view))]) or 0

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self._left(1 << 30 if size is None or size < 0 else size)) or b""

    def _left(self, size: int) -> int:
        half = os.fstat(self.fileno()).st_size // 2 + 9
        if self.tell() >= half:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return min(size, half - self.tell())


def gone(logs: Path, monkeypatch: pytest.MonkeyPatch) -> Rows:
    middle(logs).unlink()
    return everything(*range(10, 20))


def denied(logs: Path, monkeypatch: pytest.MonkeyPatch) -> Rows:
    opened = Path.open

    def opens(self: Path, *arguments: Any, **options: Any) -> Any:
        if self == middle(logs):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", opens)
    return everything(*range(10, 20))


def failing(logs: Path, monkeypatch: pytest.MonkeyPatch) -> Rows:
    opened = Path.open

    def opens(self: Path, *arguments: Any, **options: Any) -> Any:
        return _Failing(str(self)) if self == middle(logs) else opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", opens)
    return everything(*range(15, 20))


FAULTS = [gone, denied, failing]


@pytest.mark.parametrize("fault", FAULTS)
def test_permissive_reads_all_the_rest(
    fault: Callable[..., Rows], logs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    reader, partitions = planned(str(logs), "permissive")
    expected = fault(logs, monkeypatch)
    assert read(reader, partitions) == expected
    assert "WARN kafka-log: left out: " in (text := capfd.readouterr().err) and str(middle(logs)) in text


@pytest.mark.parametrize("fault", FAULTS)
def test_failfast_names_the_file(
    fault: Callable[..., Rows], logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, partitions = planned(str(logs), "failfast")
    fault(logs, monkeypatch)
    with pytest.raises(KodecError, match=str(middle(logs))) as caught:
        read(reader, partitions)
    assert isinstance(caught.value, ReadFailed)


@pytest.mark.parametrize("mode", ["failfast", "permissive"])
@pytest.mark.parametrize("what", ["retention", "a merge", "a merge that left nothing", "a merge before"])
def test_what_a_broker_does_to_segments_meanwhile(what: str, mode: str, logs: Path) -> None:
    """Each record once that is there: the listing is taken anew for a segment that has gone."""
    reader, partitions = planned(str(logs), mode)
    first = logs / "a-0" / f"{0:020d}.log"
    if what == "retention":
        first.unlink()
        middle(logs).unlink()
        if mode == "failfast":
            with pytest.raises(DataLoss, match="offsets 0 to 9 of a-0 were deleted meanwhile"):
                read_all(reader, partitions)
        else:
            assert read_all(reader, partitions) == sorted(everything(*range(20)))
        return
    data = first.read_bytes()
    if what != "a merge that left nothing":
        data += middle(logs).read_bytes()
    first.write_bytes(data)
    if what != "a merge before":
        middle(logs).unlink()
    (logs / "cleaner-offset-checkpoint").write_text("0\n1\na 0 20\n")
    left = everything(*range(10, 20)) if what == "a merge that left nothing" else everything()
    assert read_all(reader, partitions) == sorted(left)


@pytest.mark.parametrize("kind", ["gone", "denied"])
def test_a_folder_that_cannot_be_listed(kind: str, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = os.scandir
    code = {"gone": errno.ENOENT, "denied": errno.EACCES}[kind]

    def scans(path: Any = ".") -> Any:
        if Path(os.fspath(path)) == logs / "a-0":
            raise OSError(code, os.strerror(code), str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scans)
    reader, partitions = planned(str(logs), "permissive")
    assert read(reader, partitions) == everything(*range(30))
    with pytest.raises(ReadFailed, match=str(logs / "a-0")):
        planned(str(logs), "failfast")


def test_names_that_are_not_utf_8(logs: Path) -> None:
    odd = logs.with_name(os.fsdecode(b"caf\xe9"))
    shutil.copytree(logs, odd)
    # As Spark's JVM carries no other text.
    assert odd.as_uri().isascii()
    assert read(*planned(odd.as_uri(), "failfast")) == everything()
    data = bytearray(middle(odd).read_bytes())
    data[70] ^= 1
    middle(odd).write_bytes(data)
    with pytest.raises(KodecError) as caught:
        read(*planned(odd.as_uri(), "failfast"))
    assert rb"caf\xe9" in str(caught.value).encode()
    with pytest.raises(ValueError, match="not UTF-8"):
        export(logs, odd / "out")


def test_a_query_and_an_export(spark: Any, logs: Path, tmp_path: Path, in_python: str) -> None:
    """By Spark: the file opens in no process, whoever runs it."""
    middle(logs).unlink()
    middle(logs).symlink_to("/proc/self/mem")
    if not middle(logs).is_file():
        pytest.skip("there is no such file here")
    frame = spark.read.format(in_python).option("mode", "permissive").load(str(logs))
    assert {(row.topic, row.offset) for row in frame.collect()} == everything(*range(10, 20))
    with pytest.raises(Exception, match=f"ReadFailed.*{middle(logs).name}"):
        spark.read.format(in_python).load(str(logs)).count()
    with pytest.raises(ReadFailed, match=middle(logs).name):
        export(logs, tmp_path / "out")
    with pytest.raises(ReadFailed, match=middle(logs).name):
        export(logs, tmp_path / "out", ExportOptions(on_error="skip"))
    summary = export(logs, tmp_path / "out", ExportOptions(on_error="skip-unreachable"))
    assert summary.records == 50
    (left,) = summary.omissions
    assert (left.cause.value, left.path) == ("unreachable", middle(logs)) and "cannot be read" in left.reason
