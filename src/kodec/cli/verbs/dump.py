"""kodec dump: the batches and records of log files, and the entries of index files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.edit_dump import dump_for_editing
from kodec.cli.log_dump import dump_files
from kodec.cli.parser import Argument, BadParameter, Exit, Option
from kodec.cli.schema_dump import dump_by_schema
from kodec.cli.schemas import IMPORT_PATH, OVERLAY, PARAM
from kodec.cli.selection import ON_ERROR, OnErrorChoice, refuse_archives
from kodec.stores.storage import as_stored

__all__ = ["dump"]


def dump(
    paths: Annotated[
        list[Path],
        Argument(
            metavar="PATH...",
            exists=True,
            dash=True,
            urls=True,
            help="Segments (.log, .checkpoint), indexes, snapshots, checkpoints, or folders of segments; "
            "- for a segment from standard input. With --schema one file of any format.",
        ),
    ],
    json: Annotated[bool, Option("--json", help="One JSON object for each record.")] = False,
    control: Annotated[bool, Option("--control", help="Also print control records.")] = False,
    on_error: Annotated[OnErrorChoice, ON_ERROR] = OnErrorChoice.stop,
    no_crc: Annotated[bool, Option("--no-crc", help="Do not stop at a wrong checksum.")] = False,
    batches: Annotated[bool, Option("--batches", help="Batches only, not their records.")] = False,
    decode: Annotated[
        bool,
        Option(
            "--decode",
            help="Decode messages of Kafka's own topics, known by their folder, and control records.",
        ),
    ] = False,
    schema: Annotated[
        Path | None,
        Option(
            "--schema", exists=True, dir_okay=False, help="The .ksy file of the format of PATH, or a plan."
        ),
    ] = None,
    import_path: Annotated[list[Path] | None, IMPORT_PATH] = None,
    overlay: Annotated[list[str] | None, OVERLAY] = None,
    param: Annotated[list[str] | None, PARAM] = None,
    yaml: Annotated[bool, Option("--yaml", help="With --schema: YAML.")] = False,
    part: Annotated[
        str | None, Option("--path", metavar="PATH", help="With --schema: only this part: body.rows[3].")
    ] = None,
    each: Annotated[
        bool,
        Option(
            "--each",
            help="With --schema: each element of the last list, or of --path, as soon as it is there.",
        ),
    ] = False,
    instances: Annotated[bool, Option("--instances", help="With --schema: instances too.")] = False,
    base64: Annotated[
        bool, Option("--base64", help="With --schema: bytes in base64 instead of hexadecimal.")
    ] = False,
    all: Annotated[
        bool, Option("--all", help="With --schema: long lists and bytes in full; JSON and YAML have all.")
    ] = False,
    edit_format: Annotated[
        bool,
        Option(
            "--edit-format",
            help="Whole logs as JSON Lines for `kodec load`; folders only.",
        ),
    ] = False,
) -> None:
    """Print the batches and records of log files.

    With --json each record is a line {"offset", "timestamp", "timestampType", "key", "value", "headers"},
    bytes in base64, null if absent; with --batches --json, a line for each batch. With --decode,
    records of Kafka's own topics also have {"decodedKey", "decodedValue"}: name, type, version, data; if that
    is unknown, reason and bytes instead of data.

    With --edit-format a line has all of a batch, and other lines mark where logs and segments begin: see
    docs/editing.md.

    With --schema the file is of the format that a .ksy file describes, and its fields are printed: as a
    tree, or with --json or --yaml as one document. Enum values are names, bytes hexadecimal. With --each the
    elements of a list are printed as they arrive on a pipe, in bounded memory; with --json a line for each.

    example:  kodec dump --json logs/orders-0/00000000000000000000.log
              kodec dump --schema png.ksy --json image.png
              tail -f trace.bin | kodec dump --schema trace.ksy --each -

    exit:     0 done   1 damaged bytes, or a file that cannot be read   2 bad usage, no segment
    """
    of_schemas = {
        "--yaml": yaml,
        "--path": part,
        "--each": each,
        "--instances": instances,
        "--base64": base64,
        "--all": all,
        "-I": import_path,
        "--overlay": overlay,
        "--param": param,
    }
    of_segments = control or batches or decode or no_crc or on_error is not OnErrorChoice.stop
    if schema is not None:
        if of_segments or edit_format:
            raise BadParameter("--schema takes no option for Kafka's logs")
        if json and yaml:
            raise BadParameter("--json and --yaml exclude each other")
        if len(paths) != 1:
            raise BadParameter("--schema: it is the format of one file")
        dump_by_schema(
            as_stored(paths[0]),
            schema,
            import_path or [],
            overlay or [],
            param or [],
            "json" if json else "yaml" if yaml else "tree",
            part,
            each=each,
            instances=instances,
            base64=base64,
            whole=all,
        )
        return
    for name, value in of_schemas.items():
        if value:
            raise BadParameter(f"{name}: goes with --schema")
    refuse_archives(paths)
    if edit_format:
        if of_segments or json:
            raise BadParameter("--edit-format prints whole logs and excludes other options")
        raise Exit(dump_for_editing(paths))
    raise Exit(
        dump_files(
            paths,
            output.JsonLines() if json else output.Text(),
            control=control,
            on_error=on_error.value,
            check_crc=not no_crc,
            batches_only=batches,
            decode=decode,
        )
    )
