"""What would be contributed to Kaitai's public gallery passes what the gallery asks for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest

from tests.ksc import compilers, gallery, ksy_schema

WITH_RULES = ("kafka_log_segment", "kafka_message_set")
"""The schemas with rules that are expressions."""


@pytest.fixture(scope="module")
def formats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("gallery")
    for path, text in gallery.gallery().items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_text(text)
    return out


def test_each_has_what_the_gallery_asks_for(formats: Path, oracle: ModuleType) -> None:
    for name, path in oracle.schemas(formats).items():
        spec = oracle.load_yaml(path)
        meta = spec["meta"]
        assert meta["id"] == path.stem and path.stem.startswith("kafka_"), name
        assert meta.keys() >= {"title", "license", "ks-version"} and spec["doc"] and spec["doc-ref"], name
        keys = set(re.findall(r"(?m)^[ -]*(-[a-z][a-z-]*):", path.read_text()))
        assert keys <= {"-orig-id"}, name


def test_each_compiles_with_stock_ksc(formats: Path, oracle: ModuleType, tmp_path: Path) -> None:
    try:
        failures = oracle.compile_schemas(tmp_path, tuple(compilers.LANGUAGES), formats)
        # ksc has no `valid/expr` for Nim, and says "Boxed Exception" of it
        assert [(each.target, Path(each.schema).name, each.error) for each in failures] == [
            ("nim", name, "Boxed Exception") for name in WITH_RULES
        ]
    except FileNotFoundError as error:
        pytest.skip(str(error))


def test_each_fits_the_schema_of_schemas(formats: Path, oracle: ModuleType) -> None:
    text = ksy_schema.read()
    if text is None:
        pytest.skip("no .cache/ksy_schema.json: run `python tests/ksc/ksy_schema.py`")
    judge = jsonschema.Draft7Validator(json.loads(text))
    for name, path in oracle.schemas(formats).items():
        found = judge.iter_errors(json.loads(json.dumps(oracle.load_yaml(path))))
        assert [each.message for each in found] == [], name
