"""The option --compression for Kafka's batches, for Parquet and for other files."""

from __future__ import annotations

from collections.abc import Sequence

from kodec.cli.parser import Option
from kodec.log.batches.batch import CODECS

__all__ = ["BATCHES", "FILES", "GUARD_FORMULAS", "PARQUET"]

# As in `kodec.pipeline.files.COMPRESSIONS`, whose module is slow to import.
_OF_PARQUET = ("zstd", "snappy", "gzip", "lz4", "none")


def _option(names: Sequence[str], what: str) -> Option:
    return Option("--compression", help=what, one_of=names)


BATCHES = _option(CODECS, "Codec of the batches.")
PARQUET = _option(_OF_PARQUET, "Codec of the Parquet files.")
FILES = _option(_OF_PARQUET, "Codec of the files [default: zstd for parquet and arrow, else none].")
GUARD_FORMULAS = Option(
    "--guard-formulas", help="CSV: put ' before text that a spreadsheet would take as a formula."
)
