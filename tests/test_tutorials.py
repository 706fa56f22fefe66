"""The tutorials are followed from first to last, each in an empty folder, and print what they show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TUTORIALS = sorted((ROOT / "docs").glob("tutorial-*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# 1: `verify` on damaged logs; 3: a dry run that has something to show
FINE = {
    "kodec verify disk": (0, 1),
    "kodec recover disk": (3,),
    "kodec rebuild --from disk --to broker --hold-retention": (3,),
}


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    scripts = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": scripts + os.pathsep + os.environ["PATH"], "COLUMNS": "160"}
    environment.pop("PYTHONPATH", None)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def follow_console(folder: Path, text: str) -> None:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        done = run(folder, "sh", "-c", command)
        assert done.returncode in FINE.get(command, (0,)), f"{command}\n{done.stdout}{done.stderr}"
        said = (done.stdout + done.stderr).splitlines()
        for line in shown:
            assert line in said or any(each.startswith(line) for each in said), (
                f"{command} has no line: {line}"
            )


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_works(page: Path, tmp_path: Path) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    program = ""
    for kind, text in BLOCK.findall(page.read_text("utf-8")):
        if kind == "console":
            follow_console(tmp_path, text)
        elif kind == "yaml":
            path = tmp_path / text.partition("\n")[0].removeprefix("# ")
            path.parent.mkdir()
            path.write_text(text, encoding="utf-8")
        elif kind == "python":
            # what a block before has imported or made is there
            program += text
            done = run(tmp_path, sys.executable, "-c", program)
            assert done.returncode == 0, done.stderr
        else:
            assert kind == "sh" and text.startswith("pip install "), f"nothing follows {kind}: {text}"
