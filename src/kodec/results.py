"""The result types of `kodec`'s functions, for annotations."""

from typing import TYPE_CHECKING

from kodec.log.batches.records import SkippedRange, SkippedRanges, TornTail
from kodec.log.directories.fetch import LogRead
from kodec.log.directories.search_report import SearchReport
from kodec.log.directories.segment import TimestampOffset
from kodec.log.directories.transactions import AbortedTransaction, Transactions
from kodec.log.omissions import Cause, Omission, Omissions
from kodec.log.writing.writer import AppendResult
from kodec.runtime.plan import StepReport
from kodec.runtime.public import publish

__all__ = [
    "AbortedTransaction",
    "AppendResult",
    "Cause",
    "LogRead",
    "Omission",
    "Omissions",
    "SearchReport",
    "SkippedRange",
    "SkippedRanges",
    "StepReport",
    "TimestampOffset",
    "TornTail",
    "Transactions",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = publish(__name__, globals())
