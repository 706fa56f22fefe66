"""Keys of headers that are not UTF-8, through an export and back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kodec
from kodec.cli.main import main
from kodec.log.backends.header_keys import exact, key_of, restored

pytestmark = pytest.mark.quick

KEYS = [
    b"plain",
    b"\xff\xfe",
    "\ufffd".encode(),
    "\uef80\uefff".encode(),
    b"a\x80\xef\xbe\x80",
    "\u6771".encode(),
    b"",
]


@given(st.binary(max_size=12) | st.sampled_from(KEYS))
def test_every_key_comes_back(key: bytes) -> None:
    text = exact(key)
    assert text.encode("utf-8").decode() == text and key_of(text) == key
    assert not key.isascii() or text == key.decode()


PAIR = pa.struct([("key", pa.string()), ("value", pa.binary())])
LARGE = pa.struct([("key", pa.large_string()), ("value", pa.large_binary())])


@pytest.mark.parametrize(
    "kind",
    [pa.list_(PAIR), pa.large_list(LARGE), pa.map_(pa.string(), pa.binary())],
    ids=["list", "large list", "map"],
)
def test_lists_with_and_without_such_keys(kind: pa.DataType) -> None:
    """As an export has them, and as other libraries write them again."""

    def headers(*rows: list[tuple[str, bytes | None]] | None) -> pa.Array:
        if pa.types.is_map(kind):
            return pa.array(rows, kind)
        return pa.array([row and [{"key": key, "value": value} for key, value in row] for row in rows], kind)

    plain = headers([("a", b"1")], None, [])
    assert restored(plain) is plain
    odd = headers([("x", b"0")], [("\uefff", None)], None, [], [("\u00e9", b"2")])
    wanted = [[{"key": b"\xff", "value": None}], None, [], [{"key": "\u00e9".encode(), "value": b"2"}]]
    assert restored(odd.slice(1)).to_pylist() == wanted


def test_other_columns_stay() -> None:
    for other in (pa.array([1]), pa.array([["\uef80"]]), pa.array([[{"key": "\uef80"}]])):
        assert restored(other) is other


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_an_export_is_restored_as_it_was(format: str, tmp_path: Path) -> None:
    records = [
        kodec.Record(
            offset=number,
            timestamp=5,
            timestamp_type=kodec.TimestampType.CREATE_TIME,
            value=b"v",
            headers=((key.decode("utf-8", "surrogateescape"), b"1"), ("other", None)),
        )
        for number, key in enumerate(KEYS)
    ]
    log = tmp_path / "logs" / "t-0" / f"{0:020d}.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(kodec.encode(records))
    out, back = str(tmp_path / "out"), tmp_path / "back"
    assert main(["export", str(tmp_path / "logs"), "--format", format, "--to", out, "--engine", "local"]) == 0
    assert main(["restore", out, "--to", str(back)]) == 0
    assert list(kodec.read_records(back / "t-0")) == records
