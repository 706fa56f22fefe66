"""The generator is independent of Kafka: a log of sensors with checksums, compression, rows and versions."""

from __future__ import annotations

import gzip
import importlib
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kodec.generator.driver import generate
from kodec.runtime.errors import (
    CrcMismatch,
    EncodeError,
    FormatError,
    LimitExceeded,
    Malformed,
    Truncated,
    Unsupported,
)
from kodec.runtime.fields import ReadOptions
from tests.data import TESTS

from .conftest import write

Codec = Callable[..., ModuleType]
FORMATS = TESTS / "generator/formats"
HEADER = b"SENS\x1a" + struct.pack("<Id", 77, 48.2) + b"\x04roof"
READINGS = b"\x02\x04\x06\x04hi" + b"\x06\x02\x01\x01"


def block(content: bytes, flags: int = 0x1401, count: int = 2, last: int = 3) -> bytes:
    """A block by hand: two readings, calibrated, in season 1, with one failed check."""
    covered = struct.pack(">H", flags) + struct.pack("<qIH", 1_000_000, last, count) + content
    return struct.pack("<II", len(covered) + 4, zlib.crc32(covered)) + covered


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sensors")
    generate(FORMATS, folder / "sensors", tests=folder / "tests", package="sensors")
    return folder


@pytest.fixture(scope="module")
def sensors(made: Path) -> Callable[[str], ModuleType]:
    sys.path.insert(0, str(made))
    try:
        modules = {
            name: importlib.import_module(f"sensors.{name}") for name in ("sensor_log", "sensor_message")
        }
    finally:
        sys.path.remove(str(made))
    return lambda name: modules[name]


@pytest.fixture
def log(sensors: Callable[[str], ModuleType]) -> ModuleType:
    return sensors("sensor_log")


@pytest.fixture
def message(sensors: Callable[[str], ModuleType]) -> ModuleType:
    return sensors("sensor_message")


def test_file_by_hand(log: ModuleType) -> None:
    data = HEADER + block(READINGS)
    found = log.SensorLog.from_bytes(data)
    assert (found.station.serial, found.station.latitude, found.station.name) == (77, 48.2, "roof")
    (only,) = found.blocks
    assert (only.flags.calibrated, only.flags.season, only.flags.checks) == (True, 1, 1)
    assert only.flags.compression is log.Compression.NONE
    assert (only.base_time, only.span, only.num_readings) == (1_000_000, 3, 2)
    assert [(r.delta, r.sensor, r.value, r.note) for r in only.readings] == [
        (1, 2, 3, "hi"),
        (3, 1, -1, None),
    ]
    assert found.to_bytes() == data


def test_compressed_block(log: ModuleType) -> None:
    data = block(gzip.compress(READINGS), flags=0x1501)
    head, end = log.read_block_head(data, 0, len(data))
    assert end == len(data) and head.readings == gzip.compress(READINGS)
    assert log.codec_of_block(head) == "gzip"
    whole = log.Block.from_bytes(data)
    assert [r.note for r in whole.readings] == ["hi", None]
    assert log.Block.from_bytes(whole.to_bytes()) == whole.__class__(
        **{name: getattr(whole, name) for name in ("flags", "base_time", "span", "num_readings", "readings")},
        len_block=log.Block.from_bytes(whole.to_bytes()).len_block,
        crc=log.Block.from_bytes(whole.to_bytes()).crc,
    )
    # stored bytes are written back as they are
    assert head.to_bytes() == data


def test_rows(log: ModuleType) -> None:
    head, _ = log.read_block_head(data := block(READINGS), 0, len(data))
    rows = log.read_block_rows(head, head.readings)
    assert [(r.time, r.sensor, r.value, r.note, r.calibrated) for r in rows] == [
        (1_000_001, 2, 3, "hi", True),
        (1_000_003, 1, -1, None, True),
    ]
    assert log.write_block_rows(head, rows) == READINGS
    with pytest.raises(Truncated, match=r"readings\[1\]\.value"):
        log.read_block_rows(head, READINGS[:-2])
    with pytest.raises(Malformed, match="not the number of readings"):
        log.read_block_rows(head, READINGS + READINGS)


def test_what_is_wrong_is_named(log: ModuleType) -> None:
    data = HEADER + block(READINGS)
    with pytest.raises(CrcMismatch, match=r"blocks\[0\]\.crc"):
        log.SensorLog.from_bytes(data[:-1] + b"\x03")
    with pytest.raises(Malformed, match=r"blocks\[0\]\.span: differs from last\(readings\.delta\)"):
        log.SensorLog.from_bytes(HEADER + block(READINGS, last=4))
    with pytest.raises(Malformed, match=r"blocks\[0\]\.num_readings"):
        log.SensorLog.from_bytes(HEADER + block(READINGS, count=3))
    with pytest.raises(Unsupported, match="unknown codec"):
        log.SensorLog.from_bytes(HEADER + block(READINGS, flags=0x1701))
    with pytest.raises(Malformed, match=r"blocks\[0\]\.flags\.checks|blocks\[0\]\.checks"):
        log.SensorLog.from_bytes(HEADER + block(READINGS, flags=0x1410))
    with pytest.raises(Malformed, match="magic"):
        log.SensorLog.from_bytes(b"SANS" + data[4:])
    with pytest.raises(LimitExceeded):
        log.Block.from_bytes(
            block(gzip.compress(bytes(4000)), flags=0x1501), opt=ReadOptions(decompressed_bytes=1000)
        )
    for size in range(len(HEADER) + 1, len(data)):
        with pytest.raises(FormatError):
            log.SensorLog.from_bytes(data[:size])


def test_what_cannot_be_written_is_named(log: ModuleType) -> None:
    station = log.Station(serial=1, latitude=91.0)
    with pytest.raises(EncodeError, match="latitude"):
        station.to_bytes()
    with pytest.raises(EncodeError, match="serial"):
        log.Station(serial=2**32).to_bytes()
    with pytest.raises(EncodeError, match="len_name"):
        log.Station(name="x" * 256).to_bytes()
    with pytest.raises(EncodeError, match="season"):
        log.Flags(season=4).to_bytes()
    with pytest.raises(EncodeError, match=r"\[0\]\.note"):
        log.write_reading_list(bytearray(), [log.Reading(note="\ud800")])


MESSAGES: dict[int, tuple[bytes, dict[str, Any]]] = {
    0: (b"\x00\x00\x07\x02\x00\x01\xff\xff", {"raw": [1, -1]}),
    1: (b"\x01\x00\x07\x02\x01\x00\x05", {"unit": 2, "raw": [5]}),
    2: (b"\x02\x00\x07\x01\x01" + struct.pack(">f", 0.5), {"unit": 1, "exact": [0.5]}),
}
MESSAGES[1] = (b"\x01\x00\x07\x02\x01\x00\x05", {"unit": 2, "raw": [5]})


@pytest.mark.parametrize("version", MESSAGES)
def test_versions(message: ModuleType, version: int) -> None:
    data, expected = MESSAGES[version]
    found = message.SensorMessage.from_bytes(data)
    assert (found.version, found.sensor, int(found.unit)) == (version, 7, expected.get("unit", 0))
    for name in ("raw", "exact"):
        if name in expected:
            assert [getattr(value, name) for value in found.values] == expected[name]
    assert found.to_bytes() == data


def test_versions_that_cannot_carry_a_value(message: ModuleType) -> None:
    with pytest.raises(EncodeError, match="unit: not in version 0"):
        message.SensorMessage(version=0, unit=message.Unit.PERCENT).to_bytes()
    with pytest.raises(EncodeError, match="unknown version"):
        message.SensorMessage(version=3).to_bytes()
    with pytest.raises(Unsupported, match="unknown version"):
        message.SensorMessage.from_bytes(b"\x03\x00\x07\x00")
    with pytest.raises(EncodeError, match=r"values\[0\]\.exact"):
        message.SensorMessage(values=[message.Value(exact=1e300)]).to_bytes()


def test_generated_tests_pass(made: Path) -> None:
    names = sorted(path.name for path in (made / "tests").iterdir())
    assert names == ["test_sensor_log.py", "test_sensor_message.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(made / "tests")]
    done = subprocess.run(
        command, cwd=made, env={"PYTHONPATH": f"{made}:{':'.join(sys.path)}"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_generated_modules_are_typed(made: Path) -> None:
    # as in pyproject.toml, which says why
    skip = "[mypy-pyarrow.*]\nfollow_imports = skip\nfollow_imports_for_stubs = true\n"
    (made / "mypy.ini").write_text(f"[mypy]\n{skip}")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "-p", "sensors"]
    done = subprocess.run(
        command,
        cwd=made,
        env={"PYTHONPATH": f"{made}", "MYPYPATH": f"{made}:{FORMATS.parents[2] / 'src'}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_container_and_its_rows_may_share_names(tmp_path: Path) -> None:
    """What is taken out of the container before the loop over rows clashes with no local of that loop."""
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "x.ksy").write_text(
        "meta: {id: x, endian: be, encoding: UTF-8}\nseq:\n- {id: data, type: u1}\n- {id: at, type: u1}\n"
        "- {id: codec, type: u1, enum: codec}\n- {id: count, type: u1, -derive: count_of(rows)}\n"
        "- {id: rows, size-eos: true, type: {switch-on: codec, cases: {'codec::none': row_list}},\n"
        "   -codec: codec, -inner: row_list}\n"
        "types:\n  row_list: {-wire: list, seq: [{id: rows, type: row, repeat: eos}]}\n"
        "  zig:\n    -wire: zigzag32\n    seq: [{id: a, type: u1, repeat: until, repeat-until: _ < 128}]\n"
        "    instances: {value: {value: 0}}\n"
        "  row:\n    -row:\n"
        "      columns: [at, {name: first, value: _batch.data}, {name: second, value: _batch.at}]\n"
        "    seq: [{id: at, type: zig}]\n"
        "enums: {codec: {0: none}}\n"
    )
    generate(tmp_path / "s", tmp_path / "shared")
    sys.path.insert(0, str(tmp_path))
    try:
        x = importlib.import_module("shared.x")
    finally:
        sys.path.remove(str(tmp_path))
    batch = x.X(data=7, at=9, codec=x.Codec.NONE, count=2, rows=[])
    rows = x.read_x_rows(batch, b"\x02\x04")
    assert [(row.at, row.first, row.second) for row in rows] == [(1, 7, 9), (2, 7, 9)]
    assert x.write_x_rows(batch, rows) == b"\x02\x04"


FLOATS = (
    "seq:\n- {id: a, type: f4}\n- {id: b, type: f8}\n"
    "- {id: c, type: f4le}\n- {id: d, type: f4, repeat: eos}\n"
)


@pytest.mark.parametrize(
    "sort", ["-topic: t\n", "instances: {z: {pos: 0, type: f4}}\n"], ids=["layout", "stream"]
)
def test_a_signalling_nan_is_written_back(sort: str, codec: Codec) -> None:
    data = bytes.fromhex("7fa00001 7ff0000000000001 0100a07f ff800001 3f800000")
    assert codec(FLOATS + sort).X.from_bytes(data).to_bytes() == data


def test_what_an_if_never_lets_in_is_refused(codec: Codec) -> None:
    x = codec(
        "-topic: t\nseq:\n- {id: a, type: u1}\n- {id: b, type: u1, if: false}\n"
        "- {id: c, size: 1, if: 1 > 2}\n"
    )
    assert x.X(a=1).to_bytes() == b"\x01"
    for given in ({"b": 5}, {"c": b"x"}):
        with pytest.raises(EncodeError, match="not in this form"):
            x.X(a=1, **given).to_bytes()


PARAMETERS = (
    "-topic: t\nseq:\n- {id: a, type: 'p(true, 3)'}\ntypes:\n  p:\n    params:\n    - {id: q, type: bool}\n"
    "    - {id: n, type: u1}\n    seq:\n    - {id: s, size: n, if: q}\n    - {id: t, type: u1}\n"
)


def test_parameters_are_given_by_name_and_never_left_out(codec: Codec) -> None:
    p = codec(PARAMETERS).P
    assert p.from_bytes(b"abc\1", q=True, n=3) == p(s=b"abc", t=1)
    assert p.from_bytes(b"\1", q=False, n=3) == p(t=1)
    assert p.read_from(b"?abc\1?", 1, q=True, n=3) == (p(s=b"abc", t=1), 5)
    assert p(s=b"abc", t=1).to_bytes(q=True, n=3) == b"abc\1"
    assert p(t=1).to_bytes(q=False, n=3) == b"\1"
    for missing in ({}, {"n": 3}, {"q": True}):
        with pytest.raises(TypeError, match="required positional argument"):
            p.from_bytes(b"abc\1", **missing)
        # an object that was read is written with the parameters that it was read with
        assert p.from_bytes(b"abc\1", q=True, n=3).to_bytes(**missing) == b"abc\1"
        with pytest.raises(EncodeError, match="not given"):
            p(s=b"abc").to_bytes(**missing)


UNDERIVED = {
    "text": "- {id: n, type: u1, -derive: length_of(a)}\n- {id: a, type: str, encoding: ASCII, size: n}\n",
    "size of a type": "- {id: n, type: u1}\n- {id: a, type: p, size: 4}\n- {id: b, type: p, size: n}\n",
    "size of a fixed type": "- {id: n, type: u1}\n- {id: a, type: r, size: 2}\n",
    "argument": "- {id: n, type: u1}\n- {id: a, type: 'q(true, 3)'}\n",
}
TYPES = (
    "types:\n  p:\n    seq:\n    - {id: k, type: u1}\n    - {id: l, type: u1, if: k > 3}\n"
    "  q:\n    params: [{id: g, type: bool}, {id: n, type: u1}]\n    seq:\n    - {id: s, size: n, if: g}\n"
    "  r:\n    seq:\n    - {id: k, type: u2}\n"
)


def test_generated_tests_pass_where_nothing_derives_a_size(tmp_path: Path) -> None:
    schemas = {
        f"x{i}.ksy": f"meta: {{id: x{i}, endian: be}}\n-topic: t\nseq:\n{seq}{TYPES}"
        for i, seq in enumerate(UNDERIVED.values())
    }
    generate(write(tmp_path / "schemas", schemas), tmp_path / "out", tests=tmp_path / "tests", package="out")
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert {path.name for path in (tmp_path / "tests").glob("test_*")} == {f"test_x{i}.py" for i in range(4)}
    assert "test_x2_round_trip" in (tmp_path / "tests" / "test_x2.py").read_text()
    assert "test_x1_round_trip" not in (tmp_path / "tests" / "test_x1.py").read_text()
