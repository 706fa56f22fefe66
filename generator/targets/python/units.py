"""The fast path of the Python back end where rows follow one another: each unit read in one straight loop.

A unit is read only where all is well with it and its content is not compressed. It checks no bound that a
later check covers: a number past the end of the bytes raises, and a sized part must end where its size says.
"""

from __future__ import annotations

from kodec.generator.layout import BitGroup, Run, RunField
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Bytes, Column, Derive, Field, Prim, Ref, Struct
from kodec.generator.schema.roles import codec_enum, listed_rows
from kodec.generator.targets.python.context import BIT_CODES
from kodec.generator.targets.python.expressions import SUM, TERNARY, emit
from kodec.generator.targets.python.facts import Env
from kodec.generator.targets.python.names import attribute, column_local
from kodec.generator.targets.python.types import Types
from kodec.generator.targets.python.views.rows import (
    Assign,
    Place,
    RowColumn,
    UnitBlob,
    UnitChecksum,
    UnitNumber,
    UnitOp,
    UnitPart,
    UnitRun,
    Units,
)

__all__ = ["units_view"]


_Path = tuple[str, ...]
"""The names that lead from the unit to a field."""


class _NotFlat(Exception):
    """The unit holds something that the fast path does not do; the careful reader still does."""


def units_view(module: Types, struct: Struct, function: str) -> Units | None:
    """The view of the row reader of `struct`, or None where it is not what the schema lists."""
    if listed_rows(module.model, module.schema.root) is not struct or struct.params or struct.versions:
        return None
    if module.layouts.layout(struct, {}).fixed is not None:
        return None  # what has one size is read as fast by the careful reader
    try:
        flat = _Flat(module)
        ops = flat.ops(struct, ())
        columns = flat.columns(struct)
    except _NotFlat:
        return None
    return Units(
        reader=f"read_{function}_rows",
        careful=f"read_{function}",
        name=f"{module.back.classes[struct.name]}Row",
        unit=struct.id,
        ops=ops,
        columns=columns,
        plain=flat.plain,
        used=frozenset(flat.used),
    )


class _Flat:
    """Flattens a unit into operations on one buffer, its fields into local variables."""

    def __init__(self, module: Types) -> None:
        self.module = module
        self.locals: dict[_Path, str] = {}
        self.fields: dict[_Path, tuple[Struct, Field]] = {}
        self.plain: str | None = None
        self.used: set[str] = set()
        self._parts = 0

    # -- names ------------------------------------------------------------------------------------

    def _name(self, path: _Path, owner: Struct, spec: Field) -> str:
        name = column_local(spec.id)
        if name in self.locals.values():
            raise _NotFlat
        self.locals[path] = name
        self.fields[path] = owner, spec
        return name

    def _text(self, expr: ex.Expr, owner: Struct, at: _Path, binds: int = TERNARY) -> str:
        """Python text of an expression of `owner`, whose fields are at `at`; see `emit`."""

        def swap(part: ex.Expr) -> ex.Expr | None:
            if isinstance(part, ex.Attr) and part.name == "to_i":
                return ex.replace(part.of, swap)
            path = at + _path(part)
            return ex.Name(self.locals[path]) if path in self.locals else None

        flat = ex.replace(self.module.layouts.inline(owner, expr), swap)
        if not ex.names(flat) <= set(self.locals.values()):
            raise _NotFlat
        self.used |= ex.names(flat)
        return emit(flat, lambda name: name, self.module.model, binds)

    # -- operations -------------------------------------------------------------------------------

    def ops(self, struct: Struct, at: _Path) -> tuple[UnitOp, ...]:
        found: list[UnitOp] = []
        checksums: list[tuple[Field, Derive]] = []
        starts = {each.derive.first for each in struct.fields if each.derive and each.derive.is_checksum}
        for step in self.module.layouts.layout(struct, {}).steps:
            if isinstance(step, Run):
                found.append(self._run(step, struct, at, starts, checksums))
            else:
                found.append(self._one(step.field, struct, at))
        for spec, derive in checksums:
            if derive.last != struct.fields[-1].id:
                raise _NotFlat
            found.append(UnitChecksum(self.locals[(*at, spec.id)], derive.kind, derive.first))
        return tuple(found)

    def _run(
        self,
        run: Run,
        struct: Struct,
        at: _Path,
        starts: set[str],
        checksums: list[tuple[Field, Derive]],
    ) -> UnitRun:
        targets: list[str] = []
        made: list[Assign] = []
        marks: list[Place] = []
        checks: list[str] = []
        for item in run.fields:
            if item.field is not None and item.field.id in starts:
                marks.append(Place(item.field.id, item.offset))
            if item.field is not None and item.field.derive is not None:
                derive = item.field.derive
                if derive.is_checksum:
                    checksums.append((item.field, derive))
                elif derive.kind != "length_of" or derive.plus is not None or derive.last is not None:
                    raise _NotFlat
        self._numbers(run, struct, at, targets, made, checks)
        return UnitRun(
            self.module.run_id(run), run.size, tuple(targets), tuple(made), tuple(marks), tuple(checks)
        )

    def _numbers(
        self,
        run: Run,
        struct: Struct,
        at: _Path,
        targets: list[str],
        made: list[Assign],
        checks: list[str],
    ) -> None:
        for item in run.fields:
            spec = item.field
            if isinstance(item.what, BitGroup):
                if item.size not in BIT_CODES:
                    raise _NotFlat
                raw = f"bits_{len(targets)}"
                targets.append(raw)
                for member, shift, width in item.what.members:
                    name = self._name((*at, member.id), struct, member)
                    shifted = f"{raw} >> {shift}" if shift else raw
                    made.append(Assign(name, f"{shifted} & {hex((1 << width) - 1)}"))
                    checks += self._checks(member, name, struct, at)
                continue
            assert spec is not None
            if item.inner is not None:
                assert isinstance(spec.type, Ref)
                inner = self.module.model.struct(spec.type.target)
                self._numbers(item.inner, inner, (*at, spec.id), targets, made, checks)
                continue
            if not isinstance(item.what, Prim):
                raise _NotFlat
            name = self._name((*at, spec.id), struct, spec)
            targets.append(name)
            checks += self._checks(spec, name, struct, at)

    def _checks(self, spec: Field, name: str, struct: Struct, at: _Path) -> list[str]:
        if spec.valid is None:
            return []
        if spec.valid.expr is not None or (isinstance(spec.type, Prim) and spec.type.floating):
            raise _NotFlat
        self.used.add(name)
        env = Env({path[-1]: text for path, text in self.locals.items() if path[:-1] == at}, struct)
        bounds = (("!=", spec.valid.eq), ("<", spec.valid.min), (">", spec.valid.max))
        model = self.module.model
        found = [f"{name} {op} {emit(bound, env, model)}" for op, bound in bounds if bound is not None]
        if spec.valid.any_of is not None:
            choices = ", ".join(emit(choice, env, model) for choice in spec.valid.any_of)
            found.append(f"{name} not in ({choices})" if spec.valid.any_of[1:] else f"{name} != {choices}")
        return found

    def _one(self, spec: Field, struct: Struct, at: _Path) -> UnitNumber | UnitBlob | UnitPart:
        module = self.module
        if spec.repeat is not None or spec.tags or spec.valid is not None or spec.derive is not None:
            raise _NotFlat
        guard = None if spec.condition is None else self._text(spec.condition, struct, at)
        original = struct.field(spec.id)
        assert original is not None
        kind = spec.type
        if spec.codec is not None:
            self.plain = f"{self._text(spec.codec.by, struct, at)} != {self._none_of(struct, spec)}"
        elif isinstance(kind, Ref):
            return self._part(spec, struct, at, guard)
        absent = module.absent_value(struct, original)
        if isinstance(kind, Prim) and spec.codec is None and spec.enum is None:
            var = self._name((*at, spec.id), struct, original)
            run = Run((RunField(Field(spec.id, kind, spec.place), 0, kind.width, kind),), kind.width)
            return UnitNumber(var, guard, absent, module.run_id(run), kind.width)
        if not isinstance(kind, Bytes) or spec.size is None:
            raise _NotFlat
        size = self._text(spec.size, struct, at, SUM)  # it is put beside `pos +`
        return UnitBlob(self._name((*at, spec.id), struct, original), guard, absent, size)

    def _none_of(self, struct: Struct, spec: Field) -> int:
        assert spec.codec is not None
        enum = self.module.model.enum(codec_enum(self.module.model, struct, spec.codec.by))
        none = next((item.value for item in enum.items if item.id == "none"), None)
        if none is None:
            raise _NotFlat
        return none

    def _part(self, spec: Field, struct: Struct, at: _Path, guard: str | None) -> UnitPart:
        assert isinstance(spec.type, Ref)
        inner = self.module.model.struct(spec.type.target)
        if guard is not None or inner.wire or spec.type.args or inner.versions or spec.size is None:
            raise _NotFlat
        size = self._text(spec.size, struct, at, SUM)  # it is put beside `pos +`
        self._parts += 1
        stop = "stop" if self._parts == 1 else f"stop_{self._parts}"
        return UnitPart(size, stop, self.ops(inner, (*at, spec.id)))

    # -- columns ----------------------------------------------------------------------------------

    def columns(self, struct: Struct) -> tuple[RowColumn, ...]:
        stored: dict[str, tuple[str, str, str]] = {}
        for path, (owner, spec) in self.fields.items():
            hidden = spec.column is not None and spec.column.hidden
            if hidden or (spec.derive is not None and spec.derive.is_length):
                continue
            if spec.enum is not None or isinstance(spec.type, Bits):
                continue
            column = spec.column or Column(spec.id)
            kind = "bytes | None" if spec.codec is not None else self.module.annotation(owner, spec)
            stored[column.name] = (column.name, self.locals[path], kind)
        wanted = struct.columns or tuple(stored)
        found = []
        for item in wanted:
            if isinstance(item, Column):
                assert item.value is not None
                name, value, kind = item.name, self._text(item.value, struct, ()), "int"
            elif item in stored:
                name, value, kind = stored[item]
            else:
                raise _NotFlat
            found.append(RowColumn(attribute(name), kind, value))
        return tuple(found)


def _path(part: ex.Expr) -> _Path:
    """`a.b.c` as a path; of anything else a path that no field has."""
    if isinstance(part, ex.Name):
        return (part.name,)
    if isinstance(part, ex.Attr):
        return (*_path(part.of), part.name)
    return ("",)
