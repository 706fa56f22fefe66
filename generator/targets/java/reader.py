"""Layouts to the methods that read them, field by field; what goes wrong is said with field and byte."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kodec.generator.layout import BitGroup, Layout, Run
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import (
    Bytes,
    Derive,
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
from kodec.generator.schema.roles import transparent
from kodec.generator.schema.versions import VersionRange
from kodec.generator.targets.java.expressions import Java, plain
from kodec.generator.targets.java.names import Names, camel, component, lower
from kodec.generator.targets.java.types import LONG, JType, Types
from kodec.generator.targets.java.views import Code
from kodec.generator.targets.python.expressions import emit as python_text
from kodec.generator.targets.python.facts import NOTHING, Facts, bare, expressions_of, fields_of
from kodec.generator.targets.python.names import local as python_local
from kodec.generator.text import java_literal
from kodec.generator.wire import ENCODINGS, INTRINSICS

__all__ = ["Reader", "Scope", "load", "opposite", "parts_of", "stored"]


@dataclass(slots=True)
class Scope:
    """What names mean in one method: the fields of a type, some of them called otherwise."""

    struct: Struct
    types: Types
    names: dict[str, tuple[str, JType]] = field(default_factory=dict)

    def resolve(self, expr: ex.Expr) -> tuple[str, JType] | None:
        match expr:
            case ex.Name(name):
                return self._name(name)
            case ex.Attr(of, name) if name not in ("to_i", "size", "length"):
                found = self.resolve(of)
                if found is None or not found[1].struct:
                    return None
                struct = self.types.model.struct(found[1].struct)
                spec = struct.field(name)
                if spec is None:
                    return None
                return f"{found[0]}.{component(name)}()", self.types.field(struct, spec)
        return None

    def _name(self, name: str) -> tuple[str, JType] | None:
        if name in self.names:
            return self.names[name]
        spec = self.struct.field(name)
        if spec is not None:
            return self.types.names.local(name), self.types.field(self.struct, spec)
        if self.struct.param(name) is not None:
            return self.types.names.local(name), LONG
        instance = self.struct.instance(name)
        if instance is not None and instance.peek_type is not None:
            return self.types.names.local(name), LONG
        return None

    @property
    def java(self) -> Java:
        return Java(self.resolve, self.types.model)


def load(kind: Prim, at: str) -> str:
    """Java that loads a number of `buf` at `at`."""
    order = "" if kind.width == 1 else kind.endian
    return f"Load.{kind.name}{order}(buf, {at})"


def stored(kind: Prim) -> str:
    """The member of the runtime's `Stored` that says how such a number is stored."""
    return f"{kind.name}{'' if kind.width == 1 else kind.endian}".upper()


class _Ranges:
    """Where the ranges start and end that lengths and checksums speak of, in one layout."""

    def __init__(self, layout: Layout) -> None:
        self.starts: set[str] = set()
        self.after: dict[str, list[tuple[str, Field, Derive, str]]] = {}
        ids = [spec.id for spec in layout.struct.fields]
        for step in layout.steps:
            for spec in fields_of(step):
                derive = spec.derive
                if derive is None or not derive.is_range:
                    continue
                last = derive.last or derive.first
                self.starts |= {derive.first, spec.id}
                end = "in.pos"
                if ids.index(spec.id) > ids.index(last):
                    end = f"endOf_{lower(last)}"
                    self.after.setdefault(last, []).append(("end", spec, derive, end))
                owner = last if end == "in.pos" else spec.id
                self.after.setdefault(owner, []).append(("check", spec, derive, end))


class Reader:
    """The readers of one schema's types."""

    def __init__(self, back: Facts, names: Names, schema: Schema) -> None:
        self.back = back
        self.model = back.model
        self.layouts = back.layouts
        self._tags_there: dict[int, Tag] = {}
        self.names = names
        self.schema = schema
        self.types = Types(back, names, schema)
        self.runs: dict[tuple[tuple[str, int], ...], str] = {}
        self._numbered = 0

    def fields_of_run(self, parts: Iterable[tuple[str, int]]) -> str:
        """The constant that names the fields of a run."""
        return self.runs.setdefault(tuple(parts), f"RUN_{len(self.runs) + 1}")

    def _number(self, stem: str) -> str:
        """A name of its own for what is needed in a block."""
        self._numbered += 1
        return f"{stem}_{self._numbered}"

    # -- one layout -------------------------------------------------------------------------------

    def body(self, struct: Struct, layout: Layout, *, head: bool) -> tuple[str, ...]:
        """The lines of the method that reads a layout; with `head`, content is left as it is stored."""
        self._numbered = 0
        code = Code()
        scope = Scope(struct, self.types)
        ranges = _Ranges(layout)
        self._tags_there = {tag.number: tag for tag in layout.tags}
        if self._loads(layout):
            code.add("byte[] buf = in.buf;")
        self._peeks(code, struct, layout)
        for step in layout.steps:
            if isinstance(step, Run):
                self._run(code, step, scope, ranges)
            else:
                self._field(code, struct, step.field, scope, ranges)
        self.derived_checks(code, struct, layout, scope, after_head=False)
        code.add(f"return {self._result(struct, {spec.id for spec in layout.absent})};")
        return code.text

    def _loads(self, layout: Layout) -> bool:
        for step in layout.steps:
            if isinstance(step, Run):
                return True
            spec = step.field
            derive_crc = any(f.derive is not None and f.derive.is_checksum for f in layout.struct.fields)
            if derive_crc or _has_prim(spec.type):
                return True
        return self._uses_peeks(layout.struct, layout)

    def _uses_peeks(self, struct: Struct, layout: Layout) -> bool:
        peeks = {each.id for each in struct.instances if each.peek_at is not None}
        used = {
            name
            for step in layout.steps
            for spec in fields_of(step)
            for expr in expressions_of(spec)
            for name in ex.names(expr)
        }
        return bool(peeks & used)

    def _peeks(self, code: Code, struct: Struct, layout: Layout) -> None:
        if not self._uses_peeks(struct, layout):
            return
        found = sorted((i for i in struct.instances if i.peek_type is not None), key=lambda i: i.peek_at or 0)
        size = max((each.peek_at or 0) + each.peek_type.width for each in found if each.peek_type)
        names = ", ".join(python_local(each.id) for each in found)
        code.add(f"in.need({java_literal(names)}, {size});")
        for each in found:
            assert each.peek_type is not None
            at = f"in.pos + {each.peek_at}" if each.peek_at else "in.pos"
            code.add(f"long {self.names.local(each.id)} = {load(each.peek_type, at)};")

    def _result(self, struct: Struct, absent: set[str]) -> str:
        inner = transparent(struct)
        if inner is not None:
            if inner.id not in absent:
                return self.names.local(inner.id)
            return self.types.absent(struct, inner)
        args: list[str] = []
        for spec in struct.fields:
            if spec.id in absent:
                args += self.types.absent_components(struct, spec)
                continue
            section = self.back.tag_section(spec)
            if section is not None:
                args += [*(self.names.local(tag.id) for tag in section.tags), self.names.local(spec.id)]
            elif not self.types.stored(struct, spec):
                continue
            elif spec.codec is not None:
                args += [f"{self.names.local(spec.id)}_parsed", self.names.local(spec.id)]
            else:
                args.append(self.names.local(spec.id))
        return f"new {self.names.type(struct.name, self.schema)}({', '.join(args)})"

    # -- runs of fixed width ----------------------------------------------------------------------

    def _run(self, code: Code, run: Run, scope: Scope, ranges: _Ranges) -> None:
        for item in run.fields:
            if item.field is not None and item.field.id in ranges.starts:
                code.add(f"int startOf_{lower(item.field.id)} = in.pos{_plus(item.offset)};")
        code.add(f"in.need({self.fields_of_run(parts_of(run))});")
        checks: list[tuple[Field, str, str, Scope]] = []
        self._unpack(code, run, "", 0, scope, checks)
        for spec, name, where, env in checks:
            self._checks(code, spec, name, where, env)
        code.add(f"in.pos += {run.size};")
        for spec in fields_of(run):
            self._after(code, spec, scope, ranges)

    def _unpack(
        self,
        code: Code,
        run: Run,
        prefix: str,
        base: int,
        scope: Scope,
        checks: list[tuple[Field, str, str, Scope]],
    ) -> dict[str, str]:
        """Load the values of a run into variables; gives the variable of each field."""
        values: dict[str, str] = {}
        for item in run.fields:
            at = base + item.offset
            where = f"in.pos{_plus(at)}"
            if isinstance(item.what, BitGroup):
                self._bits(code, item.what, item.size, where, prefix, scope, checks, values)
                continue
            spec = item.field
            assert spec is not None
            name = f"{prefix}_{lower(spec.id)}" if prefix else self.names.local(spec.id)
            if item.inner is not None:
                assert isinstance(spec.type, Ref)
                inner = self.model.struct(spec.type.target)
                env = Scope(inner, self.types)
                parts = self._unpack(code, item.inner, f"{name}", at, env, checks)
                args = [parts[f.id] for f in inner.fields if f.contents is None]
                made = self.names.type(inner.name, self.schema)
                code.add(f"{made} {name} = new {made}({', '.join(args)});")
                values[spec.id] = name
                continue
            kind = self.types.single(spec)
            if isinstance(item.what, Prim):
                text = load(item.what, where)
            elif isinstance(item.what, Ref) and kind.kind == "bool":
                text = f"buf[{where}] != 0"
            elif isinstance(item.what, Ref):
                text = f"new UUID(Load.s8be(buf, {where}), Load.s8be(buf, in.pos{_plus(at + 8)}))"
            else:
                text = f"Arrays.copyOfRange(buf, {where}, in.pos{_plus(at + item.size)})"
            code.add(f"{kind.text} {name} = {text};")
            values[spec.id] = name
            if prefix:
                scope.names[spec.id] = name, kind
            checks.append((spec, name, where, scope))
        return values

    def _bits(
        self,
        code: Code,
        group: BitGroup,
        size: int,
        where: str,
        prefix: str,
        scope: Scope,
        checks: list[tuple[Field, str, str, Scope]],
        values: dict[str, str],
    ) -> None:
        first = group.members[0][0].id
        raw = f"{prefix}_{lower(first)}_bits" if prefix else f"{self.names.local(first)}_bits"
        code.add(f"long {raw} = Load.bits(buf, {where}, {size});")
        for member, shift, width in group.members:
            name = f"{prefix}_{lower(member.id)}" if prefix else self.names.local(member.id)
            kind = self.types.single(member)
            if kind.kind == "bool":
                text = f"({raw} & {1 << shift:#x}L) != 0"
            else:
                shifted = f"{raw} >>> {shift}" if shift else raw
                text = f"{shifted} & {(1 << width) - 1:#x}L"
                text = f"(int) ({text})" if kind.kind == "int" else text
            code.add(f"{kind.text} {name} = {text};")
            values[member.id] = name
            if prefix:
                scope.names[member.id] = name, kind
            checks.append((member, name, where, scope))

    # -- rules ------------------------------------------------------------------------------------

    def _checks(self, code: Code, spec: Field, name: str, where: str, scope: Scope) -> None:
        kind = self.types.single(spec)
        shown = self._shown(scope.struct, spec)
        if spec.contents is not None:
            items = ", ".join(f"(byte) {each}" for each in spec.contents)
            with code.block(f"if (!Arrays.equals({name}, new byte[] {{{items}}}))"):
                code.add(
                    _malformed(spec.id, "wrong fixed bytes", where, java_literal(repr(spec.contents)), name)
                )
        valid = spec.valid
        if valid is None:
            return
        env = Scope(scope.struct, self.types, {**scope.names, "_": (name, kind), spec.id: (name, kind)})
        here = ex.Name("_")
        rules: list[tuple[ex.Expr, str]] = []
        if valid.eq is not None:
            rules.append((ex.Binary("==", here, valid.eq), self._python(valid.eq, spec)))
        if valid.min is not None:
            rules.append((ex.Binary(">=", here, valid.min), f"at least {self._python(valid.min, spec)}"))
        if valid.max is not None:
            rules.append((ex.Binary("<=", here, valid.max), f"at most {self._python(valid.max, spec)}"))
        if valid.any_of is not None:
            choice: ex.Expr = ex.Literal(False)
            for each in valid.any_of:
                same: ex.Expr = ex.Binary("==", here, each)
                choice = same if choice == ex.Literal(False) else ex.Binary("or", choice, same)
            choices = ", ".join(self._python(each, spec) for each in valid.any_of)
            rules.append((choice, f"one of {choices}"))
        if valid.expr is not None:
            rules.append((valid.expr, ex.text_of(valid.expr)))
        for rule, need in rules:
            test = env.java.condition(self.layouts.inline(scope.struct, rule))
            with code.block(f"if ({opposite(test)})"):
                code.add(_malformed(shown, "value not allowed", where, java_literal(need), name))

    def _python(self, expr: ex.Expr, spec: Field) -> str:
        """The expression as the messages of the Python modules have it."""
        names = {"_": python_local(spec.id)}
        return python_text(expr, lambda name: names.get(name, python_local(name)), self.model)

    def _after(self, code: Code, spec: Field, scope: Scope, ranges: _Ranges) -> None:
        """What is checked behind a field at which a range ends."""
        for what, owner, derive, end in ranges.after.get(spec.id, ()):
            if what == "end":
                code.add(f"int {end} = in.pos;")
                continue
            start, mine = f"startOf_{lower(derive.first)}", self.names.local(owner.id)
            at = f"startOf_{lower(owner.id)}"
            name = java_literal(owner.id)
            if derive.is_checksum:
                with code.block("if (in.opt.checkCrc())"):
                    code.add(f"long computed = Checksums.{derive.kind}(buf, {start}, {end});")
                    with code.block(f"if (computed != {mine})"):
                        code.add(f"throw FormatException.crcMismatch({name}, {at}, {mine}, computed);")
                continue
            length = f"{end} - {start}"
            if derive.plus is not None:
                extra = scope.java.number(self.layouts.inline(scope.struct, derive.plus))
                length = f"Math.addExact((long) ({length}), {extra})"
            with code.block(f"if ({mine} != {length})"):
                why = "not the length of what it covers"
                code.add(_malformed(owner.id, why, at, length, mine))

    def derived_checks(
        self, code: Code, struct: Struct, layout: Layout, scope: Scope, *, after_head: bool
    ) -> None:
        """Counts, lasts and maxima against what they are derived from."""
        holder = next((spec for spec in struct.fields if spec.codec is not None), None)
        for step in layout.steps:
            for spec in fields_of(step):
                derive = spec.derive
                if derive is None or derive.is_checksum or derive.kind in ("length_of", "presence_of"):
                    continue
                if (holder is not None and derive.first == holder.id) is not after_head:
                    continue
                if derive.kind == "count_of" and _sizes_by(layout, derive.first, spec.id):
                    continue
                self._derived(code, struct, spec, derive, scope, "at" if after_head else "in.pos")

    def _derived(
        self, code: Code, struct: Struct, spec: Field, derive: Derive, scope: Scope, at: str
    ) -> None:
        mine, _ = scope.java.value(ex.Name(spec.id))
        target, kind = scope.java.value(ex.Name(derive.first))
        tests = []
        if derive.kind in ("last", "max"):
            tests += ["in.opt.verify()" if at == "in.pos" else "opt.verify()", f"!{target}.isEmpty()"]
        if derive.when is not None:
            tests.append(scope.java.condition(self.layouts.inline(struct, derive.when)))
        code.add(f"if ({' && '.join(tests)}) {{" if tests else "{")
        with code.deeper():
            text = f"{target}.size()" if kind.kind == "list" else f"{target}.length"
            path = "".join(f".{component(name)}()" for name in self._member(struct, derive))
            if derive.kind == "last":
                text = f"{target}.get({target}.size() - 1){path}"
            if derive.kind == "max":
                assert kind.element is not None
                code.add("long most = Long.MIN_VALUE;")
                with code.block(f"for ({kind.element.boxed} item : {target})"):
                    code.add(f"most = Math.max(most, item{path});")
                text = "most"
            code.add(f"long wanted = {text};")
            if derive.plus is not None:
                extra = scope.java.number(self.layouts.inline(struct, derive.plus))
                code.add(f"wanted = Math.addExact(wanted, {extra});")
            op, need = ("!=", "wanted") if derive.verify == "equal" else ("<", '"at least " + wanted')
            with code.block(f"if ({mine} {op} wanted)"):
                source = f"{derive.first}.{derive.member}" if derive.member else derive.first
                code.add(_malformed(spec.id, f"not what {derive.kind}({source}) gives", at, need, mine))
        code.add("}")

    def _member(self, struct: Struct, derive: Derive) -> list[str]:
        """The way to a member of an element, which may be kept in a part of it."""
        if derive.member is None:
            return []
        spec = struct.field(derive.first)
        assert spec is not None
        kind: TypeRef = Ref(spec.codec.inner) if spec.codec is not None else spec.type
        if not isinstance(kind, Ref):
            return [derive.member]
        found = self.model.struct(kind.target)
        inner = transparent(found)
        if inner is not None and isinstance(inner.type, Ref):
            found = self.model.struct(inner.type.target)
        return self._find(found, derive.member) or [derive.member]

    def _find(self, struct: Struct, name: str) -> list[str]:
        if struct.field(name) is not None:
            return [name]
        for spec in struct.fields:
            if isinstance(spec.type, Ref) and not spec.repeat:
                below = self._find(self.model.struct(spec.type.target), name)
                if below:
                    return [spec.id, *below]
        return []

    # -- one field by itself ----------------------------------------------------------------------

    @staticmethod
    def _shown(struct: Struct, spec: Field) -> str:
        """The field's name in paths; what its type stands for has none of its own."""
        stands_for = transparent(struct)
        return "" if stands_for is not None and stands_for.id == spec.id else spec.id

    def _field(self, code: Code, struct: Struct, spec: Field, scope: Scope, ranges: _Ranges) -> None:
        original = struct.field(spec.id)
        assert original is not None
        tagged = self.back.tag_section(spec)
        if spec.condition is None:
            self._there(code, struct, spec, tagged, scope, ranges, declared=False)
            self._not_null(code, spec, spec.null_versions)
            self._after(code, spec, scope, ranges)
            return
        kind = self.types.field(struct, original)
        var = self.names.local(spec.id)
        if tagged is not None:
            self._absent_tags(code, spec, tagged)
            code.add(f"List<TaggedField> {var} = new ArrayList<>();")
        elif spec.codec is not None:
            code.add(f"{kind.text} {var}_parsed = {self.types.absent(struct, original)};")
            code.add(f"byte[] {var} = null;")
        else:
            unset = "null" if original.nullable is not None else self.types.absent(struct, original)
            code.add(f"{kind.text} {var} = {unset};")
        if spec.id in ranges.starts:
            code.add(f"int startOf_{lower(spec.id)} = in.pos;")
        with code.block(f"if ({plain(scope.java.condition(spec.condition))})"):
            self._there(code, struct, spec, tagged, scope, ranges, declared=True)
        self._not_null(code, spec, spec.null_versions)
        self._after(code, spec, scope, ranges)

    def _not_null(self, code: Code, spec: Field, versions: VersionRange | None) -> None:
        """Refuse null in a layout of versions that do not allow it."""
        if versions is not None and not versions:
            with code.block(f"if ({self.names.local(spec.id)} == null)"):
                why = "null in a version that does not allow it"
                code.add(_malformed(spec.id, why, "in.pos", '"a value"', '"null"'))

    def _there(
        self,
        code: Code,
        struct: Struct,
        spec: Field,
        tagged: Field | None,
        scope: Scope,
        ranges: _Ranges,
        *,
        declared: bool,
    ) -> None:
        """Read a field that is there; `declared` where its variable is."""
        var = self.names.local(spec.id)
        if spec.id in ranges.starts and not declared:
            code.add(f"int startOf_{lower(spec.id)} = in.pos;")
        if tagged is not None:
            self._tags(code, spec, tagged, declared)
            return
        if spec.codec is not None:
            stop = self._stop(spec, self._shown(struct, spec), scope)
            if not declared:
                kind = self.types.field(struct, spec)
                code.add(f"{kind.text} {var}_parsed = {self.types.absent(struct, spec)};")
            code.add(f"{'' if declared else 'byte[] '}{var} = in.bytes({stop});")
            return
        if spec.repeat is not None:
            self._repeat(code, struct, spec, scope, declared)
            return
        kind = self.types.single(spec)
        if not declared:
            code.add(f"{kind.text} {var};")
        where = "in.pos"
        if spec.valid is not None or spec.contents is not None:
            where = self._number("at")
            code.add(f"int {where} = in.pos;")
        shown = self._shown(struct, spec)
        self._element(code, spec.type, spec, scope, var, shown, f".within({java_literal(shown)})")
        self._checks(code, spec, var, where, scope)

    def _stop(self, spec: Field, path: str, scope: Scope) -> str:
        """Where a field of a size, or one that goes to the end, stops."""
        if spec.size is None:
            return "in.end"
        return f"in.span({java_literal(path)}, {plain(scope.java.number(spec.size))})"

    def _repeat(self, code: Code, struct: Struct, spec: Field, scope: Scope, declared: bool) -> None:
        var = self.names.local(spec.id)
        shown = java_literal(self._shown(struct, spec))
        single = self.types.single(spec)
        if declared:
            code.add(f"{var} = new ArrayList<>();")
        else:
            code.add(f"List<{single.boxed}> {var} = new ArrayList<>();")
        element = Field(spec.id, spec.type, spec.place, size=spec.size, enum=spec.enum)
        least = self._least(spec)
        head = "while (true)"
        if spec.repeat == "expr":
            assert spec.repeat_expr is not None
            count = plain(scope.java.number(spec.repeat_expr))
            left = self._number("left")
            head = f"for (long {left} = in.count({shown}, {count}, {least}); {left} > 0; {left}--)"
        elif spec.repeat == "eos":
            head = "while (in.pos < in.end)"
        with code.block(head):
            before = self._number("before")
            if spec.repeat == "eos" and not least:
                code.add(f"int {before} = in.pos;")
            code.add(f"{single.text} item;")
            env = Scope(struct, self.types, {**scope.names, "_": ("item", single)})
            with code.block("try"):
                where = "in.pos"
                if spec.valid is not None:
                    where = self._number("at")
                    code.add(f"int {where} = in.pos;")
                self._element(code, spec.type, element, scope, "item", "", "")
                if spec.valid is not None:
                    self._checks(code, spec, "item", where, env)
            code.lines[-1] = code.lines[-1] + " catch (FormatException error) {"
            with code.deeper():
                code.add(f"throw error.within({shown}, {var}.size());")
            code.add("}")
            code.add(f"{var}.add(item);")
            if spec.repeat == "eos":
                with code.block(f"if ({var}.size() > in.opt.elements())"):
                    code.add(f"throw in.tooMany({shown});")
                if not least:
                    with code.block(f"if (in.pos == {before})"):
                        why = "an element without bytes would repeat for ever"
                        code.add(_malformed(spec.id, why, "in.pos", "null", "null"))
            if spec.repeat == "until":
                assert spec.repeat_until is not None
                with code.block(f"if ({plain(env.java.condition(spec.repeat_until))})"):
                    code.add("break;")

    def _least(self, spec: Field) -> int:
        if isinstance(spec.size, ex.Literal) and isinstance(spec.size.value, int):
            return spec.size.value
        return self.layouts.least_of(spec.type) if spec.size is None else 0

    def _absent_tags(self, code: Code, spec: Field, section: Field) -> None:
        for tag in section.tags:
            absent = self.types.absent(NOTHING, Field(tag.id, tag.type, spec.place, default=tag.default))
            code.add(f"{self.types.of(tag.type).text} {self.names.local(tag.id)} = {absent};")

    def _tags(self, code: Code, spec: Field, section: Field, declared: bool) -> None:
        var = self.names.local(spec.id)
        if not declared:
            self._absent_tags(code, spec, section)
            code.add(f"List<TaggedField> {var} = new ArrayList<>();")
        tags, index, outer = self._number("tags"), self._number("index"), self._number("outer")
        code.add(f"Input.Tags {tags} = in.tags({java_literal(spec.id)});", f"int {outer} = in.end;")
        with code.block(f"for (int {index} = 0; {index} < {tags}.tag.length; {index}++)"):
            code.add(f"in.pos = {tags}.start[{index}];", f"in.end = {tags}.stop[{index}];")
            keyword = "if"
            for tag in self._tags_there.values():
                made = Field(tag.id, tag.type, spec.place, default=tag.default)
                code.add(f"{keyword} ({tags}.tag[{index}] == {tag.number}) {{")
                with code.deeper():
                    wrap = f".within({java_literal(tag.id)})"
                    scope = Scope(NOTHING, self.types)
                    self._element(code, tag.type, made, scope, self.names.local(tag.id), tag.id, wrap)
                    code.add(f"in.endsExactly({java_literal(tag.id)});")
                    self._not_null(code, made, tag.null_versions)
                keyword = "} else if"
            rest = f"{var}.add(new TaggedField({tags}.tag[{index}], in.bytes(in.end)));"
            if self._tags_there:
                code.add("} else {", f"    {rest}", "}")
            else:
                code.add(rest)
        code.add(f"in.pos = {tags}.after;", f"in.end = {outer};")

    # -- one value --------------------------------------------------------------------------------

    def _element(
        self, code: Code, kind: TypeRef, spec: Field, scope: Scope, var: str, path: str, wrap: str
    ) -> None:
        """Read one value of `kind` into `var`; `wrap` puts the field's name before the path of an error."""
        name = java_literal(path)
        match kind:
            case Prim(width=width) as prim:
                code.add(
                    f"in.need({name}, {width});", f"{var} = {load(prim, 'in.pos')};", f"in.pos += {width};"
                )
            case Bytes():
                code.add(f"{var} = in.bytes({self._stop(spec, path, scope)});")
            case Str(encoding):
                stop = self._stop(spec, path, scope)
                charset = java_literal(encoding)
                if ENCODINGS[encoding].errors == "strict":
                    code.add(f"{var} = in.text({stop}, {name}, {charset});")
                else:
                    code.add(f"{var} = in.text({stop}, {charset});")
            case Ref(target, args):
                struct = self.model.struct(target)
                if struct.wire in INTRINSICS:
                    code.add(f"{var} = in.{struct.wire}({name});")
                else:
                    self._struct(code, struct, args, spec, scope, var, path, wrap)
            case Switch():
                self._switch(code, kind, spec, scope, var, path, wrap)
            case _:
                raise TypeError(kind)

    def _struct(
        self,
        code: Code,
        struct: Struct,
        args: Iterable[ex.Expr],
        spec: Field,
        scope: Scope,
        var: str,
        path: str,
        wrap: str,
    ) -> None:
        sized = spec.size is not None
        outer = self._number("outer")
        if sized:
            code.add(f"int {outer} = in.end;", f"in.end = {self._stop(spec, path, scope)};")
        lines = [f"{var} = {self.call(struct, args, scope)};"]
        if sized or spec.size_eos:
            lines.append('in.endsExactly("");')
        if wrap:
            code.add("try {", *(f"    {line}" for line in lines), "} catch (FormatException error) {")
            code.add(f"    throw error{wrap};", "}")
        else:
            code.add(*lines)
        if sized:
            code.add(f"in.end = {outer};")

    def call(self, struct: Struct, args: Iterable[ex.Expr], scope: Scope) -> str:
        """The call of the method that reads `struct`, chosen by its flags."""
        extra = ["in"]
        suffix = ""
        chosen: tuple[str, str] | None = None
        for param, arg in zip(struct.params, args, strict=True):
            if param.type != "bool":
                extra.append(plain(scope.java.number(arg)))
            elif isinstance(arg, ex.Literal):
                suffix += camel(param.id) if arg.value else ""
            else:
                chosen = plain(scope.java.condition(arg)), camel(param.id)
        given = ", ".join(extra)
        if chosen is not None:
            yes, no = (f"{self.method(struct, each)}({given})" for each in (chosen[1], ""))
            return f"{chosen[0]} ? {yes} : {no}"
        return f"{self.method(struct, suffix)}({given})"

    def method(self, struct: Struct, suffix: str = "") -> str:
        """The method that reads `struct`, as it is called from this schema's class."""
        schema = self.model.schema_of(struct.name)
        end = f"With{suffix}" if suffix else ""
        if transparent(struct) is None:
            return f"{self.names.type(struct.name, self.schema)}.read{end}"
        return f"{self.names.top(schema.id, self.schema)}.read{self.names.function(struct)}{end}"

    def _switch(
        self, code: Code, kind: Switch, spec: Field, scope: Scope, var: str, path: str, wrap: str
    ) -> None:
        outer = self._number("outer")
        sized = spec.size is not None
        name = java_literal(path)
        if sized:
            code.add(f"int {outer} = in.end;", f"in.end = {self._stop(spec, path, scope)};")
        keyword = "if"
        for value, each in kind.cases:
            test = scope.java.condition(ex.Binary("==", kind.on, value))
            code.add(f"{keyword} ({plain(test)}) {{")
            with code.deeper():
                self._element(code, each, bare(spec), scope, var, path, wrap)
            keyword = "} else if"
        code.add("} else {")
        with code.deeper():
            if kind.default is not None:
                self._element(code, kind.default, bare(spec), scope, var, path, wrap)
            elif sized or spec.size_eos:
                code.add(f"{var} = in.bytes(in.end);")
            else:
                have = scope.java.value(kind.on)[0]
                why = '"no case for this value"'
                code.add(f"throw FormatException.unsupported({name}, {why}, in.pos, null, {have});")
        code.add("}")
        if sized or spec.size_eos:
            code.add(f"in.endsExactly({name});")
        if sized:
            code.add(f"in.end = {outer};")


def _malformed(path: str, reason: str, at: str, need: str, have: str) -> str:
    name, why = java_literal(path), java_literal(reason)
    return f"throw FormatException.malformed({name}, {why}, {at}, {need}, {have});"


def opposite(test: str) -> str:
    """The opposite of a condition, without parentheses around it."""
    inside = plain(test)
    if test.startswith("(") and inside != test:
        for op, other in ((" == ", " != "), (" >= ", " < "), (" <= ", " > ")):
            if inside.count(op) == 1 and "&&" not in inside and "||" not in inside and "?" not in inside:
                return inside.replace(op, other)
    return f"!({inside})"


def _plus(number: int) -> str:
    return f" + {number}" if number else ""


def parts_of(run: Run, prefix: str = "") -> list[tuple[str, int]]:
    """The names and sizes of a run's fields, for the error where they are not all there."""
    found: list[tuple[str, int]] = []
    for item in run.fields:
        if isinstance(item.what, BitGroup):
            found.append((f"{prefix}{item.what.members[0][0].id}", item.size))
        elif item.field is not None:
            name = f"{prefix}{item.field.id}"
            if item.inner is not None:
                found += parts_of(item.inner, f"{name}.")
            else:
                found.append((name, item.size))
    return found


def _has_prim(kind: TypeRef) -> bool:
    match kind:
        case Prim():
            return True
        case Switch(_, cases, default):
            return any(_has_prim(each) for _, each in cases) or (default is not None and _has_prim(default))
    return False


def _sizes_by(layout: Layout, target: str, name: str) -> bool:
    """Whether `target` is read by the count `name` itself, so that the two cannot differ."""
    return any(
        spec.id == target and spec.repeat_expr is not None and name in ex.names(spec.repeat_expr)
        for step in layout.steps
        for spec in fields_of(step)
    )
