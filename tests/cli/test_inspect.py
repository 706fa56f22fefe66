"""kodec ls, verify and dump as a user calls them: output, messages, exit codes; nothing is ever written."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.cli.main import main
from tests.data import ROOT
from tests.golden import Golden

DATA = ROOT / "tests/data/kafka-4.3.1"
LOGS = DATA / "logs"


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A directory with two partitions of the real one, to be damaged."""
    for name in ("segments-0", "transactions-0"):
        shutil.copytree(LOGS / name, tmp_path / "logs" / name)
    return tmp_path / "logs"


def test_ls_shows_every_partition(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", "--json", str(LOGS)]) == 0
    rows = {(row["topic"], row["partition"]): row for row in lines(capsys)}
    assert len(rows) == 28
    orders = rows["orders", 0]
    assert orders["segments"] == 2
    assert (orders["startOffset"], orders["endOffset"]) == (0, 421)
    assert orders["codecs"] == ["none", "gzip", "snappy", "lz4", "zstd"]
    assert orders["bytes"] == 16150 + 14548
    assert orders["lastTimestamp"] == 1700001795500
    assert rows["records-deleted", 0]["startOffset"] == 13
    assert rows["empty", 0]["firstTimestamp"] is None
    assert {row["health"] for row in rows.values()} == {"clean"}


def test_ls_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", str(LOGS), "--crc"]) == 0
    out = capsys.readouterr().out
    (row,) = [line for line in out.splitlines() if "idempotent" in line]
    cells = re.split("  +", row)
    assert cells[:5] == ["idempotent", "0", "1", "0", "84"]
    assert cells[5] == "2023-11-14 22:13:20"
    assert cells[-2:] == ["none gzip snappy", "clean"]


def test_ls_of_one_partition_and_of_a_crashed_one(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert main(["ls", "--json", str(DATA / "crashed/preallocated-0")]) == 0
    captured = capsys.readouterr()
    (row,) = [json.loads(line) for line in captured.out.splitlines()]
    assert (row["health"], row["endOffset"]) == ("torn", 60)
    golden(captured.err)


def test_ls_by_headers_and_by_checksums(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = copy / "transactions-0/00000000000000000000.log"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert main(["ls", "--json", str(copy)]) == 0
    assert [row["health"] for row in lines(capsys)] == ["clean", "clean"]
    assert main(["ls", "--json", "--crc", str(copy)]) == 1
    assert [row["health"] for row in lines(capsys)] == ["clean", "corrupt"]
    data[8] = 0x80
    file.write_bytes(data)
    assert main(["ls", "--json", str(copy)]) == 1
    assert [row["health"] for row in lines(capsys)] == ["clean", "corrupt"]


def test_ls_tells_of_what_is_not_listed(
    copy: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    (copy / f"old-0.{'0' * 32}-delete").mkdir()
    (copy / "segments-0/00000000000000000000.log.deleted").touch()
    assert main(["ls", str(copy)]) == 0
    err = capsys.readouterr().err
    golden(err)


def test_ls_of_what_cannot_be_read(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "log-start-offset-checkpoint").write_text("0\n1\nsegments 0\n")
    assert main(["ls", str(copy)]) == 1
    assert "line 3: fields: need 3" in capsys.readouterr().err
    assert main(["ls", str(copy / "gone")]) == 2
    shutil.copytree(copy / "segments-0", copy.parent / "other/segments-0")
    (copy / "log-start-offset-checkpoint").unlink()
    assert main(["ls", str(copy), str(copy.parent / "other")]) == 0


def test_verify_finds_nothing_in_a_broker_s_directory(
    capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert main(["verify", str(LOGS)]) == 0
    *notes, end = capsys.readouterr().out.splitlines()
    golden(end)
    assert all(line.startswith("note: ") and "in no segment" in line for line in notes)
    assert (
        main(["verify", "--json", str(LOGS / "orders-0"), str(LOGS / "orders-1/00000000000000000192.log")])
        == 0
    )
    assert lines(capsys) == [{"segments": 3, "bytes": 16150 + 14548 + 16360, "problems": 0}]


def test_verify_tells_of_a_torn_tail(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert main(["verify", str(DATA / "crashed")]) == 1
    first, last = capsys.readouterr().out.splitlines()
    golden(first)
    assert last.endswith("1 problem")


def test_verify_prints_a_line_for_each_problem_and_no_more(copy: Path) -> None:
    file = copy / "transactions-0/00000000000000000000.log"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    command = [sys.executable, "-m", "kodec", "verify", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == ""
    first, *_, last = done.stdout.splitlines()
    assert first.startswith(f"{file}: byte 67")
    assert "CrcMismatch" in first and "need 0x" in first and "have 0x" in first
    assert last.startswith("1 segment, 6.7 KiB: ")


SEGMENT = "segments-0/00000000000000000070"


def patched(at: int, data: bytes) -> Any:
    return lambda old: old[:at] + data + old[at + len(data) :]


@pytest.mark.parametrize(
    ("name", "change", "file", "byte", "what"),
    [
        (f"{SEGMENT}.log", patched(200, b"\xff\xff"), f"{SEGMENT}.log", None, "CrcMismatch"),
        (f"{SEGMENT}.log", patched(0, struct.pack(">q", 5)), f"{SEGMENT}.log", 0, "offsets ascend"),
        (f"{SEGMENT}.log", patched(0, struct.pack(">q", 2**40)), f"{SEGMENT}.log", 0, "last offset"),
        (f"{SEGMENT}.log", lambda old: old[:-1], f"{SEGMENT}.log", None, "torn tail"),
        (f"{SEGMENT}.index", patched(12, b"\0\0\0\1"), f"{SEGMENT}.index", 8, "ascend"),
        (f"{SEGMENT}.index", lambda old: old[:4] + b"\0\0\0\1" + old[8:], f"{SEGMENT}.index", 0, "position"),
        (f"{SEGMENT}.index", patched(3, b"\0"), f"{SEGMENT}.index", 0, "last offset"),
        (f"{SEGMENT}.index", lambda old: old + b"\0" * 16, f"{SEGMENT}.index", 104, "zeros at the end"),
        (f"{SEGMENT}.index", lambda old: old[:-3], f"{SEGMENT}.index", 96, "file size"),
        (f"{SEGMENT}.index", lambda old: old + b"\0\0\1\0\0\1\0\0", f"{SEGMENT}.index", 104, "position"),
        (f"{SEGMENT}.index", patched(4, b"\xff"), f"{SEGMENT}.index", 4, "ofs_batch"),
        (f"{SEGMENT}.timeindex", patched(7, b"\0"), f"{SEGMENT}.timeindex", 0, "largest timestamp"),
        (f"{SEGMENT}.timeindex", lambda old: b"", f"{SEGMENT}.timeindex", 0, "largest timestamp"),
        (f"{SEGMENT}.timeindex", patched(8, b"\1"), f"{SEGMENT}.timeindex", 0, "offset"),
        (f"{SEGMENT}.timeindex", lambda old: old * 2, f"{SEGMENT}.timeindex", 12, "ascend"),
        (f"{SEGMENT}.txnindex", patched(2, b"\1"), f"{SEGMENT}.txnindex", 0, "offset"),
        (f"{SEGMENT}.txnindex", patched(17, b"\x7f"), f"{SEGMENT}.txnindex", 0, "first offset"),
        (f"{SEGMENT}.txnindex", lambda old: b"", f"{SEGMENT}.txnindex", 0, "aborted at offset"),
        (f"{SEGMENT}.txnindex", lambda old: old[:20], f"{SEGMENT}.txnindex", 18, "Truncated"),
        (f"{SEGMENT}.txnindex", lambda old: old * 2, f"{SEGMENT}.txnindex", 34, "last offset"),
        (f"{SEGMENT}.snapshot", patched(3, b"\0"), f"{SEGMENT}.snapshot", 2, "CrcMismatch"),
        (
            "segments-0/leader-epoch-checkpoint",
            lambda old: b"1\n",
            "segments-0/leader-epoch-checkpoint",
            0,
            "line 1",
        ),
        (
            "segments-0/partition.metadata",
            lambda old: old[:-1],
            "segments-0/partition.metadata",
            11,
            "line 2",
        ),
    ],
)
def test_verify_tells_what_is_wrong(
    copy: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    change: Any,
    file: str,
    byte: int | None,
    what: str,
) -> None:
    old = (copy / name).read_bytes()
    new = change(old)
    assert new != old
    (copy / name).write_bytes(new)
    assert main(["verify", "--json", str(copy)]) == 1
    *problems, summary = lines(capsys)
    assert summary["problems"] == len(problems)
    found = [
        each
        for each in problems
        if each["file"] == str(copy / file) and what in each["what"] and byte in (None, each["byte"])
    ]
    assert found, problems
    assert set(found[0]) == {"file", "byte", "what", "need", "have", "note"}


@pytest.mark.parametrize(
    "name", [f"{SEGMENT}.index", f"{SEGMENT}.timeindex", f"{SEGMENT}.txnindex", f"{SEGMENT}.log"]
)
def test_verify_tells_of_a_file_that_is_missing(
    copy: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (copy / name).unlink()
    assert main(["verify", str(copy)]) == 1
    assert "00000000000000000070" in capsys.readouterr().out


def test_verify_holds_snapshots_against_the_log(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from kodec.generated.log.producer_snapshot import ProducerSnapshot

    file = copy / f"{SEGMENT}.snapshot"
    good = ProducerSnapshot.from_bytes(file.read_bytes())
    changes = {
        "last sequence": {"last_sequence": good.entries[0].last_sequence + 1},
        "first offset of its transaction": {"current_txn_first_offset": 69},
        "epoch": {"producer_epoch": -1},
        "last offset": {"last_offset": 70},
        "timestamp": {"timestamp": 5},
    }
    for what, change in changes.items():
        wrong = ProducerSnapshot.from_bytes(file.read_bytes())
        for name, value in change.items():
            setattr(wrong.entries[0], name, value)
        file.write_bytes(wrong.to_bytes())
        assert main(["verify", str(copy)]) == 1
        assert (
            f"{file}: byte 10: producer {good.entries[0].producer_id}: {what}: need"
            in capsys.readouterr().out
        )
        file.write_bytes(good.to_bytes())
    assert main(["verify", str(copy)]) == 0


def test_verify_of_something_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(LOGS / "meta.properties")]) == 2
    assert "not a segment" in capsys.readouterr().err
    assert main(["verify"]) == 2


@pytest.mark.parametrize("verb", ["ls", "verify", "recover", "reindex", "trim", "compact", "convert"])
def test_a_folder_without_logs_is_told(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = {
        "trim": ["--retention-ms", "1", "--topic", "orders"],
        "compact": ["--topic", "orders"],
        "convert": ["--to", str(tmp_path / "out"), "--magic", "1", "--topic", "orders"],
    }
    assert main([verb, str(tmp_path), *options.get(verb, [])]) == 2
    captured = capsys.readouterr()
    assert "neither a log directory" in captured.err
    assert captured.out == ""
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    if verb in ("ls", "verify", "recover", "reindex"):
        assert main([verb, str(tmp_path)]) == 0


TOPIC = ["--topic", "llvm"]
OTHERS = {
    "ls": [],
    "verify": [],
    "verify --engine local": ["--engine", "local"],
    "inventory": ["--engine", "local"],
    "recover": ["--apply"],
    "reindex": ["--apply"],
    "salvage": [*TOPIC, "--to", "OUT", "--apply"],
    "trim": [*TOPIC, "--retention-ms", "1", "--apply"],
    "compact": [*TOPIC, "--apply"],
    "convert": [*TOPIC, "--to", "OUT", "--magic", "1", "--apply"],
    "convert --engine local": [*TOPIC, "--to", "OUT", "--magic", "1", "--engine", "local"],
    "adopt": ["--into", "BROKER", "--apply"],
    "find": [*TOPIC, "--partition", "14", "--offset", "0"],
    "export": ["--to", "OUT", "--engine", "local"],
    "compact-view": [*TOPIC, "--to", "OUT"],
    "retention": [],
    "epochs": TOPIC,
    "producers": TOPIC,
    "offsets": [],
    "groups": [],
    "transactions": [],
    "metadata": [],
}


@pytest.mark.parametrize("at", ["lib", "lib/llvm-14"])
@pytest.mark.parametrize("verb", OTHERS)
def test_folders_of_other_programs_are_no_logs(
    verb: str, at: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    """`/usr/lib` has a folder `llvm-14`, which is named like that of a topic-partition."""
    (tmp_path / "lib" / "llvm-14" / "bin").mkdir(parents=True)
    (tmp_path / "lib" / "llvm-14" / "llvm.log").write_text("text")
    (tmp_path / "broker").mkdir()
    (tmp_path / "broker" / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    before = sorted(tmp_path.rglob("*"))
    places = {"OUT": str(tmp_path / "out"), "BROKER": str(tmp_path / "broker")}
    options = [places.get(each, each) for each in OTHERS[verb]]
    assert main([verb.partition(" ")[0], str(tmp_path / at), *options]) == 2
    captured = capsys.readouterr()
    golden(captured.err)
    assert captured.out == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_dump_of_a_folder_without_segments_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("hi\n")
    assert main(["dump", str(tmp_path)]) == 2
    assert "no segment in it" in capsys.readouterr().err
    assert main(["dump", "--json", "--batches", str(tmp_path), str(LOGS / f"{SEGMENT}.log")]) == 2
    captured = capsys.readouterr()
    assert captured.out
    assert "no segment in it" in captured.err


def test_nothing_is_written(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def state() -> dict[str, tuple[bytes, int]]:
        return {str(f): (f.read_bytes(), f.stat().st_mtime_ns) for f in copy.rglob("*") if f.is_file()}

    before = state()
    main(["ls", "--crc", str(copy)])
    main(["verify", str(copy)])
    main(["find", str(copy), "--topic", "segments", "--since", "0", "--isolation", "read_committed"])
    assert state() == before
    assert kodec.LogDirectory(copy).topic_partitions[0] == ("segments", 0)
