"""The rules of a value as conditions that must not hold."""

from __future__ import annotations

from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Field, Prim
from kodec.generator.targets.python.expressions import emit, negate
from kodec.generator.targets.python.facts import Env
from kodec.generator.targets.python.types import Types
from kodec.generator.targets.python.views.checks import Check

__all__ = ["Checks"]


class Checks(Types):
    """Checks of `valid` and of fixed contents."""

    def contents_check(self, spec: Field, name: str, where: str) -> Check:
        bad = f"{name} != {spec.contents!r}"
        return Check(bad, spec.id, "wrong fixed bytes", where, repr(spec.contents), name)

    def null_checks(self, spec: Field, name: str, where: str) -> list[Check]:
        """That a value is not null, in a version that does not have null for it."""
        if spec.null_versions is None or spec.null_versions or not self.is_nullable(spec):
            return []
        reason = "null in a version that does not allow it"
        return [Check(f"{name} is None", spec.id, reason, where, repr("a value"), "None")]

    def checks(self, spec: Field, name: str, where: str, env: Env, path: str | None = None) -> list[Check]:
        """The `valid` rules of a field; `name` is its value, `where` the byte that an error names."""
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
            found.append((f"not {name} >= {low}" if floating else f"{name} < {low}", f"at least {low}"))
        if valid.max is not None:
            high = py(valid.max)
            found.append((f"not {name} <= {high}" if floating else f"{name} > {high}", f"at most {high}"))
        if valid.any_of is not None:
            choices = ", ".join(py(choice) for choice in valid.any_of)
            found.append((f"{name} not in ({choices},)", f"one of {choices}"))
        if valid.expr is not None:
            bad = ex.Unary("not", valid.expr) if floating else negate(valid.expr)
            found.append((py(bad), ex.text_of(valid.expr)))
        shown = spec.id if path is None else path
        return [Check(bad, shown, "value not allowed", where, repr(need), name) for bad, need in found]
