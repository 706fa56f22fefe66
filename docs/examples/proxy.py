#!/usr/bin/env python3
"""A proxy between Kafka's clients and a cluster that changes records on their way: see docs/proxies.md.

    python docs/examples/proxy.py --broker localhost:9092 --listen 127.0.0.1:9192 --protocol kafka_protocol

Card numbers in what clients produce are masked, so that no broker stores one; each record that clients fetch
gets a header. Messages without records or addresses pass as they are. Each broker gets a port of its own when
a client first hears of it.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import itertools
import re
import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import kodec

PRODUCE, FETCH, METADATA, FIND_COORDINATOR, API_VERSIONS, DESCRIBE_CLUSTER, SHARE_FETCH = (
    0,
    1,
    3,
    10,
    18,
    60,
    78,
)
REQUESTS = (PRODUCE,)
RESPONSES = (PRODUCE, FETCH, METADATA, FIND_COORDINATOR, API_VERSIONS, DESCRIBE_CLUSTER, SHARE_FETCH)
MAX_MESSAGE = 100 << 20  # as a broker's socket.request.max.bytes
UNSUPPORTED_VERSION = 35
CARD = re.compile(rb"\b(?:\d[ -]?){9,15}(?=\d{4}\b)")

Change = Callable[[kodec.Record], kodec.Record]


def mask_cards(record: kodec.Record) -> kodec.Record:
    """The record with all but the last four digits of card numbers masked."""
    if record.value is None:
        return record
    return replace(record, value=CARD.sub(lambda found: re.sub(rb"\d", b"*", found[0]), record.value))


def mark(record: kodec.Record) -> kodec.Record:
    """The record with a header that shows where it came through."""
    return replace(record, headers=(*record.headers, ("via", b"proxy")))


def changed_records(data: bytes, change: Change) -> bytes:
    """The batches of a record set with their records changed; control batches stay as they are.

    Raises FormatError for a damaged batch, EncodeError for a change that a batch cannot hold.
    """
    # a fetch response may end within a batch: the client fetches that one again
    return b"".join(
        batch.data if batch.is_control else kodec.encode(map(change, batch.records()), like=batch)
        for batch in kodec.read_batches(data)
    )


class Protocol:
    """The messages that a proxy changes, of the package that `kodec generate` made of Kafka's definitions."""

    def __init__(self, package: str) -> None:
        messages = importlib.import_module(f"{package}.index").MESSAGES
        self._classes = {
            (kind, number): getattr(importlib.import_module(f"{package}.{module}"), name)
            for (_, kind, number), (module, name) in messages.items()
        }
        headers = (f"{package}.protocol.{kind}_header" for kind in ("request", "response"))
        request, response = map(importlib.import_module, headers)
        self.request_header, self.response_header = request.RequestHeader, response.ResponseHeader

    def versions(self, key: int) -> range | None:
        """The versions of a message that can be changed; None for one that passes as it is."""
        kinds = [kind for kind, keys in (("request", REQUESTS), ("response", RESPONSES)) if key in keys]
        return self._classes[kinds[0], key].VERSIONS if kinds else None

    def read(self, data: bytes, kind: str, key: int, version: int) -> tuple[Any, Any]:
        """The header and the body of a message. Raises FormatError."""
        body_of = self._classes[kind, key]
        is_flexible = version in body_of.FLEXIBLE
        if kind == "request":
            header, start = self.request_header.read_from(data, version=1 + is_flexible)
        else:
            # clients read that of API_VERSIONS before they know what a broker supports
            form = int(is_flexible and key != API_VERSIONS)
            header, start = self.response_header.read_from(data, version=form)
        return header, body_of.from_bytes(data[start:], version)


class Proxy:
    """Ports of this machine, each for one broker."""

    def __init__(self, protocol: Protocol, host: str) -> None:
        self.protocol = protocol
        self.host = host
        self._servers: list[asyncio.Server] = []
        self._ports: dict[tuple[str, int], asyncio.Task[int]] = {}

    async def port_of(self, host: str, port: int, wanted: int = 0) -> int:
        """The port that stands for a broker, opened the first time."""
        if (host, port) not in self._ports:
            self._ports[host, port] = asyncio.create_task(self._open(host, port, wanted))
        return await self._ports[host, port]

    async def _open(self, host: str, port: int, wanted: int) -> int:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await Connection(self, reader, writer).run(host, port)

        server = await asyncio.start_server(connected, self.host, wanted)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    def close(self) -> None:
        """Open no further connections."""
        for server in self._servers:
            server.close()


class Connection:
    """A client's connection, and the one to its broker."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._client = reader, writer
        # requests without an answer yet: brokers answer in order
        self._waiting: dict[int, tuple[int, int]] = {}

    async def run(self, host: str, port: int) -> None:
        """Pass messages until one side ends, or sends what cannot be changed."""
        reader, writer = self._client
        try:
            broker = await asyncio.open_connection(host, port)
        except OSError as error:
            print(f"{host}:{port}: {error}", file=sys.stderr, flush=True)
            writer.close()
            return
        ways = [
            asyncio.create_task(self._pass(reader, broker[1], self.request)),
            asyncio.create_task(self._pass(broker[0], writer, self.response)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in ways:
                each.cancel()
            ends = await asyncio.gather(*ways, return_exceptions=True)
            for stream in (writer, broker[1]):
                stream.close()
        for error in ends:
            if isinstance(error, Exception) and not isinstance(error, (EOFError, ConnectionError)):
                print(f"connection closed: {error}", file=sys.stderr, flush=True)

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, changed: Callable[[bytes], Any]
    ) -> None:
        while True:
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            if not 0 <= size <= MAX_MESSAGE:
                raise ValueError(f"a message of {size} bytes")
            data = await changed(await reader.readexactly(size))
            writer.write(struct.pack(">i", len(data)) + data)
            await writer.drain()

    async def request(self, data: bytes) -> bytes:
        """A request as the broker gets it."""
        protocol = self._proxy.protocol
        header = protocol.request_header.from_bytes(data, version=1, exact=False)
        key, version = header.request_api_key, header.request_api_version
        known = protocol.versions(key)
        if known is not None and version not in known:
            if key != API_VERSIONS:
                # what should be changed never passes unchanged
                raise ValueError(f"request {key} has the unknown version {version}")
            # the broker answers that it has no such version, and the client tries another
            data = data[:2] + b"\x7f\xff" + data[4:]
        if key in REQUESTS:
            header, body = protocol.read(data, "request", key, version)
            self._change(body.topic_data, "partition_data", mask_cards)
            data = header.to_bytes() + body.to_bytes()
            if body.acks == 0:
                return data
        self._waiting[header.correlation_id] = key, version
        return data

    async def response(self, data: bytes) -> bytes:
        """A response as the client gets it."""
        protocol = self._proxy.protocol
        key, version = self._waiting.pop(int.from_bytes(data[:4], "big", signed=True))
        if key not in RESPONSES:
            return data
        if key == API_VERSIONS and int.from_bytes(data[4:6], "big") == UNSUPPORTED_VERSION:
            version = 0
        header, body = protocol.read(data, "response", key, version)
        if key == API_VERSIONS:
            self._limit(body.api_keys)
        elif key in (FETCH, SHARE_FETCH):
            self._change(body.responses, "partitions", mark)
        lists = (getattr(body, name, ()) for name in ("brokers", "node_endpoints", "coordinators"))
        for node in (*itertools.chain.from_iterable(lists), body):
            if getattr(node, "host", ""):
                node.port = await self._proxy.port_of(node.host, node.port)
                node.host = self._proxy.host
        return bytes(header.to_bytes() + body.to_bytes())

    def _limit(self, api_keys: list[Any]) -> None:
        """Offer no version of a message that this proxy could not change."""
        for each in api_keys:
            known = self._proxy.protocol.versions(each.api_key)
            if known is not None:
                each.min_version = max(each.min_version, known[0])
                each.max_version = min(each.max_version, known[-1])

    @staticmethod
    def _change(topics: list[Any], partitions: str, change: Change) -> None:
        for topic in topics:
            for partition in getattr(topic, partitions):
                if partition.records:
                    partition.records = changed_records(partition.records, change)


def address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


async def serve(broker: tuple[str, int], listen: tuple[str, int], package: str) -> None:
    proxy = Proxy(Protocol(package), listen[0])
    port = await proxy.port_of(*broker, listen[1])
    print(f"listening on {listen[0]}:{port}", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        proxy.close()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--broker", type=address, required=True, help="HOST:PORT of a broker of the cluster")
    parser.add_argument("--listen", type=address, default="127.0.0.1:9192", help="HOST:PORT for clients")
    parser.add_argument("--protocol", default="kafka_protocol", help="the package that `kodec generate` made")
    options = parser.parse_args(arguments)
    sys.path.insert(0, str(Path.cwd()))
    asyncio.run(serve(options.broker, options.listen, options.protocol))


if __name__ == "__main__":
    main()
