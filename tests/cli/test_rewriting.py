"""`kodec trim`, `compact` and `convert`: nothing is written without --apply; exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.cli.main import main
from tests.data import LOGS
from tests.golden import Golden


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of a broker's log directory."""
    for name in ("orders-0", "orders-1", "compacted-0", "transactions-0"):
        shutil.copytree(LOGS / name, tmp_path / "logs" / name)
    return tmp_path / "logs"


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


CHANGES = [
    ("trim", "--before-offset", "300"),
    ("compact", "--from-start"),
    ("convert", "--to", "OUT", "--magic", "1", "--compression", "gzip"),
]


@pytest.mark.parametrize("words", CHANGES, ids=lambda words: words[0])
def test_nothing_is_written_without_apply(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    before = files(tmp_path)
    command, *options = [word.replace("OUT", str(tmp_path / "out")) for word in words]
    for form in ([], ["--json"]):
        code, out, err = run(capsys, command, root, "--topic", "orders", *options, *form)
        assert (code, err) == (3, "")
        assert out
    assert all(each["applied"] is False for each in objects(out))
    assert files(tmp_path) == before


def test_trim(root: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    words = ("trim", root, "--topic", "orders", "--before-offset", 300)
    _, out, _ = run(capsys, *words)
    golden(out)
    code, out, _ = run(capsys, *words, "--apply", "--json")
    assert code == 0
    first, second = objects(out)
    assert (first["topic"], first["partition"], first["applied"], first["newStartOffset"]) == (
        "orders",
        0,
        True,
        300,
    )
    assert first["deleted"] == [{"baseOffset": 0, "endOffset": 199, "bytes": 16150, "reason": "start_offset"}]
    assert second["partition"] == 1
    with kodec.PartitionLog(root / "orders-0") as log:
        assert next(log.records()).offset == 300
    code, out, _ = run(capsys, *words)
    assert (code, out) == (0, "orders-0: nothing to delete\norders-1: nothing to delete\n")


def test_trim_of_all(root: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    code, out, _ = run(capsys, "trim", root / "orders-0", "--retention-bytes", 0, "--apply")
    assert code == 0
    golden(out)
    assert out.endswith("starts at 421 instead of 0: done\n")


def test_compact(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    # half an hour after the broker wrote it: what has a delete horizon is not to go yet
    monkeypatch.setattr("time.time_ns", lambda: 1_795_230_000 * 10**9)
    words = ("compact", root / "compacted-0", "--from-start", "--apply")
    with kodec.PartitionLog(root / "compacted-0") as log:
        before = list(log.records())
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    golden(out)
    assert "0 records removed" in out
    assert out.endswith("10.3 KiB become 10.3 KiB: done\n")
    with kodec.PartitionLog(root / "compacted-0") as log:
        assert list(log.records()) == before
    assert (root / "cleaner-offset-checkpoint").read_text() == "0\n1\ncompacted 0 87\n"
    _, out, _ = run(capsys, *words[:2], "--json")
    (facts,) = objects(out)
    assert (facts["rounds"], facts["firstDirtyOffset"], facts["complete"]) == (0, 87, True)
    _, out, _ = run(capsys, *words[:2])
    golden(out)


def test_compact_says_when_the_keys_do_not_fit(
    root: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    words = ("compact", root / "compacted-0", "--from-start", "--buffer-bytes", 256)
    code, out, _ = run(capsys, *words)
    assert code == 3
    golden(out)
    code, out, _ = run(capsys, *words, "--apply", "--json")
    (facts,) = objects(out)
    assert facts["rounds"] > 3
    assert facts["complete"]


def test_convert(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    out_folder = tmp_path / "out"
    words = ("convert", root, "--topic", "transactions", "--to", out_folder, "--magic", 1)
    words += ("--compression", "gzip")
    code, out, err = run(capsys, *words, "--apply")
    assert code == 0, err
    golden(out)
    assert out.endswith(f"transactions-0: done in {out_folder / 'transactions-0'}\n")
    with kodec.PartitionLog(out_folder / "transactions-0") as log:
        assert {each.magic for each in log.batches()} == {1}
    code, _, err = run(capsys, *words, "--apply")
    assert code == 1
    assert "is not empty" in err
    shutil.rmtree(out_folder)
    _, out, _ = run(capsys, *words, "--json", "--isolation", "read_committed")
    (facts,) = objects(out)
    assert facts["losses"]["leftOut"]["count"] == 23
    assert facts["endSegment"] == 88


def test_bad_usage(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ("trim", root / "orders-0"),
        ("trim", root, "--retention-ms", 1),
        ("trim", root / "orders-0", "--retention-ms", -1),
        ("compact", root),
        ("compact", root / "missing-0"),
        ("convert", root / "orders-0", "--to", root),
        ("convert", root / "orders-0", "--magic", 1),
        ("convert", root / "orders-0", "--magic", 3, "--to", root),
    ):
        code, out, err = run(capsys, *words)
        assert (code, out) == (2, "")
        assert err


def test_what_cannot_be_done_is_told_and_the_rest_goes_on(
    root: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    code, _, err = run(capsys, "compact", root, "--topic", "nothing")
    assert (code, err) == (2, f"kodec: {root} has no topic nothing\n")
    (root / "orders-0" / "00000000000000000000.log.swap").touch()
    code, out, err = run(capsys, "trim", root, "--topic", "orders", "--retention-ms", 1)
    assert code == 1
    golden(err)
    golden(out)
    log = root / "transactions-0" / "00000000000000000000.log"
    log.write_bytes(log.read_bytes()[:-1])
    code, _, err = run(capsys, "convert", log.parent, "--to", root.parent / "out", "--magic", 2)
    assert code == 1
    golden(err)


def test_help_tells_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("trim", "compact", "convert"):
        code, out, _ = run(capsys, command, "--help")
        assert code == 0
        assert "exit:" in out
        assert "example:" in out
