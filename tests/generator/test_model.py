"""The model as JSON: everything that a generator in another language needs, in a form that stays the same."""

# ruff: noqa: E501  (a schema on one line is easier to compare with its bytes)

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kodec.generator.driver import load
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import MODEL_VERSION, Model, to_json
from tests.data import TESTS

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = {"schemas": ROOT / "schemas", "formats": TESTS / "generator/formats"}


@pytest.fixture(scope="module", params=FOLDERS)
def loaded(request: pytest.FixtureRequest) -> Model:
    return load(FOLDERS[request.param])


def expressions(value: object) -> Iterator[ex.Expr]:
    if isinstance(value, ex.Expr):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from expressions(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for spec in dataclasses.fields(value):
            yield from expressions(getattr(value, spec.name))


def test_is_versioned_and_deterministic(loaded: Model) -> None:
    text = to_json(loaded)
    assert json.loads(text)["model_version"] == MODEL_VERSION
    assert text == to_json(dataclasses.replace(loaded))
    keys = [list(each) for each in walk(json.loads(text))]
    assert keys == [sorted(each) for each in keys]


def walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(each)


def test_expressions_can_be_read_again(loaded: Model) -> None:
    found = list(expressions(loaded.schemas))
    assert len(found) > 20
    for expr in found:
        # a minus sign and its number are one literal or two parts; both are the same value
        assert ex.fold(ex.parse(ex.text_of(expr))) == ex.fold(expr), ex.text_of(expr)


HARD = ['"a \\"quote\\" and a \\\\"', "-(a + 1)", "(-a).as<s4>", "(a ? 1 : 2).as<u1>", "not (a and b)", "(not a) and b", "a.b.c[1]", "x(1, true)", "1 - -1", "'single'"]  # fmt: skip


@pytest.mark.parametrize("text", HARD)
def test_hard_expressions_can_be_read_again(text: str) -> None:
    parsed = ex.parse(text)
    assert ex.parse(ex.text_of(parsed)) == parsed


def test_holds_what_another_tool_needs(model: Callable[..., Model]) -> None:
    document = json.loads(
        to_json(
            model(
                "-versions: 0-4\n-flexible: 2+\n-row: true\n-topic: __t\ndoc: Of all.\nseq:\n- {id: version, type: s2le}\n"
                "- {id: n, type: u4, valid: {min: 1}, -derive: length_of(a) + 1, -orig-id: theN}\n"
                "- {id: a, size: n - 1, if: version >= 1, -since: 1, -column: {name: bee, type: binary}}\n"
                "- {id: k, type: u1, enum: kind, -default: some}\n"
                "- {id: s, type: {switch-on: k, cases: {'kind::some': p}}, size-eos: true}\n"
                "types:\n  p: {seq: [{id: c, contents: [1, 2]}]}\nenums:\n  kind: {0: none, 1: {id: some, doc: More.}}\n"
            )
        )
    )
    (schema,) = document["schemas"]
    assert (schema["id"], schema["path"], len(schema["sha256"])) == ("x", "x.ksy", 64)
    root = schema["structs"][0]
    assert (root["name"], root["versions"], root["flexible"], root["topic"], root["row"]) == (
        "x",
        "0-4",
        "2+",
        "__t",
        True,
    )
    fields = {field["id"]: field for field in root["fields"]}
    assert fields["version"]["type"] == {
        "kind": "prim", "name": "s2", "width": 2, "signed": True, "floating": False, "endian": "le",
    }  # fmt: skip
    assert fields["n"]["derive"] == {"kind": "length_of", "first": "a", "plus": "1"}
    assert (fields["n"]["orig_id"], fields["n"]["valid"]) == ("theN", {"min": "1"})
    assert (fields["a"]["size"], fields["a"]["condition"], fields["a"]["since"]) == (
        "(n - 1)",
        "(version >= 1)",
        1,
    )
    assert fields["a"]["column"] == {"name": "bee", "type": "binary"}
    assert (fields["k"]["enum"], fields["k"]["default"]) == ("x::kind", "some")
    assert fields["s"]["type"]["kind"] == "switch" and fields["s"]["type"]["on"] == "k"
    assert fields["s"]["type"]["cases"] == [["x::kind::some", {"kind": "ref", "target": "x::p"}]]
    assert schema["structs"][1]["fields"][0]["contents"] == "0102"
    assert schema["enums"][0]["items"] == [
        {"id": "none", "value": 0},
        {"id": "some", "value": 1, "doc": "More."},
    ]
