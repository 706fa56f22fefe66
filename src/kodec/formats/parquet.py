"""Writes batches to a Parquet file, which appears once complete."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kodec.formats.schema import FormatReader
from kodec.runtime.system import NOFOLLOW

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["COMPRESSIONS", "check_target", "write_parquet"]

COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4", "none")
_ROW_GROUP_BYTES = 64 << 20


def check_target(to: Path, source: Path, *, overwrite: bool) -> None:
    """Raises: FileExistsError for an existing file (without `overwrite`); ValueError for the source."""
    if to.is_dir():
        raise IsADirectoryError(f"{to} is a folder")
    if to.exists():
        if to.samefile(source):
            raise ValueError(f"{to} is the source")
        if not overwrite:
            raise FileExistsError(f"{to} exists; overwrite replaces it")


def write_parquet(
    reader: FormatReader, to: Path, *, compression: str = "zstd", overwrite: bool = False
) -> int:
    """Write all rows; return their number. On failure, existing files are unchanged, and nothing is added.

    Until complete, the file is a hidden one in the same folder; those of killed processes are deleted.

    Raises: ValueError for an unknown compression; FileExistsError for a file that another process
    has made meanwhile, without `overwrite`; what reading raises; OSError.
    """
    if compression not in COMPRESSIONS:
        raise ValueError(f"compression {compression!r}: one of {', '.join(COMPRESSIONS)}")
    _remove_abandoned(to)
    made, lock = _begin(to)
    count = size = 0
    pending: list[pa.RecordBatch] = []
    try:
        with pq.ParquetWriter(made, reader.schema, compression=compression) as writer:
            for batch in reader:
                pending.append(batch)
                count += batch.num_rows
                size += batch.nbytes
                if size >= _ROW_GROUP_BYTES:
                    writer.write_table(pa.Table.from_batches(pending, reader.schema))
                    pending, size = [], 0
            if pending:
                writer.write_table(pa.Table.from_batches(pending, reader.schema))
        if overwrite:
            if to.exists():
                shutil.copymode(to, made)
            made.replace(to)
        else:
            os.link(made, to)
    finally:
        made.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)
    return count


def _begin(to: Path) -> tuple[Path, int | None]:
    """A new hidden file beside the target, locked as long as its descriptor is open; None without locks."""
    while True:
        made = to.with_name(f".{to.name}.{secrets.token_hex(8)}")
        fd = os.open(made, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        if fcntl is None:
            # a file that is open could not be renamed there
            os.close(fd)
            return made, None
        # another process may have just treated it as abandoned
        if _locked(fd) and os.fstat(fd).st_nlink:
            return made, fd
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
