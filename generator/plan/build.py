"""From a checked model to a program: a unit for each type of record schemas, the same for every language.

A unit has its version conditions inside: one reader for all versions, as a person would write it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

from kodec.generator.plan.bind import Binder, Types
from kodec.generator.plan.follows import followed
from kodec.generator.plan.layouts import Layout, Layouts
from kodec.generator.plan.places import Places
from kodec.generator.plan.ranges import left_of
from kodec.generator.plan.solve import choices, presence, solutions
from kodec.generator.plan.steps import (
    Case,
    Chars,
    CheckCount,
    CheckLast,
    CheckLength,
    CheckMost,
    Checksum,
    Choice,
    Derived,
    Element,
    FieldPlan,
    Fixed,
    FixedNumber,
    LateSize,
    Many,
    Mark,
    Nested,
    Octets,
    One,
    Packed,
    Parameter,
    Program,
    Require,
    Rule,
    SetNull,
    Size,
    Slot,
    Solution,
    Step,
    Stored,
    Tagged,
    TagPlan,
    Unit,
    Varint,
    VersionAt,
    When,
    reachable,
)
from kodec.generator.plan.values import (
    FLAG,
    Binary,
    Choose,
    Constant,
    EnumOf,
    FieldOf,
    IsNull,
    Item,
    Peeked,
    Real,
    Type,
    Unary,
    Value,
    Whole,
    any_of,
    arithmetic,
    in_versions,
    is_number,
    values_in,
    whole_of,
)
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import (
    FORMS,
    Bits,
    Bytes,
    Derive,
    Field,
    Model,
    Prim,
    Ref,
    Str,
    Struct,
    Switch,
    Tag,
    TypeRef,
)
from kodec.generator.schema.type_roles import (
    codec_enum,
    codec_field,
    may_be_null,
    tagged_section,
    transparent,
)
from kodec.generator.schema.versions import VersionRange
from kodec.generator.wire import INTRINSICS, VARINTS, WIRE

__all__ = ["program_of"]


# the length of a range, as every language has it while it writes
_LENGTH = Whole(-(1 << 53) + 1, (1 << 53) - 1)
# of a run, in bytes: more than any structure has, and less than any language's integers can hold
_MOST_FUSED = 1 << 30
# of a type that becomes a part of the run of another
_MOST_SLOTS = 500


_latest: tuple[Model, Program] | None = None


def program_of(model: Model) -> Program:
    """The units of all record schemas; those of streamed ones are made in `streams`.

    That of the latest model is kept: each target and each kernel asks for it.
    """
    global _latest
    if _latest is None or _latest[0] is not model:
        _latest = model, followed(_ProgramBuilder(model).build())
    return _latest[1]


class _ProgramBuilder:
    """Units, each made when it is first asked for."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.layouts = Layouts(model)
        self.program = Program()
        self._making: set[str] = set()

    def build(self) -> Program:
        framed = _parts_of_sections(self.model)
        names = [
            struct.name
            for schema in self.model.schemas
            if not schema.streamed
            for struct in schema.structs
            if struct.wire not in (*INTRINSICS, "tags") and struct.name not in framed
        ]
        return Program({name: self.unit(name) for name in names})

    def unit(self, name: str) -> Unit:
        if name not in self.program.units:
            self._making.add(name)
            self.program.units[name] = _UnitBuilder(self, self.model.struct(name)).build()
            self._making.discard(name)
        return self.program.units[name]

    def fixed(self, name: str) -> Fixed | None:
        """The one run that a type is, which can be a part of that of another type."""
        struct = self.model.struct(name)
        if struct.wire or struct.versions or name in self._making or any(f.derive for f in struct.fields):
            return None
        if struct.params:
            return None
        match self.unit(name).steps:
            case (Fixed(slots) as run,) if len(slots) <= _MOST_SLOTS:
                return run
        return None


def _parts_of_sections(model: Model) -> set[str]:
    """The types of which tagged sections are made: `Tagged` is in their place."""
    return {
        spec.type.target
        for schema in model.schemas
        for struct in schema.structs
        if struct.wire == "tags"
        for spec in struct.fields
        if isinstance(spec.type, Ref) and spec.repeat is not None
    }


class _UnitBuilder:
    """One type."""

    def __init__(self, builder: _ProgramBuilder, struct: Struct) -> None:
        self.builder = builder
        self.layouts = builder.layouts
        self.model = builder.model
        self.struct = struct
        self.types = Types(builder.model)
        self.peeks = {each.name: each for each in self._peeked()}
        self.bind = Binder(self.types, struct, self.peeks)
        self.struct = struct = self._with_implied(struct)
        # every condition stays, as the version is unknown yet
        self.layout: Layout = self.layouts.layout(struct, {})
        self.fields = {spec.id: spec for spec in self.layout.fields}

    def build(self) -> Unit:
        struct = self.struct
        stands_for = transparent(struct)
        steps = _joined(self._steps(), self._alone())
        version = self._version_at(steps)
        return Unit(
            name=struct.name,
            parameters=tuple(
                Parameter(each.id, self.types.parameter(struct, each.id), stands_for is None)
                for each in struct.params
            ),
            fields=tuple(self._field_plans()),
            steps=steps if version is None else _split(steps, version),
            least=min(variant.layout.least for variant in self.layouts.all_of(struct)),
            stands_for=None if stands_for is None else stands_for.id,
            versions=struct.versions,
            version=version,
            version_name=struct.version_field if struct.versions else "",
            peeks=tuple(self.peeks.values()),
            keeps_peeks=bool(self.peeks) and stands_for is None,
            packed=self._packed(steps),
            derived=tuple(self._written()),
            peeked=tuple(self._of_peeks()),
            computed=tuple(self._computed()) if stands_for is None else (),
            fixed=tuple(self._fixed_bytes()) if stands_for is None else (),
            roles=tuple((each.name, ".".join(each.path)) for each in struct.roles),
            form="" if struct.form is None else struct.form.id,
            forms=() if struct.form is None or struct.form.valid is None else struct.form.valid.listed(FORMS),
            late_sizes=tuple(self._late_sizes()),
        )

    def _with_implied(self, struct: Struct) -> Struct:
        """The type in which plain sizes and counts imply what they are computed of: `size: len_x - 4`."""
        found: dict[str, Derive] = {}
        for spec in struct.fields:
            size = spec.size if spec.repeat is None else spec.repeat_expr
            if size is None or (spec.contents, spec.condition, spec.nullable, spec.codec) != (None,) * 4:
                continue
            solved = solutions(self.bind(self.layouts.inline(struct, size)))
            target = solved[0].target if len(solved) == 1 else None
            plus = _plus_of(solved[0].value) if solved else None
            if (
                isinstance(target, FieldOf)
                and plus is not None
                and self._is_number(struct.field(target.name))
            ):
                kind = "length_of" if spec.repeat is None else "count_of"
                more = ex.Literal(plus) if plus else None
                found.setdefault(target.name, Derive(kind, spec.id, plus=more, implied=True))
        known = {*found, *(each.id for each in struct.fields if each.derive is not None)}
        for name, derive in list(found.items()):
            # bytes that are made before their length depend on no other number that is computed
            if derive.kind == "length_of" and known & self._asked(struct, derive.first):
                del found[name]
        fields = (dataclasses.replace(each, derive=found.get(each.id, each.derive)) for each in struct.fields)
        return dataclasses.replace(struct, fields=tuple(fields)) if found else struct

    def _asked(self, struct: Struct, name: str) -> set[str]:
        """The fields that the type of a field asks for."""
        spec = struct.field(name)
        assert spec is not None
        match spec.type:
            case Ref(_, args):
                asked = args
            case Switch(on):
                asked = (on,)
            case _:
                asked = ()
        return {each for expr in asked for each in ex.names(self.layouts.inline(struct, expr))}

    def _is_number(self, spec: Field | None) -> bool:
        """Whether a field is a plain number that nothing else determines."""
        if spec is None or not isinstance(self.types.single(spec), Whole):
            return False
        return (spec.condition, spec.repeat, spec.derive, spec.default, spec.nullable) == (None,) * 5

    def _peeked(self) -> Iterator[Peeked]:
        for each in self.struct.instances:
            if each.peek_type is not None and each.peek_at is not None:
                kind = each.peek_type
                yield Peeked(each.id, each.peek_at, kind.name, _order(kind), self.types.of(kind))

    def _of_peeks(self) -> Iterator[tuple[str, Value]]:
        for each in self.struct.instances:
            value = None if each.value is None else self.layouts.inline(self.struct, each.value)
            if value is not None and self.peeks and set(ex.names(value)) <= self.peeks.keys():
                yield each.id, self.bind(value)

    def _computed(self) -> Iterator[tuple[str, Value]]:
        """The value instances of what objects have."""
        struct = self.struct
        there = {each.id for each in struct.fields if self._is_kept(each) or each.derive is not None}
        there |= {each.id for each in struct.params} | self.peeks.keys()
        for each in struct.instances:
            value = None if each.value is None else self.layouts.inline(struct, each.value)
            if value is not None and set(ex.names(value)) <= there:
                yield each.id, self.bind(value)

    def _fixed_bytes(self) -> Iterator[tuple[str, bytes]]:
        for spec in self.struct.fields:
            if spec.contents is not None and _is_fixed(spec):
                yield spec.id, spec.contents

    def _version_at(self, steps: tuple[Step, ...]) -> VersionAt | None:
        if not self.struct.versions or self.struct.field(self.struct.version_field) is None:
            return None
        first = next(each for each in steps if isinstance(each, Fixed))
        at = next(each for each in first.slots if each.path == (self.struct.version_field,))
        assert at.wire is not None
        return VersionAt(self.struct.version_field, at.offset, at.wire, at.order)

    def _packed(self, steps: tuple[Step, ...]) -> Packed | None:
        holder = codec_field(self.struct)
        if holder is None or holder.codec is None:
            return None
        codec = holder.codec
        items = self.model.enum(codec_enum(self.model, self.struct, codec.by)).items
        return Packed(
            name=holder.id,
            by=self.bind(self.layouts.inline(self.struct, codec.by)),
            by_path=ex.text_of(codec.by),
            place=self._place_of(ex.text_of(codec.by), steps),
            codecs=tuple((each.value, each.id) for each in items),
            unit=codec.inner,
            parsed=not isinstance(holder.type, Bytes),
            replaced=codec.replace,
            when=None if codec.when is None else self.bind(self.layouts.inline(self.struct, codec.when)),
            checks=tuple(self._derived(holder.id)),
        )

    def _place_of(self, path: str, steps: tuple[Step, ...]) -> Value:
        """Where a field stands, in bytes from the start: a number, or what follows from conditions before it.

        Where that varies in other ways, it is 0: errors then name the start.
        """
        places = Places(self.builder.program)
        found, at = _sum(()), 0
        for step in steps:
            extents = places.of((step,))
            here = next((each.offset for each in extents if each.path == path), None)
            if here is not None:
                return _sum((found, _whole(at + here)))
            test = step.test if isinstance(step, When) else None
            size = places.extent(step.steps if isinstance(step, When) else (step,))
            if size is None:
                break
            if test is None:
                at += size
            else:
                found = _sum((found, Choose(test, _whole(size), _whole(0), Whole(0, size))))
        return _whole(0)

    def _alone(self) -> frozenset[str]:
        """Fields that may be None instead of a number, which no run holds."""
        return frozenset(
            spec.id
            for spec in self.struct.fields
            if self._is_nullable(spec) or self.layouts.optional(self.struct, spec)
        )

    # -- fields -----------------------------------------------------------------------------------

    def _field_plans(self) -> Iterator[FieldPlan]:
        struct = self.struct
        for spec in struct.fields:
            section = tagged_section(self.model, spec)
            for tag in section or ():
                made = Field(tag.id, tag.type, spec.place, default=tag.default)
                default = self._default(made)
                yield FieldPlan(tag.id, self.types.of(tag.type), default, default, True, tag.ignorable)
            kept = section is not None or self._is_kept(spec)
            kind = self.types.field(struct, spec)
            yield FieldPlan(spec.id, kind, self._absent(spec), self._default(spec), kept, spec.ignorable)

    def _is_kept(self, spec: Field) -> bool:
        if spec.contents is not None:
            return False
        if spec.derive is None or spec.derive.implied or not spec.derive.is_length:
            return True
        # the head of a container can be read without its content: how much there is, is kept
        return codec_field(self.struct) is not None

    def _may_be_null(self, spec: Field) -> bool:
        """Whether nothing may be in the place of a field's value."""
        known = self.struct.field(spec.id) is not None
        return (
            self._is_nullable(spec)
            or _may_lack_case(spec)
            or (known and self.layouts.optional(self.struct, spec))
        )

    def _absent(self, spec: Field) -> Constant | None:
        """What a field is that is missing when it is read: where a version lacks it, its default."""
        found = self.fields.get(spec.id)
        lacking = found is None or self._conditions(found)[0] is not None
        return self._default(spec) if lacking else self._left_out(spec)

    def _left_out(self, spec: Field) -> Constant | None:
        """What a field is that other fields leave out."""
        if _may_be_none(spec) or self._may_be_null(spec):
            return Constant(None, self.types.field(self.struct, spec))
        return None if spec.repeat is not None else self._default(spec)

    def _default(self, spec: Field) -> Constant | None:
        """What a field of a new object is."""
        kind = self.types.field(self.struct, spec)
        null = Constant(None, kind)
        if spec.default is None and (_may_be_none(spec) or self._may_be_null(spec)):
            return null
        value = spec.default
        if isinstance(value, ex.Name):
            if value.name == "null":
                return null
            if value.name == "empty":
                return self._zero(spec)
            assert spec.enum is not None
            items = self.model.enum(spec.enum).items
            return Constant(next(each.value for each in items if each.id == value.name), kind)
        if value is not None and (data := ex.octets_of(value)) is not None:
            return Constant(data, kind)
        if value is not None:
            found = self.bind(value)
            assert isinstance(found, Constant)
            return Constant(found.value, kind)
        if self.struct.versions and spec.id == self.struct.version_field:
            return Constant(self.struct.versions.last, kind)
        if spec.repeat is None and spec.valid is not None and isinstance(spec.valid.eq, ex.Literal):
            return Constant(spec.valid.eq.value, kind)
        return self._zero(spec)

    def _zero(self, spec: Field) -> Constant | None:
        kind = self.types.field(self.struct, spec)
        if spec.repeat is not None or spec.codec is not None:
            return None
        if isinstance(kind, (Whole, EnumOf)):
            return Constant(0, kind)
        if isinstance(kind, Real):
            return Constant(0.0, kind)
        if kind == FLAG:
            return Constant(False, kind)
        return None

    def _is_nullable(self, spec: Field) -> bool:
        return may_be_null(self.model, spec)

    # -- steps ------------------------------------------------------------------------------------

    def _steps(self) -> Iterator[Step]:
        for piece in self._pieces():
            if isinstance(piece, _Run):
                yield from (Mark(name, at) for name, at in piece.starts if self._begins(name))
                yield piece.run
                for name, _ in piece.starts:
                    yield from self._after(name)
                continue
            spec = piece
            body: list[Step] = [Mark(spec.id)] if self._begins(spec.id) else []
            body.append(self._read(spec))
            in_version, otherwise = self._conditions(spec)
            if otherwise is not None:
                body = [When(otherwise, tuple(body), self._known(presence(otherwise)))]
                absent = self._left_out(spec)
                if in_version is not None and absent != self._absent(self.struct.field(spec.id) or spec):
                    assert absent is not None and absent.value is None, (self.struct.name, spec.id)
                    body.insert(0, SetNull(spec.id))
            if tagged_section(self.model, spec) is None:
                # a layout of no version is independent of what other versions refuse
                body += self._nulls(self.struct.field(spec.id) or spec)
            yield from body if in_version is None else (When(in_version, tuple(body)),)
            yield from self._after(spec.id)
        holder = codec_field(self.struct)
        yield from self._derived(without="" if holder is None else holder.id)

    def _conditions(self, spec: Field) -> tuple[Value | None, Value | None]:
        """When a field is there: what the version and other parameters say of it, and what else does."""
        if spec.condition is None:
            return None, None
        given = {each.id for each in self.struct.params}
        if self.struct.versions:
            given.add(self.struct.version_field)
        tests: tuple[list[Value], list[Value]] = [], []
        for each in _all_of(spec.condition):
            tests[not ex.names(each) <= given].append(self.bind(each))
        first, second = (
            reduce(lambda left, right: Binary("and", left, right, FLAG), found) if found else None
            for found in tests
        )
        return first, second

    def _pieces(self) -> Iterator[_Run | Field]:
        """Neighbours of fixed width as runs, other fields by themselves."""
        # what a length or a checksum covers ends a run: the check follows
        ends = {derive.last or derive.first for _, derive in self._ranges()}
        run = _Run()
        bits: list[Field] = []
        for spec in self.layout.fields:
            if isinstance(spec.type, Bits) and spec.condition is None and spec.repeat is None:
                bits.append(spec)
                found = self._bits(bits)
                if found is None:
                    continue
                names, bits = [each.id for each in bits], []
            else:
                names, found = [spec.id], self._fixed(spec)
            if run.starts and (found is None or not _agree(run.run, found)):
                yield run
                run = _Run()
            if found is None:
                yield spec
                continue
            starts = tuple((name, run.run.size) for name in names)
            run = _Run((*run.starts, *starts), _fused(run.run, found))
            if spec.id in ends:
                yield run
                run = _Run()
        if run.starts:
            yield run

    def _bits(self, fields: list[Field]) -> Fixed | None:
        """Bit fields that fill whole bytes, of which the first has the highest bits."""
        widths = [each.type.width for each in fields if isinstance(each.type, Bits)]
        left = sum(widths)
        if left % 8:
            return None
        size = left // 8
        slots = []
        for spec, width in zip(fields, widths, strict=True):
            left -= width
            kind = self.types.field(self.struct, spec)
            rules = self._rules(spec, kind, self.bind)
            order = "be" if size > 1 else ""
            slots.append(Slot((spec.id,), kind, 0, size, None, order, (left, width), None, rules))
        return Fixed(tuple(slots), size)

    def _fixed(self, spec: Field) -> Fixed | None:
        """A field that always stands there with the same width."""
        if spec.condition is not None or spec.repeat is not None or spec.codec is not None:
            return None
        if spec.tags or spec.size_eos:
            return None
        match spec.type:
            case Prim(name, width) as kind:
                return self._slot(spec, width, name, _order(kind))
            case Bytes() if spec.contents is not None:
                return self._slot(spec, len(spec.contents))
            case Bytes() if isinstance(spec.size, ex.Literal) and isinstance(spec.size.value, int):
                return self._slot(spec, spec.size.value) if 0 <= spec.size.value <= _MOST_FUSED else None
            case Ref(target, args):
                wire = self.model.struct(target).wire
                size = WIRE[wire].size if wire in INTRINSICS else None
                if size is not None and spec.size in (None, ex.Literal(size)):
                    return self._slot(spec, size, wire)
                inner = None if args else self.builder.fixed(target)
                if inner is None or spec.size not in (None, ex.Literal(inner.size)):
                    return None
                slots = tuple(dataclasses.replace(s, path=(spec.id, *s.path)) for s in inner.slots)
                objects = tuple(((spec.id, *path), unit) for path, unit in inner.objects)
                return Fixed(slots, inner.size, (*objects, ((spec.id,), target)))
        return None

    def _slot(self, spec: Field, size: int, wire: str | None = None, order: str = "") -> Fixed:
        kind = self.types.field(self.struct, spec)
        rules = self._rules(spec, kind, self.bind)
        if wire is None or WIRE[wire].intrinsic:
            order = "be" if size > 1 else ""
        return Fixed((Slot((spec.id,), kind, 0, size, wire, order, None, spec.contents, rules),), size)

    def _read(self, spec: Field) -> Step:
        section = tagged_section(self.model, spec)
        if section is not None:
            return Tagged(spec.id, tuple(self._tags(spec, section)))
        if spec.codec is not None:
            return Stored(spec.id, self._size(spec))
        kind = self.types.field(self.struct, spec)
        single = self.types.single(spec)
        rules = self._rules(spec, single, self.bind)
        if spec.repeat is None:
            return One(spec.id, kind, self._element(spec.type, spec), rules)
        inner = Field(spec.id, spec.type, spec.place, size=spec.size, enum=spec.enum)
        until = None if spec.repeat_until is None else self.bind.with_item(single)(spec.repeat_until)
        return Many(
            name=spec.id,
            type=kind,
            element=self._element(spec.type, inner),
            least=self.layouts.least_of_element(spec),
            count=self._sized(spec.repeat_expr, spec),
            until=until,
            rules=rules,
        )

    def _size(self, spec: Field) -> Size | None:
        return self._sized(spec.size, spec)

    def _sized(self, expr: ex.Expr | None, spec: Field) -> Size | None:
        if expr is None:
            return None
        value, implied = self.bind(expr), self._is_implied(expr, spec)
        # a length that is derived of the field itself has a value, whatever the rest of its size is
        free = not implied and not self._own_lengths(expr, spec)
        return Size(value, implied, self._known(solutions(value)) if free else ())

    def _known(self, solved: tuple[Solution, ...]) -> tuple[Solution, ...]:
        """Those of the fields that something follows from whose values a writer knows."""
        late = {spec.id for spec, _ in self._ranges()}

        def is_known(solution: Solution) -> bool:
            parts = [part for each in (solution.value, *solution.tests) for part in values_in(each)]
            return not any(
                isinstance(part, Peeked) or (isinstance(part, FieldOf) and part.name in late)
                for part in parts
            ) and all(map(is_known, solution.also))

        return tuple(filter(is_known, solved))

    def _is_implied(self, expr: ex.Expr, spec: Field) -> bool:
        """Whether a size follows from the field itself: what it names is derived of that, or peeked."""
        names = ex.names(expr)
        derives = {each.id: each.derive for each in self.struct.fields if each.id in names and each.derive}
        if names & self.peeks.keys() or any(each.is_range for each in derives.values()):
            return True
        own = self._own_lengths(expr, spec)
        given = {self.struct.version_field, *(each.id for each in self.struct.params)}
        return bool(own) and names - own <= given

    def _own_lengths(self, expr: ex.Expr, spec: Field) -> set[str]:
        """The names in a size that are derived of the field alone."""
        fields = (self.struct.field(name) for name in ex.names(expr))
        return {
            each.id
            for each in fields
            if each is not None and each.derive is not None and not each.derive.is_range
            if each.derive.first == spec.id
        }

    def _late_sizes(self) -> Iterator[LateSize]:
        """The sizes that follow from the length of a range, where the schema does not show that they fit."""
        for spec in self.layout.fields:
            expr = spec.size if spec.repeat is None else spec.repeat_expr
            if expr is None:
                continue
            for length, derive in self._ranges():
                if derive.is_checksum or length.id not in ex.names(expr):
                    continue
                if left_of(self.layouts, self.struct, spec, length.id, derive).certain:
                    continue
                value = self.bind.with_item(_LENGTH)(ex.replace(expr, _item_for(length.id)))
                yield LateSize(spec.id, length.id, value, spec.repeat is not None, spec.condition is not None)
                break

    def _element(self, kind: TypeRef, spec: Field) -> Element:
        """How one value is read; `spec` says its size."""
        match kind:
            case Prim(name):
                return FixedNumber(name, _order(kind))
            case Bytes():
                return Octets(self._size(spec))
            case Str(encoding):
                return Chars(self._size(spec), encoding)
            case Ref(target, args):
                wire = self.model.struct(target).wire
                if wire in VARINTS:
                    return Varint(wire)
                if wire in INTRINSICS:
                    return FixedNumber(wire, "be")
                given = tuple(self.bind(self.layouts.inline(self.struct, each)) for each in args)
                told = tuple(self._known(solutions(each)) if is_number(each.type) else () for each in given)
                return Nested(target, given, self._size(spec), spec.size_eos, told=told)
            case Switch(on, cases, default):
                bare = Field(spec.id, spec.type, spec.place)
                made = Choice(
                    on=self.bind(self.layouts.inline(self.struct, on)),
                    cases=reachable(self._case(self.bind(case), each, bare) for case, each in cases),
                    other=None if default is None else self._case(None, default, bare),
                    size=self._size(spec),
                    fills=spec.size_eos,
                    may_lack=_may_lack_case(spec),
                    peeked=any(name in self.peeks for name in ex.names(self.layouts.inline(self.struct, on))),
                )
                solved = self._known(choices(made.on)) if made.only and not made.peeked else ()
                return dataclasses.replace(made, solved=solved)
        raise TypeError(kind)

    def _case(self, value: Value | None, kind: TypeRef, bare: Field) -> Case:
        return Case(value, self.types.of(kind), self._element(kind, bare))

    def _tags(self, section: Field, tags: Iterable[Tag]) -> Iterator[TagPlan]:
        for tag in tags:
            made = Field(
                tag.id, tag.type, section.place, default=tag.default, null_versions=tag.null_versions
            )
            versions = None
            if self.struct.versions and (tag.since is not None or tag.until is not None):
                first = self.struct.versions.first if tag.since is None else tag.since
                versions = VersionRange(first, self.struct.versions.last if tag.until is None else tag.until)
            yield TagPlan(
                tag.number,
                tag.id,
                self.types.of(tag.type),
                self._default(made),
                versions,
                self._element(tag.type, made),
                tuple(self._null_rules(made)),
            )

    # -- rules ------------------------------------------------------------------------------------

    def _rules(self, spec: Field, kind: Type, bind: Binder) -> tuple[Rule, ...]:
        """The `valid` rules of a value."""
        valid = spec.valid
        if valid is None or (self.struct.versions and spec.id == self.struct.version_field):
            return ()
        item: Value = Item(kind)
        inner = bind.with_item(kind)
        found = []
        for op, need, wanted in (
            ("==", "equal", valid.eq),
            (">=", "least", valid.min),
            ("<=", "most", valid.max),
        ):
            if wanted is not None:
                value = inner(wanted)
                found.append(Rule(Binary(op, item, value, FLAG), need, (value,)))
        if valid.any_of is not None:
            values = tuple(inner(each) for each in valid.any_of)
            found.append(Rule(any_of([Binary("==", item, each, FLAG) for each in values]), "one of", values))
        if valid.expr is not None:
            text = Constant(ex.text_of(valid.expr), FLAG)
            found.append(Rule(inner(valid.expr), "holds", (text,)))
        return tuple(found)

    def _nulls(self, spec: Field) -> Iterator[Step]:
        for rule in self._null_rules(spec):
            yield Require(spec.id, rule)

    def _null_rules(self, spec: Field) -> Iterator[Rule]:
        """That a value is not null in a version that does not have null for it."""
        versions = spec.null_versions
        if versions is None or not self._is_nullable(spec):
            return
        there = Unary("not", IsNull(Item(self.types.field(self.struct, spec))), FLAG)
        if not self.struct.versions:
            if not versions:
                yield Rule(there, "a value")
            return
        version = FieldOf(
            self.struct.version_field, Whole(self.struct.versions.first, self.struct.versions.last)
        )
        allowed = in_versions(version, versions)
        if allowed == Constant(True, FLAG):
            return
        test = there if allowed == Constant(False, FLAG) else Binary("or", allowed, there, FLAG)
        yield Rule(test, "a value")

    # -- what is derived --------------------------------------------------------------------------

    def _ranges(self) -> Iterator[tuple[Field, Derive]]:
        for spec in self.struct.fields:
            if spec.derive is not None and spec.derive.is_range:
                yield spec, spec.derive

    def _begins(self, name: str) -> bool:
        """Whether a range starts at the field, or an error may name its place."""
        return any(name in (derive.first, spec.id) for spec, derive in self._ranges())

    def _after(self, name: str) -> Iterator[Step]:
        """What follows the end of a field: checks of the ranges that end there."""
        order = [spec.id for spec in self.struct.fields]
        lasts = [derive.last or derive.first for _, derive in self._ranges()]
        # at the end of the unit it is where the bytes end
        if name in lasts and name != order[-1]:
            yield Mark(name, end=True)
        for (spec, derive), last in zip(self._ranges(), lasts, strict=True):
            behind = order.index(spec.id) > order.index(last)
            if name != (spec.id if behind else last):
                continue
            end = last if last != order[-1] else None
            if derive.is_checksum:
                yield Checksum(spec.id, derive.kind, derive.first, end)
            else:
                yield CheckLength(spec.id, derive.first, end, self._plus(derive))

    def _plus(self, derive: Derive) -> Value | None:
        return None if derive.plus is None else self.bind(self.layouts.inline(self.struct, derive.plus))

    def _derived(self, only: str = "", *, without: str = "") -> Iterator[Step]:
        """Checks of what is derived of lists: of one of them, or of all but one."""
        for spec in self.fields.values():
            derive = spec.derive
            if derive is not None and (derive.first == without or only not in ("", derive.first)):
                continue
            if derive is None or derive.is_range or derive.kind in ("length_of", "presence_of"):
                continue
            if derive.kind == "count_of" and self._is_read_by(derive.first, spec.id):
                continue
            when = None if derive.when is None else self.bind(self.layouts.inline(self.struct, derive.when))
            least = derive.verify == "at_least"
            plus = self._plus(derive)
            if derive.kind == "count_of":
                yield CheckCount(spec.id, derive.first, plus, when, least)
            else:
                made = CheckLast if derive.kind == "last" else CheckMost
                yield made(spec.id, derive.first, self._member(derive), plus, when, least)

    def _written(self) -> Iterator[Derived]:
        """What a writer computes: lengths before counts would be the same, so in the order of the fields."""
        for spec in self.struct.fields:
            derive = spec.derive
            if derive is None or derive.is_range:
                continue
            kind = {"length_of": "length", "count_of": "count", "presence_of": "presence"}.get(derive.kind)
            when = None if derive.when is None else self.bind(self.layouts.inline(self.struct, derive.when))
            yield Derived(
                name=spec.id,
                kind=kind or ("last" if derive.kind == "last" else "most"),
                of=derive.first,
                null=self._null_sign(spec, derive),
                plus=self._plus(derive),
                member=() if kind else self._member(derive),
                when=when,
                given=not derive.implied and self._is_kept(spec),
                at_least=derive.verify == "at_least",
            )

    def _null_sign(self, spec: Field, derive: Derive) -> int | None:
        """The number by which `spec` says that what it counts is null, in the layouts that have it."""
        target = self.struct.field(derive.first)
        assert target is not None
        if target.nullable is None:
            return None
        signs = {
            self.layouts.null_sign(self.struct, target, spec, dict(variant.layout.known))
            for variant in self.layouts.all_of(self.struct)
            if spec.id not in {each.id for each in variant.layout.absent}
        }
        assert len(signs) == 1, (self.struct.name, spec.id, signs)
        return signs.pop()

    def _is_read_by(self, target: str, name: str) -> bool:
        found = self.fields.get(target)
        return found is not None and found.repeat_expr is not None and name in ex.names(found.repeat_expr)

    def _member(self, derive: Derive) -> tuple[str, ...]:
        """The path of the member in an element of the list."""
        spec = self.struct.field(derive.first)
        assert spec is not None
        kind: TypeRef = Ref(spec.codec.inner) if spec.codec is not None else spec.type
        assert isinstance(kind, Ref)
        struct = self.model.struct(kind.target)
        inner = transparent(struct)
        if inner is not None and isinstance(inner.type, Ref):
            struct = self.model.struct(inner.type.target)
        return self._find(struct, derive.member or "")

    def _find(self, struct: Struct, name: str) -> tuple[str, ...]:
        if struct.field(name) is not None:
            return (name,)
        for spec in struct.fields:
            if isinstance(spec.type, Ref) and not spec.repeat:
                below = self._find(self.model.struct(spec.type.target), name)
                if below:
                    return (spec.id, *below)
        return ()


def _item_for(name: str) -> Callable[[ex.Expr], ex.Expr | None]:
    """Has `_` in the place of a name."""
    return lambda part: ex.Name("_") if part == ex.Name(name) else None


def _whole(number: int) -> Constant:
    return Constant(number, Whole(number, number))


def _sum(parts: Iterable[Value]) -> Value:
    """The parts added, without zeros."""
    found: Value = _whole(0)
    for part in parts:
        if part == _whole(0):
            continue
        left, right = whole_of(found.type), whole_of(part.type)
        assert left is not None and right is not None
        found = part if found == _whole(0) else Binary("+", found, part, arithmetic("+", left, right))
    return found


def _may_be_none(spec: Field) -> bool:
    """Whether None is given for a field so that it is computed; an implied one always is."""
    return spec.derive is not None and not spec.derive.implied


def _plus_of(value: Value) -> int | None:
    """What is added to the size of something; None if that is not all."""
    match value:
        case Item():
            return 0
        case Binary("+", Item(), Constant(int(number))):
            return number
        case Binary("-", Item(), Constant(int(number))):
            return -number
    return None


def _is_fixed(spec: Field) -> bool:
    """Whether a field is the same bytes in every object."""
    return spec.contents is not None and spec.condition is None and spec.repeat is None


def _all_of(test: ex.Expr) -> Iterator[ex.Expr]:
    """The conditions that must all hold where `test` does."""
    match test:
        case ex.Binary("and", left, right):
            yield from _all_of(left)
            yield from _all_of(right)
        case _:
            yield test


def _may_lack_case(spec: Field) -> bool:
    """Whether there is nothing if a switch has no case."""
    if not isinstance(spec.type, Switch) or spec.type.default is not None:
        return False
    return spec.size is None and not spec.size_eos and spec.codec is None and not spec.tags


def _order(kind: Prim) -> str:
    return kind.endian if kind.width > 1 else ""


_NOTHING = Fixed((), 0)


@dataclass(frozen=True, slots=True)
class _Run:
    """Fields of fixed width in a run: their names, each with where it starts."""

    starts: tuple[tuple[str, int], ...] = ()
    run: Fixed = _NOTHING


def _split(steps: tuple[Step, ...], version: VersionAt) -> tuple[Step, ...]:
    """The version in a run that ends with it: what follows is read in a version that is known."""
    place = next(index for index, each in enumerate(steps) if isinstance(each, Fixed))
    first = steps[place]
    assert isinstance(first, Fixed)
    end = version.offset + WIRE[version.wire].least
    if end == first.size:
        return steps
    head = tuple(each for each in first.slots if each.offset < end)
    rest = tuple(dataclasses.replace(each, offset=each.offset - end) for each in first.slots[len(head) :])
    inside = {each.path[0] for each in head}
    early = tuple(each for each in first.objects if each[0][0] in inside)
    late = tuple(each for each in first.objects if each[0][0] not in inside)
    parts = Fixed(head, end, early), Fixed(rest, first.size - end, late)
    return (*steps[:place], *parts, *steps[place + 1 :])


def _joined(steps: Iterable[Step], alone: frozenset[str]) -> tuple[Step, ...]:
    """Neighbours under the same condition together; numbers that are next to each other there in one run."""
    found: list[Step] = []
    for step in steps:
        last = found[-1] if found else None
        if isinstance(step, When) and isinstance(last, When) and step.test == last.test:
            found[-1] = When(step.test, last.steps + step.steps, last.solved)
        else:
            found.append(step)
    return tuple(
        dataclasses.replace(each, steps=_joined(_in_runs(each.steps, alone), alone))
        if isinstance(each, When)
        else each
        for each in found
    )


def _in_runs(steps: Iterable[Step], alone: frozenset[str]) -> Iterator[Step]:
    """Numbers of fixed width as runs of such."""
    pending: Fixed | None = None
    for step in steps:
        run = _run_of_one(step) if isinstance(step, One) and step.name not in alone else None
        if pending is not None and run is not None and _agree(pending, run):
            pending = _fused(pending, run)
            continue
        if pending is not None:
            yield pending
        pending = run
        if run is None:
            yield step
    if pending is not None:
        yield pending


def _run_of_one(step: One) -> Fixed | None:
    element = step.element
    if not isinstance(element, FixedNumber):
        return None
    size = WIRE[element.wire].least
    slot = Slot((step.name,), step.type, 0, size, element.wire, element.order, rules=step.rules)
    return Fixed((slot,), size)


def _fused(run: Fixed, other: Fixed) -> Fixed:
    """The one, and the other after it."""
    slots = (dataclasses.replace(each, offset=run.size + each.offset) for each in other.slots)
    return Fixed((*run.slots, *slots), run.size + other.size, run.objects + other.objects)


def _agree(run: Fixed, other: Fixed) -> bool:
    """Whether the two can be one: of one order of bytes, and not larger than a run can be."""
    orders = {
        each.order
        for each in (*run.slots, *other.slots)
        if each.order and (each.bits is not None or (each.wire is not None and not WIRE[each.wire].intrinsic))
    }
    return len(orders) <= 1 and run.size + other.size <= _MOST_FUSED
