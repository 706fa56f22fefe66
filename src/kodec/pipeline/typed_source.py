"""Decoded keys and values as columns of the `kafka-log` source: planned once, decoded by every task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql.types import DataType

from kodec.log.values.framing import Part
from kodec.log.values.schemas import BadSchema, UnknownSchema
from kodec.log.values.sources import SCHEMAS_TOPIC, ValueRequest
from kodec.pipeline.options import READER_SCHEMAS, OptionError, Options, TypedOptions
from kodec.pipeline.plan import found_logs, relisted
from kodec.pipeline.spark_schema import arrow_type, spark_type
from kodec.pipeline.typed import TypedColumns
from kodec.runtime.errors import ArgumentError

__all__ = ["TypedSource"]


@dataclass(frozen=True, slots=True)
class TypedSource:
    """How the tasks of a query decode keys and values: readers' schemas are those at its start.

    Attributes: asked, for `key` and `value`; types: the Arrow types of the columns, as Spark has them.
    """

    options: TypedOptions
    requests: Mapping[Part, ValueRequest]
    types: Mapping[str, pa.DataType]

    @classmethod
    def of(cls, options: Options) -> TypedSource | None:
        """None if nothing is to be decoded.

        Raises: OptionError for schemas that are missing or invalid; SchemaSourceFailed;
        MissingDependency; as `found_logs`.
        """
        typed = options.typed
        if typed is None or options.mode == "quarantine":
            return None
        plain = ValueRequest(_log_folders(options), typed.schemas, typed.framing)
        try:
            source = plain.decoder().source
        except (ArgumentError, BadSchema, UnknownSchema) as error:
            raise OptionError("schemas", str(error)) from None
        if source is None and set(typed.formats.values()) != {"json-schema"}:
            raise OptionError(
                "schemas",
                f"the log directory has no topic {SCHEMAS_TOPIC}; name a registry, a folder or a topic",
            )
        requests: dict[Part, ValueRequest] = {}
        fields: list[pa.Field] = []
        for part in typed.formats:
            try:
                requests[part] = plain.reading(typed.readers[part]) if part in typed.readers else plain
                fields += _columns(typed, {part: requests[part]}).fields
            except (BadSchema, UnknownSchema) as error:
                raise OptionError(READER_SCHEMAS[part], str(error)) from None
        return cls(typed, requests, {field.name: arrow_type(field.type) for field in fields})

    @property
    def spark_types(self) -> dict[str, DataType]:
        """The types of the columns, by their names."""
        return {name: spark_type(kind) for name, kind in self.types.items()}

    @property
    def columns(self) -> TypedColumns:
        """Their decoder. Raises as `ValueRequest.decoder`."""
        return replace(_columns(self.options, self.requests), types=self.types)


def _columns(options: TypedOptions, requests: Mapping[Part, ValueRequest]) -> TypedColumns:
    decoders = {part: request.decoder(options.formats[part]) for part, request in requests.items()}
    return TypedColumns(decoders, options.form or "struct")


def _log_folders(options: Options) -> tuple[Path, ...]:
    """The log directories that may contain the topic of schemas."""
    folders = [
        (log.path if log.alone is None else log.path.parent).parent
        for logs in relisted(found_logs)(options).values()
        for log in logs
        if log.tiered is None
    ]
    return tuple(dict.fromkeys(folders)) or tuple(path for path in options.paths if path.is_dir())
