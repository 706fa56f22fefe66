"""`kodec dump --schema`: files of any format as trees, JSON and YAML."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kodec.cli.app import run
from kodec.runtime.errors import FormatError
from tests.golden import Golden

SCHEMA = """meta: {id: zoo, endian: le}
seq:
- {id: magic, contents: ZOO}
- {id: kind, type: u1, enum: kind}
- {id: num_rows, type: u2}
- {id: rows, type: row, repeat: expr, repeat-expr: num_rows}
- {id: class, type: str, size: 2, encoding: UTF-8}
- {id: ratio, type: f4}
- {id: numbers, type: u1, repeat: expr, repeat-expr: num_rows}
types:
  row:
    seq:
    - {id: len, type: u1}
    - {id: body, size: len}
    instances:
      double: {value: len * 2}
      owner: {value: _parent}
      far: {pos: 1000000, type: u1}
enums:
  kind: {1: cat, 2: dog}
"""
ROWS = 150
NAN = bytes.fromhex("0000c07f")
DATA = b"ZOO\x02" + ROWS.to_bytes(2, "little") + b"\x02\x00\xff" * ROWS + "é".encode() + NAN + bytes(ROWS)


@pytest.fixture
def dump(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """`dump(data, *options)` runs `kodec dump`; its exit code, stdout, stderr."""
    monkeypatch.setenv("KODEC_CACHE", str(tmp_path / "cache"))
    (tmp_path / "zoo.ksy").write_text(SCHEMA)

    def call(data: bytes, *options: str) -> tuple[int, str, str]:
        (tmp_path / "data.zoo").write_bytes(data)
        code = run(["dump", "--schema", str(tmp_path / "zoo.ksy"), *options, str(tmp_path / "data.zoo")])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


Dump = Callable[..., tuple[int, str, str]]


def test_json_and_yaml_have_everything(dump: Dump) -> None:
    expected: dict[str, Any] = {
        "magic": "5a4f4f",
        "kind": "dog",
        "num_rows": ROWS,
        "rows": [{"len": 2, "body": "00ff"}] * ROWS,
        "class": "é",
        "ratio": "nan",
        "numbers": [0] * ROWS,
    }
    code, out, err = dump(DATA, "--json")
    assert (code, json.loads(out), err) == (0, expected, "")
    code, out, _ = dump(DATA, "--yaml", "--base64")
    expected["magic"], expected["rows"] = "Wk9P", [{"len": 2, "body": "AP8="}] * ROWS
    assert (code, yaml.safe_load(out)) == (0, expected)


def test_the_tree_is_cut_unless_asked(dump: Dump) -> None:
    _, out, _ = dump(DATA)
    lines = out.splitlines()
    first = "magic: 5a4f4f|kind: dog|num_rows: 150|rows: 150 elements|  [0]:|    len: 2|    body: 00ff"
    assert lines[:7] == first.split("|")
    assert "  ... 50 more (--all)" in lines and "  [99]:" in lines and "  [100]:" not in lines
    assert lines[-1] == f"numbers: [{', '.join(['0'] * 100)}] ... 50 more (--all)"
    _, out, _ = dump(DATA, "--all")
    assert "  [149]:" in out.splitlines() and "--all" not in out


def test_a_part(dump: Dump) -> None:
    assert dump(DATA, "--json", "--path", "rows[149].body") == (0, '"00ff"\n', "")
    assert dump(DATA, "--path", "rows[3].double") == (0, "4\n", "")
    assert dump(DATA, "--path", "rows[3].owner.class") == (0, "é\n", "")
    for path, reason in {
        "rowz": "the file has no `rowz`; did you mean `rows`?",
        "rows[150]": "rows has 150 elements",
        "kind[0]": "kind is not a list",
        "rows[1].len.x": "rows[1].len has no `x`",
        "rows[-1]": "is not a path",
        ".rows": "is not a path",
        "rows[0]..len": "is not a path",
    }.items():
        code, out, err = dump(DATA, "--path", path)
        assert (code, out) == (2, "") and reason in err


def test_instances_on_request(dump: Dump) -> None:
    """Those that lead back, and those that cannot be read, are shown as such."""
    code, out, _ = dump(DATA, "--json", "--instances", "--path", "rows[0]")
    found = json.loads(out)
    assert code == 0 and found["double"] == 4
    assert found["owner"]["rows"][0] == {"see": "the file"}
    assert found["owner"]["rows"][1]["owner"] == {"see": "owner"}
    assert "need 1 bytes, have 0" in found["far"]["error"]
    assert "double" not in dump(DATA, "--json", "--path", "rows[0]")[1]


def test_unknown_enum_values_stay_numbers(dump: Dump) -> None:
    assert dump(DATA[:3] + b"\x09" + DATA[4:], "--path", "kind") == (0, "9\n", "")


def test_bytes_after_the_end_are_reported(dump: Dump, golden: Golden) -> None:
    code, _, err = dump(DATA + bytes(7), "--json")
    assert code == 0
    golden(err)
    code, _, err = dump(DATA + bytes(7), "--json", "--instances")
    assert code == 0
    golden(err)
    assert dump(DATA + bytes(7), "--path", "kind")[2] == ""


def test_damage_is_an_error_with_its_byte(dump: Dump) -> None:
    with pytest.raises(FormatError, match=r"rows\[149\]\.len: need 1 bytes, have 0, at byte 453") as caught:
        dump(DATA[: 6 + 149 * 3])
    assert "data.zoo" in str(caught.value)


@pytest.mark.usefixtures("dump")
def test_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(DATA)))
    assert run(["dump", "--schema", str(tmp_path / "zoo.ksy"), "--path", "kind", "-"]) == 0
    assert capsys.readouterr().out == "dog\n"


def test_layouts(dump: Dump, tmp_path: Path) -> None:
    (tmp_path / "zoo.ksy").write_text(
        "meta: {id: zoo, endian: be}\n-topic: zoo\nseq:\n- {id: n, type: u1, -derive: length_of(a)}\n"
        "- {id: a, size: n}\n- {id: b, type: u2}\n"
    )
    assert dump(b"\x01x\x00\x05", "--json") == (0, '{\n  "a": "78",\n  "b": 5\n}\n', "")


def test_usage(dump: Dump, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    for options, reason in {
        ("--json", "--yaml"): "--json and --yaml exclude each other",
        ("--decode",): "--schema takes no option for Kafka's logs",
        (str(tmp_path / "zoo.ksy"),): "--schema: it is the format of one file",
    }.items():
        code, _, err = dump(DATA, *options)
        assert code == 2 and reason in err
    assert run(["dump", "--yaml", str(tmp_path / "data.zoo")]) == 2
    golden(capsys.readouterr().err)
    (tmp_path / "zoo.ksy").write_text(
        "meta: {id: zoo}\nparams: [{id: n, type: u1}]\nseq: [{id: a, size: n}]\n"
    )
    code, _, err = dump(DATA)
    assert code == 2 and "`zoo` has parameters" in err
