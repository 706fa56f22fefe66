"""Every schema fits the Kaitai project's own JSON schema of .ksy files, `-` keys included."""

from __future__ import annotations

import importlib.util
import json
from types import ModuleType
from typing import Any

import jsonschema
import pytest

from tests.data import TESTS


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft7Validator:
    path = TESTS / "ksc/ksy_schema.py"
    spec = importlib.util.spec_from_file_location("kodec_ksy_schema", path)
    assert spec is not None and spec.loader is not None
    source = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(source)
    text = source.read()
    if text is None:
        pytest.skip(
            "no .cache/ksy_schema.json: run `python tests/ksc/ksy_schema.py` where GitHub can be reached"
        )
    return jsonschema.Draft7Validator(json.loads(text))


def errors(validator: jsonschema.Draft7Validator, spec: Any) -> list[str]:
    # JSON has no keys but strings; this is also how ksc gets a schema.
    found = validator.iter_errors(json.loads(json.dumps(spec)))
    return [f"{each.json_path}: {each.message}" for each in found]


def test_every_schema_fits_and_a_misspelt_key_does_not(
    oracle: ModuleType, validator: jsonschema.Draft7Validator
) -> None:
    # one test, so that where the schema cannot be had, one skip reports it
    schemas = oracle.schemas()
    assert {name: errors(validator, oracle.load_yaml(path)) for name, path in schemas.items()} == {
        name: [] for name in schemas
    }
    spec = oracle.load_yaml(schemas["log/record_batch"])
    spec["seq"][0]["doc_ref"] = "x"
    assert len(errors(validator, spec)) == 1
