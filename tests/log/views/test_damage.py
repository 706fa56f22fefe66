"""Bytes changed anywhere in a log directory: every view answers, and reports what it could not read."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

import kodec
from kodec.generated.log.record_batch import RecordBatch
from kodec.log.views.epochs import read_epochs
from kodec.log.views.groups import read_groups
from kodec.log.views.metadata import read_metadata, read_metadata_snapshot
from kodec.log.views.producers import read_producers
from kodec.log.views.transactions import read_transactions
from kodec.runtime.crc import crc32c
from tests.data import DATA

(MADE,) = (DATA).glob("views-*")
CRC_AT, RECORDS_AT = RecordBatch.PLACES["crc"][0], RecordBatch.PLACES["records"][0]


@pytest.mark.parametrize("seed", range(5))
def test_changed_bytes_anywhere(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)
    root = tmp_path / "logs"
    shutil.copytree(MADE / "logs", root)
    files = [path for path in sorted(root.glob("*-*/*")) if path.stat().st_size]
    for path in drawn.sample(files, 6):
        data = bytearray(path.read_bytes())
        for _ in range(3):
            data[drawn.randrange(len(data))] = drawn.randrange(256)
        path.write_bytes(data[: drawn.randrange(len(data))] if drawn.random() < 0.3 else data)
    look(root)


@pytest.mark.parametrize("seed", range(5))
def test_records_that_are_nonsense_with_right_checksums(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)
    root = tmp_path / "logs"
    shutil.copytree(MADE / "logs", root)
    for path in sorted(root.glob("__*-*/*.log")):
        data = bytearray(path.read_bytes())
        batches = [(each.position, each.size) for each in kodec.read_batches(bytes(data))]
        for start, size in drawn.sample(batches, len(batches) // 3):
            data[drawn.randrange(start + RECORDS_AT, start + size)] = drawn.randrange(256)
            data[start + CRC_AT : start + CRC_AT + 4] = crc32c(
                data[start + CRC_AT + 4 : start + size]
            ).to_bytes(4, "big")
        path.write_bytes(data)
    assert look(root)


def look(root: Path) -> bool:
    """Ask all views; whether one of them has something to tell."""
    accounts = [read_groups(root).omissions, read_transactions(root).omissions, read_metadata(root).omissions]
    for path in (root / "__cluster_metadata-0").glob("*.checkpoint"):
        accounts.append(read_metadata_snapshot(path).omissions)
    with kodec.LogDirectory(root) as directory:
        for log in directory:
            accounts += [read_epochs(log).omissions, read_producers(log).omissions]
    return not all(each.is_whole for each in accounts)
