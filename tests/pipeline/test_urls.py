"""What Spark's workers and jobs do with a URL: tasks carry it, and read the content that was listed."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from kodec.errors import ReadFailed
from kodec.pipeline import ExportOptions, export, inventory, verify
from kodec.pipeline.options import OptionError, Options
from kodec.pipeline.plan import found_logs, list_segments, tasks_of
from kodec.pipeline.source import KafkaLogDataSource
from tests.data import LOGS
from tests.log.stores import KEY, SECRET, Server

URL = "s3a://logs/kafka"


@pytest.fixture(autouse=True)
def objects_of_the_store(server: Server) -> None:
    server.upload(LOGS, "kafka")


def rows(path: str, **options: str) -> list[object]:
    """What the workers give for a query: the tasks go to them as bytes."""
    source = KafkaLogDataSource({"path": path, **options})
    reader = source.reader(source.schema())
    partitions = pickle.loads(pickle.dumps(reader.partitions()))
    batches = [batch for partition in partitions for batch in reader.read(partition)]
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"includeInternal": "true", "includeHeaders": "true"},
        {"subscribe": "orders", "kafka.isolation.level": "read_committed", "maxPartitionBytes": "2k"},
        {"subscribe": "segments", "startingOffsets": '{"segments":{"0":105}}'},
        {"subscribe": "transactions", "mode": "quarantine"},
    ],
    ids=str,
)
def test_the_source_in_python_reads_a_store(options: dict[str, str], server: Server) -> None:
    found = rows(URL, **options)
    assert found == rows(str(LOGS), **options)


def test_hadoops_settings_come_before_the_environments(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = rows(str(LOGS), subscribe="orders")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/nobody")
    endpoint = server.endpoint.removeprefix("http://")
    of_all = {
        "access.key": "nobody",
        "secret.key": SECRET,
        "endpoint": endpoint,
        "connection.ssl.enabled": "false",
    }
    options = {f"fs.s3a.{name}": value for name, value in of_all.items()}
    options |= {
        "fs.s3a.bucket.logs.access.key": KEY,
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.defaultFS": "x",
    }
    assert rows(URL, subscribe="orders", **options) == expected
    with pytest.raises(ReadFailed, match="access is denied"):
        rows(URL, subscribe="orders", **options | {"fs.s3a.bucket.logs.access.key": ""})


def test_a_glob_and_a_segment(server: Server) -> None:
    assert rows(f"{URL}/orders-*") == rows(f"{LOGS}/orders-*")
    segment = "segments-0/00000000000000000141.log"
    assert rows(f"{URL}/{segment}") == rows(f"{LOGS}/{segment}")
    with pytest.raises(OptionError, match="there is no s3a://logs/kafka/nothing"):
        found_logs(Options.parse({"path": f"{URL}/nothing"}))


def test_a_task_reads_what_was_listed(server: Server) -> None:
    options = Options.parse({"path": URL, "subscribe": "orders"})
    (task,) = pickle.loads(pickle.dumps(tasks_of(options, list_segments(options))))
    assert all(part.segment.log.listed is not None for part in task)
    data = server.objects["kafka/orders-0/00000000000000000000.log"]
    source = KafkaLogDataSource({"path": URL, "subscribe": "orders"})
    reader = source.reader(source.schema())
    partitions = pickle.loads(pickle.dumps(reader.partitions()))
    server.objects["kafka/orders-0/00000000000000000000.log"] = data[:-1] + b"x"
    try:
        with pytest.raises(ReadFailed, match="has changed since"):
            for partition in partitions:
                list(reader.read(partition))
    finally:
        server.objects["kafka/orders-0/00000000000000000000.log"] = data


def test_jobs(server: Server, tmp_path: Path) -> None:
    assert verify(URL, engine="local").segments == verify(LOGS, engine="local").segments
    here, there = (list(inventory(each, engine="local").rows) for each in (LOGS, URL))
    assert len(there) == len(here) > 20
    summary = export(URL, tmp_path / "out", ExportOptions(topics=["orders"]), engine="local")
    assert summary.records == 1200 and (tmp_path / "out" / "_SUCCESS").is_file()
