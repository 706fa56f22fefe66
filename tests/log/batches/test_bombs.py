"""What the limits refuse is refused before it is held, and of what they allow each byte is held once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import kodec
from kodec.errors import FormatError
from kodec.log.batches import large
from kodec.runtime import compression
from tests.log import wire
from tests.log.bombs import MIB, bombs, large_record, message, records, stream, wrapper

pytestmark = pytest.mark.thorough

pytest.importorskip("pyarrow")
MEASURED = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="Linux says the peak of a process"
)

MOST = 64
"""MiB that refusing a bomb may add to a process."""
VALUE = 96
"""MiB of a large value that is right."""

# Prints, of each question (a door, a path), the error's kind and how much larger the process is at most.
CHILD = """
    import contextlib, io, json, pathlib, re, sys
    import kodec
    from kodec.cli.main import main
    from kodec import read_batches as read

    # not getrusage: there a process begins with the peak of the one that started it
    def size(name):
        status = pathlib.Path("/proc/self/status").read_text()
        return int(re.search(name + ":[^0-9]*([0-9]+) kB", status)[1]) >> 10

    def dump(path):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = main(["dump", path])
        return f"status {status}"

    PLAIN = kodec.operations.ConvertOptions(compression="none")
    DOORS = {
        "records": lambda path: sum(len(each.value or b"") for each in kodec.read_records(path)),
        "table": lambda path: kodec.read_table(path).num_rows,
        "skip": lambda path: sum(1 for _ in kodec.read_records(path, on_error="skip")),
        "convert": lambda path: sum(map(len, kodec.operations.convert_batches(read(path), PLAIN))),
        "verify": lambda path: sum(not each.note for each in kodec.repair.verify(path)),
        "dump": dump,
    }
    questions = json.load(sys.stdin)
    for door, run in DOORS.items():
        run(questions["warm"])
    found = []
    for door, path in questions["questions"]:
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak is what it is now
        before = size("VmRSS")
        try:
            said = DOORS[door](path)
        except kodec.errors.FormatError as error:
            said = type(error).__name__
        found.append((door, path, said, size("VmHWM") - before))
    json.dump(found, sys.stdout)
"""


def ask(
    folder: Path, backend: str, files: dict[str, bytes], doors: list[str]
) -> list[tuple[str, str, object, int]]:
    """(door, name, what it said, growth in MiB) for each door and file, all in one process."""
    paths: dict[str, str] = {}
    for number, (name, data) in enumerate({"warm": wire.batch([wire.record(0)]), **files}.items()):
        path = folder / f"t-{number}" / "00000000000000000000.log"
        path.parent.mkdir()
        path.write_bytes(data)
        paths[str(path)] = name
    warm, *rest = paths
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD)],
        input=json.dumps({"warm": warm, "questions": [(door, path) for door in doors for path in rest]}),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"KODEC_PURE": "1" if backend == "pure" else "0"},
    )
    assert done.returncode == 0, done.stderr
    return [(door, paths[path], said, grown) for door, path, said, grown in json.loads(done.stdout)]


@cache
def all_bombs() -> dict[str, bytes]:
    return bombs()


@MEASURED
@pytest.mark.parametrize("backend", ["native", "pure"])
def test_a_bomb_is_refused_in_little_memory(backend: str, tmp_path: Path) -> None:
    found = ask(tmp_path, backend, all_bombs(), ["records", "table", "verify", "dump"])
    assert max(grown for *_, grown in found) < MOST, found
    for door, name, said, _ in found:
        wanted = {"verify": 1, "dump": "status 1"}
        assert said in ("LimitExceeded", "Malformed") if door not in wanted else said == wanted[door], (
            door,
            name,
        )


@MEASURED
def test_a_bomb_is_not_converted(tmp_path: Path) -> None:
    some = {
        name: all_bombs()[name]
        for name in ("v2 lz4", "v1 gzip", "a count that is wrong", "many tiny records")
    }
    found = ask(tmp_path, "native", some, ["convert", "skip"])
    assert max(grown for *_, grown in found) < MOST, found
    assert {said for door, _, said, _ in found if door == "convert"} == {"LimitExceeded", "Malformed"}
    assert {said for door, _, said, _ in found if door == "skip"} == {0}


@MEASURED
@pytest.mark.parametrize("backend", ["native", "pure"])
def test_a_large_record_is_held_once(backend: str, tmp_path: Path) -> None:
    codecs = ("gzip", "snappy", "lz4", "zstd")
    files = {f"v2 {codec}": records(codec, stream(codec, large_record(VALUE)), 1) for codec in codecs}
    old = message(VALUE)
    files |= {f"v1 {codec}": wrapper(codec, stream(codec, old), 1) for codec in codecs[:-1]}
    files["v1 none"] = b"".join(old)
    files["v2 none"] = records("none", b"".join(large_record(VALUE)), 1)
    for door, _, said, grown in (found := ask(tmp_path, backend, files, ["records", "table"])):
        assert said == (VALUE * MIB if door == "records" else 1)
        assert VALUE - 8 <= grown < VALUE + MOST, found


# -- large batches are what they are when they are read at once -------------------------------------


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Contents are large from 1000 bytes on, and are read in parts of 200."""
    monkeypatch.setattr(compression, "AT_ONCE", 1000)
    monkeypatch.setattr(large, "AT_ONCE", 1000)
    monkeypatch.setattr(large, "PART", 200)
    for name in ("kernels", "rows"):
        monkeypatch.setattr(f"kodec.log.backends.native.{name}.MOST_NATIVE", 1000)
    monkeypatch.setattr("kodec.log.reading.walk.AT_ONCE", 1000)
    # a window of a file has no whole large batch
    monkeypatch.setattr("kodec.log.reading.source.CHUNK", 600)
    monkeypatch.setattr("kodec.log.reading.walk.CHUNK", 300)
    yield


def some_records(count: int = 60) -> list[kodec.Record]:
    sizes = [0, 1, 70, 199, 3000, 20]
    return [
        kodec.Record(
            offset=at,
            timestamp=1000 + at,
            key=None if at % 5 == 0 else b"k%d" % at,
            value=None if at % 7 == 0 else bytes([at % 251]) * sizes[at % 6],
            headers=(("h", b"v" * at), ("n", None)) if at % 4 == 0 else (),
        )
        for at in range(count)
    ]


def refusal(data: bytes, path: Path) -> tuple[str, str]:
    path.write_bytes(data)
    with pytest.raises(FormatError) as caught:
        list(kodec.read_records(path))
    return type(caught.value).__name__, str(caught.value)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_in_parts_all_is_the_same(
    codec: str, magic: int, small_parts: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if (codec, magic) in (("zstd", 0), ("zstd", 1)):
        pytest.skip("zstd is of magic 2")
    wanted = some_records()
    data = kodec.encode(wanted, magic=magic, compression=codec, lossy=True)
    small = wire.batch([wire.record(0, b"k", b"small")], base=100)
    path = tmp_path / "large.bin"
    path.write_bytes(data + small)
    parts = list(kodec.read_records(path))
    table = kodec.read_table(path)
    filtered = kodec.read_table(path, offsets=(10, 20))
    converted = b"".join(
        kodec.operations.convert_batches(
            kodec.read_batches(data), kodec.operations.ConvertOptions(compression="gzip")
        )
    )
    monkeypatch.undo()
    assert parts == list(kodec.read_records(data + small))
    assert [each.value for each in parts[:-1]] == [each.value for each in wanted]
    assert table.to_pylist() == kodec.read_table(data + small).to_pylist()
    assert filtered["offset"].to_pylist() == list(range(10, 21))
    assert converted == b"".join(
        kodec.operations.convert_batches(
            kodec.read_batches(data), kodec.operations.ConvertOptions(compression="gzip")
        )
    )


@pytest.mark.usefixtures("backend")
def test_in_parts_errors_are_the_same(
    small_parts: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = [wire.record(at, b"k", bytes([at]) * 90) for at in range(40)]
    whole = b"".join(rows)
    bad = wire.record(30, b"k", b"x")[:-1] + b"\x05"  # a header too few
    contents = {
        "a count too high": (whole, 41),
        "a count too low": (whole, 39),
        "a record cut short": (whole[:-1], 40),
        "a length below 0": (whole + b"\x01", 41),
        "a length of nothing": (whole + b"\0" + whole, 81),
        "half a length": (whole + b"\xff", 41),
        "a length that is too long": (whole + b"\xff" * 20, 41),
        "a header that is missing": (b"".join(rows[:30]) + bad + b"".join(rows[30:]), 41),
        "a large record with a header too few": (
            whole + wire.record(40, b"k", bytes(500))[:-1] + b"\x05",
            41,
        ),
    }
    batches = {
        f"{name}, {codec}": wire.batch(
            wire.squeeze(codec, content), count=count, attributes=wire.CODES[codec]
        )
        for name, (content, count) in contents.items()
        for codec in ("gzip", "none")
    }
    wrong = bytearray(wire.batch(rows))
    wrong[-1] ^= 1
    batches["a checksum"] = bytes(wrong)
    old = b"".join(wire.message(at, b"k", bytes([at]) * 90, magic=1) for at in range(40))
    for name, content in {
        "wrapper": old[:-1],
        "wrapper and more": old + bytes(20),
        "tail": old + b"abc",
    }.items():
        batches[name] = wrapper("gzip", stream("gzip", [content]), 1)
    large_one = wire.message(40, b"k", bytes(3000), magic=1)
    for at in (len(large_one) - 1, 16, 17, 26):  # in its value, its magic, its attributes, its key's length
        damaged = bytearray(large_one)
        damaged[at] ^= 1
        batches[f"a large message, byte {at}"] = bytes(damaged)
        batches[f"a wrapped one, byte {at}"] = wrapper("gzip", stream("gzip", [old + damaged]), 1)
    inside = wire.message(41, b"k", bytes(3000), magic=1)
    low = (5).to_bytes(8, "big")
    batches["offsets beyond the wrapper's"] = low + wrapper("gzip", stream("gzip", [old, inside]), 1)[8:]
    path = tmp_path / "large.bin"
    found = {name: refusal(data, path) for name, data in batches.items()}
    monkeypatch.undo()
    assert found == {name: refusal(data, path) for name, data in batches.items()}


@pytest.mark.usefixtures("backend")
def test_in_parts_the_number_of_elements_is_that_of_all(small_parts: None) -> None:
    data = kodec.encode(some_records(), compression="zstd")
    total = sum(1 + len(each.headers) for each in some_records())
    assert len(list(kodec.read_records(data, limits=kodec.Limits(elements=total)))) == 60
    for most in (total - 1, 60, 59):
        with pytest.raises(kodec.errors.LimitExceeded) as caught:
            list(kodec.read_records(data, limits=kodec.Limits(elements=most)))
        assert caught.value.limit == "elements"


@pytest.mark.usefixtures("backend")
def test_a_large_batch_that_is_wrong_leaves_no_row(small_parts: None) -> None:
    rows = [wire.record(at, b"k", bytes([at]) * 90) for at in range(40)]
    bad = wire.record(40, b"k", b"x")[:-1] + b"\x05"
    wrong = wire.batch(
        wire.squeeze("gzip", b"".join(rows) + bad), base=10, count=41, attributes=wire.CODES["gzip"]
    )
    good = wire.batch([wire.record(0, b"k", b"good")], base=0)
    after = wire.batch([wire.record(0, b"k", b"after")], base=90)
    table = kodec.read_table(good + wrong + after, on_error="skip")
    assert table["value"].to_pylist() == [b"good", b"after"]
