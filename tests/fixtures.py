"""The fixtures of all tests; docs/testing.md lists them. `tests/conftest.py` makes them known to pytest."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kodec
from kodec.runtime import compression
from tests.data import LOGS
from tests.golden import Golden

if TYPE_CHECKING:
    from tests.log.stores import Server

NOW = 1_600_000_000_000

Layout = Sequence[str] | Mapping[str, Sequence[range]] | None


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Generator[Golden]:
    """Compares texts with those of a file, which `pytest --golden` writes."""
    texts = Golden(request)
    yield texts
    texts.close()


@pytest.fixture
def own_codecs() -> Generator[None]:
    """The codecs that a test registers are forgotten after it."""
    yield
    compression._registered.clear()


@pytest.fixture(scope="module")
def served() -> Iterator[Server]:
    """A server of the S3 API, to which the environment leads, for the tests of a module."""
    # few tests need it, and copies of the repository do not have it
    from tests.log.stores import serving

    with serving() as server:
        yield server


@pytest.fixture
def server(served: Server) -> Server:
    """The module's server without objects, faults and past requests."""
    served.reset()
    return served


def make_records(first: int, count: int) -> list[kodec.Record]:
    """Records that have nulls, empties and headers by turns, and their timestamps from `NOW` on."""
    return [
        kodec.Record(
            offset=offset,
            timestamp=NOW + offset,
            timestamp_type=kodec.TimestampType.CREATE_TIME,
            key=None if offset % 3 == 0 else b"" if offset % 3 == 1 else b"key %d" % offset,
            value=None if offset % 5 == 0 else b"value %d" % offset,
            headers=(("a", b"1"), ("a", None), ("ü", b"")) if offset % 4 == 0 else (),
        )
        for offset in range(first, first + count)
    ]


def write_segment(folder: Path, first: int, count: int, tail: bytes = b"") -> Path:
    """Write a segment of two or more batches, without indexes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{first:020d}.log"
    half = count // 2
    parts = [make_records(first, half), make_records(first + half, count - half)]
    path.write_bytes(b"".join(kodec.encode(part, compression="gzip") for part in parts if part) + tail)
    return path


@pytest.fixture
def logs(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A log directory `logs` as the module's `LAYOUT` says.

    That is the segments of each topic-partition, as ranges of offsets; or names of topic-partitions of the
    sample logs, which are copied; without it, a copy of all of them.
    """
    layout: Layout = getattr(request.module, "LAYOUT", None)
    root = tmp_path / "logs"
    if layout is None:
        return shutil.copytree(LOGS, root)
    root.mkdir()
    if isinstance(layout, Mapping):
        for name, segments in layout.items():
            for offsets in segments:
                write_segment(root / name, offsets.start, len(offsets))
        (root / "meta.properties").write_text("version=1\n")
        return root
    for name in layout:
        shutil.copytree(LOGS / name, root / name)
    for path in LOGS.iterdir():
        if path.is_file():
            shutil.copy(path, root)
    return root
