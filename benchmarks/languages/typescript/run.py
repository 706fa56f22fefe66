"""Our generated TypeScript beside kafkajs, as a table in Markdown; both are from `make node`.

python benchmarks/languages/typescript/run.py [ROUNDS]
"""

from __future__ import annotations

import json
import platform
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import kodec
from kodec.generated.messages import consumer_protocol_assignment as assignment
from kodec.generated.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kodec.generator.driver import generate

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def corpus() -> dict[str, str]:
    """The bytes that both read, in hexadecimal."""
    drawn = random.Random(1)
    topics = [f"orders-of-region-{i}" for i in range(20)]
    parts = [assignment.TopicPartition(topic=name, partitions=list(range(20))) for name in topics[:10]]

    def batch(count: int, size: int, headers: bool) -> str:
        records = [
            kodec.Record(
                timestamp=1_700_000_000_000 + 3 * i,
                key=drawn.randbytes(16),
                value=drawn.randbytes(size),
                headers=[("trace", drawn.randbytes(16)), ("source", b"web")] if headers else [],
            )
            for i in range(count)
        ]
        return kodec.encode(records).hex()

    message = assignment.ConsumerProtocolAssignment(version=0, assigned_partitions=parts, user_data=b"")
    ConsumerProtocolSubscription(version=0, topics=topics, user_data=b"")
    return {
        "assignment": message.to_bytes().hex(),
        "subscription": ConsumerProtocolSubscription(version=0, topics=topics, user_data=b"")
        .to_bytes()
        .hex(),
        "batch_100": batch(200, 100, False),
        "batch_1000": batch(50, 1000, True),
    }


def main(rounds: str = "15") -> None:
    tools = json.loads((ROOT / ".cache" / "node" / "node.json").read_text())
    modules = Path(tools["modules"])
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        generate(ROOT / "schemas", folder, targets=["typescript"])
        package = folder / "typescript"
        (package / "node_modules").symlink_to(modules)
        subprocess.run([tools["node"], modules / "typescript" / "bin" / "tsc"], cwd=package, check=True)
        (folder / "corpus.json").write_text(json.dumps(corpus()))
        script = [tools["node"], HERE / "bench.mjs", package, modules / "kafkajs"]
        done = subprocess.run(
            [*script, folder / "corpus.json", rounds], check=True, capture_output=True, text=True
        )
    version = json.loads((modules / "kafkajs" / "package.json").read_text())["version"]
    node = subprocess.run([tools["node"], "--version"], check=True, capture_output=True, text=True).stdout
    print(f"Node {node.strip()}, kafkajs {version}, {platform.machine()}, {rounds} rounds in turn, median.\n")
    print("| | bytes | kodec, µs | kafkajs, µs | kodec / kafkajs |\n|---|---:|---:|---:|---:|")
    for line in done.stdout.splitlines():
        each = json.loads(line)
        ours, theirs = each["kodec"] / 1000, each["kafkajs"] / 1000
        print(f"| {each['name']} | {each['bytes']:,} | {ours:,.1f} | {theirs:,.1f} | {ours / theirs:.2f} |")


if __name__ == "__main__":
    main(*sys.argv[1:2])
