"""Records printed as lines for people, JSON Lines, CSV, or by a template."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable

from kodec.cli import output
from kodec.log.batches.records import Record
from kodec.log.files.listing import TopicPartition
from kodec.log.values.decoder import ValueDecoder
from kodec.log.values.formats import FORMATS, ReadableValue, ValueFormat, readable, readable_record

__all__ = ["Show", "as_csv", "as_json_lines", "as_text", "by_template"]

Show = Callable[[TopicPartition, Record], None]
_WIDE = 160


def as_text(key: ValueFormat, value: ValueFormat, decoder: ValueDecoder | None = None) -> Show:
    """A line for people: topic-partition, offset, time in UTC, key, value, headers."""

    def show(log: TopicPartition, record: Record) -> None:
        texts = readable_record(log.topic, record, key, value, decoder)
        line = f"{log}  {record.offset}  {output.time_of(record.timestamp)}"
        line += f"  {_short(texts.key)} = {_short(texts.value)}"
        if texts.headers:
            line += "  {" + ", ".join(f"{name}: {_short(each)}" for name, each in texts.headers) + "}"
        output.show(line)

    return show


def as_json_lines(key: ValueFormat, value: ValueFormat, decoder: ValueDecoder | None = None) -> Show:
    """A JSON object on a line, with the format of each part."""

    def show(log: TopicPartition, record: Record) -> None:
        texts = readable_record(log.topic, record, key, value, decoder)
        facts = {
            "topic": log.topic,
            "partition": log.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestampType": str(record.timestamp_type),
        }
        headers = ", ".join(
            f'{{"key": {json.dumps(output.unescaped(name))}, {_parts("value", each)}}}'
            for name, each in texts.headers
        )
        parts = f'{_parts("key", texts.key)}, {_parts("value", texts.value)}, "headers": [{headers}]'
        print(f"{json.dumps(facts)[:-1]}, {parts}}}")

    return show


def as_csv(key: ValueFormat, value: ValueFormat, decoder: ValueDecoder | None = None) -> Show:
    """Rows of CSV after a row of names. A null is an empty cell; headers are a JSON object's text."""
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["topic", "partition", "offset", "timestamp", "key", "value", "headers"])

    def show(log: TopicPartition, record: Record) -> None:
        texts = readable_record(log.topic, record, key, value, decoder)
        headers = [
            [output.unescaped(name), None if each is None else each.text] for name, each in texts.headers
        ]
        cells = ["" if each is None else each.text for each in (texts.key, texts.value)]
        rows.writerow(
            [
                log.topic,
                log.partition,
                record.offset,
                record.timestamp,
                *cells,
                json.dumps(headers) if headers else "",
            ]
        )

    return show


_FIELD = re.compile(r"%(?:%|([a-zA-Z])(?:\{([\w-]+)\})?)|\\([nrt0\\])|[^%\\]+|.", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "\\": "\\"}
Part = Callable[[TopicPartition, Record], str]


def by_template(
    template: str, key: ValueFormat, value: ValueFormat, decoder: ValueDecoder | None = None
) -> Show:
    r"""Prints each record by a template, without adding a line break.

    Like `-f` of kcat and rpk: %t topic, %p partition, %o offset, %T or %d timestamp in ms, %k key, %v or
    %s value, %h headers, %K and %V or %S the bytes of key and value (-1: null), %% a percent sign; \n, \r,
    \t, \0 and \\. `%v{hex}` prints the value in that format. Raises ValueError.
    """
    parts: list[Part] = []
    for found in _FIELD.finditer(template):
        letter, form, escape = found.groups()
        if letter is not None:
            parts.append(_field(letter, form, key, value, decoder))
        else:
            word = found.group()
            text = "%" if word == "%%" else _ESCAPES[escape] if escape else word
            if text == "%" and word == "%":
                raise ValueError("a letter is missing after the last %")
            parts.append(_constant(text))

    def show(log: TopicPartition, record: Record) -> None:
        sys.stdout.write("".join(part(log, record) for part in parts))

    return show


def _field(
    letter: str, form: str | None, key: ValueFormat, value: ValueFormat, decoder: ValueDecoder | None
) -> Part:
    """The function for `%letter{form}`. Raises ValueError."""
    chosen = next((each for each in FORMATS if each == form), None)
    if form is not None and (chosen is None or letter not in "kvs"):
        raise ValueError(f"%{letter}{{{form}}}: %k, %v and %s support {', '.join(FORMATS)}")
    fields: dict[str, Part] = {
        "t": lambda log, _: log.topic,
        "p": lambda log, _: str(log.partition),
        "o": lambda _, record: str(record.offset),
        "T": lambda _, record: str(record.timestamp),
        "k": lambda log, record: _text(readable_record(log.topic, record, chosen or key, "hex", decoder).key),
        "v": lambda log, record: _text(
            readable_record(log.topic, record, "hex", chosen or value, decoder).value
        ),
        "h": lambda _, record: ",".join(f"{name}={_text(readable(data))}" for name, data in record.headers),
        "K": lambda _, record: str(-1 if record.key is None else len(record.key)),
        "V": lambda _, record: str(-1 if record.value is None else len(record.value)),
    }
    fields |= {"d": fields["T"], "s": fields["v"], "S": fields["V"]}
    if letter not in fields:
        raise ValueError(f"%{letter}: there are {', '.join('%' + each for each in sorted(fields))}")
    return fields[letter]


def _constant(text: str) -> Part:
    return lambda _log, _record: text


def _text(found: ReadableValue | None) -> str:
    return "" if found is None else found.text


def _parts(name: str, found: ReadableValue | None) -> str:
    """The members of a JSON object for a key or a value."""
    if found is None:
        return f'"{name}": null'
    reason = f', "{name}Reason": {json.dumps(found.reason)}' if found.reason else ""
    schema = f', "{name}Schema": {json.dumps(found.schema)}' if found.schema else ""
    return f'"{name}": {found.json}, "{name}Format": "{found.format}"{schema}{reason}'


def _short(found: ReadableValue | None) -> str:
    if found is None:
        return "null"
    text = found.text if len(found.text) <= _WIDE else f"{found.text[:_WIDE]}… ({len(found.text)} characters)"
    shown = text if found.is_json else f'"{text}"' if found.format == "text" else f"{found.format}:{text}"
    return f"{shown} ({found.reason})" if found.reason else shown
