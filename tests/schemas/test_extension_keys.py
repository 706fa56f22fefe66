"""Extension keys only add: stock ksc, which passes over them, reads the same values of the same bytes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kaitaistruct import KaitaiStruct

from kodec.generator.driver import load
from kodec.generator.modules import Modules
from kodec.generator.problems import SchemaError
from kodec.generator.targets.python.names import attribute
from kodec.runtime.errors import EncodeError
from tests.generator.test_derivation_table import FORMS, variants
from tests.ksc import oracle
from tests.languages.stream_cases import DERIVED

HEAD = "meta: {id: x, endian: be}\n"


def written(x: Any, form: str, schema: str) -> Iterator[bytes]:
    """The bytes of objects with each value of a form."""
    more = {"z": "t"} if "id: z" in schema else {}
    more |= {"b": 7} if "id: b" in schema else {}
    for flag in range(3):
        for value in eval(f"({FORMS[form].values},)", {"x": x}):
            try:
                yield x.X(f=flag, a=value, **more).to_bytes()
            except EncodeError:
                continue


def same(mine: Any, theirs: Any) -> bool:
    """Whether all members that ksc's object has are in ours."""
    if isinstance(theirs, KaitaiStruct):
        members = {name: value for name, value in vars(theirs).items() if name[0] != "_"}
        return all(same(getattr(mine, attribute(name)), value) for name, value in members.items())
    if isinstance(theirs, list):
        return len(mine) == len(theirs) and all(map(same, mine, theirs))
    return bool(mine == theirs)


def schemas() -> Iterator[tuple[str, str, str, bytes]]:
    """(name, schema, form, data): bytes are written where a form has values, else they are given."""
    for form in FORMS:
        for streamed in (False, True):
            for about, text in variants(FORMS[form], streamed=streamed):
                yield f"{form}, {about}, {streamed}", text, form, b""
    for name, (text, data) in DERIVED.items():
        yield name, text, "", data


def test_ksc_reads_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accepted = []
    for number, (name, text, form, data) in enumerate(schemas()):
        folder = tmp_path / f"s{number}"
        folder.mkdir()
        (folder / "x.ksy").write_text(HEAD + text)
        try:
            accepted.append((number, name, text, form, data, load(folder)))
        except SchemaError:
            continue
    trees = [
        (tmp_path / f"k{each[0]}", {"x": yaml.load(HEAD + each[2], Loader=oracle.CoreLoader)})
        for each in accepted
    ]
    assert [failed for failed in oracle.compile_each(trees) if failed] == []
    monkeypatch.syspath_prepend(tmp_path)
    compared = 0
    for number, name, text, form, data, model in accepted:
        theirs = importlib.import_module(f"k{number}.python.x").X
        with Modules(model) as modules:
            x = modules.of(model.schema("x"))
            for each in written(x, form, text) if form else (data,):
                assert same(x.X.from_bytes(each, exact=False), theirs.from_bytes(each)), (name, each)
                compared += 1
        for module in [each for each in sys.modules if each.startswith(f"k{number}.")]:
            monkeypatch.delitem(sys.modules, module)
    assert len(accepted) > 130 and compared > 400
