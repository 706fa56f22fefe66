"""Codecs for Apache Kafka's record formats, generated from Kaitai schemas: the few names a user needs."""

import logging

from kodec.log.batch import Batch
from kodec.log.directory import LogDirectory
from kodec.log.encode import encode
from kodec.log.partition import Isolation, LogRead, PartitionLog, multi_message_set_send
from kodec.log.reader import BatchReader, RecordReader, read_batches, read_records
from kodec.log.records import (
    ControlRecord,
    ControlRecordType,
    Limits,
    Record,
    SkippedRange,
    TimestampType,
    TornTail,
)
from kodec.log.segment import Segment, TimestampOffset
from kodec.log.transactions import AbortedTransaction, Transactions
from kodec.runtime import errors

__all__ = [
    "AbortedTransaction",
    "Batch",
    "BatchReader",
    "ControlRecord",
    "ControlRecordType",
    "Isolation",
    "Limits",
    "LogDirectory",
    "LogRead",
    "PartitionLog",
    "Record",
    "RecordReader",
    "Segment",
    "SkippedRange",
    "TimestampOffset",
    "TimestampType",
    "TornTail",
    "Transactions",
    "__version__",
    "encode",
    "errors",
    "multi_message_set_send",
    "read_batches",
    "read_records",
]

__version__ = "0.1.0"

# a library speaks where a program has asked it to: whoever configures logging hears of skipped ranges
logging.getLogger("kodec").addHandler(logging.NullHandler())
