"""The edge cases of Kafka's formats that concern entries and batches, by their number in our list of 70.

Each is put together from bytes. Where kodec does not do what Kafka does, `docs/differences.md` says why.
The numbers that are not here concern indexes, directories, snapshots and topics, and have tests of their own.
"""

from __future__ import annotations

import struct
from typing import Any

import lz4.frame
import pytest
import snappy

import kodec
from kodec.errors import FormatError, LimitExceeded, Malformed, Truncated, Unsupported
from kodec.log.batches.records import TimestampType, TornTail
from tests.log.wire import (
    CODECS,
    CODES,
    LZ4_HEAD,
    LZ4_HEAD_MAGIC_0,
    PAIRS,
    XERIAL,
    batch,
    blob,
    entry,
    log_of,
    lz4_block,
    message,
    record,
    sized,
    squeeze,
    varint,
    wrapper,
)

pytestmark = pytest.mark.usefixtures("backend")

GOOD = batch([record(0, b"k", b"good")])
MOST = 2**31 - 1


def read(data: bytes, **options: Any) -> list[kodec.Record]:
    reader = kodec.read_records(data, **options)
    found = list(reader)
    assert reader.torn_tail is None
    return found


def view(data: bytes, **options: Any) -> kodec.Batch:
    (found,) = kodec.read_batches(data, **options)
    return found


def offsets(data: bytes) -> list[int]:
    return [found.offset for found in read(data)]


def refuse(data: bytes, kind: type[FormatError], path: str, **options: Any) -> FormatError:
    """The error that `data` gives after a good batch, which must be of `kind` and name `path`."""
    reader = kodec.read_records(GOOD + data, **options)
    assert next(reader).value == b"good"
    with pytest.raises(FormatError) as caught:
        list(reader)
    error = caught.value
    assert type(error) is kind, error
    assert error.path.endswith(path), error
    assert len(GOOD) <= error.at <= len(GOOD) + len(data)
    return error


def torn(data: bytes) -> TornTail:
    """The torn tail after a good batch."""
    reader = kodec.read_records(GOOD + data)
    assert [found.value for found in reader] == [b"good"]
    tail = reader.torn_tail
    assert tail is not None and (tail.position, tail.size) == (len(GOOD), len(data))
    return tail


# -- frames ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 8, 11])
def test_01_fewer_than_12_bytes_left(size: int) -> None:
    torn(GOOD[:size])


@pytest.mark.parametrize(("magic", "codec"), PAIRS)
def test_01_entry_extends_past_the_end(magic: int, codec: str) -> None:
    whole = log_of(magic, codec, [b"v" * 40])
    for size in (12, 16, 17, 18, len(whole) - 1):
        torn(whole[:size])
    assert "are there" in torn(whole[:-1]).reason


def test_02_exactly_17_bytes_left() -> None:
    torn(GOOD[:17])
    # Kafka ends quietly here too: the length is too small for an entry, which we say
    refuse(struct.pack(">qiib", 0, 5, 0, 2), Malformed, "len_body")


@pytest.mark.parametrize("size", [-(2**31), -1, 0, 1, 5, 13])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_03_size_below_the_least(magic: int, size: int) -> None:
    refuse(struct.pack(">qiib", 3, size, 0, magic) + bytes(60) + b"x", Malformed, "len_body")


@pytest.mark.parametrize("size", [6, 13, 14, 17, 21])
@pytest.mark.parametrize("magic", [0, 1])
def test_03_size_below_that_of_an_empty_message(magic: int, size: int) -> None:
    least = 14 if magic == 0 else 22
    if size < least:
        whole = message(3, None, None, magic=magic, size=size)
        refuse(whole[: 12 + size], Malformed if size < 14 else Truncated, "")
    empty = message(3, None, None, magic=magic)
    assert len(empty) == 12 + least
    assert [found.value for found in read(empty)] == [None]


def test_03_zeros_allocated_ahead_are_a_torn_tail() -> None:
    for size in (1, 16, 17, 61, 5000, 3 << 20):
        assert torn(bytes(size)).reason == "zeros"


@pytest.mark.parametrize("length", [14, 20, 48])
def test_04_batch_length_below_49(length: int) -> None:
    whole = batch([], length=length)
    refuse(whole[: 12 + length], Truncated, "")
    # Kafka gives this batch, and says that it is not valid when asked
    refuse(whole + GOOD, Truncated, "")


@pytest.mark.parametrize("magic", [3, 4, 9, 127])
def test_05_magic_above_2(magic: int) -> None:
    error = refuse(batch([record()], magic=magic), Unsupported, "magic")
    assert (error.have, error.at) == (magic, len(GOOD) + 16)


@pytest.mark.parametrize("magic", [-1, -2, -128])
def test_06_negative_magic(magic: int) -> None:
    assert refuse(batch([record()], magic=magic), Unsupported, "magic").have == magic


# -- messages of magic 0 and 1 --------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS[0])
def test_07_magic_0_with_the_timestamp_type_bit(codec: str) -> None:
    inner = message(4, b"k", b"v", magic=0, attributes=8)
    whole = inner if codec == "none" else wrapper(4, inner, codec, magic=0, attributes=8)
    (found,) = read(whole)
    assert (found.timestamp, found.timestamp_type) == (-1, TimestampType.NO_TIMESTAMP_TYPE)
    assert view(whole).timestamp_type is TimestampType.NO_TIMESTAMP_TYPE
    assert view(whole).attributes == 8 | CODES[codec]


def test_07_unused_attribute_bits_are_ignored() -> None:
    (found,) = read(message(4, b"k", b"v", attributes=0xF0))
    assert found == kodec.Record(
        offset=4, timestamp=1000, timestamp_type=TimestampType.CREATE_TIME, key=b"k", value=b"v"
    )
    data = batch([record(0, b"k", b"v", attributes=0x7F)], attributes=0xFF80)
    assert [found.value for found in read(data)] == [b"v"]
    assert view(data).attributes == 0xFF80


@pytest.mark.parametrize("length", [-1, -2, -(2**31)])
@pytest.mark.parametrize("magic", [0, 1])
def test_08_null_and_empty_in_messages(magic: int, length: int) -> None:
    start = struct.pack(">bB", magic, 0) + bytes(8 * magic)
    absent = struct.pack(">i", length)
    (found,) = read(entry(0, start + absent + absent))
    assert (found.key, found.value) == (None, None)
    (found,) = read(entry(0, start + bytes(4) + bytes(4)))
    assert (found.key, found.value) == (b"", b"")


@pytest.mark.parametrize("length", [-1, -2, -64, -65, -8193, -(2**31)])
def test_08_null_and_empty_in_records(length: int) -> None:
    absent = varint(length)
    body = b"\0\0\0" + absent + absent + varint(1) + blob(b"h") + absent
    (found,) = read(batch([sized(body)]))
    assert (found.key, found.value, found.headers) == (None, None, (("h", None),))
    (found,) = read(batch([record(0, b"", b"", [(b"", b"")])]))
    assert (found.key, found.value, found.headers) == (b"", b"", (("", b""),))


def inner_log(relative: list[int], magic: int = 1, **options: Any) -> bytes:
    return b"".join(message(offset, None, b"%d" % offset, magic=magic, **options) for offset in relative)


def test_09_wrapper_offset_0_holds_offsets_as_they_are() -> None:
    assert offsets(wrapper(0, inner_log([0, 1, 2]))) == [0, 1, 2]
    assert offsets(wrapper(0, inner_log([7, 9]))) == [7, 9]
    assert offsets(wrapper(8, inner_log([0, 0, 0]))) == [8, 8, 8]
    assert offsets(wrapper(100, inner_log([0, 2, 5]))) == [95, 97, 100]


def test_09_magic_0_offsets_are_absolute() -> None:
    assert offsets(wrapper(100, inner_log([3, 9], 0), magic=0)) == [3, 9]
    assert offsets(wrapper(100, inner_log([40, 90], 1), magic=0)) == [40, 90]


def test_10_wrapper_offset_below_the_last_inner_one() -> None:
    error = refuse(wrapper(4, inner_log([0, 5])), Malformed, "message.value[1].offset")
    assert error.have == 5


@pytest.mark.parametrize("magic", [0, 1])
def test_11_wrapper_with_a_null_value(magic: int) -> None:
    # a rule of the schema, which names the length that says null
    refuse(message(4, None, None, magic=magic, attributes=1), Malformed, "message.len_value")


@pytest.mark.parametrize(("magic", "codec"), [pair for pair in PAIRS if pair[0] < 2 and pair[1] != "none"])
def test_11_wrapper_with_nothing_inside(magic: int, codec: str) -> None:
    refuse(wrapper(4, b"", codec, magic=magic), Malformed, "message.value")
    with pytest.raises(Malformed, match="holds no message"):
        kodec.read_table(wrapper(4, b"", codec, magic=magic) + log_of(magic, "none", [b"v"], base=5))
    for inner in (bytes(11), inner_log([0], magic)[:-1]):
        refuse(wrapper(4, inner, codec, magic=magic), Truncated, "message.value[0]")


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("depth", [1, 2, 50])
def test_12_compressed_message_inside_a_wrapper(magic: int, depth: int) -> None:
    inner = inner_log([0], magic)
    for _ in range(depth):
        inner = wrapper(0, inner, "gzip", magic=magic)
    refuse(wrapper(4, inner, "gzip", magic=magic), Malformed, "message.value[0].message.attributes")


@pytest.mark.parametrize(("magic", "codec"), [pair for pair in PAIRS if pair[0] < 2 and pair[1] != "none"])
def test_13_an_inner_message_cut_short_is_damage(magic: int, codec: str) -> None:
    # Kafka drops it without a word, and every other offset in magic 1 is then one too high
    more = inner_log([5], magic)
    whole = inner_log([0, 1], magic)
    for size in (1, 11, 12, 17, len(more) - 1):
        cut = wrapper(5, whole + more[:size], codec, magic=magic)
        error = refuse(cut, Truncated, "message.value[2]")
        assert error.have == size and error.need == (17 if size < 17 else len(more))
        reader = kodec.read_records(cut + GOOD, on_error="skip")
        assert list(reader) == read(GOOD)
        assert [(one.start, one.end) for one in reader.skipped] == [(0, len(cut))]


def test_14_log_append_time_wrapper() -> None:
    inner = inner_log([0], time=5) + inner_log([1], time=-1, attributes=0)
    found = read(wrapper(9, inner, attributes=8, time=777))
    assert [(r.timestamp, r.timestamp_type) for r in found] == [(777, TimestampType.LOG_APPEND_TIME)] * 2
    # the bit of the inner messages does not count
    found = read(wrapper(9, inner_log([0], time=5, attributes=8), time=777))
    assert [(r.timestamp, r.timestamp_type) for r in found] == [(5, TimestampType.CREATE_TIME)]


def test_14_mixed_magics_inside_a_wrapper() -> None:
    for attributes in (0, 8):
        (found,) = read(wrapper(9, inner_log([0], 0), attributes=attributes, time=777))
        assert (found.timestamp, found.timestamp_type) == (-1, TimestampType.NO_TIMESTAMP_TYPE)
    (found,) = read(wrapper(9, inner_log([0], 1, time=5, attributes=8), magic=0))
    # the wrapper decides, as in Kafka: its format has no timestamps, whatever the message inside says
    assert (found.timestamp, found.timestamp_type) == (5, TimestampType.NO_TIMESTAMP_TYPE)
    refuse(wrapper(9, batch([record()])), Malformed, "message.value[0].message.magic")


@pytest.mark.parametrize("magic", [0, 1])
def test_bytes_left_over_in_a_message_are_refused(magic: int) -> None:
    # Kafka does not look after the value
    whole = message(3, b"k", b"v", magic=magic)
    refuse(entry(3, whole[16:] + b"x") + GOOD, Malformed, "message.value")
    inner = entry(0, whole[16:] + b"x")
    refuse(wrapper(3, inner, magic=magic), Malformed, "message.value[0].message.value", check_crc=False)


# -- batches of magic 2 ---------------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS[2])
def test_15_log_append_time(codec: str) -> None:
    rows = squeeze(codec, record(0, time=5) + record(1, time=-9000))
    data = batch(rows, count=2, attributes=8 | CODES[codec], base_time=1000, max_time=2000)
    assert [(r.timestamp, r.timestamp_type) for r in read(data)] == [
        (2000, TimestampType.LOG_APPEND_TIME)
    ] * 2
    assert (view(data).base_timestamp, view(data).max_timestamp) == (1000, 2000)


def test_16_delete_horizon() -> None:
    data = batch([record(0, time=-500), record(1, time=3)], attributes=0x40, base_time=9000, max_time=9003)
    assert [r.timestamp for r in read(data)] == [8500, 9003]
    assert (view(data).delete_horizon, view(data).base_timestamp) == (9000, 9000)
    assert view(GOOD).delete_horizon is None


def test_17_empty_batch() -> None:
    data = batch([], base=10, last_delta=4, base_time=-1, max_time=55, producer=(7, 1, 3))
    assert len(data) == 61
    assert read(data + GOOD) == read(GOOD)
    found = view(data)
    assert (found.count, found.base_offset, found.last_offset, found.next_offset) == (0, 10, 14, 15)
    assert (found.producer_id, found.producer_epoch, found.base_sequence, found.last_sequence) == (7, 1, 3, 7)
    assert found.max_timestamp == 55 and found.records() == []


@pytest.mark.parametrize("codec", CODECS[2])
def test_17_bytes_after_a_count_of_0_are_refused(codec: str) -> None:
    # Kafka does not look at them; none of its writers makes them
    data = batch(squeeze(codec, record()), count=0, attributes=CODES[codec])
    refuse(data + GOOD, Malformed, "len_batch")


def test_18_negative_count() -> None:
    for count in (-1, -(2**31)):
        error = refuse(batch(record(), count=count), Malformed, "num_records")
        assert (error.have, error.at) == (count, len(GOOD) + 57)
        with pytest.raises(Malformed):
            list(kodec.read_batches(batch(record(), count=count)))


@pytest.mark.parametrize("codec", CODECS[2])
def test_19_count_smaller_than_real(codec: str) -> None:
    rows = squeeze(codec, record(0) + record(1) + record(2))
    error = refuse(batch(rows, count=2, attributes=CODES[codec]), Malformed, "num_records")
    assert (error.need, error.have) == (3, 2)
    junk = squeeze(codec, record(0) + record(1) + b"\0\0\0")
    refuse(batch(junk, count=2, attributes=CODES[codec]), Truncated, "records[2].body.attributes")


def test_19_bytes_after_an_lz4_end_mark_do_not_count() -> None:
    data = batch(squeeze("lz4", record(0)) + b"anything", count=1, attributes=3)
    assert len(read(data)) == 1


@pytest.mark.parametrize("codec", CODECS[2])
@pytest.mark.parametrize("count", [3, 1000, MOST])
def test_20_count_larger_than_real(codec: str, count: int) -> None:
    rows = squeeze(codec, record(0) + record(1))
    data = batch(rows, count=count, attributes=CODES[codec])
    if codec != "none" and count == MOST:
        # not decompressed to see that there are fewer
        error = refuse(data, LimitExceeded, "num_records")
        assert (error.need, error.have) == (1_000_001, 1_000_000)
        return
    error = refuse(data, Malformed, "num_records")
    assert (error.need, error.have) == (2, count)


def test_21_last_records_compacted_away() -> None:
    data = batch([record(0), record(3)], base=50, last_delta=9)
    assert offsets(data) == [50, 53]
    assert (view(data).last_offset, view(data).next_offset, view(data).count) == (59, 60, 2)


def test_22_an_offset_in_the_middle_of_a_batch() -> None:
    data = batch([record(i) for i in range(5)], base=10) + batch([record(i) for i in range(5)], base=15)
    wanted = next(found for found in kodec.read_batches(data) if found.next_offset > 17)
    assert wanted.base_offset == 15
    assert [r.offset for r in wanted.records() if r.offset >= 17] == [17, 18, 19]


def test_23_sequences_wrap() -> None:
    found = view(batch([record(i) for i in range(4)], producer=(1, 0, MOST - 1)))
    assert (found.base_sequence, found.last_sequence) == (MOST - 1, 1)
    assert view(batch([record(0)], producer=(1, 0, MOST))).last_sequence == MOST
    assert view(batch([record(0), record(1)], producer=(1, 0, MOST))).last_sequence == 0


def test_24_control_batch_has_no_sequences() -> None:
    marker = record(0, struct.pack(">hh", 0, 1), struct.pack(">hi", 0, 7))
    found = view(batch([marker], attributes=0x30, producer=(55, 2, -1)))
    assert (found.producer_id, found.base_sequence, found.last_sequence) == (55, -1, -1)
    assert found.is_control and found.is_transactional
    assert found.size == 78


def test_25_control_record_of_unknown_type() -> None:
    data = batch([record(0, struct.pack(">hh", 0, 99), b"whatever")], attributes=0x20)
    assert read(data) == []
    (found,) = read(data, control=True)
    assert isinstance(found, kodec.ControlRecord)
    assert (found.type, found.data, found.value) == (kodec.ControlRecordType.UNKNOWN, None, b"whatever")
    assert view(data).control_type is kodec.ControlRecordType.UNKNOWN


@pytest.mark.parametrize("key", ["0001 0001", "0000 0001 ffff", "7fff 0001"])
def test_26_control_key_that_is_longer_or_newer(key: str) -> None:
    data = batch([record(0, bytes.fromhex(key), struct.pack(">hi", 0, 7))], attributes=0x20)
    (found,) = read(data, control=True)
    assert isinstance(found, kodec.ControlRecord) and found.type is kodec.ControlRecordType.COMMIT


def test_27_empty_control_batch() -> None:
    data = batch([], attributes=0x30, base=5, producer=(55, 2, -1))
    assert read(data) == read(data, control=True) == []
    found = view(data)
    assert found.is_control and found.control_type is None and found.next_offset == 6


@pytest.mark.parametrize("length", [-1, -2, -65, -9000])
def test_28_negative_header_key_length(length: int) -> None:
    body = b"\0\0\0" + blob(None) + blob(b"v") + varint(1) + varint(length) + blob(b"v")
    refuse(batch([sized(body)]), Malformed, "records[0].body.headers[0].len_key")


@pytest.mark.parametrize("count", [-1, -64, -(2**31)])
def test_28_negative_header_count(count: int) -> None:
    body = b"\0\0\0" + blob(None) + blob(b"v") + varint(count)
    refuse(batch([sized(body)]), Malformed, "records[0].body.num_headers")


@pytest.mark.parametrize("count", [1, 2, 63, 64, 9000, MOST])
def test_28_more_headers_than_bytes(count: int) -> None:
    body = b"\0\0\0" + blob(None) + blob(b"v") + varint(count)
    refuse(batch([sized(body)]), Truncated, "records[0].body.headers")


def test_29_duplicate_empty_and_non_utf8_header_keys() -> None:
    keys = [b"a", b"a", b"", b"", b"\xff\xfe", b"\xc3", "é".encode(), b"\xed\xa0\x80"]
    (found,) = read(batch([record(0, headers=[(key, b"%d" % at) for at, key in enumerate(keys)])]))
    stored = [key.encode("utf-8", "surrogateescape") for key, _ in found.headers]
    assert stored == keys
    assert [value for _, value in found.headers] == [b"%d" % at for at in range(len(keys))]
    assert read(kodec.encode([found])) == [found]


def test_30_non_minimal_varints() -> None:
    zero, two = b"\x80\x80\x80\x80\x00", b"\x84\x80\x80\x80\x00"
    header = two + b"hh" + two + b"ww"
    body = b"\0" + b"\x80" * 9 + b"\0" + zero + two + b"kk" + two + b"vv" + b"\x82\x00" + header
    (size,) = varint(len(body))
    for length in ([size], [size | 128, 0], [size | 128, 128, 128, 128, 0]):
        (found,) = read(batch([bytes(length) + body]))
        assert (found.offset, found.timestamp, found.key, found.value) == (0, 1000, b"kk", b"vv")
        assert found.headers == (("hh", b"ww"),)


def test_31_excess_bits_are_dropped() -> None:
    # the fifth byte of 32 bits counts for 4 bits, the tenth of 64 for one
    body = b"\0" + b"\x80" * 9 + b"\x7e" + b"\x84\x80\x80\x80\x70" + blob(None) + blob(b"v") + b"\0"
    (found,) = read(batch([sized(body)], base=10, last_delta=2))
    assert (found.offset, found.timestamp) == (12, 1000)
    for long in (b"\x80" * 5 + b"\0", b"\xff" * 10 + b"\1"):
        body = b"\0\0" + long + blob(None) + blob(b"v") + b"\0"
        refuse(batch([sized(body)]), Malformed, "records[0].body.offset_delta")
    body = b"\0" + b"\x80" * 10 + b"\0\0" + blob(None) + blob(b"v") + b"\0"
    refuse(batch([sized(body)]), Malformed, "records[0].body.timestamp_delta")


@pytest.mark.parametrize("codec", CODECS[2])
@pytest.mark.parametrize("wrong", [-1, 1, -5, 5, 60, -100, 2**30])
def test_32_record_length_that_is_not_that_of_its_content(codec: str, wrong: int) -> None:
    body = record(1, b"key", b"value")[1:]
    rows = record(0) + varint(len(body) + wrong) + body + record(2)
    data = batch(squeeze(codec, rows), count=3, attributes=CODES[codec])
    with pytest.raises((Malformed, Truncated), match=r"records\[1\]\.(len_)?body"):
        read(data)


# -- codecs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [5, 6, 7])
def test_33_unknown_codec(code: int) -> None:
    assert refuse(batch(record(), count=1, attributes=code), Unsupported, "compression").have == code
    for magic in (0, 1):
        refuse(message(0, magic=magic, attributes=code), Unsupported, "compression")
        with pytest.raises(Unsupported):
            list(kodec.read_batches(message(0, magic=magic, attributes=code)))


@pytest.mark.parametrize("magic", [0, 1])
def test_34_zstd_before_magic_2(magic: int) -> None:
    refuse(wrapper(0, inner_log([0], magic), "zstd", magic=magic), Unsupported, "compression")


def lz4_frame(head: bytes, data: bytes) -> bytes:
    return head + lz4_block(data) + bytes(4)


def test_35_lz4_header_checksum() -> None:
    wrong = LZ4_HEAD[:-1] + b"\x99"
    for head in (LZ4_HEAD, LZ4_HEAD_MAGIC_0, wrong):
        value = lz4_frame(head, inner_log([0, 1], 0))
        assert len(read(message(1, None, value, magic=0, attributes=3))) == 2
    for head in (LZ4_HEAD_MAGIC_0, wrong):
        value = lz4_frame(head, inner_log([0, 1], 1))
        refuse(message(1, None, value, magic=1, attributes=3), Malformed, "message.value")
        refuse(batch(lz4_frame(head, record()), count=1, attributes=3), Malformed, "records")


def test_36_lz4_content_size_and_checksum_are_not_verified() -> None:
    frame = bytearray(
        lz4.frame.compress(record(), block_linked=False, store_size=True, content_checksum=True)
    )
    assert frame[4] & 0x0C == 0x0C
    assert len(read(batch(bytes(frame), count=1, attributes=3))) == 1
    frame[-1] ^= 0xFF
    assert len(read(batch(bytes(frame), count=1, attributes=3))) == 1


def test_37_lz4_dependent_blocks_dictionary_second_frame() -> None:
    linked = lz4.frame.compress(record(0, None, b"v" * 70_000) * 2, block_linked=True, store_size=False)
    assert not linked[4] & 0x20
    refuse(batch(linked, count=2, attributes=3), Unsupported, "records")
    dictionary = LZ4_HEAD[:4] + b"\x61" + LZ4_HEAD[5:]
    refuse(batch(lz4_frame(dictionary, record()), count=1, attributes=3), Unsupported, "records")
    twice = lz4_frame(LZ4_HEAD, record(0)) + lz4_frame(LZ4_HEAD, record(1))
    assert len(read(batch(twice, count=1, attributes=3))) == 1
    refuse(batch(twice, count=2, attributes=3), Malformed, "num_records")


def test_38_raw_snappy() -> None:
    assert len(read(batch(snappy.compress(record(0) + record(1)), count=2, attributes=2))) == 2
    for magic in (0, 1):
        value = snappy.compress(inner_log([0, 1], magic))
        assert len(read(message(1, None, value, magic=magic, attributes=2))) == 2


@pytest.mark.parametrize("codec", ["gzip", "snappy", "zstd"])
def test_39_one_after_another(codec: str) -> None:
    rows = record(0, b"k", b"v" * 50) + record(1)
    parts = b"".join(squeeze(codec, part) for part in (rows[:3], rows[3:40], b"", rows[40:]))
    assert [r.offset for r in read(batch(parts, count=2, attributes=CODES[codec]))] == [0, 1]


def test_39_xerial_chunks_of_any_size() -> None:
    rows = b"".join(record(i) for i in range(20))
    chunks = [snappy.compress(rows[at : at + 7]) for at in range(0, len(rows), 7)]
    data = XERIAL + b"".join(struct.pack(">i", len(chunk)) + chunk for chunk in chunks)
    assert len(read(batch(data, count=20, attributes=2))) == 20
    assert len(read(batch(data + b"\0\0\0", count=20, attributes=2))) == 20


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_40_empty_compressed_payload(codec: str) -> None:
    refuse(batch(b"", count=1, attributes=CODES[codec]), Truncated, "records")
    if codec != "zstd":
        for magic in (0, 1):
            refuse(message(0, None, b"", magic=magic, attributes=CODES[codec]), Truncated, "message.value")


@pytest.mark.parametrize("codec", CODECS[2])
def test_41_count_0_of_a_compressed_batch(codec: str) -> None:
    data = batch([], attributes=CODES[codec], last_delta=3)
    assert read(data) == []
    assert (view(data).codec, view(data).next_offset) == (codec, 4)


# -- whole logs -----------------------------------------------------------------------------------


def test_42_mixed_magics() -> None:
    parts = [log_of(magic, codec, [b"a", b"b"], base=10 * at) for at, (magic, codec) in enumerate(PAIRS)]
    data = b"".join(parts)
    assert offsets(data) == [10 * at + i for at in range(len(PAIRS)) for i in (0, 1)]
    assert [found.magic for found in kodec.read_batches(data)] == [0] * 5 + [1] * 5 + [2] * 5


def test_43_first_offset_above_that_of_the_segment(tmp_path: Any) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch([record()], base=900))
    assert [r.offset for r in kodec.read_records(path)] == [900]


@pytest.mark.parametrize(("magic", "codec"), PAIRS)
def test_44_gaps(magic: int, codec: str) -> None:
    data = b"".join(log_of(magic, codec, [b"v"], base=base) for base in (3, 2**40, 2**62))
    assert offsets(data) == [3, 2**40, 2**62]


@pytest.mark.parametrize(("magic", "codec"), PAIRS)
def test_45_descending_offsets(magic: int, codec: str) -> None:
    data = b"".join(log_of(magic, codec, [b"v"], base=base) for base in (90, 3, 3))
    assert offsets(data) == [90, 3, 3]
    assert offsets(batch([record(5), record(2)], base=10)) == [15, 12]


def test_54_unknown_leader_epoch() -> None:
    assert view(GOOD).partition_leader_epoch == -1
    assert view(batch([record()], epoch=5)).partition_leader_epoch == 5
    assert view(message()).partition_leader_epoch == -1


def test_55_timestamps_of_minus_one() -> None:
    data = batch([record(0), record(1, time=101), record(2)], base_time=-1, max_time=100)
    assert [r.timestamp for r in read(data)] == [-1, 100, -1]
    assert {r.timestamp_type for r in read(data)} == {TimestampType.CREATE_TIME}


def test_56_an_empty_value_is_no_tombstone() -> None:
    data = batch([record(0, b"k", b""), record(1, b"k", None)])
    data += message(2, b"k", b"") + message(3, b"k", None)
    assert [r.value for r in read(data)] == [b"", None, b"", None]


def test_65_right_checksum_and_records_that_do_not_decode() -> None:
    bad = batch(b"\x08\0\0\0\xff\xff", count=1)
    refuse(bad + GOOD, Truncated, "records[0].body.len_key")
    later = batch([record()], base=100)
    reader = kodec.read_records(GOOD + bad + later, on_error="skip")
    assert len(list(reader)) == 2
    assert [(r.start, r.end) for r in reader.skipped] == [(len(GOOD), len(GOOD) + len(bad))]
    # reading by batches goes past it: the entry itself is right
    first, second, third = kodec.read_batches(GOOD + bad + GOOD)
    assert second.crc_ok and first.records() == third.records()
    with pytest.raises(FormatError):
        second.records()


def test_66_base_offset_and_leader_epoch_are_outside_the_checksum() -> None:
    changed = struct.pack(">q", 77) + GOOD[8:12] + struct.pack(">i", 5) + GOOD[16:]
    assert view(changed).crc_ok
    assert (offsets(changed), view(changed).partition_leader_epoch) == ([77], 5)
    for magic in (0, 1):
        whole = message(3, magic=magic)
        assert offsets(struct.pack(">q", 77) + whole[8:]) == [77]


def test_70_record_offsets_outside_those_of_the_batch() -> None:
    data = batch([record(-3), record(9)], base=10, last_delta=1)
    assert offsets(data) == [7, 19]
    assert (view(data).base_offset, view(data).last_offset) == (10, 11)
