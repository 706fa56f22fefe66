"""Protobuf as Arrow columns."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kodec.log.backends.arrow import pyarrow
from kodec.log.values.protobuf import ProtobufReader, ProtobufSchema, is_map, is_repeated
from kodec.log.values.schemas import BadSchema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ProtobufColumn"]

_Column = tuple[Any, Callable[[Any], Any]]


class ProtobufColumn:
    """Decodes one kind of message to an Arrow array of structs.

    Lists and maps (with keys as text) are Arrow's, an enum its name, bytes binary, a Timestamp
    timestamp[us, UTC], wrappers what they hold; Duration and FieldMask are text as in Protobuf's JSON,
    Struct, Value, ListValue and Any JSON. Arguments as of `ProtobufReader`; extensions are left out.

    Attributes: suffix: says which message it is, where that is not the first one.
    Raises: BadSchema for a message that contains itself.
    """

    def __init__(
        self,
        writer: ProtobufSchema,
        message: Sequence[int] | str | None,
        reader: ProtobufSchema | None = None,
    ) -> None:
        self._reader = ProtobufReader(writer, message, reader)
        descriptor = self._reader.descriptor
        first = writer.message(None).full_name
        self.suffix = "" if descriptor.full_name == first else f".{descriptor.full_name}"
        kind, self._plain = _message(descriptor, ())
        self.type: pa.DataType = kind

    def decode(self, payloads: pa.BinaryArray) -> tuple[pa.Array, dict[int, str]]:
        """As `ColumnReader.decode`."""
        rows: list[Any] = []
        reasons: dict[int, str] = {}
        for at, payload in enumerate(payloads.to_pylist()):
            try:
                rows.append(self._plain(self._reader.decode(payload)))
            except Exception as error:
                # the library raises what it likes
                reasons[at] = f"{type(error).__name__}: {error}"
                rows.append(None)
        return pyarrow().array(rows, self.type), reasons


def _message(descriptor: Any, inside: tuple[str, ...]) -> _Column:
    pa, name = pyarrow(), descriptor.full_name
    if name.startswith("google.protobuf."):
        special = _of_google(descriptor, name.removeprefix("google.protobuf."))
        if special is not None:
            return special
    if name in inside:
        raise BadSchema(f"message {name} contains itself: it has no columns")
    columns = {each.name: _field(each, (*inside, name)) for each in descriptor.fields}
    plain = {each: column[1] for each, column in columns.items()}

    def row(value: Any) -> Any:
        return {each: make(value[each]) for each, make in plain.items() if each in value}

    return pa.struct([(each, column[0]) for each, column in columns.items()]), row


def _of_google(descriptor: Any, name: str) -> _Column | None:
    pa = pyarrow()
    if name == "Timestamp":
        return pa.timestamp("us", "UTC"), _moment
    if name in ("Duration", "FieldMask"):
        return pa.string(), _same
    if name in ("Any", "Struct", "ListValue", "Value"):
        return pa.string(), _as_json
    if name.endswith("Value") and [each.name for each in descriptor.fields] == ["value"]:
        return _one(descriptor.fields[0], ())
    return None


def _field(field: Any, inside: tuple[str, ...]) -> _Column:
    pa = pyarrow()
    if is_map(field):
        kind, make = _one(field.message_type.fields_by_name["value"], inside)
        return pa.map_(pa.string(), kind), lambda value: [(key, make(each)) for key, each in value.items()]
    kind, make = _one(field, inside)
    if is_repeated(field):
        return pa.list_(kind), lambda value: [make(each) for each in value]
    return kind, make


def _one(field: Any, inside: tuple[str, ...]) -> _Column:
    pa = pyarrow()
    if field.message_type is not None:
        return _message(field.message_type, inside)
    if field.enum_type is not None:
        return pa.string(), str
    kinds: dict[int, Any] = {
        field.CPPTYPE_INT32: pa.int32(),
        field.CPPTYPE_INT64: pa.int64(),
        field.CPPTYPE_UINT32: pa.uint32(),
        field.CPPTYPE_UINT64: pa.uint64(),
        field.CPPTYPE_DOUBLE: pa.float64(),
        field.CPPTYPE_FLOAT: pa.float32(),
        field.CPPTYPE_BOOL: pa.bool_(),
        field.CPPTYPE_STRING: pa.binary() if field.type == field.TYPE_BYTES else pa.string(),
    }
    return kinds[field.cpp_type], _same


def _same(value: Any) -> Any:
    return value


def _as_json(value: Any) -> str:
    from kodec.log.values.plain import json_of

    return json_of(value)


def _moment(text: str) -> datetime.datetime:
    """Of RFC 3339 with up to nine digits of a second."""
    return datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
