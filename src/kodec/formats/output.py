"""Writes batches to a file in Parquet, CSV, JSON Lines or DuckDB, which appears once complete."""

from __future__ import annotations

import contextlib
import glob
import json
import math
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from kodec.formats.schema import FormatReader
from kodec.runtime.errors import MissingDependency
from kodec.runtime.formulas import FORMULA, GUARDED
from kodec.runtime.system import NOFOLLOW
from kodec.stores.modes import excluded, readable_as
from kodec.stores.storage import StorePath

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["COMPRESSIONS", "FORMATS", "PRINTED", "check_target", "format_of", "print_rows", "write_rows"]

COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4", "none")
FORMATS = ("parquet", "csv", "jsonl", "duckdb")
PRINTED = ("jsonl", "csv")
_ENDINGS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".duckdb": "duckdb",
    ".db": "duckdb",
}
_ROW_GROUP_BYTES = 64 << 20
# what a terminal would obey, and what UTF-8 lacks
_UNSAFE = re.compile("[\x7f-\x9f\ud800-\udfff]")


def check_target(to: Path, source: Path, *, overwrite: bool) -> None:
    """Raises: FileExistsError for an existing file (without `overwrite`); ValueError for the source."""
    if to.is_dir():
        raise IsADirectoryError(f"{to} is a folder")
    if to.exists():
        if not isinstance(source, StorePath) and to.samefile(source):
            raise ValueError(f"{to} is the source")
        if not overwrite:
            raise FileExistsError(f"{to} exists; overwrite=True replaces it")


def format_of(to: Path, requested: str | None) -> str:
    """The format of a file: what is given, or by the ending of its name. Raises: ValueError."""
    name = requested or _ENDINGS.get(to.suffix.lower())
    if name not in FORMATS:
        endings = ", ".join(_ENDINGS)
        raise ValueError(
            f"{to}: its name shows no format; choose one of {', '.join(FORMATS)}, or end it in {endings}"
        )
    return name


def write_rows(
    reader: FormatReader,
    to: str | os.PathLike[str],
    *,
    format: str | None = None,
    compression: str = "zstd",
    table: str | None = None,
    overwrite: bool = False,
    guard_formulas: bool = False,
) -> int:
    """Write all rows to a file; return their number. On failure, existing files are unchanged, and nothing
    is added.

    Until complete, the file is a hidden one in the same folder; those of killed processes are deleted.

    Args:
        reader: the rows (`Format.scan`, `scan_files`).
        to: the file.
        format: parquet, csv, jsonl or duckdb; None: by the ending of the name.
            CSV has nested values as JSON and bytes in hexadecimal digits, as JSON Lines has.
        compression: of Parquet.
        table: the table of DuckDB; None: `rows`.
        overwrite: replace an existing file.
        guard_formulas: in CSV, put an apostrophe before text that a spreadsheet would take as a formula.

    Returns: the number of rows.
    Raises: ValueError for an unknown format or compression; FileExistsError for a file that exists, also
        if another process has made it meanwhile, without `overwrite`; MissingDependency; what reading
        raises; OSError.

    Example: see `scan_files`.
    """
    to = Path(to)
    output_format = format_of(to, format)
    if compression not in COMPRESSIONS:
        raise ValueError(f"compression {compression!r}: one of {', '.join(COMPRESSIONS)}")

    def as_text(rows: FormatReader, temporary: Path) -> int:
        with temporary.open("wb") as file:
            return print_rows(rows, file, output_format, guard_formulas=guard_formulas)

    write: Callable[[FormatReader, Path], int] = {
        "parquet": lambda rows, temporary: _parquet(rows, temporary, compression),
        "duckdb": lambda rows, temporary: _duckdb(rows, temporary, table or "rows"),
    }.get(output_format, as_text)
    if to.exists() and not overwrite:
        raise FileExistsError(f"{to} exists; overwrite=True replaces it")
    _remove_abandoned(to)
    with readable_as(*getattr(reader, "files", ())):
        temporary, lock = _begin(to)
        try:
            count = write(reader, temporary)
            if overwrite:
                if to.exists():
                    temporary.chmod(stat.S_IMODE(to.stat().st_mode) & ~excluded())
                temporary.replace(to)
            else:
                os.link(temporary, to)
        finally:
            temporary.unlink(missing_ok=True)
            if lock is not None:
                os.close(lock)
    return count


def print_rows(
    reader: FormatReader, file: BinaryIO, format: str = "jsonl", *, guard_formulas: bool = False
) -> int:
    """Write all rows to an open file as `csv` or `jsonl`, in UTF-8, batch by batch; return their number.

    Raises: ValueError for another format; what reading raises; OSError.
    """
    if format not in PRINTED:
        raise ValueError(f"rows of a stream are written as {' or '.join(PRINTED)}, not as {format}")
    count = 0
    for text, rows in _csv(reader, guard_formulas) if format == "csv" else _jsonl(reader):
        file.write(text)
        count += rows
    return count


def _parquet(reader: FormatReader, temporary: Path, compression: str) -> int:
    count = size = 0
    pending: list[pa.RecordBatch] = []
    with pq.ParquetWriter(temporary, reader.schema, compression=compression) as writer:
        for batch in reader:
            pending.append(batch)
            count += batch.num_rows
            size += batch.nbytes
            if size >= _ROW_GROUP_BYTES:
                writer.write_table(_joined(pending, reader.schema))
                pending, size = [], 0
        if pending:
            writer.write_table(_joined(pending, reader.schema))
    return count


def _joined(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches(batches, schema).unify_dictionaries()


def _csv(reader: FormatReader, guard_formulas: bool) -> Iterator[tuple[bytes, int]]:
    import pyarrow.compute as compute
    import pyarrow.csv as pc

    def part(batch: pa.RecordBatch | pa.Table, *, head: bool = False) -> bytes:
        out = pa.BufferOutputStream()
        pc.write_csv(batch, out, pc.WriteOptions(include_header=head))
        return bytes(out.getvalue())

    schema = pa.schema([pa.field(field.name, _plain_type(field.type)) for field in reader.schema])
    yield part(schema.empty_table(), head=True), 0
    for batch in reader:
        columns = [_plain(column) for column in batch.columns]
        if guard_formulas:
            columns = [
                compute.replace_substring_regex(column, FORMULA, GUARDED)
                if pa.types.is_string(column.type)
                else column
                for column in columns
            ]
        yield part(pa.RecordBatch.from_arrays(columns, schema=schema)), batch.num_rows


def _plain_type(kind: pa.DataType) -> pa.DataType:
    nested = pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or pa.types.is_binary(kind)
    return pa.string() if nested else kind


def _plain(column: pa.Array) -> pa.Array:
    """A column for CSV: text instead of bytes, and of what is nested."""
    if pa.types.is_dictionary(column.type):
        return column.cast(pa.string())
    if pa.types.is_binary(column.type):
        return pa.array([None if value is None else value.hex() for value in column.to_pylist()], pa.string())
    if pa.types.is_nested(column.type):
        texts = (
            None if value is None else json.dumps(_json(value), allow_nan=False)
            for value in column.to_pylist()
        )
        return pa.array(list(texts), pa.string())
    return column


def _json(value: Any) -> Any:
    """A value for JSON: bytes in hexadecimal digits, numbers that JSON lacks as text."""
    if isinstance(value, dict):
        return {name: _json(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _jsonl(reader: FormatReader) -> Iterator[tuple[bytes, int]]:
    names = reader.schema.names
    for batch in reader:
        columns = [_json(column.to_pylist()) for column in batch.columns]
        lines = (
            json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n"
            for row in zip(*columns, strict=True)
        )
        text = _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", "".join(lines))
        yield text.encode(), batch.num_rows


def _duckdb(reader: FormatReader, temporary: Path, table: str) -> int:
    try:
        import duckdb
    except ImportError as error:
        raise MissingDependency("a DuckDB file needs `duckdb`: pip install duckdb") from error
    # duckdb begins a file itself
    temporary.unlink()
    connection = duckdb.connect(str(temporary))
    try:
        name = '"' + table.replace('"', '""') + '"'
        schema = pa.schema(
            [pa.field(field.name, _without_dictionaries(field.type)) for field in reader.schema]
        )
        batches = (_cast(batch, schema) for batch in reader)
        source = pa.RecordBatchReader.from_batches(schema, batches)
        connection.register("kodec_rows", source)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM kodec_rows")
        connection.unregister("kodec_rows")
        row = connection.execute(f"SELECT count(*) FROM {name}").fetchone()
    finally:
        connection.close()
        temporary.with_name(f"{temporary.name}.wal").unlink(missing_ok=True)
    assert row is not None
    return int(row[0])


def _without_dictionaries(kind: pa.DataType) -> pa.DataType:
    """Text instead of numbers of words: the words of each batch are its own."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _without_dictionaries(field.type)) for field in kind])
    return pa.list_(_without_dictionaries(kind.value_type)) if pa.types.is_list(kind) else kind


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return batch if batch.schema == schema else batch.cast(schema)


def _begin(to: Path) -> tuple[Path, int | None]:
    """A new hidden file beside the target, locked as long as its descriptor is open; None without locks."""
    while True:
        temporary = to.with_name(f".{to.name}.{secrets.token_hex(8)}")
        fd = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        if fcntl is None:
            # a file that is open could not be renamed there
            os.close(fd)
            return temporary, None
        # another process may have just treated it as abandoned
        if _locked(fd) and os.fstat(fd).st_nlink:
            return temporary, fd
        os.close(fd)


def _remove_abandoned(to: Path) -> None:
    """Delete the hidden files of killed scans to this target: nobody holds their locks."""
    if fcntl is None:
        return
    for path in to.parent.glob(f".{glob.escape(to.name)}.{'[0-9a-f]' * 16}"):
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDWR | NOFOLLOW)
            try:
                if _locked(fd):
                    path.unlink()
            finally:
                os.close(fd)


def _locked(fd: int) -> bool:
    """Lock a file, where file systems have locks; False where another process has it locked."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
