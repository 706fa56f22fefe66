"""Speed and memory of compaction (on Linux): `python -m benchmarks.compaction`."""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import kodec
from kodec.log.kernel import backend
from kodec.log.reading.reader import read_batches
from kodec.log.writing.segment_writer import SegmentWriter

_START = 1_700_000_000_000
_IN_A_BATCH = 500
_SEGMENT = 256 << 20
_CHILD = """
import json, re, sys, time
from pathlib import Path
from kodec.log.cleaning.compaction import plan_compaction

def peak():
    # Not getrusage: what that reports about a process begins with its parent's memory.
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])

folder, buffer = sys.argv[1], int(sys.argv[2])
idle = peak()
begun, used = time.perf_counter(), time.process_time()
report = plan_compaction(folder, buffer_bytes=buffer, segment_bytes=1 << 30).apply()
print(json.dumps({
    "seconds": time.perf_counter() - begun,
    "cpu": time.process_time() - used,
    "idle": idle,
    "peak": peak(),
    "rounds": report.rounds,
    "keys": report.keys,
    "before": report.bytes_before,
    "after": report.bytes_after,
    "kept": report.counts.records - report.counts.records_removed if report.rounds == 1 else None,
    "removed": report.counts.records_removed,
}))
"""


def make_log(folder: Path, records: int, keys: int, codec: str) -> int:
    """A log of keys of 16 bytes, drawn at random, with values of 100; the bytes of its logs."""
    draw = random.Random(7)
    folder.mkdir()
    offset = size = 0
    writer = SegmentWriter(folder, 0)
    while offset < records:
        batch = [
            kodec.Record(
                key=b"key-%012d" % draw.randrange(keys), value=b"%0100d" % number, timestamp=_START + number
            )
            for number in range(offset, min(offset + _IN_A_BATCH, records))
        ]
        data = kodec.encode(batch, base_offset=offset, compression=codec)
        if writer.size + len(data) > _SEGMENT:
            size += writer.size
            writer.close(flush=False)
            writer = SegmentWriter(folder, offset)
        writer.append_all(data, list(read_batches(data, check_crc=False)))
        offset += len(batch)
    size += writer.size
    writer.close(flush=False)
    # The active segment is not compacted: an empty one follows all records.
    SegmentWriter(folder, records).close()
    return size


def measure(folder: Path, buffer: int) -> dict[str, float]:
    """Compact in a separate process, whose memory is measured."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(folder), str(buffer)], check=True, capture_output=True, text=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def last_values(folder: Path) -> tuple[int, int]:
    """The number of records and of keys, which are equal after a complete compaction."""
    count, keys = 0, set()
    with kodec.PartitionLog(folder) as log:
        for record in log.records(check_crc=False):
            count += 1
            keys.add(record.key)
    return count, len(keys)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compaction", description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000, help="how many different ones are drawn from")
    parser.add_argument("--codec", default="none")
    parser.add_argument(
        "--buffer", type=int, nargs="+", default=[64, 16], help="MiB for the keys, several runs"
    )
    parser.add_argument("--dir", type=Path, default=None, help="where the log is made")
    options = parser.parse_args()
    rows = []
    for buffer in options.buffer:
        with tempfile.TemporaryDirectory(dir=options.dir) as root:
            folder = Path(root) / "bench-0"
            print(f"making {options.records:,} records ...", file=sys.stderr, flush=True)
            size = make_log(folder, options.records, options.keys, options.codec)
            os.sync()
            print(
                f"compacting {size / 1e6:,.0f} MB with {buffer} MiB for the keys ...",
                file=sys.stderr,
                flush=True,
            )
            found = measure(folder, buffer << 20)
            count, keys = last_values(folder)
            if count != keys:
                print(f"wrong: {count:,} records of {keys:,} keys are left", file=sys.stderr)
                return 1
            rows.append((buffer, size, found, count))
    python = f"Python {sys.version.split()[0]}"
    print(f"{options.records:,} records of {options.keys:,} keys, {options.codec}, {python}, {backend()}")
    print("| buffer MiB | rounds | s | CPU s | records/s | MB/s | RSS before MiB | peak MiB | records left |")
    print("|" + "---|" * 9)
    for buffer, size, found, count in rows:
        seconds = found["seconds"]
        cells = (
            f"{buffer}",
            f"{found['rounds']:.0f}",
            f"{seconds:.1f}",
            f"{found['cpu']:.1f}",
            f"{options.records / seconds:,.0f}",
            f"{size / seconds / 1e6:,.1f}",
            f"{found['idle'] / 1024:.0f}",
            f"{found['peak'] / 1024:.0f}",
            f"{count:,}",
        )
        print(f"| {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
