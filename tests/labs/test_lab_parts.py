"""Tests of the lab's own parts: the produce request, the comparisons, what is written for Kafka to read."""

from __future__ import annotations

import importlib.metadata
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import client_readers
import dump_log
import kafka_reads_ours
import pytest
from client_readers import Row
from kafka_lab import GENERATIONS, Broker, Unusable, field
from kafka_reads_ours import Case, Differs, Verdicts
from raw_produce import ProduceRefused, RawProducer

import kodec


@contextmanager
def broker(answer: bytes | None) -> Iterator[tuple[int, list[bytes]]]:
    """A server that reads one request and answers so, or closes the connection.

    Gives its port and the requests that it got.
    """
    requests: list[bytes] = []

    def serve(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
            requests.append(connection.recv(size, socket.MSG_WAITALL))
            if answer is not None:
                connection.sendall(struct.pack(">i", len(answer)) + answer)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        yield server.getsockname()[1], requests
        thread.join(5)


def answer(code: int, offset: int) -> bytes:
    head = struct.pack(">ii", 1, 1) + struct.pack(">h", 1) + b"t" + struct.pack(">i", 1)
    return head + struct.pack(">ihqq", 0, code, offset, -1) + struct.pack(">i", 0)


@pytest.mark.parametrize("version", [2, 7])
def test_a_produce_request_carries_the_very_bytes(version: int) -> None:
    with broker(answer(0, 42)) as (port, requests), RawProducer("127.0.0.1", port) as producer:
        assert producer.produce(version, "t", b"RECORDS") == 42
    transactional_id = b"\xff\xff" if version >= 3 else b""
    assert requests == [
        struct.pack(">hhi", 0, version, 1)
        + struct.pack(">h", 9) + b"kodec-lab" + transactional_id
        + struct.pack(">hii", -1, 20_000, 1)
        + struct.pack(">h", 1) + b"t"
        + struct.pack(">iii", 1, 0, 7) + b"RECORDS"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (answer(2, -1), "CORRUPT_MESSAGE"),
        (answer(99, -1), "error 99"),
        (None, "the broker closed the connection"),
    ],
)
def test_a_refusal_is_named(reply: bytes | None, reason: str) -> None:
    with (
        broker(reply) as (port, _),
        RawProducer("127.0.0.1", port) as producer,
        pytest.raises(ProduceRefused, match=reason),
    ):
        producer.produce(3, "t", b"")


def test_flexible_versions_are_not_sent() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        RawProducer("127.0.0.1", server.getsockname()[1]) as producer,
        pytest.raises(ValueError, match="Produce v9"),
    ):
        producer.produce(9, "t", b"")


@pytest.mark.parametrize("case", kafka_reads_ours.cases(), ids=lambda case: case.name)
def test_a_segment_for_kafka_holds_the_rows_that_are_expected(case: Case) -> None:
    data = case.segment()
    rows = [
        Row(row.offset, row.timestamp, row.key, row.value, row.headers) for row in kodec.read_records(data)
    ]
    kafka_reads_ours.compare(rows, case.rows())
    assert {(batch.magic, batch.codec) for batch in kodec.read_batches(data)} == {(case.magic, case.codec)}
    assert all(next(iter(kodec.read_batches(part))).base_offset == 0 for part in case.encoded(produced=True))


def test_every_format_and_codec_is_tried() -> None:
    tried = {(case.magic, case.codec) for case in kafka_reads_ours.cases()}
    assert len(tried) == 13
    assert len(kafka_reads_ours.cases()) == len(set(kafka_reads_ours.cases())) == 37


def test_rows_that_differ_or_lack_are_noticed() -> None:
    rows = Case(2, "none").rows()
    kafka_reads_ours.compare(rows, rows)
    with pytest.raises(Differs, match="instead of"):
        kafka_reads_ours.compare(rows[:-1], rows)
    with pytest.raises(Differs, match="row 3: another key, headers"):
        kafka_reads_ours.compare([*rows[:3], rows[3]._replace(key=b"?", headers=(("a", None),))], rows)


def dumped(case: Case, *, valid: bool = True) -> dump_log.EntryDump:
    """What kafka-dump-log would say of the case's segment."""
    entries = []
    for batch in kodec.read_batches(case.segment()):
        records = [
            {
                "offset": row.offset,
                "timestamp": row.timestamp,
                "key_size": -1 if row.key is None else len(row.key),
                "value_size": -1 if row.value is None else len(row.value),
            }
            for row in batch.records()
        ]
        facts = {"position": batch.position, "crc_ok": valid, "codec": batch.codec}
        entries.append(dump_log.Entry(facts, records))
    return dump_log.EntryDump("a", entries)


def test_a_dump_that_is_not_of_our_segment_is_noticed() -> None:
    case = Case(1, "gzip")
    kafka_reads_ours.compare_dump(dumped(case), case)
    with pytest.raises(Differs, match="isvalid is false at position 0"):
        kafka_reads_ours.compare_dump(dumped(case, valid=False), case)
    with pytest.raises(Differs, match="compresscodec gzip"):
        kafka_reads_ours.compare_dump(dumped(case), Case(1, "lz4"))
    broken = dumped(case)
    broken.exception = "java.lang.Oh"
    with pytest.raises(Differs, match=r"java\.lang\.Oh"):
        kafka_reads_ours.compare_dump(broken, case)
    lacking = dumped(case)
    lacking.entries.pop()
    with pytest.raises(Differs, match="not those that were written"):
        kafka_reads_ours.compare_dump(lacking, case)


def test_the_worst_of_several_cases_stays() -> None:
    verdicts = Verdicts()
    for state, reason in (("passed", ""), ("refused", "no"), ("passed", "")):
        verdicts.note(Case(2, "lz4"), "produce", state, reason)
    cell = verdicts.cells[2, "lz4", "produce"]
    assert (cell.state, cell.reason, cell.cases) == ("refused", "no", 3)


@pytest.mark.parametrize(
    ("name", "magic", "codec", "reason"),
    [
        ("0.9", 0, "lz4", ""),
        ("0.9", 1, "none", "the format came with Kafka 0.10"),
        ("0.10", 2, "gzip", "the format came with Kafka 0.11"),
        ("0.11", 2, "zstd", "zstd came with Kafka 2.1"),
        ("2.8", 2, "zstd", ""),
        ("4.3", 0, "none", ""),
    ],
)
def test_what_a_generation_cannot_hold(name: str, magic: int, codec: str, reason: str) -> None:
    assert kafka_reads_ours.impossible(GENERATIONS[name], Case(magic, codec)) == reason


def test_fields_of_commands() -> None:
    assert [field(part) for part in (None, b"", b"\0\xff", "text", 7)] == ["-", "", "AP8=", "text", "7"]


def test_a_client_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "xxhash":
            raise importlib.metadata.PackageNotFoundError
        return "1.0"

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(Unusable, match="xxhash is not installed: see the dependency group interop"):
        client_readers.versions()


def test_the_newest_exception_of_the_broker_explains_a_refusal(tmp_path: Path) -> None:
    broker = object.__new__(Broker)
    broker.output = tmp_path / "broker.out"
    broker.output.write_text("INFO started\n")
    assert broker.explained("closed") == "closed"
    broker.output.write_text(
        "java.lang.Old: no\norg.apache.kafka.common.errors.OtherException: 1\n"
        "ERROR x (kafka.Y)\njava.lang.NewException: why\n\tat java.lang.Z\n"
    )
    assert broker.explained("closed") == "closed; the broker: NewException: why"
