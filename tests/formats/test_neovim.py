"""The language server in Neovim, set up as docs/editors.md says, with schemas of ours and of the gallery."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / ".cache/foreign/kaitai_struct_formats"
LUA = Path(__file__).with_name("neovim.lua")
PAGE = (ROOT / "docs/editors.md").read_text("utf-8")
SETTINGS = re.findall(r"```lua\n(.*?)```", PAGE.partition("## VS Code")[0], re.DOTALL)
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
            "definition": "type: \\zsblock",
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
            "definition": "type: \\zsihdr_chunk",
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


@pytest.mark.skipif(version() < (0, 8), reason="Neovim 0.8 or newer is not installed (Debian's neovim)")
@pytest.mark.parametrize("setting", settings())
@pytest.mark.parametrize("name", CASES)
def test_an_editor(name: str, setting: str, tmp_path: Path) -> None:
    file, wanted = CASES[name]
    if not file.is_file():
        pytest.skip("the gallery is not here: `make edits` fetches it")
    folder = tmp_path / "schemas"
    root = file.parents[0 if name == "ours" else 1]
    shutil.copytree(root, folder, ignore=shutil.ignore_patterns("_build", ".git"))
    place = folder / file.relative_to(root)
    (tmp_path / "init.lua").write_text(setting)
    (tmp_path / "wanted.json").write_text(json.dumps(wanted))
    done = subprocess.run(
        ["nvim", "--headless", "--clean", "-u", tmp_path / "init.lua", place, "-c", f"luafile {LUA}"],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "XDG_STATE_HOME": str(tmp_path),
            "KODEC_WANTED": str(tmp_path / "wanted.json"),
            "KODEC_FOUND": str(tmp_path / "found.json"),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = json.loads((tmp_path / "found.json").read_text())
    assert "error" not in found, (found, done.stderr)
    text = file.read_text("utf-8").split("\n")[:-1]
    mistake, kind = wanted["mistake"][1], wanted["mistake"][1].removeprefix("type: ")
    assert found["diagnostic"]["line"].strip() == mistake
    assert f"unknown type `{kind}` (did you mean" in found["diagnostic"]["message"]
    types, keys = map(set, found["completion"])
    assert types >= {"u4", "strz", "station" if name == "ours" else "ihdr_chunk"} and "repeat" not in types
    assert keys >= {"repeat", "repeat-expr", "size"} and "seq" not in keys
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
