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
    to: Annotated[Path | None, Option(help="Folder for the modules.", file_okay=False)] = None,
    tests: Annotated[
        Path | None, Option(help="Folder for generated tests; without it none are made.")
    ] = None,
    package: Annotated[str | None, Option(help="Package from which the tests import the modules.")] = None,
    kernels: Annotated[
        str | None, Option(help="Schemas, separated by commas, with a native kernel in DIR/kernels.")
    ] = None,
    target: Annotated[
        list[str] | None,
        Option(
            help="What to generate: c, documents, go, java, model, native, python, rust, "
            "typescript, vectors; repeatable.",
        ),
    ] = None,
    java_package: Annotated[
        str | None, Option(help="Also generate Java classes of this package in DIR/java.")
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

    example:  kodec generate --schemas formats --to src/app/formats
              kodec generate --schemas formats --target documents --to docs/formats
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
    arguments: dict[str, Any] = {
        "schemas": schemas,
        "to": to,
        "tests": tests,
        "package": package,
        "kernels": kernels,
        "java_package": java_package,
    }
    if target:
        arguments["schemas"] = schemas or settings.get("schemas")
    elif schemas is None and to is None:
        arguments = {
            name: settings.get(name) if value is None else value for name, value in arguments.items()
        }
    missing = [f"--{name}" for name in ("schemas", "to") if arguments[name] is None]
    if missing:
        raise BadParameter(
            f"{' and '.join(missing)} missing, and not under [tool.kodec.generate] in ./pyproject.toml"
        )
    if not Path(arguments["schemas"]).is_dir():
        raise BadParameter(f"no such folder: {arguments['schemas']}")
    if arguments["tests"] is not None and not arguments["package"]:
        raise BadParameter("--tests needs --package")
    if package is not None and arguments["tests"] is None:
        raise BadParameter("--package is for --tests; for a target: --option package=NAME")
    folder = Path(arguments["schemas"])
    targets = target or (*DEFAULT, *(["java"] if arguments["java_package"] else ()))
    message = (
        {"java.package": arguments["java_package"]} if arguments["java_package"] and "java" in targets else {}
    )
    if runtime and "python" not in targets:
        raise BadParameter("--runtime is for Python; the other targets have theirs")
    if runtime and arguments["tests"] is not None:
        raise BadParameter("--tests compare modules with kodec: they go without --runtime")
    if runtime:
        message["python.runtime"] = "kodec_runtime"
    for text in option or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise BadParameter(f"--option {text}: write NAME=VALUE")
        message[name] = value

    def once() -> int:
        notes: list[SchemaProblem] = []
        try:
            changes = make(
                folder,
                Path(arguments["to"]),
                tests=None if arguments["tests"] is None else Path(arguments["tests"]),
                package=arguments["package"] or "",
                kernels=[name.strip() for name in (arguments["kernels"] or "").split(",") if name.strip()],
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
            _print_problems(shown(remarks(problems, folder)), plain=form is Form.text)
            lines.warn(error.summary)
            return FAILED
        noted = remarks(sorted(set(notes)), folder)
        if form is Form.text:
            _print_problems(shown(noted), plain=True)
            code = _report_changes(changes, check)
            if changes and arguments["tests"] is not None:
                _what_tests_need()
            return code
        differ = [(change.path, change.kind) for change in changes] if check else []
        _print_problems(shown([*noted, *stale(differ)]))
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


def _print_problems(text: str, *, plain: bool = False) -> None:
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
    section = document.get("tool", {}).get("kodec", {}).get("generate", {})
    # `out` is the earlier name of `to`
    return {"to" if key == "out" else str(key): str(value) for key, value in section.items()}


def _report_changes(changes: Sequence[Change], check: bool) -> int:
    """Report what `generate` did, or (with `check`) would do; return the exit code."""
    if check:
        for change in changes:
            sys.stdout.write(change.diff)
        if changes:
            files = f"{len(changes)} file{'s' * (len(changes) != 1)}"
            lines.warn(f"{files} differ from the schemas: run `kodec generate`")
            return 1
        lines.say("generated code is up to date")
        return 0
    for change in changes:
        lines.show(f"{change.kind:8} {change.path}")
    lines.show(f"{len(changes)} file{'s' * (len(changes) != 1)} written" if changes else "no changes")
    return 0
