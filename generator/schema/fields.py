"""Reads the keys of fields."""

from __future__ import annotations

import re
from dataclasses import replace

from kodec.generator.problems import Place
from kodec.generator.schema import expr as ex
from kodec.generator.schema.load import Node
from kodec.generator.schema.model import (
    ARROW_TYPE,
    Codec,
    Column,
    Derive,
    DeriveCall,
    Field,
    Process,
    Switch,
    Tag,
    TypeRef,
    Valid,
)
from kodec.generator.schema.types import Types
from kodec.generator.wire import CHECKSUMS

__all__ = ["Fields"]

_DERIVE = re.compile(
    r"\s*(length_of|count_of|presence_of|crc32c|crc32|last|max)\(\s*([a-z][a-z0-9_]*)"
    r"(?:\s*\.\.\s*([a-z][a-z0-9_]*)|\.([a-z][a-z0-9_]*))?\s*\)\s*(?:\+\s*(.+))?\Z"
)

FUNCTIONS = ("length_of", "count_of", "position_of", *CHECKSUMS)
"""What `-derive` can ask of bytes."""
_PATH = r"[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)*"
_CALL = re.compile(
    rf"(?<![\w.])({'|'.join(sorted(FUNCTIONS, key=len, reverse=True))})"
    rf"\(\s*({_PATH})\s*(?:\.\.\s*({_PATH})|\bwhere\b\s*((?:[^()]|\([^()]*\))+))?\s*\)"
)
_FORMS = "length_of(x), count_of(x), position_of(x), crc32(a..b) or another checksum, in an expression"


def _cases(node: Node) -> dict[str, Place]:
    """The places of a field's switch: `switch-on`, the cases with `_` last, and the types of each."""
    switch = node.get("type") or node
    on, cases = switch.get("switch-on"), switch.get("cases")
    keys = [] if cases is None else sorted(cases.keys, key=lambda key: key == "_")
    found = {} if on is None else {"switch-on": on.place}
    for index, key in enumerate(keys):
        assert cases is not None
        found |= {f"cases/{index}": cases.keys[key], f"types/{index}": cases.map[key].place}
    return found


class Fields(Types):
    """Reads a field, with all its keys."""

    def field(self, node: Node, scope: str, path: str, index: int) -> Field:
        ident = f"_unnamed{index}" if node.get("id") is None else self.ident(node, path)
        self.known(node, "field", f"{path}.{ident}")
        return self.parsed(node, ident, scope, f"{path}.{ident}")

    def parsed(self, node: Node, ident: str, scope: str, path: str) -> Field:
        """The values of the keys of a field, or of a parse instance."""
        kind = self.type_of(node, scope, path)
        contents = self._contents(node, path)
        enum = self.enum_of(node, scope, path)
        repeat = self.word(node, "repeat", path, ("eos", "expr", "until"))
        for word in ("expr", "until"):
            beside = node.get(f"repeat-{word}") is not None
            if (repeat == word) != beside and not (beside and repeat is None and "repeat" in node.map):
                hint = f"add `repeat: {word}`" if beside else f"add `repeat-{word}`"
                self.bad(node, path, f"`repeat: {word}` and `repeat-{word}` go together", hint)
        codec = self._codec(node, scope, path)
        return Field(
            ident,
            kind,
            node.place,
            self.words(node, "-orig-id"),
            self.expr(node.get("size"), path),
            self.flag(node, "size-eos", path),
            contents,
            repeat,
            self.expr(node.get("repeat-expr"), path),
            self.expr(node.get("repeat-until"), path),
            self.expr(node.get("if"), path),
            enum,
            self._valid(node, path),
            self._derive(node, path),
            self.expr(node.get("-default"), path),
            self.expr(node.get("-nullable"), path),
            self.number(node, "-since", path),
            self.number(node, "-until", path),
            self.flag(node, "-ignorable", path),
            codec,
            self._tags(node, kind, path),
            self.column(node, ident, path),
            self.words(node, "doc"),
            self.refs(node),
            self._terminator(node, path),
            self.flag(node, "consume", path, usual=True),
            self.flag(node, "include", path),
            self.flag(node, "eos-error", path, usual=True),
            self._byte(node, "pad-right", path),
            self._process(node, path),
            self.version_range(node, "-nullable-versions", path),
            {("valid" if key == "-valid" else str(key)): each.place for key, each in node.map.items()}
            | _cases(node),
        )

    def _byte(self, node: Node, key: str, path: str) -> int | None:
        number = self.number(node, key, path)
        if number is not None and not 0 <= number <= 255:
            self.bad(node.map[key], path, f"`{key}` must be a byte, 0 to 255")
            return None
        return number

    def _terminator(self, node: Node, path: str) -> bytes | None:
        child = node.get("terminator")
        if child is None:
            return None
        parts = child.items or [child]
        if not all(type(part.value) is int and 0 <= part.value <= 255 for part in parts):
            self.bad(child, path, "`terminator` must be a byte, 0 to 255, or a list of bytes")
            return None
        return bytes(part.value for part in parts if isinstance(part.value, int))

    def _process(self, node: Node, path: str) -> Process | None:
        child = node.get("process")
        if child is None:
            return None
        # the dots of a package's name are not attributes here
        text = str(child.value).strip()
        name, bracket, rest = text.partition("(")
        parsed = self.expr(Node(f"p({rest}" if bracket else "p()", child.place, {}), path)
        if not re.match(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*\Z", name.strip()):
            self.bad(child, path, f"`process: {text}` is not a name", "xor(key), rol(n), ror(n), zlib")
            return None
        if not isinstance(parsed, ex.Call):
            return None
        return Process(name.strip(), parsed.args)

    def enum_of(self, node: Node, scope: str, path: str) -> str | None:
        """The full name of the enum that `enum` names."""
        enum = self.text(node, "enum")
        if enum is None:
            return None
        found = self.resolve(enum, scope, lambda unit: unit.enums)
        if found is None:
            assert self.unit is not None
            known = [name.rpartition("::")[2] for name in self.unit.enums]
            self.bad(node.map["enum"], path, *self.unknown("enum", enum, known))
        return found

    def _contents(self, node: Node, path: str) -> bytes | None:
        child = node.get("contents")
        if child is None:
            return None
        parts = child.items or [child]
        out = b""
        for part in parts:
            if isinstance(part.value, str):
                # a lone surrogate is not a character and has no bytes
                if any("\ud800" <= sign <= "\udfff" for sign in part.value):
                    self.bad(part, path, "contents hold half a surrogate pair")
                out += part.value.encode("utf-8", "replace")
            elif isinstance(part.value, int) and 0 <= part.value <= 255:
                out += bytes([part.value])
            else:
                self.bad(part, path, "contents must be text or bytes from 0 to 255")
        return out

    def _valid(self, node: Node, path: str) -> Valid | None:
        child = node.get("valid") or node.get("-valid")
        if child is None:
            return None
        if node.get("valid") and node.get("-valid"):
            self.bad(node.map["-valid"], path, "`valid` and `-valid` exclude each other")
        if not isinstance(child.value, dict):
            return Valid(eq=self.expr(child, path))
        self.known(child, "valid", path)
        choices = None
        if child.get("any-of") is not None:
            listed = self.items_of(child, "any-of", path)
            choices = tuple(e for item in listed if (e := self.expr(item, path)) is not None)
            broken = isinstance(child.map["any-of"].value, list) and len(choices) < max(len(listed), 1)
            if broken:
                self.bad(child.map["any-of"], path, "`any-of` must list values", "any-of: [1, 2]")
                choices = None
        return Valid(
            self.expr(child.get("eq"), path),
            self.expr(child.get("min"), path),
            self.expr(child.get("max"), path),
            choices,
            self.expr(child.get("expr"), path),
            self.flag(child, "in-enum", path),
        )

    def _derive(self, node: Node, path: str) -> Derive | None:
        child = node.get("-derive")
        if child is None:
            return None
        if not isinstance(child.value, list):
            return self._derivation(child, path)
        found = [made for item in child.items if (made := self._derivation(item, path)) is not None]
        if not found:
            self.bad(child, path, "`-derive` cannot be read", _FORMS)
            return None
        first = replace(found[0], more=tuple(found[1:]))
        # layouts have one derivation for a field
        return first if first.kind == "computed" or not first.more else self._in_streams(first)

    @staticmethod
    def _in_streams(derive: Derive) -> Derive:
        calls, value = derive.parts
        return replace(derive, kind="computed", calls=calls, value=value)

    def _derivation(self, child: Node, path: str) -> Derive | None:
        when: ex.Expr | None = None
        verify, own, unpack, into = "equal", None, None, None
        text_node: Node | None = child
        if isinstance(child.value, dict):
            self.known(child, "-derive", path)
            text_node = child.get("value")
            when = self.expr(child.get("when"), path)
            verify = self.word(child, "verify", path, ("equal", "at_least", "no")) or "equal"
            own = self._byte(child, "own", path)
            unpack = self.word(child, "unpack", path, ("deflate", "zlib", "gzip"))
            into = self.text(child, "into")
        text = str(text_node.value) if text_node else ""
        match = _DERIVE.match(text)
        # layouts always compute a checksum
        checksum = match is not None and match[1] in CHECKSUMS and when is not None
        if match is not None and (verify == "no" or own is not None or unpack or into or checksum):
            match = None
        if match is None:
            calls, value = self._calls(text, text_node or child, path)
            if value is None or any(isinstance(part, ex.Call) for part in ex.walk(value)):
                self.bad(text_node or child, path, "`-derive` cannot be read", _FORMS)
                return None
            first = calls[0].first if calls else "computed"
            return Derive("computed", first, None, None, None, verify, when, calls, value, own, unpack, into)
        kind, first, last, member, plus = match.groups()
        wants_member = kind in ("last", "max")
        if wants_member != (member is not None) or (
            last is not None and kind in ("count_of", "presence_of", "last", "max")
        ):
            self.bad(
                text_node or child,
                path,
                f"`{kind}` does not accept these arguments",
                "last(x.y), crc32(a..b), count_of(x)",
            )
            return None
        extra = self.expr(Node(plus, child.place, {}), path) if plus else None
        return Derive(kind, first, last, member, extra, verify, when)

    def _calls(self, text: str, node: Node, path: str) -> tuple[tuple[DeriveCall, ...], ex.Expr | None]:
        """The calls in a derivation, and its expression with a name in the place of each."""
        calls: list[DeriveCall] = []

        def named(match: re.Match[str]) -> str:
            function, first, last, where = match.groups()
            of, _, name = first.rpartition(".")
            around, _, end = (last or first).rpartition(".")
            if around not in ("", of):
                self.bad(node, path, f"`{match[0]}` begins and ends in different objects", "crc32(a.b..c)")
            owner = self.expr(Node(of, node.place, {}), path) if of else None
            condition = self.expr(Node(where, node.place, {}), path) if where else None
            calls.append(DeriveCall(function, owner, name, end, condition))
            return f"_d{len(calls) - 1}"

        rest = _CALL.sub(named, text)
        if not rest.strip():
            return (), None
        return tuple(calls), self.expr(Node(rest, node.place, {}), path)

    def _codec(self, node: Node, scope: str, path: str) -> Codec | None:
        child, inner = node.get("-codec"), node.get("-inner")
        if inner is not None and child is None:
            self.bad(inner, path, "`-inner` needs `-codec`")
        if child is not None and inner is None:
            hint = "a `switch-on` with a case for `none`, or -codec: {field: x, type: y}"
            self.bad(child, path, "`-codec` needs the type of the content", hint)
        if child is None or inner is None:
            return None
        by_node: Node | None = child
        pairs: tuple[tuple[str, str], ...] = ()
        when: ex.Expr | None = None
        if isinstance(child.value, dict):
            self.known(child, "-codec", path)
            by_node = child.get("field")
            pairs = tuple(
                (
                    self.name(Node(key, item.place, {}), path, "the codec"),
                    self.name(item, path, "the codec"),
                )
                for key, item in self.mapping_of(child, "replace", path).items()
            )
            when = self.expr(child.get("when"), path)
        by = self.expr(by_node, path)
        target = self.resolve(str(inner.value), scope, lambda unit: unit.types)
        if target is None:
            self.bad(inner, path, *self.unknown("type", str(inner.value), self.seen_types(scope)))
        if by is None or target is None:
            return None
        return Codec(by, target, pairs, when)

    def _tags(self, node: Node, kind: TypeRef, path: str) -> tuple[Tag, ...]:
        child = node.get("-tags")
        if child is None:
            return ()
        cases: dict[object, TypeRef] = {}
        if isinstance(kind, Switch):
            cases = {case.value: each for case, each in kind.cases if isinstance(case, ex.Literal)}
        tags: list[Tag] = []
        for number, item in self.mapping_of(node, "-tags", path).items():
            if not isinstance(number, int) or number not in cases:
                self.bad(
                    item,
                    path,
                    f"tag {number} has no case in the switch",
                    "each tag is a case of the body's type",
                )
                continue
            if isinstance(item.value, dict):
                self.known(item, "tag", path)
                ident = self.ident(item, path)
                tags.append(
                    Tag(
                        number,
                        ident,
                        cases[number],
                        self.words(item, "-orig-id"),
                        self.words(item, "doc"),
                        self.expr(item.get("-default"), path),
                        self.flag(item, "-ignorable", path),
                        self.number(item, "-since", path),
                        self.number(item, "-until", path),
                        self.version_range(item, "-nullable-versions", path),
                    )
                )
            else:
                tags.append(Tag(number, self.name(item, path, "the tag"), cases[number]))
        for case in cases.keys() - {tag.number for tag in tags}:
            self.bad(child, path, f"case {case} of the switch has no tag")
        return tuple(sorted(tags, key=lambda tag: tag.number))

    def column(self, node: Node, ident: str, path: str) -> Column | None:
        child = node.get("-column")
        if child is None:
            return None
        if child.value is False:
            return Column(ident, hidden=True)
        if isinstance(child.value, str):
            return Column(self.name(child, path, "the column"))
        self.known(child, "-column", path)
        name = child.get("name")
        return Column(
            ident if name is None else self.name(name, path, "the column"),
            self.arrow(child, path),
            self.expr(child.get("value"), path),
        )

    def arrow(self, node: Node, path: str) -> str | None:
        """The Arrow type of a column."""
        text = self.text(node, "type")
        if text is not None and not ARROW_TYPE.match(text):
            hint = "int8 to int64, uint8 to uint64, float, double, bool, binary, string, timestamp[ms, UTC]"
            self.bad(node.map["type"], path, f"`{text}` is not the type of a column", hint)
            return None
        return text
