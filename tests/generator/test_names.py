"""Names that schemas share and Python would confuse: types, enums, modules, locals."""

# ruff: noqa: E501  (a schema on one line is easier to compare with its bytes)

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from kodec.generator.driver import generate

from .conftest import write

Codec = Callable[..., ModuleType]


def test_a_type_and_an_enum_of_one_name(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: a, type: kind}\ntypes:\n  kind:\n    seq:\n    - {id: b, type: u1, enum: kind, -default: some}\n"
        "enums:\n  kind: {0: none, 1: some}\n"
    )
    assert x.X.from_bytes(b"\x01").a == x.Kind(b=x.XKind.SOME) == x.Kind()


def test_two_types_and_two_enums_of_one_name(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: a, type: p}\n- {id: b, type: q}\ntypes:\n"
        "  p:\n    seq:\n    - {id: c, type: inner}\n    types:\n"
        "      inner: {seq: [{id: d, type: u1, enum: kind}], enums: {kind: {0: zero, 1: one}}}\n"
        "  q:\n    seq:\n    - {id: c, type: inner}\n    types:\n"
        "      inner: {seq: [{id: d, type: u2, enum: kind}], enums: {kind: {1: two}}}\n"
    )
    found = x.X.from_bytes(b"\x01\x00\x01")
    assert (found.a.c.d.name, found.b.c.d.name) == ("ONE", "TWO")
    assert type(found.a.c) is x.PInner and type(found.b.c) is x.QInner
    assert found.to_bytes() == b"\x01\x00\x01"


_ONE = "{seq: [{id: v, type: u1}]}"
_TWO = "{seq: [{id: v, type: u2}]}"


@pytest.mark.parametrize("streamed", [False, True], ids=["layouts", "streams"])
@pytest.mark.parametrize(
    "fields, types, classes",
    [
        ("x, p", f"{{x: {_ONE}, p: {_TWO}}}", "XX P"),
        ("p, x", f"{{p: {{seq: [{{id: v, type: x}}], types: {{x: {_ONE}}}}}, x: {_TWO}}}", "P XX"),
        ("x_x, x", f"{{x_x: {_ONE}, x: {_TWO}}}", "XX XX_"),
        ("a_1, a1", f"{{a_1: {_ONE}, a1: {_TWO}}}", "A1 XA1"),
        (
            "q_r, 'q::r', 'p::r'",
            f"{{q_r: {_ONE}, q: {{types: {{r: {_TWO}}}}}, p: {{types: {{r: {_ONE}}}}}}}",
            "QR XQR PR",
        ),
        ("x_e, e", f"{{x_e: {_ONE}, e: {{seq: [{{id: v, type: u2, enum: e}}]}}}}", "XE E"),
    ],
)
def test_names_of_one_module_that_Python_would_share(
    fields: str, types: str, classes: str, codec: Codec, *, streamed: bool
) -> None:
    """A type is never another one: each has its class, and the schema's own has the schema's name."""
    names = [each.strip() for each in fields.split(",")]
    seq = "".join(f"- {{id: f{index}, type: {name}}}\n" for index, name in enumerate(names))
    instances = "instances: {i: {pos: 0, type: u1}}\n" if streamed else ""
    x = codec(f"seq:\n{seq}types: {types}\n{instances}enums: {{e: {{7: seven}}}}\n")
    data = bytes(range(1, 9))
    read = x.X.from_bytes(data, exact=False)
    held = [getattr(read, f"f{index}") for index in range(len(names))]
    assert [type(each).__name__ for each in held] == classes.split()
    at = 0
    for each in held:
        size = len(each.to_bytes())
        while not isinstance(each.v, int):
            each = each.v
        assert each.v == int.from_bytes(data[at : at + size], "big")
        at += size
    assert read.to_bytes()[:at] == data[:at]
    assert (
        len({kind for name, kind in vars(x).items() if name == getattr(kind, "__name__", "")})
        >= len(names) + 1
    )


def test_two_modules_that_have_the_name(codec: Codec) -> None:
    part = "meta: {{id: {0}}}\ntypes:\n  part: {{seq: [{{id: a, type: {1}}}]}}\n"
    x = codec(
        {
            "one.ksy": part.format("one", "u1"),
            "deep/two.ksy": part.format("two", "u2be"),
            "x.ksy": "meta: {id: x, imports: [one, deep/two]}\nseq:\n- {id: p, type: 'one::part'}\n"
            "- {id: q, type: 'two::part'}\n- {id: r, type: part}\ntypes:\n  part: {seq: [{id: a, type: u4be}]}\n",
        }
    )
    data = bytes([1, 0, 2, 0, 0, 0, 3])
    found = x.X.from_bytes(data)
    assert (found.p.a, found.q.a, found.r.a) == (1, 2, 3)
    assert len({type(found.p), type(found.q), type(found.r)}) == 3
    assert found.to_bytes() == data


def test_fields_called_as_the_templates_call_things(codec: Codec) -> None:
    names = [
        "buf",
        "end",
        "opt",
        "out",
        "stop",
        "v",
        "item",
        "count",
        "found",
        "limit",
        "chosen",
        "computed",
        "self",
        "size",
        "memoryview",
        "span",
        "read_x",
        "error",
    ]
    fields = "".join(f"- {{id: {name}, type: u1}}\n" for name in names)
    x = codec(
        f"seq:\n{fields}- {{id: tag, type: u1, repeat: expr, repeat-expr: count}}\n- {{id: cls, type: str, size: stop, encoding: UTF-16LE}}\n"
        "- {id: value, type: {switch-on: v, cases: {5: u2}}, size: 2}\n- {id: pos, type: u4, -derive: crc32(buf..value)}\n"
    )
    value = x.X(**{name: index for index, name in enumerate(names)}, tag=[7] * 7, cls="hi", value=258)
    assert (value.stop, value.count, value.v) == (4, 7, 5)
    assert x.X.from_bytes(value.to_bytes()).cls == "hi"
    assert x.X.from_bytes(value.to_bytes()).value == 258


def test_a_conditional_part_of_bits(codec: Codec) -> None:
    x = codec(
        "seq:\n- {id: n, type: u1}\n- {id: a, type: p, if: n > 0}\n- {id: b, type: p, repeat: expr, repeat-expr: 2}\n"
        "types:\n  p:\n    seq:\n    - {id: c, type: b3}\n    - {id: d, type: b5}\n    - {id: e, type: u1}\n    - {id: f, type: b12}\n    - {id: g, type: b12}\n"
    )
    one = bytes([0b101_00011, 9, 0x12, 0x34, 0x56])
    found = x.X.from_bytes(b"\x01" + one * 3)
    assert found.a == found.b[0] == found.b[1] == x.P(c=5, d=3, e=9, f=0x123, g=0x456)
    assert found.to_bytes() == b"\x01" + one * 3
    assert x.X.from_bytes(b"\x00" + one * 2).a is None


NAMES = [
    "a",
    "st",
    "pytest",
    "few",
    "given",
    "data",
    "value",
    "setting",
    "i",
    "field",
    "version",
    "list",
    "check_flips",
    "fields",
    "assume",
    "clas",
]


def test_generated_tests_of_any_name_are_sound(tmp_path: Path) -> None:
    """No schema, type or strategy takes the name of what its module of tests has otherwise."""
    schemas = {f"{name}.ksy": f"meta: {{id: {name}}}\nseq: [{{id: b, type: u1}}]\n" for name in NAMES}
    types = "types: {p: {types: {q: {seq: [{id: b, type: u1}]}}, seq: [{id: k, type: q}]}, p_q: {seq: [{id: b, type: u1}]}}"
    schemas["two.ksy"] = f"meta: {{id: two}}\nseq: [{{id: b, type: p}}]\n{types}\n"
    generate(write(tmp_path / "schemas", schemas), tmp_path / "out", tests=tmp_path / "tests", package="out")
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert f"{3 * (len(NAMES) + 4)} passed" in done.stdout, done.stdout
