"""Decodes keys and values by the schemas that they were written with."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from kodec.log.backends.arrow import pyarrow
from kodec.log.values.framing import FRAMINGS, Framed, Framing, Part, read_framing
from kodec.log.values.plain import exact_json, json_line, json_of
from kodec.log.values.schema_folder import SchemaFolder
from kodec.log.values.schemas import (
    BadSchema,
    Schema,
    SchemaKind,
    SchemaSource,
    UnknownSchema,
    references_of,
)
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import ArgumentError, FormatError, KodecError, MissingDependency
from kodec.runtime.near import meant

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "TYPED",
    "ColumnReader",
    "DecodedColumn",
    "DecodedValue",
    "TypedFormat",
    "ValueDecoder",
]

TypedFormat = Literal["auto", "avro", "protobuf", "json-schema"]
Message = tuple[int, ...] | str | None
"""Which message of a Protobuf schema: its path, or its name; None: the first one."""
TYPED: tuple[SchemaKind, ...] = get_args(SchemaKind)


@dataclass(frozen=True, slots=True)
class DecodedValue:
    """A key or a value, decoded, or the reason why it is not.

    Attributes:
        value: a Python value; the bytes themselves if they are not decoded.
        format: `avro`, `protobuf` or `json-schema`; empty if it is not decoded.
        schema: the schema it was written with; None if unknown, as JSON needs none.
        reason: why it is not decoded; empty if it is.
        text: JSON as it was written, on one line; empty for other formats.

    Example: see `ValueDecoder`.
    """

    value: Any
    format: str = ""
    schema: Schema | None = None
    reason: str = ""
    text: str = ""

    @property
    def json(self) -> str:
        """The value as JSON on one line; docs/values.md shows the form of each type."""
        return self.text or json_of(self.value)


@dataclass(frozen=True, slots=True)
class DecodedColumn:
    """Keys or values as Arrow columns, with a row for each record.

    Attributes:
        values: with a reader's schema of its type; else a struct with a column for each schema, named by its
            id (or subject), and by the message where that is not the first one of a Protobuf schema. JSON is
            text. Null for null, and where it is not decoded.
        schema: string, the id (or subject) of the schema; null if that is unknown.
        reason: string, why a value is not decoded; null where it is, and for null.
    """

    values: pa.Array
    schema: pa.Array
    reason: pa.Array


class ColumnReader(Protocol):
    """Decodes data of one schema to an Arrow array."""

    type: pa.DataType

    def decode(self, payloads: pa.BinaryArray) -> tuple[pa.Array, dict[int, str]]:
        """A row for each; and which of them are not decoded, and so null, with the reason."""
        ...


class Reader(Protocol):
    """Decodes data of one schema."""

    def decode(self, payload: bytes) -> Any:
        """The value. Raises any Exception for data that cannot be decoded."""
        ...


class ValueDecoder:
    """Decodes framed keys and values, of any number of schemas.

    Args:
        source: where schemas come from. None is enough for `json-schema` only.
        format: the format of the values; `auto`: that of their schemas.
        framing: their framing, see `read_framing`; `none`: they have none, and are written with the newest
            version of the subject TOPIC-key or TOPIC-value.
        reader_schema: a file, `.avsc` or `.proto`; its references are in its folder. Or a schema of the
            source, such as `source.by_subject("orders-value")`. Values are resolved to it: Avro's by the
            rules of its specification, Protobuf's to the message with the same name.

    Threads may share one. Raises ArgumentError, BadSchema; SchemaSourceFailed.

    Example:
        >>> import kodec
        >>> from kodec.values import ValueDecoder, schema_source
        >>> source = schema_source(None, "/data/values")
        >>> record = next(kodec.read_records("/data/values/orders-0"))
        >>> order = ValueDecoder(source).decode(record.value, record.headers, topic="orders")
        >>> order.format, order.value["customer"], order.reason
        ('avro', 'customer-0', '')
    """

    def __init__(
        self,
        source: SchemaSource | None = None,
        format: TypedFormat = "auto",
        *,
        framing: Framing = "auto",
        reader_schema: str | os.PathLike[str] | Schema | None = None,
    ) -> None:
        for name, value, known in (
            ("format", format, get_args(TypedFormat)),
            ("framing", framing, FRAMINGS),
        ):
            if value not in known:
                near = meant(value, known)
                raise ArgumentError(f"{name}={value!r}: expected one of {', '.join(known)}{near}")
        self.source, self.format, self.framing = source, format, framing
        self._target: tuple[SchemaSource, Schema] | None = None
        if isinstance(reader_schema, Schema):
            if source is None:
                raise ArgumentError("a schema of a source needs the source")
            self._target = source, reader_schema
        elif reader_schema is not None:
            self._target = self._of_file(Path(reader_schema))
        self._readers: dict[tuple[Schema, Message], Reader | Exception] = {}
        self._columns: dict[tuple[Schema, Message], ColumnReader | Exception] = {}
        self._lock = threading.Lock()

    def _of_file(self, path: Path) -> tuple[SchemaSource, Schema]:
        """A reader's schema, and the source of its references: its folder, listed only if needed."""
        if not path.is_file():
            raise ArgumentError(f"{path}: there is no such file")
        alone = SchemaFolder(path.parent, only=path)
        schema = alone.of_file(path)
        try:
            if schema.kind != "json-schema":
                self._parsed(alone, schema)
            return alone, schema
        except BadSchema:
            folder = SchemaFolder(path.parent)
            return folder, folder.of_file(path)

    @property
    def reader_schema(self) -> Schema | None:
        """The schema that values are resolved to."""
        return None if self._target is None else self._target[1]

    def decode(
        self,
        data: bytes,
        headers: Sequence[tuple[str, bytes | None]] = (),
        *,
        topic: str = "",
        part: Part = "value",
        format: TypedFormat | None = None,
    ) -> DecodedValue:
        """Decode a key or a value; one that cannot be decoded stays bytes, with the reason.

        Args:
            headers: of its record: one of them may name the schema.
            topic: names the subject, where no id does.
            format: instead of the decoder's own.
            data: the bytes of the key or value.
            part: `key` or `value`.

        Raises SchemaSourceFailed, where schemas cannot be asked for; MissingDependency.
        """
        value_format = format or self.format
        schema: Schema | None = None
        try:
            framed = self.framed(data, headers, part)
            if value_format == "json-schema" and self.source is None:
                # JSON needs no schema to be read
                return _json(data if framed is None else framed.payload, value_format, None)
            schema = self.schema_of(framed, topic, part)
            if value_format not in ("auto", schema.kind):
                raise BadSchema(f"{schema} is {schema.kind}, not {value_format}")
            if schema.kind == "json-schema":
                return _json(data if framed is None else framed.payload, schema.kind, schema)
            indexes, payload = self.payload(data, framed, schema)
            return DecodedValue(self.reader(schema, indexes).decode(payload), schema.kind, schema)
        except (UnknownSchema, BadSchema) as error:
            return DecodedValue(data, schema=schema, reason=str(error))
        except FormatError as error:
            return DecodedValue(data, schema=schema, reason=f"no framing of a registry: {error}")
        except (MissingDependency, OSError):
            raise
        except Exception as error:
            # libraries raise any error for data that does not fit its schema, which is not our error
            cause = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return DecodedValue(
                data, schema=schema, reason=f"not decoded by {schema or 'JSON'}: {cause:.300}"
            )

    def framed(self, data: bytes, headers: Sequence[tuple[str, bytes | None]], part: Part) -> Framed | None:
        """The framing; None if values have none. Raises FormatError.

        Args:
            data: the bytes of the key or value.
            headers: of its record.
            part: `key` or `value`.
        """
        return None if self.framing == "none" else read_framing(data, headers, part, self.framing)

    def schema_of(self, framed: Framed | None, topic: str, part: Part) -> Schema:
        """The schema that a value was written with. Raises as `SchemaSource`.

        Args:
            framed: what `framed` returned.
            topic: names the subject, where no id does.
            part: `key` or `value`.
        """
        if self.source is None:
            raise UnknownSchema("no source of schemas is given")
        subject = f"{topic}-{part}" if topic else ""
        if framed is None:
            return self.source.by_subject(subject)
        return self.source.by_id(framed.schema_id, subject)

    def payload(self, data: bytes, framed: Framed | None, schema: Schema) -> tuple[Message, bytes]:
        """The message in the value's schema, and its data: of several ways to read it the first that decodes.

        Args:
            data: the bytes of the key or value.
            framed: what `framed` returned.
            schema: of the value.

        Raises FormatError, BadSchema, ValueError.
        """
        candidates = _payloads(data, framed, schema.kind)
        for message, payload in candidates if len(candidates) > 1 else ():
            try:
                self.reader(schema, message).decode(payload)
            except (MissingDependency, OSError):
                raise
            except Exception:
                # libraries raise any error: it is not this message, or the schema lacks it
                continue
            return message, payload
        return candidates[0]

    def reader(self, schema: Schema, message: Message = None) -> Reader:
        """The decoder for data of a schema, made once. Raises as `SchemaSource`.

        Args:
            message: which message of a Protobuf file; None for other schemas.
        """
        reader: Reader = self._cached(self._readers, self._reader, schema, message)
        return reader

    def column_reader(self, schema: Schema, message: Message = None) -> ColumnReader:
        """The decoder of data of a schema to Arrow arrays, made once. Raises as `SchemaSource`.

        Args:
            message: which message of a Protobuf file; None for other schemas.
        """
        reader: ColumnReader = self._cached(self._columns, self._column_reader, schema, message)
        return reader

    @property
    def column_type(self) -> pa.DataType:
        """The type of columns: that of the reader's schema (Protobuf: its first message), else JSON as text.

        Raises BadSchema.
        """
        if self._target is None:
            return pyarrow().string()
        schema = self._target[1]
        if schema.kind == "json-schema":
            raise BadSchema(f"{schema} is a JSON Schema, whose values are text and no columns")
        with _schema_errors(schema):
            with self._lock:
                parsed = self._parsed(*self._target)
            if schema.kind == "protobuf":
                from kodec.log.values.protobuf_columns import ProtobufColumn

                return ProtobufColumn(parsed, None).type
            from kodec.log.values.avro_columns import AvroColumn

            return AvroColumn(parsed).type

    def decode_column(
        self,
        values: pa.Array | pa.ChunkedArray,
        headers: pa.Array | pa.ChunkedArray | None = None,
        *,
        topic: str = "",
        part: Part = "value",
    ) -> DecodedColumn:
        """Decode keys or values of many records; one that cannot be decoded is null, with the reason.

        Args:
            values: binary, or text; null is null.
            headers: of the records, as `read_table` has them.
            topic: names the subject, where no id does.
            part: `key` or `value`.

        Raises SchemaSourceFailed, where schemas cannot be asked for; MissingDependency.
        """
        from kodec.log.values.columns import decode_column

        return decode_column(self, values, headers, topic, part)

    def _cached(self, known: dict[Any, Any], make: Any, schema: Schema, message: Message) -> Any:
        key = schema, message
        outcome = known.get(key)
        if outcome is None:
            with self._lock:
                try:
                    with _schema_errors(schema):
                        outcome = make(schema, message)
                except BadSchema as error:
                    outcome = error
                known[key] = outcome
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _parsed(self, source: SchemaSource, schema: Schema) -> Any:
        """A schema in the form of its library. Each kind imports its own libraries."""
        references = references_of(source, schema)
        if schema.kind == "protobuf":
            from kodec.log.values.protobuf import compile_schema

            return compile_schema(schema, references)
        from kodec.log.values.avro import parse

        return parse(schema, references)

    def _schemas(self, schema: Schema) -> tuple[Any, Any]:
        """The schema of the writer and that of the reader, None if there is none."""
        assert self.source is not None
        if self._target is None:
            return self._parsed(self.source, schema), None
        if self._target[1].kind != schema.kind:
            raise BadSchema(f"{schema} is {schema.kind}, which does not resolve to {self._target[1].kind}")
        return self._parsed(self.source, schema), self._parsed(*self._target)

    def _reader(self, schema: Schema, message: Message) -> Reader:
        writer, reader = self._schemas(schema)
        if schema.kind == "protobuf":
            from kodec.log.values.protobuf import ProtobufReader

            return ProtobufReader(writer, message, reader)
        from kodec.log.values.avro_reader import AvroReader

        return AvroReader(writer, reader)

    def _column_reader(self, schema: Schema, message: Message) -> ColumnReader:
        writer, reader = self._schemas(schema)
        if schema.kind == "protobuf":
            from kodec.log.values.protobuf_columns import ProtobufColumn

            return ProtobufColumn(writer, message, reader)
        from kodec.log.values.avro_columns import AvroColumn

        # the same schema resolves to itself
        return AvroColumn(writer, None if self._target == (self.source, schema) else reader)


@contextmanager
def _schema_errors(schema: Schema) -> Iterator[None]:
    """A schema may break any rule: what a library, or a look at it, raises is that it is none."""
    try:
        yield
    except (KodecError, OSError):
        raise
    except Exception as error:
        raise BadSchema(f"{schema}: {type(error).__name__}: {error}"[:300]) from None


def _payloads(data: bytes, framed: Framed | None, kind: SchemaKind) -> list[tuple[Message, bytes]]:
    """The message in the value's schema, and its data. Raises FormatError, BadSchema, ValueError."""
    if framed is None:
        return [(None, data)]
    if kind == "avro":
        if framed.encoding not in ("", "BINARY"):
            raise BadSchema(f"Avro in the encoding {framed.encoding} is not supported")
        return [(None, framed.payload)]
    if framed.framing == "confluent":
        return [(tuple(indexes), payload) for indexes, payload in framed.messages()]
    if framed.framing == "glue":
        raise BadSchema("Protobuf in Glue's framing is not supported")
    if framed.message_type or framed.in_header:
        return [(framed.message_type or None, framed.payload)]
    from kodec.log.values.protobuf import without_ref

    return [without_ref(framed.payload)]


def _json(payload: bytes, format: str, schema: Schema | None) -> DecodedValue:
    text = json_line(payload)
    return DecodedValue(exact_json(text), format, schema, text=text)
