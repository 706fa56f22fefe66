"""Speed of append, lookup and recovery, compared with the disk alone: `python -m benchmarks.log_layer`.

Figures are by the clock, and in brackets by the CPU time of this process, which other work on the machine
affects less.
"""

# ruff: noqa: B023  (what a loop hands to `_timed` is called at once)

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import kodec
from kodec.log.directories.segment import Segment
from kodec.log.files.durable import write_all
from kodec.log.files.listing import list_partition
from kodec.log.recovery.planning import plan_recovery
from kodec.log.writing.config import LogConfig
from kodec.log.writing.writer import LogWriter
from kodec.runtime.crc import crc32c

_MIB = 1 << 20
_START = 1_700_000_000_000
_IN_A_BATCH = 100
_WIDE = LogConfig(segment_bytes=2**31 - 1)


def _records(number: int) -> list[kodec.Record]:
    """A batch: keys of 16 bytes, values of 130, a millisecond apart."""
    first = number * _IN_A_BATCH
    return [
        kodec.Record(key=b"key-%012d" % each, value=b"%0130d" % each, timestamp=_START + each)
        for each in range(first, first + _IN_A_BATCH)
    ]


def _line(what: str, figure: str, beside: str = "") -> None:
    print(f"{what:<58}{figure:>22}  {beside}".rstrip(), flush=True)


class _Time(NamedTuple):
    """Seconds by the clock, and of the CPU."""

    clock: float
    cpu: float


def _timed(work: Callable[[], object]) -> _Time:
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return _Time(time.perf_counter() - clock, time.process_time() - cpu)


def append(folder: Path, batches: int, flushed: int) -> None:
    """Batches of about 16 KB, made before, or from records; `flushed` of them with an fsync each."""
    given = [_records(number) for number in range(batches)]
    data = [kodec.encode(each, base_offset=0) for each in given]
    size = sum(map(len, data))

    def told(what: str, took: _Time, count: int, raw: _Time | None = None) -> _Time:
        rate = f"{count * _IN_A_BATCH / took.clock:,.0f} records/s"
        beside = f"{sum(map(len, data[:count])) / took.clock / _MIB:,.0f} MiB/s"
        if raw is not None:
            beside += f", {took.clock / raw.clock:.2f} times the raw write"
        _line(what, rate, f"{beside} ({1e6 * took.cpu / count:.0f} us of CPU a batch)")
        return took

    def raw(count: int, *, fsync: bool) -> _Time:
        fd = os.open(folder / "raw", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

        def work() -> None:
            at = 0
            for each in data[:count]:
                write_all(fd, each, at)
                at += len(each)
                if fsync:
                    os.fsync(fd)

        try:
            return _timed(work)
        finally:
            os.close(fd)
            (folder / "raw").unlink()

    def written(name: str, source: list[bytes] | list[list[kodec.Record]], *, fsync: bool) -> _Time:
        config = LogConfig(flush_messages=_IN_A_BATCH) if fsync else LogConfig()
        with LogWriter(folder / name, config=config) as log:
            return _timed(lambda: [log.append(each) for each in source])

    _line(f"append {batches} batches of {_IN_A_BATCH} records, {size / _MIB:.0f} MiB", "")
    plain = told("  raw write", raw(batches, fsync=False), batches)
    told("  LogWriter, batches", written("a-0", data, fsync=False), batches, plain)
    told("  LogWriter, records", written("b-0", given, fsync=False), batches, plain)
    plain = told("  raw write, fsync after each", raw(flushed, fsync=True), flushed)
    told("  LogWriter, batches, flush after each", written("c-0", data[:flushed], fsync=True), flushed, plain)


def fill(folder: Path, size: int) -> int:
    """A log of one segment of this size; how many records."""
    count = 0
    with LogWriter(folder, config=_WIDE) as log:
        while log._active.size < size:
            log.append(_records(count // _IN_A_BATCH))
            count += _IN_A_BATCH
    return count


def lookup(folder: Path, records: int, times: int) -> None:
    """By offset and by time: with nothing in memory, just opened, and once more with all in memory."""
    (files,) = list_partition(folder).segments
    draw = random.Random(5)

    def forget() -> None:
        for path in (files.log, files.index, files.timeindex):
            assert path is not None
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)

    def told(what: str, times: list[float]) -> None:
        micros = sorted(1e6 * each for each in times)
        ninety = micros[int(len(micros) * 0.99) - 1]
        _line(what, f"{statistics.median(micros):,.0f} us", f"99 % below {ninety:,.0f} us")

    for name, find in (
        ("offset", lambda segment, wanted: segment.find(wanted)),
        ("timestamp", lambda segment, wanted: segment.find_timestamp(_START + wanted)),
    ):
        cold, opened, warm = [], [], []
        for _ in range(times):
            wanted = draw.randrange(records)
            forget()
            segment = Segment(files)
            cold.append(_timed(lambda: find(segment, wanted)).clock)
            segment.close()
            opened.append(_timed(lambda: find(segment, wanted)).clock)
            other = draw.randrange(records)
            find(segment, other)
            warm.append(_timed(lambda: find(segment, other)).clock)
            segment.close()
        told(f"lookup by {name}, nothing in memory", cold)
        told(f"lookup by {name}, in memory, files just opened", opened)
        told(f"lookup by {name}, in memory, again", warm)


def recovery(folder: Path) -> None:
    """Recovery of a segment without indexes, compared with reading it and computing one checksum."""
    (files,) = list_partition(folder).segments
    for path in (files.index, files.timeindex):
        assert path is not None
        path.unlink()

    def read(checksum: bool) -> None:
        with files.log.open("rb", buffering=0) as file:
            while block := file.read(_MIB):
                if checksum:
                    crc32c(block)

    read(False)
    size = files.log.stat().st_size / _MIB
    for what, work in (
        (f"read {size:.0f} MiB, in memory", lambda: read(False)),
        ("read and CRC-32C of it", lambda: read(True)),
        ("recover it and rebuild its indexes", lambda: plan_recovery(folder, from_start=True).apply()),
        ("recover it again: nothing to do", lambda: plan_recovery(folder, from_start=True).apply()),
    ):
        took = _timed(work)
        _line(what, f"{took.clock:.2f} s", f"{size / took.clock:,.0f} MiB/s ({took.cpu:.2f} s of CPU)")


def main(given: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.log_layer", description=__doc__)
    parser.add_argument("--size", type=int, default=1024, help="MiB of the segment (%(default)s)")
    parser.add_argument("--batches", type=int, default=6000, help="batches to append (%(default)s)")
    parser.add_argument("--flushed", type=int, default=500, help="with an fsync after each (%(default)s)")
    parser.add_argument("--lookups", type=int, default=1000, help="lookups of each kind (%(default)s)")
    parser.add_argument("--folder", type=Path, default=None, help="where; a temporary one if not given")
    options = parser.parse_args(given)
    with tempfile.TemporaryDirectory(dir=options.folder) as base:
        append(Path(base), options.batches, options.flushed)
        folder = Path(base) / "large-0"
        records = fill(folder, options.size * _MIB)
        lookup(folder, records, options.lookups)
        recovery(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
