"""How a kernel writes: from columns to the bytes of rows, and from a head's numbers to a unit.

For each row the values of all its fields are known first, then the sizes from the innermost part outwards,
then the bytes are written from front to back; checksums and lengths of ranges are put in at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kodec.generator.layout import BitGroup, Layouts, One, Run, RunField
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bytes, Field, Model, Prim, Ref, Struct
from kodec.generator.targets.native.expressions import NotColumnar, bare, condition, literal, number
from kodec.generator.targets.native.plan import Member, Scope, tests_of
from kodec.generator.targets.native.steps import (
    Line,
    Loop,
    Patch,
    PutBytes,
    PutChoice,
    PutMark,
    PutStep,
    PutVarint,
    Store,
)
from kodec.generator.wire import VARINTS, WIRE

__all__ = ["WritePlan", "Writer", "total"]


@dataclass(slots=True)
class WritePlan:
    """Lines that declare what is known of a value, the terms that sum up to its size, steps that write it."""

    lines: list[str] = field(default_factory=list)
    size: list[str] = field(default_factory=list)
    steps: list[PutStep] = field(default_factory=list)


class Writer:
    """Plans the writing of one struct. Raises NotColumnar where a kernel cannot.

    Args:
        scope: the members as they are read; for names in expressions.
        source: gives the C text of a number or span that is no derivation; None where the caller has none.
        number_of: gives the index of a field's name, for messages.
    """

    def __init__(self, model: Model, layouts: Layouts, source: Any, number_of: Any) -> None:
        self.model = model
        self.layouts = layouts
        self.source = source
        self.number_of = number_of
        self.values: dict[str, str] = {}
        self.spans: dict[str, str] = {}
        self.places: set[str] = set()
        self.ended: dict[str, str] = {}
        """Of fields that are behind the range they speak of: where it ended."""

    # -- a struct ---------------------------------------------------------------------------------

    def plan(self, struct: Struct, members: list[Member], prefix: str, path: str, scope: Scope) -> WritePlan:
        """`prefix` leads to the members by their names, `path` names them in messages."""
        if struct.params or struct.versions:
            raise NotColumnar(f"`{struct.name}` has parameters or versions")
        layout = self.layouts.layout(struct, {})
        specs = list(_specs(layout.steps))
        plan = WritePlan()
        inner: dict[str, WritePlan] = {}
        late = [spec for spec, _ in specs if spec is not None and _is_own_length(spec)]
        for spec, item in specs:
            if spec is None:
                assert item is not None and isinstance(item.what, BitGroup)
                for member, _, _ in item.what.members:
                    self._number(member, prefix, path, plan)
            elif spec not in late:
                inner[spec.id] = self._known(struct, spec, members, prefix, path, scope, plan)
        for spec in late:
            self._length(struct, spec, prefix, path, scope, plan)
        ranges = _ranges(struct)
        for spec, item in specs:
            self._write(struct, spec, item, members, prefix, path, scope, plan, inner, ranges)
        return plan

    def _known(
        self,
        struct: Struct,
        spec: Field,
        members: list[Member],
        prefix: str,
        path: str,
        scope: Scope,
        plan: WritePlan,
    ) -> WritePlan:
        """Declare the value of one field, and all that is inside it."""
        member = next((each for each in members if each.spec.id == spec.id), None)
        if member is None:
            raise NotColumnar(f"`{spec.id}` is not written")
        key = prefix + spec.id
        local = key.replace(".", "_")
        where = f"{path}.{spec.id}" if path else spec.id
        if member.kind == "struct":
            assert isinstance(spec.type, Ref)
            target = self.model.struct(spec.type.target)
            inside = Scope("", target, member.members, scope.container)
            found = self.plan(target, member.members, f"{key}.", where, inside)
            plan.lines += found.lines
            plan.lines.append(f"const size_t size_{local} KD_UNUSED = {total(found.size)};")
            self.values[f"size:{key}"] = f"size_{local}"
            return found
        if member.kind == "list":
            return self._list(member, key, local, where, scope, plan)
        if member.kind == "blob":
            if member.nullable and spec.nullable is None:
                raise NotColumnar(f"`{spec.id}` is not written, as it may be absent")
            span = self.source(key, spec)
            plan.lines.append(f"const kd_span span_{local} = {span};")
            if not (member.nullable or spec.nullable is not None):
                plan.lines.append(_check(f"span_{local}.data == NULL", "KD_NULL", self.number_of(where)).text)
            self.spans[key] = f"span_{local}"
            return WritePlan()
        self._number(spec, prefix, path, plan)
        return WritePlan()

    def _number(self, spec: Field, prefix: str, path: str, plan: WritePlan) -> None:
        key = prefix + spec.id
        local = key.replace(".", "_")
        if spec.derive is not None and spec.derive.is_range:
            self.values[key] = "0"
            return
        text = self.source(key, spec)
        kind = "double" if isinstance(spec.type, Prim) and spec.type.floating else "int64_t"
        if isinstance(spec.type, Prim) and spec.type.width == 8 and not spec.type.signed:
            kind = "uint64_t"
        plan.lines.append(f"const {kind} value_{local} = {text};")
        self.values[key] = f"value_{local}"

    def _length(
        self, struct: Struct, spec: Field, prefix: str, path: str, scope: Scope, plan: WritePlan
    ) -> None:
        """Declare a length or a count that follows from the field that it is of."""
        derive = spec.derive
        assert derive is not None
        target = struct.field(derive.first)
        key = f"{prefix}{derive.first}"
        local = f"{prefix}{spec.id}".replace(".", "_")
        if target is None:
            raise NotColumnar(f"`{spec.id}` is of what is not there")
        if derive.kind == "count_of" and key in self.spans:
            # content that is bytes already: whoever made it says how many
            value = self.source(f"{prefix}{spec.id}", spec)
        elif derive.kind == "count_of":
            value = self.values[f"count:{key}"]
        elif key in self.spans:
            span = self.spans[key]
            value = f"(int64_t){span}.size"
            if target.nullable is not None:
                sign = self.layouts.null_sign(struct, target, spec, {})
                if sign is None:
                    raise NotColumnar(f"`{spec.id}` does not say null")
                value = f"({span}.data == NULL ? {sign} : {value})"
        else:
            value = f"(int64_t){self.values[f'size:{key}']}"
        if derive.plus is not None:
            value = f"kd_add({value}, {number(derive.plus, lambda _: None, self.model)}, &wrong)"
        plan.lines.append(f"const int64_t value_{local} = {value};")
        self.values[f"{prefix}{spec.id}"] = f"value_{local}"

    def _list(
        self, member: Member, key: str, local: str, where: str, scope: Scope, plan: WritePlan
    ) -> WritePlan:
        assert isinstance(member.spec.type, Ref)
        struct = self.model.struct(member.spec.type.target)
        first, stop = self.source(key, member.spec)
        inside = self.plan(
            struct, member.members, f"{key}.", f"{where}[]", Scope("", struct, member.members, None)
        )
        plan.lines += [
            f"const int64_t count_{local} = (int64_t){stop} - {first};",
            f"size_t size_{local} = 0;",
            f"for (int32_t item = {first}; item < {stop}; item++) {{",
            *(f"  {line}" for line in inside.lines),
            f"  size_{local} += {total(inside.size)};",
            "}",
        ]
        self.values[f"count:{key}"] = f"count_{local}"
        self.values[f"size:{key}"] = f"size_{local}"
        return WritePlan(inside.lines, [f"size_{local}"], [
            Loop(first, stop, tuple(inside.lines), tuple(inside.steps))
        ])  # fmt: skip

    # -- bytes ------------------------------------------------------------------------------------

    def _write(
        self,
        struct: Struct,
        spec: Field | None,
        item: RunField | None,
        members: list[Member],
        prefix: str,
        path: str,
        scope: Scope,
        plan: WritePlan,
        inner: dict[str, WritePlan],
        ranges: dict[str, list[str]],
    ) -> None:
        if spec is None:
            assert item is not None and isinstance(item.what, BitGroup)
            names = [member.id for member, _, _ in item.what.members]
            self._marks(names[0], ranges, prefix, plan)
            self._bits(item, prefix, path, plan)
            self._ends(names[-1], struct, plan, prefix, path)
            return
        key = prefix + spec.id
        where = f"{path}.{spec.id}" if path else spec.id
        self._marks(spec.id, ranges, prefix, plan)
        steps, size = self._one(struct, spec, item, members, key, where, inner)
        if spec.condition is not None and not (key in self.spans and spec.nullable is not None):
            test = bare(condition(spec.condition, self._resolver(struct, prefix), self.model))
            steps = [PutChoice(test, tuple(steps))]
            size = [f"({test} ? {total(size)} : 0)"]
        plan.steps += steps
        plan.size += size
        self._ends(spec.id, struct, plan, prefix, path)

    def _resolver(self, struct: Struct, prefix: str) -> Any:
        def resolve(expr: ex.Expr) -> str | None:
            chain: list[str] = []
            while isinstance(expr, ex.Attr):
                chain.insert(0, expr.name)
                expr = expr.of
            if not isinstance(expr, ex.Name):
                return None
            return self.values.get(prefix + ".".join([expr.name, *chain]))

        return resolve

    def _one(
        self,
        struct: Struct,
        spec: Field,
        item: RunField | None,
        members: list[Member],
        key: str,
        where: str,
        inner: dict[str, WritePlan],
    ) -> tuple[list[PutStep], list[str]]:
        kind = spec.type
        if key in self.spans:
            span = self.spans[key]
            steps: list[PutStep] = [PutBytes(span, self.source(f"limit:{key}", spec))]
            if isinstance(kind, Bytes) and isinstance(spec.size, ex.Literal):
                steps.insert(
                    0, _check(f"{span}.size != {spec.size.value}", "KD_LENGTH", self.number_of(where))
                )
            return steps, [f"{span}.size"]
        if f"size:{key}" in self.values and spec.id in inner:
            found = inner[spec.id]
            if item is None or item.inner is None:
                return found.steps, [self.values[f"size:{key}"]]
            return found.steps, [str(item.size)]
        value = self.values[key]
        wire = self.layouts.wire_of(struct, spec.id)
        index = self.number_of(where)
        rules = self._rules(spec, value, index)
        if isinstance(kind, Prim):
            return [*rules, self._store(kind, value, index, spec, key)], [str(kind.width)]
        if wire in VARINTS:
            form = WIRE[wire]
            raw = f"kd_zigzag({value})" if form.zigzag else f"(uint64_t)(uint32_t){value}"
            step = PutVarint(raw, value, None if form.c is None else form.c.fits, index)
            return [*rules, step], [f"kd_size_uvarint({raw})"]
        raise NotColumnar(f"`{spec.id}` is of a type that is not written")

    def _rules(self, spec: Field, value: str, index: str) -> list[PutStep]:
        """The steps that refuse a value which the schema does not allow."""
        if spec.valid is None or (spec.derive is not None and spec.derive.is_range):
            return []

        def resolve(expr: ex.Expr) -> str | None:
            return value if expr == ex.Name("_") else None

        tests = [condition(test, resolve, self.model) for test in tests_of(spec.valid)]
        return [_check(f"!({' && '.join(tests)}) || wrong", "KD_VALUE", index)]

    def _store(self, kind: Prim, value: str, index: str, spec: Field, key: str) -> Store:
        order = "be" if kind.width == 1 else kind.endian
        form = WIRE[kind.name].c
        assert form is not None
        fits = form.fits
        raw = f"kd_bits_of_{form.kind}(({form.kind}){value})" if kind.floating else f"(uint64_t){value}"
        place = None
        if spec.derive is not None and spec.derive.is_range:
            place = _mark("place", key)
            self.places.add(place)
            fits = None
        return Store(kind.width, order, raw, value, fits, index, place)

    def _bits(self, item: RunField, prefix: str, path: str, plan: WritePlan) -> None:
        assert isinstance(item.what, BitGroup)
        parts = []
        for member, shift, width in item.what.members:
            value = self.values[prefix + member.id]
            where = f"{path}.{member.id}" if path else member.id
            plan.steps.append(_check(f"(uint64_t){value} >> {width}", "KD_OVERFLOW", self.number_of(where)))
            plan.steps += self._rules(member, value, self.number_of(where))
            parts.append(f"(uint64_t){value}" + (f" << {shift}" if shift else ""))
        plan.steps.append(Store(item.size, "be", " | ".join(parts), "", None, "FIELD_NONE", None))
        plan.size.append(str(item.size))

    # -- ranges -----------------------------------------------------------------------------------

    def _marks(self, ident: str, ranges: dict[str, list[str]], prefix: str, plan: WritePlan) -> None:
        if ident in ranges:
            plan.steps.append(PutMark(_mark("start", prefix + ident)))

    def _ends(self, ident: str, struct: Struct, plan: WritePlan, prefix: str, path: str) -> None:
        # lengths first: a checksum may cover them
        ended = [
            spec
            for spec in struct.fields
            if spec.derive is not None
            and spec.derive.is_range
            and ((spec.derive.last or spec.derive.first) == ident or spec.id == ident)
        ]
        for spec in sorted(ended, key=lambda each: each.derive is not None and each.derive.is_checksum):
            derive, kind = spec.derive, spec.type
            assert derive is not None
            if not isinstance(kind, Prim):
                raise NotColumnar(f"`{spec.id}` is no number of fixed width")
            place = _mark("place", prefix + spec.id)
            end = "p"
            if spec.id == ident:
                if place not in self.ended:
                    continue  # it is in front of its range
                end = self.ended.pop(place)
            elif place not in self.places:
                self.ended[place] = _mark("end", prefix + spec.id)
                plan.steps.append(PutMark(self.ended[place]))
                continue
            signed = kind.signed or kind.width == 8
            plus = literal(0)
            if derive.plus is not None:
                plus = number(derive.plus, lambda _: None, self.model)
            plan.steps.append(
                Patch(
                    place=place,
                    start=_mark("start", prefix + derive.first),
                    end=end,
                    size=kind.width,
                    order="be" if kind.width == 1 else kind.endian,
                    checksum=f"kd_{derive.kind}" if derive.is_checksum else None,
                    most=f"{'' if signed else 'U'}INT{8 * kind.width}_MAX",
                    plus=plus,
                    field=self.number_of(f"{path}.{spec.id}" if path else spec.id),
                )
            )


def _mark(which: str, key: str) -> str:
    return f"{which}_of_{key.replace('.', '_')}"


def _check(wrong: str, status: str, index: str) -> Line:
    return Line(f"if (KD_UNLIKELY({wrong})) STOP_WRITE({status}, {index});")


def _specs(steps: Any) -> list[tuple[Field | None, RunField | None]]:
    found: list[tuple[Field | None, RunField | None]] = []
    for step in steps:
        if isinstance(step, One):
            found.append((step.field, None))
        else:
            assert isinstance(step, Run)
            found += [(item.field, item) for item in step.fields]
    return found


def _is_own_length(spec: Field) -> bool:
    derive = spec.derive
    return derive is not None and derive.is_length and not derive.is_range


def _ranges(struct: Struct) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for spec in struct.fields:
        if spec.derive is not None and spec.derive.is_range:
            found.setdefault(spec.derive.first, []).append(spec.id)
    return found


def total(terms: list[str]) -> str:
    """C text of a sum, its constants put together."""
    constant = sum(int(term) for term in terms if term.isdigit())
    rest = [term for term in terms if not term.isdigit()]
    return " + ".join(([str(constant)] if constant or not rest else []) + rest)
