"""The places of the fields of rows in C: members of a unit, of a row in it, of an element of a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kodec.generator.plan.rows import Elements, RowNumber, RowPlan, RowStep, Span, steps_within, variables
from kodec.generator.plan.steps import FixedNumber, Slot
from kodec.generator.plan.values import EnumOf, Maybe, Real, Type, Whole
from kodec.generator.targets.native.names import c_name
from kodec.generator.wire import WIRE

__all__ = ["Places", "arrow_of", "is_number", "kind_of"]


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a C struct, or a struct in it of the `members`."""

    name: str
    c_type: str
    members: tuple[Member, ...] = ()


class Places:
    """The C text and the name of each field, by its path."""

    def __init__(self, plan: RowPlan) -> None:
        self.plan = plan
        self.lists = [each for each in steps_within(plan.element or plan.head) if isinstance(each, Elements)]

    def __call__(self, path: str) -> str:
        for index, each in enumerate(self.lists):
            if path.startswith(f"{each.name}."):
                return f"item_{index}.{c_path(path.removeprefix(f'{each.name}.'))}"
        if self.in_content(path):
            return f"row.{c_path(self.within(path))}"
        return f"u->{c_path(path)}"

    def in_content(self, path: str) -> bool:
        return bool(self.plan.content) and path.startswith(f"{self.plan.content}.")

    def within(self, path: str) -> str:
        """The path without the content that the field is in."""
        return path.removeprefix(f"{self.plan.content}.") if self.in_content(path) else path

    def named(self, path: str) -> str:
        """The name of the field in errors: `records[].body.key`."""
        for each in (self.plan.content, *(each.name for each in self.lists)):
            if each and path.startswith(f"{each}."):
                path = f"{self._marked(each)}[]{path[len(each) :]}"
        return path

    def _marked(self, path: str) -> str:
        content = self.plan.content
        return f"{content}[]{path[len(content) :]}" if self.in_content(path) else path

    def list_index(self, step: Elements) -> int:
        return self.lists.index(step)

    def members(self, steps: Iterable[RowStep], below: str = "") -> tuple[Member, ...]:
        """The members that the steps fill, without those of lists in them."""
        inside = [f"{each.name}." for each in self.lists if each.name != below]
        found: dict[str, object] = {}
        for path, made in variables(steps):
            if any(path.startswith(each) for each in inside):
                continue
            *outer, last = (path.removeprefix(f"{below}.") if below else self.within(path)).split(".")
            at = found
            for each in outer:
                at = at.setdefault(each, {})  # type: ignore[assignment]  # a struct
            at[last] = _C_TYPES[kind_of(made)]
        return tuple(_nested(found))

    def item_members(self, step: Elements) -> tuple[Member, ...]:
        return self.members(step.steps, step.name)


def c_path(path: str) -> str:
    return ".".join(map(c_name, path.split(".")))


def _nested(found: dict[str, object]) -> Iterator[Member]:
    for name, made in found.items():
        if isinstance(made, dict):
            yield Member(c_name(name), "struct", tuple(_nested(made)))
        else:
            yield Member(c_name(name), str(made))


_C_TYPES = {"int": "int64_t", "uint": "uint64_t", "float": "float", "double": "double", "blob": "kd_span"}


def kind_of(made: Slot | RowNumber | Span) -> str:
    """int, uint, float, double or blob."""
    if isinstance(made, Span) or (isinstance(made, Slot) and made.wire is None and made.bits is None):
        return "blob"
    match _bare(made.type):
        case Real(bits):
            return "float" if bits == 32 else "double"
        case Whole() as whole if whole.wide:
            return "uint"
    return "int"


def is_number(made: Slot | RowNumber | Span) -> bool:
    return kind_of(made) != "blob"


def arrow_of(made: Slot | RowNumber) -> str:
    """The Arrow type that holds every value of the field."""
    if isinstance(made, Slot) and made.bits is not None:
        bits = made.bits[1]
        if bits == 1 and not isinstance(made.type, EnumOf):
            return "bool"
        return next(f"uint{width}" for width in (8, 16, 32, 64) if bits <= width)
    wire = made.wire if isinstance(made, Slot) else made.element.wire
    assert wire is not None
    form = WIRE[wire]
    if isinstance(made, Slot) or isinstance(made.element, FixedNumber):
        return form.arrow
    return f"{'' if form.signed else 'u'}int{form.bits}"


def _bare(kind: Type) -> Type:
    kind = kind.of if isinstance(kind, Maybe) else kind
    return kind.number if isinstance(kind, EnumOf) else kind
