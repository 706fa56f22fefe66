"""Tables of many types and shapes as Arrow batches of the few types that records are written from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kodec.log.backends.arrow import pyarrow, row_schema
from kodec.log.batches.records import TimestampType
from kodec.runtime.errors import ArgumentError, EncodeError

__all__ = ["normalized_batches"]

# A batch of larger columns is cut, so that 31 bits count the bytes of each.
_MOST_BYTES = 256 << 20
_MOST_ROWS = 65_536


def normalized_batches(table: Any, *, lossy: bool = False) -> Iterator[Any]:
    """The rows of a table as `pyarrow.RecordBatch`es of plain types, in the order of `row_schema`.

    offset int64 | timestamp int64, ms | timestamp_type int32, -1 to 1 | key, value binary, null = none
    | headers list<struct<key: binary, value: binary>>. Only key, value and headers' values: an
    offset, timestamp or list that is null is -1, -1 or empty. A column that the table lacks is not there.

    Args:
        table: a `pyarrow.Table` or `RecordBatch`, or any object with `__arrow_c_stream__` or
            `__arrow_c_array__`.
        lossy: cut timestamps to whole milliseconds, where otherwise EncodeError is raised.
    Raises: TypeError for other types; EncodeError naming the column, or the record and the field.
    """
    batches = _batches(table)
    known = row_schema().names
    names = batches.schema.names
    if wrong := [name for name in names if name not in known or names.count(name) > 1]:
        reason = "no such column" if wrong[0] not in known else "a column is there twice"
        raise EncodeError(wrong[0], reason, need=", ".join(known))
    return _plain(batches, [name for name in known if name in names], lossy)


def _batches(table: Any) -> Any:
    pa = pyarrow()
    if isinstance(table, pa.Table):
        return table.to_reader()
    if hasattr(table, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(table)
    if hasattr(table, "__arrow_c_array__"):
        batch = pa.record_batch(table)
        return pa.RecordBatchReader.from_batches(batch.schema, [batch])
    have = type(table).__name__
    raise ArgumentError(f"a pyarrow.Table, or another object with Arrow columns, is needed, not {have}")


def _plain(batches: Any, names: list[str], lossy: bool) -> Iterator[Any]:
    pa = pyarrow()
    rows_before = 0
    for whole in batches:
        step = max(1, min(_MOST_ROWS, _MOST_BYTES * whole.num_rows // max(_size_of(whole), 1)))
        for start in range(0, whole.num_rows, step):
            batch = whole.slice(start, step)
            columns = [_column(batch.column(name), name, rows_before, lossy) for name in names]
            if not columns:
                rows = pa.StructArray.from_buffers(pa.struct([]), batch.num_rows, [None])
                yield pa.RecordBatch.from_struct_array(rows)
            else:
                yield pa.RecordBatch.from_arrays(columns, names)
            rows_before += batch.num_rows


def _size_of(batch: Any) -> int:
    """The bytes of a batch; those of its buffers if Arrow, before 24, cannot count columns of views."""
    try:
        return int(batch.nbytes)
    except TypeError:
        return int(batch.get_total_buffer_size())


def _column(values: Any, name: str, rows_before: int, lossy: bool) -> Any:
    pa = pyarrow()
    values = _decoded(values)
    match name:
        case "offset":
            return _filled(_cast(values, pa.int64(), name), -1)
        case "timestamp":
            return _filled(_millis(values, rows_before, lossy), -1)
        case "timestamp_type":
            return _kinds(
                _filled(_cast(values, pa.int32(), name), TimestampType.CREATE_TIME.value), rows_before
            )
        case "headers":
            return _headers(values, rows_before)
        case _:
            return _cast(values, pa.binary(), name)


def _filled(values: Any, default: int) -> Any:
    return values.fill_null(default) if values.null_count else values


def _decoded(values: Any) -> Any:
    """The plain values of an array with another representation."""
    import pyarrow as pa
    import pyarrow.compute as pc

    while True:
        if isinstance(values, pa.ExtensionArray):
            values = values.storage
        elif pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        elif pa.types.is_run_end_encoded(values.type):
            values = pc.run_end_decode(values)
        else:
            return values


def _cast(values: Any, kind: Any, name: str) -> Any:
    import pyarrow as pa

    if values.type == kind:
        return values
    try:
        return values.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise EncodeError(name, str(error), need=str(kind), have=str(values.type)) from None


def _millis(values: Any, rows_before: int, lossy: bool) -> Any:
    import pyarrow as pa

    if pa.types.is_timestamp(values.type):
        # the zone stays as it is: what is stored counts from 1970 in UTC either way
        kind = pa.timestamp("ms", tz=values.type.tz)
        unit = values.type.unit
        if unit == "ms":
            return values.view(pa.int64())
        try:
            # Seconds are whole milliseconds, and may overflow: that is no loss that was asked for.
            values = values.cast(kind, safe=unit == "s" or not lossy)
        except pa.ArrowInvalid as error:
            for index, value in enumerate(values):
                try:
                    value.cast(kind)
                except pa.ArrowInvalid:
                    path = f"records[{rows_before + index}].timestamp"
                    reason = "out of range" if unit == "s" else "not a whole number of milliseconds"
                    # Not as a date: no calendar has all of them.
                    raise EncodeError(path, reason, have=f"{value.value} {unit}") from error
            raise
    elif pa.types.is_date(values.type):
        values = _cast(values, pa.timestamp("ms"), "timestamp")
    return _cast(values, pa.int64(), "timestamp")


def _kinds(values: Any, rows_before: int) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    low, high = min(TimestampType), max(TimestampType)
    bounds = pc.min_max(values).as_py()
    if not len(values) or (bounds["min"] >= low.value and bounds["max"] <= high.value):
        return values
    least, most = (pa.scalar(kind.value, values.type) for kind in (low, high))
    wrong = pc.or_(pc.less(values, least), pc.greater(values, most))
    index = pc.index(wrong, True).as_py()
    path = f"records[{rows_before + index}].timestamp_type"
    raise EncodeError(
        path, "no type of timestamps", need=f"{low.value} to {high.value}", have=values[index].as_py()
    )


def _headers(values: Any, rows_before: int) -> Any:
    """Lists of key and value, from lists of structs or maps."""
    import pyarrow as pa
    import pyarrow.compute as pc

    types = pa.types
    if types.is_null(values.type):
        pair = pa.struct([("key", pa.binary()), ("value", pa.binary())])
        values = pa.nulls(len(values), pa.list_(pair))
    if types.is_map(values.type):
        pair = pa.struct([("key", values.type.key_type), ("value", values.type.item_type)])
        values = _cast(values, pa.list_(pair), "headers")
    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    views = (types.is_list_view, types.is_large_list_view)
    if not any(is_kind(values.type) for is_kind in lists + views) or not types.is_struct(
        values.type.value_type
    ):
        raise EncodeError("headers", "not lists of pairs", have=str(values.type))
    pair = values.type.value_type
    if {pair.field(index).name for index in range(pair.num_fields)} != {"key", "value"}:
        raise EncodeError("headers", "its pairs have other fields", need="key, value", have=str(pair))
    if types.is_list(values.type) and not values.null_count and len(values):
        first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
        items = values.values.slice(first, last - first)
        bounds = pc.subtract(values.offsets, pa.scalar(first, pa.int32())) if first else values.offsets
    else:
        sizes = pc.fill_null(pc.list_value_length(values), 0)
        # this leaves out what null lists may hold
        items = values.flatten()
        ends = pc.cumulative_sum(pc.cast(sizes, pa.int32()))
        bounds = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    keys, contents = (_decoded(pc.struct_field(items, name)) for name in ("key", "value"))
    keys = _cast(keys, pa.binary(), "headers.key")
    contents = _cast(contents, pa.binary(), "headers.value")
    if keys.null_count:
        position = pc.index(keys.is_null(), True).as_py()
        row = sum(1 for end in bounds.slice(1).to_pylist() if end <= position)
        header_index = position - bounds[row].as_py()
        raise EncodeError(f"records[{rows_before + row}].headers[{header_index}].key", "a header needs a key")
    pairs = pa.StructArray.from_arrays([keys, contents], ["key", "value"])
    return pa.ListArray.from_arrays(bounds, pairs)
