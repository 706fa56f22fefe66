"""Shows what a scan costs from 1 MiB to 4 GiB, in time and memory: `python -m benchmarks.scale`.

Needs the native kernel and, in the folder of temporary files, room for the largest file.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import kodec
from benchmarks.corpora import Case, build
from benchmarks.report import facts

_MIB = 1 << 20
_SIZES = (1, 4, 16, 64, 256, 1024, 4096)
_HEAD_BATCH = 16 << 10
_OFFSET = struct.Struct(">q")  # the first field of a batch
_RESULTS = Path(__file__).resolve().parent / "results"

# Each size in a process of its own, so that what it took at most is that of this scan. What exists before
# is that of a scan of nothing: Python, Arrow and the kernels.
_CHILD = """
import json, sys, time
import kodec

def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024

path, what, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])

def run(source):
    if what == "columns":
        return sum(batch.num_rows for batch in kodec.scan_table(source))
    if what == "objects":
        return sum(1 for _ in kodec.read_records(source))
    return sum(batch.num_rows for batch in kodec.scan_batch_table(source))

run(b"")
before, times = peak(), []
while not times or (sum(cpu for cpu, _ in times) < seconds and len(times) < 200):
    cpu, wall = time.process_time(), time.perf_counter()
    rows = run(path)
    times.append((time.process_time() - cpu, time.perf_counter() - wall))
cpu, wall = (sorted(each)[len(times) // 2] for each in zip(*times))
print(json.dumps({"rows": rows, "cpu": cpu, "wall": wall, "before": before, "peak": peak()}))
"""


def _grow(path: Path, base: bytes, start: int, size: int) -> None:
    """Append copies of the batches in `base`, their offsets counted on, until the file has `size` bytes.

    The checksum of a batch does not cover its offset, so that each stays whole.
    """
    places, rows, at = [], 0, 0
    for batch in kodec.read_batches(base):
        places.append((at, rows))
        rows += batch.count
        at += batch.size
    number = start // len(base)
    with path.open("ab") as file:
        while file.tell() < size:
            copy = bytearray(base)
            for place, first in places:
                _OFFSET.pack_into(copy, place, number * rows + first)
            file.write(copy)
            number += 1


def _measured(path: Path, what: str, seconds: float) -> dict[str, Any]:
    command = [sys.executable, "-c", _CHILD, str(path), what, str(seconds)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=_RESULTS.parents[1])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _sizes(folder: Path, most: int, seconds: float) -> list[dict[str, Any]]:
    base = build(Case("W2"), _MIB, 1).data
    path = folder / "scale.log"
    path.touch()
    rows = []
    for size in [size for size in _SIZES if size <= most]:
        _grow(path, base, path.stat().st_size, size * _MIB)
        for what in ("columns", "objects"):
            if what == "objects" and size > 256:
                continue
            found = _measured(path, what, seconds)
            rows.append({"what": what, "mib": size, "bytes": path.stat().st_size} | found)
            print(_line(rows[-1]), file=sys.stderr, flush=True)
    return rows


def _line(row: dict[str, Any]) -> str:
    cells = _cells(row)
    return f"{cells[0]:>8} {cells[1]:>6} MiB: " + ", ".join(cells[2:])


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["what"],
        f"{row['mib']:,}",
        f"{row['rows']:,}",
        f"{row['cpu'] / row['rows'] * 1e9:.1f}",
        f"{row['bytes'] / row['cpu'] / 1e9:.2f}",
        f"{row['before'] / _MIB:.0f}",
        f"{row['peak'] / _MIB:.0f}",
        f"{(row['peak'] - row['before']) / _MIB:.0f}",
    )


def _wall(run: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return median(times)


def _scan(path: Path) -> None:
    for _ in kodec.scan_table(path):
        pass


def _threads(folder: Path, size: int, rounds: int) -> dict[str, float]:
    """Wall seconds of two files one after the other, and of both at once in two threads, in two processes.

    The processes share nothing but the machine: what they gain is what two cores of it give.
    """
    base = build(Case("W2"), _MIB, 1).data
    paths = [folder / f"{name}.log" for name in ("one", "two")]
    for path in paths:
        path.touch()
        _grow(path, base, 0, size * _MIB)

    def in_turn() -> None:
        for path in paths:
            _scan(path)

    times: dict[str, list[float]] = {"in_turn": [], "threads": [], "processes": []}
    with ProcessPoolExecutor(2, get_context("spawn")) as processes, ThreadPoolExecutor(2) as threads:
        runs: dict[str, Callable[[], object]] = {
            "in_turn": in_turn,
            "threads": lambda: list(threads.map(_scan, paths)),
            "processes": lambda: list(processes.map(_scan, paths)),
        }
        for number in range(rounds + 2):
            for name, run in runs.items():
                taken = _wall(run, 1)
                if number > 1:  # the first start processes and import
                    times[name].append(taken)

    def gain(name: str) -> float:
        return median(turn / at_once for turn, at_once in zip(times["in_turn"], times[name], strict=True))

    gains = {f"{name}_gain": gain(name) for name in ("threads", "processes")}
    return {"mib": size} | {name: median(each) for name, each in times.items()} | gains


def _heads(folder: Path, size: int, seconds: float) -> dict[str, Any]:
    """The headers of batches of 16 KiB."""
    records = next(iter(build(Case("W2"), 1, 1 << 20).rows))
    per_batch = len(records) * _HEAD_BATCH // len(kodec.encode(records, batch_records=len(records)))
    base = b"".join(kodec.encode(records[:per_batch], base_offset=0) for _ in range(64))
    path = folder / "heads.log"
    path.touch()
    _grow(path, base, 0, size * _MIB)
    return {"what": "headers", "mib": size, "bytes": path.stat().st_size} | _measured(
        path, "headers", seconds
    )


def _markdown(whole: dict[str, Any]) -> str:
    known, threads, heads = whole["facts"], whole["threads"], whole["headers"]
    head = ("", "MiB", "records", "ns a record", "GB/s", "RSS before, MiB", "at most", "more")
    lines = [
        f"# Scale: {known['date']}, commit {known['commit']}\n",
        f"{known['cpu']}, {known['cores']} cores, {known['system']}, {known['python']}. W2, v2, not "
        "compressed, from files in the page cache, checksums verified; CPU time, median of several scans, "
        "each size in a process of its own.\n",
        "| " + " | ".join(head) + " |",
        "|---" + "|--:" * (len(head) - 1) + "|",
        *("| " + " | ".join(_cells(row)) + " |" for row in whole["sizes"]),
        "",
        f"- Two files of {threads['mib']} MiB in two threads: {threads['threads_gain']:.2f}x as fast as in "
        f"turn, in two processes {threads['processes_gain']:.2f}x (wall time, median): "
        f"{threads['threads']:.3f} s, {threads['processes']:.3f} s, in turn {threads['in_turn']:.3f} s.",
        f"- Headers of {heads['mib']} MiB in {heads['rows']:,} batches of 16 KiB: {heads['cpu']:.3f} s of "
        f"CPU time, {heads['wall']:.3f} s of wall time.",
    ]
    return "\n".join(lines) + "\n"


def main(given: list[str] | None = None) -> int:
    """Measure and write `<date>-<commit>-scale.json` and `.md`; 2 without the native kernel."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--most", type=int, default=_SIZES[-1], help="MiB of the largest file (%(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU seconds of each size (%(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of two threads (%(default)s)")
    parser.add_argument("--out", type=Path, default=_RESULTS, help="where results go (benchmarks/results)")
    options = parser.parse_args(given)
    if kodec.backend() != "native":
        print("the native kernel is not built, or KODEC_PURE=1 is set", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = {
            "facts": facts(),
            "sizes": _sizes(folder, options.most, options.seconds),
            "threads": _threads(folder, min(256, options.most), options.rounds),
            "headers": _heads(folder, min(1024, options.most), options.seconds),
        }
    text = _markdown(whole)
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    known = facts()
    for suffix, content in (("json", json.dumps(whole, indent=1) + "\n"), ("md", text)):
        path = options.out / f"{known['date']}-{known['commit']}-scale.{suffix}"
        path.write_text(content, encoding="utf-8")
        print(f"wrote {path}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
