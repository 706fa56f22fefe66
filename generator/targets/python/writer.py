"""One layout to the steps of the function that writes it."""

from __future__ import annotations

from collections.abc import Iterator

from kodec.generator.layout import BitGroup, Layout, Run, RunField
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bytes, Derive, Field, Prim, Ref, Str, Struct, Switch, TypeRef, Valid
from kodec.generator.schema.roles import transparent
from kodec.generator.targets.python.context import BIT_CODES
from kodec.generator.targets.python.expressions import COMPARED, TERNARY, Operand, emit
from kodec.generator.targets.python.facts import Env, fields_of, of_tag, with_type
from kodec.generator.targets.python.names import attribute, local
from kodec.generator.targets.python.reader import Reader
from kodec.generator.targets.python.views.checks import Check
from kodec.generator.targets.python.views.modules import WriteBody
from kodec.generator.targets.python.views.reading import Place
from kodec.generator.targets.python.views.writing import (
    Absent,
    Aggregate,
    Compress,
    Copy,
    CountOf,
    Encode,
    Let,
    Measure,
    Patch,
    Prepare,
    WriteBytes,
    WriteCase,
    WriteElement,
    WriteField,
    WriteNumbers,
    WriteOne,
    WritePrim,
    WriteRepeat,
    WriteRun,
    WriteStep,
    WriteStruct,
    WriteSwitch,
    WriteTag,
    WriteTags,
    WriteWire,
)
from kodec.generator.wire import ENCODINGS, INTRINSICS, VARINTS, WIRE

__all__ = ["LayoutWriter"]


class LayoutWriter:
    """The lines that write one layout."""

    def __init__(self, module: Reader, struct: Struct, layout: Layout) -> None:
        self.m = module
        self.struct = struct
        self.layout = layout
        self.inner = transparent(struct)
        self.fields = [spec for step in layout.steps for spec in fields_of(step)]
        self._items = module.items(layout)
        values = {spec.id: self._value(spec) for spec in struct.fields}
        self.env = Env(values | module.given(struct, values), struct)
        for tag in (t for spec in struct.fields if (s := module.back.tag_section(spec)) for t in s.tags):
            self.env.names[tag.id] = f"v.{attribute(tag.id)}"
        ranges = [spec for spec in self.fields if spec.derive is not None and spec.derive.is_range]
        # where something is patched in, or a range starts or ends, the writer remembers the place
        self._started = {spec.id for spec in ranges} | {spec.derive.first for spec in ranges if spec.derive}
        last = {spec.derive.last or spec.derive.first for spec in ranges if spec.derive}
        self._ended = last - {spec.id for spec in self.fields[-1:]}

    def body(self, name: str, versions: tuple[int, ...], returns: str) -> WriteBody:
        prepare = tuple(self._prepare())
        steps: list[WriteStep] = [
            self._run(step) if isinstance(step, Run) else self._one(step.field) for step in self.layout.steps
        ]
        return WriteBody(
            name=name,
            versions=versions,
            type=returns,
            absent=(
                *(view for spec in self.layout.absent for view in self._absent(spec)),
                *self._lost_tags(),
            ),
            unset=tuple(self._unset()),
            prepare=prepare,
            steps=tuple(steps),
            patches=tuple(self._patches()),
        )

    def _value(self, spec: Field) -> str:
        """The Python expression of a field's value while writing."""
        if spec.derive is not None:
            return local(spec.id)
        if self.inner is not None and spec.id == self.inner.id:
            return "v"
        return f"v.{attribute(spec.id)}" if self.m.stored(self.struct, spec) else local(spec.id)

    def _item(self, spec: Field) -> str:
        """What an element of a list is called."""
        return self._items.get(spec.id, "item")

    def _emit(self, expr: ex.Expr, binds: int = TERNARY) -> str:
        return emit(expr, self.env, self.m.model, binds)

    def _compared(self, expr: ex.Expr) -> Operand:
        """What stands beside a comparison, and is what an error says was needed."""
        return Operand(self._emit(expr), self._emit(expr, COMPARED))

    # -- what a version cannot carry --------------------------------------------------------------

    def _absent(self, spec: Field) -> list[Absent]:
        """A value that this version cannot carry must be the default (or the field is ignorable)."""
        section = self.m.back.tag_section(spec)
        if section is not None:
            known = [of_tag(tag, spec) for tag in self.layout.tags if not tag.ignorable]
            views = [self._must_be(made.id, self.m.tag_default(made)) for made in known]
            return [*views, self._must_be(spec.id, "[]")]
        if self.inner is not None or spec.ignorable or spec.derive is not None:
            return []
        if not self.m.stored(self.struct, spec):
            return []
        return [self._must_be(spec.id, self.m.plain_default(self.struct, spec))]

    def _lost_tags(self) -> Iterator[Absent]:
        """Tags that this version lacks: their values must be the defaults."""
        for tag in self.layout.absent_tags:
            if not tag.ignorable:
                made = Field(tag.id, tag.type, self.struct.place, default=tag.default)
                yield self._must_be(tag.id, self.m.tag_default(made))

    def _unset(self) -> Iterator[Check]:
        """What must not be null in this version."""
        if self.inner is None:
            for spec in self.fields:
                yield from self.m.null_checks(spec, self._value(spec), "")
        for tag in self.layout.tags:
            made = Field(tag.id, tag.type, self.struct.place, null_versions=tag.null_versions)
            yield from self.m.null_checks(made, f"v.{attribute(tag.id)}", "")

    @staticmethod
    def _must_be(name: str, default: str) -> Absent:
        return Absent(name, f"v.{attribute(name)}", default)

    # -- values worked out before anything is written ---------------------------------------------

    def _prepare(self) -> Iterator[Prepare]:
        for spec in self.fields:
            if isinstance(spec.type, Str) and spec.repeat is None:
                form = ENCODINGS[spec.type.encoding]
                nullable = spec.nullable is not None or self._optional(spec)
                value = self._value(spec)
                yield Encode(f"bytes_of_{spec.id}", value, spec.id, form.python, form.errors, nullable)
            elif self._is_measured(spec) and self._serialised(spec):
                var = f"bytes_of_{spec.id}"
                yield Measure(var, self._one(spec, into=var, unmeasured=True))
            if spec.codec is not None:
                yield Compress(f"bytes_of_{spec.id}", f"_stored_{self.m.back.function(self.struct)}")
        for spec in self.fields:
            if spec.derive is not None and not spec.derive.is_range:
                yield self._derived(spec, spec.derive)

    def _is_measured(self, spec: Field) -> bool:
        """Whether a length is written before the field."""
        return any(
            each.derive is not None
            and each.derive.kind == "length_of"
            and not each.derive.is_range
            and each.derive.first == spec.id
            for each in self.fields
        )

    def _serialised(self, spec: Field) -> bool:
        return (not isinstance(spec.type, (Bytes, Str)) and spec.codec is None) or spec.repeat is not None

    def _derived(self, spec: Field, derive: Derive) -> Let | CountOf | Aggregate:
        var = local(spec.id)
        target = self.struct.field(derive.first)
        assert target is not None
        value = self._value(target)
        plus = self.m.plus(derive, self.env)
        null = self.m.layouts.null_sign(self.struct, target, spec, dict(self.layout.known))
        checks = () if spec.condition is not None else self._derived_checks(spec, var)
        if derive.kind == "length_of":
            made = isinstance(target.type, Str) or self._serialised(target) or target.codec is not None
            source = f"bytes_of_{target.id}" if made else value
            text = f"len({source}){plus}"
            if target.nullable is not None:
                given = value if self._serialised(target) else source
                text = f"{null} if {given} is None else {text}"
            return Let(var, text, checks)
        given = f"v.{attribute(spec.id)}"
        if derive.kind == "presence_of":
            return Let(var, f"{null} if {value} is None else 1", checks)
        if derive.kind == "count_of":
            text = f"len({value}){plus}"
            if target.codec is not None:
                return CountOf(var, value, text, given, spec.id, checks)
            if target.nullable is not None:
                text = f"{null} if {value} is None else {text}"
            return Let(var, text, checks)
        assert self.m.stored(self.struct, spec)
        when = "" if derive.when is None else self._emit(self.m.layouts.inline(self.struct, derive.when))
        env = Env({**self.env.names, derive.first: value}, self.struct)
        text = self.m.derived_value(derive, value, env)
        return Aggregate(var, given, value, text, when, spec.id, target.codec is not None, checks)

    def _derived_checks(self, spec: Field, value: str) -> tuple[Check, ...]:
        """What is computed must be allowed as well."""
        valid, derive = spec.valid, spec.derive
        if valid is None or derive is None:
            return ()
        least = derive.plus.value if isinstance(derive.plus, ex.Literal) else 0
        target = self.struct.field(derive.first)
        if valid == Valid(min=valid.min) and isinstance(valid.min, ex.Literal) and target is not None:
            never_less = derive.is_length and not derive.is_range and target.nullable is None
            most = valid.min.value
            if never_less and isinstance(least, int) and isinstance(most, int) and most <= least:
                return ()
        return tuple(self.m.checks(spec, value, "", self.env))

    # -- runs -------------------------------------------------------------------------------------

    def _run(self, run: Run) -> WriteRun:
        values: list[str] = []
        checks: list[Check] = []
        self._values(run, "", values, checks, self.env)
        marks = [
            Place(item.field.id, item.offset)
            for item in run.fields
            if item.field is not None and item.field.id in self._started
        ]
        floating = any(isinstance(item.what, Prim) and item.what.floating for item in _flat(run))
        ends = [spec.id for spec in fields_of(run)[-1:] if spec.id in self._ended]
        return WriteRun(
            self.m.run_id(run), tuple(values), tuple(checks), _catch(floating), tuple(marks), tuple(ends)
        )

    def _values(self, run: Run, owner: str, values: list[str], checks: list[Check], env: Env) -> None:
        for item in run.fields:
            if isinstance(item.what, BitGroup):
                parts = [
                    f'bit_field("{member.id}", {self._of(owner, member)}, {width})'
                    + (f" << {shift}" if shift else "")
                    for member, shift, width in item.what.members
                ]
                text = " | ".join(parts)
                values.append(text if item.size in BIT_CODES else f'({text}).to_bytes({item.size}, "big")')
                for member, _, _ in item.what.members:
                    if member.derive is None and member.valid is not None:
                        checks += self.m.checks(member, self._of(owner, member), "", env)
                continue
            spec = item.field
            assert spec is not None
            value = self._of(owner, spec)
            if not owner and self._optional(spec):
                checks.append(Check(f"{value} is None", spec.id, "not given", "", "None", value))
            if item.inner is not None:
                assert isinstance(item.what, Ref)
                members = self.m.model.struct(item.what.target).fields
                inner = Env({f.id: f"{value}.{attribute(f.id)}" for f in members}, self.struct)
                self._values(item.inner, value, values, checks, inner)
                continue
            if spec.contents is not None:
                values.append(repr(spec.contents))
            elif isinstance(item.what, Ref) and self.m.plain(item.what) is None:
                values.append(f"{value}.bytes")
            elif isinstance(item.what, Bytes):
                values.append(f'exact_size("{spec.id}", {value}, {item.size})')
            elif spec.derive is not None and spec.derive.is_range:
                values.append("0")
            else:
                values.append(value)
            if spec.derive is None and spec.valid is not None:
                checks += self.m.checks(spec, value, "", env)

    def _of(self, owner: str, spec: Field) -> str:
        return f"{owner}.{attribute(spec.id)}" if owner else self._value(spec)

    # -- one field --------------------------------------------------------------------------------

    def _one(self, spec: Field, into: str = "out", unmeasured: bool = False) -> WriteField:
        value = self._value(spec)
        guard = None if spec.condition is None else self._emit(spec.condition)
        source = f"bytes_of_{spec.id}" if isinstance(spec.type, Str) and spec.repeat is None else value
        if spec.nullable is not None:
            guard = f"{source if spec.codec is None else f'bytes_of_{spec.id}'} is not None"
        body = self._body(spec, value, source, into, unmeasured)
        checks: list[Check] = []
        if isinstance(body, WriteRepeat):
            checks = self._rules(spec, self._item(spec), "")
        elif isinstance(body, WriteOne):
            checks = self._rules(spec, value, spec.id)
        return WriteField(
            path=self.m.shown(self.struct, spec),
            out=into,
            guard=guard,
            original=value,
            required=source if self._optional(spec) and not self.m.may_lack_case(spec) else None,
            dropped=self._dropped(spec),
            checks=tuple(checks),
            marks=(Place(spec.id, 0),) if spec.id in self._started and not unmeasured else (),
            end_marks=(spec.id,) if spec.id in self._ended and not unmeasured else (),
            body=body,
        )

    def _optional(self, spec: Field) -> bool:
        """Whether the field may be None, as it is not always there."""
        original = self.struct.field(spec.id)
        return original is not None and self.m.layouts.optional(self.struct, original)

    def _rules(self, spec: Field, value: str, path: str) -> list[Check]:
        if spec.derive is not None or spec.valid is None:
            return []
        return self.m.checks(spec, value, "", self.env, path)

    def _body(
        self, spec: Field, value: str, source: str, into: str, unmeasured: bool
    ) -> Copy | WriteRepeat | WriteNumbers | WriteTags | WriteOne:
        section = self.m.back.tag_section(spec)
        if section is not None:
            return self._tags(spec)
        measured = self._is_measured(spec) and self._serialised(spec)
        if (measured and not unmeasured) or spec.codec is not None:
            return Copy(f"bytes_of_{spec.id}")
        if spec.repeat is None:
            return WriteOne(self._element(spec, source, into, self.m.shown(self.struct, spec)))
        count = None
        if spec.repeat_expr is not None and not self._free(spec.repeat_expr, spec):
            count = self._compared(spec.repeat_expr)
        if (code := self.m.code_of_numbers(spec)) is not None:
            return WriteNumbers(value, count, code)
        bare = Field(spec.id, spec.type, spec.place, size=spec.size, enum=spec.enum)
        element = self._element(bare, self._item(spec), into, "")
        maybe_empty = spec.repeat == "eos" and self.m.least_of_element(spec) == 0
        until = None if spec.repeat_until is None else self._until(spec, spec.repeat_until)
        return WriteRepeat(value, self._item(spec), count, until, element, maybe_empty)

    def _dropped(self, spec: Field) -> str | None:
        """What a field must be where its condition does not hold, as it would not be written."""
        if spec.condition is None or spec.derive is not None or spec.nullable is not None or spec.ignorable:
            return None
        if self.inner is not None or spec.codec is not None or self.m.back.tag_section(spec) is not None:
            return None
        return self.m.plain_default(self.struct, spec)

    def _until(self, spec: Field, until: ex.Expr) -> str:
        """The condition that ends a list, as it will be when `item` was read."""

        def so_far(part: ex.Expr) -> ex.Expr | None:
            if isinstance(part, ex.Attr) and part.of == ex.Name(spec.id) and part.name in ("size", "length"):
                return ex.Binary("+", ex.Name("_count"), ex.Literal(1))
            return None

        env = Env({**self.env.names, "_": self._item(spec), "_count": "count"}, self.struct)
        return emit(ex.fold(ex.replace(until, so_far)), env, self.m.model, COMPARED)

    def _free(self, expr: ex.Expr, target: Field) -> bool:
        """Whether a size follows from `target` itself: what it names is derived of that, or peeked."""
        order = [spec.id for spec in self.struct.fields]
        for name in ex.names(expr):
            spec, instance = self.struct.field(name), self.struct.instance(name)
            if instance is not None and instance.peek_at is not None:
                return True
            derive = spec.derive if spec is not None else None
            if derive is not None and derive.first in order:
                last = derive.last or derive.first
                if order.index(derive.first) <= order.index(target.id) <= order.index(last):
                    return True
        return False

    def _tags(self, spec: Field) -> WriteTags:
        known = []
        for tag in self.layout.tags:
            made = of_tag(tag, spec)
            value = f"v.{attribute(tag.id)}"
            default = self.m.tag_default(made)
            known.append(WriteTag(tag.number, value, default, self._element(made, value, "inner", tag.id)))
        return WriteTags(f"v.{attribute(spec.id)}", tuple(known))

    # -- one value --------------------------------------------------------------------------------

    def _element(self, spec: Field, source: str, into: str, path: str) -> WriteElement:
        size = None if spec.size is None or self._free(spec.size, spec) else self._compared(spec.size)
        value = source
        if isinstance(spec.type, Str) and source != f"bytes_of_{spec.id}":
            form = ENCODINGS[spec.type.encoding]
            shown = "" if source == self._item(spec) else spec.id
            value = f'encode_text("{shown}", {source}, "{form.python}", "{form.errors}")'
        elif self._is_bytes_of(spec):
            value = f"{source}.bytes"
        return WriteElement(value, path, into, size, self._how(spec, source, into, path))

    def _is_bytes_of(self, spec: Field) -> bool:
        """Whether the value is an object that knows its bytes: a UUID."""
        wire = self.m.model.struct(spec.type.target).wire if isinstance(spec.type, Ref) else None
        return wire in INTRINSICS and wire not in VARINTS and self.m.plain(spec.type) is None

    def _how(
        self, spec: Field, source: str, into: str, path: str
    ) -> WritePrim | WriteBytes | WriteWire | WriteStruct | WriteSwitch:
        plain = self.m.plain(spec.type)
        if plain is not None:
            assert isinstance(spec.type, (Prim, Ref))
            name = "" if source == self._item(spec) else spec.id
            one = RunField(Field(name, spec.type, spec.place), 0, plain.least, spec.type)
            return WritePrim(self.m.run_id(Run((one,), plain.least)), _catch(plain.kind == "float"))
        match spec.type:
            case Bytes() | Str():
                return WriteBytes()
            case Ref(target, args):
                struct = self.m.model.struct(target)
                if struct.wire in VARINTS:
                    return WriteWire(WIRE[struct.wire].python.write)
                if struct.wire in INTRINSICS:
                    return WriteBytes()
                return WriteStruct(*self.m.call("write", struct, args, self.env))
            case Switch():
                return self._switch(spec, spec.type, source, into, path)
        raise TypeError(spec.type)

    def _switch(self, spec: Field, switch: Switch, source: str, into: str, path: str) -> WriteSwitch:
        """Cases by the value switched on; by the type of what is there, where that value was peeked."""
        peeked = any(
            (i := self.struct.instance(n)) is not None and i.peek_at is not None for n in ex.names(switch.on)
        )
        on = None if peeked else self._emit(switch.on)
        sized = spec.size is not None or spec.size_eos
        raw = f"isinstance({source}, bytes)" if sized else None
        if sized and not peeked:
            values = [self._emit(case, COMPARED) for case, _ in switch.cases]
            raw = f"{_none_of(values)} and {raw}"
        branches: dict[str, WriteCase] = {}
        for case, each in switch.cases:
            test = f"isinstance({source}, {self.m.py_type(each)})"
            if not peeked:
                test = f"chosen == {self._emit(case, COMPARED)}"
                is_object = self._is_object(source, each)
                if not is_object and sized and self.m.py_type(each) != "bytes":
                    is_object = f" and not isinstance({source}, bytes)"
                test += is_object
            branches[test] = WriteCase(test, self._element(with_type(spec, each), source, into, path))
        other = None
        if switch.default is not None:
            other = self._element(with_type(spec, switch.default), source, into, path)
            if test := self._is_object(source, switch.default):
                # anything else has no case
                test = test.removeprefix(" and ")
                branches[test], other = WriteCase(test, other), None
            raw = None
        left_out = None
        if self.m.may_lack_case(spec):
            left_out = f"{source} is not None"
            left_out += "" if peeked else f" or {_any_of([self._emit(case) for case, _ in switch.cases])}"
        return WriteSwitch(on, tuple(branches.values()), other, raw, left_out)

    def _is_object(self, source: str, kind: TypeRef) -> str:
        """The test, behind an `and`, that there is an object of a class where one is written."""
        if not isinstance(kind, Ref):
            return ""
        struct = self.m.model.struct(kind.target)
        if struct.wire in INTRINSICS or transparent(struct) is not None:
            return ""
        return f" and isinstance({source}, {self.m.py_type(kind)})"

    # -- what is known only afterwards ------------------------------------------------------------

    def _patches(self) -> Iterator[Patch]:
        """Lengths of ranges, then checksums: each is known only when the bytes it speaks of are."""
        for spec in sorted(self.fields, key=self._layers):
            derive = spec.derive
            if derive is None or not derive.is_range:
                continue
            assert isinstance(spec.type, Prim)
            last = derive.last or derive.first
            plus = self.m.plus(derive, self.env)
            one = RunField(Field(spec.id, spec.type, spec.place), 0, spec.type.width, spec.type)
            yield Patch(
                start_name=derive.first,
                end_name=last,
                field_name=spec.id,
                crc=derive.kind if derive.is_checksum else None,
                number=self.m.run_id(Run((one,), spec.type.width)),
                plus=plus,
                to_end=self.fields[-1].id == last,
                checks=() if derive.is_checksum else self._derived_checks(spec, "size"),
            )

    def _layers(self, spec: Field) -> int:
        """How many checksums deep a field's bytes are: lengths first, then checksums, the innermost first."""
        derive = spec.derive
        if derive is None or not derive.is_checksum:
            return 0
        order = [each.id for each in self.fields]
        inside = self.fields[order.index(derive.first) : order.index(derive.last or derive.first) + 1]
        return 1 + max((self._layers(each) for each in inside), default=0)


def _none_of(values: list[str]) -> str:
    """The test that what is switched on has no case."""
    return f"chosen not in ({', '.join(values)})" if values[1:] else f"chosen != {values[0]}"


def _any_of(values: list[str]) -> str:
    return f"chosen in ({', '.join(values)})" if values[1:] else f"chosen == {values[0]}"


def _catch(floating: bool) -> str:
    """What packing numbers can raise; only a float can overflow rather than not fit."""
    return "(StructError, OverflowError)" if floating else "StructError"


def _flat(run: Run) -> Iterator[RunField]:
    for item in run.fields:
        if item.inner is not None:
            yield from _flat(item.inner)
        else:
            yield item
