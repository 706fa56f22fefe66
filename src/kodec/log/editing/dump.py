"""Writes a log as lines that a script can change and `load` can read."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

from kodec.log.directories.gaps import cleaned_up_to, compacted_up_to, explain_gap, read_omitted
from kodec.log.directories.losses import require_end
from kodec.log.directories.offline import require_in_order, require_whole
from kodec.log.directories.partition import PartitionLog
from kodec.log.editing.batch_lines import batch_line
from kodec.log.files.descriptors import read_regular
from kodec.log.omissions import Omissions
from kodec.runtime.errors import EncodeError, FormatError, OffsetsMissing

__all__ = ["end_of_lines", "lines_of_log", "log_lines"]


def log_lines(
    *logs: PartitionLog,
    progress: Callable[[int], None] = lambda _: None,
    omissions: Omissions | None = None,
) -> Iterator[dict[str, Any]]:
    """The lines of logs: what each is, its segments with their batches, and its end; then the end of all.

    Records below the start offset are included. Where a log has lost offsets there is a line of the type
    `lost`, which keeps `load` from taking them for edited ones.

    Args:
        logs: of live replicas.
        progress: called with the bytes read since the last call.
        omissions: takes lost offsets, instead of an error.

    Returns: objects that `json.dumps` writes, in the order of the logs.
    Raises: OSError; FormatError for damage, and for a torn tail, which must be recovered first;
        OffsetsMissing for lost offsets; EncodeError for a batch that no broker writes, such as one whose
        offsets descend; ValueError for a replica that is not live and for an interrupted replacement of
        segments.

    Example:
        >>> import kodec
        >>> log = kodec.PartitionLog("/data/kafka-logs/orders-0")
        >>> lines = list(kodec.operations.log_lines(log))
        >>> [line["type"] for line in lines][:3]
        ['log', 'segment', 'batch']
        >>> lines[-1]
        {'type': 'eof', 'logs': 1}
    """
    for log in logs:
        yield from lines_of_log(log, progress, omissions)
    yield end_of_lines(len(logs))


def end_of_lines(logs: int) -> dict[str, Any]:
    """The last line, without which `load` takes none of the others."""
    return {"type": "eof", "logs": logs}


def lines_of_log(
    log: PartitionLog, progress: Callable[[int], None], omissions: Omissions | None
) -> Iterator[dict[str, Any]]:
    """The lines of one log; the rest as `log_lines`."""
    require_in_order(log)
    topic, partition = log.topic_partition
    line: dict[str, Any] = {"type": "log", "topic": topic, "partition": partition}
    if (metadata := log.metadata()) is not None:
        line["topicId"] = str(metadata.topic_id)
    line["startOffset"] = log.start_offset
    line["leaderEpochs"] = [[epoch.epoch, epoch.start_offset] for epoch in log.leader_epochs()]
    if cleaned := cleaned_up_to(log):
        line["cleanedUpTo"] = cleaned
    if (omitted := read_omitted(log.path)) is not None:
        line["omittedOffsets"] = [[first, last] for first, last in omitted]
    elif compacted := compacted_up_to(log):
        line["compactedUpTo"] = compacted
    first = log.segments[0].base_offset if log.segments else None
    for offset, path in log.files.snapshots:
        if offset == first:
            line["producers"] = base64.b64encode(read_regular(path)).decode("ascii")
    yield line
    reached = first
    for segment in log.segments:
        if reached is not None and reached < segment.base_offset:
            gap = explain_gap(log, reached, segment.base_offset - 1)
            if not gap.is_explained:
                yield _lost(log, OffsetsMissing(gap.lost, gap.last, str(log.path)), omissions)
        yield {"type": "segment", "baseOffset": segment.base_offset}
        for batch in segment.batches():
            try:
                yield batch_line(batch, log.limits)
            except EncodeError as error:
                raise error.within(f"batch at byte {batch.position}").in_source(str(segment.path)) from None
            except FormatError as error:
                raise error.in_source(str(segment.path)) from None
            progress(batch.size)
        require_whole(segment)
        reached = segment.next_offset
        segment.close()
    try:
        require_end(log)
    except OffsetsMissing as error:
        yield _lost(log, error, omissions)
    yield {"type": "end"}


def _lost(log: PartitionLog, error: OffsetsMissing, omissions: Omissions | None) -> dict[str, Any]:
    if omissions is None:
        raise error
    omissions.failed(log.path, error)
    return {"type": "lost", "firstOffset": error.first, "lastOffset": error.last}
