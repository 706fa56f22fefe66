"""kodec scan: writes rows of any file with a schema to Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kodec.cli import lines
from kodec.cli.compressions import PARQUET
from kodec.cli.parser import Argument, BadParameter, Exit, Option
from kodec.cli.schemas import IMPORT_PATH
from kodec.cli.stdin import stdin_as_file
from kodec.runtime.errors import KodecError, MissingDependency
from kodec.runtime.extras import install_command

__all__ = ["scan"]

FAILED = 1


def scan(
    file: Annotated[
        Path,
        Argument(
            metavar="FILE",
            exists=True,
            dash=True,
            dir_okay=False,
            help="The file to read; - for standard input.",
        ),
    ],
    schema: Annotated[
        Path, Option("--schema", exists=True, dir_okay=False, help="The .ksy file of its format.")
    ],
    to: Annotated[Path, Option("--to", help="The Parquet file.")],
    rows: Annotated[
        str | None, Option("--rows", help="The list whose elements are rows: packets, pages.cells.")
    ] = None,
    column: Annotated[
        list[str] | None,
        Option("--column", help="A path from a row: body.width; may be given several times."),
    ] = None,
    import_path: Annotated[list[Path] | None, IMPORT_PATH] = None,
    compression: Annotated[str, PARQUET] = "zstd",
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing file.")] = False,
) -> None:
    """Write the rows of any file that a schema describes to Parquet.

    The schema's modules are generated once, into the user's cache ($KODEC_CACHE overrides it).

    example:  kodec scan --schema pcap.ksy trace.pcap --to trace.parquet

    exit:     0 done   1 bad bytes or a bad schema, or the target exists   2 bad usage
    """
    try:
        from kodec.formats import load_schema
        from kodec.formats.parquet import check_target, write_parquet
    except ImportError as error:
        raise MissingDependency(
            f"scanning needs `{error.name}`: {install_command('generator', 'arrow')}"
        ) from error
    try:
        with stdin_as_file(file) as here:
            check_target(to, here, overwrite=overwrite)
            reader = load_schema(schema, import_path=import_path or ()).scan(here, rows, column or None)
            count = write_parquet(reader, to, compression=compression, overwrite=overwrite)
    except KodecError:
        raise
    except ValueError as error:
        raise BadParameter(str(error)) from None
    except OSError as error:
        lines.warn(*lines.lines_of(error))
        raise Exit(FAILED) from None
    for path, reason in reader.left_out.items():
        lines.warn(f"no column: {path}: {reason}")
    lines.show(f"{count:,} rows of {reader.rows} to {to}")
