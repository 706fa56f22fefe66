"""What real brokers and clients wrote: vectors of entries, and an archive of whole segments with rows.

python -m tests.languages.real observed              make schemas/log/observed.vectors.json anew
python -m tests.languages.real segments OUT.zip      the archive; the same bytes each time
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kodec.generator.code.machine import Code, Machine
from kodec.generator.driver import load
from kodec.generator.json_values import lacking, to_json
from kodec.generator.plan.build import program_of
from kodec.generator.plan.steps import Program
from kodec.generator.targets.vectors.plan import error_of
from kodec.runtime.errors import FormatError
from kodec.runtime.fields import ReadOptions

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
OBSERVED = ROOT / "schemas" / "log" / "observed.vectors.json"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CLIENTS = {
    "librdkafka": "2.16.1",
    "kafka-python": "3.0.12",
    "aiokafka": "0.14.0",
    "kafkajs": "2.2.4",
    "platformatic": "1.35.0",
}
"""The clients of tests/data/samples and their versions, as its README says."""
MOST = 1500
LIMIT = 16
"""Of decompressed bytes, in the vectors of limits: less than any entry has."""


def _logs() -> Iterator[tuple[dict[str, str], Path]]:
    """Every log with its origin."""
    for path in sorted(DATA.glob("kafka-*/logs/*/*.log")):
        yield (
            {"kind": "broker", "name": "Apache Kafka", "version": path.parts[-4].removeprefix("kafka-")},
            path,
        )
    for path in sorted((DATA / "samples").glob("*.log")):
        broker = re.match(r"kafka-([0-9.]+)-broker", path.name)
        if broker is not None:
            yield {"kind": "broker", "name": "Apache Kafka", "version": broker[1]}, path
        else:
            name = re.split(r"-v[012]-", path.name)[0]
            yield {"kind": "client", "name": name, "version": CLIENTS[name]}, path


def _entries(data: bytes) -> Iterator[bytes]:
    at = 0
    while len(data) - at > 17 and (size := 12 + int.from_bytes(data[at + 8 : at + 12], "big")) > 12:
        yield data[at : at + size]
        at += size


def observed() -> str:
    """A document of vectors: of each origin the smallest entry of each format and codec."""
    program = program_of(load(ROOT / "schemas"))
    found: dict[tuple[str, ...], tuple[bytes, dict[str, str]]] = {}
    for origin, path in _logs():
        for entry in _entries(path.read_bytes()):
            attributes = entry[22] if entry[16] == 2 else entry[17]
            what = "control batch" if entry[16] == 2 and attributes & 0x20 else CODECS[attributes & 7]
            key = (f"{origin['name']} {origin['version']}", f"magic {entry[16]}", what)
            if len(entry) <= MOST and (key not in found or len(entry) < len(found[key][0])):
                found[key] = entry, origin
    lines = []
    limited: set[tuple[str, ...]] = set()
    code = Code(program)
    for key, (entry, origin) in sorted(found.items()):
        reader = Machine(code, entry)
        value = reader.read("log_segment::entry")
        slug = re.sub(r"[^a-z0-9.]+", "-", " ".join(key).lower())
        vector = {
            "id": f"log_segment::entry/observed/{slug}",
            "type": "log_segment::entry",
            "tests": f"{key[1]}, {key[2]}",
            "origin": origin,
            "must": "accept",
            "bytes": entry.hex(),
            "value": to_json(value),
        }
        left_out = lacking(value)
        lines.append("  " + json.dumps(vector | ({"lacking": left_out} if left_out else {})))
        if key[2] in CODECS[1:] and key[1:] not in limited and (why := _beyond(program, entry)) is not None:
            limited.add(key[1:])
            refused = {name: each for name, each in vector.items() if name != "value"}
            refused |= {"id": f"{vector['id']}-limited", "tests": f"{vector['tests']}, more than the limit"}
            lines.append("  " + json.dumps(refused | {"must": "refuse", "limit": LIMIT, "error": why}))
    head = '{\n "vectors_version": 2,\n "schema": "log_segment",\n "vectors": [\n'
    return head + ",\n".join(lines) + "\n ]\n}\n"


def _beyond(program: Program, entry: bytes) -> dict[str, Any] | None:
    """The error of an entry that grows beyond the limit; None if it does not."""
    try:
        Machine(Code(program), entry, ReadOptions(decompressed_bytes=LIMIT)).read("log_segment::entry")
    except FormatError as error:
        # at which byte of the codec's frame is its library's
        return {key: each for key, each in error_of(error).items() if key != "at"}
    return None


# -- segments --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Segment:
    """A segment, and the rows that Kafka's own consumer gave of it: those from the log start offset on."""

    name: str
    data: bytes
    start: int
    rows: list[dict[str, Any]]

    def is_read(self, value: dict[str, Any]) -> bool:
        """Whether a value of `log_segment` has just these rows."""
        return [each for each in rows_of(value) if each["offset"] >= self.start] == self.rows


def segments() -> Iterator[Segment]:
    """The segments of six generations of brokers."""
    for folder in sorted(DATA.glob("kafka-*/logs/*")):
        paths = sorted(folder.glob("*.log"))
        topic, _, partition = folder.name.rpartition("-")
        consumed = folder.parents[1] / "consumed" / f"{topic}.read_uncommitted.jsonl"
        if not consumed.is_file():
            continue
        rows = [json.loads(line) for line in consumed.read_text().splitlines()]
        rows = [each for each in rows if each["partition"] == int(partition)]
        starts = [int(path.stem) for path in paths] + [1 << 63]
        first = _log_start(folder)
        for path, start, end in zip(paths, starts, starts[1:], strict=False):
            name = f"{folder.parents[1].name}/{folder.name}/{path.name}"
            own = [_row(each) for each in rows if start <= each["offset"] < end]
            yield Segment(name, path.read_bytes(), first, own)


def _log_start(folder: Path) -> int:
    """The first offset that consumers see, where records were deleted in front of it."""
    path = folder.parent / "log-start-offset-checkpoint"
    topic, _, partition = folder.name.rpartition("-")
    for line in path.read_text().splitlines()[2:] if path.is_file() else ():
        if line.split()[:2] == [topic, partition]:
            return int(line.split()[2])
    return 0


def _row(consumed: dict[str, Any]) -> dict[str, Any]:
    def octets(text: str | None) -> str | None:
        return None if text is None else base64.b64decode(text).hex()

    return {
        "offset": consumed["offset"],
        "timestamp": consumed["timestamp"],
        "key": octets(consumed["key"]),
        "value": octets(consumed["value"]),
        "headers": [[key, octets(value)] for key, value in consumed["headers"]],
    }


ROWS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "log_segment": lambda value: value,
    "log_segment::entry": lambda value: {"entries": [value]},
    "record_batch": lambda value: {"entries": [{"body": value}]},
    "message_set": lambda value: {"entries": [{"body": each} for each in value["entries"]]},
    "message_set::entry": lambda value: {"entries": [{"body": value}]},
}
"""Types whose values have rows, and what makes a value of `log_segment` of one."""


def rows_of(segment: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of a value of `log_segment`, as a consumer has them: control records are none.

    A judge that knows only rows gives them as `rows`.
    """
    yield from segment.get("rows", ())
    for entry in segment.get("entries", ()):
        body = entry["body"]
        yield from _of_batch(body) if "records" in body else _of_message(body)


def _of_batch(batch: dict[str, Any]) -> Iterator[dict[str, Any]]:
    attributes = batch["attributes"]
    for record in () if attributes["is_control"] else batch["records"]:
        body = record["body"]
        own = int(batch["base_timestamp"]) + int(body["timestamp_delta"])
        yield {
            "offset": int(batch["base_offset"]) + body["offset_delta"],
            "timestamp": int(batch["max_timestamp"]) if int(attributes["timestamp_type"]) else own,
            "key": body["key"],
            "value": body["value"],
            "headers": [[each["key"], each["value"]] for each in body["headers"]],
        }


def _of_message(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    message, offset = entry["message"], int(entry["offset"])
    if not isinstance(message["value"], dict):
        timestamp = int(message["timestamp"]) if message["magic"] else -1
        row = {"offset": offset, "timestamp": timestamp}
        yield row | {"key": message["key"], "value": message["value"], "headers": []}
        return
    inner = message["value"]["entries"]
    first = offset - int(inner[-1]["offset"]) if message["magic"] else 0
    for each in inner:
        for row in _of_message(each):
            appended = int(message["attributes"]["timestamp_type"]) and message["magic"]
            stamp = int(message["timestamp"]) if appended else row["timestamp"]
            yield row | {"offset": first + row["offset"], "timestamp": stamp}


def archive(out: Path) -> None:
    """Write the archive: each segment, its rows as lines of JSON, and a manifest with hashes."""
    manifest: list[dict[str, Any]] = []
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:

        def put(name: str, data: bytes) -> None:
            made.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)

        for each in segments():
            generation, _, path = each.name.partition("/")
            manifest.append(
                {
                    "segment": each.name,
                    "broker": f"Apache Kafka {generation.removeprefix('kafka-')}",
                    "partition": path.partition("/")[0],
                    "log_start_offset": each.start,
                    "rows": len(each.rows),
                    "sha256": hashlib.sha256(each.data).hexdigest(),
                }
            )
            put(each.name, each.data)
            text = "".join(json.dumps(row) + "\n" for row in each.rows)
            put(each.name.removesuffix(".log") + ".rows.jsonl", text.encode())
        put("MANIFEST.json", (json.dumps({"segments": manifest}, indent=1) + "\n").encode())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["observed"]:
            OBSERVED.write_text(observed())
        case ["segments", out]:
            archive(Path(out))
        case _:
            sys.exit(__doc__)
