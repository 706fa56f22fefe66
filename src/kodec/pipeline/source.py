"""The Spark data source `kafka-log`: a log directory as the table that Spark's Kafka source would give.

Columns, in the order and with the types of Spark's own Kafka source: key binary, value binary, topic string,
partition int, offset long, timestamp timestamp, timestampType int; with the option includeHeaders also
headers array<struct<key string, value binary>>. `kodec.pipeline.options` reads the options, `plan` selects
the input, and `rows` reads it; this module has the classes that Spark calls.
"""

from __future__ import annotations

from collections.abc import MutableMapping

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.types import StructType

from kodec.log.omissions import Omissions
from kodec.pipeline.options import OptionError, Options
from kodec.pipeline.plan import found_logs, list_segments, relisted
from kodec.pipeline.reading import TaskReader
from kodec.pipeline.spark_schema import arrow_schema, quarantine_schema, schema
from kodec.pipeline.typed_source import TypedSource

__all__ = ["KafkaLogDataSource", "LogReader", "arrow_schema", "schema"]


class LogReader(TaskReader, DataSourceReader):
    """Lists the segments, packs them into tasks, and decodes those of one task."""

    def partitions(self) -> list[InputPartition]:
        """The tasks of the query; Spark makes an empty one if there are none."""
        omissions = Omissions()
        return self.planned(list_segments(self.options, omissions), omissions)


class KafkaLogDataSource(DataSource):
    """`spark.read.format("kafka-log").load(path)`; docs/spark.md has the options.

    Example: see `register`.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return "kafka-log"

    def schema(self) -> StructType:
        """The columns that the options name. Raises what `found_logs` does."""
        # Whether a batch or a stream is meant is unknown here.
        options = self._read_options(streaming=None)
        # Problems with the paths are reported at `load`, not by the first query.
        relisted(found_logs)(options)
        if options.mode == "quarantine":
            return quarantine_schema(options.columns)
        typed = TypedSource.of(options)
        return schema(
            headers=options.include_headers,
            decoded=options.include_decoded,
            batch=options.include_batch,
            typed=None if typed is None else typed.spark_types,
            names=options.columns,
        )

    def _read_options(self, streaming: bool | None = False) -> Options:
        return Options.parse(self.options, streaming=streaming)

    def reader(self, schema: StructType) -> LogReader:
        """A reader for the columns of `schema`, which may be fewer than there are."""
        # It accepts no filters: Spark keeps the resulting tasks with the table, so a later query of the same
        # DataFrame without these filters would get only the rows of the first one.
        return LogReader(schema, self._read_options())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A reader of appended records, for Spark 4.2 and later. Raises OptionError.

        Args:
            schema: the columns, as Spark asks for them.
        """
        try:
            from kodec.pipeline.stream import LogStreamReader
        except ImportError:
            raise OptionError("readStream", "streams need Spark 4.2 or later; use spark.read") from None
        return LogStreamReader(schema, self._read_options(streaming=True))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """A writer of rows with these columns into segments. Raises OptionError.

        Args:
            schema: the columns of the rows.
            overwrite: as Spark asks.
        """
        from kodec.pipeline.sink import BatchSink, WriteOptions

        return BatchSink(schema, WriteOptions.parse(self.options), overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """The same for a stream. Raises OptionError.

        Args:
            schema: the columns of the rows.
            overwrite: as Spark asks.
        """
        from kodec.pipeline.sink import StreamSink, WriteOptions

        return StreamSink(schema, WriteOptions.parse(self.options), overwrite)
