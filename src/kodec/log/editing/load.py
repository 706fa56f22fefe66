"""Writes a log directory from lines of `log_lines`, which a script may have changed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.log.batches.records import Limits
from kodec.log.batches.sizes import MAX_SEGMENT
from kodec.log.directories.epochs import assign, from_start, up_to
from kodec.log.directories.gaps import joined_ranges
from kodec.log.directories.producer_state import ProducerState
from kodec.log.editing.batch_lines import batch_bytes
from kodec.log.editing.fields import Fields
from kodec.log.files.checkpoints import (
    LeaderEpoch,
    offset_ranges_bytes,
    read_leader_epochs,
    write_leader_epochs,
    write_offsets,
)
from kodec.log.files.durable import replace_file, sync_folder
from kodec.log.files.listing import TopicPartition, parse_partition_dir
from kodec.log.files.lock import locked
from kodec.log.files.names import CLEANER_OFFSETS, LEADER_EPOCHS, LOG_START_OFFSETS, OMITTED_OFFSETS
from kodec.log.files.paths import is_own_folder
from kodec.log.omissions import Omissions
from kodec.log.reading.reader import read_batches
from kodec.log.remote.opening import require_outside_logs
from kodec.log.writing.config import LogConfig
from kodec.log.writing.directory_writer import LogDirectoryWriter
from kodec.log.writing.incoming import refuse_unfit
from kodec.log.writing.writer import LogWriter
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import EncodeError, FormatError, StalePlan
from kodec.runtime.plan import OnStep, Plan, ignore
from kodec.stores.storage import on_this_machine

__all__ = ["Lines", "LoadPlan", "LoadedLog", "lines_of", "plan_load"]

_INT64 = 2**63 - 1
_INT32 = 2**31 - 1
_LINE = 1 << 30
# The lines determine where segments end.
_CONFIG = LogConfig(segment_bytes=MAX_SEGMENT, segment_ms=_INT64)
# For each element of the limits: a record is an object with a list of headers and mostly one value in base64.
_NESTED, _VALUES = 3, 8
AT_ONCE = 1 << 20
_CUT = "the program that printed the lines did not finish"
Lines = Iterable[bytes]


@dataclass(slots=True)
class LoadedLog:
    """What was written for a topic-partition, or would be.

    Attributes:
        segments, batches, records: how many; as_stored: batches whose records kept their bytes.
        first_offset: where its first segment begins. end_offset: the one after the last.
        bytes: of all logs.
        omissions: what the log lacks that the lines are of: offsets that are lost.
        topic_partition: which one.

    Example: see `plan_load`.
    """

    topic_partition: TopicPartition
    segments: int = 0
    batches: int = 0
    as_stored: int = 0
    records: int = 0
    first_offset: int = 0
    end_offset: int = 0
    bytes: int = 0
    omissions: Omissions = field(default_factory=Omissions)


@dataclass(frozen=True, slots=True)
class LoadPlan(Plan[list[LoadedLog]]):
    """A log directory to be written from lines; `preview` reads and checks them, `apply` writes it.

    Attributes:
        source: the name of the lines in errors. lines: yields them, from the first on.
        target: the folder to create. cluster_id, node_id: for its `meta.properties`; None for none.
        limits: how much may be allocated for one batch.
        fingerprint: the SHA-256 of the lines that `preview` has read: `apply` takes no others. Empty before.

    Example: see `plan_load`.
    """

    source: str
    lines: Callable[[], Lines]
    target: Path
    cluster_id: str | None = None
    node_id: int | None = None
    limits: Limits = field(default=Limits(), repr=False)
    fingerprint: bytearray = field(default_factory=bytearray, repr=False)

    def require_current(self) -> None:
        """Raises StalePlan if the lines, which are read again, are not those that `preview` has read.

        `apply` compares them as it writes, before the log directory appears.
        """
        digest = hashlib.sha256()
        for line in self.lines() if self.fingerprint else ():
            digest.update(line)
        self._require(digest.digest())

    def _require(self, digest: bytes) -> None:
        if self.fingerprint not in (b"", digest):
            raise StalePlan(self.source, "has changed since the preview")

    def preview(self) -> list[LoadedLog]:
        """Read all lines and return what would be written; write nothing. Errors as in `apply`."""
        _require_free(self.target)
        load = _Load(self, None)
        logs = load.run()
        self.fingerprint[:] = load.digest.digest()
        return logs

    def apply(self, *, on_step: OnStep = ignore) -> list[LoadedLog]:
        """Write the log directory, and call `on_step` with it. It appears once it is durable, or not at all.

        Raises: EncodeError that names the line and the field; StalePlan if the lines are not those that
        `preview` has read; FileExistsError if the target is not empty; OSError (BlockingIOError if another
        load has the same target).
        """
        _require_free(self.target)
        self.target.parent.mkdir(parents=True, exist_ok=True)
        working = self.target.with_name(f".{self.target.name}.kodec-load")
        with ExitStack() as stack:
            # Kept until the folder has its name; another load with this target is refused meanwhile.
            stack.enter_context(locked(_working_folder(working)))
            _clear(working)
            try:
                with LogDirectoryWriter(
                    working, cluster_id=self.cluster_id, node_id=self.node_id, config=_CONFIG
                ) as directory:
                    load = _Load(self, directory)
                    loaded = load.run()
                self._require(load.digest.digest())
                load.note_offsets(working)
                sync_folder(working)
                _require_free(self.target)
                working.rename(self.target)
            except BaseException:
                shutil.rmtree(working, ignore_errors=True)
                raise
            sync_folder(self.target.parent)
        on_step(self.target)
        return loaded


def plan_load(
    source: str,
    lines: Callable[[], Lines],
    to: str | os.PathLike[str],
    *,
    cluster_id: str | None = None,
    node_id: int | None = None,
    limits: Limits = Limits(),
) -> LoadPlan:
    """Plan to write a log directory from lines in the edit format; reads nothing yet.

    Offsets, timestamps, producers, transactions, epochs and where segments begin are those of the lines.
    Batches with unchanged records keep their bytes. Indexes, producer snapshots, transaction
    indexes and checkpoints are built while the log is written.

    Args:
        source: the name of the lines in errors, such as a file name.
        lines: called once by `preview` and `apply` each. The last is of the type `eof`.
        to: a new or empty folder.
        cluster_id, node_id: of the broker that will use it; see `LogDirectoryWriter`.
        limits: how much may be allocated for one batch.

    Returns: a plan; `apply` writes.
    Raises: ValueError for a target in a log directory.

    Example:
        >>> import json
        >>> import kodec
        >>> log = kodec.PartitionLog("/data/kafka-logs/orders-0")
        >>> lines = [json.dumps(line).encode() for line in kodec.operations.log_lines(log)]
        >>> plan = kodec.operations.plan_load("a script", lambda: lines, "new")
        >>> (loaded,) = plan.apply()
        >>> str(loaded.topic_partition), loaded.records, loaded.end_offset
        ('orders-0', 421, 421)
    """
    folder = on_this_machine(to).absolute()
    require_outside_logs(folder)
    return LoadPlan(source, lines, folder, cluster_id, node_id, limits)


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; of an overlong one only a part, which is then refused."""
    while line := file.readline(_LINE + 1):
        yield line


def _working_folder(working: Path) -> Path:
    """The folder, new or left by a killed load; what else has the name may be another user's, or lead to what
    must not be deleted."""
    working.mkdir(exist_ok=True)
    if not is_own_folder(working):
        raise FileExistsError(f"{working} is not of a load of this user: delete it")
    return working


def _clear(working: Path) -> None:
    """Remove the remains of a killed load."""
    for path in working.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != ".lock":
            path.unlink()


def _require_free(target: Path) -> None:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} exists and is not an empty folder")


@dataclass(slots=True)
class _Log:
    """The log that is being written.

    Attributes:
        omitted: as its line has them; None: it has none.
        compacted: the offset below which compaction has left the gaps.
        started: whether it has a segment or a batch.
        reached: the offset after what has been read, or is lost.
        missing: the offsets that it lacks and that are not lost.
        edited: whether compaction does not explain them all.
    """

    loaded: LoadedLog
    topic_id: UUID | None
    start_offset: int
    epochs: list[LeaderEpoch]
    cleaned: int
    producers: ProducerState
    omitted: list[tuple[int, int]] | None
    compacted: int
    writer: LogWriter | None = None
    started: bool = False
    reached: int = 0
    missing: list[tuple[int, int]] = field(default_factory=list)
    edited: bool = False

    def reach(self, offset: int) -> None:
        """Take the offsets up to this one as left out on purpose."""
        first = self.reached
        if first < offset:
            self.edited |= offset > max(self.compacted, self.cleaned)
            if self.missing and self.missing[-1][1] + 1 == first:
                first = self.missing.pop()[0]
            self.missing.append((first, offset - 1))
        self.reached = max(self.reached, offset)


class _Load:
    """Writes lines into a log directory; nowhere if that is None."""

    def __init__(self, plan: LoadPlan, directory: LogDirectoryWriter | None) -> None:
        self._plan = plan
        self._directory = directory
        self._logs: dict[TopicPartition, _Log] = {}
        self._log: _Log | None = None
        self._ended = 0
        self._is_complete = False
        self.digest = hashlib.sha256()

    def run(self) -> list[LoadedLog]:
        for number, line in enumerate(self._plan.lines(), 1):
            self.digest.update(line)
            if line.isspace():
                continue
            location = f"line {number} of {self._plan.source}"
            try:
                self._take(_parsed(line, self._plan.limits))
            except EncodeError as error:
                raise error.in_source(location) from None
            except FormatError as error:
                raise EncodeError(error.path, str(error)).in_source(location) from error
        if self._log is not None:
            raise EncodeError("type", f"no line of type end: {_CUT}").in_source(self._plan.source)
        if not self._is_complete:
            raise EncodeError("type", f"no line of type eof: {_CUT}").in_source(self._plan.source)
        return [log.loaded for log in self._logs.values()]

    def note_offsets(self, root: Path) -> None:
        """Write the checkpoints of the log directory: log start offsets, offsets of compaction."""
        starts = {key: log.start_offset for key, log in self._logs.items() if log.start_offset > 0}
        if starts:
            write_offsets(root / LOG_START_OFFSETS, starts)
        cleaned = {key: log.cleaned for key, log in self._logs.items() if log.cleaned > 0}
        if cleaned:
            write_offsets(root / CLEANER_OFFSETS, cleaned)

    def _take(self, fields: Fields) -> None:
        kind = fields.text("type", None)
        if kind in ("log", "eof") and self._log is not None:
            raise EncodeError("type", f"the log before has no line of type end: {_CUT}", have=kind)
        self._is_complete = kind == "eof"
        if kind == "log":
            self._begin(fields)
        elif kind == "eof":
            logs = fields.integer("logs", 0, _INT64)
            fields.end()
            if self._ended != logs:
                raise EncodeError("logs", "not the number of logs before it", need=self._ended, have=logs)
            self._ended = 0
        elif kind not in ("segment", "batch", "lost", "end"):
            need = "log, segment, batch, lost, end or eof"
            raise EncodeError("type", "not a type of line", need=need, have=kind)
        elif self._log is None:
            raise EncodeError("type", "a line of type log comes first", have=kind)
        elif kind == "segment":
            offset = fields.integer("baseOffset", 0, _INT64)
            fields.end()
            self._roll(self._log, offset)
        elif kind == "batch":
            self._append(self._log, fields)
        elif kind == "lost":
            self._lose(self._log, fields)
        else:
            fields.end()
            self._end(self._log)
            self._log = None
            self._ended += 1

    def _begin(self, fields: Fields) -> None:
        topic, partition = fields.text("topic"), fields.integer("partition", 0, _INT32)
        key = TopicPartition(topic, partition)
        if parse_partition_dir(str(key)) != key:
            raise EncodeError("topic", "not a name of a topic", have=topic)
        if key in self._logs:
            raise EncodeError("topic", "used before", have=str(key))
        self._log = self._logs[key] = _Log(
            LoadedLog(key),
            _topic_id(fields.text("topicId", None)),
            fields.integer("startOffset", 0, _INT64, 0),
            [_epoch(entry, path) for entry, path in fields.items("leaderEpochs", [])],
            fields.integer("cleanedUpTo", 0, _INT64, 0),
            _producers(fields.text("producers", None)),
            _ranges(fields),
            fields.integer("compactedUpTo", 0, _INT64, 0),
        )
        fields.end()

    def _start(self, log: _Log, offset: int) -> None:
        log.started = True
        log.loaded.segments = 1
        log.loaded.first_offset = log.loaded.end_offset = log.reached = offset
        if self._directory is not None:
            topic, partition = log.loaded.topic_partition
            log.writer = self._directory.partition(
                topic, partition, topic_id=log.topic_id, start_offset=offset, producers=log.producers
            )

    def _roll(self, log: _Log, offset: int) -> None:
        if not log.started:
            self._start(log, offset)
            return
        if offset < log.loaded.end_offset:
            need = f"at least {log.loaded.end_offset}"
            raise EncodeError("baseOffset", "segments must ascend", need=need, have=offset)
        log.loaded.segments += 1
        log.loaded.end_offset = offset
        log.reach(offset)
        if log.writer is not None:
            log.writer.roll(offset)

    def _lose(self, log: _Log, fields: Fields) -> None:
        """Offsets that were lost before: they stay lost, and are not taken for edited ones."""
        first = fields.integer("firstOffset", log.reached, _INT64)
        last = fields.integer("lastOffset", first, _INT64 - 1)
        fields.end()
        log.reach(first)
        log.reached = last + 1
        log.loaded.omissions.gap(self._plan.target / str(log.loaded.topic_partition), first, last)

    def _append(self, log: _Log, fields: Fields) -> None:
        data, records, is_stored = batch_bytes(fields, self._plan.limits)
        batches = list(read_batches(data, limits=self._plan.limits))
        if not batches:
            return
        if not log.started:
            self._start(log, batches[0].base_offset)
        refuse_unfit(batches, MAX_SEGMENT, log.loaded.end_offset)
        if log.writer is not None:
            log.writer.append(data, keep_offsets=True)
        for batch in batches:
            log.reach(batch.base_offset)
            if batch.count <= batch.last_offset - batch.base_offset:
                for record in batch.records(control=True):
                    log.reach(record.offset)
                    log.reached = record.offset + 1
                log.reach(batch.next_offset)
            log.reached = max(log.reached, batch.next_offset)
        log.loaded.batches += len(batches)
        log.loaded.as_stored += is_stored
        log.loaded.records += records
        log.loaded.end_offset = batches[-1].next_offset
        log.loaded.bytes += len(data)

    def _end(self, log: _Log) -> None:
        """Close a log, with the leader epochs that it had."""
        if not log.started:
            self._start(log, log.start_offset)
        if log.start_offset <= log.loaded.first_offset:
            log.start_offset = 0
        if log.start_offset > log.loaded.end_offset:
            need = f"at most {log.loaded.end_offset}"
            raise EncodeError("startOffset", "above the end of the log", need=need, have=log.start_offset)
        log.cleaned = min(log.cleaned, log.loaded.end_offset)
        if log.writer is not None:
            log.writer.close()
            path = log.writer.path / LEADER_EPOCHS
            epochs = up_to(log.epochs, log.loaded.end_offset)
            for epoch in read_leader_epochs(path):
                if not epochs or epoch.epoch > epochs[-1].epoch:
                    assign(epochs, epoch)
            start = max(log.start_offset, log.loaded.first_offset)
            write_leader_epochs(path, from_start(epochs, start))
            if log.omitted is not None or log.edited:
                omitted = joined_ranges([*(log.omitted or ()), *log.missing])
                replace_file(log.writer.path / OMITTED_OFFSETS, offset_ranges_bytes(omitted))


def _parsed(line: bytes, limits: Limits) -> Fields:
    if len(line) > _LINE:
        raise EncodeError("", "the line is too long", need=f"at most {_LINE} bytes")
    most = limits.elements
    if len(line) > most:
        nested, values = _values_in(line)
        if nested > _NESTED * most or values > _VALUES * most:
            need = f"at most {_NESTED * most} lists and objects and {_VALUES * most} values"
            raise EncodeError("", "the line has too many values", need=need, have=f"{nested} and {values}")
    try:
        return Fields(json.loads(line))
    except RecursionError:
        raise EncodeError("", "not JSON of ours: nested too deep") from None
    except ValueError as error:
        if isinstance(error, EncodeError):
            raise
        raise EncodeError("", f"not JSON: {error}") from None


def _values_in(line: bytes) -> tuple[int, int]:
    """How many lists and objects a line of JSON has, and how many commas, without making any value.

    A value of a few bytes becomes an object of a hundred.
    """
    plain = line.replace(b"\\\\", b"").replace(b'\\"', b"")
    nested = values = 0
    in_text = False
    for start in range(0, len(plain), AT_ONCE):
        parts = plain[start : start + AT_ONCE].split(b'"')
        bare = b"".join(parts[in_text::2])
        nested += bare.count(b"[") + bare.count(b"{")
        values += bare.count(b",")
        in_text ^= len(parts) % 2 == 0
    return nested, values


def _topic_id(text: str | None) -> UUID | None:
    try:
        topic_id = None if text is None else UUID(text)
    except ValueError:
        raise EncodeError("topicId", "not a UUID", have=text) from None
    if topic_id is not None and not topic_id.int:
        raise EncodeError("topicId", "the id that means none", have=text)
    return topic_id


def _epoch(value: object, path: str) -> LeaderEpoch:
    if isinstance(value, list) and len(value) == 2 and all(type(number) is int for number in value):
        epoch, start = value
        if 0 <= epoch <= _INT32 and 0 <= start <= _INT64:
            return LeaderEpoch(epoch, start)
    raise EncodeError(path, "not an epoch", need="[epoch, start offset]", have=value)


def _ranges(fields: Fields) -> list[tuple[int, int]] | None:
    """`omittedOffsets`; None if the line has none."""
    if not fields.has("omittedOffsets"):
        return None
    ranges = []
    for bounds, path in fields.items("omittedOffsets"):
        if not (
            isinstance(bounds, list) and len(bounds) == 2 and all(type(offset) is int for offset in bounds)
        ):
            raise EncodeError(path, "not a range", need="[first offset, last offset]", have=bounds)
        if not 0 <= bounds[0] <= bounds[1] <= _INT64:
            raise EncodeError(path, "not a range", need="offsets that ascend", have=bounds)
        ranges.append((bounds[0], bounds[1]))
    return ranges


def _producers(text: str | None) -> ProducerState:
    if text is None:
        return ProducerState()
    try:
        return ProducerState(ProducerSnapshot.from_bytes(base64.b64decode(text, validate=True)))
    except (binascii.Error, ValueError, FormatError) as error:
        raise EncodeError("producers", f"not a producer snapshot in base64: {error}") from None
