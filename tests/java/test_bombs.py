"""Decompression bombs in Java: refused in a heap that holds a small part of what the limit allows."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.java.conftest import jars
from tests.log.bombs import LIMIT, MIB, stream, zeros


@pytest.mark.thorough
def test_a_bomb_is_refused_in_a_small_heap(classes: Path, tmp_path: Path) -> None:
    java = shutil.which("java")
    assert java is not None
    words, wanted = [], []
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        for size in (LIMIT + 1, 20):
            path = tmp_path / f"{codec}-{size}"
            path.write_bytes(stream(codec, zeros(size)))
            words += [codec, str(path)]
            wanted.append("LIMIT_EXCEEDED" if size > LIMIT else str(size * MIB))
    path = f"{classes}{os.pathsep}{jars()}"
    done = subprocess.run(
        [java, "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path, "Bombs", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (wanted, "")
