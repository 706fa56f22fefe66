"""The command: builds the logs, measures, prints the table and writes the results."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks import measure, report
from benchmarks.corpora import CASES, WORKLOADS, Case, build
from benchmarks.measure import Settings
from benchmarks.peers import PEERS, load, own

DIRECTIONS = {
    "decode": measure.decode,
    "key-value": measure.key_value,
    "iterate": measure.iterate,
    "encode": measure.encode,
}
_MIB = 1 << 20
ITERATED = ("kodec", "kodec-pure", "kafka-python", "aiokafka")
_RESULTS = Path(__file__).resolve().parent / "results"


def _arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small logs and short runs: shows that it works")
    parser.add_argument(
        "--size", type=float, default=64, help="MiB of each log before compression (%(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each case (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.25, help="CPU seconds of one run (%(default)s)")
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="which of %(default)s")
    parser.add_argument(
        "--peers", default=",".join(PEERS), help="some of %(default)s; kodec is always included"
    )
    parser.add_argument("--only", choices=DIRECTIONS, help="one direction")
    parser.add_argument("--plain", action="store_true", help="only v2 without compression")
    parser.add_argument(
        "--out", type=Path, default=None, help="where results go (benchmarks/results; nowhere if quick)"
    )
    options = parser.parse_args(given)
    options.workloads = [name for name in options.workloads.split(",") if name]
    options.peers = [name for name in options.peers.split(",") if name]
    for name in options.workloads:
        if name not in WORKLOADS:
            parser.error(f"unknown workload {name}: there are {', '.join(WORKLOADS)}")
    for name in options.peers:
        if name not in PEERS:
            parser.error(f"unknown peer {name}: there are {', '.join(PEERS)}")
    if options.rounds < 1 or options.size <= 0 or options.seconds <= 0:
        parser.error("rounds, size and seconds must be above 0")
    if options.quick:
        options.size, options.rounds, options.seconds = min(options.size, 0.25), min(options.rounds, 3), 0.01
    elif options.out is None:
        options.out = _RESULTS
    return options


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _cases(options: argparse.Namespace) -> list[Case]:
    return [
        case
        for case in CASES
        if case.workload in options.workloads
        and not (options.plain and (case.magic, case.codec) != (2, "none"))
    ]


def main(given: list[str] | None = None) -> int:
    """Measure; 0 when done, 1 if a peer's rows differ from kodec's, 130 when interrupted."""
    options = _arguments(given)
    settings = Settings(options.rounds, options.seconds)
    ours, missing = own()
    peers, absent = load(options.peers)
    everybody = ours + peers
    absent = missing | absent
    for name, reason in absent.items():
        _say(f"{name}: absent: {reason}")
    cases = _cases(options)
    results: list[report.Result] = []
    status = 0
    try:
        for number, case in enumerate(cases, 1):
            started = time.monotonic()
            # the input of writers is kept as objects: an eighth is far more than one run needs
            corpus = build(case, int(options.size * _MIB), int(options.size * _MIB / 8))
            with measure.frozen():
                for direction, run in DIRECTIONS.items():
                    if options.only not in (None, direction):
                        continue
                    who = everybody
                    if direction in ("key-value", "iterate"):
                        # of one format it is enough, and of those whose records are made one by one
                        who = [each for each in everybody if each.name in ITERATED]
                        if (case.magic, case.codec) != (2, "none"):
                            continue
                    figures = run(corpus, who, settings)
                    results.append(
                        report.Result(direction, case, corpus.raw_bytes, corpus.stored_bytes, figures)
                    )
                    rates = ", ".join(f"{each.name} {each.rate / 1e3:,.0f}" for each in figures)
                    _say(
                        f"[{number}/{len(cases)}] {direction} {case.name}, k/s: {rates} "
                        f"({time.monotonic() - started:.0f} s)"
                    )
    except measure.Disagreement as error:
        _say(f"stopped: {error}")
        status = 1
    except KeyboardInterrupt:
        _say("interrupted: this is what was done")
        status = 130
    finally:
        for each in everybody:
            # one that runs in a process of its own
            if (close := getattr(each, "close", None)) is not None:
                close()
    results.sort(key=lambda result: list(DIRECTIONS).index(result.direction))
    report.show(results)
    if options.out is not None and results:
        about = [f"{peer.name}: {peer.about}" for peer in everybody]
        for path in report.write(options.out, results, about, absent, settings):
            _say(f"wrote {path}")
    return status


if __name__ == "__main__":
    sys.exit(main())
