"""Records by the native kernel: read when they are touched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from kodec.generated.kernels import record_batch
from kodec.generated.log.log_segment import PEEK_ENTRY_SIZE, peek_entry
from kodec.log.reader import OnError, RecordReader
from kodec.log.records import Limits, Record, TimestampType
from kodec.log.source import Source
from kodec.log.windows import Buffer, Windows
from kodec.runtime.compression import decompress
from kodec.runtime.errors import FormatError

__all__ = ["NativeRecordReader", "rows_of"]

# Only once there are unread records: with it, each attribute of a record takes longer in CPython 3.11.
Record.__getattr__ = record_batch.touch  # type: ignore[attr-defined]
_SHAPE = record_batch.Shape(Record, {"timestamp_type": {int(kind): kind for kind in TimestampType}})
_MAGICS = (2,)


def rows_of(entry: bytes, data: bytes, limits: Limits) -> list[Record] | None:
    """The records of a batch, whose content is `data`; None where pure Python is to say what is wrong."""
    objects = record_batch.Objects(
        _SHAPE, check=False, unit_bytes=limits.batch_bytes, elements=limits.elements
    )
    status, _ = objects.next(entry, 0, len(entry))
    if status == "compressed":
        status = objects.rows(data)
    return objects.all() if status == "ok" else None


class NativeRecordReader(Windows, RecordReader):
    """A RecordReader that goes through record batches by the kernel, and through messages by pure Python."""

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
        super().__init__(source, check_crc, on_error, limits, control)

    def _iterate(self) -> Iterator[Record]:
        return chain.from_iterable(self._batches())

    def _batches(self) -> Iterator[Iterable[Record]]:
        try:
            yield from self._walk()
        finally:
            self._objects.forget()
            self.close()

    def _magics(self) -> tuple[tuple[int, ...], ...]:
        return (_MAGICS,)

    def _turn_to(self, kernel: int) -> Iterator[Iterable[Record]]:
        raise NotImplementedError("there is one kernel")

    def _gather(self, buf: Buffer, start: int, end: int) -> Iterator[Iterable[Record]]:
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
            yield objects

    def _expand(self, buf: Buffer) -> bool:
        """Reach the rows of the compressed batch; false where pure Python is to do it."""
        codec, start, size = self._objects.content
        try:
            data = decompress(
                codec, memoryview(buf)[start : start + size], limit=self._limits.decompressed_bytes
            )
        except FormatError:
            return False
        return self._objects.rows(data) == "ok"

    def _step(self) -> Iterator[Iterable[Record]]:
        control, check_crc = self._control, self._check_crc
        found: tuple[list[Record], ...]
        while True:
            before = self.position
            _, found = self._next(  # type: ignore[assignment]
                before,
                lambda batch: batch.records(control=control, check_crc=check_crc),  # type: ignore[arg-type, return-value]
            )
            yield from found
            head = self._source.read(self.position, PEEK_ENTRY_SIZE)
            # a window is not filled anew for each message of another format
            if self.position == before or len(head) < PEEK_ENTRY_SIZE or peek_entry(head)[2] in _MAGICS:
                return
