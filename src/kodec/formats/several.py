"""The rows of many files as one table: paths and patterns, a column with the path, problems by file."""

from __future__ import annotations

import fnmatch
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kodec.formats.schema import Format, FormatReader
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError, KodecError
from kodec.stores.storage import StorePath, readable

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FileProblem", "FilesReader", "files_of", "scan_files"]

_MAGIC = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class FileProblem:
    """Why rows of a file are missing.

    Attributes:
        path: the file.
        rows: how many rows were read before.
        error: what was wrong.

    Example: see `scan_files`.
    """

    path: str
    rows: int
    error: KodecError | OSError

    def __str__(self) -> str:
        text = str(self.error)
        named = text if self.path in text else f"{self.path}: {text}"
        return f"{named} ({self.rows:,} rows before)"


class FilesReader(FormatReader):
    """The rows of several files, one file after another; see `scan_files`.

    Attributes:
        problems: the files that could not be read to their end, known once all batches were read.
        files: the paths, in order.

    Example: see `scan_files`.
    """

    def __init__(self, schema: pa.Schema, first: FormatReader, files: list[str]) -> None:
        super().__init__(schema, first.rows, first.left_out, first.backend, iter(()))
        self.problems: list[FileProblem] = []
        self.files = files


def files_of(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files that paths, URLs and patterns name, each once, those of a pattern by name. `**` are folders
    of any depth.

    Raises: FileNotFoundError for a path that does not exist, and for a pattern without a file;
    IsADirectoryError.
    """
    names: dict[str, None] = {}
    # a text is one path, not the letters of it
    for source in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        path = readable(source)
        name = str(path)
        if not _MAGIC & set(name) or path.exists():
            if path.is_dir():
                raise IsADirectoryError(f"{name} is a folder: name its files, as {path / '*'}")
            if not path.exists():
                raise FileNotFoundError(f"{name}: no such file")
            names[name] = None
            continue
        matched = [str(match) for match in _glob(path) if not match.is_dir()]
        if not matched:
            raise FileNotFoundError(f"{name}: no file matches")
        names.update(dict.fromkeys(matched))
    if not names:
        raise FileNotFoundError("no files")
    return list(names)


def _glob(pattern: Path) -> list[Path]:
    if isinstance(pattern, StorePath):
        fixed = list(itertools.takewhile(lambda part: not _MAGIC & set(part), pattern.parts))
        return list(pattern.with_segments(*fixed).glob("/".join(pattern.parts[len(fixed) :])))
    first = 1 if pattern.is_absolute() else 0
    return sorted(set(_matches(Path(*pattern.parts[:first]), pattern.parts[first:], set())))


def _matches(folder: Path, parts: Sequence[str], entered: set[tuple[int, Path]]) -> Iterator[Path]:
    """What a pattern names below a folder, as `glob.glob`, which leaves out folders that cannot be listed.

    `**` enters a folder by one link only, and `entered` has these: with links between a few folders there
    are more ways than could ever be gone. Raises OSError for folders that cannot be listed.
    """
    if not parts:
        yield folder
        return
    part, remaining = parts[0], parts[1:]
    if not _MAGIC & set(part):
        below = folder / part
        if below.is_dir() if remaining else os.path.lexists(below):
            yield from _matches(below, remaining, entered)
        return
    if part == "**":
        yield from _matches(folder, remaining, entered)
    for below in sorted(folder.iterdir()):
        name = below.name
        if name.startswith(".") and not part.startswith("."):
            continue
        if part == "**":
            if below.is_dir() and not (below.is_symlink() and _is_known(below, folder, len(parts), entered)):
                yield from _matches(below, parts, entered)
            elif not remaining:
                yield below
        elif fnmatch.fnmatchcase(name, part) and (not remaining or below.is_dir()):
            yield from _matches(below, remaining, entered)


def _is_known(link: Path, folder: Path, remaining_parts: int, entered: set[tuple[int, Path]]) -> bool:
    """Whether a link in a folder leads back, or to where another link has led."""
    real = link.resolve()
    if (remaining_parts, real) in entered or folder.resolve().is_relative_to(real):
        return True
    entered.add((remaining_parts, real))
    return False


def scan_files(
    format: Format,
    paths: Iterable[str | os.PathLike[str]],
    rows: str | None = None,
    columns: Iterable[str] | None = None,
    *,
    path_column: str | None = "path",
    on_error: str = "raise",
    **settings: Any,
) -> FilesReader:
    """The rows of many files as Arrow batches, in the order of the files.

    Args:
        format: of all of them (`load_schema`).
        paths: files, URLs and patterns: `captures/*.pcap`.
        rows, columns: as `Format.scan`.
        path_column: the first column, which has the path of each row's file; None: no such column.
        on_error: `raise`, or `skip`: the rows before the damage are kept, and the file is in `problems`.
        settings: others of `Format.scan`: `where`, `parameters`, `nested`, `enums`, `check`, `options`,
            `batch_rows`.

    Returns: a reader, whose `problems` name the files that could not be read to their end.
    Raises: as `Format.scan`; FileNotFoundError for a path or a pattern without a file.

    Example:
        >>> import kodec
        >>> from pathlib import Path
        >>> _ = Path("x.ksy").write_text('''
        ... meta: {id: x}
        ... seq: [{id: all, type: row, repeat: eos}]
        ... types: {row: {seq: [{id: n, type: u1}]}}
        ... ''')
        >>> for name in ("one.bin", "two.bin"):
        ...     _ = Path(name).write_bytes(b"ab")
        >>> format = kodec.formats.load_schema("x.ksy")
        >>> reader = kodec.formats.scan_files(format, ["*.bin"], on_error="skip")
        >>> reader.read_all().num_rows, reader.files, reader.problems
        (4, ['one.bin', 'two.bin'], [])
        >>> kodec.formats.write_rows(kodec.formats.scan_files(format, ["*.bin"]), "both.csv")
        4
    """
    import pyarrow as pa

    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error: raise or skip, not {on_error}")
    files = files_of(paths)
    selected = None if columns is None else list(columns)
    # what is wrong with rows, columns and conditions is reported before a file is read
    first = format.scan(b"", rows, selected, **settings)
    schema = first.schema
    if path_column is not None:
        if path_column in schema.names:
            raise ValueError(
                f"a column is called `{path_column}`: choose another name for the path of the file"
            )
        schema = pa.schema([pa.field(path_column, pa.dictionary(pa.int32(), pa.string())), *schema])
    reader = FilesReader(schema, first, files)

    def batches() -> Iterator[pa.RecordBatch]:
        for path in files:
            count = 0
            try:
                file_reader = format.scan(path, rows, selected, **settings)
                for batch in file_reader:
                    count += batch.num_rows
                    yield batch if path_column is None else _with_path(pa, batch, path, schema)
                reader.through_objects = reader.through_objects or file_reader.through_objects
            except (FormatError, OSError, KodecError) as error:
                if on_error == "raise":
                    raise
                reader.problems.append(FileProblem(path, count, error))

    reader._batches = batches()
    return reader


def _with_path(pa: Any, batch: Any, path: str, schema: Any) -> Any:
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    names = pa.DictionaryArray.from_arrays(
        pa.array([0] * batch.num_rows, pa.int32()), pa.array([text], pa.string())
    )
    return pa.RecordBatch.from_arrays([names, *batch.columns], schema=schema)
