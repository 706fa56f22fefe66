"""Test vectors: of each type, always the same, read alike by generated modules and by stock Kaitai."""

from __future__ import annotations

import importlib
import json
import struct
import tracemalloc
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kodec.generated.log import record_batch
from kodec.generator.driver import load, render_all
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.names import attribute
from kodec.runtime import errors

ROOT = Path(__file__).resolve().parent.parent.parent
FORMATS = Path(__file__).resolve().parent / "formats"
FOLDERS = {"schemas": ROOT / "schemas", "formats": FORMATS}


@cache
def made(folder: str) -> dict[str, Any]:
    return {
        path: json.loads(text)
        for path, text in render_all(FOLDERS[folder], targets=["vectors"]).modules.items()
    }


def modules() -> list[tuple[str, dict[str, Any], ModuleType]]:
    return [
        (
            path,
            document,
            importlib.import_module(
                f"kodec.generated.{path.removesuffix('.vectors.json').replace('/', '.')}"
            ),
        )
        for path, document in made("schemas").items()
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_type_has_vectors_or_a_reason(folder: str) -> None:
    model = load(FOLDERS[folder])
    back = ModelIndex(model)
    for schema in model.schemas:
        if not back.wanted(schema):
            continue
        document = made(folder)[schema.path.replace(".ksy", ".vectors.json")]
        assert document["schema"] == schema.id and "@generated" in document["//"]
        classes = {s.name for s in schema.structs if not back.in_runtime(s) and s.wire is None}
        assert {*document["types"], *document["without"]} == classes
        assert all(of["valid"] for of in document["types"].values())
    assert [reason for document in made("schemas").values() for reason in document["without"].values()] == []


def test_always_the_same() -> None:
    first, second = (render_all(FORMATS, targets=["vectors"]) for _ in range(2))
    assert first == second


def test_the_committed_modules_read_them() -> None:
    back = ModelIndex(load(FOLDERS["schemas"]))
    count = refused = 0
    for _, document, module in modules():
        for name, of in document["types"].items():
            kind = getattr(module, back.classes[name])
            for each in of["valid"]:
                outside = {"version": each["version"]} if "version" in each else {}
                found = kind.from_bytes(bytes.fromhex(each["bytes"]), **outside)
                assert found.to_bytes(**outside).hex() == each["bytes"]
                for field, value in each["value"].items():
                    same(getattr(found, attribute(field)), value)
                count += 1
            for each in of["invalid"]:
                with pytest.raises(getattr(errors, each["error"])) as caught:
                    kind.from_bytes(bytes.fromhex(each["bytes"]))
                assert caught.value.at == each["at"]
                refused += 1
    assert count > 100 and refused > 50


def test_places_and_sizes_are_those_of_the_bytes() -> None:
    """The constants of the classes: in every vector the field's number stands where they say."""
    back = ModelIndex(load(FOLDERS["schemas"]))
    looked = 0
    for _, document, module in modules():
        for name, of in document["types"].items():
            kind = getattr(module, back.classes[name])
            for each in of["valid"]:
                data = bytes.fromhex(each["bytes"])
                assert len(data) == kind.SIZE if hasattr(kind, "SIZE") else len(data) >= kind.MIN_SIZE
                places = getattr(kind, "PLACES", {})
                for field in places.keys() & each["value"].keys():
                    (at, form), value = places[field], each["value"][field]
                    absent = back.model.struct(name).field(field)
                    if form and at >= 0 and absent is not None and absent.condition is None:
                        assert struct.unpack_from(form, data, at) == (value,), (name, field)
                        looked += 1
    assert looked > 100


def same(found: Any, value: Any) -> None:
    """A value read, and the one of the vector; parts have vectors of their own."""
    if isinstance(value, (int, float)) and not isinstance(found, (bytes, str)):
        assert found == value
    elif isinstance(found, bytes):
        assert found.hex() == value
    elif isinstance(found, list):
        assert len(found) == len(value)
    elif isinstance(found, str):
        assert found == value


def test_values_by_hand() -> None:
    document = made("formats")["sensor_message.vectors.json"]
    valid = document["types"]["sensor_message"]["valid"]
    assert {"bytes": "00000000", "value": {"version": 0, "sensor": 0, "values": []}} in valid
    assert {each["value"]["version"] for each in valid} == {0, 1, 2}
    (one,) = [each for each in valid if each["value"]["version"] == 2 and len(each["value"]["values"]) == 1]
    assert one["value"] == {"version": 2, "sensor": 1, "unit": 1, "values": [{"exact": 1.5}]}
    assert one["bytes"] == "02" + "0001" + "01" + "01" + "3fc00000"


def test_a_batch_says_what_it_derives() -> None:
    valid = made("schemas")["log/record_batch.vectors.json"]["types"]["record_batch"]["valid"]
    assert max(len(each["value"]["records"]) for each in valid) >= 2
    for each in valid:
        value = record_batch.RecordBatch.from_bytes(bytes.fromhex(each["bytes"]))
        assert value.last_offset_delta == each["value"]["last_offset_delta"]
        assert each["value"]["records"][-1]["body"]["offset_delta"] == value.last_offset_delta


def test_stock_kaitai_reads_the_same(ksc: Callable[[Path], Callable[[str], Any]]) -> None:
    reader = ksc(FORMATS)("sensor_message")
    valid = made("formats")["sensor_message.vectors.json"]["types"]["sensor_message"]["valid"]
    for each in valid:
        found = reader.from_bytes(bytes.fromhex(each["bytes"]))
        assert (found.version, found.sensor) == (each["value"]["version"], each["value"]["sensor"])
        names = ("exact",) if found.version == 2 else ("raw",)
        assert [{name: getattr(value, name) for name in names} for value in found.values] == each["value"][
            "values"
        ]


def test_a_type_whose_values_depend_on_each_other_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x}\nseq:\n- {id: n, type: u1}\n- {id: a, size: n}\n"
        "types:\n  p: {seq: [{id: b, type: u1, repeat: until, repeat-until: _ == 0 or b.size == 2}]}\n"
    )
    document = json.loads(render_all(tmp_path, targets=["vectors"]).modules["x.vectors.json"])
    assert document["types"] == {}
    assert document["without"] == {
        "x": "nothing derives the size of `a`",
        "x::p": "`b` ends at a value of its own",
    }


@pytest.mark.parametrize(
    "seq",
    [
        "[{id: a, size: 1073741824}]",
        "[{id: a, type: str, size: 1073741824, encoding: ASCII}]",
        "[{id: a, type: u1, repeat: expr, repeat-expr: 10000000}]",
        "[{id: a, type: part, repeat: expr, repeat-expr: 1000}]\n"
        "types: {part: {seq: [{id: b, type: u1, repeat: expr, repeat-expr: 1000}]}}",
        "[{id: a, type: t0}]\ntypes:\n"
        + "".join(
            f"  t{n}: {{seq: [{{id: a, type: t{n + 1}}}, {{id: b, type: t{n + 1}}}, {{id: c, size: 3}}]}}\n"
            for n in range(30)
        )
        + "  t30: {seq: [{id: z, type: u1}]}\n",
    ],
    ids=["bytes", "text", "elements", "lists of lists", "types in types"],
)
def test_values_that_take_too_much_have_no_vectors(seq: str, tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(f"meta: {{id: x, endian: be}}\nseq: {seq}\n")
    tracemalloc.start()
    (text,) = render_all(tmp_path, targets=["vectors"]).modules.values()
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()
    assert json.loads(text)["without"]["x"] == "a value takes more than 16384 bytes"
