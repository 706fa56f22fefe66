"""Apache Iceberg's tables, by pyiceberg.

A commit carries its offsets in the summary of its snapshot, and all positions in a property of the table,
which outlives snapshots that expire. Its requirement is the snapshot that the positions were read at: of two
runs one wins, and so it is where somebody compacts meanwhile.
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
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.io.pyarrow import _dataframe_to_data_files, schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AssertRefSnapshotId, TableRequirement, TableUpdate

from kodec.log.files.listing import TopicPartition
from kodec.pipeline.lake.table import (
    OFFSETS,
    Conflict,
    LakeError,
    Move,
    Position,
    Rows,
    by_topic,
    of_topics,
    require_fit,
)
from kodec.pipeline.workers import Workers

__all__ = ["IcebergTable", "iceberg_table"]

# Which commit a property or a snapshot is of.
_COMMIT = "kodec.commit"

# Rows in memory, of each thread, before they become a file.
_FILE_BYTES = 128 << 20


class _Pinned:
    """A catalog that commits to one snapshot of a table only.

    pyiceberg puts an append that has lost on top of whatever has won, which would append its offsets twice.
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
        """The folder, where the table is there and on this machine."""
        with _errors(self.name):
            if not self._catalog.table_exists(self.name):
                return None
            url = urlsplit(self._catalog.load_table(self.name).location())
        return unquote(url.path) if url.scheme in ("", "file") else None

    def positions(
        self, topic_ids: Mapping[TopicPartition, str | None], columns: pa.Schema
    ) -> dict[TopicPartition, Position]:
        """As `LakeTable.positions`."""
        with _errors(self.name):
            table = self._table = self._opened(columns)
            there = schema_to_pyarrow(table.schema(), include_field_ids=False)
            require_fit(self.name, there, columns, widens=True)
            self._progress = _progress(self.name, table)
        return {owner: move.to for owner, move in self._progress.items() if owner in topic_ids}

    def _opened(self, columns: pa.Schema) -> Table:
        if not self._catalog.table_exists(self.name):
            self._catalog.create_namespace_if_not_exists(self._catalog.namespace_from(self.name))
            return self._catalog.create_table_if_not_exists(self.name, columns)
        return self._catalog.load_table(self.name)

    def append(
        self, columns: pa.Schema, tasks: Sequence[Rows], moves: Mapping[TopicPartition, Move], threads: int
    ) -> str:
        """As `LakeTable.append`: each thread writes the files of a task, and all come into one snapshot."""
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
        made: list[DataFile] = []
        try:
            work = partial(_write, table, transaction.table_metadata, made)
            Workers(threads).run(work, tasks)
        except BaseException:
            _delete(table, made)
            raise
        try:
            with _errors(self.name):
                summary = {OFFSETS: _json(by_topic(moves)), _COMMIT: commit}
                with transaction.update_snapshot(snapshot_properties=summary).fast_append() as files:
                    for file in made:
                        files.append_data_file(file)
                return str(transaction.commit_transaction().metadata.current_snapshot_id)
        except CommitFailedException as error:
            _delete(table, made)
            raise Conflict(f"{self.name}: {error}") from error
        except CommitStateUnknownException as error:
            raise Conflict(f"{self.name}: {error}") from error


def _write(table: Table, metadata: TableMetadata, made: list[DataFile], rows: Rows) -> None:
    """Write the rows of a task, as the table says: where, in which partitions, how compressed."""
    pending: list[pa.RecordBatch] = []

    def flush() -> None:
        if pending:
            with _errors(table.name()[-1]):
                made.extend(_dataframe_to_data_files(metadata, pa.Table.from_batches(pending), table.io))
            pending.clear()

    with closing(rows()) as batches:  # type: ignore[type-var]  # a generator, which holds files
        for batch in batches:
            pending.append(batch)
            if sum(each.nbytes for each in pending) >= _FILE_BYTES:
                flush()
    flush()


def _delete(table: Table, made: list[DataFile]) -> None:
    """Files that are in no snapshot; what stays is for `remove_orphan_files`."""
    for file in made:
        with suppress(Exception):
            table.io.delete(file.file_path)


def _json(said: object) -> str:
    return json.dumps(said, separators=(",", ":"))


# -- how far logs are in a table ------------------------------------------------------------------


def _progress(name: str, table: Table) -> dict[TopicPartition, Move]:
    """The last move of each topic-partition: what the property says, if the newest snapshot that carries
    offsets has its commit, or has expired.

    In a table that was rolled back, the property is of a snapshot that is not among its ancestors: there the
    snapshots themselves say it. Raises LakeError where they do not.
    """
    try:
        text = table.properties.get(OFFSETS)
        said = None if text is None else json.loads(text)
        latest = {} if said is None else of_topics(said["offsets"])
        found: dict[TopicPartition, Move] = {}
        cut = False
        for snapshot in _ancestors(table):
            if snapshot is None:
                cut = True
            elif (summary := snapshot.summary) is not None and (carried := summary[OFFSETS]) is not None:
                if said is not None and summary[_COMMIT] == said["commit"]:
                    return latest | found
                found = of_topics(json.loads(carried)) | found
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        text = (
            f"{name}: its {OFFSETS} cannot be read ({type(error).__name__}: {error}); export to another table"
        )
        raise LakeError(text) from error
    if said is None:
        return found
    here = any(s.summary is not None and s.summary[_COMMIT] == said["commit"] for s in table.snapshots())
    if cut and not here:
        return latest | found
    if found and not cut:
        return found
    raise LakeError(
        f"{name}: it was replaced, or rolled back further than its snapshots say how far logs are in it; "
        f"export to another table, or remove its property {OFFSETS} to append everything again"
    )


def _ancestors(table: Table) -> Iterator[Snapshot | None]:
    """The current snapshot and those before it; None, at last, for one that has expired."""
    number = table.metadata.current_snapshot_id
    while number is not None:
        snapshot = table.snapshot_by_id(number)
        yield snapshot
        number = None if snapshot is None else snapshot.parent_snapshot_id


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
    """A table for `append_to_lake`, `namespace.table`; made, with its namespace, where there is none.

    Args: catalog is the name of one that pyiceberg is configured for; properties add to that, or replace it.
    Raises: LakeError; ValueError for a catalog that is not configured.
    """
    with _errors(identifier):
        return IcebergTable(load_catalog(catalog, **(properties or {})), identifier)
