"""The differences between two kits, for users of the older one."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from kodec.formats.evolution import violations
from kodec.runtime.foreign_json import read_json

__all__ = ["changelog", "manifest_of"]


def changelog(previous: Path | None, schemas: Path, files: Mapping[str, bytes], version: str) -> str:
    """The changelog in Markdown; without a previous kit it states that this is the first.

    Raises: ValueError for an invalid previous kit; SchemaError for schemas in it that cannot be used;
    OSError.
    """
    if previous is None:
        return f"# Changes\n\n## {version}\n\nThe first kit, or one that was not compared with another.\n"
    with tempfile.TemporaryDirectory(prefix="kodec-handoff-") as scratch:
        folder = _unpacked(previous, Path(scratch))
        manifest = manifest_of(folder, previous)
        lines = ["# Changes", "", f"## {version}", "", f"Since {manifest['format_version']}:", ""]
        lines += _schemas(folder, manifest["files"], schemas, files)
    return "\n".join(lines) + "\n"


def _schemas(
    folder: Path, old: Mapping[str, Any], schemas: Path, files: Mapping[str, bytes]
) -> Iterator[str]:
    new = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    before = {path: facts["sha256"] for path, facts in old.items() if path.startswith("schemas/")}
    after = {path: digest for path, digest in new.items() if path.startswith("schemas/")}
    added, gone = sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())
    changed = sorted(path for path in before.keys() & after.keys() if before[path] != after[path])
    yield from (f"- new: `{path}`" for path in added)
    yield from (f"- gone: `{path}`" for path in gone)
    yield from (f"- changed: `{path}`" for path in changed)
    broken = violations(folder / "schemas", schemas) if before else []
    if broken:
        yield from ("", "Not compatible: readers of the previous kit may misread bytes:", "")
        yield from (
            f"- `{problem.place.file}:{problem.place.line}`: {problem.path}: {problem.text}"
            for problem in broken
        )
    elif not (added or gone or changed):
        yield "- no schema has changed"
    else:
        yield from ("", "Compatible: every existing version keeps its meaning.")
    others = [
        f"{path.partition('/')[0]}/"
        for path in sorted(old.keys() | new.keys())
        if "/" in path
        and not path.startswith("schemas/")
        and new.get(path) != old.get(path, {}).get("sha256")
    ]
    if others:
        counts = {folder: others.count(folder) for folder in dict.fromkeys(others)}
        yield from (
            "",
            "Files that differ: " + ", ".join(f"{n} in `{folder}`" for folder, n in counts.items()),
        )


_MOST_FILES, _MOST_BYTES = 10_000, 64 << 20


def _unpacked(previous: Path, scratch: Path) -> Path:
    """The folder of the kit; what is read of an archive is put into `scratch`, and nothing elsewhere.

    Raises ValueError.
    """
    if previous.is_dir():
        return previous
    try:
        with zipfile.ZipFile(previous) as archive:
            entries = archive.infolist()
            for entry in entries:
                inner = PurePosixPath(entry.filename)
                if inner.is_absolute() or ".." in inner.parts:
                    raise ValueError(f"{previous}: {entry.filename} cannot belong to a kit")
            # nothing else of a kit is read
            read = [entry for entry in entries if entry.filename.startswith(("MANIFEST.json", "schemas/"))]
            if len(read) > _MOST_FILES or sum(entry.file_size for entry in read) > _MOST_BYTES:
                reason = f"its schemas are more than {_MOST_FILES} files or {_MOST_BYTES >> 20} MiB"
                raise ValueError(f"{previous}: {reason}")
            archive.extractall(scratch, read)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        UnicodeError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise ValueError(f"{previous} is not a kit: {error}") from None
    return scratch


def manifest_of(folder: Path, shown: Path) -> dict[str, Any]:
    """The manifest of a kit: `files` and `format_version`. Raises ValueError that names `shown`."""
    try:
        manifest = read_json((folder / "MANIFEST.json").read_bytes(), most_values=_MOST_FILES * 10)
        if manifest["kit_version"] == 1 and all("sha256" in file for file in manifest["files"].values()):
            return {"files": dict(manifest["files"]), "format_version": str(manifest["format_version"])}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        pass
    raise ValueError(f"{shown} is not a kit of this version: its MANIFEST.json lacks its contents")
