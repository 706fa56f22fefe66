"""kodec scan: writes rows of any files with a schema to Parquet, CSV, JSON Lines or DuckDB."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from kodec.cli import lines
from kodec.cli.compressions import GUARD_FORMULAS, PARQUET
from kodec.cli.parser import Argument, BadParameter, Exit, Option
from kodec.cli.schemas import IMPORT_PATH, OVERLAY, PARAM
from kodec.cli.stdin import stdin_as_file
from kodec.runtime.errors import KodecError, MissingDependency
from kodec.runtime.extras import install_command
from kodec.stores.storage import readable

__all__ = ["scan"]

FAILED = 1


def scan(
    files: Annotated[
        list[Path],
        Argument(
            metavar="FILE",
            dash=True,
            urls=True,
            logs=False,
            help="Files, URLs, and patterns such as 'a/*.pcap'; - for standard input.",
        ),
    ],
    schema: Annotated[
        Path,
        Option("--schema", exists=True, dir_okay=False, help="Their format: a .ksy file or a plan."),
    ],
    to: Annotated[
        Path | None,
        Option(
            "--to",
            help="The file to write: .parquet, .csv, .jsonl or .duckdb; without it, JSON Lines on stdout.",
        ),
    ] = None,
    rows: Annotated[
        str | None,
        Option(
            "--rows", help="The list whose elements are rows: packets, pages.cells; . for a row per file."
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        Option("--column", help="A path from a row: body.width; * for all; repeatable."),
    ] = None,
    where: Annotated[
        str | None,
        Option("--where", help="Only rows that fulfil a condition: 'incl_len > 100 and body == \"ipv4\"'."),
    ] = None,
    nested: Annotated[
        bool, Option("--nested", help="Types as structs, not as columns of their own.")
    ] = False,
    enums: Annotated[
        str, Option("--enums", one_of=("names", "numbers"), help="How enums are written.")
    ] = "names",
    path_column: Annotated[
        str | None,
        Option("--path-column", help="A column with the path of the file (default for several: path)."),
    ] = None,
    on_error: Annotated[
        str,
        Option(
            "--on-error", one_of=("raise", "skip"), help="skip: keep the rows before damage, name the file."
        ),
    ] = "raise",
    format: Annotated[
        str | None,
        Option(
            "--format", one_of=("parquet", "csv", "jsonl", "duckdb"), help="If the name does not show it."
        ),
    ] = None,
    table: Annotated[
        str | None, Option("--table", help="The table of a DuckDB file (default: rows).")
    ] = None,
    import_path: Annotated[list[Path] | None, IMPORT_PATH] = None,
    overlay: Annotated[list[str] | None, OVERLAY] = None,
    param: Annotated[list[str] | None, PARAM] = None,
    check: Annotated[
        bool, Option("--check", help="Compare checksums and other -derive fields; many times slower.")
    ] = False,
    compression: Annotated[str, PARQUET] = "zstd",
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing file.")] = False,
    guard_formulas: Annotated[bool, GUARD_FORMULAS] = False,
) -> None:
    """Write the rows of any files that a schema describes to Parquet, CSV, JSON Lines or DuckDB, or print
    them.

    The schema's modules are generated once, into the user's cache ($KODEC_CACHE overrides it).

    example:  kodec scan --schema pcap.ksy trace.pcap --to trace.parquet

    exit:     0 done   1 bad bytes or a bad schema, or the target exists   2 bad usage
    """
    try:
        from kodec.formats import load_schema, scan_files
        from kodec.formats.output import PRINTED, check_target, print_rows, write_rows
        from kodec.formats.several import files_of
    except ImportError as error:
        raise MissingDependency(
            f"scanning needs `{error.name}`: {install_command('generator', 'arrow')}"
        ) from error
    if to == Path("-"):
        to = None
    if to is None:
        if format not in (None, *PRINTED):
            raise BadParameter(f"--format {format} needs --to: stdout takes {' or '.join(PRINTED)}")
        if overwrite:
            raise BadParameter("--overwrite needs --to")
    output_format = format or ("jsonl" if to is None else to.suffix.lower().lstrip("."))
    if compression != "zstd" and output_format != "parquet":
        raise BadParameter("--compression applies to Parquet only")
    if guard_formulas and output_format != "csv":
        raise BadParameter("--guard-formulas applies to CSV only")
    if table is not None and output_format not in ("duckdb", "db"):
        raise BadParameter("--table applies to DuckDB only")
    try:
        with ExitStack() as stack:
            names = [stack.enter_context(stdin_as_file(file)) for file in files]
            try:
                sources = files_of(names)
            except (FileNotFoundError, IsADirectoryError) as error:
                raise BadParameter(str(error)) from None
            if to is not None:
                for source in sources:
                    check_target(to, readable(source), overwrite=overwrite)
            several = len(sources) > 1 or len(files) > 1 or sources != [str(names[0])]
            format_of_all = load_schema(schema, overlay or (), import_path=import_path or ())
            reader = scan_files(
                format_of_all,
                sources,
                rows,
                column or None,
                path_column=path_column or ("path" if several else None),
                on_error=on_error,
                where=where,
                nested=nested,
                enums=enums,
                parameters=format_of_all.parameters_of(param or ()),
                check=check,
            )
            if to is None:
                sys.stdout.flush()
                count = print_rows(reader, sys.stdout.buffer, output_format, guard_formulas=guard_formulas)
            else:
                count = write_rows(
                    reader,
                    to,
                    format=format,
                    compression=compression,
                    table=table,
                    overwrite=overwrite,
                    guard_formulas=guard_formulas,
                )
    except (KodecError, BrokenPipeError):
        raise
    except ValueError as error:
        raise BadParameter(str(error)) from None
    except OSError as error:
        lines.warn(*lines.lines_of(error))
        raise Exit(FAILED) from None
    for path, reason in reader.left_out.items():
        lines.warn(f"no column: {path}: {reason}")
    for problem in reader.problems:
        lines.warn(f"kodec: {problem}")
    if reader.through_objects and not check:
        lines.warn(f"read through Python objects, many times slower: {reader.through_objects}")
    of = f" of {len(sources):,} files" if len(sources) > 1 else ""
    if to is not None:
        lines.show(f"{count:,} rows of {reader.rows}{of} to {to}")
    if reader.problems:
        lines.warn(f"{len(reader.problems):,} of {len(sources):,} files were not read to their end")
        raise Exit(FAILED)
