"""Log directories to read, and one Spark session for all tests that need a JVM."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures import write_segment


@pytest.fixture(scope="session")
def log_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
