"""Values of streamed units as Python. Operations that can fail while bytes are read are calls that report
it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from kodec.generator.plan.stream_values import is_real
from kodec.generator.plan.values import (
    OCTETS,
    TEXT,
    Around,
    Binary,
    Cast,
    Computed,
    Constant,
    Counter,
    Decoded,
    Digits,
    EdgeOf,
    ElementOf,
    Enumerated,
    EnumOf,
    Grouped,
    Listed,
    ListOf,
    Named,
    Number,
    ObjectOf,
    Required,
    Reversed,
    Shown,
    StreamAsked,
    StreamOf,
    Substring,
    This,
    Type,
    Value,
)
from kodec.generator.targets.python.context import Context
from kodec.generator.targets.python.expressions import PythonSpelling
from kodec.generator.targets.python.names import attribute
from kodec.generator.wire import ENCODINGS

__all__ = ["Expressions", "Where"]

_CALLS = {"last": "lambda items: items[-1]", "min": "min", "max": "max"}
_CLASSES = {"text": "str", "octets": "bytes"}


@dataclass(frozen=True, slots=True)
class Where:
    """The place of a value in the code, with the names there.

    Attributes:
        item, index: the element of a list or the value that a rule speaks of, and its number.
        stream: the attribute that has the stream of another object.
        reading: whether an object is read there, of which fields may be missing still.
        target: the local that an instance is read into; empty if a field is an attribute.
        part: the local with the stream that holds all that a field can be, if there is one.
        each: whether the elements of the lists that can be are given one by one.
    """

    item: str = "item"
    index: str = "0"
    stream: str = "_stream"
    reading: bool = True
    target: str = ""
    part: str = ""
    each: bool = False

    def within(self, part: str) -> Where:
        """The same in a field whose bytes are all in the stream `part`."""
        return replace(self, part=part)

    def of_element(self) -> Where:
        """The same for an element of a list."""
        return replace(self, item="item", index="i")

    def of_value(self, item: str) -> Where:
        """The same for the rules of a value."""
        return replace(self, item=item)


@dataclass(frozen=True, kw_only=True)
class Expressions(PythonSpelling):
    """Values of a streamed unit; `where` is their place in the code."""

    module: Context
    where: Where

    @classmethod
    def at(cls, module: Context, where: Where) -> Self:
        return cls(field=lambda name: f"self.{attribute(name)}", item=where.item, module=module, where=where)

    def spelled(self, value: Value) -> tuple[int, str]:
        atom = self.binds.atom
        match value:
            case Constant(int(number), EnumOf(enum)):
                return atom, _member(self.module, enum, number)
            case Counter():
                return atom, self.where.index
            case This():
                return atom, "self"
            case Around(None, name):
                return atom, f"self._{name}"
            case StreamOf(None, at_hand):
                return atom, "io" if at_hand else "self._stream"
            case Around(of, name) if of is not None:
                return atom, f"{self(of, atom)}._{name}"
            case StreamOf(of) if of is not None:
                return atom, f"{self(of, atom)}.{self.where.stream}"
            case StreamAsked(of, name):
                return atom, f"{self(of, atom)}.{name}"
            case Required(of, name, reading, argument):
                if reading and not self.where.reading:
                    return self.spelled(of)
                return atom, f'self.{"_argument" if argument else "_given"}({self(of)}, "{name}")'
            case Number(of, _, base):
                if of.type == TEXT:
                    return atom, f"self._number({self(of)}{'' if base is None else f', {self(base)}'})"
                return atom, f"{'self._whole' if is_real(of.type) else 'int'}({self(of)})"
            case Enumerated(of, EnumOf(enum)):
                return atom, f"member_of({_class_of_enum(self.module, enum)}, {self(of)})"
            case Shown(of):
                return atom, f"str({self(of)})"
            case Decoded(of, encoding):
                form = ENCODINGS[encoding]
                return atom, f'self._text({self(of, atom)}, "{form.python}", "{form.errors}")'
            case Digits(of, base, like):
                return atom, f"self._digits({self(of)}, {base}, {self(like)})"
            case Grouped(of, _, _, _, bits, held, member):
                names = f'"{attribute(held)}", "{attribute(member)}"'
                return atom, f"self._grouped({self(of)}, {bits}, {names})"
            case Computed():
                return atom, self._computed(value)
            case Reversed(of):
                return atom, f"{self(of, atom)}[::-1]"
            case Substring(of, start, stop):
                return atom, f"{self(of, atom)}[{self(start)} : {self(stop)}]"
            case Listed(items, kind):
                made = f"[{', '.join(map(self, items))}]"
                return atom, f"bytes({made})" if kind == OCTETS else made
            case ElementOf(of, index):
                return atom, f"self._item({self(of)}, {self(index)})"
            case EdgeOf(of, name):
                return atom, f"self._edge({_CALLS[name]}, {self(of)})"
            case Cast(of, name, kind):
                if kind == OCTETS and isinstance(of.type, ListOf):
                    return atom, f"self._bytes({self(of)})"
                return atom, f'self._as({self(of)}, {class_of_cast(self.module, kind)}, "{name}")'
            case Binary(op, left, right) if value.fails and op in ("/", "%"):
                return atom, f"self.{'_divide' if op == '/' else '_modulo'}({self(left)}, {self(right)})"
            case Binary(op, left, right) if value.fails:
                return atom, f"self._shifted({self(left)}, {'-' * (op == '>>')}{self(right, atom)})"
        return super().spelled(value)

    def _computed(self, value: Computed) -> str:
        """A call that computes something of bytes that are there."""
        owner = "self" if value.of is None else self(value.of)
        given = [f'"{value.function}"', owner, f'"{attribute(value.first)}"', f'"{attribute(value.last)}"']
        if value.byte is not None:
            given.append(f'own="{attribute(value.own)}", byte={value.byte}')
        if value.unpack:
            given.append(f'unpack="{value.unpack}"')
        if value.where is not None:
            inner = type(self).at(self.module, self.where.of_value("each"))
            given.append(f"where=lambda each: {inner(value.where)}")
        return f"self._computed({', '.join(given)})"


def _member(module: Context, enum: str, number: int) -> str:
    """A value of an enum by its name."""
    ident = next(each.id for each in module.model.enum(enum).items if each.value == number)
    return f"{_class_of_enum(module, enum)}.{module.enum_names(enum)[ident]}"


def _class_of_enum(module: Context, enum: str) -> str:
    return module.imported(enum, module.back.enum_class(enum))


def class_of_cast(module: Context, kind: Type) -> str:
    """The class that a cast asks for."""
    match kind:
        case ObjectOf(unit):
            return module.class_of(unit)
        case Named(name):
            return _CLASSES[name]
        case ListOf():
            return "list"
    return "int"
