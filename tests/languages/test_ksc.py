"""The readers of the stock Kaitai compiler, asked by the testee protocol, in each of its languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kodec.conformance.process import Limits
from kodec.conformance.run import run
from kodec.conformance.suite import from_schemas

from . import ksc_testee
from .compilers import is_here
from .run import JUDGES, KNOWN, LANGUAGES

SCHEMA = """
meta: {id: sensor_message, endian: be, encoding: UTF-8}
seq:
  - {id: sensor, type: u4}
  - {id: warm, type: f8}
  - {id: unit, type: u1, enum: unit_kind}
  - {id: num_samples, type: u2, -derive: count_of(samples)}
  - {id: samples, type: sample, repeat: expr, repeat-expr: num_samples}
types:
  sample:
    seq:
      - {id: at_time, type: s4}
      - {id: len_note, type: u1, -derive: length_of(note)}
      - {id: note, type: str, size: len_note}
      - {id: raw_data, size: 3}
enums:
  unit_kind: {0: kelvin, 1: celsius}
"""

pytestmark = [pytest.mark.languages, pytest.mark.xdist_group("ksc")]


@pytest.mark.parametrize("name", ksc_testee.LANGUAGES)
def test_a_reader_gives_the_values_of_vectors(name: str, tmp_path: Path) -> None:
    ksc = ksc_testee.LANGUAGES[name]
    if lacks := [each for each in ksc.needs if not is_here(each)]:
        pytest.skip(f"no {', '.join(lacks)} here")
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "sensor_message.ksy").write_text(SCHEMA)
    try:
        command, refused = ksc_testee.build(tmp_path / "schemas", tmp_path, name)
    except ksc_testee.Missing as missing:
        pytest.skip(f"not here: {missing}")
    assert not refused
    report = run(from_schemas(tmp_path / "schemas"), command, Limits(60.0, start=300.0))
    assert report.count("decode") == report.count("decode", "passed") > 10
    assert report.count("refuse") == report.count("refuse", "passed") > 2


def test_files_of_known_failures_are_of_languages() -> None:
    names = {each.name for each in (*LANGUAGES, *JUDGES)} | {"ksc"}
    for path in KNOWN.glob("*.json"):
        assert path.stem in names
        assert all(each["reason"] for each in json.loads(path.read_text("utf-8"))["known"])
