"""Remote storage as a log directory: the segments of topic-partitions under the names that brokers give.

`as_logs` makes the path of a folder of remote storage one of these. Whatever reads a log directory then reads
its segments, decoded where Aiven's plugin has compressed or encrypted them, and its indexes, producer
snapshots, leader epochs and topic ids.
"""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import quote, unquote

from kodec.log.files.listing import SegmentFiles, TopicPartition
from kodec.log.files.names import INDEXES, LEADER_EPOCHS, PARTITION_METADATA, file_name
from kodec.log.files.storage import Entry, Status, Storage, StorePath, as_stat, not_found, path_of, storage_of
from kodec.log.files.tier_keys import TierKeys
from kodec.log.files.tier_manifest import CIPHER_BYTES, MOST_OF_A_MANIFEST, Manifest, parse_manifest
from kodec.log.files.tier_object import TierLog, read_index
from kodec.log.files.tiered import TieredFolder, TieredSegment, list_objects, tiered_folder, tiered_folders
from kodec.runtime.errors import FormatError, Malformed, ReadFailed, Unsupported

__all__ = ["TierPath", "as_logs", "as_partition", "as_segment", "list_tiered"]

_SCHEME = "tier:"
_SNAPSHOT = "snapshot"
_EPOCHS = "leader_epoch_checkpoint"
_SEGMENT = re.compile(r"([0-9]{20})-[A-Za-z0-9_-]{22}\.log")


class TierPath(StorePath):
    """A path in a folder of remote storage that is read as a log directory.

    Attributes: `real` is the object with the content, for people; None where none is known.
    """

    real: Path | None = None

    @classmethod
    def of(cls, root: Path) -> TierPath:
        """The folder itself."""
        return cls(_SCHEME, quote(str(root.absolute()), safe=""))

    @property
    def tier(self) -> Path:
        """The folder of remote storage."""
        return path_of(unquote(self.parts[1]))

    @property
    def storage(self) -> Storage:
        return _storage(self.tier)

    def __str__(self) -> str:
        if self.real is not None:
            return str(self.real)
        return "/".join([str(self.tier), *self.parts[2:]])

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.parts, self.listed, self.real)


def _unpickled(parts: tuple[str, ...], listed: Status | None, real: Path | None) -> TierPath:
    found = TierPath(*parts)
    found.listed, found.real = listed, real
    return found


def as_logs(folder: Path) -> TierPath | None:
    """A folder of remote storage as a log directory; None for any other folder. Raises OSError."""
    if isinstance(folder, TierPath) or not tiered_folders(folder):
        return None
    return TierPath.of(folder)


def as_partition(folder: Path) -> tuple[TierPath, TopicPartition] | None:
    """The folder of a topic-partition in remote storage as that of a log directory; None if it is none.

    Raises OSError.
    """
    if isinstance(folder, TierPath) or not folder.is_dir() or tiered_folder(folder) is None:
        return None
    storage = _storage(folder)
    name, found = next(iter(storage.partitions().items()))
    return TierPath.of(folder) / name, found.topic_partition


def as_segment(path: Path) -> TierPath | None:
    """The log of a segment that Aiven's plugin has stored, as it was in a log directory; None for others.

    Raises OSError.
    """
    match = _SEGMENT.fullmatch(path.name)
    if match is None or isinstance(path, TierPath) or not path.with_suffix(".rsm-manifest").is_file():
        return None
    found = as_partition(path.parent)
    if found is None:
        return None
    for each in _storage(path.parent).files(found[0].name).values():
        if each.real == path:
            return _named(found[0] / file_name(int(match[1]), "log"), each)
    return None


def list_tiered(folder: TieredFolder) -> list[SegmentFiles]:
    """The segments of a topic-partition in remote storage, by ascending base offset.

    Raises OSError; Unsupported or Malformed for a manifest that cannot be used.
    """
    if not folder.manifests:
        return [_as_stored(each) for each in list_objects(folder)]
    view = TierPath.of(folder.path)
    storage = _storage(folder.path)
    name = next(iter(storage.partitions()))
    files = storage.files(name)
    found = []
    for each in sorted(files):
        if each.endswith(".log"):
            base = int(each[:20])
            log = _named(view / name / each, files[each])
            beside = {kind: file_name(base, kind) for kind in INDEXES}
            indexes = {
                kind: _named(view / name / own, files[own]) for kind, own in beside.items() if own in files
            }
            found.append(SegmentFiles(base, log, files[each].status.size, **indexes))
    return found


def _as_stored(segment: TieredSegment) -> SegmentFiles:
    indexes = {kind: segment.objects[kind] for kind in INDEXES if kind in segment.objects}
    return SegmentFiles(segment.base_offset, segment.log, segment.status.size, **indexes)


def _named(path: TierPath, file: _File) -> TierPath:
    path.listed, path.real = file.status, file.real
    return path


class _File(NamedTuple):
    """A file of the view: the object with its content, its size, and how it is opened."""

    real: Path
    status: Status
    open: Callable[[], BinaryIO]


class _Entry(NamedTuple):
    """As `Entry`."""

    path: TierPath
    file: _File | None

    @property
    def name(self) -> str:
        return self.path.name

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self.file is None

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self.file is not None

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return self.path.stat() if self.file is None else as_stat(self.file.status)


class _TierStorage:
    """A folder of remote storage as a `Storage`: a log directory that is only read."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[str, dict[str, _File]] = {}

    def partitions(self) -> dict[str, TieredFolder]:
        """The folders of topic-partitions, by the names that they have in a log directory.

        Raises: Malformed where a topic has two ids.
        """
        found: dict[str, TieredFolder] = {}
        for each in tiered_folders(self._root):
            owner = self._owner(each)
            other = found.setdefault(str(owner), each._replace(topic_partition=owner))
            if other.path != each.path:
                raise Malformed(
                    str(owner),
                    "a topic of this name was made again, and both are here: give the folder of one",
                    at=0,
                    need="one folder",
                    have=f"{other.path} and {each.path}",
                ).in_source(str(self._root))
        return found

    def _owner(self, folder: TieredFolder) -> TopicPartition:
        """The topic-partition: a manifest names it, where a prefix of names may be part of the folder's."""
        if folder.manifests:
            for segment in list_objects(folder)[:1]:
                stored = _manifest(segment.objects["rsm-manifest"]).segment
                ends_so = stored is not None and folder.topic_partition.topic.endswith(stored.topic)
                if stored is not None and ends_so and stored.partition == folder.topic_partition.partition:
                    return TopicPartition(stored.topic, stored.partition)
        return folder.topic_partition

    def files(self, name: str) -> dict[str, _File]:
        """The files of a topic-partition's folder, listed now."""
        folder = self.partitions().get(name)
        if folder is None:
            raise not_found(self._root / name, "no such topic-partition")
        listed = list_objects(folder)
        found: dict[str, _File] = {}
        following = [*(each.base_offset for each in listed[1:]), None]
        for segment, after in zip(listed, following, strict=True):
            found |= self._stored(segment) if folder.manifests else self._plain(segment, after)
        if listed and folder.topic_id:
            text = f"version: 0\ntopic_id: {folder.topic_id}".encode()
            found[PARTITION_METADATA] = _content(folder.path, text, listed[-1].status)
        self._files[name] = found
        return found

    def _plain(self, segment: TieredSegment, after: int | None) -> dict[str, _File]:
        """The files of a segment of Kafka's own tier."""
        names = {kind: file_name(segment.base_offset, kind) for kind in INDEXES}
        if after is not None:
            names[_SNAPSHOT] = file_name(after, _SNAPSHOT)
        names[_EPOCHS] = LEADER_EPOCHS
        found = {}
        for kind, name in names.items():
            if (path := segment.objects.get(kind)) is not None:
                status = storage_of(path).status(path)
                found[name] = _File(path, status, partial(_opened, path))
        log = segment.log
        found[file_name(segment.base_offset, "log")] = _File(log, segment.status, partial(_opened, log))
        return found

    def _stored(self, segment: TieredSegment) -> dict[str, _File]:
        """The files of a segment of Aiven's plugin."""
        manifest = _manifest(segment.objects["rsm-manifest"])
        base, log = segment.base_offset, segment.log
        indexes = segment.objects.get("indexes", log.with_suffix(".indexes"))
        names = {kind: file_name(base, kind) for kind in INDEXES}
        if manifest.segment is not None:
            names[_SNAPSHOT] = file_name(manifest.segment.end_offset + 1, _SNAPSHOT)
        names[_EPOCHS] = LEADER_EPOCHS
        found = {}
        for kind, name in names.items():
            if (piece := manifest.indexes.get(kind)) is not None:
                size = piece.size - (CIPHER_BYTES if piece.size and manifest.encryption else 0)
                status = segment.status._replace(size=size)
                found[name] = _File(indexes, status, partial(self._index, indexes, kind, manifest))
        status = segment.status._replace(size=manifest.size)
        opened = partial(self._log, log, segment.status.size, manifest)
        found[file_name(base, "log")] = _File(log, status, opened)
        return found

    def _log(self, path: Path, size: int, manifest: Manifest) -> BinaryIO:
        with _unreadable(path):
            stored = storage_of(path).open(path)
            try:
                return _Log(stored, size, manifest, TierKeys.of_environment(), str(path))
            except BaseException:
                stored.close()
                raise

    def _index(self, path: Path, kind: str, manifest: Manifest) -> BinaryIO:
        with _unreadable(path), storage_of(path).open(path) as stored:
            return _Bytes(read_index(stored, kind, manifest, TierKeys.of_environment(), str(path)))

    # -- the contract -----------------------------------------------------------------------------

    def _file(self, path: Path) -> _File:
        """A file of the last listing, or of one that is made now."""
        _, _, *rest = path.parts
        if len(rest) == 2:
            files = self._files.get(rest[0])
            if files is None or rest[1] not in files:
                files = self.files(rest[0])
            if rest[1] in files:
                return files[rest[1]]
        raise not_found(path)

    def entries(self, folder: Path) -> AbstractContextManager[Iterator[Entry]]:
        assert isinstance(folder, TierPath)
        rest = folder.parts[2:]
        found: list[_Entry]
        if not rest:
            found = [_Entry(folder / name, None) for name in self.partitions()]
        elif len(rest) == 1:
            files = self.files(rest[0]).items()
            found = [_Entry(_named(folder / name, file), file) for name, file in files]
        else:
            raise not_found(folder, "no such folder")
        return _listing(found)

    def is_folder(self, path: Path) -> bool:
        rest = path.parts[2:]
        return not rest or (len(rest) == 1 and rest[0] in self.partitions())

    def status(self, path: Path) -> Status:
        return self._file(path).status

    def open(self, path: Path) -> BinaryIO:
        file = self._file(path).open()
        if not hasattr(file, "again"):
            # as a file of a store has it: the same content, with a place of its own
            file.again = partial(self.open, path)  # type: ignore[attr-defined]
        return file

    def create(self, path: Path, data: bytes | Path) -> None:
        raise PermissionError(f"{path}: remote storage is only read")

    def remove(self, path: Path) -> None:
        raise PermissionError(f"{path}: remote storage is only read")


@lru_cache(maxsize=64)
def _storage(root: Path) -> _TierStorage:
    return _TierStorage(root)


@contextmanager
def _unreadable(path: Path) -> Iterator[None]:
    """What is damaged, or missing although a manifest names it, cannot be read; without a key nothing can."""
    try:
        yield
    except FileNotFoundError as error:
        raise ReadFailed(
            "the manifest names this object, and it is missing", errno.EIO, 0, str(path)
        ) from error
    except Unsupported as error:
        raise error.in_source(str(path)) from None
    except FormatError as error:
        raise ReadFailed(str(error.in_source(str(path))), errno.EIO, 0, str(path)) from error


@contextmanager
def _listing(found: list[_Entry]) -> Iterator[Iterator[Entry]]:
    yield iter(found)


class _Log(TierLog):
    """A log whose chunks may be damaged: as bytes of a disk that cannot be read."""

    def read(self, size: int | None = -1) -> bytes:
        at = self.tell()
        try:
            return super().read(size)
        except FormatError as error:
            raise ReadFailed(str(error), errno.EIO, at, str(error.source)) from error


class _Bytes(io.BytesIO):
    """Content that a view has made, or decoded."""


class _Local(io.FileIO):
    """An object that is a file of this machine, as it is stored."""


def _opened(path: Path) -> BinaryIO:
    return storage_of(path).open(path) if isinstance(path, StorePath) else _Local(path)


def _content(real: Path, data: bytes, status: Status) -> _File:
    return _File(real, status._replace(size=len(data)), partial(_Bytes, data))


def _manifest(path: Path) -> Manifest:
    with storage_of(path).open(path) as file:
        data = file.read(MOST_OF_A_MANIFEST + 1)
    return parse_manifest(data, str(path))
