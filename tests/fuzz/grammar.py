"""Schemas made up by a grammar that knows types, so that most of them are right.

Expressions are made of a wanted kind from what is in reach where they stand; sizes and counts are kept small.
What stock ksc and we are known to see differently (docs/kaitai-differences.md) is left out.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

__all__ = ["made"]

NUMBERS = ("u1", "u2", "u4", "u8", "s1", "s2", "s4", "s8")
FLOATS = ("f4", "f8")
ENCODINGS = ("ASCII", "UTF-8", "UTF-16LE", "UTF-16BE", "ISO-8859-1", "IBM437", "windows-1252", "SJIS")
MEMBERS = ("zero", "one", "two", "big")


@dataclass
class Type:
    """A type that is being made: its members by name with their kinds, and the kinds of its parameters."""

    name: str
    spec: dict[str, Any] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    params: list[str] = field(default_factory=list)


class Grammar:
    """One schema from one source of chance."""

    def __init__(self, draw: random.Random, ident: str) -> None:
        self.draw = draw
        self.ident = ident
        self.types: list[Type] = []

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    # -- the schema ----------------------------------------------------------------------------

    def schema(self) -> dict[str, Any]:
        draw = self.draw
        meta: dict[str, Any] = {"id": self.ident, "endian": draw.choice(("le", "be"))}
        if self.chance(0.5):
            meta["encoding"] = draw.choice(("UTF-8", "ASCII"))
        if self.chance(0.4):
            meta["bit-endian"] = draw.choice(("le", "be"))
        self.encoding = meta.get("encoding")
        # what another order means within a byte is said nowhere
        self.bits = draw.choice(("", "le", "be"))
        root = Type(self.ident, kinds={"n": "int"})
        root.spec["meta"] = meta
        for index in range(draw.choice((0, 1, 2, 2, 3))):
            self.types.append(self.inner(f"t{index}", root))
        self.body(root, draw.choice((2, 3, 4, 6, 8)))
        root.spec["seq"][:0] = [{"id": "n", "type": "u1"}]
        if self.types:
            root.spec["types"] = {each.name: each.spec for each in self.types}
        values = draw.sample((0, 1, 2, 3, 127, 200, 255), 4)
        root.spec["enums"] = {"e": dict(zip(values, MEMBERS, strict=True))}
        return root.spec

    def inner(self, name: str, root: Type) -> Type:
        found = Type(name, kinds={"_root.n": "int"} if self.chance(0.2) else {})
        if self.chance(0.25):
            kind = self.draw.choice(("u1", "u2", "s4", "bool", "str", "bytes"))
            found.spec["params"] = [{"id": "p0", "type": kind}]
            found.kinds["p0"] = {"bool": "bool", "str": "str", "bytes": "bytes"}.get(kind, "int")
            found.params.append(found.kinds["p0"])
        self.body(found, self.draw.choice((0, 1, 2, 3, 4)))
        return found

    def body(self, at: Type, fields: int) -> None:
        seq: list[dict[str, Any]] = []
        early: dict[str, Any] = {}
        if self.chance(0.35):
            # what fields may ask for: it depends on where the stream stands then
            early["w0"] = {"pos": self.place(at), "type": self.draw.choice(("u1", "u1", "s1", "b3", "u2"))}
            at.kinds["w0"] = "int"
            if self.chance(0.4):
                early["w1"] = {"value": self.draw.choice(("w0 + 1", "_io.pos", "w0 & 3", "_io.eof ? 0 : 1"))}
                at.kinds["w1"] = "int"
            if self.chance(0.1):
                early["w0"]["if"] = self.draw.choice(("_io.pos > 1", "not _io.eof"))
                at.kinds |= dict.fromkeys(early, "maybe int")
        for index in range(fields):
            seq.append(self.field(at, f"f{index}", last=index + 1 == fields))
        at.spec["seq"] = seq
        if self.chance(0.4):
            for index in range(self.draw.choice((1, 1, 2, 3))):
                early[f"i{index}"] = self.instance(at, f"i{index}")
        if early:
            at.spec["instances"] = early

    # -- fields --------------------------------------------------------------------------------

    def field(self, at: Type, name: str, *, last: bool) -> dict[str, Any]:
        found: dict[str, Any] = {"id": name}
        condition = None
        if self.chance(0.15):
            condition = self.bool(at, 2)
        kind = self.value(at, found, last=last and condition is None)
        # of a list of such a switch without size, ksc keeps the elements that have a case only
        many = self.chance(0.18) and (kind != "any" or "size" in found or "size-eos" in found)
        if many:
            self.repeat(at, found, kind, last=last and condition is None)
        elif self.chance(0.08) and kind in ("int", "bool", "str", "enum", "bytes", "float"):
            self.valid(at, found, kind)
        if condition is not None:
            found["if"] = condition
        at.kinds[name] = f"list {kind}" if many else kind
        if condition is not None or kind == "any":
            # what may be missing is asked for seldom: it ends most readings
            at.kinds[name] = f"maybe {at.kinds[name]}"
        return found

    def value(self, at: Type, found: dict[str, Any], *, last: bool) -> str:
        """Give a field its type; the kind of its value."""
        draw = self.draw
        what = draw.choices(
            ("int", "float", "bits", "enum", "bytes", "str", "type", "switch", "contents"),
            (30, 5, 14, 8, 14, 14, 14, 8, 2),
        )[0]
        if what == "int":
            found["type"] = self.number()
            return "int"
        if what == "float":
            found["type"] = draw.choice(FLOATS) + draw.choice(("", "", "le", "be"))
            return "float"
        if what == "bits":
            width = draw.choice((1, 1, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 31, 64))
            found["type"] = f"b{width}{self.bits}"
            return "bool" if width == 1 else "int"
        if what == "enum":
            found["type"] = draw.choice(("u1", "u1", "u2", "s1", f"b2{self.bits}", f"b8{self.bits}"))
            found["enum"] = "e"
            return "enum"
        if what == "contents":
            found["contents"] = draw.choice(([0], [1, 2], "ab", [0, "a", 255]))
            return "bytes"
        if what == "type" and self.types:
            return self.ref(at, found, last=last)
        if what == "switch":
            return self.switch(at, found, last=last)
        if what == "str":
            found["type"] = "str"
            if self.encoding is None or self.chance(0.4):
                found["encoding"] = draw.choice(ENCODINGS)
            if self.chance(0.25):
                found["type"] = "strz"
                if self.chance(0.5):
                    self.sized(at, found, last=last)
                return "str"
        if self.chance(0.2):
            self.terminated(found)
        else:
            self.sized(at, found, last=last)
        if what == "bytes" and self.chance(0.1):
            found["process"] = draw.choice(
                (f"xor({self.int(at, 1)} & 255)", "xor([1, 2, 3])", "rol(3)", "ror(1)", "zlib")
            )
        return "str" if what == "str" else "bytes"

    def number(self) -> str:
        name = self.draw.choices(NUMBERS, (10, 4, 3, 1, 3, 2, 1, 1))[0]
        return name if name[1] == "1" else name + self.draw.choice(("", "", "", "le", "be"))

    def terminated(self, found: dict[str, Any]) -> None:
        found["terminator"] = self.draw.choice((0, 0, 0, 1, 255))
        for key, usual in (("include", False), ("consume", True), ("eos-error", True)):
            if self.chance(0.25):
                found[key] = not usual

    def sized(self, at: Type, found: dict[str, Any], *, last: bool) -> None:
        if last and self.chance(0.4):
            found["size-eos"] = True
        else:
            found["size"] = self.small(at)
        if found.get("type") != "strz" and self.chance(0.15):
            found["pad-right"] = self.draw.choice((0, 32, 1))
        if found.get("type") != "strz" and self.chance(0.12):
            found["terminator"] = self.draw.choice((0, 1))
            if self.chance(0.4):
                found["include"] = True

    def ref(self, at: Type, found: dict[str, Any], *, last: bool) -> str:
        chosen = self.draw.choice(self.types)
        found["type"] = self.call(at, chosen)
        if self.chance(0.3):
            self.wrapped(at, found, last=last)
        return f"type {chosen.name}"

    def wrapped(self, at: Type, found: dict[str, Any], *, last: bool) -> None:
        """Give an object bytes of its own."""
        if last and self.chance(0.4):
            found["size-eos"] = True
        elif self.chance(0.1):
            self.terminated(found)
        else:
            found["size"] = self.small(at)
        if "terminator" not in found and self.chance(0.1):
            found[self.draw.choice(("pad-right", "terminator"))] = self.draw.choice((0, 1))
        if self.chance(0.1):
            found["process"] = self.draw.choice((f"xor({self.int(at, 1)} & 255)", "rol(3)"))

    def call(self, at: Type, chosen: Type) -> str:
        args = [self.of_kind(at, kind, 1) for kind in chosen.params]
        return f"{chosen.name}({', '.join(args)})" if args else chosen.name

    def switch(self, at: Type, found: dict[str, Any], *, last: bool) -> str:
        draw = self.draw
        numbers = draw.choice((True, False)) or not self.types
        one = (lambda: self.number()) if numbers else (lambda: self.call(at, draw.choice(self.types)))
        by = draw.choice(("int", "int", "enum", "bool", "str"))
        labels = {
            "int": ["0", "1", "2", "255", "-1"],
            "enum": [f"e::{each}" for each in MEMBERS],
            "bool": ["true", "false"],
            "str": ["'a'", "''", "'b'"],
        }[by]
        cases = {label: one() for label in draw.sample(labels, draw.randrange(1, len(labels)))}
        if self.chance(0.6):
            cases["_"] = one()
        found["type"] = {"switch-on": self.of_kind(at, by, 1), "cases": cases}
        if not numbers and self.chance(0.4):
            self.wrapped(at, found, last=last)
        return "int" if numbers and "_" in cases else "any"

    def repeat(self, at: Type, found: dict[str, Any], kind: str, *, last: bool) -> None:
        how = self.draw.choice(("eos", "expr", "expr", "until") if last else ("expr", "expr", "until"))
        found["repeat"] = how
        if how == "expr":
            found["repeat-expr"] = self.small(at)
        if how == "until":
            until = f"_index >= {self.draw.randrange(4)}"
            if self.chance(0.15):
                until = f"_index == 4 or {self.bool(at, 2)}"
            if kind == "int" and self.chance(0.5):
                until = f"_ == {self.draw.choice((0, 1, 255))} or _index == 5"
            if kind == "bytes" and self.chance(0.3):
                until = "_.length == 0 or _index == 3"
            if kind == "enum" and self.chance(0.3):
                until = "_ == e::one or _io.eof"
            found["repeat-until"] = until

    def valid(self, at: Type, found: dict[str, Any], kind: str) -> None:
        one = self.literal(kind)
        rules: list[Any] = [one, {"eq": one}, {"any-of": [one, self.literal(kind)]}]
        if kind in ("int", "float"):
            rules += [
                {"min": self.literal(kind)},
                {"max": "200"},
                {"expr": "_ < 200"},
                {"expr": f"_ != {self.int(at, 1)}"},
                {"max": f"{self.int(at, 1)} | 127"},
                {"min": 1, "max": 100},
            ]
        if kind == "enum":
            rules += [{"in-enum": True}] * 2
        found["valid"] = self.draw.choice(rules)

    def instance(self, at: Type, name: str) -> dict[str, Any]:
        draw = self.draw
        if self.chance(0.6):
            kind = draw.choice(("int", "int", "bool", "str", "float", "enum", "bytes"))
            found: dict[str, Any] = {"value": self.of_kind(at, kind, 3)}
            if kind == "int" and self.chance(0.1):
                found["enum"] = "e"
                kind = "enum"
        else:
            found = {"pos": self.place(at)} if self.chance(0.95) else {}
            kind = self.value(at, found, last=False)
            if self.chance(0.3) and kind != "any":
                self.repeat(at, found, kind, last=False)
                kind = f"list {kind}"
            if self.chance(0.2):
                # an unsized field has the stream of its type
                parts = [f"{each}._io" for each, its in at.kinds.items() if its.startswith("type ")]
                found["io"] = draw.choice(("_root._io", "_io", *parts))
        if self.chance(0.15):
            found["if"] = self.bool(at, 1)
            kind = f"maybe {kind}"
        at.kinds[name] = "maybe any" if kind == "any" else kind
        return found

    # -- expressions ---------------------------------------------------------------------------

    def of_kind(self, at: Type, kind: str, depth: int) -> str:
        make = {
            "int": self.int,
            "bool": self.bool,
            "str": self.str,
            "bytes": self.bytes,
            "float": self.float,
            "enum": self.enum,
        }[kind]
        return make(at, depth)

    def literal(self, kind: str) -> Any:
        draw = self.draw
        return {
            "int": lambda: draw.choice((0, 1, 2, 7, 255, -1, "0x10")),
            "float": lambda: draw.choice(("0.5", "1.0", "-2.25")),
            "bool": lambda: draw.choice(("true", "false")),
            "str": lambda: draw.choice(('"a"', '""', '"ab"', '"0"')),
            "bytes": lambda: draw.choice(("[0, 1]", "[97]", "[255, 0, 1]")),
            "enum": lambda: f"e::{draw.choice(MEMBERS)}",
        }[kind]()

    def names(self, at: Type, kind: str) -> list[str]:
        found = [name for name, each in at.kinds.items() if each == kind]
        if self.chance(0.05):
            found += [name for name, each in at.kinds.items() if each == f"maybe {kind}"]
        for name, each in at.kinds.items():
            if each.startswith("type ") and self.chance(0.5):
                inner = next(other for other in self.types if other.name == each[5:])
                found += [
                    f"{name}.{one}" for one, its in inner.kinds.items() if its == kind and one[0] != "_"
                ]
        return found

    def place(self, at: Type) -> Any:
        """A position, most often one that is there."""
        if self.chance(0.3):
            return self.draw.choice(("_io.pos", "_io.pos", "_io.pos + 1", "_io.pos - 1", "_root._io.pos"))
        return self.small(at)

    def small(self, at: Type) -> Any:
        """A size or a count, most often small and right."""
        draw = self.draw
        if self.chance(0.5):
            return draw.choice((0, 1, 1, 2, 2, 3, 4, 8))
        if self.chance(0.08):
            return self.int(at, 2)
        names = self.names(at, "int")
        if names and self.chance(0.7):
            name = draw.choice(names)
            return draw.choice((name, f"{name} & 3", f"{name} % 5", f"({name} & 7) + 1"))
        return f"({self.int(at, 2)}) % {draw.choice((2, 3, 5))}"

    def int(self, at: Type, depth: int) -> str:
        draw = self.draw
        names = self.names(at, "int")
        if depth <= 0 or self.chance(0.25):
            if names and self.chance(0.75):
                return draw.choice(names)
            return str(self.literal("int"))
        one, two = (lambda: self.int(at, depth - 1)), (lambda: self.int(at, depth - 1))
        what = draw.randrange(14)
        if what < 6:
            op = draw.choice(("+", "-", "*", "&", "|", "^", "+", "-"))
            return f"({one()} {op} {two()})"
        if what == 6:
            return f"({one()} {draw.choice(('/', '%'))} {draw.choice(('2', '3', '7', '16'))})"
        if what == 7:
            return f"({one()} {draw.choice(('<<', '>>'))} {draw.randrange(8)})"
        if what == 8:
            return f"({self.bool(at, depth - 1)} ? {one()} : {two()})"
        if what == 9:
            return f"{draw.choice(('-', '~'))}({one()})"
        if what == 10:
            return f"{self.str(at, depth - 1)}.length"
        if what == 11:
            lists = self.names(at, "list int")
            if lists:
                name = draw.choice(lists)
                return draw.choice(
                    (f"{name}.size", f"{name}.last", f"{name}.first", f"{name}.max", f"{name}[0]")
                )
            data = self.names(at, "bytes")
            if data:
                name = draw.choice(data)
                return draw.choice((f"{name}.length", f"{name}.size", f"{name}[0]", f"{name}.last"))
            return one()
        if what == 12:
            enums = self.names(at, "enum")
            if enums and self.chance(0.3):
                return f"{draw.choice(enums)}.to_i"
            return draw.choice(("sizeof<u2>", "_io.size", f"{self.float(at, 0)}.to_i"))
        return draw.choice(("_io.pos", "_io.pos", "_root._io.pos")) if self.chance(0.3) else one()

    def bool(self, at: Type, depth: int) -> str:
        draw = self.draw
        if depth <= 0:
            names = self.names(at, "bool")
            return draw.choice(names) if names and self.chance(0.8) else str(self.literal("bool"))
        what = draw.randrange(9)
        if what < 4:
            op = draw.choice(("==", "!=", "<", "<=", ">", ">="))
            return f"({self.int(at, depth - 1)} {op} {self.int(at, depth - 1)})"
        if what == 4:
            op = draw.choice(("==", "!=", "<", ">="))
            return f"({self.str(at, depth - 1)} {op} {self.str(at, depth - 1)})"
        enums = self.names(at, "enum")
        if what == 5 and enums:
            return f"({draw.choice(enums)} {draw.choice(('==', '!='))} {self.literal('enum')})"
        if what == 6:
            return f"({self.bool(at, depth - 1)} {draw.choice(('and', 'or'))} {self.bool(at, depth - 1)})"
        if what == 7:
            return f"not ({self.bool(at, depth - 1)})"
        return "_io.eof" if self.chance(0.3) else self.bool(at, 0)

    def str(self, at: Type, depth: int) -> str:
        draw = self.draw
        names = self.names(at, "str")
        if depth <= 0 or self.chance(0.4):
            return draw.choice(names) if names and self.chance(0.8) else str(self.literal("str"))
        what = draw.randrange(5)
        if what == 0:
            return f"({self.str(at, depth - 1)} + {self.str(at, depth - 1)})"
        if what == 1:
            return f"({self.int(at, depth - 1)}).to_s"
        if what == 2:
            return f"{self.str(at, depth - 1)}.reverse"
        if what == 3:
            return f"({self.bool(at, depth - 1)} ? {self.str(at, 0)} : {self.str(at, 0)})"
        return f"{self.str(at, 0)}.substring(0, {draw.randrange(3)})"

    def bytes(self, at: Type, depth: int) -> str:
        names = self.names(at, "bytes")
        return self.draw.choice(names) if names and self.chance(0.8) else str(self.literal("bytes"))

    def enum(self, at: Type, depth: int) -> str:
        names = self.names(at, "enum")
        return self.draw.choice(names) if names and self.chance(0.9) else str(self.literal("enum"))

    def float(self, at: Type, depth: int) -> str:
        names = self.names(at, "float")
        if depth <= 0 or self.chance(0.4):
            return self.draw.choice(names) if names and self.chance(0.7) else str(self.literal("float"))
        return f"({self.float(at, depth - 1)} {self.draw.choice('+-*')} {self.float(at, depth - 1)})"


def made(draw: random.Random, ident: str) -> dict[str, Any]:
    """A schema as a YAML tree, with the id `ident`."""
    return Grammar(draw, ident).schema()
