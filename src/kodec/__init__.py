"""Codecs for Apache Kafka's record formats, generated from Kaitai schemas: the few names a user needs."""

from kodec.log.batch import Batch
from kodec.log.encode import encode
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
from kodec.runtime import errors

__all__ = [
    "Batch",
    "BatchReader",
    "ControlRecord",
    "ControlRecordType",
    "Limits",
    "Record",
    "RecordReader",
    "SkippedRange",
    "TimestampType",
    "TornTail",
    "__version__",
    "encode",
    "errors",
    "read_batches",
    "read_records",
]

__version__ = "0.1.0"
