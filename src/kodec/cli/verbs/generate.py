"""kodec generate: generates reader and writer modules from schemas."""

from __future__ import annotations

import importlib.util
import json
import sys
import tomllib
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kodec.cli import lines
from kodec.cli.parser import BadParameter, Exit, Option
from kodec.cli.schemas import IMPORT_PATH, OVERLAY, REPORT_FORMAT
from kodec.runtime.errors import MissingDependency
from kodec.runtime.extras import install_command

if TYPE_CHECKING:
    from kodec.generator.driver import Change
    from kodec.generator.problems import SchemaProblem

__all__ = ["generate"]

FAILED = 1


class Form(Enum):
    """How problems are shown."""

    text = "text"
    json = "json"
    github = "github"
    sarif = "sarif"


def generate(
    schemas: Annotated[Path | None, Option(help="Folder of .ksy files.", file_okay=False)] = None,
    out: Annotated[Path | None, Option(help="Folder for the modules.", file_okay=False)] = None,
    tests: Annotated[
        Path | None, Option(help="Folder for generated tests; without it none are made.")
    ] = None,
    package: Annotated[str | None, Option(help="Package from which the tests import the modules.")] = None,
    kernels: Annotated[
        str | None, Option(help="Schemas, separated by commas, with a native kernel in OUT/kernels.")
    ] = None,
    target: Annotated[
        list[str] | None,
        Option(
            help="What to generate: c, documents, go, java, model, native, python, rust, "
            "typescript, vectors; repeatable.",
        ),
    ] = None,
    java_package: Annotated[
        str | None, Option(help="Also generate Java classes of this package in OUT/java.")
    ] = None,
    option: Annotated[
        list[str] | None,
        Option(metavar="NAME=VALUE", help="For a target: package=orders, or go.package=orders."),
    ] = None,
    overlay: Annotated[list[str] | None, OVERLAY] = None,
    runtime: Annotated[
        bool, Option("--runtime", help="Copy the runtime beside Python modules, which then need no kodec.")
    ] = False,
    streams: Annotated[
        bool, Option("--streams", help="Modules with instances and derived fields, of every schema.")
    ] = False,
    check: Annotated[bool, Option("--check", help="Write nothing; show what would change.")] = False,
    watch: Annotated[
        bool, Option("--watch", help="Keep running, and generate again when a schema changes.")
    ] = False,
    form: Annotated[Form, REPORT_FORMAT] = Form.text,
    import_path: Annotated[list[Path] | None, IMPORT_PATH] = None,
    dialect: Annotated[
        bool, Option("--dialect", help="Print the JSON schema of .ksy files, for editors, and exit.")
    ] = False,
) -> None:
    """Generate reader and writer modules, or other targets, from schemas.

    Without options, the folders are those of `tool.kodec.generate` in
    ./pyproject.toml; with --target, only its folder of schemas.

    example:  kodec generate --schemas formats --out src/app/formats
              kodec generate --schemas formats --target documents --out docs/formats
              kodec generate --watch

    exit:     0 done   1 a problem in a schema, or --check found a difference   2 bad usage
              130 interrupted, which ends --watch
    """
    try:
        from kodec.generator.driver import generate as make
        from kodec.generator.problems import SchemaError
        from kodec.generator.reports import FORMS, remarks, stale
        from kodec.generator.schema.dialect import dialect as schema_of_schemas
        from kodec.generator.target import DEFAULT
        from kodec.generator.watch import changes_of
    except ImportError as error:
        raise MissingDependency(f"generating needs `{error.name}`: {install_command('generator')}") from error

    if dialect:
        sys.stdout.write(json.dumps(schema_of_schemas(), indent=1) + "\n")
        return
    shown = FORMS[form.value]
    settings = _settings()
    given: dict[str, Any] = {
        "schemas": schemas,
        "out": out,
        "tests": tests,
        "package": package,
        "kernels": kernels,
        "java_package": java_package,
    }
    if target:
        given["schemas"] = schemas or settings.get("schemas")
    elif schemas is None and out is None:
        given = {name: settings.get(name) if value is None else value for name, value in given.items()}
    missing = [f"--{name}" for name in ("schemas", "out") if given[name] is None]
    if missing:
        raise BadParameter(
            f"{' and '.join(missing)} missing, and not under [tool.kodec.generate] in ./pyproject.toml"
        )
    if not Path(given["schemas"]).is_dir():
        raise BadParameter(f"no such folder: {given['schemas']}")
    if given["tests"] is not None and not given["package"]:
        raise BadParameter("--tests needs --package")
    if package is not None and given["tests"] is None:
        raise BadParameter("--package is for --tests; for a target: --option package=NAME")
    folder = Path(given["schemas"])
    targets = target or (*DEFAULT, *(["java"] if given["java_package"] else ()))
    message = {"java.package": given["java_package"]} if given["java_package"] and "java" in targets else {}
    if runtime and "python" not in targets:
        raise BadParameter("--runtime is for Python; the other targets have theirs")
    if runtime and given["tests"] is not None:
        raise BadParameter("--tests compare modules with kodec: they go without --runtime")
    if runtime:
        message["python.runtime"] = "kodec_runtime"
    for each in option or ():
        name, equals, value = each.partition("=")
        if not equals:
            raise BadParameter(f"--option {each}: write NAME=VALUE")
        message[name] = value

    def once() -> int:
        notes: list[SchemaProblem] = []
        try:
            changes = make(
                folder,
                Path(given["out"]),
                tests=None if given["tests"] is None else Path(given["tests"]),
                package=given["package"] or "",
                kernels=[name.strip() for name in (given["kernels"] or "").split(",") if name.strip()],
                targets=targets,
                options=message,
                overlays=overlay or (),
                streams=streams,
                check=check,
                notes=notes,
                import_path=import_path or [],
            )
        except SchemaError as error:
            problems = sorted({*error.problems, *notes})
            _print(shown(remarks(problems, folder)), plain=form is Form.text)
            lines.warn(error.summary)
            return FAILED
        noted = remarks(sorted(set(notes)), folder)
        if form is Form.text:
            _print(shown(noted), plain=True)
            code = _told(changes, check)
            if changes and given["tests"] is not None:
                _what_tests_need()
            return code
        differ = [(change.path, change.kind) for change in changes] if check else []
        _print(shown([*noted, *stale(differ)]))
        return FAILED if differ else 0

    try:
        if not watch:
            raise Exit(once())
        for _ in changes_of(folder, *(import_path or [])):
            lines.say(f"kodec: reading {folder}")
            try:
                once()
            except (ValueError, OSError) as error:
                # another file is in the way, or a schema is just being saved
                lines.warn(*lines.lines_of(error))
            lines.say(f"kodec: waiting for changes in {folder}")
    except ValueError as error:
        raise BadParameter(str(error)) from None
    except OSError as error:
        lines.warn(*lines.lines_of(error))
        raise Exit(FAILED) from None


def _what_tests_need() -> None:
    """Report which package is missing, for someone about to run the tests."""
    missing = [name for name in ("hypothesis", "pytest") if importlib.util.find_spec(name) is None]
    if missing:
        needed = " and ".join(f"`{name}`" for name in missing)
        lines.say(f"the tests need {needed}: {install_command('testing')}")


def _print(text: str, *, plain: bool = False) -> None:
    """Print problems on stderr for people, on stdout for programs."""
    stream = sys.stderr if plain else sys.stdout
    stream.write(text)
    stream.flush()


def _settings() -> dict[str, str]:
    path = Path("pyproject.toml")
    if not path.is_file():
        return {}
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BadParameter(f"pyproject.toml: {error}") from None
    found = document.get("tool", {}).get("kodec", {}).get("generate", {})
    return {str(key): str(value) for key, value in found.items()}


def _told(found: Sequence[Change], check: bool) -> int:
    """Report what `generate` did, or (with `check`) would do; return the exit code."""
    if check:
        for change in found:
            sys.stdout.write(change.diff)
        if found:
            files = f"{len(found)} file{'s' * (len(found) != 1)}"
            lines.warn(f"{files} differ from the schemas: run `kodec generate`")
            return 1
        lines.say("generated code is up to date")
        return 0
    for change in found:
        lines.show(f"{change.kind:8} {change.path}")
    lines.show(f"{len(found)} file{'s' * (len(found) != 1)} written" if found else "no changes")
    return 0
