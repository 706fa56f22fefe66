"""Spark on Kafka's log directories: the `kafka-log` data source and the jobs built on it."""

from kodec.runtime.errors import MissingDependency

try:
    import pyarrow as _pyarrow  # noqa: F401  # only whether it is there
    import pyspark as _pyspark  # noqa: F401  # the same
except ImportError as missing:
    text = f"the pipeline needs `{missing.name}`: pip install 'kodec[spark]'"
    raise MissingDependency(text, name=missing.name) from missing

from kodec.pipeline.jobs.compact_view import compact_view
from kodec.pipeline.jobs.convert import convert
from kodec.pipeline.jobs.export import ExportSummary, PartitionSummary, export
from kodec.pipeline.jobs.inventory import InventoryRow, InventorySummary, inventory
from kodec.pipeline.jobs.restore import RestoredPartition, RestoreSummary, restore
from kodec.pipeline.jobs.verify import VerifySummary, verify
from kodec.pipeline.source import KafkaLogDataSource, schema
from kodec.pipeline.spark import register, served_by, session

__all__ = [
    "ExportSummary",
    "InventoryRow",
    "InventorySummary",
    "KafkaLogDataSource",
    "PartitionSummary",
    "RestoreSummary",
    "RestoredPartition",
    "VerifySummary",
    "compact_view",
    "convert",
    "export",
    "inventory",
    "register",
    "restore",
    "schema",
    "served_by",
    "session",
    "verify",
]
