"""Remote storage as a log directory: the segments of topic-partitions under the names that brokers give.

`as_logs` makes the path of a folder of remote storage one of these. Whatever reads a log directory then reads
its segments, decoded where Aiven's plugin has compressed or encrypted them, and its indexes, producer
snapshots, leader epochs and topic ids.
"""

from __future__ import annotations

import errno
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from kodec.log.files.checkpoints import LeaderEpoch, read_leader_epochs
from kodec.log.files.listing import SegmentFiles, TopicPartition
from kodec.log.files.names import INDEXES, LEADER_EPOCHS, PARTITION_METADATA, file_name
from kodec.log.remote.keys import TierKeys
from kodec.log.remote.lineage import CopiedSegment, Part, RemoteSegments, are_in_order
from kodec.log.remote.manifest import CIPHER_BYTES, MOST_OF_A_MANIFEST, Manifest, Piece, parse_manifest
from kodec.log.remote.names import TieredFolder, TieredSegment, list_objects, tiered_folder, tiered_folders
from kodec.log.remote.objects import TierLog, read_index
from kodec.log.remote.view import View, ViewFile
from kodec.runtime.errors import FormatError, Malformed, ReadFailed, Unsupported
from kodec.stores.context import Context, Keys, Notes
from kodec.stores.storage import Local, Location, Status, StorePath, context_of, files_of, not_found, one_look

__all__ = [
    "Remote",
    "RemoteSegment",
    "as_logs",
    "as_partition",
    "as_segment",
    "list_tiered",
    "local_file",
    "owner_of",
    "remote_of",
]

_SNAPSHOT = "snapshot"
_EPOCHS = "leader_epoch_checkpoint"
_MANIFEST = "rsm-manifest"
_NO_END = 1 << 63
# Manifests are small: what counts is how long a request takes.
_AT_A_TIME = 16
_MOST_NAMES = 10
_WITHOUT = "no log directory with __remote_log_metadata was given"
_SEGMENT = re.compile(r"([0-9]{20})-[A-Za-z0-9_-]{22}\.log")


def remote_of(path: Path) -> Remote | None:
    """The remote storage that a path is in, where it is read as a log directory; None for any other path."""
    return path.files if isinstance(path, StorePath) and isinstance(path.files, Remote) else None


def as_logs(folder: Path) -> StorePath | None:
    """A folder of remote storage as a log directory; None for any other folder. Raises OSError."""
    if remote_of(folder) is not None or not tiered_folders(folder):
        return None
    return Remote.at(folder).path


def as_partition(folder: Path, context: Context | None = None) -> tuple[StorePath, TopicPartition] | None:
    """The folder of a topic-partition in remote storage as that of a log directory; None if it is none.

    Raises OSError.
    """
    if remote_of(folder) is not None or not folder.is_dir() or tiered_folder(folder) is None:
        return None
    remote = Remote.at(folder, context)
    name, folders = next(iter(remote.partitions().items()))
    return remote.path / name, folders.topic_partition


def as_segment(path: Path) -> StorePath | None:
    """The log of a segment that Aiven's plugin has stored, as it was in a log directory; None for others.

    Raises OSError.
    """
    match = _SEGMENT.fullmatch(path.name)
    if match is None or remote_of(path) is not None or not path.with_suffix(".rsm-manifest").is_file():
        return None
    opened = as_partition(path.parent)
    if opened is None:
        return None
    for file in Remote.at(path.parent).files(opened[0].name).values():
        if file.real == path:
            return (opened[0] / file_name(int(match[1]), "log")).seen(file.status, file)
    return None


def _read(segment: TieredSegment) -> Manifest:
    return _manifest(segment.objects[_MANIFEST])


def _objects_of(folder: TieredFolder, notes: Notes) -> list[TieredSegment]:
    """As `list_objects`; segments without a manifest are named in a note."""
    unfinished: list[Path] = []
    segments = list_objects(folder, unfinished)
    if unfinished:
        names = ", ".join(path.name for path in unfinished[:_MOST_NAMES])
        more = f" and {len(unfinished) - _MOST_NAMES} more" if len(unfinished) > _MOST_NAMES else ""
        notes.add(f"{folder.path}: not read, for lack of a manifest, which is uploaded last: {names}{more}")
    return segments


def owner_of(folder: TieredFolder, read: Callable[[TieredSegment], Manifest] = _read) -> TopicPartition:
    """The topic-partition of a folder: a manifest names it, as a prefix may be part of the folder's name.

    Raises OSError; FormatError for a manifest that cannot be used.
    """
    if folder.manifests:
        for segment in _objects_of(folder, context_of(folder.path).notes)[:1]:
            stored = read(segment).segment
            ends_so = stored is not None and folder.topic_partition.topic.endswith(stored.topic)
            if stored is not None and ends_so and stored.partition == folder.topic_partition.partition:
                return TopicPartition(stored.topic, stored.partition)
    return folder.topic_partition


def list_tiered(folder: TieredFolder) -> list[SegmentFiles]:
    """The segments of a topic-partition in remote storage, by ascending base offset.

    Raises OSError; Unsupported or Malformed for a manifest that cannot be used.
    """
    context = context_of(folder.path)
    if not folder.manifests:
        context.notes.add(f"the objects in remote storage show which segments count: {_WITHOUT}")
        largest = {segment.base_offset: segment for segment in _objects_of(folder, context.notes)}
        return [_as_stored(segment) for segment in largest.values()]
    remote = Remote.at(folder.path)
    name = next(iter(remote.partitions()))
    files = remote.files(name)
    inside = remote.path / name
    segments = []
    for file in sorted(files):
        if file.endswith(".log"):
            base = int(file[:20])
            log = (inside / file).seen(files[file].status, files[file])
            beside = {kind: file_name(base, kind) for kind in INDEXES}
            indexes = {
                kind: (inside / file).seen(files[file].status, files[file])
                for kind, file in beside.items()
                if file in files
            }
            segments.append(SegmentFiles(base, log, files[file].status.size, **indexes))
    return segments


def _as_stored(segment: TieredSegment) -> SegmentFiles:
    indexes = {kind: segment.objects[kind] for kind in INDEXES if kind in segment.objects}
    return SegmentFiles(segment.base_offset, segment.log, segment.status.size, **indexes)


class _Chosen(NamedTuple):
    """A segment that counts, from its offset `first` to `last`, or to its end (None).

    `segment` is None where the objects of a segment that was copied are missing.
    """

    segment: TieredSegment | None
    first: int
    last: int | None
    base_offset: int
    copied: CopiedSegment | None = None


class RemoteSegment(NamedTuple):
    """A segment that counts, from its offset `first` to `last`, both inclusive.

    Attributes:
        copied: what is known of it. files: by the ends of their names.
        wrong: what is wrong with its objects, by their sizes; "" for nothing.
    """

    copied: CopiedSegment
    first: int
    last: int
    files: Mapping[str, ViewFile]
    wrong: str


class Remote(View):
    """A folder of remote storage as a log directory that is only read.

    Attributes: `tier` is the folder.
    """

    what = "remote storage"

    def __init__(self, tier: Path, context: Context, kind: str = "tier", name: str = "") -> None:
        super().__init__(kind, name or str(tier), context)
        # whose folders bring the same along
        self.tier = tier if context_of(tier) == context else Location(Local(context), tier)
        self._folders: dict[str, TieredFolder] = {}
        self._owners: dict[Path, TopicPartition] = {}
        self._manifests: dict[tuple[StorePath, Status | None], Manifest] = {}

    @classmethod
    def at(cls, tier: Path, context: Context | None = None) -> Remote:
        """Of a folder, with what was brought along to it; what it has read before, it knows."""
        return _remote(tier.absolute(), context or context_of(tier))

    def __reduce__(self) -> tuple[Any, ...]:
        return _remote, (self.tier, self.context)

    @property
    def origin(self) -> Path | None:
        return self.tier

    @property
    def _keys(self) -> Keys | None:
        return self.context.keys

    def partitions(self) -> dict[str, TieredFolder]:
        """The folders of topic-partitions, by the names that they have in a log directory.

        Raises: Malformed where a topic has two ids.
        """
        by_name: dict[str, list[TieredFolder]] = {}
        with one_look(self.tier) as tier:
            for folder in tiered_folders(tier):
                owner = self._owner(folder)
                by_name.setdefault(str(owner), []).append(folder._replace(topic_partition=owner))
        # what is gone is forgotten
        current = {folder.path for folders in by_name.values() for folder in folders}
        self._manifests = {
            key: manifest for key, manifest in self._manifests.items() if key[0].parent in current
        }
        self._folders = {name: self._one_of(name, folders) for name, folders in by_name.items()}
        return self._folders

    def folder(self, name: str) -> TieredFolder | None:
        """The folder of a topic-partition, as it was when it was last listed; None if it is not there."""
        return self._folders.get(name) or self.partitions().get(name)

    def _one_of(self, name: str, folders: Sequence[TieredFolder]) -> TieredFolder:
        """The folder of a topic-partition. Raises Malformed where a topic has two ids."""
        first, *others = folders
        if others:
            raise Malformed(
                name,
                "a topic of this name was made again, and both are here: give the folder of one",
                at=0,
                need="one folder",
                have=" and ".join(str(folder.path) for folder in folders[:2]),
            ).in_source(str(self.tier))
        return first

    def _owner(self, folder: TieredFolder) -> TopicPartition:
        """The topic-partition: a manifest names it, where a prefix of names may be part of the folder's."""
        if folder.path not in self._owners:
            self._owners[folder.path] = owner_of(folder, self._manifest_of)
        return self._owners[folder.path]

    def _manifest_of(self, segment: TieredSegment) -> Manifest:
        return self._manifests_of([segment])[segment.segment_id]

    def chosen_by(self, name: str) -> str | None:
        """What shows which segments of a topic-partition count: `objects` or `manifests`."""
        folder = self.folder(name)
        return None if folder is None else "manifests" if folder.manifests else "objects"

    def files(self, name: str) -> dict[str, ViewFile]:
        """The files of a topic-partition's folder, listed now."""
        folder = self.folder(name)
        if folder is None:
            raise not_found(self.tier / name, "no such topic-partition")
        self._note(name, folder)
        self._files[name] = files = self.remote_files(folder)
        return files

    def _note(self, name: str, folder: TieredFolder) -> None:
        """Note that only what is in remote storage shows which segments of a topic-partition count."""
        chosen_by = "manifests" if folder.manifests else "objects"
        self.context.notes.add(f"the {chosen_by} in remote storage show which segments count: {_WITHOUT}")

    # -- which segments count -------------------------------------------------------------------------

    def remote_files(
        self,
        folder: TieredFolder,
        known: RemoteSegments | None = None,
        lineage: Sequence[LeaderEpoch] = (),
        stop: int = _NO_END,
    ) -> dict[str, ViewFile]:
        """The files of the segments that count, under the names of a log directory.

        Args:
            known: the segments, as `__remote_log_metadata` has them; None: as the objects show them.
            lineage: the leader epochs of the log; empty: as the segments show them.
            stop: only offsets below.

        Raises: OSError; FormatError for a manifest that cannot be used.
        """
        try:
            listed = _objects_of(folder, self.context.notes)
        except FileNotFoundError:
            if known is None:
                raise
            listed = []
        manifests = self._manifests_of(listed) if folder.manifests else {}
        selected = self._chosen(folder, listed, manifests, known, lineage, stop)
        files: dict[str, ViewFile] = {}
        following = [*(part.first for part in selected[1:]), None]
        for part, after in zip(selected, following, strict=False):
            if part.segment is None:
                files[file_name(part.first, "log")] = _missing(folder, part)
                continue
            if folder.manifests:
                stored, end = self._stored(part.segment, manifests[part.segment.segment_id])
            else:
                stored, end = self._plain(part.segment), None if after is None else after - 1
            if part.copied is not None and (part.copied.max_timestamp or -1) >= 0:
                stored["log"] = stored["log"]._replace(largest=part.copied.max_timestamp)
            files |= _cut(part, stored, end)
        if selected and folder.topic_id:
            text = f"version: 0\ntopic_id: {folder.topic_id}".encode()
            latest = [part.segment.status for part in selected if part.segment is not None]
            files[PARTITION_METADATA] = _content(folder.path, text, latest[-1] if latest else Status(0, 0))
        return files

    def known(self, name: str) -> RemoteSegments | None:
        """The segments of a topic-partition; None where only their logs show what is in them.

        Raises: OSError; FormatError for a manifest that cannot be used.
        """
        folder = self.folder(name)
        return None if folder is None else self._by_manifests(*self._listed(folder))

    def lineage(self, name: str, known: RemoteSegments) -> list[LeaderEpoch]:
        """The leader epochs of the log, as the segments show them. Raises as `known`."""
        folder = self.folder(name)
        listed, manifests = ([], {}) if folder is None else self._listed(folder)
        return self._lineage(known, {segment.segment_id: segment for segment in listed}, manifests)

    def counted(
        self, name: str, known: RemoteSegments, lineage: Sequence[LeaderEpoch]
    ) -> list[RemoteSegment]:
        """The segments that count on a lineage of leader epochs, by offset. Raises as `known`."""
        folder = self.folder(name)
        listed, manifests = ([], {}) if folder is None else self._listed(folder)
        by_id = {segment.segment_id: segment for segment in listed}
        segments = []
        for part in known.parts(lineage):
            segment = by_id.get(part.segment.segment_id)
            if segment is None:
                segments.append(RemoteSegment(*part, {}, "its objects are missing"))
                continue
            manifest = manifests.get(segment.segment_id)
            if manifest is None:
                files, wrong = self._plain(segment), _wrong_sizes(part.segment, segment)
            else:
                files, _ = self._stored(segment, manifest)
                wrong = _wrong_objects(segment, manifest)
            segments.append(RemoteSegment(*part, files, wrong))
        return segments

    def _listed(self, folder: TieredFolder) -> tuple[list[TieredSegment], dict[str, Manifest]]:
        """The segments of a folder, and their manifests, if it has such. Raises OSError, FormatError."""
        try:
            listed = _objects_of(folder, self.context.notes)
        except FileNotFoundError:
            listed = []
        return listed, self._manifests_of(listed) if folder.manifests else {}

    def _by_manifests(
        self, listed: Sequence[TieredSegment], manifests: Mapping[str, Manifest]
    ) -> RemoteSegments | None:
        """The segments in the order of their copies; None if not all have a manifest that shows it."""
        copied = [
            (segment.status.modified, copied_segment)
            for segment in listed
            if (copied_segment := _copied(segment, manifests))
        ]
        if len(copied) < len(listed):
            return None
        copied.sort(key=lambda item: item[0])
        return RemoteSegments.copied(segment for _, segment in copied)

    def _manifests_of(self, listed: Sequence[TieredSegment]) -> dict[str, Manifest]:
        """The manifests by the ids of segments; of a store those are read that are new, several at a time."""
        paths = {segment.segment_id: segment.objects[_MANIFEST] for segment in listed}
        status_of = {path: (path, path.listed) for path in paths.values() if isinstance(path, StorePath)}
        unread = [path for path, key in status_of.items() if key not in self._manifests]
        if len(unread) > 1:
            # needed for object stores alone
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(_AT_A_TIME) as threads:
                manifests = dict(zip(unread, threads.map(_manifest, unread), strict=True))
        else:
            manifests = {path: _manifest(path) for path in unread}
        self._manifests.update((status_of[path], manifest) for path, manifest in manifests.items())
        return {
            key: self._manifests[status_of[path]] if isinstance(path, StorePath) else _manifest(path)
            for key, path in paths.items()
        }

    def _chosen(
        self,
        folder: TieredFolder,
        listed: Sequence[TieredSegment],
        manifests: Mapping[str, Manifest],
        known: RemoteSegments | None,
        lineage: Sequence[LeaderEpoch],
        stop: int,
    ) -> list[_Chosen]:
        by_id = {segment.segment_id: segment for segment in listed}
        known = known or self._by_manifests(listed, manifests)
        if known is None:
            # Kafka's own tier, or a manifest without it: of those with the same first offset, the largest
            largest = {segment.base_offset: segment for segment in listed}
            return [_Chosen(segment, base, None, base) for base, segment in largest.items() if base < stop]
        finished = known.finished()
        if not lineage and are_in_order(finished):
            parts = [Part(segment, segment.start_offset, segment.end_offset) for segment in finished]
        else:
            parts = known.parts(lineage or self._lineage(known, by_id, manifests), 0, stop)
        if parts and parts[0].first > parts[0].segment.start_offset:
            # what comes before in this segment was deleted, which the log start offset shows
            parts[0] = parts[0]._replace(first=parts[0].segment.start_offset)
        return [
            _Chosen(
                by_id.get(part.segment.segment_id),
                part.first,
                None if part.last == part.segment.end_offset else part.last,
                part.segment.start_offset,
                part.segment,
            )
            for part in parts
            if part.first < stop
        ]

    def _lineage(
        self, known: RemoteSegments, by_id: Mapping[str, TieredSegment], manifests: Mapping[str, Manifest]
    ) -> list[LeaderEpoch]:
        """The leader epochs of the log, from the newest segment's checkpoint, else from all segments."""
        newest = known.newest()
        segment = None if newest is None else by_id.get(newest.segment_id)
        if segment is not None:
            epochs = (
                self._stored(segment, manifests[segment.segment_id])[0] if manifests else self._plain(segment)
            )
            with suppress(OSError, FormatError):
                if (file := epochs.get(_EPOCHS)) is not None:
                    with file.open() as opened:
                        return read_leader_epochs(file.real, opened.read())
        return known.lineage()

    def _plain(self, segment: TieredSegment) -> dict[str, ViewFile]:
        """The files of a segment of Kafka's own tier, by the ends of their names."""
        files = {}
        for kind in (*INDEXES, _SNAPSHOT, _EPOCHS):
            if (path := segment.objects.get(kind)) is not None:
                status = files_of(path).status(path)
                files[kind] = ViewFile(path, status, partial(_opened, path))
        files["log"] = ViewFile(segment.log, segment.status, partial(_opened, segment.log))
        return files

    def _stored(self, segment: TieredSegment, manifest: Manifest) -> tuple[dict[str, ViewFile], int | None]:
        """The files of a segment of Aiven's plugin, by the ends of their names, and its last offset."""
        log = segment.log
        indexes = segment.objects.get("indexes", log.with_suffix(".indexes"))
        files = {}
        for kind in (*INDEXES, _SNAPSHOT, _EPOCHS):
            if (piece := manifest.indexes.get(kind)) is not None:
                size = piece.size - (CIPHER_BYTES if piece.size and manifest.encryption else 0)
                status = segment.status._replace(size=size)
                files[kind] = ViewFile(
                    indexes, status, partial(_open_index, indexes, kind, manifest, self._keys)
                )
        status = segment.status._replace(size=manifest.size)
        opened = partial(_open_log, log, segment.status.size, manifest, self._keys)
        files["log"] = ViewFile(log, status, opened)
        return files, None if manifest.segment is None else manifest.segment.end_offset


@lru_cache(maxsize=64)
def _remote(tier: Path, context: Context) -> Remote:
    return Remote(tier, context)


def _open_log(path: Path, size: int, manifest: Manifest, keys: Keys | None) -> BinaryIO:
    with _unreadable(path):
        stored = files_of(path).open(path)
        try:
            return _Log(stored, size, manifest, keys or TierKeys.of_environment(), str(path))
        except BaseException:
            stored.close()
            raise


def _open_index(path: Path, kind: str, manifest: Manifest, keys: Keys | None) -> BinaryIO:
    with _unreadable(path), files_of(path).open(path) as stored:
        return _Bytes(read_index(stored, kind, manifest, keys or TierKeys.of_environment(), str(path)))


def _open_part(log: ViewFile, piece: Piece) -> BinaryIO:
    # needed where segments overlap
    from kodec.log.remote.cut import PartOfLog

    return PartOfLog(log.open(), piece)


def _open_missing(path: Path) -> BinaryIO:
    raise ReadFailed(
        "__remote_log_metadata names this segment, and its objects are missing", errno.EIO, 0, str(path)
    )


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


def _copied(segment: TieredSegment, manifests: Mapping[str, Manifest]) -> CopiedSegment | None:
    """The segment, as its manifest describes it; None if that does not."""
    manifest = manifests.get(segment.segment_id)
    stored = None if manifest is None else manifest.segment
    if manifest is None or stored is None:
        return None
    epochs = tuple(LeaderEpoch(*epoch) for epoch in stored.leader_epochs)
    return CopiedSegment(
        segment.segment_id,
        stored.start_offset,
        stored.end_offset,
        epochs,
        manifest.size,
        stored.max_timestamp,
    )


def _wrong_sizes(copied: CopiedSegment, segment: TieredSegment) -> str:
    """What is wrong with the objects of a segment of Kafka's own tier; "" for nothing."""
    missing = [kind for kind in ("index", "timeindex", _SNAPSHOT, _EPOCHS) if kind not in segment.objects]
    if missing:
        return f"its object .{missing[0]} is missing"
    if copied.size not in (None, segment.status.size):
        return f"its log has {segment.status.size} bytes, not {copied.size}"
    return ""


def _wrong_objects(segment: TieredSegment, manifest: Manifest) -> str:
    """What is wrong with the objects of a segment of Aiven's plugin; "" for nothing."""
    if segment.status.size != manifest.stored:
        return f"its log has {segment.status.size} stored bytes, not {manifest.stored}"
    need = max((index.position + index.size for index in manifest.indexes.values()), default=0)
    path = segment.objects.get("indexes")
    have = None if path is None else files_of(path).status(path).size
    if have is None:
        return "its object .indexes is missing"
    return "" if have >= need else f"its object .indexes has {have} bytes, not {need}"


def _missing(folder: TieredFolder, part: _Chosen) -> ViewFile:
    """The log of a segment that was copied, and whose objects are missing: reading it fails."""
    assert part.copied is not None
    path = folder.path / f"{part.base_offset:020}-{part.copied.segment_id}.log"
    return ViewFile(path, Status(part.copied.size or 0, 0), partial(_open_missing, path))


def _cut(part: _Chosen, own: Mapping[str, ViewFile], end: int | None) -> dict[str, ViewFile]:
    """The files of a segment, or of the part of it that counts, by the names of a log directory."""
    base, first, last = part.base_offset, part.first, part.last
    names = {_EPOCHS: LEADER_EPOCHS}
    names |= {kind: file_name(first, kind) for kind in (*INDEXES, "log")}
    if last is None and end is not None:
        names[_SNAPSHOT] = file_name(end + 1, _SNAPSHOT)
    files = {name: own[kind] for kind, name in names.items() if kind in own}
    if last is None and first == base:
        return files
    # needed where segments overlap
    from kodec.log.remote.cut import Found, cut_index, find_batch

    log = own["log"]
    index = b""
    if "index" in own:
        with own["index"].open() as file:
            index = file.read()
    with log.open() as file:
        size = log.status.size
        after = _NO_END if last is None else last + 1
        if first == base:
            begin, stop = Found(0), find_batch(file, index, base, after, size)
        else:
            # the largest timestamp may be in a batch that is not part of it
            begin = find_batch(file, index, base, first, size)
            stop = find_batch(file, b"", base, after, size, first, begin.position)
    piece = Piece(begin.position, stop.position - begin.position)
    most = _NO_END if last is None else last
    files[names["log"]] = log._replace(
        status=log.status._replace(size=piece.size), open=partial(_open_part, log, piece)
    )
    for kind in INDEXES:
        if (whole := own.get(kind)) is not None:
            with whole.open() as file:
                data = cut_index(kind, file.read(), base, first, most, piece, stop.largest)
            files[names[kind]] = _content(whole.real, data, whole.status)
    return files


class _Log(TierLog):
    """A log whose chunks may be damaged: as bytes of a disk that cannot be read."""

    def read(self, size: int | None = -1) -> bytes:
        position = self.tell()
        try:
            return super().read(size)
        except FormatError as error:
            raise ReadFailed(str(error), errno.EIO, position, str(error.source)) from error


class _Bytes(io.BytesIO):
    """Content that a view has made, or decoded."""


class _Local(io.FileIO):
    """An object that is a file of this machine, as it is stored."""


def local_file(path: Path, status: Status) -> ViewFile:
    """A file of a log directory as it is."""
    return ViewFile(path, status, partial(_opened, path), is_local=True)


def _opened(path: Path) -> BinaryIO:
    return files_of(path).open(path) if isinstance(path, StorePath) else _Local(path)


def _content(real: Path, data: bytes, status: Status) -> ViewFile:
    return ViewFile(real, status._replace(size=len(data)), partial(_Bytes, data))


def _manifest(path: Path) -> Manifest:
    with files_of(path).open(path) as file:
        data = file.read(MOST_OF_A_MANIFEST + 1)
    return parse_manifest(data, str(path))
