"""Checks for sizes and loops that hostile bytes could abuse: negative sizes, unbounded loops."""

from __future__ import annotations

import math

from kodec.generator.passes.common import path_of, structs
from kodec.generator.plan.layouts import Layout, Layouts
from kodec.generator.problems import Problems
from kodec.generator.schema import expr as ex
from kodec.generator.schema.expression_types import types_in
from kodec.generator.schema.model import Bits, Field, Model, Prim, Ref, Struct, Valid
from kodec.generator.wire import INTRINSICS, VARINTS, WIRE

__all__ = ["check_sizes", "interval_of"]

Interval = tuple[float, float]
# the largest list of elements that may have no bytes, if only a number bounds it
_MOST_ELEMENTS = 1 << 20
# the same in a type that may occur once for each byte
_MOST_EMPTY = 16
_ALL: Interval = (-math.inf, math.inf)


def check_sizes(model: Model, problems: Problems, layouts: Layouts) -> None:
    """Report sizes and counts that are always negative, and unbounded `repeat: until`."""
    listed = _in_lists(model)
    for struct in structs(model):
        if struct.wire in VARINTS:
            continue
        for variant in layouts.all_of(struct):
            _layout(model, layouts, struct, variant.layout, struct.name in listed, problems)


def _in_lists(model: Model) -> set[str]:
    """The types that may occur any number of times in a value: those of elements, and those in them."""
    found: set[str] = set()
    todo = [
        kind.target
        for struct in structs(model)
        for field in struct.fields
        for kind in types_in(field.type)
        if isinstance(kind, Ref) and field.repeat is not None
    ]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            held = (kind for field in model.struct(name).fields for kind in types_in(field.type))
            todo += [kind.target for kind in held if isinstance(kind, Ref)]
    return found


def _layout(
    model: Model, layouts: Layouts, struct: Struct, layout: Layout, listed: bool, problems: Problems
) -> None:
    env: dict[str, Interval] = {}
    for param in struct.params:
        if param.type != "bool":
            width = int(param.type[1]) * 8
            signed = param.type[0] == "s"
            env[param.id] = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if signed else (0, 2**width - 1)
    for field in layout.fields:
        _check(model, struct, field, env, problems)
        if listed:
            _empty_elements(model, layouts, struct, field, env, problems)
        env[field.id] = interval_of(model, field)
    for instance in struct.instances:
        if instance.peek_type is not None:
            env[instance.id] = _prim(instance.peek_type)


def _plain(model: Model, struct: Struct, expr: ex.Expr, env: dict[str, Interval]) -> ex.Expr:
    """The expression with numbers for enum values, and names for fields of other types, known to `env`."""

    def swap(part: ex.Expr) -> ex.Expr | None:
        if isinstance(part, ex.EnumValue):
            items = model.enum(part.enum).items
            return next((ex.Literal(item.value) for item in items if item.id == part.value), None)
        field = _member(model, struct, part) if isinstance(part, ex.Attr) else None
        if field is None:
            return None
        name = ex.text_of(part)
        env[name] = interval_of(model, field)
        return ex.Name(name)

    return ex.replace(expr, swap)


def _member(model: Model, struct: Struct, expr: ex.Expr) -> Field | None:
    """The field that `a.b` names."""
    if isinstance(expr, ex.Name):
        return struct.field(expr.name)
    owner = _member(model, struct, expr.of) if isinstance(expr, ex.Attr) else None
    if owner is None or not isinstance(owner.type, Ref) or owner.repeat is not None:
        return None
    assert isinstance(expr, ex.Attr)
    return model.struct(owner.type.target).field(expr.name)


def _check(model: Model, struct: Struct, field: Field, env: dict[str, Interval], problems: Problems) -> None:
    path = path_of(struct, field.id)
    seen = dict(env)
    if field.condition is not None:
        _narrow(field.condition, seen)
    for key, expr in (("size", field.size), ("repeat-expr", field.repeat_expr)):
        if expr is None:
            continue
        _, most = interval(_plain(model, struct, expr, seen), seen)
        # what may be negative is checked when it is read
        if most < 0:
            problems.add(field.at(key), path, f"`{key}` is always negative: {ex.text_of(expr)}")
    if field.repeat == "until" and _most(field) is None:
        problems.add(
            field.at("repeat-until"),
            path,
            "`repeat: until` has no bound: hostile bytes are read to the end",
            f"end it at a number of elements too: {ex.text_of(field.repeat_until)} or {field.id}.size == 100"
            if field.repeat_until is not None
            else "",
        )


def _empty_elements(
    model: Model,
    layouts: Layouts,
    struct: Struct,
    field: Field,
    env: dict[str, Interval],
    problems: Problems,
) -> None:
    """In a type that may occur many times, report a list that may have as many elements as bytes are left."""
    if field.repeat not in ("expr", "until") or layouts.least_of_element(field) > 0:
        return
    most = _most(field) or math.inf
    if field.repeat_expr is not None:
        seen = dict(env)
        most = interval(_plain(model, struct, field.repeat_expr, seen), seen)[1]
    if most > _MOST_EMPTY:
        problems.add(
            field.at("repeat"),
            path_of(struct, field.id),
            "elements that may be without bytes, in a type of which there may be many",
            f"give the elements a field that is always there, or have {_MOST_EMPTY} of them at most",
        )


def _most(field: Field) -> int | None:
    """The number of elements that satisfies an alternative of the condition; None if there is none."""
    todo = [field.repeat_until]
    while todo:
        part = todo.pop()
        match part:
            case ex.Binary("or", left, right):
                todo += [left, right]
            case ex.Binary("==" | ">=", ex.Attr(ex.Name(name), "size" | "length"), ex.Literal(int(most))) if (
                name == field.id and 1 <= most <= _MOST_ELEMENTS
            ):
                return most
    return None


def _prim(prim: Prim) -> Interval:
    return WIRE[prim.name].range or _ALL


def interval_of(model: Model, field: Field) -> Interval:
    """The least and the greatest value of a field, by its type and its `valid`."""
    match field.type:
        case Prim() as prim:
            found = _prim(prim)
        case Bits(width):
            found = (0, 2**width - 1)
        case Ref(target):
            wire = model.struct(target).wire
            found = (WIRE[wire].range if wire in INTRINSICS else None) or _ALL
        case _:
            found = _ALL
    return _valid(found, field.valid) if field.valid is not None else found


def _valid(found: Interval, valid: Valid) -> Interval:
    low, high = found
    if isinstance(valid.eq, ex.Literal) and not isinstance(valid.eq.value, str):
        return float(valid.eq.value), float(valid.eq.value)
    if isinstance(valid.min, ex.Literal) and not isinstance(valid.min.value, str):
        low = max(low, valid.min.value)
    if isinstance(valid.max, ex.Literal) and not isinstance(valid.max.value, str):
        high = min(high, valid.max.value)
    values = [
        e.value for e in valid.any_of or () if isinstance(e, ex.Literal) and not isinstance(e.value, str)
    ]
    if values:
        low, high = max(low, min(values)), min(high, max(values))
    if valid.expr is not None:
        env = {"_": (low, high)}
        plain = ex.replace(
            valid.expr, lambda e: ex.Name("_") if e == ex.Attr(ex.Name("_"), "value") else None
        )
        _narrow(plain, env)
        low, high = env["_"]
    return low, high


def _narrow(condition: ex.Expr, env: dict[str, Interval]) -> None:
    """Tighten the bounds of names by a condition that holds."""
    match condition:
        case ex.Binary("and", left, right):
            _narrow(left, env)
            _narrow(right, env)
        case ex.Binary(op, ex.Name(name), ex.Literal(value)) if name in env and not isinstance(value, str):
            low, high = env[name]
            if op == ">=":
                low = max(low, value)
            elif op == ">":
                low = max(low, value + 1)
            elif op == "<=":
                high = min(high, value)
            elif op == "<":
                high = min(high, value - 1)
            elif op == "==":
                low = high = value
            elif op == "!=" and low == value:
                low += 1
            env[name] = (low, high)


def interval(expr: ex.Expr, env: dict[str, Interval]) -> Interval:
    """The least and the greatest value that an expression can have."""
    match expr:
        case ex.Literal(value) if not isinstance(value, str):
            return float(value), float(value)
        case ex.Name(name):
            return env.get(name, _ALL)
        case ex.Attr(_, "size" | "length"):
            return 0, math.inf
        case ex.Cast(of, _) | ex.Attr(of, "to_i"):
            return interval(of, env)
        case ex.Unary("-", of):
            low, high = interval(of, env)
            return -high, -low
        case ex.Ternary(_, yes, no):
            a, b = interval(yes, env), interval(no, env)
            return min(a[0], b[0]), max(a[1], b[1])
        case ex.Binary("+", left, right):
            a, b = interval(left, env), interval(right, env)
            return a[0] + b[0], a[1] + b[1]
        case ex.Binary("-", left, right):
            a, b = interval(left, env), interval(right, env)
            return a[0] - b[1], a[1] - b[0]
        case ex.Binary("*", left, right):
            a, b = interval(left, env), interval(right, env)
            if a[0] >= 0 and b[0] >= 0:
                return a[0] * b[0], a[1] * b[1]
        case ex.Binary("&", left, right):
            a, b = interval(left, env), interval(right, env)
            if b[0] >= 0 or a[0] >= 0:
                return 0, max(a[1], b[1])
        case ex.Binary("%", _, right):
            b = interval(right, env)
            if b[0] > 0:
                return 0, b[1] - 1
        case ex.Binary("/" | ">>", left, right):
            a, b = interval(left, env), interval(right, env)
            if a[0] >= 0 and b[0] >= 0:
                return 0, a[1]
        case ex.Binary("<<" | "|" | "^", left, right):
            a, b = interval(left, env), interval(right, env)
            if a[0] >= 0 and b[0] >= 0:
                return 0, math.inf
        case ex.Binary("==" | "!=" | "<" | "<=" | ">" | ">=" | "and" | "or", _, _) | ex.Unary("not", _):
            return 0, 1
    return _ALL
