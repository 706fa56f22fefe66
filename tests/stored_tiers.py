"""The segments of `tests/data/tiers-aiven.zip`, unpacked once.

They are packed because other tests take every `.log` in `tests/data` as a log.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from pathlib import Path

from tests.data import DATA

__all__ = ["STORED"]

STORED = Path(tempfile.mkdtemp(prefix="kodec-tiers-"))
"""The folder with `plain`, `zstd`, `aes` and `zstd-aes`, and `key1.pem`."""
atexit.register(shutil.rmtree, STORED, ignore_errors=True)
with zipfile.ZipFile(DATA / "tiers-aiven.zip") as packed:
    packed.extractall(STORED)
