"""Records printed as lines for people, JSON Lines, CSV, or by a template."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable

from kodec.cli import output
from kodec.log.batches.records import Record
from kodec.log.values.decoder import ValueDecoder
from kodec.log.values.formats import FORMATS, ReadableValue, ValueFormat, readable, readable_record
from kodec.runtime.formulas import guarded

__all__ = ["Show", "as_csv", "as_json_lines", "as_text", "by_template"]

Show = Callable[[Record], None]
_WIDE = 160


def as_text(key: ValueFormat, value: ValueFormat, decoder: ValueDecoder | None = None) -> Show:
    """A line for people: topic-partition, offset, time in UTC, key, value, headers."""

    def show(record: Record) -> None:
        texts = readable_record(record.topic or "", record, key, value, decoder)
        line = f"{record.topic_partition}  {record.offset}  {output.time_of(record.timestamp)}"
        line += f"  {_short(texts.key)} = {_short(texts.value)}"
        if texts.headers:
            shown = (f"{output.name_or_quoted(name)}: {_short(header)}" for name, header in texts.headers)
            line += "  {" + ", ".join(shown) + "}"
        output.show(line)

    return show


def as_json_lines(key: ValueFormat, value: ValueFormat, decoder: ValueDecoder | None = None) -> Show:
    """A JSON object on a line, with the format of each part."""

    def show(record: Record) -> None:
        texts = readable_record(record.topic or "", record, key, value, decoder)
        facts = {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestampType": str(record.timestamp_type),
        }
        headers = ", ".join(
            f'{{"key": {json.dumps(output.unescaped(name))}, {_parts("value", header)}}}'
            for name, header in texts.headers
        )
        parts = f'{_parts("key", texts.key)}, {_parts("value", texts.value)}, "headers": [{headers}]'
        print(f"{json.dumps(facts)[:-1]}, {parts}}}")

    return show


def as_csv(
    key: ValueFormat, value: ValueFormat, decoder: ValueDecoder | None = None, *, guard_formulas: bool = False
) -> Show:
    """Rows of CSV after a row of names. A null is an empty cell, an empty text has quotes; headers are the
    text of a JSON list.

    With `guard_formulas` cells are as of `kodec.runtime.formulas`.
    """
    cell_text: Callable[[str], str] = guarded if guard_formulas else str
    print("topic,partition,offset,timestamp,key,value,headers")

    def show(record: Record) -> None:
        texts = readable_record(record.topic or "", record, key, value, decoder)
        headers = [
            [output.unescaped(name), None if header is None else header.text]
            for name, header in texts.headers
        ]
        parts = (None if part is None else cell_text(part.text) for part in (texts.key, texts.value))
        of_headers = json.dumps(headers) if headers else None
        cells = map(_cell, (record.topic, *parts, of_headers))
        print(next(cells), record.partition, record.offset, record.timestamp, *cells, sep=",")

    return show


def _cell(text: str | None) -> str:
    """A cell of CSV: with quotes an empty text, without null, as Arrow writes and PostgreSQL reads them."""
    if text is None:
        return ""
    return text if text and not _QUOTED.search(text) else '"' + text.replace('"', '""') + '"'


_QUOTED = re.compile(r'[",\r\n]|^\s|\s\Z')
_FIELD = re.compile(r"%(?:%|([a-zA-Z])(?:\{([\w-]+)\})?)|\\([nrt0\\])|[^%\\]+|.", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "\\": "\\"}
Part = Callable[[Record], str]


def by_template(
    template: str,
    key: ValueFormat,
    value: ValueFormat,
    decoder: ValueDecoder | None = None,
    null: str = "null",
) -> Show:
    r"""Prints each record by a template, without adding a line break.

    Like `-f` of kcat and rpk: %t topic, %p partition, %o offset, %T or %d timestamp in ms, %k key, %v or
    %s value (null is `null`, by default as Kafka's console consumer prints it), %h headers, %K and %V or %S
    the bytes of key and value (-1: null), %% a percent sign; \n, \r, \t, \0 and \\. `%v{hex}` prints the
    value in that format. Raises ValueError.
    """
    parts: list[Part] = []
    for match in _FIELD.finditer(template):
        letter, form, escape = match.groups()
        if letter is not None:
            parts.append(_field(letter, form, key, value, decoder, null))
        else:
            word = match.group()
            text = "%" if word == "%%" else _ESCAPES[escape] if escape else word
            if text == "%" and word == "%":
                raise ValueError("a letter is missing after the last %")
            parts.append(_constant(text))

    if "%" not in template:
        near = f"; did you mean --{template}?" if template in ("json", "csv") else ""
        raise ValueError(f"{template!r} has no field, as %v is one{near}")

    def show(record: Record) -> None:
        sys.stdout.write("".join(part(record) for part in parts))

    return show


def _field(
    letter: str,
    form: str | None,
    key: ValueFormat,
    value: ValueFormat,
    decoder: ValueDecoder | None,
    null: str,
) -> Part:
    """The function for `%letter{form}`. Raises ValueError."""
    part_format = next((known_format for known_format in FORMATS if known_format == form), None)
    if form is not None and (part_format is None or letter not in "kvs"):
        raise ValueError(f"%{letter}{{{form}}}: %k, %v and %s support {', '.join(FORMATS)}")

    def text(part: ReadableValue | None) -> str:
        return null if part is None else part.text

    fields: dict[str, Part] = {
        "t": lambda record: str(record.topic),
        "p": lambda record: str(record.partition),
        "o": lambda record: str(record.offset),
        "T": lambda record: str(record.timestamp),
        "k": lambda record: text(
            readable_record(record.topic or "", record, part_format or key, "hex", decoder).key
        ),
        "v": lambda record: text(
            readable_record(record.topic or "", record, "hex", part_format or value, decoder).value
        ),
        "h": lambda record: ",".join(f"{name}={text(readable(data))}" for name, data in record.headers),
        "K": lambda record: str(-1 if record.key is None else len(record.key)),
        "V": lambda record: str(-1 if record.value is None else len(record.value)),
    }
    fields |= {"d": fields["T"], "s": fields["v"], "S": fields["V"]}
    if letter not in fields:
        raise ValueError(f"%{letter}: there are {', '.join('%' + known for known in sorted(fields))}")
    return fields[letter]


def _constant(text: str) -> Part:
    return lambda _record: text


def _parts(name: str, value: ReadableValue | None) -> str:
    """The members of a JSON object for a key or a value."""
    if value is None:
        return f'"{name}": null'
    reason = f', "{name}Reason": {json.dumps(value.reason)}' if value.reason else ""
    schema = f', "{name}Schema": {json.dumps(value.schema)}' if value.schema else ""
    return f'"{name}": {value.json}, "{name}Format": "{value.format}"{schema}{reason}'


def _short(value: ReadableValue | None) -> str:
    if value is None:
        return "null"
    is_cut = len(value.text) > _WIDE
    text = f"{value.text[:_WIDE]}…" if is_cut else value.text
    if value.format == "text":
        text = output.quoted(text)
    elif not value.is_json or text == "null":
        text = f"{value.format}:{text}"
    notes = [f"{len(value.text)} characters"] * is_cut + [value.reason] * bool(value.reason)
    return " ".join([text, *(f"({note})" for note in notes)])
