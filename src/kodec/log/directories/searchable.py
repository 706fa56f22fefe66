"""What a search, and the explanation of gaps, need of a log: `PartitionLog` has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, Self, TypeVar

from kodec.log.batches.records import Record
from kodec.log.directories.headers import TimestampOffset
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.directories.search_report import SearchReport
from kodec.log.directories.segment import Segment
from kodec.log.directories.transactions import Transactions
from kodec.log.files.listing import Leftover, PartitionFiles, ReplicaKind, TopicPartition
from kodec.log.omissions import Omissions

__all__ = ["Searchable"]

T = TypeVar("T")


class Searchable(Protocol):
    """The log of one topic-partition, as it was listed."""

    path: Path
    root: Path
    kind: ReplicaKind
    topic_partition: TopicPartition

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    @property
    def files(self) -> PartitionFiles: ...
    @property
    def segments(self) -> Sequence[Segment]: ...
    @property
    def leftovers(self) -> Sequence[Leftover]: ...
    @property
    def start_offset(self) -> int: ...
    @property
    def end_offset(self) -> int: ...
    def require_offset(self, offset: int) -> None: ...
    @property
    def remote_offsets(self) -> range: ...
    def listed_again(self) -> Self: ...
    def find_timestamp(self, timestamp: int, *, use_index: bool = True) -> TimestampOffset | None: ...
    def transactions(self, offset: int | None = None, *, use_index: bool = True) -> Transactions: ...
    def relisted(
        self, listed: Callable[[Searchable, int | None], Iterator[tuple[int, T]]], offset: int | None
    ) -> Iterator[T]: ...
    def find_records(
        self,
        wanted: RecordFilter,
        *,
        newest_first: bool = False,
        report: SearchReport | None = None,
        omissions: Omissions | None = None,
    ) -> Iterator[Record]: ...
    def count_records(
        self,
        wanted: RecordFilter,
        *,
        report: SearchReport | None = None,
        omissions: Omissions | None = None,
    ) -> int: ...
