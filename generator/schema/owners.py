"""A type of a schema as its tree has it, with what other keys of it say: its versions, and its sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from kodec.generator.problems import Place
from kodec.generator.schema import expr as ex
from kodec.generator.schema.files import Unit
from kodec.generator.schema.load import Node, Scalar
from kodec.generator.schema.versions import VersionRange

__all__ = ["Leaf", "Owner", "conjuncts", "parsed", "put", "sign_of_null", "target_of"]

# instances are put into the expressions that use them
_MOST_PARTS = 1000
_MOST_VERSIONS = 256


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number that a size is, minus `plus`: the field `name`, as an expression `value`."""

    name: str
    value: ex.Expr
    plus: int


def parsed(node: Node | None) -> ex.Expr | None:
    """The expression of a node; None if it has none, or one with problems, which are reported later."""
    if node is None or isinstance(node.value, (list, dict)) or node.value is None:
        return None
    if not isinstance(node.value, str):
        return ex.Literal(node.value)
    return _parsed(node.value)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> ex.Expr | None:
    with suppress(ex.ExprError):
        return ex.parse(text)
    return None


def put(node: Node, key: str, value: Scalar | dict[Scalar, Node], at: Node) -> None:
    """Write a key out, at the place of the node that decides it."""
    node.map[key] = Node(value, at.place, dict(at.keys) if isinstance(value, dict) else {})
    node.keys[key] = at.place


def target_of(units: Mapping[str, Unit], unit: Unit, scope: str, name: str) -> tuple[Unit, str, Node] | None:
    """The type that a name means in a type `scope`, with its file and full name."""
    while scope:
        if (full := f"{scope}::{name}") in unit.types:
            return unit, full, unit.types[full]
        scope = scope.rpartition("::")[0]
    other = units.get(name.partition("::")[0])
    return None if other is None or name not in other.types else (other, name, other.types[name])


def conjuncts(expr: ex.Expr) -> Iterator[ex.Expr]:
    """The parts of `a and b and c`."""
    match expr:
        case ex.Binary("and", left, right):
            yield from conjuncts(left)
            yield from conjuncts(right)
        case _:
            yield expr


def sign_of_null(test: ex.Expr) -> ex.Expr | None:
    """When a field is null that is read where `test` holds: `n == -1` for `n >= 0`, `n == 0` for `n != 0`."""
    match test:
        case ex.Binary(">=", left, ex.Literal(int(number))):
            return ex.Binary("==", left, ex.Literal(number - 1))
        case ex.Binary(">" | "!=", left, ex.Literal(int()) as number):
            return ex.Binary("==", left, number)
    return None


@dataclass(frozen=True, slots=True)
class Owner:
    """A type: `name` is full."""

    unit: Unit
    name: str
    node: Node

    @property
    def path(self) -> str:
        return self.name.replace("::", ".")

    @property
    def fields(self) -> list[Node]:
        seq = self.node.get("seq")
        return [] if seq is None else [item for item in seq.items if isinstance(item.value, dict)]

    def field(self, name: str) -> Node | None:
        return next((item for item in self.fields if item.map.get("id", _NOTHING).value == name), None)

    @property
    def version_field(self) -> str:
        given = self.node.get("-versions")
        name = given.get("field") if given is not None else None
        return name.value if name is not None and isinstance(name.value, str) else "version"

    @property
    def versions(self) -> VersionRange | None:
        """Its versions; None if it has none, or too many."""
        given = self.node.get("-versions")
        if given is not None and isinstance(given.value, dict):
            given = given.get("range")
        if given is None or isinstance(given.value, (list, dict)):
            return None
        with suppress(ValueError):
            found = VersionRange.parse(str(given.value))
            return found if 0 <= found.last - found.first < _MOST_VERSIONS else None
        return None

    def present(self, condition: ex.Expr | None) -> list[int]:
        """The versions in which a field with that condition may be; all of the type without one."""
        versions = list(self.versions or ())
        if condition is None:
            return versions
        no, name = ex.Literal(False), self.version_field
        return [each for each in versions if ex.fold(condition, {name: each}) != no]

    def whole(self, expr: ex.Expr | None) -> ex.Expr | None:
        """An expression with the value instances of the type put into it; None if it is too long."""
        instances = self.node.get("instances")
        values = {} if instances is None else instances.map
        values = {name: each for name, each in values.items() if each.get("value") is not None}

        def swap(part: ex.Expr) -> ex.Expr | None:
            node = values.get(part.name) if isinstance(part, ex.Name) else None
            return None if node is None else parsed(node.get("value"))

        for _ in range(len(values)):
            if expr is None or sum(1 for _ in islice(ex.walk(expr), _MOST_PARTS + 1)) > _MOST_PARTS:
                return None
            if not ex.names(expr) & values.keys():
                break
            expr = ex.replace(expr, swap)
        return expr

    def leaves(self, spec: Node) -> list[Leaf] | None:
        """The numbers that a field's size or count is read from, one in each case; None if it is more."""
        repeated = spec.get("repeat") is not None
        expr = self.whole(parsed(spec.get("repeat-expr" if repeated else "size")))
        return None if expr is None else self.leaves_of(expr)

    def leaves_of(self, expr: ex.Expr) -> list[Leaf] | None:
        """The numbers of the type that an expression is, in each of its cases, minus a constant."""
        match expr:
            case ex.Cast(of, _):
                return self.leaves_of(of)
            case ex.Ternary(_, yes, no):
                first, second = self.leaves_of(yes), self.leaves_of(no)
                return None if first is None or second is None else first + second
            case ex.Binary("-", left, right):
                number, found = ex.fold(right), self.leaves_of(left)
                if found is None or not isinstance(number, ex.Literal) or type(number.value) is not int:
                    return None
                return [Leaf(each.name, each.value, each.plus + number.value) for each in found]
            case ex.Name(name) | ex.Attr(ex.Name(name), "value") if self.field(name) is not None:
                return [Leaf(name, expr, 0)]
        return None


_NOTHING = Node(None, Place("", 0, 0), {})
