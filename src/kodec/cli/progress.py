"""A progress bar on stderr, used by every long verb."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from kodec.cli import output

__all__ = ["Step", "progress"]

Step = Callable[[int], None]
_LARGE = 16 << 20


@contextmanager
def progress(name: str, size: int | Callable[[], int], *, beside_output: bool = True) -> Iterator[Step]:
    """A function to call with the bytes read since the last call, `size` in all, which may be a function too.

    Shows a bar with rate and remaining time where there is a person to see it, enough to do, and `rich`; with
    not if it would tear lines on stdout.
    """
    is_visible = sys.stderr.isatty() and not (beside_output and sys.stdout.isatty())
    total = 0 if not is_visible else size if isinstance(size, int) else size()
    if total < _LARGE or find_spec("rich") is None:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(output.printable(name)), total=total)
        yield lambda step: bar.advance(task, step)
