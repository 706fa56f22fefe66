"""kodec new: starts a schema from samples of a format."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from kodec.cli import lines
from kodec.cli.outcome import FAILED
from kodec.cli.parser import Argument, BadParameter, Exit, Option
from kodec.runtime.errors import MissingDependency
from kodec.runtime.extras import install_command
from kodec.stores.modes import narrow, readable_as

__all__ = ["new"]

_MOST_BYTES = 256 << 20
# what YAML does not read as text
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))


def new(
    samples: Annotated[
        list[Path],
        Argument(
            metavar="SAMPLE...",
            exists=True,
            dir_okay=False,
            logs=False,
            help="Files of one format; several show more.",
        ),
    ],
    to: Annotated[Path | None, Option("--to", help="The .ksy file; without it, stdout.")] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing file.")] = False,
) -> None:
    """Start a schema from sample files of an unknown format.

    Recognizes a signature, the byte order, the size of the file, lists of elements with lengths or of one
    size, their CRC-32, and texts. A guess is made only where chance is unlikely, and has a comment with the
    evidence. The schema compiles and reads every sample completely: the unknown part is a field of bytes.

    example:  kodec new image.png --to image.ksy

    exit:     0 done   1 a file is empty or cannot be read, or the target exists   2 bad usage
    """
    try:
        from kodec.formats import load_schema
        from kodec.formats.dump import bytes_left
        from kodec.formats.guess import guess
    except ImportError as error:
        raise MissingDependency(f"schemas need `{error.name}`: {install_command('generator')}") from error
    for sample in samples:
        if sample.stat().st_size > _MOST_BYTES:
            raise BadParameter(f"{sample}: more than {_MOST_BYTES >> 20} MiB; a smaller sample shows as much")
    ident = re.sub(r"[^a-z0-9]+", "_", samples[0].stem.lower()).strip("_")
    ident = ident if ident[:1].isalpha() and ident not in _WORDS else f"x_{ident}".rstrip("_")
    if to is not None:
        ident = to.name.removesuffix(".ksy")
        if not re.fullmatch(r"[a-z][a-z0-9_]*\.ksy", to.name):
            raise BadParameter(f"--to {to}: lower_snake_case.ksy, which is the id of the schema too")
    try:
        if to is not None and to.exists() and not overwrite:
            raise FileExistsError(f"{to} exists; overwrite=True replaces it")
        data = [sample.read_bytes() for sample in samples]
        for sample in (sample for sample, content in zip(samples, data, strict=True) if not content):
            raise ValueError(f"{sample} is empty: it shows nothing of the format")
        draft = guess(data, ident, extension=samples[0].suffix[1:], names=[sample.name for sample in samples])
        with TemporaryDirectory() as folder:
            schema = Path(folder) / f"{ident}.ksy"
            schema.write_text(draft.text, "utf-8")
            format = load_schema(schema)
            unread = sum(bytes_left(format._start(content), len(content)) for content in data)
        if to is None:
            sys.stdout.write(draft.text)
        else:
            # it quotes bytes of the samples
            with readable_as(*samples):
                to.parent.mkdir(parents=True, exist_ok=True)
                with to.open("w", encoding="utf-8") as file:
                    narrow(file.fileno())
                    file.write(draft.text)
    except (OSError, ValueError) as error:
        lines.warn(*lines.lines_of(error))
        raise Exit(FAILED) from None
    for note in draft.notes:
        lines.warn(f"guess: {note}")
    read = sum(map(len, data)) - unread
    lines.warn(f"the schema reads {read:,} of {read + unread:,} bytes of the samples")
    names = " ".join(map(str, samples))
    if to is None:
        lines.warn(f"next: kodec new {names} --to {ident}.ksy")
        return
    lines.warn(f"next: kodec dump --schema {to} {samples[0]}")
    lines.warn(f"next: kodec explain --schema {to} {samples[0]}")
    if len(samples) == 1:
        lines.warn(f"next: kodec new {names} ANOTHER --to {to} --overwrite    (several samples show more)")
