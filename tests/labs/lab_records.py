"""The records that the lab has each generation of Kafka write, and that it gives to each of them to read."""

from __future__ import annotations

from kodec import Record, TimestampType

# Time of the first record, ms since the epoch.
START = 1_700_000_000_000
_TEXT = "a text that compresses well, since it says the same again; "


def record(
    timestamp: int,
    key: bytes | str | None,
    value: bytes | str | None,
    *headers: tuple[str, bytes | None],
) -> Record:
    """A record with CreateTime whose offset is the next one."""
    return Record(
        offset=-1,
        timestamp=timestamp,
        timestamp_type=TimestampType.CREATE_TIME,
        key=key.encode() if isinstance(key, str) else key,
        value=value.encode() if isinstance(value, str) else value,
        headers=headers,
    )


def edge_cases(*, headers: bool) -> list[list[Record]]:
    """The same edge cases for each format and codec, as batches of records.

    A batch of one, all kinds of null and empty, lengths where a varint grows, times that go back, a longer
    record. Headers come only if the format has them.
    """
    t = START + 10
    kinds = [
        record(t, None, "null key"),
        record(t + 1, "null value", None),
        record(t + 2, None, None),
        record(t + 3, b"", "empty key"),
        record(t + 4, "empty value", b""),
        record(t + 5, b"", b""),
        record(t + 6, "ключ-鍵-🔑", "naïve café ☕ 数据 𝄞"),
        record(t + 7, bytes([0, 1, 2, 0xFE, 0xFF]), b"\xc3\x28\0"),
    ]
    if headers:
        kinds += [
            record(t + 8, "headers", "one", ("source", b"unit")),
            record(t + 9, "headers", "repeated", ("k", b"1"), ("j", b"2"), ("k", b"1")),
            record(t + 10, "headers", "odd", ("", b"no name"), ("absent", None), ("empty", b"")),
            record(t + 11, None, None, ("ünïcode-😀", b"\0\xff\x80")),
        ]
    lengths = [0, 1, 2, 55, 56, 57, 62, 63, 64, 65, 126, 127, 128, 129]
    growing = [record(START + 1_000 + n * n * n, f"key-{n}", (_TEXT * 3)[:n]) for n in lengths]
    jumps = [0, -1, 64, -8_192, 86_400_000, -86_400_000]
    back = [record(START + jump, "jump", str(jump)) for jump in jumps]
    return [
        [record(START, "only", "a batch of one record")],
        kinds,
        growing,
        back,
        [record(START + 2_000, "long", _TEXT * 30), record(START + 2_001, "tiny", "x")],
    ]


def huge() -> list[Record]:
    """A record of more than one LZ4 block of 64 KiB, and a tiny one after it."""
    lines = "".join(f"line {number} of a huge record\n" for number in range(2_600))
    return [record(START, "huge", lines), record(START + 1, "t", "")]


def numbered(tag: str, count: int, first: int = 0, keys: int = 10) -> list[Record]:
    """Plain records: key `k<n>`, a value that shows which it is."""
    return [record(START + n * 10, f"k{n % keys}", f"{tag} value {n}") for n in range(first, first + count)]
