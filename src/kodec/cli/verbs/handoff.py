"""kodec handoff: packs schemas and everything generated from them for teams that use other languages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kodec.cli import lines
from kodec.cli.parser import BadParameter, Exit, Option
from kodec.runtime.errors import MissingDependency
from kodec.runtime.extras import install_command

__all__ = ["handoff"]


def handoff(
    schemas: Annotated[Path, Option(help="Folder of .ksy files.", file_okay=False, exists=True)],
    to: Annotated[Path | None, Option(help="Folder for the kit: new, or with an older kit.")] = None,
    archive: Annotated[
        Path | None, Option("--zip", help="Archive for the kit; reproducible byte for byte.")
    ] = None,
    name: Annotated[str, Option(help="Name of the formats; the folder's name by default.")] = "",
    kit_version: Annotated[str, Option(help="The format version; a hash of the schemas by default.")] = "",
    previous: Annotated[Path | None, Option(help="An earlier kit, for the changelog.", exists=True)] = None,
    target: Annotated[
        list[str] | None, Option(help="A language to generate; all by default. May be repeated.")
    ] = None,
    option: Annotated[
        list[str] | None, Option(metavar="TARGET.NAME=VALUE", help="For a target: go.package=orders.")
    ] = None,
    include: Annotated[
        list[str] | None,
        Option(metavar="NAME=DIR", help="Another folder, copied unchanged: testees=tests/languages."),
    ] = None,
) -> None:
    """Pack schemas for teams that write other languages.

    The kit has the schemas, their model with its JSON schema, pages in Markdown
    and HTML, test vectors, generated code, the programs in SCHEMAS/examples, a
    manifest with hashes, and a changelog.

    example:  kodec handoff --schemas formats --to kit --zip kit.zip --previous kit-1.zip

    exit:     0 done   1 a problem in a schema, or with a file   2 bad usage
    """
    try:
        from kodec.generator.problems import SchemaError
        from kodec.handoff import make_kit, write_folder, write_zip
    except ImportError as error:
        raise MissingDependency(f"a kit needs `{error.name}`: {install_command('generator')}") from error

    if to is None and archive is None:
        raise BadParameter("give --to, --zip or both")
    try:
        kit = make_kit(
            schemas,
            name=name,
            version=kit_version,
            targets=target,
            options=dict(_pair(text) for text in option or ()),
            include={key: Path(value) for key, value in map(_pair, include or ())},
            previous=previous,
        )
        if to is not None:
            write_folder(kit, to)
        if archive is not None:
            write_zip(kit, archive)
    except SchemaError as error:
        lines.warn(*lines.lines_of(error))
        raise Exit(1) from None
    except ValueError as error:
        raise BadParameter(str(error)) from None
    except OSError as error:
        lines.warn(*lines.lines_of(error))
        raise Exit(1) from None
    for language, missing in kit.without.items():
        count = len(missing)
        lines.say(f"{language}: without {count} schema{'s' * (count != 1)}; README.md has the reasons")
    lines.show(f"format version {kit.version}: {len(kit.files)} files")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadParameter(f"{text}: write NAME=VALUE")
    return name, value
