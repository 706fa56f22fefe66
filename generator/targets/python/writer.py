"""One layout to the view of the function that writes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kodec.generator.layout import BitGroup, Layout, Run, RunField
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bytes, Derive, Field, Prim, Ref, Str, Struct, Switch, Valid
from kodec.generator.schema.roles import transparent
from kodec.generator.targets.python.context import BIT_CODES
from kodec.generator.targets.python.expressions import emit
from kodec.generator.targets.python.facts import LOSSLESS, WRITE_WIRE, Env, fields_of, with_type
from kodec.generator.targets.python.names import attribute, local
from kodec.generator.targets.python.reader import Reader
from kodec.generator.targets.python.views import View

__all__ = ["Writer"]


class Writer:
    """The lines that write one layout."""

    def __init__(
        self, module: Reader, struct: Struct, layout: Layout, returns: str, versions: tuple[int, ...]
    ) -> None:
        self.m = module
        self.struct = struct
        self.layout = layout
        self.returns = returns
        self.versions = versions
        self.inner = transparent(struct)
        self.fields = [spec for step in layout.steps for spec in fields_of(step)]
        self.env = Env({spec.id: self.value(spec) for spec in struct.fields}, struct)
        for tag in (t for spec in struct.fields if (s := module.back.tag_section(spec)) for t in s.tags):
            self.env.names[tag.id] = f"v.{attribute(tag.id)}"

    def value(self, spec: Field) -> str:
        """The Python expression of a field's value while writing."""
        if spec.derive is not None:
            return local(spec.id)
        if self.inner is not None and spec.id == self.inner.id:
            return "v"
        return f"v.{attribute(spec.id)}" if self.m.stored(self.struct, spec) else local(spec.id)

    def body(self) -> dict[str, Any]:
        prepare = self._prepare()
        steps = [
            self._run(step) if isinstance(step, Run) else self._one(step.field) for step in self.layout.steps
        ]
        patches = self._patches()
        starts = {name for patch in patches for name in (patch.start_name, patch.field_name)}
        ends = {patch.end_name for patch in patches if not patch.to_end}
        for step in steps:
            step.facts["marks"] = [mark for mark in step.facts.get("marks", []) if mark["name"] in starts]
            step.facts["end_marks"] = [name for name in step.facts.get("end_marks", []) if name in ends]
        absent = [view for spec in self.layout.absent for view in self._absent(spec)]
        return {
            "prepare": prepare,
            "steps": steps,
            "patches": patches,
            "absent": absent,
            "type": self.returns,
        }

    def _absent(self, spec: Field) -> list[View]:
        """A value that this version cannot carry must be the default (or the field is ignorable)."""
        section = self.m.back.tag_section(spec)
        if section is not None:
            known = [
                Field(tag.id, tag.type, spec.place, default=tag.default)
                for tag in section.tags
                if not tag.ignorable
            ]
            views = [self._must_be(made.id, self.m.tag_default(made)) for made in known]
            return [*views, self._must_be(spec.id, "[]")]
        if (
            self.inner is not None
            or spec.ignorable
            or spec.derive is not None
            or not self.m.stored(self.struct, spec)
        ):
            return []
        if not self.layout.known:
            return []
        return [self._must_be(spec.id, self.m.plain_default(self.struct, spec))]

    @staticmethod
    def _must_be(name: str, default: str) -> View:
        return View("absent", {"path": name, "value": f"v.{attribute(name)}", "default": default})

    # -- values worked out before anything is written

    def _prepare(self) -> list[View]:
        views: list[View] = []
        measured = {
            spec.derive.first
            for spec in self.fields
            if spec.derive is not None and spec.derive.kind == "length_of" and not spec.derive.is_range
        }
        for spec in self.fields:
            if isinstance(spec.type, Str) and spec.repeat is None:
                views.append(
                    View(
                        "encode",
                        {
                            "var": f"bytes_of_{spec.id}",
                            "value": self.value(spec),
                            "encoding": spec.type.encoding,
                            "errors": LOSSLESS.get(spec.type.encoding, "strict"),
                            "path": spec.id,
                            "nullable": spec.nullable is not None,
                        },
                    )
                )
            elif spec.id in measured and self._serialised(spec):
                views.append(self._measure(spec))
            if spec.codec is not None:
                views.append(
                    View(
                        "compress",
                        {
                            "var": f"bytes_of_{spec.id}",
                            "function": f"_stored_{self.m.back.function(self.struct)}",
                        },
                    )
                )
        for spec in self.fields:
            if spec.derive is not None and not spec.derive.is_range:
                view = self._derived(spec, spec.derive)
                view.facts["checks"] = (
                    [] if spec.condition is not None else self._derived_checks(spec, local(spec.id))
                )
                views.append(view)
        return views

    def _serialised(self, spec: Field) -> bool:
        return (not isinstance(spec.type, (Bytes, Str)) and spec.codec is None) or spec.repeat is not None

    def _measure(self, spec: Field) -> View:
        part = self._one(spec, into=f"bytes_of_{spec.id}", unmeasured=True)
        return View("measure", {"var": f"bytes_of_{spec.id}", "step": part})

    def _derived(self, spec: Field, derive: Derive) -> View:
        var = local(spec.id)
        stored = self.m.stored(self.struct, spec)
        target = self.struct.field(derive.first)
        assert target is not None
        value = self.value(target)
        plus = self.m.plus(derive, self.env)
        null = self._null_sign(target, spec)
        if derive.kind == "length_of":
            source = (
                f"bytes_of_{target.id}"
                if isinstance(target.type, Str) or self._serialised(target) or target.codec is not None
                else value
            )
            text = f"len({source}){plus}"
            if target.nullable is not None:
                given = value if self._serialised(target) else source
                text = f"{null} if {given} is None else {text}"
            return View("let", {"var": var, "value": text})
        if derive.kind == "count_of":
            text = f"len({value}){plus}"
            if target.codec is not None:
                return View(
                    "count",
                    {
                        "var": var,
                        "value": value,
                        "text": text,
                        "given": f"v.{attribute(spec.id)}",
                        "path": spec.id,
                    },
                )
            if target.nullable is not None:
                text = f"{null} if {value} is None else {text}"
            return View("let", {"var": var, "value": text})
        assert stored
        env = Env({**self.env.names, derive.first: value}, self.struct)
        when = (
            ""
            if derive.when is None
            else emit(self.m.layouts.inline(self.struct, derive.when), self.env, self.m.model)
        )
        return View(
            "aggregate",
            {
                "var": var,
                "given": f"v.{attribute(spec.id)}",
                "target": value,
                "text": self.m.derived_value(derive, value, env),
                "when": when,
                "path": spec.id,
                "codec": target.codec is not None,
            },
        )

    def _null_sign(self, target: Field, length: Field) -> int | None:
        return self.m.layouts.null_sign(self.struct, target, length, dict(self.layout.known))

    # -- steps

    def _marks(self, run: Run) -> list[dict[str, Any]]:
        return [
            {"name": item.field.id, "offset": item.offset} for item in run.fields if item.field is not None
        ]

    def _run(self, run: Run) -> View:
        values: list[str] = []
        checks: list[View] = []
        self._values(run, "", values, checks, self.env)
        return View(
            "run",
            {
                "number": self.m.run_id(run),
                "values": values,
                "checks": checks,
                "guard": None,
                "catch": self._catch(any(isinstance(f.what, Prim) and f.what.floating for f in _flat(run))),
                "marks": self._marks(run),
                "end_marks": [last.id for last in fields_of(run)[-1:]],
            },
        )

    def _values(self, run: Run, owner: str, values: list[str], checks: list[View], env: Env) -> None:
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
                        checks += self.checks(member, self._of(owner, member), env)
                continue
            spec = item.field
            assert spec is not None
            value = self._of(owner, spec)
            if item.inner is not None:
                assert isinstance(item.what, Ref)
                members = self.m.model.struct(item.what.target).fields
                inner = Env({f.id: f"{value}.{attribute(f.id)}" for f in members}, self.struct)
                self._values(item.inner, value, values, checks, inner)
                continue
            if spec.contents is not None:
                values.append(repr(spec.contents))
            elif isinstance(item.what, Ref):
                values.append(f"{value}.bytes")
            elif isinstance(item.what, Bytes):
                values.append(f'exact_size("{spec.id}", {value}, {item.size})')
            elif spec.derive is not None and spec.derive.is_range:
                values.append("0")
            else:
                values.append(value)
            if spec.derive is None and spec.valid is not None:
                checks += self.checks(spec, value, env)

    def _of(self, owner: str, spec: Field) -> str:
        return f"{owner}.{attribute(spec.id)}" if owner else self.value(spec)

    def _derived_checks(self, spec: Field, value: str) -> list[View]:
        """What is computed must be allowed as well."""
        valid, derive = spec.valid, spec.derive
        if valid is None or derive is None:
            return []
        least = derive.plus.value if isinstance(derive.plus, ex.Literal) else 0
        target = self.struct.field(derive.first)
        if valid == Valid(min=valid.min) and isinstance(valid.min, ex.Literal) and target is not None:
            never_less = derive.is_length and not derive.is_range and target.nullable is None
            if never_less and isinstance(least, int) and valid.min.value <= least:  # type: ignore[operator]
                return []
        return self.checks(spec, value, self.env)

    def _catch(self, floating: bool) -> str:
        """What packing numbers can raise; only a float can overflow rather than not fit."""
        return "(StructError, OverflowError)" if floating else "StructError"

    def checks(self, spec: Field, value: str, env: Env) -> list[View]:
        return self.m.checks(spec, value, "", env)

    def _one(self, spec: Field, into: str = "out", unmeasured: bool = False) -> View:
        value = self.value(spec)
        guard = None if spec.condition is None else emit(spec.condition, self.env, self.m.model)
        source = value
        if isinstance(spec.type, Str) and spec.repeat is None:
            source = f"bytes_of_{spec.id}"
        if spec.nullable is not None:
            guard = f"{source if spec.codec is None else f'bytes_of_{spec.id}'} is not None"
        facts: dict[str, Any] = {
            "guard": guard,
            "path": self.m.shown(self.struct, spec),
            "out": into,
            "marks": [{"name": spec.id, "offset": 0}],
            "end_marks": [spec.id],
            "checks": [],
            "dropped": self._dropped(spec),
            "original": value,
        }
        if self.m.back.tag_section(spec) is not None:
            return self._tags(spec, facts)
        measured = any(
            f.derive is not None
            and f.derive.kind == "length_of"
            and not f.derive.is_range
            and f.derive.first == spec.id
            for f in self.fields
        )
        if (measured and self._serialised(spec) and not unmeasured) or spec.codec is not None:
            return View("copy", {**facts, "value": f"bytes_of_{spec.id}"})
        if spec.derive is None and spec.valid is not None:
            facts["checks"] = self.checks(spec, "item" if spec.repeat else value, self.env)
        if spec.repeat is not None:
            count = None
            if spec.repeat_expr is not None and not self._free(spec.repeat_expr, spec):
                count = emit(spec.repeat_expr, self.env, self.m.model)
            bare = Field(spec.id, spec.type, spec.place, size=spec.size, enum=spec.enum)
            element = self.element(bare, "item", into)
            element.facts["path"] = ""
            for branch in element.facts.get("branches", {}).values():
                branch.facts["path"] = ""
            maybe_empty = spec.repeat == "eos" and self.m.least_of_element(spec) == 0
            return View(
                "repeat",
                {
                    **facts,
                    "value": value,
                    "count": count,
                    "until": None if spec.repeat_until is None else self._until(spec, spec.repeat_until),
                    "element": element,
                    "maybe_empty": maybe_empty,
                },
            )
        return View("one", {**facts, "element": self.element(spec, source, into, value)})

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

        env = Env({**self.env.names, "_": "item", "_count": "count"}, self.struct)
        return emit(ex.fold(ex.replace(until, so_far)), env, self.m.model)

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

    def element(self, spec: Field, source: str, into: str, original: str | None = None) -> View:
        facts: dict[str, Any] = {
            "value": source,
            "path": self.m.shown(self.struct, spec),
            "out": into,
            "size": None,
        }
        if spec.size is not None and not self._free(spec.size, spec):
            facts["size"] = emit(spec.size, self.env, self.m.model)
        match spec.type:
            case Prim(width=width) as prim:
                run = Run(
                    (RunField(Field("" if source == "item" else spec.id, prim, spec.place), 0, width, prim),),
                    width,
                )
                catch = self._catch(prim.floating)
                return View("prim", {**facts, "number": self.m.run_id(run), "catch": catch})
            case Bytes():
                return View("bytes", facts)
            case Str(encoding):
                if source != f"bytes_of_{spec.id}":
                    errors = LOSSLESS.get(encoding, "strict")
                    path = "" if source == "item" else spec.id
                    facts["value"] = f'encode_text("{path}", {source}, "{encoding}", "{errors}")'
                return View("bytes", facts)
            case Ref(target, args):
                struct = self.m.model.struct(target)
                if struct.wire == "uuid":
                    return View("bytes", {**facts, "value": f"{source}.bytes"})
                if struct.wire in WRITE_WIRE:
                    return View("wire", {**facts, "call": WRITE_WIRE[struct.wire]})
                call, extra = self.m.call("write", struct, args, self.env)
                return View("struct", {**facts, "call": call, "args": extra})
            case Switch():
                return self._switch(spec, spec.type, source, into, facts)
        raise TypeError(spec.type)

    def _switch(self, spec: Field, switch: Switch, source: str, into: str, facts: dict[str, Any]) -> View:
        """Cases by the value switched on; by the type of what is there, where that value was peeked."""
        peeked = any(
            (i := self.struct.instance(n)) is not None and i.peek_at is not None for n in ex.names(switch.on)
        )
        on = None if peeked else emit(switch.on, self.env, self.m.model)
        branches: dict[str, View] = {}
        for case, each in switch.cases:
            test = f"isinstance({source}, {self.m.py_type(each)})"
            if not peeked:
                test = f"chosen == {emit(case, self.env, self.m.model)} and not isinstance({source}, bytes)"
            branches[test] = self.element(with_type(spec, each), source, into)
        other = (
            None if switch.default is None else self.element(with_type(spec, switch.default), source, into)
        )
        return View("switch", {**facts, "on": on, "branches": branches, "other": other})

    def _tags(self, spec: Field, facts: dict[str, Any]) -> View:
        section = self.m.back.tag_section(spec)
        assert section is not None
        known = []
        for tag in section.tags:
            made = Field(tag.id, tag.type, spec.place, default=tag.default)
            value = f"v.{attribute(tag.id)}"
            known.append(
                {
                    "number": tag.number,
                    "value": value,
                    "default": self.m.tag_default(made),
                    "element": self.element(made, value, "inner"),
                }
            )
        return View("tags", {**facts, "value": f"v.{attribute(spec.id)}", "known": known})

    def _patches(self) -> list[View]:
        """Lengths of ranges, then checksums: each is known only when the bytes it speaks of are."""
        patches = []
        for spec in sorted(self.fields, key=self._layers):
            derive = spec.derive
            if derive is None or not derive.is_range:
                continue
            assert isinstance(spec.type, Prim)
            last = derive.last or derive.first
            plus = self.m.plus(derive, self.env)
            run = Run(
                (RunField(Field(spec.id, spec.type, spec.place), 0, spec.type.width, spec.type),),
                spec.type.width,
            )
            patches.append(
                View(
                    "patch",
                    {
                        "start_name": derive.first,
                        "end_name": last,
                        "field_name": spec.id,
                        "crc": derive.kind if derive.is_checksum else None,
                        "number": self.m.run_id(run),
                        "plus": plus,
                        "to_end": self.fields[-1].id == last,
                        "checks": [] if derive.is_checksum else self._derived_checks(spec, "size"),
                    },
                )
            )
        return patches

    def _layers(self, spec: Field) -> int:
        """How many checksums deep a field's bytes are: lengths first, then checksums, the innermost first."""
        derive = spec.derive
        if derive is None or not derive.is_checksum:
            return 0
        order = [each.id for each in self.fields]
        inside = self.fields[order.index(derive.first) : order.index(derive.last or derive.first) + 1]
        return 1 + max((self._layers(each) for each in inside), default=0)


def _flat(run: Run) -> Iterator[RunField]:
    for item in run.fields:
        if item.inner is not None:
            yield from _flat(item.inner)
        else:
            yield item
