"""Which fields a type has in one version, with all that follows from the version folded.

A layout is a type with some names known (a version, a `bool` parameter): conditions that follow from them are
gone. It is what checks of schemas look at, and pages for people: what stands in the bytes says the plan.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import product

from kodec.generator.problems import Place
from kodec.generator.schema.expr import Attr, Binary, Expr, Literal, Name, fold, names, replace, settled, walk
from kodec.generator.schema.model import (
    Bits,
    Field,
    Model,
    Prim,
    Ref,
    Struct,
    Switch,
    Tag,
    TypeRef,
    Valid,
)
from kodec.generator.schema.type_roles import may_be_null, tagged_section
from kodec.generator.schema.versions import VersionRange
from kodec.generator.wire import INTRINSICS, WIRE

__all__ = ["Layout", "Layouts", "Variant"]


@dataclass(frozen=True, slots=True)
class Layout:
    """One layout of a type.

    Attributes:
        known: the names whose values are known.
        fields: those that it has, or may have; their expressions are folded.
        least: the fewest bytes that it takes.
        absent: the fields that it lacks.
        tags, absent_tags: of the type's tagged section, those that are known in it, and those that are not.
    """

    struct: Struct
    known: tuple[tuple[str, int | bool], ...]
    fields: tuple[Field, ...]
    least: int
    absent: tuple[Field, ...]
    tags: tuple[Tag, ...] = ()
    absent_tags: tuple[Tag, ...] = ()


@dataclass(frozen=True, slots=True)
class Variant:
    """A layout and the versions that share it (empty for a type without versions)."""

    layout: Layout
    versions: tuple[int, ...]


class Layouts:
    """Makes and remembers the layouts of a model's types."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._made: dict[tuple[str, tuple[tuple[str, int | bool], ...]], Layout] = {}
        self._making: set[str] = set()
        self._variants: dict[tuple[str, tuple[tuple[str, int | bool], ...]], list[Variant]] = {}

    # -- which layouts a type has -----------------------------------------------------------------

    def bindings(self, struct: Struct) -> list[dict[str, int | bool]]:
        """Each combination of the type's bool parameters."""
        flags = [param.id for param in struct.params if param.type == "bool"]
        return [dict(zip(flags, values, strict=True)) for values in product((False, True), repeat=len(flags))]

    def all_of(self, struct: Struct) -> list[Variant]:
        """Every distinct layout of a type."""
        return [each for known in self.bindings(struct) for each in self.variants(struct, known)]

    def variants(self, struct: Struct, known: dict[str, int | bool]) -> list[Variant]:
        """The distinct layouts under `known`, each with its versions in order."""
        if not struct.versions:
            return [Variant(self.layout(struct, known), ())]
        made = (struct.name, tuple(sorted(known.items())))
        if made in self._variants:
            return self._variants[made]
        groups: dict[tuple[object, ...], list[int]] = {}
        first: dict[tuple[object, ...], Layout] = {}
        for version in struct.versions:
            layout = self.layout(struct, {**known, struct.version_field: version})
            key = (layout.fields, layout.absent, layout.tags)
            groups.setdefault(key, []).append(version)
            first.setdefault(key, layout)
        found = [Variant(first[key], tuple(versions)) for key, versions in groups.items()]
        self._variants[made] = found
        return found

    # -- one layout -------------------------------------------------------------------------------

    def layout(self, struct: Struct, known: dict[str, int | bool]) -> Layout:
        key = (struct.name, tuple(sorted(known.items())))
        if key not in self._made:
            self._making.add(struct.name)
            self._made[key] = self._make(struct, known)
            self._making.discard(struct.name)
        return self._made[key]

    def _make(self, struct: Struct, known: dict[str, int | bool]) -> Layout:
        folded = [self.folded(struct, each, known) for each in struct.fields]
        fields = tuple(each for each in folded if each.condition != Literal(False))
        bits = sum(each.type.width for each in fields if isinstance(each.type, Bits) and _is_always(each))
        return Layout(
            struct,
            tuple(sorted(known.items())),
            fields,
            bits // 8 + sum(map(self.least, fields)),
            tuple(each for each in folded if each.condition == Literal(False)),
            *self._tags(struct, known),
        )

    def _tags(self, struct: Struct, known: dict[str, int | bool]) -> tuple[tuple[Tag, ...], tuple[Tag, ...]]:
        """The tags of the type's section: those that are there under `known`, and the others."""
        found: list[Tag] = []
        for field in struct.fields:
            found += tagged_section(self.model, field) or ()
        version = known.get(struct.version_field)
        if not struct.versions or version is None:
            return tuple(found), ()
        present = [
            tag
            for tag in found
            if (tag.since is None or tag.since <= version) and (tag.until is None or version <= tag.until)
        ]
        folded = tuple(
            dataclasses.replace(tag, null_versions=_nulls(tag.null_versions, version), since=None, until=None)
            for tag in present
        )
        return folded, tuple(tag for tag in found if tag not in present)

    def _variant_of(self, struct: Struct, args: tuple[Expr, ...]) -> Variant | None:
        """The variant that these arguments choose, where plain values say it."""
        known: dict[str, int | bool] = {}
        for param, arg in zip(struct.params, args, strict=True):
            if isinstance(arg, Literal) and isinstance(arg.value, (bool, int)):
                known[param.id] = arg.value
        flags = {param.id: known.get(param.id) for param in struct.params if param.type == "bool"}
        version = known.get(struct.version_field)
        if not struct.versions or version is None or None in flags.values() or struct.name in self._making:
            return None
        chosen = self.variants(struct, {name: bool(value) for name, value in flags.items()})
        return next((each for each in chosen if version in each.versions), None)

    def folded(self, struct: Struct, field: Field, known: dict[str, int | bool]) -> Field:
        """The field with its expressions folded under `known`, its type's value instances put in."""

        def f(expr: Expr | None) -> Expr | None:
            if expr is None:
                return None
            folded = fold(self.inline(struct, expr), known)
            # a comparison of floats, or of what may be one, is not rearranged
            floats = any(isinstance(each.type, Prim) and each.type.floating for each in struct.fields)
            plain = not floats and not any(isinstance(part, Attr) for part in walk(folded))
            return settled(folded) if plain else folded

        condition = f(field.condition)
        valid = field.valid
        if valid is not None:
            choices = None if valid.any_of is None else tuple(fold(each, known) for each in valid.any_of)
            whole = self._element_value(field, valid.expr)
            valid = _plain(Valid(f(valid.eq), f(valid.min), f(valid.max), choices, f(whole)))
            if field.id in known and _holds(valid, known[field.id]):
                valid = None
        return dataclasses.replace(
            field,
            type=self._folded_type(struct, field.type, known),
            size=f(field.size),
            repeat_expr=f(field.repeat_expr),
            repeat_until=f(self._element_value(field, field.repeat_until)),
            condition=None if condition == Literal(True) else condition,
            valid=valid,
            null_versions=_nulls(field.null_versions, known.get(struct.version_field)),
        )

    def _element_value(self, field: Field, expr: Expr | None) -> Expr | None:
        """`_.value` of an intrinsic is the number itself."""
        if expr is None or not isinstance(field.type, Ref):
            return expr
        if self.model.struct(field.type.target).wire not in INTRINSICS:
            return expr
        return replace(expr, lambda part: Name("_") if part == Attr(Name("_"), "value") else None)

    def _folded_type(self, struct: Struct, kind: TypeRef, known: dict[str, int | bool]) -> TypeRef:
        if isinstance(kind, Ref):
            args = tuple(fold(self.inline(struct, arg), known) for arg in kind.args)
            target = self.model.struct(kind.target)
            chosen = self._variant_of(target, args)
            if chosen is not None:
                # versions with one layout are one: what holds the type then has one layout for them as well
                args = tuple(
                    Literal(chosen.versions[0]) if param.id == target.version_field else arg
                    for param, arg in zip(target.params, args, strict=True)
                )
            return Ref(kind.target, args)
        if isinstance(kind, Switch):
            cases = tuple((case, self._folded_type(struct, each, known)) for case, each in kind.cases)
            default = None if kind.default is None else self._folded_type(struct, kind.default, known)
            return Switch(fold(self.inline(struct, kind.on), known), cases, default)
        return kind

    def inline(self, struct: Struct, expr: Expr) -> Expr:
        """Put value instances in place of their names, and `.value` of intrinsics away."""

        def swap(part: Expr) -> Expr | None:
            match part:
                case Attr(Name(name), "value") if self.wire_of(struct, name):
                    return Name(name)
                case Name(name):
                    instance = struct.instance(name)
                    if instance is not None and instance.value is not None:
                        return self.inline(struct, instance.value)
            return None

        return replace(expr, swap)

    def null_sign(
        self, struct: Struct, field: Field, length: Field, known: dict[str, int | bool]
    ) -> int | None:
        """The value of `length` with which the writer says that `field` is null."""
        if field.nullable is None:
            return None
        test = self.inline(struct, field.nullable)
        return next((v for v in (-1, 0, -2) if fold(test, {**known, length.id: v}) == Literal(True)), None)

    def wire_of(self, struct: Struct, name: str) -> str | None:
        """The `-wire` name of the type of field `name`, if it has one."""
        field = struct.field(name)
        if field is not None and isinstance(field.type, Ref):
            return self.model.struct(field.type.target).wire
        return None

    def optional(self, struct: Struct, field: Field) -> bool:
        """Whether a field that is missing is None, and not its default.

        So it is where more than the version decides it, and no `-default` says otherwise. What a length of
        its own says to be absent is empty, and what `-nullable` says is null.
        """
        if field.condition is None or field.default is not None or field.nullable is not None:
            return False
        # as it is written, and not as it is in one layout
        field = struct.field(field.id) or field
        assert field.condition is not None
        section = isinstance(field.type, Ref) and self.model.struct(field.type.target).wire == "tags"
        if field.derive is not None or field.codec is not None or struct.wire:
            return False
        if section or may_be_null(self.model, field):
            return False
        lengths = [each.derive for each in struct.fields if each.derive and each.derive.is_length]
        if any(length.first == field.id for length in lengths):
            return False
        condition = fold(self.inline(struct, field.condition))
        known = {struct.version_field} if struct.versions else set()
        return condition == Literal(False) or not names(condition) <= known

    # -- sizes ------------------------------------------------------------------------------------

    def least(self, field: Field) -> int:
        """The fewest bytes that the field can take, without those that it shares with other bit fields."""
        if field.condition is None and field.repeat == "expr" and isinstance(field.repeat_expr, Literal):
            count = field.repeat_expr.value
            return count * self.least_of_element(field) if isinstance(count, int) else 0
        if not _is_always(field):
            return 0
        if field.contents is not None:
            return len(field.contents)
        if isinstance(field.size, Literal) and isinstance(field.size.value, int):
            return field.size.value
        if field.size is not None or field.size_eos:
            return 0
        match field.type:
            case Prim(width=width):
                return width
            case Ref(target):
                struct = self.model.struct(target)
                if struct.wire in INTRINSICS:
                    return WIRE[struct.wire].least
                if struct.name in self._making:
                    return 0
                return min(variant.layout.least for variant in self.all_of(struct))
            case Switch(_, cases, default):
                if default is None:
                    return 0  # without a case there is nothing
                return min(self.least_of(each) for each in (default, *(each for _, each in cases)))
        return 0

    def least_of_element(self, field: Field) -> int:
        """The fewest bytes that one element of a repeated field can take."""
        if isinstance(field.size, Literal) and isinstance(field.size.value, int):
            return field.size.value
        return self.least_of(field.type) if field.size is None else 0

    def least_of(self, kind: TypeRef) -> int:
        """The fewest bytes that one element of this type can take."""
        return self.least(Field("", kind, _NOWHERE)) if isinstance(kind, (Prim, Ref, Switch)) else 0


def _nulls(versions: VersionRange | None, version: int | None) -> VersionRange | None:
    """None if null is allowed, or nothing is reported about it; an empty range where it is refused."""
    if versions is None or version is None or version in versions:
        return None
    return VersionRange.parse("none")


def _is_always(field: Field) -> bool:
    return field.condition is None and field.repeat is None


def _plain(valid: Valid) -> Valid:
    """`expr: _ >= 1` is `min: 1`."""
    match valid:
        case Valid(None, None, None, None, Binary(">=", Name("_"), Literal() as low)):
            return Valid(min=low)
        case Valid(None, None, None, None, Binary("<=", Name("_"), Literal() as high)):
            return Valid(max=high)
    return valid


def _holds(valid: Valid, value: int | bool) -> bool:
    """Whether a value that is known to be there is surely allowed."""
    rules = (("==", valid.eq), (">=", valid.min), ("<=", valid.max))
    if any(
        rule is not None and fold(Binary(op, Literal(value), rule)) != Literal(True) for op, rule in rules
    ):
        return False
    return (valid.any_of is None or Literal(value) in valid.any_of) and valid.expr is None


_NOWHERE = Place("", 0, 0)
