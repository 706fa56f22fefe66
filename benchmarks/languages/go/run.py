"""Generated Go beside franz-go, on the same bytes in one run: `python benchmarks/languages/go/run.py`.

Prints a table: the best of 60 interleaved rounds, in nanoseconds for each record or message, and
kodec's time divided by the other's. sarama is not there: it has no public reader of record batches, and no
such messages.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import kodec
from kodec.generated.messages.offset_commit_value import OffsetCommitValue
from kodec.generator.driver import generate

HERE = Path(__file__).resolve().parent
SCHEMAS = HERE.parents[2] / "schemas"
FRANZ = ("github.com/twmb/franz-go@v1.20.7", "github.com/twmb/franz-go/pkg/kmsg@v1.12.0")


def batches(codec: str) -> bytes:
    """100,000 records of 100 bytes and a header, 1,000 to a batch."""
    found = b""
    for first in range(0, 100_000, 1000):
        records = [
            kodec.Record(
                key=b"key-%08d" % (first + n),
                value=(b"a line of a log, number %d, " % (first + n)) * 3,
                timestamp=1_700_000_000_000 + n,
                headers=[("trace", b"0123456789abcdef")],
            )
            for n in range(1000)
        ]
        found += kodec.encode(records, compression=codec, base_offset=first)
    return found


def commits() -> bytes:
    """100,000 values of offset commits as Kafka writes them today."""
    found = []
    for n in range(100_000):
        data = OffsetCommitValue(
            version=3, committed_offset=n, leader_epoch=n % 7, metadata=f"consumer-{n % 50}",
            commit_timestamp=1_700_000_000_000 + n,
        ).to_bytes()  # fmt: skip
        found.append(len(data).to_bytes(4, "big") + data)
    return b"".join(found)


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        generate(SCHEMAS, folder, targets=["go"])
        module = folder / "go"
        (module / "bench").mkdir()
        shutil.copy(HERE / "main.go", module / "bench" / "main.go")
        for command in (
            ["go", "mod", "init", "kodec.bench/formats"],
            *(["go", "get", each] for each in FRANZ),
            ["go", "mod", "tidy"],
            ["go", "build", "-o", str(folder / "run"), "./bench"],
        ):
            subprocess.run(command, cwd=module, check=True, capture_output=True, text=True)
        (folder / "commits").write_bytes(commits())
        print("| what | by | ns each | kodec / other |\n|---|---|---|---|")
        for codec in sys.argv[1:] or ("none", "lz4"):
            (folder / "batches").write_bytes(batches(codec))
            print(f"| **{codec}** | | | |", flush=True)
            subprocess.run(
                [str(folder / "run"), str(folder / "batches"), str(folder / "commits")], check=True
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
