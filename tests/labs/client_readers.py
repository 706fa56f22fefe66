"""Reads a topic with the Kafka clients of the Python world, each in its own way, into the same rows."""

from __future__ import annotations

import asyncio
import importlib.metadata
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from kafka_lab import Unusable

SECONDS = 10.0
DISTRIBUTIONS = {"librdkafka": "confluent-kafka", "kafka-python": "kafka-python", "aiokafka": "aiokafka"}


class Row(NamedTuple):
    """A record as a client gives it; the timestamp is in ms, -1 = none."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class CannotRead(Exception):
    """The client gave no rows, or not all of them; the text says why."""


class CannotConnect(CannotRead):
    """The client does not even come to terms with the broker."""


def _said(error: Exception, address: str) -> str:
    """What an error of a client says, without what differs from run to run."""
    text = str(error).replace(address, "the broker")
    name = type(error).__name__
    return text if text.startswith(name) else f"{name}: {text}".removesuffix(": ")


def with_librdkafka(address: str, topic: str, count: int, release: str) -> list[Row]:
    """The first `count` rows of partition 0. Raises: CannotRead."""
    import confluent_kafka

    config: dict[str, Any] = {
        "bootstrap.servers": address,
        "group.id": "none",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "check.crcs": True,
        "broker.address.family": "v4",
        # Errors; not the warning that support of 0.9 will end.
        "log_level": 3,
    }
    if release.startswith("0.9"):
        # That broker cannot say which requests it knows.
        config |= {"api.version.request": False, "broker.version.fallback": release}
    errors: list[str] = []
    consumer = confluent_kafka.Consumer({**config, "error_cb": lambda error: errors.append(str(error))})
    rows: list[Row] = []
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        end = time.monotonic() + SECONDS
        while len(rows) < count:
            if time.monotonic() > end:
                raise CannotRead(
                    f"{len(rows)} of {count} rows" + "".join(f"; {error}" for error in errors[:1])
                )
            message = consumer.poll(0.2)
            if message is None:
                continue
            if message.error():
                raise CannotRead(str(message.error()))
            kind, timestamp = message.timestamp()
            known = kind != confluent_kafka.TIMESTAMP_NOT_AVAILABLE
            # The type stubs say that there may be text, which a deserializer would have made.
            given: Any = message
            headers = tuple((key, value) for key, value in given.headers() or ())
            rows.append(Row(given.offset(), timestamp if known else -1, given.key(), given.value(), headers))
    finally:
        consumer.close()
    return rows


def with_kafka_python(address: str, topic: str, count: int, release: str) -> list[Row]:
    """The first `count` rows of partition 0. Raises: CannotRead."""
    import kafka

    try:
        consumer = kafka.KafkaConsumer(
            bootstrap_servers=address,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            check_crcs=True,
            # 0.9 has no request that asks for its version.
            api_version=(0, 9) if release.startswith("0.9") else None,
        )
    except Exception as error:
        raise CannotConnect(_said(error, address)) from error
    rows: list[Row] = []
    try:
        partition = kafka.TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek(partition, 0)
        end = time.monotonic() + SECONDS
        while len(rows) < count:
            if time.monotonic() > end:
                raise CannotRead(f"{len(rows)} of {count} rows")
            for batch in consumer.poll(timeout_ms=200).values():
                rows += [_row(record) for record in batch]
    except CannotRead:
        raise
    except Exception as error:
        # Whatever a client of others raises is what it reports about our bytes.
        raise CannotRead(_said(error, address)) from error
    finally:
        consumer.close()
    return rows


def with_aiokafka(address: str, topic: str, count: int, release: str) -> list[Row]:
    """The first `count` rows of partition 0. Raises: CannotRead."""
    return asyncio.run(_with_aiokafka(address, topic, count))


async def _with_aiokafka(address: str, topic: str, count: int) -> list[Row]:
    import aiokafka

    consumer = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=address, enable_auto_commit=False, auto_offset_reset="earliest", check_crcs=True
    )
    rows: list[Row] = []
    try:
        try:
            await asyncio.wait_for(consumer.start(), SECONDS)
        except Exception as error:
            # Its first request, and there is no way around it any more.
            reason = f"{_said(error, address)} (it begins with ApiVersions, request 18, since Kafka 0.10)"
            raise CannotConnect(reason) from error
        partition = aiokafka.TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek(partition, 0)
        end = time.monotonic() + SECONDS
        while len(rows) < count:
            if time.monotonic() > end:
                raise CannotRead(f"{len(rows)} of {count} rows")
            for batch in (await asyncio.wait_for(consumer.getmany(timeout_ms=200), SECONDS)).values():
                rows += [_row(record) for record in batch]
    except CannotRead:
        raise
    except Exception as error:
        raise CannotRead(_said(error, address)) from error
    finally:
        await consumer.stop()
    return rows


def _row(record: Any) -> Row:
    timestamp = -1 if record.timestamp is None else record.timestamp
    headers = tuple((key, value) for key, value in record.headers or ())
    return Row(record.offset, timestamp, record.key, record.value, headers)


Reader = Callable[[str, str, int, str], list[Row]]
READERS: dict[str, Reader] = {
    "librdkafka": with_librdkafka,
    "kafka-python": with_kafka_python,
    "aiokafka": with_aiokafka,
}


def versions() -> dict[str, str]:
    """The installed version of each client. Raises: Unusable naming what is not installed."""
    found = {}
    # kafka-python reads LZ4 of format v0 with the help of xxhash only.
    for name in (*DISTRIBUTIONS.values(), "xxhash"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            raise Unusable(
                f"the Python package {name} is not installed: see the dependency group interop"
            ) from None
    return {name: found[package] for name, package in DISTRIBUTIONS.items()}
