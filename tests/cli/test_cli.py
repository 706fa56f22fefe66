"""The kodec command as a user calls it: output, messages, exit codes."""

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.cli import output
from kodec.cli.main import main
from kodec.cli.output import time_of
from kodec.pipeline.files import COMPRESSIONS
from tests.data import DATA, LOGS, ROOT
from tests.golden import Golden

SAMPLES = sorted((DATA / "samples").glob("*.log"))


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kodec", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_dump_json_gives_exactly_the_expected_rows(sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", "--json", str(sample)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    expected = sample.with_name(sample.stem + ".expected.jsonl").read_text("utf-8").splitlines()
    assert rows == [json.loads(line) for line in expected]


def test_dump_text_shows_batches_and_records(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", str(LOGS / "orders-0/00000000000000000000.log")]) == 0
    out = capsys.readouterr().out
    assert "batch 0..9, at 0, 1295 bytes, magic 2, none, 10 records" in out
    assert '"customer-0" = \'{"order": 4' in out


def test_control_records_only_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    log = str(LOGS / "transactions-0/00000000000000000000.log")
    main(["dump", "--json", log])
    plain = capsys.readouterr().out.splitlines()
    main(["dump", "--json", "--control", log])
    everything = capsys.readouterr().out.splitlines()
    assert set(plain) < set(everything)
    main(["dump", "--control", log])
    text = capsys.readouterr().out
    assert "ABORT EndTxnMarker" in text
    assert "COMMIT EndTxnMarker" in text


def test_batches_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    log = LOGS / "transactions-0/00000000000000000000.log"
    main(["dump", "--json", "--batches", str(log)])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    batches = list(kodec.read_batches(log))
    assert [row["position"] for row in rows] == [batch.position for batch in batches]
    assert any(row["isControl"] for row in rows)
    assert all(row["crcOk"] for row in rows)


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex", ".snapshot"])
def test_dump_of_the_files_beside_a_log(suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = next(p for p in sorted(LOGS.glob(f"*/*{suffix}")) if p.stat().st_size)
    assert main(["dump", "--json", str(path)]) == 0
    assert all("kind" in json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert main(["dump", str(path)]) == 0
    assert str(path) in capsys.readouterr().out


def test_bad_bytes_exit_1_and_name_the_place(tmp_path: Path) -> None:
    data = bytearray((LOGS / "orders-0/00000000000000000000.log").read_bytes())
    data[2000] ^= 1
    bad = tmp_path / "00000000000000000000.log"
    bad.write_bytes(data)
    done = run("dump", "--json", str(bad))
    assert done.returncode == 1
    assert done.stderr.startswith("CrcMismatch: RecordBatch(base_offset=")
    assert f"of {bad}" in done.stderr
    assert "Traceback" not in done.stderr
    assert all(json.loads(line) for line in done.stdout.splitlines())

    skipped = run("dump", "--json", "--on-error", "skip", str(bad))
    assert skipped.returncode == 1
    assert "skipped bytes" in skipped.stderr
    assert len(skipped.stdout.splitlines()) > len(done.stdout.splitlines())

    unchecked = run("dump", "--no-crc", "--batches", str(bad))
    assert unchecked.returncode == 0
    assert "WRONG" in unchecked.stdout


def test_the_other_files_are_dumped_after_a_bad_one(tmp_path: Path) -> None:
    bad = tmp_path / "bad.log"
    bad.write_bytes(b"\x05" * 100)
    done = run("dump", "--json", str(bad), str(SAMPLES[0]))
    assert done.returncode == 1
    *records, account = map(json.loads, done.stdout.splitlines())
    assert len(records) == len(list(kodec.read_records(SAMPLES[0])))
    assert [each["path"] for each in account["leftOut"]] == [str(bad)]


def test_a_torn_tail_is_told_and_is_no_error(tmp_path: Path) -> None:
    torn = tmp_path / "torn.log"
    torn.write_bytes(SAMPLES[0].read_bytes()[:-3])
    done = run("dump", str(torn))
    assert done.returncode == 0
    assert "ends at byte" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["dump"],
        ["dump", "no-such-file"],
        ["frobnicate"],
        ["dump", "--no-such-option", "x"],
        ["export", "."],
        ["export", ".", "--to", "x", "--compression", "best"],
        ["compact-view", ".", "--to", "x", "--compression", "best"],
        ["restore", ".", "--to", "x", "--compression", "best"],
        ["convert", ".", "--to", "x", "--compression", "best"],
        ["generate", "--schemas", "no-such-folder", "--to", "x"],
        ["generate", "--tests", "x", "--schemas", ".", "--to", "y"],
    ],
    ids=" ".join,
)
def test_bad_usage_exits_2(arguments: list[str], tmp_path: Path) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_the_compressions_of_exports_are_those_of_the_job() -> None:
    done = run("export", "--help").stdout
    names = COMPRESSIONS["parquet"]
    for name in {each for codecs in COMPRESSIONS.values() for each in codecs}:
        assert name in done
    done = run("export", ".", "--to", "x", "--compression", "best").stderr
    assert ", ".join(names[:-1]) in " ".join(done.replace("│", " ").split())


def test_every_command_has_help_with_an_example_and_exit_codes() -> None:
    for command in ("generate", "dump", "export"):
        done = run(command, "--help")
        assert done.returncode == 0
        assert "example:" in done.stdout
        assert "exit:" in done.stdout


def test_version_and_help() -> None:
    assert run("--version").stdout == f"kodec {kodec.__version__}\n"
    assert run("--help").returncode == 0


def test_output_that_nobody_reads_any_more() -> None:
    script = f"{sys.executable} -m kodec dump {LOGS} | head -1"
    done = subprocess.run(["sh", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == ""


def test_generate_writes_then_has_nothing_to_do_then_notices_a_change(tmp_path: Path) -> None:
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    (schemas / "point.ksy").write_text(
        "meta:\n  id: point\n  endian: be\nseq:\n  - id: x\n    type: s4\n  - id: y\n    type: s4\n",
        encoding="utf-8",
    )
    arguments = ("generate", "--schemas", "schemas", "--to", "out")
    assert "new" in run(*arguments, cwd=tmp_path).stdout
    assert "no changes" in run(*arguments, cwd=tmp_path).stdout
    assert run(*arguments, "--check", cwd=tmp_path).returncode == 0
    module = tmp_path / "out" / "point.py"
    module.write_text(module.read_text("utf-8").replace("x: int = REQUIRED", "x: int = 1"), encoding="utf-8")
    done = run(*arguments, "--check", cwd=tmp_path)
    assert done.returncode == 1
    assert "-    x: int = 1" in done.stdout
    assert "+    x: int = REQUIRED" in done.stdout


def test_generate_reports_every_problem_and_writes_nothing(tmp_path: Path, golden: Golden) -> None:
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    (schemas / "bad.ksy").write_text(
        "meta:\n  id: bad\nseq:\n  - id: x\n    type: s4\n  - id: y\n    tipe: u1\n", encoding="utf-8"
    )
    done = run("generate", "--schemas", "schemas", "--to", "out", cwd=tmp_path)
    assert done.returncode == 1
    golden(done.stderr)
    assert "did you mean `type`" in done.stderr
    assert "nothing was written" in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_command_needs_no_library_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "rich.py").write_text("raise ModuleNotFoundError('no rich', name='rich')\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "kodec", "ls", LOGS], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_times_of_any_size_are_shown() -> None:
    assert time_of(-1) == "none"
    assert time_of(1_600_000_000_123) == "2020-09-13 12:26:40.123"
    assert time_of(2**63 - 1) == str(2**63 - 1)
    assert time_of(-62_135_596_800_001) == "-62135596800001"


def piped(*words: object, stdin: bytes = b"", **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "kodec", *map(str, words)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, **options)


LOG = LOGS / "orders-0/00000000000000000000.log"


def test_dump_of_a_pipe() -> None:
    done = piped("dump", "/dev/stdin", "--json", stdin=LOG.read_bytes())
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == piped("dump", LOG, "--json").stdout


def test_a_dash_is_standard_input(tmp_path: Path) -> None:
    data = LOG.read_bytes()
    for words in (["dump", "--json"], ["dump", "--batches"], ["explain"]):
        done = piped(*words, "-", stdin=data)
        assert done.returncode == 0, done.stderr
        there = piped(*words, LOG).stdout
        assert done.stdout.splitlines()[1:] == there.splitlines()[1:]  # the first may name the file
    table, schema = tmp_path / "rows.parquet", ROOT / "schemas/log/offset_index.ksy"
    for words in (["explain"], ["scan", "--rows", "entries", "--to", table]):
        done = piped(*words, "--schema", schema, "-", stdin=LOG.with_suffix(".index").read_bytes())
        assert done.returncode == 0, done.stderr
    assert table.exists()
    gone = piped("dump", tmp_path / "-")
    assert gone.returncode == 2 and b"does not" in gone.stderr


def test_a_reader_that_goes_away_is_no_error() -> None:
    shell = (
        f"{sys.executable} -m kodec dump --json {LOG} {LOG} {LOG} {LOG} | head -1; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[1:] == ["0"] and done.stderr == ""


def test_stdout_that_takes_nothing() -> None:
    # with many lines, the buffer is written while the log is read
    many = [LOG] * 8
    for words in (["ls", LOG.parent], ["dump", LOG], ["dump", *many], ["--help"], ["ls", "--help"]):
        with Path("/dev/full").open("wb") as full:
            command = [sys.executable, "-m", "kodec", *map(str, words)]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, "kodec: No space left on device\n")
        closed = f"{sys.executable} -m kodec {' '.join(map(str, words))} >&- 2>&-"
        assert subprocess.run(["sh", "-c", closed], check=False).returncode == 0


def test_a_terminal_of_another_alphabet() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    done = piped("dump", LOG, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\u6771\u4eac" in done.stdout


def test_control_records_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    folder = LOG.parent.parent / "transactions-0"
    assert main(["dump", "--json", "--control", str(folder)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    controls = [row for row in rows if "controlType" in row]
    assert {row["controlType"] for row in controls} == {"COMMIT", "ABORT"}
    assert controls[0]["controlData"] == {"version": 0, "coordinatorEpoch": 0}


def test_the_text_files_of_a_log_directory(capsys: pytest.CaptureFixture[str]) -> None:
    root = LOG.parent.parent
    state = "__cluster_metadata-0/quorum-state"
    names = ("meta.properties", "recovery-point-offset-checkpoint", "orders-0/partition.metadata", state)
    assert main(["dump", "--json", *(str(root / name) for name in names)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[0]["kind"] == "metaProperties" and rows[0]["node.id"] == "1"
    assert {row["kind"] for row in rows[1:-2]} == {"checkpoint"}
    assert set(rows[1]) == {"kind", "topic", "partition", "offset"}
    assert (rows[-2]["kind"], rows[-2]["version"]) == ("partitionMetadata", "0")
    assert (rows[-1]["kind"], rows[-1]["leaderId"], rows[-1]["leaderEpoch"]) == ("quorumState", 1, 2)


def test_zeros_ahead_in_an_index_are_told_and_not_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = next(LOG.parent.glob("*.index"))
    padded = tmp_path / index.name
    padded.write_bytes(index.read_bytes() + bytes(8 * 1000))
    assert main(["dump", "--json", str(index)]) == 0
    wanted = capsys.readouterr().out
    assert main(["dump", "--json", str(padded)]) == 0
    captured = capsys.readouterr()
    assert captured.out == wanted and "1000 entries of zeros" in captured.err
    assert '"relativeOffset"' in wanted


def test_nothing_that_a_terminal_acts_on_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "evil\x1b[2J-0" / LOG.name
    log.parent.mkdir()
    log.write_bytes(kodec.encode([kodec.Record(key=b"\x1b[31m", value=b"v", timestamp=1)]) + b"torn")
    for words in (["dump", log], ["verify", log], ["dump", log.parent]):
        main([str(word) for word in words])
        captured = capsys.readouterr()
        assert "\x1b" not in captured.out + captured.err
        assert r"\x1b[2J" in captured.out + captured.err


@pytest.mark.parametrize("char", ["a", "é", "日", "😀"])
def test_of_a_long_value_only_what_is_shown_is_decoded(char: str) -> None:
    width = output._WIDE
    for count in (width - 1, width, width + 1, 40 * width):
        data = (char * count).encode()
        ending = "" if count <= width else f"… ({len(data)} bytes)"
        assert output._shown(data).replace('"', "") == (char * count)[:width] + ending
    large = bytes(32 << 20)
    tracemalloc.start()
    try:
        output._shown(large)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
