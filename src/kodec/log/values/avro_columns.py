"""Avro as Arrow columns: pyruhvro decodes simple types, which are then converted to the schema's types."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kodec.log.backends.arrow import pyarrow
from kodec.log.values.avro import AvroSchema
from kodec.log.values.avro_reader import (
    MOST_DIGITS_OF_COLUMNS,
    UUID_TEXT,
    AvroReader,
    decimal_of,
    field_origins,
    unscaled_number,
)
from kodec.log.values.schemas import BadSchema
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import MissingDependency
from kodec.runtime.extras import install_command
from kodec.runtime.varint import write_zigzag64

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["AvroColumn"]

# The most bytes of a value in columns: in arrays of wide records one byte may become very many.
_MOST_BYTES = 1 << 30
# A fixed of more bytes would be too many columns.
_MOST_FIXED = 64
# Of a wider fixed, a column of that width would be much larger than the data where values are null.
_MOST_WIDTH = 1 << 10
_Finish = Callable[[Any], Any]


class AvroColumn:
    """Decodes data of one schema to an Arrow array, resolved to the reader's schema if given.

    A record is a struct, a union of null and another type that type, another union a struct with a field for
    each of its types, an enum a string; logical types are Arrow's, a UUID a string; a duration is 12 bytes.

    pyruhvro receives only types that it decodes, or refuses, correctly for any bytes (docs/values.md): null,
    boolean, long, float, double, string, array, map, record and union. Other types are decoded as one of
    these with the same bytes; those without one (a fixed of more than 64 bytes, or of a number of bytes that
    is not a multiple of 4) by `AvroReader`.

    Raises: BadSchema for a type that contains itself.
    """

    def __init__(self, writer: AvroSchema, reader: AvroSchema | None = None) -> None:
        self._reader = AvroReader(writer, reader, columns=True)
        writer_form = _Types(writer.named).of(writer.parsed)
        self._form = writer_form if reader is None else _Types(reader.named).of(reader.parsed)
        self.type: pa.DataType = self._form.type
        resolve = _resolution(writer_form, self._form)
        self._fast: _Finish | None = None
        if writer_form.stored not in (None, "null") and resolve is not None:
            self._fast = lambda array: resolve(writer_form.finish(array))
        # a row alone; and many of them, each with a mark after it that shows where it ends
        row, mark = {"name": "row", "type": writer_form.stored}, {"name": "mark", "type": "double"}
        marked = {"type": "record", "name": "Row", "fields": [row, mark]}
        rows = {"name": "rows", "type": {"type": "array", "items": marked}}
        self._one = json.dumps({"type": "record", "name": "Row", "fields": [row]})
        self._many = json.dumps({"type": "record", "name": "Rows", "fields": [rows]})
        self._outer, self._inner = writer_form.outer + self._form.outer, writer_form.inner + self._form.inner

    def decode(self, payloads: pa.BinaryArray) -> tuple[pa.Array, dict[int, str]]:
        """A row for each payload, and which were not decoded, with the reason; these are null."""
        reasons: dict[int, str] = {}
        parts = self._decoded(payloads, 0, reasons)
        return (parts[0] if len(parts) == 1 else pyarrow().concat_arrays(parts)), reasons

    def _decoded(self, payloads: pa.BinaryArray, first: int, reasons: dict[int, str]) -> list[pa.Array]:
        """Decode all at once; if that fails, each half by itself, down to the single invalid value."""
        count, size = len(payloads), _size(payloads)
        need = 8 * (self._outer * count + self._inner * size) + size
        wrong = f"its columns may take {need} bytes, more than {_MOST_BYTES}"
        if need <= _MOST_BYTES:
            try:
                return [self._all(payloads)]
            except (MissingDependency, KeyboardInterrupt, SystemExit, GeneratorExit):
                raise
            except BaseException as error:
                # a panic of pyruhvro is not an Exception
                wrong = f"{type(error).__name__}: {error}"
        if count == 1:
            reasons[first] = wrong
            return [pyarrow().nulls(1, self.type)]
        half = count // 2
        return self._decoded(payloads.slice(0, half), first, reasons) + self._decoded(
            payloads.slice(half), first + half, reasons
        )

    def _all(self, payloads: pa.BinaryArray) -> pa.Array:
        pa = pyarrow()
        if self._fast is None:
            rows = [self._form.plain(self._reader.decode(payload)) for payload in payloads.to_pylist()]
            column = pa.array(rows, self.type)
        elif len(payloads) == 1:
            # its error explains more; it does not look at bytes after the value
            column = self._fast(_pyruhvro().deserialize_array([payloads[0].as_py()], self._one)["row"])
            self._rows(payloads)
        else:
            column = self._fast(self._rows(payloads))
        # checks that strings are UTF-8 and decimals fit their type, which nothing has checked so far
        column.validate(full=True)
        return column

    def _rows(self, payloads: pa.BinaryArray) -> pa.Array:
        """Many payloads as one Avro array, without an object for each.

        The same random number follows each: a payload that decodes to more or fewer bytes than it has misses
        this number, which no payload can contain. Raises ValueError for such a payload.
        """
        pa, compute = pyarrow(), _compute()
        mark = bytearray(os.urandom(8))
        mark[7] &= 0x3F  # no NaN, whose bits might change
        joined = compute.binary_join_element_wise(payloads, pa.scalar(bytes(mark)), pa.scalar(b""))
        count = len(joined)
        begin, end = _bounds(joined)
        data = write_zigzag64(count) + joined.buffers()[2].slice(begin, end - begin).to_pybytes() + b"\0"
        rows = _pyruhvro().deserialize_array([data], self._many)["rows"].values
        marks = rows.field(1).view(pa.int64())
        ends = compute.min_max(marks).as_py()
        number = int.from_bytes(mark, "little")
        if len(rows) != count or (ends["min"], ends["max"]) != (number, number):
            raise ValueError("a value does not end with its bytes")
        return rows.field(0)


def _bounds(array: pa.BinaryArray) -> tuple[int, int]:
    """Where its bytes begin and end in their buffer."""
    offsets = _offsets(array)
    return offsets[0].as_py(), offsets[-1].as_py()


def _size(array: pa.BinaryArray) -> int:
    begin, end = _bounds(array)
    return end - begin


def _pyruhvro() -> Any:
    try:
        import pyruhvro
    except ImportError as missing:
        text = f"columns of Avro need `{missing.name}`: {install_command('values')}"
        raise MissingDependency(text, name=missing.name) from missing
    return pyruhvro


def _unchanged(array: Any) -> Any:
    return array


@dataclass(slots=True)
class _Form:
    """A type as Arrow has it.

    Attributes:
        type: of the column.
        stored: a type that is stored in the same bytes, for pyruhvro; None if there is none.
        finish: what makes the column of that type's.
        plain: what makes what `pyarrow.array` takes of a value of `AvroReader`.
        kind: Avro's name of the type, with what else it differs by; "null?" where it may be null.
        inside: of a record its fields by name, of an array or a map what is in it, of "null?" the type.
        outer, inner: how many columns have a row for each of it, and for each byte of it.
        aliases, defaults: of a record's fields, by name.
    """

    type: Any
    stored: Any
    finish: _Finish = _unchanged
    plain: Callable[[Any], Any] = _unchanged
    kind: str = ""
    inside: dict[str, _Form] = field(default_factory=dict)
    outer: int = 1
    inner: int = 0
    aliases: dict[str, list[str]] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)


class _Types:
    """Makes the forms of a schema's types."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._inside: set[str] = set()
        self._records = 0

    def of(self, schema: Any) -> _Form:
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, str):
            if schema not in self._named:
                return _scalar(schema, {})
            schema = self._named[schema]
        kind = schema["type"]
        match kind:
            case "record" | "error":
                return self._record(schema)
            case "array":
                return self._list(schema)
            case "map":
                return self._map(schema)
            case "enum":
                return _enum(schema)
            case "fixed":
                self._records += 1
                return _fixed(schema, f"Fixed{self._records}")
            case str() if kind not in self._named:
                return _scalar(kind, schema)
        return self.of(kind)

    def _record(self, schema: Any) -> _Form:
        pa, name = pyarrow(), schema["name"]
        if name in self._inside:
            raise BadSchema(f"type {name} contains itself: it has no columns")
        self._inside.add(name)
        inside = {field["name"]: self.of(field["type"]) for field in schema["fields"]}
        self._inside.remove(name)
        forms = inside.items()
        fields = [pa.field(field_name, form.type) for field_name, form in forms]

        # pyruhvro does not receive types without bytes, as it treats their nulls as errors
        places = {
            field_name: position
            for position, field_name in enumerate(
                field_name for field_name, form in forms if form.stored != "null"
            )
        }

        def finish(array: Any) -> Any:
            columns = [
                form.finish(array.field(places[field_name]))
                if field_name in places
                else pa.nulls(len(array), form.type)
                for field_name, form in forms
            ]
            return pa.StructArray.from_arrays(columns, fields=fields, mask=array.is_null())

        self._records += 1
        stored: Any = None
        if all(form.stored is not None for form in inside.values()):
            members = [{"name": field_name, "type": inside[field_name].stored} for field_name in places]
            stored = (
                {"type": "record", "name": f"Record{self._records}", "fields": members} if places else "null"
            )
        return _Form(
            pa.struct(fields) if stored != "null" else pa.null(),
            stored,
            finish if stored != "null" else _unchanged,
            (lambda value: {field_name: form.plain(value[field_name]) for field_name, form in forms})
            if stored != "null"
            else lambda value: None,
            f"record {name.rpartition('.')[2]}",
            inside,
            1 + sum(form.outer for form in inside.values()),
            sum(form.inner for form in inside.values()),
            {field["name"]: field.get("aliases", []) for field in schema["fields"]},
            {field["name"]: field["default"] for field in schema["fields"] if "default" in field},
        )

    def _list(self, schema: Any) -> _Form:
        pa, items = pyarrow(), self.of(schema["items"])
        kind = pa.list_(items.type)
        return _Form(
            kind,
            None if items.stored is None else {"type": "array", "items": items.stored},
            lambda array: _list_of(array, items.finish, kind),
            lambda value: [items.plain(item) for item in value],
            "array",
            {"": items},
            inner=items.outer + items.inner,
        )

    def _map(self, schema: Any) -> _Form:
        pa, values = pyarrow(), self.of(schema["values"])
        kind = pa.map_(pa.string(), values.type)
        return _Form(
            kind,
            None if values.stored in (None, "null") else {"type": "map", "values": values.stored},
            lambda array: _map_of(array, values.finish, kind),
            lambda value: [(key, values.plain(item)) for key, item in value.items()],
            "map",
            {"": values},
            inner=1 + values.outer + values.inner,
        )

    def _union(self, branches: list[Any]) -> _Form:
        pa = pyarrow()
        forms = [self.of(branch) for branch in branches]
        names = [_name(branch) for branch in branches]
        known = {name: form for name, form in zip(names, forms, strict=True) if name != "null"}
        stored: list[Any] = []
        wrapped = set[int]()
        for position, form in enumerate(forms):
            again = form.stored in stored and len(forms) > 1
            if again:
                # no union has the same type twice; a record of one field is stored as that is
                self._records += 1
                wrapper = [{"name": "one", "type": form.stored}]
                wrapped.add(position)
            stored.append(
                {"type": "record", "name": f"One{self._records}", "fields": wrapper} if again else form.stored
            )
        empty = any(form.stored == "null" for form in known.values())
        whole = None if empty or None in stored else stored
        size: dict[str, Any] = {
            "outer": sum(form.outer for form in forms),
            "inner": sum(form.inner for form in forms),
        }
        if not known:
            return _Form(pa.null(), whole, lambda array: pa.nulls(len(array)), **size)
        if len(known) == 1:
            (form,) = known.values()
            only = len(forms) == 1
            return _Form(
                form.type,
                whole,
                (lambda array: form.finish(array.field(0))) if only else form.finish,
                lambda value: None if value is None else form.plain(value),
                "only" if only else "null?",
                {"": form},
                **size,
            )
        fields = [pa.field(name.rpartition(".")[2], form.type) for name, form in known.items()]
        if len({field.name for field in fields}) < len(fields):
            fields = [pa.field(name, form.type) for name, form in known.items()]

        def finish(array: Any) -> Any:
            codes = pa.Array.from_buffers(
                pa.int8(), len(array), [None, array.buffers()[1]], offset=array.offset
            )
            columns, null = [], pa.repeat(False, len(array))
            compute = _compute()
            for position, name in enumerate(names):
                mask = compute.equal(codes, position)
                if name == "null":
                    null = mask
                else:
                    column = array.field(position).field(0) if position in wrapped else array.field(position)
                    column = known[name].finish(column)
                    columns.append(_only(column, mask))
            return pa.StructArray.from_arrays(columns, fields=fields, mask=null)

        def plain(value: Any) -> Any:
            if value is None:
                return None
            name, inner = value
            return {columns[name]: known[name].plain(inner)}

        columns = {name: field.name for name, field in zip(known, fields, strict=True)}
        return _Form(
            pa.struct(fields),
            whole,
            finish,
            plain,
            f"union {[self._named.get(name, name) if isinstance(name, str) else name for name in branches]}",
            **size,
        )


def _name(schema: Any) -> str:
    """The name of a type in a union."""
    if isinstance(schema, dict):
        return str(schema.get("name") or _name(schema["type"]))
    return str(schema)


def _compute() -> Any:
    import pyarrow.compute as compute

    return compute


def _only(array: Any, mask: Any) -> Any:
    """The existing values, null for the others."""
    pa, compute = pyarrow(), _compute()
    positions = pa.array(range(len(array)), pa.int64())
    return array.take(compute.if_else(mask, positions, pa.scalar(None, pa.int64())))


def _offsets(array: Any) -> Any:
    return pyarrow().Array.from_buffers(
        pyarrow().int32(), len(array) + 1, [None, array.buffers()[1]], offset=array.offset
    )


def _list_of(array: Any, finish: _Finish, kind: Any) -> Any:
    pa = pyarrow()
    null = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(_offsets(array), finish(array.values), type=kind, mask=null)


def _map_of(array: Any, finish: _Finish, kind: Any) -> Any:
    pa = pyarrow()
    null = array.is_null() if array.null_count else None
    return pa.MapArray.from_arrays(_offsets(array), array.keys, finish(array.items), type=kind, mask=null)


def _enum(schema: Any) -> _Form:
    pa = pyarrow()
    symbols = pa.array(schema["symbols"], pa.string())
    kind = f"enum {schema['name'].rpartition('.')[2]} {schema['symbols']}"
    return _Form(pa.string(), "long", symbols.take, kind=kind)


def _fixed(schema: Any, name: str) -> _Form:
    pa, size = pyarrow(), schema["size"]
    kind = _logical(schema, "fixed")
    # numbers of 8 and 4 bytes, whatever they are
    small = 0 < size <= _MOST_FIXED and size % 4 == 0
    parts = ["double"] * (size // 8) + ["float"] * (size % 8 // 4) if small else []
    stored: Any = None
    if small:
        fields = [{"name": f"p{position}", "type": part} for position, part in enumerate(parts)]
        stored = {"type": "record", "name": name, "fields": fields}

    def finish(array: Any) -> Any:
        if not len(array):
            return pa.array([], pa.binary(size))
        views = [memoryview(array.field(position).buffers()[1]).cast("B") for position in range(len(parts))]
        joined = bytearray(size * len(array))
        start = 0
        for view, part in zip(views, parts, strict=True):
            width, offset = (8, array.field(0).offset) if part == "double" else (4, array.field(0).offset)
            for byte in range(width):
                joined[start::size] = view[width * offset + byte : width * (offset + len(array)) : width]
                start += 1
        validity = _validity(array)
        return pa.Array.from_buffers(pa.binary(size), len(array), [validity, pa.py_buffer(joined)])

    convert = kind.finish
    return _Form(
        (pa.binary(size) if size <= _MOST_WIDTH else pa.binary()) if kind.type is None else kind.type,
        stored,
        lambda array: convert(finish(array)),
        kind.plain,
        f"fixed {schema['name'].rpartition('.')[2]} {size} {kind.kind}",
        outer=len(parts) or 1,
    )


def _validity(array: Any) -> Any:
    """The bits that say which are not null, from the first one on; None if none is."""
    return array.is_valid().buffers()[1] if array.null_count else None


def _decimal(precision: int, scale: int) -> _Form:
    """Of two's complement in any number of bytes, high ones first."""
    pa = pyarrow()
    kind, width = (pa.decimal128, 16) if precision <= 38 else (pa.decimal256, 32)
    arrow_type, number = kind(precision, scale), unscaled_number(precision)

    def finish(array: Any) -> Any:
        data = b"".join(
            number(value or b"").to_bytes(width, "little", signed=True) for value in array.to_pylist()
        )
        return pa.Array.from_buffers(arrow_type, len(array), [_validity(array), pa.py_buffer(data)])

    return _Form(arrow_type, None, finish, kind=f"decimal {precision} {scale}")


def _logical(schema: Any, kind: str) -> _Form:
    """What a logical type makes of bytes or a fixed; without a type if there is none that is known."""
    pa = pyarrow()
    name = schema.get("logicalType")
    decimal = decimal_of(schema) if name == "decimal" else None
    if decimal is not None and decimal[0] <= MOST_DIGITS_OF_COLUMNS:
        return _decimal(*decimal)
    if name == "uuid" and schema.get("size") == 16:
        return _Form(
            pa.string(),
            None,
            lambda array: pa.array(
                [None if value is None else str(UUID(bytes=value)) for value in array.to_pylist()],
                pa.string(),
            ),
            kind="uuid",
        )
    return _Form(None, None, kind=kind)


def _scalar(kind: str, schema: Any) -> _Form:
    pa = pyarrow()
    name = f"{kind}-{schema.get('logicalType')}"
    match kind:
        case "null":
            return _Form(pa.null(), "null", kind="null")
        case "boolean":
            return _Form(pa.bool_(), "boolean", kind=kind)
        case "float" | "double":
            arrow_type = pa.float32() if kind == "float" else pa.float64()
            return _Form(arrow_type, kind, kind=kind)
        case "string":
            if name == "string-uuid":
                return _Form(pa.string(), "string", _uuids, kind=name)
            return _Form(pa.string(), "string", kind=kind)
        case "bytes":
            logical = _logical(schema, kind)
            return _Form(
                logical.type or pa.binary(),
                # nothing looks into a string before its bytes are what it is
                "string",
                lambda array: logical.finish(array.view(pa.binary())),
                logical.plain,
                logical.kind,
            )
    arrow_type, most = _NUMBERS(pa).get(name, (pa.int32() if kind == "int" else pa.int64(), None))

    def finish(array: Any) -> Any:
        if kind == "int":
            array = array.cast(pa.int32())
        if most is not None and len(array):
            ends = _compute().min_max(array).as_py()
            if ends["min"] is not None and not 0 <= ends["min"] <= ends["max"] < most:
                raise ValueError(f"no time of a day: {ends['min']} or {ends['max']}")
        return array.view(arrow_type)

    known = name if name in _NUMBERS(pa) else kind
    return _Form(arrow_type, "long", finish, kind=known)


def _uuids(texts: Any) -> Any:
    """Texts of UUIDs as `UUID` has them. Raises ValueError for another text."""
    compute = _compute()
    right = compute.match_substring_regex(texts, UUID_TEXT)
    if compute.all(right).as_py() is False:
        wrong = texts.filter(compute.invert(right))[0].as_py()
        raise ValueError(f"{wrong!r:.100} is not the text of a UUID")
    return compute.ascii_lower(texts)


def _NUMBERS(pa: Any) -> dict[str, tuple[Any, int | None]]:
    """What logical types make of int and long: Arrow's type, and what is more than any."""
    day = 86_400_000
    types: dict[str, tuple[Any, int | None]] = {
        "int-date": (pa.date32(), None),
        "int-time-millis": (pa.time32("ms"), day),
        "long-time-micros": (pa.time64("us"), day * 1000),
    }
    for name, unit in (("millis", "ms"), ("micros", "us"), ("nanos", "ns")):
        types[f"long-timestamp-{name}"] = pa.timestamp(unit, "UTC"), None
        types[f"long-local-timestamp-{name}"] = pa.timestamp(unit), None
    return types


_DEFAULTS = {"boolean": bool, "int": int, "long": int, "string": str}
_PROMOTED: dict[str, Sequence[str]] = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
}


def _resolution(writer: _Form, reader: _Form) -> _Finish | None:
    """What makes a column of the reader's type of one of the writer's; None if `AvroReader` is to say."""
    if writer is reader or (writer.kind == reader.kind and not writer.inside and writer.type == reader.type):
        return _unchanged
    if reader.kind == "null?":
        inside = writer.inside[""] if writer.kind == "null?" else writer
        if inside.kind == "null":
            return lambda array: pyarrow().nulls(len(array), reader.type)
        return _resolution(inside, reader.inside[""])
    if reader.kind in _PROMOTED.get(writer.kind, ()):
        # as C does it: a number becomes the one next to it
        return lambda array: array.cast(reader.type, safe=False)
    if writer.kind != reader.kind or writer.type == pyarrow().null():
        return None
    if writer.kind in ("array", "map"):
        inner = _resolution(writer.inside[""], reader.inside[""])
        build = _list_of if writer.kind == "array" else _map_of
        return None if inner is None else lambda array: build(array, inner, reader.type)
    return _resolved_record(writer, reader) if writer.kind.startswith("record") else None


def _resolved_record(writer: _Form, reader: _Form) -> _Finish | None:
    pa = pyarrow()
    columns: list[_Finish] = []
    places = {name: position for position, name in enumerate(writer.inside)}
    origins = field_origins(reader.aliases, list(writer.inside))
    for name, form in reader.inside.items():
        if name in origins:
            inner = _resolution(writer.inside[origins[name]], form)
            if inner is None:
                return None
            columns.append(_field_of(places[origins[name]], inner))
            continue
        default = reader.defaults.get(name)
        if name in reader.defaults and default is None and form.kind == "null?":
            columns.append(_filled(None, form.type))
        elif form.kind in ("boolean", "int", "long", "string") and type(default) is _DEFAULTS[form.kind]:
            columns.append(_filled(default, form.type))
        else:
            return None
    return lambda array: pa.StructArray.from_arrays(
        [finish(array) for finish in columns], fields=list(reader.type), mask=array.is_null()
    )


def _field_of(position: int, inner: _Finish) -> _Finish:
    return lambda array: inner(array.field(position))


def _filled(value: Any, kind: Any) -> _Finish:
    pa = pyarrow()
    return lambda array: pa.repeat(pa.scalar(value, kind), len(array))
