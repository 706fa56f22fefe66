"""Tables with columns of decoded values, by the schemas that they were written with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kodec.log.backends.arrow import columns_of, decoded_schema, pyarrow
from kodec.log.tables.reader import TableReader
from kodec.log.tables.stream import placed_schema
from kodec.log.values.columns import typed_fields, typed_part
from kodec.log.values.decoder import ValueDecoder

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TYPED_COLUMNS", "scan_typed"]

TYPED_COLUMNS = ("value_typed", "value_schema", "value_reason")
"""A decoded value, the id of its schema, and why it is not decoded."""


def scan_typed(
    names: Sequence[str] | None,
    values: ValueDecoder,
    opened: Callable[[list[str] | None], TableReader],
    topic: str | None,
    place_names: Sequence[str],
) -> TableReader:
    """A reader of these columns, None for all, over one of those that are stored.

    `place_names` are the columns for the topic-partition of a row, if available.
    Raises as `scan_table`.
    """
    pa = pyarrow()
    fields = typed_fields(values, *TYPED_COLUMNS)
    if names is not None:
        schema = columns_of(pa.schema([*placed_schema(decoded_schema()), *fields]), names)
        stored = [name for name in schema.names if name not in TYPED_COLUMNS]
        inner = opened(list(dict.fromkeys([*stored, "value", "headers", *place_names])))
    else:
        inner = opened(None)
        schema = pa.schema([*inner.schema, *fields])
    reader = TableReader(inner._walk, _batches(inner, schema, values, topic))
    reader.schema, reader.ends = schema, inner.ends
    return reader


def _batches(
    inner: TableReader, schema: pa.Schema, values: ValueDecoder, topic: str | None
) -> Iterator[pa.RecordBatch]:
    pa = pyarrow()
    for batch in inner:
        named = topic or ""
        if topic is None and "topic" in batch.schema.names and batch.num_rows:
            # a batch is of one segment
            named = batch["topic"][0].as_py() or ""
        typed = typed_part(values, batch["value"], batch["headers"], named)
        more = dict(zip(TYPED_COLUMNS, typed, strict=True))
        columns = [more[name] if name in more else batch[name] for name in schema.names]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
