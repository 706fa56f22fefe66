"""What the example programs print of a log: the rows that our own reader gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kodec
from tests.data import DATA

LOGS = sorted((DATA).rglob("*.log"))
"""Segments of brokers of six generations, and of clients."""


def rows(path: Path) -> list[dict[str, Any]]:
    """The records of a segment, control records too."""

    def text(data: bytes | None) -> str | None:
        return None if data is None else bytes(data).hex()

    return [
        {
            "offset": record.offset,
            "timestamp": record.timestamp if batch.magic else None,
            "control": batch.is_control,
            "key": text(record.key),
            "value": text(record.value),
        }
        for batch in kodec.read_batches(path)
        for record in batch.records(control=True)
    ]
