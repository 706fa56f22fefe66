"""Jobs on pieces: what they find and write is what the library does in one process, by Spark and without."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.conversion.options import ConvertOptions
from kodec.pipeline.jobs.convert import convert
from kodec.pipeline.jobs.inventory import inventory
from kodec.pipeline.jobs.verify import verify
from kodec.pipeline.workers import Workers, workers

DATA = Path(__file__).parents[1] / "data"
LOGS = DATA / "kafka-4.3.1" / "logs"
ENGINES = ["local", "spark"]


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A real log directory with three kinds of damage and a torn tail."""
    root = tmp_path / "logs"
    for name in ("orders-0", "orders-1", "transactions-0", "idempotent-0", "empty-0"):
        shutil.copytree(LOGS / name, root / name)
    shutil.copy(LOGS / "meta.properties", root)
    (root / "cleaner-offset-checkpoint").write_text("0\nmany\n")
    first = sorted((root / "orders-0").glob("*.log"))[0]
    data = bytearray(first.read_bytes())
    data[300] ^= 1
    first.write_bytes(data)
    last = sorted((root / "orders-1").glob("*.log"))[-1]
    last.write_bytes(last.read_bytes()[:-5])
    for snapshot in (root / "idempotent-0").glob("*.snapshot"):
        snapshot.write_bytes(b"\0\1" + bytes(8))
    return root


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Any:
    if request.param == "spark":
        request.getfixturevalue("spark")
    return request.param


def test_verify_finds_what_it_finds_in_one_process(damaged: Path, engine: Any) -> None:
    paths = [damaged, damaged / "orders-0", next((damaged / "orders-1").glob("*.log")), LOGS]
    wanted = [problem for path in paths for problem in kodec.verify(path)]
    summary = verify(*paths, engine=engine)
    assert summary.problems == wanted
    assert len({problem.path for problem in wanted}) > 4
    assert not summary.ok and verify(LOGS, engine=engine).ok


def test_the_command_prints_the_same_by_spark(
    spark: Any, damaged: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(damaged.parent)
    for paths in (["logs"], ["logs/orders-0", str(damaged)]):
        assert main(["verify", *paths]) == 1
        wanted = capsys.readouterr().out
        assert main(["verify", *paths, "--engine", "spark"]) == 1
        assert capsys.readouterr().out == wanted
    assert main(["verify", "logs", "--master", "local[2]"]) == 2
    assert "--master is for --engine spark" in capsys.readouterr().err


def test_an_inventory_has_a_row_for_each_segment(damaged: Path, engine: Any) -> None:
    (damaged / "segments-0").mkdir()
    bases = [path.stem for path in sorted((LOGS / "segments-0").glob("*.log"))]
    for base in bases[:1] + bases[2:]:
        for path in (LOGS / "segments-0").glob(f"{base}.*"):
            shutil.copy(path, damaged / "segments-0")
    summary = inventory(damaged, check_crc=True, engine=engine)
    rows = {str(row.topic_partition): row for row in reversed(summary.rows)}
    assert len(summary.rows) == sum(1 for _ in damaged.glob("*/*.log")) and not summary.ok
    bad = {str(row.topic_partition): row.facts.health for row in summary.rows if row.facts.health != "clean"}
    assert bad == {"orders-0": "corrupt", "orders-1": "torn"}
    assert [rows[name].facts.crc_ok for name in ("orders-0", "idempotent-0")] == [False, True]
    gaps = [row.gap for row in summary.rows if str(row.topic_partition) == "segments-0"]
    assert gaps[:2] == [None, int(bases[2]) - int(bases[1])] and set(gaps[2:]) == {0}
    facts = rows["idempotent-0"].facts
    records = list(kodec.read_records(facts.path, control=True))
    assert (facts.records, facts.first_offset, facts.last_offset) == (
        len(records), records[0].offset, records[-1].offset,
    )  # fmt: skip


def test_the_inventory_of_old_and_of_compacted_logs(capsys: pytest.CaptureFixture[str]) -> None:
    old = DATA / "kafka-0.10.2.2" / "logs"
    assert main(["inventory", str(old), str(LOGS / "compacted-0"), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["records"] is None for row in rows} == {True, False}
    compacted = [row for row in rows if row["topic"] == "compacted" and str(LOGS) in row["path"]]
    assert compacted[0]["missing"] > 0 and compacted[0]["crcOk"] is None
    segment = next((LOGS / "orders-0").glob("*.log"))
    assert main(["inventory", str(segment)]) == 0
    assert "1 segment" in capsys.readouterr().out


def trees(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def test_convert_writes_what_it_writes_in_one_process(
    tmp_path: Path, engine: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    topics = ["--topic", "transactions", "--topic", "records-deleted"]
    words = ["convert", str(LOGS), *topics, "--compression", "zstd"]
    assert main([*words, "--to", str(tmp_path / "wanted"), "--apply"]) == 0
    reports = capsys.readouterr().out
    assert main([*words, "--to", str(tmp_path / "out"), "--engine", "spark"]) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["wanted"]
    capsys.readouterr()
    folders = [LOGS / name for name in ("records-deleted-0", "transactions-0", "transactions-1")]
    found = convert(folders, tmp_path / "out", ConvertOptions(compression="zstd"), engine=engine)
    assert trees(tmp_path / "out") == trees(tmp_path / "wanted")
    assert (tmp_path / "out" / "log-start-offset-checkpoint").exists()
    assert [report.target for report in found] == [tmp_path / "out" / each.name for each in folders]
    assert main([*words, "--to", str(tmp_path / "more"), "--engine", "spark", "--apply"]) == 0
    assert capsys.readouterr().out == reports.replace("wanted", "more")
    assert main([*words, "--to", str(tmp_path / "more"), "--engine", "spark", "--apply"]) == 1
    assert "is not empty" in capsys.readouterr().err


def test_a_conversion_that_fails_leaves_nothing(damaged: Path, engine: Any) -> None:
    folders = [damaged / "orders-0", damaged / "transactions-0"]
    before = trees(damaged.parent)
    with pytest.raises(kodec.errors.CrcMismatch, match=r"orders-0/0+\.log"):
        convert(folders, damaged.parent / "out", ConvertOptions(compression="zstd"), engine=engine)
    assert trees(damaged.parent) == before
    with pytest.raises(ValueError, match="inside of what is read"):
        convert(folders, damaged / "out", ConvertOptions(compression="zstd"), engine=engine)
    with pytest.raises(ValueError, match="there twice"):
        convert([folders[0]] * 2, damaged.parent / "out", ConvertOptions(magic=1), engine=engine)


def _fails(number: int) -> int:
    if number == 3:
        raise kodec.errors.Malformed("field", "reason", at=number)
    if number == 5:
        raise NoPickle(number, "two arguments")
    return number * number


class NoPickle(Exception):
    """An error that cannot be made from its arguments."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)


def test_results_come_in_order_and_errors_come_home(spark: Any) -> None:
    with workers("test") as crew:
        assert crew.spark is not None
        assert crew.run(_square, []) == []
        assert crew.run_sized(_square, range(50), [50 - n for n in range(50)], 1) == [
            n * n for n in range(50)
        ]
        with pytest.raises(kodec.errors.Malformed, match="reason"):
            crew.run(_fails, [1, 3])
        with pytest.raises(RuntimeError, match="NoPickle: two arguments"):
            crew.run(_fails, [5])


def _square(number: int) -> int:
    return number * number


def test_small_pieces_share_a_task_and_large_ones_come_first() -> None:
    seen: list[list[str]] = []

    class Recording(Workers):
        def run(self, work: Callable[[Any], Any], pieces: Any) -> list[Any]:
            seen.extend(pieces)
            return [work(piece) for piece in pieces]

    sizes = [1, 90 << 20, 1, 200 << 20]
    found = Recording(None, print).run_sized(str.upper, ["a", "b", "c", "d"], sizes, 100 << 20)
    assert (found, seen) == (["A", "B", "C", "D"], [["d"], ["b", "a", "c"]])
