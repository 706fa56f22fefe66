"""Where the committed real Kafka directories lie, and how a file there is paired with its dump."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import dump_log

# The compression codecs by their number in a batch's attributes.
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# `make interop` compares fresh directories instead of the committed ones.
DATA = Path(os.environ.get("KODEC_REAL_LOGS") or Path(__file__).resolve().parent.parent / "data")


@cache
def manifest(release: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((release / "MANIFEST.json").read_text(encoding="utf-8"))
    return loaded


# One folder for each Kafka release that was run.
RELEASES = sorted(path for path in DATA.glob("kafka-*") if (path / "MANIFEST.json").is_file())
# The older generations, of make_generation.py; their text has other words than that of make_logs.py's.
GENERATIONS = [release for release in RELEASES if "generation" in manifest(release)]
NEWEST = [release for release in RELEASES if release not in GENERATIONS]


def dumped(*suffixes: str, releases: list[Path] = NEWEST) -> list[tuple[Path, Path]]:
    """(file, text of kafka-dump-log about it) for each committed file that ends in one of `suffixes`."""
    pairs = []
    for release in releases:
        for text in sorted((release / "dump").rglob("*.txt")):
            name = text.relative_to(release / "dump").as_posix().removesuffix(".txt")
            if name.endswith(suffixes):
                pairs.append((release / name, text))
    return pairs


def entries(text: Path) -> dump_log.EntryDump:
    """The parsed text about one log of any generation."""
    shallow = text.with_name(text.name.removesuffix(".txt") + ".shallow.txt")
    outer = shallow.read_text(encoding="utf-8") if shallow.is_file() else None
    return dump_log.parse_entries(text.read_text(encoding="utf-8"), outer)


def label(value: object) -> str:
    """Test id of a path: what follows the data folder."""
    return value.relative_to(DATA).as_posix() if isinstance(value, Path) else str(value)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of one file of consumed records."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
