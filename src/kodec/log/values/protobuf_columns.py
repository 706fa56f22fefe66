"""Protobuf as Arrow columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from kodec.log.backends.arrow import pyarrow
from kodec.log.values.plain import json_of
from kodec.log.values.protobuf import ProtobufReader, ProtobufSchema, is_map, is_repeated, map_key
from kodec.log.values.schemas import BadSchema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ProtobufColumn"]

# The most bytes of messages in columns: in lists of wide messages two bytes may become very many.
MOST_BYTES = 1 << 30

# Few enough messages for the caches, and to start no garbage collection.
_AT_ONCE = 512

_Build = Callable[[list[Any]], Any]
_Column = tuple[Any, _Build]
"""An Arrow type, and the function that makes an array of the library's values, with None for null."""


class ProtobufColumn:
    """Decodes one kind of message to an Arrow array of structs.

    Lists and maps (with keys as text) are Arrow's, an enum its name, bytes binary, a Timestamp
    timestamp[us, UTC] (one with nanoseconds does not fit), wrappers what they hold; Duration and FieldMask
    are text as in Protobuf's JSON, Struct, Value, ListValue and Any JSON. Arguments as of `ProtobufReader`;
    extensions are left out.

    Attributes: suffix: names the message if it is not the first one.
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
        kind, self._build = _message(self._reader, descriptor, ())
        self.type: pa.DataType = kind

    def decode(self, payloads: pa.BinaryArray) -> tuple[pa.Array, dict[int, str]]:
        """As `ColumnReader.decode`."""
        reasons: dict[int, str] = {}
        parts: list[pa.Array] = []
        for first in range(0, len(payloads), _AT_ONCE):
            messages: list[Any] = []
            for row, payload in enumerate(payloads.slice(first, _AT_ONCE).to_pylist(), first):
                try:
                    messages.append(self._reader.parse(payload))
                except Exception as error:
                    # the library may raise any error
                    reasons[row] = _error_text(error)
                    messages.append(None)
            parts += self._built(messages, first, reasons)
        return pyarrow().concat_arrays(parts) if parts else pyarrow().nulls(0, self.type), reasons

    def _built(self, messages: list[Any], first: int, reasons: dict[int, str]) -> list[pa.Array]:
        """Decode all at once; if that fails, each half by itself, down to the single invalid message."""
        try:
            return [self._build(messages)]
        except Exception as error:
            # errors of Arrow, of the library, or of an impossible value
            if len(messages) == 1:
                reasons[first] = _error_text(error)
                return [pyarrow().nulls(1, self.type)]
        half = len(messages) // 2
        return [
            *self._built(messages[:half], first, reasons),
            *self._built(messages[half:], first + half, reasons),
        ]


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _message(reader: ProtobufReader, descriptor: Any, inside: tuple[str, ...]) -> _Column:
    pa, name = pyarrow(), descriptor.full_name
    if name.startswith("google.protobuf."):
        special = _of_google(reader, descriptor, name.removeprefix("google.protobuf."))
        if special is not None:
            return special
    if name in inside:
        raise BadSchema(f"message {name} contains itself: it has no columns")
    fields = list(descriptor.fields)
    columns = [_field(reader, field, (*inside, name)) for field in fields]
    kind = pa.struct([(field.name, column[0]) for field, column in zip(fields, columns, strict=True)])
    parts = [(_values_of(field), column[1]) for field, column in zip(fields, columns, strict=True)]
    if not parts:
        return kind, lambda messages: pa.array(
            [None if message is None else {} for message in messages], kind
        )

    def build(messages: list[Any]) -> Any:
        # not `in`, which compares messages
        absent = [message is None for message in messages]
        mask = pa.array(absent) if True in absent else None
        arrays = [make(values(messages)) for values, make in parts]
        return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=mask)

    return kind, build


def _values_of(field: Any) -> _Build:
    """The values of a field in messages: None for no message, and where it is not set, but has presence."""
    name, get = field.name, attrgetter(field.name)
    if field.has_presence:
        return lambda messages: [
            get(message) if message is not None and message.HasField(name) else None for message in messages
        ]

    def values(messages: list[Any]) -> list[Any]:
        try:
            return list(map(get, messages))
        except AttributeError:
            return [None if message is None else get(message) for message in messages]

    return values


def _of_google(reader: ProtobufReader, descriptor: Any, name: str) -> _Column | None:
    pa = pyarrow()
    if name == "Timestamp":
        kind = pa.timestamp("us", "UTC")
        return kind, lambda values: pa.array(
            [None if value is None else _micros(value) for value in values], pa.int64()
        ).cast(kind)
    if name in ("Duration", "FieldMask"):
        return pa.string(), lambda values: _mapped(values, reader.value, pa.string())
    if name in ("Any", "Struct", "ListValue", "Value"):
        return pa.string(), lambda values: _mapped(
            values, lambda value: json_of(reader.value(value)), pa.string()
        )
    if name.endswith("Value") and [field.name for field in descriptor.fields] == ["value"]:
        kind, build = _one(reader, descriptor.fields[0], ())
        return kind, lambda values: build([None if value is None else value.value for value in values])
    return None


def _mapped(values: list[Any], make: Callable[[Any], Any], kind: Any) -> Any:
    return pyarrow().array([None if value is None else make(value) for value in values], kind)


def _field(reader: ProtobufReader, field: Any, inside: tuple[str, ...]) -> _Column:
    pa = pyarrow()
    if is_map(field):
        kind, make = _one(reader, field.message_type.fields_by_name["value"], inside)
        many, width = pa.map_(pa.string(), kind), _width(kind) + 1

        def maps(values: list[Any]) -> Any:
            keys = [key for value in values if value is not None for key in value]
            offsets = _offsets(values, len(keys) * width)
            items = make([value[key] for value in values if value is not None for key in value])
            return pa.MapArray.from_arrays(offsets, pa.array(map(map_key, keys), pa.string()), items).cast(
                many
            )

        return many, maps
    kind, make = _one(reader, field, inside)
    if is_repeated(field):
        several, width = pa.list_(kind), _width(kind)

        def lists(values: list[Any]) -> Any:
            count = sum(len(value) for value in values if value is not None)
            offsets = _offsets(values, count * width)
            return pa.ListArray.from_arrays(
                offsets, make(list(chain.from_iterable(value for value in values if value is not None)))
            )

        return several, lists
    return kind, make


def _offsets(values: list[Any], cells: int) -> Any:
    """Where the items of each list or map begin; those of null, which is in a message that is null, are none.

    Raises ValueError for more cells than may be.
    """
    if 8 * cells > MOST_BYTES:
        raise ValueError(f"its columns may take {8 * cells} bytes, more than {MOST_BYTES}")
    sizes = (0 if value is None else len(value) for value in values)
    return pyarrow().array(accumulate(sizes, initial=0), pyarrow().int32())


def _width(kind: Any) -> int:
    """The number of columns of a type."""
    return 1 + sum(_width(kind.field(index).type) for index in range(kind.num_fields))


def _one(reader: ProtobufReader, field: Any, inside: tuple[str, ...]) -> _Column:
    pa = pyarrow()
    if field.message_type is not None:
        return _message(reader, field.message_type, inside)
    if field.enum_type is not None:
        names = {number: member.name for number, member in field.enum_type.values_by_number.items()}
        return pa.string(), lambda values: _mapped(
            values, lambda number: names.get(number) or str(number), pa.string()
        )
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
    kind = kinds[field.cpp_type]
    return kind, lambda values: pa.array(values, kind)


def _micros(moment: Any) -> int:
    """Microseconds since 1970. Raises ValueError for what is no Timestamp of Protobuf's JSON, or finer."""
    if not (_FIRST_SECOND <= moment.seconds <= _LAST_SECOND and 0 <= moment.nanos < 1_000_000_000):
        raise ValueError(f"Timestamp of {moment.seconds} s and {moment.nanos} ns: outside years 1 to 9999")
    if moment.nanos % 1_000:
        raise ValueError(f"Timestamp of {moment.seconds} s and {moment.nanos} ns: a column has microseconds")
    return int(moment.seconds * 1_000_000 + moment.nanos // 1_000)


_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
