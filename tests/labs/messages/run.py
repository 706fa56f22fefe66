#!/usr/bin/env python3
"""Compares every version of every message with Kafka's own classes, on random contents.

    python tests/labs/messages/run.py --rounds 200 --seed 1
    python tests/labs/messages/run.py --protocol         requests and responses too, generated for it

The last one also shows what holds of all messages together (scale.py).

Exit code: 0 if nothing differs, 1 where something does, 2 where Kafka cannot be run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "differential")]

import jvm  # noqa: E402  # next to this file
from message_campaign import run  # noqa: E402
from message_judge import KAFKA, SOURCE, MessageJudge  # noqa: E402
from scale import generated, of_protocol, scaled, stored  # noqa: E402


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=100, help="contents for each version (default: 100)")
    parser.add_argument("--seed", default="1", help="another seed makes other contents (default: 1)")
    parser.add_argument("--only", action="append", default=[], help="a message's name; may be repeated")
    parser.add_argument("--protocol", action="store_true", help="requests, responses and headers too")
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    held: list[tuple[str, bool]] = []
    try:
        folder = jvm.jars(KAFKA, SOURCE.parent)
        with MessageJudge() as judge, tempfile.TemporaryDirectory() as made:
            messages, package = stored(folder), "kodec.generated"
            if options.protocol:
                package = generated(folder, Path(made))
                messages += of_protocol(folder)
                held = list(scaled(folder, Path(made)))
            if options.only:
                messages = [each for each in messages if each.name in options.only]
            tally = run(judge, messages, package, options.rounds, options.seed)
    except jvm.Absent as error:
        print(f"messages: {error}", file=sys.stderr)
        return 2
    print(f"Kafka {KAFKA}, seed {options.seed}, {time.monotonic() - begun:,.0f} s")
    for name, count in tally.counts.items():
        print(f"{count:>10,} {name}")
    for what, holds in held:
        print(f"{'holds' if holds else 'FAILS':>10} {what}")
    for failure in tally.failures[:20]:
        print(failure)
    print(f"{len(tally.failures):,} differences" if tally.failures else "no difference")
    return 1 if tally.failures or not all(holds for _, holds in held) else 0


if __name__ == "__main__":
    sys.exit(main())
