"""kodec dump: the batches and records of log files, and the entries of index files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

from kodec.cli import output
from kodec.cli.outcome import Outcome, errors_reported
from kodec.cli.parser import Argument, BadParameter, Exit, Option
from kodec.cli.progress import progress
from kodec.cli.schema_dump import dump_by_schema
from kodec.cli.schemas import IMPORT_PATH, OVERLAY, PARAM
from kodec.cli.selection import ON_ERROR, OnErrorChoice
from kodec.cli.stdin import is_stdin, stdin
from kodec.cli.wanted import chosen_logs
from kodec.generated.log.offset_index import OffsetIndex
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.generated.log.time_index import TimeIndex
from kodec.generated.log.transaction_index import TransactionIndex
from kodec.log.batches.batch import Batch
from kodec.log.batches.records import ControlRecord
from kodec.log.batches.sizes import OFFSET_ENTRY, TIME_ENTRY
from kodec.log.editing.dump import log_lines
from kodec.log.files.checkpoints import (
    read_clean_shutdown,
    read_leader_epochs,
    read_meta_properties,
    read_offsets,
    read_partition_metadata,
    read_quorum_state,
)
from kodec.log.files.descriptors import read_regular
from kodec.log.files.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    PARTITION_METADATA,
    QUORUM_STATE,
    RECOVERY_POINTS,
)
from kodec.log.files.tier_view import as_logs
from kodec.log.files.topics import topic_of
from kodec.log.messages.decoding import TOPICS, decode
from kodec.log.reading.reader import BatchReader, OnError, read_batches
from kodec.runtime.dataclass import fields
from kodec.runtime.errors import FormatError
from kodec.stores.storage import files_below

__all__ = ["dump"]

_SEGMENTS = (".log", ".checkpoint")
_INDEXES: dict[str, tuple[str, int, Callable[[bytes], list[Any]]]] = {
    ".index": ("offsetIndexEntry", OFFSET_ENTRY, lambda data: OffsetIndex.from_bytes(data).entries),
    ".timeindex": ("timeIndexEntry", TIME_ENTRY, lambda data: TimeIndex.from_bytes(data).entries),
    ".txnindex": ("abortedTransaction", 0, lambda data: TransactionIndex.from_bytes(data).entries),
    ".snapshot": ("producerState", 0, lambda data: ProducerSnapshot.from_bytes(data).entries),
}


def _offsets(path: Path) -> list[dict[str, object]]:
    return [{**key._asdict(), "offset": offset} for key, offset in read_offsets(path).items()]


# What Aiven's plugin stores next to a segment's log.
_BESIDE_REMOTE = (".indexes", ".rsm-manifest")
_CHECKPOINTS = (RECOVERY_POINTS, LOG_START_OFFSETS, HIGH_WATERMARKS, CLEANER_OFFSETS)
# The text files of a log directory, by name.
_TEXTS: dict[str, tuple[str, Callable[[Path], list[dict[str, object]]]]] = {
    **dict.fromkeys(_CHECKPOINTS, ("checkpoint", _offsets)),
    LEADER_EPOCHS: ("leaderEpoch", lambda path: [each._asdict() for each in read_leader_epochs(path)]),
    META_PROPERTIES: ("metaProperties", lambda path: [dict(read_meta_properties(path).properties)]),
    PARTITION_METADATA: (
        "partitionMetadata",
        lambda path: [{name: str(value) for name, value in read_partition_metadata(path)._asdict().items()}],
    ),
    QUORUM_STATE: ("quorumState", lambda path: [dict(read_quorum_state(path).properties)]),
    CLEAN_SHUTDOWN: ("cleanShutdown", lambda path: [read_clean_shutdown(path)._asdict()]),
}


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
    schema_only: dict[str, object] = {
        "--yaml": yaml,
        "--path": part,
        "--each": each,
        "--instances": instances,
        "--base64": base64,
        "--all": all,
    }
    schema_only["-I"] = import_path
    schema_only["--overlay"] = overlay
    schema_only["--param"] = param
    if schema is not None:
        if control or batches or decode or edit_format or no_crc or on_error is not OnErrorChoice.stop:
            raise BadParameter("--schema takes no option for Kafka's logs")
        if json and yaml:
            raise BadParameter("--json and --yaml exclude each other")
        if len(paths) != 1:
            raise BadParameter("--schema: one file, of which it is the format")
        form = "json" if json else "yaml" if yaml else "tree"
        dump_by_schema(
            paths[0],
            schema,
            import_path or [],
            overlay or [],
            param or [],
            form,
            part,
            each=each,
            instances=instances,
            base64=base64,
            whole=all,
        )
        return
    if wrong := [name for name, value in schema_only.items() if value]:
        raise BadParameter(f"{wrong[0]}: goes with --schema")
    if edit_format:
        if json or batches or decode or no_crc or on_error is not OnErrorChoice.stop:
            raise BadParameter("--edit-format prints whole logs and excludes other options")
        raise Exit(_dump_logs(paths))
    printer = output.JsonLines() if json else output.Text()
    code = _dump_paths(
        paths,
        printer,
        control=control,
        on_error=on_error.value,
        check_crc=not no_crc,
        batches_only=batches,
        decode=decode,
    )
    raise Exit(code)


def _dump_paths(
    paths: list[Path],
    printer: output.Printer,
    *,
    control: bool,
    on_error: OnError,
    check_crc: bool,
    batches_only: bool,
    decode: bool,
) -> int:
    """Dump each file; 0 if all were good, 1 if one was not (the others are still dumped)."""
    code = 0
    printer.batches = batches_only
    unlisted: list[OSError] = []
    bare: list[Path] = []
    for path in _files(paths, unlisted, bare):
        printer.file(str(path))
        try:
            if path.name in _TEXTS:
                name, lines = _TEXTS[path.name]
                for line in lines(path):
                    printer.item(name, line)
            elif path.suffix in _INDEXES:
                _dump_index(path, printer)
            elif path.suffix in _BESIDE_REMOTE:
                what = "belongs to a segment in remote storage; name its .log, or the folder"
                output.warn(f"kodec: {path}: {what}")
                code = 1
            elif not _dump_segment(path, printer, control, on_error, check_crc, batches_only, decode):
                code = 1
        except FormatError as error:
            output.warn(f"{type(error).__name__}: {error}")
            code = 1
        except BrokenPipeError:
            raise
        except FileNotFoundError as error:
            # A file named by the user must exist; one of a folder may have been deleted since it was listed.
            output.warn(f"kodec: {error}")
            code = 1 if path in paths else code
        except OSError as error:
            output.warn(f"kodec: {error}")
            code = 1
    for each in unlisted:
        output.warn(f"kodec: {each}")
    for folder in bare:
        output.warn(f"kodec: {folder}: no segment in it or in its folders ({' or '.join(_SEGMENTS)})")
    return 1 if unlisted or code else 2 if bare else 0


def _dump_logs(paths: list[Path]) -> int:
    """Print whole logs for `kodec load`; the exit code."""
    for path in paths:
        if not path.is_dir():
            raise BadParameter(f"{path}: --edit-format needs log directories or partitions' folders")
    outcome = Outcome()
    with errors_reported():
        for log in chosen_logs(paths, [], []):
            with outcome.each(log.path), log, progress(str(log.topic_partition), log.size) as step:
                for line in log_lines(log, step):
                    sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
    return outcome.code


def _dump_index(path: Path, printer: output.Printer) -> None:
    """Print the entries of an index, without preallocated zeros."""
    kind, size, read = _INDEXES[path.suffix]
    data = read_regular(path)
    if size:
        kept = data[: -(-len(data.rstrip(b"\0")) // size) * size]
        if ahead := len(data) // size - len(kept) // size:
            output.warn(f"{path}: {output.count(ahead, 'entry', 'entries')} of zeros allocated ahead")
        data = kept + data[len(data) // size * size :]
    try:
        items = read(data)
    except FormatError as error:
        raise error.in_source(str(path)) from None
    for item in items:
        printer.item(kind, {each.name: getattr(item, each.name) for each in fields(item)})


def _files(paths: list[Path], unlisted: list[OSError], bare: list[Path]) -> Iterator[Path]:
    """The files named, and those with records in the named folders.

    Reports folders that cannot be listed or have no such file.
    """
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        before = len(unlisted)
        # of remote storage only the segments that count
        below = as_logs(path) or path
        found = [file for file in files_below(below, unlisted.append) if file.name.endswith(_SEGMENTS)]
        if not found and len(unlisted) == before:
            bare.append(path)
        yield from sorted(found)


def _dump_segment(
    path: Path,
    printer: output.Printer,
    control: bool,
    on_error: OnError,
    check_crc: bool,
    batches_only: bool,
    decoded: bool,
) -> bool:
    """Print the batches and records of one segment; return whether nothing was skipped."""
    source = stdin() if is_stdin(path) else path
    reader = read_batches(source, check_crc=check_crc, on_error=on_error)
    good = True
    topic = (topic_of(path) if decoded else None) or ""
    for batch in _with_progress(reader, path):
        try:
            records = [] if batches_only else batch.records(control=control, check_crc=check_crc)
        except FormatError as error:
            if on_error == "raise":
                raise error.in_source(str(path)) from None
            output.warn(f"skipped the records of {batch!r}: {error}")
            good = False
            continue
        printer.batch(batch)
        for record in records:
            if decoded and (topic in TOPICS or isinstance(record, ControlRecord)):
                printer.decoded(record, *decode(topic, record))
            else:
                printer.record(record)
    for skipped in reader.skipped:
        output.warn(
            f"{path}: skipped bytes {skipped.start} to {skipped.end}: "
            f"{type(skipped.error).__name__}: {skipped.error}"
        )
    if reader.skipped.omitted:
        output.warn(
            f"{path}: skipped {reader.skipped.omitted} more ranges, {reader.skipped.omitted_bytes} bytes"
        )
    if reader.torn_tail is not None:
        tail = reader.torn_tail
        output.warn(
            f"{path}: ends at byte {tail.position}, {tail.size} bytes before the end of the file: "
            f"{tail.reason}"
        )
    return good and not reader.skipped


def _with_progress(reader: BatchReader, path: Path) -> Iterator[Batch]:
    """The batches, with a progress bar if the file is large and the output goes elsewhere."""
    passed = 0
    with progress(path.name, 0 if is_stdin(path) else path.stat().st_size) as step:
        for batch in reader:
            yield batch
            step(batch.position + batch.size - passed)
            passed = batch.position + batch.size
