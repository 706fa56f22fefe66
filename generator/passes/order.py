"""Checks the order in a layout: nothing after the end, no use of absent fields, whole ranges."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from kodec.generator.passes.common import expressions, path_of, structs
from kodec.generator.plan.layouts import Layout, Layouts
from kodec.generator.problems import Problems
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Derive, Field, Model, Ref, Struct, Switch, TypeRef
from kodec.generator.wire import INTRINSICS

__all__ = ["check_order"]


def check_order(model: Model, problems: Problems, layouts: Layouts) -> None:
    """Report layouts that could not be read, or only with missing values."""
    ends = _Ends(model)
    for struct in structs(model):
        if struct.wire in INTRINSICS:
            continue
        for variant in layouts.all_of(struct):
            _Layout(layouts, ends, struct, variant.layout, problems).run()


class _Layout:
    def __init__(
        self, layouts: Layouts, ends: _Ends, struct: Struct, layout: Layout, problems: Problems
    ) -> None:
        self.layouts = layouts
        self.ends = ends
        self.struct = struct
        self.layout = layout
        self.problems = problems
        self.fields = layout.fields
        self.absent = {field.id for field in layout.absent}
        self.conditions = {f.id: conjuncts(f.condition) for f in self.fields if f.condition is not None}

    def run(self) -> None:
        # a writer could write what its own reader refuses
        open_ended: list[Field] = []
        for field in self.fields:
            ended = next((each for each in open_ended if not self.are_apart(each, field)), None)
            if ended is not None:
                self.bad(
                    field,
                    "id",
                    f"nothing is left for it: `{ended.id}` reads to the end",
                    f"give `{ended.id}` a size",
                )
                break
            self.one(field)
            if field.repeat is not None and self.ends.element_reads_on(field):
                text = "nothing is left for a second element: the first reads to the end"
                self.bad(field, "repeat", text, "give its elements a size")
            if self.ends.reads_on(field):
                open_ended.append(field)
        for field in self.fields:
            for rule in field.valid.rules if field.valid is not None else ():
                self.uses(field, "valid", rule, conjuncts(field.condition))
            if field.derive is not None and field.derive.is_range:
                self.range(field, field.derive)
            if field.derive is not None:
                if field.derive.kind in ("count_of", "last", "max") and field.derive.first in self.absent:
                    what = f"`-derive` needs `{field.derive.first}`, which is not there{self.when()}"
                    self.bad(field, "-derive", what)
                for part in (field.derive.plus, field.derive.when):
                    if part is not None:
                        known = dict(self.layout.known)
                        self.uses(
                            field,
                            "-derive",
                            ex.fold(self.layouts.inline(self.struct, part), known),
                            frozenset(),
                        )

    def are_apart(self, one: Field, other: Field) -> bool:
        """Whether two fields are never there both, as their conditions show."""
        mine, others = conjuncts(one.condition), conjuncts(other.condition)
        return any(opposite(each) in others for each in mine) or any(
            first.left == second.left and first.right != second.right
            for first, second in product(_constants(mine), _constants(others))
        )

    def bad(self, field: Field, key: str, text: str, hint: str = "") -> None:
        self.problems.add(field.at(key), path_of(self.struct, field.id), text, hint)

    def one(self, field: Field) -> None:
        if field.contents is not None and (field.condition is not None or field.repeat is not None):
            self.bad(field, "contents", "fixed contents can be neither conditional nor repeated")
        holds = conjuncts(field.condition)
        for key, expr in expressions(field):
            self.uses(field, key, expr, frozenset() if key == "if" else holds)
        if field.repeat_until is not None:
            self.uses(field, "repeat-until", field.repeat_until, holds)

    def uses(self, field: Field, key: str, expr: ex.Expr, holds: frozenset[ex.Expr]) -> None:
        """Every field in an expression must exist whenever it is evaluated."""
        match expr:
            case ex.Name(name) if name in self.absent:
                self.bad(field, key, f"`{key}` needs `{name}`, which is not there{self.when()}")
            case ex.Name(name) if name in self.conditions and name != field.id:
                if not self.conditions[name] <= holds:
                    self.bad(
                        field, key, f"`{key}` needs `{name}`, which is not always there",
                        f"if: {' and '.join(sorted(map(ex.text_of, self.conditions[name])))}",
                    )  # fmt: skip
            case ex.Ternary(test, yes, no):
                self.uses(field, key, test, holds)
                self.uses(field, key, yes, holds | conjuncts(test))
                self.uses(field, key, no, holds | {opposite(test)})
            case ex.Binary("and", left, right):
                self.uses(field, key, left, holds)
                self.uses(field, key, right, holds | conjuncts(left))
            case ex.Binary("or", left, right):
                self.uses(field, key, left, holds)
                self.uses(field, key, right, holds | {opposite(left)})
            case ex.Binary(_, left, right):
                self.uses(field, key, left, holds)
                self.uses(field, key, right, holds)
            case ex.Attr(of, _) | ex.Unary(_, of) | ex.Cast(of, _):
                self.uses(field, key, of, holds)

    def when(self) -> str:
        return "".join(f" when {name} is {str(value).lower()}" for name, value in self.layout.known)

    def range(self, field: Field, derive: Derive) -> None:
        """A range must start and end with existing fields, at a whole byte."""
        last = derive.last or derive.first
        for end in {derive.first, last} & self.absent:
            self.bad(field, "-derive", f"the range needs `{end}`, which is not there{self.when()}")
        if derive.first in self.conditions:
            self.bad(field, "-derive", f"a range cannot start at `{derive.first}`, which is not always there")
        filled = 0
        for each in self.fields:
            if not isinstance(each.type, Bits) or each.condition is not None or each.repeat is not None:
                continue
            filled += each.type.width
            if derive.first == each.id or (last == each.id and filled % 8):
                self.bad(
                    field,
                    "-derive",
                    "a range cannot start at a bit field, or end inside a byte",
                    "put the bits in a type",
                )


def conjuncts(expr: ex.Expr | None) -> frozenset[ex.Expr]:
    match expr:
        case None:
            return frozenset()
        case ex.Binary("and", left, right):
            return conjuncts(left) | conjuncts(right)
    return frozenset((expr,))


def _constants(tests: frozenset[ex.Expr]) -> Iterator[ex.Binary]:
    """Those that say which constant something is."""
    for each in tests:
        match each:
            case ex.Binary("==", _, ex.Literal() | ex.EnumValue()):
                yield each


_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def opposite(expr: ex.Expr) -> ex.Expr:
    match expr:
        case ex.Binary(op, left, right) if op in _OPPOSITE:
            return ex.Binary(_OPPOSITE[op], left, right)
        case ex.Unary("not", of):
            return of
    return ex.Unary("not", expr)


class _Ends:
    """The fields that read, or may read, to the end of their input."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._types: dict[str, bool] = {}

    def reads_on(self, field: Field) -> bool:
        if field.size_eos or field.repeat == "eos":
            return True
        return field.repeat is None and self.element_reads_on(field)

    def element_reads_on(self, field: Field) -> bool:
        """Whether a value of it does."""
        return field.size is None and self._type(field.type)

    def _type(self, kind: TypeRef) -> bool:
        if isinstance(kind, Switch):
            cases = [each for _, each in kind.cases] + [each for each in (kind.default,) if each is not None]
            return any(map(self._type, cases))
        if not isinstance(kind, Ref):
            return False
        if kind.target not in self._types:
            self._types[kind.target] = False
            fields = self.model.struct(kind.target).fields
            self._types[kind.target] = any(map(self.reads_on, fields))
        return self._types[kind.target]
