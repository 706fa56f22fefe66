"""Control records: the type that a key names, and the contents of the value."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Protocol

from kodec.generated.control.control_record_key import ControlRecordKey
from kodec.log.batches.records import ControlRecord, ControlRecordType, Record
from kodec.runtime.errors import FormatError, Malformed, Unsupported

__all__ = ["control_record", "control_type"]


class _Message(Protocol):
    @classmethod
    def from_bytes(cls, data: bytes, *, exact: bool = True) -> object: ...


@cache
def _values() -> Mapping[ControlRecordType, type[_Message]]:
    """The message of each type. Most logs have no control records, so these modules wait for one."""
    from kodec.generated.control.end_txn_marker import EndTxnMarker
    from kodec.generated.control.kraft_version_record import KraftVersionRecord
    from kodec.generated.control.leader_change_message import LeaderChangeMessage
    from kodec.generated.control.snapshot_footer_record import SnapshotFooterRecord
    from kodec.generated.control.snapshot_header_record import SnapshotHeaderRecord
    from kodec.generated.control.voters_record import VotersRecord

    return {
        ControlRecordType.ABORT: EndTxnMarker,
        ControlRecordType.COMMIT: EndTxnMarker,
        ControlRecordType.LEADER_CHANGE: LeaderChangeMessage,
        ControlRecordType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
        ControlRecordType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
        ControlRecordType.KRAFT_VERSION: KraftVersionRecord,
        ControlRecordType.KRAFT_VOTERS: VotersRecord,
    }


def control_type(key: bytes | None) -> ControlRecordType:
    """The type that a control record's key names. Raises FormatError if the key is invalid.

    Bytes after the type are ignored and a higher key version is read as 0.
    Source: org.apache.kafka.common.record.ControlRecordType.parse.
    """
    if key is None:
        raise Malformed("key", "a control record needs a key", at=0)
    try:
        stored = ControlRecordKey.from_bytes(key, exact=False).control_type
    except FormatError as error:
        raise error.within("key") from None
    return ControlRecordType(stored) if stored in _values() else ControlRecordType.UNKNOWN


def control_record(record: Record) -> ControlRecord:
    """The record of a control batch with its key and value decoded. Raises FormatError."""
    kind = control_type(record.key)
    data: object = None
    if kind is not ControlRecordType.UNKNOWN:
        try:
            data = _values()[kind].from_bytes(record.value or b"", exact=False)
        except Unsupported:
            # a version of a later Kafka: the record's type is known, its contents are not
            data = None
        except FormatError as error:
            raise error.within("value") from None
    return ControlRecord(
        offset=record.offset,
        timestamp=record.timestamp,
        timestamp_type=record.timestamp_type,
        key=record.key,
        value=record.value,
        headers=record.headers,
        topic_partition=record.topic_partition,
        type=kind,
        data=data,
    )
