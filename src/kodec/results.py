"""The result types of `kodec`'s functions, for annotations."""

from kodec.log.batches.records import SkippedRange, SkippedRanges, TornTail
from kodec.log.directories.partition import LogRead
from kodec.log.directories.search import FoundRecord, SearchReport
from kodec.log.directories.segment import TimestampOffset
from kodec.log.directories.transactions import AbortedTransaction, Transactions
from kodec.log.writing.writer import AppendResult

__all__ = [
    "AbortedTransaction",
    "AppendResult",
    "FoundRecord",
    "LogRead",
    "SearchReport",
    "SkippedRange",
    "SkippedRanges",
    "TimestampOffset",
    "TornTail",
    "Transactions",
]
