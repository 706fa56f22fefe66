"""The fields of a file of any schema: as a tree, JSON or YAML."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from kodec.cli import lines
from kodec.cli.outcome import FAILED
from kodec.cli.parser import BadParameter, Exit
from kodec.cli.stdin import is_stdin, stdin, stdin_as_file
from kodec.runtime.errors import FormatError, KodecError, MissingDependency
from kodec.runtime.extras import install_command
from kodec.runtime.fields import DEFAULT_READ

__all__ = ["dump_by_schema"]


def dump_by_schema(
    file: Path,
    schema: Path,
    import_path: Sequence[Path],
    overlays: Sequence[str],
    params: Sequence[str],
    form: str,
    path: str | None,
    *,
    each: bool,
    instances: bool,
    base64: bool,
    whole: bool,
) -> None:
    """Print a file, or the part of it at `path`, as tree, json or yaml; or `each` element of a list.

    Raises: BadParameter for a path that does not exist, and for parameters; Exit; KodecError.
    """
    from kodec.formats import load_schema
    from kodec.formats.dump import bytes_left, plain, select, tree_lines
    from kodec.formats.live import MOST_BYTES

    if form == "yaml":
        _as_yaml(None)  # its library may be missing
    if file.is_dir():
        raise BadParameter(f"{file} is a directory: --schema reads one file")
    try:
        format = load_schema(schema, overlays, import_path=import_path)
        parameters = format.parameters_of(params)
        if each:
            with nullcontext(stdin()) if is_stdin(file) else file.open("rb") as source:
                name, elements = format._each(source, path, DEFAULT_READ, MOST_BYTES, parameters)
                try:
                    for index, item in enumerate(elements):
                        value = plain(item, instances=instances, as_base64=base64)
                        _print_each(value, f"{name}[{index}]", form, whole)
                except FormatError as error:
                    raise error.in_source(str(file)) from None
            return
        with stdin_as_file(file) as stored:
            data = stored.read_bytes()
        try:
            tree = format._start(data, parameters)
            value = plain(select(tree, path or ""), instances=instances, as_base64=base64)
        except FormatError as error:
            raise error.in_source(str(file)) from None
    except (KodecError, BrokenPipeError):
        raise
    except ValueError as error:
        raise BadParameter(str(error)) from None
    except OSError as error:
        lines.warn(*lines.lines_of(error))
        raise Exit(FAILED) from None
    if form == "json":
        print(json.dumps(value, indent=2))
    elif form == "yaml":
        sys.stdout.write(_as_yaml(value))
    else:
        for line in tree_lines(value, whole=whole):
            print(lines.printable(line))
    unread = 0 if path else bytes_left(tree, len(data))
    if unread and tree._seeks and not instances:
        hint = "`--instances` shows what the schema reads at positions"
        lines.warn(f"{file}: {unread:,} bytes after the fields are not shown: {hint}")
    elif unread:
        lines.warn(f"{file}: {unread:,} bytes that the schema does not describe are not shown")


def _as_yaml(value: Any) -> str:
    try:
        from kodec.generator.schema.load import as_yaml
    except ImportError as error:
        raise MissingDependency(f"YAML needs `{error.name}`: {install_command('generator')}") from error
    text: str = as_yaml(value)
    return text


def _print_each(value: Any, name: str, form: str, whole: bool) -> None:
    """Print an element at once: a line of JSON, a document of YAML, or a tree."""
    if form == "json":
        print(json.dumps(value, separators=(",", ":")))
    elif form == "yaml":
        sys.stdout.write(f"---\n{_as_yaml(value)}")
    else:
        from kodec.formats.dump import tree_lines

        for line in tree_lines(value, whole=whole, name=name):
            print(lines.printable(line))
    sys.stdout.flush()
