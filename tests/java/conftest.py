"""The Java classes, compiled once, and one JVM that answers all questions of a test run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from kodec.generator.driver import render_all

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
Ask = Callable[[Sequence[Sequence[str]]], list[dict[str, Any]]]


def jars() -> str:
    """The class path of Spark's jars, the codecs' among them."""
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    return str(Path(spec.origin).parent / "jars" / "*")


def sources(*folders: Path) -> list[str]:
    return [str(path) for folder in folders for path in sorted(folder.rglob("*.java"))]


@pytest.fixture(scope="session")
def javac() -> str:
    found = shutil.which("javac")
    if found is None:
        pytest.skip("no JDK is here: there is no javac")
    return found


@pytest.fixture(scope="session")
def classes(javac: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All Java of the project, and classes of schemas that are not Kafka's, without a warning."""
    out = tmp_path_factory.mktemp("classes")
    made = tmp_path_factory.mktemp("java")
    formats = render_all(
        ROOT / "tests" / "generator" / "formats", targets=["java"], options={"package": "formats"}
    )
    hostile = render_all(HERE / "hostile", targets=["java"], options={"package": "hostile"})
    for name, text in (formats.modules | hostile.modules).items():
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    files = sources(
        ROOT / "runtime" / "java",
        ROOT / "generated" / "java",
        ROOT / "src" / "kodec" / "pipeline" / "jvm",
        made,
        HERE,
    )
    # `path` and `classfile` are about jars that are not ours
    options = [
        "--release",
        "17",
        "-Xlint:all,-path,-classfile",
        "-Werror",
        "-proc:none",
        "-encoding",
        "UTF-8",
    ]
    done = subprocess.run(
        [javac, *options, "-cp", jars(), "-d", out, *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="session")
def ask(classes: Path) -> Iterator[Ask]:
    """A function from questions to answers; see Dump.java."""
    java = shutil.which("java")
    assert java is not None
    command = [
        java,
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-cp",
        f"{classes}{os.pathsep}{jars()}",
        "Dump",
    ]

    def answers(questions: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        lines = "".join(f"{' '.join(words)}\n" for words in questions)
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(found) == len(questions)
        return found

    yield answers
