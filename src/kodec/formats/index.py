"""The index of the cache: of which files a schema consisted when it was loaded last.

With it a schema whose files are the same is opened without YAML and without the generator. An entry is data,
which is compared with what there is now: the bytes of every file that was looked at, and that those which
were missing still are. So it leads to other modules than loading the schema only if somebody changes it on
purpose; one that others own or can write to is not used. One that is cut off, damaged or of another form is
written again. It replaces the one before as a whole: of several processes the last one is right too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kodec.runtime.dataclass import dataclass, field

__all__ = ["Entry", "Lookups", "is_own", "read_entry", "write_entry"]

FOLDER = "index"
FORM = 1
_MISSING = ""
_MOST_BYTES = 16 << 20


@dataclass
class Lookups:
    """What was looked at to find the files of a schema.

    Attributes:
        files: the path of each file that belongs to it, by its name.
        others: further paths, which are not among them.
    """

    files: dict[str, Path] = field(default_factory=dict)
    others: set[Path] = field(default_factory=set)


class Entry:
    """The place in the index of a schema with its overlays and import paths."""

    def __init__(
        self, cache: Path, schema: Path, overlays: Sequence[str] = (), import_path: Sequence[Path] = ()
    ) -> None:
        key = [FORM, str(schema), list(overlays), [str(folder.absolute()) for folder in import_path]]
        # the names of overlays may be relative
        key += [str(Path.cwd())] if overlays else []
        name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
        self.path = cache / FOLDER / f"{name}.json"

    def files(self) -> tuple[str, dict[str, bytes]] | None:
        """The name of the schema and its files, as loading it would find them; None if that is not known."""
        entry = read_entry(self.path)
        try:
            name, contents = entry["name"], dict[str, bytes]()
            if not isinstance(name, str):
                return None
            for other, digest in entry["others"].items():
                if _digest(_bytes(other)) != digest:
                    return None
            for file_name, (path, digest) in entry["files"].items():
                data = _bytes(path)
                if data is None or _digest(data) != digest:
                    return None
                contents[file_name] = data
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
        return (name, contents) if name in contents else None

    def write(self, name: str, files: dict[str, bytes], looked: Lookups) -> None:
        """Note what the files of a schema are."""
        paths = {file_name: str(path.absolute()) for file_name, path in looked.files.items()}
        others = {str(path.absolute()) for path in looked.others} - set(paths.values())
        entry = {
            "name": name,
            "files": {file_name: [paths[file_name], _digest(data)] for file_name, data in files.items()},
            "others": {path: _digest(_bytes(path)) for path in sorted(others)},
        }
        write_entry(self.path, entry)


def read_entry(path: Path) -> dict[str, Any]:
    """What `write_entry` wrote; nothing if that is missing, not whole, or not the user's alone."""
    try:
        with path.open("rb") as file:
            if not is_own(os.fstat(file.fileno())) or not is_own(path.parent.stat()):
                return {}
            head, _, data = file.read(_MOST_BYTES).partition(b"\n")
        entry = json.loads(data) if head == _digest(data).encode() else None
    except (OSError, ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}


def write_entry(path: Path, entry: dict[str, Any]) -> None:
    """Replace a file by data and its digest. A folder that cannot be written to is left as it is."""
    data = json.dumps(entry).encode()
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(6).hex()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            temporary.write_bytes(_digest(data).encode() + b"\n" + data)
            temporary.chmod(0o600)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def is_own(facts: os.stat_result) -> bool:
    """Whether a file or folder is the user's, and nobody else can write to it."""
    return not hasattr(os, "getuid") or (
        facts.st_uid == os.getuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _bytes(path: str) -> bytes | None:
    """The content of a file; None if there is no such regular file."""
    file = Path(path)
    return file.read_bytes() if file.is_file() else None


def _digest(data: bytes | None) -> str:
    return _MISSING if data is None else hashlib.sha256(data).hexdigest()
