"""kodec recover and kodec reindex as a user calls them: they tell, and only with --apply do."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.files.lock import locked
from kodec.log.omissions import Omissions
from tests.data import TESTS
from tests.golden import Golden

DATA = TESTS / "data/kafka-4.3.1"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """What a killed broker left, with nonsense after one of its logs."""
    root = tmp_path / "logs"
    shutil.copytree(DATA / "crashed", root)
    with (root / "transactions-0" / f"{0:020d}.log").open("ab") as file:
        file.write(b"nonsense")
    return root


def contents(folder: Path) -> dict[Path, bytes]:
    return {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_recover_tells_and_does_not(root: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    before = contents(root.parent)
    assert main(["recover", str(root)]) == 3
    out = capsys.readouterr().out
    golden(out)
    assert contents(root.parent) == before


def test_recover_applies_and_then_has_nothing_to_do(
    root: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert main(["recover", "--apply", str(root)]) == 0
    out = capsys.readouterr().out
    assert "20 changes done" in out
    golden(out)
    kept = root.parent / "logs.quarantine/transactions-0" / f"{0:020d}.log.cut-6150"
    assert kept.read_bytes() == b"nonsense"
    assert main(["verify", str(root)]) == 0
    capsys.readouterr()
    assert main(["recover", str(root)]) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_recover_says_which_brokers_can_serve_the_result(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["recover", str(root)])
    assert "kodec rebuild" in capsys.readouterr().err
    (root / "__cluster_metadata-0").mkdir()
    main(["recover", str(root)])
    assert "kodec rebuild" not in capsys.readouterr().err


def test_recover_in_json_with_a_side_folder(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, side = root / "transactions-0", tmp_path / "elsewhere"
    assert main(["recover", "--json", "--apply", "--quarantine", str(side), str(folder)]) == 0
    *steps, end = lines(capsys)
    (cut,) = [step for step in steps if step["step"] == "truncate"]
    assert cut == {
        "topic": "transactions",
        "partition": 0,
        "step": "truncate",
        "file": str(folder / f"{0:020d}.log"),
        "byte": 6150,
        "bytes": 8,
        "reason": "fewer bytes than the start of a batch",
    }
    assert end == {
        "partitions": 1,
        "logsRead": 1,
        "bytesRead": 6158,
        "changes": len(steps),
        "done": len(steps),
        "goodBatchesAfterCuts": 0,
        "goodRecordsAfterCuts": 0,
        "bytesTruncated": 8,
        "refused": 0,
        "applied": True,
        "kept": [str(side / "transactions-0")],
    }


def test_recover_from_start_reads_all(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recover", "--apply", "--index-interval-bytes", "512", str(root)]) == 0
    (root / ".kafka_cleanshutdown").touch()
    damaged = root / "segments-0" / f"{70:020d}.log"
    data = bytearray(damaged.read_bytes())
    data[500] ^= 1
    damaged.write_bytes(data)
    capsys.readouterr()
    assert main(["recover", "--json", str(root)]) == 0
    assert lines(capsys)[-1]["logsRead"] == 0
    assert main(["recover", "--json", "--from-start", "--index-interval-bytes", "512", str(root)]) == 3
    end = lines(capsys)[-1]
    assert end["logsRead"] == 4 and end["bytesTruncated"] > 30_000
    assert main(["recover", "--apply", "--from-start", str(root)]) == 0
    assert not (root / ".kafka_cleanshutdown").exists()


def test_a_root_whose_checkpoint_cannot_be_read(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "recovery-point-offset-checkpoint").write_bytes(b"nonsense")
    assert main(["recover", "--apply", str(root)]) == 0
    assert ": ignored" in capsys.readouterr().err


def test_recover_stops_where_a_broker_runs(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import subprocess
    import sys

    with locked(root):
        done = subprocess.run(
            [sys.executable, "-m", "kodec", "recover", "--apply", str(root)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "in use: a broker" in done.stderr
    # Nothing is reported as done that is not: no line of a change, and none of them counted.
    (ending,) = done.stdout.splitlines()
    assert re.search(r": 0 of \d+ changes done$", ending)


def test_reindex(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = root / "segments-0" / f"{207:020d}.log"
    before = contents(root)
    log.with_suffix(".index").unlink()
    assert main(["reindex", "--index-interval-bytes", "512", str(log)]) == 3
    assert not log.with_suffix(".index").exists()
    capsys.readouterr()
    assert main(["reindex", "--apply", "--json", "--index-interval-bytes", "512", str(log)]) == 0
    *steps, end = lines(capsys)
    assert [(Path(step["file"]).name, step["step"]) for step in steps] == [(f"{207:020d}.index", "write")]
    assert end["logsRead"] == 1 and end["changes"] == 1
    assert {path: data for path, data in contents(root).items() if path.name != ".lock"} == before


def test_reindex_of_a_directory_names_what_it_refuses(
    root: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert main(["reindex", "--apply", str(root)]) == 1
    told = capsys.readouterr()
    assert "recover it first" in told.err
    golden(told.err)
    assert "segments-0" in told.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["recover"],
        ["recover", "no-such-folder"],
        ["reindex", str(DATA / "MANIFEST.json")],
        ["reindex", "--index-interval-bytes", "-1", str(DATA)],
    ],
)
def test_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err


def test_damage_below_the_recovery_point_names_the_way_out(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["recover", "--apply", str(root)]) == 0
    (root / "recovery-point-offset-checkpoint").write_text("0\n1\nsegments 0 1000\n")
    damaged = root / "segments-0" / f"{0:020d}.log"
    data = bytearray(damaged.read_bytes())
    data[500] ^= 1
    damaged.write_bytes(data)
    capsys.readouterr()
    main(["recover", str(root / "segments-0")])
    assert "(--from-start reads all)" in capsys.readouterr().out
    plan = kodec.repair.plan_recovery(root / "segments-0", from_start=True)
    good = plan.good_after_cut
    assert good is not None and good.first_offset >= plan.end_offset
    assert main(["recover", "--from-start", str(root / "segments-0")]) == 3
    shown = capsys.readouterr()
    told = (
        f"{good.batches} good batches with {good.records} records follow the cut, and `kodec salvage` keeps"
    )
    assert told in shown.err and told in shown.out
    assert f"offsets {good.first_offset} to {good.last_offset}" in shown.err
    assert main(["salvage", str(root / "segments-0"), "--to", str(tmp_path / "out"), "--apply"]) == 1
    shown = capsys.readouterr()
    assert "CrcMismatch" in shown.err and "topic-partition" not in shown.out
    log = kodec.PartitionLog(tmp_path / "out" / "segments-0")
    kept = [each for each in log.batches(omissions=Omissions()) if each.base_offset >= plan.end_offset]
    assert (len(kept), sum(each.count for each in kept)) == (good.batches, good.records)
    assert sum(each.size for each in kept) == good.bytes and log.end_offset == good.last_offset + 1


def test_salvage_ends_with_the_total(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["salvage", str(root), "--to", str(root.parent / "out")]
    main([*arguments, "--json"])
    *parts, total = [each for each in lines(capsys) if "leftOut" not in each]
    assert total["partitions"] == len(parts) > 1
    for name in ("batches", "records", "bytes", "bytesMissing"):
        assert total[name] == sum(each[name] for each in parts)
    assert total["rangesMissing"] == sum(len(each["missing"]) for each in parts)
    main(arguments)
    ending = capsys.readouterr().out.splitlines()[-1]
    assert ending.startswith(f"{len(parts)} topic-partitions: {total['batches']} batches")
