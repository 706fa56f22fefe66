"""What stands in the bytes of a type, step by step, with nothing left to decide but how it is spelled.

A reader has a buffer, a position and an end: each step moves the position, sets fields, or ends in an error.
A writer has an object, and takes the same steps: each appends what the fields say. What it has to know before
is in `Unit.derived`; lengths and checksums of bytes that are there only afterwards are put in at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kodec.generator.parts import fields_of
from kodec.generator.plan.values import (
    Constant,
    FieldOf,
    Peeked,
    StreamAsked,
    Type,
    Value,
    text_of,
    values_in,
)
from kodec.generator.schema.model import Schema
from kodec.generator.schema.versions import VersionRange

__all__ = [
    "Align",
    "Bits",
    "Bounds",
    "ByteOrder",
    "Calculated",
    "Case",
    "Chars",
    "CheckCount",
    "CheckLast",
    "CheckLength",
    "CheckMost",
    "Checksum",
    "Choice",
    "Derived",
    "Element",
    "FieldPlan",
    "Fixed",
    "FixedNumber",
    "InstancePlan",
    "LateSize",
    "Many",
    "Mark",
    "Nested",
    "Octets",
    "One",
    "Packed",
    "Parameter",
    "Process",
    "Program",
    "Require",
    "Rule",
    "SetNull",
    "Size",
    "Slot",
    "Solution",
    "Step",
    "Stored",
    "Streamed",
    "TagPlan",
    "Tagged",
    "Unit",
    "Varint",
    "VersionAt",
    "When",
    "fields_in",
    "lacks_case",
    "reachable",
    "steps_in",
    "values_of",
]

_NEEDS = {"least": "at least", "most": "at most"}


@dataclass(frozen=True, slots=True)
class Rule:
    """What must hold of a value, which is the `Item` of `test`.

    Attributes:
        need: what an error says was needed: equal, least, most, one of, holds, a value, fixed bytes.
        wanted: the values that go with it; of `holds` the text of the rule.
    """

    test: Value
    need: str
    wanted: tuple[Value, ...] = ()

    @property
    def needed(self) -> str:
        """What an error says was needed, the same in every language."""
        shown = ", ".join(text_of(each) for each in self.wanted)
        if self.need == "holds":
            assert isinstance(self.wanted[0], Constant)
            return str(self.wanted[0].value)
        return shown if self.need == "equal" else f"{_NEEDS.get(self.need, self.need)} {shown}".rstrip()


@dataclass(frozen=True, slots=True)
class Solution:
    """A field that a size, a count, a position or a condition follows from, and what it has to be.

    `target` becomes `value`, whose `Item` is the size that is wanted, where all `tests` hold. It is a field,
    a parameter or an instance, of the object itself or of another, or an element of a list.

    `also` are further ones that have to change with it: the other digits of a number.
    """

    target: Value
    value: Value
    tests: tuple[Value, ...] = ()
    also: tuple[Solution, ...] = ()


@dataclass(frozen=True, slots=True)
class Slot:
    """A value of fixed width in a run of such.

    Attributes:
        path: the field's name, after those of the fields that hold its object.
        offset, size: in bytes, from the start of the run; bit fields share those of their group.
        wire: the wire type of a number, a flag or a UUID; None of bytes and of bits.
        order: `be` or `le`; empty if one byte has none; `by` where bytes say it (`ByteOrder`).
        bits: how far it is from the lowest bit, and its width.
        contents: the bytes that always stand there.
    """

    path: tuple[str, ...]
    type: Type
    offset: int
    size: int
    wire: str | None = None
    order: str = ""
    bits: tuple[int, int] | None = None
    contents: bytes | None = None
    rules: tuple[Rule, ...] = ()

    @property
    def shown(self) -> str:
        """Its path in errors."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Fixed:
    """Neighbours of fixed width: one look at the end, then each by its offset.

    `objects` are the fields that hold objects made of some of them, inner ones first, with their units.
    """

    slots: tuple[Slot, ...]
    size: int
    objects: tuple[tuple[tuple[str, ...], str], ...] = ()

    @property
    def groups(self) -> list[list[Slot]]:
        """The slots by their place: bit fields share one."""
        found: dict[int, list[Slot]] = {}
        for slot in self.slots:
            found.setdefault(slot.offset, []).append(slot)
        return list(found.values())


@dataclass(frozen=True, slots=True)
class FixedNumber:
    """A number, a flag or a UUID of fixed width, by itself."""

    wire: str
    order: str


@dataclass(frozen=True, slots=True)
class Varint:
    """A number of variable width."""

    wire: str


@dataclass(frozen=True, slots=True)
class Size:
    """A number of bytes, or of elements.

    `implied` says that a writer has nothing to compare it with where it writes the field: what it is computed
    of is itself derived of the field, or looked at before. `LateSize` has those that are compared at the end.
    """

    value: Value
    implied: bool
    solved: tuple[Solution, ...] = ()


@dataclass(frozen=True, slots=True)
class LateSize:
    """A size or a count that follows from the length of a range, which is there when all is written.

    A writer then compares it with the bytes that the field `name` has taken, or with the number of its
    elements where it is `counted`, if the field is written.

    Attributes:
        length: the field with the length of the range.
        value: the size, in which that is the `Item`.
        optional: whether the field may not be there.
    """

    name: str
    length: str
    value: Value
    counted: bool
    optional: bool


@dataclass(frozen=True, slots=True)
class Process:
    """How stored bytes become others before they are checked: `xor`, `zlib`, or a registered name."""

    name: str
    arguments: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which bytes are stored for a value of a streamed schema, and what of them is the value's.

    Attributes:
        contents: the bytes that always stand there, which are the value.
        size: how many; without it all that are left where `rest`, or else those up to the terminator.
        early: whether the size is computed before bits that are left of a byte are dropped.
        terminator: what ends the value, at a whole number of its own size; `include` says that it is of the
            value, `consume` that it is read, `needed` that it must be there.
        pad: what fills the value up to its size.
        process: what becomes of the bytes then.
        solved: the fields from which `size` is computed, each with what it has to be for another size.
    """

    contents: bytes | None = None
    size: Value | None = None
    rest: bool = False
    early: bool = False
    terminator: bytes | None = None
    include: bool = False
    consume: bool = True
    needed: bool = True
    pad: int | None = None
    process: Process | None = None
    solved: tuple[Solution, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether the stored bytes are just those of the value."""
        return self.pad is None and self.terminator is None and self.process is None


@dataclass(frozen=True, slots=True)
class Bits:
    """A number of this many bits, which begins where the one before ended, within a byte.

    `be` has the most significant bit of a byte first, `le` the least significant.
    """

    width: int
    order: str


@dataclass(frozen=True, slots=True)
class Octets:
    """Bytes; None is up to the end. In streamed schemas `bounds` says it."""

    size: Size | None
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True)
class Chars:
    """Text of this many bytes; None is up to the end. `encoding` is a name of `wire.ENCODINGS`."""

    size: Size | None
    encoding: str
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True)
class Nested:
    """What the reader of another unit gives; it must fill `size`, or with `fills` all up to the end.

    In streamed schemas `bounds` reports about what bytes; it need not fill these. Without, it ends by itself.

    Attributes:
        parent: what the object has as its parent; None is nothing.
        rooted: whether it has the same root; else it is its own.
        told: for each argument the fields that it is computed from.
    """

    unit: str
    arguments: tuple[Value, ...]
    size: Size | None = None
    fills: bool = False
    bounds: Bounds | None = None
    parent: Value | None = None
    rooted: bool = False
    told: tuple[tuple[Solution, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a switch; `value` is None if it is all other values."""

    value: Value | None
    type: Type
    element: Element


@dataclass(frozen=True, slots=True)
class Choice:
    """The element of the case that equals `on`, which is computed before any byte of it is read.

    Where none does: `other`; without it the bytes, where there is a size or it `fills`; else nothing, where
    `may_lack`, or an error. Where `on` is `peeked`, a writer goes by the type of the value.

    In streamed schemas `bounds` are those of all cases, whose own then are all that is left of these, and
    `solved` are the fields that could be changed so that `on` is the value of a case.
    """

    on: Value
    cases: tuple[Case, ...]
    other: Case | None
    size: Size | None
    fills: bool
    may_lack: bool
    peeked: bool
    bounds: Bounds | None = None
    solved: tuple[Solution, ...] = ()

    @property
    def only(self) -> list[tuple[str, Value]]:
        """The units that one case alone reads, with its value."""
        every = [(each.value, each.element) for each in self.cases]
        every += [] if self.other is None else [(None, self.other.element)]
        found = [(part.unit, value) for value, part in every if isinstance(part, Nested)]
        names = [name for name, _ in found]
        return [
            (name, value) for name, value in found if isinstance(value, Constant) and names.count(name) == 1
        ]

    @property
    def branches(self) -> list[tuple[tuple[Value, ...], Case]]:
        """The values of each test in order, and a case of theirs: the first that holds is taken.

        Cases that read the same are joined only where this cannot change which is the first: no two of the
        switch are equal whatever the fields hold.
        """
        values = [each.value for each in self.cases if each.value is not None]
        apart = all(isinstance(each, Constant) for each in values)
        joined: dict[object, tuple[tuple[Value, ...], Case]] = {}
        for index, case in enumerate(self.cases):
            assert case.value is not None
            key = (case.type, case.element) if apart else index
            before, first = joined.get(key, ((), case))
            joined[key] = (*before, case.value), first
        return list(joined.values())


def reachable(cases: Iterable[Case]) -> tuple[Case, ...]:
    """The cases without those that are never the first that is equal: a constant again, as 1 and 0x1."""
    found: dict[object, Case] = {}
    for case in cases:
        known = ("constant", case.value.value) if isinstance(case.value, Constant) else len(found)
        found.setdefault(known, case)
    return tuple(found.values())


def lacks_case(steps: Iterable[Step]) -> bool:
    """Whether steps may read nothing where their condition holds: a switch without a case for all values."""
    return any(
        isinstance(each, One) and isinstance(each.element, Choice) and each.element.may_lack for each in steps
    )


Element = FixedNumber | Varint | Bits | Octets | Chars | Nested | Choice


@dataclass(frozen=True, slots=True)
class One:
    """One value into a field."""

    name: str
    type: Type
    element: Element
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Many:
    """Several values into a field: `count` of them, until `until` holds of the last one, or to the end.

    `least` is the fewest bytes of an element, which bounds the count by the bytes that are there.
    """

    name: str
    type: Type
    element: Element
    least: int
    count: Size | None = None
    until: Value | None = None
    rules: tuple[Rule, ...] = ()

    @property
    def to_end(self) -> bool:
        """Whether it ends where its stream does."""
        at_end = isinstance(self.until, StreamAsked) and self.until.name == "eof"
        return self.count is None and (self.until is None or at_end)


@dataclass(frozen=True, slots=True)
class TagPlan:
    """A known field of a tagged section; in other versions its bytes are kept as those of unknown ones."""

    number: int
    name: str
    type: Type
    default: Constant | None
    versions: VersionRange | None
    element: Element
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Tagged:
    """A tagged section: the known fields, and (number, bytes) of all others into `name`."""

    name: str
    tags: tuple[TagPlan, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes that may be compressed, as they are stored; `Unit.packed` shows what becomes of them."""

    name: str
    size: Size | None


@dataclass(frozen=True, slots=True)
class When:
    """Steps that are taken where `test` holds. Fields that they would set keep what is there without them.

    `solved` are flags from which `test` is computed.
    """

    test: Value
    steps: tuple[Step, ...]
    solved: tuple[Solution, ...] = ()


@dataclass(frozen=True, slots=True)
class SetNull:
    """A field is null unless a step behind sets it. Versions that lack it leave its default.

    A writer does nothing.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Require:
    """A rule of a field that is checked after it, whether it was read or not."""

    name: str
    rule: Rule


@dataclass(frozen=True, slots=True)
class Mark:
    """Remember the position, `offset` bytes further on, as the start of a field, or its end."""

    name: str
    offset: int = 0
    end: bool = False


@dataclass(frozen=True, slots=True)
class CheckLength:
    """A field is the number of bytes from the start of `first` to here, or the end of `last`, plus `plus`."""

    name: str
    first: str
    last: str | None
    plus: Value | None


@dataclass(frozen=True, slots=True)
class Checksum:
    """A field is the checksum of the bytes from the start of `first` to here, or to the end of `last`."""

    name: str
    function: str
    first: str
    last: str | None


@dataclass(frozen=True, slots=True)
class CheckCount:
    """A field is the number of elements of `of`, and `plus`, where `when` holds."""

    name: str
    of: str
    plus: Value | None
    when: Value | None
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class CheckLast:
    """A field is the `member` of the last element of `of`, plus `plus`; checked where `when` holds."""

    name: str
    of: str
    member: tuple[str, ...]
    plus: Value | None
    when: Value | None
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class CheckMost:
    """As `CheckLast`, but the largest of all elements."""

    name: str
    of: str
    member: tuple[str, ...]
    plus: Value | None
    when: Value | None
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Align:
    """Go on with a whole byte: bits that are left of one are dropped, or written as zeros."""


@dataclass(frozen=True, slots=True)
class ByteOrder:
    """The byte order of what follows, by the case that equals `on`: whether it is little-endian.

    `other` is that of all other values; None is an error where a number asks for it.
    """

    on: Value
    cases: tuple[tuple[Value, bool], ...]
    other: bool | None


Check = CheckLength | Checksum | CheckCount | CheckLast | CheckMost
Step = Fixed | One | Many | Tagged | Stored | When | SetNull | Require | Mark | Align | ByteOrder | Check


@dataclass(frozen=True, slots=True)
class Derived:
    """How a writer computes a field that follows from another one, `of`.

    What is given in its place is compared with it, as a reader does: last and most, of a list with elements.

    Attributes:
        kind: length (in bytes), count, presence (1, or `null`), last or most (of `member`).
        null: what says that `of` is null; None if it cannot be.
        plus: what is added.
        when: where it is computed; elsewhere it has to be given.
        given: whether objects have the field, so that it is computed only where that is null.
        at_least: whether what is given may be larger.
    """

    name: str
    kind: str
    of: str
    null: int | None
    plus: Value | None
    member: tuple[str, ...]
    when: Value | None
    given: bool
    at_least: bool = False

    @property
    def differs(self) -> str:
        """The reason of an error about a given value of last or most."""
        return f"differs from {'last' if self.kind == 'last' else 'max'}({self.of}.{self.member[-1]})"


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a unit is given by the one that holds it; objects have it as an attribute if it is `kept`."""

    name: str
    type: Type
    kept: bool = False


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """A field of a unit.

    Attributes:
        absent: what it is where it is not read: a constant, or None for an empty list or a new object.
        default: what it is in a new object, likewise.
        kept: whether objects have it; a length or fixed bytes follow from the others.
        droppable: whether a version without the field may lose its value.
    """

    name: str
    type: Type
    absent: Constant | None
    default: Constant | None
    kept: bool
    droppable: bool = False


@dataclass(frozen=True, slots=True)
class VersionAt:
    """Where the version stands that a unit says itself, in bytes from its start."""

    name: str
    offset: int
    wire: str
    order: str


@dataclass(frozen=True, slots=True)
class Packed:
    """How the content of a field that may be compressed is found.

    Attributes:
        by: the number of the codec, and how errors name it.
        place: where that stands, in bytes from the start of the unit, as conditions of fields before it say.
        codecs: the name of each codec by its number; `none` is not compressed.
        unit: what is in it.
        parsed: whether it is that also where it is not compressed; else the bytes stay what they are.
        replaced: codec names that are exchanged where `when` holds.
        checks: what is checked when it is there.
    """

    name: str
    by: Value
    by_path: str
    place: Value
    codecs: tuple[tuple[int, str], ...]
    unit: str
    parsed: bool
    replaced: tuple[tuple[str, str], ...]
    when: Value | None
    checks: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class InstancePlan:
    """What is computed or read when it is first asked for, and then kept.

    Attributes:
        test: it is null unless this holds.
        value: what is computed; else it is read.
        step: how it is read.
        position: where, in bytes from the start of the stream; None is where the stream stands.
        stream: which one, if not that of the object.
        solved: the fields from which `value`, or else `position`, is computed.
        align: a position that a writer chooses is a multiple of it; 0 is any.
        fill: the byte in front of it, then.
    """

    name: str
    type: Type
    test: Value | None
    value: Value | None = None
    step: One | Many | None = None
    position: Value | None = None
    stream: Value | None = None
    solved: tuple[Solution, ...] = ()
    align: int = 0
    fill: int = 0


@dataclass(frozen=True, slots=True)
class Calculated:
    """A field that is computed once all bytes are there (`-derive`), and compared when they were read.

    Attributes:
        value: what it is.
        when: where it is so; elsewhere it is what was given.
        checksum: whether it is one, which readers may be told not to compare.
        verify: `equal`, `at_least`, or `no` where readers do not compare it.
        into: the instance of the field's object that is that value; empty where it is the field itself.
    """

    name: str
    value: Value
    when: Value | None
    checksum: bool
    verify: str = "equal"
    into: str = ""


@dataclass(frozen=True, slots=True)
class Streamed:
    """What a unit of a streamed schema has besides: its objects know their stream, their parent and root.

    Attributes:
        part: whether it asks for objects around it, so that it is read and written only within its root.
        loose: whether types of the model may end within a byte, so that what is read in bytes drops the
            bits that are left of one first.
        each: the lists, and the fields with such lists inside, whose elements can be given one by one.
        calculated: the fields that follow from bytes.
        marked: the fields and instances whose bytes are asked for.
        tail_moves: whether undescribed bytes after it stay after it when it grows.
    """

    instances: tuple[InstancePlan, ...]
    part: bool
    loose: bool
    each: tuple[str, ...] = ()
    calculated: tuple[Calculated, ...] = ()
    marked: tuple[str, ...] = ()
    tail_moves: bool = False


@dataclass(frozen=True, slots=True)
class Unit:
    """A type of a schema: what it is given, what it has, and how it is read.

    Attributes:
        name: the full name, `schema::type`.
        stands_for: the field whose value the unit gives, where it gives no object.
        versions: those that it knows; others are an error before anything else is read.
        keeps_peeks: whether objects have the peeked numbers, with which they were read.
        version: where it stands; None if it is a parameter, or there are none.
        least: the fewest bytes.
        derived: what a writer computes before it writes, in this order.
        peeked: values that follow from `peeks` alone, by their names.
        computed: values that follow from what objects have, by their names: value instances.
        late_sizes: what a writer compares when the lengths of ranges are there.
        fixed: fields that are the same bytes in every object.
        follows: fields that a writer computes of sizes and counts where they do not fit these, or are null.
        roles: what fields mean to programs: (role, path of the field).
        form: the field that decides which others there are, and `forms` its values; empty: there is none.
        streamed: what it is besides where its schema is streamed.
    """

    name: str
    parameters: tuple[Parameter, ...]
    fields: tuple[FieldPlan, ...]
    steps: tuple[Step, ...]
    least: int
    stands_for: str | None = None
    versions: VersionRange | None = None
    version: VersionAt | None = None
    version_name: str = ""
    peeks: tuple[Peeked, ...] = ()
    keeps_peeks: bool = False
    packed: Packed | None = None
    derived: tuple[Derived, ...] = ()
    peeked: tuple[tuple[str, Value], ...] = ()
    computed: tuple[tuple[str, Value], ...] = ()
    fixed: tuple[tuple[str, bytes], ...] = ()
    late_sizes: tuple[LateSize, ...] = ()
    follows: tuple[str, ...] = ()
    streamed: Streamed | None = None
    roles: tuple[tuple[str, str], ...] = ()
    form: str = ""
    forms: tuple[int, ...] = ()

    def field(self, name: str) -> FieldPlan:
        return next(each for each in self.fields if each.name == name)

    def late_size(self, name: str) -> LateSize | None:
        """What a writer compares of a field when the length of a range is there."""
        return next((each for each in self.late_sizes if each.name == name), None)

    def late_sizes_of(self, length: str) -> list[LateSize]:
        """What a writer compares when this length is there."""
        return [each for each in self.late_sizes if each.length == length]

    def derivation(self, name: str) -> Derived | None:
        """How a writer computes a field; None if it is given."""
        return next((each for each in self.derived if each.name == name), None)

    def step_of(self, name: str) -> One | Many:
        """The step of a field that has one of its own."""
        return next(
            each for each in steps_in(self.steps) if isinstance(each, (One, Many)) and each.name == name
        )

    def wire_of(self, name: str) -> tuple[str, str]:
        """(wire type, order) of a number of fixed width."""
        slots = (slot for step in steps_in(self.steps) if isinstance(step, Fixed) for slot in step.slots)
        found = next(slot for slot in slots if slot.path == (name,))
        assert found.wire is not None
        return found.wire, found.order

    @property
    def ranges(self) -> list[CheckLength | Checksum]:
        """Lengths, then checksums, the innermost first: each covers bytes that a writer has set by then."""
        order = list(fields_in(self.steps))
        found = [each for each in steps_in(self.steps) if isinstance(each, (CheckLength, Checksum))]

        def layers(check: CheckLength | Checksum) -> int:
            if not isinstance(check, Checksum):
                return 0
            end = None if check.last is None else order.index(check.last) + 1
            covered = order[order.index(check.first) : end]
            return 1 + max((layers(each) for each in found if each.name in covered), default=0)

        return sorted(sorted(found, key=lambda each: order.index(each.name)), key=layers)

    @property
    def marked(self) -> set[str]:
        """The fields whose places a length or a checksum needs."""
        return {name for each in self.ranges for name in (each.first, each.name)}

    @property
    def holds(self) -> list[str]:
        """The units that it is made of, in the order in which it needs them."""
        found: list[str] = []
        for step in steps_in(self.steps):
            match step:
                case Fixed(objects=objects):
                    found += [unit for _, unit in objects]
                case One(element=element) | Many(element=element):
                    found += _held(element)
                case Tagged(tags=tags):
                    found += [unit for tag in tags for unit in _held(tag.element)]
                case Stored() if self.packed is not None:
                    found.append(self.packed.unit)
        return list(dict.fromkeys(found))

    def unwritten(self, step: When) -> list[FieldPlan]:
        """The fields that are lost where a condition fails, so that a writer requires them to hold nothing.

        Those that follow from others, and those that may be lost, are not among them.
        """
        if self.stands_for is not None:
            return []
        derived = {each.name for each in (*self.derived, *self.ranges)}
        found = [self.field(name) for name in dict.fromkeys(fields_in((step,)))]
        return [each for each in found if each.kept and not each.droppable and each.name not in derived]

    def is_of_version(self, test: Value) -> bool:
        """Whether a condition is on the version and what else the unit is given alone."""
        told = {self.version_name, *(each.name for each in self.parameters)}
        return all(each.name in told for each in values_in(test) if isinstance(each, (FieldOf, Peeked)))

    @property
    def told(self) -> list[str]:
        """What objects have besides fields: the parameters and peeked numbers with which they were read."""
        found = [each.name for each in self.parameters if each.kept]
        return found + [each.name for each in self.kept_peeks]

    @property
    def kept_peeks(self) -> list[Peeked]:
        """The peeked numbers that objects have."""
        return list(self.peeks) if self.keeps_peeks else []

    @property
    def version_is_passed(self) -> bool:
        """Whether the version comes from outside."""
        return self.versions is not None and self.version is None


@dataclass(frozen=True, slots=True)
class Program:
    """All units, by name; those that others hold come first if that is possible."""

    units: dict[str, Unit] = field(default_factory=dict)

    def units_of(self, schema: Schema) -> list[Unit]:
        """The units of a schema, in its order."""
        return [self.units[each.name] for each in schema.structs if each.name in self.units]


def _held(element: Element | None) -> list[str]:
    match element:
        case Nested(unit):
            return [unit]
        case Choice(cases=cases, other=other):
            return [unit for case in (*cases, other) if case is not None for unit in _held(case.element)]
    return []


def steps_in(steps: Iterable[Step]) -> Iterable[Step]:
    """All steps, with those that are taken under a condition."""
    for step in steps:
        yield step
        if isinstance(step, When):
            yield from steps_in(step.steps)


def fields_in(steps: Iterable[Step]) -> Iterator[str]:
    """The fields whose values stand in the bytes of steps."""
    for each in steps_in(steps):
        match each:
            case Fixed(slots):
                yield from (slot.path[0] for slot in slots)
            case Tagged(name, tags):
                yield from (tag.name for tag in tags)
                yield name
            case One(name) | Many(name) | Stored(name):
                yield name


def values_of(part: object, *, solved: bool = False) -> Iterator[Any]:
    """All that steps, elements and rules are made of, values too; `solved`: with what a writer solves."""
    todo = [part]
    while todo:
        at = todo.pop()
        if isinstance(at, (tuple, list)):
            todo += at
        elif isinstance(at, Solution) and not solved:
            continue
        elif (names := fields_of(type(at))) is not None:
            yield at
            todo += [getattr(at, name) for name in names]
