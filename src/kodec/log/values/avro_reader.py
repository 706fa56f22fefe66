"""Avro: decodes data by its writer's schema, and resolves it to a reader's schema.

Every value is what its bytes say, or it is refused: nothing is rounded, wrapped or replaced. A schema becomes
functions once; these read the data.
"""

from __future__ import annotations

import datetime
import functools
import operator
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from kodec.log.values.avro import AvroSchema
from kodec.log.values.plain import MOST_NESTING
from kodec.runtime.dataclass import dataclass

__all__ = [
    "MOST_DIGITS",
    "MOST_DIGITS_OF_COLUMNS",
    "UUID_TEXT",
    "AvroReader",
    "decimal_of",
    "field_origins",
    "unscaled_number",
]

MOST_DIGITS = 1_000
"""The largest precision of a decimal. More digits take time that grows with their square."""

UUID_TEXT = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
"""The form of a UUID that is text, for `re` and for Arrow."""

# Decimals of Arrow have no more digits; longer ones are bytes in columns.
MOST_DIGITS_OF_COLUMNS = 76


@dataclass(slots=True)
class _Source:
    """The data, the position in it, in bytes, and how many containers enclose that."""

    data: bytes
    position: int = 0
    depth: int = 0


_Read = Callable[[_Source], Any]
_Made = Callable[[Any], Any]
_Logical = tuple[Any, ...]
"""The name of a logical type, and its parameters."""


class AvroReader:
    """Decodes data of one schema, resolved to the reader's schema if given.

    Logical types become Python's: Decimal, date, time, datetime (in UTC; local timestamps without a zone) and
    UUID; nanoseconds are int, and other logical types stay numbers or bytes. A union is the value alone.

    Resolution is Avro's. A value whose logical type differs from the reader's is converted where that is
    exact (decimals of another scale, times of another unit), and else refused; where only one schema has a
    logical type, the reader's counts.

    With `columns`, values are as `pyarrow.array` takes them, and keep what Python's types cannot hold: dates
    and times are int, UUIDs text, decimals of more than 76 digits bytes; a value in a union of two or more
    types besides null is the name of its type and the value.
    """

    def __init__(
        self, writer: AvroSchema, reader: AvroSchema | None = None, *, columns: bool = False
    ) -> None:
        readers = _Readers(writer.named, {} if reader is None else reader.named, columns)
        self._read = readers.of(writer.parsed, None if reader is None else reader.parsed)

    def decode(self, payload: bytes) -> Any:
        """The value, which ends with the data. Raises ValueError for other data, or what does not fit."""
        source = _Source(payload)
        try:
            value = self._read(source)
        except IndexError:
            raise ValueError(f"the data ends early, after {len(payload)} bytes") from None
        if remaining := len(payload) - source.position:
            raise ValueError(f"a value of it ends {remaining} bytes before the data")
        return value


def _long(source: _Source) -> int:
    data, position = source.data, source.position
    byte = data[position]
    number, shift = byte & 0x7F, 7
    while byte & 0x80:
        position += 1
        byte = data[position]
        number |= (byte & 0x7F) << shift
        shift += 7
        if shift == 70:
            if byte & 0x80:
                raise ValueError("a number of more than 10 bytes")
            number &= (1 << 64) - 1  # as Avro's Java and Rust read it
    source.position = position + 1
    return (number >> 1) ^ -(number & 1)


def _int(source: _Source) -> int:
    number = _long(source)
    if not -1 << 31 <= number < 1 << 31:
        raise ValueError(f"the int {number} has more than 32 bits")
    return number


def _bytes(source: _Source) -> bytes:
    return _read_bytes(source, _long(source))


def _read_bytes(source: _Source, size: int) -> bytes:
    position = source.position
    if not 0 <= size <= len(source.data) - position:
        raise ValueError(f"need {size} bytes, have {len(source.data) - position}")
    source.position = position + size
    return source.data[position : position + size]


def _boolean(source: _Source) -> bool:
    byte = source.data[source.position]
    if byte > 1:
        raise ValueError(f"the boolean {byte} is neither 0 nor 1")
    source.position += 1
    return byte == 1


_READS: dict[str, _Read] = {
    "null": lambda source: None,
    "boolean": _boolean,
    "int": _int,
    "long": _long,
    "float": lambda source: struct.unpack("<f", _read_bytes(source, 4))[0],
    "double": lambda source: struct.unpack("<d", _read_bytes(source, 8))[0],
    "bytes": _bytes,
    "string": lambda source: _bytes(source).decode("utf-8"),
}

_PROMOTED: dict[tuple[str, str], _Made] = {
    ("int", "long"): lambda value: value,
    ("int", "float"): lambda value: _single(value),
    ("int", "double"): float,
    ("long", "float"): lambda value: _single(value),
    ("long", "double"): float,
    ("float", "double"): lambda value: value,
    ("string", "bytes"): lambda value: value.encode("utf-8"),
    ("bytes", "string"): lambda value: value.decode("utf-8"),
}


def _single(value: int) -> float:
    """The float of 4 bytes next to a number."""
    (single,) = struct.unpack("<f", struct.pack("<f", value))
    return float(single)


def _unresolved(text: str) -> _Read:
    """What refuses data that reaches this type: other data of the schema may not."""

    def refuse(source: _Source) -> Any:
        raise ValueError(text)

    return refuse


class _Readers:
    """Makes the functions that read the types of two schemas."""

    def __init__(self, writers: Mapping[str, Any], readers: Mapping[str, Any], columns: bool) -> None:
        self._writers, self._readers, self._columns = writers, readers, columns
        self._known: dict[tuple[str, str], list[_Read]] = {}
        # By what they are called, the types of the reader's unions, which stay for as long as this does.
        self._called: dict[int, dict[tuple[str, str], list[tuple[int, Any]]]] = {}

    def of(self, writer: Any, reader: Any) -> _Read:
        """What reads a type, to the reader's; to itself for None."""
        writer, reader = _whole(writer, self._writers), _whole(reader, self._readers)
        if isinstance(writer, list):
            return self._union(writer, reader)
        if isinstance(reader, list):
            branch = self._branch(writer, reader)
            if branch is None:
                return _unresolved(f"{_name(writer)} is none of the reader's types {_names(reader)}")
            return self._named(self.of(writer, branch), branch, _is_choice(reader))
        if reader is not None and not self._match(writer, reader, promoted=True):
            return _unresolved(f"{_name(writer)} does not resolve to {_name(reader)}")
        match _kind(writer):
            case "record" | "error":
                return self._record(writer, reader)
            case "array":
                return self._array(self.of(writer["items"], reader and reader["items"]))
            case "map":
                return self._map(self.of(writer["values"], reader and reader["values"]))
            case "enum":
                return _enum(writer, reader)
            case "fixed":
                size = writer["size"]
                return self._scalar(lambda source: _read_bytes(source, size), writer, reader)
            case kind:
                return self._scalar(_READS[kind], writer, reader)

    def _union(self, writer: list[Any], reader: Any) -> _Read:
        reads = [self.of(branch, reader) for branch in writer]
        if reader is None:
            choice = _is_choice(writer)
            reads = [self._named(read, branch, choice) for read, branch in zip(reads, writer, strict=True)]

        def union(source: _Source) -> Any:
            index = _long(source)
            if not 0 <= index < len(reads):
                raise ValueError(f"the union has no type {index}")
            return reads[index](source)

        return union

    def _named(self, read: _Read, branch: Any, is_choice: bool) -> _Read:
        """In columns, the name of a type of a union of several belongs to its value."""
        name = _name(branch)
        if not self._columns or name == "null" or not is_choice:
            return read
        return lambda source: (name, read(source))

    def _branch(self, writer: Any, union: list[Any]) -> Any:
        """The reader's type for one of the writer's, as Avro's Java chooses it: the same type first."""
        kind = _kind(writer)
        # a union has a thousand types: it is not searched for each of the writer's
        called = self._called.get(id(union)) or self._called.setdefault(id(union), self._types(union))
        others = [other for stored, other in _PROMOTED if stored == kind]
        for keys in ([(kind, _short_name(writer)), ("union", "")], [(other, "") for other in others]):
            candidates = sorted(
                (candidate for key in keys for candidate in called.get(key, ())), key=operator.itemgetter(0)
            )
            for _, branch in candidates:
                if self._match(writer, _whole(branch, self._readers), promoted=True):
                    return branch
        return None

    def _types(self, union: list[Any]) -> dict[tuple[str, str], list[tuple[int, Any]]]:
        """The places and the types of a union, by their kinds and the names that stand for them."""
        branches: dict[tuple[str, str], list[tuple[int, Any]]] = {}
        for index, branch in enumerate(union):
            whole = _whole(branch, self._readers)
            if isinstance(whole, list):
                branches.setdefault(("union", ""), []).append((index, branch))
                continue
            aliases = whole.get("aliases", ()) if isinstance(whole, dict) else ()
            for name in dict.fromkeys([_short_name(whole), *(alias.rpartition(".")[2] for alias in aliases)]):
                branches.setdefault((_kind(whole), name), []).append((index, branch))
        return branches

    def _match(self, writer: Any, reader: Any, *, promoted: bool) -> bool:
        """Whether two types are the same, apart from what is in them."""
        if isinstance(reader, list):
            return self._branch(writer, reader) is not None
        kind, other = _kind(writer), _kind(reader)
        if kind != other:
            return promoted and (kind, other) in _PROMOTED
        if kind in ("record", "error", "enum", "fixed"):
            writer_name, reader_name = writer["name"], reader["name"]
            others = {reader_name, *reader.get("aliases", ())}
            short = {name.rpartition(".")[2] for name in (reader_name, *reader.get("aliases", ()))}
            if writer_name not in others and writer_name.rpartition(".")[2] not in short:
                return False
            return bool(kind != "fixed" or writer["size"] == reader["size"])
        return True

    def _record(self, writer: Any, reader: Any) -> _Read:
        key = writer["name"], "" if reader is None else reader["name"]
        if key in self._known:
            again = self._known[key]
            return lambda source: again[0](source)
        holder = self._known[key] = list[_Read]()
        target = writer if reader is None else reader
        aliases = {field["name"]: field.get("aliases", ()) for field in target["fields"]}
        origins = field_origins(aliases, [field["name"] for field in writer["fields"]])
        defaults: list[tuple[str, Any]] = []
        missing: str | None = None
        for field in target["fields"]:
            name = field["name"]
            if name in origins:
                continue
            try:
                defaults.append((name, self._default(field["type"], field["default"])))
            except KeyError:
                missing = f"field {name} is not in the data, and has no default"
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                missing = f"field {name}: its default is not of its type: {error}"
        types = {field["name"]: field["type"] for field in target["fields"]}
        names = {origin: name for name, origin in origins.items()}
        steps: list[tuple[str | None, _Read]] = []
        for field in writer["fields"]:
            name = names.get(field["name"])
            # what the reader does not have is read too: it must follow the schema
            read = self.of(field["type"], None if reader is None or name is None else types[name])
            steps.append((name, read))
        order = dict.fromkeys(types)

        def record(source: _Source) -> dict[str, Any]:
            if missing is not None:
                raise ValueError(missing)
            source.depth += 1
            if source.depth > MOST_NESTING:
                raise ValueError(f"nested deeper than {MOST_NESTING}")
            values: dict[str, Any] = order.copy()
            for name, read in steps:
                if name is None:
                    read(source)
                else:
                    values[name] = read(source)
            for name, value in defaults:
                values[name] = value
            source.depth -= 1
            return values

        holder.append(record)
        return record

    def _array(self, read: _Read) -> _Read:
        def array(source: _Source) -> list[Any]:
            items: list[Any] = []
            for count in _blocks(source):
                for _ in range(count):
                    items.append(read(source))
            return items

        return array

    def _map(self, read: _Read) -> _Read:
        def mapping(source: _Source) -> dict[str, Any]:
            entries: dict[str, Any] = {}
            for count in _blocks(source):
                for _ in range(count):
                    key = _bytes(source).decode("utf-8")
                    entries[key] = read(source)
            return entries

        return mapping

    def _scalar(self, read: _Read, writer: Any, reader: Any) -> _Read:
        origin, target = self._logical(writer), None if reader is None else self._logical(reader)
        for logical in (origin, target):
            if logical is not None and logical[0] == "decimal" and logical[1] > MOST_DIGITS:
                return _unresolved(
                    f"{_logical_name(logical)}: more than {MOST_DIGITS} digits are not supported"
                )
        kind, other = _kind(writer), _kind(writer if reader is None else reader)
        if reader is None or target == origin:
            steps = [] if origin is None else [self._construct(origin, kind)]
        elif origin is None or target is None:
            steps = [] if target is None else [self._construct(target, other)]
        else:
            exact = _conversion(origin, target)
            if exact is None:
                return _unresolved(f"{_logical_name(origin)} does not resolve to {_logical_name(target)}")
            steps = [_number(origin), exact, self._construct(target, "int")]
        if kind != other:
            promoted = _PROMOTED[kind, other]
            # a decimal or a number of units is converted by its value, not by its bytes
            if origin is None or target is None or origin == target:
                steps = [promoted, *steps]
        if not steps:
            return read
        if len(steps) == 1:
            (only,) = steps
            return lambda source: only(read(source))

        def converted(source: _Source) -> Any:
            value = read(source)
            for step in steps:
                value = step(value)
            return value

        return converted

    def _logical(self, schema: Any) -> _Logical | None:
        """A logical type that its schema may have; Avro ignores others."""
        if not isinstance(schema, dict):
            return None
        kind, name = _kind(schema), schema.get("logicalType")
        if name == "decimal" and kind in ("bytes", "fixed"):
            parts = decimal_of(schema)
            if parts is None or (self._columns and parts[0] > MOST_DIGITS_OF_COLUMNS):
                return None
            return "decimal", *parts
        if name == "uuid":
            return ("uuid",) if kind == "string" or schema.get("size") == 16 else None
        return (name,) if isinstance(name, str) and _UNITS.get(name, ("",))[0] == kind else None

    def _construct(self, logical: _Logical, kind: str) -> _Made:
        """What makes a value of what is stored, or of a decimal's unscaled number."""
        match logical:
            case ("decimal", precision, scale):
                number = _checked(precision, scale)
                if kind == "int":
                    return number
                unscaled = unscaled_number(precision)
                return lambda data: number(unscaled(data))
            case ("uuid",):
                convert = _uuid if kind == "string" else lambda data: UUID(bytes=data)
                return (lambda data: str(convert(data))) if self._columns else convert
            case (name,):
                return _whole_unit(name) if self._columns else _MOMENTS[name]
        raise AssertionError(logical)

    def _default(self, schema: Any, value: Any) -> Any:
        """A default of a schema as a value. Raises ValueError, and others, if it is not one."""
        schema = _whole(schema, self._readers)
        if isinstance(schema, list):
            for branch in schema:
                try:
                    default = self._default(branch, value)
                except (ValueError, KeyError, TypeError, AttributeError):
                    continue
                return self._named(functools.partial(_constant, default), branch, _is_choice(schema))(
                    _Source(b"")
                )
            raise ValueError(f"{value!r:.100} is none of {_names(schema)}")
        kind = _kind(schema)
        match kind:
            case "record" | "error":
                return {
                    field["name"]: self._default(
                        field["type"], value[field["name"]] if field["name"] in value else field["default"]
                    )
                    for field in schema["fields"]
                }
            case "array" if isinstance(value, list):
                return [self._default(schema["items"], item) for item in value]
            case "map" if isinstance(value, dict):
                return {key: self._default(schema["values"], item) for key, item in value.items()}
            case "enum" if value in schema["symbols"]:
                return value
            case "fixed" | "bytes" if isinstance(value, str):
                data = value.encode("latin-1")
                if kind == "fixed" and len(data) != schema["size"]:
                    raise ValueError(f"{len(data)} bytes instead of {schema['size']}")
                return self._scalar(functools.partial(_constant, data), schema, None)(_Source(b""))
            case "float" | "double" if isinstance(value, (int, float, str)) and not isinstance(value, bool):
                return float(value)
            case "int" | "long" | "boolean" | "string" | "null":
                if type(value) is _CLASSES[kind]:
                    return self._scalar(functools.partial(_constant, value), schema, None)(_Source(b""))
        raise ValueError(f"{value!r:.100} is no {kind}")


def field_origins(aliases: Mapping[str, Sequence[str]], writers: Sequence[str]) -> dict[str, str]:
    """The writer's field for each of the reader's that has one: of its name, else of one of its aliases.

    Args: aliases: of the reader's fields, by name; writers: the names of the writer's fields.
    """
    unused = {*writers}
    origins = {name: name for name in aliases if name in unused}
    unused -= origins.keys()
    for name, others in aliases.items():
        origin = next((alias for alias in others if alias in unused), None)
        if name not in origins and origin is not None:
            origins[name] = origin
            unused.remove(origin)
    return origins


_CLASSES = {"int": int, "long": int, "boolean": bool, "string": str, "null": type(None)}


def _constant(value: Any, source: _Source) -> Any:
    return value


def _whole(schema: Any, named: Mapping[str, Any]) -> Any:
    """A type itself: not its name, and not in a type of its own."""
    while True:
        if isinstance(schema, str) and schema in named:
            schema = named[schema]
        elif isinstance(schema, dict) and (
            isinstance(schema["type"], (dict, list)) or schema["type"] in named
        ):
            schema = schema["type"]
        else:
            return schema


def _kind(schema: Any) -> str:
    return schema["type"] if isinstance(schema, dict) else str(schema)


def _name(schema: Any) -> str:
    """The name of a type in a union."""
    if isinstance(schema, list):
        return "union"
    if isinstance(schema, dict):
        return str(schema.get("name") or _name(schema["type"]))
    return str(schema)


def _short_name(schema: Any) -> str:
    """The name of a named type, without its namespace; empty for others."""
    return str(schema.get("name", "")).rpartition(".")[2] if isinstance(schema, dict) else ""


def _is_choice(union: list[Any]) -> bool:
    """Whether a union has several types besides null."""
    return sum(_name(branch) != "null" for branch in union) > 1


def _names(union: list[Any]) -> str:
    more = ["..."] if len(union) > _SHOWN else []
    return ", ".join([*map(_name, union[:_SHOWN]), *more])


_SHOWN = 10


def _logical_name(logical: _Logical) -> str:
    name, *parameters = logical
    return f"{name}({','.join(map(str, parameters))})" if parameters else name


def _blocks(source: _Source) -> Any:
    """The numbers of items of each block."""
    source.depth += 1
    if source.depth > MOST_NESTING:
        raise ValueError(f"nested deeper than {MOST_NESTING}")
    while count := _long(source):
        if count < 0:
            count = -count
            _long(source)  # the block's size, for those who skip it
        yield count
    source.depth -= 1


def _enum(writer: Any, reader: Any) -> _Read:
    symbols = writer["symbols"]
    values: list[str | None] = list(symbols)
    if reader is not None:
        known = {*reader["symbols"]}
        default = reader.get("default")
        values = [symbol if symbol in known else default if default in known else None for symbol in symbols]

    def enum(source: _Source) -> str:
        index = _int(source)
        if not 0 <= index < len(values):
            raise ValueError(f"the enum has no symbol {index}")
        symbol = values[index]
        if symbol is None:
            raise ValueError(f"the reader's enum has no symbol {symbols[index]}, and no default")
        return symbol

    return enum


def decimal_of(schema: Any) -> tuple[int, int] | None:
    """The precision and scale of a decimal; None where they are not valid, so that it is the type below it.

    The scale is 0 where the schema has none. As in Java's `LogicalTypes`, any other value than an integer is
    not valid, null included.
    """
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision or precision == 0:
        return None
    return precision, scale


def unscaled_number(precision: int) -> _Made:
    """What makes the unscaled number of a decimal of its bytes, in two's complement, high ones first."""
    most = precision * 3322 // 8000 + 2  # a digit has fewer than 3.322 bits

    def unscaled(data: bytes) -> int:
        if len(data) > most:
            # bytes that only repeat the sign may stand before it
            significant = data.lstrip(b"\xff" if data[0] & 0x80 else b"\0")
            if len(significant) >= most:
                raise ValueError(f"{len(data)} bytes are no decimal of {precision} digits")
            data = data[-most:]
        return int.from_bytes(data, "big", signed=True)

    return unscaled


def _checked(precision: int, scale: int) -> _Made:
    end = 10**precision

    def number(unscaled: int) -> Decimal:
        if not -end < unscaled < end:
            raise ValueError(f"a number of more digits than the precision of decimal({precision},{scale})")
        return Decimal(f"{unscaled}e-{scale}")

    return number


def _uuid(text: str) -> UUID:
    if _FORM_OF_UUID.match(text) is None:
        raise ValueError(f"{text!r:.100} is not the text of a UUID")
    return UUID(text)


_FORM_OF_UUID = re.compile(UUID_TEXT.replace("$", r"\Z"))
_DAY = 86_400_000
# The stored type of each, and how many of it a second has; a day of times of a day.
_UNITS: dict[str, tuple[str, int]] = {
    "date": ("int", 0),
    "time-millis": ("int", 1_000),
    "time-micros": ("long", 1_000_000),
    **{
        f"{local}timestamp-{unit}": ("long", count)
        for local in ("", "local-")
        for unit, count in (("millis", 1_000), ("micros", 1_000_000), ("nanos", 1_000_000_000))
    },
}


def _number(logical: _Logical) -> _Made:
    """What makes an int of what is stored."""
    return unscaled_number(logical[1]) if logical[0] == "decimal" else lambda value: value


def _conversion(origin: _Logical, target: _Logical) -> _Made | None:
    """What makes the number of one logical type that of another; None if they differ in what they mean."""
    if origin[0] == target[0] == "decimal":
        return _scaled(
            10 ** max(0, target[2] - origin[2]), 10 ** max(0, origin[2] - target[2]), origin, target
        )
    names = [logical[0].rpartition("-") for logical in (origin, target)]
    if names[0][0] != names[1][0] or not names[0][0]:
        return None
    before, after = _UNITS[origin[0]][1], _UNITS[target[0]][1]
    return _scaled(max(1, after // before), max(1, before // after), origin, target)


def _scaled(times: int, parts: int, origin: _Logical, target: _Logical) -> _Made:
    def scaled(number: int) -> int:
        quotient, remainder = divmod(number * times, parts)
        if remainder:
            raise ValueError(f"{number} of {_logical_name(origin)} is not exact as {_logical_name(target)}")
        if target[0] != "decimal" and not -1 << 63 <= quotient < 1 << 63:
            raise ValueError(
                f"{number} of {_logical_name(origin)} is outside the range of {_logical_name(target)}"
            )
        return quotient

    return scaled


def _whole_unit(name: str) -> _Made:
    if not name.startswith("time-"):
        return lambda value: value
    most = _DAY if name == "time-millis" else _DAY * 1_000

    def time_of_day(value: int) -> int:
        if not 0 <= value < most:
            raise ValueError(f"{value} is no time of a day in {name}")
        return value

    return time_of_day


def _date(value: int) -> datetime.date:
    try:
        return datetime.date.fromordinal(value + _EPOCH.toordinal())
    except (ValueError, OverflowError):
        raise ValueError(f"{value} days since 1970 are outside the years 1 to 9999") from None


def _time(name: str) -> _Made:
    check, factor = _whole_unit(name), 1_000 if name == "time-millis" else 1

    def time(value: int) -> datetime.time:
        seconds, micros = divmod(check(value) * factor, 1_000_000)
        return datetime.time(seconds // 3600, seconds // 60 % 60, seconds % 60, micros)

    return time


def _moment(name: str) -> _Made:
    epoch = _EPOCH if name.startswith("local-") else _EPOCH.replace(tzinfo=datetime.UTC)
    factor = 1_000 if name.endswith("-millis") else 1

    def moment(value: int) -> datetime.datetime:
        try:
            return epoch + datetime.timedelta(microseconds=value * factor)
        except OverflowError:
            raise ValueError(f"{value} of {name} is outside the years 1 to 9999") from None

    return moment


_EPOCH = datetime.datetime(1970, 1, 1)
_MOMENTS: dict[str, _Made] = {
    "date": _date,
    **{name: _time(name) for name in ("time-millis", "time-micros")},
    **{name: _moment(name) for name in _UNITS if "timestamp" in name and not name.endswith("-nanos")},
    "timestamp-nanos": lambda value: value,
    "local-timestamp-nanos": lambda value: value,
}
