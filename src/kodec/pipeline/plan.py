"""Plans the input of each Spark task: lists folders, and opens files only if an option refers to offsets.

    Steps: paths -> logs (`found_logs`) -> pieces of segments with offsets (`list_segments`) ->
tasks (`tasks_of`). docs/spark.md describes the rules.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import wraps
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

from kodec.log.backends.scan import EVERY
from kodec.log.batches.options import LogReadOptions
from kodec.log.directories.directory import LogRoot
from kodec.log.directories.epochs import up_to
from kodec.log.directories.losses import require_end, require_start
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.directories.transactions import find_transactions
from kodec.log.files.listing import (
    ReplicaKind,
    SegmentFiles,
    TopicPartition,
    left_out_of,
)
from kodec.log.files.names import LEADER_EPOCHS, PARTITION_METADATA
from kodec.log.files.paths import PartitionPath, real_path
from kodec.log.messages.as_json import uuid_text
from kodec.log.omissions import Cause, Omission, Omissions
from kodec.log.reading.reader import read_batches
from kodec.log.remote.names import TieredFolder
from kodec.log.remote.one_log import with_remote_storage
from kodec.log.remote.opening import open_partition
from kodec.log.remote.resolve import (
    LogDirectoryPath,
    LogPath,
    NotALog,
    RemoteStoragePath,
    SegmentPath,
    find_logs,
    named_paths,
)
from kodec.log.remote.tier import list_tiered, owner_of
from kodec.pipeline.options import EARLIEST, LATEST, LEAST_TASK, MOST_TASK, Edge, OptionError, Options
from kodec.runtime.cached import cached_property
from kodec.runtime.errors import (
    ArgumentError,
    FormatError,
    NoSuchPartition,
    OffsetsMissing,
    ReadFailed,
    Unsupported,
)
from kodec.runtime.near import meant
from kodec.stores.storage import StorePath, one_look, path_of

__all__ = [
    "MOST_LISTINGS",
    "DataLoss",
    "FoundLog",
    "Log",
    "SourceSegment",
    "Task",
    "found_logs",
    "list_segments",
    "lose",
    "pack",
    "read_failed",
    "relisted",
    "shown",
    "tasks_of",
    "weight",
]


# The cost of opening a file, as bytes, so that a thousand empty segments do not all land in one task.
_OPEN_COST = 64 * 2**10
# Far more than Spark can run; of one segment.
_MOST_PARTS = 100_000
_DEFAULT = LogReadOptions()
# A listing is soon out of date; one that is so repeatedly is not a broker's work.
MOST_LISTINGS = 20
P = ParamSpec("P")
R = TypeVar("R")


def relisted(plan: Callable[P, R]) -> Callable[P, R]:
    """A function that lists folders, opens the files found, and repeats this if files were deleted."""

    @wraps(plan)
    def again(*args: P.args, **options: P.kwargs) -> R:
        for _ in range(MOST_LISTINGS - 1):
            try:
                return plan(*args, **options)
            except FileNotFoundError:
                continue
        return plan(*args, **options)

    return again


class DataLoss(OptionError):
    """Requested offsets are missing, and failOnDataLoss is true."""

    def __init__(self, text: str) -> None:
        super().__init__("failOnDataLoss", text)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.text,)


class NoSuchPath(OptionError, FileNotFoundError):
    """A path does not exist."""


class SourceSegment(NamedTuple):
    """A listed segment, its topic-partition, and the part to read.

    Attributes:
        after: the base offset of the segment listed after it; None for the last one.
        first, end: only offsets from `first` on and below `end`; None: unbounded.
        tiered: whether it is in remote storage.
        is_requested: whether the first offset was requested, so that it must exist.
        tail: whether bytes after `end` were not a whole batch: they are read too, to report the damage
            there.
        lost: what is missing after the end of the log, as its checkpoints show.
    """

    topic_partition: TopicPartition
    segment: SegmentFiles
    after: int | None = None
    first: int = 0
    end: int | None = None
    tiered: bool = False
    is_requested: bool = False
    tail: bool = False
    lost: Omission | None = None

    @property
    def start(self) -> int:
        """The first selected offset that may be in it."""
        return max(self.first, self.segment.base_offset)

    @property
    def stop(self) -> int | None:
        """The offset up to which all are expected here, exclusive; None if unknown."""
        return _earlier(self.after, self.end)

    def within(self, first: int | None, end: int | None) -> SourceSegment | None:
        """The part with these offsets; None if there is none."""
        part = self._replace(first=max(self.first, first or 0), end=_earlier(self.end, end))
        # a segment without a batch, or with other data, must be reported
        empty = part.stop is not None and part.start >= part.stop
        return None if empty and not (part.tail and part.end == self.end) else part


Task = tuple[SourceSegment, ...]


def _earlier(first: int | None, other: int | None) -> int | None:
    return other if first is None else first if other is None else min(first, other)


def shown(path: str | os.PathLike[str]) -> str:
    """A path for messages, which Spark carries as UTF-8: other bytes as `\\xff`."""
    return os.fsencode(str(path)).decode("utf-8", "backslashreplace")


# -- from paths to logs ---------------------------------------------------------------------------


class _Root(LogRoot):
    @cached_property
    def known_ends(self) -> dict[TopicPartition, int]:
        """Offsets that the logs had reached, by the broker's checkpoints. Raises OSError, Malformed."""
        ends = self.recovery_points()
        for owner, offset in self.high_watermarks().items():
            ends[owner] = max(offset, ends.get(owner, 0))
        return ends


@dataclass
class FoundLog:
    """One replica of a topic-partition, or its segments in remote storage.

    Attributes:
        path: its folder.
        root: its log directory; None if the checkpoints there do not apply to it.
        tiered: whether it is in remote storage.
        alone: a single segment selected by path.
        reading: how its files are read.
        omissions: takes what is left out of it.
        is_unread: whether it was to be listed, could not, and is left out.
    """

    topic_partition: TopicPartition
    path: Path
    root: _Root | None = None
    tiered: TieredFolder | None = None
    alone: SegmentFiles | None = None
    reading: LogReadOptions = field(default=LogReadOptions())
    omissions: Omissions = field(default_factory=Omissions)
    is_unread: bool = False

    @property
    def start(self) -> int:
        """The log start offset from the checkpoint of its log directory; 0 if that has none.

        Raises Malformed: deleted records must not come back.
        """
        return 0 if self.root is None else self.root.log_start_offsets.get(self.topic_partition, 0)

    @property
    def folder(self) -> Path | None:
        """The folder of the replica; None in remote storage."""
        if self.tiered is not None:
            return None
        return self.path if self.alone is None else self.path.parent

    @property
    def is_local(self) -> bool:
        """Whether its files are on this machine, where a look at one costs next to nothing."""
        return not isinstance(self.path, StorePath)

    @property
    def topic_id(self) -> str | None:
        """The topic's id, as Kafka prints it, by `partition.metadata`; None if it has none, or none that can
        be read and that is to be skipped. Raises OSError, FormatError."""
        try:
            metadata = None if self.folder is None else PartitionLog(self.folder).metadata()
        except FormatError as error:
            if not self.reading.skips:
                raise
            self.omissions.failed(self.path / PARTITION_METADATA, error)
            return None
        return None if metadata is None else uuid_text(metadata.topic_id)

    @cached_property
    def segments(self) -> list[SegmentFiles]:
        """The segments, by base offset; empty if the folder cannot be listed and that is to be skipped.

        Raises FileNotFoundError for a folder that is gone since it was listed; ReadFailed, FormatError.
        """
        try:
            if self.alone is not None:
                return [self.alone]
            if self.tiered is not None:
                return list_tiered(self.tiered)
            return PartitionLog(self.path, limits=self.reading.limits).files.segments
        except FormatError as error:
            self._leave(error, self.reading.skips)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not os.path.lexists(self.path):
                raise
            self._leave(read_failed(error, self.path), self.reading.skips_unreachable)
        return []

    def leave(self, error: OSError) -> None:
        """Take in that a file cannot be read, or the folder."""
        path = path_of(error.filename) if isinstance(error.filename, str) else self.path
        self.omissions.failed(path, read_failed(error, path))

    def _leave(self, error: FormatError | ReadFailed, skips: bool) -> None:
        if not skips:
            raise error
        self.is_unread = True
        self.omissions.failed(self.path, error)

    @property
    def rank(self) -> tuple[int, int]:
        """The newest leader epoch that has written here, and the end: the largest is preferred."""
        try:
            end = _end_of(self.segments[-1], self.reading) if self.segments else 0
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise
            self._leave(read_failed(error, self.path), self.reading.skips_unreachable)
            end = 0
        if self.tiered is not None or self.alone is not None:
            return -1, end
        try:
            epochs = up_to(PartitionLog(self.path).leader_epochs(), end)
        except (OSError, FormatError) as error:
            # they say which replica leads, so which records there are
            if isinstance(error, OSError) and not self.reading.skips_unreachable:
                raise
            self.omissions.failed(self.path / LEADER_EPOCHS, error)
            epochs = []
        written = [epoch.epoch for epoch in epochs if epoch.start_offset < end]
        return max(written, default=-1), end

    def pieces(self, end: int | None = None) -> list[SourceSegment]:
        """Its segments, from the log start offset on, and below `end`."""
        following = [*(segment.base_offset for segment in self.segments[1:]), None]
        selected = []
        # Without a segment there is none after it either.
        for segment, after in zip(self.segments, following, strict=False):
            whole = SourceSegment(self.topic_partition, segment, after, tiered=self.tiered is not None)
            if end is None or segment.base_offset < end:
                selected.append(whole.within(self.start, end))
        return [piece for piece in selected if piece is not None]


def _end_of(files: SegmentFiles, reading: LogReadOptions, *, whole: bool = False) -> int:
    """The offset after the last batch; with `whole`, at the end only one that is complete to its last
    byte.

    A broker may be writing the last batch, so that its checksum, or its header, is not yet right. Opens the
    segment. Raises FormatError for damage that must not be skipped.
    """
    with Segment(files, reading.limits) as segment:
        try:
            last = segment.last_header()
            if last is None:
                return files.base_offset
            # its offset may be damaged, which would leave out records
            segment.find(last.last_offset)
            if whole:
                segment.batch_at(last)
            return segment.end_of(last)
        except FormatError as error:
            # no broker is in the middle of writing a format that is not known
            if not reading.skips and (not whole or isinstance(error, Unsupported)):
                raise
    end = files.base_offset
    batches = read_batches(files.log, on_error="skip", limits=reading.limits)
    for batch in batches:
        if batches.skipped and not reading.skips:
            # Bytes that a batch follows are not the end.
            raise batches.skipped[0].error.in_source(shown(files.log))
        end = max(end, batch.next_offset)
    return end


def _pinned(piece: SourceSegment, reading: LogReadOptions) -> SourceSegment:
    """The piece with an end, that of the current last whole batch; with the rest if that
    is not a batch.

    Reading it raises the error. Raises FileNotFoundError.
    """
    files = piece.segment
    try:
        with Segment(files, reading.limits) as segment:
            last = segment.last_header()
            if last is None:
                return piece._replace(end=files.base_offset, tail=True)
            # its offset may be damaged, which would leave out records
            segment.find(last.last_offset)
            if reading.check_crc:
                segment.batch_at(last)
            return piece._replace(end=segment.end_of(last), tail=segment.torn_tail is not None)
    except FormatError:
        batches = read_batches(files.log, check_crc=reading.check_crc, on_error="skip", limits=reading.limits)
        end = max((batch.next_offset for batch in batches), default=0)
        return piece._replace(end=max(end, files.base_offset), tail=True)
    except FileNotFoundError:
        raise
    except OSError:
        return piece


class _Finder:
    """The selected logs at paths, and the other logs found, for errors."""

    def __init__(self, options: Options, omissions: Omissions) -> None:
        self.options = options
        self.omissions = omissions
        self.seen: set[TopicPartition] = set()
        self.logs: dict[TopicPartition, list[FoundLog]] = {}
        self._folders: set[Path] = set()
        self._roots: dict[Path, _Root] = {}

    def look(self) -> None:
        """Find the logs at the paths. Raises OptionError for one without a log; OSError."""
        options = self.options
        with ExitStack() as looks:
            locations = [
                what for path in options.paths for what in self._logs_at(looks.enter_context(one_look(path)))
            ]
            for what in locations if options.tier is None else _with_tier(locations, options.tier):
                self._choose(what)
            for what in locations:
                if isinstance(what, LogDirectoryPath):
                    self._note_others(what)

    def _logs_at(self, given: Path) -> Iterator[LogPath]:
        """The logs at a path, or at the matches of a glob."""
        skips = self.options.reading.skips_unreachable
        for path in _expanded(given):
            try:
                yield from find_logs(path, self.omissions if skips else None)
            except OSError as error:
                if not skips or path == given:
                    raise
                self.omissions.failed(path, read_failed(error, path))
            except NotALog as error:
                if not path.is_dir():
                    raise OptionError("path", str(error)) from None
                if not self.options.allow_empty:
                    raise OptionError("path", f"{error}; it holds {_content(path)}") from None

    def _choose(self, what: LogPath) -> None:
        if isinstance(what, LogDirectoryPath):
            for owner, folder in what.partitions:
                if self._wants(owner):
                    self._add(FoundLog(owner, folder, self._root(what.path)))
        elif isinstance(what, RemoteStoragePath):
            for tiered in what.folders:
                owner = owner_of(tiered)
                if self._wants(owner):
                    self._add(FoundLog(owner, tiered.path, tiered=tiered))
        elif isinstance(what, SegmentPath):
            self._segment(what)
        elif self._wants(what.topic_partition, asked_for=True):
            self._add(FoundLog(what.topic_partition, what.path, self._root_of(what)))

    def _note_others(self, what: LogDirectoryPath) -> None:
        """Note what in a log directory is read by nobody, or only by who selects it."""
        options = self.options
        for omission in left_out_of(what.path):
            if options.may_mean(omission.path.name):
                self.omissions.add(omission)
        if options.subscribe is None and options.assign is None and not options.include_internal:
            for topic in sorted({owner.topic for owner, _ in what.partitions if owner.is_internal}):
                text = f"{topic} is an internal topic: not read without --internal (includeInternal)"
                self.omissions.lose(what.path, text, Cause.ABSENT)

    def _segment(self, what: SegmentPath) -> None:
        try:
            folder = open_partition(what.path.parent)
        except ValueError as error:
            raise OptionError("path", str(error)) from None
        if self._wants(folder.topic_partition, asked_for=True):
            files = SegmentFiles.beside(what.base_offset, what.path)
            self._add(FoundLog(folder.topic_partition, what.path, self._root_of(folder), alone=files))

    def _wants(self, owner: TopicPartition, *, asked_for: bool = False) -> bool:
        options = self.options
        choice = options.subscribe, options.pattern, options.assign
        self.seen.add(owner)
        named = asked_for and choice == (None, None, None) and options.selection.has(owner)
        return options.wants(owner) or named

    def _root(self, path: Path) -> _Root:
        return self._roots.setdefault(path, _Root(path))

    def _root_of(self, folder: PartitionPath) -> _Root | None:
        return self._root(folder.root) if folder.kind is ReplicaKind.LIVE else None

    def _add(self, log: FoundLog) -> None:
        log.reading, log.omissions = self.options.reading, self.omissions
        known = self.logs.setdefault(log.topic_partition, [])
        # The same folder by two paths, or by a link, is one log.
        folder = real_path(log.path)
        if folder not in self._folders:
            self._folders.add(folder)
            known.append(log)


def _expanded(path: Path) -> list[Path]:
    """The paths that a glob names; an existing path is not a glob."""
    try:
        paths = named_paths(path)
    except NotALog as error:
        raise OptionError("path", shown(str(error))) from None
    if not paths:
        raise OptionError("path", f"{shown(path)}: nothing is called so")
    if paths == [path] and not path.exists():
        raise NoSuchPath("path", f"there is no {shown(path)}")
    return paths


def _with_tier(locations: Sequence[LogPath], tier: Path) -> list[LogPath]:
    """Log directories, and topic-partitions' folders, together with remote storage. Raises OptionError."""
    if not tier.exists():
        raise NoSuchPath("tier", f"there is no {shown(tier)}")
    try:
        views = with_remote_storage(*(what.path for what in locations), tier=tier)
    except ArgumentError as error:
        raise OptionError("tier", str(error)) from None
    return [what for view in views for what in find_logs(view)]


def _content(path: Path) -> str:
    names = sorted(entry.name for entry in path.iterdir())
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return f"{', '.join(map(shown, names[:4]))}{more}" if names else "nothing"


def read_failed(error: OSError, path: Path) -> ReadFailed:
    """The error of a file or folder that is there and cannot be read."""
    return error if isinstance(error, ReadFailed) else ReadFailed.of(error, source=shown(path))


def found_logs(options: Options, omissions: Omissions | None = None) -> dict[TopicPartition, list[FoundLog]]:
    """The logs that the options choose, by topic-partition: one or more of each, the preferred one first.

    A path may be a log directory, a folder of log directories, the folder of
    a topic-partition, one segment, or remote storage (KIP-405). In a log directory internal topics are left
    out unless selected; a path that names a folder or a segment is always read. What is left out is added to
    `omissions`.

    Raises: OSError if a path cannot be listed; OptionError if there is nothing, or not the selected ones;
    Malformed for a checkpoint of log start offsets that is damaged.
    """
    finder = _Finder(options, Omissions() if omissions is None else omissions)
    finder.look()
    _check_found(options, finder)
    for logs in finder.logs.values():
        if len(logs) > 1:
            logs.sort(key=lambda log: (log.rank, log.path), reverse=True)
    return dict(sorted(finder.logs.items()))


def _check_found(options: Options, finder: _Finder) -> None:
    if options.allow_empty:
        return
    missing: set[str] = set()
    if options.subscribe is not None:
        missing = set(options.subscribe - {owner.topic for owner in finder.logs})
    if options.assign is not None:
        missing = {str(owner) for owner in options.assign - set(finder.logs)}
    partitions = options.selection.partitions
    if partitions is not None and (unknown := partitions - {owner.partition for owner in finder.logs}):
        shown_numbers = ", ".join(map(str, sorted(unknown)))
        raise NoSuchPartition(f"no partition {shown_numbers}; there are {_some(finder.seen)}")
    if missing:
        name = "subscribe" if options.assign is None else "assign"
        where = f"not in the log directory: {', '.join(sorted(missing))}"
        known = (owner.topic if name == "subscribe" else str(owner) for owner in finder.seen)
        raise OptionError(name, where + meant(min(missing), known, f"there are {_some(finder.seen)}"))
    if not finder.logs:
        summary = f"there are {_some(finder.seen)}" if finder.seen else "there is no topic-partition"
        raise OptionError(
            "path",
            f"{', '.join(map(shown, options.paths))}: of {options.chosen} {summary}; "
            "set allowEmpty=true if no rows are expected",
        )


def _some(owners: Iterable[TopicPartition]) -> str:
    names = sorted(map(str, owners))
    return f"{', '.join(names[:10])}{f' and {len(names) - 10} more' if len(names) > 10 else ''}" or "none"


# -- from logs to pieces with offsets -------------------------------------------------------------


class Log:
    """All records of a topic-partition, each offset once.

    The preferred replica is read first; offsets below its first segment come from the next one, and
    so on. Records deleted according to one's log start offset are deleted in all.
    """

    def __init__(self, owner: TopicPartition, logs: Sequence[FoundLog], options: Options) -> None:
        self.owner = owner
        self.options = options
        self._reading = options.reading
        self.logs = logs
        start = max((log.start for log in logs), default=0)
        pieces: list[SourceSegment] = []
        for log in logs:
            lowest = pieces[0].segment.base_offset if pieces else None
            within_bounds = [piece.within(start, None) for piece in log.pieces(lowest)]
            pieces[:0] = [piece for piece in within_bounds if piece is not None]
        self.pieces = pieces
        self._start = start

    @property
    def earliest(self) -> int:
        """The first offset."""
        return self.pieces[0].start if self.pieces else self._start

    @cached_property
    def latest(self) -> int:
        """The offset after the last one. Opens the last segment."""
        return max([self.earliest, *(_end_of(piece.segment, self._reading) for piece in self.pieces[-1:])])

    def pinned(self) -> list[SourceSegment]:
        """The pieces, of which the last one ends at its current end. Raises FileNotFoundError."""
        if not self.pieces or self.pieces[-1].stop is not None:
            return self.pieces
        return [*self.pieces[:-1], _pinned(self.pieces[-1], self._reading)]

    def stable_end(self, *, committed: bool) -> int:
        """The offset after the last batch that is whole, and, with `committed`, of a transaction that is
        decided.

        A broker may be writing the last batch: one with a wrong checksum does not count yet.
        """
        end = self.earliest
        if self.pieces:
            end = max(end, _end_of(self.pieces[-1].segment, self._reading, whole=True))
        stable = _last_stable(self.logs[0]) if committed and self.logs else None
        # Deleted records of an open transaction are not waited for, as in Kafka.
        return end if stable is None else max(self.earliest, min(end, stable))

    def between(self, first: int | None, stop: int) -> list[SourceSegment]:
        """The pieces with the offsets from `first` on (None: of a log that is new) and below `stop`.

        Raises DataLoss if some are missing.
        """
        start = self.earliest if first is None else first
        if first is None and start > 0:
            self.lose(f"{self.owner} is new and starts at offset {start}, not at 0", 0, start - 1)
        if start < self.earliest and start < stop:
            text = f"{self.owner} has offsets from {self.earliest} on, not those from {start} on"
            self.lose(text, start, min(self.earliest, stop) - 1)
            start = self.earliest
        end = self.stable_end(committed=False)
        if start > stop:
            # it may have grown since
            text = f"{self.owner} ended at offset {stop}, and the query had read up to {start}"
            self.lose(text, stop, start - 1)
        elif stop > end:
            self.lose(f"{self.owner} ends at offset {end}, and did at {stop}", end, stop - 1)
        stop = min(stop, end)
        return [part._replace(is_requested=True) for part in _cut(self.pieces, start, stop)]

    def lose(self, text: str, first: int, last: int) -> None:
        """Report missing offsets. Raises DataLoss."""
        path = self.logs[0].path
        lost = Omission(Cause.MISSING, path, text, first_offset=first, last_offset=last)
        lose(self.options, self.logs[0].omissions, lost)

    def require_start(self, first: int = 0) -> bool:
        """Report records from an offset on that only remote storage has: see `losses.require_end`.

        Returns: whether there are none. Raises DataLoss unless the options say to go on without them.
        """
        base, options = self.logs[0], self.options
        if base.root is None or base.alone is not None or not base.is_local or base.is_unread:
            return True
        if any(log.tiered is not None for log in self.logs):
            # which is read too
            return True
        log, account = PartitionLog(base.path, limits=options.reading.limits), Omissions()
        sink = account if options.reading.skips_unreachable else None
        try:
            # what another replica has is there
            require_start(log, first, self.earliest - 1, sink)
        except OffsetsMissing as error:
            raise DataLoss(f"{self.owner}: {error}, or begin at a later offset") from None
        base.omissions.extend(account)
        return account.is_whole

    def lost_end(self, end: int) -> Omission | None:
        """The offsets from the `end` on that a checkpoint of the broker has: see `losses.require_end`.

        Raises OSError, FormatError.
        """
        log, reading = self.logs[0], self.options.reading
        if log.root is None or log.alone is not None or not log.is_local:
            return None
        try:
            if log.is_unread or log.root.known_ends.get(self.owner, 0) <= end:
                return None
            lost = Omissions()
            require_end(PartitionLog(log.path, limits=reading.limits), lost)
            for omission in lost:
                return replace(omission, reason=f"{self.owner}: {omission.reason}")
        except FormatError as error:
            if not reading.skips:
                raise
            log.omissions.failed(log.root.path, error)
        return None

    def resolved(self, edge: Edge, *, whole: bool = False) -> int:
        """The offset that an edge means here; with `whole` the latest is that of `stable_end`, as for a
        stream.

        Raises OptionError, and DataLoss if missing.
        """
        options = self.options
        of = edge.of if isinstance(edge.of, int) else edge.of.get(self.owner)
        if of is None:
            hint = "give each topic-partition a time" if edge.timed else "use -2 for earliest, -1 for latest"
            raise OptionError(edge.option, f"it does not set where {self.owner} is; {hint}")
        if edge.timed:
            offset = self.of_time(of)
            if offset == self.earliest and edge.is_start:
                # those before may not be older either
                self.require_start()
            if offset is not None:
                return offset
            if edge.is_start and not options.latest_if_none:
                raise OptionError(
                    edge.option,
                    f"{self.owner} has no record at {of} ms or later; "
                    "startingOffsetsByTimestampStrategy=latest starts at its end",
                )
        elif of == EARLIEST:
            self.require_start()
            return self.earliest
        if edge.timed or of == LATEST:
            return self.stable_end(committed=options.committed) if whole else self.latest
        latest = self.stable_end(committed=False) if whole else self.latest
        if not self.earliest <= of <= latest:
            text = f"{self.owner} has offsets {self.earliest} to {latest} (exclusive), not {of}"
            first, end = (of, self.earliest) if of < self.earliest else (latest, of)
            self.lose(f"{edge.option}: {text}", first, end - 1)
        return min(max(of, self.earliest), latest)

    def of_time(self, timestamp: int) -> int | None:
        """The first offset whose record is at or after a time, as in ListOffsets; None if all are older."""
        for piece, next_piece in zip_longest(self.pieces, self.pieces[1:]):
            after = None if next_piece is None else next_piece.segment.base_offset
            with Segment(piece.segment, self._reading.limits) as segment:
                # a piece may be a part of a segment, as the next one
                if not segment.is_older(timestamp, None if after == segment.base_offset else after):
                    match = segment.find_timestamp(timestamp, start_offset=piece.start)
                    if match is not None:
                        return match.offset
        return None


def lose(options: Options, omissions: Omissions, lost: Omission) -> None:
    """Report missing offsets. Raises DataLoss; with failOnDataLoss=false they are added to `omissions`."""
    if options.fail_on_data_loss:
        raise DataLoss(f"{lost.reason}; failOnDataLoss=false reads what is there")
    omissions.add(lost)


def _check_named(edge: Edge, owners: Iterable[TopicPartition]) -> None:
    if isinstance(edge.of, int):
        return
    if missing := set(edge.of) - set(owners):
        raise OptionError(edge.option, f"not among what is read: {_some(missing)}; leave them out")


@relisted
def list_segments(options: Options, omissions: Omissions | None = None) -> list[SourceSegment]:
    """The pieces of segments to read, by topic, partition and offset; each offset of a topic-partition once.

    What the options leave out, as they let it, is added to `omissions`, and has no piece. Raises as
    `found_logs`; OptionError and DataLoss for missing requested offsets; ReadFailed, FormatError.
    """
    omissions = Omissions() if omissions is None else omissions
    logs = found_logs(options, omissions)
    _check_named(options.start, logs)
    _check_named(options.end, logs)
    segments: list[SourceSegment] = []
    for owner, replicas in logs.items():
        try:
            segments += _selected(_pieces_of(Log(owner, replicas, options)), options)
        except OSError as error:
            if isinstance(error, FileNotFoundError) or not options.reading.skips_unreachable:
                raise
            replicas[0].leave(error)
    return segments


def _selected(pieces: list[SourceSegment], options: Options) -> Iterator[SourceSegment]:
    """The parts of the pieces that may have records that a job selects."""
    (first, last), since = options.selection.offsets, options.selection.timestamps.first
    if options.selection.offsets == EVERY and since <= 0:
        yield from pieces
        return
    end = None if last == EVERY.last else last + 1
    for piece in _cut(pieces, max(first, 0), end):
        # reading damage reports it
        with suppress(FormatError), Segment(piece.segment, options.reading.limits) as segment:
            if since > 0 and segment.is_older(since, piece.after):
                continue
        yield piece if end is None else piece._replace(lost=None)


def _pieces_of(log: Log) -> list[SourceSegment]:
    options = log.options
    first = None if options.start.plain == EARLIEST else log.resolved(options.start)
    if first is None:
        log.require_start(max(options.selection.offsets.first, 0))
    end = None if options.end.plain == LATEST else log.resolved(options.end)
    if options.committed:
        end = _earlier(end, _last_stable(log.logs[0]))
    # The current state defines the result, however late or often it is read.
    pieces = log.pieces if end is not None else log.pinned()
    selected = [part._replace(is_requested=True) for part in _cut(pieces, first, end)]
    if options.end.plain == LATEST:
        reached = pieces[-1].stop if pieces and end is None else log.latest
        # reading the last segment says why its end is not known
        lost = None if reached is None else log.lost_end(reached)
        if lost is not None and selected:
            selected[-1] = selected[-1]._replace(lost=lost)
        elif lost is not None:
            lose(options, log.logs[0].omissions, lost)
    return selected


def _cut(pieces: Iterable[SourceSegment], first: int | None, end: int | None) -> Iterator[SourceSegment]:
    """The parts of the pieces with these offsets."""
    for piece in pieces:
        if end is None or piece.segment.base_offset < end:
            part = piece.within(first, end)
            if part is not None:
                yield part


def _last_stable(log: FoundLog) -> int | None:
    """The offset up to which all transactions are decided; None for remote storage, which only has those."""
    if log.tiered is not None or not log.segments:
        return None
    folder = log.path.parent if log.alone is not None else log.path
    with PartitionLog(folder, limits=log.reading.limits) as whole:
        snapshots = dict(whole.files.snapshots)
        last = len(whole.segments) - 1
        transactions = find_transactions(whole.segments, snapshots, last, whole.end_offset, log.reading)
        stable = transactions.last_stable_offset
        if (omission := transactions.undecided(folder)) is not None:
            log.omissions.add(omission)
    # what lies after a segment that was asked for alone was not
    return stable if log.alone is None else min(stable, _end_of(log.alone, log.reading))


# -- from pieces to tasks -------------------------------------------------------------------------


def tasks_of(options: Options, pieces: Sequence[SourceSegment]) -> list[Task]:
    """Tasks of about `task_bytes`, with at most maxRecordsPerPartition offsets, at least minPartitions of
    them.

    If one of these is given, pieces are cut by offsets, and the last segments are opened to find their
    ends.
    """
    task_bytes = options.task_bytes or _task_bytes(pieces, os.cpu_count() or 1)
    tasks = pack(pieces, task_bytes, options.task_offsets, options.reading)
    if options.min_tasks is not None and 0 < len(tasks) < options.min_tasks:
        ended = [_ended(piece, options.reading) for piece in pieces]
        total = sum(max(0, (piece.stop or 0) - piece.start) for piece in ended)
        most = max(1, total // options.min_tasks)
        tasks = pack(ended, task_bytes, min(most, options.task_offsets or most), options.reading)
    return tasks


def _task_bytes(pieces: Sequence[SourceSegment], cores: int) -> int:
    """At most as much per task as Spark uses for files; less if cores would be idle.

    The workers' cores are unknown here, `cores` are this machine's: for a small log they are what
    counts.
    """
    total = sum(weight(piece) + _OPEN_COST for piece in pieces)
    return min(MOST_TASK, max(LEAST_TASK, total // cores))


def _ended(piece: SourceSegment, reading: LogReadOptions) -> SourceSegment:
    """The piece with an end, at least the current one."""
    if piece.stop is not None:
        return piece
    return piece._replace(end=max(_end_of(piece.segment, reading), piece.start))


def pack(
    listed: Iterable[SourceSegment],
    task_bytes: int,
    task_offsets: int | None = None,
    reading: LogReadOptions = _DEFAULT,
) -> list[Task]:
    """Put consecutive pieces together into tasks of about `task_bytes`; with `task_offsets` they are cut.

    Pieces keep their order, so within a task, and from task to task, offsets of a topic-partition ascend.
    """
    tasks: list[Task] = []
    current: list[SourceSegment] = []
    heavy = offsets = 0
    for item in listed:
        for piece in [item] if task_offsets is None else _in_parts(_ended(item, reading), task_offsets):
            count = 0 if task_offsets is None or piece.stop is None else piece.stop - piece.start
            cost = weight(piece) + _OPEN_COST
            if current and (
                heavy + cost > task_bytes or (task_offsets is not None and offsets + count > task_offsets)
            ):
                tasks.append(tuple(current))
                current, heavy, offsets = [], 0, 0
            current.append(piece)
            heavy += cost
            offsets += count
    if current:
        tasks.append(tuple(current))
    return tasks


def _in_parts(piece: SourceSegment, most: int) -> Iterator[SourceSegment]:
    """The piece in parts of at most this many offsets."""
    stop = piece.stop
    if stop is None or stop - piece.start <= most:
        yield piece
        return
    if (stop - piece.start) // most > _MOST_PARTS:
        raise OptionError(
            "maxRecordsPerPartition", f"{most} would make more than {_MOST_PARTS} tasks; set a larger number"
        )
    for first, end in pairwise([*range(piece.start, stop, most), stop]):
        last = end == stop
        yield piece._replace(
            first=first, end=end, tail=piece.tail and last, lost=piece.lost if last else None
        )


def weight(piece: SourceSegment) -> int:
    """The bytes of a piece, assuming that its offsets are spread evenly over its segment."""
    size, base = piece.segment.size, piece.segment.base_offset
    if piece.end is None or piece.stop is None:
        return size
    whole = max(1, (piece.after if piece.after is not None else piece.end) - base)
    return min(size, size * max(0, piece.stop - piece.start) // whole)
