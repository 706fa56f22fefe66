"""What is at a path: one table of cases for the finder in Python, Spark's planner, and Java's."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

__all__ = ["CASES", "Case"]

_LOG = f"{0:020d}.log"
_ID = "AAAAAAAAAAAAAAAAAAAAAA"
_REMOTE = f"{0:020d}-{_ID}.log"


class Case(NamedTuple):
    """Files, and which of them are the segments of the logs at a path; None if that is not a log.

    Attributes:
        resolves: whether the path is one thing on a broker's disk, which commands work on.
    """

    name: str
    files: tuple[str, ...]
    path: str
    segments: tuple[str, ...] | None
    resolves: bool = True

    def make(self, root: Path) -> Path:
        """Make the files, all empty; a name that ends in / is a folder's. Returns the path."""
        for name in self.files:
            file = root / name
            folder = file if name.endswith("/") else file.parent
            folder.mkdir(parents=True, exist_ok=True)
            if not name.endswith("/"):
                file.touch()
        return root / self.path


_TWO = ("kafka-logs-1/meta.properties", f"kafka-logs-1/a-0/{_LOG}", f"kafka-logs-2/b-0/{_LOG}")
_FOREIGN = (
    "lib/llvm-14/bin/cc",
    "lib/llvm-14/readme.log",
    "lib/llvm-14/00000000000000000000",
    "lib/polkit-1/",
)

CASES = [
    Case(
        "log directory",
        ("d/meta.properties", f"d/a-0/{_LOG}", f"d/lost+found/{_LOG}"),
        "d",
        (f"d/a-0/{_LOG}",),
    ),
    Case("log directory without a broker's files", (f"d/a-0/{_LOG}", "d/b-0/"), "d", (f"d/a-0/{_LOG}",)),
    Case("log directory that is new", ("d/meta.properties",), "d", ()),
    Case("log directory whose logs are new", ("d/meta.properties", "d/a-0/"), "d", ()),
    Case("log directory named like a folder in it", (f"a-0/b-0/{_LOG}",), "a-0", (f"a-0/b-0/{_LOG}",)),
    Case(
        "replica that is not live",
        (f"d/a-0.{'0' * 32}-delete/{_LOG}", f"d/b-0/{_LOG}"),
        "d",
        (f"d/b-0/{_LOG}",),
    ),
    Case("topic-partition's folder", (f"d/a-0/{_LOG}", f"d/b-0/{_LOG}"), "d/a-0", (f"d/a-0/{_LOG}",)),
    Case("new folder in a log directory", ("d/meta.properties", "d/a-0/"), "d/a-0", ()),
    Case("folder with leader epochs alone", ("d/a-0/leader-epoch-checkpoint",), "d/a-0", ()),
    Case("folder with a topic's id alone", ("d/a-0/partition.metadata",), "d", ()),
    Case(
        "folder of the metadata's voter",
        ("d/__cluster_metadata-0/quorum-state",),
        "d/__cluster_metadata-0",
        (),
    ),
    Case("folder with an index alone", (f"d/a-0/{0:020d}.timeindex",), "d/a-0", ()),
    Case("segment", (f"d/a-0/{_LOG}", f"d/a-0/{7:020d}.log"), f"d/a-0/{_LOG}", (f"d/a-0/{_LOG}",)),
    Case("file of another kind", (f"d/a-0/{_LOG}", "d/a-0/notes.txt"), "d/a-0/notes.txt", None),
    Case("nothing", ("d/",), "d", None),
    Case("folders of other kinds", ("d/e/notes.txt", f"d/{_LOG}"), "d", None),
    Case("folder named like one, of another program", _FOREIGN, "lib/llvm-14", None),
    Case("folder of such", _FOREIGN, "lib", None),
    Case("folder of folders of such", _FOREIGN, "", None),
    Case("folder of log directories", _TWO, "", (_TWO[1], _TWO[2]), resolves=False),
    Case(
        "such a folder, named like one of them",
        tuple(f"x-1/{each}" for each in _TWO),
        "x-1",
        tuple(f"x-1/{each}" for each in _TWO[1:]),
        resolves=False,
    ),
    Case(
        "log directory with another one in it",
        (f"d/a-0/{_LOG}", f"d/old-1/b-0/{_LOG}"),
        "d",
        (f"d/a-0/{_LOG}", f"d/old-1/b-0/{_LOG}"),
    ),
    Case(
        "log directories beside another program's folders",
        (*_TWO, *_FOREIGN),
        "",
        (_TWO[1], _TWO[2]),
        resolves=False,
    ),
    Case("remote storage", (f"r/a-0-{_ID}/{_REMOTE}",), "r", (f"r/a-0-{_ID}/{_REMOTE}",)),
    Case(
        "remote storage beside a log directory",
        (f"x/r/a-0-{_ID}/{_REMOTE}", f"x/d/b-0/{_LOG}"),
        "x",
        (f"x/r/a-0-{_ID}/{_REMOTE}", f"x/d/b-0/{_LOG}"),
        resolves=False,
    ),
]
