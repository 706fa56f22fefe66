#!/usr/bin/env python3
"""Compares kodec with Kafka's own classes on many valid and broken inputs, and lists what differs.

    python tests/labs/differential/run.py --inputs 1000000 --seed 1 --jobs 2

Exit code: 0 if every difference is one of known.py, 1 where one is not, 2 where Kafka cannot be run.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import campaign
import corpus
import jvm
import known

import kodec

EXIT_UNUSABLE = 2


def save(failures: list[tuple[str, bytes, str]], folder: Path) -> None:
    """Each failing input as a file, with a text next to it that shows what differs."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, data, text) in enumerate(failures[:200]):
        (folder / f"{number:04}.bin").write_bytes(data)
        (folder / f"{number:04}.txt").write_text(f"{name}\n{text}\n", errors="backslashreplace")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=50_000, help="how many (default: 50,000)")
    parser.add_argument("--seed", default="1", help="another seed makes other inputs (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with a JVM (default: 1)")
    parser.add_argument("--kafka", default=jvm.KAFKA, help=f"3.9.x or 4.x (default: {jvm.KAFKA})")
    parser.add_argument(
        "--failures", type=Path, default=jvm.CACHE / "failures", help="folder for failing inputs"
    )
    parser.add_argument(
        "--section", action="store_true", help="print the section of docs/differences.md, and end"
    )
    parser.add_argument(
        "--corpus", action="store_true", help=f"make {corpus.FOLDER.name}/ in tests/data anew, and end"
    )
    parser.add_argument(
        "--keep", type=Path, action="append", default=[], help="with --corpus: saved failures too"
    )
    options = parser.parse_args(arguments)
    if options.section:
        print(known.render(), end="")
        return 0
    begun = time.monotonic()
    try:
        if options.corpus:
            print(corpus.make(options.inputs, options.seed, options.keep))
            return 0
        tally = campaign.run(options.inputs, options.seed, options.jobs, options.kafka)
    except jvm.Absent as error:
        print(f"differential: {error}", file=sys.stderr)
        return EXIT_UNUSABLE
    spent = time.monotonic() - begun
    print(f"\nkodec {kodec.__version__} beside kafka-clients {options.kafka}, seed {options.seed}")
    print(f"{tally.inputs:,} inputs in {spent:,.0f} s, {tally.inputs / spent:,.0f} a second\n")
    print(tally.table())
    if tally.failures:
        save(tally.failures, options.failures)
        print(f"\n{len(tally.failures):,} unexplained, saved in {options.failures}:")
        for name, _, text in tally.failures[:10]:
            print(f"  {name}: {text[:400]}")
        return 1
    print("\nno unexplained difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
