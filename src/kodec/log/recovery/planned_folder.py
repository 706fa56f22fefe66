"""The folder of a topic-partition as the steps that are planned so far would leave it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kodec.log.batches.records import Limits
from kodec.log.directories.epochs import EpochRuns
from kodec.log.files.descriptors import read_regular
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.listing import SegmentFiles, TopicPartition, parse_file_name
from kodec.log.files.names import INDEXES, LEADER_EPOCHS, PARTITION_METADATA, file_name
from kodec.log.files.paths import require_no_link
from kodec.log.recovery.contents import Contents
from kodec.log.recovery.plan import RecoveryPlan
from kodec.log.recovery.steps import Quarantine, Step, Write
from kodec.runtime.dataclass import dataclass

__all__ = ["PlannedFolder", "Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The options and the state outside the folder; see `plan_recovery`."""

    clean: bool
    recovery_points: dict[TopicPartition, int]
    log_starts: dict[TopicPartition, int]
    from_start: bool
    index_interval_bytes: int
    max_index_bytes: int
    limits: Limits
    progress: Callable[[int], None] | None
    allow_empty: bool = False


class PlannedFolder:
    """A plan in the making, and the folder as if each of its steps had been done.

    Attributes:
        names: the files that the folder then holds, and where each is now.
        log_start: from the log directory's checkpoint; 0 if it has none.
        dropped, truncated, written: the steps that follow those of `plan`, in this order.
        created: names that exist only after the plan has been carried out.
        first: the base offset of the first segment; 0 if there is none.
        cuts: the segments that are truncated or removed, each with the byte and the offset where it ends.
        starts_again: whether the log starts again, with an empty segment.
        epochs: the leader epochs in the valid batches of each segment that was read, by its base offset.
    """

    def __init__(self, path: Path, topic_partition: TopicPartition, settings: Settings) -> None:
        self.plan = RecoveryPlan(path, topic_partition)
        self.settings = settings
        # Before anything is read.
        self.plan.fingerprint = Fingerprint.of(path)
        entries = sorted(path.iterdir())
        self.names: dict[str, Path] = {entry.name: entry for entry in entries if entry.is_file()}
        self._irregular = [entry for entry in entries if _is_irregular(entry)]
        self.log_start = settings.log_starts.get(topic_partition, 0)
        self.dropped: list[Step] = []
        self.truncated: list[Step] = []
        self.written: list[Step] = []
        self.created: set[str] = set()
        self.first = min(self.logs(), default=0)
        self.epochs: dict[int, EpochRuns] = {}
        self.cuts: dict[Path, tuple[int, int]] = {}
        self.starts_again = False
        self._contents = Contents()

    def refuse_irregular(self) -> bool:
        """Refuse symbolic links: the target of a step would lie outside of the log directory.

        Also pipes, sockets and devices, and folders with the names of files: none of them can be recovered.
        """
        for path in self._irregular:
            self.plan.problems.append(f"{path} is not a regular file: remove it first")
            return True
        for path in (self.plan.path, *self.names.values()):
            try:
                require_no_link(path)
            except ValueError as error:
                self.plan.problems.append(str(error))
                return True
        return False

    def quarantine(self, name: str, reason: str, steps: list[Step]) -> None:
        """Plan the removal of a file."""
        size = self.names.pop(name).stat().st_size
        steps.append(Quarantine(self.plan.path / name, size, reason))

    def drop(self, base_offset: int, reason: str) -> None:
        """Plan the removal of a segment's files."""
        for kind in ("log", *INDEXES, "snapshot"):
            if file_name(base_offset, kind) in self.names:
                self.quarantine(file_name(base_offset, kind), reason, self.dropped)

    def write(self, name: str, data: bytes | bytearray, reason: str = "") -> None:
        """Plan the contents of a file, unless it already has them; the reason, if not just that."""
        path = self.names.get(name)
        existing = path if name not in self.created else None
        if existing is not None and _holds(existing, data):
            return
        target = self.plan.path / name
        reason = reason or ("missing" if existing is None else "differs from the log")
        if path is None:
            self.names[name] = target
            self.created.add(name)
        self.written.append(Write(target, len(data), reason, self._contents, self._contents.add(data)))

    def _of_kind(self, kind: str) -> dict[int, Path]:
        paths = {}
        for name, path in self.names.items():
            parsed = parse_file_name(name)
            if parsed is not None and parsed[1] == kind:
                paths[parsed[0]] = path
        return dict(sorted(paths.items()))

    def logs(self) -> dict[int, Path]:
        """The segments' logs by base offset."""
        return self._of_kind("log")

    def snapshots(self) -> dict[int, Path]:
        """The producer snapshots by offset."""
        return self._of_kind("snapshot")

    def index_names(self) -> list[tuple[str, int]]:
        """The names of the indexes, each with its base offset."""
        names = [(name, parse_file_name(name)) for name in self.names]
        return [(name, parsed[0]) for name, parsed in names if parsed is not None and parsed[1] in INDEXES]

    def segments(self) -> list[SegmentFiles]:
        """The segments' files by base offset."""
        return [
            SegmentFiles(
                base_offset,
                path,
                path.stat().st_size,
                *(self.names.get(file_name(base_offset, kind)) for kind in INDEXES),
            )
            for base_offset, path in self.logs().items()
        ]

    def finish(self) -> None:
        """All steps are planned: put them in order."""
        self.plan.steps += [*self.dropped, *self.truncated, *self.written]


def _is_irregular(path: Path) -> bool:
    if path.is_dir():
        return parse_file_name(path.name) is not None or path.name in (LEADER_EPOCHS, PARTITION_METADATA)
    return not path.is_file()


def _holds(path: Path, data: bytes | bytearray) -> bool:
    """Whether a derived file is correct; an unreadable one must be rebuilt."""
    try:
        return path.stat().st_size == len(data) and read_regular(path) == data
    except OSError:
        return False
