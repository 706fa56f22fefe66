"""The topics of `tests/data/topics-4.3.1.zip`, unpacked once: of MirrorMaker, Connect and Streams.

`tests/labs/topics_lab.py` makes it, with what Kafka's and Cruise Control's own classes answered.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from pathlib import Path

from tests.data import DATA

__all__ = ["OTHER", "answered"]

OTHER = Path(tempfile.mkdtemp(prefix="kodec-topics-"))
"""The log directories `A` and `B` of two clusters, and the answers in `.tsv`."""
atexit.register(shutil.rmtree, OTHER, ignore_errors=True)
with zipfile.ZipFile(DATA / "topics-4.3.1.zip") as packed:
    packed.extractall(OTHER)


def answered(name: str) -> list[list[str]]:
    """The lines of a file of answers, as their columns."""
    return [line.split("\t") for line in (OTHER / name).read_text("utf-8").splitlines()]
