"""Makes framings.json: bytes that real serializers of schema registries wrote, and what stands in them.

    pip install 'confluent-kafka[avro,protobuf]==2.11.0' aws-glue-schema-registry==1.1.3
    python make.py JARS > framings.json

JARS is a class path with apicurio-registry-serde-common, -serde-kafka-common, -schema-resolver and
-common 3.1.7, kafka-clients and slf4j-api; Apicurio's bytes come from `Apicurio.java`. No registry is
needed: the ids are given.
"""

import json
import subprocess
import sys
import uuid
from pathlib import Path

from aws_schema_registry import codec
from confluent_kafka.schema_registry.serde import SchemaId

HERE = Path(__file__).resolve().parent
GUID = "5e0bd1c1-3b8e-4f6a-9f0e-1a2b3c4d5e6f"
CONFLUENT, GLUE, APICURIO = "confluent-kafka 2.11.0", "aws-glue-schema-registry 1.1.3", "Apicurio 3.1.7"


def confluent() -> list[dict]:
    found = []
    for kind, schema, indexes in [
        ("AVRO", "confluent_value", None),
        *(
            ("PROTOBUF", "confluent_protobuf_value", each)
            for each in ([0], [1, 0], [2], [63, 64, 8191, 8192])
        ),
    ]:
        more = {} if indexes is None else {"message_indexes": [] if indexes == [0] else indexes}
        for data, value in (
            (
                SchemaId(kind, 1234567, None, indexes).id_to_bytes() + b"data",
                {"magic": 0, "schema": {"number": 1234567}},
            ),
            (SchemaId(kind, None, GUID, indexes).guid_to_bytes(), {"magic": 1, "schema": {"guid": GUID}}),
        ):
            payload = b"data" if value["magic"] == 0 else b""
            found.append(row(CONFLUENT, schema, data, value | more | {"payload": payload.hex()}))
    return found


def glue() -> list[dict]:
    found = []
    for compression, name in ((None, 0), ("zlib", 5)):
        data = codec.encode(b"data", uuid.UUID(GUID), compression)
        value = {
            "header_version": 3,
            "compression": name,
            "schema_version_id": GUID,
            "payload": data[18:].hex(),
        }
        found.append(row(GLUE, "glue_value", data, value))
    return found


def apicurio(jars: str) -> list[dict]:
    command = ["java", "-cp", jars, str(HERE / "Apicurio.java")]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found = []
    for schema, of, number, data in (line.split() for line in lines):
        value = {"schema_id": int(number)}
        if schema == "confluent_value":
            value = {"magic": 0, "schema": {"number": int(number)}}
        elif schema == "apicurio_value":
            value = {"magic": 0} | value
        if schema != "apicurio_id_header":
            value |= {"payload": b"data".hex()}
            data += b"data".hex()
        found.append(row(f"{APICURIO}, {of}", schema, bytes.fromhex(data), value))
    return found


def row(by: str, schema: str, data: bytes, value: dict) -> dict:
    return {"by": by, "schema": schema, "bytes": data.hex(), "value": value}


if __name__ == "__main__":
    print(json.dumps([*confluent(), *glue(), *apicurio(sys.argv[1])], indent=1))
