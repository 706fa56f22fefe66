"""Records by the native kernels, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kodec.generated.kernels import message_set, record_batch
from kodec.log.entries.records import Limits, Record, TimestampType
from kodec.log.reading.reader import OnError, RecordReader
from kodec.log.reading.source import Source
from kodec.log.reading.windows import Buffer, Windows
from kodec.runtime.compression import decompress
from kodec.runtime.errors import FormatError
from kodec.runtime.native import face

__all__ = ["NativeRecordReader", "rows_of"]

_KINDS = {"timestamp_type": {int(kind): kind for kind in TimestampType}}
_SHAPE = record_batch.Shape(Record, _KINDS)
_MESSAGES = message_set.Shape(Record, _KINDS, {"headers": ()})
_NONE = TimestampType.NoTimestampType


def rows_of(entry: bytes, data: bytes, limits: Limits) -> list[Record] | None:
    """The records of a batch, whose content is `data`; None where pure Python is to say what is wrong."""
    objects = record_batch.Objects(
        _SHAPE, check=False, unit_bytes=limits.batch_bytes, elements=limits.elements
    )
    status, _ = objects.next(entry, 0, len(entry))
    if status == "compressed":
        status = objects.rows(data)
    return objects.items if status == "ok" else None


class NativeRecordReader(Windows, RecordReader):
    """A RecordReader that goes through record batches and messages by their kernels."""

    def __init__(
        self, source: Source, check_crc: bool, on_error: OnError, limits: Limits, control: bool
    ) -> None:
        self._turn = 0
        self._objects = record_batch.Objects(
            _SHAPE,
            check=check_crc,
            stop_at_hidden=control,
            unit_bytes=limits.batch_bytes,
            elements=limits.elements,
        )
        self._messages = message_set.Objects(
            _MESSAGES, check=check_crc, unit_bytes=limits.batch_bytes, elements=limits.elements
        )
        super().__init__(source, check_crc, on_error, limits, control)

    def _iterate(self) -> Iterator[Record]:
        return face.Flattened(self._batches())

    def _batches(self) -> Iterator[Iterable[Record]]:
        try:
            yield from self._walk()
        finally:
            self._objects.forget()
            self._messages.forget()
            self.close()

    def _magics(self) -> tuple[tuple[int, ...], ...]:
        return (2,), (0, 1)

    def _turn_to(self, kernel: int) -> Iterator[Iterable[Record]]:
        self._turn = kernel
        return iter(())

    def _gather(self, buf: Buffer, start: int, end: int) -> Iterator[Iterable[Record]]:
        return self._gather_messages(buf, start, end) if self._turn else self._gather_batches(buf, start, end)

    def _gather_batches(self, buf: Buffer, start: int, end: int) -> Iterator[Iterable[Record]]:
        objects = self._objects
        origin = self.position - start
        at = start
        while True:
            status, at = objects.next(buf, at, end)
            if status == "compressed" and not self._expand(buf):
                at = objects.unit[0]
                status = "value"
            self.position = origin + at
            if status not in ("ok", "compressed"):
                return
            yield objects.items

    def _gather_messages(self, buf: Buffer, start: int, end: int) -> Iterator[Iterable[Record]]:
        messages = self._messages
        origin = self.position - start
        at = start
        while True:
            status, stop = messages.next(buf, at, end)
            if status != "ok" and not (status == "compressed" and self._unwrap(buf)):
                return
            at = stop
            self.position = origin + at
            yield messages.items

    def _content(self, objects: record_batch.Objects | message_set.Objects, buf: Buffer) -> bytes | None:
        """The content of the compressed entry, decompressed; None where pure Python is to do it."""
        codec, start, size = objects.content
        stored = memoryview(buf)[start : start + size]
        try:
            return decompress(codec, stored, limit=self._limits.decompressed_bytes)
        except FormatError:
            return None

    def _expand(self, buf: Buffer) -> bool:
        """Reach the rows of the compressed batch; false where pure Python is to do it."""
        data = self._content(self._objects, buf)
        return data is not None and self._objects.rows(data) == "ok"

    def _unwrap(self, buf: Buffer) -> bool:
        """Reach the records of the wrapper; false where pure Python is to do it.

        The same rules, with their source, are in `MessageEntry`.
        """
        data = self._content(self._messages, buf)
        if data is None or self._messages.rows(data) != "ok" or not (found := self._messages.items):
            return False
        wrapper = self._messages.head
        if not wrapper["magic"]:
            for record in found:
                record.timestamp_type = _NONE
            return True
        kind = TimestampType(wrapper["timestamp_type"])
        base = wrapper["offset"] - found[-1].offset if wrapper["offset"] else 0
        if base < 0:
            return False
        for record in found:
            if record.timestamp_type is _NONE:
                return False  # a message of magic 0 inside one of magic 1
            record.offset += base
            record.timestamp_type = kind
            if kind is TimestampType.LogAppendTime:
                record.timestamp = wrapper["timestamp"]
        return True

    def _step(self) -> Iterator[Iterable[Record]]:
        control, check_crc = self._control, self._check_crc
        _, found = self._next(
            self.position,
            lambda batch: batch.records(control=control, check_crc=check_crc),  # type: ignore[arg-type, return-value]
        )
        yield from found  # type: ignore[misc]
