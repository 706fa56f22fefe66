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
