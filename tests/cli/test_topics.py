"""`--topic` in the verbs that look at, check and repair logs, and the selection of `kodec export`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from tests.data import LOGS

NAMES = ("orders-0", "orders-1", "orders-2")


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Logs of which two topics are damaged, and a folder that has not the name of a topic-partition."""
    root = tmp_path / "logs"
    root.mkdir()
    for name in (*NAMES, "segments-0", "codec-none-0"):
        shutil.copytree(LOGS / name, root / name)
    shutil.copy(LOGS / "meta.properties", root)
    shutil.copytree(LOGS / "codec-none-0", root / "codec-none-x")
    for name in ("orders-1", "codec-none-0"):
        path = next((root / name).glob("*.log"))
        data = bytearray(path.read_bytes())
        data[200] ^= 1
        path.write_bytes(data)
    return root


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, list[dict[str, object]], str]:
    code = main(list(map(str, words)))
    out, err = capsys.readouterr()
    return code, [json.loads(line) for line in out.splitlines() if line.startswith("{")], err


@pytest.mark.parametrize("verb", ["ls", "inventory"])
def test_lists_have_one_topic(damaged: Path, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    for topic, count in (("orders", 3), ("segments", 1)):
        code, rows, err = run(capsys, verb, damaged, "--topic", topic, "--json", "--crc")
        assert {str(each["topic"]) for each in rows} == {topic}
        assert len({each["partition"] for each in rows}) == count
        assert code == (topic == "orders")
        assert "codec-none" not in err
    code, rows, _ = run(capsys, verb, damaged, "--topic", "orders", "--topic", "segments", "--json")
    assert {each["topic"] for each in rows} == {"orders", "segments"}
    code, rows, _ = run(capsys, verb, damaged / "orders-0", "--topic", "orders", "--json")
    assert {each["topic"] for each in rows} == {"orders"}


def test_a_topic_is_verified(damaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, rows, _ = run(capsys, "verify", damaged, "--json")
    assert code == 1 and any("codec-none" in str(each.get("file")) for each in rows)
    code, rows, _ = run(capsys, "verify", damaged, "--topic", "orders", "--json")
    *problems, summary = rows
    assert code == 1 and problems and all("orders-1" in str(each["file"]) for each in problems)
    assert summary["segments"] == 6
    assert run(capsys, "verify", damaged, "--topic", "segments", "--json")[0] == 0
    assert {each.path.parent.name for each in kodec.repair.verify(damaged, topics="orders")} == {"orders-1"}
    assert list(kodec.repair.verify(damaged / "orders-1", topics=["orders"]))


@pytest.mark.parametrize("verb", ["recover", "reindex"])
def test_a_topic_is_repaired(damaged: Path, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in damaged.rglob("*") if path.is_file()}
    more = ["--from-start"] if verb == "recover" else []
    _, rows, err = run(capsys, verb, damaged, "--topic", "orders", "--json", "--apply", *more)
    assert "codec-none" not in err and rows
    changed = {path for path in before if not path.is_file() or path.read_bytes() != before[path]}
    assert changed and all(path.parent.name in NAMES for path in changed)
    with pytest.raises(kodec.errors.NoSuchPartition, match="no topic paid"):
        list(kodec.repair.plan_recoveries(damaged, topics=["orders", "paid"]))
    assert list(kodec.repair.plan_recoveries(damaged, topics=[])) == []


@pytest.mark.parametrize("verb", ["ls", "inventory", "verify", "recover", "reindex"])
def test_a_topic_that_is_missing_is_named(
    verb: str, damaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (damaged, damaged / "segments-0"):
        code, rows, err = run(capsys, verb, path, "--topic", "order")
        assert (code, rows) == (2, []) and "no topic order" in err
    assert "did you mean orders?" in run(capsys, verb, damaged, "--topic", "order")[2]


def test_an_export_of_selected_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def rows(*words: object) -> list[tuple[object, object]]:
        out = tmp_path / "out"
        assert run(capsys, "export", LOGS, "--to", out, "--format", "jsonl", "--overwrite", *words)[0] == 0
        lines = [line for path in sorted(out.rglob("*.jsonl")) for line in path.read_text().splitlines()]
        return [(each["partition"], each["offset"]) for each in map(json.loads, lines)]

    of = ("--topic", "orders", "--partition", "0")
    assert rows(*of, "--offset", "5..7") == [(0, 5), (0, 6), (0, 7)]
    assert rows("--topic", "orders", "--partition", 0, "--partition", 2, "--offset", 9) == [(0, 9), (2, 9)]
    for words in (["--since", "1700001000000"], ["--until", "1700000100000"], ["--key", "customer-9"]):
        code = main(["find", str(LOGS), *of, *words, "--json"])
        found = [json.loads(line)["offset"] for line in capsys.readouterr().out.splitlines()]
        assert code == 0 and rows(*of, *words) == [(0, offset) for offset in found]
    assert (
        run(capsys, "export", LOGS, "--to", tmp_path / "out", "--overwrite", *of, "--offset", "7..5")[0] == 2
    )
    assert run(capsys, "export", LOGS, "--to", tmp_path / "t", "--format", "delta", "--key", "a")[0] == 2


def test_a_file_is_no_segment() -> None:
    with pytest.raises(kodec.errors.ArgumentError, match=r"Segment\.of"):
        kodec.Segment("x.log")  # type: ignore[arg-type]
