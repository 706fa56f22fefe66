"""Writes rows to files of a format: Parquet, Arrow IPC, CSV or JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as csv
import pyarrow.parquet as pq

from kodec.log.batches.records import Record, TimestampType
from kodec.log.values.decoder import TYPED
from kodec.log.values.formats import FORMATS, ReadableValue, ValueFormat, readable, readable_record
from kodec.log.values.sources import ValueRequest
from kodec.runtime.errors import ArgumentError
from kodec.runtime.formulas import FORMULA, GUARDED
from kodec.runtime.near import meant

__all__ = ["COMPRESSIONS", "FILE_FORMATS", "FileFormat", "RowFile", "RowFormat"]

RowFormat = Literal["parquet", "arrow", "csv", "jsonl"]
FILE_FORMATS: tuple[RowFormat, ...] = get_args(RowFormat)
# The first is the default.
COMPRESSIONS: dict[RowFormat, tuple[str, ...]] = {
    "parquet": ("zstd", "snappy", "gzip", "lz4", "none"),
    "arrow": ("zstd", "lz4", "none"),
    "csv": ("none", "gzip", "zstd"),
    "jsonl": ("none", "gzip", "zstd"),
}
_SUFFIXES = {"gzip": ".gz", "zstd": ".zst", "none": ""}


class RowFile(Protocol):
    """A file that rows are written to."""

    def write_table(self, table: pa.Table) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class FileFormat:
    """How rows are stored.

    CSV and JSON Lines have keys and values as text, each with its format (`kodec find` has the
    same fields), and timestamps in ms since 1970; Parquet and Arrow IPC have the columns unchanged.

    Attributes: compression, one of `COMPRESSIONS`; key, value: their format as text; values: how
    they are decoded, if one of these formats needs schemas; guard_formulas: cells of CSV are as of
    `kodec.runtime.formulas`.
    """

    name: RowFormat = "parquet"
    compression: str = "zstd"
    key: ValueFormat = "auto"
    value: ValueFormat = "auto"
    values: ValueRequest | None = None
    guard_formulas: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        compression: str | None = None,
        key: ValueFormat = "auto",
        value: ValueFormat = "auto",
        values: ValueRequest | None = None,
        *,
        guard_formulas: bool = False,
    ) -> FileFormat:
        """A format by its name, with its default compression for None. Raises ArgumentError."""
        known = next((known_format for known_format in FILE_FORMATS if known_format == name), None)
        if known is None:
            raise ArgumentError(
                f"format is one of {', '.join(FILE_FORMATS)}, not {name!r}{meant(name, FILE_FORMATS)}"
            )
        codecs = COMPRESSIONS[known]
        if compression is not None and compression not in codecs:
            text = f"compression is one of {', '.join(codecs)} for {known}, not {compression!r}"
            raise ArgumentError(f"{text}{meant(compression, codecs)}")
        for option, form in (("key_format", key), ("value_format", value)):
            if form not in FORMATS:
                raise ArgumentError(
                    f"{option} is one of {', '.join(FORMATS)}, not {form!r}{meant(form, FORMATS)}"
                )
            if known in ("parquet", "arrow") and form not in ("auto", *TYPED):
                raise ArgumentError(f"{option}={form!r} is for csv and jsonl: {known} stores the bytes")
        if guard_formulas and known != "csv":
            raise ArgumentError(f"formulas are guarded in csv, not in {known}")
        return cls(known, compression or codecs[0], key, value, values, guard_formulas)

    @property
    def suffix(self) -> str:
        """The suffix of file names."""
        stored_inside = self.name in ("parquet", "arrow")
        return f".{self.name}" if stored_inside else f".{self.name}{_SUFFIXES[self.compression]}"

    def open(self, path: Path, columns: pa.Schema) -> RowFile:
        """A new file for rows with these columns of the `kafka-log` source. Raises OSError."""
        codec = None if self.compression == "none" else self.compression
        if self.name == "parquet":
            return _Parquet(path, columns, self.compression)
        if self.name == "arrow":
            options = pa.ipc.IpcWriteOptions(compression=codec)
            return pa.ipc.new_file(path, columns, options=options)  # type: ignore[no-any-return]
        stream = pa.OSFile(str(path), "wb")
        if codec is not None:
            stream = pa.CompressedOutputStream(stream, codec)
        return _Csv(stream, self) if self.name == "csv" else _JsonLines(stream, self)


class _Parquet:
    def __init__(self, path: Path, columns: pa.Schema, compression: str) -> None:
        self._writer = pq.ParquetWriter(
            path,
            columns,
            compression=compression,
            use_dictionary=["key", "topic", "partition", "timestampType"],
            column_encoding={"offset": "DELTA_BINARY_PACKED", "timestamp": "DELTA_BINARY_PACKED"},
        )

    def write_table(self, table: pa.Table) -> None:
        self._writer.write_table(table, row_group_size=table.num_rows)

    def close(self) -> None:
        self._writer.close()


def _readable(table: pa.Table, form: FileFormat) -> list[list[ReadableValue | None]]:
    """Keys, and values, as text."""
    if form.values is None:
        lists = _headers(table) if "headers" in table.schema.names else [None] * table.num_rows
        return [
            [
                readable(data, part_format, headers)
                for data, headers in zip(table[name].to_pylist(), lists, strict=True)
            ]
            for name, part_format in (("key", form.key), ("value", form.value))
        ]
    decoder, topic = form.values.decoder(), table["topic"][0].as_py()
    values: list[list[ReadableValue | None]] = [[], []]
    headers = _headers(table) if "headers" in table.schema.names else [()] * table.num_rows
    for key, value, pairs in zip(table["key"].to_pylist(), table["value"].to_pylist(), headers, strict=True):
        shown = readable_record(
            topic, Record(key=key, value=value, headers=pairs), form.key, form.value, decoder
        )
        values[0].append(shown.key)
        values[1].append(shown.value)
    return values


def _headers(table: pa.Table) -> list[tuple[tuple[str, bytes | None], ...]]:
    lists = table["headers"].to_pylist()
    return [tuple((header["key"], header["value"]) for header in named or ()) for named in lists]


def _millis(table: pa.Table) -> pa.ChunkedArray:
    # the log has whole milliseconds
    return table["timestamp"].cast(pa.timestamp("ms", tz="UTC")).cast(pa.int64())


def _decoded(table: pa.Table) -> list[str]:
    return [name for name in ("keyDecoded", "valueDecoded") if name in table.schema.names]


class _Csv:
    """A null is an empty cell, with an empty format; headers are the text of a JSON list of pairs."""

    def __init__(self, stream: Any, form: FileFormat) -> None:
        self._stream = stream
        self._form = form
        self._options = csv.WriteOptions(include_header=True)

    def write_table(self, table: pa.Table) -> None:
        columns = {name: table[name] for name in ("topic", "partition", "offset")}
        columns |= {"timestamp": _millis(table), "timestampType": table["timestampType"]}
        for name, shown in zip(("key", "value"), _readable(table, self._form), strict=True):
            columns[name] = pa.array([None if value is None else value.text for value in shown], pa.string())
            columns[f"{name}Format"] = pa.array(
                [None if value is None else value.format for value in shown], pa.string()
            )
        if "headers" in table.schema.names:
            lists = [None if pairs is None else _pairs(pairs) for pairs in table["headers"].to_pylist()]
            columns["headers"] = pa.array(lists, pa.string())
        columns |= {name: table[name] for name in _decoded(table)}
        if self._form.guard_formulas:
            for name, column in columns.items():
                if pa.types.is_string(column.type):
                    columns[name] = compute.replace_substring_regex(column, FORMULA, GUARDED)
        csv.write_csv(pa.table(columns), self._stream, write_options=self._options)
        self._options = csv.WriteOptions(include_header=False)

    def close(self) -> None:
        self._stream.close()


def _pairs(headers: list[dict[str, Any]]) -> str:
    shown = [(header["key"], readable(header["value"])) for header in headers]
    return json.dumps([[key, None if value is None else value.text] for key, value in shown])


class _JsonLines:
    """An object for each record, with the names that `kodec find --json` has."""

    def __init__(self, stream: Any, form: FileFormat) -> None:
        self._stream = stream
        self._form = form

    def write_table(self, table: pa.Table) -> None:
        kinds = {kind.value: str(kind) for kind in TimestampType}
        columns: dict[str, list[str]] = {
            "topic": _dumped(table["topic"]),
            "partition": _dumped(table["partition"]),
            "offset": _dumped(table["offset"]),
            "timestamp": _dumped(_millis(table)),
            "timestampType": [json.dumps(kinds[kind]) for kind in table["timestampType"].to_pylist()],
        }
        lines = [
            ", ".join(f'"{name}": {value}' for name, value in zip(columns, row, strict=True))
            for row in zip(*columns.values(), strict=True)
        ]
        more: list[list[str]] = [
            [_member(name, value) for value in shown]
            for name, shown in zip(("key", "value"), _readable(table, self._form), strict=True)
        ]
        if "headers" in table.schema.names:
            more.append([f'"headers": {_objects(headers or [])}' for headers in table["headers"].to_pylist()])
        for name in _decoded(table):
            # they are JSON already
            more.append([f'"{name}": {text or "null"}' for text in table[name].to_pylist()])
        text = "".join(f"{{{', '.join(row)}}}\n" for row in zip(lines, *more, strict=True))
        self._stream.write(text.encode())

    def close(self) -> None:
        self._stream.close()


def _dumped(column: pa.ChunkedArray) -> list[str]:
    dump: Callable[[Any], str] = partial(json.dumps, ensure_ascii=False)
    return [dump(value) for value in column.to_pylist()]


def _member(name: str, shown: ReadableValue | None) -> str:
    if shown is None:
        return f'"{name}": null'
    reason = f', "{name}Reason": {json.dumps(shown.reason)}' if shown.reason else ""
    reason += f', "{name}Schema": {json.dumps(shown.schema)}' if shown.schema else ""
    return f'"{name}": {shown.json}, "{name}Format": "{shown.format}"{reason}'


def _objects(headers: list[dict[str, Any]]) -> str:
    parts = (
        f'{{"key": {json.dumps(header["key"])}, {_member("value", readable(header["value"]))}}}'
        for header in headers
    )
    return f"[{', '.join(parts)}]"
