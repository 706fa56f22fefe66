"""Bytes as text: detects the format of bytes, and converts them to a requested one."""

from __future__ import annotations

import base64
import json
from typing import Any, Literal, get_args

from kodec.log.batches.records import ControlRecord, Record
from kodec.log.messages.as_json import Parts
from kodec.log.messages.decoding import Decoded, decode, has_messages
from kodec.log.messages.streams import FRAMES, FrameName, Headers, read_frame
from kodec.log.values.decoder import TYPED, DecodedValue, ValueDecoder
from kodec.log.values.framing import Part
from kodec.log.values.plain import exact_json
from kodec.runtime.dataclass import dataclass, replace
from kodec.runtime.errors import ArgumentError, FormatError

__all__ = [
    "FORMATS",
    "ReadableRecord",
    "ReadableValue",
    "ValueFormat",
    "bytes_of",
    "decoded_part",
    "readable",
    "readable_record",
]

ValueFormat = Literal["auto", "text", "json", "hex", "base64", "avro", "protobuf", "json-schema"] | FrameName
FORMATS: tuple[ValueFormat, ...] = tuple(name for kind in get_args(ValueFormat) for name in get_args(kind))

# Any other text is a number, a word or not JSON, and looks the same as text.
_JSON_BEGINS = (b"{", b"[")
_BLANK = "\t\n\r"


@dataclass(frozen=True, slots=True)
class ReadableValue:
    """A key, a value or a header's value.

    Attributes:
        format: `text`, `json`, `hex`, `base64`; `kafka`: JSON of a message of Kafka's own topics; `avro`,
            `protobuf`, `json-schema`: JSON of a value that was decoded; a name of `FRAMES`: JSON of its
            parts.
        text: the text in that format; JSON is on one line, with unchanged numbers.
        reason: why it is not in the requested format; empty if it is.
        schema: the id of its schema, or the subject; empty if it has none.
    """

    format: str
    text: str
    reason: str = ""
    schema: str = ""

    @property
    def json(self) -> str:
        """As a value in JSON: JSON as it is, others a string."""
        return self.text if self.is_json else json.dumps(self.text)

    @property
    def is_json(self) -> bool:
        """Whether the text is JSON."""
        return self.format in ("json", "kafka", *TYPED, *FRAMES)


@dataclass(frozen=True, slots=True)
class ReadableRecord:
    """A record's key, value and headers; None is null."""

    key: ReadableValue | None
    value: ReadableValue | None
    headers: tuple[tuple[str, ReadableValue | None], ...]


def readable(
    data: bytes | None, value_format: ValueFormat = "auto", headers: Headers | None = None
) -> ReadableValue | None:
    """Bytes in a format, or base64 with the reason if they are not in it. None for None.

    `auto` is JSON for an object or a list, text for UTF-8 without control characters, else base64. Of a
    frame of Kafka Streams, inner bytes are as in `auto`; `headers`: of the record, None if they are not
    known.
    """
    if data is None:
        return None
    if value_format in FRAMES:
        try:
            return ReadableValue(value_format, _framed(read_frame(value_format, data, headers)))
        except FormatError as error:
            return _in_base64(data, f"not {value_format}: {error}")
    if value_format == "hex":
        return ReadableValue("hex", data.hex())
    if value_format == "base64":
        return _in_base64(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = "" if value_format == "auto" else f"not UTF-8 at byte {error.start}"
        return _in_base64(data, reason)
    if value_format == "text":
        return ReadableValue("text", text)
    if value_format == "json" or data.lstrip()[:1] in _JSON_BEGINS:
        parsed = _as_json(text)
        if isinstance(parsed, ReadableValue):
            return parsed
        if value_format == "json":
            return _in_base64(data, parsed)
    shown = all(char.isprintable() or char in _BLANK for char in text)
    return ReadableValue("text", text) if shown else _in_base64(data)


def readable_record(
    topic: str,
    record: Record,
    key: ValueFormat = "auto",
    value: ValueFormat = "auto",
    decoder: ValueDecoder | None = None,
) -> ReadableRecord:
    """A record's parts in these formats; with `auto` messages of Kafka's own topics by their names.

    Values with a schema known to `decoder` are decoded, also with `auto`. Values of headers are as for
    `auto`. Raises as `ValueDecoder.decode`.
    """
    headers = tuple((name, readable(data)) for name, data in record.headers)
    known: tuple[Decoded | None, Decoded | None] = (None, None)
    if "auto" in (key, value) and (has_messages(topic) or isinstance(record, ControlRecord)):
        known = decode(topic, record)
    requests: tuple[tuple[Part, ValueFormat, Decoded | None], ...]
    requests = ("key", key, known[0]), ("value", value, known[1])
    parts = [
        _of_kafka(decoded)
        if form == "auto" and decoded is not None
        else _part(topic, record, part, form, decoder)
        for part, form, decoded in requests
    ]
    return ReadableRecord(parts[0], parts[1], headers)


def decoded_part(
    topic: str, record: Record, part: Part, form: ValueFormat, decoder: ValueDecoder | None
) -> DecodedValue | None:
    """A key or a value decoded by its schema, or why it is not.

    None for null, for another requested format, and with `auto` if nothing names a schema.
    Raises as `ValueDecoder.decode`.
    """
    data = record.key if part == "key" else record.value
    if data is None or (form != "auto" and form not in TYPED) or (form == "auto" and decoder is None):
        return None
    decoder = decoder or ValueDecoder()
    decoded = decoder.decode(data, record.headers, topic=topic, part=part, format=form)
    if form != "auto" or decoded.schema is not None:
        return decoded
    try:
        return None if decoder.framed(data, record.headers, part) is None else decoded
    except FormatError:
        return None


def bytes_of(text: str, form: ValueFormat) -> bytes:
    """The bytes of a text in a format; for formats that need a schema or are frames, of the text.

    Raises ArgumentError.
    """
    try:
        if form == "hex":
            return bytes.fromhex(text)
        if form == "base64":
            return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise ArgumentError(f"{text!r} is not {form}: {error}") from None
    return text.encode("utf-8", "surrogateescape")


def _part(
    topic: str, record: Record, part: Part, form: ValueFormat, decoder: ValueDecoder | None
) -> ReadableValue | None:
    data = record.key if part == "key" else record.value
    decoded = decoded_part(topic, record, part, form, decoder)
    if data is None or decoded is None:
        return readable(data, form, record.headers)
    if (
        form == "auto"
        and decoded.schema is None
        and (shown := readable(data, form, record.headers)) is not None
    ):
        return replace(shown, reason=decoded.reason)
    schema = "" if decoded.schema is None else str(decoded.schema.id or decoded.schema.subject)
    if decoded.reason:
        return replace(_in_base64(data, decoded.reason), schema=schema)
    return ReadableValue(decoded.format, decoded.json, "", schema)


def _in_base64(data: bytes, reason: str = "") -> ReadableValue:
    return ReadableValue("base64", base64.b64encode(data).decode("ascii"), reason)


def _as_json(text: str) -> ReadableValue | str:
    """JSON on one line, or why it is not JSON."""
    try:
        exact_json(text)
    except ValueError as error:
        return f"not JSON: {error}"
    # Newlines occur only between values: strings of JSON contain none.
    return ReadableValue("json", text.strip().replace("\r", " ").replace("\n", " "))


def _of_kafka(decoded: Decoded) -> ReadableValue | None:
    if decoded.plain() is None:
        readable_value = readable(decoded.data)
        assert readable_value is not None
        return ReadableValue(readable_value.format, readable_value.text, decoded.reason)
    if decoded.name in FRAMES and isinstance(decoded.message, Parts):
        return ReadableValue(decoded.name, _framed(decoded.message.values))
    return ReadableValue("kafka", json.dumps(decoded.document()))


def _framed(part: Any) -> str:
    """The parts of a frame as JSON, with inner bytes as JSON, text or base64."""
    match part:
        case bytes():
            readable_value = readable(part)
            assert readable_value is not None
            return readable_value.json
        case dict():
            return (
                "{" + ", ".join(f"{json.dumps(name)}: {_framed(value)}" for name, value in part.items()) + "}"
            )
        case list():
            return "[" + ", ".join(map(_framed, part)) + "]"
    return json.dumps(part)
