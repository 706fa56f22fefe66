# ruff: noqa: E501  (a schema on one line is easier to compare)
"""Test vectors: of each type, always the same, in the form of their contract, read alike by stock Kaitai."""

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

import jsonschema
import pytest

from kodec.generated.log import record_batch
from kodec.generator.driver import load, render_all
from kodec.generator.plan.build import program_of
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.vectors import CONTRACT, streams
from tests.data import TESTS
from tests.golden import Golden
from tests.vectors import right

ROOT = Path(__file__).resolve().parent.parent.parent
FORMATS = TESTS / "generator/formats"
FOLDERS = {"schemas": ROOT / "schemas", "formats": FORMATS}


@cache
def texts(folder: str) -> dict[str, str]:
    return render_all(FOLDERS[folder], targets=["vectors"]).modules


@cache
def made(folder: str) -> dict[str, Any]:
    return {path: json.loads(text) for path, text in texts(folder).items()}


def modules() -> list[tuple[dict[str, Any], ModuleType]]:
    return [
        (
            document,
            importlib.import_module(
                f"kodec.generated.{path.removesuffix('.vectors.json').replace('/', '.')}"
            ),
        )
        for path, document in made("schemas").items()
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("folder", FOLDERS)
def test_files_keep_their_contract(folder: str) -> None:
    contract = json.loads(CONTRACT.read_text())
    jsonschema.Draft202012Validator.check_schema(contract)
    judge = jsonschema.Draft202012Validator(contract)
    ids = set()
    for document in made(folder).values():
        # of the many vectors of Kafka's schemas some, as the judge is slow
        judge.validate(document | {"vectors": document["vectors"][:: 1 if folder == "formats" else 20]})
        for each in document["vectors"]:
            assert each["id"] not in ids and each["id"].startswith(each["type"])
            ids.add(each["id"])


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_type_has_vectors_or_a_reason(folder: str) -> None:
    model = load(FOLDERS[folder])
    units = program_of(model).units
    for schema in model.schemas:
        names = {each.name for each in schema.structs}
        objects = {name for name in names & units.keys() if units[name].stands_for is None}
        objects = names if schema.streamed else objects
        document = made(folder).get(schema.path.replace(".ksy", ".vectors.json"))
        if document is None:
            assert not objects, schema.id
            continue
        assert document["schema"] == schema.id and "@generated" in document["//"]
        right = {each["type"] for each in document["vectors"] if each["must"] == "accept"}
        assert {*right, *document["without"]} == objects
    assert not any(document["without"] for document in made("schemas").values())


def test_each_kind_of_error_is_there() -> None:
    documents = [
        *made("schemas").values(),
        json.loads((ROOT / "schemas/log/observed.vectors.json").read_text()),
    ]
    found = {
        (each["must"], each.get("error", {}).get("code"))
        for document in documents
        for each in document["vectors"]
    }
    codes = ("truncated", "malformed", "bad_checksum", "unsupported", "limit_exceeded", "not_encodable")
    assert {("refuse", code) for code in codes} <= found
    assert {("accept", None), ("may", None)} <= found


def test_always_the_same() -> None:
    first, second = (render_all(FORMATS, targets=["vectors"]) for _ in range(2))
    assert first == second


def test_places_and_sizes_are_those_of_the_bytes() -> None:
    """The constants of the classes: in every vector the field's number stands where they say."""
    back = ModelIndex(load(FOLDERS["schemas"]))
    looked = 0
    for document, module in modules():
        for each in document["vectors"]:
            if each["must"] != "accept" or "bytes" not in each:
                continue
            kind = getattr(module, back.classes[each["type"]])
            data = bytes.fromhex(each["bytes"])
            assert len(data) >= (kind.SIZE if hasattr(kind, "SIZE") else kind.MIN_SIZE)
            places = getattr(kind, "PLACES", {})
            for field in places.keys() & each["value"].keys():
                (at, form), value = places[field], each["value"][field]
                absent = back.model.struct(each["type"]).field(field)
                if form and at >= 0 and absent is not None and absent.condition is None:
                    assert struct.unpack_from(form, data, at) == (int(value),), (each["id"], field)
                    looked += 1
    assert looked > 100


def test_values_by_hand() -> None:
    document = made("formats")["sensor_message.vectors.json"]
    valid = {each["id"]: each for each in document["vectors"] if each["type"] == "sensor_message"}
    assert valid["sensor_message@0/smallest-values"] == {
        "id": "sensor_message@0/smallest-values",
        "type": "sensor_message",
        "tests": "smallest values",
        "origin": {"kind": "constructed"},
        "must": "accept",
        "bytes": "00000000",
        "value": {"version": 0, "sensor": 0, "unit": 0, "values": []},
        "lacking": ["unit"],
        "encodes": "same",
    }
    one = valid["sensor_message@2/small-values"]
    assert one["value"] == {"version": 2, "sensor": 1, "unit": 1, "values": [{"raw": 0, "exact": 1.5}]}
    assert (one["bytes"], one["lacking"]) == ("02" + "0001" + "01" + "01" + "3fc00000", ["values[0].raw"])
    cut = valid["sensor_message@2/ends-at-byte-1"]
    assert cut["error"] == {"code": "truncated", "path": "sensor", "at": 1}


def test_numbers_that_json_rounds_are_text() -> None:
    text = texts("schemas")["log/time_index.vectors.json"]
    assert '"timestamp": "9223372036854775807"' in text and "9223372036854775807," not in text


def test_a_batch_says_what_it_derives() -> None:
    document = made("schemas")["log/record_batch.vectors.json"]
    for each in document["vectors"]:
        if each["type"] == "record_batch" and each.get("encodes") == "same":
            value = record_batch.RecordBatch.from_bytes(bytes.fromhex(each["bytes"]))
            assert value.last_offset_delta == each["value"]["last_offset_delta"]


def test_stock_kaitai_reads_the_same(ksc: Callable[[Path], Callable[[str], Any]]) -> None:
    reader = ksc(FORMATS)("sensor_message")
    for each in right(made("formats")["sensor_message.vectors.json"], "sensor_message"):
        found = reader.from_bytes(bytes.fromhex(each["bytes"]))
        assert (found.version, found.sensor) == (each["value"]["version"], each["value"]["sensor"])
        name = "exact" if found.version == 2 else "raw"
        for value, wanted in zip(found.values, each["value"]["values"], strict=True):
            assert getattr(value, name) == float(wanted[name])


def test_a_size_that_another_field_says_is_that_field(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x}\nseq:\n- {id: n, type: u1}\n- {id: a, size: n}\n"
        "types:\n  p: {seq: [{id: b, type: u1, repeat: until, repeat-until: _ == 0 or b.size == 2}]}\n"
        "  q: {params: [{id: k, type: u1}], seq: [{id: c, size: k}]}\n"
    )
    document = json.loads(render_all(tmp_path, targets=["vectors"]).modules["x.vectors.json"])
    sizes = {(each["value"]["n"], len(each["value"]["a"])) for each in right(document, "x")}
    assert sizes >= {(0, 0), (1, 2), (200, 400)}
    assert right(document, "x::p") and document["without"] == {}


def test_types_of_layouts_with_parameters_have_vectors_with_arguments(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x}\nseq: [{id: a, type: 'q(2, true)'}]\ntypes:\n"
        "  q:\n    params: [{id: k, type: u1}, {id: more, type: bool}]\n"
        "    seq: [{id: c, size: k}, {id: e, type: u1, valid: {min: k}}]\n"
        "  r: {params: [{id: k, type: u1}], seq: [{id: c, type: u1, valid: {min: 9, max: k}}]}\n"
    )
    assert not load(tmp_path).schemas[0].streamed
    document = json.loads(render_all(tmp_path, targets=["vectors"]).modules["x.vectors.json"])
    jsonschema.Draft202012Validator(json.loads(CONTRACT.read_text())).validate(document)
    assert document["without"] == {"x::r": "no value is found of which all rules hold"}
    own = [each for each in document["vectors"] if each["type"] == "x::q"]
    assert {tuple(each["arguments"].items()) for each in own} == {
        (("k", 1), ("more", True)), (("k", 1), ("more", False)), (("k", 2), ("more", True))
    }  # fmt: skip
    one = next(each for each in own if each["id"] == "x::q/ordinary-values-k-1-more-true")
    assert (one["must"], one["encodes"], len(bytes.fromhex(one["bytes"]))) == ("accept", "same", 2)
    codes = {(each["must"], each.get("error", {}).get("code")) for each in own}
    assert codes == {
        ("accept", None),
        *(("refuse", code) for code in ("truncated", "malformed", "not_encodable")),
    }


@pytest.mark.thorough
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
def test_values_that_take_too_much_have_no_vectors(seq: str, tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "x.ksy").write_text(f"meta: {{id: x, endian: be}}\nseq: {seq}\n")
    # of many small objects each takes its time where memory is traced
    if traced := "types:" not in seq:
        tracemalloc.start()
    (text,) = render_all(tmp_path, targets=["vectors"]).modules.values()
    if traced:
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
        tracemalloc.stop()
    golden(json.loads(text)["without"]["x"])


# what bytes have to be, so that a type can be read: none of it is in a fill
_WANTED = {
    "terminator": "seq: [{id: a, type: str, terminator: 0x7c}, {id: b, terminator: 0x40, consume: false}, {id: c, contents: '@'}]",
    "text": "seq: [{id: a, type: str, size: 6, valid: {eq: '\"words\"'}, pad-right: 0}]",
    "float": "seq: [{id: a, type: f4, valid: {min: 1.5, max: 2.5}}]",
    "one of": "seq: [{id: a, size: 2, valid: {any-of: ['[1, 2]', '[3, 4]']}}]",
    "an enum": "seq: [{id: a, type: u2, enum: e, valid: {in-enum: true}}]\nenums: {e: {1000: x}}",
    "the end of a list": "seq: [{id: a, type: s4, repeat: until, repeat-until: _ == -1234}]",
    "the end of a list of objects": "seq: [{id: a, type: t, repeat: until, repeat-until: _.b == 0x7b}]\ntypes: {t: {seq: [{id: b, type: u1}, {id: c, type: u1}]}}",
    "a size with a header": "seq: [{id: a, type: u4}, {id: b, type: t, size: a - 4}]\ntypes: {t: {seq: [{id: c, size: 30}, {id: d, contents: end}]}}",
    "a byte order": "seq: [{id: a, size: 4}, {id: b, type: t}]\ntypes: {t: {meta: {endian: {switch-on: _root.a, cases: {'[1, 2, 3, 4]': le, '[4, 3, 2, 1]': be}}}, seq: [{id: c, type: u2, valid: 7}]}}",
}


@pytest.mark.parametrize("what", _WANTED)
def test_bytes_that_are_wanted_are_found(what: str, tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(f"meta: {{id: x, endian: le, encoding: ASCII}}\n{_WANTED[what]}\n")
    document = json.loads(render_all(tmp_path, targets=["vectors"], streams=True).modules["x.vectors.json"])
    found = {each["must"] for each in document["vectors"] if each["type"] == "x"}
    assert found == {"accept", "refuse"}, document["without"]


def test_the_search_for_bytes_takes_no_more_than_its_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x, endian: be}\nseq: [{id: n, type: u1}]\ntypes:\n"
        "  a: {seq: [{id: c, contents: AB}, {id: d, type: u1, valid: {expr: _ == 77 and _io.size > 300}}]}\n"
        "  z: {seq: [{id: b, type: u1}]}\n"
    )
    made = []
    for most in (100, 4_000_000):
        monkeypatch.setattr(streams, "MOST_STEPS", most)
        text = render_all(tmp_path, targets=["vectors"], streams=True).modules["x.vectors.json"]
        made.append(json.loads(text))
    few, all_ = made
    assert few["without"] == {"x::a": "the search for its bytes took too many steps"}
    assert all_["without"] == {"x::a": "no bytes were found that it is read from"}
    # a type takes no more than its share
    assert {each["type"] for each in few["vectors"] if each["must"] == "accept"} == {"x", "x::z"}


def test_a_constant_of_an_object_inside_needs_no_value(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x, endian: le}\nseq: [{id: h, type: h}, {id: c, type: u1, repeat: eos}]\n"
        "types: {h: {seq: [{id: magic, contents: AB}, {id: v, type: u4}]}}\n"
    )
    assert not load(tmp_path).schemas[0].streamed
    document = json.loads(render_all(tmp_path, targets=["vectors"]).modules["x.vectors.json"])
    assert all(each["bytes"].startswith("4142") for each in right(document, "x")) and right(document, "x")


def test_a_switch_of_numbers_and_objects_has_vectors_of_each(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x, endian: be}\n"
        "seq:\n"
        "- {id: k, type: u1, valid: {min: 1, max: 4}}\n"
        "- {id: v, type: {switch-on: k, cases: {1: u1, 2: f4, 3: t, 4: s}}}\n"
        "- {id: z, terminator: 0}\n"
        "types:\n"
        "  t: {seq: [{id: q, type: u1}]}\n"
        "  s: {seq: [{id: r, type: u1, repeat: expr, repeat-expr: 2}]}\n"
    )
    (text,) = render_all(tmp_path, targets=["vectors"]).modules.values()
    vectors = [each for each in json.loads(text)["vectors"] if each["type"] == "x"]
    kinds = {type(each["value"]["v"]) for each in vectors if each["must"] == "accept"}
    assert kinds >= {int, dict}
