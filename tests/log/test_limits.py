"""Limits in objects, not only in bytes: a few bytes of input must not become gigabytes of records."""

import struct
import zlib

import pytest

import kodec
from kodec.errors import EncodeError, LimitExceeded, Malformed
from kodec.generated.messages.offset_commit_value import OffsetCommitValue
from kodec.log.entries.records import Limits

from .wire import batch, record

pytestmark = pytest.mark.usefixtures("backend")

FEW = Limits(elements=100)


def test_more_records_than_the_limit_are_refused_before_they_are_made() -> None:
    data = kodec.encode([kodec.Record(value=b"") for _ in range(101)], compression="gzip")
    assert len(list(kodec.read_records(data, limits=Limits(elements=101)))) == 101
    with pytest.raises(LimitExceeded) as caught:
        list(kodec.read_records(data, limits=FEW))
    assert (caught.value.limit, caught.value.need, caught.value.have) == ("elements", 101, 100)
    assert list(kodec.read_records(data, limits=FEW, on_error="skip")) == []


def test_headers_count_together_with_the_records() -> None:
    many = kodec.Record(value=b"", headers=(("", None),) * 60)
    assert len(list(kodec.read_records(kodec.encode([many]), limits=FEW))) == 1
    with pytest.raises(LimitExceeded, match="elements"):
        list(kodec.read_records(kodec.encode([many, many]), limits=FEW))


def test_messages_in_a_wrapper_count_too() -> None:
    data = kodec.encode([kodec.Record(value=b"") for _ in range(101)], magic=1, compression="gzip")
    with pytest.raises(LimitExceeded, match="elements"):
        list(kodec.read_records(data, limits=FEW))


def test_a_wrong_count_does_not_make_the_records_that_it_denies() -> None:
    """One record counted, a million there: what explains the error is bounded as well."""
    data = batch([record(i) for i in range(200)], count=1)
    with pytest.raises((LimitExceeded, Malformed)):
        list(kodec.read_records(data, limits=FEW))


def test_a_tag_that_the_version_cannot_carry_is_refused() -> None:
    value = OffsetCommitValue(version=3, tagged_fields=[(7, b"x")])
    with pytest.raises(EncodeError) as caught:
        value.to_bytes()
    assert caught.value.path == "tagged_fields"
    value.version = 4
    assert OffsetCommitValue.from_bytes(value.to_bytes()).tagged_fields == [(7, b"x")]


def test_an_unknown_codec_is_found_where_it_stands() -> None:
    data = bytearray(kodec.encode([kodec.Record(value=b"v")]))
    data[22] |= 7
    with pytest.raises(kodec.errors.Unsupported) as caught:
        list(kodec.read_records(bytes(data), check_crc=False))
    assert caught.value.at == 21
    old = bytearray(kodec.encode([kodec.Record(value=b"v")], magic=1))
    old[17] |= 7
    old[12:16] = struct.pack(">I", zlib.crc32(old[16:]))
    with pytest.raises(kodec.errors.Unsupported) as caught:
        list(kodec.read_records(bytes(old)))
    assert caught.value.at == 17
