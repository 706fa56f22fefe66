"""Records by the native kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from kodec.generated.kernels import message_set, record_batch
from kodec.generated.log import record_batch as v2
from kodec.log.backends.contract import Buffer, Cursor
from kodec.log.backends.native.kernels import KernelDecoder, content_of
from kodec.log.backends.pure.records import RecordDecoder
from kodec.log.batches.batch import Batch
from kodec.log.batches.default_batch import read_rows as read_rows_pure
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import Limits, Owner, Record, TimestampType
from kodec.log.batches.wrapper import Wrapper

__all__ = ["NativeRecordDecoder", "read_rows"]

_KINDS = {"timestamp_type": {int(kind): kind for kind in TimestampType}}
_MOST_OWNERS = 256


@lru_cache(_MOST_OWNERS)
def _shapes(topic_partition: Owner) -> tuple[record_batch.Shape, message_set.Shape]:
    """The shapes of records of a topic-partition: of those in batches, and of messages."""
    owner_fields = {"topic_partition": topic_partition}
    return (
        record_batch.Shape(Record, _KINDS, owner_fields),
        message_set.Shape(Record, _KINDS, {"headers": (), **owner_fields}),
    )


def read_rows(
    head: v2.RecordBatch, data: bytes, content: bytes, limits: Limits, topic_partition: Owner
) -> list[Record]:
    """The records of the batch `data`, whose header is `head` and whose content was decompressed."""
    objects = record_batch.Objects(
        _shapes(topic_partition)[0], check=False, unit_bytes=limits.batch_bytes, elements=limits.elements
    )
    status, _ = objects.next(data, 0, len(data))
    if status == "compressed":
        status = objects.rows(content)
    return objects.items if status == "ok" else read_rows_pure(head, data, content, limits, topic_partition)


class NativeRecordDecoder(KernelDecoder[Iterable[Record]]):
    """Yields the records of batches and messages, as many at once as a kernel makes."""

    def __init__(self, options: LogReadOptions) -> None:
        limits = options.limits
        self._decompressed_bytes = limits.decompressed_bytes
        self._pure = RecordDecoder(options)
        of_batches, of_messages = _shapes(options.topic_partition)
        self._objects = record_batch.Objects(
            of_batches,
            check=options.check_crc,
            stop_at_hidden=options.control,
            unit_bytes=limits.batch_bytes,
            elements=limits.elements,
        )
        self._messages = message_set.Objects(
            of_messages, check=options.check_crc, unit_bytes=limits.batch_bytes, elements=limits.elements
        )

    def decode(self, batch: Batch) -> Iterable[Iterable[Record]]:
        return self._pure.decode(batch)

    def rest(self) -> tuple[()]:
        return ()

    def ahead(self, remaining: int) -> int:
        return self._messages.size_of_last(remaining) if self._turn else 0

    def close(self) -> None:
        self._objects.forget()
        self._messages.forget()

    def _gather(self, cursor: Cursor, buf: Buffer, start: int, end: int) -> Iterator[Iterable[Record]]:
        gather = self._gather_messages if self._turn else self._gather_batches
        return gather(cursor, buf, start, end)

    def _gather_batches(
        self, cursor: Cursor, buf: Buffer, start: int, end: int
    ) -> Iterator[Iterable[Record]]:
        objects = self._objects
        origin = cursor.position - start
        position = start
        while True:
            status, position = objects.next(buf, position, end)
            if status == "compressed" and not self._expand(buf):
                position = objects.unit[0]
                status = "value"
            cursor.position = origin + position
            if status not in ("ok", "compressed"):
                return
            yield objects.items

    def _gather_messages(
        self, cursor: Cursor, buf: Buffer, start: int, end: int
    ) -> Iterator[Iterable[Record]]:
        messages = self._messages
        origin = cursor.position - start
        position = start
        while True:
            status, stop = messages.next(buf, position, end)
            if status != "ok" and not (status == "compressed" and self._unwrap(buf)):
                return
            position = stop
            cursor.position = origin + position
            yield messages.items

    def _expand(self, buf: Buffer) -> bool:
        """Enter the rows of the compressed batch; false if pure Python has to do it."""
        data = content_of(self._objects, buf, self._decompressed_bytes)
        return data is not None and self._objects.rows(data) == "ok"

    def _unwrap(self, buf: Buffer) -> bool:
        """Enter the records of the wrapper; false if pure Python has to do it."""
        data = content_of(self._messages, buf, self._decompressed_bytes)
        if data is None or self._messages.rows(data) != "ok" or not (items := self._messages.items):
            return False
        return Wrapper.of(self._messages.head).place(items)
