"""The option --compression: of Kafka's batches, of Parquet, and of other files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import typer

from kodec.log.batches.batch import CODECS

__all__ = ["BATCHES", "FILES", "PARQUET"]

# As in `kodec.pipeline.files.COMPRESSIONS`, whose module takes long to import.
_OF_PARQUET = ("zstd", "snappy", "gzip", "lz4", "none")


def _one_of(names: Sequence[str]) -> Callable[[str | None], str | None]:
    def check(value: str | None) -> str | None:
        if value is not None and value not in names:
            raise typer.BadParameter(f"expected {', '.join(names[:-1])} or {names[-1]}, not {value!r}")
        return value

    return check


def _option(names: Sequence[str], what: str) -> typer.models.OptionInfo:
    text = f"{what}{', '.join(names[:-1])} or {names[-1]}."
    found: typer.models.OptionInfo = typer.Option("--compression", help=text, callback=_one_of(names))
    return found


BATCHES = _option(CODECS, "")
PARQUET = _option(_OF_PARQUET, "Of Parquet: ")
FILES = _option(_OF_PARQUET, "Of Parquet and Arrow zstd, else none, where not given: ")
