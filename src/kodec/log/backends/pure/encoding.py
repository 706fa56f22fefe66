"""The rows of Arrow batches as the bytes of a log, in pure Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

from kodec.log.batches.encode import encode_with
from kodec.log.batches.options import EncodeOptions
from kodec.log.batches.records import Record, TimestampType, make_record

__all__ = ["encode_rows"]

Headers = tuple[tuple[str, bytes | None], ...]


def encode_rows(batches: Sequence[Any], options: EncodeOptions) -> bytes:
    """The bytes that `encode` writes for the rows of batches from `normalized_batches`."""
    return encode_with(chain.from_iterable(map(_records, batches)), options)


def _records(batch: Any) -> Iterator[Record]:
    default = Record()
    columns: dict[str, Sequence[Any]] = {name: batch[name].to_pylist() for name in batch.schema.names}
    if "timestamp_type" in columns:
        columns["timestamp_type"] = [TimestampType(kind) for kind in columns["timestamp_type"]]
    if "headers" in columns:
        columns["headers"] = _tuples(batch["headers"])
    ordered = [
        columns.get(name, [getattr(default, name)] * batch.num_rows) for name in Record.__dataclass_fields__
    ]
    return map(make_record, *ordered)


def _tuples(lists: Any) -> list[Headers]:
    items = lists.values
    keys, values = (items.field(index).to_pylist() for index in (0, 1))
    pairs = [(key.decode("utf-8", "surrogateescape"), value) for key, value in zip(keys, values, strict=True)]
    bounds = lists.offsets.to_pylist()
    return [tuple(pairs[start:end]) for start, end in pairwise(bounds)]
