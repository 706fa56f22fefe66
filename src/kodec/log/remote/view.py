"""Views: folders of other systems that are read as log directories.

A view is `Files` that are only read, of topic-partitions' folders under the names that brokers give. The
content of its files comes from the real ones.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.parse import quote

from kodec.stores.context import Context
from kodec.stores.storage import Entry, Files, Listed, Status, StorePath, files_of, not_found

__all__ = ["View", "ViewFile", "may_have_indexes", "real_of", "view_file"]


def may_have_indexes(path: Path) -> bool:
    """Whether a log at a path may have indexes and checkpoints of Kafka's."""
    return not isinstance(path, StorePath) or path.files.has_indexes


def view_file(path: Path) -> ViewFile | None:
    """What a listing showed of a file in a view; None for another path."""
    content = path.content if isinstance(path, StorePath) else None
    return content if isinstance(content, ViewFile) else None


def real_of(path: Path) -> Path | None:
    """The object with the content of a file in a view, for people; None where none is known."""
    file = view_file(path)
    return None if file is None else file.real


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


class View(Files):
    """A view. The first two parts of its paths name it, the others a folder and a file."""

    def __init__(self, kind: str, name: str, context: Context) -> None:
        self.root = (f"{kind}:", quote(name, safe=""))
        self.context = context
        self._files: dict[str, dict[str, ViewFile]] = {}

    @property
    def path(self) -> StorePath:
        """The folder itself."""
        return StorePath(self, *self.root)

    def text(self, path: Path) -> str:
        return str(real_of(path) or "/".join([str(self.origin), *path.parts[2:]]))

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
        if (file := view_file(path)) is not None:
            return file
        _, _, *inner = path.parts
        if len(inner) == 2:
            files = self._files.get(inner[0])
            if files is None or inner[1] not in files:
                files = self.files(inner[0])
            if inner[1] in files:
                return files[inner[1]]
        elif len(inner) == 1 and (beside := self.beside().get(inner[0])) is not None:
            return beside
        raise not_found(path)

    def entries(self, folder: Path) -> AbstractContextManager[Iterator[Entry]]:
        assert isinstance(folder, StorePath)
        inner = folder.parts[2:]
        if len(inner) > 1:
            raise not_found(folder, "no such folder")
        files = self.files(inner[0]) if inner else self.beside()
        listed = [
            Listed((folder / name).seen(file.status, file), file.status) for name, file in files.items()
        ]
        if not inner:
            listed += [Listed(folder / name, None) for name in self.partitions()]
        return nullcontext(iter(listed))

    def is_folder(self, path: Path) -> bool:
        inner = path.parts[2:]
        return not inner or (len(inner) == 1 and self.folder(inner[0]) is not None)

    def status(self, path: Path) -> Status:
        file = self._file(path)
        return files_of(file.real).status(file.real) if file.is_local else file.status

    def open(self, path: Path) -> BinaryIO:
        file = self._file(path).open()
        if not hasattr(file, "again"):
            # as a file of a store has it: the same content, with a place of its own
            file.again = partial(self.open, path)  # type: ignore[attr-defined]
        return file
