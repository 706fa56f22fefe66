"""What a kernel does with the bytes of a type: its fields as C members, and the steps that fill them.

A plan is neutral to how a template lays it out: a tree of steps, in which nothing is left to decide.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from kodec.generator.layout import BitGroup, Layouts, One, Run
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import (
    Bytes,
    Derive,
    Field,
    Model,
    Prim,
    Ref,
    Str,
    Struct,
    Valid,
)
from kodec.generator.targets.native.expressions import (
    NotColumnar,
    bare,
    condition,
    literal,
    number,
    standing_at,
)
from kodec.generator.targets.native.names import c_name
from kodec.generator.targets.native.steps import (
    Advance,
    Blob,
    Check,
    Checksum,
    Choice,
    Length,
    List,
    Mark,
    Part,
    Scalar,
    Step,
    Varint,
)
from kodec.generator.targets.native.steps import Run as RunStep
from kodec.generator.wire import VARINTS, WIRE

__all__ = ["Constants", "Member", "Names", "Parser", "Scope", "tests_of"]


@dataclass(slots=True)
class Member:
    """A member of a C struct: a number, a span of bytes, a nested struct, or a list that is kept elsewhere.

    `kind` is int, uint, float, double, blob, struct or list; `spec` is the schema's field.
    """

    name: str
    kind: str
    spec: Field
    owner: Struct
    members: list[Member] = field(default_factory=list)
    nullable: bool = False
    path: str = ""
    """How the member is reached from its root: `attributes.compression`."""
    bits: int = 64
    signed: bool = True
    list_index: int = -1

    @property
    def c_type(self) -> str:
        return {"int": "int64_t", "uint": "uint64_t", "blob": "kd_span"}.get(self.kind, self.kind)

    @property
    def is_number(self) -> bool:
        return self.kind in ("int", "uint", "float", "double")


class Constants:
    """Names of C constants for what a kernel counts, each once: `FIELD_RECORDS_BODY_KEY` for
    `records[].body.key`."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.all: dict[str, str] = {}
        """In order, what it stands for and its name."""

    def __call__(self, path: str) -> str:
        if path not in self.all:
            words = "_".join(re.findall(r"[A-Za-z0-9_]+", path)).upper()
            name, number = f"{self._prefix}_{words or 'NONE'}", 2
            while name in self.all.values():
                name, number = f"{self._prefix}_{words}_{number}", number + 1
            self.all[path] = name
        return self.all[path]


class Names(Constants):
    """The fields that a kernel can name when it stops; the first is none of them."""

    def __init__(self) -> None:
        super().__init__("FIELD")
        self("")


@dataclass(slots=True)
class Scope:
    """Where names lead in one place of a kernel: a struct's members, behind `root`, and the container's."""

    root: str
    struct: Struct
    members: list[Member]
    container: Scope | None = None
    extra: dict[str, str] = field(default_factory=dict)

    def resolve(self, expr: ex.Expr) -> str | None:
        match expr:
            case ex.Name(name) if name in self.extra:
                return self.extra[name]
            case ex.Name() | ex.Attr():
                found = self.find(expr)
                if found is None:
                    return None
                where, member = found
                if member.kind == "uint":
                    return f"kd_signed({where}, &wrong)"
                if member.kind == "int":
                    return where
        return None

    def find(self, expr: ex.Expr) -> tuple[str, Member] | None:
        """The C text and the member that a chain of names leads to."""
        chain: list[str] = []
        while isinstance(expr, ex.Attr):
            chain.insert(0, expr.name)
            expr = expr.of
        if not isinstance(expr, ex.Name):
            return None
        scope = self
        if expr.name == "_batch":
            if self.container is None:
                return None
            scope = self.container
        else:
            chain.insert(0, expr.name)
        members, text, member = scope.members, scope.root, None
        for name in chain:
            member = next((each for each in members if each.spec.id == name), None)
            if member is None:
                return None
            text += member.name
            members = member.members
            if member.kind == "struct":
                text += "."
        return None if member is None else (text.rstrip("."), member)


class Parser:
    """Turns types into members and steps. Raises NotColumnar where a type is beyond a kernel."""

    def __init__(self, model: Model, layouts: Layouts, names: Names) -> None:
        self.model = model
        self.layouts = layouts
        self.names = names
        self.lists: list[List] = []
        self._lists = 0
        self.checksums = 0
        """How many checksums there may still be."""
        self._marks = 0

    def number(self, expr: ex.Expr, scope: Scope) -> str:
        return number(expr, scope.resolve, self.model)

    def condition(self, expr: ex.Expr, scope: Scope) -> str:
        return bare(condition(expr, scope.resolve, self.model))

    def parse(self, scope: Scope, path: str, prefix: str = "") -> tuple[Step, ...]:
        """The steps that read `scope.struct`, whose members are added to those of the scope.

        `path` is where the struct stands, for messages; `prefix` is how its members are reached.
        """
        struct = scope.struct
        if struct.params or struct.versions:
            raise NotColumnar(f"`{struct.name}` has parameters or versions", struct.place)
        layout = self.layouts.layout(struct, {})
        ranges = _Ranges(struct)
        steps: list[Step] = []
        for step in layout.steps:
            if isinstance(step, Run):
                steps += self._run(scope, step, path, prefix, ranges)
                continue
            with standing_at(step.field.place):
                steps += self._marked(ranges, step.field, scope, "p")
                steps += self._one(scope, step, path, prefix)
                steps += self._ended(ranges, step.field, scope, path)
        return tuple(steps)

    # -- runs of fixed width ----------------------------------------------------------------------

    def _run(self, scope: Scope, run: Run, path: str, prefix: str, ranges: _Ranges) -> list[Step]:
        loads: list[str] = []
        checks: list[Check] = []
        marks: list[Mark] = []
        ends: list[tuple[Field, str]] = []
        at = 0
        first = _join(path, _first_name(run))
        for item in run.fields:
            what = item.what
            spec = item.field
            if spec is not None:
                marks += self._marked(ranges, spec, scope, f"p + {at}")
                ends.append((spec, f"p + {at + item.size}"))
            if isinstance(what, BitGroup):
                members, lines = self._bits(what, item.size, at, prefix, scope.root, scope.struct)
                scope.members += members
                loads += lines
                starts = [self._marked(ranges, each, scope, f"p + {at}") for each, _, _ in what.members]
                marks += [mark for found in starts for mark in found]
                ends += [(each, f"p + {at + item.size}") for each, _, _ in what.members]
                for each, _, _ in what.members:
                    checks += self._checks(scope, each, _join(path, each.id), f"p + {at}")
            elif item.inner is not None and spec is not None:
                member = Member(c_name(spec.id), "struct", spec, scope.struct, path=prefix + spec.id)
                inner = self._inside(member, spec, scope)
                loads += self._inner(item.inner, at, member, inner, _join(path, spec.id), checks)
                scope.members.append(member)
            elif spec is not None:
                loads += self._fixed(
                    scope.members, scope.root, spec, what, item.size, at, prefix, scope.struct
                )
                checks += self._checks(scope, spec, _join(path, spec.id), f"p + {at}")
            at += item.size
        return [
            RunStep(run.size, self.names(first), tuple(loads)),
            *marks,
            *checks,
            *(step for spec, end in ends for step in self._ended(ranges, spec, scope, path, end)),
            Advance(run.size),
        ]

    def _inside(self, member: Member, spec: Field, outer: Scope) -> Scope:
        assert isinstance(spec.type, Ref)
        struct = self.model.struct(spec.type.target)
        return Scope(f"{outer.root}{member.name}.", struct, member.members, outer.container)

    def _inner(
        self, run: Run, at: int, into: Member, scope: Scope, path: str, checks: list[Check]
    ) -> list[str]:
        struct, root = scope.struct, scope.root
        if any(spec.derive is not None and spec.derive.is_range for spec in struct.fields):
            raise NotColumnar(
                f"`{path}` is of fixed size and has a length or a checksum of a range", struct.place
            )
        loads: list[str] = []
        for item in run.fields:
            spec = item.field
            if isinstance(item.what, BitGroup):
                members, lines = self._bits(item.what, item.size, at, f"{into.path}.", root, struct)
                into.members += members
                loads += lines
                for each, _, _ in item.what.members:
                    checks += self._checks(scope, each, _join(path, each.id), f"p + {at}")
            elif item.inner is not None and spec is not None:
                member = Member(c_name(spec.id), "struct", spec, struct, path=f"{into.path}.{spec.id}")
                inner = self._inside(member, spec, scope)
                loads += self._inner(item.inner, at, member, inner, _join(path, spec.id), checks)
                into.members.append(member)
            elif spec is not None:
                loads += self._fixed(
                    into.members, root, spec, item.what, item.size, at, f"{into.path}.", struct
                )
                checks += self._checks(scope, spec, _join(path, spec.id), f"p + {at}")
            at += item.size
        return loads

    def _bits(
        self, group: BitGroup, size: int, at: int, prefix: str, root: str, owner: Struct
    ) -> tuple[list[Member], list[str]]:
        if size > 8:
            raise NotColumnar("bit fields of more than 64 bits in a row", group.members[0][0].place)
        members, lines = [], []
        for spec, shift, width in group.members:
            if width > 63:
                raise NotColumnar(f"`{spec.id}` has {width} bits", spec.place)
            member = Member(c_name(spec.id), "int", spec, owner, path=prefix + spec.id, bits=width)
            mask = (1 << width) - 1
            shifted = f"kd_load_bits(p + {at}, {size})" + (f" >> {shift}" if shift else "")
            lines.append(f"{root}{member.name} = (int64_t)({shifted} & {mask:#x});")
            members.append(member)
        return members, lines

    def _fixed(
        self,
        members: list[Member],
        root: str,
        spec: Field,
        what: Prim | Bytes | Ref,
        size: int,
        at: int,
        prefix: str,
        owner: Struct,
    ) -> list[str]:
        name = c_name(spec.id)
        if isinstance(what, Prim):
            member = Member(name, _kind_of(what), spec, owner, path=prefix + spec.id, bits=8 * what.width)
            members.append(member)
            return [f"{root}{name} = {_load(what, f'p + {at}')};"]
        if spec.contents is not None or not isinstance(what, Bytes):
            raise NotColumnar(f"`{spec.id}` is fixed content or a type without a column", spec.place)
        members.append(Member(name, "blob", spec, owner, path=prefix + spec.id))
        return [f"{root}{name} = (kd_span){{p + {at}, {size}}};"]

    # -- one field by itself ----------------------------------------------------------------------

    def _one(self, scope: Scope, step: One, path: str, prefix: str) -> list[Step]:
        spec = step.field
        where = _join(path, spec.id)
        plain = self._plain(scope, spec, where, prefix)
        if spec.condition is None:
            return [*plain, *self._checks(scope, spec, where, "p")]
        member = next(each for each in scope.members if each.spec.id == spec.id)
        absent = self._absent(scope, member, spec)
        test = self.condition(spec.condition, scope)
        body = [*plain, *self._checks(scope, spec, where, "p")]
        return [Choice(test, tuple(body), tuple(absent), self.names(where))]

    def _absent(self, scope: Scope, member: Member, spec: Field) -> list[str]:
        target = f"{scope.root}{member.name}"
        if member.kind == "blob":
            member.nullable = spec.nullable is not None or self._optional(scope, spec)
            fixed = isinstance(spec.type, Bytes) and isinstance(spec.size, ex.Literal) and spec.size.value
            if not member.nullable and (fixed or spec.default not in (None, ex.Literal(""))):
                raise NotColumnar(f"`{spec.id}` is not empty where it is absent")
            empty = "NULL" if member.nullable else "p"
            return [f"{target} = (kd_span){{{empty}, 0}};"]
        if self._optional(scope, spec):
            raise NotColumnar(f"`{spec.id}` may be absent, and has no `-default`", spec.at("if"))
        if member.is_number and spec.nullable is None:
            return [f"{target} = {self._default(scope, member, spec)};"]
        raise NotColumnar(f"`{spec.id}` may be absent, and is neither a number nor bytes")

    def _optional(self, scope: Scope, spec: Field) -> bool:
        original = scope.struct.field(spec.id)
        return original is not None and self.layouts.optional(scope.struct, original)

    def _default(self, scope: Scope, member: Member, spec: Field) -> str:
        """C text of the number that a field has where it is absent."""
        value = spec.default
        if value is None and spec.valid is not None and isinstance(spec.valid.eq, ex.Literal):
            value = spec.valid.eq
        if value is None:
            return "0"
        if isinstance(value, ex.Name) and spec.enum is not None:
            items = self.model.enum(spec.enum).items
            return literal(next(item.value for item in items if item.id == value.name))
        if member.kind not in ("float", "double"):
            return self.number(value, scope)
        sign, plain = ("-", value.of) if isinstance(value, ex.Unary) and value.op == "-" else ("", value)
        if not isinstance(plain, ex.Literal) or not math.isfinite(float(plain.value)):
            raise NotColumnar(f"`{spec.id}` has a default that is no plain number")
        return sign + repr(float(plain.value))

    def _plain(self, scope: Scope, spec: Field, where: str, prefix: str) -> list[Step]:
        """The steps that read a field that is there."""
        field_id = self.names(where)
        if spec.tags:
            raise NotColumnar(f"`{spec.id}` is a tagged section")
        if spec.repeat is not None:
            return self._repeat(scope, spec, where)
        name = c_name(spec.id)
        target = f"{scope.root}{name}"
        wire = self.layouts.wire_of(scope.struct, spec.id)
        kind = spec.type
        if spec.codec is not None or isinstance(kind, (Bytes, Str)):
            if spec.contents is not None:
                raise NotColumnar(f"`{spec.id}` is fixed content")
            member = Member(name, "blob", spec, scope.struct, path=prefix + spec.id)
            scope.members.append(member)
            size = None if spec.size is None else self.number(spec.size, scope)
            if size is None and not spec.size_eos:
                raise NotColumnar(f"`{spec.id}` has no size")
            return [Blob(target, size, field_id)]
        if isinstance(kind, Prim):
            scope.members.append(
                Member(name, _kind_of(kind), spec, scope.struct, path=prefix + spec.id, bits=8 * kind.width)
            )
            return [Scalar(kind.width, field_id, f"{target} = {_load(kind, 'p')};")]
        if wire in VARINTS:
            form = WIRE[wire]
            scope.members.append(
                Member(
                    name,
                    "int",
                    spec,
                    scope.struct,
                    path=prefix + spec.id,
                    bits=form.bits,
                    signed=form.signed,
                )
            )
            return [Varint(wire, target, field_id)]
        if isinstance(kind, Ref):
            return self._nested(scope, spec, kind, where, prefix)
        raise NotColumnar(f"`{spec.id}` is of a type without a column")

    def _nested(self, scope: Scope, spec: Field, kind: Ref, where: str, prefix: str) -> list[Step]:
        struct = self.model.struct(kind.target)
        if struct.wire or kind.args:
            raise NotColumnar(f"`{spec.id}` is of the wire type `{struct.wire or struct.name}`")
        member = Member(c_name(spec.id), "struct", spec, scope.struct, path=prefix + spec.id)
        inner = Scope(f"{scope.root}{member.name}.", struct, member.members, scope.container)
        steps = self.parse(inner, where, f"{prefix}{spec.id}.")
        scope.members.append(member)
        if spec.size is None and not spec.size_eos:
            return list(steps)
        self._marks += 1
        number = self._marks
        size = None if spec.size is None else self.number(spec.size, scope)
        return [Part(size, steps, self.names(where), number)]

    def _repeat(self, scope: Scope, spec: Field, where: str) -> list[Step]:
        if spec.repeat not in ("expr", "eos") or not isinstance(spec.type, Ref):
            raise NotColumnar(f"`{spec.id}` repeats in a way, or a type, without a column")
        struct = self.model.struct(spec.type.target)
        if struct.wire or spec.type.args or spec.size is not None:
            raise NotColumnar(f"`{spec.id}` repeats a type without a column")
        index, self._lists = self._lists, self._lists + 1
        member = Member(c_name(spec.id), "list", spec, scope.struct, list_index=index)
        inner = Scope(f"item_{index}.", struct, member.members, scope.container)
        steps = self.parse(inner, f"{where}[]")
        if any(each.kind in ("list", "struct") for each in member.members):
            raise NotColumnar(f"`{spec.id}` repeats what is not flat")
        count = None if spec.repeat_expr is None else self.number(spec.repeat_expr, scope)
        least = max(1, self.layouts.layout(struct, {}).min_size)
        found = List(member.name, index, count, steps, tuple(member.members), self.names(where), least)
        self.lists.append(found)
        scope.members.append(member)
        return [found]

    # -- rules ------------------------------------------------------------------------------------

    def _checks(self, scope: Scope, spec: Field, where: str, at: str) -> list[Check]:
        if spec.valid is None:
            return []
        member = next((each for each in scope.members if each.spec.id == spec.id), None)
        if member is None or not member.is_number or member.kind in ("float", "double"):
            raise NotColumnar(f"`{spec.id}` has a rule that is not about a whole number", spec.at("valid"))
        whole = Scope(scope.root, scope.struct, scope.members, scope.container)
        whole.extra["_"] = f"{scope.root}{member.name}"
        with standing_at(spec.at("valid")):
            tests = [condition(test, whole.resolve, self.model) for test in tests_of(spec.valid)]
        return [Check(bare(" && ".join(tests)), self.names(where), at)]

    def _marked(self, ranges: _Ranges, spec: Field, scope: Scope, at: str) -> list[Mark]:
        """Remember where a range starts that a length or a checksum covers."""
        return [Mark(_mark(scope, spec.id), at)] if spec.id in ranges.starts else []

    def _ended(self, ranges: _Ranges, spec: Field, scope: Scope, path: str, end: str = "p") -> list[Step]:
        """Hold what was stored against the range that ends with `spec`, or ended before it."""
        found: list[Step] = []
        due = [(owner, derive, end) for owner, derive in ranges.ends.get(spec.id, [])]
        if spec.id in ranges.later:
            due.append((spec.id, *ranges.later.pop(spec.id)))
        for owner, derive, stop in due:
            place = next(each.at("-derive") for each in scope.struct.fields if each.id == owner)
            member = next((each for each in scope.members if each.spec.id == owner), None)
            if member is None:
                mark = _mark(scope, owner, "end")
                found.append(Mark(mark, stop))
                ranges.later[owner] = derive, mark
                continue
            stored, start = scope.resolve(ex.Name(owner)), _mark(scope, derive.first)
            name = self.names(_join(path, owner))
            if derive.is_checksum:
                if not self.checksums:
                    raise NotColumnar(f"`{owner}` is a checksum beside another one, or in a row", place)
                self.checksums -= 1
                found.append(Checksum(stored, start, stop, name, f"kd_{derive.kind}"))
            else:
                plus = literal(0) if derive.plus is None else self.number(derive.plus, scope)
                found.append(Length(stored, start, stop, name, plus))
        return found


class _Ranges:
    """Where the ranges of a type start and end that lengths and checksums speak of."""

    def __init__(self, struct: Struct) -> None:
        self.starts: set[str] = set()
        self.ends: dict[str, list[tuple[str, Derive]]] = {}
        self.later: dict[str, tuple[Derive, str]] = {}
        """Of fields that are behind the range they speak of: that, and where it ended."""
        for spec in struct.fields:
            derive = spec.derive
            if derive is not None and derive.is_range:
                self.starts.add(derive.first)
                self.ends.setdefault(derive.last or derive.first, []).append((spec.id, derive))


def _mark(scope: Scope, ident: str, which: str = "start") -> str:
    root = "".join(each if each.isalnum() else "_" for each in scope.root).strip("_")
    return f"{which}_of_{root}_{ident}"


def tests_of(valid: Valid) -> list[ex.Expr]:
    """What has to hold of `_`, each by itself."""
    here = ex.Name("_")
    found: list[ex.Expr] = []
    for op, bound in (("==", valid.eq), (">=", valid.min), ("<=", valid.max)):
        if bound is not None:
            found.append(ex.Binary(op, here, bound))
    if valid.any_of:
        choice: ex.Expr = ex.Binary("==", here, valid.any_of[0])
        for each in valid.any_of[1:]:
            choice = ex.Binary("or", choice, ex.Binary("==", here, each))
        found.append(choice)
    if valid.expr is not None:
        found.append(valid.expr)
    return found


def _first_name(run: Run) -> str:
    item = run.fields[0]
    if item.field is not None:
        return item.field.id
    assert isinstance(item.what, BitGroup)
    return item.what.members[0][0].id


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _kind_of(kind: Prim) -> str:
    form = WIRE[kind.name].c
    if form is None:
        raise NotColumnar(f"`{kind.name}` is not in a kernel")
    return form.kind


def _load(kind: Prim, at: str) -> str:
    """C text that loads a number at `at`."""
    order = "" if kind.width == 1 else kind.endian
    raw = f"kd_load_u{kind.width}{order}({at})"
    if kind.floating:
        return f"kd_{_kind_of(kind)}_of({raw})"
    if kind.signed:
        return f"(int{8 * kind.width}_t){raw}"
    return raw
