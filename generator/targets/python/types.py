"""The Python type and the default of each field."""

from __future__ import annotations

from dataclasses import dataclass

from kodec.generator.plan.steps import Choice, FieldPlan, One, SetNull, Unit, steps_in
from kodec.generator.plan.values import (
    FLAG,
    IDENTITY,
    OCTETS,
    SECTION,
    TEXT,
    Constant,
    EnumOf,
    ListOf,
    Maybe,
    Named,
    ObjectOf,
    OneOf,
    Real,
    Type,
    Whole,
)
from kodec.generator.targets.python.context import Context
from kodec.generator.targets.python.names import local

__all__ = ["FieldText", "Types"]

_MOST_ZEROS = 1 << 16
_PLAIN = {FLAG: "bool", TEXT: "str", OCTETS: "bytes", IDENTITY: "UUID", SECTION: "list[tuple[int, bytes]]"}
_ZEROS = {FLAG: "False", TEXT: '""', IDENTITY: "UUID(int=0)", SECTION: "[]"}


@dataclass(frozen=True, slots=True)
class FieldText:
    """A field as Python: its type, that of one element, its default, and its value if it is not read.

    `required` tells whether a new object does not have it.
    """

    annotation: str
    single: str
    default: str
    absent: str
    required: bool = False

    @property
    def initial(self) -> str:
        """The default in a dataclass: each object gets its own list or object."""
        if self.required:
            return "REQUIRED"
        if self.default == "[]":
            return "field(default_factory=list)"
        if self.default.endswith("()"):
            return f"field(default_factory={self.default.removesuffix('()')})"
        return self.default


class Types(Context):
    """Python types, defaults, and the attributes of objects."""

    def field_texts(self, unit: Unit) -> dict[str, FieldText]:
        """Every field of a unit, and every known one of its tagged section."""
        sizes = {each.path: each.size or 0 for each in self.back.places.of(unit.steps)}
        lacking = {each.name for each in steps_in(unit.steps) if isinstance(each, SetNull)}
        found: dict[str, FieldText] = {}
        for each in unit.fields:
            kind = self._read(unit, each)
            texts = [
                self.zero(kind, sizes.get(each.name, 0)) if value is None else self.constant(value)
                for value in (each.default, each.absent)
            ]
            text = self.annotation(kind)
            if ("None" in texts or each.name in lacking) and not text.endswith("None"):
                text += " | None"
            single = self.annotation(kind.item) if isinstance(kind, ListOf) else self.annotation(kind)
            required = unit.name.partition("::")[0] not in self.back.zeroed
            found[each.name] = FieldText(text, single, texts[0], texts[1], required)
        return found

    def _read(self, unit: Unit, spec: FieldPlan) -> Type:
        """The type of a read value: it may be stored bytes in place of content, and None without a case."""
        kind = spec.type
        if unit.packed is not None and unit.packed.name == spec.name:
            bare = kind.of if isinstance(kind, Maybe) else kind
            union = OneOf(bare.types if isinstance(bare, OneOf) else (bare, OCTETS))
            return Maybe(union) if isinstance(kind, Maybe) else union
        if isinstance(kind, OneOf):
            step = next(
                each for each in steps_in(unit.steps) if isinstance(each, One) and each.name == spec.name
            )
            if isinstance(step.element, Choice) and step.element.may_lack:
                return Maybe(OneOf(tuple(each for each in kind.types if each != OCTETS)))
        return kind

    def kept(self, unit: str) -> list[str]:
        """The fields that objects of a unit have."""
        return [each.name for each in self.program.units[unit].fields if each.kept]

    def parameters(self, unit: Unit) -> list[tuple[str, str]]:
        """The parameters of a unit: names and types."""
        return [(local(each.name), self.type_text(each.type)) for each in unit.parameters]

    def function(self, verb: str, unit: str) -> str:
        """The function that reads or writes a unit."""
        return self.imported(unit, f"{verb}_{self.back.function(unit)}")

    def enum_of(self, enum: str) -> str:
        """The class of an enum."""
        return self.imported(enum, self.back.enum_class(enum))

    def type_text(self, kind: Type) -> str:
        """The class of a value."""
        match kind:
            case EnumOf():
                return "int"
            case ListOf():
                return "list"
            case Maybe(of):
                return self.type_text(of)
        return self.annotation(kind)

    def annotation(self, kind: Type) -> str:
        """A type as annotations have it."""
        match kind:
            case Whole():
                return "int"
            case EnumOf(enum):
                return f"{self.enum_of(enum)} | int"
            case Real():
                return "float"
            case ObjectOf(unit):
                return self.class_of(unit)
            case ListOf(item):
                return f"list[{self.annotation(item)}]"
            case Maybe(of):
                text = self.annotation(of)
                return text if text.endswith("None") else f"{text} | None"
            case OneOf(kinds):
                return " | ".join(dict.fromkeys(self.annotation(each) for each in kinds))
            case Named():
                return _PLAIN[kind]
        raise TypeError(kind)

    def constant(self, value: Constant) -> str:
        """An explicit default."""
        kind = value.type.of if isinstance(value.type, Maybe) else value.type
        if isinstance(kind, EnumOf):
            items = self.model.enum(kind.enum).items
            name = next((each.id.upper() for each in items if each.value == value.value), None)
            if name is not None and value.value is not None:
                return f"{self.enum_of(kind.enum)}.{name}"
        return repr(value.value)

    def zero(self, kind: Type, size: int) -> str:
        """The value of a new object without a default: empty, or zeros of a fixed size."""
        match kind:
            case Whole() | EnumOf():
                return "0"
            case Real():
                return "0.0"
            case ObjectOf(unit):
                return f"{self.class_of(unit)}()"
            case ListOf():
                return "[]"
            case OneOf(kinds):
                # content that is not a list exists only if it is given
                listed = [each for each in kinds if isinstance(each, ListOf)]
                return self.zero(listed[0] if listed else OCTETS if OCTETS in kinds else kinds[0], 0)
            case Maybe(of):
                return self.zero(of, size)
            case Named("octets"):
                # made when the module is imported, so a large one must be given by the caller
                return f"bytes({size})" if 0 < size <= _MOST_ZEROS else 'b""'
            case Named():
                return _ZEROS[kind]
        raise TypeError(kind)
