"""`type` of a field: a number, bytes, text, a type of the schemas, or a choice of them."""

from __future__ import annotations

import re

from kodec.generator.problems import Place, nearest
from kodec.generator.schema import expr as ex
from kodec.generator.schema.files import opaque
from kodec.generator.schema.hints import like_encoding
from kodec.generator.schema.load import Node, word_of
from kodec.generator.schema.model import Bits, Bytes, Prim, Ref, Str, Switch, TypeRef
from kodec.generator.schema.values import Values
from kodec.generator.wire import ELSEWHERE, WIRE, encoding_named

__all__ = ["PRIM", "Types"]

PRIM = re.compile(r"([us])([1248])(le|be)?\Z")
_FLOAT = re.compile(r"f([48])(le|be)?\Z")
_BITS = re.compile(r"b([1-9][0-9]*)(be|le)?\Z")
_REPEATED = "write `repeat: expr` and `repeat-expr` beside the type of an element"
_LIKE = {"uint": "u", "int": "s", "sint": "s", "float": "f", "i": "s"}
_WORDS = {
    "string": "str, with `size` and `encoding`; strz ends at a 0",
    "text": "str, with `size` and `encoding`; strz ends at a 0",
    "cstring": "strz",
    "bytes": "leave `type` out and give a `size`",
    **dict.fromkeys(("array", "list", "vector"), "the type of an element, with `repeat`"),
    **dict.fromkeys(("struct", "object", "record"), "a name under `types`, where its fields are"),
    **dict.fromkeys(("enum",), "a number, with `enum: name`"),
    **dict.fromkeys(("bit", "bits"), "b1 to b64"),
    **dict.fromkeys(("word", "dword", "qword"), "u2, u4 or u8"),
    "bool": "b1",
    "boolean": "b1",
    **ELSEWHERE,
}


class Types(Values):
    """Reads the type of a field."""

    endian: str | None
    bit_endian: str
    encoding: str | None

    def type_of(self, node: Node, scope: str, path: str) -> TypeRef:
        child = node.get("type")
        if child is None:
            if not any(node.get(key) is not None for key in ("size", "size-eos", "contents", "terminator")):
                self.bad(node, path, "the field has neither a type nor a size")
            return Bytes()
        if isinstance(child.value, dict):
            return self._switch(child, node, scope, path)
        return self.named_type(child, word_of(child.value), node, scope, path)

    def named_type(self, at: Node, text: str, node: Node, scope: str, path: str) -> TypeRef:
        if match := PRIM.match(text):
            return self.prim(at, text, int(match[2]), match[1] == "s", False, match[3], path)
        if match := _FLOAT.match(text):
            return self.prim(at, text, int(match[1]), True, True, match[2], path)
        if match := _BITS.match(text):
            if len(match[1]) > 2 or not 1 <= int(match[1]) <= 64:
                self.bad(at, path, f"`{text}` is not supported", "b1 to b64")
                return Bits(64)
            return Bits(int(match[1]), match[2] or self.bit_endian)
        if text in ("str", "strz"):
            encoding = self.text(node, "encoding") or self.encoding or ""
            canonical = encoding_named(encoding)
            if canonical is None:
                text_of = (
                    f"encoding `{encoding}` is not supported" if encoding else "the text has no encoding"
                )
                self.bad(at, path, text_of, like_encoding(encoding))
            elif canonical.lower() != encoding.lower():
                text_of = f"encoding `{encoding}` is read as {canonical}; other tools may refuse it"
                self.problems.note(at.place, path, text_of, f"did you mean `{canonical}`?")
            ends = ("size", "size-eos", "terminator")
            if text == "str" and all(node.get(key) is None for key in ends):
                self.bad(at, path, "a str needs `size`, `size-eos` or `terminator`")
            return Str(canonical or "UTF-8", text == "strz")
        return self._ref(at, text, node, scope, path)

    def prim(
        self, at: Node, text: str, width: int, signed: bool, floating: bool, endian: str | None, path: str
    ) -> Prim:
        endian = endian or self.endian
        if endian is None and width > 1:
            self.bad(
                at, path, f"`{text}` has no byte order", "set meta/endian, or write the type with le or be"
            )
        return Prim(WIRE[re.sub(r"(le|be)\Z", "", text)].name, width, signed, floating, endian or "be")

    def _ref(self, at: Node, text: str, node: Node, scope: str, path: str) -> TypeRef:
        try:
            parsed = ex.parse(text)
        except ex.ExprError as error:
            hint = _REPEATED if re.match(r"\w+\[", text) else error.hint
            self.bad(at, path, f"type `{text}`: {error}", hint)
            return Bytes()
        args: tuple[ex.Expr, ...] = ()
        if isinstance(parsed, ex.Call):
            name, args = parsed.name, tuple(self.resolved(arg, at, path) for arg in parsed.args)
        else:
            name = text
        target = self.resolve(name, scope, lambda unit: unit.types)
        if target is None:
            outside = name in opaque(self.units[scope.partition("::")[0]].root)
            hint = f"{name}.ksy beside this file: an opaque type is another schema" if outside else ""
            self.bad(at, path, *self.unknown("type", name, (), hint or self.like_type(name, scope)))
            return Bytes()
        wanted = len((self.units[target.partition("::")[0]].types[target].get("params") or _NONE).items)
        if wanted != len(args):
            self.bad(at, path, f"type `{name}` takes {wanted} arguments, {len(args)} given")
            return Bytes()
        return Ref(target, args, self._parent_of(node, path))

    def _parent_of(self, node: Node, path: str) -> ex.Expr | bool | None:
        child = node.get("parent")
        return False if child is not None and child.value is False else self.expr(child, path)

    def like_type(self, name: str, scope: str) -> str:
        """A hint for `uint32`, `string` or a misspelled type."""
        if name.lower() in _WORDS:
            return _WORDS[name.lower()]
        if match := re.match(r"([a-z]+?)_?([0-9]+)(?:_t)?(le|be)?\Z", name.lower()):
            word = _LIKE.get(match[1], match[1])
            width = {"8": "1", "16": "2", "32": "4", "64": "8"}.get(match[2], match[2])
            if match[1] in ("u", "s", "f") and match[2] == "3":
                width = "4"
            if match[2] in ("24", "40", "48", "56") and word in ("u", "s"):
                return f"there is none of {match[2]} bits: b{match[2]} is unsigned, `size` gives the bytes"
            if PRIM.match(word + width) or _FLOAT.match(word + width):
                return f"{word}{width}{match[3] or ''}"
        return nearest(name, [*self.seen_types(scope), "str", "strz"])

    def _switch(self, child: Node, node: Node, scope: str, path: str) -> TypeRef:
        self.known(child, "switch", path)
        on = self.expr(child.get("switch-on"), path)
        cases: list[tuple[ex.Expr, TypeRef]] = []
        default: TypeRef | None = None
        for key, item in self.mapping_of(child, "cases", path).items():
            kind = self.named_type(item, str(item.value), node, scope, path)
            if key == "_":
                default = kind
                continue
            case = self.expr(Node(key, item.place, {}), path)
            if case is not None:
                cases.append((case, kind))
        if on is None or (not cases and default is None):
            self.bad(child, path, "a switch needs `switch-on` and `cases`")
            return Bytes()
        return Switch(on, tuple(cases), default)


_NONE = Node({}, Place("", 0, 0), {})
