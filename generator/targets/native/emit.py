"""The plan of a kernel to the text of its files."""

from __future__ import annotations

import hashlib

from kodec.generator.target import mark
from kodec.generator.targets.native.kernel import PlannedKernel
from kodec.generator.templates import Templates

__all__ = ["render_kernel"]

_TEMPLATES = Templates("kodec.generator.targets.native")


def render_kernel(planned: PlannedKernel) -> tuple[dict[str, str], str]:
    """The texts of one kernel by file name: plain C, its header, the Python module over it and its types.

    And what they are known by.
    """
    kernel, first = planned, mark(planned.schema)

    def render(template: str, source: str = "") -> str:
        return _TEMPLATES.render(f"{template}.j2", k=kernel, f=planned.kernel, mark=first, source=source)

    # it shows which fields a stop can name, which its header lists
    core, header = render("core.c"), render("core.h")
    source = hashlib.sha256((core + header).encode()).hexdigest()[:16]
    return {
        f"{kernel.name}_core.c": core,
        f"{kernel.name}_core.h": header,
        f"{kernel.name}.c": render("module.c", source),
        f"{kernel.name}.pyi": render("bindings.pyi"),
    }, source
