"""A produce request with exactly the bytes that it is given; Kafka's own clients would encode anew.

Source: the message definitions of ProduceRequest and ProduceResponse, versions 0 to 8 (not flexible).
"""

from __future__ import annotations

import socket
import struct
from types import TracebackType

PRODUCE = 0
TIMEOUT_MS = 20_000
# What the numbers of the errors that a broker may answer here are called.
ERRORS = {
    -1: "UNKNOWN_SERVER_ERROR",
    2: "CORRUPT_MESSAGE",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    6: "NOT_LEADER_OR_FOLLOWER",
    10: "MESSAGE_TOO_LARGE",
    32: "INVALID_TIMESTAMP",
    35: "UNSUPPORTED_VERSION",
    42: "INVALID_REQUEST",
    43: "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    45: "OUT_OF_ORDER_SEQUENCE_NUMBER",
    46: "DUPLICATE_SEQUENCE_NUMBER",
    47: "INVALID_PRODUCER_EPOCH",
    76: "UNSUPPORTED_COMPRESSION_TYPE",
    87: "INVALID_RECORD",
}


class ProduceRefused(Exception):
    """The broker answered with an error, or closed the connection; the text shows which."""


class RawProducer:
    """A connection to one broker."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=TIMEOUT_MS / 1000)
        self._number = 0

    def __enter__(self) -> RawProducer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def produce(self, version: int, topic: str, records: bytes, transactional_id: str | None = None) -> int:
        """Send `records` to partition 0 with acks=all. Returns the offset they were given first.

        A broker takes records of transactions only from a request with a transactional id.

        Raises: ProduceRefused.
        """
        if not 0 <= version <= 8:
            raise ValueError(f"Produce v{version} is not one of 0 to 8")
        self._number += 1
        name = topic.encode()
        head = struct.pack(">hhi", PRODUCE, version, self._number) + _text(b"kodec-lab")
        owner = struct.pack(">h", -1) if transactional_id is None else _text(transactional_id.encode())
        body = struct.pack(">hii", -1, TIMEOUT_MS, 1) + _text(name)
        body += struct.pack(">iii", 1, 0, len(records)) + records
        request = head + (owner if version >= 3 else b"") + body
        self._socket.sendall(struct.pack(">i", len(request)) + request)
        try:
            (size,) = struct.unpack(">i", self._read(4))
            answer = self._read(size)
        except ConnectionError:
            raise ProduceRefused("the broker closed the connection") from None
        # Correlation, one topic, its name, one partition, its number: then the error and the offset.
        at = 4 + 4 + 2 + len(name) + 4 + 4
        code, offset = struct.unpack_from(">hq", answer, at)
        if code != 0:
            raise ProduceRefused(ERRORS.get(code, f"error {code}"))
        return int(offset)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionError("closed")
            data += part
        return data


def _text(data: bytes) -> bytes:
    return struct.pack(">h", len(data)) + data
