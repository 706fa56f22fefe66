"""A model of what is on a disk, while programs believe what the system shows them: files, names, fsyncs.

A folder is watched from its present state on, which counts as being on the disk. Each change to it is given
here (see `faults`). `crash` then gives one of the states in which a machine that goes down may leave it:

- of a file's writes and truncations that no fsync has covered, any may be there, in part too; where one that
  makes the file longer is not, there may be zeros or anything in its place;
- of a folder's names that no fsync of the folder has covered, any may be there, and any removal may not; a
  rename is whole or not there, but one from folder to folder may have left both names;
- what an fsync that failed was for may be there or not whatever succeeds later, as on Linux: the pages count
  as clean. Names are kept for the next fsync of their folder, as journals do.
"""

from __future__ import annotations

import os
import random
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

__all__ = ["Disk"]

_State = Literal["pending", "doubtful", "durable"]
Identity = tuple[int, int]


@dataclass(slots=True, eq=False)
class _Edit:
    """A write, or, without data, a truncation."""

    number: int
    at: int
    data: bytes | None
    state: _State = "pending"


@dataclass(slots=True, eq=False)
class _Renaming:
    """A change of names: one goes, one comes; `after` is there before this one is.

    In an exchange, `other` is a second name that comes with it.
    """

    number: int
    gone: str | None = None
    name: str = ""
    node: _File | _Folder | None = None
    after: _Renaming | None = None
    other: tuple[str, _File | _Folder] | None = None
    state: _State = "pending"


@dataclass(slots=True, eq=False)
class _File:
    base: bytes = b""
    edits: list[_Edit] = field(default_factory=list)

    def settle(self) -> None:
        """What is sure from the start on need not be kept apart."""
        content = bytearray(self.base)
        while self.edits and self.edits[0].state == "durable":
            _apply(content, self.edits.pop(0))
        self.base = bytes(content)

    def content(self, keeps: Callable[[_Edit], bool], chance: random.Random | None) -> bytes:
        """The bytes with the edits that are kept; with `chance`, others leave what a disk may leave."""
        content = bytearray(self.base)
        for edit in self.edits:
            if keeps(edit):
                if chance is None or edit.state == "durable" or chance.random() < 0.7:
                    _apply(content, edit)
                elif edit.data is not None:
                    # torn
                    part = edit.data[: chance.randrange(len(edit.data) + 1)]
                    _apply(content, _Edit(0, edit.at, part))
            elif chance is not None and edit.data is not None and chance.random() < 0.3:
                longer = edit.at + len(edit.data) - len(content)
                if longer > 0:
                    content += bytes(longer) if chance.random() < 0.5 else chance.randbytes(longer)
        return bytes(content)


@dataclass(slots=True, eq=False)
class _Folder:
    names: dict[str, _File | _Folder] = field(default_factory=dict)
    changes: list[_Renaming] = field(default_factory=list)

    def settle(self) -> None:
        while self.changes and self.changes[0].state == "durable":
            _rename(self.names, self.changes.pop(0))


def _apply(content: bytearray, edit: _Edit) -> None:
    if edit.data is None:
        del content[edit.at :]
        content.extend(bytes(edit.at - len(content)))
    elif edit.data:
        content.extend(bytes(max(0, edit.at - len(content))))
        content[edit.at : edit.at + len(edit.data)] = edit.data


def _rename(names: dict[str, _File | _Folder], change: _Renaming) -> None:
    if change.gone is not None:
        names.pop(change.gone, None)
    if change.node is not None:
        names[change.name] = change.node
    if change.other is not None:
        names[change.other[0]] = change.other[1]


class Disk:
    """What is on the disk of a folder and of all in it; files are known by device and inode."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._number = 0
        self._nodes: dict[Identity, _File | _Folder] = {}
        self._adopt(root)

    def _adopt(self, path: Path) -> _File | _Folder:
        node: _File | _Folder
        if path.is_dir():
            node = _Folder({each.name: self._adopt(each) for each in path.iterdir()})
        else:
            node = _File(path.read_bytes())
        self._nodes[_identity(path.lstat())] = node
        return node

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _file(self, file: Identity) -> _File | None:
        node = self._nodes.get(file)
        return node if isinstance(node, _File) else None

    def _folder(self, folder: Identity) -> _Folder | None:
        node = self._nodes.get(folder)
        return node if isinstance(node, _Folder) else None

    # -- what is given ------------------------------------------------------------------------------

    def created(self, folder: Identity, name: str, made: os.stat_result) -> None:
        """A new file or folder has a name."""
        around = self._folder(folder)
        if around is not None:
            node = _Folder() if stat.S_ISDIR(made.st_mode) else _File()
            self._nodes[_identity(made)] = node
            around.changes.append(_Renaming(self._next(), name=name, node=node))
        else:
            # Not watched, with an inode that a file in here has had.
            self._nodes.pop(_identity(made), None)

    def wrote(self, file: Identity, at: int, data: bytes) -> None:
        if (node := self._file(file)) is not None:
            node.edits.append(_Edit(self._next(), at, data))

    def truncated(self, file: Identity, size: int) -> None:
        if (node := self._file(file)) is not None:
            node.edits.append(_Edit(self._next(), size, None))

    def renamed(self, source: Identity, old: str, target: Identity, new: str, moved: Identity) -> None:
        here, there, node = self._folder(source), self._folder(target), self._nodes.get(moved)
        number = self._next()
        if here is not None and here is there:
            here.changes.append(_Renaming(number, gone=old, name=new, node=node))
            return
        come = _Renaming(number, name=new, node=node)
        if there is not None:
            there.changes.append(come)
        if here is not None:
            here.changes.append(_Renaming(number, gone=old, after=come if there is not None else None))

    def exchanged(self, folder: Identity, one: str, other: str, first: Identity, second: Identity) -> None:
        """What had the first name has the other one, and the other way round."""
        if (around := self._folder(folder)) is not None:
            here, there = self._nodes[first], self._nodes[second]
            around.changes.append(_Renaming(self._next(), name=one, node=there, other=(other, here)))

    def removed(self, folder: Identity, name: str) -> None:
        if (node := self._folder(folder)) is not None:
            node.changes.append(_Renaming(self._next(), gone=name))

    def synced(self, which: Identity) -> None:
        """An fsync has succeeded."""
        node = self._nodes.get(which)
        if isinstance(node, _File):
            for edit in node.edits:
                if edit.state == "pending":
                    edit.state = "durable"
            node.settle()
        elif node is not None:
            for change in node.changes:
                change.state = "durable"
                if change.after is not None:
                    change.after.state = "durable"
            node.settle()

    def failed(self, which: Identity) -> None:
        """An fsync has failed."""
        if (node := self._file(which)) is not None:
            for edit in node.edits:
                if edit.state == "pending":
                    edit.state = "doubtful"

    def reread(self, which: Identity, chance: random.Random) -> bytes | None:
        """The system drops what it has of a file: its contents then, where that makes a difference."""
        node = self._file(which)
        if node is None or all(edit.state != "doubtful" for edit in node.edits):
            return None
        node.edits = [edit for edit in node.edits if edit.state != "doubtful" or chance.random() < 0.5]
        for edit in node.edits:
            if edit.state == "doubtful":
                edit.state = "durable"
        node.settle()
        return node.content(lambda _: True, None)

    def forget(self, name: str) -> None:
        """What had a name in the root was taken away, and that is on the disk."""
        root = self._nodes[_identity(self.root.lstat())]
        assert isinstance(root, _Folder)
        root.names.pop(name, None)
        root.changes = [each for each in root.changes if name not in (each.gone, each.name)]

    # -- what is left -------------------------------------------------------------------------------

    def crash(self, chance: random.Random | None) -> None:
        """The machine goes down: make the folder what is left, and start from there.

        With None nothing is left but what is sure.
        """
        how = "nothing" if chance is None else chance.choice(["nothing", "first", "any", "any", "names"])
        last = 0 if chance is None else chance.randrange(self._number + 1)
        kept: dict[_Edit | _Renaming, bool] = {}

        def keeps(each: _Edit | _Renaming) -> bool:
            if each not in kept:
                if each.state == "durable":
                    kept[each] = True
                elif chance is None or how == "nothing":
                    kept[each] = False
                elif how == "first":
                    kept[each] = each.number <= last
                else:
                    # `names`: all of them, with the contents of some
                    kept[each] = chance.random() < 0.5 or (how == "names" and isinstance(each, _Renaming))
            return kept[each]

        def wanted(folder: _Folder) -> None:
            """Where a name has gone from one folder to another, it has come to that one."""
            for change in folder.changes:
                if change.after is not None and keeps(change):
                    kept[change.after] = True

        for node in list(self._nodes.values()):
            if isinstance(node, _Folder):
                wanted(node)

        def write(path: Path, node: _File | _Folder) -> None:
            if isinstance(node, _File):
                path.write_bytes(node.content(keeps, None if how == "nothing" else chance))
                return
            names = dict(node.names)
            for change in node.changes:
                if keeps(change):
                    _rename(names, change)
            path.mkdir(exist_ok=True)
            for name, each in names.items():
                write(path / name, each)

        root = self._nodes[_identity(self.root.lstat())]
        for each in self.root.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        write(self.root, root)
        self._nodes.clear()
        self._number = 0
        self._adopt(self.root)


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino
