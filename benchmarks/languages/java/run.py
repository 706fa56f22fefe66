"""Generated Java beside Kafka's own classes, on the same bytes: `python benchmarks/languages/java/run.py`.

Prints CPU microseconds for each message or batch, medians of 15 turns, and kodec's time divided by Kafka's:
the median, least and largest of a turn.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT))

from tests.labs.differential.jvm import KAFKA, jars  # noqa: E402  # it is in the clone, not in the package


def main() -> int:
    print(f"kodec's Java and kafka-clients {KAFKA}; CPU µs", flush=True)
    with tempfile.TemporaryDirectory() as classes:
        path = f"{classes}:{jars()}/*"
        files = [*(ROOT / "runtime" / "java").rglob("*.java"), *(ROOT / "generated" / "java").rglob("*.java")]
        subprocess.run(
            ["javac", "--release", "17", "-nowarn", "-encoding", "UTF-8", "-cp", path, "-d", classes]
            + [str(each) for each in (*files, HERE / "Bench.java")],
            check=True,
        )
        command = ["java", "-Xmx1g", "-XX:+UseSerialGC", "-cp", path, "Bench"]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
