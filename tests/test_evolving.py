"""docs/evolving.md leads through versions of a message: here it is followed, in an empty folder."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kodec.cli.main import main
from tests.data import ROOT

PAGE = ROOT / "docs/evolving.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
FILES = {"yaml": "formats/reading.ksy", "toml": "pyproject.toml"}
WRONG = (
    "  - id: humidity\n    type: u1\n    if: version >= 1\n",
    "  - id: humidity\n    type: u1\n",
)


def python(folder: Path, *words: str) -> str:
    """Run Python in the folder, as somebody who has installed kodec."""
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def tool(folder: Path, *words: str, code: int = 0) -> str:
    """Run `kodec` in the folder; without a process of its own, which would take most of the time."""
    said = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        assert main(list(words)) == code, said.getvalue()
    return said.getvalue()


def edit(folder: Path, diff: str) -> None:
    """Make the change that a block shows; each hunk fits one place."""
    head, *hunks = [text.splitlines(keepends=True) for text in re.split(r"^@@\n", diff, flags=re.MULTILINE)]
    path = folder / head[1].removeprefix("+++ b/").strip()
    text = path.read_text("utf-8")
    for lines in hunks:
        before, after = ("".join(line[1:] for line in lines if line[0] in sides) for sides in (" -", " +"))
        assert text.count(before) == 1, f"the page shows what is missing, or not once:\n{before}"
        text = text.replace(before, after)
    path.write_text(text, "utf-8")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """What each command of the page says, in their order, with the programs of the page run in between."""
    folder = tmp_path_factory.mktemp("station")
    found = []
    for kind, text in BLOCKS:
        if kind in FILES:
            (folder / FILES[kind]).parent.mkdir(exist_ok=True)
            (folder / FILES[kind]).write_text(text, "utf-8")
        elif kind == "diff":
            edit(folder, text)
        elif kind == "py":
            python(folder, "-c", text)
        elif kind == "console":
            for line in text.splitlines():
                program, *words = shlex.split(line)
                if program == "cp":
                    subprocess.run([program, *words], cwd=folder, check=True)
                    continue
                assert program in ("kodec", "python")
                found.append((line, (tool if program == "kodec" else python)(folder, *words)))
        else:
            assert kind == "sh", f"nothing runs a block of {kind}"
    schema = folder / "formats" / "reading.ksy"
    text = schema.read_text("utf-8")
    assert WRONG[0] in text
    schema.write_text(text.replace(*WRONG), "utf-8")
    found.append(("wrong", tool(folder, "check-evolution", "released", "formats", code=1)))
    return found


def test_the_page_can_be_followed(said: list[tuple[str, str]]) -> None:
    assert sum(" passed" in text for _, text in said) == 3
    assert all("compatible" in text for line, text in said if "check-evolution" in line)
    assert all("test_reading.py" in text for line, text in said if line == "kodec generate")


def test_the_page_says_what_a_wrong_change_is_told(said: list[tuple[str, str]]) -> None:
    shown = re.search(r"^    (\S+:\d+:\d+: .*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert shown is not None
    place = re.compile(r":\d+:\d+:")
    (_, text) = said[-1]
    assert place.sub(":", shown[1]) in place.sub(":", text)
