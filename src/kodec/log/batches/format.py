"""Record formats: how a log's batches begin, how they are checked, and the names of its files.

`KAFKA` is the only one. All code that reads, checks or repairs logs uses these facts; facts about bytes
come from the schemas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from struct import Struct
from typing import Any

from kodec.generated.log import log_segment, message_set, record_batch
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import EncodeError
from kodec.runtime.fields import ReadOptions

__all__ = ["HEAD", "KAFKA", "BatchKind", "FileNames", "Number", "RecordFormat", "plausible"]

HEAD = ReadOptions(check_crc=False)
"""A header is read first; its checksum is verified on request."""


class Number:
    """A number at a fixed place in a type, read or set without parsing the rest.

    Attributes:
        at: where it starts, in bytes from the type's start.
        format: in the notation of Python's `struct`.
        size: in bytes.
        most: the largest value that fits.
    """

    def __init__(self, places: Mapping[str, tuple[int, str]], name: str) -> None:
        self.at, self.format = places.get(name, (-1, ""))
        if self.at < 0 or not self.format:
            raise ValueError(f"{name} is no number at a fixed place")
        self._struct = Struct(self.format)
        self.size = self._struct.size
        self.most = (1 << 8 * self.size - self.format[-1].islower()) - 1

    def get(self, data: bytes | bytearray | memoryview, start: int = 0) -> int:
        """The number in the value that starts at `start`, which must be present up to it."""
        number: int = self._struct.unpack_from(data, start + self.at)[0]
        return number

    def stored(self, value: int) -> bytes:
        """The number as bytes. It must fit."""
        return self._struct.pack(value)

    def put(self, data: bytearray | memoryview, value: int) -> None:
        """Set it in the value that starts `data`. It must fit."""
        self._struct.pack_into(data, self.at, value)

    def bounds(self, first: bytes) -> tuple[int, int]:
        """The smallest and the largest number that can begin with these bytes, at most its size."""
        if not first or self.format[0] != ">":
            # the highest byte is missing
            return -self.most - 1, self.most
        low, high = (self._struct.unpack(first.ljust(self.size, fill))[0] for fill in (b"\0", b"\xff"))
        return low, high

    def at_least(self, least: int) -> bytes:
        """A regular expression for a non-negative value of at least `least`, which is below 256."""
        remaining = self.size - 1
        if self.format[0] == ">":
            tiny = rb"\x00{%d}[\x00-\x%02x]" % (remaining, least - 1)
            return rb"(?!%s)[\x00-\x7f].{%d}" % (tiny, remaining)
        tiny = rb"[\x00-\x%02x]\x00{%d}" % (least - 1, remaining)
        return rb"(?!%s).{%d}[\x00-\x7f]" % (tiny, remaining)


@dataclass(frozen=True)
class ListHead:
    """The header of a batch that is followed by a list of records, in one magic.

    Attributes:
        size: in bytes.
        epoch, last_delta, max_timestamp, count: the leader's epoch; the last offset, relative to the first;
            the largest timestamp; how many records.
        flags: where the flags are.
    """

    size: int
    epoch: Number
    last_delta: Number
    max_timestamp: Number
    count: Number
    flags: slice


@dataclass(frozen=True)
class BatchKind:
    """The batches of some magics.

    Attributes:
        magics: their magics.
        heads: of batches with a list of records, the header by magic; empty where a batch is one message.
        name, offset_name: of the type, and of its field for the frame's offset.
        start: where the type starts in the batch, in bytes.
        codecs: the names of its codecs, by their numbers.
        kernel: the module that reads it natively.
        codec: which one a head names; raises FormatError.
    """

    magics: tuple[int, ...]
    heads: Mapping[int, ListHead]
    name: str
    offset_name: str
    start: int
    codecs: tuple[str, ...]
    kernel: str
    _crc: Mapping[int, Number]
    _head: Callable[..., tuple[Any, int]]
    codec: Callable[[Any], str]
    _checksum: Callable[[Any, int, int], tuple[int, int]]

    def place(self, offset: int) -> str:
        """The name of a batch in the path of an error."""
        return f"{self.name}({self.offset_name}={offset})"

    def checksum(self, data: bytes, start: int, stop: int) -> tuple[int, int, int]:
        """For the batch in `data[start:stop]`: the place of its checksum, the stored and the right one."""
        begin = start + self.start
        position, computed = self._checksum(data, begin, stop)
        return position, self._crc[KAFKA.magic.get(data, start)].get(data, begin), computed

    def seal(self, data: memoryview) -> None:
        """Set the length and the checksum of the batch that fills `data`. Raises EncodeError."""
        length = KAFKA.length
        size = len(data) - KAFKA.before_body
        if size > length.most:
            raise EncodeError("batch", "too large", need=f"at most {length.most} bytes", have=size)
        length.put(data, size)
        _, computed = self._checksum(data, self.start, len(data))
        self._crc[KAFKA.magic.get(data)].put(data[self.start :], computed)

    def read_head(self, data: bytes, start: int, stop: int, options: ReadOptions = HEAD) -> tuple[Any, int]:
        """The head of the batch in `data[start:stop]`, and where the batch ends. Raises FormatError."""
        return self._head(data, start + self.start, stop, options)

    def is_wrong_in_checksum_alone(self, data: bytes, start: int, stop: int) -> bool:
        """Whether the batch in `data[start:stop]` has a valid head but a wrong checksum.

        Raises FormatError for an invalid head.
        """
        head, end = self.read_head(data, start, stop)
        self.codec(head)
        _, stored, computed = self.checksum(data, start, stop)
        return end == stop and stored != computed


@dataclass(frozen=True)
class FileNames:
    """The names of the files of a segment: an offset and a suffix.

    Attributes:
        digits: of the offset.
        log: the suffix of segments.
        indexes: the suffixes of their indexes, in the order of listings.
        snapshot: the suffix of producer state at an offset.
        leftovers: suffixes of files that are not part of the log, or not yet.
    """

    digits: int
    log: str
    indexes: tuple[str, ...]
    snapshot: str
    leftovers: tuple[str, ...]

    @property
    def offset(self) -> str:
        """A regular expression for an offset."""
        return f"[0-9]{{{self.digits}}}"

    def name(self, offset: int, kind: str, suffix: str = "") -> str:
        """The name of a file that belongs to an offset; `suffix` begins with its dot."""
        return f"{offset:0{self.digits}d}.{kind}{suffix}"


@dataclass(frozen=True)
class RecordFormat:
    """A format of logs.

    Attributes:
        kinds: the kinds of batches, the newest first.
        peek: the offset, length and magic at the start of a batch, from bytes and a position.
        whole: the size of a batch with these three, in bytes.
        peeked: how many bytes `peek` needs; the same in each kind.
        places: the positions of the length and the magic, by their names in the schema.
        offset, length, magic: these, as numbers in a batch.
        least_body: the fewest bytes that a batch's length can count.
        written: the magic in which batches are written if none is given.
        files: the names of files.
    """

    kinds: tuple[BatchKind, ...]
    peek: Callable[..., tuple[int, int, int]]
    whole: Callable[[int, int, int], int]
    peeked: int
    offset: Number
    length: Number
    magic: Number
    least_body: int
    written: int
    files: FileNames

    @property
    def magics(self) -> tuple[int, ...]:
        """All magics, in order."""
        return tuple(sorted(magic for kind in self.kinds for magic in kind.magics))

    @property
    def heads(self) -> Mapping[int, ListHead]:
        """The headers that a list of records follows, by magic."""
        return {magic: head for kind in self.kinds for magic, head in kind.heads.items()}

    @property
    def before_body(self) -> int:
        """The bytes of a batch that its length does not count."""
        return self.whole(0, 0, 0)

    def kind(self, magic: int) -> BatchKind:
        """The kind of a magic; the newest kind for an unknown one."""
        return next((kind for kind in self.kinds if magic in kind.magics), self.kinds[0])

    def plausible(self) -> re.Pattern[bytes]:
        """Matches, without consuming bytes, where a batch may start: its length fits, its magic is known."""
        return plausible(self.length, self.least_body, self.magic, self.magics)


def plausible(length: Number, least: int, form: Number, forms: Sequence[int]) -> re.Pattern[bytes]:
    """Matches, without consuming bytes, where a `length` of at least `least` and a known `form` are."""
    known = b"[%s]" % b"".join(b"\\x%02x" % known_form for known_form in forms)
    parts = sorted([(length.at, length.size, length.at_least(least)), (form.at, form.size, known)])
    text, position = b"", 0
    for start, size, part in parts:
        text += b".{%d}" % (start - position) + part
        position = start + size
    return re.compile(b"(?s)(?=%s)" % text)


def _list_head(places: Mapping[str, tuple[int, str]]) -> ListHead:
    role = record_batch.RecordBatch.ROLES
    flags = places[role["flags"]][0]
    return ListHead(
        size=places[role["records"]][0],
        epoch=Number(places, role["leader_epoch"]),
        last_delta=Number(places, role["last_offset_delta"]),
        max_timestamp=Number(places, role["max_timestamp"]),
        count=Number(places, role["count"]),
        flags=slice(flags, flags + record_batch.BatchAttributes.SIZE),
    )


def _codecs(enum: type[IntEnum]) -> tuple[str, ...]:
    return tuple(codec.name.lower() for codec in sorted(enum))


_ROLES = record_batch.RecordBatch.ROLES
_PLACES = record_batch.RecordBatch.PLACES
_LISTS = BatchKind(
    tuple(record_batch.RecordBatch.FORMS),
    {magic: _list_head(places) for magic, places in record_batch.RecordBatch.FORMS.items()},
    "RecordBatch",
    _ROLES["offset"],
    0,
    _codecs(record_batch.Compression),
    "kodec.generated.kernels.record_batch",
    {magic: Number(form, _ROLES["checksum"]) for magic, form in record_batch.RecordBatch.FORMS.items()},
    record_batch.read_record_batch_head,
    record_batch.codec_of_record_batch,
    record_batch.checksum_of_record_batch,
)
_MESSAGES = BatchKind(
    tuple(message_set.Message.FORMS),
    {},
    "Message",
    "offset",
    message_set.Entry.PLACES["message"][0],
    _codecs(message_set.Compression),
    "kodec.generated.kernels.message_set",
    {
        magic: Number(form, message_set.Message.ROLES["checksum"])
        for magic, form in message_set.Message.FORMS.items()
    },
    message_set.read_message_head,
    message_set.codec_of_message,
    message_set.checksum_of_message,
)
KAFKA = RecordFormat(
    kinds=(_LISTS, _MESSAGES),
    peek=log_segment.peek_entry,
    whole=log_segment.peek_entry_len_entry,
    peeked=log_segment.PEEK_ENTRY_SIZE,
    offset=Number(_PLACES, _ROLES["offset"]),
    length=Number(_PLACES, _ROLES["length"]),
    magic=Number(_PLACES, _ROLES["form"]),
    least_body=len(message_set.Message(magic=min(message_set.Message.FORMS)).to_bytes()),
    written=record_batch.RecordBatch().magic,
    files=FileNames(
        20, "log", ("index", "timeindex", "txnindex"), "snapshot", ("deleted", "cleaned", "swap")
    ),
)
"""Kafka's message formats: those that `message_set` and `record_batch` have in their schemas.

Source: org.apache.kafka.common.record; for files, org.apache.kafka.storage.internals.log.LogFileUtils.
"""
