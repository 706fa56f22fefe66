"""Logs to compact, and what to look at afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kodec
from kodec.log.cleaning.compaction import CompactionReport, plan_compaction
from kodec.log.verification.verify import verify_partition
from tests.data import DATA
from tests.log import made
from tests.log.made import DAY, START, batch, marker

NOW = START + 10 * DAY
COMPACTED = [
    folder
    for release in sorted(DATA.glob("kafka-*"))
    for folder in sorted((release / "logs").glob("compacted*"))
]
Pairs = list[tuple[bytes | None, bytes | None]]


def compacted(folder: Path, **options: Any) -> CompactionReport:
    """Compact, after a dry run that has said the same; what is left is a log without a problem."""
    options = {"now": NOW, **options}
    told = plan_compaction(folder, **options).preview()
    before = made.files(folder)
    assert made.files(folder) == before
    done = plan_compaction(folder, **options).apply()
    if told.complete:
        told.applied = True
        assert done == told
    problems = [str(each) for each in verify_partition(kodec.PartitionLog(folder)) if not each.note]
    assert problems == []
    return done


def stored(folder: Path) -> bytes:
    """The bytes of all logs, one after another."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))


def offsets(folder: Path) -> list[int]:
    return [record.offset for record in made.rows(folder)]


def horizons(folder: Path) -> list[int | None]:
    with kodec.PartitionLog(folder) as log:
        return [each.delete_horizon for each in log.batches()]


def shape(folder: Path) -> list[tuple[int, int, int, bool]]:
    """(first offset, last offset, records, whether it has a delete horizon) of each batch."""
    with kodec.PartitionLog(folder) as log:
        return [
            (each.base_offset, each.last_offset, each.count, each.delete_horizon is not None)
            for each in log.batches()
        ]


def transactions(folder: Path) -> Path:
    """Producer 1 aborts, 2 commits, 3 is only idempotent; all write the keys a and b."""
    return made.make(
        folder,
        [
            (
                0,
                [
                    batch(0, [(b"a", b"1"), (b"b", b"1")], producer=(3, 0, 0)),
                    batch(2, [(b"a", b"2"), (b"x", b"2")], producer=(2, 0, 0), transactional=True),
                    batch(4, [(b"a", b"no")], producer=(1, 0, 0), transactional=True),
                    marker(5, 2, commit=True),
                ],
            ),
            (
                6,
                [
                    batch(6, [(b"b", b"no")], producer=(1, 0, 1), transactional=True),
                    marker(7, 1, commit=False),
                ],
            ),
            (8, [batch(8, [(b"z", b"3")])]),
        ],
        aborted=[(1, 4, 7)],
    )
