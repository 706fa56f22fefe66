"""`type` of a field: a number, bytes, text, a type of the schemas, or a choice of them."""

from __future__ import annotations

import re

from kodec.generator.problems import Place, nearest
from kodec.generator.schema import expr as ex
from kodec.generator.schema.load import Node
from kodec.generator.schema.model import Bits, Bytes, Prim, Ref, Str, Switch, TypeRef
from kodec.generator.schema.values import Values
from kodec.generator.wire import ENCODINGS, WIRE

__all__ = ["PRIM", "Types"]

PRIM = re.compile(r"([us])([1248])(le|be)?\Z")
_FLOAT = re.compile(r"f([48])(le|be)?\Z")
_BITS = re.compile(r"b([1-9][0-9]?)(be|le)?\Z")
_ENCODINGS = {name.lower(): name for name in ENCODINGS}


class Types(Values):
    """Reads the type of a field."""

    endian: str | None
    encoding: str | None

    def type_of(self, node: Node, scope: str, path: str) -> TypeRef:
        child = node.get("type")
        sized = node.get("size") is not None or node.get("size-eos") is not None
        if child is None:
            if not sized and node.get("contents") is None:
                self.bad(node, path, "the field has neither a type nor a size")
            return Bytes()
        if isinstance(child.value, dict):
            return self._switch(child, node, scope, path)
        return self.named_type(child, str(child.value).strip(), node, scope, path)

    def named_type(self, at: Node, text: str, node: Node, scope: str, path: str) -> TypeRef:
        if match := PRIM.match(text):
            return self.prim(at, text, int(match[2]), match[1] == "s", False, match[3], path)
        if match := _FLOAT.match(text):
            return self.prim(at, text, int(match[1]), True, True, match[2], path)
        if match := _BITS.match(text):
            if match[2] == "le" or not 1 <= int(match[1]) <= 64:
                self.bad(at, path, f"`{text}` is not supported", "b1 to b64, big-endian")
            return Bits(int(match[1]))
        if text == "str":
            encoding = self.text(node, "encoding") or self.encoding or ""
            if encoding.lower() not in _ENCODINGS:
                self.bad(
                    at, path, f"encoding `{encoding}` is not supported", nearest(encoding.lower(), _ENCODINGS)
                )
            if node.get("size") is None and node.get("size-eos") is None:
                self.bad(at, path, "a str needs `size` or `size-eos`")
            return Str(_ENCODINGS.get(encoding.lower(), "UTF-8"))
        if text == "strz":
            self.bad(at, path, "`strz` is not supported", "use `str` with a length field and `size`")
            return Bytes()
        return self._ref(at, text, scope, path)

    def prim(
        self, at: Node, text: str, width: int, signed: bool, floating: bool, endian: str | None, path: str
    ) -> Prim:
        endian = endian or self.endian
        if endian is None and width > 1:
            self.bad(
                at, path, f"`{text}` has no byte order", "set meta/endian, or write the type with le or be"
            )
        return Prim(WIRE[re.sub(r"(le|be)\Z", "", text)].name, width, signed, floating, endian or "be")

    def _ref(self, at: Node, text: str, scope: str, path: str) -> TypeRef:
        try:
            parsed = ex.parse(text)
        except ex.ExprError as error:
            self.bad(at, path, f"type `{text}`: {error}")
            return Bytes()
        args: tuple[ex.Expr, ...] = ()
        if isinstance(parsed, ex.Call):
            name, args = parsed.name, parsed.args
        else:
            name = text
        target = self.resolve(name, scope, lambda unit: unit.types)
        if target is None:
            self.bad(at, path, f"unknown type `{name}`", nearest(name, self.seen_types(scope)))
            return Bytes()
        wanted = len((self.units[target.partition("::")[0]].types[target].get("params") or _NONE).items)
        if wanted != len(args):
            self.bad(at, path, f"type `{name}` takes {wanted} arguments, {len(args)} given")
        return Ref(target, args)

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
            if not isinstance(case, (ex.EnumValue, ex.Literal)):
                self.bad(item, path, f"case `{key}` is neither a number nor an enum value")
            if case is not None:
                cases.append((case, kind))
        if on is None or not cases:
            self.bad(child, path, "a switch needs `switch-on` and `cases`")
            return Bytes()
        return Switch(on, tuple(cases), default)


_NONE = Node({}, Place("", 0, 0), {})
