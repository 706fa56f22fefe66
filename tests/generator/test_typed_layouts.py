"""Typed code of layouts: every printer and every runtime has what it asks for; the passes over it."""

from __future__ import annotations

import re
from functools import cache

import pytest

from kodec.generator.code.layout_printing import LayoutPrinter
from kodec.generator.code.passes import statements_in, tidy
from kodec.generator.code.printing import camel
from kodec.generator.code.typed import (
    FUNCTIONS,
    LONG,
    Code,
    Do,
    If,
    LayoutCode,
    Let,
    Set,
    Style,
    codes_in,
)
from kodec.generator.code.typed_layout_write import layouts_of
from kodec.generator.driver import load
from kodec.generator.plan.build import program_of
from kodec.generator.plan.values import FLAG, STREAM
from kodec.generator.targets.go.printer import GoPrinter
from kodec.generator.targets.typescript.printer import RUNTIME_NAMES, TypeScriptPrinter
from tests.data import ROOT
from tests.languages.test_plan import FOLDERS

READER = Code("var", ("r",), STREAM)
NUMBER = Code("number", (READER, "u4", "be", "x"), LONG)


PRINTERS = {GoPrinter: Style(), TypeScriptPrinter: Style(built=True, narrow=True, checked=True)}


@cache
def layouts(style: Style) -> list[LayoutCode]:
    programs = (program_of(load(folder)) for folder in FOLDERS.values())
    return [each for program in programs for each in layouts_of(program, style).values()]


@pytest.mark.parametrize("printer", PRINTERS)
def test_a_printer_has_every_operation(printer: type[LayoutPrinter]) -> None:
    several = layouts(PRINTERS[printer])
    parts = [each for code in several for each in codes_in((*code.new, *code.read, *code.write))]
    ops = {each.op for each in parts}
    assert {name for name in ops if not hasattr(LayoutPrinter, f"of_{name}")} == set()
    assert not printer.__abstractmethods__
    called = {each.args[0] for each in parts if each.op in ("on", "call")}
    assert called <= FUNCTIONS.keys() and len(called) > len(FUNCTIONS) - 6


def test_a_runtime_has_every_function() -> None:
    go = "".join((ROOT / "runtime/go" / f"{name}.go").read_text() for name in ("runtime", "codecs"))
    typescript = (ROOT / "runtime/typescript/src/runtime.ts").read_text()
    for name in FUNCTIONS.keys() - {"size_of"}:
        assert re.search(rf"^func (\(r \*reader\) )?{camel(name)}\(", go, re.M), name
    for name in FUNCTIONS.keys() - {"size_of", "characters", "verifies"}:
        spelled = RUNTIME_NAMES.get(name) or camel(name)
        assert re.search(rf"^(export function |  ){spelled}[(<]", typescript, re.M), name


@pytest.mark.parametrize("style", PRINTERS.values())
def test_no_local_is_without_a_use(style: Style) -> None:
    for code in layouts(style):
        for body in (code.read, code.write):
            assert tidy(body) == body
            let = [each.name for each in statements_in(body) if isinstance(each, Let)]
            used = {each.args[0] for each in codes_in(body) if each.op == "var"}
            assert set(let) <= used


def test_bytes_of_a_value_that_nothing_asks_for_are_required() -> None:
    (dropped,) = tidy((Let("field:x", NUMBER),))
    assert dropped == Do(Code("on", ("take", READER, "x", 4), dropped.value.type))  # type: ignore[union-attr]
    test, local = Code("const", (True,), FLAG), Code("var", ("field:x",), LONG)
    assert tidy((If(test, (Set(local, Code("const", (1,), LONG)),)),)) == ()


def test_bytes_that_are_asked_for_once_at_once_need_no_local() -> None:
    taken = Code("on", ("take", READER, "x", 4), LONG)
    run, value = Code("var", ("run1",), LONG), Code("var", ("value",), LONG)

    def loaded(data: Code) -> Set:
        return Set(value, Code("load", (data, "u4", "be", 0), LONG))

    assert tidy((Let("run1", taken), loaded(run))) == (loaded(taken),)
    twice = Let("run1", taken), loaded(run), loaded(run)
    assert tidy(twice) == twice
