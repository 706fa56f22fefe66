"""The files of a KRaft quorum beside its log: what keeps a broker or controller from starting.

Followed: `kafka.raft.KafkaMetadataLog.recoverSnapshots`, `org.apache.kafka.snapshot.RecordsSnapshotReader`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import ControlRecord, ControlRecordType, Limits
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.listing import parse_snapshot_name
from kodec.log.reading.reader import batch_reader
from kodec.log.verification.problems import Problem, from_error, unreadable
from kodec.runtime.errors import FormatError
from kodec.stores.storage import entries, entry_path

__all__ = ["METADATA_TOPIC", "verify_quorum", "verify_snapshot"]

METADATA_TOPIC = "__cluster_metadata"


def verify_quorum(log: PartitionLog, start: int) -> Iterator[Problem]:
    """Check the snapshots beside the metadata log, and that one reaches up to its start. Raises OSError."""
    snapshots: list[tuple[int, Path]] = []
    with entries(log.path) as listing:
        for entry in listing:
            if (name := parse_snapshot_name(entry.name)) is not None:
                snapshots.append((name[0], entry_path(entry)))
    for _, path in sorted(snapshots):
        yield from verify_snapshot(path, log.limits)
    newest = max((offset for offset, _ in snapshots), default=-1)
    if 0 < start > newest:
        need = f"a snapshot that ends at offset {start} or above, without which a broker does not start"
        have = "none" if newest < 0 else f"one that ends at {newest}"
        yield Problem(log.path, 0, f"the metadata log begins at offset {start}", need, have)


def verify_snapshot(path: Path, limits: Limits, *, is_framed: bool = True) -> Iterator[Problem]:
    """Check a snapshot: whole batches with right checksums; if it is framed, its header and its footer."""
    first = last = None
    batches = 0
    try:
        with batch_reader(path, LogReadOptions(on_error="skip", limits=limits)) as reader:
            for batch in reader:
                batches += 1
                try:
                    records = batch.records(control=True, check_crc=False)
                except FormatError as error:
                    yield from_error(error, path)
                    continue
                kinds = [record.type if isinstance(record, ControlRecord) else None for record in records]
                first, last = (kinds[0] if batches == 1 and kinds else first), (kinds[-1] if kinds else last)
        for skipped in reader.skipped:
            yield from_error(skipped.error, path)
        if (tail := reader.torn_tail) is not None:
            yield Problem(
                path, tail.position, f"torn snapshot: {tail.reason}", "a whole batch", f"{tail.size} bytes"
            )
    except OSError as error:
        yield unreadable(error, path)
        return
    if not batches:
        yield Problem(path, 0, "empty snapshot", "at least one batch", "none")
    elif is_framed and not reader.skipped and tail is None:
        for kind, have, what in (
            (ControlRecordType.SNAPSHOT_HEADER, first, "header"),
            (ControlRecordType.SNAPSHOT_FOOTER, last, "footer"),
        ):
            if have is not kind:
                yield Problem(path, 0, "incomplete snapshot", f"its {what}", "none")
