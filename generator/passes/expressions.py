"""Kinds of values in expressions: a size is a number, a condition a boolean, and nothing can fail."""

from __future__ import annotations

from kodec.generator.passes.common import path_of, refs, structs
from kodec.generator.problems import Place, Problems
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Bytes, Field, Model, Prim, Ref, Str, Struct, Switch, TypeRef
from kodec.generator.schema.type_roles import may_be_null
from kodec.generator.wire import INTRINSICS, WIRE

__all__ = ["check_expressions"]

NUMBERS = ("integer", "float")
COMPARED = ("==", "!=", "<", "<=", ">", ">=")
# a shift by more would make a number larger than any that can be stored
MOST_SHIFT = 63


class _Wrong(Exception):
    """What is wrong with an expression, and what would be right."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


def check_expressions(model: Model, problems: Problems) -> None:
    """Report expressions whose parts do not fit together, or whose value cannot be used at their place."""
    for struct in structs(model):
        if struct.wire not in INTRINSICS:
            _Checker(model, struct, problems).run()


class _Checker:
    def __init__(self, model: Model, struct: Struct, problems: Problems) -> None:
        self.model = model
        self.struct = struct
        self.problems = problems

    def run(self) -> None:
        for field in self.struct.fields:
            self.need(field, "if", field.condition, "boolean")
            self.need(field, "size", field.size, "integer")
            self.need(field, "repeat-expr", field.repeat_expr, "integer")
            self.need(field, "repeat-until", field.repeat_until, "boolean", element=field)
            self.need(field, "-nullable", field.nullable, "boolean")
            if field.derive is not None:
                self.need(field, "-derive", field.derive.plus, "integer")
                self.need(field, "-derive", field.derive.when, "boolean")
            if field.codec is not None:
                self.need(field, "-codec", field.codec.when, "boolean")
            self.arguments(field)
            self.valid(field)
            self.default(field)
            if isinstance(field.type, Switch):
                self.switch(field, field.type)
        for instance in self.struct.instances:
            if instance.value is not None:
                self.kind(instance.place, instance.id, "value", instance.value, {})

    def bad(self, place: Place, name: str, text: str, hint: str = "") -> None:
        self.problems.add(place, path_of(self.struct, name), text, hint)

    # -- places of expressions --------------------------------------------------------------------

    def need(
        self, field: Field, key: str, expr: ex.Expr | None, wanted: str, element: Field | None = None
    ) -> None:
        if expr is None:
            return
        names = {} if element is None else {"_": self.of_type(element.type)}
        found = self.kind(field.at(key), field.id, key, expr, names)
        if found is not None and found != wanted:
            self.bad(
                field.at(key),
                field.id,
                f"`{key}` must be {_a(wanted)}, this is {_a(found)}: {ex.text_of(expr)}",
            )

    def kind(self, place: Place, owner: str, key: str, expr: ex.Expr, names: dict[str, str]) -> str | None:
        """The kind of an expression's value; None (and a problem) if it has none."""
        try:
            return self.infer(expr, names)
        except _Wrong as wrong:
            self.bad(place, owner, f"`{key}`: {wrong}", wrong.hint)
            return None

    def arguments(self, field: Field) -> None:
        for ref in refs(field.type):
            params = self.model.struct(ref.target).params
            for param, arg in zip(params, ref.args, strict=True):
                self.need(field, "type", arg, "boolean" if param.type == "bool" else "integer")

    def valid(self, field: Field) -> None:
        valid = field.valid
        if valid is None:
            return
        own = self.of_type(field.type)
        if own not in (*NUMBERS, "boolean", "text"):
            self.bad(
                field.at("valid"),
                field.id,
                f"`valid` of {_a(own)} is not supported",
                "put it on a number or a text",
            )
            return
        for rule in (valid.eq, valid.min, valid.max, *(valid.any_of or ())):
            if rule is None:
                continue
            found = self.kind(field.at("valid"), field.id, "valid", rule, {"_": own})
            if found is not None and not _comparable(own, found):
                self.bad(
                    field.at("valid"),
                    field.id,
                    f"`valid` compares {_a(own)} with {_a(found)}: {ex.text_of(rule)}",
                )
        if valid.expr is not None:
            found = self.kind(field.at("valid"), field.id, "valid", valid.expr, {"_": own})
            if found not in (None, "boolean"):
                self.bad(
                    field.at("valid"), field.id, f"`valid/expr` must be a boolean: {ex.text_of(valid.expr)}"
                )

    def switch(self, field: Field, switch: Switch) -> None:
        place = field.at("type")
        on = self.kind(place, field.id, "switch-on", switch.on, {})
        if on is not None and on not in ("integer", "boolean", "text"):
            self.bad(place, field.id, f"`switch-on` by {_a(on)} is not supported")
            return
        for index, (case, _) in enumerate(switch.cases):
            place = field.at_case(index)
            found = self.kind(place, field.id, "cases", case, {})
            if on is not None and found is not None and not _comparable(on, found):
                self.bad(place, field.id, f"case {ex.text_of(case)} is {_a(found)}, `switch-on` is {_a(on)}")

    def default(self, field: Field) -> None:
        """A default is a value that the field can have."""
        default, place = field.default, field.at("-default")
        if default is None:
            return
        own = "list" if field.repeat is not None else self.of_type(field.type)
        if isinstance(default, ex.Name) and field.enum is not None:
            return
        if isinstance(default, ex.Name) and default.name == "null":
            if not may_be_null(self.model, field):
                self.bad(place, field.id, "`-default: null` on a field that is never null")
            return
        if default == ex.Name("empty"):
            return
        if own == "bytes" and ex.octets_of(default) is not None:
            return
        if not isinstance(default, ex.Literal) or own not in (*NUMBERS, "boolean", "text"):
            self.bad(
                place,
                field.id,
                f"`-default` of {_a(own)} must be a plain value",
                'a number, true, false, `"text"`, bytes as `[0x4b, 1]`, or null',
            )
            return
        found = self.infer(default, {})
        if found != own and not (own == "float" and found == "integer"):
            self.bad(place, field.id, f"`-default` is {_a(found)}, the field {_a(own)}")
        elif isinstance(field.type, (Prim, Bits)) and own == "integer" and isinstance(default.value, int):
            low, high = _range(field.type)
            if not low <= default.value <= high:
                self.bad(place, field.id, f"`-default: {default.value}` is not in {low} to {high}")

    # -- kinds ------------------------------------------------------------------------------------

    def of_type(self, kind: TypeRef) -> str:
        match kind:
            case Prim(floating=True):
                return "float"
            case Bits(1):
                return "boolean"
            case Prim() | Bits():
                return "integer"
            case Str():
                return "text"
            case Bytes():
                return "bytes"
            case Ref(target):
                struct = self.model.struct(target)
                if struct.wire in INTRINSICS:
                    return WIRE[struct.wire].kind
                return {"string": "text", "bytes": "bytes", "list": "list"}.get(struct.wire or "", "type")
        return "switch"

    def of_field(self, field: Field) -> str:
        if may_be_null(self.model, field):
            raise _Wrong(f"`{field.id}` may be null", "use its length")
        if field.contents is not None:
            raise _Wrong(f"`{field.id}` has fixed contents, which expressions cannot use")
        if field.repeat is not None or field.codec is not None:
            return "list"
        if field.enum is not None:
            return "integer"
        return self.of_type(field.type)

    def infer(self, expr: ex.Expr, names: dict[str, str]) -> str:
        match expr:
            case ex.Literal(value):
                return _literal(value)
            case ex.EnumValue():
                return "integer"
            case ex.Name(name):
                return self.of_name(name, names)
            case ex.Cast(of, kind):
                if self.infer(of, names) != "integer" or kind[0] not in "us":
                    raise _Wrong(
                        f"a cast to `{kind}` is not supported", "cast whole numbers to u1 to u8 and s1 to s8"
                    )
                return "integer"
            case ex.Attr(of, name):
                return self.of_attribute(of, name, names)
            case ex.Unary("not", of):
                self.all(("boolean",), "not", names, of)
                return "boolean"
            case ex.Unary(op, of):
                return self.all(NUMBERS if op == "-" else ("integer",), op, names, of)
            case ex.Binary(op, left, right):
                kind = self.of_binary(op, left, right, names)
                if expr.grouped and kind == "float":
                    raise _Wrong(ex.LONG_REAL)
                return kind
            case ex.Ternary(test, yes, no):
                self.all(("boolean",), "?", names, test)
                first, second = self.infer(yes, names), self.infer(no, names)
                if first != second:
                    raise _Wrong(f"`?` chooses between {_a(first)} and {_a(second)}")
                return first
            case ex.Index():
                raise _Wrong("an index is not supported", "read what is needed as a field of its own")
        raise _Wrong(f"`{ex.text_of(expr)}` is not supported")

    def all(self, wanted: tuple[str, ...], op: str, names: dict[str, str], *parts: ex.Expr) -> str:
        found = [self.infer(part, names) for part in parts]
        for kind in found:
            if kind not in wanted:
                raise _Wrong(f"`{op}` needs {_a(wanted[0])}, not {_a(kind)}")
        return "float" if "float" in found else found[0]

    def of_name(self, name: str, names: dict[str, str]) -> str:
        if name in names:
            return names[name]
        field, param, instance = self.struct.field(name), self.struct.param(name), self.struct.instance(name)
        if field is not None:
            return self.of_field(field)
        if param is not None:
            return "boolean" if param.type == "bool" else "integer"
        if instance is not None and instance.value is not None:
            return self.infer(instance.value, names)
        return "integer"

    def of_binary(self, op: str, left: ex.Expr, right: ex.Expr, names: dict[str, str]) -> str:
        if op in ("and", "or"):
            return self.all(("boolean",), op, names, left, right)
        if op in COMPARED:
            first, second = self.infer(left, names), self.infer(right, names)
            if not _comparable(first, second) or (op not in ("==", "!=") and first not in (*NUMBERS, "text")):
                raise _Wrong(f"`{op}` cannot compare {_a(first)} with {_a(second)}")
            return "boolean"
        if op in ("+", "-", "*"):
            return self.all(NUMBERS, op, names, left, right)
        found = self.all(("integer",), op, names, left, right)
        plain = ex.fold(right)
        number = plain.value if isinstance(plain, ex.Literal) and isinstance(plain.value, int) else None
        if op in ("/", "%") and not number:
            raise _Wrong(f"`{op}` by what may be 0: {ex.text_of(right)}", "divide by a plain number")
        if op in ("<<", ">>") and (number is None or not 0 <= number <= MOST_SHIFT):
            raise _Wrong(
                f"`{op}` by {ex.text_of(right)} is not bounded", f"shift by a plain number, 0 to {MOST_SHIFT}"
            )
        return found

    def of_attribute(self, of: ex.Expr, name: str, names: dict[str, str]) -> str:
        owner = self.type_of(of)
        if owner is not None and owner.wire is None:
            field = owner.field(name)
            if field is None:
                raise _Wrong(
                    f"`.{name}` of `{owner.id}` is not supported", "only fields of another type can be used"
                )
            if name in ("size", "length", "to_i"):
                raise _Wrong(f"a field named `{name}` of another type cannot be used", "name it otherwise")
            if field.condition is not None:
                raise _Wrong(f"`{name}` is not always there in `{owner.id}`")
            if field.derive is not None and field.derive.is_length:
                raise _Wrong(f"`{name}` is not kept, as it follows from `{field.derive.first}`")
            return self.of_field(field)
        found = self.infer(of, names)
        if (
            name == "value"
            and (owner is not None or of == ex.Name("_"))
            and found in ("integer", "text", "bytes", "list")
        ):
            return found
        if name == "to_i" and found == "integer":
            return "integer"
        if name in ("size", "length") and found in ("list", "bytes", "text"):
            return "integer"
        raise _Wrong(f"{_a(found)} has no `.{name}`")

    def type_of(self, expr: ex.Expr) -> Struct | None:
        """The type that an expression names a field of."""
        path: list[str] = []
        while isinstance(expr, ex.Attr):
            path.insert(0, expr.name)
            expr = expr.of
        if not isinstance(expr, ex.Name):
            return None
        struct: Struct | None = self.struct
        for name in [expr.name, *path]:
            field = struct.field(name) if struct is not None else None
            if field is None or not isinstance(field.type, Ref) or field.repeat is not None:
                return None
            struct = self.model.struct(field.type.target)
        return struct


def _literal(value: int | float | bool | str) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return "float" if isinstance(value, float) else "text"


def _comparable(first: str, second: str) -> bool:
    return (first == second and first in (*NUMBERS, "boolean", "text", "bytes")) or {first, second} == set(
        NUMBERS
    )


def _range(kind: Prim | Bits) -> tuple[int, int]:
    whole = (0, 2**kind.width - 1) if isinstance(kind, Bits) else WIRE[kind.name].range
    assert whole is not None
    return whole


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeio" else kind if kind in ("bytes", "text") else f"a {kind}"
