"""Streamed units as Rust: statements, operations, and types of what they read.

The objects of an input belong to `Objects`, which an application owns; they refer to each other as `&'a`. A
field is a cell, as expressions ask for objects while these are read; an application calls methods. What may
not be there yet is an `Option`: operations are spelled as a value, which fails then, or as the option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kodec.generator.code.printing import CodePrinter, StreamPackage
from kodec.generator.code.typed import (
    LONG,
    ULONG,
    Code,
    Each,
    InstanceCode,
    Lacking,
    Set,
    UnitCode,
    codes_in,
    is_number,
    is_scalar,
)
from kodec.generator.plan.values import (
    FLAG,
    OBJECT,
    OCTETS,
    STREAM,
    TEXT,
    EnumOf,
    ListOf,
    Maybe,
    ObjectOf,
    OneOf,
    Real,
    Type,
    Whole,
    bare,
)
from kodec.generator.targets.rust.elements import number_type
from kodec.generator.targets.rust.expressions import Types, byte_string, literal
from kodec.generator.targets.rust.names import Names, method
from kodec.generator.wire import WIRE

__all__ = ["StreamPrinter", "StreamTypes", "lacking_of", "processes_of"]

_PLAIN: dict[Type, str] = {STREAM: "&'a st::Stream<'a>", OBJECT: "crate::Node<'a>"}
# functions of the runtime that cannot fail, as operators
_OPERATORS = {
    "both": "&",
    "both_unsigned": "&",
    "either": "|",
    "differing": "^",
    "plus_real": "+",
    "minus_real": "-",
    "times_real": "*",
}
_UNARY = {"inverted": "!", "negated_real": "-"}
_SURE = {"ago", "align", "rest", "remaining", "inside"}
_MOST_PARAMETERS = 5


class StreamTypes(Types):
    """The Rust types of values of streamed schemas: objects are references."""

    def __init__(self, names: Names, streams: StreamPackage) -> None:
        super().__init__(names, streams.program)
        self.declared: dict[str, list[OneOf]] = {}
        for code in streams.codes.values():
            members = [*code.parameters, *code.fields, *((each.name, each.type) for each in code.instances)]
            found = [each for name, kind in members for each in self.declare(kind, code.unit.name, name)]
            for each in codes_in((code.body, code.instances, code.checks)):
                found += self.declare(each.type, code.unit.name, "value")
            self.declared[code.unit.name] = found

    def of(self, kind: Type, lifetime: str = "'a") -> str:
        match kind:
            case ListOf(item):
                return f"st::List<{self.of(item)}>"
            case ObjectOf(unit):
                return f"&'a crate::{self.names.type(unit)}<'a>"
        return _PLAIN.get(kind) or super().of(kind, lifetime)

    def public(self, kind: Type) -> str:
        """The type of a field for an application: a list is a slice."""
        text = self.of(kind)
        inner = bare(kind)
        if not isinstance(inner, ListOf):
            return text
        slice_ = f"&[{self.of(inner.item)}]"
        return f"Option<{slice_}>" if isinstance(kind, Maybe) else slice_

    def borrows(self, kind: Type) -> bool:
        return isinstance(kind, ObjectOf) or kind in _PLAIN or super().borrows(kind)

    def is_copy(self, kind: Type) -> bool:
        kind = bare(kind)
        if isinstance(kind, OneOf):
            return all(map(self.is_copy, kind.types))
        return not isinstance(kind, ListOf)

    def variant(self, kind: Type) -> str:
        if kind in _PLAIN:
            return "Stream" if kind == STREAM else "Node"
        return self.names.type(kind.unit) if isinstance(kind, ObjectOf) else super().variant(kind)

    def stored(self, kind: Type) -> str:
        """The type of the cell of a field."""
        if isinstance(bare(kind), ListOf):
            return f"st::OnceCell<{self.of(bare(kind))}>"
        return f"st::Cell<{self.of(kind) if self.is_plain(kind) else f'Option<{self.of(bare(kind))}>'}>"

    def is_plain(self, kind: Type) -> bool:
        """Whether a field has a value of its own before it is read."""
        return is_scalar(kind)


class StreamPrinter(CodePrinter):
    """One streamed unit for its template."""

    indent = "    "
    end = ";"

    def __init__(
        self, types: StreamTypes, code: UnitCode, comments: dict[str, str], *, is_held: bool
    ) -> None:
        self.types = types
        self.code = code
        self.is_held = is_held
        self.type = types.names.type(code.unit.name)
        self.comments = comments

    @property
    def members(self) -> list[tuple[str, Type]]:
        return [*self.code.parameters, *self.code.fields]

    def method(self, name: str) -> str:
        return method(name)

    def parameter(self, name: str) -> str:
        return f"given_{name}"

    def declared(self, kind: Type, name: str) -> str:
        return f"{name}: {self.types.of(kind)}"

    @property
    def has_many(self) -> bool:
        """Whether it has more parameters than a function of Rust should have."""
        return len(self.code.parameters) > _MOST_PARAMETERS

    def initial(self, name: str, kind: Type) -> str:
        """The cell of a field in a new object."""
        if name not in dict(self.code.parameters):
            return "Default::default()"
        text = self.parameter(name)
        if isinstance(bare(kind), ListOf):
            return f"st::listed({text})" if isinstance(kind, Maybe) else f"{text}.into()"
        wrapped = self.types.is_plain(kind) or isinstance(kind, Maybe)
        return f"st::Cell::new({text if wrapped else f'Some({text})'})"

    def shown(self, name: str, kind: Type) -> str:
        """What a method returns for a field."""
        cell = f"self.{method(name)}"
        if isinstance(bare(kind), ListOf):
            text = f"{cell}.get().map(|found| &found[..])"
            return text if isinstance(kind, Maybe) else f"{text}.unwrap_or_default()"
        plain = self.types.is_plain(kind) or isinstance(kind, Maybe)
        return f"{cell}.get()" if plain else f"st::read({cell}.get())"

    def result(self, code: Code) -> str:
        """What a function returns for a value."""
        text = self(code)
        is_call = text.endswith("?") and not self.is_loose(code) and text[0] not in "!-"
        return text.removesuffix("?") if is_call else f"Ok({text})"

    def bare(self, kind: Type) -> str:
        return self.types.of(bare(kind))

    def found(self, each: InstanceCode) -> str:
        """What an instance returns that was kept."""
        return "Some(found)" if isinstance(each.type, Maybe) else "found"

    def keeping(self, each: InstanceCode) -> str:
        """What a computed instance returns that is kept from now on."""
        call = f"self.{self.kept(each.name)}.keep"
        return f"value.map(|value| {call}(value))" if isinstance(each.type, Maybe) else f"{call}(value)"

    def kept(self, name: str) -> str:
        return f"_kept_{name}"

    def reads_io(self, lines: str) -> bool:
        return re.search(r"\bio\b", lines) is not None

    # -- statements -------------------------------------------------------------------------------

    def test(self, test: Code) -> str:
        return f"if {self(test)}"

    def let(self, name: str, value: Code) -> str:
        known = f": {self.types.of(value.type)}" if _is_open(value) else ""
        return f"let {name}{known} = {self(value)};"

    def declare(self, name: str, kind: Type) -> str:
        return f"let {name}: {self.types.of(kind)};"

    def of_seen(self, code: Code, bit: int) -> str:
        return f"self._base.saw({bit})"

    def do(self, value: Code) -> str:
        if value.op == "on" and value.args[0] == "refuse":
            return self._refused(*value.args[1:])
        if value.op == "call" and value.args[0] == "differs":
            _, name, flag, *parts = value.args
            facts = ", ".join(self._fact(each.args[0]) for each in parts)
            return f"return Err(self._base.differs({literal(name)}, {self(flag)}, {facts}));"
        return super().do(value)

    def _refused(self, io: Code, name: str, place: Code, needed: Code, have: Code) -> str:
        facts = ", ".join(self._fact(each.args[0]) for each in (needed, have))
        return f"return Err({self(io)}.refused({literal(name)}, {self(place)}, {facts}));"

    def _fact(self, code: Code) -> str:
        kind = bare(code.type)
        if code.op == "const" and isinstance(code.args[0], str):
            return f"rt::words({literal(code.args[0])})"
        if kind in (TEXT, OCTETS) or isinstance(kind, Real):
            return f"rt::shown(&{self(code, tight=True)})"
        if not isinstance(kind, (Whole, EnumOf)) and kind != FLAG:
            return 'rt::words("another value")'
        if isinstance(code.type, Maybe):
            number = "x.0" if isinstance(kind, EnumOf) else "x"
            return f'{self(code)}.map_or_else(|| rt::words("null"), |x| {number}.into())'
        if code.op == "const":
            return f"rt::Fact::from({self._typed(code)})"
        return f"{self(code, tight=True)}{'.0' if isinstance(kind, EnumOf) else ''}.into()"

    def set(self, target: Code, value: Code) -> str:
        if target.op != "field":
            return f"{self(target)} = {self(value)};"
        kind = target.type
        text = self(value) if self.types.is_plain(kind) or isinstance(kind, Maybe) else f"Some({self(value)})"
        return f"{self._cell(target)}.set({text});"

    def each(self, each: Each) -> Iterator[str]:
        yield "let items = st::List::new();"
        if each.target.op == "field":
            yield f"let _ = {self._cell(each.target)}.set(items.clone());"
        yield f"let mut walk = {self(each.walk)};"
        yield "while walk.more()? {"
        first, *rest = each.body
        if isinstance(first, Set) and first.target.op == "var":
            known = f": {self.types.of(each.item)}" if _is_open(first.value) else ""
            yield f"    let item{known} = {self(first.value)};"
        else:
            yield f"    let item: {self.types.of(each.item)};"
            rest = list(each.body)
        yield from self.block(rest)
        yield f"    items.push({'item' if self.types.is_copy(each.item) else 'item.clone()'});"
        if each.until is not None:
            yield from (f"    if {self(each.until)} {{", "        break;", "    }")
        yield from ("    walk.done()?;", "}", "items.finish();")
        if each.target.op != "field":
            found = "Some(items)" if isinstance(each.target.type, Maybe) else "items"
            yield f"{self(each.target)} = {found};"

    # -- operations: a value, or an option --------------------------------------------------------

    def is_option(self, code: Code) -> bool:
        """Whether what should be a value may be missing."""
        if isinstance(code.type, Maybe):
            return True
        match code.op:
            case "field":
                return not self.types.is_plain(code.type)
            case "as" | "parent" | "root":
                return True
            case "const":
                return code.args[0] is None and code.type != OCTETS
            case "convert":
                (of,) = code.args
                if code.type == OBJECT or isinstance(code.type, OneOf):
                    return self.is_option(of) or isinstance(bare(of.type), OneOf) or of.type == OBJECT
        return False

    def option(self, code: Code) -> str:
        """An operation as an option, also of a value that is always there."""
        if not self.is_option(code):
            return f"Some({self(code)})"
        if isinstance(code.type, Maybe):
            return self(code)
        return str(getattr(self, f"option_{code.op}")(code, *code.args))

    def __call__(self, code: Code, *, tight: bool = False) -> str:
        if not isinstance(code.type, Maybe) and self.is_option(code):
            return f"self._base.there({self._owned(code, self.option(code))})?"
        return super().__call__(code, tight=tight)

    def _owned(self, code: Code, text: str) -> str:
        """A list of a field, which is a reference."""
        return f"{text}.cloned()" if code.op == "field" and isinstance(bare(code.type), ListOf) else text

    def shared(self, code: Code) -> str:
        """A reference to a list."""
        if code.op == "field":
            return f"self._base.there({self._cell(code)}.get())?"
        if code.op == "required" and code.args[0].op == "field":
            of, *why = code.args
            return f"self._base.required({self._cell(of)}.get(), {self.given(why)})?"
        return f"&{self(code, tight=True)}"

    # -- operations -------------------------------------------------------------------------------

    def is_loose(self, code: Code) -> bool:
        match code.op:
            case "choose" | "op":
                return True
            case "const":
                return isinstance(code.args[0], (int, float)) and code.args[0] < 0
            case "convert":
                text = self.of_convert(code, *code.args)
                return re.search(r" as \w+$| != 0(\.0)?$", text) is not None
            case "call":
                return code.args[0] in (*_OPERATORS, *_UNARY, "size_of", "size_of_text")
        return False

    def literal(self, value: Any) -> str:
        return literal(value)

    def constant(self, value: Any, kind: Type) -> str:
        if kind == OCTETS:
            return "&[]" if not value else f"{byte_string(value)}.as_slice()"
        if value is None:
            return "None"
        if isinstance(value, bool):
            return literal(value)
        if isinstance(kind, (Real, EnumOf)) or isinstance(value, str):
            return self.types.constant(kind, value)
        return literal(value)

    def _typed(self, code: Code) -> str:
        """A constant with its type."""
        text = self(code)
        if code.op == "const" and isinstance(code.type, (Whole, Real)):
            return f"{text}_{self.types.of(code.type)}"
        return text

    def of_const(self, code: Code, value: Any) -> str:
        return self.constant(value, bare(code.type) if value is not None else code.type)

    def option_const(self, code: Code, value: Any) -> str:
        return "None"

    def of_this(self, code: Code) -> str:
        return "self"

    def of_index(self, code: Code) -> str:
        return "walk.index()"

    def _cell(self, code: Code) -> str:
        owner, _, name = code.args
        return f"{self(owner)}.{method(name)}"

    def of_field(self, code: Code, owner: Code, unit: str, name: str) -> str:
        return self._owned(code, f"{self._cell(code)}.get()")

    def option_field(self, code: Code, owner: Code, unit: str, name: str) -> str:
        return f"{self._cell(code)}.get()"

    def of_instance(self, code: Code, owner: Code, unit: str, name: str) -> str:
        return f"{self(owner)}.{method(name)}()?"

    def _base(self, owner: Code) -> str:
        """What all objects have, of this one."""
        text = self(owner)
        if isinstance(owner.type, ObjectOf):
            return f"{text}._base"
        node = f"self._base.there({text}._node())?" if isinstance(owner.type, OneOf) else text
        return f"{node}._base()"

    def option_parent(self, code: Code, owner: Code) -> str:
        return f"{self._base(owner)}.parent()"

    def option_root(self, code: Code, owner: Code) -> str:
        return f"{self._base(owner)}.root()"

    def of_stream(self, code: Code, owner: Code) -> str:
        return f"{self._base(owner)}.io"

    def of_convert(self, code: Code, of: Code) -> str:
        have, want = of.type, code.type
        if isinstance(want, Maybe):
            return self._mapped(of, want.of)
        if isinstance(have, ObjectOf) or not is_number(want):
            return self._as(have, want, self(of))
        if of.op == "const" and isinstance(want, Real):
            return literal(float(of.args[0]))
        return self._number(of, want)

    def option_convert(self, code: Code, of: Code) -> str:
        """An object as one of several, or as any."""
        have, want = bare(of.type), code.type
        if have == OBJECT and isinstance(want, OneOf):
            return self._tried(of, f"{self._enum(want)}::_of")
        if want == OBJECT and isinstance(have, OneOf):
            return self._tried(of, f"{self._enum(have)}::_node")
        return self._mapped(of, want)

    def _mapped(self, of: Code, want: Type) -> str:
        """The option of a value as one of another type."""
        have = bare(of.type)
        if self._same(have, want):
            return self._owned(of, self.option(of))
        if not self.is_option(of):
            return f"Some({self._as(have, want, self(of))})"
        way = self._as(have, want, "x")
        is_function = re.fullmatch(r"[\w:]+\(x\)", way) is not None
        return f"{self.option(of)}.map({way.removesuffix('(x)') if is_function else f'|x| {way}'})"

    def _tried(self, of: Code, function: str) -> str:
        """What a function makes of a value, which may be nothing."""
        return f"{self.option(of)}.and_then({function})" if self.is_option(of) else f"{function}({self(of)})"

    def _same(self, have: Type, want: Type) -> bool:
        return self.types.of(have) == self.types.of(want)

    def _enum(self, kind: Type) -> str:
        assert isinstance(kind, OneOf)
        return f"crate::{self.types.choice(kind)}"

    def _way(self, have: Type, want: Type) -> str:
        """The function that makes an object, or another value, one of several types."""
        if want == OBJECT:
            assert isinstance(have, ObjectOf)
            return f"crate::Node::{self.types.names.type(have.unit)}"
        return f"{self._enum(want)}::{self.types.variant(have)}"

    def _as(self, have: Type, want: Type, text: str) -> str:
        if self._same(have, want):
            return text
        if isinstance(want, OneOf):
            variants = self.types.variants(want)
            if self.types.variant(have) not in variants:
                for name, each in variants.items():
                    if isinstance(each, (Whole, Real)) and isinstance(each, type(have)):
                        return f"{self._enum(want)}::{name}({text} as {self.types.of(each)})"
                raise Lacking(f"{self.types.of(have)} as one of {', '.join(variants)}")
        return f"{self._way(have, want)}({text})"

    def _number(self, of: Code, want: Type) -> str:
        have, text, tight = of.type, self(of), self(of, tight=True)
        if want == FLAG:
            zero = "0.0" if isinstance(have, Real) else "0"
            return f"{tight}{'.0' if isinstance(have, EnumOf) else ''} != {zero}"
        if isinstance(have, EnumOf):
            if isinstance(want, EnumOf):
                return text if self._same(have, want) else f"{self.types.of(want)}({tight}.0)"
            tight = text = f"{tight}.0"
        if isinstance(want, EnumOf):
            own = "i64" if isinstance(have, EnumOf) else self.types.of(have)
            held = text if own == "i64" else f"{tight} as i64" if own == "u64" else f"i64::from({text})"
            return f"{self.types.of(want)}({held})"
        to, own = self.types.of(want), "i64" if isinstance(have, EnumOf) else self.types.of(have)
        if own == to:
            return text
        if have == FLAG:
            return f"{to}::from({text})" if not isinstance(want, Real) else f"f64::from(u8::from({text}))"
        if have == ULONG and want == LONG and of.op not in ("bits", "on"):
            return f"self._base.signed({text})?"
        if want == ULONG and not isinstance(have, EnumOf) and own[0] == "i":
            held = text if own == "i64" else f"i64::from({text})"
            return f"self._base.unsigned({held})?"
        widens = own[0] in "iuf" and to[0] == own[0] and int(to[1:]) > int(own[1:])
        widens |= own[0] == "u" and to[0] == "i" and int(to[1:]) > int(own[1:])
        return f"{to}::from({text})" if widens else f"{tight} as {to}"

    def of_required(self, code: Code, of: Code, name: str, why: str) -> str:
        if not self.is_option(of):
            return self(of)
        return f"self._base.required({self._owned(of, self.option(of))}, {self.given((name, why))})?"

    def of_asked(self, code: Code, owner: Code, unit: str, name: str, shown: str, why: str, bit: int) -> str:
        held = self(owner)
        given = f"&{held}._base, {bit}, {held}.{method(name)}.get(), {self.given((shown, why))}"
        return f"self._base.asked({given})?"

    def option_as(self, code: Code, of: Code) -> str:
        have, want = bare(of.type), code.type
        assert isinstance(want, ObjectOf)
        if have == want:
            return self.option(of)
        to = f"crate::{self.types.names.type(want.unit)}::_of"
        if isinstance(have, OneOf):
            return f"{self._tried(of, f'{self._enum(have)}::_node')}.and_then({to})"
        return self._tried(of if have == OBJECT else Code("convert", (of,), OBJECT), to)

    def of_not(self, code: Code, of: Code) -> str:
        if of.op == "is":
            return f"{self.option(of.args[0])}.is_none()"
        return f"!{self(of, tight=True)}"

    def of_is(self, code: Code, of: Code) -> str:
        return f"{self.option(of)}.is_some()"

    def of_op(self, code: Code, op: str, left: Code, right: Code) -> str:
        if OBJECT in (left.type, right.type):
            return f"{self.option(left)} {op} {self.option(right)}"
        if _is_open(left) and _is_open(right) and left.op == "const":
            texts = [self._typed(left), self(right, tight=True)]
            return f"{texts[0]} {self.words.get(op, op)} {texts[1]}"
        return super().of_op(code, op, left, right)

    def comparison(self, op: str, left: Code, right: Code) -> str:
        raise AssertionError(op)

    def of_choose(self, code: Code, test: Code, yes: Code, no: Code) -> str:
        return f"if {self(test)} {{ {self(yes)} }} else {{ {self(no)} }}"

    def of_list(self, code: Code, *items: Code) -> str:
        assert isinstance(code.type, ListOf)
        return f"st::List::<{self.types.of(code.type.item)}>::of(vec![{self.given(items)}])"

    def of_read(self, code: Code, *args: Any) -> str:
        unit, io, name, index, parent, root, given = args
        at = "-1" if index is None else self(index)
        around = ", ".join(self.option(each) for each in (parent, root))
        place = f"st::Place::new({literal(name)}, {at}, {around})"
        told = "".join(f", {self(each)}" for each in given)
        return f"crate::{self.types.names.type(unit)}::_from({self(io)}, &{place}{told})?"

    def of_number(self, code: Code, io: Code, wire: str, order: str, name: str) -> str:
        return self._loaded(wire, order, f"{self(io)}.fixed({literal(name)})?")

    def of_load(self, code: Code, run: Code, wire: str, order: str, offset: int) -> str:
        if WIRE[wire].least == 1:
            return f"{self(run)}[{offset}]" + (" as i8" if WIRE[wire].signed else "")
        return self._loaded(wire, order, f"rt::part({self(run)}, {offset})")

    def _loaded(self, wire: str, order: str, data: str) -> str:
        form = WIRE[wire]
        kind = number_type(wire)
        if order == "by" and form.least > 1:
            data = f"self._base.ordered({data})?"
        return f"{kind}::from_{'le' if order == 'le' else 'be'}_bytes({data})"

    def of_slice(self, code: Code, run: Code, offset: int, size: int) -> str:
        return f"&{self(run)}[{offset}..{offset + size}]"

    def of_bits(self, code: Code, local: Code, shift: int, width: int) -> str:
        return f"st::bits_at({self(local)}, {shift}, {width})"

    def of_walk(self, code: Code, io: Code, name: str, kind: str, *limits: Any) -> str:
        least, count, watched = limits
        if count is not None:
            return f"{self(io)}.counted({self.given((name, count, least, watched))})?"
        return f"{self(io)}.{'repeated' if kind == 'until' else 'to_end'}({literal(name)})"

    def of_on(self, code: Code, name: str, io: Code, *given: Any) -> str:
        source, fails = self(io), "" if name in _SURE else "?"
        match name:
            case "fixed":
                size, fields = given
                parts = ", ".join(f"({literal(each)}, {width})" for each, width in fields)
                return f"{source}.run::<{size.args[0]}>(&[{parts}])?"
            case "text":
                label, data, encoding = given
                return f"{source}.text({literal(label)}, {self(data)}, {self.encoding(encoding)})?"
            case "contents":
                return f"{source}.contents({literal(given[0])}, {byte_string(given[1].args[0])})?"
        return f"{source}.{name}({self.given(given)}){fails}"

    def of_call(self, code: Code, name: str, *given: Any) -> str:
        if name in _OPERATORS:
            return f" {_OPERATORS[name]} ".join(self(each, tight=True) for each in given)
        if name in _UNARY:
            return f"{_UNARY[name]}{self(given[0], tight=True)}"
        match name:
            case "size_of":
                if isinstance(given[0].type, ListOf):
                    return f"{self.shared(given[0]).removeprefix('&')}.size()"
                return f"{self(given[0], tight=True)}.len() as i64"
            case "size_of_text":
                return f"{self(given[0], tight=True)}.characters() as i64"
            case "little":
                return "self._base.is_little()?"
            case "order":
                return f"self._base.set_order({self(given[0])})"
            case "checks" | "mark":
                return f"self._base.{name}({self.given(given)})"
            case "at_most" | "trimmed" | "substring" | "checksum" | "sum_of":
                return f"st::{name}({self.given(given)})"
            case "decoded":
                return f"self._base.decoded({self(given[0])}, {self.encoding(given[1])})?"
            case "bytes_of":
                return f"self._base.bytes_of(&[{self.given(given)}])?"
        parts = [
            self.shared(each)
            if isinstance(each, Code) and isinstance(each.type, ListOf)
            else self.given((each,))
            for each in given
        ]
        return f"self._base.{name}({', '.join(parts)})?"


def lacking_of(types: StreamTypes, streams: StreamPackage) -> Iterator[tuple[str, str, str]]:
    """What cannot be printed: (unit, field or instance, why)."""
    for code in streams.codes.values():
        printer = StreamPrinter(types, code, {}, is_held=True)
        parts: list[tuple[str, Any]] = [("", code.body), ("", code.checks)]
        for name, part in (*parts, *((each.name, each) for each in code.instances)):
            try:
                if isinstance(part, InstanceCode):
                    for each in (part.absent, part.value, part.stream, part.position):
                        if each is not None:
                            printer(each)
                    printer.body(part)
                else:
                    [*printer.block(part)]
            except Lacking as lack:
                yield code.unit.name, name, str(lack)
        for name, kind in (*code.parameters, *code.fields):
            held = bare(kind)
            if isinstance(held, OneOf) and not types.is_copy(held):
                yield code.unit.name, name, "it is a list, or a value of another type"


def processes_of(streams: StreamPackage) -> set[str]:
    """The functions of streams and of bytes that are called."""
    parts = ((each.body, each.instances, each.checks) for each in streams.codes.values())
    return {code.args[0] for each in parts for code in codes_in(each) if code.op in ("on", "call")}


def _is_open(code: Code) -> bool:
    """Whether Rust would choose the type of a number."""
    if code.op == "choose":
        return _is_open(code.args[1]) and _is_open(code.args[2])
    if code.op == "call" and code.args[0] in (*_OPERATORS, *_UNARY):
        return all(map(_is_open, code.args[1:]))
    return code.op == "const" or (code.op == "convert" and isinstance(code.type, Maybe))
