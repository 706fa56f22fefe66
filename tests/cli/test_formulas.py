"""CSV for spreadsheets: with --guard-formulas no cell is a formula; without it every cell is what it is."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as compute
import pytest

import kodec
from kodec.cli.main import main
from kodec.runtime.formulas import FORMULA, GUARDED, guarded

# what a spreadsheet computes, and what it does not
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://x","y")']
TEXTS = ["", "a=1", " =1", "'=1", "1-2", "ü", '{"a": 1}']


@pytest.mark.parametrize("text", FORMULAS + TEXTS)
def test_a_cell(text: str) -> None:
    kept = f"'{text}" if text in FORMULAS else text
    assert guarded(text) == kept
    found = compute.replace_substring_regex(pa.array([text, None]), FORMULA, GUARDED)
    assert found.to_pylist() == [kept, None]


@pytest.mark.parametrize("door", ["find", "export", "scan", "scan to a file"])
@pytest.mark.parametrize("guard", [False, True])
def test_each_command_that_writes_csv(
    door: str, guard: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, more = tmp_path / "logs", ["--guard-formulas"] if guard else []
    (logs / "t-0").mkdir(parents=True)
    records = [
        kodec.Record(offset=at, key=each.encode(), value=each.encode()) for at, each in enumerate(FORMULAS)
    ]
    (logs / "t-0/00000000000000000000.log").write_bytes(kodec.encode(records))
    if door == "find":
        assert main(["find", str(logs), "--csv", *more]) == 0
        text = capsys.readouterr().out
    elif door == "export":
        assert main(["export", str(logs), "--to", str(tmp_path / "out"), "--format", "csv", *more]) == 0
        (file,) = (tmp_path / "out").rglob("*.csv")
        text = file.read_bytes().decode()
    else:
        schema, data = tmp_path / "x.ksy", tmp_path / "data"
        schema.write_text(
            "{meta: {id: x, encoding: UTF-8}, seq: [{id: rows, type: row, repeat: eos}], "
            "types: {row: {seq: [{id: value, type: strz}, {id: number, type: s1}]}}}"
        )
        data.write_bytes(b"".join(each.encode() + b"\0\xff" for each in FORMULAS))
        words = ["scan", str(data), "--schema", str(schema)]
        if door == "scan":
            assert main([*words, "--format", "csv", *more]) == 0
            text = capsys.readouterr().out
        else:
            assert main([*words, "--to", str(tmp_path / "out.csv"), *more]) == 0
            text = (tmp_path / "out.csv").read_bytes().decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["value"] for row in rows] == [f"'{each}" if guard else each for each in FORMULAS]
    if door.startswith("scan"):
        assert {row["number"] for row in rows} == {"-1"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["find", "LOGS", "--guard-formulas"], "--guard-formulas needs --csv"),
        (
            ["export", "LOGS", "--to", "OUT", "--guard-formulas"],
            "formulas are guarded in csv, not in parquet",
        ),
        (["export", "LOGS", "--to", "OUT", "--format", "delta", "--guard-formulas"], "is not supported with"),
    ],
)
def test_other_formats(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = "tests/data/kafka-4.3.1/logs"
    given = [{"LOGS": logs, "OUT": str(tmp_path / "out")}.get(each, each) for each in words]
    assert main(given) != 0
    assert said in " ".join(capsys.readouterr().err.split())
