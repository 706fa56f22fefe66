"""Formats of the public gallery as objects, beside ksc's Python: `python -m tests.foreign.objects`.

    python -m tests.foreign.objects [--formats PATH_OR_URL] [--rounds N] [FORMAT...]

The files are made here, of the same bytes each time: large ones, and small ones of some formats. CPU time of
reading one file into objects in a loop, so that freeing the objects and the collector count, the median of
some rounds, by turns: `Format.read` natively, our pure Python, ksc's Python. Instances are not read: nothing
asks for them.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import io
import random
import statistics
import struct
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from kodec.formats.cache import modules_of
from kodec.formats.collect import collect
from kodec.formats.schema import load_schema
from kodec.runtime.streams import ByteSource
from tests.foreign.run import URL, fetched
from tests.ksc import oracle

LEAST_CALLS, LEAST_SECONDS = 3, 0.2
Maker = Callable[[random.Random], bytes]


def _zip(rng: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(5000):
            archive.writestr(f"folder/file{number}.txt", rng.randbytes(rng.randrange(300)))
    return out.getvalue()


def _pcap(rng: random.Random) -> bytes:
    out = bytearray(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for number in range(20_000):
        body = rng.randbytes(20)
        udp = struct.pack(">HHHH", 53, 1000 + number % 1000, 8 + len(body), 0) + body
        ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(udp), number, 0, 64, 17, 0, 0x0A000001, 0x0A000002)
        frame = b"\1\2\3\4\5\6\6\5\4\3\2\1\x08\0" + ip + udp
        out += struct.pack("<IIII", number, 0, len(frame), len(frame)) + frame
    return bytes(out)


def _gif(rng: random.Random) -> bytes:
    frame = b"\x21\xf9\x04\0\0\0\0\0" + struct.pack("<BHHHHB", 0x2C, 0, 0, 10, 10, 0) + b"\x02"
    frames = (frame + (b"\x20" + rng.randbytes(32)) * 3 + b"\0" for _ in range(3000))
    return b"GIF89a" + struct.pack("<HHBBB", 10, 10, 0x87, 0, 0) + bytes(768) + b"".join(frames) + b"\x3b"


def _png(_: random.Random) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 10, 10, 8, 2, 0, 0, 0))
    texts = (chunk(b"tEXt", b"key%d\0value %d" % (number, number)) for number in range(10_000))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(texts) + chunk(b"IEND", b"")


def _dbf(_: random.Random) -> bytes:
    columns = ((b"A", b"C", 20), (b"B", b"N", 10))
    head = struct.pack("<BBBBIHH20x", 3, 100, 1, 1, 30_000, 32 * 3 + 1, 31)
    head += b"".join(
        name.ljust(11, b"\0") + kind + bytes(4) + bytes([size]) + bytes(15) for name, kind, size in columns
    )
    return head + b"\r" + (b" " + b"x" * 30) * 30_000 + b"\x1a"


def _midi(rng: random.Random) -> bytes:
    events = b"".join(b"\x10\x90" + bytes([rng.randrange(128), 64]) for _ in range(30_000))
    track = events + b"\x00\xff\x2f\x00"
    return b"MThd" + struct.pack(">IHHH", 6, 0, 1, 96) + b"MTrk" + struct.pack(">I", len(track)) + track


def _ogg(rng: random.Random) -> bytes:
    out = bytearray()
    for number in range(3000):
        sizes = bytes(rng.randrange(1, 60) for _ in range(10))
        head = struct.pack("<4sBBQIIIB", b"OggS", 0, 0, number, 7, number, 0, len(sizes))
        out += head + sizes + rng.randbytes(sum(sizes))
    return bytes(out)


def _cpio(rng: random.Random) -> bytes:
    out = bytearray()
    for number in range(5000):
        path, body = b"folder/file%d" % number, rng.randbytes(rng.randrange(300))
        head = (0x71C7, 1, number & 0xFFFF, 0o644, 0, 0, 1, 0, 0, number, len(path) + 1, 0, len(body))
        out += struct.pack("<13H", *head) + path + b"\0" + b"\0" * (len(path) + 1 & 1)
        out += body + b"\0" * (len(body) & 1)
    return bytes(out)


def _small_gif(_: random.Random) -> bytes:
    frame = b"\x21\xf9\x04\0\0\0\0\0" + struct.pack("<BHHHHB", 0x2C, 0, 0, 10, 10, 0) + b"\x02\x03abc\0"
    return b"GIF89a" + struct.pack("<HHBBB", 10, 10, 0x80, 0, 0) + bytes(6) + frame * 12 + b"\x3b"


def _small_png(_: random.Random) -> bytes:
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", 10, 10, 8, 2, 0, 0, 0)),
        (b"IDAT", b"x" * 300),
        (b"IEND", b""),
    )
    parts = (struct.pack(">I", len(data)) + kind + data + bytes(4) for kind, data in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _small_zip(_: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("name", b"content")
    return out.getvalue()


FILES: dict[str, Maker] = {
    "archive/cpio_old_le": _cpio,
    "archive/zip": _zip,
    "database/dbf": _dbf,
    "image/gif": _gif,
    "image/png": _png,
    "media/ogg": _ogg,
    "media/standard_midi_file": _midi,
    "network/pcap": _pcap,
}
SMALL: dict[str, Maker] = {"archive/zip": _small_zip, "image/gif": _small_gif, "image/png": _small_png}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("names", nargs="*", metavar="FORMAT", help=", ".join(FILES))
    given = parser.parse_args(arguments)
    if wrong := [name for name in given.names if name not in FILES]:
        parser.error(f"no such file: {', '.join(wrong)}")
    formats = fetched(given.formats)
    with tempfile.TemporaryDirectory() as folder:
        oracle.compile_schemas(Path(folder), ("python",), formats)
        sys.path.insert(0, f"{folder}/python")
        print("| format | bytes | native, µs | pure Python, µs | ksc, µs | ksc / native | ksc / pure |")
        print("|---|--:|--:|--:|--:|--:|--:|")
        found: list[tuple[float, float]] = []
        names = list(given.names or FILES)
        makers = [(name, FILES[name]) for name in names]
        makers += [(name, SMALL[name]) for name in names if name in SMALL]
        for name, maker in makers:
            data = maker(random.Random(1))
            calls = (
                # some files have bytes that their schema does not describe
                partial(load_schema(formats / f"{name}.ksy").read, exact=False),
                objects_of(formats, name, natively=False),
                _theirs(name),
            )
            rounds = [[_cpu(call, data) for call in calls] for _ in range(given.rounds)]
            native, pure, ksc = (statistics.median(each) * 1e6 for each in zip(*rounds, strict=True))
            found.append((ksc / native, ksc / pure))
            times = f"{native:,.1f} | {pure:,.1f} | {ksc:,.1f} | {ksc / native:.1f} | {ksc / pure:.2f}"
            print(f"| {name} | {len(data):,} | {times} |", flush=True)
        means = [statistics.geometric_mean(each) for each in zip(*found, strict=True)]
        print(f"| geometric mean | | | | | {means[0]:.1f} | {means[1]:.2f} |")
    return 0


def objects_of(formats: Path, name: str, *, natively: bool) -> Callable[[bytes], Any]:
    """A function that reads a file of a format into kodec's objects."""
    path, files = collect(formats / f"{name}.ksy")
    cls: Any = getattr(modules_of(files).module(path.removesuffix(".ksy")), _camel(name))

    def read(data: bytes) -> Any:
        io = ByteSource.of(data)
        io.state.native = natively
        return io.read(cls(), None, "")

    return read


def _theirs(name: str) -> Callable[[bytes], Any]:
    found: Any = getattr(importlib.import_module(name.rpartition("/")[2]), _camel(name))
    return lambda data: found.from_bytes(data)


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.rpartition("/")[2].split("_"))


def _cpu(call: Callable[[bytes], Any], data: bytes) -> float:
    """Seconds for one call, of as many as take a while."""
    gc.collect()
    times = LEAST_CALLS
    while True:
        start = time.process_time()
        for _ in range(times):
            call(data)
        taken = time.process_time() - start
        if taken >= LEAST_SECONDS:
            return taken / times
        times *= 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
