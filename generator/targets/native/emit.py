"""The plan of a kernel to the text of its files."""

from __future__ import annotations

from kodec.generator.target import mark
from kodec.generator.targets.native.kernel import PlannedKernel
from kodec.generator.templates import Templates

__all__ = ["render_kernel"]

_TEMPLATES = Templates("kodec.generator.targets.native")


def render_kernel(planned: PlannedKernel) -> dict[str, str]:
    """The texts of one kernel by file name: plain C, its header, the Python module over it and its types."""
    kernel, first = planned, mark(planned.schema)
    return {
        name: _TEMPLATES.render(f"{template}.j2", k=kernel, f=planned.kernel, mark=first)
        for name, template in (
            # it shows which fields a stop can name, which its header lists
            (f"{kernel.name}_core.c", "core.c"),
            (f"{kernel.name}_core.h", "core.h"),
            (f"{kernel.name}.c", "module.c"),
            (f"{kernel.name}.pyi", "bindings.pyi"),
        )
    }
