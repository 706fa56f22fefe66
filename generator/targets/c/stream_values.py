"""Operations of streamed units as C.

An operation that can fail is a call in a condition, in front of the statement that needs its result. So the
order in which operations are done is that of the plan.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kodec.generator.code.printing import CodePrinter, is_table, may_be_negative, upper_half
from kodec.generator.code.typed import LONG, ULONG, Code, UnitCode, is_number
from kodec.generator.plan.values import (
    FLAG,
    OBJECT,
    OCTETS,
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
    narrowest,
)
from kodec.generator.targets.c.expressions import Types, is_null, literal, text
from kodec.generator.targets.c.names import member
from kodec.generator.wire import ENCODINGS, WIRE

__all__ = [
    "StreamValues",
    "characters",
    "failing",
    "failing_if",
    "table_of",
    "unwrapped",
    "without_texts",
]

_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_NAME = re.compile(r"[A-Za-z_][\w.>-]*")
# calls of the runtime that cannot fail, and are given no object
_SURE = frozenset(["at_most", "plus_real", "minus_real", "times_real", "size_of_text", "substring"])
_OPERATORS = {"both": "&", "either": "|", "differing": "^", "both_unsigned": "&"}


class StreamValues(CodePrinter):
    """The operations of one streamed unit.

    Attributes:
        tables: the encodings whose characters it needs.
    """

    def __init__(self, types: Types, code: UnitCode) -> None:
        self.types = types
        self.names = types.names
        self.code = code
        self.c = types.of
        self.tables: set[str] = set()
        self._before: list[str] = []
        self._count = 0

    def declared(self, kind: Type, name: str) -> str:
        """The declaration of a name."""
        shown = self.c(kind)
        return f"{shown}{'' if shown.endswith('*') else ' '}{name}"

    def null(self, kind: Type) -> str:
        """What a place has that has nothing."""
        shown = self.c(kind)
        if shown.endswith("*"):
            return "NULL"
        if isinstance(kind, (Whole, EnumOf, Real)):
            return "0"
        return "false" if kind == FLAG else f"({shown}){{0}}"

    def is_there(self, kind: Type, place: str) -> str:
        """The test that a place is not null."""
        return _opposite(is_null(kind, place))

    @contextmanager
    def _captured(self) -> Iterator[list[str]]:
        """The lines that operations need in front of them."""
        outer, self._before = self._before, []
        try:
            yield self._before
        finally:
            self._before = outer

    def _new(self) -> str:
        self._count += 1
        return f"n{self._count}"

    def _found(self, kind: Type, call: str) -> str:
        """The result of a call that can fail."""
        name = self._new()
        self._before += [f"{self.declared(kind, name)};", failing(f"{call}, &{name})")]
        return name

    def _pinned(self, code: Code) -> str:
        """A value that several places need."""
        shown = self(code)
        if _NAME.fullmatch(shown):
            return shown
        name = self._new()
        self._before.append(f"{self.declared(code.type, name)} = {shown};")
        return name

    def is_called(self, code: Code) -> bool:
        return code.op == "op" and code.args[1].type in (OCTETS, TEXT)

    def comparison(self, op: str, left: Code, right: Code) -> str:
        given = self.given((left, right))
        if op in ("==", "!="):
            return f"{'!' if op == '!=' else ''}kd_same({given})"
        return f"(kd_compare({given}) {op} 0)"

    def literal(self, value: Any) -> str:
        return text(value) if isinstance(value, str) else literal(value)

    def constant(self, value: Any, kind: Type) -> str:
        if value is None:
            return self.null(kind)
        if isinstance(value, (bytes, str)) or isinstance(kind, Real):
            return literal(float(value) if isinstance(kind, Real) else value)
        return literal(value)

    def of_this(self, code: Code) -> str:
        return "v"

    def of_index(self, code: Code) -> str:
        return "walk.index"

    def of_field(self, code: Code, owner: Code, unit: str, name: str) -> str:
        return f"{self._there(owner)}->{member(name)}"

    def of_instance(self, code: Code, owner: Code, unit: str, name: str) -> str:
        return self._found(code.type, f"{self.names.finder(unit, name)}({self._there(owner)}")

    def _there(self, owner: Code) -> str:
        """An object, which is no null pointer: an error if it is."""
        place = self._pinned(owner)
        if owner.op in ("as", "parent"):
            why = "another type" if owner.op == "as" else "it, and it is not there"
            self._must_be(place, f"an expression needs {why}")
        return place

    def _base(self, owner: Code) -> str:
        """The common part of an object, as a place."""
        if isinstance(bare(owner.type), ObjectOf):
            return f"{self._there(owner)}->_object."
        if isinstance(bare(owner.type), OneOf):
            place = self._new()
            shown = self.types.conversion(bare(owner.type), OBJECT, self._pinned(owner))
            self._before.append(f"kodec_object *const {place} = {shown};")
            self._must_be(place, "an expression needs an object")
            return f"{place}->"
        return f"{self._there(owner)}->"

    def _must_be(self, place: str, why: str) -> None:
        """An error if a pointer is null."""
        self._before.append(f'if ({place} == NULL) return ks_wrong(&v->_object, "", {text(why)});')

    def of_parent(self, code: Code, owner: Code) -> str:
        return f"{self._base(owner)}parent"

    def of_root(self, code: Code, owner: Code) -> str:
        return f"{self._base(owner)}root"

    def of_stream(self, code: Code, owner: Code) -> str:
        return f"{self._base(owner)}stream"

    def of_pos(self, code: Code, stream: Code) -> str:
        return f"ks_pos({self(stream)})"

    def of_size(self, code: Code, stream: Code) -> str:
        return f"ks_size({self(stream)})"

    def of_eof(self, code: Code, stream: Code) -> str:
        # an instance that is read afterwards may forget the bits that are left of a byte
        name = self._new()
        self._before.append(f"const bool {name} = ks_eof({self(stream)});")
        return name

    # -- conversions --

    def of_convert(self, code: Code, of: Code) -> str:
        return self._converted(of.type, code.type, of)

    def _converted(self, have: Type, want: Type, of: Code) -> str:
        inner = bare(want)
        if isinstance(inner, OneOf) or inner == OBJECT:
            return self._referred(have, want, of)
        if isinstance(want, Maybe):
            shown = (
                self._as_number(have, inner, of)
                if is_number(inner) and not isinstance(have, Maybe)
                else self(of)
            )
            if not self.types.is_pointer(want) or isinstance(have, Maybe):
                return shown
            name, kind = self._new(), self.c(inner)
            self._before.append(f"{kind} *const {name} = ks_new(v->_object.stream->r, 1, sizeof *{name});")
            self._before.append(failing_if(f"{name} == NULL"))
            self._before.append(f"*{name} = {shown};")
            return name
        return self._as_number(have, want, of)

    def _as_number(self, have: Type, want: Type, of: Code) -> str:
        if have == want or not is_number(want):
            return self(of)
        shown = self(of)
        if want == FLAG:
            return f"{self._tight(of, shown)} != 0"
        to = self.c(want)
        if have == ULONG and want == LONG and of.op not in ("bits", "on"):
            return self._found(want, f"ks_signed(&v->_object, {shown}")
        if want == ULONG and may_be_negative(have):
            return self._found(want, f"ks_unsigned(&v->_object, {shown}")
        return shown if self.c(have) == to else f"({to}){self._tight(of, shown)}"

    def _tight(self, of: Code, shown: str) -> str:
        return (
            shown
            if re.fullmatch(r"[\w.>-]+|\w+\([^()]*\)", shown) and not shown.startswith("-")
            else f"({shown})"
        )

    def _referred(self, have: Type, want: Type, of: Code) -> str:
        """An object, or one of several types, as something that holds it too."""
        inner = bare(want)
        if bare(have) == inner or self.c(bare(have)) == self.c(inner):
            return self(of)
        is_there = of.op in ("read", "this") or not isinstance(bare(have), (ObjectOf, OneOf))
        shown = self(of) if is_there and not isinstance(have, Maybe) else self._pinned(of)
        if inner == OBJECT:
            return self._object(bare(have), shown, of)
        assert isinstance(inner, OneOf)
        if isinstance(bare(have), OneOf) or have == OBJECT:
            return self.types.conversion(bare(have), inner, shown)
        part = self.types.part(inner, bare(have))
        assert part is not None
        if not is_there:
            have = Maybe(bare(have))
        held = f"*{shown}" if self.types.is_pointer(have) else shown
        made = self.types.held_in(inner, part, held)
        return f"({is_null(have, shown)} ? {self.null(inner)} : {made})" if isinstance(have, Maybe) else made

    def _object(self, have: Type, shown: str, of: Code) -> str:
        """A pointer to the common part of an object."""
        if isinstance(have, OneOf):
            return self.types.conversion(have, OBJECT, shown)
        if of.op in ("this", "read"):
            return f"&{shown}->_object"
        return f"(kodec_object *){self._tight(of, shown)}"

    # -- what must be there --

    def of_required(self, code: Code, of: Code, name: str, why: str) -> str:
        place = self._pinned(of)
        kind = of.type if isinstance(of.type, Maybe) else Maybe(of.type)
        if self.types.is_pointer(kind) and not isinstance(of.type, Maybe):
            return place
        self._before.append(
            f"if ({is_null(kind, place)}) return ks_wrong(&v->_object, {text(name)}, {text(why)});"
        )
        return f"*{place}" if self.types.is_pointer(kind) else place

    def of_asked(self, code: Code, owner: Code, unit: str, name: str, shown: str, why: str, bit: int) -> str:
        held = self._there(owner)
        self._before.append(
            f"if (!({held}->_object.seen >> {bit} & 1)) "
            f"return ks_wrong(&v->_object, {text(shown)}, {text(why)});"
        )
        return f"{held}->{member(name)}"

    def of_as(self, code: Code, of: Code) -> str:
        kind = bare(code.type)
        assert isinstance(kind, ObjectOf)
        shown = self._pinned(of) if isinstance(bare(of.type), OneOf) else self(of)
        held = shown if bare(of.type) == OBJECT else self._object(bare(of.type), shown, of)
        name = self._new()
        self._before.append(f"{self.c(kind)}const {name} = ks_as({held}, {self.names.kind(kind.unit)});")
        return name

    def of_not(self, code: Code, of: Code) -> str:
        if of.op == "is":
            return is_null(of.args[0].type, self._pinned(of.args[0]))
        shown = self(of)
        return f"!{shown}" if re.fullmatch(r"[\w.>-]+|\w+\([^()]*\)", shown) else f"!({shown})"

    def of_is(self, code: Code, of: Code) -> str:
        return self.is_there(of.type, self._pinned(of))

    # -- choices --

    def of_op(self, code: Code, op: str, left: Code, right: Code) -> str:
        if op not in ("and", "or"):
            shown = super().of_op(code, op, left, right)
            known = None if self.is_called(code) else _decided(op, left, right)
            # C compilers warn about a comparison that the types of its values decide
            return shown if known is None else literal(known)
        one = self(left, tight=not _is_like(op, left))
        with self._captured() as lines:
            two = self(right, tight=not _is_like(op, right))
        if not lines:
            return f"{one} {self.words[op]} {two}"
        name = self._new()
        self._before += [f"bool {name} = {one};", f"if ({'' if op == 'and' else '!'}{name}) {{"]
        self._before += [f"  {line}" for line in (*lines, f"{name} = {two};")]
        self._before.append("}")
        return name

    def of_choose(self, code: Code, test: Code, yes: Code, no: Code) -> str:
        shown = self(test, tight=True)
        head = unwrapped(shown)
        ways = []
        for each in (yes, no):
            with self._captured() as lines:
                value = self(each, tight=True)
            ways.append((lines, value))
        (before, one), (other, two) = ways
        if not before and not other:
            # a constant of C has a type of its own
            cast = f"({self.c(code.type)})" if {yes.op, no.op} == {"const"} and is_number(code.type) else ""
            return f"{cast}({shown} ? {one} : {two})" if cast else f"{shown} ? {one} : {two}"
        name = self._new()
        self._before += [f"{self.declared(code.type, name)};", f"if ({head}) {{"]
        self._before += [f"  {line}" for line in (*before, f"{name} = {one};")]
        self._before.append("} else {")
        self._before += [f"  {line}" for line in (*other, f"{name} = {two};")]
        self._before.append("}")
        return name

    # -- lists and objects --

    def of_list(self, code: Code, *items: Code) -> str:
        kind = code.type
        assert isinstance(kind, ListOf)
        name, held = self._new(), self.c(kind.item)
        if items and all(each.op == "const" for each in items):
            shown = ", ".join(self(each).removeprefix("(kodec_bytes)") for each in items)
            self._before.append(f"static const {held} {name}[] = {{{shown}}};")
            return f"({self.c(kind)}){{({held} *){name}, {len(items)}}}"
        values = [self(each) for each in items]
        space = "" if held.endswith("*") else " "
        self._before.append(
            f"{held}{space}*const {name} = ks_new(v->_object.stream->r, {len(items)}, sizeof *{name});"
        )
        self._before.append(failing_if(f"{name} == NULL"))
        self._before += [f"{name}[{index}] = {value};" for index, value in enumerate(values)]
        return f"({self.c(kind)}){{{name}, {len(items)}}}"

    def of_read(self, code: Code, *args: Any) -> str:
        name = self._new()
        self._before.append(f"{self.declared(code.type, name)};")
        self._read(f"&{name}", *args)
        return name

    def _read(self, to: str, unit: str, io: Code, name: str, index: Code | None, *rest: Any) -> None:
        parent, root, given = rest
        at = "-1" if index is None else self(index)
        around = self.given((parent, root, *given))
        call = f"{self.names.type(unit)}_from({to}, {self.given((io, name))}, {at}, {around})"
        self._before.append(failing(call))

    # -- bytes --

    def _loaded(self, wire: str, order: str, place: str) -> str:
        if order != "by" or WIRE[wire].least == 1:
            return _load(wire, order, place)
        self._ordered()
        little, big = (_load(wire, each, place) for each in ("le", "be"))
        return f"(v->_object.order == KS_LITTLE ? {little} : {big})"

    def _ordered(self) -> None:
        """An error unless the order of bytes is known."""
        line = failing("ks_ordered(&v->_object)")
        if line not in self._before:
            self._before.append(line)

    def of_number(self, code: Code, io: Code, wire: str, order: str, name: str) -> str:
        stream, at = self(io), self._new()
        self._before += [
            f"const uint8_t *const {at} = ks_next({stream}, {text(name)}, {WIRE[wire].least});",
            failing_if(f"{at} == NULL"),
        ]
        return self._loaded(wire, order, at)

    def of_load(self, code: Code, run: Code, wire: str, order: str, offset: int) -> str:
        return self._loaded(wire, order, f"{self(run)}{f' + {offset}' if offset else ''}")

    def of_slice(self, code: Code, run: Code, offset: int, size: int) -> str:
        return f"(kodec_bytes){{{self(run)}{f' + {offset}' if offset else ''}, {size}}}"

    def of_bits(self, code: Code, bits: Code, shift: int, width: int) -> str:
        return f"ks_bits_at({self(bits)}, {shift}, {width})"

    def _fixed(self, name: str, io: Code, size: Code, fields: tuple[tuple[str, int], ...]) -> None:
        parts = ", ".join(f"{{{text(each)}, {width}}}" for each, width in fields)
        self._before += [
            f"static const kd_field of_{name}[] = {{{parts}}};",
            f"const uint8_t *const {name} = ks_fixed({self(io)}, {self(size)}, of_{name}, {len(fields)});",
            failing_if(f"{name} == NULL"),
        ]

    def of_on(self, code: Code, name: str, io: Code, *given: Any) -> str:
        stream = self(io)
        if name == "align":
            self._before.append(f"ks_align({stream});")
            return ""
        if name == "ago":
            return f"ks_ago({stream}, {self(given[0])})"
        if name == "rest":
            found = self._new()
            self._before.append(f"kodec_bytes {found} = ks_rest({stream});")
            return found
        if name == "refuse":
            field, place, needed, have = given
            shown = ", ".join(map(self._shown, (needed.args[0], have.args[0])))
            at = self(place)
            self._before.append(f"return ks_refuse({stream}, {text(field)}, {at}, {shown});")
            return ""
        if name == "text":
            label, data, encoding = given
            if _is_kept(encoding):
                return self(data)
            return self._found(
                TEXT, f"ks_text({stream}, {text(label)}, {self(data)}, {self.encoding(encoding)}"
            )
        return self._found(code.type, f"ks_{name}({', '.join([stream, *map(self._given, given)])}")

    def _given(self, value: Any) -> str:
        return self(value) if isinstance(value, Code) else self.literal(value)

    def encoding(self, name: str) -> str:
        if not is_table(name):
            return f"{text(name)}, NULL"
        self.tables.add(name)
        return f"{text(name)}, {table_of(name)}"

    def _shown(self, of: Code) -> str:
        """A value as an error shows it."""
        kind = of.type
        inner = bare(kind)
        place = self._pinned(of) if isinstance(kind, Maybe) else self(of)
        if self.types.is_pointer(kind):
            shown = self._show(inner, f"*{place}")
            return f"({place} == NULL ? kd_show_bytes((kodec_bytes){{0}}) : {shown})"
        return self._show(inner, place)

    def _show(self, kind: Type, place: str) -> str:
        if kind == TEXT:
            return f"ks_show_text({place})"
        if kind == OCTETS:
            return f"kd_show_bytes({place})"
        if isinstance(kind, Real):
            return f"kd_show_real((double)({place}))"
        if kind == ULONG:
            return f"kd_show_uint({place})"
        if isinstance(kind, (Whole, EnumOf)) or kind == FLAG:
            return f"kd_show_int((int64_t)({place}))"
        return "kd_show_count(1)"

    # -- calls --

    def of_call(self, code: Code, name: str, *given: Any) -> str:
        if name == "order":
            self._before.append(f"v->_object.order = {self(given[0])};")
            return ""
        if name == "little":
            self._ordered()
            return ""
        if name == "trimmed":
            return f"ks_trimmed({self.given(given)})"
        if name == "decoded":
            data, encoding = given
            if _is_kept(encoding):
                return self(data)
            return self._found(TEXT, f"ks_decoded(&v->_object, {self(data)}, {self.encoding(encoding)}")
        if name in _OPERATORS:
            one, two = (self(each) for each in given)
            return f"({self._tight(given[0], one)} {_OPERATORS[name]} {self._tight(given[1], two)})"
        if name == "inverted":
            # compilers warn about the complement of a narrower number
            return f"~{self._pinned(given[0])}"
        if name == "negated_real":
            return f"-({self(given[0])})"
        if name in _SURE:
            return f"ks_{name}({self.given(given)})"
        # calls that take lists or bytes apart, or make them
        if (special := getattr(self, f"call_{name}", None)) is not None:
            return str(special(*given))
        return self._found(code.type, f"ks_{name}(&v->_object, {self.given(given)}")

    def call_mark(self, *given: Code) -> str:
        self._before.append(failing(f"ks_mark(&v->_object, {self.given(given)})"))
        return ""

    def call_checks(self, checksum: Code) -> str:
        return f"ks_checks(&v->_object, {self(checksum)})"

    def call_differs(self, name: str, checksum: Code, *facts: Code) -> str:
        shown = ", ".join(self._shown(each.args[0]) for each in facts)
        self._before.append(f"return ks_differs(&v->_object, {text(name)}, {self(checksum)}, {shown});")
        return ""

    def call_size_of(self, of: Code) -> str:
        place = self._pinned(of)
        return f"(int64_t){place}.{'size' if of.type == OCTETS else 'count'}"

    def _element(self, of: Code, index: Code, count: str) -> tuple[str, str]:
        place = self._pinned(of)
        at = self._new()
        number = self(index)
        self._before.append(f"size_t {at};")
        self._before.append(failing(f"ks_index(&v->_object, {number}, {place}.{count}, &{at})"))
        return place, at

    def call_element_of(self, of: Code, index: Code) -> str:
        place, at = self._element(of, index, "count")
        return f"{place}.items[{at}]"

    def call_byte_at(self, of: Code, index: Code) -> str:
        place, at = self._element(of, index, "size")
        return f"(int64_t){place}.data[{at}]"

    def _some(self, of: Code, count: str) -> str:
        place = self._pinned(of)
        self._before.append(failing(f"ks_some(&v->_object, {place}.{count})"))
        return place

    def call_last_of(self, of: Code) -> str:
        place = self._some(of, "count")
        return f"{place}.items[{place}.count - 1]"

    def call_last_byte(self, of: Code) -> str:
        place = self._some(of, "size")
        return f"(int64_t){place}.data[{place}.size - 1]"

    def call_min_byte(self, of: Code) -> str:
        return f"ks_min_byte({self._some(of, 'size')})"

    def call_max_byte(self, of: Code) -> str:
        return f"ks_max_byte({self._some(of, 'size')})"

    def _most(self, of: Code, op: str) -> str:
        """The element of a list before which none is."""
        place, at = self._some(of, "count"), self._new()
        one, two = f"{place}.items[i]", f"{place}.items[{at}]"
        assert isinstance(of.type, ListOf)
        test = f"kd_compare({one}, {two}) {op} 0" if of.type.item in (TEXT, OCTETS) else f"{one} {op} {two}"
        self._before += [
            f"size_t {at} = 0;",
            f"for (size_t i = 1; i < {place}.count; i++)",
            f"  if ({test}) {at} = i;",
        ]
        return two

    def call_min_of(self, of: Code) -> str:
        return self._most(of, "<")

    def call_max_of(self, of: Code) -> str:
        return self._most(of, ">")

    def call_bytes_of(self, *items: Code) -> str:
        values = [self(each) for each in items]
        name = self._made_bytes(str(len(items)))
        self._before += [
            failing(f"ks_byte(&v->_object, {value}, &{name}[{index}])") for index, value in enumerate(values)
        ]
        return f"(kodec_bytes){{{name}, {len(items)}}}"

    def call_bytes_in(self, of: Code) -> str:
        place = self._pinned(of)
        name = self._made_bytes(f"{place}.count")
        self._before += [
            f"for (size_t i = 0; i < {place}.count; i++)",
            f"  {failing(f'ks_byte(&v->_object, (int64_t){place}.items[i], &{name}[i])')}",
        ]
        return f"(kodec_bytes){{{name}, {place}.count}}"

    def _made_bytes(self, count: str) -> str:
        name = self._new()
        self._before.append(f"uint8_t *const {name} = ks_new(v->_object.stream->r, {count}, 1);")
        self._before.append(failing_if(f"{name} == NULL"))
        return name


def _is_kept(encoding: str) -> bool:
    """Whether text is its bytes, as they are."""
    return ENCODINGS[encoding].errors != "strict"


def table_of(encoding: str) -> str:
    """The array of an encoding's characters."""
    return f"ks_{re.sub(r'[^a-z0-9]', '_', encoding.lower())}"


def characters(encoding: str) -> list[int]:
    """The characters of the bytes of an encoding from 0x80 on."""
    return [ord(each) for each in upper_half(encoding)]


def _load(wire: str, order: str, place: str) -> str:
    form = WIRE[wire]
    size = form.least
    raw = f"kd_load_u{size}{'' if size == 1 else order or 'be'}({place})"
    if form.kind == "float":
        return f"kd_{'float' if size == 4 else 'double'}_of({raw})"
    return f"(int{8 * size}_t){raw}" if form.signed else raw


_OPS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _decided(op: str, left: Code, right: Code) -> bool | None:
    """What a comparison of whole numbers is for all values of their C types, or of one value with itself."""
    if left == right and not isinstance(left.type, Real):
        return _OPS[op](0, 0)
    one, two = _ends(left), _ends(right)
    if one is None or two is None:
        return None
    (low, high), (least, most) = one, two
    if op in ("==", "!="):
        return (op == "!=") if high < least or most < low else None
    found = {_OPS[op](a, b) for a in one for b in two}
    return found.pop() if len(found) == 1 else None


def _ends(code: Code) -> tuple[int, int] | None:
    """The least and the largest number that the C type of a value holds."""
    if code.op == "const":
        return None if isinstance(code.args[0], float) else (int(code.args[0]), int(code.args[0]))
    while code.op == "convert" and not isinstance(code.args[0].type, (Maybe, Real)):
        code = code.args[0]
    kind = code.type.number if isinstance(code.type, EnumOf) else code.type
    if kind == FLAG:
        return 0, 1
    if not isinstance(kind, Whole):
        return None
    signed, bits = narrowest(kind)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def without_texts(code: str) -> str:
    """Code whose texts are blanks."""
    return _STRING.sub(lambda found: " " * len(found[0]), code)


def unwrapped(shown: str) -> str:
    """A condition without parentheses around all of it."""
    if not shown.startswith("(") or not shown.endswith(")"):
        return shown
    depth = 0
    for place, sign in enumerate(without_texts(shown)):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return shown[1:-1] if place == len(shown) - 1 else shown
    return shown


def failing(call: str) -> str:
    return f"if (!{call}) return false;"


def failing_if(test: str) -> str:
    return f"if ({test}) return false;"


def _opposite(test: str) -> str:
    return test.replace(" == ", " != ")


def _is_like(op: str, code: Code) -> bool:
    return code.op == "op" and code.args[0] == op
