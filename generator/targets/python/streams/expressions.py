"""Expressions of streamed schemas as Python. What can fail while bytes are read is a call that says so."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kodec.generator.schema import expr as ex
from kodec.generator.schema.kinds import Kind, Kinds, Scope
from kodec.generator.schema.model import Model
from kodec.generator.schema.widths import bits_of
from kodec.generator.targets.python.context import Context
from kodec.generator.targets.python.expressions import BINDS, COMPARED, PRODUCT, SUM, TIGHT, Operand
from kodec.generator.targets.python.names import attribute
from kodec.generator.wire import ENCODINGS, encoding_named

__all__ = ["Emitter", "Here", "enum_member"]

_COMPARE = BINDS["=="]
_ATTRIBUTES = {
    ("text", "length"): "len({})",
    ("text", "size"): "len({})",
    ("bytes", "length"): "len({})",
    ("bytes", "size"): "len({})",
    ("list", "length"): "len({})",
    ("list", "size"): "len({})",
    ("text", "to_i"): "self._number({})",
    ("float", "to_i"): "self._whole({})",
    ("integer", "to_s"): "str({})",
    ("integer", "to_i"): "int({})",
    ("boolean", "to_i"): "int({})",
    ("enum", "to_i"): "int({})",
    ("bytes", "first"): "self._item({}, 0)",
    ("list", "first"): "self._item({}, 0)",
    ("bytes", "last"): "self._edge(lambda items: items[-1], {})",
    ("list", "last"): "self._edge(lambda items: items[-1], {})",
    ("bytes", "min"): "self._edge(min, {})",
    ("list", "min"): "self._edge(min, {})",
    ("bytes", "max"): "self._edge(max, {})",
    ("list", "max"): "self._edge(max, {})",
}


@dataclass(frozen=True, slots=True)
class Here:
    """Where an expression stands in the code.

    Attributes:
        scope: what its names mean.
        io: the text that gives the stream at hand.
        stream: the attribute that gives the stream of another object.
        names: the text of names that are no attributes: `_` and `_index`.
        unread: whether the fields of the type itself may not have been read yet.
        part: the name of the stream that holds all that a field can be, where there is one.
        each: whether the elements of the field, or those of a list inside, are given one by one.
    """

    scope: Scope
    io: str = "self._stream"
    stream: str = "_stream"
    names: dict[str, str] = field(default_factory=dict)
    unread: bool = False
    part: str = ""
    each: bool = False

    def with_name(self, name: str, kind: Kind, text: str) -> Here:
        """The same place, where `name` is the local `text`."""
        return replace(self, scope=self.scope.with_names(**{name: kind}), names={**self.names, name: text})

    def with_item(self, kind: Kind, item: str, index: str) -> Here:
        scope = self.scope.with_names(_=kind, _index=Kind("integer"))
        return replace(self, scope=scope, names={**self.names, "_": item, "_index": index})


def enum_member(module: Context, enum: str, ident: str) -> str:
    """A value of an enum by its name."""
    name = module.imported(enum, module.back.enum_class(enum))
    return f"{name}.{module.enum_names(enum)[ident]}"


class Emitter:
    """Turns expressions of one module into Python."""

    def __init__(self, module: Context, kinds: Kinds) -> None:
        self.module = module
        self.model: Model = module.model
        self.kinds = kinds

    def value(self, expr: ex.Expr, here: Here, binds: int = 0) -> str:
        """Text of a value that must be there."""
        if self.kinds.of(expr, here.scope).maybe or self._unread(expr, here):
            return f'self._given({self.text(expr, here)}, "{_last(expr)}")'
        return self.text(expr, here, binds)

    def compared(self, expr: ex.Expr, here: Here) -> Operand:
        """Text of a value that must be there, which stands beside a comparison too."""
        return Operand(self.value(expr, here), self.value(expr, here, COMPARED))

    def argument(self, expr: ex.Expr, here: Here) -> str:
        """Text of a value that a type is told, which must be there."""
        if self.kinds.of(expr, here.scope).maybe or self._unread(expr, here):
            return f'self._argument({self.text(expr, here)}, "{_last(expr)}")'
        return self.text(expr, here)

    def _unread(self, expr: ex.Expr, here: Here) -> bool:
        """Whether a field of an object that is still being read may be asked for."""
        match expr:
            case ex.Name(name):
                return here.unread and here.scope.struct.field(name) is not None
            case ex.Attr(of, name):
                while isinstance(of, (ex.Attr, ex.Index, ex.Cast)):
                    of = of.of
                outside = isinstance(of, ex.Name) and of.name in ("_parent", "_root")
                return (
                    (outside or here.unread)
                    and name not in _SPECIAL
                    and self.kinds.is_field(expr, here.scope)
                    and not (outside and self.kinds.was_read(expr, here.scope))
                )
        return False

    def text(self, expr: ex.Expr, here: Here, binds: int = 0) -> str:
        """Text of a value that may be missing; in parentheses where it binds less than `binds`."""
        own, text = self._text(expr, here)
        return text if own >= binds else f"({text})"

    def _text(self, expr: ex.Expr, here: Here) -> tuple[int, str]:
        match expr:
            case ex.Literal(value):
                return (SUM if isinstance(value, (int, float)) and value < 0 else TIGHT), repr(value)
            case ex.EnumValue(enum, value):
                return TIGHT, enum_member(self.module, enum, value)
            case ex.Name(name):
                return TIGHT, self._name(name, here)
            case ex.Attr(of, name):
                return TIGHT, self._attribute(of, name, here)
            case ex.Method(of, name, ()):
                return TIGHT, self._attribute(of, name, here)
            case ex.Method(of, name, args):
                return TIGHT, self._method(of, name, args, here)
            case ex.Index(of, at):
                return TIGHT, f"self._item({self.value(of, here)}, {self.value(at, here)})"
            case ex.Cast(of, _):
                return self._cast(expr, of, here)
            case ex.SizeOf(kind, bits):
                size = bits_of(self.model, kind)
                return TIGHT, str(size if bits else (size + 7) // 8)
            case ex.Joined(items):
                parts = [
                    repr(str(item.value))
                    if isinstance(item, ex.Literal)
                    else f"str({self._shown(item, here)})"
                    for item in items
                ]
                return (SUM if len(parts) > 1 else TIGHT), " + ".join(parts) or '""'
            case ex.Items(items):
                parts = [self.value(item, here) for item in items]
                made = f"[{', '.join(parts)}]"
                return TIGHT, f"bytes({made})" if self.kinds.of(expr, here.scope).name == "bytes" else made
            case ex.Unary("not", of):
                return BINDS["and"], f"not {self.value(of, here, _COMPARE)}"
            case ex.Unary(op, of):
                return PRODUCT, f"{op}{self.value(of, here, TIGHT)}"
            case ex.Binary(op, left, right):
                return self._binary(op, left, right, here)
            case ex.Ternary(test, yes, no):
                either = BINDS["or"]
                chosen = f"{self.text(yes, here, either)} if {self.value(test, here, either)}"
                return 0, f"{chosen} else {self.text(no, here)}"
        raise TypeError(expr)

    def _shown(self, expr: ex.Expr, here: Here) -> str:
        text = self.value(expr, here)
        return f"int({text})" if self.kinds.of(expr, here.scope).name == "enum" else text

    def _name(self, name: str, here: Here) -> str:
        if name in here.names:
            return here.names[name]
        match name:
            case "_io":
                return here.io
            case "_root" | "_parent":
                return f"self.{name}"
            case "_sizeof":
                return str((bits_of(self.model, here.scope.struct.name) + 7) // 8)
        return f"self.{attribute(name)}"

    def _attribute(self, of: ex.Expr, name: str, here: Here) -> str:
        owner = self.kinds.of(of, here.scope)
        if name == "_sizeof":
            return str((self.kinds.width(of, here.scope) + 7) // 8)
        form = None if owner.name == "type" else _ATTRIBUTES.get((owner.name, name))
        if form is not None:
            return form.format(self.value(of, here))
        text = self.value(of, here, TIGHT)
        if owner.name == "type":
            if name == "_io":
                return f"{text}.{here.stream}"
            return f"{text}.{name if name.startswith('_') and name in _SPECIAL else attribute(name)}"
        if (owner.name, name) == ("text", "reverse"):
            return f"{text}[::-1]"
        return f"{text}.{name}"

    def _method(self, of: ex.Expr, name: str, args: tuple[ex.Expr, ...], here: Here) -> str:
        text = self.value(of, here, TIGHT)
        given = [self.value(arg, here) for arg in args]
        match name:
            case "substring":
                return f"{text}[{given[0]} : {given[1]}]"
            case "to_i":
                return f"self._number({text}, {given[0]})"
        assert isinstance(args[0], ex.Literal)
        form = ENCODINGS[encoding_named(str(args[0].value)) or ""]
        return f'self._text({text}, "{form.python}", "{form.errors}")'

    def _cast(self, cast: ex.Cast, of: ex.Expr, here: Here) -> tuple[int, str]:
        kind, before = self.kinds.named(cast.type), self.kinds.of(of, here.scope)
        if kind.name == "type" and kind.full and before.full != kind.full:
            return (
                TIGHT,
                f'self._as({self.value(of, here)}, {self.module.class_of(kind.full)}, "{_last(of)}")',
            )
        python = {"text": "str", "bytes": "bytes", "integer": "int", "list": "list"}.get(kind.name)
        if kind.name == "bytes" and before.name == "list":
            return TIGHT, f"self._bytes({self.value(of, here)})"
        if before.name == "any" and python is not None:
            return TIGHT, f'self._as({self.value(of, here)}, {python}, "{_last(of)}")'
        return (TIGHT, self.value(of, here)) if before.maybe else self._text(of, here)

    def _binary(self, op: str, left: ex.Expr, right: ex.Expr, here: Here) -> tuple[int, str]:
        first, second = (self.kinds.of(part, here.scope) for part in (left, right))
        plain = ex.fold(right)
        number = (
            plain.value if isinstance(plain, ex.Literal) and isinstance(plain.value, (int, float)) else None
        )
        if op in ("/", "%") and not number:
            call = "_divide" if op == "/" else "_modulo"
            return TIGHT, f"self.{call}({self.value(left, here)}, {self.value(right, here)})"
        if op in ("<<", ">>") and not (isinstance(number, int) and 0 <= number <= 64):
            by = self.value(right, here, TIGHT)
            return TIGHT, f"self._shifted({self.value(left, here)}, {'-' * (op == '>>')}{by})"
        if op == "/" and "float" not in (first.name, second.name):
            op = "//"
        own = BINDS["/" if op == "//" else op]
        chained = own + (own == _COMPARE)
        return own, f"{self.value(left, here, chained)} {op} {self.value(right, here, own + 1)}"


_SPECIAL = ("_parent", "_root", "_io")


def _last(expr: ex.Expr) -> str:
    """The name that an error shows for what an expression gives."""
    match expr:
        case ex.Name(name) | ex.Attr(_, name):
            return name
        case ex.Cast(of, _) | ex.Index(of, _):
            return _last(of)
    return ""
