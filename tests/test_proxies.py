"""docs/proxies.md: its commands make the protocol, and its example changes messages that a real broker and
its clients have sent (`tests/labs/proxy_lab.py --record`)."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import io
import json
import re
import shlex
import shutil
import struct
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.cli.main import main
from kodec.errors import FormatError
from tests.data import TESTS
from tests.golden import Golden

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "proxies.md"
DATA = TESTS / "data/proxy"
VIA = ("via", b"proxy")
PASSED = [
    (way, waiting, base64.b64decode(before), base64.b64decode(after))
    for way, waiting, before, after in map(
        json.loads, gzip.decompress((DATA / "passed.jsonl.gz").read_bytes()).splitlines()
    )
]
PRODUCED = [each[2] for each in PASSED if each[0] == "request" and each[2][:2] == bytes(2)]
BROKER = ("127.0.0.1", 9092)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The example as a module, beside the package that the commands of the page made."""
    folder = tmp_path_factory.mktemp("proxy")
    shutil.copy(DATA / "messages.jar", folder / "kafka-clients-4.4.0.jar")
    commands = re.findall(
        r"^    kodec ((?:import-kafka|generate) .*)$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    assert len(commands) == 2
    for each in commands:
        with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
            assert main(shlex.split(each)) == 0
    spec = spec_from_file_location("kodec_proxy_example", ROOT / "docs" / "examples" / "proxy.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.path.insert(0, str(folder))
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        module.PROTOCOL = module.Protocol("kafka_protocol")  # type: ignore[attr-defined]
        yield module
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == "kafka_protocol"]:
            del sys.modules[name]
        del sys.modules[spec.name]


def changed(proxy: Any, way: str, waiting: Any, data: bytes, port: int = 0) -> tuple[bytes, Any]:
    """What the example makes of a message, and the connection."""
    made = proxy.Proxy(proxy.PROTOCOL, "127.0.0.1")

    async def port_of(host: str, number: int, wanted: int = 0) -> int:
        return port

    made.port_of = port_of
    connection = proxy.Connection(made, None, None)
    if waiting is not None:
        connection._waiting[int.from_bytes(data[:4], "big")] = tuple(waiting)
    return asyncio.run(getattr(connection, way)(data)), connection


def parts(proxy: Any, way: str, waiting: Any, data: bytes) -> tuple[Any, list[list[Any]], int]:
    """A message without its records, which are beside it, and the port of the first broker in it."""
    key, version = waiting or (int.from_bytes(data[:2], "big"), int.from_bytes(data[2:4], "big"))
    head, body = proxy.PROTOCOL.read(data, way, key, version)
    records: list[list[Any]] = []
    for topic in (*getattr(body, "topic_data", ()), *getattr(body, "responses", ())):
        for each in getattr(topic, "partition_data", None) or getattr(topic, "partitions", ()):
            if getattr(each, "records", None):
                batches = list(kodec.read_batches(each.records))
                records.append([(batch.attributes, batch.count, batch.records()) for batch in batches])
                each.records = b""
    nodes = getattr(body, "brokers", ()) or getattr(body, "coordinators", ())
    return (head, body), records, nodes[0].port if nodes else 0


def test_the_recorded_messages_are_of_every_kind() -> None:
    kinds = {(way, waiting[0] if waiting else before[1]) for way, waiting, before, _ in PASSED}
    assert kinds >= {("request", 0), ("response", 1), ("response", 3), ("response", 10), ("response", 18)}
    assert len({before[2:4] for way, _, before, _ in PASSED if way == "request"}) > 1


@pytest.mark.parametrize("number", range(len(PASSED)))
def test_a_recorded_message_is_changed_as_then(proxy: Any, number: int) -> None:
    way, waiting, before, after = PASSED[number]
    wanted, records, port = parts(proxy, way, waiting, after)
    made, _ = changed(proxy, way, waiting, before, port)
    assert parts(proxy, way, waiting, made) == (wanted, records, port)
    assert b"4111 1111 1111" not in after
    for row in (row for batches in records for batch in batches for row in batch[2]):
        assert (VIA in row.headers) == (way == "response")
    if before == after:
        assert made == before


def test_only_the_records_change(proxy: Any) -> None:
    for way, waiting, before, after in PASSED:
        old, new = (parts(proxy, way, waiting, data) for data in (before, after))
        for mine, its in zip(old[1], new[1], strict=True):
            assert [each[:2] for each in mine] == [each[:2] for each in its]
            for here, there in zip(mine, its, strict=True):
                assert [(row.offset, row.timestamp, row.key) for row in here[2]] == [
                    (row.offset, row.timestamp, row.key) for row in there[2]
                ]


def test_numbers_are_masked_whatever_stands_between(proxy: Any) -> None:
    value = b"4111-1111-1111-1111 and 4111111111111111, but not 123456789012 or 41111"
    masked = proxy.mask_cards(kodec.Record(value=value)).value
    assert masked == b"****-****-****-1111 and ************1111, but not 123456789012 or 41111"
    assert proxy.mask_cards(kodec.Record()).value is None


def test_a_fetch_that_ends_within_a_batch_and_control_batches(proxy: Any) -> None:
    path = ROOT / "tests/data/kafka-4.3.1/logs/transactions-0/00000000000000000000.log"
    data = path.read_bytes()
    made = proxy.changed_records(data[:-5], proxy.mark)
    old, new = (list(kodec.read_batches(each)) for each in (data, made))
    assert len(new) == len(old) - 1 and any(batch.is_control for batch in new)
    for before, after in zip(old, new, strict=False):
        assert before.data == after.data if before.is_control else after.records()[0].headers[-1] == VIA
    with pytest.raises(FormatError):
        proxy.changed_records(data[:17] + b"\0" + data[18:], proxy.mark)


def test_what_is_not_known_does_not_pass(proxy: Any) -> None:
    newer = b"\0\0" + struct.pack(">h", 99) + PRODUCED[0][4:]
    with pytest.raises(ValueError, match="request 0 has the unknown version 99"):
        changed(proxy, "request", None, newer)
    # of the first request another version is tried: the broker answers that it lacks this one
    asked = struct.pack(">hhi", 18, 99, 7) + b"\xff\xff"
    made, connection = changed(proxy, "request", None, asked)
    assert made[2:4] == b"\x7f\xff" and connection._waiting == {7: (18, 99)}
    with pytest.raises(KeyError):
        changed(proxy, "response", None, bytes(8))


def test_no_version_is_offered_that_could_not_be_changed(proxy: Any) -> None:
    waiting, data = next(each[1:3] for each in PASSED if each[1] and each[1][0] == 18)
    _, body = proxy.PROTOCOL.read(data, "response", *waiting)
    for each in body.api_keys:
        each.max_version = 99
    data = data[:4] + body.to_bytes()
    _, body = proxy.PROTOCOL.read(changed(proxy, "response", waiting, data)[0], "response", *waiting)
    most = {each.api_key: each.max_version for each in body.api_keys}
    assert (most[0], most[1], most[3], most[22]) == (13, 18, 13, 99)


def through_sockets(proxy: Any, data: bytes, broker: Any, size: int | None = None) -> bytes:
    """What a client gets that sends a message to a broker by the example."""

    async def ask() -> bytes:
        server = await asyncio.start_server(broker, "127.0.0.1", 0)
        made = proxy.Proxy(proxy.PROTOCOL, "127.0.0.1")
        port = await made.port_of(*server.sockets[0].getsockname()[:2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(struct.pack(">i", len(data) if size is None else size) + data)
        writer.write_eof()
        found = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        made.close()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait_for(asyncio.gather(*others), 20)
        return found

    return asyncio.run(ask())


@pytest.mark.parametrize("size", [-1, 200 << 20])
def test_a_message_of_another_size_ends_the_connection(
    proxy: Any, size: int, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.read() == b""
        writer.close()

    assert through_sockets(proxy, b"", broker, size) == b""
    golden(capsys.readouterr().err)


def test_a_request_through_sockets(proxy: Any) -> None:
    data = PRODUCED[0]
    seen: list[bytes] = []

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (size,) = struct.unpack(">i", await reader.readexactly(4))
        seen.append(await reader.readexactly(size))
        await reader.read()
        writer.close()

    assert through_sockets(proxy, data, broker) == b""
    wanted = changed(proxy, "request", None, data)[0]
    assert parts(proxy, "request", None, seen[0]) == parts(proxy, "request", None, wanted)


def test_a_broker_that_does_not_answer(proxy: Any, capsys: pytest.CaptureFixture[str]) -> None:
    async def ask() -> bytes:
        server = await asyncio.start_server(print, "127.0.0.1", 0)
        address = server.sockets[0].getsockname()[:2]
        server.close()
        await server.wait_closed()
        made = proxy.Proxy(proxy.PROTOCOL, "127.0.0.1")
        reader, writer = await asyncio.open_connection("127.0.0.1", await made.port_of(*address))
        found = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        made.close()
        return found

    assert asyncio.run(ask()) == b""
    assert re.match(r"127\.0\.0\.1:\d+: ", capsys.readouterr().err)
