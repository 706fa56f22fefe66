"""Bytes as text: detects the format of bytes, and converts them to a requested one."""

from __future__ import annotations

import base64
import json
from typing import Literal, NoReturn, get_args

from kodec.log.batches.records import ControlRecord, Record
from kodec.log.messages.decoding import TOPICS, Decoded, decode
from kodec.log.values.decoder import TYPED, DecodedValue, ValueDecoder
from kodec.log.values.framing import Part
from kodec.runtime.dataclass import dataclass, replace
from kodec.runtime.errors import ArgumentError

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

ValueFormat = Literal["auto", "text", "json", "hex", "base64", "avro", "protobuf", "json-schema"]
FORMATS: tuple[ValueFormat, ...] = get_args(ValueFormat)

# Any other text is a number, a word or not JSON, and looks the same as text.
_JSON_BEGINS = (b"{", b"[")
_BLANK = "\t\n\r"


@dataclass(frozen=True, slots=True)
class ReadableValue:
    """A key, a value or a header's value.

    Attributes:
        format: `text`, `json`, `hex`, `base64`; `kafka`: JSON of a message of Kafka's own topics; `avro`,
            `protobuf`, `json-schema`: JSON of a value that was decoded.
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
        return self.format in ("json", "kafka", *TYPED)


@dataclass(frozen=True, slots=True)
class ReadableRecord:
    """A record's key, value and headers; None is null."""

    key: ReadableValue | None
    value: ReadableValue | None
    headers: tuple[tuple[str, ReadableValue | None], ...]


def readable(data: bytes | None, wanted: ValueFormat = "auto") -> ReadableValue | None:
    """Bytes in a format, or base64 with the reason if they are not in it. None for None.

    `auto` is JSON for an object or a list, text for UTF-8 without control characters, else base64.
    """
    if data is None:
        return None
    if wanted == "hex":
        return ReadableValue("hex", data.hex())
    if wanted == "base64":
        return _in_base64(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = "" if wanted == "auto" else f"not UTF-8 at byte {error.start}"
        return _in_base64(data, reason)
    if wanted == "text":
        return ReadableValue("text", text)
    if wanted == "json" or data.lstrip()[:1] in _JSON_BEGINS:
        found = _as_json(text)
        if isinstance(found, ReadableValue):
            return found
        if wanted == "json":
            return _in_base64(data, found)
    shown = all(each.isprintable() or each in _BLANK for each in text)
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
    if "auto" in (key, value) and (topic in TOPICS or isinstance(record, ControlRecord)):
        known = decode(topic, record)
    asked: tuple[tuple[Part, ValueFormat, Decoded | None], ...]
    asked = ("key", key, known[0]), ("value", value, known[1])
    parts = [
        _of_kafka(decoded)
        if form == "auto" and decoded is not None
        else _part(topic, record, part, form, decoder)
        for part, form, decoded in asked
    ]
    return ReadableRecord(parts[0], parts[1], headers)


def decoded_part(
    topic: str, record: Record, part: Part, form: ValueFormat, decoder: ValueDecoder | None
) -> DecodedValue | None:
    """A key or a value decoded by its schema, or why it is not.

    None for null, for another requested format, and with `auto` if the schema is unknown.
    Raises as `ValueDecoder.decode`.
    """
    data = record.key if part == "key" else record.value
    if data is None or (form != "auto" and form not in TYPED) or (form == "auto" and decoder is None):
        return None
    found = (decoder or ValueDecoder()).decode(data, record.headers, topic=topic, part=part, format=form)
    return None if form == "auto" and found.schema is None else found


def bytes_of(text: str, form: ValueFormat) -> bytes:
    """The bytes of a text in a format; for formats that need a schema, of the text. Raises ArgumentError."""
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
    found = decoded_part(topic, record, part, form, decoder)
    if data is None or found is None:
        return readable(data, form)
    schema = "" if found.schema is None else str(found.schema.id or found.schema.subject)
    if found.reason:
        return replace(_in_base64(data, found.reason), schema=schema)
    return ReadableValue(found.format, found.json, "", schema)


def _in_base64(data: bytes, reason: str = "") -> ReadableValue:
    return ReadableValue("base64", base64.b64encode(data).decode("ascii"), reason)


def _as_json(text: str) -> ReadableValue | str:
    """JSON on one line, or why it is not JSON."""
    try:
        json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    # Newlines occur only between values: strings of JSON contain none.
    return ReadableValue("json", text.strip().replace("\r", " ").replace("\n", " "))


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _of_kafka(decoded: Decoded) -> ReadableValue | None:
    if decoded.plain() is None:
        found = readable(decoded.data)
        assert found is not None
        return ReadableValue(found.format, found.text, decoded.reason)
    return ReadableValue("kafka", json.dumps(decoded.document()))
