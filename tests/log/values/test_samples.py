"""What Confluent's serializers wrote, with each kind of source: tests/labs/registry_lab.py made it."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import socketserver
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import kodec
from kodec.log.values.decoder import ValueDecoder
from kodec.log.values.schema_folder import SchemaFolder
from kodec.log.values.schema_registry import AUTH, SchemaRegistry
from kodec.log.values.schemas import SchemaSource, SchemaSourceFailed
from kodec.log.values.sources import schema_source
from kodec.runtime.errors import ArgumentError
from tests.data import TESTS
from tests.golden import Golden
from tests.labs.registry_lab import MONEY, SHIPMENT, Registry, serving

DATA = TESTS / "data/values"
LOGS = DATA / "logs"
SAMPLES = json.loads((DATA / "samples.json").read_text("utf-8"))
VALUES = SAMPLES["values"]


def registry() -> Registry:
    """The registry that the samples were written with."""
    found = Registry()
    for each in SAMPLES["registry"]:
        found.ids[each["id"]] = each
        found.subjects.setdefault(each["subject"], []).append(each)
    return found


def folder(path: Path) -> SchemaFolder:
    """The same schemas as files."""
    for each in SAMPLES["registry"]:
        match each["schemaType"]:
            case "AVRO":
                number = "" if each["subject"] == "shop.Address" else f"@{each['id']}"
                (path / f"{each['subject']}{number}.avsc").write_text(each["schema"])
            case "JSON":
                (path / f"{each['id']}.json").write_text(each["schema"])
            case "PROTOBUF" if each["subject"] == "shipments-value":
                (path / f"{each['id']}.proto").write_text(SHIPMENT)
    (path / "shop").mkdir()
    (path / "shop/money.proto").write_text(MONEY)
    return SchemaFolder(path)


@pytest.fixture(params=["topic", "folder", "registry"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SchemaSource]:
    if request.param == "registry":
        with serving(registry()) as url:
            yield SchemaRegistry(url)
    elif request.param == "folder":
        yield folder(tmp_path)
    else:
        found = schema_source(None, LOGS)
        assert found is not None
        yield found


def read(decoder: ValueDecoder, row: dict[str, Any]) -> Any:
    headers = [(name, bytes.fromhex(each)) for name, each in row["headers"]]
    return decoder.decode(bytes.fromhex(row["bytes"]), headers, topic=row["topic"])


def test_values_are_what_the_client_says(source: SchemaSource) -> None:
    decoder = ValueDecoder(source)
    for row in VALUES:
        if row["headers"] and isinstance(source, SchemaFolder):
            continue  # no file is named by a GUID
        found = read(decoder, row)
        assert found.reason == ""
        assert json.loads(found.json) == row["value"]
        assert found.format == row["format"]


def test_a_guid_names_a_file(tmp_path: Path) -> None:
    (row,) = (each for each in VALUES if each["headers"] and each["topic"] == "clicks")
    guid = UUID(bytes=bytes.fromhex(row["headers"][0][1])[1:])
    (schema,) = (each["schema"] for each in SAMPLES["registry"] if each["guid"] == str(guid))
    (tmp_path / f"{guid}.avsc").write_text(schema)
    assert json.loads(read(ValueDecoder(SchemaFolder(tmp_path)), row).json) == row["value"]


def test_resolved_to_one_reader_schema(source: SchemaSource, tmp_path: Path, golden: Golden) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    fields = [{"name": "id", "type": "long"}, {"name": "currency", "type": "string", "default": "USD"}]
    schema = {"type": "record", "name": "Order", "namespace": "shop", "fields": fields}
    (mine / "order.avsc").write_text(json.dumps(schema))
    decoder = ValueDecoder(source, "avro", reader_schema=mine / "order.avsc")
    found = [read(decoder, row).value for row in VALUES if row["topic"] == "orders"]
    assert [each["currency"] for each in found] == ["USD", "USD", "PLN", "USD", "PLN"]
    assert set(found[0]) == {"id", "currency"}
    (mine / "s.proto").write_text('syntax="proto3"; package shop; message Shipment { int64 id = 1; }')
    decoder = ValueDecoder(source, reader_schema=mine / "s.proto")
    found = [read(decoder, row) for row in VALUES if row["topic"] == "shipments"]
    assert found[0].value == {"id": 2**40}
    assert found[2].reason.endswith("it has no message shop.Parcel")
    golden(read(decoder, VALUES[0]).reason)


def test_the_log_directory_says_the_same() -> None:
    decoder = ValueDecoder(schema_source("_schemas", LOGS))
    rows = iter(VALUES)
    for topic in ("orders", "clicks", "payments", "shipments"):
        for record in kodec.LogDirectory(LOGS).partition(topic, 0).records():
            assert record.value is not None
            found = decoder.decode(record.value, record.headers, topic=topic)
            assert json.loads(found.json) == next(rows)["value"]


def test_a_registry_that_does_not_answer_stops_the_reading() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SchemaSourceFailed, match="127"):
            read(ValueDecoder(SchemaRegistry(url, timeout=1)), VALUES[0])


def test_basic_authentication(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(registry(), password="me:p@ss") as url:
        with pytest.raises(SchemaSourceFailed, match="HTTP 401: basic authentication is needed"):
            read(ValueDecoder(SchemaRegistry(url)), VALUES[0])
        monkeypatch.setenv(AUTH, url.replace("http://", "http://me:p%40ss@"))
        assert not read(ValueDecoder(SchemaRegistry(url)), VALUES[0]).reason
        monkeypatch.delenv(AUTH)
        named = SchemaRegistry(url.replace("http://", "http://me:p%40ss@"))
        assert not read(ValueDecoder(named), VALUES[0]).reason
        assert "ss@" not in named.url


@pytest.mark.parametrize(
    "bound",
    [
        "http://me:secret@127.0.0.1:1",  # another port
        "https://me:secret@127.0.0.1:PORT",  # another scheme
        "http://me:secret@localhost:PORT",  # another name
        "http://me:secret@127.0.0.1.example:PORT",
    ],
)
def test_a_password_is_for_one_host(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(registry(), password="me:secret") as url:
        monkeypatch.setenv(AUTH, bound.replace("PORT", url.rpartition(":")[2]))
        assert "Authorization" not in SchemaRegistry(url)._headers
        with pytest.raises(
            SchemaSourceFailed, match="HTTP 401: basic authentication is needed, in the URL or"
        ):
            read(ValueDecoder(SchemaRegistry(url)), VALUES[0])


@pytest.mark.parametrize(
    "given", ["me:secret", "me:secret@host", "http://host", "ftp://me:secret@host", "http://me:secret@["]
)
def test_a_password_for_no_host_is_refused_and_not_shown(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(AUTH, given)
    with pytest.raises(ArgumentError, match="it is sent to that host alone") as caught:
        SchemaRegistry("http://127.0.0.1:9")
    assert "secret" not in str(caught.value)


class _Drips(socketserver.BaseRequestHandler):
    """Sends a byte now and then, before or after the head, without end."""

    head = b""

    def handle(self) -> None:
        with contextlib.suppress(OSError):
            self.request.recv(4096)
            self.request.sendall(self.head)
            while True:
                self.request.sendall(b"H" if not self.head else b" ")
                time.sleep(0.05)


@pytest.mark.parametrize(
    "head", [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"]
)
def test_a_registry_that_drips_is_given_up_in_time(head: bytes) -> None:
    """Each byte comes well within the timeout of a socket; the request as a whole does not."""
    handler = type("Handler", (_Drips,), {"head": head})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        with pytest.raises(SchemaSourceFailed, match=r"no answer within 0\.3 s"):
            read(ValueDecoder(SchemaRegistry(url, timeout=0.3)), VALUES[0])
        server.shutdown()


class Asked(Registry):
    """Counts, and gives what it is given to."""

    def __init__(self, said: Any) -> None:
        super().__init__()
        self.said, self.count = said, 0

    def answer(self, method: str, path: str, asked: dict[str, Any]) -> Any:
        self.count += 1
        return self.said


def test_a_schema_is_asked_for_once() -> None:
    asked = Asked(None)
    with serving(asked) as url:
        decoder = ValueDecoder(SchemaRegistry(url))
        assert {read(decoder, VALUES[0]).reason for _ in range(3)} == {f"schema 2 is not in {url}"}
    assert asked.count == 1


@pytest.mark.parametrize(
    "said",
    [
        b"<html>",
        b"[" * 100_000,
        b'{"schema":"\\"int\\"","id":1e999}',
        b'{"schema":"\\"int\\"","references":[{"name":"a","subject":"a","version":1e999}]}',
        b'{"schema":"\\"int\\"","references":[{"name":"a","subject":"a","version":NaN}]}',
        b'{"schema":"\\"int\\"","id":' + b"9" * 5_000 + b"}",
        b'{"schema":"\\"int\\"","x":[' + b"[]," * 1_000_000 + b"[]]}",
        {"schema": 7},
        {"schema": "{}", "schemaType": "X"},
        {"schema": "{}", "schemaType": ["AVRO"]},
        {"schema": "{}", "references": 7},
        [],
    ],
)
def test_an_answer_that_is_no_schema(said: Any) -> None:
    with serving(Asked(said)) as url:
        found = read(ValueDecoder(SchemaRegistry(url)), VALUES[0])
        assert found.value == bytes.fromhex(VALUES[0]["bytes"]) and found.reason


def test_no_url() -> None:
    for url in ("ftp://host", "http://", "file:///etc/passwd", "http://[", "http://a:b"):
        with pytest.raises(ArgumentError, match="no URL of a registry"):
            SchemaRegistry(url)


def test_bytes_of_other_framings(tmp_path: Path) -> None:
    text = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}]}'
    guid = "5e0bd1c1-3b8e-4f6a-9f0e-1a2b3c4d5e6f"
    for name in ("7", guid, "t-value@9"):
        (tmp_path / f"{name}.avsc").write_text(text)
    decoder = ValueDecoder(SchemaFolder(tmp_path))
    payload = base64.b64decode("BGhp")
    framings = json.loads((DATA.parent / "framings/framings.json").read_text())
    glue = [bytes.fromhex(each["bytes"])[:18] for each in framings if each["schema"] == "glue_value"]

    for data, headers in [
        (b"\0" + (7).to_bytes(8, "big") + payload, ()),
        (b"\0" + (7).to_bytes(4, "big") + payload, ()),
        (b"\1" + UUID(guid).bytes + payload, ()),
        (glue[0] + payload, ()),
        (glue[1] + zlib.compress(payload), ()),
        (payload, (("apicurio.value.globalId", (7).to_bytes(8, "big")),)),
        (payload, (("apicurio.value.contentId", (9).to_bytes(8, "big")),)),
    ]:
        found = decoder.decode(data, headers)
        assert (found.value, found.reason) == ({"a": "hi"}, "")
    assert decoder.decode(payload, (("apicurio.key.globalId", b"x"),)).reason
    assert decoder.decode(payload, (("apicurio.value.globalId", b"x"),)).reason
    plain = ValueDecoder(SchemaFolder(tmp_path), framing="none")
    assert plain.decode(payload, topic="t").value == {"a": "hi"}
    assert "no file named u-value" in plain.decode(payload, topic="u").reason
    bomb = glue[1] + zlib.compress(bytes(100 << 20))
    assert "limit" in decoder.decode(bomb).reason
    assert decoder.decode(bomb[:-9]).reason
