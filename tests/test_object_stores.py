"""The commands and the Python of docs/object-stores.md work, with a server that has the committed logs."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from tests.log.stores import Server
from tests.test_docs import ROOT, blocks, environment

PAGE = ROOT / "docs" / "object-stores.md"
COMMANDS = [line.removeprefix("$ ") for text in blocks(PAGE, "console") for line in text.splitlines()]


@pytest.fixture(autouse=True)
def objects_of_the_store(server: Server) -> None:
    server.upload(ROOT / "tests" / "data" / "kafka-4.3.1" / "logs", "kafka")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("server")
def test_a_command(command: str) -> None:
    verb, *words = shlex.split(command)
    assert verb == "kodec"
    _run([sys.executable, "-m", "kodec", *words])


@pytest.mark.usefixtures("server")
def test_python() -> None:
    _run([sys.executable, "-c", "\n".join(blocks(PAGE, "python"))])


def _run(words: list[str]) -> None:
    done = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout, done.stderr[-3000:]
