"""The pass from code to typed code for units of layouts: their values, and how they are read.

It goes through the statements of `lower_read.py`. Fields that no object has become locals; what is not used
is dropped by `passes.py`. Numbers are computed in 64 bits, in which all of a layout's expressions fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from kodec.generator.code import ir
from kodec.generator.code.ir import Local, Op
from kodec.generator.code.lower_read import reader_of
from kodec.generator.code.passes import tidy
from kodec.generator.code.typed import (
    FUNCTIONS,
    LONG,
    PLACE,
    SAFE,
    ULONG,
    Code,
    Do,
    Elements,
    If,
    Let,
    Run,
    Set,
    Statement,
    Style,
    Switch,
    Tags,
    Unpacked,
    Within,
    opposite,
    stored,
)
from kodec.generator.code.typed_values import TypedValues, call, constant
from kodec.generator.plan import values as plan
from kodec.generator.plan.steps import (
    CheckCount,
    CheckLast,
    CheckLength,
    CheckMost,
    Checksum,
    FieldPlan,
    Fixed,
    Many,
    One,
    Packed,
    Program,
    Unit,
    fields_in,
)
from kodec.generator.plan.values import (
    ANY,
    FLAG,
    IDENTITY,
    OCTETS,
    STREAM,
    TEXT,
    Binary,
    Constant,
    EnumOf,
    ListOf,
    Maybe,
    ObjectOf,
    OneOf,
    Real,
    Type,
    Value,
    Whole,
    bare,
    in_versions,
    is_number,
    scalar,
)
from kodec.generator.schema.versions import VersionRange
from kodec.generator.wire import WIRE

__all__ = ["NULL", "LayoutReading", "LayoutValues", "both", "field_type", "joined", "result_of", "wire_type"]

NULL = Code("const", (None,), Maybe(ANY))
_NUMBERED = (1, 2, 4, 8)


def wire_type(wire: str) -> Type:
    """What a wire type holds."""
    form = WIRE[wire]
    match form.kind:
        case "boolean":
            return FLAG
        case "UUID":
            return IDENTITY
        case "float":
            return Real(8 * form.least)
    assert form.range is not None
    return Whole(*form.range)


def held_type(kind: Type) -> Type:
    """The type in which a value is kept; one of several types may be null anyway."""
    if isinstance(bare(kind), OneOf):
        return bare(kind)
    return ListOf(held_type(kind.item)) if isinstance(kind, ListOf) else stored(kind)


def field_type(unit: Unit, name: str) -> Type:
    """The type of an object's field; a writer computes some where they are null."""
    kind = held_type(unit.field(name).type)
    derived = unit.derivation(name)
    return Maybe(bare(kind)) if derived is not None and derived.kind in ("last", "most") else kind


def result_of(unit: Unit) -> Type:
    """What a unit gives: an object, or the value of the field that it stands for."""
    return ObjectOf(unit.name) if unit.stands_for is None else field_type(unit, unit.stands_for)


def joined(op: str, *tests: Code) -> Code:
    """Tests of which all hold (`and`), or any (`or`)."""
    decided = constant(op == "or")
    parts = [each for each in dict.fromkeys(tests) if each != constant(op == "and")]
    if decided in parts or not parts:
        return decided if decided in parts else constant(op == "and")
    found, *rest = parts
    for each in rest:
        found = Code("op", (op, found, each), FLAG)
    return found


def both(*tests: Code) -> Code:
    return joined("and", *tests)


class LayoutValues(TypedValues):
    """The values of one unit of a layout.

    Attributes:
        writing: whether it is written: then what follows from other fields is a local.
        members: the fields of its object; none where it stands for the value of one.
        depth: how many blocks are around the statement that is made.
    """

    def __init__(self, program: Program, unit: Unit, style: Style, *, writing: bool) -> None:
        super().__init__(program, unit, {})
        self.style = style
        self.writing = writing
        self.built = style.built and not writing
        self.members = [each.name for each in unit.fields if each.kept and unit.stands_for is None]
        self.derived_names = {each.name for each in unit.derived} if writing else set()
        self.depth = 0
        self.made: list[Statement] = []
        self.declared: dict[str, Let] = {}
        self._let: set[str] = {f"field:{each.name}" for each in unit.parameters}

    def statement(self, statement: ir.Statement, rest: Sequence[ir.Statement]) -> None:
        raise NotImplementedError

    # -- blocks -----------------------------------------------------------------------------------

    def block(self, code: Sequence[ir.Statement]) -> tuple[Statement, ...]:
        around, self.made = self.made, []
        self.depth += 1
        for place, each in enumerate(code):
            self.statement(each, code[place + 1 :])
        found, self.made = tuple(self.made), around
        self.depth -= 1
        return found

    def function(
        self,
        code: Sequence[ir.Statement],
        before: Iterable[Statement] = (),
        after: tuple[Statement, ...] = (),
    ) -> tuple[Statement, ...]:
        """All statements of a function, with the locals that branches set."""
        body = *before, *self.block(code), *after
        return tidy((*self.declared.values(), *body))

    def always_read(self) -> set[str]:
        return set(fields_in(each for each in self.unit.steps if isinstance(each, (Fixed, Many, One))))

    def do(self, op: str, *args: object, kind: Type = ANY) -> None:
        self.made.append(Do(Code(op, args, kind)))

    def put(self, target: Code, value: Code) -> None:
        """A value into its place; a local is declared where it first takes one, or before all branches."""
        value = value if value.op == "read" else self.as_(value, target.type)
        if target.op == "var" and target.args[0] not in self._let and target.args[0] != "value":
            name = target.args[0]
            if self.depth == 1:
                self._let.add(name)
                self.made.append(Let(name, value))
                return
            self.declared.setdefault(name, Let(name, self.nothing(target.type)))
            self._let.add(name)
        self.made.append(Set(target, value))

    def nothing(self, kind: Type) -> Code:
        """What a local holds at first."""
        if isinstance(kind, ListOf) and self.built:
            return Code("list", (), kind)
        if isinstance(kind, ObjectOf):
            return Code("new", (kind.unit,), kind)
        if isinstance(kind, (Maybe, ListOf, OneOf)) or kind in (OCTETS, plan.SECTION):
            return Code("const", (None,), kind)
        if kind == IDENTITY:
            return Code("zero", (), kind)
        value: Any = False if kind == FLAG else "" if kind == TEXT else 0.0 if isinstance(kind, Real) else 0
        return Code("const", (value,), kind)

    def when(self, test: Code, then: tuple[Statement, ...], other: tuple[Statement, ...] = ()) -> None:
        if test.op == "const":
            self.made += then if test.args[0] else other
        elif then or other:
            self.made.append(If(test, then, other) if then else If(opposite(test), other))

    def cases(
        self, cases: Sequence[tuple[Value, tuple[ir.Statement, ...]]], other: tuple[ir.Statement, ...]
    ) -> None:
        """The first case that holds; one for each value of a number is a switch."""
        pairs = [_chosen(test) for test, _ in cases]
        if len({on for on, _ in pairs}) == 1 and pairs[0][0]:
            by = self.known[pairs[0][0]]
            values = [self.code(value) for _, value in pairs if value is not None]
            constants = all(each.op == "const" for each in values)
            if constants and is_number(by.type) and not isinstance(by.type, Maybe):
                number, blocks = self.long_of(by), [self.block(then) for _, then in cases]
                values = [self.as_(each, number.type) for each in values]
                self.made.append(Switch(number, tuple(zip(values, blocks, strict=True)), self.block(other)))
                return
        self._chain(list(cases), other)

    def _chain(
        self, cases: list[tuple[Value, tuple[ir.Statement, ...]]], other: tuple[ir.Statement, ...]
    ) -> None:
        if not cases:
            self.made += self.block(other)
            return
        (test, then), *rest = cases
        around, self.made = self.made, []
        self._chain(rest, other)
        otherwise, self.made = tuple(self.made), around
        self.when(self.flag(test), self.block(then), otherwise)

    # -- places -----------------------------------------------------------------------------------

    def member(self, owner: Code, unit: Unit, name: str) -> Code:
        if owner is not self.this:
            return Code("field", (owner, unit.name, name), field_type(unit, name))
        given = next((each for each in unit.parameters if each.name == name), None)
        if given is not None:
            return Code("var", (f"field:{name}",), stored(given.type))
        if name == unit.stands_for and not self.built:
            return Code("var", ("value",), field_type(unit, name))
        if name in self.members and name not in self.derived_names and not self.built:
            return Code("field", (owner, unit.name, name), field_type(unit, name))
        kind = held_type(unit.field(name).type)
        if name in self.derived_names or (is_number(kind) and not (self.built and self.gives(name))):
            kind = self.whole(kind)
        return Code("var", (f"field:{name}",), kind)

    def gives(self, name: str) -> bool:
        """Whether a field is a part of what the unit gives."""
        return name in self.members or name == self.unit.stands_for

    # -- numbers ----------------------------------------------------------------------------------

    def whole(self, *kinds: Type) -> Whole:
        """The type in which numbers of these are computed together."""
        numbers = (each for each in map(scalar, kinds) if isinstance(each, Whole))
        if not self.style.narrow or any(each.low < SAFE.low or each.high > SAFE.high for each in numbers):
            return LONG
        return SAFE

    def long_of(self, code: Code) -> Code:
        return self.as_(self._there(code), self.whole(_range_of(code)))

    def of_bits(self, size: int) -> Whole:
        """The type of a number of this size in bytes, of which bits are taken."""
        return SAFE if self.style.narrow and size in _NUMBERED[:3] else ULONG

    def together(self, *codes: Code, kinds: tuple[Type, ...] = ()) -> list[Code]:
        """Numbers in the one type in which they are computed together."""
        kind = self.whole(*map(_range_of, codes), *kinds)
        return [self.as_(self._there(each), kind) for each in codes]

    def size(self, value: Value) -> Code:
        """A size or a count."""
        return self.as_(self._there(self.code(value)), self.whole())

    def size_of(self, code: Code) -> Code:
        """How many elements or bytes a value has."""
        return call("size_of", self.whole(), self._there(code))

    def added(self, number: Code, plus: Value | None) -> Code:
        """A number, and what is added to it."""
        if plus is None:
            return number
        one, other = self.together(number, self.code(plus))
        return _simple("+", one, other)

    def place(self, name: str) -> Code:
        return self.member(self.this, self.unit, name)

    def place_of(self, path: Sequence[str]) -> Code:
        """A field, or one of an object in it, which may be a local before that is made."""
        if self.built and len(path) > 1:
            unit = self.unit
            for name in path[:-1]:
                inner = bare(unit.field(name).type)
                assert isinstance(inner, ObjectOf)
                unit = self.units[inner.unit]
            return Code("var", (f"field:{'.'.join(path)}",), field_type(unit, path[-1]))
        found = self.place(path[0])
        for name in path[1:]:
            held = bare(found.type)
            assert isinstance(held, ObjectOf)
            found = self.member(found, self.units[held.unit], name)
        return found

    def position(self, plus: int = 0) -> Code:
        at = Code("pos", (self.io,), PLACE)
        if not plus:
            return at
        return Code("op", ("+" if plus > 0 else "-", at, Code("const", (abs(plus),), PLACE)), PLACE)

    def mark(self, end: bool, name: str) -> Code:
        return Code("var", (f"{'end' if end else 'start'}_of:{name}",), PLACE)

    def distance(self, first: str, last: Code, plus: Value | None) -> Code:
        """How many bytes there are from where a field starts."""
        size = Code("op", ("-", last, self.mark(False, first)), PLACE)
        return self.added(Code("convert", (size,), self.whole()), plus)

    def outside(self, place: Code) -> Code:
        """The test that a version is none of those that the unit has."""
        versions = self.unit.versions
        assert versions is not None
        number = Code("number", place.args, scalar(place.type)) if isinstance(place.type, EnumOf) else place
        kind = number.type
        assert isinstance(kind, Whole)
        low, high = (Code("const", (each,), kind) for each in (versions.first, versions.last))
        # a comparison that no number of the type can fail is one that compilers warn of
        tests = [Code("op", ("<", place, low), FLAG)] if versions.first > kind.low else []
        tests += [Code("op", (">", place, high), FLAG)] if versions.last < kind.high else []
        return joined("or", *tests)

    def in_versions(self, versions: VersionRange) -> Code:
        """The test that the version is one of these."""
        name = self.unit.version_name
        parts: tuple[Any, ...] = (*self.unit.parameters, *self.unit.fields)
        kind = next(each.type for each in parts if each.name == name)
        return self.flag(in_versions(plan.FieldOf(name, scalar(kind)), versions))

    # -- values -----------------------------------------------------------------------------------

    def _there(self, code: Code) -> Code:
        if not isinstance(code.type, Maybe):
            return code
        name = code.args[-1] if code.op == "field" else code.args[0] if code.op == "var" else ""
        return Code("held", (code, name.removeprefix("field:")), code.type.of)

    def as_(self, code: Code, kind: Type) -> Code:
        have = code.type
        if have == PLACE or (isinstance(kind, OneOf) and code.op != "const"):
            return code if isinstance(have, (OneOf, Maybe)) or kind == PLACE else self._among(code, kind)
        if isinstance(kind, Maybe) and not isinstance(have, Maybe) and have == kind.of:
            return Code("convert", (code,), kind)
        return super().as_(code, kind)

    def _among(self, code: Code, kind: Type) -> Code:
        """A value as one of several types: a number that is none of them is one of an enum."""
        if isinstance(kind, OneOf) and code.type not in kind.types:
            for each in kind.types:
                if isinstance(each, EnumOf) and is_number(code.type):
                    return Code("convert", (code,), each)
        return code if isinstance(kind, OneOf) else Code("convert", (code,), kind)

    def code(self, value: Value | Local) -> Code:
        match value:
            case plan.Peeked(name):
                return Code("var", (f"field:{name}",), self.whole(value.type))
            case plan.SizeOf(of):
                text = self._there(self.code(of))
                return call("characters", self.whole(), text) if text.type == TEXT else self.size_of(text)
            case plan.IsNull(plan.FieldOf(name)) if self.writing and self._follows(name):
                return constant(True)
            case plan.IsNull(of):
                return negated(self.there_is(self.code(of)))
            case plan.Unary("not", of):
                return negated(self.flag(of))
            case plan.Binary(op, left, right) if op in ("and", "or"):
                return joined(op, self.flag(left), self.flag(right))
            case plan.Choose(test, yes, no, kind) if is_number(kind):
                one, other = self.together(self.code(yes), self.code(no), kinds=(kind,))
                return Code("choose", (self.flag(test), one, other), one.type)
        return super().code(value)

    def _follows(self, name: str) -> bool:
        """Whether a writer computes a field whatever it holds."""
        derived = self.unit.derivation(name)
        if derived is not None:
            return derived.kind not in ("last", "most")
        return any(each.name == name for each in self.unit.ranges)

    def there_is(self, code: Code) -> Code:
        """The test that a value is not null."""
        if code.op == "const":
            return constant(code.args[0] is not None)
        return Code("is", (code,), FLAG) if isinstance(code.type, (Maybe, OneOf)) else constant(True)

    def _unary(self, op: str, of: Code) -> Code:
        number = of if isinstance(of.type, Real) else self.long_of(of)
        return Code("sign", (op, number), number.type)

    def _compared(self, op: str, left: Code, right: Code) -> Code:
        for one, other in ((left, right), (right, left)):
            number = one.args[0] if one.op == "const" and is_number(one.type) else None
            kind = other.type
            if isinstance(number, int) and isinstance(kind, Whole) and kind.low <= number <= kind.high:
                narrow = Code("const", (number,), kind)
                return Code("op", (op, *((narrow, other) if one is left else (other, narrow))), FLAG)
        if left.type == right.type:
            return Code("op", (op, left, right), FLAG)
        if is_number(left.type) and is_number(right.type):
            return Code("op", (op, *self.together(left, right)), FLAG)
        return super()._compared(op, left, right)

    def _operation(self, value: plan.Binary) -> Code:
        left, right = (self._there(self.code(each)) for each in (value.left, value.right))
        if isinstance(left.type, Real) or isinstance(right.type, Real) or left.type == TEXT:
            return Code("op", (value.op, left, right), left.type)
        kinds: tuple[Type, ...] = (value.type,)
        if value.op in _BITWISE and not all(map(_in_32_bits, (left.type, right.type, value.type))):
            kinds = (LONG,)
        one, other = self.together(left, right, kinds=kinds)
        if value.op in ("/", "%"):
            return call("floor_div" if value.op == "/" else "floor_mod", one.type, one, other)
        return _simple(value.op, one, other)

    # -- objects ----------------------------------------------------------------------------------

    def passed(self, unit: str, arguments: Iterable[Value | Local]) -> tuple[Code, ...]:
        """The arguments of a unit's function."""
        pairs = zip(arguments, self.units[unit].parameters, strict=True)
        return tuple(self.as_(self.code(value), stored(each.type)) for value, each in pairs)

    def initial(self, *, absent: bool) -> tuple[Set, ...]:
        """What fields hold in a new object, or before one is read."""
        read, sets = self.always_read(), []
        for each in self.unit.fields:
            kept = each.name in self.members or each.name == self.unit.stands_for
            value = self.default(each, each.absent if absent else each.default)
            if kept and value is not None and not (absent and each.name in read):
                target = self.place(each.name)
                sets.append(Set(target, self.as_(value, target.type)))
        return tuple(sets)

    def default(self, field: FieldPlan, value: Constant | None) -> Code | None:
        """A field's default; none if it is what a language has there anyway."""
        kind, inner = field_type(self.unit, field.name), bare(field.type)
        if value is None and isinstance(inner, ObjectOf):
            named = self.units[inner.unit].stands_for is not None
            return None if named else Code("new", (inner.unit,), inner)
        if value is None and isinstance(kind, Maybe) and inner in _EMPTY:
            return Code("const", (_EMPTY[inner],), inner)
        if value is None:
            return Code("list", (), inner) if isinstance(kind, Maybe) and isinstance(inner, ListOf) else None
        if value.value is None or (not value.value and not isinstance(kind, Maybe)):
            return None
        return Code("const", (value.value,), inner)


# what a field holds that may be null and has no default
_EMPTY: dict[Type, str | bytes] = {TEXT: "", OCTETS: b""}


def _chosen(test: Value) -> tuple[str, Value | None]:
    """The local with which a test compares another value, and that."""
    match test:
        case Binary("==", Local(name), value) | Binary("==", value, Local(name)):
            return name, value
    return "", None


def has_elements(of: Code) -> Code:
    """The test that a list, or bytes, are not empty."""
    return Code("op", ("!=", call("size_of", PLACE, of), Code("const", (0,), PLACE)), FLAG)


def negated(test: Code) -> Code:
    """The test that another one does not hold, which may be decided already."""
    return constant(not test.args[0]) if test.op == "const" else opposite(test)


def _simple(op: str, left: Code, right: Code) -> Code:
    """A sum without a sign before its right side."""
    if op in ("+", "-") and right.op == "const" and right.args[0] < 0:
        op, right = "-" if op == "+" else "+", Code("const", (-right.args[0],), right.type)
    return Code("op", (op, left, right), left.type)


_BITWISE = ("&", "|", "^", "<<", ">>")


def _in_32_bits(kind: Type) -> bool:
    found = scalar(kind)
    return isinstance(found, Whole) and found.low >= -(1 << 31) and found.high < 1 << 31


def _range_of(code: Code) -> Type:
    """The numbers that an operation may give."""
    if code.op == "const" and isinstance(code.args[0], int):
        return Whole(code.args[0], code.args[0])
    return code.type


class LayoutReading(LayoutValues):
    """How a unit is read."""

    def __init__(self, program: Program, unit: Unit, style: Style) -> None:
        super().__init__(program, unit, style, writing=False)
        self.io = self.own = Code("var", ("r",), STREAM)
        # the runs, how large they are, and the check of the version behind the one that has it
        self._sizes: dict[str, int] = {}
        self._element: Code | None = None
        self._preset = {each.target for each in self.initial(absent=True)}
        self._ends: list[Code] = []
        self._entered = 0

    def body(self) -> tuple[Statement, ...]:
        before: list[Statement] = [*self._unread()] if self.built else []
        if self.unit.packed is not None:
            before.append(Let("start", self.position()))
        code = reader_of(self.unit, self.units).read
        return self.function(code, before, self._result() if self.built else ())

    def _unread(self) -> Iterator[Statement]:
        """Locals of the fields that are not always read."""
        absent = {each.target: each.value for each in self.initial(absent=True)}
        for each in self.unit.fields:
            place = self.place(each.name)
            if self.gives(each.name) and each.name not in self.always_read():
                self._let.add(place.args[0])
                yield Let(place.args[0], absent.get(place) or self.nothing(place.type))

    def _result(self) -> tuple[Statement, ...]:
        unit = self.unit
        if unit.stands_for is not None:
            found = self.place(unit.stands_for)
        else:
            members = tuple((name, self.place(name)) for name in self.members)
            found = Code("make", (unit.name, members), ObjectOf(unit.name))
        return (Do(Code("return", (found,), ANY)),)

    def on(self, name: str, kind: Type, *args: object) -> Code:
        """A function of the reader, which every runtime has."""
        if name not in FUNCTIONS:
            raise KeyError(name)
        return Code("on", (name, self.io, *args), kind)

    def act(self, name: str, *args: object) -> None:
        self.made.append(Do(self.on(name, ANY, *args)))

    # -- statements -------------------------------------------------------------------------------

    def statement(self, statement: ir.Statement, rest: Sequence[ir.Statement]) -> None:
        match statement:
            case ir.Let("item", value):
                self._let_item(value)
            case ir.Let(name, Op("run", (size, fields))):
                self._run(name, size, fields)
            case ir.Let(name, Op("pos", (plus,))):
                self.known[name] = Code("var", (name,), PLACE)
                self.made.append(Let(name, self.position(plus)))
            case ir.Let(name, Op() as op, part):
                self._member(name, op, part)
            case ir.Let(name, value) if not isinstance(value, Op):
                self.known[name] = self.code(value)
            case ir.Set(name, Op("new", (members,))):
                self._made([name], members)
            case ir.Set(name, Op("unpack", (packed, by, place, when))):
                self._unpack(packed, by, place, when)
            case ir.Set(name, value):
                self._set(name, value)
            case ir.Do(op):
                self._do(op)
            case ir.If(cases, other):
                self.cases(cases, other)
            case ir.Within(name, body):
                # what is thrown needs no block
                self.depth -= self.built
                self.made.append(Within(name, self.block(body)))
                self.depth += self.built
            case ir.Each():
                self._each(statement)
            case ir.EachTag(section, tags):
                known = ((tag.number, self._versions(tag.versions), self.block(body)) for tag, body in tags)
                self.made.append(Tags(self.place(section.name), section.name, tuple(known)))

    def _versions(self, versions: VersionRange | None) -> Code | None:
        test = constant(True) if versions is None else self.in_versions(versions)
        return None if test == constant(True) else test

    def _let_item(self, value: Any) -> None:
        if not isinstance(value, Op):
            code = self.code(value)
            if self._element is not None and code.op == "const":
                self.put(self._element, code)
            else:
                self.item = self.known["item"] = code
        elif self._element is not None:
            self.put(self._element, self.result(value))
        else:
            self.known["item"] = self.result(value)

    def _set(self, name: str, value: Any) -> None:
        target = self.place(name)
        packed = self.unit.packed
        if packed is not None and packed.name == name:
            target = Code("var", ("stored",), Maybe(OCTETS))
        code = self.result(value) if isinstance(value, Op) else self.code(value)
        if code.op == "read" and target in self._preset:
            code = replace(code, args=(*code.args[:-1], True))
        self.put(target, code)
        if value == Local("item", getattr(value, "type", ANY)):
            self.item = self.known["item"] = target
        version = self.unit.version
        if version is not None and version.name == name and isinstance(value, Op) and value.name == "load":
            run, _, _, offset = value.args
            self._unknown_version(target, self.position(offset - self._sizes[run.name]))

    def _run(self, name: str, size: int, fields: tuple[tuple[str, int, int], ...]) -> None:
        self.known[name] = Code("var", (name,), OCTETS)
        self._sizes[name] = size
        places = {offset: (shown, width) for shown, offset, width in reversed(fields)}
        if len(fields) == 1:
            ((shown, width),) = places.values()
            self.made.append(Let(name, self.on("take", OCTETS, shown, width)))
        else:
            self.made.append(Run(name, size, tuple(each for _, each in sorted(places.items()))))

    def _member(self, name: str, op: Op, part: ir.Part | None) -> None:
        """A value in an object of a run."""
        path = name.split(".")
        if op.name == "new":
            self.known[name] = self.place_of(path)
            self._made(path, op.args[0])
            return
        assert part is not None
        owner = self.units[part.unit]
        if owner.field(path[-1]).kept:
            self.known[name] = self.place_of(path)
            self.put(self.known[name], self.result(op))
        else:
            value = self.result(op)
            self.known[name] = Code("var", (f"field:{'_'.join(path)}",), value.type)
            self.made.append(Let(self.known[name].args[0], value))

    def _made(self, path: Sequence[str], members: tuple[tuple[str, Local], ...]) -> None:
        """An object of a run of which the values are locals."""
        if self.built:
            place = self.place_of(path)
            parts = tuple((name, self.known[local.name]) for name, local in members)
            held = bare(place.type)
            assert isinstance(held, ObjectOf)
            self.put(place, Code("make", (held.unit, parts), held))

    def _each(self, each: ir.Each) -> None:
        target = self.place(each.field)
        declares = self.built and self.depth == 1 and target.args[0] not in self._let
        if declares:
            self._let.add(target.args[0])
        kind = bare(target.type)
        assert isinstance(kind, ListOf)
        count = None if each.count is None else self.size(each.count)
        around = self.item, self._element
        self.item = self._element = Code("element", (target,), kind.item)
        body = self.block(each.body)
        self.item = Code("element", (target,), kind.item)
        until = None if each.until is None else self.flag(each.until)
        self.item, self._element = around
        self.made.append(Elements(target, each.name, each.least, count, until, body, declares))

    def _do(self, op: Op) -> None:
        match op:
            case Op("contents", (run, offset, contents, name)):
                have = Code("slice", (self.known[run.name], offset, len(contents)), OCTETS)
                at = self.position(offset - self._sizes[run.name])
                self.act("contents", name, at, constant(contents), have)
            case Op("enter", (size, name)):
                # a block may have several
                self._entered += 1
                end = Code("var", (f"end{self._entered}",), PLACE)
                self._ends.append(end)
                self.made.append(Let(end.args[0], self.on("enter", PLACE, name, self.size(size))))
            case Op("leave", (name, _)):
                self.act("leave", name, self._ends.pop())
            case Op("ended", (name,)):
                self.act("ended", name)
            case Op("span", (name, end, plus)):
                self.made.append(Let(self.mark(end, name).args[0], self.position(plus)))
            case Op("peek", (peeks, size, names)):
                ahead = Code("var", ("ahead",), OCTETS)
                self.made.append(Let("ahead", self.on("peek", OCTETS, names, size)))
                for name, offset, wire, order in peeks:
                    number = Code("load", (ahead, wire, order, offset), wire_type(wire))
                    self.put(Code("var", (f"field:{name}",), self.whole(number.type)), number)
            case Op("version", (unit, _)):
                if unit.version is None:
                    self._unknown_version(self.place(unit.version_name), self.position())
            case Op("refuse", (name, _, at, need)):
                assert self.item is not None
                place = self.position(at.args[0]) if isinstance(at, Op) else self.known[at.name]
                self.act("refuse", name, place, str(need), self.item)
            case Op("no_case", (name, on)):
                self.act("no_case", name, self.known[on.name])
            case Op("covers" | "checksum" | "follows"):
                self._check(op)
            case Op("lacks"):
                pass
            case _:
                raise TypeError(op)

    def _unknown_version(self, place: Code, at: Code) -> None:
        facts = self.unit.version_name, at, str(self.unit.versions), place
        self.when(self.outside(place), (Do(self.on("unknown_version", ANY, *facts)),))

    def _check(self, op: Op) -> None:
        step, more = op.args[0], op.args[1]
        name = step.name
        if isinstance(step, (CheckLength, Checksum)):
            end = self.position() if step.last is None else self.mark(True, step.last)
            at = self.mark(False, name)
            if isinstance(step, CheckLength):
                need = self.distance(step.first, end, more)
                self.act("covers", name, at, self.long_of(self.place(name)), need)
            else:
                function, first = Code("function", (step.function,), ANY), self.mark(False, step.first)
                self.act("checksum", name, at, self.place(name), function, first, end)
            return
        have, of = self.place(name), self.place(step.of)
        tests = [] if step.when is None else [self.flag(step.when)]
        if isinstance(step, CheckCount):
            need = self.size_of(of)
        else:
            tests = [Code("on", ("verifies", self.io), FLAG), has_elements(of), *tests]
            need = self.edge(step, of)
        need = self.added(need, step.plus)
        if isinstance(have.type, Maybe) and have not in {each.target for each in self.initial(absent=False)}:
            have = self._there(have)
        at = Code("var", ("at",), PLACE) if self._unpacked else self.position()
        check = "at_least" if step.at_least else "exactly"
        self.when(both(*tests), (Do(self.on(check, ANY, name, at, self.long_of(have), need)),))

    _unpacked = False

    def edge(self, step: CheckLast | CheckMost, of: Code) -> Code:
        """The number of the last element of a list, or the largest of all."""
        return edge_of(self, "last" if isinstance(step, CheckLast) else "most", of, step.member)

    # -- operations -------------------------------------------------------------------------------

    def result(self, op: Op) -> Code:
        match op:
            case Op("load", (run, wire, order, offset)):
                return Code("load", (self.known[run.name], wire, order, offset), wire_type(wire))
            case Op("slice", (run, offset, size)):
                return Code("slice", (self.known[run.name], offset, size), OCTETS)
            case Op("bits", (run, offset, size, shift, width, order)):
                group = self._group(run, offset, size, order)
                return Code("bits", (group, shift, width), group.type)
            case Op("flag", (bits,)):
                return self.result(bits)
            case Op("number", (wire, order, name)):
                return Code("number", (self.io, wire, order, name), wire_type(wire))
            case Op("varint", (wire, name)):
                return self.on(wire, wire_type(wire), name)
            case Op("bytes", (size, name)):
                if size is None:
                    return self.on("rest", OCTETS)
                return self.on("octets", OCTETS, name, self.size(size))
            case Op("text", (Op("bytes", (size, name)), encoding, _, _)):
                amount = None if size is None else self.size(size)
                return Code("text", (self.io, name, amount, encoding), TEXT)
            case Op("object", (unit, arguments, *_)):
                args = unit, self.io, self.passed(unit, arguments), False
                return Code("read", args, result_of(self.units[unit]))
        raise TypeError(op)

    def _group(self, run: Local, offset: int, size: int, order: str) -> Code:
        """The number that bits are of, as a local."""
        name = f"bits_of_{run.name}.{offset}"
        if name not in self.known:
            held = self.known[run.name]
            if size in _NUMBERED:
                number = Code("load", (held, f"u{size}", order, offset), wire_type(f"u{size}"))
            else:
                data = Code("slice", (held, offset, size), OCTETS)
                number = call("bits_of", ULONG, data, constant(order == "le"))
            count = sum(each.startswith("bits_of_") for each in self.known)
            kind = self.of_bits(size)
            self.known[name] = Code("var", (f"bits{count + 1}",), kind)
            self.made.append(Let(self.known[name].args[0], self.as_(number, kind)))
        return self.known[name]

    # -- what may be compressed -------------------------------------------------------------------

    def _unpack(self, packed: Packed, by: Value, place: Value, when: Value | None) -> None:
        held = Code("var", ("stored",), Maybe(OCTETS))
        if "stored" not in self._let:
            self.put(held, Code("const", (None,), held.type))
        codec = codec_of(self, packed, by, when)
        there = Code("is", (held,), FLAG)
        unknown = both(Code("op", ("==", codec, Code("const", ("",), TEXT)), FLAG), there)
        number = self.size(place)
        args = number.args if number.op == "const" else (number,)
        behind = Code("const" if number.op == "const" else "convert", args, PLACE)
        where = Code("op", ("+", Code("var", ("start",), PLACE), behind), PLACE)
        self.when(unknown, (Do(self.on("unknown_codec", ANY, packed.by_path, where, self.long(by))),))
        size = call("size_of", PLACE, held)
        at = Code("var", ("at",), PLACE)
        self.made.append(Let("at", Code("op", ("-", self.position(), size), PLACE)))
        inner, target = Code("var", ("inner",), STREAM), self.place(packed.name)
        read = Code("read", (packed.unit, inner, (), False), result_of(self.units[packed.unit]))
        data = self._there(held)
        content: tuple[Statement, ...] = (Unpacked(packed.name, codec, data, at, (Set(target, read),)),)
        if not packed.parsed:
            plain = Code("op", ("==", codec, Code("const", ("none",), TEXT)), FLAG)
            content = (If(plain, (Set(target, self.as_(data, target.type)),), content),)
        self.when(there, content)
        self._unpacked = True


def codec_of(values: LayoutValues, packed: Packed, by: Value, when: Value | None) -> Code:
    """The name of the codec as a local; empty if there is none of that number."""
    codec = Code("var", ("codec",), TEXT)
    values.made.append(Let("codec", Code("const", ("",), TEXT)))
    on = values.long(by)
    names = ((values.as_(constant(number), on.type), name) for number, name in packed.codecs)
    cases = tuple((number, (Set(codec, Code("const", (name,), TEXT)),)) for number, name in names)
    values.made.append(Switch(on, cases))
    for old, new in packed.replaced:
        test = Code("op", ("==", codec, Code("const", (old,), TEXT)), FLAG)
        test = test if when is None else both(test, values.flag(when))
        values.when(test, (Set(codec, Code("const", (new,), TEXT)),))
    return codec


def edge_of(values: LayoutValues, which: str, of: Code, path: tuple[str, ...]) -> Code:
    """The number at a path of a list's last element, or the largest one."""
    kind = bare(of.type)
    assert isinstance(kind, ListOf)
    found = Code("var", ("each",), kind.item)
    for name in path:
        held = bare(found.type)
        assert isinstance(held, ObjectOf)
        found = values.member(found, values.units[held.unit], name)
    number = values.long_of(found)
    return Code("edge", (which, of, kind.item, number), number.type)
