"""The batches and records of log files, and the entries of the files beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any

from kodec.cli import output
from kodec.cli.outcome import BAD_USAGE, Outcome
from kodec.cli.progress import progress
from kodec.cli.stdin import is_stdin, stdin
from kodec.generated.log.offset_index import OffsetIndex
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.generated.log.time_index import TimeIndex
from kodec.generated.log.transaction_index import TransactionIndex
from kodec.log.backends.scan import EVERY
from kodec.log.batches.batch import Batch
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import ControlRecord
from kodec.log.batches.sizes import OFFSET_ENTRY, TIME_ENTRY
from kodec.log.directories.losses import require_end
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.checkpoints import (
    read_clean_shutdown,
    read_leader_epochs,
    read_meta_properties,
    read_offsets,
    read_partition_metadata,
    read_quorum_state,
)
from kodec.log.files.descriptors import read_regular
from kodec.log.files.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    PARTITION_METADATA,
    QUORUM_STATE,
    RECOVERY_POINTS,
)
from kodec.log.files.paths import PartitionPath
from kodec.log.messages.decoding import decode, has_messages
from kodec.log.omissions import Cause, Omission, Omissions, cause_of
from kodec.log.reading.reader import BatchReader, OnError, batch_reader
from kodec.log.remote.resolve import LogDirectoryPath, NotALog, find_logs
from kodec.log.remote.tier import as_logs
from kodec.log.remote.topics import topic_of
from kodec.log.tables.chosen import Piece
from kodec.log.tables.several import FileEnd, report_end
from kodec.runtime.dataclass import fields, replace
from kodec.runtime.errors import FormatError
from kodec.stores.storage import StorePath, files_below

__all__ = ["dump_files"]

_SEGMENTS = (".log", ".checkpoint")
_INDEXES: dict[str, tuple[str, int, Callable[[bytes], list[Any]]]] = {
    ".index": ("offsetIndexEntry", OFFSET_ENTRY, lambda data: OffsetIndex.from_bytes(data).entries),
    ".timeindex": ("timeIndexEntry", TIME_ENTRY, lambda data: TimeIndex.from_bytes(data).entries),
    ".txnindex": ("abortedTransaction", 0, lambda data: TransactionIndex.from_bytes(data).entries),
    ".snapshot": ("producerState", 0, lambda data: ProducerSnapshot.from_bytes(data).entries),
}


def _offsets(path: Path) -> list[dict[str, object]]:
    return [{**key._asdict(), "offset": offset} for key, offset in read_offsets(path).items()]


# What Aiven's plugin stores next to a segment's log.
_BESIDE_REMOTE = (".indexes", ".rsm-manifest")
_CHECKPOINTS = (RECOVERY_POINTS, LOG_START_OFFSETS, HIGH_WATERMARKS, CLEANER_OFFSETS)
# The text files of a log directory, by name.
_TEXTS: dict[str, tuple[str, Callable[[Path], list[dict[str, object]]]]] = {
    **dict.fromkeys(_CHECKPOINTS, ("checkpoint", _offsets)),
    LEADER_EPOCHS: ("leaderEpoch", lambda path: [epoch._asdict() for epoch in read_leader_epochs(path)]),
    META_PROPERTIES: ("metaProperties", lambda path: [dict(read_meta_properties(path).properties)]),
    PARTITION_METADATA: (
        "partitionMetadata",
        lambda path: [{name: str(value) for name, value in read_partition_metadata(path)._asdict().items()}],
    ),
    QUORUM_STATE: ("quorumState", lambda path: [dict(read_quorum_state(path).properties)]),
    CLEAN_SHUTDOWN: ("cleanShutdown", lambda path: [read_clean_shutdown(path)._asdict()]),
}


def dump_files(
    paths: list[Path],
    printer: output.Printer,
    *,
    control: bool,
    on_error: OnError,
    check_crc: bool,
    batches_only: bool,
    decode: bool,
) -> int:
    """Dump each file; 0 if all were good, 1 if one was not (the others are still dumped).

    The segments of a log are compared with each other, and its end with the checkpoints.
    """
    printer.batches = batches_only
    outcome = Outcome()
    bare: list[Path] = []
    for path, piece in _files(paths, outcome, bare):
        printer.file(str(path))
        try:
            with outcome.each(path), _unless_gone(path, path in paths, outcome):
                if path.name in _TEXTS:
                    name, lines = _TEXTS[path.name]
                    for line in lines(path):
                        printer.item(name, line)
                elif path.suffix in _INDEXES:
                    _dump_index(path, printer)
                elif path.suffix in _BESIDE_REMOTE:
                    what = "belongs to a segment in remote storage; name its .log, or the folder"
                    outcome.fail(f"kodec: {path}: {what}")
                else:
                    options = LogReadOptions(check_crc=check_crc, control=control, on_error=on_error)
                    _dump_segment(path, piece, printer, options, batches_only, decode, outcome.omissions)
        finally:
            outcome.report()
    for folder in bare:
        output.warn(f"kodec: {folder}: no segment in it or in its folders ({' or '.join(_SEGMENTS)})")
    return outcome.end(json=isinstance(printer, output.JsonLines)) or (BAD_USAGE if bare else 0)


def _dump_index(path: Path, printer: output.Printer) -> None:
    """Print the entries of an index, without preallocated zeros."""
    kind, size, read = _INDEXES[path.suffix]
    data = read_regular(path)
    if size:
        used = data[: -(-len(data.rstrip(b"\0")) // size) * size]
        if ahead := len(data) // size - len(used) // size:
            output.warn(f"{path}: {output.count(ahead, 'entry', 'entries')} of zeros allocated ahead")
        data = used + data[len(data) // size * size :]
    try:
        items = read(data)
    except FormatError as error:
        raise error.in_source(str(path)) from None
    for item in items:
        printer.item(kind, {field.name: getattr(item, field.name) for field in fields(item)})


@contextmanager
def _unless_gone(path: Path, is_named: bool, outcome: Outcome) -> Iterator[None]:
    """A file of a folder may have been deleted since that was listed; one that the user named must exist."""
    try:
        yield
    except FileNotFoundError as error:
        if is_named:
            raise
        outcome.omissions.lose(path, f"deleted since it was listed: {error}", Cause.ABSENT)


def _files(paths: list[Path], outcome: Outcome, bare: list[Path]) -> Iterator[tuple[Path, Piece | None]]:
    """The files named, and those with records in the named folders: segments of logs with their neighbours.

    Reports folders that cannot be listed or have no such file.
    """
    for path in paths:
        if not path.is_dir():
            yield path, None
            continue

        # of remote storage only the segments that count
        below = as_logs(path) or path
        replicas = list(_replicas(below))

        def failed(error: OSError, path: Path = path, replicas: Sequence[Path] = replicas) -> None:
            # a link that is a topic-partition's folder is read as one
            if (location := Path(error.filename or path)) not in replicas:
                outcome.omissions.failed(location, error)

        pieces: dict[Path, Piece | None] = {
            file: None for file in files_below(below, failed) if file.name.endswith(_SEGMENTS)
        }
        for folder in replicas:
            with outcome.each(folder):
                log = PartitionLog(folder)
                segments = log.files.segments
                for files, after in zip_longest(segments, segments[1:]):
                    pieces[files.log] = Piece(files, log, after=after)
                if not segments and not isinstance(folder, StorePath):
                    require_end(log, outcome.omissions)
        outcome.report()
        if not pieces and outcome.omissions.is_whole:
            bare.append(path)
        yield from sorted(pieces.items(), key=itemgetter(0))


def _replicas(path: Path) -> list[Path]:
    """The folders of replicas of any kind at a path. Raises OSError."""
    try:
        locations = find_logs(path)
    except NotALog:
        return []
    folders: list[Path] = []
    for location in locations:
        if isinstance(location, LogDirectoryPath):
            folders += [replica.path for replica in location.replicas]
        elif isinstance(location, PartitionPath):
            folders.append(path)
    return folders


def _dump_segment(
    path: Path,
    piece: Piece | None,
    printer: output.Printer,
    options: LogReadOptions,
    batches_only: bool,
    decoded: bool,
    omissions: Omissions,
) -> None:
    """Print the batches and records of one segment, and report what it and the offsets after it lack."""
    source = stdin() if is_stdin(path) else path
    reader = batch_reader(source, options)
    topic = (topic_of(path) if decoded else None) or ""
    last = None if piece is None else piece.files.base_offset - 1
    for batch in _with_progress(reader, path):
        last = batch.last_offset if last is None else max(last, batch.last_offset)
        try:
            records = (
                [] if batches_only else batch.records(control=options.control, check_crc=options.check_crc)
            )
        except FormatError as error:
            if not options.skips:
                raise error.in_source(str(path)) from None
            reason = f"skipped the records of {batch!r}: {error}"
            omissions.add(Omission(cause_of(error), path, reason, batch.position, batch.size))
            continue
        printer.batch(batch)
        for record in records:
            if decoded and (has_messages(topic) or isinstance(record, ControlRecord)):
                printer.decoded(record, *decode(topic, record))
            else:
                printer.record(record)
    if piece is None:
        omissions.end(path, reader.skipped, reader.torn_tail, is_last=True)
    else:
        end = FileEnd(path, reader.position, reader.torn_tail, reader.skipped)
        # whatever --on-error says, it goes on with the next file
        report_end(piece, end, last, EVERY, replace(options, on_error="skip"), omissions)


def _with_progress(reader: BatchReader, path: Path) -> Iterator[Batch]:
    """The batches, with a progress bar if the file is large and the output goes elsewhere."""
    passed = 0
    with progress(path.name, 0 if is_stdin(path) else path.stat().st_size) as step:
        for batch in reader:
            yield batch
            step(batch.position + batch.size - passed)
            passed = batch.position + batch.size
