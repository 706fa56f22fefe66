"""Whether compaction explains that offsets are in no segment of a log."""

from __future__ import annotations

from kodec.log.directories.directory import LogRoot
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import BatchHeader
from kodec.runtime.errors import FormatError

__all__ = ["is_compacted", "leaves_offsets_out"]


def leaves_offsets_out(head: BatchHeader, before: int) -> bool:
    """Whether a batch, after the last offset before it, shows that some offsets have no record.

    Of v0 and v1 messages it cannot be told: a wrapper does not say where it begins, and a conversion to these
    formats leaves control records out.
    """
    if head.magic != 2 or head.count is None or head.base_offset is None:
        return True
    return head.base_offset > before + 1 or head.count != head.last_offset - head.base_offset + 1


def is_compacted(log: PartitionLog) -> bool:
    """Whether the log directory's `cleaner-offset-checkpoint` says so, or any batch of the log shows it.

    The rule of `verify`: a gap between two segments is then no damage. Reads headers until one shows it.
    Raises OSError.
    """
    try:
        if LogRoot(log.root).cleaner_offsets().get(log.topic_partition, 0) > 0:
            return True
    except FormatError:
        pass
    for number, segment in enumerate(log.segments):
        before = segment.base_offset - 1
        try:
            for head in segment.headers():
                if leaves_offsets_out(head, before):
                    return True
                before = head.last_offset
        except (FormatError, FileNotFoundError):
            continue
        finally:
            segment.close()
        if before < segment.base_offset and number + 1 < len(log.segments) and not segment.torn_tail:
            # Nothing but compaction leaves a closed segment without a batch.
            return True
    return False
