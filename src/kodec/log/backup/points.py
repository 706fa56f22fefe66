"""The points of a backup: listed, checked, and deleted."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from kodec.log.backup.repository import PRUNING, Repository, hash_of
from kodec.log.files.backup_point import OBJECTS, BackupPoint
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import FormatError, StalePlan

__all__ = ["BackupProblem", "PrunePlan", "check_backup", "list_points", "plan_prune"]


@dataclass(frozen=True, slots=True)
class BackupProblem:
    """Something that is wrong with a backup.

    Attributes:
        path: of the object or the manifest. what: what is wrong with it.
        points: that need it.

    Example: see `check_backup`.
    """

    path: Path
    what: str
    points: list[str]

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


def list_points(target: str | os.PathLike[str]) -> list[BackupPoint]:
    """The points of a backup, the oldest first.

    Args:
        target: its folder or URL.

    Returns: the points.
    Raises: FileNotFoundError where no backup is; FormatError for a damaged manifest; OSError.

    Example: see `plan_backup`.
    """
    repository = Repository(target)
    repository.require()
    return [repository.point(name) for name in repository.names()]


def check_backup(
    target: str | os.PathLike[str],
    *,
    points: Collection[str] | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Iterator[BackupProblem]:
    """Read every object that points need, once, and compare its size and its SHA-256 with the manifests.

    Args:
        target: the backup's folder or URL.
        points: names of points; None: all.
        progress: called with the bytes read since the last call.

    Returns: an iterator of problems.
    Raises: FileNotFoundError where no backup is; KeyError for a point that is missing; OSError.

    Example:
        >>> import kodec
        >>> _ = kodec.operations.plan_backup("/data/kafka-logs", "backup").apply()
        >>> list(kodec.operations.check_backup("backup"))
        []
    """
    repository = Repository(target)
    repository.require()
    names = repository.names()
    if points is not None and (missing := set(points) - set(names)):
        raise KeyError(f"{repository.target} has no point {', '.join(sorted(missing))}")
    needed: dict[str, tuple[int, str]] = {}
    by: dict[str, list[str]] = {}
    for name in names if points is None else sorted(points):
        try:
            point = repository.point(name)
        except (FormatError, OSError) as error:
            yield BackupProblem(repository.target, f"the manifest of {name} cannot be read: {error}", [name])
            continue
        for key, file in point.objects().items():
            needed[key] = file.size, file.sha256
            by.setdefault(key, []).append(name)
    for key, wanted in needed.items():
        path = repository.target / OBJECTS / key
        try:
            found = hash_of(path)
        except FileNotFoundError:
            yield BackupProblem(path, "missing", by[key])
            continue
        except OSError as error:
            yield BackupProblem(path, f"cannot be read: {error.strerror}", by[key])
            continue
        progress(found[0])
        if found[0] != wanted[0]:
            yield BackupProblem(path, f"has {found[0]} bytes, not {wanted[0]}", by[key])
        elif found != wanted:
            yield BackupProblem(path, f"its SHA-256 is {found[1]}", by[key])


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """Points to delete, and the objects that no other point needs; `apply` deletes them.

    Attributes:
        target: the backup.
        points: to delete. kept: the others.
        objects: to delete, with their sizes; also what killed backups have left.

    Example:
        >>> import kodec
        >>> _ = kodec.operations.plan_backup("/data/kafka-logs", "backup").apply()
        >>> plan = kodec.operations.plan_prune("backup", keep=1)
        >>> plan.points, plan.objects
        ([], {})
    """

    target: Path
    points: list[str]
    kept: list[str]
    objects: dict[str, int] = field(repr=False)

    @property
    def bytes(self) -> int:
        """The bytes that are freed."""
        return sum(self.objects.values())

    def apply(self) -> None:
        """Delete the points, then the objects. A kill in between leaves objects that the next plan has.

        Raises: BlockingIOError while a backup runs, or where the mark of a killed one is left; StalePlan if
        points were added or deleted since the plan was made; OSError.
        """
        repository = Repository(self.target)
        with repository.marked(PRUNING):
            now = _plan(repository, self.points)
            if now.kept != self.kept or now.points != self.points:
                raise StalePlan(str(self.target), "has other points")
            for name in self.points:
                repository.remove_point(name)
            for key in now.objects:
                repository.remove_object(key)


def plan_prune(
    target: str | os.PathLike[str], *, keep: int | None = None, points: Collection[str] | None = None
) -> PrunePlan:
    """Plan to delete points of a backup, and the objects that no other point needs.

    Args:
        target: the backup's folder or URL.
        keep: how many of the newest points to keep, at least 1.
        points: the names of those to delete; instead of `keep`.

    Returns: a plan; `apply` deletes.
    Raises: ValueError unless one of both is given, and if no point would be left; KeyError for a point that
    is missing; FileNotFoundError where no backup is; FormatError where a manifest that stays cannot be
    read, so that it is not known what it needs; OSError.

    Example: see `PrunePlan`.
    """
    if (keep is None) == (points is None) or (keep is not None and keep < 1):
        raise ValueError("give the number of points to keep, at least 1, or the points to delete")
    repository = Repository(target)
    repository.require()
    names = repository.names()
    if points is not None and (missing := set(points) - set(names)):
        raise KeyError(f"{repository.target} has no point {', '.join(sorted(missing))}")
    chosen = names[: -(keep or 0)] if points is None else sorted(points)
    return _plan(repository, chosen)


def _plan(repository: Repository, chosen: list[str]) -> PrunePlan:
    names = repository.names()
    kept = [name for name in names if name not in chosen]
    if not kept and names:
        raise ValueError(f"no point of {repository.target} would be left: delete the folder itself")
    needed: set[str] = set()
    for name in kept:
        needed |= repository.point(name).objects().keys()
    objects = {key: size for key, size in repository.all_objects().items() if key not in needed}
    return PrunePlan(repository.target, [name for name in chosen if name in names], kept, objects)
