"""The JSON schema of the schema language takes what the generator takes, and no misspelled key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kodec.generator.problems import Problems
from kodec.generator.schema.dialect import dialect
from kodec.generator.schema.keys import KEYS
from kodec.generator.schema.load import Node, load_text, word_of
from tests.data import ROOT

OURS = sorted(path for part in ("schemas", "tests/generator") for path in (ROOT / part).rglob("*.ksy"))
CHECK = jsonschema.Draft7Validator(dialect())


def plain(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {word_of(key): plain(child) for key, child in node.value.items()}
    return [plain(child) for child in node.value] if isinstance(node.value, list) else node.value


def wrong(text: str) -> list[str]:
    node = load_text(text, "x.ksy", Problems())
    assert node is not None
    return [error.message for error in CHECK.iter_errors(plain(node))]


def test_it_is_a_json_schema() -> None:
    jsonschema.Draft7Validator.check_schema(dialect())


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_it_takes_our_schemas(path: Path) -> None:
    assert wrong(path.read_text("utf-8")) == []


def test_it_has_every_key_with_words_about_it() -> None:
    found = dialect()
    for kind, keys in KEYS.items():
        properties = (found if kind == "schema" else found["definitions"][kind])["properties"]
        assert set(properties) == keys.plain | keys.own | keys.older
        assert all(each["description"] for each in properties.values())


WRONG = {
    "unknown key": "meta: {id: x}\nseq:\n- {id: a, tpye: u1}\n",
    "unknown extension key": "meta: {id: x}\nseq:\n- {id: a, type: u1, -row: true}\n",
    "unknown key of a type": "meta: {id: x}\ntypes:\n  t: {sequence: []}\n",
    "unknown key of valid": "meta: {id: x}\nseq:\n- {id: a, type: u1, valid: {minimum: 3}}\n",
    "unknown key of a switch": "meta: {id: x}\nseq:\n- {id: a, type: {switch: b, cases: {1: u1}}}\n",
    "unknown key of an instance": "meta: {id: x}\ninstances:\n  a: {val: 3}\n",
    "unknown key of -row": "meta: {id: x}\n-row: {column: [a]}\n",
    "no meta": "seq: []\n",
    "no id": "meta: {endian: be}\n",
    "seq is no list": "meta: {id: x}\nseq: {a: u1}\n",
    "no name": "meta: {id: x}\nseq:\n- {id: BigName, type: u1}\n",
    "repeat": "meta: {id: x}\nseq:\n- {id: a, type: u1, repeat: always}\n",
    "flag": "meta: {id: x}\nseq:\n- {id: a, size-eos: 1}\n",
}


@pytest.mark.parametrize("case", WRONG)
def test_it_refuses_mistakes(case: str) -> None:
    assert wrong(WRONG[case])


def test_it_leaves_the_keys_of_other_tools_alone() -> None:
    text = "meta: {id: x}\n-webide-representation: '{a}'\nseq:\n- {id: a, type: u1, -orig: b}\n"
    assert wrong(text) == []
