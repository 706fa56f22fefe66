"""What is made for the readers of the stock Kaitai compiler: they read small vectors as far as ksc can."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kodec.conformance.known import read_known
from kodec.conformance.process import Limits
from kodec.conformance.run import run
from kodec.conformance.suite import from_schemas

from . import ksc_testee
from .run import KNOWN, LANGUAGES

FORMATS = Path(__file__).with_name("formats")

pytestmark = [pytest.mark.languages, pytest.mark.xdist_group("ksc")]


@pytest.mark.parametrize("name", [each for each in ksc_testee.LANGUAGES if each != "perl"])
def test_a_reader_decodes_what_ksc_can(name: str, tmp_path: Path) -> None:
    ksc = ksc_testee.LANGUAGES[name]
    if lacks := [each for each in ksc.needs if shutil.which(each) is None]:
        pytest.skip(f"no {', '.join(lacks)} here")
    try:
        command, refused = ksc_testee.build(FORMATS, tmp_path, name)
    except ksc_testee.Missing as missing:
        pytest.skip(f"not here: {missing}")
    assert not refused
    report = run(from_schemas(FORMATS), command, Limits(60.0, start=300.0))
    known = read_known(*(KNOWN / f"{each}.json" for each in ("ksc", f"ksc-{name}") if _is_there(each)))
    assert report.count("decode", "passed") > 10
    judged = [each for each in map(known.judged, report.results) if each.outcome not in ("passed", "known")]
    # a field that the version lacks is null to a reader of ksc's; the default here is an empty list
    assert {each.text for each in judged} <= {"ids is None, not a list"}


def _is_there(name: str) -> bool:
    return (KNOWN / f"{name}.json").is_file()


def test_files_of_known_failures_are_of_languages() -> None:
    names = {each.name for each in LANGUAGES} | {"ksc", "kafka", "kio"}
    for path in KNOWN.glob("*.json"):
        assert path.stem in names
        assert all(each["reason"] for each in json.loads(path.read_text())["known"])
