"""kodec import-kafka: writes schemas from the message definitions in Kafka's jars."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kodec.cli import lines
from kodec.cli.parser import Argument, BadParameter, Exit, Option
from kodec.cli.plans import Show, Shown, run_plans
from kodec.runtime.errors import KodecError, MissingDependency
from kodec.runtime.extras import install_command
from kodec.runtime.plan import StepReport

if TYPE_CHECKING:
    from kodec.importer.plan import ImportPlan, SchemaChange

__all__ = ["import_kafka"]


def import_kafka(
    source: Annotated[Path, Argument(metavar="JAR_OR_DIR", help="A jar of Kafka's, or a folder of them.")],
    schemas: Annotated[Path, Option(help="Folder of .ksy files.", file_okay=False)] = Path("schemas"),
    protocol: Annotated[
        bool, Option("--protocol", help="Also import requests, responses and headers.")
    ] = False,
    only: Annotated[list[str] | None, Option(help="A message by its name in Kafka; repeatable.")] = None,
    apply: Annotated[bool, Option("--apply", help="Apply the changes [default: dry run].")] = False,
) -> None:
    """Write or update schemas from Kafka's message definitions; a dry run without --apply.

    Texts, comments, columns and names that a schema adds to the definition are kept; a comment whose line is
    gone is reported. Missing primitives are added. Afterwards run kodec generate.

    example:  kodec import-kafka kafka-group-coordinator-4.4.0.jar
              kodec import-kafka jars/ --schemas schemas --apply

    exit:     0 nothing to do, or done   1 unreadable or unsupported   2 bad usage
              3 changes found; run again with --apply
    """
    try:
        from kodec.importer.plan import plan_import
    except ImportError as error:
        raise MissingDependency(f"importing needs `{error.name}`: {install_command('generator')}") from error

    if not source.exists():
        raise BadParameter(f"no such file or folder: {source}")
    try:
        plan = plan_import(source, schemas, protocol=protocol, only=only or ())
        unknown = set(only or ()) - set(plan.messages)
        if unknown or not plan.messages:
            lines.warn(f"{source}: no definition of {', '.join(sorted(unknown)) or 'a message'}")
            raise Exit(1)
        code = run_plans([plan], apply=apply, json=False, show=_Show())
    except (KodecError, OSError, ValueError, zipfile.BadZipFile) as error:
        name = type(error).__name__ if isinstance(error, KodecError) else "kodec"
        lines.warn(*lines.lines_of(error, f"{name}: "))
        raise Exit(1) from None
    raise Exit(code)


class _Show(Show["ImportPlan", StepReport["SchemaChange"]]):
    def report(self, plan: ImportPlan, report: StepReport[SchemaChange]) -> Iterable[Shown]:
        return (Shown(None, [line]) for line in _lines(plan, report.applied))


def _lines(plan: ImportPlan, applied: bool) -> Iterator[str]:
    """The changes of a plan: in a dry run with every line of existing schemas."""
    for name, reason in plan.skipped:
        yield f"skipped  {name}: {reason}"
    for note in plan.notes:
        lines.warn(note)
    for change in plan.changes:
        yield f"{change.kind:8} {change.path}"
        if change.kind == "changed" and not applied:
            yield from change.diff().splitlines()
        for comment in change.lost:
            lines.warn(
                f"{change.path}: this comment's line is gone or no longer unique, so it is removed: {comment}"
            )
    ending = "written" if applied else "would be written"
    count = len(plan.changes)
    files = f"{count} file{'s' * (count != 1)} {ending}" if count else "nothing to do"
    yield f"{files}, {plan.unchanged} as defined"
    if count and not applied:
        yield "--apply does it; then: kodec generate"
