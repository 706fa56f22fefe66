"""Spark reads files of any schema: `spark.read.format("kaitai").option("schema", "x.ksy").load("*.bin")`.

The columns are those of `kodec.formats.Format.scan`, which workers call too. The checked schema and its
modules
go to them as a plan (`kodec.formats.plans`), so they need no schema file.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kodec.formats.plans import packed
from kodec.formats.schema import Format, load_schema
from kodec.formats.several import files_of
from kodec.pipeline.reading import freeze_imports_once
from kodec.pipeline.spark_schema import arrow_type, spark_type
from kodec.runtime.compression import Codec, register_codec, registered_codecs
from kodec.runtime.errors import ArgumentError, KodecError
from kodec.runtime.near import meant
from kodec.stores.storage import files_below, readable

__all__ = ["OPTIONS", "KaitaiDataSource", "register"]

OPTIONS: Mapping[str, str] = {
    "path": "the files: a path, a pattern, or a folder, whose files are read; `load` sets it",
    "schema": "the .ksy file, or a plan (`Format.save`), on the driver; no code in a plan is run",
    "rows": "the list whose elements are rows; by default the only one",
    "columns": "paths from a row, between commas; by default all fields",
    "where": "a condition that the reader checks, before it reads the rest of a row",
    "nested": "true: types as structs",
    "enums": "names (the default), or numbers",
    "param.NAME": "a parameter of the schema's type, as `--param` of `kodec scan`: `param.version`, 3",
    "check": "true: compare checksums and other `-derive` fields, through Python objects",
    "pathColumn": "a column with the path of the file; by default none",
    "importPath": "further folders with imported schemas, between commas",
    "overlay": "files with further keys for schemas, or ids of those that kodec has, between commas",
    "tasks": "how many tasks there should be, where files can be split (default: twice the driver's cores)",
    "minRows": "the least rows of a task, where a file is split (default: 100000)",
}
_KNOWN = {name.lower(): name for name in OPTIONS}
_PARAM = "param."


@dataclass(frozen=True, slots=True)
class _Settings:
    """What a task needs to know, without the schema."""

    rows: str | None
    columns: tuple[str, ...] | None
    where: str | None
    nested: bool
    enums: str
    path_column: str
    params: tuple[str, ...]
    check: bool


class FilePartition(InputPartition):
    """A file, or a part of one: the rows that are left out, and the number of rows, or -1."""

    def __init__(self, path: str, part: tuple[int, int]) -> None:
        super().__init__(path)
        self.path, self.part = path, part


class KaitaiDataSource(DataSource):
    """`spark.read.format("kaitai").option("schema", "x.ksy").load(path)`; docs/columns.md has the options.

    Example: see `register`.
    """

    codecs: tuple[Codec, ...] = ()

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return "kaitai"

    def schema(self) -> StructType:
        """The columns, as the schema file describes them. Raises: ArgumentError; SchemaError."""
        _register_codecs(self.codecs)
        options = _options(self.options)
        settings = _settings(options)
        columns = _format(options).schema_of(
            settings.rows, settings.columns, nested=settings.nested, enums=settings.enums
        )
        fields = [(column.name, _spark_arrow(column.type)) for column in columns]
        if settings.path_column:
            fields.insert(0, (settings.path_column, pa.string()))
        result = StructType()
        for name, kind in fields:
            result = result.add(name, spark_type(kind))
        return result

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader for the columns of `schema`, which may be fewer than there are."""
        _register_codecs(self.codecs)  # `schema` was called in another process
        return KaitaiReader(schema, _options(self.options))


class KaitaiReader(DataSourceReader):
    """Lists the files, splits those whose rows can be counted, and reads one part."""

    def __init__(self, schema: StructType, options: dict[str, str]) -> None:
        self.options = options
        self.codecs = registered_codecs()
        self.settings = _settings(options)
        self.names = schema.names
        format = _format(options)
        self.plan = packed(format._name, format._modules)
        self.types = _types(format, self.settings, self.names)
        self.parameters = format.parameters_of(self.settings.params)
        # what is wrong with the options is reported before a task starts
        format.scan(b"", self.settings.rows, self._selected_columns(), **self._scan_arguments())

    def _selected_columns(self) -> list[str] | None:
        selected = [name for name in self.names if name != self.settings.path_column]
        return selected or None

    def _scan_arguments(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "where": settings.where,
            "parameters": self.parameters,
            "nested": settings.nested,
            "enums": settings.enums,
            "check": settings.check,
        }

    def partitions(self) -> list[InputPartition]:
        """A task for each file, or for each part of one with rows of one size."""
        format = _format(self.options)
        files = _files(self.options)
        # Spark calls this in a process without a session
        tasks = int(self.options.get("tasks", str(2 * (os.cpu_count() or 1))))
        most = max(1, -(-tasks // len(files))) if files and not self.settings.check else 1
        least = int(self.options.get("minRows", "100000"))
        return [
            FilePartition(path, part)
            for path in files
            for part in (
                format.row_parts(
                    path,
                    self.settings.rows,
                    self._selected_columns(),
                    most=most,
                    least=least,
                    where=self.settings.where,
                    parameters=self.parameters,
                )
                if most > 1
                else [(0, -1)]
            )
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one part."""
        assert isinstance(partition, FilePartition)
        freeze_imports_once()
        _register_codecs(self.codecs)
        format = _of_plan(self.plan)
        part = None if partition.part == (0, -1) else partition.part
        try:
            for batch in format.scan(
                partition.path,
                self.settings.rows,
                self._selected_columns(),
                part=part,
                **self._scan_arguments(),
            ):
                yield self._for_spark(batch, partition.path)
        except (KodecError, OSError) as error:
            # Spark also shows the traceback, and before the error
            raise error.with_traceback(None) from None

    def _for_spark(self, batch: pa.RecordBatch, path: str) -> pa.RecordBatch:
        arrays = []
        for name, kind in self.types.items():
            if name == self.settings.path_column:
                text = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                arrays.append(pa.array([text] * batch.num_rows, pa.string()))
            else:
                arrays.append(batch.column(name).cast(kind))
        return pa.RecordBatch.from_arrays(arrays, names=list(self.types))


def _register_codecs(codecs: Iterable[Codec]) -> None:
    for codec in codecs:
        register_codec(codec)


def _options(options: Mapping[str, str]) -> dict[str, str]:
    """The options by their names. Raises: ArgumentError for one that does not exist."""
    by_name: dict[str, str] = {}
    for name, value in options.items():
        if name.lower().startswith(_PARAM):
            by_name[name.lower()] = value
            continue
        if name.lower() not in _KNOWN or name == "param.NAME":
            raise ArgumentError(f"option `{name}`: there is none; options: {', '.join(OPTIONS)}")
        by_name[_KNOWN[name.lower()]] = value
    if "schema" not in by_name:
        raise ArgumentError("name the format: option `schema`, a .ksy file")
    if "path" not in by_name:
        raise ArgumentError("name the files: load(path)")
    for name in ("nested", "check"):
        if by_name.get(name, "false").lower() not in ("true", "false"):
            raise ArgumentError(f"{name}: true or false")
    for name in ("minRows", "tasks"):
        if not by_name.get(name, "1").isdigit() or int(by_name.get(name, "1")) < 1:
            raise ArgumentError(f"{name}: a whole number, at least 1, not {by_name[name]}")
    return by_name


def _settings(options: Mapping[str, str]) -> _Settings:
    columns = (
        tuple(name.strip() for name in options["columns"].split(",")) if options.get("columns") else None
    )
    return _Settings(
        rows=options.get("rows"),
        columns=columns,
        where=options.get("where"),
        nested=options.get("nested", "false").lower() == "true",
        enums=options.get("enums", "names"),
        path_column=options.get("pathColumn", ""),
        params=tuple(
            f"{name.removeprefix(_PARAM)}={value}"
            for name, value in options.items()
            if name.startswith(_PARAM)
        ),
        check=options.get("check", "false").lower() == "true",
    )


def _format(options: Mapping[str, str]) -> Format:
    folders, overlays = (
        [text.strip() for text in options.get(name, "").split(",") if text.strip()]
        for name in ("importPath", "overlay")
    )
    return load_schema(options["schema"], overlays, import_path=folders)


@cache
def _of_plan(plan: bytes) -> Format:
    with tempfile.NamedTemporaryFile(suffix=".kodec") as file:
        file.write(plan)
        file.flush()
        # the driver made it
        return Format(Path(file.name), trusted=True)


def _files(options: Mapping[str, str]) -> list[str]:
    """The files of a path as Spark has it: a URL, a pattern, a folder without its hidden files."""

    def failed(error: OSError) -> None:
        raise error

    path = readable(options["path"])
    if path.is_dir():
        files = [file for file in files_below(path, failed) if not file.name.startswith((".", "_"))]
        return sorted(map(str, files))
    return files_of([path])


def _spark_arrow(kind: pa.DataType) -> pa.DataType:
    """The type that Spark has for a column."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _spark_arrow(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", _spark_arrow(kind.value_type)))
    return arrow_type(kind)


def _types(format: Format, settings: _Settings, names: list[str]) -> dict[str, pa.DataType]:
    """The types of the columns that a query wants. Raises: ArgumentError for one that does not exist."""
    columns = format.schema_of(settings.rows, settings.columns, nested=settings.nested, enums=settings.enums)
    known = {column.name: _spark_arrow(column.type) for column in columns}
    if settings.path_column:
        known[settings.path_column] = pa.string()
    unknown = [name for name in names if name not in known]
    if unknown:
        near = meant(unknown[0], known, f"columns: {', '.join(known)}")
        raise ArgumentError(f"no such column: {', '.join(unknown)}{near}")
    return {name: known[name] for name in names}


def register(spark: SparkSession) -> SparkSession:
    """Make ``spark.read.format("kaitai")`` work in this session; the same session is returned.

    The workers need the same version of kodec as the driver. Codecs that are registered before
    (`kodec.register_codec`) go to them too.

    Args:
        spark: a running session.

    Returns: the same session.
    Raises: nothing of its own.

    Example:
        >>> from pathlib import Path
        >>> from kodec.kaitai import register
        >>> from kodec.pipeline import session
        >>> schema, data = Path("x.ksy").resolve(), Path("one.bin").resolve()
        >>> _ = schema.write_text("{meta: {id: x}, seq: [{id: all, type: row, repeat: eos}], "
        ...     "types: {row: {seq: [{id: n, type: u1}]}}}")
        >>> _ = data.write_bytes(b"abc")
        >>> spark = register(session())
        >>> spark.read.format("kaitai").option("schema", str(schema)).load(str(data)).count()
        3
    """
    # Spark makes sources in processes of its own: a class that is not a module's goes there with its codecs
    with_codecs = type("WithCodecs", (KaitaiDataSource,), {"codecs": registered_codecs()})
    cast("Any", spark).dataSource.register(with_codecs if registered_codecs() else KaitaiDataSource)
    return spark
