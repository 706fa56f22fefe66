"""The points of a backup: listed, checked, and deleted."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from kodec.log.arguments import chosen_names
from kodec.log.backup.repository import PRUNING, Repository, hash_of
from kodec.log.omissions import Omissions
from kodec.log.remote.point import OBJECTS, POINTS, SUFFIX, BackupPart, BackupPoint
from kodec.runtime.dataclass import dataclass, field, replace
from kodec.runtime.errors import FormatError, StalePlan
from kodec.runtime.plan import OnStep, Plan, StepReport, ignore

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


def list_points(backup: str | os.PathLike[str], *, omissions: Omissions | None = None) -> list[BackupPoint]:
    """The points of a backup, in the order in which they were taken, the oldest first.

    That is the order of their numbers, which no clock sets; by name where points of older versions have none.

    Args:
        backup: its folder or URL.
        omissions: takes points whose manifests cannot be read, instead of an error.

    Returns: the points.
    Raises: FileNotFoundError where no backup is; FormatError for a damaged manifest; OSError.

    Example: see `plan_backup`.
    """
    repository = Repository(backup)
    repository.require()
    points = []
    for name in repository.names():
        try:
            points.append(repository.point(name))
        except (FormatError, OSError) as error:
            if omissions is None:
                raise
            omissions.failed(repository.target / POINTS / f"{name}{SUFFIX}", error)
    return sorted(points, key=lambda point: (point.number, point.name))


def check_backup(
    backup: str | os.PathLike[str],
    *,
    points: Collection[str] | str | None = None,
    contents: bool = True,
    progress: Callable[[int], None] = lambda _: None,
) -> Iterator[BackupProblem]:
    """Read every object that points need, once, and compare its size and its SHA-256 with the manifests.

    What a point lacks of the log directories is no problem of the backup: `BackupPoint.omissions` has that.

    Args:
        backup: the backup's folder or URL.
        points: names of points; None: all.
        contents: read the objects; without it, compare names and sizes in a listing.
        progress: called with the bytes read since the last call.

    Returns: an iterator of problems.
    Raises: FileNotFoundError where no backup is; KeyError for a point that is missing; OSError.

    Example:
        >>> import kodec
        >>> _ = kodec.operations.plan_backup("/data/kafka-logs", "backup").apply()
        >>> list(kodec.operations.check_backup("backup"))
        []
    """
    points = chosen_names("points", points)
    repository = Repository(backup)
    repository.require()
    names = repository.names()
    if points is not None and (missing := set(points) - set(names)):
        raise KeyError(f"{repository.target} has no point {', '.join(sorted(missing))}")
    needed: dict[str, BackupPart] = {}
    by: dict[str, list[str]] = {}
    for name in names if points is None else sorted(points):
        try:
            point = repository.point(name)
        except (FormatError, OSError) as error:
            path = repository.target / POINTS / f"{name}{SUFFIX}"
            yield BackupProblem(path, f"the manifest of {name} cannot be read: {error}", [name])
            continue
        for key, part in point.objects().items():
            needed[key] = part
            by.setdefault(key, []).append(name)
    sizes = None if contents else repository.all_objects()
    for key, part in needed.items():
        path = repository.target / OBJECTS / key
        what = _difference(path, part, progress) if sizes is None else _of_size(sizes.get(key), part)
        if what is not None:
            yield BackupProblem(path, what, by[key])


def _of_size(size: int | None, part: BackupPart) -> str | None:
    if size is None:
        return "missing"
    return None if size == part.size else f"has {size} bytes, not {part.size}"


def _difference(path: Path, part: BackupPart, progress: Callable[[int], None]) -> str | None:
    """What is wrong with an object, by its bytes; None if nothing is."""
    try:
        size, digest = hash_of(path)
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    progress(size)
    return _of_size(size, part) or (None if digest == part.sha256 else f"its SHA-256 is {digest}")


@dataclass(frozen=True, slots=True)
class PrunePlan(Plan[StepReport[str]]):
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

    @property
    def has_changes(self) -> bool:
        """Whether there is something to delete."""
        return bool(self.points or self.objects)

    def require_current(self) -> None:
        """Raises StalePlan if points were added or deleted; OSError."""
        names = Repository(self.target).names()
        if not {*self.points} <= {*names} or [name for name in names if name not in self.points] != self.kept:
            raise StalePlan(str(self.target), "has other points")

    def preview(self) -> StepReport[str]:
        """Return the points to delete, then the objects."""
        return StepReport([*self.points, *self.objects])

    def apply(self, *, on_step: OnStep = ignore) -> StepReport[str]:
        """Delete the points, then the objects; call `on_step` with the name of each.

        A kill in between leaves objects that the next plan has.

        Raises: BlockingIOError while a backup runs, or where the mark of a killed one is left; StalePlan if
        points were added or deleted since the plan was made; OSError.
        """
        repository = Repository(self.target)
        with repository.marked(PRUNING):
            self.require_current()
            # a backup that was killed meanwhile has left more objects
            now = _plan(repository, self.points)
            for remove, names in (
                (repository.remove_point, now.points),
                (repository.remove_object, now.objects),
            ):
                for name in names:
                    remove(name)
                    on_step(name)
        return replace(now.preview(), applied=True)


def plan_prune(
    backup: str | os.PathLike[str], *, keep: int | None = None, points: Collection[str] | str | None = None
) -> PrunePlan:
    """Plan to delete points of a backup, and the objects that no other point needs.

    Args:
        backup: the backup's folder or URL.
        keep: how many of the newest points to keep, at least 1; the newest whole one is kept besides.
        points: the names of those to delete; instead of `keep`.

    Returns: a plan; `apply` deletes.
    Raises: ValueError unless one of both is given, and if no point would be left; KeyError for a point that
    is missing; FileNotFoundError where no backup is; FormatError where a manifest that stays cannot be
    read, so that it is not known what it needs, and, with `keep`, where any cannot; OSError.

    Example: see `PrunePlan`.
    """
    points = chosen_names("points", points)
    if (keep is None) == (points is None) or (keep is not None and keep < 1):
        raise ValueError("give the number of points to keep, at least 1, or the points to delete")
    repository = Repository(backup)
    repository.require()
    if points is not None:
        if missing := set(points) - set(repository.names()):
            raise KeyError(f"{repository.target} has no point {', '.join(sorted(missing))}")
        return _plan(repository, sorted(points))
    known = list_points(backup)
    remaining = {point.name for point in known[-(keep or 0) :]}
    remaining |= {point.name for point in [point for point in known if point.is_whole][-1:]}
    return _plan(repository, [point.name for point in known if point.name not in remaining])


def _plan(repository: Repository, points: list[str]) -> PrunePlan:
    names = repository.names()
    remaining = [name for name in names if name not in points]
    if not remaining and names:
        raise ValueError(f"no point of {repository.target} would be left: delete the folder itself")
    needed: set[str] = set()
    for name in remaining:
        needed |= repository.point(name).objects().keys()
    objects = {key: size for key, size in repository.all_objects().items() if key not in needed}
    return PrunePlan(repository.target, [name for name in points if name in names], remaining, objects)
