"""Reads a segment from its start to the last byte that is valid, and derives its indexes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path

from kodec.log.batches.batch import Batch
from kodec.log.batches.format import KAFKA
from kodec.log.batches.frame import FRAME_SIZE, Frame
from kodec.log.batches.records import Limits
from kodec.log.batches.sizes import MAX_RELATIVE, MAX_SEGMENT
from kodec.log.directories.epochs import EpochRuns
from kodec.log.directories.producer_state import ProducerState
from kodec.log.directories.segment import Segment
from kodec.log.directories.snapshots import newest_state
from kodec.log.files.descriptors import open_regular
from kodec.log.files.indexes import INDEX_INTERVAL, MAX_INDEX, IndexBuilder
from kodec.log.files.listing import SegmentFiles
from kodec.log.reading.foreign import is_foreign
from kodec.log.reading.reader import read_batches
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import FormatError, Unsupported
from kodec.runtime.fields import ReadOptions

__all__ = ["SegmentScan", "producers_at", "scan_segment"]

_ENOUGH = 4 << 20


@dataclass(slots=True)
class SegmentScan:
    """The contents of a segment.

    Attributes:
        indexes: the correct indexes, without the last entry of the time index (`IndexBuilder.end`).
        size: of the file, in bytes.
        next_offset: the one after the last; the base offset where there is no batch.
        batches: their number.
        fault: why the rest after the valid bytes is not part of the log; "" if there is none.
        first_timestamp: the largest of the first batch; None if there is no batch.
        epochs: the leader epochs of its batches.
    """

    indexes: IndexBuilder
    size: int
    next_offset: int
    batches: int = 0
    fault: str = ""
    first_timestamp: int | None = None
    epochs: EpochRuns = field(default_factory=EpochRuns)

    @property
    def valid_bytes(self) -> int:
        """Bytes from the start that are whole, valid and in order."""
        return self.indexes.position


def scan_segment(
    path: Path,
    base_offset: int,
    *,
    producers: ProducerState | None = None,
    before: int | None = None,
    index_interval_bytes: int = INDEX_INTERVAL,
    max_index_bytes: int = MAX_INDEX,
    limits: Limits = Limits(),
    progress: Callable[[int], None] | None = None,
) -> SegmentScan:
    """Read all batches, verify their checksums, and stop at the first that cannot be part of the log.

    A batch is part of the log if it is complete, its checksum is right, and its offsets are above those of
    the batches before it, not below the base offset, and below `before` (the next segment's base offset).
    No checksum covers the offset in a header. So if one is not above the previous one, either may be wrong:
    if the earlier one leaves a gap that the later would fit, the earlier one is not trusted.

    `producers` is updated from the start of the segment to its end; with it, aborted
    transactions get their entries. `progress` is called regularly with the bytes read since the last call.

    Source: org.apache.kafka.storage.internals.log.LogSegment.recover, which checks offsets less strictly.
    Raises: OSError; Unsupported for data with a right checksum that this version cannot read, for a
    file that another system has written, and if offsets overflow the segment, as Kafka before 2.0 left it
    (KAFKA-6264), or its size 31 bits.
    """
    indexes = IndexBuilder(base_offset, interval=index_interval_bytes, max_bytes=max_index_bytes)
    scan = SegmentScan(indexes, path.stat().st_size, base_offset)
    state = ProducerState() if producers is None else producers
    reported = 0
    # A batch counts once the next one is read, which shows whether its offset can be trusted.
    waiting: Batch | None = None
    with closing(_batches(path, limits, scan)) as batches:
        for batch in batches:
            scan.fault, trusted = _disorder(scan.next_offset, waiting, batch, before)
            if scan.fault:
                waiting = waiting if trusted else None
                break
            if waiting is not None and not _take(path, scan, state, waiting):
                waiting = None
                break
            waiting = batch
            if progress is not None and batch.position - reported >= _ENOUGH:
                progress(batch.position - reported)
                reported = batch.position
    if waiting is not None:
        if indexes.fits(waiting.last_offset):
            _take(path, scan, state, waiting)
        else:
            scan.fault = f"its offset {waiting.last_offset} does not fit the segment of {base_offset}"
    if progress is not None:
        progress(scan.size - reported)
    return scan


def _batches(path: Path, limits: Limits, scan: SegmentScan) -> Generator[Batch, None, None]:
    """The batches up to the first that is damaged, which is the scan's fault.

    Raises: OSError; Unsupported for what is right by its checksum, or of another system.
    """
    reader = read_batches(path, limits=limits)
    try:
        yield from reader
    except FormatError as error:
        if is_foreign(error) or (isinstance(error, Unsupported) and _is_sound(path, reader.position)):
            raise
        scan.fault = _fault_text(error)
    else:
        if reader.torn_tail is not None:
            scan.fault = reader.torn_tail.reason
    finally:
        reader.close()


def _disorder(expected: int, waiting: Batch | None, batch: Batch, before: int | None) -> tuple[str, bool]:
    """Why a batch cannot follow the one before it; "": it can. And whether that one can be trusted."""
    first = batch.frame_offset
    last = (expected if waiting is None else waiting.next_offset) - 1
    if first <= last:
        if waiting is not None and first >= expected and _first(waiting) > expected:
            return f"its offset {last} is not below the next one, {first}", False
        return f"its offset {first} is not above {last}", True
    if batch.last_offset < first:
        return f"its last offset {batch.last_offset} is below its first, {first}", True
    if before is not None and batch.last_offset >= before:
        return f"its offset {batch.last_offset} is not below the next segment's, {before}", True
    return "", True


def _take(path: Path, scan: SegmentScan, producers: ProducerState, batch: Batch) -> bool:
    """Add a batch to the scan; False for a damaged marker, the scan's fault. Raises Unsupported."""
    indexes = scan.indexes
    if not indexes.fits(batch.last_offset):
        raise Unsupported(
            "offset",
            "the segment's offsets overflow: a broker splits it when it starts",
            at=batch.position,
            need=f"at most {indexes.base_offset + MAX_RELATIVE}",
            have=batch.last_offset,
        ).in_source(str(path))
    if indexes.position + batch.size > MAX_SEGMENT:
        raise Unsupported(
            "size",
            "larger than a segment can be: no broker starts with it; salvage and convert split it",
            at=batch.position,
            need=f"at most {MAX_SEGMENT}",
            have=scan.size,
        ).in_source(str(path))
    try:
        ended = producers.take_batch(batch)
    except FormatError as error:
        scan.fault = _fault_text(error)
        return False
    indexes.take(batch)
    if ended is not None and ended.aborted:
        indexes.abort(ended.index_entry())
    if scan.first_timestamp is None:
        scan.first_timestamp = batch.max_timestamp
    scan.epochs.take(path, batch)
    scan.batches += 1
    scan.next_offset = batch.next_offset
    return True


def _fault_text(error: FormatError) -> str:
    return f"{type(error).__name__}: {error}"


def _first(batch: Batch) -> int:
    try:
        return batch.base_offset
    except FormatError:
        return batch.last_offset


def _is_sound(path: Path, position: int) -> bool:
    """Whether the batch at `position` is right by its checksum, as far as its format is known."""
    with open_regular(path) as file:
        file.seek(position)
        head = file.read(FRAME_SIZE)
        frame = Frame.peek(head)
        if frame is None or not frame.known:
            return False
        data = head + file.read(frame.size - len(head))
    try:
        KAFKA.kind(frame.magic).read_head(data, 0, frame.size, ReadOptions(check_crc=True))
    except FormatError:
        return False
    return True


def producers_at(
    segments: Sequence[SegmentFiles],
    snapshots: dict[int, Path],
    number: int,
    *,
    limits: Limits = Limits(),
    doubt: Callable[[Path, FormatError | OSError], object] = lambda path, error: None,
) -> ProducerState:
    """The producer state at the start of `segments[number]`.

    From the newest producer snapshot there or before that agrees with the log, and the headers of the batches
    after it; if there is none, from those of all batches before. `doubt` is called for a snapshot that does
    not agree. Raises OSError, FormatError.
    """
    opened = [Segment(files, limits) for files in segments[: number + 1]]
    offset, state = newest_state(opened, snapshots.items(), segments[number].base_offset, doubt=doubt)
    for index, segment in enumerate(opened[:-1]):
        if segments[index + 1].base_offset <= offset:
            continue
        try:
            first_batch = segment.find(offset) if offset > segment.base_offset else None
            for head in segment.headers(0 if first_batch is None else first_batch.position):
                if head.producer_id >= 0 and head.last_offset >= offset:
                    state.take_batch(segment.batch_at(head, check_crc=False))
        except FormatError:
            # A segment that need not be checked: its contents up to there must suffice.
            pass
        finally:
            segment.close()
    return state
