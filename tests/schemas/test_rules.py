"""The house rules of the schemas: layout, order of keys, names, and a text on every field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kodec.generator.problems import Problems
from kodec.generator.schema.build import load_units
from kodec.generator.schema.expr import Binary, names, parse
from kodec.generator.schema.implied import written_out
from kodec.generator.schema.load import Node
from kodec.generator.schema.owners import conjuncts, sign_of_null
from tests.data import ROOT

pytestmark = pytest.mark.quick

META = ["id", "title", "application", "file-extension", "xref", "tags", "license", "ks-version", "imports"]
META += ["encoding", "endian", "bit-endian"]
TYPE_OWN = ["-names", "-orig-id", "-primitive", "-unwrap", "-versions", "-row", "-message"]
TYPE = [
    "meta",
    *TYPE_OWN,
    "doc",
    "doc-ref",
    "-roles",
    "to-string",
    "params",
    "seq",
    "instances",
    "types",
    "enums",
]
FIELD_OWN = ["-ignorable", "-derive", "-default", "-nullable", "-codec", "-tags", "-column"]
FIELD = ["id", "-orig-id", "pos", "value", "size", "size-eos", "type", "enum", "valid", "-valid", "contents"]
FIELD += ["repeat", "repeat-expr", "repeat-until", "if", *FIELD_OWN, "doc", "doc-ref"]
PARAM = ["id", "-orig-id", "type", "enum", "doc", "doc-ref"]
ENUM_VALUE = ["id", "-orig-id", "-versions", "doc", "doc-ref"]
# A text that only repeats the type: nobody has written yet what the field means.
TYPE_ONLY = re.compile(
    r"(an? |an array of )?(u?int\d+|float64|bool|string|bytes|records|uuid|`\w+`|\w+_\w+)"
    r"(; all zeros is none|, or null( in versions [0-9+-]+)?)?\.|Kafka's \w+[.:].*",
    re.IGNORECASE | re.DOTALL,
)
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*\Z")


def types_of(spec: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield name, spec
    for key, inner in spec.get("types", {}).items():
        yield from types_of(inner, f"{name}.{key}")


def fields_of(spec: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field, instance and parameter below `spec`, with its path."""
    for path, each in types_of(spec, name):
        for field in each.get("seq", []):
            yield f"{path}.{field['id']}", field
        for key, field in each.get("instances", {}).items():
            yield f"{path}.{key}", field


def params_of(spec: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, each in types_of(spec, name):
        for param in each.get("params", []):
            yield f"{path}.{param['id']}", param


def tags_of(spec: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, field in fields_of(spec, name):
        for tag in field.get("-tags", {}).values():
            yield f"{path}.{tag['id']}", tag


def has_no_text(field: dict[str, Any]) -> bool:
    """Whether a field means the same everywhere: a count, a version, a section, or a part of one."""
    kind = str(field.get("type", ""))
    return (
        field["id"] in ("version", "tag", "len_body", "num_fields")
        or kind.startswith(("count(", "nullable_count("))
        or kind.endswith(("_tag", "_tags", "tagged_fields"))
        or "-tags" in field
    )


def values_of(spec: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, each in types_of(spec, name):
        for enum, values in each.get("enums", {}).items():
            for value in values.values():
                yield f"{path}.{enum}.{value['id']}", value


def misplaced(found: dict[str, Any], order: list[str]) -> str | None:
    """What is wrong with the keys of `found`, if anything: an unknown one, or the first out of order."""
    if unknown := [key for key in found if key not in order]:
        return f"unknown {', '.join(unknown)}"
    right = [key for key in order if key in found]
    return None if list(found) == right else f"order should be {', '.join(right)}"


@pytest.fixture(scope="session")
def implied() -> dict[str, dict[str, Any]]:
    """All schemas with the keys that others imply, by their paths."""
    units = written_out(load_units(ROOT / "schemas", Problems()), Problems())
    return {unit.path: plain(unit.root) for unit in units.values()}


def plain(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {key: plain(each) for key, each in node.value.items()}
    return [plain(each) for each in node.value] if isinstance(node.value, list) else node.value


@pytest.fixture
def whole(schema: Path, implied: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return implied[schema.relative_to(ROOT / "schemas").as_posix()]


@pytest.fixture
def spec(schema: Path, oracle: ModuleType) -> dict[str, Any]:
    loaded: dict[str, Any] = oracle.load_yaml(schema)
    return loaded


def test_text_is_tidy(schema: Path) -> None:
    data = schema.read_bytes()
    assert b"\r" not in data and b"\t" not in data
    assert data.endswith(b"\n") and not data.endswith(b"\n\n")
    lines = data.decode("utf-8").splitlines()
    # A URL cannot be broken; nothing else is longer.
    assert [line for line in lines if len(line) > 80 and "https://" not in line] == []
    assert [line for line in lines if line != line.rstrip()] == []
    assert [line for line in lines if (len(line) - len(line.lstrip(" "))) % 2] == []


def test_meta_says_what_the_gallery_asks_for(schema: Path, spec: dict[str, Any]) -> None:
    meta = spec["meta"]
    assert misplaced(meta, META) is None
    assert meta["id"] == schema.stem
    assert meta["license"] == "Apache-2.0"
    if schema.parent.name == "framings":  # of registries, whose names they bear
        assert meta["application"].endswith(" Registry")
    elif schema.parent.name == "tier":  # of plug-ins
        assert meta["application"].startswith("Tiered Storage ")
    elif schema.parent.name == "cruise_control":
        assert meta["title"].startswith("Cruise Control ")
    elif schema.parent.name == "redpanda":
        assert meta["application"] == "Redpanda" and meta["title"].startswith("Redpanda ")
    else:
        assert meta["title"].startswith("Kafka ")
    assert "doc-ref" in spec


def test_keys_stand_in_the_order_of_the_house(schema: Path, spec: dict[str, Any]) -> None:
    wrong = {path: misplaced(each, TYPE) for path, each in types_of(spec, schema.stem)}
    wrong |= {path: misplaced(each, FIELD) for path, each in fields_of(spec, schema.stem)}
    wrong |= {path: misplaced(each, PARAM) for path, each in params_of(spec, schema.stem)}
    wrong |= {path: misplaced(each, ENUM_VALUE) for path, each in values_of(spec, schema.stem)}
    assert {path: what for path, what in wrong.items() if what} == {}


def test_everything_has_a_text(schema: Path, spec: dict[str, Any]) -> None:
    parts = [(path, each) for path, each in types_of(spec, schema.stem) if not path.endswith("_tag")]
    fields = [*fields_of(spec, schema.stem), *params_of(spec, schema.stem)]
    parts += [(path, each) for path, each in fields if "doc" in each or not has_no_text({"id": "", **each})]
    parts += [*values_of(spec, schema.stem), *tags_of(spec, schema.stem)]
    texts = {path: str(each.get("doc", "")).strip() for path, each in parts}
    assert [path for path, text in texts.items() if not text.endswith((".", ":", ")"))] == []
    assert {path: text for path, text in texts.items() if TYPE_ONLY.fullmatch(text)} == {}


@pytest.mark.parametrize(
    ("text", "only"),
    [
        ("An int32.", True),
        ("A uuid; all zeros is none.", True),
        ("An array of `subtopology`, or null in versions 1-2.", True),
        ("An array of last_assignment_config, or null.", True),
        ("Bytes, or null.", True),
        ("Kafka's TopicPartitions.", True),
        ("A random uuid of the process.", False),
        ("One tag.", False),
    ],
)
def test_a_text_that_only_repeats_the_type_is_known(text: str, only: bool) -> None:
    assert bool(TYPE_ONLY.fullmatch(text)) is only


def test_names_tell_what_a_number_counts(schema: Path, whole: dict[str, Any]) -> None:
    for path, field in fields_of(whole, schema.stem):
        name = path.rpartition(".")[2]
        assert NAME.match(name), path
        derive = field.get("-derive", "")
        rule = derive["value"] if isinstance(derive, dict) else derive
        if rule.startswith("length_of"):
            assert name.startswith("len_"), path
        if rule.startswith("count_of"):
            counted = rule.partition("(")[2].partition(")")[0]
            assert name in (f"num_{counted}", f"num_{counted}_plus_one"), path
        if "repeat" in field and "-orig-id" not in field:
            # a name of the format's own stays what it is
            assert name.endswith("s"), path


def test_a_null_has_a_sign_and_a_length_without_one_is_checked(schema: Path, whole: dict[str, Any]) -> None:
    """Kafka reads any negative length as null; where null is not allowed, a negative length is refused."""
    for _, each in types_of(whole, schema.stem):
        fields = {field["id"]: field for field in each.get("seq", [])}
        nullable = [field for field in fields.values() if "-nullable" in field]
        for field in nullable:
            null, test = parse(field["-nullable"]), list(conjuncts(parse(field["if"])))
            *before, last = test
            assert isinstance(null, Binary) and sign_of_null(last) == null, field["id"]
            # a version may come before it
            assert all(names(each) == {"version"} for each in before), field["id"]
        for field in fields.values():
            rule = field.get("-derive")
            if not isinstance(rule, str) or not rule.startswith(("length_of", "count_of")):
                continue
            counted = rule.partition("(")[2].partition(")")[0]
            if counted in {each["id"] for each in nullable} or field["type"] == "unsigned_varint":
                continue
            assert field.keys() & {"valid", "-valid"}, f"{schema.stem}: {field['id']} may be negative"


def test_derived_fields_have_no_default(schema: Path, whole: dict[str, Any]) -> None:
    assert [
        path for path, field in fields_of(whole, schema.stem) if "-derive" in field and "-default" in field
    ] == []
