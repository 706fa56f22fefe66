"""kodec explain: which bytes of a file are which field."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.resources import as_file, files
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from kodec.cli import output
from kodec.cli.explain_page import Section, write_pages
from kodec.cli.hexdump import Colours, lines_of_explanation
from kodec.cli.lines import printable
from kodec.cli.outcome import FAILED, errors_reported
from kodec.cli.parser import Argument, BadParameter, Exit, Option
from kodec.cli.schemas import IMPORT_PATH, OVERLAY, PARAM
from kodec.cli.stdin import is_stdin, stdin_as_file
from kodec.formats.explain import Area, Explainer, Explanation, Part
from kodec.generated.log import offset_index, time_index, transaction_index
from kodec.log.batches.frame import FRAME_SIZE, LEGACY, Frame
from kodec.log.directories.segment import Segment
from kodec.log.files.listing import parse_folder_name
from kodec.log.remote.tier import as_segment
from kodec.stores.storage import as_stored

__all__ = ["explain"]

_MOST = 64 << 20
_STEP, _ROW = 1 << 20, 16
_ENTRIES = {
    "index": ("offset_index", offset_index.Entry.SIZE),
    "timeindex": ("time_index", time_index.Entry.SIZE),
    "txnindex": ("transaction_index", transaction_index.Entry.SIZE),
}


def explain(
    file: Annotated[
        Path,
        Argument(
            metavar="FILE",
            exists=True,
            dash=True,
            urls=True,
            dir_okay=False,
            help="What to explain; - for standard input, a log without --schema.",
        ),
    ],
    schema: Annotated[
        Path | None,
        Option(
            "--schema",
            exists=True,
            dir_okay=False,
            help="Its format, if it is not Kafka's: a .ksy file or a plan.",
        ),
    ] = None,
    type: Annotated[
        str | None, Option("--type", help="The schema's type in the file, as in png::ihdr_chunk.")
    ] = None,
    message_version: Annotated[
        int | None, Option("--message-version", help="The version of a message that does not store it.")
    ] = None,
    at: Annotated[
        int | None,
        Option("--at", metavar="BYTE", min=0, help="Start at the batch, entry or field at this byte."),
    ] = None,
    offset: Annotated[
        int | None, Option("--offset", min=0, help="Start at the batch with this offset; .log files only.")
    ] = None,
    limit: Annotated[
        int | None, Option("--limit", min=1, help="Number of batches or entries; all by default.")
    ] = None,
    import_path: Annotated[list[Path] | None, IMPORT_PATH] = None,
    overlay: Annotated[list[str] | None, OVERLAY] = None,
    param: Annotated[list[str] | None, PARAM] = None,
    whole: Annotated[bool, Option("--whole", help="Show long fields in full.")] = False,
    html: Annotated[Path | None, Option("--html", help="Write interactive pages instead of lines.")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace existing pages.")] = False,
) -> None:
    """Map the bytes of a file to fields, including compressed data.

    Kafka's logs and indexes are recognized by name; any other file needs --schema. Every byte belongs to a
    field or is marked as unused. A damaged file is explained up to the wrong byte, with what was expected.

    example:  kodec explain logs/orders-0/00000000000000000000.log --offset 20 --limit 1

    With --schema, types whose columns `kodec scan` makes of Python objects are named with the reason.

    exit:     0 done   1 damaged bytes, a bad schema, or more than the pages hold   2 bad usage
    """
    if schema is None:
        for name, value in (("-I", import_path), ("--overlay", overlay), ("--param", param)):
            if value:
                raise BadParameter(f"{name}: goes with --schema")
    if message_version is not None and param:
        raise BadParameter("--message-version and --param exclude each other")
    if offset is not None and at is not None:
        raise BadParameter("--offset and --at exclude each other")
    with errors_reported(), stdin_as_file(file, ".log" if schema is None else "") as stored:
        try:
            if at is not None and at >= (size := stored.stat().st_size):
                raise ValueError(f"--at: byte {at} is beyond the end of {file}, which has {size} bytes")
            explainer = None if schema is None else Explainer(schema, import_path or [], overlay or [])
            arguments = () if message_version is None else (message_version,)
            if explainer is not None and message_version is None:
                arguments = explainer.arguments_of(param or [], type)
            sections = _sections(stored, explainer, type, arguments, at, offset)
            shown = islice(sections, limit)
            if html is None:
                wrong = _print_sections(shown, whole)
            else:
                wrong = not write_pages(html, file, _title(file), shown, overwrite=overwrite)
            for name, reason in () if explainer is None else explainer.fallbacks.items():
                output.warn(f"columns of `{name}` are made of Python objects, many times slower: {reason}")
        except ValueError as error:
            raise BadParameter(str(error)) from None
    raise Exit(FAILED if wrong else 0)


def _print_sections(sections: Iterator[Section], whole: bool) -> bool:
    wrong, colours = False, Colours()
    for title, explained in sections:
        explanation = explained()
        output.show(*([f"== {title}"] if title else []))
        for line in lines_of_explanation(explanation, whole=whole, colours=colours):
            print(line)
        wrong |= explanation.error is not None
    return wrong


def _sections(
    file: Path,
    explainer: Explainer | None,
    type: str | None,
    arguments: tuple[Any, ...],
    position: int | None,
    offset: int | None,
) -> Iterator[Section]:
    """The parts of a file, one after the other. Raises ValueError for options that do not fit the file."""
    # without a schema as it was in a log directory
    file = as_segment(file) or file if explainer is None else as_stored(file)
    kind = file.name.rpartition(".")[2]
    if explainer is None and kind in ("log", "checkpoint"):
        return _batches(file, position or 0, offset)
    if offset is not None:
        raise ValueError("--offset needs a segment, as in 00000000000000000000.log")
    if explainer is None and kind in _ENTRIES:
        return _entries(file, *_ENTRIES[kind], position or 0)
    if file.stat().st_size > _MOST:
        raise ValueError(f"{file}: larger than {_MOST >> 20} MiB, the limit with a schema")
    if explainer is None and kind != "snapshot":
        raise ValueError(f"{file.name} is not one of Kafka's logs or indexes: give --schema")
    if explainer is None:
        explainer = _kafka_explainer("producer_snapshot")
    explained = partial(explainer.explain, file.read_bytes(), type, arguments=arguments, start=position or 0)
    return iter([Section("", explained)])


def _title(file: Path) -> str:
    """A page's title: the file's name, after its topic-partition's if it is in one."""
    if is_stdin(file):
        return "standard input"
    folder = file.absolute().parent.name
    return printable(f"{folder}/{file.name}" if parse_folder_name(folder) is not None else file.name)


def _kafka_explainer(name: str) -> Explainer:
    with as_file(files("kodec.schemas")) as folder:
        return Explainer(folder / "log" / f"{name}.ksy")


def _entries(file: Path, name: str, size: int, start: int) -> Iterator[Section]:
    explainer = _kafka_explainer(name)
    number = start // size
    with file.open("rb") as data:
        data.seek(number * size)
        while entry := data.read(size):
            position = number * size
            explained = partial(explainer.explain, entry, f"{name}::entry", position=position)
            yield Section(f"entry {number} at byte {position}", explained)
            number += 1


def _zeros(segment: Segment, start: int, size: int) -> Section | None:
    """The zeros at the end of a preallocated file; None if something else follows."""
    for position in range(start, size, _STEP):
        if segment.read_bytes(position, min(_STEP, size - position)).strip(b"\0"):
            return None
    first = bytes(min(_ROW, size - start))
    note = f"zeros up to the end, {size - start:,} bytes: preallocated, or never written"
    part = Part(0, len(first), (), note)
    explanation = Explanation([Area("", "", first, start, [part])])
    return Section(f"no batch at byte {start}", lambda most=None: explanation)


def _base(file: Path) -> int:
    """The offset in a segment's name; 0 for any other file."""
    digits = file.name.partition(".")[0].partition("-")[0]
    return int(digits) if digits.isdigit() else 0


def _batches(file: Path, position: int, offset: int | None) -> Iterator[Section]:
    with Segment.of(file, _base(file), beside=True) as segment:
        start = 0
        if offset is not None:
            batch = segment.find(offset)
            if batch is None:
                raise ValueError(f"--offset: no batch with offset {offset} or a later one in {file}")
            start = batch.position
        explainers: dict[str, Explainer] = {}
        size = file.stat().st_size
        while start < size:
            head = segment.read_bytes(start, min(FRAME_SIZE, size - start))
            # no batch begins with zeros alone
            if not any(head) and (zeros := _zeros(segment, start, size)) is not None:
                yield zeros
                return
            frame = Frame.peek(head)
            whole = frame is not None and 0 < frame.size <= size - start
            end = start + frame.size if frame is not None and whole else size
            if end <= position:
                start = end
                continue
            name = "message_set" if frame is not None and frame.magic in LEGACY else "record_batch"
            if name not in explainers:
                explainers[name] = _kafka_explainer(name)
            data = segment.read_bytes(start, min(end - start, _MOST))
            explained = partial(explainers[name].explain, data, position=start)
            title = f"batch at byte {start}" + (f", offset {frame.offset}" if frame is not None else "")
            yield Section(f"{title}, {len(data):,} bytes", explained)
            if not whole:
                return
            start = end
