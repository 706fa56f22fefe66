"""Layouts to the steps of functions that read them."""

from __future__ import annotations

from collections.abc import Iterable

from kodec.generator.layout import Layout, One, Run, RunField
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bytes, Field, Prim, Ref, Str, Struct, Switch, Tag, TypeRef
from kodec.generator.schema.roles import transparent
from kodec.generator.targets.python.derived import Derived
from kodec.generator.targets.python.expressions import COMPARED, SUM, Operand, emit
from kodec.generator.targets.python.facts import NOTHING, Env, bare, expressions_of, fields_of, of_tag
from kodec.generator.targets.python.names import attribute, local
from kodec.generator.targets.python.spans import Spans
from kodec.generator.targets.python.views.modules import Peek, PeekValue, ReadBody
from kodec.generator.targets.python.views.reading import (
    Place,
    ReadBytes,
    ReadCase,
    ReadElement,
    ReadField,
    ReadNumbers,
    ReadOne,
    ReadPrim,
    ReadRepeat,
    ReadStep,
    ReadStruct,
    ReadSwitch,
    ReadTag,
    ReadTags,
    ReadText,
    ReadWire,
    Stored,
)
from kodec.generator.text import Text, docstring
from kodec.generator.wire import ENCODINGS, INTRINSICS, WIRE

__all__ = ["Reader"]


class Reader(Derived):
    """The whole of a layout, field by field."""

    def read_body(
        self, name: str, versions: tuple[int, ...], struct: Struct, layout: Layout, returns: str
    ) -> ReadBody:
        env = Env(self.given(struct, {spec.id: local(spec.id) for spec in struct.fields}), struct)
        spans = Spans(self.plus, layout)
        steps: list[ReadStep] = [
            self.read_run(step, env, spans)
            if isinstance(step, Run)
            else self._field(struct, step.field, layout, env, spans)
            for step in layout.steps
        ]
        return ReadBody(
            name=name,
            versions=versions,
            returns=returns,
            steps=tuple(steps),
            checks=self.derived_checks(struct, layout, env, after_head=False),
            result=self._result(struct, layout),
            peek=self._peeked(struct, layout),
        )

    def given(self, struct: Struct, values: dict[str, str]) -> dict[str, str]:
        """How expressions use the fields that may be None: where they do, these are there."""
        return {
            spec.id: f'given("{spec.id}", {values[spec.id]})'
            for spec in struct.fields
            if self.layouts.optional(struct, spec)
        }

    def _result(self, struct: Struct, layout: Layout) -> str:
        """What the function gives: an object, or the value that the type stands for."""
        absent = {spec.id for spec in layout.absent}
        inner = transparent(struct)
        if inner is not None:
            return "None" if inner.id in absent else local(inner.id)
        names = []
        for spec in struct.fields:
            if spec.id in absent:
                continue
            section = self.back.tag_section(spec)
            if section is not None:
                names += [tag.id for tag in layout.tags] + [spec.id]
            elif self.stored(struct, spec):
                names.append(spec.id)
        args = ", ".join(f"{attribute(name)}={local(name)}" for name in names)
        return f"{self.back.classes[struct.name]}({args})"

    # -- one field --------------------------------------------------------------------------------

    def _field(self, struct: Struct, spec: Field, layout: Layout, env: Env, spans: Spans) -> ReadField:
        original = struct.field(spec.id)
        assert original is not None
        tagged = self.back.tag_section(spec)
        kept = tagged is None and (self.stored(struct, original) or spec.repeat is not None)
        plain = tagged is None and spec.codec is None
        item = self.items(layout).get(spec.id, "item")
        value = item if spec.repeat else local(spec.id)
        guard = None if spec.condition is None else emit(spec.condition, env, self.model)
        absent = "" if tagged is not None else self.absent_value(struct, original)
        annotation = self.annotation(struct, original) if kept else ""
        checks = self.checks(spec, value, "at", env) if plain else []
        unset = [] if tagged is not None else self.null_checks(spec, local(spec.id), "pos")
        return ReadField(
            id=spec.id,
            var=local(spec.id),
            path=self.shown(struct, spec),
            annotation=annotation,
            guard=guard,
            absent=absent,
            start=spec.id in spans.starts,
            checks=tuple(checks),
            unset=tuple(unset),
            after=spans.after(One(spec)),
            body=self._body(struct, spec, tagged, layout.tags, env, item),
        )

    def _body(
        self, struct: Struct, spec: Field, tagged: Field | None, tags: tuple[Tag, ...], env: Env, item: str
    ) -> Stored | ReadRepeat | ReadNumbers | ReadTags | ReadOne:
        if tagged is not None:
            return self._tags(spec, tags)
        if spec.codec is not None:
            return Stored(self._size(spec, env))
        if (code := self.code_of_numbers(spec)) is not None:
            assert spec.repeat_expr is not None
            count = emit(spec.repeat_expr, env, self.model)
            return ReadNumbers(count, code, self.least_of_element(spec))
        if spec.repeat is not None:
            return self._repeat(struct, spec, env, item)
        return ReadOne(self._element(spec.type, spec, env, local(spec.id), self.shown(struct, spec)))

    @staticmethod
    def shown(struct: Struct, spec: Field) -> str:
        """The field's name in error paths; what its type stands for has none of its own."""
        stands_for = transparent(struct)
        return "" if stands_for is not None and stands_for.id == spec.id else spec.id

    def _size(self, spec: Field, env: Env) -> Operand | None:
        if spec.size is None:
            return None
        # it is put beside `pos +`
        return Operand(emit(spec.size, env, self.model), emit(spec.size, env, self.model, SUM))

    def _repeat(self, struct: Struct, spec: Field, env: Env, item: str) -> ReadRepeat:
        inner = Field(spec.id, spec.type, spec.place, size=spec.size, enum=spec.enum)
        here = Env({**env.names, "_": item, spec.id: local(spec.id)}, struct)
        assert spec.repeat is not None
        return ReadRepeat(
            mode=spec.repeat,
            count=None if spec.repeat_expr is None else emit(spec.repeat_expr, env, self.model),
            until=None if spec.repeat_until is None else emit(spec.repeat_until, here, self.model),
            element=self._element(spec.type, inner, env, item, ""),
            least=self.least_of_element(spec),
            item_type=self.py_type(spec.type, spec),
            item=item,
        )

    def least_of_element(self, spec: Field) -> int:
        """The fewest bytes that one element of a repeated field can take."""
        return self.layouts.least_of_element(spec)

    def _tags(self, spec: Field, tags: tuple[Tag, ...]) -> ReadTags:
        known = []
        for tag in tags:
            made = of_tag(tag, spec)
            var = local(tag.id)
            default = self.tag_default(made)
            element = self._element(tag.type, made, Env({}, NOTHING), var, tag.id)
            unset = tuple(self.null_checks(made, var, "pos"))
            known.append(ReadTag(tag.number, var, self.py_type(tag.type), default, element, unset))
        return ReadTags(tuple(known))

    def tag_default(self, made: Field) -> str:
        return self.plain_default(NOTHING, made)

    # -- one value --------------------------------------------------------------------------------

    def _element(self, kind: TypeRef, spec: Field, env: Env, var: str, path: str) -> ReadElement:
        """How to read one value of `kind` into `var`."""
        size = self._size(spec, env)
        enum = None if spec.enum is None else self.enum_get(spec.enum, var)
        return ReadElement(var, path, size, spec.size_eos, enum, self._how(kind, spec, env, var, path))

    def _how(
        self, kind: TypeRef, spec: Field, env: Env, var: str, path: str
    ) -> ReadPrim | ReadBytes | ReadText | ReadWire | ReadStruct | ReadSwitch:
        plain = self.plain(kind)
        if plain is not None:
            assert isinstance(kind, (Prim, Ref))
            run = Run((RunField(Field(spec.id, kind, spec.place), 0, plain.least, kind),), plain.least)
            return ReadPrim(self.run_id(run), plain.least)
        match kind:
            case Bytes():
                return ReadBytes()
            case Str(encoding):
                return ReadText(ENCODINGS[encoding].python, ENCODINGS[encoding].errors)
            case Ref(target, args):
                struct = self.model.struct(target)
                if struct.wire in INTRINSICS:
                    read = WIRE[struct.wire].python.read
                    return ReadWire(read, short=read == "read_uvarint32")
                return ReadStruct(*self.call("read", struct, args, env))
            case Switch(on, cases, default):
                branches = [
                    ReadCase(
                        emit(case, env, self.model, COMPARED), self._element(each, bare(spec), env, var, path)
                    )
                    for case, each in cases
                ]
                other = None if default is None else self._element(default, bare(spec), env, var, path)
                return ReadSwitch(emit(on, env, self.model), tuple(branches), other, self.may_lack_case(spec))
        raise TypeError(kind)

    def call(
        self, verb: str, struct: Struct, args: Iterable[ex.Expr], env: Env
    ) -> tuple[str, tuple[str, ...]]:
        """The function that reads or writes `struct`, chosen by its flags, and its further arguments.

        It is the one for the layout, where the version is known and the function is in this module.
        """
        function = self.back.function(struct)
        args = tuple(args)
        variant = self.layouts.variant_of(struct, args)
        layout = ""
        if variant is not None and self.model.schema_of(struct.name).id == self.schema.id:
            verb, layout = f"_{verb}", self.back.variant_suffix(struct, variant)
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
                return f"({yes} if {test} else {no})", tuple(extra)
        return self.imported(struct.name, f"{verb}_{function}{suffix}{layout}"), tuple(extra)

    # -- what is looked at before -----------------------------------------------------------------

    def _peeked(self, struct: Struct, layout: Layout) -> Peek | None:
        """The peek, where a field's expressions look at what it gives."""
        peeks = {each.id for each in struct.instances if each.peek_at is not None}
        used: set[str] = set()
        for step in layout.steps:
            for spec in fields_of(step):
                used |= {name for expr in expressions_of(spec) for name in ex.names(expr)}
        return self.peek(self.back.function(struct), struct) if peeks & used else None

    def peek(self, function: str, struct: Struct) -> Peek:
        """The numbers looked at before the type is read, as one call, and what follows from them alone."""
        peeks = sorted((i for i in struct.instances if i.peek_type is not None), key=lambda i: i.peek_at or 0)
        codes = ""
        at = 0
        order = ">"
        places = []
        for each in peeks:
            assert each.peek_at is not None and each.peek_type is not None
            codes += f"{each.peek_at - at}x" * (each.peek_at > at) + WIRE[each.peek_type.name].python.code
            at = each.peek_at + each.peek_type.width
            places.append(Place(each.id, each.peek_at))
            if each.peek_type.width > 1 and each.peek_type.endian == "le":
                order = "<"
        ids = {each.id for each in peeks}
        derived = []
        for each in struct.instances:
            value = None if each.value is None else self.layouts.inline(struct, each.value)
            if value is not None and ex.names(value) <= ids:
                doc = docstring(each.doc or Text(f"`{each.id}`, from what was peeked."), "    ")
                derived.append(PeekValue(each.id, emit(value, Env({}, struct), self.model), doc))
        names = tuple(local(each.id) for each in peeks)
        return Peek(f"peek_{function}", order + codes, names, at, tuple(places), tuple(derived))
