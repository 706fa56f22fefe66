"""Conditions on rows: `incl_len > 100 and body == "ipv4_packet"`, natively while a row is read, or on
columns."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kodec.formats.shapes import Column, Step

__all__ = ["Comparison", "Test", "Where", "condition_of", "natively"]

_OPS: Mapping[type, str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "==",
    ast.IsNot: "!=", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_COMPUTE: Mapping[str, Callable[..., Any]] = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
Where = str | Iterable[tuple[str, str, Any]]
"""A condition as text, or comparisons `(path, op, value)` that must all hold."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column compared with a constant. A missing value fulfils none but `== None`."""

    path: str
    op: str
    value: Any

    @property
    def paths(self) -> Iterator[str]:
        yield self.path

    def mask(self, arrays: Mapping[str, pa.Array]) -> pa.Array:
        """Which rows fulfil it. Raises ValueError for a value of another kind."""
        array = arrays[self.path]
        if pa.types.is_dictionary(array.type):
            array = array.cast(pa.string())
        if self.value is None:
            return pc.is_null(array) if self.op == "==" else pc.is_valid(array)
        try:
            if self.op in ("in", "not in"):
                same = pc.is_in(array, value_set=pa.array(list(self.value), array.type))
                return pc.and_(pc.is_valid(array), same if self.op == "in" else pc.invert(same))
            return _COMPUTE[self.op](array, self._scalar(array.type)).fill_null(False)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
            text = f"`{self.path} {self.op} {self.value!r}`: it is a column of {arrays[self.path].type}"
            raise ValueError(text) from error

    def _scalar(self, kind: pa.DataType) -> pa.Scalar:
        whole = pa.types.is_integer(kind) and isinstance(self.value, int)
        return (
            pa.scalar(self.value, pa.float64()) if whole and not _fits(self.value) else pa.scalar(self.value)
        )


def _fits(value: int) -> bool:
    return -(1 << 63) <= value < 1 << 64


@dataclass(frozen=True, slots=True)
class Test:
    """Several conditions: `and`, `or`, `not`."""

    op: str
    parts: tuple[Comparison | Test, ...]

    @property
    def paths(self) -> Iterator[str]:
        for part in self.parts:
            yield from part.paths

    def mask(self, arrays: Mapping[str, pa.Array]) -> pa.Array:
        """Which rows fulfil it. Raises ValueError."""
        mask = self.parts[0].mask(arrays)
        for part in self.parts[1:]:
            mask = (pc.and_ if self.op == "and" else pc.or_)(mask, part.mask(arrays))
        return pc.invert(mask) if self.op == "not" else mask


def condition_of(where: Where) -> Comparison | Test:
    """The condition, which is in the syntax of Python as those on records. Raises ValueError."""
    if not isinstance(where, str):
        parts = []
        for path, op, value in where:
            if op not in (*_COMPUTE, "in", "not in"):
                raise ValueError(f"where: `{op}` is not one of {', '.join(_COMPUTE)}, in, not in")
            parts.append(Comparison(path, op, value))
        if not parts:
            raise ValueError("where: no condition")
        return parts[0] if len(parts) == 1 else Test("and", tuple(parts))
    try:
        return _tree(ast.parse(where.strip(), mode="eval").body, where)
    except (SyntaxError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "it is nested too deep"
        raise ValueError(f"where `{where}`: {reason}") from None


def _tree(node: ast.expr, text: str) -> Comparison | Test:
    match node:
        case ast.BoolOp(op=op, values=values):
            return Test(
                "and" if isinstance(op, ast.And) else "or", tuple(_tree(value, text) for value in values)
            )
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return Test("not", (_tree(inner, text),))
        case ast.Compare(left=left, ops=ops, comparators=rights):
            comparisons = []
            for how, right in zip(ops, rights, strict=True):
                comparisons.append(_comparison(left, _OPS[type(how)], right, text))
                left = right
            return comparisons[0] if len(comparisons) == 1 else Test("and", tuple(comparisons))
        case ast.Name() | ast.Attribute():
            return Comparison(_path(node, text), "==", True)
    raise ValueError(f"where `{text}`: `{ast.unparse(node)}` is not a condition")


def _comparison(left: ast.expr, op: str, right: ast.expr, text: str) -> Comparison:
    if _is_path(left):
        return Comparison(_path(left, text), op, _constant(right, text))
    if op not in _TURNED:
        raise ValueError(f"where `{text}`: a column stands before `{op}`")
    return Comparison(_path(right, text), _TURNED[op], _constant(left, text))


def _is_path(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id not in ("true", "false", "null")
    return isinstance(node, ast.Attribute) and _is_path(node.value)


def _path(node: ast.expr, text: str) -> str:
    if not _is_path(node):
        raise ValueError(f"where `{text}`: `{ast.unparse(node)}` is not a column")
    return ast.unparse(node)


def _constant(node: ast.expr, text: str) -> Any:
    match node:
        case ast.Constant(value=str() | bytes() | int() | float() | None as constant):
            return constant
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Name(id="true" | "false" | "null" as word):
            return {"true": True, "false": False, "null": None}[word]
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return tuple(_constant(element, text) for element in elements)
    raise ValueError(f"where `{text}`: `{ast.unparse(node)}` is not a constant")


# -- while a row is read ----------------------------------------------------------------------


def natively(test: Comparison | Test, columns: Mapping[str, Column]) -> Iterator[tuple[Any, ...]]:
    """The conditions that the native reader checks, which must all hold; others are left to columns."""
    if isinstance(test, Test):
        for part in test.parts if test.op == "and" else ():
            yield from natively(part, columns)
        return
    column = columns[test.path]
    steps, native = column.steps, column.native
    if native is None or native.kind in ("list", "struct", "choice", "here"):
        return
    if test.value is None:
        op, values = "null" if test.op == "==" else "there", ()
    elif native.kind == "name":
        way = None if column.names is None else column.names.get(test.value)
        if test.op != "==" or not isinstance(way, Step):
            return
        steps, op, values = (*steps[:-1], way), "there", ()
    elif test.op == "not in":
        return
    else:
        op = test.op
        operands = tuple(test.value) if op == "in" else (test.value,)
        converted = [_value(native.kind, operand, column.names) for operand in operands]
        if None in converted or (native.kind == "enum" and op not in ("==", "!=", "in")):
            return
        values = tuple(converted)
    yield op, tuple((step.member, step.guard, step.accepts) for step in steps), values


def _value(kind: str, value: Any, names: Mapping[str, int] | None) -> Any:
    """A constant as the native reader compares it; None: it does not."""
    if kind == "enum":
        if names is not None and value in names:
            return names[value]
        return (
            int(value)
            if isinstance(value, str) and value.lstrip("-").isdigit() and str(int(value)) == value
            else None
        )
    whole = isinstance(value, int) and -(1 << 63) <= value < 1 << 64
    kinds = {
        "int": whole and not isinstance(value, bool),
        "real": isinstance(value, float) or (whole and abs(value) < 1 << 53),
        "flag": isinstance(value, bool),
        "text": (isinstance(value, str) and max(value, default="") < "\ud800")
        or (isinstance(value, str) and value.isascii()),
        "bytes": isinstance(value, bytes),
    }
    return value if kinds.get(kind) else None
