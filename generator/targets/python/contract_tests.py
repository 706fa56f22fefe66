"""Views for the generated tests: for each type, hypothesis strategies of its fields' whole ranges."""

from __future__ import annotations

import keyword
from dataclasses import dataclass, field, replace
from math import isfinite

from kodec.generator.passes.sizes import interval_of
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import (
    Bits,
    Bytes,
    Field,
    Prim,
    Ref,
    Schema,
    Str,
    Struct,
    Switch,
    Tag,
    TypeRef,
)
from kodec.generator.schema.roles import codec_field, transparent
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.names import attribute
from kodec.generator.wire import INTRINSICS, WIRE

__all__ = ["Case", "ContractTests", "Strategy", "StrategyField", "contract_tests"]

_DERIVED_FROM = "st.integers(-(2**40), 2**40)"
# what a module of tests calls its own
_TAKEN = frozenset(
    """
    annotations Any EncodeError FEW HealthCheck MANY assume check_flips check_round_trip check_truncation
    covered_by data fields given list pytest range settings sorted st stored value version written
    """.split()  # noqa: SIM905  # words, not lines
)


@dataclass(frozen=True, slots=True)
class StrategyField:
    """A keyword of a class, a strategy of its values, and the versions that do not have it."""

    name: str
    text: str
    absent: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Strategy:
    """A function that gives a strategy of a class's objects."""

    name: str
    made: str
    fields: tuple[StrategyField, ...]
    versioned: bool
    version_field: str | None


@dataclass(frozen=True, slots=True)
class Case:
    """The tests of one class; a change of bytes from `covered` on is noticed by a checksum."""

    name: str
    made: str
    strategy: str
    versions: tuple[int, ...]
    covered: int | None
    canonical: bool


@dataclass(slots=True)
class ContractTests:
    """A module of tests."""

    schema: Schema
    package: str
    imports: dict[str, set[str]] = field(default_factory=dict)
    strategies: list[Strategy] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)


class _NoStrategy(Exception):
    """The type needs values that agree with each other in ways that this does not generate."""


def contract_tests(back: ModelIndex, schema: Schema, package: str) -> ContractTests | None:
    """The tests of a schema's types; None where it has none of its own."""
    view = ContractTests(schema, package)
    maker = _Maker(back, view)
    for struct in schema.structs:
        if not maker.testable(struct):
            continue
        try:
            maker.strategy(struct)
        except _NoStrategy:
            continue
        # a part of a message is tested with the message
        part = schema.root.message is not None and struct is not schema.root
        if not struct.params and not part:
            view.cases.append(maker.case(struct))
    return view if view.cases else None


class _Maker:
    def __init__(self, back: ModelIndex, view: ContractTests) -> None:
        self.back = back
        self.model = back.model
        self.view = view
        self._made: dict[str, str] = {}
        self._near = self._fields_in_sums()

    def testable(self, struct: Struct) -> bool:
        return (
            not self.back.in_runtime(struct)
            and transparent(struct) is None
            and not any(p.type == "bool" for p in struct.params)
        )

    def _fields_in_sums(self) -> set[str]:
        """Fields that are added to each other: of their whole ranges, the sum would overflow its field."""
        names: set[str] = set()
        for schema in self.model.schemas:
            for struct in schema.structs:
                for spec in struct.fields:
                    if (
                        spec.derive is not None
                        and spec.derive.plus is not None
                        and spec.derive.member is not None
                    ):
                        names |= {spec.derive.member} | ex.names(spec.derive.plus)
        return names

    def imported(self, owner: str, name: str) -> str:
        path = self.model.schema_of(owner).path.removesuffix(".ksy").replace("/", ".")
        module = f"{self.view.package}.{path}"
        plain = path.rpartition(".")[2]
        alias = f"{plain}_" if plain in _TAKEN else plain
        self.view.imports.setdefault(module, set()).add(alias if alias == plain else f"{plain} as {alias}")
        return f"{alias}.{name}"

    def strategy(self, struct: Struct) -> str:
        """The name of the strategy function of a type, made when it is first asked for."""
        if struct.name in self._made:
            return self._made[struct.name]
        name = self._free(f"{struct.name.replace('::', '_')}s")
        self._made[struct.name] = name
        try:
            self._build(struct, name)
        except _NoStrategy:
            del self._made[struct.name]
            raise
        return name

    def _free(self, name: str) -> str:
        """A name that nothing else in the module has: no schema name ends in `_`."""
        aliases = {schema.id for schema in self.model.schemas}
        taken = _TAKEN | aliases | set(self._made.values())
        while name in taken or keyword.iskeyword(name):
            name += "_"
        return name

    def _build(self, struct: Struct, name: str) -> None:
        absent_in: dict[str, list[int]] = {}
        if struct.versions:
            layouts = self.back.layouts
            for version in struct.versions:
                for spec in layouts.layout(struct, {struct.version_field: version}).absent:
                    absent_in.setdefault(spec.id, []).append(version)
        fields = []
        for spec in struct.fields:
            for key, text in self._values(struct, spec):
                fields.append(StrategyField(key, text, tuple(absent_in.get(spec.id, ()))))
        version_attr = struct.versions and struct.field(struct.version_field) is not None
        self.view.strategies.append(
            Strategy(
                name,
                self.imported(struct.name, self.back.classes[struct.name]),
                tuple(fields),
                bool(struct.versions),
                struct.version_field if version_attr else None,
            )
        )

    def _values(self, struct: Struct, spec: Field) -> list[tuple[str, str]]:
        """(attribute, strategy) of what a field gives; nothing for what is derived or fixed."""
        if spec.contents is not None or spec.derive is not None:
            return []
        if struct.versions and spec.id == struct.version_field:
            return []
        if (
            not struct.versions
            and spec.condition is not None
            and spec.nullable is None
            and spec.codec is None
        ):
            # there or not, as other fields say: where its default says neither, both are tried
            if ex.names(spec.condition) <= {param.id for param in struct.params}:
                self._by_chance(struct, spec)
            if not self.back.layouts.optional(struct, spec):
                return []
            there = replace(spec, condition=None)
            return [(name, f"st.none() | {text}") for name, text in self._values(struct, there)]
        section = self.back.tag_section(spec)
        if section is not None:
            known = {tag.number for tag in section.tags}
            found = [
                (attribute(tag.id), self._value(struct, Field(tag.id, tag.type, spec.place)))
                for tag in section.tags
            ]
            # a tag that another version has is unknown where it is not there
            found = [pair for pair, tag in zip(found, section.tags, strict=True) if not _ranged(tag)]
            unknown = f"st.integers({max(known, default=-1) + 1}, 2**31 - 1)"
            pairs = f"st.tuples({unknown}, st.binary(max_size=9))"
            lists = f"st.lists({pairs}, max_size=3, unique_by=lambda tag: tag[0]).map(sorted)"
            return [*found, (attribute(spec.id), lists)]
        if spec.codec is not None:
            inner = self.model.struct(spec.codec.inner)
            element = transparent(inner)
            if element is None:
                text = (
                    "st.none() | st.binary(max_size=40)"
                    if spec.nullable is not None
                    else "st.binary(max_size=40)"
                )
                return [(attribute(spec.id), text)]
            text = f"st.lists({self._value(inner, _one(element))}, min_size=1, max_size=3)"
            return [(attribute(spec.id), text)]
        if spec.repeat is not None:
            if spec.repeat_expr is not None and isinstance(spec.repeat_expr, ex.Literal):
                bounds = f"min_size={spec.repeat_expr.value}, max_size={spec.repeat_expr.value}"
            elif spec.repeat == "until" or (
                spec.repeat_expr is not None and not self._derived_in(struct, spec.repeat_expr)
            ):
                raise _NoStrategy
            else:
                bounds = "max_size=3"
            return [(attribute(spec.id), f"st.lists({self._value(struct, _one(spec))}, {bounds})")]
        text = self._value(struct, spec)
        return [(attribute(spec.id), f"st.none() | {text}" if spec.nullable is not None else text)]

    @staticmethod
    def _derived_in(struct: Struct, expr: ex.Expr) -> bool:
        return any((f := struct.field(name)) is not None and f.derive is not None for name in ex.names(expr))

    def _value(self, struct: Struct, spec: Field) -> str:
        if spec.enum is not None:
            name = self.imported(spec.enum, self.back.enum_class(spec.enum))
            if self._picks_codec(struct, spec):
                return f"st.just({name}.NONE)"
            return f"st.sampled_from(list({name}))"
        if spec.id in self._near:
            return _DERIVED_FROM
        kind: TypeRef = spec.type
        match kind:
            case Prim(floating=True, width=width):
                if spec.valid is None:
                    return f"st.floats(width={width * 8})"
                low, high = interval_of(self.model, spec)
                if spec.valid.expr is not None or not (isfinite(low) and isfinite(high)):
                    raise _NoStrategy
                return f"st.floats({low}, {high}, width={width * 8})"
            case Bits(1):
                return "st.booleans()"
            case Prim() | Bits():
                return self._integers(spec)
            case Bytes() | Str():
                size = spec.size.value if isinstance(spec.size, ex.Literal) else None
                if size is None and spec.size is not None and not self._sized_by_derived(struct, spec.size):
                    raise _NoStrategy
                if isinstance(kind, Str):
                    if size is not None:
                        raise _NoStrategy
                    return (
                        "st.text(max_size=20)"
                        if kind.encoding.startswith("UTF")
                        else "st.text(st.characters(max_codepoint=127), max_size=20)"
                    )
                return (
                    "st.binary(max_size=40)"
                    if size is None
                    else f"st.binary(min_size={size}, max_size={size})"
                )
            case Ref(target):
                self._by_chance(struct, spec)
                return self._ref(spec, self.model.struct(target))
            case Switch(_, cases, _):
                self._by_chance(struct, spec)
                if not any(i.peek_at is not None for i in struct.instances):
                    raise _NoStrategy
                return " | ".join(
                    dict.fromkeys(self._value(struct, Field(spec.id, case, spec.place)) for _, case in cases)
                )
        raise _NoStrategy

    def _by_chance(self, struct: Struct, spec: Field) -> None:
        """Raise _NoStrategy for a size or a count that only a few values have, which nothing derives."""
        count, size = spec.repeat_expr, spec.size
        if count is not None and not isinstance(count, ex.Literal) and not self._derived_in(struct, count):
            raise _NoStrategy
        if size is None or self._sized_by_derived(struct, size):
            return
        peeked = {each.id for each in struct.instances if each.peek_at is not None}
        if ex.names(self.back.layouts.inline(struct, size)) & peeked:
            return  # what is written says it
        fixed: int | None = None
        if isinstance(spec.type, Ref) and not spec.type.args:
            target = self.model.struct(spec.type.target)
            unit = self.back.program.units.get(target.name)
            fixed = WIRE[target.wire].size if target.wire in INTRINSICS else None
            fixed = fixed if unit is None or unit.versions else self.back.places.size(unit)
        plain = isinstance(spec.type, Bytes) and isinstance(size, ex.Literal)
        if not plain and size != ex.Literal(fixed if fixed is not None else -1):
            raise _NoStrategy

    def _sized_by_derived(self, struct: Struct, expr: ex.Expr) -> bool:
        return self._derived_in(struct, self.back.layouts.inline(struct, expr))

    def _integers(self, spec: Field) -> str:
        if spec.valid is not None and spec.valid.eq is not None:
            return f"st.just({ex.text_of(spec.valid.eq)})"
        if spec.valid is not None and spec.valid.any_of is not None:
            return f"st.sampled_from([{', '.join(map(ex.text_of, spec.valid.any_of))}])"
        low, high = interval_of(self.model, spec)
        return f"st.integers({int(low)}, {_exact(high)})"

    def _ref(self, spec: Field, target: Struct) -> str:
        if target.wire in INTRINSICS:
            if WIRE[target.wire].kind == "boolean":
                return "st.booleans()"
            if WIRE[target.wire].range is None:
                return "st.uuids()"
            low, high = interval_of(self.model, spec)
            return f"st.integers({int(low)}, {_exact(high)})"
        inner = transparent(target)
        if inner is not None:
            text = self._value(target, _one(inner))
            text = f"st.lists({text}, max_size=3)" if inner.repeat else text
            return f"st.none() | {text}" if inner.nullable is not None else text
        name = self.strategy(target)
        return f"{name}(version)" if target.versions and target.params else f"{name}()"

    def _picks_codec(self, struct: Struct, spec: Field) -> bool:
        """Whether the enum says how bytes are compressed that are not parsed when they are plain."""
        for schema in self.model.schemas:
            for owner in schema.structs:
                holder = codec_field(owner)
                if (
                    holder is None
                    or holder.codec is None
                    or transparent(self.model.struct(holder.codec.inner)) is not None
                ):
                    continue
                by = holder.codec.by
                if isinstance(by, ex.Attr) and isinstance(by.of, ex.Name) and by.name == spec.id:
                    part = owner.field(by.of.name)
                    if part is not None and isinstance(part.type, Ref) and part.type.target == struct.name:
                        return True
        return False

    def case(self, struct: Struct) -> Case:
        checksum = self.back.checksum(self.back.program.units[struct.name])
        compresses = self._compresses(struct, set())
        name = struct.name.replace("::", "_")
        # `a::b_c` and `a_b::c` are two types
        while name in {each.name for each in self.view.cases}:
            name += "_"
        return Case(
            name,
            self.imported(struct.name, self.back.classes[struct.name]),
            self._made[struct.name],
            tuple(struct.versions or ()),
            None if checksum is None else checksum[2],
            not compresses,
        )

    def _compresses(self, struct: Struct, seen: set[str]) -> bool:
        """Whether something inside can be compressed, so that its bytes are the library's affair."""
        if struct.name in seen:
            return False
        seen.add(struct.name)
        holder = codec_field(struct)
        if (
            holder is not None
            and holder.codec is not None
            and transparent(self.model.struct(holder.codec.inner)) is not None
        ):
            return True
        found: list[TypeRef] = [spec.type for spec in struct.fields]
        while found:
            kind = found.pop()
            if isinstance(kind, Ref) and self._compresses(self.model.struct(kind.target), seen):
                return True
            if isinstance(kind, Switch):
                found += [case for _, case in kind.cases]
        return False


def _ranged(tag: Tag) -> bool:
    """Whether some versions lack the tag, or null for it."""
    return tag.since is not None or tag.until is not None or tag.null_versions is not None


def _exact(value: float) -> str:
    """2**64 - 1 and the like are not floats: say them exactly."""
    for bits in (63, 64):
        if value >= 2.0**bits - 2 ** (bits - 53):
            return f"2**{bits} - 1" if value < 2.0 ** (bits + 1) * 0.75 else f"2**{bits + 1} - 1"
    return str(int(value))


def _one(spec: Field) -> Field:
    """An element of a repeated field, or the bare value of a nullable one."""
    return Field(spec.id, spec.type, spec.place, size=spec.size, enum=spec.enum, valid=spec.valid)
