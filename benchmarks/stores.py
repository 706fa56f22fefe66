"""Logs in an object store beside the same files: rates, latencies of lookups, and requests.

    python -m benchmarks.stores [--megabytes 256] [--rounds 3] [--delay 20] [--rate 100]

The store is a real server of the S3 API on loopback (`tests/labs/store_servers.py`, needs Go). It is read as
it is, and through a proxy that lets each request wait `--delay` ms and gives a connection `--rate` MB/s, as a
store in the same region does. The reader has one core and two; the server and the proxy have all. Plain GETs
are those of obstore alone, nothing is decoded: whole objects one after the other, and ranges as large as a
scan's, nine at once. A figure is the best of the rounds, which take turns, after one that does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import kodec
from kodec.stores import objects
from kodec.stores.storage import StorePath, path_of
from kodec.stores.upload import upload

_LABS = Path(__file__).resolve().parent.parent / "tests" / "labs"
URL = "s3://logs/large-0"
_RANGE, _AT_ONCE = 8 << 20, 9
_COLUMNS = ["offset", "timestamp", "key", "value"]


class Figure(NamedTuple):
    """The best time of a task, and the least CPU time of its process, in seconds."""

    seconds: float
    cpu: float


# -- in a process that has its cores from the start -------------------------------------------------


def tasks(place: str) -> dict[str, Callable[[], object]]:
    """What is timed, by name."""
    found: dict[str, Callable[[], object]] = {
        "scan_table": lambda: _count(kodec.scan_table(place, columns=_COLUMNS)),
        "read_records": lambda: _count(kodec.PartitionLog(place).records()),
        "kodec verify": lambda: subprocess.run(
            [sys.executable, "-m", "kodec", "verify", place], check=True, stdout=subprocess.DEVNULL
        ),
    }
    path = path_of(place)
    if isinstance(path, StorePath):
        logs = sorted(path.glob("*.log"))
        found = {"plain GETs": lambda: _get(logs), "ranges at once": lambda: _ranges(logs)} | found
    return found


def _count(items: Iterator[object]) -> int:
    return sum(1 for _ in items)


def _bucket() -> Any:
    return objects.object_storage("s3", "logs")


def _get(logs: list[StorePath]) -> None:
    for each in logs:
        for part in _bucket()._store.get(each.key).stream():
            len(part)


def _ranges(logs: list[StorePath]) -> None:
    parts = [
        (each, at, min(at + _RANGE, each.listed.size), each.listed)
        for each in logs
        if each.listed is not None
        for at in range(0, each.listed.size, _RANGE)
    ]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for _, data in threads.map(lambda part: _bucket().range(*part), parts):
            len(data)


def measure(place: str, rounds: int) -> dict[str, Figure]:
    work = tasks(place)
    best = dict.fromkeys(work, Figure(1e9, 1e9))
    for turn in range(rounds + 1):
        for name, task in work.items():
            cpu, begun = _cpu(), time.perf_counter()
            task()
            now = Figure(time.perf_counter() - begun, _cpu() - cpu)
            if turn:
                best[name] = Figure(min(best[name].seconds, now.seconds), min(best[name].cpu, now.cpu))
    return best


def _cpu() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


# -- the tables -------------------------------------------------------------------------------------


def rates(places: dict[str, tuple[str, str]], size: int, rounds: int) -> None:
    """A table of what each place and number of cores gives."""
    every = sorted(os.sched_getaffinity(0))
    print("\n| cores | where | task | MB/s | CPU, s for a GB | of plain GETs | of ranges at once |")
    print("|--:|---|---|--:|--:|--:|--:|")
    for cores in sorted({1, min(2, len(every))}):
        for where, (place, endpoint) in places.items():
            words = [sys.executable, "-m", "benchmarks.stores", "--rounds", str(rounds)]
            words += ["--measure", place, "--cores", str(cores)]
            environment: dict[str, str] = {**os.environ, "AWS_ENDPOINT_URL": endpoint}
            done = subprocess.run(words, check=True, capture_output=True, text=True, env=environment)
            found = {name: Figure(*each) for name, each in json.loads(done.stdout).items()}
            for name, each in found.items():
                of = [
                    f"{found[peer].seconds / each.seconds:.0%}" if peer in found and peer != name else ""
                    for peer in ("plain GETs", "ranges at once")
                ]
                print(
                    f"| {cores} | {where} | {name} | {size / each.seconds / 1e6:,.0f} | "
                    f"{each.cpu / size * 1e9:.2f} | {of[0]} | {of[1]} |",
                    flush=True,
                )


def lookups(local: Path, meter: Any) -> None:
    """A table of cold lookups: the first, in a new `PartitionLog`, and the next in the same."""
    here = kodec.PartitionLog(local)
    chosen = random.Random(0).sample(range(here.end_offset), 20)
    first = next(here.records(0)).timestamp
    print(f"\n| lookup, {len(here.segments)} segments | ms, median | requests, most | KiB, most |")
    print("|---|--:|--:|--:|")
    kinds: dict[str, Callable[[kodec.PartitionLog, int], object]] = {
        "by offset": lambda log, offset: cast(Any, log.find(offset))[1],
        "by time": lambda log, offset: log.find_timestamp(first + offset),
    }
    for name, ask in kinds.items():
        for again in (False, True):
            spent, requests, sizes = [], [], []
            for offset in chosen:
                log = kodec.PartitionLog(URL)
                if again:
                    ask(log, chosen[0])
                meter.reset()
                begun = time.perf_counter()
                found = ask(log, offset)
                spent.append(time.perf_counter() - begun)
                requests.append(sum(meter.requests.values()))
                sizes.append(meter.bytes)
                if found != ask(here, offset):
                    raise AssertionError(f"{name} {offset}: {found}")
            what = f"{name}, {'the next one' if again else 'the first one'}"
            middle = sorted(spent)[len(spent) // 2] * 1000
            print(f"| {what} | {middle:.0f} | {max(requests)} | {max(sizes) >> 10} |", flush=True)


@contextmanager
def far(to: int, delay: float, rate: float) -> Iterator[str]:
    """The endpoint of a proxy in a process of its own."""
    words = [sys.executable, "-m", "benchmarks.stores", "--proxy", str(to)]
    words += ["--delay", str(delay), "--rate", str(rate)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=256, help="of the log")
    parser.add_argument("--segment", type=int, default=64, help="MiB of a segment")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--delay", type=float, default=20, help="ms that a request waits")
    parser.add_argument("--rate", type=float, default=100, help="MB/s of a connection")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--cores", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--proxy", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.cores])
        print(json.dumps(measure(given.measure, given.rounds)))
        return
    # labs are scripts beside each other
    sys.path.insert(0, str(_LABS))
    from kafka_lab import CACHE
    from store_servers import KEY, SECRET, Meter, fetch_gateway, large_log, server

    if given.proxy:
        print(Meter(given.proxy, delay=given.delay / 1000, rate=given.rate * 1e6).port, flush=True)
        while True:
            time.sleep(3600)
    program = fetch_gateway(CACHE / "s3")
    with tempfile.TemporaryDirectory(dir=CACHE) as folder, server(program, Path(folder, "buckets")) as port:
        Path(folder, "buckets", "logs").mkdir()
        near = f"http://127.0.0.1:{port}"
        os.environ |= {"AWS_ENDPOINT_URL": near, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        os.environ["AWS_REGION"] = "us-east-1"
        local = large_log(Path(folder), given.megabytes, given.segment << 20)
        upload(local, cast(StorePath, path_of(URL)))
        size = sum(path.stat().st_size for path in local.glob("*.log"))
        print(f"{size >> 20} MiB, {given.delay:g} ms for a request and {given.rate:g} MB/s for a connection")
        with far(port, given.delay, given.rate) as distant:
            places = {"files": (str(local), near), "store, near": (URL, near), "store, far": (URL, distant)}
            rates(places, size, given.rounds)
        meter = Meter(port, delay=given.delay / 1000)
        os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{meter.port}"
        objects.object_storage.cache_clear()
        lookups(local, meter)


if __name__ == "__main__":
    main()
