"""The option --compression: of Kafka's batches, of Parquet, and of other files."""

from __future__ import annotations

from collections.abc import Sequence

from kodec.cli.parser import Option
from kodec.log.batches.batch import CODECS

__all__ = ["BATCHES", "FILES", "PARQUET"]

# As in `kodec.pipeline.files.COMPRESSIONS`, whose module takes long to import.
_OF_PARQUET = ("zstd", "snappy", "gzip", "lz4", "none")


def _option(names: Sequence[str], what: str) -> Option:
    return Option("--compression", help=f"{what}{', '.join(names[:-1])} or {names[-1]}.", one_of=names)


BATCHES = _option(CODECS, "")
PARQUET = _option(_OF_PARQUET, "Of Parquet: ")
FILES = _option(_OF_PARQUET, "Of Parquet and Arrow zstd, else none, where not given: ")
