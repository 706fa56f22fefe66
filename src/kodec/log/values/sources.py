"""Finds the schemas of a log directory: in its own topic, in a folder, or in a registry."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

from kodec.log.directories.directory import LogDirectory
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.paths import PartitionPath
from kodec.log.omissions import Omissions
from kodec.log.remote.opening import open_location
from kodec.log.remote.resolve import NotALog, resolve
from kodec.log.values.decoder import TypedFormat, ValueDecoder
from kodec.log.values.framing import Framing, Part
from kodec.log.values.schema_folder import SchemaFolder
from kodec.log.values.schema_topic import SchemaTopic
from kodec.log.values.schemas import BadSchema, Schema, SchemaSource, UnknownSchema
from kodec.runtime.dataclass import dataclass, field, replace

__all__ = ["SCHEMAS_TOPIC", "ValueRequest", "schema_source"]

SCHEMAS_TOPIC = "_schemas"
"""The topic in which registries store schemas by default."""


def schema_source(where: str | None, *logs: str | os.PathLike[str]) -> SchemaSource | None:
    """The source of schemas for a location.

    Args:
        where: a registry's URL; a folder of schemas; the folder of a topic-partition; a topic of the log
            directories. None: their topic `_schemas`.
        logs: log directories, or folders of topic-partitions in them.

    Returns: None if no location is given and there is no topic `_schemas`.
    Raises: UnknownSchema if a topic or a folder is missing; errors of the sources.

    Example:
        >>> from kodec.values import schema_source
        >>> source = schema_source(None, "/data/values")
        >>> source.by_subject("orders-value").kind
        'avro'
    """
    if where is not None and "://" in where:
        # HTTP takes long to import
        from kodec.log.values.schema_registry import SchemaRegistry

        return SchemaRegistry(where)
    if where is not None and open_location(where).is_dir():
        try:
            location = resolve(where)
        except NotALog:
            return SchemaFolder(where)
        if isinstance(location, PartitionPath):
            return SchemaTopic(PartitionLog(where))
    topic = SCHEMAS_TOPIC if where is None else where
    schema_logs = _logs_of(topic, logs)
    if schema_logs:
        return SchemaTopic(*schema_logs)
    if where is None:
        return None
    raise UnknownSchema(
        f"{where}: neither a URL, nor a folder of schemas, nor a topic of the log directories"
    )


@dataclass(frozen=True, slots=True)
class ValueRequest:
    """The options for decoding the values of a log directory; every process creates its own decoder.

    Attributes: logs, schemas: as of `schema_source`, the latter as `where`; framing, reader_schema: as of
    `ValueDecoder`.
    """

    logs: tuple[str | os.PathLike[str], ...]
    schemas: str | None = None
    framing: Framing = "auto"
    reader_schema: str | Schema | None = None
    # unique, so that later lookups read it again
    request_id: str = field(default_factory=lambda: str(uuid4()), repr=False)

    def decoder(self, format: TypedFormat = "auto") -> ValueDecoder:
        """The decoder; `auto` for values shown in text. Raises as `ValueDecoder`, `schema_source`."""
        return _decoder(self, format, None)

    def reading(self, text: str) -> ValueRequest:
        """The same with a reader's schema: a file, or the newest version of a subject, as it is now.

        Raises UnknownSchema if it is neither; as `decoder`.
        """
        if Path(text).is_file():
            return replace(self, reader_schema=str(Path(text).absolute()))
        try:
            source = self.decoder().source
            if source is None:
                raise UnknownSchema(f"there is no topic {SCHEMAS_TOPIC}")
            return replace(self, reader_schema=source.by_subject(text))
        except UnknownSchema as error:
            raise UnknownSchema(f"{text} is neither a file nor a subject: {error}") from None

    def table_decoder(self, format: TypedFormat, topic: str, part: Part) -> ValueDecoder:
        """The decoder for a table of one topic: without a reader's schema, with that of its newest version.

        If there is none, or if it has no columns, values are JSON. Raises as `decoder`.
        """
        return _decoder(self, format, f"{topic}-{part}" if self.reader_schema is None else None)


@lru_cache(maxsize=1_000)
def _decoder(request: ValueRequest, format: TypedFormat, subject: str | None) -> ValueDecoder:
    source = _source(request)
    plain = ValueDecoder(source, format, framing=request.framing, reader_schema=request.reader_schema)
    if source is None or subject is None:
        return plain
    try:
        newest = source.by_subject(subject)
        decoder = ValueDecoder(source, format, framing=request.framing, reader_schema=newest)
        fits = newest.kind != "json-schema" and format in ("auto", newest.kind)
        return decoder if fits and decoder.column_type else plain
    except (UnknownSchema, BadSchema):
        return plain


@lru_cache(maxsize=10)
def _source(request: ValueRequest) -> SchemaSource | None:
    return schema_source(request.schemas, *request.logs)


def _logs_of(topic: str, folders: tuple[str | os.PathLike[str], ...]) -> list[PartitionLog]:
    """The logs of a topic; if it is in several log directories, the longest."""
    roots = [
        location.root if isinstance(location := resolve(path), PartitionPath) else open_location(path)
        for path in folders
    ]
    logs: dict[int, PartitionLog] = {}
    for root in dict.fromkeys(roots):
        directory = LogDirectory(root)
        # a schema below the start offset is still that of values that were written with it
        directory.require_starts(Omissions())
        for name, number in directory.topic_partitions:
            if name != topic:
                continue
            log = directory.partition(name, number)
            if number not in logs or logs[number].end_offset < log.end_offset:
                logs[number] = log
    return [logs[number] for number in sorted(logs)]
