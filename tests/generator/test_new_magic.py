"""The record batch gains a magic and a field: an edit of two schemas, from which all else follows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kodec.conformance.suite import Suite, from_schemas
from kodec.generator.driver import load, render_all
from kodec.generator.modules import Modules
from kodec.generator.problems import SchemaError
from kodec.runtime.errors import Unsupported
from kodec.runtime.fields import ReadOptions
from tests.data import ROOT

SCHEMAS = ROOT / "schemas"
FIELD = "  - id: trace_id\n    type: s8\n    if: magic >= 3\n    -default: 0\n    doc: Trace.\n"
SIZE = "'len_batch - (magic >= 3 ? 57 : 49)'"


def edited(
    folder: Path, before: str = "base_sequence", size: str = SIZE, magics: str = "any-of: [2, 3]"
) -> Path:
    for name in ("primitives", "log"):
        shutil.copytree(SCHEMAS / name, folder / name)
    batch, segment = folder / "log" / "record_batch.ksy", folder / "log" / "log_segment.ksy"
    _edit(
        batch,
        ("    valid: 2\n", f"    valid: {{{magics}}}\n"),
        (f"  - id: {before}\n", f"{FIELD}  - id: {before}\n"),
        ("size: len_batch - 49", f"size: {size}"),
    )
    _edit(
        segment,
        ("            2: record_batch\n", "            2: record_batch\n            3: record_batch\n"),
    )
    return folder


def _edit(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)


@pytest.mark.parametrize(
    ("before", "magics"),
    [
        ("base_sequence", "any-of: [2, 3]"),
        ("base_sequence", "min: 2, max: 4"),
        ("crc", "any-of: [2, 3]"),
        ("attributes", "any-of: [2, 3]"),
    ],
)
def test_a_field_of_a_new_magic_is_read_and_written(before: str, magics: str, tmp_path: Path) -> None:
    model = load(edited(tmp_path, before, magics=magics))
    with Modules(model) as modules:
        module: Any = modules.of(model.schema("record_batch"))
        record: Any = modules.of(model.schema("record"))
        records = [record.Record(body=record.RecordBody(value=b"x"))]
        old = module.RecordBatch(records=records, base_timestamp=0).to_bytes()
        new = module.RecordBatch(magic=3, trace_id=7, records=records, base_timestamp=0).to_bytes()
        assert len(new) == len(old) + 8
        found = module.RecordBatch.from_bytes(new)
        assert (found.magic, found.trace_id, found.records) == (3, 7, records)
        assert module.RecordBatch.from_bytes(old).trace_id == 0
        for data, moved in ((old, 0), (new, 8 if before in ("crc", "attributes") else 0)):
            wrong = bytearray(data)
            wrong[22 + moved] = 7
            with pytest.raises(Unsupported) as caught:
                module.read_record_batch(bytes(wrong), 0, len(wrong), ReadOptions(check_crc=False))
            assert caught.value.at == 21 + moved


def test_the_other_schemas_are_not_blamed(tmp_path: Path) -> None:
    edited(tmp_path, size="len_batch - 9999")
    with pytest.raises(SchemaError) as caught:
        render_all(tmp_path, targets=["python", "native"], kernels=["record_batch", "message_set"])
    assert [each.path for each in caught.value.problems] == ["record_batch.records"]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return from_schemas(edited(tmp_path_factory.mktemp("schemas")))


def test_vectors_have_each_magic_with_all_fields_set(suite: Suite) -> None:
    found = [each.value for each in suite.vectors if each.type == "record_batch" and each.must == "accept"]
    whole = [each for each in found if each["attributes"]["is_control"] and each["base_sequence"] != -1]
    assert {(each["magic"], each["trace_id"] != 0) for each in whole if "len_batch" in each} >= {
        (2, False),
        (3, True),
    }


def test_observed_vectors_have_the_field_too(suite: Suite) -> None:
    old = json.loads((SCHEMAS / "log" / "observed.vectors.json").read_text())["vectors"]
    new = {each.id: each for each in suite.vectors}
    seen = 0
    for each in old:
        value = new[each["id"]].value
        body = value.get("body", value) if isinstance(value, dict) else {}
        if "producer_id" in body:
            assert body["trace_id"] == 0
            seen += 1
    assert seen > 10


def test_a_kernel_does_not_lose_the_field_where_the_magic_lacks_it(tmp_path: Path) -> None:
    made = render_all(edited(tmp_path), targets=["native"], kernels=["record_batch"]).modules
    core = made["kernels/record_batch_core.c"]
    assert "if (KD_UNLIKELY(!(value_magic >= 3) && value_trace_id != 0)) STOP_WRITE(KD_VALUE" in core


def test_a_kernel_writes_no_sizes_that_it_does_not_compare(tmp_path: Path) -> None:
    edited(tmp_path, size="'len_batch - (magic >= 3 ? 56 : 49)'")
    made = render_all(tmp_path, targets=["native"], kernels=["record_batch"]).modules
    assert "record_batch_write_unit" not in made["kernels/record_batch_core.c"]


def test_observed_vectors_have_a_flag_of_bits_that_were_reserved(tmp_path: Path) -> None:
    for name in ("primitives", "log"):
        shutil.copytree(SCHEMAS / name, tmp_path / name)
    flag = "      - id: has_trace\n        type: b1\n        -default: false\n        doc: Trace.\n"
    old = "      - id: has_delete_horizon\n"
    _edit(tmp_path / "log" / "record_batch.ksy", ("type: b9", "type: b8"), (old, flag + old))
    found = [each for each in from_schemas(tmp_path).vectors if each.type == "log_segment::entry"]
    bodies = [each.value["body"] for each in found if "/observed/" in each.id and each.value]
    assert {each["attributes"].get("has_trace") for each in bodies if "producer_id" in each} == {False}
