"""Writes a log as lines that a script can change and `load` can read."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

from kodec.log.directories.gaps import cleaned_up_to
from kodec.log.directories.offline import require_in_order, require_whole
from kodec.log.directories.partition import PartitionLog
from kodec.log.editing.batch_lines import batch_line
from kodec.log.files.descriptors import read_regular
from kodec.runtime.errors import EncodeError, FormatError

__all__ = ["log_lines"]


def log_lines(
    log: PartitionLog, progress: Callable[[int], None] = lambda _: None
) -> Iterator[dict[str, Any]]:
    """The lines of a log: what it is, each segment with its batches, and its end.

    Records below the start offset are included.

    Args:
        log: of a live replica.
        progress: called with the bytes read since the last call.

    Returns: objects that `json.dumps` writes, in the order of the log.
    Raises: OSError; FormatError for damage, and for a torn tail, which must be recovered first;
        EncodeError for a batch that no broker writes, such as one whose offsets descend; ValueError for a
        replica that is not live and for an interrupted replacement of segments.

    Example:
        >>> import kodec
        >>> log = kodec.PartitionLog("/data/kafka-logs/orders-0")
        >>> lines = list(kodec.operations.log_lines(log))
        >>> [line["type"] for line in lines][:3]
        ['log', 'segment', 'batch']
    """
    require_in_order(log)
    topic, partition = log.topic_partition
    line: dict[str, Any] = {"type": "log", "topic": topic, "partition": partition}
    if (metadata := log.metadata()) is not None:
        line["topicId"] = str(metadata.topic_id)
    line["startOffset"] = log.start_offset
    line["leaderEpochs"] = [[each.epoch, each.start_offset] for each in log.leader_epochs()]
    if cleaned := cleaned_up_to(log):
        line["cleanedUpTo"] = cleaned
    first = log.segments[0].base_offset if log.segments else None
    for offset, path in log.files.snapshots:
        if offset == first:
            line["producers"] = base64.b64encode(read_regular(path)).decode("ascii")
    yield line
    for segment in log.segments:
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
        segment.close()
    yield {"type": "end"}
