"""Framings of schema registries: reads the id of the schema of a key or a value, and its data."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Literal, get_args

from kodec.generated.framings.apicurio_id_header import ApicurioIdHeader
from kodec.generated.framings.apicurio_value import ApicurioValue
from kodec.generated.framings.confluent_protobuf_value import ConfluentProtobufValue
from kodec.generated.framings.confluent_value import ConfluentValue, SchemaGuid, SchemaNumber
from kodec.generated.framings.glue_value import Compression, GlueValue
from kodec.log.values.schemas import SchemaId
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError, LimitExceeded, Malformed, Truncated
from kodec.runtime.varint import read_uvarint32

__all__ = ["FRAMINGS", "Framed", "Framing", "Part", "read_framing"]

Framing = Literal["auto", "confluent", "apicurio", "glue", "none"]
FRAMINGS: tuple[Framing, ...] = get_args(Framing)
Part = Literal["key", "value"]
Headers = Sequence[tuple[str, bytes | None]]

# The most bytes in a zlib stream of Glue; Kafka's messages are mostly below 1 MiB.
_MOST_INFLATED = 64 << 20


@dataclass(frozen=True, slots=True)
class Framed:
    """The framing around the data of a key or a value.

    Attributes:
        framing: `confluent`, `apicurio` or `glue`.
        schema_id: the registry's number, or a GUID.
        payload: the data; of Protobuf with what names the message in front.
        frame: the bytes that name the schema: the value itself, or a header's.
        in_header: whether a header names the schema; the value then has no framing.
        message_type: Protobuf's type, where a header names it.
        encoding: Avro's encoding, where a header names it.
    """

    framing: Literal["confluent", "apicurio", "glue"]
    schema_id: SchemaId
    payload: bytes
    frame: bytes
    in_header: bool = False
    message_type: str = ""
    encoding: str = ""

    def messages(self) -> list[tuple[list[int], bytes]]:
        """The path of the message in its Protobuf schema, and its data, in all ways of reading them.

        There are at most two, Confluent's own form first. Raises FormatError.
        """
        readings: list[tuple[list[int], bytes]] = []
        reason: FormatError | None = None
        for read in (_indexes, _unsigned_indexes):
            try:
                indexes, payload = read(self.frame)
            except FormatError as error:
                reason = reason or error
                continue
            reading = indexes or [0], self.payload if self.in_header else payload
            if reading not in readings:
                readings.append(reading)
        if not readings:
            assert reason is not None
            raise reason
        return readings


def read_framing(
    data: bytes, headers: Headers = (), part: Part = "value", framing: Framing = "auto"
) -> Framed:
    """The framing of a key or a value: that of a header that names a schema, else that of its bytes.

    The bytes do not name the registry, so `auto` judges by the id: all ids are positive, so 4 bytes of zeros
    after a magic of 0 begin an id of 8 bytes. Raises FormatError if there is no framing.
    """
    if framing in ("auto", "confluent", "apicurio"):
        framed = _in_headers(data, dict(headers), part, framing)
        if framed is not None:
            return framed
    if framing == "glue":
        return _glue(data)
    if framing == "none":
        raise Malformed("", "no framing is read", at=0)
    try:
        read = ConfluentValue.from_bytes(data)
    except FormatError as error:
        if framing != "auto":
            raise
        try:
            return _glue(data)
        except FormatError as other:
            raise (other if other.path == "payload" else error) from None
    if isinstance(read.schema, SchemaNumber):
        if read.schema.number > 0:
            kind: Literal["confluent", "apicurio"] = "apicurio" if framing == "apicurio" else "confluent"
            return Framed(kind, read.schema.number, read.payload, data)
        if framing != "confluent":
            longer = ApicurioValue.from_bytes(data)
            if longer.schema_id > 0:
                return Framed("apicurio", longer.schema_id, longer.payload, data)
        raise Malformed(
            "schema.number", "an id is positive", at=1, need="at least 1", have=read.schema.number
        )
    assert isinstance(read.schema, SchemaGuid)
    return Framed("confluent", read.schema.guid, read.payload, data)


def _indexes(frame: bytes) -> tuple[list[int], bytes]:
    """The path and the data in Confluent's form: zigzag varints. Raises FormatError."""
    read = ConfluentProtobufValue.from_bytes(frame)
    return read.message_indexes, read.payload


def _unsigned_indexes(frame: bytes) -> tuple[list[int], bytes]:
    """The path and the data where the path is unsigned varints, as some serializers have written it.

    Raises FormatError.
    """
    # what a `confluent_value` calls payload begins with the path
    data = ConfluentValue.from_bytes(frame).payload
    count, position = read_uvarint32(data, 0, len(data), "num_message_indexes")
    if count > len(data) - position:
        raise Truncated("message_indexes", at=position, need=count, have=len(data) - position)
    indexes = []
    for _ in range(count):
        index, position = read_uvarint32(data, position, len(data), "message_indexes")
        indexes.append(index)
    return indexes, data[position:]


def _in_headers(data: bytes, headers: dict[str, bytes | None], part: Part, framing: Framing) -> Framed | None:
    """The framing of a value whose schema a header names. Raises FormatError."""
    if framing != "apicurio" and (frame := headers.get(f"__{part}_schema_id")) is not None:
        schema = ConfluentValue.from_bytes(frame).schema
        number = schema.number if isinstance(schema, SchemaNumber) else schema.guid if schema else 0
        return Framed("confluent", number, data, frame, in_header=True)
    if framing != "confluent":
        texts = {
            name: (headers.get(f"apicurio.{part}.{name}") or b"").decode("utf-8", "replace")
            for name in ("msgType", "encoding")
        }
        for name in ("contentId", "globalId"):
            if (frame := headers.get(f"apicurio.{part}.{name}")) is not None:
                number = ApicurioIdHeader.from_bytes(frame).schema_id
                return Framed("apicurio", number, data, frame, True, texts["msgType"], texts["encoding"])
    return None


def _glue(data: bytes) -> Framed:
    read = GlueValue.from_bytes(data)
    payload = read.payload
    if read.compression == Compression.ZLIB:
        stream = zlib.decompressobj()
        try:
            payload = stream.decompress(payload, _MOST_INFLATED)
        except zlib.error as error:
            raise Malformed("payload", str(error), at=18) from None
        if stream.unconsumed_tail:
            raise LimitExceeded("payload", at=18, need=_MOST_INFLATED + 1, have=_MOST_INFLATED, limit="zlib")
        if not stream.eof:
            raise Malformed("payload", "the zlib stream has no end", at=18)
    return Framed("glue", read.schema_version_id, payload, data)
