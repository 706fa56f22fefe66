"""Stock ksc's readers, made from our schemas, give the right values for bytes made by hand."""

from __future__ import annotations

import struct
import uuid
from typing import Any

import kaitaistruct
import pytest

from kodec.generated.messages.offset_commit_value import OffsetCommitValue

INT32 = [0, 1, -1, 63, -64, 64, -65, 8191, -8192, 8192, 1048575, -1048576, 134217727, -134217728, 134217728]
INT32 += [2147483647, -2147483648]
INT64 = [
    *INT32,
    2147483648,
    -2147483649,
    *(sign * (1 << bits) + add for bits in range(33, 63, 5) for sign in (1, -1) for add in (-1, 0)),
]
INT64 += [9223372036854775807, -9223372036854775808]
UINT32 = [
    0,
    1,
    127,
    128,
    16383,
    16384,
    2097151,
    2097152,
    268435455,
    268435456,
    2147483647,
    2147483648,
    4294967295,
]


def unsigned(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def zigzag(number: int, bits: int) -> bytes:
    return unsigned((number << 1 ^ number >> bits - 1) & (1 << bits) - 1)


def padded(data: bytes, size: int) -> bytes:
    """The same number in `size` groups."""
    return (
        data
        if len(data) == size
        else data[:-1] + bytes([data[-1] | 128]) + b"\x80" * (size - len(data) - 1) + b"\0"
    )


@pytest.mark.parametrize("number", INT32)
def test_varint(ksc: Any, number: int) -> None:
    data = zigzag(number, 32)
    for each in (data, padded(data, 5)):
        found = ksc("varint").from_bytes(each + b"\xff")
        assert (found.value, found._io.pos()) == (number, len(each))


@pytest.mark.parametrize("number", INT64)
def test_varlong(ksc: Any, number: int) -> None:
    data = zigzag(number, 64)
    for each in (data, padded(data, 10)):
        found = ksc("varlong").from_bytes(each + b"\xff")
        assert (found.value, found._io.pos()) == (number, len(each))


@pytest.mark.parametrize("number", UINT32)
def test_unsigned_varint(ksc: Any, number: int) -> None:
    data = unsigned(number)
    for each in (data, padded(data, 5)):
        found = ksc("unsigned_varint").from_bytes(each + b"\xff")
        assert (found.value, found._io.pos()) == (number, len(each))


def test_bits_beyond_the_width_are_dropped(ksc: Any) -> None:
    assert ksc("unsigned_varint").from_bytes(b"\xff\xff\xff\xff\x7f").value == 4294967295
    assert ksc("varint").from_bytes(b"\xff\xff\xff\xff\x7f").value == -2147483648
    assert ksc("varlong").from_bytes(b"\xff" * 9 + b"\x7f").value == -9223372036854775808


def test_uuid(ksc: Any) -> None:
    number = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
    assert uuid.UUID(bytes=ksc("uuid").from_bytes(number.bytes).value) == number


def parsed(cls: Any, data: bytes, *params: Any) -> Any:
    return cls(*params, kaitaistruct.KaitaiStream(kaitaistruct.BytesIO(data)))


@pytest.mark.parametrize("text", ["", "a", "réglé ✓", "x" * 300])
def test_text(ksc: Any, text: str) -> None:
    data = text.encode()
    for schema in ("text", "nullable_text"):
        assert parsed(ksc(schema), struct.pack(">h", len(data)) + data, False).value == text
        assert parsed(ksc(schema), unsigned(len(data) + 1) + data, True).value == text


def test_null_text(ksc: Any) -> None:
    for data, compact in ((b"\xff\xff", False), (b"\xff\xfe", False), (b"\0", True)):
        assert not hasattr(parsed(ksc("nullable_text"), data, compact), "value")
        # where the rule is `-valid`, which ksc does not know, the runtime refuses the length of null, -1
        with pytest.raises((kaitaistruct.ValidationFailedError, kaitaistruct.InvalidArgumentError)):
            parsed(ksc("text"), data, compact)


def test_unknown_tagged_fields_are_bytes(ksc: Any) -> None:
    section = ksc("tagged_fields").from_bytes(b"\x02" + b"\x00\x01a" + unsigned(300) + b"\x00")
    assert [(each.tag.value, each.data) for each in section.fields] == [(0, b"a"), (300, b"")]


@pytest.mark.parametrize("version", range(5))
def test_offset_commit_value(ksc: Any, version: int) -> None:
    topic = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
    data = struct.pack(">hq", version, 42)
    data += struct.pack(">i", 7) if version >= 3 else b""
    data += b"\x03ok" if version >= 4 else b"\x00\x02ok"
    data += struct.pack(">q", 1600000000000)
    data += struct.pack(">q", 1600000009999) if version == 1 else b""
    data += b"\x02\x00\x10" + topic.bytes + b"\x09\x02zz" if version >= 4 else b""
    value = ksc("offset_commit_value").from_bytes(data)
    assert value._io.is_eof()
    assert (value.committed_offset, value.metadata.value, value.commit_timestamp) == (42, "ok", 1600000000000)
    assert getattr(value, "leader_epoch", None) == (7 if version >= 3 else None)
    assert getattr(value, "expire_timestamp", None) == (1600000009999 if version == 1 else None)
    if version >= 4:
        known, unknown = value.tagged_fields.fields
        assert (known.tag.value, known.body.value) == (0, topic.bytes)
        assert (unknown.tag.value, unknown.body) == (9, b"zz")
    with pytest.raises(kaitaistruct.ValidationFailedError):
        ksc("offset_commit_value").from_bytes(struct.pack(">h", OffsetCommitValue.VERSIONS.stop) + data[2:])


@pytest.mark.parametrize(("number", "name"), [(0, "legacy_offset_commit_key"), (1, "offset_commit_key")])
def test_offset_commit_key(ksc: Any, number: int, name: str) -> None:
    data = b"\x00\x01g\x00\x02tt\x00\x00\x00\x05"
    key = ksc(name).from_bytes(struct.pack(">h", number) + data)
    assert (key.record_type, key.group.value, key.topic.value, key.partition) == (number, "g", "tt", 5)
    with pytest.raises(kaitaistruct.ValidationFailedError):
        ksc(name).from_bytes(struct.pack(">h", 2) + data)


@pytest.mark.parametrize("version", [0, 1])
def test_leader_change_message(ksc: Any, version: int) -> None:
    directory = bytes(range(16))
    voter = struct.pack(">i", 3) + (directory if version else b"") + b"\x00"
    data = struct.pack(">hi", version, 3) + b"\x02" + voter + b"\x03" + voter + voter + b"\x01\x05\x01!"
    message = ksc("leader_change_message").from_bytes(data)
    assert message._io.is_eof()
    assert [each.voter_id for each in message.voters] == [3]
    assert len(message.granting_voters) == 2
    for each in (*message.voters, *message.granting_voters):
        found = getattr(each, "voter_directory_id", None)
        assert (found.value if found else None) == (directory if version else None)
    assert [(each.tag.value, each.data) for each in message.tagged_fields.fields] == [(5, b"!")]


def test_a_transaction_marker_batch(ksc: Any) -> None:
    """The 78 bytes of a commit marker."""
    record = (
        b"\x20" + b"\x00\x00\x00" + b"\x08" + bytes([0, 0, 0, 1]) + b"\x0c" + bytes(5) + b"\x09" + b"\x00"
    )
    header = struct.pack(">qiibIhiqqqhii", 7, 66, 0, 2, 0, 0x30, 0, 1000, 1000, 4, 1, -1, 1)
    batch = ksc("record_batch").from_bytes(header + record)
    assert len(header + record) == 78 and batch._io.is_eof()
    assert batch.attributes.is_control and batch.attributes.is_transactional
    body = batch.records.entries[0].body
    assert ksc("control_record_key").from_bytes(body.key).control_type.name == "commit"
    assert ksc("end_txn_marker").from_bytes(body.value).coordinator_epoch == 9


def test_an_empty_batch_has_no_records(ksc: Any) -> None:
    header = struct.pack(">qiibIhiqqqhii", 7, 49, 0, 2, 0, 0x20, 4, -1, 1000, 4, 1, -1, 0)
    batch = ksc("record_batch").from_bytes(header)
    assert batch._io.is_eof() and not hasattr(batch, "records")
    assert batch.base_offset + batch.last_offset_delta == 11


@pytest.mark.parametrize("length", [-1, 0, 48, -2147483648])
def test_a_batch_shorter_than_its_header_is_refused(ksc: Any, length: int) -> None:
    data = struct.pack(">qiibIhiqqqhii", 7, length, 0, 2, 0, 0, 4, -1, 1000, 4, 1, -1, 0)
    with pytest.raises(kaitaistruct.ValidationFailedError):
        ksc("record_batch").from_bytes(data)


def test_any_negative_length_is_null(ksc: Any) -> None:
    for length in (-1, -2, -2147483648):
        body = struct.pack(">IbbqiI", 0, 1, 0, 5, length, 0)
        message = ksc("message_set").from_bytes(struct.pack(">qi", 3, len(body)) + body).entries[0].message
        assert not hasattr(message, "key") and message.value == b""
        number = zigzag(length, 32)
        record = b"\x00\x00\x00" + number + number + b"\x02" + b"\x02k" + number
        parts = ksc("record").from_bytes(zigzag(len(record), 32) + record).body
        assert not hasattr(parts, "key") and not hasattr(parts, "value")
        assert parts.headers[0].key == "k" and not hasattr(parts.headers[0], "value")


def test_multi_message_set_send(ksc: Any) -> None:
    parts = [
        struct.pack(">ih", 2 + len(data), code) + data for code, data in ((0, b"messages cut sh"), (3, b""))
    ]
    whole = struct.pack(">ih", 2 + sum(map(len, parts)), 0) + b"".join(parts)
    found = ksc("multi_message_set_send").from_bytes(whole).parts.entries
    assert [(each.error_code, each.messages) for each in found] == [(0, b"messages cut sh"), (3, b"")]
    assert ksc("message_set_send").from_bytes(parts[0]).messages == b"messages cut sh"
