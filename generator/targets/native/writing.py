"""How a kernel writes: from columns to the bytes of rows, and from a head's numbers to a unit.

For each row the values of all fields are computed first, then the sizes from the innermost part outwards,
then the bytes are written from front to back; checksums and lengths of ranges are filled in at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from kodec.generator.plan.rows import Elements, NoRows, Part, RowNumber, RowStep, Span, steps_within
from kodec.generator.plan.steps import CheckLength, Checksum, Fixed, FixedNumber, Mark, Rule, Slot, When
from kodec.generator.plan.values import Constant
from kodec.generator.reserved import Taken
from kodec.generator.targets.native.expressions import Expressions, literal
from kodec.generator.targets.native.places import kind_of
from kodec.generator.wire import WIRE

if TYPE_CHECKING:
    from kodec.generator.targets.native.kernel import PlannedKernel

__all__ = ["Writer", "default_of"]

Source = Callable[[str], str]
"""From the path of a field that is not derived to the C text of its number or span."""
_C_VALUES = {"uint": "uint64_t", "float": "double", "double": "double"}


class Writer:
    """The data for templates that write the steps of a row, or of a unit. Raises NoRows if a kernel cannot.

    Args:
        source: what is written.
        limit: the end of the bytes that contain a span.
        pair: where the elements of a list start and stop.
    """

    def __init__(
        self,
        kernel: PlannedKernel,
        steps: Iterable[RowStep],
        source: Source,
        limit: Source,
        pair: Callable[[str], tuple[str, str]],
    ) -> None:
        self._kernel = kernel
        self.steps = tuple(steps)
        self.source = source
        self.limit = limit
        self.pair = pair
        self.text = Expressions(self.value, bounded=False)
        self._names = Taken()
        self._locals: dict[tuple[str, str], str] = {}
        inside = list(steps_within(self.steps))
        self._ranged = {each.name for each in inside if isinstance(each, (CheckLength, Checksum))}
        self._fields = {path: made for each in inside for path, made in _own((each,))}
        self._sized = {each.name for each in inside if isinstance(each, (Part, Elements))}
        self._check(self.steps)

    def _check(self, steps: Iterable[RowStep]) -> None:
        """Spell all computed values, which shows whether it can be written."""
        for step in _flat(steps):
            if isinstance(step, (Part, Elements)):
                self._check(step.steps)
        for path, made in self.fields(steps):
            if self.is_span(made):
                if self.is_nullable(made) and not self._kernel.plan.fields[path].signed_null:
                    raise NoRows(f"`{path}` is not written, as it may be absent")
                self.limit(path)
            elif isinstance(made, (Slot, RowNumber)):
                self.rules(made.rules, path)
                wire = made.wire if isinstance(made, Slot) else made.element.wire
                if wire is not None and WIRE[wire].c is None:
                    raise NoRows(f"`{path}` is of a type that is not written")
            if self.is_given(path, made):
                self.source(path)
        for path in self.derived(steps):
            self.follows(path)
        for step in steps_within(steps):
            if isinstance(step, CheckLength):
                self.plus(step)
        self.total(steps)

    # -- names ------------------------------------------------------------------------------------

    def _local(self, kind: str, path: str) -> str:
        if (kind, path) not in self._locals:
            name = f"{kind}_{self._kernel.places.within(path).replace('.', '_')}"
            self._locals[kind, path] = self._names.claim(name)
        return self._locals[kind, path]

    def value(self, path: str) -> str:
        """The number of a field; a number that is set later is 0 until then."""
        if path not in self._fields or self.is_span(self._fields[path]):
            raise NoRows(f"`{path}` in an expression, which is not written")
        return "0" if path in self._ranged else self._local("value", path)

    def span(self, path: str) -> str:
        return self._local("span", path)

    def size(self, path: str) -> str:
        """The bytes of a part, or of a list."""
        return self._local("size", path)

    def count(self, path: str) -> str:
        return self._local("count", path)

    def place(self, path: str, end: bool = False) -> str:
        return self._local("end_of" if end else "start_of", path)

    def field(self, path: str) -> str:
        """The constant by which a stop names a field."""
        return self._kernel.field(path)

    @staticmethod
    def kind(step: RowStep) -> str:
        return type(step).__name__

    # -- what is known before ---------------------------------------------------------------------

    @staticmethod
    def parts(steps: Iterable[RowStep]) -> list[Part | Elements]:
        return [each for each in _flat(steps) if isinstance(each, (Part, Elements))]

    @staticmethod
    def fields(steps: Iterable[RowStep]) -> Iterator[tuple[str, Slot | RowNumber | Span]]:
        """The fields that steps write, but not those of parts."""
        return _own(_flat(steps))

    @staticmethod
    def is_span(made: Slot | RowNumber | Span) -> bool:
        return kind_of(made) == "blob"

    @staticmethod
    def is_nullable(made: Slot | RowNumber | Span) -> bool:
        return isinstance(made, Span) and made.nullable

    @staticmethod
    def c_type(made: Slot | RowNumber) -> str:
        return _C_VALUES.get(kind_of(made), "int64_t")

    def _is_own_length(self, path: str) -> bool:
        derived = self._kernel.plan.fields[path].derived
        return derived is not None and derived.kind in ("length", "count", "presence")

    def is_given(self, path: str, made: Slot | RowNumber | Span) -> bool:
        """Whether a field is derived from nothing."""
        return self.is_span(made) or (path not in self._ranged and not self._is_own_length(path))

    def derived(self, steps: Iterable[RowStep]) -> list[str]:
        """Lengths and counts that follow from the field that they are of."""
        return [
            path
            for path, made in self.fields(steps)
            if not self.is_span(made) and path not in self._ranged and self._is_own_length(path)
        ]

    def follows(self, path: str) -> str:
        """The number that a length or a count is."""
        derived = self._kernel.plan.fields[path].derived
        assert derived is not None
        of = derived.of
        if derived.kind == "count":
            # of content that is bytes already, whoever made it shows how many
            value = self.count(of) if of in self._sized else self.source(path)
        elif derived.kind == "length" and of in self._sized:
            value = f"(int64_t){self.size(of)}"
        elif derived.kind == "length" and of in self._fields:
            value = f"(int64_t){self.span(of)}.size"
            if self._kernel.plan.fields[of].signed_null:
                if derived.null is None:
                    raise NoRows(f"`{path}` does not say null")
                value = f"({self.span(of)}.data == NULL ? {derived.null} : {value})"
        else:
            raise NoRows(f"`{path}` is of what is missing")
        return value if derived.plus is None else f"kd_add({value}, {self.text.number(derived.plus)}, &wrong)"

    # -- sizes ------------------------------------------------------------------------------------

    def total(self, steps: Iterable[RowStep]) -> str:
        """The bytes of all steps, constants put together."""
        terms = self.terms(steps)
        constant = sum(int(term) for term in terms if term.isdigit())
        rest = [term for term in terms if not term.isdigit()]
        terms = ([str(constant)] if constant or not rest else []) + rest
        return ("\n    + " if sum(map(len, terms)) > 80 else " + ").join(terms)

    def terms(self, steps: Iterable[RowStep]) -> list[str]:
        found: list[str] = []
        for step in steps:
            match step:
                case Fixed(size=size):
                    found.append(str(size))
                case RowNumber(element=FixedNumber(wire)):
                    found.append(str(WIRE[wire].least))
                case RowNumber(name):
                    found.append(f"kd_size_uvarint({self.varint(step)})")
                case Span(name):
                    found.append(f"{self.span(name)}.size")
                case Part(name) | Elements(name):
                    found.append(self.size(name))
                case When(test, inner) if self.writes_null(step):
                    found += self.terms(inner)  # type: ignore[arg-type]  # steps of rows
                case When(test, inner):
                    found.append(f"({self.text.test(test)} ? {self.total(inner)} : 0)")  # type: ignore[arg-type]  # same
        return found

    # -- bytes ------------------------------------------------------------------------------------

    @staticmethod
    def ordered(steps: Iterable[RowStep]) -> Iterator[RowStep]:
        """Where ranges end at one place: lengths before checksums, which may cover them."""

        def is_end(step: RowStep) -> bool:
            return isinstance(step, (CheckLength, Checksum)) or (isinstance(step, Mark) and step.end)

        for ends, group in groupby(steps, is_end):
            found = list(group)
            yield from sorted(found, key=lambda each: isinstance(each, Checksum)) if ends else found

    def lost(self) -> Iterator[tuple[str, str]]:
        """(test that it would be lost, constant) of each number that is not written where a condition fails.

        0 is what a number holds that nobody has set.
        """
        for step in steps_within(self.steps):
            for each in step.steps if isinstance(step, When) else ():
                if isinstance(each, RowNumber) and each.absent is not None and self.is_given(each.name, each):
                    value, absent = self.value(each.name), default_of(each.absent)
                    tests = [f"{value} != {text}" for text in dict.fromkeys(("0", absent)) if text]
                    yield f"!({self.text.test(step.test)}) && {' && '.join(tests)}", self.field(each.name)

    @staticmethod
    def writes_null(step: When) -> bool:
        """Whether a condition only skips null, which is written as nothing."""
        return all(isinstance(each, Mark) or getattr(each, "nullable", False) for each in step.steps)

    def rules(self, rules: tuple[Rule, ...], path: str) -> str:
        """The test that a number is one that the schema allows; empty of any."""
        return "" if not rules or path in self._ranged else self.text.rules(rules, self.value(path))

    def bits(self, slots: list[Slot]) -> str:
        """The number that bit fields share."""
        parts = []
        for slot in slots:
            assert slot.bits is not None
            shift = slot.bits[0]
            value = f"(uint64_t){self.value('.'.join(slot.path))}"
            parts.append(f"{value} << {shift}" if shift else value)
        return "\n    | ".join(parts)

    def raw(self, wire: str, path: str) -> str:
        """The bits of a number of fixed width."""
        form, value = WIRE[wire].c, self.value(path)
        if form is not None and form.kind in ("float", "double"):
            return f"kd_bits_of_{form.kind}(({form.kind}){value})"
        return f"(uint64_t){value}"

    def varint(self, number: RowNumber) -> str:
        value = self.value(number.name)
        zigzag = WIRE[number.element.wire].zigzag
        return f"kd_zigzag({value})" if zigzag else f"(uint64_t)(uint32_t){value}"

    def fits(self, wire: str, path: str) -> str:
        """The C type that a number must fit; empty if it does."""
        form = WIRE[wire].c
        return "" if form is None or path in self._ranged else form.fits or ""

    @staticmethod
    def width(wire: str) -> int:
        return WIRE[wire].size or 0

    # -- lengths and checksums of ranges ----------------------------------------------------------

    def until(self, step: CheckLength | Checksum) -> str:
        return "p" if step.last is None else self.place(step.last, end=True)

    def plus(self, step: CheckLength) -> str:
        return literal(0) if step.plus is None else self.text.number(step.plus)

    def patched(self, path: str) -> tuple[str, int]:
        """(order, bytes) of a number that is put in afterwards."""
        wire, order = self._kernel.fixed(path)
        return order or "be", WIRE[wire].least

    def most(self, path: str) -> str:
        """The largest value of a length."""
        wire, _ = self._kernel.fixed(path)
        low, _ = WIRE[wire].range or (0, 0)
        size = WIRE[wire].least
        return f"{'' if low < 0 or size == 8 else 'U'}INT{8 * size}_MAX"


def _flat(steps: Iterable[RowStep]) -> Iterator[RowStep]:
    """The steps with those under conditions, but not those of parts."""
    for step in steps:
        if isinstance(step, When):
            yield from _flat(step.steps)  # type: ignore[arg-type]  # steps of rows
        else:
            yield step


def _own(steps: Iterable[RowStep]) -> Iterator[tuple[str, Slot | RowNumber | Span]]:
    for step in steps:
        if isinstance(step, Fixed):
            for slot in step.slots:
                yield ".".join(slot.path), slot
        elif isinstance(step, (RowNumber, Span)):
            yield step.name, step


def default_of(default: Constant | None) -> str | None:
    """C text of the default of a number; None if there is none."""
    value = None if default is None else default.value
    return literal(int(value)) if isinstance(value, int | float) else None
