"""Runs of fixed fields: unpacked by one call, and made into values."""

from __future__ import annotations

from dataclasses import dataclass, field

from kodec.generator.layout import BitGroup, Run, RunField
from kodec.generator.schema.model import Field, Ref
from kodec.generator.targets.python.checks import Checks
from kodec.generator.targets.python.context import BIT_CODES
from kodec.generator.targets.python.facts import Env
from kodec.generator.targets.python.names import attribute, local
from kodec.generator.targets.python.spans import Spans
from kodec.generator.targets.python.views.checks import Check
from kodec.generator.targets.python.views.reading import Place, ReadRun

__all__ = ["Runs"]


@dataclass(slots=True)
class _Unpacked:
    """What a run gives so far: names for what is unpacked, lines that make values of it, and rules."""

    targets: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)


class Runs(Checks):
    """Steps that read runs."""

    def read_run(self, run: Run, env: Env, spans: Spans) -> ReadRun:
        found = _Unpacked()
        self._unpack(run, "", 0, found, env)
        starts = [
            Place(item.field.id, item.offset)
            for item in run.fields
            if item.field is not None and item.field.id in spans.starts
        ]
        return ReadRun(
            self.run_id(run),
            run.size,
            tuple(found.targets),
            tuple(found.made),
            tuple(found.checks),
            tuple(starts),
            spans.after(run),
        )

    def _unpack(self, run: Run, prefix: str, base: int, found: _Unpacked, env: Env) -> dict[str, str]:
        """Names for the values of a run; lines that make objects of them are added to `found`."""
        values: dict[str, str] = {}
        # the rules of a type's fields speak of its own fields
        scope = env if not prefix else Env(values, env.struct)
        for item in run.fields:
            where = f"pos + {base + item.offset}" if base + item.offset else "pos"
            if isinstance(item.what, BitGroup):
                self._unpack_bits(item, item.what, prefix, where, found, scope, values)
                continue
            spec = item.field
            assert spec is not None
            name = f"{prefix}{spec.id}" if prefix else local(spec.id)
            if item.inner is not None:
                parts = self._unpack(item.inner, f"{name}_", base + item.offset, found, env)
                made_of = self._construct(spec, parts)
                if prefix:
                    values[spec.id] = made_of
                else:
                    found.made.append(f"{name} = {made_of}")
                continue
            found.targets.append(name)
            values[spec.id] = name
            if spec.contents is not None:
                found.checks.append(self.contents_check(spec, name, where))
            found.checks += self.checks(spec, name, where, scope)
            if isinstance(item.what, Ref) and self.plain(item.what) is None:
                values[spec.id] = f"uuid_of({name})"
            elif spec.enum is not None:
                values[spec.id] = self.enum_get(spec.enum, name)
            if not prefix and values[spec.id] != name:
                found.made.append(f"{name} = {values[spec.id]}")
        return values

    def _unpack_bits(
        self,
        item: RunField,
        group: BitGroup,
        prefix: str,
        where: str,
        found: _Unpacked,
        env: Env,
        values: dict[str, str],
    ) -> None:
        """The parts of an integer that several bit fields share."""
        raw = f"{prefix}{self.group_name(item)}_bits"
        found.targets.append(raw)
        if item.size not in BIT_CODES:
            found.made.append(f'{raw}_int = int.from_bytes({raw}, "big")')
            raw = f"{raw}_int"
        for member, shift, width in group.members:
            values[member.id] = self._bits(raw, shift, width, member)
            name = local(member.id)
            if not prefix:
                found.made.append(f"{name} = {values[member.id]}")
            elif member.valid is not None:
                # a rule is checked on a name of its own
                name = f"{prefix}{member.id}"
                found.made.append(f"{name} = {values[member.id]}")
                values[member.id] = name
            found.checks += self.checks(member, name, where, env)

    def _construct(self, spec: Field, values: dict[str, str]) -> str:
        assert isinstance(spec.type, Ref)
        struct = self.model.struct(spec.type.target)
        args = ", ".join(f"{attribute(f.id)}={values[f.id]}" for f in struct.fields if f.contents is None)
        return f"{self.class_of(struct.name)}({args})"

    def _bits(self, raw: str, shift: int, width: int, member: Field) -> str:
        if width == 1 and member.enum is None:
            return f"{raw} & {hex(1 << shift)} != 0"
        text = f"{raw} >> {shift}" if shift else raw
        text = f"{text} & {hex((1 << width) - 1)}"
        return self.enum_get(member.enum, text) if member.enum is not None else text

    def enum_get(self, enum: str, text: str) -> str:
        return f"member_of({self.imported(enum, self.back.enum_class(enum))}, {text})"
