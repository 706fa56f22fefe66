"""Every version of every message that Kafka stores: our bytes are those of Kafka's own classes."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jvm
import pytest
from contents import made
from message_campaign import run
from message_judge import KAFKA, SOURCE, MessageJudge
from scale import stored
from vectors import FILE

from kodec.log.messages.as_json import plain
from kodec.runtime.messages import in_python

ROOT = Path(__file__).resolve().parents[3]
VECTORS = [json.loads(line) for line in FILE.read_text().splitlines()]
MODULES = sorted({each["module"] for each in VECTORS})


def kind_of(vector: dict[str, Any]) -> Any:
    module = __import__(f"kodec.generated.{vector['module']}", fromlist=["_"])
    stem = vector["module"].rpartition(".")[2]
    return getattr(module, "".join(part.capitalize() for part in stem.split("_")))


@pytest.mark.parametrize("module", MODULES)
def test_kept_vectors(module: str) -> None:
    """Needs no Java: Kafka's bytes are kept."""
    kept = [each for each in VECTORS if each["module"] == module]
    # a version that only our schemas have is nothing that Kafka could have written
    assert {each["version"] for each in kept} <= set(getattr(kind_of(kept[0]), "VERSIONS", (0,)))
    for vector in kept:
        kind, data, version = kind_of(vector), base64.b64decode(vector["bytes"]), vector["version"]
        keys = {"version": version} if vector["given"] else {}
        value = made(kind, vector["document"], version)
        assert value.to_bytes(**keys) == in_python(kind.to_bytes)(value, **keys) == data
        assert kind.from_bytes(data, **keys) == in_python(kind.from_bytes)(data, **keys) == value
        shown = plain(value, version)
        tags = {
            name[:1].lower() + name[1:] for name in (kind.NAMES[each] for each in getattr(kind, "TAGS", ()))
        }
        assert shown.keys() - tags == vector["document"].keys() - tags


def test_no_stored_message_is_without_vectors() -> None:
    folders = ("messages", "metadata", "remote_log")
    there = {
        f"{folder}.{path.stem}" for folder in folders for path in (ROOT / "schemas" / folder).glob("*.ksy")
    }
    control = {"leader_change_message", "snapshot_header_record", "snapshot_footer_record"}
    control |= {"kraft_version_record", "voters_record"}
    assert set(MODULES) == there | {f"control.{name}" for name in control}


READS = """
import sys
import kodec
from kodec.log.messages.decoding import decode_record
for log in kodec.LogDirectory(sys.argv[1]):
    for segment in log.segments:
        assert list(kodec.read_records(segment.path, control=True)) is not None
        assert kodec.read_table(segment.path) is not None and kodec.read_batch_table(segment.path) is not None
kodec.encode([kodec.Record(value=b"v")])
list(kodec.repair.verify(sys.argv[1] + "/orders-0"))
print(*sys.modules)
# which messages there are is known without them; one that is decoded imports itself
decode_record("__consumer_offsets", bytes((0, 2, 0, 1, 103)), None)
print(*sys.modules)
"""


def test_what_reads_records_imports_no_message() -> None:
    logs = ROOT / "tests" / "data" / "kafka-4.3.1" / "logs"
    done = subprocess.run([sys.executable, "-c", READS, logs], capture_output=True, text=True, check=True)
    folders = tuple(f"kodec.generated.{name}." for name in ("messages", "metadata", "remote_log"))
    before, after = (
        {name for name in line.split() if name.startswith(folders)} for line in done.stdout.splitlines()
    )
    assert not before
    assert after == {"kodec.generated.messages.group_metadata_key"}


@pytest.mark.thorough
def test_kafka_agrees_on_random_contents() -> None:
    try:
        messages = stored(jvm.jars(KAFKA, SOURCE.parent))
        kept = {(each["name"], each["version"]) for each in VECTORS}
        assert kept == {(each.name, version) for each in messages for version in each.valid}
        with MessageJudge() as judge:
            tally = run(judge, messages, "kodec.generated", 3, "ci")
    except jvm.Absent as error:
        pytest.skip(f"Kafka's classes cannot be run here: {error}")
    assert not tally.failures, "\n".join(tally.failures[:5])
    assert tally.counts["written"] == 3 * tally.counts["versions"] > 300
    assert tally.counts["in an older version: refused"] and tally.counts["in an older version"]
