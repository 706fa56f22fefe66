"""Log directories to read, and one Spark session for all tests that need a JVM."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kodec

NOW = 1_600_000_000_000


@pytest.fixture(scope="session")
def make_records() -> Callable[..., list[kodec.Record]]:
    """A function (first, count) -> records that have nulls, empties and headers by turns."""

    def make(first: int, count: int) -> list[kodec.Record]:
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

    return make


@pytest.fixture(scope="session")
def write_segment(make_records: Callable[..., list[kodec.Record]]) -> Callable[..., Path]:
    """A function (folder, first, count, tail) that writes a segment of two or more batches."""

    def write(folder: Path, first: int, count: int, tail: bytes = b"") -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{first:020d}.log"
        half = count // 2
        parts = [make_records(first, half), make_records(first + half, count - half)]
        path.write_bytes(b"".join(kodec.encode(part, compression="gzip") for part in parts if part) + tail)
        return path

    return write


@pytest.fixture(scope="session")
def log_dir(tmp_path_factory: pytest.TempPathFactory, write_segment: Callable[..., Path]) -> Path:
    """A log directory: orders-0 in three segments, orders-1 torn, paid-0 empty, an internal topic, debris."""
    root = tmp_path_factory.mktemp("logs")
    for first in (0, 100, 200):
        write_segment(root / "orders-0", first, 100)
    write_segment(root / "orders-1", 0, 40, tail=bytes(37))
    write_segment(root / "paid-0", 0, 0)
    write_segment(root / "__internal-0", 0, 10)
    write_segment(root / f"orders-2.{'0' * 32}-delete", 0, 10)
    write_segment(root / f"orders-3.{'0' * 32}-future", 0, 10)
    (root / "orders-0" / "00000000000000000300.log.deleted").write_bytes(b"gone")
    (root / "meta.properties").write_text("version=1\n")
    (root / "lost+found").mkdir()
    return root


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session on two local cores, with both sources where there is a JDK."""
    from kodec.pipeline import session
    from kodec.pipeline.spark import QUIET

    config = {**QUIET, "spark.sql.shuffle.partitions": "2"}
    started = session("local[2]", app_name="tests", config=config)
    yield started
    started.stop()


@pytest.fixture(scope="session")
def in_python() -> str:
    """The name of the source in Python: it has another one where the source for the JVM is there."""
    from kodec.pipeline.spark import JAR

    return "kafka-log-python" if JAR.is_file() else "kafka-log"
