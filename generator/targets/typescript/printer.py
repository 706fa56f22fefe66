"""Typed code as TypeScript: statements and operations, of layouts and what streams have in common with them.

Readers make an object of locals, and throw errors; the reader of an object is given the name of its field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from kodec.generator.code.layout_printing import LayoutPrinter
from kodec.generator.code.passes import statements_in
from kodec.generator.code.printing import camel
from kodec.generator.code.typed import (
    LONG,
    Bytes,
    Code,
    Each,
    Elements,
    LayoutCode,
    Run,
    Section,
    Set,
    Statement,
    Switch,
    Tags,
    Unpacked,
    Walk,
    Within,
    codes_in,
)
from kodec.generator.plan.steps import Program
from kodec.generator.plan.values import (
    COMPARISONS,
    FLAG,
    IDENTITY,
    OCTETS,
    SECTION,
    TEXT,
    ListOf,
    Maybe,
    ObjectOf,
    OneOf,
    Real,
    Type,
    bare,
    whole_of,
)
from kodec.generator.targets.typescript.names import Names, local, member
from kodec.generator.targets.typescript.types import Types, constant, is_big
from kodec.generator.wire import ENCODINGS, WIRE

__all__ = ["RUNTIME_NAMES", "TypeScriptPrinter"]

_BITWISE = ("|", "^", "&", "<<", ">>")
_LEVELS = (("or", "and"), ("==", "!="), ("<", "<=", ">", ">="), _BITWISE, ("+", "-"), ("*",))
_BINDS = {op: level for level, ops in enumerate(_LEVELS, 1) for op in ops}
_EQUAL, _COMPARED, _ATOM = _BINDS["=="], _BINDS["<"], len(_LEVELS) + 1
# nobody knows by heart which of these binds tighter, so that they stand in parentheses beside others
_APART = ("or", "and", *_BITWISE)
_EMPTY: dict[Type, str] = {TEXT: '""', OCTETS: "new Uint8Array()", SECTION: "[]", FLAG: "false"}
# what the runtime calls functions of `FUNCTIONS`; those that are thrown, with the order of their arguments
RUNTIME_NAMES = {
    "refuse": "refused",
    "no_case": "noCase",
    "unknown_version": "unknownVersion",
    "unknown_codec": "unknownCodec",
    "ended": "requireEnd",
    "covers": "requireLength",
    "checksum": "requireChecksum",
    "exactly": "requireDerived",
    "at_least": "requireDerived",
    "bits_of": "wholeAt",
}
_THROWN = {"refuse": (0, 1, 2, 3), "no_case": (), "unknown_version": (0, 2, 3, 1), "unknown_codec": (0, 1, 2)}
_LONGEST, _WIDEST = 80, 320


class TypeScriptPrinter(LayoutPrinter):
    """One unit for its template.

    Attributes:
        marked: the units whose objects have a tag of their type, as a switch has them beside others.
        within_name: the field whose object is read, for its errors.
    """

    indent = "  "
    end = ";"
    words: ClassVar[Mapping[str, str]] = {**LayoutPrinter.words, "==": "===", "!=": "!=="}

    def __init__(
        self,
        names: Names,
        types: Types,
        code: LayoutCode,
        comments: dict[str, str],
        program: Program,
        marked: frozenset[str],
    ) -> None:
        self.names = names
        self.code = code  # type: ignore[assignment]
        self.unit = code.unit
        self.comments = comments
        self.program = program
        self.types = types
        self.marked = marked
        self.within_name = ""
        self.sums = self.level = 0
        self._functions: set[str] = set()
        self.stream = ""
        # locals that take another value later
        self.changed: set[str] = set()

    def block(self, statements: Iterable[Statement], deep: int = 1) -> Iterator[str]:
        self.level += deep
        yield from super().block(statements, deep)
        self.level -= deep

    # -- for templates ----------------------------------------------------------------------------

    @property
    def type(self) -> str:
        return self.names.type(self.unit.name)

    @property
    def result(self) -> str:
        """The type of what it gives."""
        kind = self.code.result  # type: ignore[attr-defined]
        return self.type if kind is None else self.ts(kind)

    @property
    def members(self) -> list[tuple[str, str, str]]:
        """(schema's name, name, type) of each field."""
        return [(name, member(name), self.ts(kind)) for name, kind in self.code.fields]

    @property
    def defaults(self) -> list[tuple[str, str]]:
        """(name, value) of each field of a new object."""
        new = {each.target.args[-1]: each.value for each in self.code.new}  # type: ignore[attr-defined]
        return [
            (member(name), self(new[name]) if name in new else self.zero(kind))
            for name, kind in self.code.fields
        ]

    @property
    def mark(self) -> str:
        """The tag of its objects, if they have one."""
        return constant(self.unit.name) if self.unit.name in self.marked else ""

    @property
    def given_parameters(self) -> str:
        """The parameters of a function, between others."""
        parts = self.code.parameters
        return "".join(f"{self.declared(kind, self.parameter(name))}, " for name, kind in parts)

    def statements(self, code: Sequence[Statement]) -> str:
        """Lines of a function, each with its end."""
        every = list(statements_in(code))
        self.changed = {
            each.target.args[0]
            for each in every
            if (isinstance(each, Set) or (isinstance(each, Elements) and not each.declares))
            and each.target.op == "var"
        } | {each.name for each in every if isinstance(each, Bytes) and each.declared}
        return "".join(f"{line}\n" for line in self.block(code, 2))

    def declared(self, kind: Type, name: str) -> str:
        return f"{name}: {self.ts(kind)}"

    def parameter(self, name: str) -> str:
        return local(name)

    @property
    def uses(self) -> set[str]:
        """What its text has of modules."""
        return {*self._functions, *self.types.uses, "Reader", "Writer", "within"}

    def _use(self, name: str) -> str:
        """A function of the runtime or of another module."""
        self._functions.add(name)
        return name

    # -- names and types --------------------------------------------------------------------------

    def ts(self, kind: Type) -> str:
        return self.types.of(kind)

    def variable(self, name: str) -> str:
        """A local: `field:x.y` is a field that is read, `start_of:x` the place of one."""
        head, _, of = name.rpartition(":")
        if head == "field":
            first, *rest = of.split(".")
            return "$".join([local(first), *map(member, rest)])
        if head:
            return f"{camel(head)}_{member(of)}"
        return f"{name.rstrip('0123456789')}${name[len(name.rstrip('0123456789')) :]}"

    def zero(self, kind: Type) -> str:
        """The value of a field in a new object that has no default."""
        if isinstance(kind, (Maybe, OneOf)):
            return "null"
        if isinstance(kind, ListOf):
            return "[]"
        if isinstance(kind, ObjectOf):
            return self.of_new(Code("new", (kind.unit,), kind), kind.unit)
        if whole_of(kind) is not None or isinstance(kind, Real):
            return constant(0, is_big(kind))
        return self._use("NO_UUID") if kind == IDENTITY else _EMPTY[kind]

    # -- statements -------------------------------------------------------------------------------

    def test(self, test: Code) -> str:
        return f"if ({self(test)})"

    def let(self, name: str, value: Code) -> str:
        place = self.variable(name)
        word, is_null = (
            "let" if name in self.changed else "const",
            value == Code("const", (None,), value.type),
        )
        text = self.zero(value.type) if is_null else self(value)
        typed = word == "let" or is_null or value.op == "list"
        return f"{word} {place}{f': {self.ts(value.type)}' if typed else ''} = {text};"

    def declare(self, name: str, kind: Type) -> str:
        return f"let {name}: {self.ts(kind)} = {self.zero(kind)};"

    def run(self, each: Run) -> Iterator[str]:
        fields = [f"[{constant(name)}, {width}]" for name, width in each.fields]
        yield f"const {self.variable(each.name)} = r.pos;"
        test, error = f"if (!r.skip({each.size}))", f"throw r.short({', '.join(fields)});"
        if len(self.indent) * self.level + len(test) + 1 + len(error) <= _WIDEST:
            yield f"{test} {error}"
        elif len(self.indent) * (self.level + 1) + len(error) <= _WIDEST:
            yield from (test, f"  {error}")
        else:
            yield from (test, "  throw r.short(", *(f"    {field}," for field in fields), "  );")

    def switch(self, each: Switch) -> Iterator[str]:
        yield f"switch ({self(each.on)}) {{"
        for value, body in each.cases:
            yield f"  case {self(value)}:"
            yield from self.block(body, 2)
            yield "    break;"
        if each.other:
            yield "  default:"
            yield from self.block(each.other, 2)
        yield "}"

    def within(self, each: Within) -> Iterator[str]:
        around, self.within_name = self.within_name, each.name
        yield from self.block(each.body, 0)
        self.within_name = around

    def elements(self, each: Elements) -> Iterator[str]:
        items, name, kind = self(each.target), constant(each.name), self.ts(bare(each.target.type))
        yield f"const {items}: {kind} = [];" if each.declares else f"{items} = [];"
        to_end = each.count is None and each.until is None
        if each.count is not None:
            count = f"count${items.replace('.', '$')}"
            yield f"const {count} = r.count({self.given((each.name, each.count, each.least))});"
            yield from ("try {", f"  while ({items}.length < {count}) {{")
        elif to_end:
            yield "while (r.pos < r.end) {"
            yield from (f"  r.requireRoom({name}, {items}.length);", "  const start$ = r.pos;", "  try {")
        else:
            yield from ("try {", "  for (;;) {")
        yield from (f"    {line}" for line in self._element(each, items))
        if to_end:
            yield from self._caught("  ", name, f"{items}.length")
            yield from (f"  r.requireProgress({name}, start$);", "}")
        else:
            yield "  }"
            yield from self._caught("", name, f"{items}.length")

    @staticmethod
    def _caught(space: str, name: str, index: str) -> Iterator[str]:
        yield f"{space}}} catch (error) {{"
        yield from (f"{space}  throw within(error, {name}, {index});", f"{space}}}")

    def _element(self, each: Elements, items: str) -> Iterator[str]:
        """What reads an element, and adds it."""
        sets = [
            one for one in statements_in(each.body) if isinstance(one, Set) and one.target.op == "element"
        ]
        top = [one for one in each.body if one in sets]
        if len(sets) != 1 or not top:
            kind = bare(each.target.type)
            assert isinstance(kind, ListOf)
            yield f"let item: {self.ts(kind.item)};"
        elif each.body == (top[0],) and each.until is None:
            yield f"{items}.push({self(top[0].value)});"
            return
        for one in each.body:
            is_only = len(sets) == 1 and one in top
            yield from self.block((one,), 0) if not is_only else (f"const item = {self(top[0].value)};",)
        yield f"{items}.push(item);"
        if each.until is not None:
            yield f"if ({self(each.until)}) break;"

    def walk(self, each: Walk) -> Iterator[str]:
        index = f"index${member(each.name) or 'item'}"
        yield from (f"let {index} = 0;", "try {", f"  for (const item of {self(each.target)}) {{")
        yield from self.block(each.body, 2)
        yield from (f"    {index}++;", "  }")
        yield from self._caught("", constant(each.name), index)

    def tags(self, each: Tags) -> Iterator[str]:
        yield f"const section = r.tags({constant(each.name)});"
        yield from ("for (const tag of section.tags) {", "  r.enterTag(tag);")
        space = "  "
        for at, (number, test, body) in enumerate(each.cases):
            more = "" if test is None else f" && {self._side(test, _BINDS['and'], 'and')}"
            yield f"  {'} else ' if at else ''}if (tag.number === {number}{more}) {{"
            yield from self.block(body, 2)
        if each.cases:
            yield "  } else {"
            space = "    "
        yield f"{space}{self(each.target)}.push({{ number: tag.number, data: r.rest() }});"
        yield from (*(["  }"] if each.cases else []), "}", "r.leaveTags(section);")

    def bytes(self, each: Bytes) -> Iterator[str]:
        yield f"{'' if each.declared else 'const '}{self.variable(each.name)} = w.measured(() => {{"
        yield from self.block(each.body)
        yield "});"

    def unpacked(self, each: Unpacked) -> Iterator[str]:
        yield f"const inner$ = r.unpacked({self.given((each.name, each.codec, each.data, each.at))});"
        yield "try {"
        yield from self.block(each.body)
        yield from ('  inner$.requireEnd("");', "} catch (error) {")
        yield f"  throw {self._use('outside')}(error, {self.given((each.name, each.codec, each.at))});"
        yield "}"

    def section(self, each: Section) -> Iterator[str]:
        known = "known" if each.tags else "[]"
        if each.tags:
            yield f"const known: {self.ts(SECTION)} = [];"
        for number, test, fails, body in each.tags:
            yield f"{self.test(test)} {{"
            yield from self.block(fails)
            yield "  const data = w.measured(() => {"
            yield from self.block(body, 2)
            yield from ("  });", f"  known.push({{ number: {number}, data }});", "}")
        yield f"w.tags({constant(each.name)}, {known}, {self(each.unknown)});"

    def each(self, each: Each) -> Iterator[str]:
        raise TypeError(each)

    # -- expressions ------------------------------------------------------------------------------

    def _binds(self, code: Code) -> int:
        match code.op:
            case "op" if not self.is_called(code):
                return _BINDS[code.args[0]]
            case "is":
                return _EQUAL
            case "not" if code.args[0].op == "is":
                return _EQUAL
            case "convert" if code.type == FLAG and code.args[0].type != FLAG:
                return _EQUAL
            case "bits":
                return _BINDS["&"]
            case "bits_of_parts":
                return _BINDS["+"]
            case "choose":
                return 0
        return _ATOM

    def of_op(self, code: Code, op: str, left: Code, right: Code) -> str:
        if self.is_called(code):
            return self.comparison(op, left, right)
        own = _BINDS[op]
        sides = self._side(left, own, op), self._side(right, own + 1, op)
        return f" {self.words.get(op, op)} ".join(sides)

    def _side(self, part: Code, least: int, beside: str) -> str:
        """A side of an operator, in parentheses where it needs them."""
        binds = self._binds(part)
        op = "&" if part.op == "bits" else part.args[0] if part.op == "op" else ""
        apart = binds != _ATOM and op in _APART and op != beside
        compared = beside in COMPARISONS and binds == _BINDS[beside]
        return f"({self(part)})" if binds < least or apart or compared else self(part)

    def is_called(self, code: Code) -> bool:
        if code.op != "op" or code.args[0] not in COMPARISONS:
            return False
        return bool(
            code.args[1].type == OCTETS
            or code.args[2].op == "new"
            or (isinstance(code.args[1].type, Real) and code.args[0] == "!=" and code.args[2].op == "const")
        )

    def comparison(self, op: str, left: Code, right: Code) -> str:
        call = self._use("sameBytes" if left.type == OCTETS else "same")
        return f"{'!' if op == '!=' else ''}{call}({self.given((left, right))})"

    def literal(self, value: Any) -> str:
        return constant(value)

    def constant(self, value: Any, kind: Type) -> str:
        return constant(value, is_big(kind) and not isinstance(value, bool))

    def of_var(self, code: Code, name: str) -> str:
        if name in ("r", "w", "each", "found"):
            return name
        return "w" if name == "b" else "v" if name == "value" else self.variable(name)

    def of_this(self, code: Code) -> str:
        return "v"

    def of_field(self, code: Code, owner: Code, unit: str, name: str) -> str:
        return f"{self(owner)}.{member(name)}"

    def of_element(self, code: Code, of: Code) -> str:
        return "item"

    def of_index(self, code: Code) -> str:
        return "index"

    def of_seen(self, code: Code, bit: int) -> str:
        raise TypeError(code)

    def of_pos(self, code: Code, stream: Code) -> str:
        return f"{self(stream)}.pos"

    def of_held(self, code: Code, of: Code, name: str) -> str:
        # what is read is not null where it is asked for
        is_read = of.op == "var" and of.args[0] != "value"
        shown = "" if name == "value" else name
        return self(of) if is_read else f"{self._use('given')}({constant(shown)}, {self(of)})"

    def of_make(self, code: Code, unit: str, members: tuple[tuple[str, Code], ...]) -> str:
        parts = [f"$type: {constant(unit)}"] if unit in self.marked else []
        for name, value in members:
            key, text = member(name), self(value)
            parts.append(key if key == text else f"{key}: {text}")
        text = f"{{ {', '.join(parts)} }}" if parts else "{}"
        if len(text) <= _LONGEST:
            return text
        return "\n".join(["{", *(f"  {each}," for each in parts), "}"])

    def of_return(self, code: Code, value: Code) -> str:
        return f"return {self(value)}"

    def of_zero(self, code: Code) -> str:
        return self._use("NO_UUID")

    def of_new(self, code: Code, unit: str) -> str:
        return f"{self._use(f'new{self.names.type(unit)}')}()"

    def of_list(self, code: Code, *items: Code) -> str:
        return f"[{self.given(items)}]"

    def of_sign(self, code: Code, op: str, of: Code) -> str:
        return f"{op}{self._side(of, _ATOM, op)}"

    def of_choose(self, code: Code, test: Code, yes: Code, no: Code) -> str:
        return f"{self._side(test, 1, '?')} ? {self(yes)} : {self(no)}"

    def of_not(self, code: Code, of: Code) -> str:
        if of.op == "is":
            return self._compared_with_null("==", of)
        return f"!{self._side(of, _ATOM, '!')}"

    def _compared_with_null(self, op: str, test: Code) -> str:
        return f"{self(test.args[0])} {self.words[op]} null"

    def of_is_of(self, code: Code, of: Code, kind: Type) -> str:
        value = self(of)
        match bare(kind):
            case ObjectOf(unit):
                return f"{self._use('isOf')}<{self.ts(bare(kind))}>({value}, {constant(unit)})"
            case ListOf():
                return f"Array.isArray({value})"
            case found if found == OCTETS:
                return f"{value} instanceof Uint8Array"
        return f'typeof {value} === "{self.ts(whole_of(bare(kind)) or bare(kind))}"'

    def of_cast(self, code: Code, of: Code) -> str:
        # a test before it has shown the type
        return self(of)

    def of_edge(self, code: Code, which: str, of: Code, item: Type, value: Code) -> str:
        return f"{self._use(which)}({self(of)}, (each) => {self(value)})"

    def of_nth(self, code: Code, name: str) -> str:
        # the loop around adds the index
        return '""'

    def of_convert(self, code: Code, of: Code) -> str:
        have, want, text = of.type, code.type, self(of)
        if want == FLAG and have != FLAG:
            return f"{self._side(of, _EQUAL + 1, '!=')} !== {constant(0, is_big(have))}"
        if whole_of(want) is None or isinstance(want, Maybe):
            return text
        if have == FLAG:
            return f"{'BigInt' if is_big(want) else 'Number'}({text})"
        return self._as_big(text, is_big(want), is_big(have))

    @staticmethod
    def _as_big(text: str, want: bool, have: bool) -> str:
        return text if want == have else f"{'BigInt' if want else 'Number'}({text})"

    # -- reading ----------------------------------------------------------------------------------

    def of_read(self, code: Code, *args: Any) -> str:
        unit, io, given, _ = args
        name = (self.within_name,) if self.within_name and io.args[0] == "r" else ()
        return f"{self._use(f'read{self.names.type(unit)}')}({self.given((io, *given, *name))})"

    def of_number(self, code: Code, io: Code, wire: str, order: str, name: str) -> str:
        return f"{self(io)}.{self._method(wire, order)}({constant(name)})"

    @staticmethod
    def _method(wire: str, order: str) -> str:
        return f"{wire}le" if order == "le" and WIRE[wire].least > 1 else wire

    def of_load(self, code: Code, run: Code, wire: str, order: str, offset: int) -> str:
        form = WIRE[wire]
        if run.op == "on":
            return f"r.{self._method(wire, order)}({constant(run.args[2])})"
        at, little = self._at(run, offset), ", true" if order == "le" and form.least > 1 else ""
        if form.kind == "UUID":
            return f"r.uuidAt({at})"
        if form.kind == "float" and form.least < 8:
            return f"r.f4At({at}{little})"
        if form.kind == "boolean":
            return f"r.view.getUint8({at}) !== 0"
        whole = f"{'Big' if form.bits == 64 else ''}{'Int' if form.signed else 'Uint'}"
        kind = "Float" if form.kind == "float" else whole
        return f"r.view.get{kind}{8 * form.least}({at}{little})"

    def _at(self, run: Code, offset: int) -> str:
        return f"{self(run)} + {offset}" if offset else self(run)

    def of_slice(self, code: Code, run: Code, offset: int, size: int) -> str:
        if run.op == "on":
            return f"r.octets({constant(run.args[2])}, {size})"
        return f"r.slice({self._at(run, offset)}, {size})"

    def of_bits(self, code: Code, of: Code, shift: int, width: int) -> str:
        number = self(of)
        if is_big(of.type):
            moved = f"({number} >> {shift}n)" if shift else number
            return f"{moved} & {(1 << width) - 1:#x}n"
        moved = f"({number} >>> {shift})" if shift else number
        return f"{moved} & {(1 << width) - 1:#x}" if width < 32 else moved

    def of_function(self, code: Code, name: str) -> str:
        return self._use(name)

    def of_text(self, code: Code, io: Code, name: str, size: Code | None, encoding: str) -> str:
        amount = "r.end - r.pos" if size is None else self(size)
        return f"r.chars({constant(name)}, {amount}{self._ascii(encoding)})"

    @staticmethod
    def _ascii(encoding: str) -> str:
        return ", true" if ENCODINGS[encoding].python == "ascii" else ""

    def of_on(self, code: Code, name: str, io: Code, *given: Any) -> str:
        if name in _THROWN:
            parts = [given[at] for at in _THROWN[name]]
            if name == "no_case":
                parts = [given[0], Code("pos", (io,), code.type), given[1]]
            return f"throw {self._use(RUNTIME_NAMES[name])}({self.given(parts)})"
        if name == "verifies":
            return "r.options.ignoreDerived !== true"
        if name == "checksum":
            field, at, have, function, start, end = given
            return f"r.requireChecksum({self.given((field, function, start, end, at, have))})"
        before = ""
        if name in ("exactly", "at_least") and "edge" in {each.op for each in codes_in(given[3])}:
            before, given = f"const found = {self(given[3])};\n", (*given[:3], Code("var", ("found",), LONG))
        text = self.given(given)
        if name == "at_least":
            text += ", true"
        return f"{before}{self(io)}.{RUNTIME_NAMES.get(name) or camel(name)}({text})"

    def of_call(self, code: Code, name: str, *given: Any) -> str:
        if name == "size_of":
            of = given[0]
            if of.type == TEXT:
                return f"{self._use('sizeOfText')}({self(of)})"
            return f"({self(of)}?.length ?? 0)" if isinstance(of.type, Maybe) else f"{self(of)}.length"
        if name == "characters":
            return f"Array.from({self(given[0])}).length"
        if name == "bits_of":
            run, offset, size = given[0].args
            name_ = ", true" if given[1].args[0] else ""
            return f"r.wholeAt({self._at(run, offset)}, {size}{name_})"
        return f"{self._use(camel(name))}({self.given(given)})"

    # -- writing ----------------------------------------------------------------------------------

    def of_put(self, code: Code, wire: str, order: str, value: Code, name: Code) -> str:
        before = ""
        if value.op == "bits_of_parts" and len(value.args) > 1:
            before, value = self._sum(value)
        return f"{before}w.{self._method(wire, order)}({self(name)}, {self._wired(wire, value)})"

    def _wired(self, wire: str, value: Code) -> str:
        """A number as the writer of its wire type takes it."""
        form, text = WIRE[wire], self(value)
        if form.range is None or whole_of(value.type) is None:
            return text
        return self._as_big(text, form.bits > 53, is_big(value.type))

    def _sum(self, bits: Code) -> tuple[str, Code]:
        """The statements that add up a number, and where it is."""
        self.sums += 1
        place = Code("var", (f"bits{self.sums}",), bits.type)
        first, *rest = (self.of_bits_of_parts(bits, part) for part in bits.args)
        lines = [f"let {self(place)} = {first};", *(f"{self(place)} += {each};" for each in rest)]
        return "".join(f"{each}\n" for each in lines), place

    def of_put_varint(self, code: Code, wire: str, value: Code, name: Code) -> str:
        return f"w.{wire}({self(name)}, {self._wired(wire, value)})"

    def of_bits_of_parts(self, code: Code, *parts: tuple[Code, int]) -> str:
        sign = "n" if is_big(code.type) else ""
        texts = [f"{self(number)} * {1 << shift}{sign}" if shift else self(number) for number, shift in parts]
        return " + ".join(texts)

    def of_fit(self, code: Code, name: Code, value: Code, width: int) -> str:
        return f"{self._use('fitBig' if is_big(code.type) else 'fit')}({self.given((name, value, width))})"

    def of_put_bits(self, code: Code, size: int, order: str, value: Code) -> str:
        before = ""
        if len(value.args) > 1:
            before, value = self._sum(value)
        return f"{before}w.whole({self(value)}, {size}{', true' if order == 'le' else ''})"

    def of_append(self, code: Code, data: Code, name: Code, encoding: str) -> str:
        value = data.args[0] if data.op == "const" else None
        if isinstance(value, bytes) and not any(value):
            return f"w.zeros({len(value)})"
        if data.type == TEXT:
            return f"w.chars({self(name)}, {self(data)}{self._ascii(encoding)})"
        return f"w.octets({self(data)})"

    def of_patch(self, code: Code, place: Code, wire: str, order: str, value: Code, name: Code) -> str:
        put = self.of_put(code, wire, order, value, name)
        return f"w.patch({self(place)}, () => {{\n  {put};\n}})"

    def of_write(self, code: Code, unit: str, value: Code, given: tuple[Code, ...], name: Code) -> str:
        buffer = Code("var", ("w",), OCTETS)
        names = () if name.op == "nth" or not name.args[0] else (name,)
        inner = self.program.units[unit]
        held = value
        if isinstance(value.type, Maybe) and not isinstance(self._taken(inner.name), Maybe):
            held = Code("held", (value, name.args[0]), value.type.of)
        return f"{self._use(f'write{self.names.type(unit)}')}({self.given((buffer, held, *given, *names))})"

    def _taken(self, unit: str) -> Type:
        inner = self.program.units[unit]
        return ObjectOf(unit) if inner.stands_for is None else inner.field(inner.stands_for).type

    def of_pack(self, code: Code, name: str, codec: Code, data: Code) -> str:
        return f"w.pack({self.given((name, codec, data))})"

    def of_checksum(self, code: Code, function: Code, start: Code, end: Code | None) -> str:
        return f"w.checksum({self.given((function, start, *(() if end is None else (end,))))})"

    def of_fail(self, code: Code, name: Code, reason: str, have: Code | None) -> str:
        facts = (name, reason) if have is None else (name, reason, have)
        return f"throw {self._use('notEncodable')}({self.given(facts)})"
