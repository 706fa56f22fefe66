"""Reports offsets that a log lacks: before its first segment, between segments and after the last."""

from __future__ import annotations

import errno
import os
from itertools import zip_longest
from pathlib import Path

from kodec.log.batches.records import TornTail
from kodec.log.directories.gaps import explain_gap
from kodec.log.directories.searchable import Searchable
from kodec.log.files.checkpoints import known_offsets
from kodec.log.files.listing import ReplicaKind
from kodec.log.files.names import HIGH_WATERMARKS, RECOVERY_POINTS
from kodec.log.omissions import Cause, Omission, Omissions
from kodec.runtime.errors import FormatError, OffsetsMissing, Truncated
from kodec.stores.storage import if_there

__all__ = ["checkpointed_end", "note_missing", "report_gap", "require_end", "require_start"]


def report_gap(
    log: Searchable,
    before: Path,
    tail: TornTail | None,
    first: int,
    last: int,
    omissions: Omissions | None = None,
) -> None:
    """Report offsets behind a segment that no other has, if they are lost.

    Args:
        before: the segment's file.
        tail: its torn tail, if it has one.
        first, last: the offsets.
        omissions: takes the lost offsets, instead of an error.

    Raises: OffsetsMissing; Truncated where the segment has a torn tail, in any case; FileNotFoundError
        where the listing is out of date.
    """
    if tail is not None:
        error = Truncated("batch", tail.reason, at=tail.position, need="a whole batch", have=tail.size)
        raise error.in_source(str(before))
    gap = explain_gap(log, first, last)
    if gap.is_explained:
        return
    if _is_out_of_date(log):
        # a broker has merged or replaced segments since: the current ones may have the offsets
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(before))
    if omissions is None:
        raise OffsetsMissing(gap.lost, last, str(log.path))
    omissions.gap(log.path, gap.lost, last)


def _is_out_of_date(log: Searchable) -> bool:
    """Whether the folder has other segments by now than when it was listed."""
    with log.listed_again() as now:
        return [part.base_offset for part in now.segments] != [part.base_offset for part in log.segments]


def require_start(log: Searchable, first: int, last: int | None, omissions: Omissions | None = None) -> None:
    """Report offsets that are selected and only in remote storage.

    Args:
        first, last: the selected offsets; None: to the end.
        omissions: takes them, instead of an error.

    Raises: OffsetsMissing; OSError.
    """
    remote = log.remote_offsets
    if first >= remote.stop or not remote or (last is not None and last < remote.start):
        return
    reason = f"the first segment begins at {remote.stop}, and remote storage has those before: give --tier"
    if omissions is None:
        raise OffsetsMissing(remote.start, remote.stop - 1, str(log.path), reason)
    text = f"offsets {remote.start} to {remote.stop - 1} are not here: {reason}"
    omissions.add(
        Omission(
            Cause.UNREACHABLE,
            log.path,
            text,
            first_offset=remote.start,
            last_offset=remote.stop - 1,
        )
    )


def checkpointed_end(log: Searchable, omissions: Omissions | None = None) -> tuple[int, str]:
    """The offset that a log that is whole ends at, or above, by the broker's checkpoints; and how.

    0 and "" if they have none. `omissions` takes checkpoints that cannot be read, instead of an error.
    Raises OSError, FormatError.
    """
    known, reason = 0, ""
    # the checkpoints are those of the replica in use
    for name in (RECOVERY_POINTS, HIGH_WATERMARKS) if log.kind is ReplicaKind.LIVE else ():
        path = log.root / name
        try:
            offset = (if_there(known_offsets, path, None) or {}).get(log.topic_partition, 0)
        except (FormatError, OSError) as error:
            if omissions is None:
                raise
            omissions.failed(path, error)
            continue
        if offset > known:
            known, reason = offset, f"the log ends before {offset}, which {name} has"
    return known, reason


def require_end(log: Searchable, omissions: Omissions | None = None) -> None:
    """Report offsets after the end of the log that a checkpoint of the broker shows to have been there.

    `recovery-point-offset-checkpoint` and `replication-offset-checkpoint` name no offset above the end of
    a log that is whole: what they count was in it.

    Args:
        omissions: takes the lost offsets, instead of an error.

    Raises: OffsetsMissing; OSError, FormatError.
    """
    known, reason = checkpointed_end(log, omissions)
    if known <= log.end_offset:
        return
    # The checkpoint may be newer than this listing of a log that a broker writes to.
    with log.listed_again() as now:
        end = now.end_offset
    if known <= end:
        return
    if omissions is None:
        raise OffsetsMissing(end, known - 1, str(log.path), reason)
    omissions.gap(log.path, end, known - 1, reason)


def note_missing(log: Searchable, omissions: Omissions) -> None:
    """Note what a reader of headers cannot say of a log: lost offsets, unreadable segments, torn tails.

    Reads the last headers of segments. Raises OSError if the folder cannot be listed.
    """
    expected: int | None = log.start_offset
    for segment, following in zip_longest(log.segments, log.segments[1:]):
        if expected is not None and segment.base_offset > expected:
            gap = explain_gap(log, expected, segment.base_offset - 1)
            if not gap.is_explained:
                omissions.gap(log.path, gap.lost, gap.last)
        try:
            with segment:
                expected = max(segment.next_offset, log.start_offset)
                tail = segment.torn_tail
        except (FormatError, OSError) as error:
            omissions.failed(segment.path, error)
            expected = None
            continue
        if tail is not None:
            is_last = following is None
            if is_last or expected < following.base_offset:
                omissions.torn_tail(segment.path, tail, is_last=is_last)
            # what was cut off may have had the offsets that follow
            expected = None
    try:
        require_end(log, omissions)
    except (FormatError, OSError) as error:
        omissions.failed(log.path, error)
