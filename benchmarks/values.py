"""Values to Arrow columns: kodec and other libraries, in turn.

    python -m benchmarks.values [avro] [protobuf] [json]

The values are framed as Confluent's serializers do; the time is that of the processor. kodec checks
UTF-8, types and where each value ends; the others are given the same bytes without their framing.
Of `ptars` and `msgspec`, which kodec does not use, figures are there if they are installed.
"""

from __future__ import annotations

import datetime
import io
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyruhvro

from kodec.log.values.protobuf import ProtobufReader, compile_schema
from kodec.log.values.schemas import Schema
from kodec.values import SchemaFolder, ValueDecoder
from tests.labs.registry_lab import CLICK

ROWS, BATCH, ROUNDS = 500_000, 65_536, 7


def avro() -> None:
    parsed, text = fastavro.parse_schema(dict(CLICK)), json.dumps(CLICK)

    def framed(number: int) -> bytes:
        out = io.BytesIO(b"\0\0\0\0\7")
        out.seek(5)
        at = 1_700_000_000_000 + number
        row = {"id": number, "page": f"/p/{number}", "at": at, "referrer": None if number % 2 else "x"}
        fastavro.schemaless_writer(out, parsed, row)
        return out.getvalue()

    values = pa.array([framed(number) for number in range(ROWS)], pa.binary())
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "7.avsc").write_text(text)
        decoder = ValueDecoder(SchemaFolder(folder))
        kind = decoder.decode_column(values.slice(0, 1)).values.type.field("7").type

        def by_fastavro(batch: Any) -> Any:
            rows = [
                fastavro.schemaless_reader(io.BytesIO(each[5:]), parsed, None) for each in batch.to_pylist()
            ]
            return pa.array(rows, kind)

        def by_pyruhvro(batch: Any) -> Any:
            return pyruhvro.deserialize_array([each[5:] for each in batch.to_pylist()], text)

        peers: dict[str, tuple[Callable[[Any], Any], int]] = {
            "kodec": (decoder.decode_column, ROWS),
            "pyruhvro": (by_pyruhvro, ROWS),
            "fastavro and pyarrow": (by_fastavro, ROWS // 10),
        }
        _show("Avro", peers, values)


FLAT = """syntax = "proto3"; package shop;
message Click { int64 id = 1; string page = 2; int64 at = 3; optional string referrer = 4; }"""
NESTED = """syntax = "proto3"; package shop; import "google/protobuf/timestamp.proto";
message Shipment {
  enum State { NEW = 0; SENT = 1; }
  message Money { int64 units = 1; string currency = 2; }
  int64 id = 1; string customer = 2; Money price = 3; repeated string tags = 4; map<string, int32> extra = 5;
  State state = 6; google.protobuf.Timestamp at = 7; bytes hash = 8; double weight = 9;
  oneof how { string road = 10; int32 air = 11; }
}"""


def protobuf(name: str, text: str) -> None:
    """Columns of messages; row by row, as they were made before; the library's parser alone; ptars."""
    compiled = compile_schema(Schema("protobuf", text), {})
    descriptor = compiled.message(None)
    message = compiled.class_of(descriptor)

    def payload(number: int) -> bytes:
        row = message(id=number)
        if text is FLAT:
            row.page, row.at = f"/p/{number}", 1_700_000_000_000 + number
            if number % 2:
                row.referrer = "x"
        else:
            row.customer, row.hash, row.weight, row.state = (
                f"customer-{number}",
                b"\0\1",
                number / 2,
                number % 2,
            )
            row.price.units, row.price.currency, row.at.seconds = number, "EUR", 1_700_000_000 + number
            row.tags.extend(["a", "b"][: number % 3])
            row.extra["n"] = number % 5
            if number % 2:
                row.road = "x"
            else:
                row.air = 3
        return bytes(row.SerializeToString())

    count = ROWS // 5
    payloads = [payload(number) for number in range(count)]
    values = pa.array([b"\0\0\0\0\7\0" + each for each in payloads], pa.binary())
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "7.proto").write_text(text)
        decoder = ValueDecoder(SchemaFolder(folder))
        kind = decoder.decode_column(values.slice(0, 1)).values.type.field("7").type
        reader = ProtobufReader(compiled, None)

        def rows(batch: Any) -> Any:
            found = [reader.decode(each[6:]) for each in batch.to_pylist()]
            if text is NESTED:
                for each in found:
                    each["at"] = datetime.datetime.fromisoformat(each["at"])
                    each["extra"] = list(each["extra"].items())
            return pa.array(found, kind)

        peers: dict[str, tuple[Callable[[Any], Any], int]] = {
            "kodec": (decoder.decode_column, count),
            "rows of kodec, then pyarrow": (rows, count // 5),
            "protobuf's parser alone": (lambda b: [message.FromString(e[6:]) for e in b.to_pylist()], count),
        }
        if find_spec("ptars"):
            handler = _ptars(descriptor)
            peers["ptars"] = (lambda b: handler.array_to_record_batch(pc.binary_slice(b, 6, 1 << 20)), count)
        _show(f"Protobuf, {name}", peers, values)


def _ptars(descriptor: Any) -> Any:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from ptars import PtarsConfig
    from ptars._lib import ProtoRegistry

    files: dict[str, bytes] = {}

    def add(file: Any) -> None:
        for each in file.dependencies:
            add(each)
        found = FileDescriptorProto()
        file.CopyToProto(found)
        files[file.name] = found.SerializeToString()

    add(descriptor.file)
    config = PtarsConfig(timestamp_unit="us", enum_repr="string")
    return ProtoRegistry(list(files.values())).create_for_message(descriptor.full_name, config)


def documents() -> None:
    """JSON values as columns of text: kodec checks each; parsers of other libraries do that alone."""
    to = {"city": "Kraków", "zip": "30-001"}
    texts = [
        json.dumps({"id": number, "page": f"/p/{number}", "at": number, "referrer": None, "to": to, "x": 0.1})
        for number in range(ROWS // 5)
    ]
    values = pa.array([each.encode() for each in texts], pa.binary())
    decoder = ValueDecoder(format="json-schema", framing="none")
    peers: dict[str, tuple[Callable[[Any], Any], int]] = {
        "kodec": (decoder.decode_column, len(texts)),
        "json": (lambda batch: [json.loads(each) for each in batch.to_pylist()], len(texts)),
    }
    if find_spec("orjson"):
        orjson = import_module("orjson")
        peers["orjson"] = (lambda batch: [orjson.loads(each) for each in batch.to_pylist()], len(texts))
    if find_spec("msgspec"):
        msgspec = import_module("msgspec")
        raw = msgspec.json.Decoder(msgspec.Raw)
        peers["msgspec, unparsed"] = (lambda b: [raw.decode(each) for each in b.to_pylist()], len(texts))
    _show("JSON", peers, values)


def _show(what: str, peers: dict[str, tuple[Callable[[Any], Any], int]], values: Any) -> None:
    found: dict[str, list[float]] = {name: [] for name in peers}
    for _ in range(ROUNDS):
        for name, (decode, count) in peers.items():
            begin = time.process_time()
            for at in range(0, count, BATCH):
                decode(values.slice(at, min(BATCH, count - at)))
            found[name].append(count / (time.process_time() - begin) / 1e6)
    print(f"\n| {what} | M records a second and core, median | best |\n|---|---|---|")
    for name, rates in found.items():
        print(f"| {name} | {statistics.median(rates):.2f} | {max(rates):.2f} |")


def main() -> None:
    asked = set(sys.argv[1:]) or {"avro", "protobuf", "json"}
    if "avro" in asked:
        avro()
    if "protobuf" in asked:
        protobuf("4 fields", FLAT)
        protobuf("11 fields, nested", NESTED)
    if "json" in asked:
        documents()


if __name__ == "__main__":
    main()
