"""Columns of keys and values, of any number of schemas, decoded to Arrow's types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kodec.log.backends.arrow import pyarrow
from kodec.log.values.decoder import DecodedColumn, Message, ValueDecoder
from kodec.log.values.framing import Framed, Part
from kodec.log.values.plain import json_line
from kodec.log.values.schemas import BadSchema, Schema, UnknownSchema
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import FormatError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["decode_column", "json_column", "schema_name", "typed_fields", "typed_part"]

# Without a reader's schema each of them is a column of its own, of all rows.
_MOST_SCHEMAS = 100
_NAMING = ("_schema_id", "contentId", "globalId")
_FRAME = 5


@dataclass(slots=True)
class _Group:
    """The values of one schema.

    Attributes: rows, payloads: which these are, and their data; as arrays where they were found so.
    """

    schema: Schema | None
    message: Message
    rows: Any = field(default_factory=list)
    payloads: Any = field(default_factory=list)


def schema_name(schema: Schema | None) -> str | None:
    """The id of a schema, or else its subject."""
    return None if schema is None else str(schema.subject if schema.id is None else schema.id)


def decode_column(
    decoder: ValueDecoder,
    values: pa.Array | pa.ChunkedArray,
    headers: pa.Array | pa.ChunkedArray | None,
    topic: str,
    part: Part,
) -> DecodedColumn:
    """As `ValueDecoder.decode_column`."""
    pa = pyarrow()
    import pyarrow.compute as compute

    values, headers = _whole(values), None if headers is None else _whole(headers)
    if values.type != pa.binary():
        values = values.cast(pa.binary())
    count, reasons = len(values), dict[int, str]()
    groups = list(_groups(decoder, values, headers, topic, part, reasons))
    known = [
        (_rows(group), pa.repeat(schema_name(group.schema), len(group.rows)).cast(pa.string()))
        for group in groups
    ]
    fixed = None if decoder.reader_schema is None else decoder.column_type
    named_parts: dict[str, list[tuple[Any, Any]]] = {}
    for group, (rows, _) in zip(groups, known, strict=True):
        name, array, wrong = _decoded(decoder, group)
        if fixed is None and name not in named_parts and len(named_parts) == _MOST_SCHEMAS:
            wrong = dict.fromkeys(range(len(rows)), f"there are values of more than {_MOST_SCHEMAS} schemas")
        elif fixed is not None and array is not None and array.type != fixed:
            wrong = dict.fromkeys(
                range(len(rows)), f"{name}: it is not the first message of {decoder.reader_schema}"
            )
        elif array is not None:
            named_parts.setdefault(name, []).append((rows, array))
        for index, reason in wrong.items():
            reasons[rows[index].as_py()] = reason
    texts = _reason_column(reasons, count)
    if fixed is not None:
        column = _scattered([piece for parts in named_parts.values() for piece in parts], count, fixed)
    else:
        columns = {name: _scattered(parts, count, parts[0][1].type) for name, parts in named_parts.items()}
        mask = compute.or_(values.is_null(), texts.is_valid())
        fields = [pa.field(name, column.type) for name, column in columns.items()]
        column = (
            pa.StructArray.from_arrays(list(columns.values()), fields=fields, mask=mask)
            if columns
            else pa.nulls(count, pa.struct([]))
        )
    return DecodedColumn(column, _scattered(known, count, pa.string()), texts)


def json_column(
    decoder: ValueDecoder,
    values: pa.Array | pa.ChunkedArray,
    headers: pa.Array | pa.ChunkedArray | None,
    topic: str,
    part: Part,
) -> DecodedColumn:
    """The same, with JSON of the values on one line each in place of structs."""
    pa = pyarrow()
    texts: list[str | None] = []
    schemas: list[str | None] = []
    reasons: dict[int, str] = {}
    for row, (data, named) in enumerate(_pairs(_whole(values), None if headers is None else _whole(headers))):
        if data is None:
            texts.append(None)
            schemas.append(None)
            continue
        decoded = decoder.decode(data, named, topic=topic, part=part)
        schemas.append(schema_name(decoded.schema))
        texts.append(None if decoded.reason else decoded.json)
        if decoded.reason:
            reasons[row] = decoded.reason
    return DecodedColumn(
        pa.array(texts, pa.string()), pa.array(schemas, pa.string()), _reason_column(reasons, len(texts))
    )


def typed_fields(decoder: ValueDecoder, *names: str) -> list[pa.Field]:
    """The columns of `typed_part` with these names. Raises BadSchema, MissingDependency."""
    pa = pyarrow()
    return [
        pa.field(*column)
        for column in zip(names, (decoder.column_type, pa.string(), pa.string()), strict=True)
    ]


def typed_part(
    decoder: ValueDecoder, values: Any, headers: Any, topic: str, part: Part = "value"
) -> list[pa.Array]:
    """Values as columns of a table: decoded values, their schema, and why they are not decoded.

    With a reader's schema they are of its type; without one JSON, as a table has one type from its beginning.
    """
    decode = json_column if decoder.reader_schema is None else decode_column
    decoded = decode(decoder, values, headers, topic, part)
    return [decoded.values, decoded.schema, decoded.reason]


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pyarrow().ChunkedArray) else column


def _reason_column(reasons: dict[int, str], count: int) -> pa.Array:
    pa = pyarrow()
    return (
        pa.array([reasons.get(row) for row in range(count)], pa.string())
        if reasons
        else pa.nulls(count, pa.string())
    )


def _rows(group: _Group) -> Any:
    pa = pyarrow()
    return group.rows if isinstance(group.rows, pa.Array) else pa.array(group.rows, pa.uint64())


def _scattered(parts: Sequence[tuple[Any, Any]], count: int, kind: Any) -> Any:
    """Arrays whose rows form a column; null if there is none."""
    pa = pyarrow()
    if len(parts) == 1 and len(parts[0][0]) == count:
        return parts[0][1]
    import pyarrow.compute as compute

    rows = pa.concat_arrays([numbers for numbers, _ in parts]) if parts else pa.array([], pa.uint64())
    every = pa.array(range(count), pa.uint64())
    missing = every.filter(compute.invert(compute.is_in(every, value_set=rows)))
    arrays = [*(array for _, array in parts), pa.nulls(len(missing), kind)]
    # sorting the origins of rows gives the place of each row
    return pa.concat_arrays(arrays).take(compute.sort_indices(pa.concat_arrays([rows, missing])))


def _pairs(values: Any, headers: Any) -> Iterator[tuple[bytes | None, list[tuple[str, bytes | None]]]]:
    datas = values.to_pylist()
    if headers is None:
        yield from ((data, []) for data in datas)
        return
    for data, named in zip(datas, headers.to_pylist(), strict=True):
        yield data, [(header["key"], header["value"]) for header in named or ()]


def _groups(
    decoder: ValueDecoder, values: Any, headers: Any, topic: str, part: Part, reasons: dict[int, str]
) -> Iterator[_Group]:
    """The values by their schemas; the reasons of the others are added to `reasons`."""
    pa = pyarrow()
    import pyarrow.compute as compute

    remaining = compute.indices_nonzero(values.is_valid())
    message: Message
    if decoder.framing in ("auto", "confluent") and decoder.source is not None and not _named(headers):
        # most values have 5 leading bytes that are equal for all of a schema
        frames = compute.binary_slice(values, 0, _FRAME).dictionary_encode()
        longest = compute.max(compute.binary_length(values)).as_py() or 0
        slow = []
        if len(frames.dictionary) <= _MOST_SCHEMAS:
            for number, frame in enumerate(frames.dictionary.to_pylist()):
                rows = (
                    pa.array(range(len(values)), pa.uint64())
                    if len(frames.dictionary) == 1 and not values.null_count
                    else compute.indices_nonzero(compute.equal(frames.indices, number))
                )
                if len(frame) < _FRAME or frame[0] != 0 or not 0 < int.from_bytes(frame[1:], "big") < 1 << 31:
                    slow.append(rows)
                    continue
                try:
                    schema = _schema(decoder, decoder.framed(frame, (), part), topic, part)
                except (UnknownSchema, BadSchema) as error:
                    reasons |= dict.fromkeys(rows.to_pylist(), str(error))
                    continue
                selected = values if len(rows) == len(values) else values.take(rows)
                if schema.kind != "protobuf":
                    yield _Group(schema, None, rows, compute.binary_slice(selected, _FRAME, longest))
                    continue
                # the next byte usually selects the message in its schema
                heads = compute.binary_slice(selected, 0, _FRAME + 1).dictionary_encode()
                for index, head in enumerate(heads.dictionary.to_pylist()):
                    mask = compute.equal(heads.indices, index)
                    try:
                        message, _ = decoder.payload(head, decoder.framed(head, (), part), schema)
                    except (FormatError, ValueError):
                        slow.append(rows.filter(mask))
                        continue
                    data = compute.binary_slice(selected.filter(mask), _FRAME + 1, longest)
                    yield _Group(schema, message, rows.filter(mask), data)
            remaining = (
                pa.concat_arrays([numbers.cast(pa.uint64()) for numbers in slow])
                if slow
                else remaining.slice(0, 0)
            )
    if not len(remaining):
        return
    groups: dict[tuple[Schema | None, Message], _Group] = {}
    several = len(remaining) == len(values)
    columns = (
        (values, headers)
        if several
        else (values.take(remaining), None if headers is None else headers.take(remaining))
    )
    known: Schema | None
    for row, (data, names) in zip(remaining.to_pylist(), _pairs(*columns), strict=True):
        known, message = None, None
        try:
            assert data is not None  # nulls are not rows of these
            framed = decoder.framed(data, names, part)
            if decoder.source is not None or decoder.format != "json-schema":
                known = _schema(decoder, framed, topic, part)
            payload = data if framed is None else framed.payload
            if known is not None and known.kind != "json-schema":
                message, payload = decoder.payload(data, framed, known)
        except (UnknownSchema, BadSchema) as error:
            reasons[row] = str(error)
        except FormatError as error:
            reasons[row] = f"no framing of a registry: {error}"
        except ValueError as error:
            reasons[row] = f"not decoded by {known}: {error}"
        else:
            group = groups.setdefault((known, message), _Group(known, message))
            group.rows.append(row)
            group.payloads.append(payload)
    yield from groups.values()


def _named(headers: Any) -> bool:
    """Whether a header may name a schema."""
    if headers is None:
        return False
    names = headers.flatten().field("key").unique().to_pylist()
    return any(name.endswith(_NAMING) for name in names)


def _schema(decoder: ValueDecoder, framed: Framed | None, topic: str, part: Part) -> Schema:
    schema = decoder.schema_of(framed, topic, part)
    if decoder.format not in ("auto", schema.kind):
        raise BadSchema(f"{schema} is {schema.kind}, not {decoder.format}")
    return schema


def _decoded(decoder: ValueDecoder, group: _Group) -> tuple[str, Any, dict[int, str]]:
    """The values of a group: the name of their column, the values, and the reason of each invalid one."""
    pa = pyarrow()
    schema = group.schema
    name = schema_name(schema) or "json"
    try:
        if schema is None or schema.kind == "json-schema":
            if decoder.reader_schema is not None:
                raise BadSchema(f"JSON does not resolve to {decoder.reader_schema.kind}")
            payloads = group.payloads
            texts = [
                _json(payload)
                for payload in (payloads.to_pylist() if isinstance(payloads, pa.Array) else payloads)
            ]
            wrong = {index: str(error) for index, error in enumerate(texts) if isinstance(error, Exception)}
            array = pa.array([None if isinstance(text, Exception) else text for text in texts], pa.string())
        else:
            reader = decoder.column_reader(schema, group.message)
            name += getattr(reader, "suffix", "")
            array, wrong = reader.decode(pa.array(group.payloads, pa.binary()))
    except BadSchema as error:
        return name, None, dict.fromkeys(range(len(group.payloads)), str(error))
    return (
        name,
        array,
        {index: f"not decoded by {schema or 'JSON'}: {text:.300}" for index, text in wrong.items()},
    )


def _json(payload: bytes) -> str | Exception:
    try:
        return json_line(payload)
    except (ValueError, RecursionError) as error:
        return error
