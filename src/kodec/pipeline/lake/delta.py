"""Delta tables, by delta-rs.

A commit carries its offsets in its commit info, for people, and each position as an application transaction
(`txn`), which Delta keeps through checkpoints, clean-ups and compactions, and by which it refuses a second
commit that begins where the first one did: of two runs with the same topic-partition one wins.
Followed: Delta Transaction Protocol, "Transaction Identifiers".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from kodec.log.files.listing import TopicPartition
from kodec.log.reading.ahead import Ahead
from kodec.pipeline.lake.table import (
    OFFSETS,
    Conflict,
    LakeError,
    Move,
    Position,
    Rows,
    by_topic,
    require_fit,
    require_kept,
    require_ours,
)

__all__ = ["DeltaLakeTable", "delta_table"]

_MAPPING = "delta.columnMapping.mode"

# How far back a RESTORE is searched for: one followed by this many commits of others is not seen.
_HISTORY = 100


class DeltaLakeTable:
    """A table at a path or URL; storage options are those of delta-rs."""

    def __init__(self, uri: str, storage_options: Mapping[str, str] | None = None) -> None:
        self.name = uri
        self.path = None if "://" in uri else str(Path(uri).absolute())
        self._options = dict(storage_options or {})
        self._table: DeltaTable | None = None

    def __repr__(self) -> str:
        return f"DeltaLakeTable({self.name!r})"

    def positions(
        self, topic_ids: Mapping[TopicPartition, str | None], columns: pa.Schema, *, add_columns: bool
    ) -> dict[TopicPartition, Position]:
        """As `LakeTable.positions`."""
        try:
            table = self._table = self._opened(columns)
            table_schema = pa.schema(table.schema().to_arrow())
            require_fit(self.name, table_schema, columns, widens=False)
            if table.metadata().configuration.get(_MAPPING, "none") != "none":
                # Its columns can be renamed and dropped; the schema does not say which were.
                require_kept(self.name, (name for name in columns.names if name not in table_schema.names))
            known = dict(self._known(table, topic_ids))
            if not (known or add_columns or self._has_our_commit(table)):
                require_ours(self.name, table_schema, columns, is_empty=not table.file_uris())
            if table.version():
                self._require_not_restored(table)
            return known
        except (DeltaError, OSError) as error:
            raise LakeError(f"{self.name}: {error}") from error

    def _has_our_commit(self, table: DeltaTable) -> bool:
        """Whether other topics were appended to a table, as far as its log goes back."""
        return any(OFFSETS in commit for commit in table.history())

    def _opened(self, columns: pa.Schema) -> DeltaTable:
        uri = self.path or self.name
        try:
            return DeltaTable(uri, storage_options=self._options)
        except TableNotFoundError:
            return DeltaTable.create(uri, columns, mode="ignore", storage_options=self._options)

    def _known(
        self, table: DeltaTable, topic_ids: Mapping[TopicPartition, str | None]
    ) -> Iterator[tuple[TopicPartition, Position]]:
        for owner, topic_id in topic_ids.items():
            log = _app_id(owner)
            position = table.transaction_version(log)
            if position is None:
                continue
            # of a topic's ids, the last one has its position
            if table.transaction_version(f"{log}/{topic_id}") == position:
                known = topic_id
            else:
                known = None if table.transaction_version(f"{log}/None") == position else "another"
            epoch = table.transaction_version(f"{log}/epoch")
            yield owner, Position(position, None if epoch == -1 else epoch, known)

    def _require_not_restored(self, table: DeltaTable) -> None:
        """A RESTORE removes rows but keeps the positions."""
        for commit in table.history(_HISTORY):
            if OFFSETS in commit:
                return
            if commit.get("operation") == "RESTORE":
                raise LakeError(
                    f"{self.name}: version {commit['version']} restored an older one, and Delta does not "
                    "restore how far logs are in it; export to another table"
                )

    def append(
        self, columns: pa.Schema, tasks: Sequence[Rows], moves: Mapping[TopicPartition, Move], threads: int
    ) -> str:
        """As `LakeTable.append`: tasks are read ahead in threads, and written as one stream."""
        table = self._table
        assert table is not None
        ahead = Ahead(tasks, threads)
        failed: list[BaseException] = []

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                for number in range(len(tasks)):
                    yield from ahead.items(number)
            except BaseException as error:
                # it passes through Rust, which converts it to text
                failed.append(error)
                raise

        text = json.dumps(by_topic(moves), separators=(",", ":"))
        try:
            write_deltalake(
                table,
                pa.RecordBatchReader.from_batches(columns, batches()),
                mode="append",
                schema_mode="merge",
                commit_properties=CommitProperties(
                    custom_metadata={OFFSETS: text}, app_transactions=list(_transactions(moves))
                ),
            )
        except CommitFailedError as error:
            raise Conflict(f"{self.name}: {error}") from error
        except Exception as error:
            if failed:
                raise failed[0] from None
            raise LakeError(f"{self.name}: {error}") from error
        finally:
            ahead.close()
        return str(table.version())


def _app_id(owner: TopicPartition) -> str:
    # no topic has a slash in its name, because it names a folder
    return f"kodec/{owner.topic}/{owner.partition}"


def _transactions(moves: Mapping[TopicPartition, Move]) -> Iterator[Transaction]:
    for owner, (_, to) in moves.items():
        log = _app_id(owner)
        yield Transaction(log, to.next)
        yield Transaction(f"{log}/{to.topic_id}", to.next)
        yield Transaction(f"{log}/epoch", -1 if to.epoch is None else to.epoch)


def delta_table(uri: str, storage_options: Mapping[str, str] | None = None) -> DeltaLakeTable:
    """A Delta table for `append_to_lake`, at a path or a URL of an object store; created if there is none.

    Args:
        uri: a path, or a URL of an object store.
        storage_options: of the store, as deltalake names them.

    Returns: a table for `append_to_lake`.
    Raises: LakeError if there is something else; MissingDependency without deltalake.

    Example: see `append_to_lake`.
    """
    return DeltaLakeTable(uri, storage_options)
