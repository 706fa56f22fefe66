"""A table of derivations: what is written can be read, and is equal to what was made.

Forms of `-derive`, times keys of the field, times conditions of what it is derived of; of each the field is
missing, given, and stale after a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import pytest

from kodec.generator.code.machine import Code, Machine
from kodec.generator.modules import Modules
from kodec.generator.plan.build import program_of
from kodec.generator.plan.streams import streams_of
from kodec.generator.problems import SchemaError
from kodec.generator.schema.expression_types import Kinds
from kodec.generator.schema.model import Model
from kodec.runtime.dataclass import fields
from kodec.runtime.errors import EncodeError

WRONG = 77


class Form(NamedTuple):
    """A field `d`, what it is derived of, two values of that, and how many variants are accepted."""

    type: str
    derive: str
    fields: str
    values: str
    layouts: int
    streams: int


BYTES, LISTS = "b'', b'ab'", "[], [3, 9]"
PARTS = "[], [x.P(v=3), x.P(v=9), x.P(v=4)]"
TWO = "b'cd', b'ab'"
FORMS = {
    "length": Form("u1", "length_of(a)", "- {id: a, size: d%s}\n", BYTES, 3, 10),
    "length and 1": Form("u1", "length_of(a) + 1", "- {id: a, size: d - 1%s}\n", BYTES, 3, 10),
    "length of an object": Form(
        "u1", "length_of(a)", "- {id: a, size: d, type: q%s}\n", "x.Q(w=b''), x.Q(w=b'xy')", 3, 10
    ),
    "length of a range": Form(
        "u1", "length_of(b..a)", "- {id: b, type: u1}\n- {id: a, size: 2%s}\n", TWO, 2, 10
    ),
    "count": Form("u1", "count_of(a)", "- {id: a, type: u2, repeat: expr, repeat-expr: d%s}\n", LISTS, 2, 6),
    "count of objects": Form(
        "u1", "count_of(a)", "- {id: a, type: p, repeat: expr, repeat-expr: d%s}\n", PARTS, 2, 6
    ),
    "CRC of a range": Form("u4", "crc32(b..a)", "- {id: b, type: u1}\n- {id: a, size: 2%s}\n", TWO, 2, 8),
    "CRC of a field": Form("u4", "crc32c(a..a)", "- {id: a, size: 2%s}\n", TWO, 1, 8),
    "last": Form("u1", "last(a.v)", "- {id: a, type: p, repeat: eos%s}\n", PARTS, 6, 0),
    "most": Form("u1", "max(a.v)", "- {id: a, type: p, repeat: eos%s}\n", PARTS, 6, 0),
    "most and another": Form("u1", "max(a.v) + f", "- {id: a, type: p, repeat: eos%s}\n", PARTS, 6, 0),
    "position": Form("u1", "position_of(a)", "- {id: a, size: 2%s}\n", TWO, 0, 10),
    "sum": Form("u2", "sum(b..a) & 0xff", "- {id: b, type: u1}\n- {id: a, size: 2%s}\n", TWO, 0, 8),
    "digest": Form("", "md5(a)", "- {id: a, size: 2%s}\n", TWO, 0, 8),
    "presence": Form(
        "s1", "presence_of(a)", "- {id: a, type: p, if: d > 0, -nullable: d == -1}\n", "None, x.P(v=5)", 1, 0
    ),
}
# without a key: sizes, counts, conditions and tags
IMPLIED = {
    "size": ("- {id: n, type: u1}\n- {id: a, size: n}\n", "b'', b'ab'"),
    "size in parts": ("- {id: n, type: u1}\n- {id: a, size: n * 2}\n", "b'', b'abcd'"),
    "count": ("- {id: n, type: u1}\n- {id: a, type: u2, repeat: expr, repeat-expr: n}\n", "[], [1, 2]"),
    "tag": (
        "- {id: n, type: u1}\n- {id: a, size: 1, type: {switch-on: n, cases: {1: p, 2: r}}}\n",
        "x.P(v=1), x.R(v=1)",
    ),
}
KEYS = {
    "plain": ("", "%s"),
    "conditional": (", if: f < 2", "%s"),
    "at times": ("", "{value: %s, when: f == 1}"),
    "at least": ("", "{value: %s, verify: at_least}"),
    "unread": ("", "{value: %s, verify: no}"),
}
CONDITIONS = {"plain": "", "conditional": ", if: f == 1", "nullable": ", if: d >= 0, -nullable: d == -1"}
TYPES = "types:\n  p: {seq: [{id: v, type: u1}]}\n  q: {seq: [{id: w, size-eos: true}]}\n"


def variants(form: Form, *, streamed: bool) -> Iterator[tuple[str, str]]:
    """(name, schema) of each."""
    least = 1 if form.derive.endswith("+ 1") else 0
    if streamed and "eos" in form.fields:
        return
    for key, (condition, derive) in KEYS.items():
        for other, text in CONDITIONS.items():
            if other != "plain" and (
                "%s" not in form.fields or (other == "nullable" and "2%s" in form.fields)
            ):
                continue
            nullable = other == "nullable"
            kind = f"type: {'s1' if nullable and not least else form.type}" if form.type else "size: 16"
            text = text.replace(">= 0", f">= {least}").replace("== -1", f"== {least - 1}")
            fields = form.fields % text if "%s" in form.fields else form.fields
            head = "" if streamed else "-topic: t\n"
            tail = "- {id: z, type: strz, encoding: ASCII}\n" if streamed else ""
            own = f"- {{id: d, {kind}{condition}, -derive: {derive % form.derive}}}\n"
            yield f"{key}, {other}", f"{head}seq:\n- {{id: f, type: u1}}\n{own}{fields}{tail}{TYPES}"


def written(x: Any, value: Any, code: Code, *, stale: bool) -> Any:
    """What is read of an object, also by the machine; None if it cannot be written."""
    try:
        data = value.to_bytes()
    except EncodeError:
        return None
    Machine(code, data).read("x")
    again = x.X.from_bytes(data)
    assert again.to_bytes() == data
    assert (again.f, again.a) == (value.f, value.a)
    # a wrong value that only sometimes is replaced is a value
    assert stale or again == value
    return again


def compare(x: Any, model: Model, form: Form, about: str, schema: str) -> None:
    """Objects with each value of `f` and `a`, without `d` and with a wrong one; made, and changed."""
    root = model.schema("x")
    code = Code(streams_of(model, Kinds(model)) if root.streamed else program_of(model))
    absent = "plain" not in about.partition(", ")[2]
    values = (*eval(f"({form.values},)", {"x": x}), *([None] if absent else []))
    others = {"z": "t"} if root.streamed else {}
    others |= {"b": 7} if "id: b" in schema else {}
    members = {each.name for each in fields(x.X) if each.init}
    wrong = [{"d": WRONG if form.type else bytes(16)}] if "d" in members else []
    count = 0
    for given, flag, a in product(({}, *wrong), range(3), values):
        stale = bool(given) and "at times" in about
        again = written(x, x.X(f=flag, a=a, **others, **given), code, stale=stale)
        for then, other in product(range(3), values) if again is not None else ():
            again.f, again.a = then, other
            count += written(x, again, code, stale=True) is not None
    assert count > 0, about


@pytest.mark.parametrize("streamed", [False, True], ids=["layout", "stream"])
@pytest.mark.parametrize("name", FORMS)
def test_what_is_written_can_be_read(name: str, streamed: bool, model: Callable[..., Model]) -> None:
    form, accepted = FORMS[name], 0
    for about, schema in variants(form, streamed=streamed):
        try:
            found = model(schema)
        except SchemaError:
            continue
        accepted += 1
        with Modules(found) as modules:
            compare(modules.of(found.schema("x")), found, form, about, schema)
    assert accepted == (form.streams if streamed else form.layouts)


@pytest.mark.parametrize("streamed", [False, True], ids=["layout", "stream"])
@pytest.mark.parametrize("name", IMPLIED)
def test_what_follows_without_a_key_is_equal_too(
    name: str, streamed: bool, model: Callable[..., Model]
) -> None:
    fields_, values = IMPLIED[name]
    tail = "- {id: z, type: strz, encoding: ASCII}\n" if streamed else ""
    types = "types:\n  p: {seq: [{id: v, type: u1}]}\n  r: {seq: [{id: v, type: s1}]}\n"
    found = model(f"seq:\n{fields_}{tail}{types}")
    with Modules(found) as modules:
        x = modules.of(found.schema("x"))
        for a in eval(f"({values},)", {"x": x}):
            made = x.X(a=a, **({"z": "t"} if streamed else {}))
            assert x.X.from_bytes(made.to_bytes()) == made
