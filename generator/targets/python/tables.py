"""The tables for the native reader and writer of messages: the fields of each class in wire order.

A row is a field: its attribute, its wire type, and its versions, if not all have it. `kodec.runtime.messages`
defines rows. The table has all classes of a module; a module without a table is read and written in Python
alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kodec.generator.plan.steps import (
    Chars,
    Element,
    Fixed,
    FixedNumber,
    Many,
    Nested,
    Octets,
    One,
    Require,
    Rule,
    Size,
    Step,
    Tagged,
    TagPlan,
    Unit,
    Varint,
    When,
)
from kodec.generator.plan.values import (
    SECTION,
    Binary,
    Constant,
    EnumOf,
    FieldOf,
    ListOf,
    Maybe,
    Type,
    Value,
    known,
)
from kodec.generator.schema.model import Schema
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.names import attribute
from kodec.generator.wire import ENCODINGS, VARINTS, WIRE

__all__ = ["is_of_messages", "message_tables"]

# wire types of lengths
_LENGTHS = frozenset(
    name for name, row in WIRE.items() if row.kind == "integer" and row.bits <= 32 and not row.zigzag
)
_MOST_TAGS = 64
_Known = Mapping[str, int | bool]


class _Beyond(Exception):
    """The schema has a construct that the native code does not support."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A field in one version: `kind` and `flags` as Python."""

    name: str
    kind: str
    flags: str = ""


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of one layout: how it is read, and its further condition."""

    name: str
    type: Type
    how: Element | Many | Tagged | None
    rules: tuple[Rule, ...] = ()
    guard: Value | None = None
    refuses_null: bool = False


def is_of_messages(schema: Schema) -> bool:
    """Whether the schema is that of a message: it has versions, or a number among others."""
    return bool(schema.root.versions) or schema.root.message is not None


def message_tables(back: ModelIndex, schema: Schema) -> dict[str, list[str]]:
    """The rows of each class; empty if the schema has no messages, or unsupported constructs."""
    if not is_of_messages(schema):
        return {}
    tables = _Tables(back, schema)
    units = [unit for unit in back.units(schema) if unit.stands_for is None]
    try:
        return {back.classes[unit.name]: tables.rows(unit) for unit in units}
    except _Beyond:
        return {}


class _Tables:
    def __init__(self, back: ModelIndex, schema: Schema) -> None:
        self.back = back
        self.program = back.program
        self.schema = schema

    def rows(self, unit: Unit) -> list[str]:
        # the methods of the base class have it as `version`
        if any(each.name != "version" or unit.versions is None for each in unit.parameters):
            raise _Beyond
        if unit.peeks or unit.packed is not None or not unit.fields:
            raise _Beyond
        versions: list[int | None] = [None] if unit.versions is None else list(unit.versions)
        found: dict[_Entry, list[int | None]] = {}
        for version in versions:
            for entry in self._entries(unit, version):
                found.setdefault(entry, []).append(version)
        if sum("tag=" in entry.flags for entry in found) > _MOST_TAGS:
            raise _Beyond
        self._check_version(found, len(versions))
        order = {attribute(each.name): index for index, each in enumerate(unit.fields)}
        return [
            f'messages.Wire("{entry.name}", {entry.kind}{span}{entry.flags})'
            for entry in sorted(found, key=lambda entry: order[entry.name])
            for span in _spans(found[entry], versions)
        ]

    @staticmethod
    def _check_version(found: dict[_Entry, list[int | None]], count: int) -> None:
        """The fields before a version are the same in all versions, and of fixed width."""
        entries = list(found)
        stored = [entry for entry in entries if "is_version" in entry.flags]
        for entry in entries[: entries.index(stored[0])] if stored else ():
            if len(found[entry]) != count or "Counted" in entry.kind:
                raise _Beyond
        if stored and (
            len(stored) > 1 or not any(f'"{wire}"' in stored[0].kind for wire in _LENGTHS - set(VARINTS))
        ):
            raise _Beyond

    # -- one version ------------------------------------------------------------------------------

    def _entries(self, unit: Unit, version: int | None) -> Iterator[_Entry]:
        names: dict[str, int | bool] = {} if version is None else {unit.version_name: version}
        fields = list(self._fields(unit.steps, names))
        place = 0
        while place < len(fields):
            spec = fields[place]
            name = attribute(spec.name)
            flags = ", ignorable=True" if unit.field(spec.name).droppable else ""
            if unit.version is not None and spec.name == unit.version_name:
                flags += ", is_version=True"
            if isinstance(spec.how, Tagged):
                for tag in spec.how.tags:
                    if tag.versions is None or (version is not None and version in tag.versions):
                        yield self._tag(unit, tag, version, names)
                yield _Entry(name, '"tags"', flags)
            elif any(each.name == spec.name for each in unit.derived):
                place += 1
                kind = self._behind(unit, spec, fields[place : place + 1], version, names)
                name = attribute(fields[place].name)
                flags = ", ignorable=True" if unit.field(fields[place].name).droppable else ""
                yield _Entry(name, kind, flags)
            else:
                if spec.guard is not None or isinstance(spec.how, Many):
                    raise _Beyond
                yield _Entry(name, self._kind(spec, version, names), flags)
            place += 1

    def _tag(self, unit: Unit, tag: TagPlan, version: int | None, names: _Known) -> _Entry:
        refuses = any(known(rule.test, names) != Constant(True, rule.test.type) for rule in tag.rules)
        kind = self._kind(_Field(tag.name, tag.type, tag.element, refuses_null=refuses), version, names)
        ignorable = ", ignorable=True" if unit.field(tag.name).droppable else ""
        return _Entry(attribute(tag.name), kind, f"{ignorable}, tag={tag.number}")

    def _fields(self, steps: tuple[Step, ...], names: _Known, guard: Value | None = None) -> Iterator[_Field]:
        """The fields of the layout where `names` are known, in order."""
        refused = {
            each.name
            for each in steps
            if isinstance(each, Require) and not isinstance(known(each.rule.test, names), Constant)
        }
        for step in steps:
            match step:
                case When(test, inner):
                    found = known(test, names)
                    if not isinstance(found, Constant):
                        if guard is not None:
                            raise _Beyond
                        for each in self._fields(inner, names, found):
                            yield _Field(
                                each.name, each.type, each.how, each.rules, found, each.name in refused
                            )
                    elif found.value:
                        yield from self._fields(inner, names, guard)
                case Fixed():
                    yield from self._in_run(step)
                case One(name, kind, element, rules):
                    yield _Field(name, kind, element, rules, guard, name in refused)
                case Many(name, kind):
                    yield _Field(name, kind, step, step.rules, guard, name in refused)
                case Tagged(name):
                    yield _Field(name, SECTION, step)
                case Require():
                    pass
                case _:
                    raise _Beyond

    @staticmethod
    def _in_run(step: Fixed) -> Iterator[_Field]:
        last = ""
        objects = {path[0]: unit for path, unit in step.objects if len(path) == 1}
        for slot in step.slots:
            if slot.path[0] in objects:
                if slot.path[0] != last:
                    yield _Field(slot.path[0], slot.type, Nested(objects[slot.path[0]], ()))
            elif slot.wire is None:
                raise _Beyond
            else:
                yield _Field(slot.path[0], slot.type, FixedNumber(slot.wire, slot.order), slot.rules)
            last = slot.path[0]

    def _behind(
        self, unit: Unit, length: _Field, following: list[_Field], version: int | None, names: _Known
    ) -> str:
        """The kind of a field with its length, count or presence right in front."""
        derived = next(each for each in unit.derived if each.name == length.name)
        wire = _wire(length.how)
        if wire not in _LENGTHS or length.guard is not None or isinstance(length.type, EnumOf):
            raise _Beyond
        if not following or derived.of != following[0].name or derived.kind in ("last", "most"):
            raise _Beyond
        plus = 0
        if derived.plus is not None:
            if not isinstance(derived.plus, Constant) or derived.plus.value not in (0, 1):
                raise _Beyond
            plus = int(derived.plus.value)
        spec = following[0]
        if derived.kind == "presence":
            # 1 where it is there; where null is, says the sign
            plus = 0 if WIRE[wire].signed else 1
        null = spec.guard is not None
        if null and (_bound(spec.guard) != (length.name, plus) or derived.null != plus - 1):
            raise _Beyond
        if derived.null is not None and not null:
            raise _Beyond
        null = null and not spec.refuses_null
        for rule in length.rules:
            bound = rule.wanted[0] if rule.need == "least" else None
            if (
                not isinstance(bound, Constant)
                or not isinstance(bound.value, int)
                or bound.value > plus
                or null
            ):
                raise _Beyond
        if spec.rules or isinstance(spec.type, EnumOf):
            raise _Beyond
        match derived.kind, spec.how:
            case "presence", Nested(size=None, fills=False) if spec.guard is not None and null:
                return _counted("object", wire, plus, null, self._object(spec.how, version, names))
            case "count", Many(count=size, element=element, until=None) if _is_measure(
                size, length, plus, names
            ):
                item = _Field("", _item(spec.type), element)
                return _counted("list", wire, plus, null, self._kind(item, version, names))
            case "length", Octets(size) if _is_measure(size, length, plus, names):
                return _counted("bytes", wire, plus, null)
            case "length", Chars(size, encoding) if _is_measure(size, length, plus, names):
                form = ENCODINGS[encoding]
                # text is read as UTF-8 by Python, which keeps other bytes
                if (form.python, form.errors) == ("utf-8", "surrogateescape"):
                    return _counted("text", wire, plus, null)
        raise _Beyond

    # -- one value --------------------------------------------------------------------------------

    def _kind(self, spec: _Field, version: int | None, names: _Known) -> str:
        if isinstance(spec.type, EnumOf) or spec.guard is not None:
            raise _Beyond
        wire = _wire(spec.how)
        if wire:
            return _only(wire, spec.rules)
        if spec.rules or not isinstance(spec.how, Nested) or spec.how.size is not None or spec.how.fills:
            raise _Beyond
        target = self.program.units[spec.how.unit]
        if target.stands_for is None:
            return self._object(spec.how, version, names)
        if target.versions is not None or target.peeks:
            raise _Beyond
        given: dict[str, int | bool] = {}
        for param, argument in zip(target.parameters, spec.how.arguments, strict=True):
            found = known(argument, names)
            if not isinstance(found, Constant) or not isinstance(found.value, bool):
                raise _Beyond
            given[param.name] = found.value
        fields = list(self._fields(target.steps, given))
        if len(fields) == 1:
            return self._kind(fields[0], version, given)
        if len(fields) != 2 or all(each.name != fields[0].name for each in target.derived):
            raise _Beyond
        if spec.refuses_null:
            last = fields[1]
            fields[1] = _Field(last.name, last.type, last.how, last.rules, last.guard, True)
        return self._behind(target, fields[0], fields[1:], version, given)

    def _object(self, element: Nested, version: int | None, names: _Known) -> str:
        """The class of a type of this schema, which has the same version as its holder."""
        target = self.program.units[element.unit]
        if target.stands_for is not None or element.unit.partition("::")[0] != self.schema.id:
            raise _Beyond
        if target.version is not None:
            # its own bytes contain its version
            raise _Beyond
        for argument in element.arguments:
            found = known(argument, names)
            if version is None or not isinstance(found, Constant) or found.value != version:
                raise _Beyond
        return self.back.classes[element.unit]


def _wire(how: Element | Many | Tagged | None) -> str:
    """The name of a wire type; empty for other types, or another byte order than big-endian."""
    if isinstance(how, FixedNumber):
        return "" if how.order == "le" else how.wire
    return how.wire if isinstance(how, Varint) else ""


def _only(wire: str, rules: tuple[Rule, ...]) -> str:
    """A wire type, with the allowed number if there is only one."""
    if not rules:
        return f'"{wire}"'
    wanted = rules[0].wanted[0] if rules[0].need == "equal" else None
    if len(rules) > 1 or not isinstance(wanted, Constant) or not isinstance(wanted.value, int):
        raise _Beyond
    if WIRE[wire].bits > 32 or wire in VARINTS:
        raise _Beyond
    return f'messages.Only("{wire}", {int(wanted.value)})'


def _counted(what: str, wire: str, plus: int, null: bool, element: str = "") -> str:
    parts = [f'"{what}"', f'"{wire}"']
    parts += [element] if element else []
    parts += [f"plus={plus}"] if plus else []
    parts += ["null=True"] if null else []
    return f"messages.Counted({', '.join(parts)})"


def _bound(test: Value | None) -> tuple[str, int] | None:
    """(field, bound) of `field >= bound`, also where something is taken from the field."""
    match test:
        case Binary(">=", FieldOf(name), Constant(int() as bound)):
            return name, bound
        case Binary(">=", Binary("-", FieldOf(name), Constant(int() as less)), Constant(int() as bound)):
            return name, bound + less
    return None


def _is_measure(size: Size | None, length: _Field, plus: int, names: _Known) -> bool:
    """Whether a size is the length in front."""
    found = known(size.value, names) if size is not None else None
    match found:
        case FieldOf(name):
            return name == length.name and not plus
        case Binary("-", FieldOf(name), Constant(less)):
            return name == length.name and less == plus
    return False


def _item(kind: Type) -> Type:
    kind = kind.of if isinstance(kind, Maybe) else kind
    assert isinstance(kind, ListOf)
    return kind.item


def _spans(found: list[int | None], versions: list[int | None]) -> Iterator[str]:
    """The first and the last of consecutive versions, as arguments; none for all versions."""
    if found == versions:
        yield ""
        return
    first = last = found[0]
    for version in found[1:]:
        assert version is not None and last is not None
        if version != last + 1:
            yield f", {first}, {last}"
            first = version
        last = version
    yield f", {first}, {last}"
