"""Layouts to the views of functions that read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kodec.generator.layout import BitGroup, Layout, One, Run, RunField
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bytes, Derive, Field, Prim, Ref, Str, Struct, Switch, TypeRef
from kodec.generator.schema.roles import codec_field, transparent
from kodec.generator.targets.python.context import BIT_CODES, CODES
from kodec.generator.targets.python.expressions import emit, negate, operand
from kodec.generator.targets.python.facts import (
    LOSSLESS,
    NOTHING,
    READ_WIRE,
    Env,
    bare,
    expressions_of,
    fields_of,
)
from kodec.generator.targets.python.names import attribute, local
from kodec.generator.targets.python.types import Types
from kodec.generator.targets.python.views import View
from kodec.generator.text import Text, docstring

__all__ = ["Reader"]


class Reader(Types):
    """Views of reading functions: the whole of a layout, one field, what is derived, what is compressed."""

    def read_body(self, struct: Struct, layout: Layout, returns: str) -> dict[str, Any]:
        env = Env({}, struct)
        steps: list[View] = []
        spans = self.spans(layout)
        absent = {spec.id for spec in layout.absent}
        kept = [spec for spec in struct.fields if spec.id not in absent]
        codec = codec_field(struct)
        for step in layout.steps:
            if isinstance(step, Run):
                steps.append(self.read_run(step, env, spans))
            else:
                steps.append(self.read_one(struct, layout, step.field, env, spans))
        checks = self.derived_checks(struct, layout, env, after_head=False)
        inner = transparent(struct)
        if inner is not None:
            result = local(inner.id)
            if inner.id in absent:
                result = "None"
        else:
            names = []
            for spec in kept:
                section = self.back.tag_section(spec)
                if section is not None:
                    names += [tag.id for tag in section.tags] + [spec.id]
                elif self.stored(struct, next(f for f in struct.fields if f.id == spec.id)):
                    names.append(spec.id)
            result = ", ".join(f"{attribute(name)}={local(name)}" for name in names)
            result = f"{self.back.classes[struct.name]}({result})"
        facts: dict[str, Any] = {
            "steps": steps,
            "result": result,
            "checks": checks,
            "returns": returns,
            "starts": spans.starts,
            "peek": self.peeked(struct, layout),
        }
        if codec is not None:
            facts["decode"] = self.decode(struct, layout, codec)
        return facts

    def peeked(self, struct: Struct, layout: Layout) -> View | None:
        """The peek, where a field's expressions look at what it gives."""
        peeks = {each.id for each in struct.instances if each.peek_at is not None}
        used: set[str] = set()
        for step in layout.steps:
            for spec in fields_of(step):
                used |= {name for expr in expressions_of(spec) for name in ex.names(expr)}
        if not peeks & used:
            return None
        return self.peek(self.back.function(struct), struct)

    def read_run(self, run: Run, env: Env, spans: Spans) -> View:
        targets: list[str] = []
        made: list[str] = []
        checks: list[View] = []
        self.unpack(run, "", 0, targets, made, checks, env)
        starts = [
            {"name": item.field.id, "offset": item.offset}
            for item in run.fields
            if item.field is not None and item.field.id in spans.starts
        ]
        number = self.run_id(run)
        return View(
            "run",
            {
                "number": number,
                "size": run.size,
                "targets": targets,
                "made": made,
                "checks": checks,
                "starts": starts,
                "guard": None,
                "after": spans.after(run),
            },
        )

    def unpack(
        self,
        run: Run,
        prefix: str,
        base: int,
        targets: list[str],
        made: list[str],
        checks: list[View],
        env: Env,
    ) -> dict[str, str]:
        """Names for the values of a run, and the lines that make objects of them."""
        values: dict[str, str] = {}
        # the rules of a type's fields speak of its own fields
        scope = env if not prefix else Env(values, env.struct)
        for item in run.fields:
            where = f"pos + {base + item.offset}" if base + item.offset else "pos"
            if isinstance(item.what, BitGroup):
                self.unpack_bits(item, prefix, where, targets, made, checks, scope, values)
                continue
            spec = item.field
            assert spec is not None
            name = f"{prefix}{spec.id}" if prefix else local(spec.id)
            if item.inner is not None:
                parts = self.unpack(item.inner, f"{name}_", base + item.offset, targets, made, checks, env)
                made_of = self.construct(spec, parts)
                if prefix:
                    values[spec.id] = made_of
                else:
                    made.append(f"{name} = {made_of}")
                continue
            targets.append(name)
            values[spec.id] = name
            if spec.contents is not None:
                checks.append(self.contents_check(spec, name, where))
            checks += self.checks(spec, name, where, scope)
            if isinstance(item.what, Ref):
                values[spec.id] = f"UUID(bytes={name})"
            elif spec.enum is not None:
                values[spec.id] = self.enum_get(spec.enum, name)
            if not prefix and values[spec.id] != name:
                made.append(f"{name} = {values[spec.id]}")
        return values

    def unpack_bits(
        self,
        item: RunField,
        prefix: str,
        where: str,
        targets: list[str],
        made: list[str],
        checks: list[View],
        env: Env,
        values: dict[str, str],
    ) -> None:
        """The parts of an integer that several bit fields share."""
        assert isinstance(item.what, BitGroup)
        raw = f"{prefix}{self.group_name(item)}_bits"
        targets.append(raw)
        if item.size not in BIT_CODES:
            made.append(f'{raw}_int = int.from_bytes({raw}, "big")')
            raw = f"{raw}_int"
        for member, shift, width in item.what.members:
            values[member.id] = self.bits(raw, shift, width, member)
            name = local(member.id)
            if not prefix:
                made.append(f"{name} = {values[member.id]}")
            elif member.valid is not None:
                # a rule is checked on a name of its own
                name = f"{prefix}{member.id}"
                made.append(f"{name} = {values[member.id]}")
                values[member.id] = name
            checks += self.checks(member, name, where, env)

    def construct(self, spec: Field, values: dict[str, str]) -> str:
        assert isinstance(spec.type, Ref)
        struct = self.model.struct(spec.type.target)
        args = ", ".join(f"{attribute(f.id)}={values[f.id]}" for f in struct.fields if f.contents is None)
        return f"{self.class_of(struct.name)}({args})"

    def bits(self, raw: str, shift: int, width: int, member: Field) -> str:
        if width == 1 and member.enum is None:
            return f"{raw} & {hex(1 << shift)} != 0"
        text = f"{raw} >> {shift}" if shift else raw
        text = f"{text} & {hex((1 << width) - 1)}"
        return self.enum_get(member.enum, text) if member.enum is not None else text

    def enum_get(self, enum: str, text: str) -> str:
        return f"member_of({self.imported(enum, self.back.enum_class(enum))}, {text})"

    def contents_check(self, spec: Field, name: str, where: str) -> View:
        return View(
            "check",
            {
                "bad": f"{name} != {spec.contents!r}",
                "path": spec.id,
                "reason": "wrong fixed bytes",
                "at": where,
                "need": repr(spec.contents),
                "have": name,
            },
        )

    def checks(self, spec: Field, name: str, where: str, env: Env) -> list[View]:
        """The `valid` rules of a field as conditions that must not hold."""
        valid = spec.valid
        if valid is None:
            return []
        inner = Env({**env.names, "_": name, spec.id: name}, env.struct)

        def py(expr: ex.Expr) -> str:
            return emit(expr, inner, self.model)

        found: list[tuple[str, str]] = []
        if valid.eq is not None:
            found.append((f"{name} != {py(valid.eq)}", py(valid.eq)))
        # NaN is neither at least nor at most anything
        floating = isinstance(spec.type, Prim) and spec.type.floating
        if valid.min is not None:
            low = py(valid.min)
            found.append(
                (f"not {name} >= {low}" if floating else f"{name} < {low}", f"at least {py(valid.min)}")
            )
        if valid.max is not None:
            high = py(valid.max)
            found.append(
                (f"not {name} <= {high}" if floating else f"{name} > {high}", f"at most {py(valid.max)}")
            )
        if valid.any_of is not None:
            choices = ", ".join(py(choice) for choice in valid.any_of)
            found.append((f"{name} not in ({choices},)", f"one of {choices}"))
        if valid.expr is not None:
            bad = ex.Unary("not", valid.expr) if floating else negate(valid.expr)
            found.append((py(bad), ex.text_of(valid.expr)))
        return [
            View(
                "check",
                {
                    "bad": bad,
                    "path": spec.id,
                    "reason": "value not allowed",
                    "at": where,
                    "need": repr(need),
                    "have": name,
                },
            )
            for bad, need in found
        ]

    def spans(self, layout: Layout) -> Spans:
        return Spans(self, layout)

    def read_one(self, struct: Struct, layout: Layout, spec: Field, env: Env, spans: Spans) -> View:
        guard = None if spec.condition is None else emit(spec.condition, env, self.model)
        original = struct.field(spec.id)
        assert original is not None
        facts: dict[str, Any] = {
            "var": local(spec.id),
            "id": spec.id,
            "path": self.shown(struct, spec),
            "guard": guard,
            "absent": "",
            "checks": [],
            "start": spec.id in spans.starts,
            "after": spans.after(One(spec)),
            "annotation": "",
        }
        if self.back.tag_section(spec) is not None:
            return self.read_tags(spec, facts)
        facts["absent"] = self.absent_value(struct, original)
        if self.stored(struct, original) or spec.repeat:
            facts["annotation"] = self.annotation(struct, original)
        if spec.codec is not None:
            facts |= {"size": self.size(spec, env), "eos": spec.size_eos}
            return View("stored", facts)
        facts["checks"] = self.checks(spec, "item" if spec.repeat else local(spec.id), "at", env)
        if spec.repeat is not None:
            return self.read_repeat(struct, spec, env, facts)
        facts["element"] = self.element(spec.type, spec, env, local(spec.id), self.shown(struct, spec))
        return View("one", facts)

    @staticmethod
    def shown(struct: Struct, spec: Field) -> str:
        """The field's name in error paths; what its type stands for has none of its own."""
        stands_for = transparent(struct)
        return "" if stands_for is not None and stands_for.id == spec.id else spec.id

    def size(self, spec: Field, env: Env) -> str | None:
        return None if spec.size is None else emit(spec.size, env, self.model)

    def element(self, kind: TypeRef, spec: Field, env: Env, var: str, path: str) -> View:
        """How to read one value of `kind` into `var`."""
        size = self.size(spec, env)
        facts: dict[str, Any] = {"var": var, "path": path, "size": size, "eos": spec.size_eos, "enum": None}
        if spec.enum is not None:
            facts["enum"] = self.enum_get(spec.enum, var)
        match kind:
            case Prim(width=width) as prim:
                order = ">" if prim.endian == "be" else "<"
                run = Run((RunField(Field(spec.id, prim, spec.place), 0, width, prim),), width)
                return View(
                    "prim",
                    {**facts, "number": self.run_id(run), "width": width, "code": order + CODES[prim.name]},
                )
            case Bytes():
                facts["contents"] = None
                return View("bytes", facts)
            case Str(encoding):
                return View(
                    "str", {**facts, "encoding": encoding, "errors": LOSSLESS.get(encoding, "strict")}
                )
            case Ref(target, args):
                struct = self.model.struct(target)
                if struct.wire in READ_WIRE:
                    return View("wire", {**facts, "call": READ_WIRE[struct.wire]})
                call, extra = self.call("read", struct, args, env)
                return View("struct", {**facts, "call": call, "args": extra})
            case Switch(on, cases, default):
                branches = [
                    {
                        "value": emit(case, env, self.model),
                        "element": self.element(each, bare(spec), env, var, path),
                    }
                    for case, each in cases
                ]
                other = None if default is None else self.element(default, bare(spec), env, var, path)
                return View(
                    "switch", {**facts, "on": emit(on, env, self.model), "branches": branches, "other": other}
                )
        raise TypeError(kind)

    def call(self, verb: str, struct: Struct, args: Iterable[ex.Expr], env: Env) -> tuple[str, list[str]]:
        """The function that reads or writes `struct`, chosen by its flags, and its further arguments."""
        function = self.back.function(struct)
        extra: list[str] = []
        suffix = ""
        for param, arg in zip(struct.params, args, strict=True):
            if param.type != "bool":
                extra.append(emit(arg, env, self.model))
            elif isinstance(arg, ex.Literal):
                suffix += f"_{param.id}" if arg.value else ""
            else:
                test = emit(arg, env, self.model)
                yes = self.imported(struct.name, f"{verb}_{function}_{param.id}")
                no = self.imported(struct.name, f"{verb}_{function}")
                return f"({yes} if {test} else {no})", extra
        return self.imported(struct.name, f"{verb}_{function}{suffix}"), extra

    def read_repeat(self, struct: Struct, spec: Field, env: Env, facts: dict[str, Any]) -> View:
        inner = Field(spec.id, spec.type, spec.place, size=spec.size, enum=spec.enum)
        least = self.least_of_element(spec)
        facts |= {
            "mode": spec.repeat,
            "count": None if spec.repeat_expr is None else emit(spec.repeat_expr, env, self.model),
            "until": None
            if spec.repeat_until is None
            else emit(
                spec.repeat_until,
                Env({**env.names, "_": "item", spec.id: local(spec.id)}, struct),
                self.model,
            ),
            "element": self.element(spec.type, inner, env, "item", ""),
            "least": least,
            "item_type": self.py_type(spec.type, spec),
        }
        return View("repeat", facts)

    def least_of_element(self, spec: Field) -> int:
        """The fewest bytes that one element of a repeated field can take."""
        if isinstance(spec.size, ex.Literal) and isinstance(spec.size.value, int):
            return spec.size.value
        return self.layouts.least_of(spec.type) if spec.size is None else 0

    def read_tags(self, spec: Field, facts: dict[str, Any]) -> View:
        section = self.back.tag_section(spec)
        assert section is not None
        known = []
        for tag in section.tags:
            made = Field(tag.id, tag.type, spec.place, default=tag.default)
            known.append(
                {
                    "number": tag.number,
                    "var": local(tag.id),
                    "default": self.tag_default(made),
                    "element": self.element(tag.type, made, Env({}, NOTHING), local(tag.id), tag.id),
                    "type": self.py_type(tag.type),
                }
            )
        return View("tags", {**facts, "known": known})

    def tag_default(self, made: Field) -> str:
        return self.plain_default(NOTHING, made)

    def decode(self, struct: Struct, layout: Layout, codec_field: Field) -> View:
        codec = codec_field.codec
        assert codec is not None
        env = Env({f.id: f"v.{attribute(f.id)}" for f in struct.fields}, struct)
        by = emit(self.layouts.inline(struct, codec.by), env, self.model)
        inner = self.model.struct(codec.inner)
        read, _ = self.call("read", inner, (), env)
        write, _ = self.call("write", inner, (), env)
        swap = [{"from": a, "to": b} for a, b in codec.replace]
        when = (
            emit(self.layouts.inline(struct, codec.when), env, self.model) if codec.when is not None else None
        )
        plain = codec_field.type
        parsed_plain = isinstance(plain, (Switch, Ref))
        enum = self.codec_enum(struct, codec.by)
        names = {item.value: item.id for item in self.model.enum(enum).items}
        return View(
            "decode",
            {
                "field": attribute(codec_field.id),
                "by": by,
                "names": names,
                "read": read,
                "write": write,
                "swap": swap,
                "when": when,
                "parsed_plain": parsed_plain,
                "path": codec_field.id,
                "by_path": ex.text_of(codec.by),
                "by_place": self.back.places(struct).get(ex.text_of(codec.by).partition(".")[0], 0),
                "checks": self.derived_checks(struct, layout, env, after_head=True),
                "lists": inner.wire == "list",
                "inner_type": self.py_type(Ref(codec.inner)),
                "known": ", ".join(f"{value} ({name})" for value, name in names.items()),
                "nullable": codec_field.nullable is not None,
            },
        )

    def codec_enum(self, struct: Struct, by: ex.Expr) -> str:
        """The enum of the field that `by` names, across nested types."""
        path: list[str] = []
        at = by
        while isinstance(at, ex.Attr):
            path.insert(0, at.name)
            at = at.of
        assert isinstance(at, ex.Name)
        found = struct.field(at.name)
        for name in path:
            assert found is not None and isinstance(found.type, Ref)
            found = self.model.struct(found.type.target).field(name)
        assert found is not None and found.enum is not None
        return found.enum

    def derived_checks(self, struct: Struct, layout: Layout, env: Env, after_head: bool) -> list[View]:
        """Counts, lasts and maxima that must agree with what was read; `Spans` has lengths and checksums."""
        container = codec_field(struct)
        checks: list[View] = []
        for step in layout.steps:
            for spec in fields_of(step):
                derive = spec.derive
                if derive is None or derive.is_checksum or derive.kind == "length_of":
                    continue
                if (container is not None and derive.first == container.id) is not after_head:
                    continue
                if derive.kind == "count_of" and self.sizes_by(layout, derive.first, spec.id):
                    continue
                checks.append(self.derived_check(struct, spec, derive, env))
        return checks

    @staticmethod
    def sizes_by(layout: Layout, target: str, name: str) -> bool:
        """Whether `target` is read by the count `name` itself, so that the two cannot differ."""
        for step in layout.steps:
            for spec in fields_of(step):
                if spec.id == target and spec.repeat_expr is not None and name in ex.names(spec.repeat_expr):
                    return True
        return False

    def derived_check(self, struct: Struct, spec: Field, derive: Derive, env: Env) -> View:
        mine = env(spec.id)
        target = env(derive.first)
        wanted = self.derived_value(derive, target, env)
        when = (
            []
            if derive.when is None
            else [operand(self.layouts.inline(struct, derive.when), env, self.model)]
        )
        if derive.kind in ("last", "max"):
            when.insert(0, target)
            when.insert(0, "opt.verify")
        op = "!=" if derive.verify == "equal" else "<"
        if spec.derive is not None and mine.startswith("v."):
            when.append(f"{mine} is not None")
        need = "at least " if derive.verify == "at_least" else ""
        source = f"{derive.first}.{derive.member}" if derive.member else derive.first
        return View(
            "derived",
            {
                "when": " and ".join(when),
                "mine": mine,
                "wanted": wanted,
                "op": op,
                "path": spec.id,
                "need": need,
                "reason": f"not what {derive.kind}({source}) gives",
            },
        )

    def derived_value(self, derive: Derive, target: str, env: Env) -> str:
        member = attribute(derive.member or "")
        path = self.member_path(derive, env)
        match derive.kind:
            case "count_of":
                text = f"len({target})"
            case "last":
                text = f"{target}[-1].{path or member}"
            case "max":
                text = f"max(item.{path or member} for item in {target})"
            case _:
                raise TypeError(derive.kind)
        return text + self.plus(derive, env)

    def plus(self, derive: Derive, env: Env) -> str:
        """What is added to a derived value, as the end of a sum."""
        if derive.plus is None:
            return ""
        extra = self.layouts.inline(env.struct, derive.plus)
        if isinstance(extra, ex.Literal) and isinstance(extra.value, int) and extra.value < 0:
            return f" - {-extra.value}"
        return f" + {operand(extra, env, self.model)}"

    def member_path(self, derive: Derive, env: Env) -> str:
        """`body.offset_delta` for `offset_delta`, where the element keeps it in a sized part."""
        spec = env.struct.field(derive.first)
        assert spec is not None
        kind: TypeRef = Ref(spec.codec.inner) if spec.codec is not None else spec.type
        if not isinstance(kind, Ref):
            return ""
        struct = self.model.struct(kind.target)
        inner = transparent(struct)
        if inner is not None and isinstance(inner.type, Ref):
            struct = self.model.struct(inner.type.target)
        return ".".join(attribute(name) for name in self.find_member(struct, derive.member or ""))

    def find_member(self, struct: Struct, name: str) -> list[str]:
        if struct.field(name) is not None:
            return [name]
        for spec in struct.fields:
            if isinstance(spec.type, Ref) and not spec.repeat:
                below = self.find_member(self.model.struct(spec.type.target), name)
                if below:
                    return [spec.id, *below]
        return []

    def peek(self, function: str, struct: Struct) -> View:
        """The numbers looked at before the type is read, as one call, and what follows from them alone."""
        peeks = sorted((i for i in struct.instances if i.peek_type is not None), key=lambda i: i.peek_at or 0)
        codes = ""
        at = 0
        order = ">"
        for each in peeks:
            assert each.peek_at is not None and each.peek_type is not None
            codes += f"{each.peek_at - at}x" * (each.peek_at > at) + CODES[each.peek_type.name]
            at = each.peek_at + each.peek_type.width
            if each.peek_type.width > 1 and each.peek_type.endian == "le":
                order = "<"
        ids = {each.id for each in peeks}
        values = []
        for each in struct.instances:
            value = None if each.value is None else self.layouts.inline(struct, each.value)
            if value is not None and ex.names(value) <= ids:
                doc = docstring(each.doc or Text(f"`{each.id}`, from what was peeked."), "    ")
                text = emit(value, Env({}, struct), self.model)
                values.append({"name": each.id, "expr": text, "doc": doc})
        return View(
            "peek",
            {
                "name": f"peek_{function}",
                "format": order + codes,
                "names": [local(each.id) for each in peeks],
                "size": at,
                "values_": values,
                "places": [(each.id, each.peek_at) for each in peeks],
            },
        )


class Spans:
    """Ranges of fields that a length or a checksum covers: where they start, and what follows their end."""

    def __init__(self, module: Reader, layout: Layout) -> None:
        self.module = module
        self.starts: set[str] = set()
        self._after: dict[str, list[View]] = {}
        ids = [spec.id for spec in layout.struct.fields]
        for step in layout.steps:
            for spec in fields_of(step):
                derive = spec.derive
                if derive is None or not derive.is_range:
                    continue
                last = derive.last or derive.first
                self.starts |= {derive.first, spec.id}
                end = "pos"
                if ids.index(spec.id) > ids.index(last):
                    # it stands behind what it speaks of: that has ended before it can be compared
                    end = f"end_of_{last}"
                    self._after.setdefault(last, []).append(View("end", {"name": end}))
                facts = {
                    "start": f"start_of_{derive.first}",
                    "end": end,
                    "mine": local(spec.id),
                    "path": spec.id,
                }
                if derive.is_checksum:
                    view = View("crc", {**facts, "function": derive.kind})
                else:
                    view = View("length", {**facts, "plus": module.plus(derive, Env({}, layout.struct))})
                self._after.setdefault(last if end == "pos" else spec.id, []).append(view)

    def after(self, step: Run | One) -> list[View]:
        return [view for spec in fields_of(step) for view in self._after.get(spec.id, ())]
