"""kodec upgrade-schemas: rewrites older extension keys of schemas."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kodec.cli import lines
from kodec.cli.parser import BadParameter, Exit, Option
from kodec.cli.plans import Show, Shown, run_plans
from kodec.cli.schemas import IMPORT_PATH
from kodec.runtime.errors import KodecError, MissingDependency
from kodec.runtime.extras import install_command
from kodec.runtime.plan import StepReport

if TYPE_CHECKING:
    from kodec.importer.plan import ImportPlan, SchemaChange

__all__ = ["upgrade_schemas"]


def upgrade_schemas(
    schemas: Annotated[Path, Option(help="Folder of .ksy files.", file_okay=False)] = Path("schemas"),
    import_path: Annotated[list[Path] | None, IMPORT_PATH] = None,
    apply: Annotated[bool, Option("--apply", help="Apply the changes [default: dry run].")] = False,
) -> None:
    """Rewrite the older extension keys of schemas, and what other keys imply; a dry run without --apply.

    All other lines stay, with their comments. A file whose modules would change is skipped.

    example:  kodec upgrade-schemas --schemas formats
              kodec upgrade-schemas --schemas formats --apply

    exit:     0 nothing to do, or done   1 unreadable, or a file skipped   2 bad usage
              3 changes found; run again with --apply
    """
    try:
        from kodec.importer.upgrade import plan_upgrade
    except ImportError as error:
        raise MissingDependency(f"upgrading needs `{error.name}`: {install_command('generator')}") from error

    if not schemas.is_dir():
        raise BadParameter(f"no such folder: {schemas}")
    try:
        plan = plan_upgrade(schemas, import_path=import_path or [])
        code = run_plans([plan], apply=apply, json=False, show=_Show())
    except (KodecError, OSError, ValueError) as error:
        name = type(error).__name__ if isinstance(error, KodecError) else "kodec"
        lines.warn(*lines.lines_of(error, f"{name}: "))
        raise Exit(1) from None
    raise Exit(1 if plan.skipped and code == 0 else code)


class _Show(Show["ImportPlan", StepReport["SchemaChange"]]):
    def report(self, plan: ImportPlan, report: StepReport[SchemaChange]) -> Iterable[Shown]:
        for path, reason in plan.skipped:
            lines.warn(f"skipped {path}: {reason}")
        for change in plan.changes:
            yield Shown(None, [str(change.path)] if report.applied else change.diff().splitlines())
        count = len(plan.changes)
        files = f"{count} file{'s' * (count != 1)} {'written' if report.applied else 'would be written'}"
        yield Shown(None, [f"{files if count else 'nothing to do'}, {plan.unchanged} unchanged"])
        if count and not report.applied:
            yield Shown(None, ["--apply does it"])
