"""Redpanda's batches: their headers, and the headers that these have in Kafka's format.

The records are Kafka's, and so is their checksum, which covers the fields of the header in Kafka's order of
bytes. So a header is all that changes; where its fields are comes from the schemas of both formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import NamedTuple

from kodec.generated.log.record_batch import BatchAttributes, RecordBatch
from kodec.generated.redpanda.redpanda_batch import Attributes, BatchType, RedpandaBatch
from kodec.log.batches.format import KAFKA, Number, plausible
from kodec.runtime.crc import crc32c

__all__ = ["HEAD_SIZE", "PLAUSIBLE", "UNREADABLE", "RedpandaHeader", "read_header"]

_PLACES, _ROLES = RedpandaBatch.PLACES, RedpandaBatch.ROLES
HEAD_SIZE = _PLACES[_ROLES["records"]][0]
"""The size of a header, in bytes; that of Kafka's is the same."""
_CHECKED = slice(_PLACES[_ROLES["length"]][0], HEAD_SIZE)
_KNOWN = frozenset(BatchType)
_NO_OFFSET = frozenset(kind for kind in BatchType if RedpandaBatch(type=kind).takes_no_kafka_offset)
UNREADABLE = {BatchType.DL_PLACEHOLDER: "its records are in object storage, as those of a cloud topic"}
"""Types that stand for records which are not in the log, with the reason."""
PLAUSIBLE = plausible(
    Number(_PLACES, _ROLES["length"]), HEAD_SIZE, Number(_PLACES, "type"), sorted(map(int, BatchType))
)
"""Matches, without consuming bytes, where a header may be: a plausible length, a known type."""


def _fields(
    places: Mapping[str, tuple[int, str]], names: Mapping[str, str], flags: int
) -> tuple[Struct, tuple[str, ...]]:
    """One struct of the fields in a header, and their roles in its order."""
    order, text, end = "", "", 0
    roles = sorted(names, key=lambda role: places[names[role]])
    for role in roles:
        start, code = places[names[role]]
        code = code or f"{order}{ {2: 'H'}[flags] }"
        order = code[0]
        text += f"{start - end}x{code[1:]}"
        end = start + Struct(code).size
    return Struct(order + text), tuple(roles)


_OWN = {"length", "offset", "checksum", "records"}
_COPIED = [role for role in _ROLES if role in RecordBatch.ROLES and "." not in _ROLES[role]]
_SHARED = [role for role in _COPIED if role not in _OWN]
_HEADER, _ORDER = _fields(
    _PLACES,
    {role: _ROLES[role] for role in ("length", "offset", "checksum", *_SHARED)}
    | {"type": "type", "body": "body_crc"},
    Attributes.SIZE,
)
_WRITTEN, _KAFKA_ORDER = _fields(
    RecordBatch.FORMS[KAFKA.written],
    {
        role: RecordBatch.ROLES[role]
        for role in ("length", "offset", "checksum", "leader_epoch", "form", *_SHARED)
    },
    BatchAttributes.SIZE,
)


class RedpandaHeader(NamedTuple):
    """The header of a batch.

    Attributes:
        offset, last_offset: of the batch, in the Raft log.
        size: of the batch, in bytes.
        type: as `BatchType`; a type of a later version is a number without a name.
        values: all numbers of the header, by their roles.
    """

    offset: int
    last_offset: int
    size: int
    type: int
    values: Mapping[str, int]

    @property
    def takes_no_kafka_offset(self) -> bool:
        """Whether Kafka's offsets do not count those of the batch."""
        return self.type in _NO_OFFSET

    @property
    def is_known(self) -> bool:
        """Whether this version of kodec has the type."""
        return self.type in _KNOWN

    @property
    def is_own(self) -> bool:
        """Whether it is Redpanda's own, and holds no records of clients."""
        return self.type != BatchType.RAFT_DATA and self.is_known and self.type not in UNREADABLE

    @property
    def kafka_size(self) -> int:
        """The size of the batch in Kafka's format. One of Redpanda's own has no records there."""
        return HEAD_SIZE if self.is_own else self.size

    def as_kafka(self, offset: int, epoch: int) -> bytes:
        """The header in Kafka's format, with this base offset and leader epoch.

        A batch whose records cannot be read has a magic that no reader supports: the number of its type.
        """
        if self.is_own:
            return RecordBatch(
                base_offset=offset,
                partition_leader_epoch=epoch,
                last_offset_delta=self.last_offset - self.offset,
                max_timestamp=-1,
            ).to_bytes()
        magic = self.type if self.type not in KAFKA.magics else -1
        new = {
            **self.values,
            "offset": offset,
            "length": self.size - KAFKA.before_body,
            "leader_epoch": epoch,
            "form": KAFKA.written if self.type == BatchType.RAFT_DATA else magic,
            "checksum": self.values["body"],
        }
        return _WRITTEN.pack(*(new[role] for role in _KAFKA_ORDER))


def read_header(data: bytes | memoryview) -> RedpandaHeader | None:
    """The header that begins `data`; None if there is none, by its checksum and its length."""
    if len(data) < HEAD_SIZE:
        return None
    values = dict(zip(_ORDER, _HEADER.unpack_from(data), strict=True))
    if values["length"] < HEAD_SIZE or values["checksum"] != crc32c(data[_CHECKED]):
        return None
    if values["offset"] < 0 or values["last_offset_delta"] < 0:
        return None
    last = values["offset"] + values["last_offset_delta"]
    return RedpandaHeader(values["offset"], last, values["length"], values["type"], values)
