"""Values that a registry's own client wrote, for tests/data/values: Confluent's, with a registry here.

    pip install 'confluent-kafka[avro,json,protobuf,schemaregistry]' grpcio-tools
    python tests/labs/registry_lab.py          # makes the samples
    python tests/labs/registry_lab.py URL      # has a real registry judge, and writes nothing

The registry is one of HTTP on loopback, with the routes that the clients call; what it keeps it also writes
as the records of its topic `_schemas`, as Confluent's does (io.confluent.kafka.schemaregistry.storage). It
makes `samples.json`: each value with what it says, for Avro as the client's own deserializer reads it, and
`logs`, a log directory with the same values and `_schemas`.

A real one is Apicurio Registry, from Maven Central (Java 21): unpack apicurio-registry-app-3.3.3-all.tar.gz,
then `java -Dquarkus.http.host=127.0.0.1 -Dquarkus.http.port=8081 -jar quarkus-run.jar`; its URL ends in
`/apis/ccompat/v7`. It gives schemas no GUIDs, so that samples of these are only made with the registry here.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import importlib
import json
import shutil
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

OUT = Path(__file__).parents[1] / "data/values"

ADDRESS = {
    "type": "record",
    "name": "Address",
    "namespace": "shop",
    "fields": [{"name": "city", "type": "string"}, {"name": "zip", "type": ["null", "string"]}],
}
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "weight", "type": "double"},
        {"name": "paid", "type": "boolean"},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "time", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "trace", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "SENT"]}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "extra", "type": {"type": "map", "values": "int"}},
        {"name": "note", "type": ["null", "string", "long"], "default": None},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 4}},
        {"name": "to", "type": "shop.Address"},
    ],
}
NEWER = {
    **ORDER,
    "fields": [
        *ORDER["fields"],
        {"name": "currency", "type": "string", "default": "EUR"},
    ],
}
CLICK = {
    "type": "record",
    "name": "Click",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "page", "type": "string"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "referrer", "type": ["null", "string"], "default": None},
    ],
}
JSON_SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Payment",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "method": {"type": "string"}},
}
MONEY = (
    'syntax = "proto3";\npackage shop;\n\nmessage Money {\n  int64 units = 1;\n  string currency = 2;\n}\n'
)
SHIPMENT = """syntax = "proto3";
package shop;

import "google/protobuf/timestamp.proto";
import "shop/money.proto";

message Parcel {
  string code = 1;
}

message Shipment {
  message Stop {
    string place = 1;
    float distance = 2;
  }

  enum Kind {
    UNKNOWN = 0;
    EXPRESS = 1;
  }

  int64 id = 1;
  Kind kind = 2;
  repeated Stop stops = 3;
  map<string, int32> counts = 4;
  bytes label = 5;
  optional string note = 6;
  google.protobuf.Timestamp at = 7;
  Money price = 8;
}
"""


class Registry:
    """Subjects with versions, as REST and as records of `_schemas`."""

    def __init__(self) -> None:
        self.subjects: dict[str, list[dict[str, Any]]] = {}
        self.ids: dict[int, dict[str, Any]] = {}
        self.records: list[tuple[dict[str, Any], dict[str, Any] | None]] = [
            ({"keytype": "NOOP", "magic": 0}, None),
            ({"keytype": "CONFIG", "subject": None, "magic": 0}, {"compatibilityLevel": "BACKWARD"}),
            ({"keytype": "MODE", "subject": None, "magic": 0}, {"mode": "READWRITE"}),
        ]

    def register(self, subject: str, asked: dict[str, Any]) -> dict[str, Any]:
        """A new version, or the one that is the same already."""
        kept = {
            "schema": asked["schema"],
            "schemaType": asked.get("schemaType", "AVRO"),
            "references": asked.get("references") or [],
        }
        for each in self.subjects.get(subject, []):
            if all(each[name] == value for name, value in kept.items()):
                return each
        same = (number for number, each in self.ids.items() if all(each[k] == v for k, v in kept.items()))
        number = next(same, len(self.ids) + 1)
        digest = hashlib.md5(kept["schema"].encode()).digest()
        guid = str(uuid.UUID(bytes=digest))
        versions = self.subjects.setdefault(subject, [])
        found = {**kept, "subject": subject, "version": len(versions) + 1, "id": number, "guid": guid}
        versions.append(found)
        self.ids[number] = found
        value: dict[str, Any] = {
            "subject": subject,
            "version": found["version"],
            "id": number,
            "md5": base64.b64encode(digest).decode(),
            "schema": kept["schema"],
            "deleted": False,
        }
        if kept["schemaType"] != "AVRO":
            value["schemaType"] = kept["schemaType"]
        if kept["references"]:
            value["references"] = kept["references"]
        self.records.append((self.key(subject, found["version"]), value))
        return found

    @staticmethod
    def key(subject: str, version: int) -> dict[str, Any]:
        return {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}

    def answer(self, method: str, path: str, asked: dict[str, Any]) -> dict[str, Any] | None:
        """What a route gives; None: 404."""
        match [unquote(each) for each in urlsplit(path).path.strip("/").split("/")]:
            case ["subjects", subject, "versions"] if method == "POST":
                return self.register(subject, asked)
            case ["subjects", subject] if method == "POST":
                wanted = [
                    each for each in self.subjects.get(subject, []) if each["schema"] == asked["schema"]
                ]
                return wanted[0] if wanted else None
            case ["subjects", subject, "versions", version]:
                versions = self.subjects.get(subject, [])
                at = len(versions) if version == "latest" else int(version)
                return versions[at - 1] if 0 < at <= len(versions) else None
            case ["schemas", "ids", number]:
                return self.ids.get(int(number))
            case ["schemas", "guids", guid]:
                return next((each for each in self.ids.values() if each["guid"] == guid), None)
        return None


@contextmanager
def serving(registry: Any, password: str = "") -> Iterator[str]:
    """A registry's URL on loopback; anything with `answer(method, path, body)` will do."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            asked = json.loads(self.rfile.read(size) or b"{}")
            wanted = f"Basic {base64.b64encode(password.encode()).decode()}"
            code, said = 200, registry.answer(self.command, self.path, asked)
            if password and self.headers.get("Authorization") != wanted:
                code, said = 401, {"error_code": 401, "message": "Unauthorized"}
            elif said is None:
                code, said = 404, {"error_code": 40403, "message": "Schema not found"}
            data = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def order(number: int, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """An order as Python has it, and as docs/values.md says that JSON has it."""
    at = datetime.datetime(2023, 11, 14, 22, 13, 20, 123000, datetime.UTC) + datetime.timedelta(hours=number)
    trace = uuid.UUID(int=number + 1)
    amount = Decimal(number * 100 - 5) / 100
    value = {
        "id": number * 10**12,
        "customer": f"customer-{number}",
        "amount": amount,
        "weight": number / 4,
        "paid": number % 2 == 0,
        "day": at.date(),
        "at": at,
        "time": datetime.time(1, 2, 3, number),
        "trace": trace,
        "state": ("NEW", "SENT")[number % 2],
        "tags": ["ä", "b"][: number % 3],
        "extra": {"n": number},
        "note": (None, "a note", 2**40)[number % 3],
        "hash": bytes([number, 0, 255, 1]),
        "to": {"city": "Kraków", "zip": None if number % 2 else "30-001"},
        **more,
    }
    said = {
        **value,
        "amount": str(amount.quantize(Decimal("0.01"))),
        "day": at.date().isoformat(),
        "at": at.isoformat().replace("+00:00", "Z"),
        "time": value["time"].isoformat(),
        "trace": str(trace),
        "hash": base64.b64encode(value["hash"]).decode(),
    }
    return value, said


def samples(url: str, *, guids: bool = True) -> Iterator[dict[str, Any]]:
    """Records by Confluent's serializers, and what they say; `guids`: some are of schemas named by GUIDs."""
    from confluent_kafka.schema_registry import (
        Schema,
        SchemaReference,
        SchemaRegistryClient,
        header_schema_id_serializer,
        topic_subject_name_strategy,
    )
    from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
    from confluent_kafka.schema_registry.json_schema import JSONSerializer
    from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    client = SchemaRegistryClient({"url": url})
    named = {"subject.name.strategy": topic_subject_name_strategy}
    guid = {**named, "schema.id.serializer": header_schema_id_serializer} if guids else named

    def made(topic: str, serializer: Any, value: Any, said: Any, kind: str) -> dict[str, Any]:
        headers: list[tuple[str, bytes]] = []
        context = SerializationContext(topic, MessageField.VALUE, headers)
        data = serializer(value, context)
        return {
            "topic": topic,
            "format": kind,
            "headers": [[name, each.hex()] for name, each in headers],
            "bytes": data.hex(),
            "value": said,
        }

    client.register_schema("shop.Address", Schema(json.dumps(ADDRESS), "AVRO"))
    address = [SchemaReference("shop.Address", "shop.Address", 1)]
    back = AvroDeserializer(client)
    for number, tree in enumerate((ORDER, ORDER, NEWER, ORDER, NEWER)):
        value, said = order(number, **({"currency": "PLN"} if tree is NEWER else {}))
        text = Schema(json.dumps(tree), "AVRO", address)
        made_one = made("orders", AvroSerializer(client, text, conf=named), value, said, "avro")
        read = back(bytes.fromhex(made_one["bytes"]), SerializationContext("orders", MessageField.VALUE))
        assert read == value, (read, value)
        yield made_one
    for number in range(3):
        at = datetime.datetime(2023, 11, 14, 22, 13, 20 + number, tzinfo=datetime.UTC)
        value = {"id": number, "page": f"/p/{number}", "at": at, "referrer": None if number else "/"}
        said = {**value, "at": at.isoformat().replace("+00:00", "Z")}
        conf = guid if number == 2 else named
        yield made("clicks", AvroSerializer(client, json.dumps(CLICK), conf=conf), value, said, "avro")
    for number in range(2):
        value = {"id": number, "method": "card"}
        conf = guid if number == 1 else named
        serializer = JSONSerializer(json.dumps(JSON_SCHEMA), client, conf=conf)
        yield made("payments", serializer, value, value, "json-schema")
    classes = compiled()
    plain = {**named, "use.deprecated.format": False}
    shipment = classes["Shipment"](id=2**40, kind=1, counts={"a": 1}, label=b"\x00\xff")
    shipment.price.units = 5
    shipment.stops.add(place="Gdańsk", distance=0.1)
    shipment.at.FromSeconds(1700000000)
    said = {
        "id": 2**40,
        "kind": "EXPRESS",
        "stops": [{"place": "Gdańsk", "distance": 0.1}],
        "counts": {"a": 1},
        "label": "AP8=",
        "at": "2023-11-14T22:13:20Z",
        "price": {"units": 5, "currency": ""},
    }
    empty = {"id": 0, "kind": "UNKNOWN", "stops": [], "counts": {}, "label": ""}
    noted = classes["Shipment"](note="")
    messages: list[tuple[Any, Any, dict[str, Any]]] = [
        (shipment, said, plain),
        (noted, {**empty, "note": ""}, plain),
        (classes["Parcel"](code="x"), {"code": "x"}, plain),
        (classes["Shipment.Stop"](place="y"), {"place": "y", "distance": 0.0}, plain),
        (shipment, said, {**plain, **guid}),
    ]
    for message, value, conf in messages:
        serializer = ProtobufSerializer(type(message), client, conf=conf)
        yield made("shipments", serializer, message, value, "protobuf")


def compiled() -> Any:
    """The classes of the messages, from descriptors that protoc makes of the texts."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from grpc_tools import protoc

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "shop").mkdir()
        (folder / "shop/money.proto").write_text(MONEY)
        (folder / "shipment.proto").write_text(SHIPMENT)
        bundled = Path(str(importlib.import_module("grpc_tools").__file__)).parent / "_proto"
        made = folder / "made"
        command = [
            "protoc",
            f"-I{folder}",
            f"-I{bundled}",
            f"--descriptor_set_out={made}",
            "--include_imports",
        ]
        assert protoc.main([*command, "shipment.proto"]) == 0
        files = descriptor_pb2.FileDescriptorSet.FromString(made.read_bytes()).file
    pool = descriptor_pool.DescriptorPool()
    for each in files:
        pool.Add(each)
    names = ("Shipment", "Shipment.Stop", "Parcel", "Money")
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"shop.{name}")) for name in names
    }


def write_logs(rows: list[dict[str, Any]], registry: Registry) -> None:
    """A log directory of the values, with `_schemas`."""
    import kodec

    def text(value: Any) -> bytes | None:
        return None if value is None else json.dumps(value, separators=(",", ":")).encode()

    shutil.rmtree(OUT / "logs", ignore_errors=True)
    with kodec.LogDirectoryWriter(OUT / "logs") as writer:
        for number, (key, value) in enumerate(registry.records):
            record = kodec.Record(key=text(key), value=text(value), timestamp=1700000000000 + number)
            writer.partition("_schemas", 0).append([record])
        for number, row in enumerate(rows):
            record = kodec.Record(
                key=str(number).encode(),
                value=bytes.fromhex(row["bytes"]),
                headers=tuple((name, bytes.fromhex(each)) for name, each in row["headers"]),
                timestamp=1700000001000 + number,
            )
            writer.partition(row["topic"], 0).append([record])


def judge(url: str) -> None:
    """Decode what the clients write with the schemas of a real registry, one by one and as columns."""
    import pyarrow as pa

    from kodec.values import SchemaRegistry, ValueDecoder

    rows = json.loads(json.dumps(list(samples(url, guids=False)), default=str))
    decoder = ValueDecoder(SchemaRegistry(url))
    for row in rows:
        found = decoder.decode(bytes.fromhex(row["bytes"]), topic=row["topic"])
        assert not found.reason, found.reason
        assert json.loads(found.json) == row["value"], (found.json, row["value"])
    values = pa.array([bytes.fromhex(row["bytes"]) for row in rows], pa.binary())
    columns = decoder.decode_column(values)
    assert columns.reason.null_count == len(rows), columns.reason
    newest = ValueDecoder(decoder.source, reader_schema=decoder.source.by_subject("orders-value"))
    orders = newest.decode_column(values).values.drop_null().to_pylist()
    assert [each["currency"] for each in orders] == ["EUR", "EUR", "PLN", "EUR", "PLN"]
    print(f"{len(rows)} values, schemas {columns.schema.unique().to_pylist()}: all as the clients wrote them")


def main() -> None:
    if sys.argv[1:]:
        judge(sys.argv[1])
        return
    registry = Registry()
    with serving(registry) as url:
        rows = list(samples(url))
    # What a registry keeps as text of Protobuf, as Confluent's does of what this client sends compiled.
    for _, value in registry.records:
        if value and value.get("schemaType") == "PROTOBUF":
            name = value["subject"]
            value["schema"] = (
                MONEY if "money" in name else SHIPMENT if name == "shipments-value" else value["schema"]
            )
    registry.records += [
        (
            {"keytype": "DELETE_SUBJECT", "subject": "clicks-value", "magic": 0},
            {"subject": "clicks-value", "version": 1},
        ),
        (
            {"keytype": "CONTEXT", "tenant": "default", "context": ".", "magic": 0},
            {"tenant": "default", "context": "."},
        ),
    ]
    OUT.mkdir(parents=True, exist_ok=True)
    found = {"registry": list(registry.ids.values()), "values": rows}
    (OUT / "samples.json").write_text(json.dumps(found, indent=1, ensure_ascii=False, default=str) + "\n")
    write_logs(rows, registry)
    print(f"{len(rows)} values, {len(registry.records)} records of _schemas in {OUT}")


if __name__ == "__main__":
    main()
