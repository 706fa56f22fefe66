"""The example programs of Kafka's schemas, by the commands of their page, print what our own reader reads."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import kodec
from kodec.handoff import make_kit, write_folder
from kodec.log.batches.batch import Batch
from tests.data import ROOT
from tests.handoff.expected import LOGS, rows
from tests.languages.compilers import is_here

pytestmark = pytest.mark.thorough

PAGE = ROOT / "schemas" / "examples" / "README.md"
# language -> ([compile], [run]), by the page's table
COMMANDS = {
    cells[1]: [re.findall(r"`(.*)`", cell) for cell in cells[3:5]]
    for cells in (re.split(r" *\| *", line) for line in PAGE.read_text().splitlines())
    if len(cells) == 6 and "FILE.log" in cells[4]
}
TOOLS = {
    "C": ["cmake", "cc"],
    "Go": ["go"],
    "Java": ["javac", "java"],
    "Python": [],
    "Rust": ["cargo"],
    "TypeScript": ["node", "npm"],
}
# Spark's jars that the program in Java needs: a search in all of them takes as long as the rest
CODECS = ("lz4-java", "snappy-java", "zstd-jni")


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("handoff") / "kit"
    schemas = out.parent / "schemas"
    for name in ("control", "examples", "log", "primitives"):
        shutil.copytree(ROOT / "schemas" / name, schemas / name)
    write_folder(make_kit(schemas), out)
    return out


def run(kit: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the page in the kit's folder; what is downloaded is kept in `.cache`."""
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "npm_config_cache": str(ROOT / ".cache" / "npm"),
        "npm_config_prefer_offline": "true",
    }
    return subprocess.run(command, shell=True, cwd=kit, env=env, capture_output=True, text=True, check=False)


def compiled(kit: Path, language: str) -> str:
    """Compile the program; the command that runs it."""
    if lacks := [each for each in TOOLS[language] if not is_here(each)]:
        pytest.skip(f"no {', '.join(lacks)} here")
    (kit / "build").mkdir(exist_ok=True)
    if language == "Java":
        spec = find_spec("pyspark")
        if spec is None or spec.origin is None:
            pytest.skip("no jars of codecs here")
        (kit / "lib").mkdir()
        for jar in [
            each for name in CODECS for each in Path(spec.origin).parent.glob(f"jars/{name}-[0-9]*.jar")
        ]:
            (kit / "lib" / jar.name).symlink_to(jar)
    if language == "Rust":
        (ROOT / ".cache" / "cargo").mkdir(parents=True, exist_ok=True)
        (kit / "build" / "rust").symlink_to(ROOT / ".cache" / "cargo")
    steps, (program,) = COMMANDS[language]
    for step in steps:
        done = run(kit, step)
        assert done.returncode == 0, (step, (done.stdout + done.stderr)[-4000:])
    return program


def lacks_zstd(kit: Path) -> bool:
    """Whether CMake has not found libzstd and its header, without which the library in C has no zstd."""
    found = re.findall(
        r"^ZSTD_(?:INCLUDE_DIR|LIBRARY):\w+=(.*)", (kit / "build/c/CMakeCache.txt").read_text(), re.M
    )
    assert len(found) == 2
    return any(each.endswith("-NOTFOUND") for each in found)


def zstd_batches(path: Path) -> list[Batch]:
    return [batch for batch in kodec.read_batches(path) if batch.codec == "zstd"]


def without_zstd(path: Path, folder: Path) -> Path:
    """The log, or one with all its entries but those of zstd."""
    batches = zstd_batches(path)
    if not batches:
        return path
    data = bytearray(path.read_bytes())
    for batch in reversed(batches):
        del data[batch.position : batch.position + batch.size]
    made = folder / f"{LOGS.index(path)}.log"
    made.write_bytes(data)
    return made


def assert_refuses_zstd(kit: Path, program: str, folder: Path) -> None:
    """It reads each log to its first entry of zstd, and says why no further."""
    packed = [(path, batches[0].position) for path in LOGS if (batches := zstd_batches(path))]
    assert packed
    before = folder / "before.log"
    for path, position in packed:
        before.write_bytes(path.read_bytes()[:position])
        done = run(kit, program.replace("FILE.log", shlex.quote(str(path))))
        assert done.returncode == 1
        assert [json.loads(line) for line in done.stdout.splitlines()] == rows(before)
        assert done.stderr.startswith(
            f"entry at byte {position}: body.records: unsupported: zstd: this build "
        )


def test_the_logs_have_what_a_reader_has_to_know() -> None:
    batches = [batch for path in LOGS for batch in kodec.read_batches(path)]
    of_old = ("none", "gzip", "snappy", "lz4")
    expected = {(magic, codec) for magic in range(3) for codec in of_old} | {(2, "zstd")}
    assert {(batch.magic, batch.codec) for batch in batches} >= expected
    assert any(batch.is_control for batch in batches)
    assert len({path.parts[-4] for path in LOGS if path.match("kafka-*/logs/*/*.log")}) == 6
    assert COMMANDS.keys() == TOOLS.keys()


@pytest.mark.parametrize("language", TOOLS)
def test_an_example_reads_real_logs_to_their_ends(kit: Path, language: str, tmp_path: Path) -> None:
    program = compiled(kit, language)
    # control records end it, so that there is a whole batch after the damage
    whole = next(path for path in LOGS if "kafka-4.3.1" in str(path) and "transactions-0" in str(path))
    logs = LOGS
    if language == "C" and lacks_zstd(kit):
        assert_refuses_zstd(kit, program, tmp_path)
        logs = [without_zstd(path, tmp_path) for path in LOGS]
        whole = logs[LOGS.index(whole)]
    data = whole.read_bytes()
    torn, wrong = tmp_path / "torn.log", tmp_path / "wrong.log"
    torn.write_bytes(data[:-3])
    last = 0
    while (end := last + 12 + int.from_bytes(data[last + 8 : last + 12], "big")) < len(data):
        last = end
    wrong.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    read = [torn, *logs]
    done = run(kit, program.replace("FILE.log", shlex.join(map(str, read))))
    assert done.returncode == 0, done.stderr[-4000:]
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        row for path in read for row in rows(path)
    ]
    assert done.stderr.startswith(f"torn tail: {len(data) - 3 - last} bytes at byte {last}")
    done = run(kit, program.replace("FILE.log", shlex.quote(str(wrong))))
    assert done.returncode == 1
    assert [json.loads(line) for line in done.stdout.splitlines()] == rows(torn)
    assert f"entry at byte {last}: " in done.stderr and re.search("checksum|crc", done.stderr)
    # an entry of a format that the schema does not have is no end of the log
    unknown = tmp_path / "unknown.log"
    unknown.write_bytes(torn.read_bytes()[:last] + data[last : last + 16] + b"\x03" + data[last + 17 :])
    done = run(kit, program.replace("FILE.log", shlex.quote(str(unknown))))
    assert done.returncode == 1
    assert [json.loads(line) for line in done.stdout.splitlines()] == rows(torn)
    assert f"entry at byte {last}: unknown magic 3" in done.stderr
