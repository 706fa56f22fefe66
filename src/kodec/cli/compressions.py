"""The option --compression for Kafka's batches, for Parquet and for other files."""

from __future__ import annotations

from collections.abc import Sequence

from kodec.cli.parser import Option
from kodec.log.batches.batch import CODECS

__all__ = ["BATCHES", "FILES", "PARQUET"]

# As in `kodec.pipeline.files.COMPRESSIONS`, whose module is slow to import.
_OF_PARQUET = ("zstd", "snappy", "gzip", "lz4", "none")


def _option(names: Sequence[str], what: str) -> Option:
    return Option("--compression", help=f"{what}{', '.join(names[:-1])} or {names[-1]}.", one_of=names)


BATCHES = _option(CODECS, "")
PARQUET = _option(_OF_PARQUET, "Of Parquet: ")
FILES = _option(_OF_PARQUET, "Default: zstd for Parquet and Arrow, none for others: ")
