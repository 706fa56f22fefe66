"""The plan of a kernel to the text of its files."""

from __future__ import annotations

from kodec.generator.target import mark
from kodec.generator.targets.native.kernel import PlannedKernel
from kodec.generator.templates import Templates

__all__ = ["render_kernel"]

_TEMPLATES = Templates("kodec.generator.targets.native")


def render_kernel(planned: PlannedKernel) -> dict[str, str]:
    """The texts of one kernel by file name: plain C, its header, the Python module over it and its types."""
    kernel, first = planned.kernel, mark(planned.kernel.schema)
    return {
        name: _tidy(_TEMPLATES.render(f"{template}.j2", k=kernel, f=planned.plan, mark=first))
        for name, template in (
            (f"{kernel.name}_core.h", "core.h"),
            (f"{kernel.name}_core.c", "core.c"),
            (f"{kernel.name}.c", "module.c"),
            (f"{kernel.name}.pyi", "face.pyi"),
        )
    }


def _tidy(text: str) -> str:
    """No blanks at the end of a line, and no empty line beside another one or inside indented code."""
    lines: list[str] = []
    for line in (each.rstrip() for each in text.splitlines()):
        if line or (lines and lines[-1]):
            lines.append(line)
    found = [
        line
        for index, line in enumerate(lines)
        if line or not lines[index + 1 : index + 2] or not lines[index + 1].startswith(("  ", "}"))
    ]
    return "\n".join(found).strip("\n") + "\n"
