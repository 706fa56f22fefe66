"""A transaction index is a hint: whatever it says, readers and rewrites follow the markers in the log."""

from __future__ import annotations

from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.generated.log.transaction_index import TransactionIndex
from tests.log.indexed_transactions import CAUSES, COMMITTED, VALUES, make_log

pytestmark = [pytest.mark.usefixtures("backend"), pytest.mark.parametrize("cause", CAUSES)]


def offsets(capsys: pytest.CaptureFixture[str], root: Path, *arguments: str) -> list[int]:
    """The offsets that `kodec find --isolation read_committed` prints."""
    options = ["--isolation", "read_committed", "--template", "%o\\n", *arguments]
    assert main(["find", str(root), "--topic", "c", *options]) == 0
    return [int(line) for line in capsys.readouterr().out.split()]


def values(folder: Path, isolation: kodec.Isolation = "read_committed") -> list[tuple[bytes, bytes]]:
    with kodec.PartitionLog(folder) as log:
        return [(record.key, record.value) for record in log.records(isolation=isolation)]


def test_find(tmp_path: Path, capsys: pytest.CaptureFixture[str], cause: str) -> None:
    make_log(tmp_path, cause)
    assert offsets(capsys, tmp_path) == COMMITTED
    assert offsets(capsys, tmp_path, "--last", "9") == COMMITTED
    assert offsets(capsys, tmp_path, "--key", "b") == [1]
    assert offsets(capsys, tmp_path, "--offset", "1..9") == [1, 9]
    assert main(["find", str(tmp_path), "--isolation", "read_committed", "--count"]) == 0
    assert capsys.readouterr().out.split() == ["4"]


def test_records_from_every_offset(tmp_path: Path, cause: str) -> None:
    with kodec.PartitionLog(make_log(tmp_path, cause)) as log:
        for use_index in (True, False):
            for start in range(12):
                found = log.records(min(start, 11), isolation="read_committed", use_index=use_index)
                assert [record.offset for record in found] == [each for each in COMMITTED if each >= start]
        assert log.transactions().aborted == [(8, 3, 4), (7, 5, 7), (8, 6, 8)]
        assert log.last_stable_offset == 11


def test_compaction_keeps_what_is_committed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cause: str
) -> None:
    folder = make_log(tmp_path, cause)
    assert main(["compact", str(tmp_path), "--topic", "c", "--from-start", "--apply"]) == 0
    assert dict(values(folder)) == VALUES
    assert (b"b", b"BAD") not in values(folder, "read_uncommitted")


def test_a_redaction_and_a_conversion_rebuild_the_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cause: str
) -> None:
    folder = make_log(tmp_path, cause)
    convert = ["convert", str(folder), "--to", str(tmp_path / "converted"), "--compression", "gzip"]
    assert main([*convert, "--apply"]) == 0
    assert main(["redact", str(tmp_path), "--topic", "c", "--key", "a", "--apply"]) == 0

    def entries(path: Path) -> list[tuple[int, int, int]]:
        found = TransactionIndex.from_bytes(path.read_bytes()).entries
        return [(each.producer_id, each.first_offset, each.last_offset) for each in found]

    converted = tmp_path / "converted/c-0"
    assert entries(converted / f"{0:020}.txnindex") == [(8, 3, 4)]
    assert entries(converted / f"{6:020}.txnindex") == [(7, 5, 7), (8, 6, 8)]
    assert dict(values(converted)) == VALUES
    # of the rewritten segment; an offset before that of the first record is right after a compaction
    low = cause == "first offsets too low"
    assert entries(folder / f"{0:020}.txnindex") == [(8, 0 if low else 3, 4)]
    assert dict(values(folder)) == {key: value for key, value in VALUES.items() if key != b"a"}


def test_a_conversion_of_what_is_committed(tmp_path: Path, cause: str) -> None:
    folder = make_log(tmp_path, cause)
    convert = [
        "convert",
        str(folder),
        "--to",
        str(tmp_path / "old"),
        "--magic",
        "1",
        "--isolation",
        "read_committed",
    ]
    assert main([*convert, "--apply"]) == 0
    assert dict(values(tmp_path / "old/c-0", "read_uncommitted")) == VALUES
