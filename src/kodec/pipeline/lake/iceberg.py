"""Apache Iceberg's tables, by pyiceberg.

A commit carries its offsets in the summary of its snapshot, and all positions in a property of the table,
which survives the expiry of snapshots. Its requirement is the snapshot that the positions were read at: of
two runs one wins, and the same holds for a concurrent compaction.
Followed: Iceberg Table Spec, "Snapshots" and "Optimistic Concurrency".
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.io.pyarrow import (
    _determine_partitions,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    schema_to_pyarrow,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionKey
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AssertRefSnapshotId, TableRequirement, TableUpdate
from pyiceberg.typedef import Record
from pyiceberg.types import IcebergType, ListType, StructType

from kodec.log.files.listing import TopicPartition
from kodec.pipeline.lake.table import (
    OFFSETS,
    Conflict,
    LakeError,
    Move,
    Position,
    Rows,
    by_topic,
    column_names,
    of_topics,
    require_fit,
    require_kept,
    require_ours,
)
from kodec.pipeline.workers import Workers
from kodec.runtime.foreign_json import read_json

__all__ = ["IcebergTable", "iceberg_table"]

# Which commit a property or a snapshot is of.
_COMMIT = "kodec.commit"

# Of the positions of all topic-partitions.
_MOST_VALUES = 10_000_000

# Rows in memory, of each thread, before they become a file.
_FILE_BYTES = 128 << 20


class _Pinned:
    """A catalog that commits to one snapshot of a table only.

    pyiceberg reapplies a losing append on top of the winner, which would append its offsets twice.
    """

    def __init__(self, catalog: Catalog, snapshot_id: int | None) -> None:
        self._catalog = catalog
        self._requirement = AssertRefSnapshotId.model_validate(
            {"ref": MAIN_BRANCH, "snapshot-id": snapshot_id}
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        return self._catalog.commit_table(table, (*requirements, self._requirement), updates)


class IcebergTable:
    """A table of a catalog, `namespace.table`."""

    def __init__(self, catalog: Catalog, identifier: str) -> None:
        self.name = identifier
        self._catalog = catalog
        self._table: Table | None = None
        self._progress: dict[TopicPartition, Move] = {}

    def __repr__(self) -> str:
        return f"IcebergTable({self._catalog.name!r}, {self.name!r})"

    @property
    def path(self) -> str | None:
        """The folder, if the table exists and is on this machine."""
        with _errors(self.name):
            if not self._catalog.table_exists(self.name):
                return None
            url = urlsplit(self._catalog.load_table(self.name).location())
        return unquote(url.path) if url.scheme in ("", "file") else None

    def positions(
        self, topic_ids: Mapping[TopicPartition, str | None], columns: pa.Schema, *, add_columns: bool
    ) -> dict[TopicPartition, Position]:
        """As `LakeTable.positions`."""
        with _errors(self.name):
            table = self._table = self._opened(columns)
            table_schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
            require_fit(self.name, table_schema, columns, widens=True)
            require_kept(self.name, _dropped_columns(table, columns))
            self._progress = _progress(self.name, table)
            if not (self._progress or OFFSETS in table.properties or add_columns):
                is_empty = table.metadata.current_snapshot_id is None
                require_ours(self.name, table_schema, columns, is_empty=is_empty)
        return {owner: move.to for owner, move in self._progress.items() if owner in topic_ids}

    def _opened(self, columns: pa.Schema) -> Table:
        if not self._catalog.table_exists(self.name):
            self._catalog.create_namespace_if_not_exists(self._catalog.namespace_from(self.name))
            return self._catalog.create_table_if_not_exists(self.name, columns)
        return self._catalog.load_table(self.name)

    def append(
        self, columns: pa.Schema, tasks: Sequence[Rows], moves: Mapping[TopicPartition, Move], threads: int
    ) -> str:
        """As `LakeTable.append`: each thread writes the files of a task, all in one snapshot."""
        table = self._table
        assert table is not None
        commit = uuid.uuid4().hex
        everything = by_topic({**self._progress, **moves})
        table.catalog = _Pinned(self._catalog, table.metadata.current_snapshot_id)  # type: ignore[assignment]
        transaction = table.transaction()
        with _errors(self.name):
            with transaction.update_schema() as schema:
                schema.union_by_name(columns)
            transaction.set_properties({OFFSETS: _json({"commit": commit, "offsets": everything})})
        data_files: list[DataFile] = []
        try:
            work = partial(_write, table, transaction.table_metadata, data_files)
            Workers(threads).run(work, tasks)
        except BaseException:
            _delete(table, data_files)
            raise
        try:
            with _errors(self.name):
                summary = {OFFSETS: _json(by_topic(moves)), _COMMIT: commit}
                with transaction.update_snapshot(snapshot_properties=summary).fast_append() as files:
                    for file in data_files:
                        files.append_data_file(file)
                return str(transaction.commit_transaction().metadata.current_snapshot_id)
        except CommitFailedException as error:
            _delete(table, data_files)
            raise Conflict(f"{self.name}: {error}") from error
        except CommitStateUnknownException as error:
            raise Conflict(f"{self.name}: {error}") from error


def _write(table: Table, metadata: TableMetadata, files: list[DataFile], rows: Rows) -> None:
    """Write the rows of a task to the table's location, and a file for each of its partitions."""
    pending: list[pa.RecordBatch] = []

    def flush() -> None:
        if not pending:
            return
        rows_table = pa.Table.from_batches(pending)
        spec, schema = metadata.spec(), metadata.schema()
        with _errors(".".join(table.name())):
            if spec.is_unpartitioned():
                files.append(_file(table, metadata, rows_table, None))
            else:
                for part in _determine_partitions(spec, schema, rows_table):
                    files.append(_file(table, metadata, part.arrow_table_partition, part.partition_key))
        pending.clear()

    with closing(rows()) as batches:  # type: ignore[type-var]  # a generator, which holds files
        for batch in batches:
            pending.append(batch)
            if sum(batch.nbytes for batch in pending) >= _FILE_BYTES:
                flush()
    flush()


def _file(table: Table, metadata: TableMetadata, rows: pa.Table, key: PartitionKey | None) -> DataFile:
    """A Parquet file; columns that it lacks are null.

    Files that pyiceberg 0.12 writes itself have empty lists instead of null.
    """
    schema = metadata.schema()
    rows = rows.cast(pa.schema(_with_ids(list(rows.schema), schema.as_struct())))
    codec = metadata.properties.get("write.parquet.compression-codec", "zstd")
    path = load_location_provider(metadata.location, metadata.properties).new_data_location(
        f"{uuid.uuid4()}.parquet", key
    )
    output = table.io.new_output(path)
    written: list[pq.FileMetaData] = []
    with (
        output.create() as stream,
        pq.ParquetWriter(
            stream,
            rows.schema,
            compression="none" if codec == "uncompressed" else codec,
            metadata_collector=written,
        ) as writer,
    ):
        writer.write_table(rows)
    statistics = data_file_statistics_from_parquet_metadata(
        parquet_metadata=written[0],
        stats_columns=compute_statistics_plan(schema, metadata.properties),
        parquet_column_mapping=parquet_path_to_id_mapping(schema),
    )
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=Record() if key is None else key.partition,
        file_size_in_bytes=len(output),
        sort_order_id=None,
        spec_id=metadata.default_spec_id,
        equality_ids=None,
        key_metadata=None,
        **statistics.to_serialized_dict(),
    )


def _with_ids(fields: list[pa.Field], struct: StructType) -> list[pa.Field]:
    """Fields with the ids of the table."""
    known = {field.name: field for field in struct.fields}
    return [
        _field(field.name, field.type, known[field.name].field_type, known[field.name].field_id)
        for field in fields
    ]


def _field(name: str, kind: pa.DataType, table_type: IcebergType, number: int) -> pa.Field:
    if pa.types.is_struct(kind) and isinstance(table_type, StructType):
        kind = pa.struct(_with_ids(list(kind.fields), table_type))
    elif pa.types.is_list(kind) and isinstance(table_type, ListType):
        kind = pa.list_(_field("element", kind.value_type, table_type.element_type, table_type.element_id))
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


def _dropped_columns(table: Table, columns: pa.Schema) -> list[str]:
    """Our columns that an earlier schema of a table had, and its current one has not."""
    before = {name for schema in table.metadata.schemas for name in schema.column_names}
    gone = before.difference(table.schema().column_names)
    return [name for name in column_names(columns) if name in gone]


def _delete(table: Table, files: list[DataFile]) -> None:
    """Files that are in no snapshot; the rest is left to `remove_orphan_files`."""
    for file in files:
        with suppress(Exception):
            table.io.delete(file.file_path)


def _json(details: object) -> str:
    return json.dumps(details, separators=(",", ":"))


def _read(text: str) -> Any:
    """Whoever may write the table may have written it. Raises ValueError."""
    return read_json(text.encode("utf-8", "surrogatepass"), most_values=_MOST_VALUES)


# -- how far logs are in a table ------------------------------------------------------------------


def _progress(name: str, table: Table) -> dict[TopicPartition, Move]:
    """The last move of each topic-partition: from the property, if its commit is among the snapshots
    of the table as it is, or has expired.

    A rolled-back table has a property that is too new: then the snapshots have it, if they all
    exist. Raises LakeError otherwise.
    """
    try:
        text = table.properties.get(OFFSETS)
        details = None if text is None else _read(text)
        latest = {} if details is None else of_topics(details["offsets"])
        moves: dict[TopicPartition, Move] = {}
        oldest = 0
        for snapshot in _ancestors(table):
            carried, commit = _carried(snapshot)
            if details is not None and commit == details["commit"]:
                return latest | moves
            if carried is not None:
                moves = of_topics(_read(carried)) | moves
            oldest = snapshot.sequence_number or 0
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise LakeError(
            f"{name}: its {OFFSETS} cannot be read ({reason}); export to another table"
        ) from error
    # the number of a table's first snapshot; in format version 1 they have none
    if details is None or oldest == 1:
        return moves
    is_expired = all(_carried(snapshot)[1] != details["commit"] for snapshot in table.snapshots())
    if is_expired and not moves:
        return latest
    raise LakeError(
        f"{name}: it was replaced, or rolled back further than its snapshots record positions; "
        f"export to another table, or remove its property {OFFSETS} to append everything again"
    )


def _carried(snapshot: Snapshot) -> tuple[str | None, str | None]:
    """The offsets that a snapshot appended, and the commit; None for another program's."""
    summary = snapshot.summary
    return (None, None) if summary is None else (summary[OFFSETS], summary[_COMMIT])


def _ancestors(table: Table) -> Iterator[Snapshot]:
    """The current snapshot and those before it, as far as they have not expired."""
    number = table.metadata.current_snapshot_id
    while number is not None and (snapshot := table.snapshot_by_id(number)) is not None:
        yield snapshot
        number = snapshot.parent_snapshot_id


@contextmanager
def _errors(name: str) -> Iterator[None]:
    """Errors of the catalog and its libraries with the table's name. Raises LakeError."""
    try:
        yield
    except (CommitFailedException, CommitStateUnknownException):
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyiceberg", "requests", "sqlalchemy"):
            raise
        raise LakeError(f"{name}: {str(error).partition(chr(10))[0]}") from error


def iceberg_table(
    identifier: str, catalog: str = "default", properties: Mapping[str, str] | None = None
) -> IcebergTable:
    """A table for `append_to_lake`, `namespace.table`; created, with its namespace, if missing.

    Args: identifier is `namespace.table`; catalog is the name of one that pyiceberg is configured for;
    properties add to that, or replace it.

    Returns: a table for `append_to_lake`.
    Raises: LakeError; ValueError for a catalog that is not configured.

    Example:
        >>> from pathlib import Path
        >>> from kodec.pipeline import append_to_lake, iceberg_table
        >>> folder = Path.cwd()
        >>> catalog = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": folder.as_uri()}
        >>> table = iceberg_table("kafka.records", properties=catalog)
        >>> append_to_lake("/data/kafka-logs", table, topics=["orders"]).records
        1200
    """
    with _errors(identifier):
        return IcebergTable(load_catalog(catalog, **(properties or {})), identifier)
