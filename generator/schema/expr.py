"""Kaitai's expression language: parses text to a small frozen tree, and analyses it.

Source: the expression section of the Kaitai Struct user guide.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce

from kodec.generator.schema.operators import OPERATORS, WORDS

__all__ = [
    "Attr",
    "Binary",
    "Call",
    "Cast",
    "EnumValue",
    "Expr",
    "ExprError",
    "Index",
    "Items",
    "Joined",
    "Literal",
    "Method",
    "Name",
    "SizeOf",
    "Ternary",
    "Unary",
    "fold",
    "names",
    "octets_of",
    "parse",
    "parts",
    "settled",
    "text_of",
    "walk",
]


class ExprError(ValueError):
    """The text is not an expression; `column` counts from 0 within it, `hint` is what would be right."""

    def __init__(self, reason: str, column: int, hint: str = "") -> None:
        super().__init__(reason)
        self.column = column
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Expr:
    """Any expression."""


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    value: int | float | bool | str


@dataclass(frozen=True, slots=True)
class Items(Expr):
    items: tuple[Expr, ...]


def octets_of(expr: Expr) -> bytes | None:
    """The bytes that a list of plain numbers is; None of anything else."""
    parts = expr.items if isinstance(expr, Items) else ()
    numbers = [each.value for each in parts if isinstance(each, Literal) and type(each.value) is int]
    if not isinstance(expr, Items) or len(numbers) != len(parts):
        return None
    return bytes(numbers) if all(0 <= each <= 255 for each in numbers) else None


@dataclass(frozen=True, slots=True)
class Name(Expr):
    name: str


@dataclass(frozen=True, slots=True)
class EnumValue(Expr):
    """`enum::value`; `enum` may itself be a path such as `type::enum`."""

    enum: str
    value: str


@dataclass(frozen=True, slots=True)
class Attr(Expr):
    of: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Method(Expr):
    """`of.name(args)`: a method of a value."""

    of: Expr
    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class SizeOf(Expr):
    """`sizeof<type>`, or `bitsizeof<type>` with `bits`."""

    type: str
    bits: bool


@dataclass(frozen=True, slots=True)
class Joined(Expr):
    """`f"..{x}.."`: texts and values, one after another."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Index(Expr):
    of: Expr
    at: Expr


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A type with arguments, `text(version >= 4)`; only as the `type` of an attribute."""

    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    of: Expr
    type: str


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    op: str
    of: Expr


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """Two operands; `grouped` marks a part of a long sum, whose operands were put together in halves."""

    op: str
    left: Expr
    right: Expr
    grouped: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Ternary(Expr):
    test: Expr
    yes: Expr
    no: Expr


_TOKEN = re.compile(
    r"""\s*(?:
      (?P<num>0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|[0-9][0-9_]*(?:\.(?:[0-9]+|(?![0-9A-Za-z_])))?(?:[eE][-+]?[0-9]+)?)
    | (?P<str>f?"(?:[^"\\]|\\.)*"|'[^']*')
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*(?:::[A-Za-z_][A-Za-z0-9_]*)*)
    | (?P<bad>&&|\|\||===|!==|<>|\*\*|//|!(?!=)|=(?!=))
    | (?P<op><<|>>|<=|>=|==|!=|[-+*/%<>&|^~?:.,()\[\]])
    )""",
    re.VERBOSE,
)
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("or",),
    ("and",),
    ("==", "!=", "<", "<=", ">", ">="),
    ("|",),
    ("^",),
    ("&",),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_NOT_LEVEL = 2
_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    '"': '"',
    "'": "'",
}
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|u([0-9a-fA-F]{4})|(.))", re.DOTALL)
MAX_DEPTH = 60
MAX_TOKENS = 20_000
MAX_OPERATIONS = 110
LONG_REAL = f"a sum of real numbers has at most {MAX_OPERATIONS} parts: its order decides what it is"
_MOST_CHAINED = 32
_ASSOCIATIVE = ("and", "or", "&", "|", "^")
MAX_DIGITS = 100
_WIDEST = 1 << 128


def _chain(op: str, operands: list[Expr]) -> Expr:
    """`a op b op c`. A long one whose operands go together in any way does not nest as deep as it is long."""
    if len(operands) > _MOST_CHAINED and op in _ASSOCIATIVE:
        half = len(operands) // 2
        return Binary(op, _chain(op, operands[:half]), _chain(op, operands[half:]))
    if len(operands) > MAX_OPERATIONS and op == "+":
        return _sum(operands)
    return reduce(lambda left, right: Binary(op, left, right), operands)


def _sum(operands: list[Expr]) -> Expr:
    """A sum in halves: equal for whole numbers and text. Kinds refuse one of real numbers."""
    if len(operands) == 1:
        return operands[0]
    half = len(operands) // 2
    return Binary("+", _sum(operands[:half]), _sum(operands[half:]), grouped=True)


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str, int]] = []
        at = 0
        end = len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                rest = text[at:].strip()
                hint = "the closing quote is missing" if rest[0] in "\"'" else ""
                raise ExprError(f"cannot read `{rest[:12]}`", at, hint)
            kind = match.lastgroup or ""
            if kind == "bad":
                raise ExprError(f"there is no `{match[kind]}`", match.start(kind), OPERATORS[match[kind]])
            self.tokens.append((kind, match.group(kind), match.start(kind)))
            at = match.end()
            if len(self.tokens) > MAX_TOKENS:
                raise ExprError(f"longer than {MAX_TOKENS} parts", at)
        self.tokens.append(("end", "", end))
        self.at = 0
        self.depth = 0

    @property
    def here(self) -> tuple[str, str, int]:
        return self.tokens[self.at]

    def take(self, *texts: str) -> str | None:
        kind, text, _ = self.here
        if text in texts and kind in ("op", "name"):
            self.at += 1
            return text
        return None

    def need(self, text: str) -> None:
        if self.take(text) is None:
            raise ExprError(f"`{text}` expected, found `{self.here[1] or 'the end'}`", self.here[2])

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExprError(f"nested deeper than {MAX_DEPTH}", self.here[2])

    def ternary(self) -> Expr:
        self.deeper()
        test = self.level(0)
        if self.take("?"):
            yes = self.ternary()
            self.need(":")
            test = Ternary(test, yes, self.ternary())
        self.depth -= 1
        return test

    def level(self, n: int) -> Expr:
        if n == _NOT_LEVEL and self.take("not"):
            self.deeper()
            negated = Unary("not", self.level(n))
            self.depth -= 1
            return negated
        if n == len(_LEVELS):
            return self.unary()
        op, operands = "", [self.level(n + 1)]
        while found := self.take(*_LEVELS[n]):
            if found != op:
                operands = [_chain(op, operands)]
            op = found
            operands.append(self.level(n + 1))
        return _chain(op, operands)

    def unary(self) -> Expr:
        if op := self.take("-", "~", "+"):
            self.deeper()
            of = self.unary()
            self.depth -= 1
            if op == "-" and isinstance(of, Literal) and isinstance(of.value, (int, float)):
                return Literal(-of.value)
            return of if op == "+" else Unary(op, of)
        return self.postfix(self.atom())

    def postfix(self, of: Expr) -> Expr:
        while True:
            if self.take("."):
                kind, name, column = self.here
                if kind != "name":
                    raise ExprError("a name must follow `.`", column)
                self.at += 1
                if name == "as":
                    self.need("<")
                    of = Cast(of, self.type_name("as<"))
                elif self.here[1] == "(" and self.here[0] == "op":
                    self.need("(")
                    of = Method(of, name, self.items(")"))
                else:
                    of = Attr(of, name)
            elif self.take("["):
                of = Index(of, self.ternary())
                self.need("]")
            elif self.here[1] == "(" and isinstance(of, (Name, EnumValue)):
                self.need("(")
                of = Call(of.name if isinstance(of, Name) else f"{of.enum}::{of.value}", self.items(")"))
            else:
                return of

    def type_name(self, before: str) -> str:
        """A type between `<` and `>`, with `[]` after it for a list of them."""
        kind, name, column = self.here
        if kind != "name":
            raise ExprError(f"a type must follow `{before}`", column)
        self.at += 1
        if self.take("["):
            self.need("]")
            name += "[]"
        self.need(">")
        return name

    def items(self, close: str) -> tuple[Expr, ...]:
        found: list[Expr] = []
        while not self.take(close):
            if found:
                self.need(",")
                if self.take(close):
                    break
            found.append(self.ternary())
        return tuple(found)

    def atom(self) -> Expr:
        kind, text, column = self.here
        self.at += 1
        if kind == "num":
            return Literal(_number(text, column))
        if kind == "str" and text[0] == "f":
            return _joined(text[1:], column)
        if kind == "str":
            return Literal(_unquote(text, column))
        if kind == "name":
            if text in ("sizeof", "bitsizeof") and self.take("<"):
                return SizeOf(self.type_name(f"{text}<"), text == "bitsizeof")
            if text in ("true", "false"):
                return Literal(text == "true")
            if "::" in text:
                enum, _, value = text.rpartition("::")
                return EnumValue(enum, value)
            return Name(text)
        if text == "(":
            inner = self.ternary()
            self.need(")")
            return inner
        if text == "[":
            return Items(self.items("]"))
        raise ExprError(f"a value expected, found `{text or 'the end'}`", column)


def _number(text: str, column: int) -> int | float:
    """The value of digits; `_` may stand between two of them."""
    plain = text.replace("_", "")
    if text[-1] == "_" or text[1:3].lower() in ("x_", "b_", "o_"):
        raise ExprError(f"`{text}` is not a number", column)
    if len(plain) > MAX_DIGITS:
        raise ExprError("the number is too large", column)
    if plain[:2].lower() in ("0x", "0b", "0o"):
        return int(plain, 0)
    if plain.isdigit():
        return int(plain)
    if not math.isfinite(float(plain)):
        raise ExprError("the number is too large", column)
    return float(plain)


def _unquote(text: str, column: int) -> str:
    if text[0] == "'":
        return text[1:-1]

    def sign(match: re.Match[str]) -> str:
        octal, code, letter = match.groups()
        if octal or code:
            return chr(int(octal, 8) if octal else int(code, 16))
        if letter not in _ESCAPES:
            raise ExprError(f"`\\{letter}` is no escape", column + match.start())
        return _ESCAPES[letter]

    return _ESCAPE.sub(sign, text[1:-1])


def _joined(text: str, column: int) -> Expr:
    """The parts of `"..{x}.."`."""
    parts: list[Expr] = []
    for index, part in enumerate(re.split(r"\{([^{}]*)\}", text[1:-1])):
        if index % 2:
            parts.append(parse(part))
        elif part:
            parts.append(Literal(_unquote(f'"{part}"', column)))
    return Joined(tuple(parts))


def parse(text: str) -> Expr:
    """Parse one expression. Raises ExprError with the column where it goes wrong."""
    parser = _Parser(text)
    expr = parser.ternary()
    if parser.here[0] != "end":
        around = [text for _, text, _ in parser.tokens[max(parser.at - 1, 0) : parser.at + 1]]
        hint = next((WORDS[word] for word in around if word in WORDS), "")
        raise ExprError(f"`{parser.here[1]}` was not expected here", parser.here[2], hint)
    if depth_of(expr) > MAX_OPERATIONS:
        raise ExprError(f"more than {MAX_OPERATIONS} nested operations", parser.here[2])
    return expr


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it."""
    todo = [expr]
    while todo:
        part = todo.pop()
        yield part
        todo += reversed(parts(part))


def depth_of(expr: Expr) -> int:
    """How many expressions nest."""
    deepest, level = 0, [expr]
    while level:
        deepest += 1
        level = [inner for part in level for inner in parts(part)]
    return deepest


def parts(expr: Expr) -> tuple[Expr, ...]:
    """The parts of an expression."""
    match expr:
        case Items(items) | Call(_, items) | Joined(items):
            return items
        case Method(of, _, args):
            return (of, *args)
        case Attr(of, _) | Cast(of, _) | Unary(_, of):
            return (of,)
        case Index(left, right) | Binary(_, left, right):
            return (left, right)
        case Ternary(test, yes, no):
            return (test, yes, no)
    return ()


def names(expr: Expr) -> set[str]:
    """The first names that the expression starts from: `a` in `a.b + c` gives a and c."""
    return {part.name for part in walk(expr) if isinstance(part, Name)}


def replace(expr: Expr, swap: Callable[[Expr], Expr | None]) -> Expr:
    """A copy in which parts are replaced by the expressions that `swap` returns for them, outermost first."""
    new = swap(expr)
    if new is not None:
        return new
    match expr:
        case Items(items):
            return Items(tuple(replace(item, swap) for item in items))
        case Call(name, items):
            return Call(name, tuple(replace(item, swap) for item in items))
        case Joined(items):
            return Joined(tuple(replace(item, swap) for item in items))
        case Method(of, name, args):
            return Method(replace(of, swap), name, tuple(replace(arg, swap) for arg in args))
        case Attr(of, name):
            return Attr(replace(of, swap), name)
        case Cast(of, kind):
            return Cast(replace(of, swap), kind)
        case Unary(op, of):
            return Unary(op, replace(of, swap))
        case Index(left, right):
            return Index(replace(left, swap), replace(right, swap))
        case Binary(op, left, right):
            return Binary(op, replace(left, swap), replace(right, swap), expr.grouped)
        case Ternary(test, yes, no):
            return Ternary(replace(test, swap), replace(yes, swap), replace(no, swap))
    return expr


_FOLD: dict[str, Callable[[int, int], int | bool]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def fold(expr: Expr, known: Mapping[str, int | bool] | None = None) -> Expr:
    """Evaluate all that literals and the names in `known` determine."""
    known = known or {}
    match expr:
        case Name(name) if name in known:
            return Literal(known[name])
        case Attr(of, name):
            return Attr(fold(of, known), name)
        case Index(of, at):
            return Index(fold(of, known), fold(at, known))
        case Items(items):
            return Items(tuple(fold(item, known) for item in items))
        case Call(name, args):
            return Call(name, tuple(fold(arg, known) for arg in args))
        case Cast(of, _):
            # A cast tells a target language how wide to compute; Python's integers are wide enough.
            return fold(of, known)
        case Unary(op, of):
            of = fold(of, known)
            if isinstance(of, Literal) and not isinstance(of.value, str):
                if op == "not":
                    return Literal(not of.value)
                if not isinstance(of.value, float):
                    return Literal(~of.value if op == "~" else -of.value)
            return Unary(op, of)
        case Ternary(test, yes, no):
            test, yes, no = fold(test, known), fold(yes, known), fold(no, known)
            if isinstance(test, Literal):
                return yes if test.value else no
            return Ternary(test, yes, no)
        case Binary(op, left, right):
            return _fold_binary(Binary(op, fold(left, known), fold(right, known), expr.grouped))
    return expr


def settled(expr: Expr) -> Expr:
    """`x - 1 >= 0` as `x >= 1`: the same for whole numbers, and for them only."""
    match expr:
        case Binary(
            "==" | "!=" | "<" | "<=" | ">" | ">=" as op,
            Binary("+" | "-" as sign, inner, Literal(int(a))),
            Literal(int(b)),
        ):
            return Binary(op, inner, Literal(b - a if sign == "+" else b + a))
        case Binary("and" | "or" as op, left, right):
            return Binary(op, settled(left), settled(right))
        case Unary("not", of):
            return Unary("not", settled(of))
    return expr


def _folds(op: str, right: int) -> bool:
    """Whether an operation on numbers has a result of bounded size."""
    return not (op in "/%" and right == 0) and not (op in ("<<", ">>") and not 0 <= right <= 256)


def _fold_binary(expr: Binary) -> Expr:
    op, left, right = expr.op, expr.left, expr.right
    if op in ("and", "or"):
        stop = op == "or"
        for this, other in ((left, right), (right, left)):
            if isinstance(this, Literal) and isinstance(this.value, bool):
                return this if this.value is stop else other
        return expr
    if isinstance(left, Literal) and isinstance(right, Literal):
        a, b = left.value, right.value
        if isinstance(a, int) and isinstance(b, int) and _folds(op, b):
            value = _FOLD[op](a, b)
            # a wider result fits no field: the expression stays as written
            return Literal(value) if abs(value) < _WIDEST else expr
        if isinstance(a, str) and isinstance(b, str) and op in ("==", "!="):
            return Literal((a == b) == (op == "=="))
    return expr


def text_of(expr: Expr) -> str:
    """The expression as Kaitai text, for messages and for the model's JSON; `parse` reads it back."""
    match expr:
        case Literal(bool(value)):
            return "true" if value else "false"
        case Literal(str(value)):
            for plain, escaped in (
                ("\\", "\\\\"),
                ('"', '\\"'),
                ("\n", "\\n"),
                ("\r", "\\r"),
                ("\0", "\\000"),
            ):
                value = value.replace(plain, escaped)
            return f'"{value}"'
        case Literal(value):
            return str(value)
        case Items(items):
            return f"[{', '.join(map(text_of, items))}]"
        case Name(name):
            return name
        case EnumValue(enum, value):
            return f"{enum}::{value}"
        case Attr(of, name):
            return f"{_inner(of)}.{name}"
        case Index(of, at):
            return f"{_inner(of)}[{text_of(at)}]"
        case Call(name, args):
            return f"{name}({', '.join(map(text_of, args))})"
        case Method(of, name, args):
            return f"{_inner(of)}.{name}({', '.join(map(text_of, args))})"
        case SizeOf(kind, bits):
            return f"{'bit' * bits}sizeof<{kind}>"
        case Joined(items):
            parts = [text_of(item) if isinstance(item, Literal) else f"{{{text_of(item)}}}" for item in items]
            return 'f"' + "".join(p[1:-1] if p[0] == '"' else p for p in parts) + '"'
        case Cast(of, kind):
            return f"{_inner(of)}.as<{kind}>"
        case Unary("not", of):
            return f"(not {text_of(of)})"
        case Unary(op, of):
            return f"{op}{_inner(of)}"
        case Binary("+") if expr.grouped:
            return f"({_terms(expr)})"
        case Binary(op, left, right):
            return f"({text_of(left)} {op} {text_of(right)})"
        case Ternary(test, yes, no):
            return f"({text_of(test)} ? {text_of(yes)} : {text_of(no)})"
    raise TypeError(expr)


def _terms(expr: Expr) -> str:
    """A long sum as it was written."""
    if isinstance(expr, Binary) and expr.grouped:
        return f"{_terms(expr.left)} + {_terms(expr.right)}"
    return text_of(expr)


def _inner(expr: Expr) -> str:
    """An operand of `.`, an index or a sign, which bind tighter than a sign."""
    text = text_of(expr)
    return f"({text})" if text[0] in "-~+" else text
