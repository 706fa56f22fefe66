"""Bytes from a log do not reach the terminal as they are."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from tests.data import LOGS
from tests.golden import Golden

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


def _shown_by(
    verb: str, records: list[kodec.Record], folder: Path, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """The lines of the records, without what is before their keys."""
    log = folder / "orders-0" / f"{0:020d}.log"
    log.parent.mkdir(exist_ok=True)
    log.write_bytes(kodec.encode(records))
    assert main([verb, str(log if verb == "dump" else log.parent)]) == 0
    lines = capsys.readouterr().out.splitlines()
    return [line.split("none  ", 1)[1] for line in lines if "none  " in line]


# A record, and others whose bytes would print the same if nothing was escaped.
LIKE_OTHERS = [
    [
        kodec.Record(key=b"a", value=b"b", headers=(("h", b"1"),)),
        kodec.Record(key=b"a", value=b'b"  {h: "1"}'),
        kodec.Record(key=b"a", value=b'b"  {"h": "1"}'),
        kodec.Record(key=b"a", value=b"b\"  {h: '1'}"),
    ],
    [
        kodec.Record(key=b"a", value=b"b"),
        kodec.Record(key=b'a" = "b', value=None),
        kodec.Record(key=b"a' = 'b", value=None),
        kodec.Record(key=b'a"\'\\" = "b', value=None),
    ],
    [
        kodec.Record(value=None),
        kodec.Record(value=b""),
        kodec.Record(value=b"null"),
        kodec.Record(value=b'"null"'),
        kodec.Record(value=b'""'),
    ],
    [
        kodec.Record(value=b"v", headers=(("a", b"1"), ("b", b"2"))),
        kodec.Record(value=b"v", headers=(('a: "1", b', b"2"),)),
        kodec.Record(value=b"v", headers=(("a", b'1", b: "2'),)),
        kodec.Record(value=b"v", headers=(("a", b"1', \"b\": '2"),)),
    ],
    [
        kodec.Record(value=b"\\n"),
        kodec.Record(value=b"\n"),
        kodec.Record(value=b"\\xff"),
        kodec.Record(value=b"x\n\xff"),
        kodec.Record(value=b"x\n\\xff"),
    ],
    [kodec.Record(value=b"x" * 500), kodec.Record(value=b"x" * 160 + b"\xe2\x80\xa6 (500 characters)")],
]


@pytest.mark.parametrize("records", LIKE_OTHERS, ids=["header", "key", "null", "headers", "escapes", "cut"])
@pytest.mark.parametrize("verb", ["dump", "find"])
def test_no_value_looks_like_another_record(
    verb: str, records: list[kodec.Record], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = _shown_by(verb, records, tmp_path, capsys)
    assert len(lines) == len(records) == len(set(lines)), lines
    for line, record in zip(lines, records, strict=True):
        outside = re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', "T", line)
        # one key, one value, and the headers that there are
        assert outside.count(" = ") == 1
        assert outside.count("{") == bool(record.headers)
        assert outside.count(": ") == len(record.headers)


def test_a_null_of_json_is_not_an_absent_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "orders-0" / f"{0:020d}.log"
    path.parent.mkdir()
    path.write_bytes(kodec.encode([kodec.Record(value=b"null"), kodec.Record(value=None)]))
    assert main(["find", str(path.parent), "--value-format", "json"]) == 0
    assert [line.split(" = ")[1] for line in capsys.readouterr().out.splitlines()] == ["json:null", "null"]


def test_a_property_does_not_look_like_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    path = tmp_path / "meta.properties"
    path.write_text("version=1\ncluster.id=x, node.id 7\nnode.id=1\n")
    assert main(["dump", str(path)]) == 0
    golden(capsys.readouterr().out.splitlines()[1])


def test_null_and_empty_differ_in_csv_and_templates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "orders-0" / f"{0:020d}.log"
    path.parent.mkdir()
    values = [None, b"", b'a "b", c', b"a\rb", b"plain", b" x"]
    path.write_bytes(kodec.encode([kodec.Record(value=each, timestamp=1) for each in values]))
    words = ["find", str(path.parent), "--value-format", "text"]
    assert main([*words, "--csv"]) == 0
    text = capsys.readouterr().out
    assert [line.split(",", 5)[5] for line in text.split("\n")[1:-1]] == [
        ",",
        '"",',
        '"a ""b"", c",',
        '"a\rb",',
        "plain,",
        '" x",',
    ]
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert [row[5] for row in rows[1:]] == ["" if each is None else each.decode() for each in values]
    assert main([*words, "--format", r"%v|%k\n", "--null", "NULL"]) == 0
    assert capsys.readouterr().out.split("\n")[:2] == ["NULL|NULL", "|NULL"]
    assert main([*words, "--null", "NULL"]) == 2
    assert "--null needs --template" in capsys.readouterr().err


def test_a_template_without_a_field_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    logs = str(LOGS)
    assert main(["find", logs, "--topic", "orders", "--template", "json"]) == 2
    assert "did you mean --json?" in " ".join(capsys.readouterr().err.split())
