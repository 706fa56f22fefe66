"""From a checked model to a program: a unit for each type of record schemas, the same for every language.

A unit has its version conditions inside: one reader for all versions, as a person would write it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from functools import reduce

from kodec.generator.layout import BitGroup, Layout, Layouts, Run, RunField
from kodec.generator.layout import One as OneField
from kodec.generator.plan.bind import Binder, Types
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
    Step,
    Stored,
    Tagged,
    TagPlan,
    Unit,
    Varint,
    VersionAt,
    When,
)
from kodec.generator.plan.values import (
    FLAG,
    Binary,
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
    in_versions,
)
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bytes, Derive, Field, Model, Prim, Ref, Str, Struct, Switch, TypeRef
from kodec.generator.schema.roles import codec_enum, codec_field, may_be_null, section_tags, transparent
from kodec.generator.schema.versions import VersionRange
from kodec.generator.wire import INTRINSICS, VARINTS, WIRE

__all__ = ["program_of"]


def program_of(model: Model) -> Program:
    """The units of all record schemas. A streamed schema has none yet."""
    layouts = Layouts(model)
    framed = _parts_of_sections(model)
    units = {
        struct.name: _UnitBuilder(layouts, struct).build()
        for schema in model.schemas
        if not schema.streamed
        for struct in schema.structs
        if struct.wire not in (*INTRINSICS, "tags") and struct.name not in framed
    }
    return Program(units)


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

    def __init__(self, layouts: Layouts, struct: Struct) -> None:
        self.layouts = layouts
        self.model: Model = layouts.model
        self.struct = struct
        self.types = Types(layouts.model)
        self.peeks = {each.name: each for each in self._peeked()}
        self.bind = Binder(self.types, struct, self.peeks)
        # every condition stays, as the version is not known yet
        self.layout: Layout = layouts.layout(struct, {})
        self.fields = {spec.id: spec for spec in _fields(self.layout)}

    def build(self) -> Unit:
        struct = self.struct
        stands_for = transparent(struct)
        return Unit(
            name=struct.name,
            parameters=tuple(
                Parameter(each.id, self.types.parameter(struct, each.id)) for each in struct.params
            ),
            fields=tuple(self._field_plans()),
            steps=self._after_version(_joined(self._steps(), self._alone())),
            least=min(
                variant.layout.min_size
                for known in self.layouts.bindings(struct)
                for variant in self.layouts.variants(struct, known)
            ),
            stands_for=None if stands_for is None else stands_for.id,
            versions=struct.versions,
            version=self._version_at(),
            version_name=struct.version_field if struct.versions else "",
            peeks=tuple(self.peeks.values()),
            packed=self._packed(),
            derived=tuple(self._written()),
            peeked=tuple(self._of_peeks()),
        )

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

    def _version_at(self) -> VersionAt | None:
        if not self.struct.versions or self.struct.field(self.struct.version_field) is None:
            return None
        first = self.layout.steps[0]
        assert isinstance(first, Run)
        at = next(each for each in first.fields if each.field and each.field.id == self.struct.version_field)
        assert isinstance(at.what, Prim)
        return VersionAt(self.struct.version_field, at.offset, at.what.name, _order(at.what))

    def _packed(self) -> Packed | None:
        holder = codec_field(self.struct)
        if holder is None or holder.codec is None:
            return None
        codec = holder.codec
        items = self.model.enum(codec_enum(self.model, self.struct, codec.by)).items
        place = next(each for each in self.layouts.extents(self.layout) if each.path == ex.text_of(codec.by))
        assert place.offset is not None
        return Packed(
            name=holder.id,
            by=self.bind(self.layouts.inline(self.struct, codec.by)),
            by_path=ex.text_of(codec.by),
            place=place.offset,
            codecs=tuple((each.value, each.id) for each in items),
            unit=codec.inner,
            parsed=not isinstance(holder.type, Bytes),
            replaced=codec.replace,
            when=None if codec.when is None else self.bind(self.layouts.inline(self.struct, codec.when)),
            checks=tuple(self._derived(holder.id)),
        )

    def _alone(self) -> frozenset[str]:
        """Fields that may be None instead of a number, which no run holds."""
        return frozenset(
            spec.id
            for spec in self.struct.fields
            if self._is_nullable(spec) or self.layouts.optional(self.struct, spec)
        )

    def _after_version(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """The version in a run that ends with it: what follows is read in a version that is known."""
        where = self._version_at()
        if where is None:
            return steps
        place = next(index for index, each in enumerate(steps) if isinstance(each, Fixed))
        first = steps[place]
        assert isinstance(first, Fixed)
        end = where.offset + WIRE[where.wire].least
        if end == first.size:
            return steps
        head = tuple(each for each in first.slots if each.offset < end)
        rest = tuple(dataclasses.replace(each, offset=each.offset - end) for each in first.slots[len(head) :])
        inside = {each.path[0] for each in head}
        early = tuple(each for each in first.objects if each[0][0] in inside)
        late = tuple(each for each in first.objects if each[0][0] not in inside)
        parts = Fixed(head, end, early), Fixed(rest, first.size - end, late)
        return (*steps[:place], *parts, *steps[place + 1 :])

    # -- fields -----------------------------------------------------------------------------------

    def _field_plans(self) -> Iterator[FieldPlan]:
        struct = self.struct
        for spec in struct.fields:
            section = self._section(spec)
            for tag in () if section is None else section.tags:
                made = Field(tag.id, tag.type, spec.place, default=tag.default)
                default = self._default(made)
                yield FieldPlan(tag.id, self.types.of(tag.type), default, default, True, tag.ignorable)
            kept = section is not None or self._is_kept(spec)
            kind = self.types.field(struct, spec)
            yield FieldPlan(spec.id, kind, self._absent(spec), self._default(spec), kept, spec.ignorable)

    def _is_kept(self, spec: Field) -> bool:
        if spec.contents is not None:
            return False
        if spec.derive is None or not spec.derive.is_length:
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
        """What a field is that is not there when it is read: where a version lacks it, its default."""
        found = self.fields.get(spec.id)
        lacking = found is None or self._conditions(found)[0] is not None
        return self._default(spec) if lacking else self._left_out(spec)

    def _left_out(self, spec: Field) -> Constant | None:
        """What a field is that other fields leave out."""
        if spec.derive is not None or self._may_be_null(spec):
            return Constant(None, self.types.field(self.struct, spec))
        return None if spec.repeat is not None else self._default(spec)

    def _default(self, spec: Field) -> Constant | None:
        """What a field of a new object is."""
        kind = self.types.field(self.struct, spec)
        null = Constant(None, kind)
        if spec.default is None and (spec.derive is not None or self._may_be_null(spec)):
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
        if value is not None:
            found = self.bind(value)
            assert isinstance(found, Constant)
            return Constant(found.value, kind)
        if self.struct.versions and spec.id == self.struct.version_field:
            return Constant(self.struct.versions.last, kind)
        if spec.valid is not None and isinstance(spec.valid.eq, ex.Literal):
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

    def _section(self, spec: Field) -> Field | None:
        """The field with `-tags` of a tagged section; a section without any is of no field."""
        if not isinstance(spec.type, Ref):
            return None
        target = self.model.struct(spec.type.target)
        if target.wire != "tags":
            return None
        return section_tags(self.model, target) or Field(spec.id, Bytes(), spec.place)

    # -- steps ------------------------------------------------------------------------------------

    def _steps(self) -> Iterator[Step]:
        for step in self.layout.steps:
            if isinstance(step, Run):
                for item in step.fields:
                    if item.field is not None and self._begins(item.field.id):
                        yield Mark(item.field.id, item.offset)
                yield self._load(step)
                for each in _of_run(step):
                    yield from self._after(each.id)
                continue
            spec = step.field
            body: list[Step] = [Mark(spec.id)] if self._begins(spec.id) else []
            body.append(self._read(spec))
            in_version, otherwise = self._conditions(spec)
            if otherwise is not None:
                body = [When(otherwise, tuple(body))]
                absent = self._left_out(spec)
                if in_version is not None and absent != self._absent(self.struct.field(spec.id) or spec):
                    assert absent is not None and absent.value is None, (self.struct.name, spec.id)
                    body.insert(0, SetNull(spec.id))
            if self._section(spec) is None:
                # a layout of no version knows nothing of what other versions refuse
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

    def _load(self, run: Run) -> Fixed:
        slots: list[Slot] = []
        objects: list[tuple[tuple[str, ...], str]] = []
        self._slots(run, 0, (), self.struct, slots, objects)
        return Fixed(tuple(slots), run.size, tuple(objects))

    def _slots(
        self,
        run: Run,
        base: int,
        path: tuple[str, ...],
        owner: Struct,
        slots: list[Slot],
        objects: list[tuple[tuple[str, ...], str]],
    ) -> None:
        bind = self.bind if owner is self.struct else Binder(self.types, owner, {})
        for item in run.fields:
            at = base + item.offset
            if isinstance(item.what, BitGroup):
                for member, shift, width in item.what.members:
                    kind = self.types.field(owner, member)
                    rules = self._rules(member, kind, bind)
                    order = _run_order(item)
                    slots.append(
                        Slot(
                            (*path, member.id), kind, at, item.size, None, order, (shift, width), None, rules
                        )
                    )
                continue
            spec = item.field
            assert spec is not None
            here = (*path, spec.id)
            if item.inner is not None:
                assert isinstance(spec.type, Ref)
                inner = self.model.struct(spec.type.target)
                self._slots(item.inner, at, here, inner, slots, objects)
                objects.append((here, inner.name))
                continue
            kind = self.types.field(owner, spec)
            wire = None
            if isinstance(item.what, Prim):
                wire = item.what.name
            elif isinstance(item.what, Ref):
                wire = self.model.struct(item.what.target).wire
            rules = self._rules(spec, kind, bind)
            slots.append(Slot(here, kind, at, item.size, wire, _run_order(item), None, spec.contents, rules))

    def _read(self, spec: Field) -> Step:
        section = self._section(spec)
        if section is not None:
            return Tagged(spec.id, tuple(self._tags(section)))
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
        return None if expr is None else Size(self.bind(expr), self._is_implied(expr, spec))

    def _is_implied(self, expr: ex.Expr, spec: Field) -> bool:
        """Whether a size follows from the field itself: what it names is derived of that, or peeked."""
        order = [each.id for each in self.struct.fields]
        for name in ex.names(expr):
            if name in self.peeks:
                return True
            found = self.struct.field(name)
            derive = None if found is None else found.derive
            if derive is not None and derive.first in order and spec.id in order:
                last = derive.last or derive.first
                if order.index(derive.first) <= order.index(spec.id) <= order.index(last):
                    return True
        return False

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
                return Nested(target, given, self._size(spec), spec.size_eos)
            case Switch(on, cases, default):
                bare = Field(spec.id, spec.type, spec.place)
                return Choice(
                    on=self.bind(self.layouts.inline(self.struct, on)),
                    cases=tuple(self._case(self.bind(case), each, bare) for case, each in cases),
                    other=None if default is None else self._case(None, default, bare),
                    size=self._size(spec),
                    fills=spec.size_eos,
                    may_lack=_may_lack_case(spec),
                    peeked=any(name in self.peeks for name in ex.names(self.layouts.inline(self.struct, on))),
                )
        raise TypeError(kind)

    def _case(self, value: Value | None, kind: TypeRef, bare: Field) -> Case:
        return Case(value, self.types.of(kind), self._element(kind, bare))

    def _tags(self, section: Field) -> Iterator[TagPlan]:
        for tag in section.tags:
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
            test: Value = Constant(False, FLAG)
            for value in values:
                same = Binary("==", item, value, FLAG)
                test = same if test == Constant(False, FLAG) else Binary("or", test, same, FLAG)
            found.append(Rule(test, "one of", values))
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
        for spec, derive in self._ranges():
            last = derive.last or derive.first
            behind = order.index(spec.id) > order.index(last)
            if behind and name == last:
                yield Mark(name, end=True)
            if name != (spec.id if behind else last):
                continue
            end = last if behind else None
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
                given=self._is_kept(spec),
            )

    def _null_sign(self, spec: Field, derive: Derive) -> int | None:
        """The number by which `spec` says that what it counts is null, in the layouts that have it."""
        target = self.struct.field(derive.first)
        assert target is not None
        if target.nullable is None:
            return None
        signs = {
            self.layouts.null_sign(self.struct, target, spec, dict(variant.layout.known))
            for known in self.layouts.bindings(self.struct)
            for variant in self.layouts.variants(self.struct, known)
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


def _all_of(test: ex.Expr) -> Iterator[ex.Expr]:
    """The conditions that must all hold where `test` does."""
    match test:
        case ex.Binary("and", left, right):
            yield from _all_of(left)
            yield from _all_of(right)
        case _:
            yield test


def _may_lack_case(spec: Field) -> bool:
    """Whether there is nothing where a switch has no case."""
    if not isinstance(spec.type, Switch) or spec.type.default is not None:
        return False
    return spec.size is None and not spec.size_eos and spec.codec is None and not spec.tags


def _order(kind: Prim) -> str:
    return kind.endian if kind.width > 1 else ""


def _run_order(item: RunField) -> str:
    if isinstance(item.what, Prim):
        return _order(item.what)
    return "be" if item.size > 1 else ""


def _of_run(run: Run) -> list[Field]:
    found: list[Field] = []
    for item in run.fields:
        if isinstance(item.what, BitGroup):
            found += [member for member, _, _ in item.what.members]
        elif item.field is not None:
            found.append(item.field)
    return found


def _fields(layout: Layout) -> Iterator[Field]:
    for step in layout.steps:
        if isinstance(step, OneField):
            yield step.field
        else:
            yield from _of_run(step)


def _joined(steps: Iterable[Step], alone: frozenset[str]) -> tuple[Step, ...]:
    """Neighbours under the same condition together; numbers that are next to each other there in one run."""
    found: list[Step] = []
    for step in steps:
        last = found[-1] if found else None
        if isinstance(step, When) and isinstance(last, When) and step.test == last.test:
            found[-1] = When(step.test, last.steps + step.steps)
        else:
            found.append(step)
    return tuple(
        dataclasses.replace(each, steps=_joined(_fused(each.steps, alone), alone))
        if isinstance(each, When)
        else each
        for each in found
    )


def _fused(steps: Iterable[Step], alone: frozenset[str]) -> Iterator[Step]:
    """Numbers of fixed width as runs of such."""
    pending: Fixed | None = None
    for step in steps:
        run = _run_of_one(step) if isinstance(step, One) and step.name not in alone else None
        if pending is not None and run is not None and _agree(pending, run):
            slot = dataclasses.replace(run.slots[0], offset=pending.size)
            pending = Fixed((*pending.slots, slot), pending.size + run.size)
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


def _agree(run: Fixed, other: Fixed) -> bool:
    """Whether the two have one order of bytes."""
    return len({each.order for each in (*run.slots, *other.slots) if each.order}) <= 1
