"""What functions of `kodec` give, by name: for annotations."""

from kodec.log.batches.records import SkippedRange, SkippedRanges, TornTail
from kodec.log.directories.partition import LogRead
from kodec.log.directories.segment import TimestampOffset
from kodec.log.directories.transactions import AbortedTransaction, Transactions
from kodec.log.writing.writer import AppendResult

__all__ = [
    "AbortedTransaction",
    "AppendResult",
    "LogRead",
    "SkippedRange",
    "SkippedRanges",
    "TimestampOffset",
    "TornTail",
    "Transactions",
]
