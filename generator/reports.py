"""Problems of schemas in the formats that editors, CI and other programs read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kodec.generator.problems import SchemaProblem, printable
from kodec.generator.target import VERSION

__all__ = ["FORMS", "Remark", "remarks", "stale"]

_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_RULES = {
    "schema": "A schema cannot be used as it is.",
    "stale": "A generated file is not up to date with the schemas.",
}


@dataclass(frozen=True, slots=True)
class Remark:
    """A problem to show at a place.

    Attributes:
        file: as a path from the working directory, or as the schema folder was given.
        line, column: from 1.
        severity: `error`, or `note` for what changes nothing.
        rule: `schema`, or `stale` for a generated file.
        path: the field, as `x.header.size`; empty if it concerns no single field.
        text, hint: the problem, and what would be right.
    """

    file: str
    line: int
    column: int
    severity: str
    rule: str
    path: str
    text: str
    hint: str

    @property
    def message(self) -> str:
        path = f"{self.path}: " if self.path else ""
        return f"{path}{self.text}{f' ({self.hint})' if self.hint else ''}"


def remarks(problems: Iterable[SchemaProblem], schemas: Path) -> list[Remark]:
    """The problems of the schemas in `folder`, of which their places contain only the last part."""
    found = []
    for each in problems:
        file = Path(os.path.normpath(schemas.parent / each.place.file)).as_posix()
        place = (file, each.place.line, each.place.column)
        found.append(Remark(*place, each.severity, "schema", each.path, each.text, each.hint))
    return found


def stale(files: Iterable[tuple[Path, str]]) -> list[Remark]:
    """The files that differ for `--check`: the path of each, and whether it is new, changed or stale."""
    texts = {
        "new": "it is missing",
        "changed": "it is not up to date with the schemas",
        "stale": "no schema produces it any more",
    }
    hint = "run `kodec generate`"
    return [Remark(path.as_posix(), 1, 1, "error", "stale", "", texts[kind], hint) for path, kind in files]


def _lines(found: Sequence[Remark]) -> str:
    """A line for each; terminal control characters are escaped."""
    lines = (f"{each.file}:{each.line}:{each.column}: {each.severity}: {each.message}" for each in found)
    return "".join(f"{printable(line)}\n" for line in lines)


def _json(found: Sequence[Remark]) -> str:
    return json.dumps({"problems": [asdict(each) for each in found]}) + "\n"


def _github(found: Sequence[Remark]) -> str:
    """Workflow commands; see GitHub's "Workflow commands for GitHub Actions"."""

    def escaped(text: str, more: Mapping[str, str]) -> str:
        for sign, code in {"%": "%25", "\r": "%0D", "\n": "%0A", **more}.items():
            text = text.replace(sign, code)
        return text

    lines = []
    for each in found:
        place = {"file": _from_here(each.file), "line": str(each.line), "col": str(each.column)}
        inside = {":": "%3A", ",": "%2C"}
        shown = ",".join(f"{key}={escaped(value, inside)}" for key, value in place.items())
        command = "notice" if each.severity == "note" else each.severity
        lines.append(printable(f"::{command} {shown}::{escaped(each.message, {})}") + "\n")
    return "".join(lines)


def _sarif(found: Sequence[Remark]) -> str:
    """SARIF 2.1.0, as code scanning reads it."""
    rules = [{"id": rule, "shortDescription": {"text": text}} for rule, text in _RULES.items()]
    driver = {"name": "kodec", "version": VERSION, "rules": rules}
    results: list[dict[str, Any]] = []
    for each in found:
        region = {"startLine": each.line, "startColumn": each.column}
        artifact = {"uri": quote(_from_here(each.file))}
        location: dict[str, Any] = {"physicalLocation": {"artifactLocation": artifact, "region": region}}
        if each.path:
            location["logicalLocations"] = [{"fullyQualifiedName": each.path}]
        text = {"text": each.message}
        results.append(
            {"ruleId": each.rule, "level": each.severity, "message": text, "locations": [location]}
        )
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}) + "\n"


def _from_here(file: str) -> str:
    """A path relative to the working directory, if it is inside it."""
    path, here = Path(file).absolute(), Path.cwd()
    path = Path(os.path.normpath(path))
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else file


FORMS: Mapping[str, Callable[[Sequence[Remark]], str]] = {
    "text": _lines,
    "json": _json,
    "github": _github,
    "sarif": _sarif,
}
"""The formats by name: each returns whole lines. `text` and `github` are empty if there is no problem."""
