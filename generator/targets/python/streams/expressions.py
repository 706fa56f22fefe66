"""Values of streamed units as Python. What can fail while bytes are read is a call that says so."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kodec.generator.plan.stream_values import is_real
from kodec.generator.plan.values import (
    OCTETS,
    TEXT,
    Around,
    Binary,
    Cast,
    Constant,
    Counter,
    Decoded,
    EdgeOf,
    ElementOf,
    Enumerated,
    EnumOf,
    FieldOf,
    Item,
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
from kodec.generator.targets.python.expressions import TERNARY, TIGHT, common_text
from kodec.generator.targets.python.names import attribute
from kodec.generator.wire import ENCODINGS

__all__ = ["Where", "text_of"]

_CALLS = {"last": "lambda items: items[-1]", "min": "min", "max": "max"}
_CLASSES = {"text": "str", "octets": "bytes"}


@dataclass(frozen=True, slots=True)
class Where:
    """Where a value stands in the code, and what is called how there.

    Attributes:
        item, index: the element of a list or the value that a rule speaks of, and its number.
        stream: the attribute that has the stream of another object.
        reading: whether an object is read there, of which fields may be missing still.
        target: the local that an instance is read into; empty where a field is an attribute.
        part: the local with the stream that holds all that a field can be, where there is one.
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
        """The same in a field of which all that it can be is in the stream `part`."""
        return replace(self, part=part)

    def of_element(self) -> Where:
        """The same for an element of a list."""
        return replace(self, item="item", index="i")

    def of_value(self, item: str) -> Where:
        """The same for the rules of a value."""
        return replace(self, item=item)


def text_of(value: Value, module: Context, at: Where, binds: int = TERNARY) -> str:
    """A value as Python, in parentheses where it binds less than `binds`."""
    own, text = _text(value, module, at)
    return text if own >= binds else f"({text})"


def _text(value: Value, module: Context, at: Where) -> tuple[int, str]:
    def sub(part: Value, binds: int = TERNARY) -> str:
        return text_of(part, module, at, binds)

    match value:
        case Constant(int(number), EnumOf(enum)):
            return TIGHT, _member(module, enum, number)
        case FieldOf(name):
            return TIGHT, f"self.{attribute(name)}"
        case Item():
            return TIGHT, at.item
        case Counter():
            return TIGHT, at.index
        case This():
            return TIGHT, "self"
        case Around(None, name):
            return TIGHT, f"self._{name}"
        case StreamOf(None, at_hand):
            return TIGHT, "io" if at_hand else "self._stream"
        case Around(of, name) if of is not None:
            return TIGHT, f"{sub(of, TIGHT)}._{name}"
        case StreamOf(of) if of is not None:
            return TIGHT, f"{sub(of, TIGHT)}.{at.stream}"
        case StreamAsked(of, name):
            return TIGHT, f"{sub(of, TIGHT)}.{name}"
        case Required(of, name, reading, argument):
            if reading and not at.reading:
                return _text(of, module, at)
            return TIGHT, f'self.{"_argument" if argument else "_given"}({sub(of)}, "{name}")'
        case Number(of, _, base):
            if of.type == TEXT:
                return TIGHT, f"self._number({sub(of)}{'' if base is None else f', {sub(base)}'})"
            return TIGHT, f"{'self._whole' if is_real(of.type) else 'int'}({sub(of)})"
        case Enumerated(of, EnumOf(enum)):
            return TIGHT, f"member_of({module.imported(enum, module.back.enum_class(enum))}, {sub(of)})"
        case Shown(of):
            return TIGHT, f"str({sub(of)})"
        case Decoded(of, encoding):
            form = ENCODINGS[encoding]
            return TIGHT, f'self._text({sub(of, TIGHT)}, "{form.python}", "{form.errors}")'
        case Reversed(of):
            return TIGHT, f"{sub(of, TIGHT)}[::-1]"
        case Substring(of, start, stop):
            return TIGHT, f"{sub(of, TIGHT)}[{sub(start)} : {sub(stop)}]"
        case Listed(items, kind):
            made = f"[{', '.join(map(sub, items))}]"
            return TIGHT, f"bytes({made})" if kind == OCTETS else made
        case ElementOf(of, index):
            return TIGHT, f"self._item({sub(of)}, {sub(index)})"
        case EdgeOf(of, name):
            return TIGHT, f"self._edge({_CALLS[name]}, {sub(of)})"
        case Cast(of, name, kind):
            if kind == OCTETS and isinstance(of.type, ListOf):
                return TIGHT, f"self._bytes({sub(of)})"
            return TIGHT, f'self._as({sub(of)}, {_class(module, kind)}, "{name}")'
        case Binary(op, left, right) if value.fails and op in ("/", "%"):
            return TIGHT, f"self.{'_divide' if op == '/' else '_modulo'}({sub(left)}, {sub(right)})"
        case Binary(op, left, right) if value.fails:
            return TIGHT, f"self._shifted({sub(left)}, {'-' * (op == '>>')}{sub(right, TIGHT)})"
    return common_text(value, sub)


def _member(module: Context, enum: str, number: int) -> str:
    """A value of an enum by its name."""
    name = module.imported(enum, module.back.enum_class(enum))
    ident = next(each.id for each in module.model.enum(enum).items if each.value == number)
    return f"{name}.{module.enum_names(enum)[ident]}"


def _class(module: Context, kind: Type) -> str:
    """The class that a cast asks for."""
    match kind:
        case ObjectOf(unit):
            return module.class_of(unit)
        case Named(name):
            return _CLASSES[name]
        case ListOf():
            return "list"
    return "int"
