"""Passes over typed code: what has no use is dropped, and what is used once at once needs no local."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from kodec.generator.code.typed import (
    Bytes,
    Code,
    Do,
    Elements,
    If,
    Items,
    Let,
    Section,
    Set,
    Statement,
    Switch,
    Tags,
    Unpacked,
    Walk,
    Within,
    codes_in,
)
from kodec.generator.parts import fields_of
from kodec.generator.plan.values import OCTETS
from kodec.generator.wire import WIRE

__all__ = ["blocks_of", "statements_in", "tidy", "with_blocks"]

Block = tuple[Statement, ...]


def tidy(code: Block) -> Block:
    """Statements without values that nothing asks for; what is read is still required to be there."""
    while True:
        uses = Counter(_uses(code))
        found = _joined(tuple(_kept(code, uses)), uses)
        if found == code:
            return code
        code = found


def blocks_of(statement: Statement) -> tuple[Block, ...]:
    """The lists of statements inside one."""
    match statement:
        case If(_, then, other):
            return then, other
        case Switch(_, cases, other):
            return (*(body for _, body in cases), other)
        case Tags(cases=cases):
            return tuple(body for _, _, body in cases)
        case Section(_, _, tags):
            return tuple(block for _, _, *blocks in tags for block in blocks)
        case Within() | Elements() | Walk() | Bytes() | Unpacked() | Items():
            return (statement.body,)
    return ()


def with_blocks(statement: Statement, blocks: tuple[Block, ...]) -> Statement:
    """A statement with other lists of statements inside."""
    match statement:
        case If():
            return replace(statement, then=blocks[0], other=blocks[1])
        case Switch(_, cases):
            values = (value for value, _ in cases)
            return replace(statement, cases=tuple(zip(values, blocks, strict=False)), other=blocks[-1])
        case Tags(cases=cases):
            pairs = zip(cases, blocks, strict=True)
            return replace(statement, cases=tuple((tag, test, body) for (tag, test, _), body in pairs))
        case Section(_, _, tags):
            inner = zip(tags, blocks[::2], blocks[1::2], strict=True)
            return replace(statement, tags=tuple((tag[0], tag[1], one, two) for tag, one, two in inner))
        case Within() | Elements() | Walk() | Bytes() | Unpacked() | Items():
            return replace(statement, body=blocks[0])
    return statement


def _own(statement: Statement) -> Iterator[Code]:
    """The operations of a statement, not of those inside; not the local that it sets."""
    blocks = blocks_of(statement)
    for name in fields_of(type(statement)) or ():
        part = getattr(statement, name)
        if isinstance(statement, Set) and name == "target" and part.op == "var":
            continue
        if part in blocks:
            continue
        if name == "cases":
            part = tuple(each for case in part for each in case[:-1])
        if name == "tags":
            part = tuple(tag[1] for tag in part)
        yield from codes_in(part)


def _uses(code: Iterable[Statement]) -> Iterator[str]:
    """The locals whose values are asked for, as often as they are."""
    for each in code:
        yield from (part.args[0] for part in _own(each) if part.op == "var")
        for block in blocks_of(each):
            yield from _uses(block)


def _kept(code: Block, uses: Counter[str]) -> Iterator[Statement]:
    for each in code:
        if blocks := blocks_of(each):
            inner = tuple(tuple(_kept(block, uses)) for block in blocks)
            if any(inner) or not isinstance(each, (If, Switch, Within)):
                yield with_blocks(each, inner)
            continue
        match each:
            case Let(name, value) if not uses[name]:
                yield from _effects(value)
            case Set(Code("var", (name,)), value) if not uses[name] and name != "value":
                yield from _effects(value)
            case _:
                yield each


def _effects(value: Code) -> Iterator[Do]:
    """What a value that nobody asks for does to where it is read from."""
    for each in codes_in(value):
        if each.op == "number":
            io, wire, _, name = each.args
            yield Do(Code("on", ("take", io, name, WIRE[wire].least), OCTETS))
            return
        if each.op in ("on", "read"):
            yield Do(each)
            return


def _joined(code: Block, uses: Counter[str]) -> Block:
    """Statements in which bytes that only the next one asks for stand there."""
    found: list[Statement] = []
    for each in code:
        each = with_blocks(each, tuple(_joined(block, uses) for block in blocks_of(each)))
        before = found[-1] if found else None
        if isinstance(before, Let) and before.value.args[:1] == ("take",) and uses[before.name] == 1:
            local = Code("var", (before.name,), before.value.type)
            own = set(_own(each))
            # a position is where it stands once they are read
            is_plain = all(part.op != "pos" for part in own)
            if isinstance(each, (Let, Set, Do)) and local in own and is_plain:
                found[-1] = _replaced(each, local, before.value)
                continue
        found.append(each)
    return tuple(found)


def _replaced(statement: Let | Set | Do, local: Code, value: Code) -> Statement:
    def change(part: Any) -> Any:
        if part == local:
            return value
        if isinstance(part, Code):
            return replace(part, args=tuple(map(change, part.args)))
        return tuple(map(change, part)) if isinstance(part, tuple) else part

    return replace(statement, value=change(statement.value))


def statements_in(code: Iterable[Statement]) -> Iterator[Statement]:
    """All statements, with those inside others."""
    for each in code:
        yield each
        for block in blocks_of(each):
            yield from statements_in(block)
