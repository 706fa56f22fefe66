"""The language server in Neovim and Emacs, set up as docs/schema-editors.md has it, with two schemas."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.data import ROOT

GALLERY = ROOT / ".cache/foreign/kaitai_struct_formats"
LUA = Path(__file__).with_name("neovim.lua")
LISP = Path(__file__).with_name("emacs.el")
PAGE = (ROOT / "docs/schema-editors.md").read_text("utf-8")
SETTINGS = re.findall(r"```lua\n(.*?)```", PAGE.partition("## VS Code")[0], re.DOTALL)
EMACS_SETTINGS = re.findall(r"```elisp\n(.*?)```", PAGE, re.DOTALL)
CASES: dict[str, tuple[Path, dict[str, Any]]] = {
    "ours": (
        ROOT / "tests/generator/formats/sensor_log.ksy",
        {
            "mistake": ["type: station", "type: stetion"],
            "hover": "repeat: eos",
            "completion": [
                {"after": "seq:", "line": "  - {id: x, type: s"},
                {"after": "seq:", "line": "  - {id: x, re"},
            ],
            "rename": ["name", "title_of_it"],
            "definition": "type: |block",
        },
    ),
    "gallery": (
        GALLERY / "image/png.ksy",
        {
            "mistake": ["type: ihdr_chunk", "type: ihdr_chonk"],
            "hover": "enum: color_type",
            "completion": [
                {"after": "id: bit_depth", "line": "      - {id: x, type: ihdr"},
                {"after": "id: bit_depth", "line": "      - {id: x, re"},
            ],
            "rename": ["ihdr_chunk", "header_chunk"],
            "definition": "type: |ihdr_chunk",
        },
    ),
}


def version() -> tuple[int, ...]:
    """That of Neovim; empty without it."""
    program = shutil.which("nvim")
    if program is None:
        return ()
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=True)
    return tuple(map(int, re.findall(r"\d+", done.stdout.partition("\n")[0])))[:2]


def settings() -> list[Any]:
    """What the page has for this Neovim: first for 0.11, then for older ones, which it takes as well."""
    return [
        pytest.param(
            text, id=name, marks=pytest.mark.skipif(version() < least, reason=f"needs Neovim {least}")
        )
        for text, name, least in zip(SETTINGS, ("configured", "started"), ((0, 11), (0, 8)), strict=True)
    ]


def has_emacs() -> bool:
    """Whether Emacs is here, with the packages that the page needs."""
    program = shutil.which("emacs")
    needed = "(progn (package-initialize) (require 'eglot) (require 'yaml-mode))"
    command = [program or "", "--batch", "--eval", needed]
    return program is not None and not subprocess.run(command, capture_output=True, check=False).returncode


def result_of(name: str, folder: Path, command: Callable[[Path], list[object]]) -> dict[str, Any]:
    """What an editor finds in a copy of a schema, by what its script writes."""
    file, wanted = CASES[name]
    if not file.is_file():
        pytest.skip("the gallery is not here: `make edits` fetches it")
    root = file.parents[0 if name == "ours" else 1]
    shutil.copytree(root, folder / "schemas", ignore=shutil.ignore_patterns("_build", ".git"))
    (folder / "wanted.json").write_text(json.dumps(wanted))
    done = subprocess.run(
        list(map(str, command(folder / "schemas" / file.relative_to(root)))),
        cwd=folder / "schemas",
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder),
            "KODEC_WANTED": str(folder / "wanted.json"),
            "KODEC_FOUND": str(folder / "found.json"),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found: dict[str, Any] = json.loads((folder / "found.json").read_text())
    assert "error" not in found, (found, done.stderr)
    return found


def compare(name: str, found: dict[str, Any]) -> None:
    """See that an editor found what is there."""
    file, wanted = CASES[name]
    text = file.read_text("utf-8").split("\n")[:-1]
    mistake, kind = wanted["mistake"][1], wanted["mistake"][1].removeprefix("type: ")
    assert found["diagnostic"]["line"].strip() == mistake
    assert f"unknown type `{kind}` (did you mean" in found["diagnostic"]["message"]
    types, keys = ({each.rstrip(": ") for each in labels} for labels in found["completion"])
    assert types >= {"str", "strz", "station"} if name == "ours" else types >= {"ihdr_chunk"}
    assert keys >= {"repeat", "repeat-expr"} and "repeat" not in types and "seq" not in keys
    old, new = wanted["rename"]
    changed = [(a, b) for a, b in zip(text, found["renamed"], strict=True) if a != b]
    assert all(re.sub(rf"\b{old}\b", new, a) == b for a, b in changed)
    assert len(changed) == 2, changed
    if name == "ours":
        assert "list" in found["hover"], found["hover"]
        assert found["definition"]["line"].strip() == "block:"
    else:
        assert found["definition"]["line"].strip() == "ihdr_chunk:"
        assert "enum" in found["hover"].lower(), found["hover"]


@pytest.mark.skipif(version() < (0, 8), reason="Neovim 0.8 or newer is not installed (Debian's neovim)")
@pytest.mark.parametrize("setting", settings())
@pytest.mark.parametrize("name", CASES)
def test_neovim(name: str, setting: str, tmp_path: Path) -> None:
    (init := tmp_path / "init.lua").write_text(setting)
    found = result_of(
        name,
        tmp_path,
        lambda file: ["nvim", "--headless", "--clean", "-u", init, file, "-c", f"luafile {LUA}"],
    )
    compare(name, found)


@pytest.mark.skipif(
    not has_emacs(),
    reason="Emacs, eglot and yaml-mode are not installed (Debian's emacs-nox, elpa-eglot and elpa-yaml-mode)",
)
@pytest.mark.parametrize("name", CASES)
def test_emacs(name: str, tmp_path: Path) -> None:
    (init := tmp_path / "init.el").write_text(
        "(package-initialize)\n(require 'yaml-mode)\n" + EMACS_SETTINGS[0]
    )
    found = result_of(name, tmp_path, lambda file: ["emacs", "--batch", "-l", init, "-l", LISP, file])
    compare(name, found)
    used = CASES[name][1]["definition"].replace("|", "")
    assert {each.strip() for each in found["references"]} == {used, used.removeprefix("type: ") + ":"}
