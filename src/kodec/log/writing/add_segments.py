"""Adds finished segments to the end of logs in a log directory: all of them once, or none.

For programs that make segments elsewhere, in pieces and perhaps twice, as the tasks of a cluster do. The work
is recorded first (`kodec-sink.json` in the log directory): from then on it will be completed, by
the next call if this process dies. Because a log directory may be untrusted, the recorded work
can only move files of segments out of staging folders next to it into folders of topic-partitions.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from kodec.log.batches.sizes import HEADS, OFFSET
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.files.checkpoints import LeaderEpoch, write_leader_epochs
from kodec.log.files.descriptors import read_regular
from kodec.log.files.durable import make_folder, make_root, replace_file, sync_folder, write_all
from kodec.log.files.indexes import IndexBuilder, base_offset_after
from kodec.log.files.listing import TopicPartition, list_partition, parse_file_name, parse_partition_dir
from kodec.log.files.lock import claimed, locked
from kodec.log.files.names import INDEXES, LEADER_EPOCHS, file_name
from kodec.log.files.paths import require_no_link
from kodec.log.writing.prepare import refuse_unfinished, remove_clean_shutdown
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import EncodeError, KodecError, Malformed
from kodec.runtime.foreign_json import whole_number
from kodec.runtime.system import NOFOLLOW

__all__ = [
    "JOURNAL",
    "FinishedSegment",
    "add_segments",
    "finish_additions",
    "is_unfinished",
    "note_epoch",
    "staging_folder",
]

JOURNAL = "kodec-sink.json"
"""The additions of each query, and the moves still to be made."""

PATIENCE = 30.0
_PAUSE = 0.05
_KINDS = ("log", *INDEXES)
# Named after the log directory, which may have been renamed since.
_STAGING = re.compile(r"\.[^/]+\.kodec-sink-[^/]+")


def staging_folder(root: Path, name: str) -> Path:
    """The folder next to a log directory in which the segments of one addition are made."""
    return root.parent / f".{root.name}.kodec-sink-{name}"


@dataclass(frozen=True, slots=True)
class FinishedSegment:
    """A closed, durable segment in a folder of its topic-partition that no broker uses.

    Attributes:
        path: its log, named by `base_offset`, with its indexes next to it; batches of magic 2 alone.
        first_offset: of its first batch, which may be above the base offset.
        next_offset: the one after the last.
        records, bytes: their numbers.
        max_timestamp: the largest, in ms since epoch; -1: none.
    """

    topic_partition: TopicPartition
    path: Path
    base_offset: int
    first_offset: int
    next_offset: int
    records: int
    bytes: int
    max_timestamp: int


@dataclass(slots=True)
class _Journal:
    """Completed and pending work.

    Attributes:
        batches: the last batch of each query.
        moves: the pending renames, source and target; both relative to the log directory.
    """

    batches: dict[str, int] = field(default_factory=dict)
    moves: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def load(cls, root: Path) -> _Journal:
        path = root / JOURNAL
        if not path.exists():
            return cls()
        data = read_regular(path)
        try:
            document: Any = json.loads(data)
            if document["version"] != 1:
                raise ValueError(document["version"])
            batches = {str(query): whole_number(batch) for query, batch in document["batches"].items()}
            moves = [(str(source), str(target)) for source, target in document["moves"]]
            if not all(_is_of_an_addition(*move) for move in moves):
                raise ValueError(moves)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            wrong = Malformed("", "not a journal of segments that were added", at=0, have=repr(data[:40]))
            raise wrong.in_source(str(path)) from error
        return cls(batches, moves)

    def save(self, root: Path) -> None:
        document = {"version": 1, "batches": self.batches, "moves": self.moves}
        replace_file(root / JOURNAL, json.dumps(document).encode())


def _is_of_an_addition(source: str, target: str) -> bool:
    """Whether a file of a segment moves from a staging folder to a topic-partition's."""
    match PurePosixPath(source).parts, PurePosixPath(target).parts:
        case ("..", staging, *folders, file_name), (owner, name):
            staged, final = parse_file_name(file_name), parse_file_name(name)
            return (
                _STAGING.fullmatch(staging) is not None
                and ".." not in folders
                and parse_partition_dir(owner) is not None
                and staged is not None
                and final is not None
                and staged[1] == final[1]
                and final[1] in _KINDS
            )
    return False


@contextmanager
def _waiting_for(root: Path) -> Iterator[None]:
    """The lock of the log directory; waits for other additions."""
    deadline = time.monotonic() + PATIENCE
    while True:
        lock = locked(root)
        try:
            lock.__enter__()
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


def is_unfinished(root: str | os.PathLike[str]) -> bool:
    """Whether an interrupted addition must still move segments. Raises Malformed; OSError."""
    return bool(_Journal.load(Path(root)).moves)


def finish_additions(root: str | os.PathLike[str]) -> None:
    """Complete an interrupted addition, if there is one.

    Raises: Malformed for a damaged journal; BlockingIOError if a broker or another program holds the lock;
    ValueError if a link is in the way; OSError.
    """
    path = Path(root).absolute()
    if (path / JOURNAL).exists():
        with _waiting_for(path):
            _finish(path, _Journal.load(path))


def add_segments(
    root: str | os.PathLike[str],
    segments: Sequence[FinishedSegment],
    *,
    keep_offsets: bool = False,
    batch: tuple[str, int] | None = None,
) -> dict[TopicPartition, range] | None:
    """Move segments to the end of the logs in a log directory, which is created if missing.

    When this returns they are durable in their place; if it raises, all or none will be there once the
    next call, or `finish_additions`, has returned. Their batches get the offsets from the end of each log on,
    in the order given, and its newest leader epoch, in place.

    Args:
        segments: made in a `staging_folder` of `root`. They are consumed: after an error, create them again.
        keep_offsets: take the offsets as they are: ascending, from the end of each log on, gaps allowed.
        batch: a query and the number of its batch: numbers of a query not higher than its last one
            are already done.

    Returns: the offsets that each topic-partition received; None if the batch was done before.
    Raises: EncodeError for offsets that do not ascend, and segments that were used before; BlockingIOError
    if a broker or another program holds the lock; FormatError for a log that must be recovered first;
    ValueError for segments elsewhere, and if a link is in the way; OSError.
    """
    path = Path(root).absolute()
    make_root(path)
    with _waiting_for(path):
        journal = _Journal.load(path)
        _finish(path, journal)
        if batch is not None:
            if journal.batches.get(batch[0], -1) >= batch[1]:
                return None
            journal.batches[batch[0]] = batch[1]
        offsets: dict[TopicPartition, range] = {}
        owners: dict[TopicPartition, list[FinishedSegment]] = {}
        for segment in segments:
            owners.setdefault(segment.topic_partition, []).append(segment)
        for owner, parts in sorted(owners.items()):
            require_no_link(path / str(owner))
            end, epoch, is_new = _end_of(path / str(owner))
            if keep_offsets:
                parts = _in_order(owner, parts, end)
            first = parts[0].first_offset if keep_offsets else end
            for part in parts:
                base, shift = end, end - part.base_offset
                if keep_offsets:
                    base, shift = part.base_offset, 0
                    if not is_new:
                        base = base_offset_after(end, base, part.next_offset - 1)
                for source, kind in _files(part, base if keep_offsets else part.base_offset):
                    move = os.path.relpath(source, path), f"{owner}/{file_name(base, kind)}"
                    if not _is_of_an_addition(*move):
                        raise ValueError(f"{source} is not in a staging folder of {path}")
                    journal.moves.append(move)
                _set_offsets(part, shift, epoch)
                end, is_new = part.next_offset + shift, False
            offsets[owner] = range(first, end)
        remove_clean_shutdown(path)
        # From here on it will be done.
        journal.save(path)
        _finish(path, journal)
    return offsets


def _end_of(folder: Path) -> tuple[int, int, bool]:
    """The end of a log, its newest leader epoch, 0 if there is none, and whether it has no segment yet."""
    if not folder.is_dir():
        return 0, 0, True
    files = list_partition(folder)
    refuse_unfinished(files)
    with PartitionLog(folder) as log:
        if log.segments:
            last = log.segments[-1]
            last.last_header()
            if (tail := last.torn_tail) is not None:
                raise Malformed(
                    "batch",
                    f"the log ends in a torn tail ({tail.reason}) and must be recovered first",
                    at=tail.position,
                    have=f"{tail.size} bytes",
                ).in_source(str(last.path))
        epochs = log.leader_epochs()
        return log.end_offset, epochs[-1].epoch if epochs else 0, not log.segments


def _in_order(owner: TopicPartition, parts: list[FinishedSegment], end: int) -> list[FinishedSegment]:
    ordered = sorted(parts, key=lambda part: part.base_offset)
    for part in ordered:
        if part.first_offset < end:
            raise EncodeError(
                str(owner), "offsets must ascend", need=f"at least {end}", have=part.first_offset
            )
        end = part.next_offset
    return ordered


def _set_offsets(part: FinishedSegment, shift: int, epoch: int) -> None:
    """Set the fields of each batch that no checksum covers: its offset and leader epoch."""
    with Segment.of(part.path, part.base_offset) as segment:
        headers = [
            (head.position, head.first_known, head.partition_leader_epoch, head.magic)
            for head in segment.headers()
        ]
    if headers and headers[0][1] != part.first_offset:
        reason = "an addition that failed has used this segment: write it again"
        wrong = EncodeError("base_offset", reason, need=part.first_offset, have=headers[0][1])
        raise wrong.in_source(str(part.path))
    heads = [(position, offset, magic) for position, offset, has, magic in headers if shift or has != epoch]
    if not heads:
        return
    fd = os.open(part.path, os.O_WRONLY | NOFOLLOW)
    try:
        for position, offset, magic in heads:
            write_all(fd, OFFSET.stored(offset + shift), position + OFFSET.at)
            if magic in HEADS:
                epoch_field = HEADS[magic].epoch
                write_all(fd, epoch_field.stored(epoch), position + epoch_field.at)
        os.fsync(fd)
    finally:
        os.close(fd)


def _files(part: FinishedSegment, base: int) -> Iterator[tuple[Path, str]]:
    """The files of a segment, the log last: once it is visible, so are its indexes.

    Indexes count from the base offset: for another `base` they are made again.
    """
    if base != part.base_offset:
        indexes = IndexBuilder(base)
        with Segment.of(part.path, part.base_offset) as segment:
            for head in segment.headers():
                indexes.take(head)
        indexes.end()
        for kind, data in (("index", indexes.offsets), ("timeindex", indexes.times)):
            replace_file(part.path.with_name(file_name(base, kind)), data)
    for kind in INDEXES:
        path = part.path.with_name(file_name(base, kind))
        if path.is_file():
            yield path, kind
    yield part.path, "log"


def _finish(root: Path, journal: _Journal) -> None:
    """Make all pending moves; completed ones are recognized by their targets."""
    if not journal.moves:
        return
    folders = sorted({target.partition("/")[0] for _, target in journal.moves})
    for name in folders:
        require_no_link(root / name)
        make_folder(root / name)
    sync_folder(root)
    for name in folders:
        with claimed(root / name):
            for source, target in journal.moves:
                if target.startswith(f"{name}/"):
                    _move(root, source, target)
            sync_folder(root / name)
            note_epoch(root / name)
    journal.moves = []
    journal.save(root)


def _move(root: Path, source: str, target: str) -> None:
    folder = root
    for part in PurePosixPath(source).parts:
        folder /= part
        require_no_link(folder)
    if folder.is_file():
        folder.rename(root / target)
    elif not (root / target).is_file():
        raise KodecError(f"{folder}: gone before it was moved to {target}: the data of a query is lost")


def note_epoch(folder: Path) -> None:
    """Record leader epoch 0 from the start of a new log with segments. Raises OSError."""
    path = folder / LEADER_EPOCHS
    if not path.exists():
        write_leader_epochs(path, [LeaderEpoch(0, list_partition(folder).segments[0].base_offset)])
