"""Read and write Apache Kafka's record formats without a broker."""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kodec import api, errors, formats, operations, pipeline, repair, results, values
    from kodec.api import *  # noqa: F403  # the names, for type checkers

    __all__ = ["__version__", "errors", "formats", "operations", "pipeline", "repair", "results", "values"]
    __all__ += api.__all__
else:
    from importlib import import_module

    _MODULES = ("errors", "formats", "operations", "pipeline", "repair", "results", "values")
    # The names of `kodec.api` by module: each is imported when it is asked for, with what it needs alone.
    # `kodec generate` asks for none: it has to run where the modules that it made before do not.
    _NAMES = {
        "kodec.log.batches.batch": "Batch",
        "kodec.log.batches.encode": "encode",
        "kodec.log.batches.partitioner": "partition_of",
        "kodec.log.batches.records": "ControlRecord ControlRecordType Limits Record TimestampType",
        "kodec.log.directories.directory": "LogDirectory",
        "kodec.log.directories.partition": "PartitionLog",
        "kodec.log.directories.record_filter": "RecordFilter",
        "kodec.log.directories.segment": "Segment",
        "kodec.log.files.listing": "TopicPartition",
        "kodec.log.kernel": "backend",
        "kodec.log.reading.reader": "BatchReader RecordReader read_batches",
        "kodec.log.remote.keys": "TierKeys",
        "kodec.log.remote.one_log": "with_remote_storage",
        "kodec.log.remote.opening": "open_location",
        "kodec.log.selection": "Isolation",
        "kodec.log.tables.count": "count_rows",
        "kodec.log.tables.plugs": "log_dataset scan_polars",
        "kodec.log.tables.reader": "TableReader",
        "kodec.log.tables.records": "read_records",
        "kodec.log.tables.table": "encode_table read_batch_table read_table scan_batch_table scan_table",
        "kodec.log.writing.config": "LogConfig",
        "kodec.log.writing.directory_writer": "LogDirectoryWriter",
        "kodec.log.writing.writer": "LogWriter",
        "kodec.runtime.compression": "Codec register_codec",
        "kodec.stores.context": "Context Notes",
        "kodec.stores.storage": "Files Status register_store",
    }
    _PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}
    __all__ = ["__version__", *_MODULES, *_PLACES]

    def __getattr__(name: str) -> object:
        """A public name, or a module of public names."""
        if name in _MODULES or name == "api":  # which type checkers know
            return import_module(f"kodec.{name}")
        if name not in _PLACES:
            raise _unknown(name)
        from kodec.runtime.public import published

        public_object = globals()[name] = published(getattr(import_module(_PLACES[name]), name), __name__)
        return public_object

    def _unknown(name: str) -> AttributeError:
        """The error for a name that is not here: it may be in a module of public names."""
        from kodec.runtime.public import unknown

        error, places = unknown(__name__, name, __all__), []
        for module in () if name.startswith("_") else _MODULES:
            try:
                if name in import_module(f"kodec.{module}").__all__:
                    places.append(f"kodec.{module}.{name}")
            except ImportError:
                continue
        if places:
            error = unknown(__name__, name, ())
            error.args = (f"{error.args[0]}; there is {' and '.join(places)}",)
        return error

    def __dir__() -> list[str]:
        return sorted(__all__)
