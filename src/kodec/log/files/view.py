"""Views: folders of other systems that are read as log directories.

A view is a `Storage` that is only read, of topic-partitions' folders under the names that brokers give. The
content of its files comes from the real ones.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

from kodec.runtime.logger import logger
from kodec.stores.storage import Entry, Listed, Status, StorePath, not_found, storage_of

__all__ = ["ViewFile", "ViewPath", "ViewStorage", "may_have_indexes", "note", "replace_note", "take_notes"]


_notes: dict[str, None] = {}


def note(text: str) -> None:
    """Note for whoever reads a view what an answer depends on; it is logged the first time."""
    if text not in _notes:
        _notes[text] = None
        logger().info("%s", text)


def take_notes() -> list[str]:
    """The notes since this was last called."""
    found = list(_notes)
    _notes.clear()
    return found


def replace_note(old: str, text: str) -> None:
    """Note a text in place of an earlier one."""
    _notes.pop(old, None)
    note(text)


def may_have_indexes(path: Path) -> bool:
    """Whether a log at a path may have indexes and checkpoints of Kafka's."""
    return not isinstance(path, StorePath) or path.has_indexes


class ViewFile(NamedTuple):
    """A file of the view: the object with its content, its size, and how it is opened.

    Attributes: `is_local` where it is a file of a log directory, which a broker may change; `largest` is the
    largest timestamp of a log, in ms since 1970, where the metadata has it.
    """

    real: Path
    status: Status
    open: Callable[[], BinaryIO]
    is_local: bool = False
    largest: int | None = None


class ViewPath(StorePath):
    """A path in a view.

    Attributes: `file` is what a listing showed; None for another path. As `listed`, it goes with the path to
    other processes, so that all of them read the same objects, and none has to list them again.
    """

    file: ViewFile | None = None

    @property
    def real(self) -> Path | None:
        """The object with the content, for people; None where none is known."""
        return None if self.file is None else self.file.real

    def named(self, file: ViewFile) -> Self:
        """This path, with the file that a listing showed."""
        self.listed, self.file, self.largest = file.status, file, file.largest
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), self.parts, self.file)


def _unpickled(kind: type[ViewPath], parts: tuple[str, ...], file: ViewFile | None) -> ViewPath:
    found = kind(*parts)
    return found if file is None else found.named(file)


class ViewStorage:
    """A view as a `Storage`. The first two parts of its paths name the view, the others a folder and a file.

    Attributes: `WHAT` is what the view shows, for errors.
    """

    WHAT: str

    def __init__(self) -> None:
        self._files: dict[str, dict[str, ViewFile]] = {}

    @abstractmethod
    def partitions(self) -> Mapping[str, object]:
        """The folders of topic-partitions, by the names that they have in a log directory."""

    @abstractmethod
    def folder(self, name: str) -> object | None:
        """The folder of a topic-partition, as it was when it was last listed; None if it is not there."""

    @abstractmethod
    def files(self, name: str) -> dict[str, ViewFile]:
        """The files of a topic-partition's folder, listed now."""

    def beside(self) -> Mapping[str, ViewFile]:
        """The files beside the folders of topic-partitions."""
        return {}

    def _file(self, path: Path) -> ViewFile:
        """A file of the listing that the path is of, else of the last one, or of one that is made now."""
        if isinstance(path, ViewPath) and path.file is not None:
            return path.file
        _, _, *rest = path.parts
        if len(rest) == 2:
            files = self._files.get(rest[0])
            if files is None or rest[1] not in files:
                files = self.files(rest[0])
            if rest[1] in files:
                return files[rest[1]]
        elif len(rest) == 1 and (found := self.beside().get(rest[0])) is not None:
            return found
        raise not_found(path)

    def entries(self, folder: Path) -> AbstractContextManager[Iterator[Entry]]:
        assert isinstance(folder, ViewPath)
        rest = folder.parts[2:]
        if len(rest) > 1:
            raise not_found(folder, "no such folder")
        files = self.files(rest[0]) if rest else self.beside()
        found = [Listed((folder / name).named(file), file.status) for name, file in files.items()]
        if not rest:
            found += [Listed(folder / name, None) for name in self.partitions()]
        return nullcontext(iter(found))

    def is_folder(self, path: Path) -> bool:
        rest = path.parts[2:]
        return not rest or (len(rest) == 1 and self.folder(rest[0]) is not None)

    def status(self, path: Path) -> Status:
        file = self._file(path)
        return storage_of(file.real).status(file.real) if file.is_local else file.status

    def open(self, path: Path) -> BinaryIO:
        file = self._file(path).open()
        if not hasattr(file, "again"):
            # as a file of a store has it: the same content, with a place of its own
            file.again = partial(self.open, path)  # type: ignore[attr-defined]
        return file

    def create(self, path: Path, data: bytes | Path) -> None:
        raise PermissionError(f"{path}: {self.WHAT} is only read")

    def remove(self, path: Path) -> None:
        raise PermissionError(f"{path}: {self.WHAT} is only read")
