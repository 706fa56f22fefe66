"""docs/changes-by-example.md shows changes from the first line to the last: here they are made, in a copy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import kodec
from kodec.pipeline.java import java_home
from kodec.runtime.errors import MissingDependency

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "changes-by-example.md"
# what a clone is generated, built and used from
PARTS = [
    "generated",
    "generator",
    "runtime",
    "schemas",
    "src",
]
FILES = ["LICENSE", "NOTICE", "README.md", "pyproject.toml", "setup.py"]
TESTS = ["conftest.py", "data.py", "fixtures.py", "golden.py", "generated", "runtime"]


def section(title: str) -> str:
    """The text of the page under a heading."""
    _, _, rest = PAGE.read_text("utf-8").partition(f"\n## {title}\n")
    assert rest, f"{PAGE.name} has no heading {title!r}"
    return rest.partition("\n## ")[0]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def edit(folder: Path, diff: str) -> str:
    """Make the change of one file that a block of the page shows, and give its path.

    Each hunk fits one place: a page that the code has moved away from fails here.
    """
    (old, new), *hunks = [
        text.splitlines(keepends=True) for text in re.split(r"^@@\n", diff, flags=re.MULTILINE)
    ]
    name = new.removeprefix("+++ b/").strip()
    text = "" if "/dev/null" in old else (folder / name).read_text("utf-8")
    for lines in hunks:
        before, after = ("".join(line[1:] for line in lines if line[0] in sides) for sides in (" -", " +"))
        assert text.count(before) == 1, f"{name}: the page shows what is missing, or not once:\n{before}"
        text = text.replace(before, after)
    (folder / name).write_text(text, "utf-8")
    return name


class Copy:
    """A copy of the repository, without what was built in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.edited: dict[str, list[str]] = {}
        built = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
        for name in PARTS:
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=built)
        for name in FILES:
            shutil.copy(ROOT / name, folder)
        (folder / "tests").mkdir()
        for name in TESTS:
            copy = shutil.copytree if (ROOT / "tests" / name).is_dir() else shutil.copy
            copy(ROOT / "tests" / name, folder / "tests" / name)

    def change(self, title: str) -> list[str]:
        """Make the changes that a section of the page shows; the paths of what was edited."""
        edited = [edit(self.folder, diff) for diff in blocks(section(title), "diff")]
        python = [name for name in edited if name.endswith(".py")]
        if python:
            self.run("-m", "ruff", "check", "--quiet", *python)
            self.run("-m", "ruff", "format", "--check", "--quiet", *python)
        return edited

    def run(self, *arguments: str | Path, **env: str) -> str:
        """Run Python in the copy, where kodec is that of the copy."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder / "src"), **env},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def build(self) -> None:
        """Build the kernels, quickly rather than well."""
        compiler = self.folder / "cc"
        compiler.write_text(
            f'#!/bin/sh\nexec {os.environ.get("CC") or sysconfig.get_config_var("CC")} "$@" -O0\n'
        )
        compiler.chmod(0o755)
        self.run("setup.py", "--quiet", "build_ext", "--inplace", CC=str(compiler), KODEC_NATIVE="require")


BATCH = "A newer record batch"
FIELD = "A field in a new version of a message"
COLUMN = "A Spark column from a batch header"
CODEC = "A new compression codec"
LOGS = ROOT / "tests" / "data" / "kafka-4.3.1" / "logs"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """One copy with every change of the page, since kernels take long to build."""
    made = Copy(tmp_path_factory.mktemp("copy"))
    made.edited = {title: made.change(title) for title in (BATCH, FIELD, COLUMN, CODEC)}
    made.run("-m", "kodec", "generate")
    if kodec.backend() == "native":
        made.build()
    return made


each_backend = pytest.mark.parametrize("pure", ["0", "1"] if kodec.backend() == "native" else ["1"])


@pytest.mark.thorough
def test_a_newer_record_batch_costs_its_schema(copy: Copy) -> None:
    assert copy.edited[BATCH] == ["schemas/log/record_batch.ksy", "schemas/log/log_segment.ksy"]


@pytest.mark.thorough
def test_a_spark_column_costs_an_entry_in_a_schema_and_one_in_a_list(copy: Copy) -> None:
    assert copy.edited[COLUMN] == ["schemas/log/record.ksy", "src/kodec/pipeline/columns.py"]


@pytest.mark.thorough
def test_a_codec_costs_a_schema_entry_a_file_and_a_dependency(copy: Copy) -> None:
    names = ["schemas/log/record_batch.ksy", "runtime/compression/brotli.py", "pyproject.toml"]
    assert copy.edited[CODEC] == names
    assert "brotli" in copy.run("-m", "kodec", "convert", "--help")
    # the tests that each codec has to pass, and those that were made of the schema
    tests = ["tests/runtime/test_compression.py", "tests/generated/test_log_record_batch.py"]
    said = copy.run("-m", "pytest", "--quiet", *tests, "-k", "brotli or names or record_batch", COLUMNS="80")
    assert " passed" in said and "skipped" not in said


@pytest.mark.thorough
def test_a_version_costs_what_its_schema_says(copy: Copy) -> None:
    assert copy.edited[FIELD] == ["schemas/messages/offset_commit_value.ksy"]
    changed = copy.edited[FIELD][0]
    assert copy.run("-m", "kodec", "check-evolution", ROOT / changed, changed).startswith("compatible")
    said = copy.run("-m", "pytest", "--quiet", "tests/generated/test_messages_offset_commit_value.py")
    assert " passed" in said and "skipped" not in said
    # those that somebody wrote, and the bytes that Kafka made of the versions that it has
    written = [
        ROOT / "tests" / name for name in ("labs/messages/test_messages.py", "log/messages/test_decoding.py")
    ]
    # kodec of the copy, and the tests of this clone
    places = os.pathsep.join((str(copy.folder / "src"), str(ROOT)))
    arguments = "-P", "-m", "pytest", "--quiet", *written, "-k", "offset_commit or decod"
    assert " passed" in copy.run(*arguments, PYTHONPATH=places)


def use(copy: Copy, program: str, pure: str) -> None:
    """Run a block of the page in the copy, with the logs that there are."""
    check = f"import kodec\nassert kodec.backend() == {'pure' if pure == '1' else 'native'!r}\n"
    copy.run("-c", program.replace("tests/data/kafka-4.3.1/logs", LOGS.as_posix()) + check, KODEC_PURE=pure)


@each_backend
@pytest.mark.parametrize("title", [BATCH, FIELD, COLUMN, CODEC])
def test_the_page_says_how_it_is_used(copy: Copy, title: str, pure: str) -> None:
    use(copy, blocks(section(title), "py")[0], pure)


@pytest.mark.thorough
def test_spark_shows_the_column(copy: Copy) -> None:
    try:
        java_home()
    except MissingDependency as error:
        pytest.skip(str(error))
    _, program = blocks(section(COLUMN), "py")
    use(copy, program, "0" if kodec.backend() == "native" else "1")
