"""Which messages are read and written natively: those with nothing that the native code does not know."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from kodec.generator.driver import load
from kodec.generator.modules import Modules
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.tables import message_tables
from kodec.runtime.errors import FormatError
from kodec.runtime.messages import in_python
from kodec.runtime.native import native_module
from tests.data import ROOT

PRIMITIVES = ROOT / "schemas/primitives"
HEAD = """meta: {id: NAME, endian: be, encoding: UTF-8, imports: [unsigned_varint, tagged_fields]}
-versions: 0-2
params: [{id: version, type: s2}]
seq:
  - {id: number, type: s4}
  - {id: len_text, type: s2, valid: {min: 0}, -derive: length_of(text)}
  - {id: text, type: str, size: len_text}
"""
TAIL = """types:
  part:
    seq: [{id: x, type: s1}]
  letter:
    -versions: 0-1
    seq:
      - {id: version, type: u1}
      - {id: new, type: s1, if: version >= 1, -since: 1}
enums:
  color: {0: red}
"""
PARTS = {
    "Part": ['messages.Wire("x", "s1")'],
    "Letter": [
        'messages.Wire("version", "u1", is_version=True)',
        'messages.Wire("new", "s1", 1, 1)',
    ],
}
TABLE = ['"number", "s4"', '"text", messages.Counted("text", "s2")']


KNOWN = {
    "nothing more": ("", TABLE),
    "a field since": (
        "  - {id: since, type: u8, if: version >= 1, -since: 1}\n",
        [*TABLE, '"since", "u8", 1, 2'],
    ),
    "a field until": (
        "  - {id: until, type: f8, if: version <= 1, -until: 1, -ignorable: true}\n",
        [*TABLE, '"until", "f8", 0, 1, ignorable=True'],
    ),
    "objects": (
        "  - {id: one, type: part}\n"
        "  - {id: num_parts, type: u1, -derive: count_of(parts)}\n"
        "  - {id: parts, type: part, repeat: expr, repeat-expr: num_parts}\n",
        [*TABLE, '"one", Part', '"parts", messages.Counted("list", "u1", Part)'],
    ),
    "a list that may be null": (
        "  - {id: num_ids, type: unsigned_varint, -derive: count_of(ids) + 1}\n"
        "  - {id: ids, type: s4, repeat: expr, repeat-expr: num_ids.value - 1, if: num_ids.value >= 1,\n"
        "     -nullable: num_ids.value == 0}\n",
        [*TABLE, '"ids", messages.Counted("list", "uvarint32", "s4", plus=1, null=True)'],
    ),
    "tags": (
        "  - {id: others, type: tagged_fields, if: version >= 2, -since: 2}\n",
        [*TABLE, '"others", "tags", 2, 2'],
    ),
    "one value only": (
        "  - {id: magic, type: s1, valid: {eq: -3}}\n",
        [*TABLE, '"magic", messages.Only("s1", -3)'],
    ),
}

UNKNOWN = {
    "a rule": "  - {id: more, type: s4, valid: {min: 3}}\n",
    "several values": "  - {id: more, type: s4, valid: {any-of: [0, 4]}}\n",
    "one of eight bytes": "  - {id: more, type: s8, valid: {eq: 0}}\n",
    "a rule of elements": "  - {id: num_more, type: u1, -derive: count_of(more)}\n"
    "  - {id: more, type: s4, repeat: expr, repeat-expr: num_more, valid: {max: 3}}\n",
    "a condition": "  - {id: more, type: s4, if: number > 0, -default: 0}\n",
    "an enum": "  - {id: more, type: u1, enum: color}\n",
    "bits": "  - {id: more, type: b3}\n  - {id: rest, type: b5}\n",
    "the other byte order": "  - {id: more, type: s4le}\n",
    "another encoding": "  - {id: len_more, type: u1, -derive: length_of(more)}\n"
    "  - {id: more, type: str, size: len_more, encoding: ASCII}\n",
    "fixed bytes": "  - {id: more, contents: [1, 2]}\n",
    "bytes of one size": "  - {id: more, size: 3}\n",
    "a list of one size": "  - {id: more, type: s4, repeat: expr, repeat-expr: 2}\n",
    "a list to the end": "  - {id: more, type: s4, repeat: eos}\n",
    "a length plus two": "  - {id: len_more, type: u1, valid: {min: 2}, -derive: length_of(more) + 2}\n"
    "  - {id: more, size: len_more - 2}\n",
    "a count further away": "  - {id: num_more, type: u1, -derive: count_of(more)}\n"
    "  - {id: flag, type: u1}\n"
    "  - {id: more, type: s4, repeat: expr, repeat-expr: num_more}\n",
    "an object with a version of its own": "  - {id: more, type: letter}\n",
    "a length of several": "  - {id: len_both, type: u2, -derive: length_of(one..two)}\n"
    "  - {id: one, type: u1}\n  - {id: two, type: u1}\n",
}


CASES = [*KNOWN, *UNKNOWN]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Any, dict[str, list[str]]]]]:
    """Of each case, the class of its message and its table."""
    folder = tmp_path_factory.mktemp("tables")
    for path in PRIMITIVES.glob("*.ksy"):
        shutil.copy(path, folder)
    lines = {case: known[0] for case, known in KNOWN.items()} | UNKNOWN
    for number, case in enumerate(CASES):
        text = HEAD.replace("NAME", f"note{number}") + lines[case] + TAIL
        (folder / f"note{number}.ksy").write_text(text)
    (folder / "plain.ksy").write_text("meta: {id: plain, endian: be}\nseq: [{id: number, type: s4}]\n")
    model = load(folder)
    facts = ModelIndex(model)
    with Modules(model) as modules:
        found = {}
        for number, case in enumerate(CASES):
            schema = model.schema(f"note{number}")
            found[case] = (
                getattr(modules.of(schema), f"Note{number}"),
                message_tables(facts, schema),
            )
        plain = model.schema("plain")
        found["plain"] = (modules.of(plain).Plain, message_tables(facts, plain))
        yield found


def check_native(kind: Any, wanted: bool) -> None:
    native = native_module("messages")
    if native is not None:
        assert isinstance(kind.from_bytes, native.Function) == wanted
        assert isinstance(kind.to_bytes, native.Method) == wanted


@pytest.mark.parametrize("case", KNOWN)
def test_what_is_known(made: dict[str, tuple[Any, dict[str, list[str]]]], case: str) -> None:
    kind, table = made[case]
    assert table == {kind.__name__: [f"messages.Wire({row})" for row in KNOWN[case][1]], **PARTS}
    check_native(kind, True)
    both(kind, case)


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_is_left_to_python(made: dict[str, tuple[Any, dict[str, list[str]]]], case: str) -> None:
    kind, table = made[case]
    assert table == {}
    check_native(kind, False)
    both(kind, case)


def test_what_is_no_message_is_left_to_python(made: dict[str, tuple[Any, dict[str, list[str]]]]) -> None:
    kind, table = made["plain"]
    assert table == {}
    check_native(kind, False)


# what else a value needs, that can be written
GIVEN: dict[str, dict[str, Any]] = {
    "a rule": {"more": 3},
    "several values": {"more": 4},
    "a rule of elements": {"more": [1, 2]},
    "bytes of one size": {"more": b"abc"},
    "a list of one size": {"more": [1, 2]},
}


def both(kind: Any, case: str) -> None:
    """A value in each version, whole and cut, natively or not."""
    for version in range(3):
        value = kind(number=7, text="caf\u00e9", **GIVEN.get(case, {}))
        data = in_python(kind.to_bytes)(value, version=version)
        assert value.to_bytes(version=version) == data
        assert kind.from_bytes(data, version=version) == value
        for size in range(len(data)):
            said = []
            for read in (kind.from_bytes, in_python(kind.from_bytes)):
                try:
                    said.append(repr(read(data[:size], version=version)))
                except FormatError as error:
                    said.append(repr(error))
            assert said[0] == said[1]
