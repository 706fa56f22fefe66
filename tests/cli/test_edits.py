"""kodec redact, and dump --edit-format into load, as a user runs them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.files.listing import find_partitions
from tests.data import ROOT
from tests.golden import Golden


def test_redact_shows_then_erases(logs: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    command = ["redact", str(logs), "--topic", "segments", "--where", "offset in [3, 53, 103]"]
    assert main(command) == 3
    shown = capsys.readouterr().out
    assert "3 records of" in shown
    golden(shown)
    assert main([*command, "--apply", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["applied"] and report["records"] == 3 and report["holders"] == []
    assert main(command) == 0
    with kodec.PartitionLog(logs / "segments-0") as log:
        assert [each.offset for each in log.records() if each.offset in (3, 53, 103)] == []


def test_redact_says_what_still_holds_a_match(
    logs: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    with kodec.PartitionLog(logs / "orders-0") as log:
        newest = log.end_offset - 1
    assert main(["redact", str(logs / "orders-0"), "--offset", f"{newest}", "--apply"]) == 1
    golden(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "choose records"),
        (["--key", "a", "--topic", "none"], 2, "has no topic none"),
        (["--offset", "5..3"], 2, "3 is below 5"),
        (["--where", "offset ="], 2, "invalid syntax"),
    ],
)
def test_redact_refuses(
    logs: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    assert main(["redact", str(logs), *arguments]) == code
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_whole_log_directory_and_back(logs: Path, tmp_path: Path) -> None:
    lines, out = tmp_path / "lines.jsonl", tmp_path / "new"
    run = [sys.executable, "-m", "kodec"]
    with lines.open("wb") as file:
        subprocess.run([*run, "dump", "--edit-format", str(logs)], stdout=file, check=True)
    load = [*run, "load", str(lines), "--to", str(out)]
    assert subprocess.run(load, check=False, stdout=subprocess.DEVNULL).returncode == 3
    assert not out.exists()
    subprocess.run([*load, "--apply"], check=True, stdout=subprocess.DEVNULL)
    for folder in find_partitions(logs):
        for path in folder.path.glob("*.log"):
            assert (out / folder.path.name / path.name).read_bytes() == path.read_bytes()


def test_the_pipe_of_the_page(logs: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs/editing.md").read_text("utf-8")
    (pipe,) = re.findall(r"^kodec dump --edit-format .* --apply$", page, re.MULTILINE)
    (script,) = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "script.py").write_text(script)
    kodec_here = f"{sys.executable} -m kodec "
    pipe = pipe.replace("tests/data/kafka-4.3.1/logs", str(logs)).replace("kodec ", kodec_here)
    pipe = pipe.replace("| python ", f"| {sys.executable} ")
    subprocess.run(pipe, shell=True, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    with (
        kodec.PartitionLog(logs / "orders-0") as old,
        kodec.PartitionLog(tmp_path / "edited/orders-0") as new,
    ):
        pairs = list(zip(old.records(), new.records(), strict=True))
        assert all(b.offset == a.offset and b.timestamp == a.timestamp for a, b in pairs)
        assert any(a.value != b.value for a, b in pairs)


def test_a_wrong_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text(
        '{"type": "log", "topic": "t", "partition": 0}\n{"type": "segment", "baseOffset": "0"}\n'
    )
    assert main(["load", str(lines), "--to", str(tmp_path / "out"), "--apply"]) == 1
    assert f"line 2 of {lines}" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["lines.jsonl"]
