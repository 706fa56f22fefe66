"""The names of `kodec` itself, imported from there; `kodec.repair` and its siblings have more."""

from kodec.log.batches.batch import Batch
from kodec.log.batches.encode import encode
from kodec.log.batches.partitioner import partition_of
from kodec.log.batches.records import ControlRecord, ControlRecordType, Limits, Record, TimestampType
from kodec.log.directories.directory import LogDirectory
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.directories.segment import Segment
from kodec.log.files.listing import TopicPartition
from kodec.log.kernel import backend
from kodec.log.reading.reader import BatchReader, RecordReader, read_batches
from kodec.log.remote.keys import TierKeys
from kodec.log.remote.one_log import with_remote_storage
from kodec.log.remote.opening import open_location
from kodec.log.selection import Isolation
from kodec.log.tables.count import count_rows
from kodec.log.tables.plugs import log_dataset, scan_polars
from kodec.log.tables.reader import TableReader
from kodec.log.tables.records import read_records
from kodec.log.tables.table import encode_table, read_batch_table, read_table, scan_batch_table, scan_table
from kodec.log.writing.config import LogConfig
from kodec.log.writing.directory_writer import LogDirectoryWriter
from kodec.log.writing.writer import LogWriter
from kodec.runtime.compression import Codec, register_codec
from kodec.stores.context import Context, Notes
from kodec.stores.storage import Files, Status, register_store

__all__ = [
    "Batch",
    "BatchReader",
    "Codec",
    "Context",
    "ControlRecord",
    "ControlRecordType",
    "Files",
    "Isolation",
    "Limits",
    "LogConfig",
    "LogDirectory",
    "LogDirectoryWriter",
    "LogWriter",
    "Notes",
    "PartitionLog",
    "Record",
    "RecordFilter",
    "RecordReader",
    "Segment",
    "Status",
    "TableReader",
    "TierKeys",
    "TimestampType",
    "TopicPartition",
    "backend",
    "count_rows",
    "encode",
    "encode_table",
    "log_dataset",
    "open_location",
    "partition_of",
    "read_batch_table",
    "read_batches",
    "read_records",
    "read_table",
    "register_codec",
    "register_store",
    "scan_batch_table",
    "scan_polars",
    "scan_table",
    "with_remote_storage",
]
