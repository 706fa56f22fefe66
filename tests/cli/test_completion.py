"""Completion: what fits, for each shell, and the scripts that ask for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kodec.cli.commands import VERBS
from kodec.cli.main import main
from tests.golden import Golden

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def asked(*words: str, shell: str = "bash") -> list[str]:
        monkeypatch.setenv("_KODEC_COMPLETE", shell)
        assert main([*words]) == 0
        return capsys.readouterr().out.splitlines()

    return asked


def test_verbs(complete) -> None:
    assert complete("re") == ["report", "retention", "recover", "reindex", "redact", "rebuild", "restore"]
    assert complete("") == complete() == list(VERBS)
    assert complete("--v") == ["--version"]
    assert complete("nothing", "--co") == [] == complete("--version", "")


def test_options_and_their_values(complete) -> None:
    assert complete("ls", "--co") == ["--columns"]
    assert complete("find", "logs", "--isolation", "read_c") == ["read_committed"]
    assert complete("find", "--isolation=read_c") == ["--isolation=read_committed"]
    assert complete("convert", "--compression", "z") == ["zstd"]
    assert complete("find", "--topic", "") == [] == complete("ls", "") == complete("ls", "--", "--c")


def test_each_shell_gets_what_it_shows(complete, golden: Golden) -> None:
    golden(complete("ls", "--cr", shell="zsh"))
    golden(complete("ls", "--cr", shell="fish"))


@pytest.mark.parametrize("shell", SHELLS)
def test_it_is_installed_once(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    monkeypatch.delenv("_KODEC_COMPLETE", raising=False)
    settings = tmp_path / f".{shell}rc"
    settings.write_text("# mine", encoding="utf-8")
    assert main(["--show-completion"]) == 0
    script = capsys.readouterr().out
    assert main(["--install-completion"]) == 0
    first = settings.read_text("utf-8")
    assert first.startswith("# mine") and (len(first.splitlines()) == 2) is (shell != "fish")
    assert main(["--install-completion", shell]) == 0
    assert settings.read_text("utf-8") == first
    written = [path.read_text("utf-8") for path in tmp_path.rglob("*kodec*") if path.is_file()]
    assert written == [script]


def test_a_shell_that_nobody_knows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert main(["--install-completion"]) == 2 == main(["--show-completion", "csh"])
    golden(capsys.readouterr().err)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_asks(golden: Golden) -> None:
    script = f"""
        export PATH="{Path(sys.executable).parent}:$PATH"
        source <(kodec --show-completion bash)
        ask() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kodec kodec; echo "${{COMPREPLY[*]}}"; }}
        ask kodec ver
        ask kodec find "a folder" --isolation read_u
        ask kodec ls "a f"
        complete -p kodec
    """
    env = {name: value for name, value in os.environ.items() if name != "_KODEC_COMPLETE"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env, check=True)
    golden(done.stdout.splitlines())
