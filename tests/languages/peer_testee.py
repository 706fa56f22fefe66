"""A testee of a codec in another language: a judge of stored messages, and of the rows of batches.

    python -m tests.languages.peer_testee kmsg PROGRAM

The program is asked a line at a time, for values with the codec's own names. What it knows is what its own
sources have; here are only the names that differ from Kafka's.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kodec.generator.driver import load
from kodec.generator.plan.build import program_of
from kodec.generator.plan.steps import FieldPlan, Unit
from kodec.generator.plan.values import OCTETS, SECTION, ListOf, Maybe, ObjectOf, Type
from kodec.generator.schema.model import Model

from .protocol import Conversation
from .real import ROWS
from .rust_testee import TARGET, cargo

HERE = Path(__file__).resolve().parent
SCHEMAS = HERE.parents[1] / "schemas"


@dataclass(frozen=True)
class Peer:
    """A codec: its package, what it calls the unknown tags, and types and fields where its names differ."""

    package: str
    tags: str
    types: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)


PEERS = {
    "kmsg": Peer(
        "github.com/twmb/franz-go/pkg/kmsg",
        "UnknownTags",
        {
            "record_batch": "",  # with its records, as rows
            "record": "",
            "legacy_offset_commit_key": "OffsetCommitKey",
            "legacy_offset_commit_value": "OffsetCommitValue",
            "transaction_log_key": "TxnMetadataKey",
            "transaction_log_value": "TxnMetadataValue",
            "consumer_protocol_assignment": "ConsumerMemberAssignment",
            "consumer_protocol_subscription": "ConsumerMemberMetadata",
        },
        {
            "record_type": "Version",
            "transaction_timeout_ms": "TimeoutMillis",
            "transaction_status": "State",
            "transaction_partitions": "Topics",
            "partition_ids": "Partitions",
            "transaction_last_update_timestamp_ms": "LastUpdateTimestamp",
            "transaction_start_timestamp_ms": "StartTimestamp",
            "group_instance_id": "InstanceID",
            "rebalance_timeout": "RebalanceTimeoutMillis",
            "session_timeout": "SessionTimeoutMillis",
            "assigned_partitions": "Topics",
            "generation_id": "Generation",
            "rack_id": "Rack",
        },
    ),
    "kafka-protocol": Peer("kafka-protocol", "unknown_tagged_fields"),
}


class PeerTestee:
    """Answers requests by a program; a message without a field for its version has an int16 in front."""

    def __init__(self, peer: Peer, model: Model, program: Conversation) -> None:
        self._peer = peer
        self._program = program
        self._units = program_of(model).units
        self._kafkas = kafkas_names(model)
        self._says = self._ask({"do": "hello"})
        known = {bare(each): each for each in self._says["types"]}
        names = {name: bare(peer.types.get(name, name)) for name in self._units}
        self._types = {name: known[each] for name, each in names.items() if each in known}

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        return next(self._program.ask([request]))

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request, without its number."""
        verb, kind = request["do"], request.get("type")
        if verb == "hello":
            says = {"protocol": 1, "name": self._peer.package, "language": self._peer.package}
            says |= {"version": self._says["version"], "does": ["decode", "encode"]}
            return says | {"types": [*self._types, *ROWS]}
        if kind in ROWS:
            return self._rows(request)
        return self._encoded(request) if verb == "encode" else self._decoded(request)

    def _rows(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "encode":
            return {"unsupported": "only rows are compared"}
        is_one = request["type"] not in ("log_segment", "message_set")
        asked = {"do": "rows", "bytes": request["bytes"], "exact": request.get("exact", False)}
        found = self._ask(asked | {"one": is_one})
        return {"value": {"rows": found["rows"]}} if "rows" in found else _refused(found)

    def _decoded(self, request: dict[str, Any]) -> dict[str, Any]:
        kind, data = request["type"], bytes.fromhex(request["bytes"])
        version = request.get("version")
        if has_version(self._units[kind]):
            version = int.from_bytes(data[:2], "big", signed=True)
        start = self._head(kind)
        asked = {"do": "decode", "type": self._types[kind], "version": version, "bytes": data[start:].hex()}
        found = self._ask(asked | {"exact": request.get("exact", False)})
        if "error" in found:
            return _refused(found)
        return {"value": ({"version": version} if start else {}) | self._shown(kind, found["value"])}

    def _encoded(self, request: dict[str, Any]) -> dict[str, Any]:
        kind, value = request["type"], request["value"]
        version = request.get("version")
        if has_version(self._units[kind]):
            version = int(value.get("version", 0))
            if not -0x8000 <= version < 0x8000:
                return {"error": {"code": "not_encodable"}}
        asked = {"do": "encode", "type": self._types[kind], "version": version}
        found = self._ask(asked | {"value": self._given(ObjectOf(kind), value)})
        if "error" in found:
            return _refused(found)
        head = (version or 0).to_bytes(2, "big", signed=True) if self._head(kind) else b""
        return {"bytes": head.hex() + found["bytes"]}

    def _head(self, kind: str) -> int:
        """How many bytes are in front that the program does not read: those of the version, or none."""
        names = map(bare, self._says["types"][self._types[kind]])
        return 2 if has_version(self._units[kind]) and "version" not in names else 0

    def _called(self, unit: Unit, each: FieldPlan) -> str:
        """What the codec calls a field, bare."""
        own = self._peer.tags if each.type is SECTION else self._peer.fields.get(each.name)
        return self._kafkas[unit.name].get(each.name, bare(each.name)) if own is None else bare(own)

    def _shown(self, kind: str, value: dict[str, Any]) -> dict[str, Any]:
        """A message with the schema's names; what the schema lacks stays where it is not as at first."""
        fresh = self._says["types"][self._types[kind]]
        left = {name: each for name, each in value.items() if each != fresh[name]}
        names = {bare(name): name for name in value}
        found = self._fields(self._units[kind], value)
        for each in self._units[kind].fields:
            left.pop(names.get(self._called(self._units[kind], each), ""), None)
        return found | left

    def _fields(self, unit: Unit, value: dict[str, Any]) -> dict[str, Any]:
        given = {bare(name): each for name, each in value.items()}
        names = ((each, self._called(unit, each)) for each in unit.fields if each.kept)
        return {each.name: self._of(each.type, given[name]) for each, name in names if name in given}

    def _of(self, kind: Type, value: Any) -> Any:
        match kind:
            case Maybe(inner):
                return None if value is None else self._of(inner, value)
            case ListOf(inner):
                return [self._of(inner, each) for each in value or ()]
            case ObjectOf(unit):
                return self._fields(self._units[unit], value)
        return "" if kind is OCTETS and value is None else value

    def _given(self, kind: Type, value: Any) -> Any:
        """A value of the schema with the codec's names."""
        match kind, value:
            case Maybe(inner), _:
                return self._given(inner, value)
            case ListOf(inner), list():
                return [self._given(inner, each) for each in value]
            case ObjectOf(name), dict():
                unit = self._units[name]
                return {
                    self._called(unit, each): self._given(each.type, value[each.name])
                    for each in unit.fields
                    if each.name in value
                }
        return value


def kafkas_names(model: Model) -> dict[str, dict[str, str]]:
    """What Kafka calls the fields of each type, bare."""
    return {
        struct.name: {each.id: bare(each.orig_id.raw or each.id) for each in struct.fields}
        for schema in model.schemas
        for struct in schema.structs
    }


def has_version(unit: Unit) -> bool:
    return any(each.name == "version" and each.kept for each in unit.fields)


def bare(name: str) -> str:
    """A name without case and underscores."""
    return name.replace("_", "").lower()


def _refused(found: dict[str, Any]) -> dict[str, Any]:
    return found if "unsupported" in found else {"error": {"reason": found["error"]}}


# -- programs --------------------------------------------------------------------------------------


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
    return done.stdout


def build_kmsg(folder: Path) -> Path:
    """The program, which knows every struct of kmsg that reads and writes itself."""
    module = folder / "kmsg"
    shutil.copytree(HERE / "kmsg", module)
    package = PEERS["kmsg"].package
    source, version = _run(["go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", package], module).split()
    text = "".join(each.read_text("utf-8") for each in sorted(Path(source).glob("*.go")))
    known = [
        each
        for each in re.findall(r"^func \(v \*(\w+)\) ReadFrom\(", text, re.M)
        if not each.endswith(("Request", "Response"))
    ]
    lines = [f'\t"{each}": func() message {{ return ptr(kmsg.New{each}()) }},' for each in known]
    head = f'package main\n\nimport "{package}"\n\nconst version = "{version}"\n'
    table = "\n".join([head, "var messages = map[string]func() message{", *lines, "}", ""])
    (module / "messages.go").write_text(table)
    for step in (["go", "vet", "."], ["go", "build", "-o", str(folder / "testee"), "."]):
        _run(step, module)
    return folder / "testee"


def build_kafka_protocol(folder: Path) -> Path:
    """The program, which knows every struct of the crate but those of requests and responses."""
    crate = folder / "kafka_protocol"
    shutil.copytree(HERE / "kafka_protocol", crate)
    found = json.loads(cargo("metadata", "--format-version", "1", "--locked", folder=crate))
    package = next(each for each in found["packages"] if each["name"] == PEERS["kafka-protocol"].package)
    source = Path(package["manifest_path"]).parent / "src"
    lines = [
        "use crate::{codec, Spoken};",
        "use kafka_protocol::messages::*;",
        f'pub const VERSION: &str = "{package["version"]}";',
    ]
    text = (source / "messages.rs").read_text("utf-8")
    lines += [f"newtype!({name});" for name in re.findall(r"^pub struct (\w+)\(pub \w+\);", text, re.M)]
    table = []
    for path in sorted((source / "messages").glob("*.rs")):
        if path.stem.endswith(("_request", "_response", "_header")):
            continue
        for name, body in re.findall(r"^pub struct (\w+) \{\n(.*?)^\}", path.read_text("utf-8"), re.M | re.S):
            fields = re.findall(r"^    pub (\w+):", body, re.M)
            shown = path.stem if bare(path.stem) == bare(name) else f"{path.stem}::{name}"
            lines.append(f"message!({path.stem}::{name} {{ {', '.join(fields)} }});")
            table.append(f'    codec::<{path.stem}::{name}>("{shown}"),')
    lines += ["pub fn codecs() -> Vec<crate::Codec> {", "    vec![", *table, "    ]", "}", ""]
    (crate / "src" / "messages.rs").write_text("\n".join(lines))
    cargo("build", "--locked", folder=crate)
    shutil.copy(TARGET / "debug" / "kafka-protocol-testee", folder / "testee")
    return folder / "testee"


BUILDS = {"kmsg": build_kmsg, "kafka-protocol": build_kafka_protocol}


def main(name: str, program: str) -> None:
    """Answer until the requests end."""
    with Conversation([program]) as conversation:
        testee = PeerTestee(PEERS[name], load(SCHEMAS), conversation)
        for line in sys.stdin:
            request = json.loads(line)
            print(json.dumps({"id": request["id"], **testee.answer(request)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
