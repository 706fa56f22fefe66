"""The example programs of Kafka's schemas print what our own reader reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.handoff import make_kit, write_folder

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
# one of each: codecs, wrappers of both old formats, control records, times of the append, zeros at the end
NAMES = ("codec-", "broker-", "append.time", "transactions", "preallocated", "wrapper", "compacted", "mixed")
LOGS = [
    path
    for folder in ("kafka-0.9.0.1", "kafka-0.10.2.2", "kafka-4.3.1")
    for path in sorted((DATA / folder).rglob("*.log"))
    if path.parent.name.startswith(NAMES)
]

# Spark's jars that Dump needs: a search in all of them takes as long as the rest
CODECS = ("lz4-java", "snappy-java", "zstd-jni")


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("handoff") / "kit"
    schemas = out.parent / "schemas"
    for name in ("control", "examples", "log", "primitives"):
        shutil.copytree(ROOT / "schemas" / name, schemas / name)
    write_folder(make_kit(schemas), out)
    return out


def go(kit: Path) -> list[str]:
    if shutil.which("go") is None:
        pytest.skip("no go here")
    code = kit / "code" / "go"
    shutil.copytree(kit / "examples" / "go", code / "dump")
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(ROOT / "tests" / "languages" / "go" / name, code / name)
    subprocess.run(["go", "mod", "edit", "-module", "kit/formats"], cwd=code, check=True)
    for step in (["go", "vet", "./dump"], ["go", "build", "-o", str(kit / "dump"), "./dump"]):
        done = subprocess.run(step, cwd=code, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return [str(kit / "dump")]


def java(kit: Path) -> list[str]:
    spec = find_spec("pyspark")
    if shutil.which("javac") is None or spec is None or spec.origin is None:
        pytest.skip("no javac here, or no jars of codecs")
    folder = Path(spec.origin).parent / "jars"
    jars = os.pathsep.join(str(jar) for name in CODECS for jar in folder.glob(f"{name}-[0-9]*.jar"))
    sources = [*(kit / "code" / "java").rglob("*.java"), *(kit / "examples" / "java").rglob("*.java")]
    classes = str(kit / "classes")
    command = ["javac", "--release", "17", "-cp", jars, "-d", classes, *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    # a short life: most of it is the start
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
    return ["java", *quick, "-cp", f"{classes}{os.pathsep}{jars}", "Dump"]


def python(kit: Path) -> list[str]:
    return [sys.executable, str(kit / "examples" / "python" / "dump.py")]


def expected(path: Path) -> list[dict[str, Any]]:
    def text(data: bytes | None) -> str | None:
        return None if data is None else bytes(data).hex()

    return [
        {
            "offset": record.offset,
            "timestamp": record.timestamp if batch.magic else None,
            "control": batch.is_control,
            "key": text(record.key),
            "value": text(record.value),
        }
        for batch in kodec.read_batches(path)
        for record in batch.records(control=True)
    ]


@pytest.mark.parametrize("build", [go, java, python])
def test_an_example_reads_real_logs_to_their_ends(
    kit: Path, build: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    program = build(kit)
    env = {**os.environ, "PYTHONPATH": str(kit / "code")}
    torn = tmp_path / "torn.log"
    whole = next(path for path in LOGS if "transactions-0" in str(path))
    torn.write_bytes(whole.read_bytes()[:-3])
    for path in [torn, *LOGS]:
        done = subprocess.run([*program, str(path)], capture_output=True, text=True, env=env, check=False)
        assert done.returncode == 0, (path, done.stderr)
        assert [json.loads(line) for line in done.stdout.splitlines()] == expected(path), path
        assert path != torn or "torn tail" in done.stderr
