"""Folders as they are kept with a judge's answer, and what of them has to be the same."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

from kodec.log.reading.reader import read_batches
from tests.data import DATA

KEPT = DATA / "cleaned-4.3.1.json.gz"
# Indexes are made again by each, and what a snapshot holds is not the cleaner's.
_KINDS = (".log", ".txnindex")


def held(folder: Path) -> dict[str, list[Any]]:
    """The logs and transaction indexes in a folder: name, bytes in base64, time of the last change in ms."""
    return {
        path.name: [base64.b64encode(path.read_bytes()).decode(), path.stat().st_mtime_ns // 1_000_000]
        for path in sorted(folder.iterdir())
        if path.suffix in _KINDS or path.name == "leader-epoch-checkpoint"
    }


def put(folder: Path, files: dict[str, list[Any]]) -> None:
    """Make a folder that holds these."""
    folder.mkdir(parents=True)
    for name, (data, modified) in files.items():
        path = folder / name
        path.write_bytes(base64.b64decode(data))
        os.utime(path, ns=(modified * 1_000_000, modified * 1_000_000))


def entries_of(files: dict[str, list[Any]]) -> dict[str, Any]:
    """What the files say, apart from how their records are compressed; empty transaction indexes are none."""
    found: dict[str, Any] = {}
    for name, (text, _) in files.items():
        data = base64.b64decode(text)
        if name.endswith(".log"):
            found[name] = [
                (
                    (batch.magic, batch.codec, batch.base_offset, batch.last_offset, batch.count),
                    (batch.base_timestamp, batch.max_timestamp, batch.attributes, batch.crc_ok),
                    (
                        batch.producer_id,
                        batch.producer_epoch,
                        batch.base_sequence,
                        batch.partition_leader_epoch,
                    ),
                    batch.records(control=True),
                )
                for batch in read_batches(data)
            ]
        elif data and name.endswith(".txnindex"):
            found[name] = data
    return found
