"""A newer record batch is its schema: a copy of the tree is edited, generated and built, every door asked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import kodec
from tests.data import ROOT
from tests.golden import Golden

BATCH, SEGMENT = "schemas/log/record_batch.ksy", "schemas/log/log_segment.ksy"
FLAG = (
    "      - id: reserved\n        type: b9\n",
    "      - id: reserved\n        type: b8\n",
    "        doc: Not used.\n      - id: has_delete_horizon\n",
    "        doc: Not used.\n      - id: is_mirrored\n        type: b1\n        -default: false\n"
    "      - id: has_delete_horizon\n",
)


@dataclass(frozen=True)
class Edit:
    """A change of the schema of record batches.

    Attributes:
        valid: of the magic.
        magics: all those of a list of records, with 2.
        added: the fields: name, type, condition, the field before which it stands, the magics that have it,
            and its code in `struct`.
        size: of the records.
        replaced: further texts, each followed by what replaces it.
        flag: the bit of the attributes that is set in newer magics.
    """

    valid: str
    magics: tuple[int, ...]
    added: tuple[tuple[str, str, str, str, tuple[int, ...], str], ...]
    size: str
    replaced: tuple[str, ...] = ()
    flag: int = 0

    def apply(self, root: Path) -> None:
        """Edit the schemas of a tree."""
        path = root / BATCH
        text = path.read_text()
        pairs = [("    valid: 2\n", f"    valid: {self.valid}\n"), ("len_batch - 49", self.size)]
        pairs += zip(self.replaced[::2], self.replaced[1::2], strict=True)
        for name, kind, condition, before, _, _ in self.added:
            there = f"  - id: {before}\n"
            new = f"  - id: {name}\n    type: {kind}\n    if: {condition}\n    -default: 0\n"
            pairs.append((there, new + there))
        for old, new in pairs:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        path.write_text(text)
        path = root / SEGMENT
        text = path.read_text()
        cases = "".join(f"            {magic}: record_batch\n" for magic in self.magics)
        path.write_text(text.replace("            2: record_batch\n", cases))


EDITS = {
    "a field": Edit(
        "{any-of: [2, 3]}",
        (2, 3),
        (("trace_id", "s8", "magic >= 3", "base_sequence", (3,), "q"),),
        "'len_batch - (magic >= 3 ? 57 : 49)'",
    ),
    "two fields, two magics and a flag": Edit(
        "{any-of: [2, 3, 4]}",
        (2, 3, 4),
        (
            ("trace_id", "s8", "magic >= 3", "base_sequence", (3, 4), "q"),
            ("region", "u2", "magic == 4", "last_offset_delta", (4,), "H"),
        ),
        "'len_batch - (magic == 4 ? 59 : magic == 3 ? 57 : 49)'",
        FLAG,
        0x80,
    ),
    "fields at both ends": Edit(
        "{min: 2, max: 3}",
        (2, 3),
        (
            ("shard", "u4", "magic == 3", "crc", (3,), "I"),
            ("checked_at", "s4", "magic == 3", "records", (3,), "i"),
        ),
        "'magic == 3 ? len_batch - 57 : len_batch - 49'",
    ),
    "a field with another name": Edit(
        "{any-of: [2, 3]}",
        (2, 3),
        (("trace_id", "s8", "magic > 2", "first_sequence", (3,), "q"),),
        "'len_batch - (magic > 2 ? 57 : 49)'",
        (
            "  base_sequence: base_sequence\n",
            "  base_sequence: first_sequence\n",
            "  - id: base_sequence\n",
            "  - id: first_sequence\n",
            "  transactional: attributes.is_transactional\n",
            "  transactional: attributes.in_transaction\n",
            "      - id: is_transactional\n",
            "      - id: in_transaction\n",
        ),
    ),
    "a flag": Edit("2", (2,), (), "len_batch - 49", FLAG),
}
LINKED = ("schemas", "generator", "runtime", "generated")


def copy(tmp: Path, edit: Callable[[Path], None]) -> Path:
    """A copy of the tree with the edited schema, generated."""
    root = tmp / "tree"
    kept = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "src", "tests/log", "tests/__init__.py")
    for name in (*LINKED, *kept):
        if (ROOT / name).is_dir():
            skipped = shutil.ignore_patterns("__pycache__", "*.jar", "data")
            shutil.copytree(ROOT / name, root / name, symlinks=True, ignore=skipped)
        elif (ROOT / name).exists():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
    (root / "tests" / "generated").mkdir(parents=True)
    edit(root)
    run(root, "-m", "kodec", "generate")
    return root


def run(root: Path, *words: str, pure: bool = True) -> str:
    """Run Python in the copy."""
    environment = os.environ | {
        "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}",
        "KODEC_PURE": str(int(pure)),
    }
    environment |= {} if pure else {"KODEC_NATIVE": "require"}
    done = subprocess.run(
        [sys.executable, *words], cwd=root, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def problems(root: Path, edit: Edit, *, pure: bool) -> list[str]:
    kafka = {"first_sequence": "base_sequence"}
    added = [
        [name, code, kafka.get(before, before), magics] for name, _, _, before, magics, code in edit.added
    ]
    words = (json.dumps(added), str(edit.flag), json.dumps(edit.magics))
    answer = json.loads(run(root, "-m", "tests.log.next_format.doors", *words, pure=pure))
    assert answer["backend"] == ("pure" if pure else "native") and answer["asked"] > 150
    found: list[str] = answer["problems"]
    return found


def test_a_newer_batch_is_its_schema(tmp_path: Path) -> None:
    edit = EDITS["two fields, two magics and a flag"]
    assert problems(copy(tmp_path, edit.apply), edit, pure=True) == []


@pytest.mark.thorough
@pytest.mark.skipif(kodec.backend() == "pure", reason="needs a compiler")
@pytest.mark.parametrize("name", EDITS)
def test_with_native_kernels(name: str, tmp_path: Path) -> None:
    edit = EDITS[name]
    root = copy(tmp_path, edit.apply)
    run(root, "setup.py", "build_ext", "--inplace")
    for pure in (True, False):
        assert problems(root, edit, pure=pure) == []


def test_a_field_that_lost_its_role_is_a_problem(tmp_path: Path, golden: Golden) -> None:
    shutil.copytree(ROOT / "schemas", tmp_path / "schemas")
    path = tmp_path / BATCH
    path.write_text(path.read_text().replace("- id: base_sequence\n", "- id: first_sequence\n"))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "kodec",
            "generate",
            "--schemas",
            tmp_path / "schemas",
            "--to",
            tmp_path / "o",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    golden(done.stdout + done.stderr)
