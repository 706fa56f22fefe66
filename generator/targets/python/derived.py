"""What is derived of other fields: how it is computed, and how it is checked after reading."""

from __future__ import annotations

from kodec.generator.layout import Layout
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Derive, Field, Ref, Struct, TypeRef
from kodec.generator.schema.roles import codec_field, transparent
from kodec.generator.targets.python.expressions import operand
from kodec.generator.targets.python.facts import Env, fields_of
from kodec.generator.targets.python.names import attribute
from kodec.generator.targets.python.runs import Runs
from kodec.generator.targets.python.views.checks import DerivedCheck

__all__ = ["Derived"]


class Derived(Runs):
    """Counts, lasts and maxima; `Spans` has lengths and checksums of ranges."""

    def derived_checks(
        self, struct: Struct, layout: Layout, env: Env, after_head: bool
    ) -> tuple[DerivedCheck, ...]:
        """What must agree with what was read; with `after_head`, only what speaks of compressed content."""
        container = codec_field(struct)
        checks: list[DerivedCheck] = []
        for step in layout.steps:
            for spec in fields_of(step):
                derive = spec.derive
                if derive is None or derive.is_checksum or derive.kind in ("length_of", "presence_of"):
                    continue
                if (container is not None and derive.first == container.id) is not after_head:
                    continue
                if derive.kind == "count_of" and self._sizes_by(layout, derive.first, spec.id):
                    continue
                checks.append(self._derived_check(struct, spec, derive, env))
        return tuple(checks)

    @staticmethod
    def _sizes_by(layout: Layout, target: str, name: str) -> bool:
        """Whether `target` is read by the count `name` itself, so that the two cannot differ."""
        for step in layout.steps:
            for spec in fields_of(step):
                if spec.id == target and spec.repeat_expr is not None and name in ex.names(spec.repeat_expr):
                    return True
        return False

    def _derived_check(self, struct: Struct, spec: Field, derive: Derive, env: Env) -> DerivedCheck:
        mine = env(spec.id)
        target = env(derive.first)
        when = (
            []
            if derive.when is None
            else [operand(self.layouts.inline(struct, derive.when), env, self.model)]
        )
        if derive.kind in ("last", "max"):
            when.insert(0, target)
            when.insert(0, "opt.verify")
        if mine.startswith("v."):
            when.append(f"{mine} is not None")
        source = f"{derive.first}.{derive.member}" if derive.member else derive.first
        return DerivedCheck(
            when=" and ".join(when),
            mine=mine,
            wanted=self.derived_value(derive, target, env),
            op="!=" if derive.verify == "equal" else "<",
            path=spec.id,
            need="at least " if derive.verify == "at_least" else "",
            reason=f"not what {derive.kind}({source}) gives",
        )

    def derived_value(self, derive: Derive, target: str, env: Env) -> str:
        member = attribute(derive.member or "")
        path = self._member_path(derive, env)
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

    def _member_path(self, derive: Derive, env: Env) -> str:
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
        return ".".join(attribute(name) for name in self._find_member(struct, derive.member or ""))

    def _find_member(self, struct: Struct, name: str) -> list[str]:
        if struct.field(name) is not None:
            return [name]
        for spec in struct.fields:
            if isinstance(spec.type, Ref) and not spec.repeat:
                below = self._find_member(self.model.struct(spec.type.target), name)
                if below:
                    return [spec.id, *below]
        return []
