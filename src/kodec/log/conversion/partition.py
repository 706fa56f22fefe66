"""Converts the log of a topic-partition into a new folder, in another message format or codec."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from kodec.generated.log import transaction_index
from kodec.log.arguments import require
from kodec.log.batches.batch import Batch
from kodec.log.batches.sizes import MAX_RELATIVE, MAX_SEGMENT
from kodec.log.conversion.batches import Converter
from kodec.log.conversion.options import ConvertOptions
from kodec.log.conversion.report import ConversionReport, Loss
from kodec.log.directories.gaps import explain_gap, joined_ranges, read_omitted
from kodec.log.directories.losses import require_end
from kodec.log.directories.offline import require_files, require_whole
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import OpenTransactions, marker_of
from kodec.log.directories.segment import Segment
from kodec.log.directories.snapshots import agrees
from kodec.log.directories.transactions import find_transactions
from kodec.log.files.checkpoints import offset_ranges_bytes
from kodec.log.files.descriptors import read_regular
from kodec.log.files.durable import replace_file
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.indexes import base_offset_after
from kodec.log.files.listing import TopicPartition
from kodec.log.files.names import LEADER_EPOCHS, OMITTED_OFFSETS, PARTITION_METADATA
from kodec.log.reading.reader import read_batches
from kodec.log.remote.opening import open_location
from kodec.log.writing.new_folder import new_folder, require_new
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import EncodeError, FormatError, OffsetsMissing
from kodec.runtime.plan import OnStep, Plan, ignore
from kodec.stores.storage import on_this_machine

__all__ = ["ConversionPlan", "plan_conversion"]

_ENOUGH = 4 << 20


@dataclass(frozen=True, slots=True)
class ConversionPlan(Plan[ConversionReport]):
    """A conversion of a topic-partition's log; `preview` returns the result only, `apply` converts.

    Attributes:
        path: the folder that is read, whose name shows which `topic_partition` it holds.
        target: the folder to create.
        options: as given. fingerprint: of the files when the plan was made.
        progress: called now and then with the bytes of the source read since the last call.

    Example: see `plan_conversion`.
    """

    path: Path
    topic_partition: TopicPartition
    target: Path
    options: ConvertOptions
    fingerprint: Fingerprint = field(repr=False)
    progress: Callable[[int], None] | None = None

    def require_current(self) -> None:
        self.fingerprint.require()

    def preview(self) -> ConversionReport:
        """Read the log and return what would be written and lost; write nothing. Errors as in `apply`."""
        with PartitionLog(self.path, limits=self.options.limits) as log:
            work = _Conversion(log, self.options, self.progress)
            work.run(None)
            return work.report

    def apply(self, *, on_step: OnStep = ignore) -> ConversionReport:
        """Write the target, and call `on_step` with it. The source is only read.

        The folder appears once all of it is durable, so that after a crash it is whole or absent; the lock
        of the log directory around it is held meanwhile. Files get the owner, group and permissions of the
        source's.

        Raises: FileExistsError; StalePlan if the source has changed since the plan was made;
        OSError (BlockingIOError if a broker or another program writes into the
        target's log directory); FormatError for a damaged batch and for a segment with a torn tail,
        including the last one, which must be recovered first; EncodeError as in `convert_batches`. They name
        the file (`source`) and the record.
        """
        with PartitionLog(self.path, limits=self.options.limits) as log:
            work = _Conversion(log, self.options, self.progress)
            with new_folder(log, self.target, self.fingerprint) as folder:
                work.run(folder)
                _copy_beside(log, folder, self.options, work.snapshots)
                before = read_omitted(log.path)
                if not self.options.keeps_markers or before is not None:
                    data = offset_ranges_bytes(joined_ranges([*(before or ()), *work.omitted]))
                    replace_file(folder / OMITTED_OFFSETS, data, folder=False)
            on_step(self.target)
            work.report.target = self.target
            return work.report


def plan_conversion(
    source: str | os.PathLike[str],
    to: str | os.PathLike[str],
    options: ConvertOptions,
    *,
    progress: Callable[[int], None] | None = None,
) -> ConversionPlan:
    """Plan to convert the log of a topic-partition into a new folder; reads nothing yet.

    Segments keep their base offsets and the time of their last
    change; one that would grow too large is split. Indexes are rebuilt, `partition.metadata` is copied; in
    magic 2 the leader epochs and the producer snapshots that agree with the log, too. If
    `log-start-offset-checkpoint` has an offset for the source, it is copied to the target's log directory; so
    is that of `cleaner-offset-checkpoint`. For magic 0 and 1 `kodec-omitted-offsets` in the folder lists the
    offsets between segments that are left out.

    Args:
        to: a new folder, named like that of a topic-partition (`orders-0`), and neither
            in the source nor in the log directory around it.
        progress: called regularly, by `preview` and `apply`, with the bytes of the source read since the
            last call.
        source: the topic-partition's folder.
        options: the format and the codec to convert to.

    Returns: a plan; `apply` writes.
    Raises: FileExistsError; ValueError for another name or place.

    Example:
        >>> import kodec
        >>> options = kodec.operations.ConvertOptions(magic=1, compression="gzip")
        >>> source, target = "/data/kafka-logs/orders-0", "converted/orders-0"
        >>> plan = kodec.operations.plan_conversion(source, target, options)
        >>> report = plan.apply()
        >>> report.records == report.records_written, sorted(loss.name for loss in report.losses)
        (True, ['HEADERS', 'LEADER_EPOCHS', 'PRODUCERS'])
    """
    require("options", options, ConvertOptions, "kodec.operations.ConvertOptions(...) is needed")
    fingerprint = Fingerprint.of(source)
    require_new(fingerprint.folder, to)
    return ConversionPlan(
        open_location(source),
        fingerprint.topic_partition,
        on_this_machine(to),
        options,
        fingerprint,
        progress,
    )


def _copy_beside(log: PartitionLog, folder: Path, options: ConvertOptions, snapshots: list[Path]) -> None:
    """Copy the files besides the segments that are still valid in the new folder."""
    beside = [log.path / PARTITION_METADATA, *snapshots]
    if options.keeps_markers:
        beside.append(log.path / LEADER_EPOCHS)
    for path in beside:
        if path.is_file():
            replace_file(folder / path.name, read_regular(path), folder=False)


class _Conversion:
    """The conversion of one log into a folder; into none if the folder is None."""

    def __init__(
        self, log: PartitionLog, options: ConvertOptions, progress: Callable[[int], None] | None
    ) -> None:
        self.options = options
        self.report = ConversionReport(log.path)
        # The offsets between two segments that are left out, not lost.
        self.omitted: list[tuple[int, int]] = []
        self._log = log
        self._progress = progress
        self._untold = 0
        self._going = OpenTransactions()
        # the producer snapshots that are valid in the new folder
        self.snapshots: list[Path] = []

    def run(self, folder: Path | None) -> None:
        log = self._log
        require_files(log)
        known = None
        if not self.options.keeps_markers:
            known = find_transactions(log.segments, {}, 0, log.end_offset)
        converter = Converter(self.options, self.report, known)
        following = ended = log.segments[0].base_offset if log.segments else 0
        for segment in log.segments:
            converter.segment = segment.path.name
            stop = segment.base_offset
            if ended < stop:
                # Offsets lost between segments of the source are also lost in the target.
                gap = explain_gap(log, ended, stop - 1)
                stop = gap.lost
                if not gap.is_explained:
                    self.report.lost_offsets.append((gap.lost, gap.last))
            if following < stop:
                self.omitted.append((following, stop - 1))
            self.report.segments += 1
            aborted = _Aborted()
            output = _Output(folder, segment, aborted, self.report)
            try:
                for data in converter.convert(self._batches(segment, aborted)):
                    output.write(data)
                require_whole(segment)
                output.close()
            except (EncodeError, FormatError) as error:
                raise error.in_source(str(segment.path)) from None
            finally:
                output.let_go()
                segment.close()
            following, ended = output.next_offset, segment.next_offset
        try:
            require_end(log)
        except OffsetsMissing as error:
            self.report.lost_offsets.append((error.first, error.last))
        if log.segments and following < log.end_offset:
            self.omitted.append((following, log.end_offset - 1))
            self.report.end_segment = log.end_offset
            self.report.segments_written += 1
            if folder is not None:
                SegmentWriter(folder, log.end_offset).close()
        for offset, path in log.files.snapshots if self.options.keeps_markers else ():
            if agrees(path, offset, log.segments):
                self.snapshots.append(path)
            else:
                self.report.lose(Loss.SNAPSHOTS, 1, path.name, offset)

    def _batches(self, segment: Segment, aborted: _Aborted) -> Iterator[Batch]:
        for batch in segment.batches(keeps=False):
            if self.options.keeps_markers and batch.producer_id >= 0:
                ended = self._going.take(batch, marker_of(batch))
                if ended is not None and ended.aborted:
                    aborted.entries.append(ended.index_entry())
            yield batch
            self._untold += batch.size
            if self._progress is not None and self._untold >= _ENOUGH:
                step, self._untold = self._untold, 0
                self._progress(step)


class _Aborted:
    """The aborted transactions of a segment, from its batches: its transaction index may be incomplete."""

    def __init__(self) -> None:
        self.entries: list[transaction_index.Entry] = []

    def below(self, offset: int) -> list[transaction_index.Entry]:
        """Take those whose marker is below `offset`."""
        due = [entry for entry in self.entries if entry.last_offset < offset]
        self.entries = [entry for entry in self.entries if entry.last_offset >= offset]
        return due


class _Output:
    """The segments that one segment becomes: one, unless that would grow too large.

    Attributes: `next_offset` is the one after the last; the base offset if nothing was written.
    """

    def __init__(
        self, folder: Path | None, source: Segment, aborted: _Aborted, report: ConversionReport
    ) -> None:
        self._folder = folder
        self._source = source
        self._aborted = aborted
        self._report = report
        self._writer: SegmentWriter | None = None
        self._begin(source.base_offset)

    def _begin(self, base_offset: int) -> None:
        self.next_offset = self._base = base_offset
        self._size = 0
        self._report.segments_written += 1
        if self._folder is not None:
            self._writer = SegmentWriter(self._folder, base_offset)

    def write(self, data: bytes) -> None:
        """Add whole batches."""
        heads = list(read_batches(data, check_crc=False))
        last = self.next_offset - 1
        for head in heads:
            # Like the writer: a dry run refuses it too.
            if head.last_offset <= last:
                need = f"at least {last + 1}"
                raise EncodeError("offset", "offsets must ascend", need=need, have=head.last_offset)
            last = head.last_offset
        if self._size + len(data) > MAX_SEGMENT or last - self._base > MAX_RELATIVE:
            first = heads[0].base_offset
            self._end(first)
            self._begin(base_offset_after(self.next_offset, first, last))
        self._size += len(data)
        self.next_offset = last + 1
        self._report.batches_written += len(heads)
        self._report.bytes_written += len(data)
        if self._writer is not None:
            self._writer.append_all(data, heads)

    def _end(self, offset: int) -> None:
        if self._writer is None:
            return
        for entry in self._aborted.below(offset):
            self._writer.add_aborted(entry)
        paths = self._writer.paths
        self._writer.close()
        status = self._source.path.stat()
        for path in paths:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def close(self) -> None:
        """Write everything durably."""
        self._end(2**63)

    def let_go(self) -> None:
        """Close files that are still open, as after an error."""
        if self._writer is not None:
            self._writer.abandon()
