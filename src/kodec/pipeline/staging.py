"""Staging folders for a job's output, next to its target: it appears complete, by one rename, or not at all.

On a cluster the folder around the target must be on a file system that the driver and all workers share.
"""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kodec.log.files.durable import exchange, sync_folder
from kodec.log.files.lock import is_locked, locked_staging
from kodec.log.files.paths import is_own_folder
from kodec.log.remote.opening import require_outside_logs
from kodec.stores.modes import readable_as
from kodec.stores.storage import StorePath
from kodec.stores.upload import require_empty, upload

__all__ = ["Staging", "require_free", "staged"]

_TRIES = 5
_FINISHED = "finished"


class Staging:
    """A hidden folder next to a target.

    Every attempt at a task writes into its own folder (`attempt`), so an abandoned attempt that still runs
    does no harm. The driver moves the output of the accepted attempts to `result` (`take`), which then
    becomes the target (`publish`).

    Attributes: path, which is pickled with the work; result, the folder that becomes the target; resumable,
    whether finished output survives a stopped job.
    """

    def __init__(self, path: Path, *, resumable: bool = False) -> None:
        self.path = path
        self.resumable = resumable
        self.result = path / "result"

    def attempt(self) -> Path:
        """A new folder for one attempt at a task. Raises OSError, also if the job has ended."""
        folder = self.path / "attempts" / uuid.uuid4().hex
        folder.mkdir()
        return folder

    def finished(self, key: str) -> Path:
        """The folder of an attempt with this key, if one was finished in this job or an earlier one."""
        return self.path / _FINISHED / key

    def finish(self, attempt: Path, key: str) -> Path:
        """Keep an attempt's folder for a job that resumes; returns its new path. Raises OSError."""
        target = self.finished(key)
        shutil.rmtree(target, ignore_errors=True)
        try:
            return attempt.rename(target)
        except FileExistsError:
            # another attempt at the same task came first
            return attempt

    def take(self, source: Path, name: str | Path) -> None:
        """Move a file or folder that an attempt has made into the result. Raises OSError."""
        target = self.result / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not source.exists():
            text = f"{source}: written by a worker, not seen here: share the file system"
            raise FileNotFoundError(text)
        if target.exists():
            raise FileExistsError(f"{target.relative_to(self.result)} was made by two tasks")
        source.rename(target)

    def publish(self, target: Path) -> None:
        """Make the result the target; an existing one is exchanged for it, and deleted last.

        If the system cannot exchange two names in one step, the existing one is moved away before: a process
        killed in between leaves no target, until the next job with the same target. Raises OSError.
        """
        if isinstance(target, StorePath):
            # a file that marks the output as complete comes last
            upload(self.result, target, lambda path: path.name.startswith("_"))
            return
        if not (target.exists() and exchange(self.result, target)):
            aside = self.path / "replaced"
            if target.exists():
                target.rename(aside)
            try:
                self.result.rename(target)
            except OSError:
                if aside.exists():
                    aside.rename(target)
                raise
        sync_folder(target.parent)


@contextmanager
def staged(
    target: Path, sources: Iterable[str | os.PathLike[str]], *, resume: bool = False
) -> Iterator[Staging]:
    """A staging folder for a target, which is removed at the end, whatever happens.

    At most those who may read all of the sources may read it (`readable_as`); workers of a cluster, with
    masks of their own, write below it. That of a killed process is removed by the next job with the same
    target: a running job holds its lock. With `resume` finished output of an earlier job is adopted first,
    and an error of this job keeps its finished output. Raises ValueError for a target in a broker's log
    directory; OSError.
    """
    require_outside_logs(target)
    with readable_as(*sources), _staged(target, resume) as staging:
        yield staging


@contextmanager
def _staged(target: Path, resume: bool) -> Iterator[Staging]:
    if isinstance(target, StorePath):
        if resume:
            raise ValueError(
                f"{target}: what a stopped run has finished is kept next to folders of this machine only"
            )
        with _staged_here() as staging:
            yield staging
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{target.name}.kodec-"
    # what others have put there might become a part of this output
    others = [folder for folder in target.parent.glob(f"{glob.escape(prefix)}*") if is_own_folder(folder)]
    for attempt in range(_TRIES):
        path = target.parent / f"{prefix}{uuid.uuid4().hex}"
        path.mkdir()
        try:
            lock = locked_staging(path)
            lock.__enter__()
        except (BlockingIOError, FileNotFoundError):
            # another job treated it as abandoned before it was locked
            if attempt == _TRIES - 1:
                raise
            continue
        break
    is_complete = False
    try:
        for name in ("attempts", "result", _FINISHED):
            (path / name).mkdir()
        for other in others:
            with suppress(BlockingIOError, FileNotFoundError, NotADirectoryError):
                # a lock of this process would not block
                if not is_locked(other):
                    with locked_staging(other):
                        _remove(other, target, path / _FINISHED if resume else None)
        yield Staging(path, resumable=resume)
        is_complete = True
    finally:
        if is_complete or not resume or not any((path / _FINISHED).iterdir()):
            _remove(path, target)
        else:
            _give_back(path, target)
            shutil.rmtree(path / "attempts", ignore_errors=True)
            shutil.rmtree(path / "result", ignore_errors=True)
        lock.__exit__(None, None, None)


@contextmanager
def _staged_here() -> Iterator[Staging]:
    """A staging folder for an object store: a temporary one of this machine."""
    path = Path(tempfile.mkdtemp(prefix="kodec-"))
    try:
        for name in ("attempts", "result", _FINISHED):
            (path / name).mkdir()
        yield Staging(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _remove(path: Path, target: Path, heir: Path | None = None) -> None:
    """Remove a staging folder; its finished output moves to `heir`."""
    _give_back(path, target)
    if heir is not None and (path / _FINISHED).is_dir():
        for item in (path / _FINISHED).iterdir():
            item.rename(heir / item.name)
    shutil.rmtree(path, ignore_errors=True)


def _give_back(path: Path, target: Path) -> None:
    if (path / "replaced").exists() and not target.exists():
        # ended between the two renames of `publish`
        (path / "replaced").rename(target)


def require_free(
    target: Path, *, overwrite: bool | None = None, ours: Callable[[str], bool] = lambda name: True
) -> None:
    """Refuse a target that is a file, is not empty without `overwrite`, or holds a file that is not `ours`.

    `overwrite` is None if the job has no such option. `ours` is asked about the path of each file below the
    target: a folder's name is no evidence of who has written what is in it. Raises FileExistsError; OSError
    where a folder cannot be listed.
    """
    if isinstance(target, StorePath):
        if overwrite:
            raise ValueError(f"{target}: nothing in an object store is replaced: name a new folder")
        require_empty(target)
        return
    if target.exists() and not target.is_dir():
        raise FileExistsError(f"{target} is a file")
    names = sorted(path.name for path in target.iterdir()) if target.is_dir() else []
    if names and not overwrite:
        hint = "" if overwrite is None else "; overwrite=True replaces it"
        raise FileExistsError(f"{target} is not empty{hint}")
    if names and (other := next((name for name in _files_in(target) if not ours(name)), None)) is not None:
        raise FileExistsError(f"{target} holds {other}, which is not of an export: it is not replaced")


def _files_in(target: Path) -> Iterator[str]:
    """The paths of all files below a folder; links are files. Raises OSError."""

    def failed(error: OSError) -> None:
        raise error

    for folder, inside, files in os.walk(target, onerror=failed):
        links = [name for name in inside if Path(folder, name).is_symlink()]
        for name in sorted([*files, *links]):
            yield Path(folder, name).relative_to(target).as_posix()
