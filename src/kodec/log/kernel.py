"""The one place that chooses between the native kernels and pure Python, for everything implemented twice."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from kodec.log.batches.batch import Batch
from kodec.log.batches.default_batch import RowReader, read_rows
from kodec.log.batches.format import KAFKA
from kodec.log.batches.large import Stored
from kodec.log.batches.open_batch import open_batch as _open_batch
from kodec.log.batches.options import EncodeOptions, LogReadOptions
from kodec.log.batches.records import Limits, Owner, Record

if TYPE_CHECKING:
    from kodec.log.backends.contract import Buffer, Decoder
    from kodec.log.backends.native.headers import FileHeaders
    from kodec.log.backends.scan import Scan

__all__ = [
    "Backend",
    "InOrder",
    "backend",
    "batch_decoder",
    "encode_rows",
    "file_headers",
    "flattened",
    "header_decoder",
    "in_order",
    "is_built",
    "open_batch",
    "partitions_of",
    "record_decoder",
    "row_decoder",
    "row_reader",
    "wrong_checksums",
]

Backend = Literal["native", "pure"]
T = TypeVar("T")

KERNELS = tuple(dict.fromkeys(kind.kernel for kind in KAFKA.kinds))


@cache
def backend() -> Backend:
    """The implementation in use: `native`, or `pure` if the kernels were not built.

    Chosen once, on first use. `KODEC_PURE=1` in the environment chooses `pure`.

    Returns: "native" or "pure".
    Raises: ImportError if the kernels were built but cannot be imported, or are older than their schemas.

    Example:
        >>> import kodec
        >>> kodec.backend() in ("native", "pure")
        True
    """
    if os.environ.get("KODEC_PURE") == "1" or not is_built():
        return "pure"
    for kernel in KERNELS:
        _load(kernel)
    return "native"


def _load(kernel: str) -> None:
    """Import a kernel. Raises ImportError, also for one that was built of other schemas."""
    module = importlib.import_module(kernel)
    package, _, name = kernel.rpartition(".")
    if getattr(module, "SOURCE", None) != importlib.import_module(package).SOURCES[name]:
        text = f"the native kernel `{name}` is older than its schema: build it again with `make setup`"
        raise ImportError(f"{text}, or set KODEC_PURE=1", name=kernel, path=module.__file__)


def is_built() -> bool:
    """Whether there is a compiled kernel, which may yet fail to import."""
    try:
        return importlib.util.find_spec(KERNELS[0]) is not None
    except ModuleNotFoundError:
        return False


@cache
def _native_rows() -> RowReader:
    from kodec.log.backends.native.records import read_rows

    return read_rows


def row_reader() -> RowReader:
    """Reads the records of a batch of magic 2, for `open_batch` of `batches`."""
    return _native_rows() if backend() == "native" else read_rows


def open_batch(data: bytes | Stored, position: int, limits: Limits, topic_partition: Owner = None) -> Batch:
    """The batch whose bytes are `data`, found at `position` of its source; its checksum is not yet verified.

    `topic_partition` is that of its records, if known. Raises FormatError with positions in the source.
    """
    return _open_batch(data, position, limits, row_reader(), topic_partition=topic_partition)


def batch_decoder(options: LogReadOptions, *, keeps: bool = True) -> Decoder[Batch]:
    """Yields stored batches; the same for both. Large ones stay in the source without `keeps`."""
    from kodec.log.backends.pure.records import BatchDecoder

    return BatchDecoder(options, keeps=keeps)


def record_decoder(
    options: LogReadOptions, drops: Callable[[Batch], bool] | None = None
) -> Decoder[Iterable[Record]]:
    """Yields the records of one or several batches at once, without those of batches that `drops` names."""
    if backend() == "native" and drops is None:
        from kodec.log.backends.native.records import NativeRecordDecoder

        return NativeRecordDecoder(options)
    from kodec.log.backends.pure.records import RecordDecoder

    return RecordDecoder(options, drops)


def flattened(items: Iterator[Iterable[T]]) -> tuple[Iterator[T], Callable[[], int]]:
    """The records of a decoder's lists, one after another, and how many of a list are left.

    Not a chain: if two threads share the reader, the refused one would end it for both.
    """
    if backend() == "native":
        from kodec.runtime.native import bindings

        flat = bindings.Flattened(items)
        return flat, flat.left
    return (item for group in items for item in group), lambda: 0


def row_decoder(scan: Scan, options: LogReadOptions) -> Decoder[Any]:
    """Yields the records of a log as Arrow batches."""
    if backend() == "native":
        from kodec.log.backends.native.rows import NativeRowDecoder

        return NativeRowDecoder(scan, options)
    from kodec.log.backends.pure.rows import RowDecoder

    return RowDecoder(scan, options)


def header_decoder(scan: Scan, options: LogReadOptions) -> Decoder[Any]:
    """Yields the headers of a log's batches as Arrow batches; a scan's ranges do not apply."""
    if backend() == "native":
        from kodec.log.backends.native import headers

        if headers.HAS_EVERY_COLUMN:
            return headers.NativeHeaderDecoder(scan, options)
    from kodec.log.backends.pure.headers import HeaderDecoder

    return HeaderDecoder(scan, options)


def file_headers(fd: int, start: int, end: int, scan: Scan, options: LogReadOptions) -> FileHeaders | None:
    """The headers of batches in a part of a file, read without the rest; None in pure Python."""
    if backend() == "native":
        from kodec.log.backends.native import headers

        if headers.HAS_EVERY_COLUMN:
            return headers.FileHeaders(fd, start, end, scan, options)
    return None


InOrder = Callable[["Buffer", int, int, int, int, bool], tuple[int, int, bool]]


def in_order() -> InOrder:
    """Checks how far batches are in order; see the pure implementation for its contract."""
    if backend() == "native":
        from kodec.log.backends.native.order import in_order as native

        return native
    from kodec.log.backends.pure.order import in_order as pure

    return pure


WrongChecksums = Callable[["Buffer", int, int, int], tuple[int, int]]


@cache
def wrong_checksums() -> WrongChecksums:
    """Finds how far batches with wrong checksums extend; see the pure implementation for its contract."""
    if backend() == "native":
        from kodec.log.backends.native.checksums import wrong_checksums as native

        return native
    from kodec.log.backends.pure.checksums import wrong_checksums as pure

    return pure


def partitions_of(keys: Any, partitions: int) -> Any:
    """The partition of each key of an Arrow column, by `partition_of`; see the pure implementation."""
    if backend() == "native":
        from kodec.log.backends.native.partitions import partitions_of as native

        return native(keys, partitions)
    from kodec.log.backends.pure.partitions import partitions_of as pure

    return pure(keys, partitions)


def encode_rows(batches: Sequence[Any], options: EncodeOptions) -> bytes:
    """The bytes that `encode` writes for the rows of batches from `normalized_batches`."""
    if backend() == "native":
        from kodec.log.backends.native.encoding import encode_rows as native

        return native(batches, options)
    from kodec.log.backends.pure.encoding import encode_rows as pure

    return pure(batches, options)
