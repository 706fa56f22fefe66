"""Bytes from a log do not reach the terminal as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main

HOSTILE = "\x1b]0;title\x07\x1b[2J\r\n\x9b31m\u202etxt".encode() + b"\x80\xff\x00"


def test_control_characters_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hostile.log"
    record = kodec.Record(
        key=HOSTILE, value=HOSTILE, headers=((HOSTILE.decode("utf-8", "surrogateescape"), HOSTILE),)
    )
    path.write_bytes(kodec.encode([record]))
    assert main(["dump", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.count("\\x1b]0;title\\x07") == 4
    assert [each for each in out if each != "\n" and not each.isprintable()] == []


# An end of a line in a name, and what comes after it in red.
FORGED = "x\nforged: 9 changes done\x1b[31m"


@pytest.fixture
def forging(tmp_path: Path) -> Path:
    """A log directory whose name, and those of files in it, would be lines of their own."""
    root = tmp_path / FORGED / "logs"
    with kodec.LogDirectoryWriter(tmp_path / "made") as directory:
        log = directory.partition("topic", 0)
        log.append([kodec.Record(key=b"k", value=b"v", timestamp=1)])
    root.parent.mkdir()
    (tmp_path / "made").rename(root)
    folder = root / "topic-0"
    with (folder / f"{0:020d}.log").open("ab") as file:
        file.write(b"torn")
    (folder / f"{FORGED}.swap").touch()
    (folder / f"{FORGED}.deleted").touch()
    (folder / "leader-epoch-checkpoint").write_text(f"0\n1\n{FORGED}\n")
    (root / f"topic-0.{FORGED}-stray").mkdir()
    (root / "recovery-point-offset-checkpoint").write_text("0\n1\nforged\x1b[31m 0 0 0\n")
    return root


@pytest.mark.parametrize(
    "words",
    [
        ["ls"],
        ["verify"],
        ["recover"],
        ["recover", "--apply"],
        ["recover", "--json"],
        ["reindex"],
        ["inventory"],
        ["dump"],
        ["epochs"],
        ["producers"],
        ["retention"],
        ["find", "--topic", "topic", "--partition", "0", "--offset", "7"],
        ["trim", "--topic", "topic", "--before-offset", "1", "--apply"],
        ["compact", "--topic", "topic", "--apply"],
        ["salvage", "--topic", "topic", "--to", FORGED, "--apply"],
        ["convert", "--topic", "topic", "--to", FORGED, "--compression", "gzip", "--apply"],
        ["adopt", "--into", "."],
        ["adopt", "--into", FORGED],
        ["restore", "--to", "out"],
        ["export", "--to", "out", "--engine", "local"],
        ["verify", FORGED],
        ["no-such-verb"],
    ],
    ids=" ".join,
)
def test_a_name_makes_no_line(
    forging: Path,
    words: list[str],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(forging.parents[1])
    main([words[0], str(forging), *words[1:]])
    said = capfd.readouterr()
    for line in (said.out + said.err).splitlines():
        assert not line.lstrip("│ ").startswith(("forged", "\x1b"))
    assert "\x1b[31m" not in said.out + said.err
