"""Ranges of fields that a length or a checksum covers: where they start, and what follows their end."""

from __future__ import annotations

from collections.abc import Callable

from kodec.generator.layout import Layout, One, Run
from kodec.generator.schema.model import Derive
from kodec.generator.targets.python.facts import Env, fields_of
from kodec.generator.targets.python.names import local
from kodec.generator.targets.python.views.checks import After, CrcCheck, End, LengthCheck

__all__ = ["Spans"]


class Spans:
    """Of one layout; `plus` gives what is added to a derived value, as the end of a sum."""

    def __init__(self, plus: Callable[[Derive, Env], str], layout: Layout) -> None:
        self.starts: set[str] = set()
        self._after: dict[str, list[After]] = {}
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
                    self._after.setdefault(last, []).append(End(end))
                start, mine = f"start_of_{derive.first}", local(spec.id)
                check: After
                if derive.is_checksum:
                    check = CrcCheck(start, end, mine, spec.id, derive.kind)
                else:
                    check = LengthCheck(start, end, mine, spec.id, plus(derive, Env({}, layout.struct)))
                self._after.setdefault(last if end == "pos" else spec.id, []).append(check)

    def after(self, step: Run | One) -> tuple[After, ...]:
        """What follows the fields of a step."""
        return tuple(view for spec in fields_of(step) for view in self._after.get(spec.id, ()))
