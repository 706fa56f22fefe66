"""Logs as a dataset for pyarrow and DuckDB and as a lazy frame for Polars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kodec.log.backends.arrow import pyarrow
from kodec.log.batches.options import OnError
from kodec.log.batches.records import Limits
from kodec.log.omissions import Omissions
from kodec.log.selection import Bounds, Isolation, Keys, Partitions, Selection, TimeBounds, Topics
from kodec.log.tables.chosen import LogsSource
from kodec.runtime.errors import MissingDependency

if TYPE_CHECKING:
    import polars as pl

    from kodec.log.tables.dataset import LogDataset

__all__ = ["log_dataset", "scan_polars"]


def log_dataset(
    source: LogsSource,
    *,
    topics: Topics = None,
    partitions: Partitions = None,
    offsets: Bounds = None,
    timestamps: TimeBounds = None,
    isolation: Isolation = "read_uncommitted",
    keys: Keys = None,
    check_crc: bool = True,
    control: bool = False,
    on_error: OnError = "raise",
    limits: Limits = Limits(),
    threads: int | None = None,
) -> LogDataset:
    """Logs as a `pyarrow.dataset.Dataset`, for pyarrow, DuckDB and other query engines.

    The columns are topic string, partition int32, and those of `row_schema`. Nothing is read before a query;
    and each query reads again. It builds only its columns; filters on topic, partition, offset and
    timestamp exclude logs, segments and batches from being read. Arguments and errors as in `scan_table`;
    `source` may not be bytes or an open file.

    Args:
        source: as in `scan_table`, but no bytes and no open file.
        others: as in `scan_table`.

    Returns: a dataset; each query reads the logs again, and its `omissions` has what queries did not return.
    Raises: as `scan_table`.

    Example:
        >>> import kodec
        >>> dataset = kodec.log_dataset("/data/kafka-logs", topics="orders")
        >>> dataset.to_table(columns=["offset"]).num_rows
        1200
    """
    pyarrow()
    from kodec.log.tables.dataset import LogDataset

    return LogDataset(
        source,
        Selection.of(topics, partitions, offsets, timestamps, isolation, keys),
        check_crc=check_crc,
        control=control,
        on_error=on_error,
        limits=limits,
        threads=threads,
    )


def scan_polars(
    source: LogsSource,
    *,
    topics: Topics = None,
    partitions: Partitions = None,
    offsets: Bounds = None,
    timestamps: TimeBounds = None,
    isolation: Isolation = "read_uncommitted",
    keys: Keys = None,
    check_crc: bool = True,
    control: bool = False,
    on_error: OnError = "raise",
    limits: Limits = Limits(),
    threads: int | None = None,
    omissions: Omissions | None = None,
) -> pl.LazyFrame:
    """Logs as a `polars.LazyFrame`, with the default columns of `scan_table`.

    Nothing is read before it is collected. It builds only the needed columns; conditions on topic and
    partition, and comparisons of offset and timestamp with constants, exclude logs, segments and batches from
    being read. Arguments and errors as in `scan_table`; `source` may not be bytes or an open file. Raises
    MissingDependency without polars.

    Args:
        source: as in `scan_table`, but no bytes and no open file.
        omissions: takes what is not in the frame, each time it is collected.
        others: as in `scan_table`.

    Returns: a lazy frame; it reads the logs again each time it is collected.
    Raises: as `scan_table`; MissingDependency without polars.

    Example:
        >>> import kodec
        >>> import polars as pl
        >>> frame = kodec.scan_polars("/data/kafka-logs", topics="orders")
        >>> frame.filter(pl.col("offset") < 5).select("partition", "offset").collect().height
        15
    """
    pyarrow()
    try:
        from kodec.log.tables.polars import lazy_frame
    except ImportError as missing:
        if missing.name != "polars":
            raise
        raise MissingDependency("scan_polars needs `polars`: pip install polars", name="polars") from missing
    return lazy_frame(
        source,
        Selection.of(topics, partitions, offsets, timestamps, isolation, keys),
        omissions,
        check_crc=check_crc,
        control=control,
        on_error=on_error,
        limits=limits,
        threads=threads,
    )
