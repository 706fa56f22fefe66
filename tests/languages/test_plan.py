"""The plan says the same of bytes as the Python that is generated: values, errors and their places, bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import pytest

from kodec.generator.code.machine import Code, Machine
from kodec.generator.code.writer import Writer
from kodec.generator.driver import load
from kodec.generator.plan.build import program_of
from kodec.generator.plan.dump import from_json, to_json
from kodec.generator.plan.places import Places
from kodec.generator.plan.rows import Elements, Part, Span, rows_of, steps_within
from kodec.generator.plan.steps import Fixed, Many, One, Program, Step, When, steps_in
from kodec.generator.plan.values import text_of
from kodec.generator.wire import WIRE
from kodec.runtime.errors import EncodeError, FormatError
from tests.data import ROOT, TESTS

from .cases import CODES, Case, cases, plain

FOLDERS = {
    "kafka": ROOT / "schemas",
    "others": ROOT / "tests" / "generator" / "formats",
    "versions": TESTS / "languages/formats",
}


def read(code: Code, writer: Writer, case: Case) -> tuple[Case, object]:
    """What the plan makes of a case's bytes, and the value before it is plain."""
    told = () if case.version is None else (case.version,)
    try:
        value = Machine(code, case.data).read(case.type, told)
    except FormatError as error:
        found = (CODES[type(error).__name__], error.path, error.at)
        return Case(case.type, case.data, case.version, error=found), None
    try:
        written = writer.write(case.type, value, told)
    except EncodeError:
        written = None
    return Case(case.type, case.data, case.version, plain(value), written), value


def fields_of(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps_in(steps):
        if isinstance(step, Fixed):
            yield from (slot.path[0] for slot in step.slots)
        elif isinstance(step, (One, Many)):
            yield step.name


def numbers_stand_where_the_plan_says(program: Program, case: Case) -> int:
    """How many were looked at."""
    unit, places = program.units[case.type], Places(program)
    version = case.version if unit.version is None else int(case.value[unit.version_name])
    known = {} if version is None else {unit.version_name: version}
    assert case.written is None or places.size(unit, known) in (None, len(case.written))
    # what stands there only where another field reports it
    maybe = {
        name
        for step in steps_in(unit.steps)
        if isinstance(step, When) and not unit.is_of_version(step.test)
        for name in fields_of(step.steps)
    }
    count = 0
    for each in places.of(unit.steps, known):
        if each.path.split(".")[0] in maybe:
            continue
        value = case.value
        for name in each.path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if value is None or each.number is None or each.offset is None or each.bits is not None:
            continue
        wire, order = each.number
        if WIRE[wire].kind == "integer":
            stored = case.data[each.offset : each.offset + WIRE[wire].least]
            ends: Literal["little", "big"] = "little" if order == "le" else "big"
            assert int.from_bytes(stored, ends, signed=WIRE[wire].signed) == int(value), (case.type, each)
            count += 1
    return count


@pytest.mark.thorough
@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_a_plan_reads_and_writes_as_the_generated_python(folder: Path) -> None:
    program = program_of(load(folder))
    code, writer = Code(program), Writer(program)
    count = refused = numbers = 0
    for case in cases(folder, changes=2 if folder != FOLDERS["versions"] else 20, seed=11):
        found, _ = read(code, writer, case)
        assert found == case
        count += 1
        refused += case.error is not None
        numbers += 0 if case.error is not None else numbers_stand_where_the_plan_says(program, case)
    assert count > 100 and 0 < refused < count and numbers > 0


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_a_plan_is_json_and_comes_back_equal(folder: Path) -> None:
    program = program_of(load(folder))
    text = to_json(program)
    assert from_json(text) == program and to_json(from_json(text)) == text


def test_each_type_of_record_schemas_has_a_unit() -> None:
    model = load(FOLDERS["kafka"])
    units = program_of(model).units
    # what wire types and tagged sections are made of is spelled by each language itself
    schemas = [schema for schema in model.schemas if not schema.streamed]
    without = {each.name for schema in schemas for each in schema.structs} - units.keys()
    assert {name.partition("::")[0] for name in without if "tag" not in name} == {
        "bool8",
        "unsigned_varint",
        "uuid",
        "varint",
        "varlong",
    }


def test_rows_are_steps_with_the_types_inside_unrolled() -> None:
    model = load(FOLDERS["kafka"])
    program = program_of(model)
    found = {schema.id: rows_of(model, program, schema) for schema in model.schemas if not schema.streamed}
    plans = {name: plan for name, plan in found.items() if plan is not None}
    columns = {name: [each.name for each in plan.columns] for name, plan in plans.items()}
    record = ["offset", "timestamp", "timestamp_type", "key", "value"]
    assert columns == {
        "record_batch": [*record, "headers"],
        "message_set": record,
        "offset_index": ["relative_offset", "position"],
        "time_index": ["timestamp", "relative_offset"],
        "transaction_index": ["producer_id", "first_offset", "last_offset", "last_stable_offset"],
    }
    plan = plans["record_batch"]
    assert plan.element is not None and plan.hidden is not None
    assert (plan.content, text_of(plan.hidden)) == ("records", "attributes.is_control")
    offset = plan.columns[0].source
    assert not isinstance(offset, (Span, Elements))
    assert text_of(offset) == "base_offset + records.body.offset_delta"
    # what no column, size or rule asks for is not read
    assert "records.body.offset_delta" in plan.used() and "records.body.attributes" not in plan.used()
    # every size was looked at before it is used
    sized = [each for each in steps_within(plan.element) if isinstance(each, (Part, Span, Elements))]
    assert len(sized) == 6 and all(each.natural for each in sized)
    (head,) = (each for each in steps_within(plan.head) if isinstance(each, Span))
    assert head.name == "records" and not head.natural


def test_bytes_that_a_condition_leaves_out_are_null_in_rows(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x, endian: be}\nseq:\n- {id: rows, type: row, repeat: eos}\ntypes:\n  row:\n"
        "    -row: true\n    seq:\n    - {id: n, type: u1}\n    - {id: tail, size: n, if: n > 3}\n"
        "    - {id: all, size: n}\n"
    )
    model = load(tmp_path)
    plan = rows_of(model, program_of(model), model.schemas[0])
    assert plan is not None
    spans = {each.name: each for each in steps_within(plan.head) if isinstance(each, Span)}
    assert (spans["tail"].nullable, spans["all"].nullable) == (True, False)


def test_a_rule_of_elements_is_no_default_of_their_list(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x, endian: be}\nseq:\n- {id: one, type: u1, valid: 7}\n"
        "- {id: many, type: u1, valid: 7, repeat: expr, repeat-expr: 2}\n"
    )
    one, many = program_of(load(tmp_path)).units["x"].fields
    assert one.default is not None and one.default.value == 7
    assert many.default is None
