"""A topic-partition at a glance: offsets, times, bytes, codecs and health, by the headers of its batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from kodec.log.batches.batch import CODECS
from kodec.log.batches.records import TimestampType
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import BatchHeader, Segment
from kodec.runtime.errors import FormatError

__all__ = ["Overview", "survey"]

_ENOUGH = 4 << 20


@dataclass(slots=True)
class Overview:
    """What a topic-partition holds.

    Attributes:
        segments, bytes, batches: how many, and the bytes of the logs as listed.
        start_offset, end_offset: the first offset that can be read, and the one after the last; where the log
            is corrupt, `end_offset` is the one after the last batch that was reached.
        first_timestamp, last_timestamp: the smallest and largest in headers, in ms since 1970-01-01
            UTC; None where there is none. Records inside a batch may be older than its header says.
        codecs: the codecs in use, in the order of their numbers.
        magics: the message formats in use, ascending.
        health: `clean`; `torn` where a segment ends in a partial batch or in zeros; `corrupt` where a batch
            is damaged, as far as lengths and headers show (and checksums, where they were asked for);
            `unreadable` where a file cannot be read.
        problems: for each segment that is not clean, its file and what is wrong.
    """

    segments: int
    bytes: int
    start_offset: int
    end_offset: int
    batches: int = 0
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    codecs: list[str] = field(default_factory=list)
    magics: list[int] = field(default_factory=list)
    health: Literal["clean", "torn", "corrupt", "unreadable"] = "clean"
    problems: list[str] = field(default_factory=list)


def survey(
    log: PartitionLog, *, check_crc: bool = False, progress: Callable[[int], None] | None = None
) -> Overview:
    """Look at the headers of all batches, with `check_crc` at all bytes.

    `progress` is called now and then with the bytes of logs read since the last call.
    """
    found = Overview(len(log.segments), log.size, log.start_offset, log.start_offset)
    codecs: set[str] = set()
    magics: set[int] = set()
    for segment in log.segments:
        found.end_offset = max(found.end_offset, segment.base_offset)
        told = 0
        try:
            for head in segment.headers():
                if check_crc:
                    segment.batch_at(head)
                found.batches += 1
                codecs.add(head.codec)
                magics.add(head.magic)
                found.end_offset = max(found.end_offset, head.next_offset)
                _widen(found, head)
                if progress is not None and head.position - told >= _ENOUGH:
                    progress(head.position - told)
                    told = head.position
        except FormatError as error:
            found.health = "corrupt"
            found.problems.append(f"{type(error).__name__}: {error}")
        except FileNotFoundError:
            # deleted since it was listed, as retention and compaction do
            continue
        except OSError as error:
            found.health = "unreadable"
            found.problems.append(f"{segment.path}: cannot be read: {error.strerror or error}")
        else:
            _note_tail(found, segment)
        segment.close()
        if progress is not None:
            progress(segment.size - told)
    found.codecs = [codec for codec in CODECS if codec in codecs]
    found.magics = sorted(magics)
    return found


def _widen(found: Overview, head: BatchHeader) -> None:
    """Take the times of a batch in. A base that is a delete horizon, or of another clock, is none."""
    times = [head.max_timestamp]
    if head.timestamp_type is TimestampType.CREATE_TIME and head.delete_horizon is None:
        times.append(head.base_timestamp)
    for time in times:
        if time >= 0:
            if found.first_timestamp is None or time < found.first_timestamp:
                found.first_timestamp = time
            if found.last_timestamp is None or time > found.last_timestamp:
                found.last_timestamp = time


def _note_tail(found: Overview, segment: Segment) -> None:
    tail = segment.torn_tail
    if tail is None:
        return
    if found.health == "clean":
        found.health = "torn"
    found.problems.append(
        f"{segment.path}: ends at byte {tail.position}, {tail.size} bytes before the end of the file: "
        f"{tail.reason}"
    )
