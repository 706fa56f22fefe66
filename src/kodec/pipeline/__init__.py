"""Spark on Kafka's log directories: the `kafka-log` data source and the jobs built on it."""

from importlib import import_module
from typing import TYPE_CHECKING

from kodec.runtime.errors import MissingDependency
from kodec.runtime.extras import install_command
from kodec.runtime.public import published, unknown

if TYPE_CHECKING:
    from kodec.pipeline.jobs.compact_view import compact_view
    from kodec.pipeline.jobs.convert import convert
    from kodec.pipeline.jobs.export import ExportOptions, ExportSummary, PartitionSummary, export
    from kodec.pipeline.jobs.inventory import InventoryRow, InventorySummary, inventory
    from kodec.pipeline.jobs.lake import AppendSummary, append_to_lake
    from kodec.pipeline.jobs.restore import RestoredPartition, RestoreSummary, check_restore, restore
    from kodec.pipeline.jobs.verify import VerifySummary, verify
    from kodec.pipeline.lake.delta import delta_table
    from kodec.pipeline.lake.iceberg import iceberg_table
    from kodec.pipeline.source import KafkaLogDataSource, schema
    from kodec.pipeline.spark import register, served_by, session
else:
    # hidden from type checkers, for which a module that has `__getattr__` has any name
    _MODULES = {
        "AppendSummary": "jobs.lake",
        "ExportOptions": "jobs.export",
        "ExportSummary": "jobs.export",
        "InventoryRow": "jobs.inventory",
        "InventorySummary": "jobs.inventory",
        "KafkaLogDataSource": "source",
        "PartitionSummary": "jobs.export",
        "RestoreSummary": "jobs.restore",
        "RestoredPartition": "jobs.restore",
        "VerifySummary": "jobs.verify",
        "append_to_lake": "jobs.lake",
        "check_restore": "jobs.restore",
        "compact_view": "jobs.compact_view",
        "convert": "jobs.convert",
        "delta_table": "lake.delta",
        "export": "jobs.export",
        "iceberg_table": "lake.iceberg",
        "inventory": "jobs.inventory",
        "register": "spark",
        "restore": "jobs.restore",
        "schema": "source",
        "served_by": "spark",
        "session": "spark",
        "verify": "jobs.verify",
    }

    def __getattr__(name: str) -> object:
        """A public name, imported on first use: not every job needs Spark, and a worker needs no job.

        Raises: MissingDependency if its dependencies are not installed.
        """
        if name not in _MODULES:
            raise unknown(__name__, name, __all__)
        try:
            published_object: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        except ImportError as missing:
            extra = "lake" if "lake" in _MODULES[name] else "spark"
            text = f"`kodec.pipeline.{name}` needs `{missing.name}`: {install_command(extra)}"
            raise MissingDependency(text, name=missing.name) from missing
        globals()[name] = published(published_object, __name__)
        return published_object

    def __dir__() -> list[str]:
        return sorted(__all__)


__all__ = [
    "AppendSummary",
    "ExportOptions",
    "ExportSummary",
    "InventoryRow",
    "InventorySummary",
    "KafkaLogDataSource",
    "PartitionSummary",
    "RestoreSummary",
    "RestoredPartition",
    "VerifySummary",
    "append_to_lake",
    "check_restore",
    "compact_view",
    "convert",
    "delta_table",
    "export",
    "iceberg_table",
    "inventory",
    "register",
    "restore",
    "schema",
    "served_by",
    "session",
    "verify",
]
