"""A folder that was made on this machine, put into an object store: whole, or marked as not whole.

A store renames nothing, so what it gets object by object can be seen before its end. Each folder there has a
mark from before its first object until all is there. Whoever lists a folder with the mark gets an error
(`ObjectStorage.entries`), and of two writers only one can make the mark.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kodec.runtime.errors import ArgumentError
from kodec.stores.storage import UNFINISHED, StorePath, entries, files_below, files_of

__all__ = ["made_here", "require_empty", "upload"]


def require_empty(target: StorePath) -> None:
    """Refuse a target that has objects: nothing there is replaced. Raises FileExistsError, OSError;
    ArgumentError for one on a web server."""
    if target.parts[0] in ("http:", "https:"):
        raise ArgumentError(f"{target}: web servers are only read")
    try:
        with entries(target) as listing:
            name = next((entry.name for entry in listing), None)
    except FileNotFoundError:
        return
    if name is not None:
        reason = f"it holds {name}, and nothing in a store is replaced: name a new folder"
        raise FileExistsError(errno.EEXIST, reason, str(target))


def upload(folder: Path, target: StorePath, last: Callable[[Path], bool] = lambda path: False) -> None:
    """Put all files of a folder below a URL at which nothing is; those that are `last` after the others.

    Raises FileExistsError where something is there, or another one writes there; OSError, after which the
    marks stay: nobody reads what is there.
    """
    files = sorted(files_below(folder, _raised), key=lambda path: (last(path), path))
    folders = sorted({folder, *(path.parent for path in files)})
    require_empty(target)
    storage = files_of(target)
    marks = [target.joinpath(path.relative_to(folder), UNFINISHED) for path in folders]
    for mark in marks:
        storage.create(mark, b"kodec writes here, or was stopped while it did\n")
    for path in files:
        storage.create(target / path.relative_to(folder), path)
    # the outer one goes last
    for mark in reversed(marks):
        storage.remove(mark)


def _raised(error: OSError) -> None:
    raise error


@contextmanager
def made_here(target: Path) -> Iterator[Path]:
    """Where to make a folder that is to be `target`: there, or of a URL in a temporary folder, which is put
    there at the end unless an error ends it. Raises as `upload`."""
    if not isinstance(target, StorePath):
        yield target
        return
    require_empty(target)
    import shutil
    import tempfile

    around = Path(tempfile.mkdtemp(prefix="kodec-"))
    try:
        yield around / "made"
        if (around / "made").exists():
            upload(around / "made", target)
    finally:
        shutil.rmtree(around, ignore_errors=True)
