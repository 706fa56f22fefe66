"""A column of an index and a version of the producer snapshot are their schemas; as `test_next_format`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kodec
from tests.log.next_format.test_next_format import copy, run

LOG = "schemas/log"
COLUMN = "      - id: {}\n        type: {}\n        -default: {}\n        -column:\n          type: int64\n"


def replace(path: Path, *pairs: tuple[str, str]) -> None:
    text = path.read_text()
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)


def apply(root: Path, default: int) -> None:
    """Two columns of each index, and version 2 of the snapshot, with a field of the entry and of the file."""
    for name, before in (
        ("offset_index", "ofs_batch"),
        ("time_index", "relative_offset"),
        ("transaction_index", "first_offset"),
    ):
        path = root / LOG / f"{name}.ksy"
        there = f"      - id: {before}\n"
        replace(path, (there, COLUMN.format("checked", "s8", 7) + there))
        path.write_text(path.read_text() + COLUMN.format("marked", "u2", 3))
    there = "      - id: last_sequence\n"
    new = "      - id: checked\n        type: s8\n        if: version >= 2\n        -default: 7\n"
    replace(
        root / LOG / "producer_snapshot.ksy",
        (
            "    valid: 1\n    -default: 1\n",
            f"    valid:\n      any-of: [1, 2]\n    -default: {default}\n",
        ),
        ("    type: entry\n", "    type: entry(version)\n"),
        ("    -row: true\n", "    -row: true\n    params:\n      - id: version\n        type: s2\n"),
        (
            "  - id: entries\n",
            "  - id: cluster\n    type: s4\n    if: version >= 2\n    -default: 0\n  - id: entries\n",
        ),
        (there, new + there),
    )


def problems(root: Path, default: int, *, pure: bool) -> list[str]:
    answer = json.loads(run(root, "-m", "tests.log.next_format.other_doors", str(default), pure=pure))
    assert answer["backend"] == ("pure" if pure else "native") and answer["asked"] > 50
    found: list[str] = answer["problems"]
    return found


def test_a_column_of_an_index_and_a_version_of_a_snapshot_are_their_schemas(tmp_path: Path) -> None:
    assert problems(copy(tmp_path, lambda root: apply(root, 2)), 2, pure=True) == []


@pytest.mark.thorough
@pytest.mark.skipif(kodec.backend() == "pure", reason="needs a compiler")
@pytest.mark.parametrize("default", [1, 2])
def test_with_native_kernels(default: int, tmp_path: Path) -> None:
    root = copy(tmp_path, lambda root: apply(root, default))
    run(root, "setup.py", "build_ext", "--inplace")
    for pure in (True, False):
        assert problems(root, default, pure=pure) == []
