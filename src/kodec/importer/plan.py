"""What an import would write: a read-only plan, which is applied on request."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from shutil import copymode
from typing import Any

from kodec.importer.comments import with_comments
from kodec.importer.definitions import read_definitions
from kodec.importer.merge import merged, names_in
from kodec.importer.places import PROTOCOL, place_of
from kodec.importer.schemas import schema_of, shortened, snake
from kodec.importer.text import ordered, text_of, tree_of
from kodec.runtime.errors import StalePlan
from kodec.runtime.plan import OnStep, Plan, StepReport, ignore
from kodec.runtime.system import locked_folder

__all__ = ["ImportPlan", "SchemaChange", "plan_import"]


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A file that an import would write: `before` is None if it is new.

    `lost` are its comments whose line is gone; the others stay.
    """

    path: Path
    message: str
    before: str | None
    after: str
    lost: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return "new" if self.before is None else "changed"

    def diff(self) -> str:
        """What changes, line by line."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            str(self.path),
            f"{self.path} (new)",
        )
        return "".join(lines)


@dataclass(frozen=True, slots=True)
class ImportPlan(Plan[StepReport[SchemaChange]]):
    """The plan of an import.

    Attributes:
        changes: the files to write, by path.
        messages: the names of all that were found and selected.
        unchanged: how many already match their definitions.
        skipped: messages that are not imported, each with the reason.
        notes: gaps in the definitions, and how they were filled.
    """

    schemas: Path
    messages: tuple[str, ...]
    changes: tuple[SchemaChange, ...]
    unchanged: int
    skipped: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()

    @property
    def has_changes(self) -> bool:
        """Whether there are files to write."""
        return bool(self.changes)

    def require_current(self) -> None:
        """Raises StalePlan if a schema has changed; OSError."""
        for change in self.changes:
            if change.before != (change.path.read_text("utf-8") if change.path.exists() else None):
                raise StalePlan(str(change.path), "has changed")

    def preview(self) -> StepReport[SchemaChange]:
        return StepReport(list(self.changes))

    def apply(self, *, on_step: OnStep = ignore) -> StepReport[SchemaChange]:
        """Write the files, each whole or not at all; call `on_step` with each.

        Raises: StalePlan if a schema has changed since the plan was made; OSError (BlockingIOError if another
        import writes there), ValueError for one outside. If some were written before, the error's note states
        how many.
        """
        report = StepReport[SchemaChange]([], applied=True)
        with locked_folder(self.schemas) if self.changes else nullcontext():
            self.require_current()
            for change in self.changes:
                try:
                    self._write(change)
                except BaseException as error:
                    error.add_note(f"{len(report.steps)} of {len(self.changes)} files were written")
                    raise
                report.steps.append(change)
                on_step(change)
        return report

    def _write(self, change: SchemaChange) -> None:
        change.path.parent.mkdir(parents=True, exist_ok=True)
        if not change.path.parent.resolve().is_relative_to(self.schemas.resolve()):
            raise ValueError(f"{change.path.parent} leads out of {self.schemas}")
        temporary = change.path.with_name(f".{change.path.name}.{os.getpid()}")
        try:
            with temporary.open("x", encoding="utf-8", newline="\n") as file:
                if change.path.exists():
                    # who could not read the file cannot read its new text
                    copymode(change.path, temporary)
                file.write(change.after)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(change.path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def plan_import(
    source: Path, schemas: Path, *, protocol: bool = False, only: Sequence[str] = ()
) -> ImportPlan:
    """Plan to import the definitions in `source`, a jar or a folder, into `schemas`.

    With `protocol`, also requests, responses and their headers; with `only`, the messages with these names.

    Raises: BadDefinition, SchemaError for a schema there that is not YAML, OSError, zipfile.BadZipFile.
    """
    changes: list[SchemaChange] = []
    names: list[str] = []
    skipped: list[tuple[str, str]] = []
    unchanged = 0
    unsaid: dict[str, list[str]] = {}
    for message in read_definitions(source):
        destination = place_of(message)
        if only and message.name not in only:
            continue
        names.append(message.name)
        if not destination.folder:
            skipped.append((message.name, destination.reason))
            continue
        if destination.folder == PROTOCOL and not (protocol or only):
            continue
        if message.kind == "data" and message.name.endswith("Key"):
            unsaid.setdefault(message.source.partition("!")[0], []).append(message.name)
        path = schemas / destination.folder / f"{snake(message.name)}.ksy"
        before = path.read_text("utf-8") if path.is_file() else None
        old = {} if before is None else tree_of(before, str(path))
        new = schema_of(message, destination, names_in(old, message))
        tree = ordered(shortened(merged(new, old) if old else new))
        if tree == old:
            unchanged += 1
        else:
            text, lost = with_comments(text_of(tree), before or "")
            changes.append(SchemaChange(path, message.name, before, text, lost))
    changes += _primitives(schemas, changes)
    notes = [
        f"{file} does not state which messages are keys, as Kafka's jars do since 4.1: {', '.join(names)} "
        "became messages whose version is the number that stands in front of the key"
        for file, names in unsaid.items()
    ]
    return ImportPlan(schemas, tuple(names), tuple(changes), unchanged, tuple(skipped), tuple(notes))


def _primitives(schemas: Path, changes: Sequence[SchemaChange]) -> list[SchemaChange]:
    """The schemas of strings, numbers and such that others import, if the folder lacks them."""
    missing = sorted(
        {name for change in changes for name in _imports(tree_of(change.after, str(change.path)))}
    )
    primitives: dict[str, SchemaChange] = {}
    while missing:
        name = missing.pop()
        path = schemas / "primitives" / f"{name}.ksy"
        if name in primitives or path.is_file():
            continue
        text = (files("kodec.schemas") / "primitives" / path.name).read_text("utf-8")
        primitives[name] = SchemaChange(path, name, None, text)
        missing += _imports(tree_of(text, path.name))
    return [primitives[name] for name in sorted(primitives)]


def _imports(tree: dict[Any, Any]) -> list[str]:
    """The last parts of the paths that a schema imports."""
    return [str(path).rpartition("/")[2] for path in tree["meta"].get("imports", ())]
