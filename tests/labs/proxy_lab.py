#!/usr/bin/env python3
"""Puts docs/examples/proxy.py between clients and a real broker, and checks every record on both sides.

    python tests/labs/proxy_lab.py
    python tests/labs/proxy_lab.py --record      the messages that passed, for tests/test_proxies.py

The Java clients of the broker, kafka-python and aiokafka produce and consume through it, in every codec, with
idempotence and transactions; the broker's clients and its log show what was stored.

Exit code: 0 if every record is as it must be, 1 where one is not, 2 where Kafka cannot be run.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import gzip
import importlib.util
import json
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from client_readers import Row, with_aiokafka, with_kafka_python
from kafka_lab import (
    CACHE,
    CODECS,
    Clients,
    Cluster,
    Toolbox,
    Unusable,
    free_ports,
    generation_of,
    pipe,
    run,
    say,
    step,
    stop_on_signal,
    work_of,
)
from kafka_reads_ours import java_rows

import kodec

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "proxy.py"
DATA = ROOT / "tests" / "data" / "proxy"
FOLDER = CACHE / "work" / "proxy"
LINE = "4.4"
MESSAGES = (
    *("RequestHeader", "ResponseHeader", "ApiVersionsResponse", "MetadataResponse", "ProduceRequest"),
    *("DescribeClusterResponse", "FindCoordinatorResponse", "ProduceResponse", "FetchResponse"),
    "ShareFetchResponse",
)
NUMBER = b"4111 1111 1111 1111"
MASKED = b"**** **** **** 1111"
EACH = 200
TOPICS = {"plain": CODECS, "idempotent": CODECS, "transactional": CODECS, "python": ("gzip", "zstd")}
VIA = ("via", b"proxy")


class Wrong(Exception):
    """A record is not as it must be."""


def example() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("kodec_proxy_example", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def definitions(jars: Path, jar: Path) -> None:
    """A jar with only the definitions that the example needs."""
    (clients,) = jars.glob("kafka-clients-*.jar")
    with zipfile.ZipFile(clients) as source, zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as made:
        for name in MESSAGES:
            place = f"common/message/{name}.json"
            info = zipfile.ZipInfo(place, (2026, 1, 1, 0, 0, 0))
            made.writestr(info, source.read(place), zipfile.ZIP_DEFLATED)


def protocol(jar: Path, folder: Path) -> None:
    """Import and generate the messages, with the commands of docs/proxies.md."""
    command = [sys.executable, "-m", "kodec"]
    only = [word for name in MESSAGES for word in ("--only", name)]
    words = ["import-kafka", str(jar), "--protocol", *only, "--schemas", "schemas", "--apply"]
    run([*command, *words], "import-kafka failed", cwd=folder)
    words = ["generate", "--schemas", "schemas", "--to", "kafka_protocol"]
    run([*command, *words], "generate failed", cwd=folder)


def recording(file: Path) -> None:
    """Have the example write each message that it was given, and what it made of that."""
    connection: Any = example().Connection
    with file.open("w", encoding="utf-8") as out:
        for way in ("request", "response"):
            passed = getattr(connection, way)

            async def recorded(self: Any, data: bytes, passed: Any = passed, way: str = way) -> bytes:
                waiting = self._waiting.get(int.from_bytes(data[:4], "big", signed=True))
                made: bytes = await passed(self, data)
                both = [base64.b64encode(each).decode() for each in (data, made)]
                out.write(json.dumps([way, waiting if way == "response" else None, *both]) + "\n")
                out.flush()
                return made

            setattr(connection, way, recorded)
        sys.modules["kodec_proxy_example"].main(sys.argv[3:])


@contextmanager
def proxied(broker: str, file: Path) -> Iterator[str]:
    """The address of a proxy for a broker; it writes the messages to `file`."""
    (port,) = free_ports(1)
    words = ["--broker", broker, "--listen", f"127.0.0.1:{port}"]
    command = [sys.executable, str(Path(__file__)), "--recording", str(file), *words]
    with (
        (FOLDER / "proxy.err").open("wb") as errors,
        subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        try:
            said = pipe(process.stdout).readline().decode().strip()
            if said != f"listening on 127.0.0.1:{port}":
                raise Unusable((FOLDER / "proxy.err").read_text("utf-8", "replace")[-3000:])
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def value(number: int, codec: str) -> bytes:
    return b"order %d paid with %s by %s" % (number, NUMBER, codec.encode())


def produce_java(clients: Clients, topic: str, kind: str, codecs: tuple[str, ...]) -> None:
    """Some batches in each codec; a transactional producer also aborts one."""
    for codec in codecs:
        name = f"{topic}-{codec}"
        clients.do("open", name, codec, kind if kind in ("plain", "idempotent") else f"{kind}-{codec}")
        for fate in ("commit", "abort") if kind == "transactional" else ("",):
            if fate:
                clients.do("begin", name)
            for number in range(EACH):
                words = (1_700_000_000_000 + number, b"k%d" % number, value(number, codec))
                clients.do("send", name, topic, 0, *words, b"h", b"%d" % number)
                if number % 50 == 49:
                    clients.do("flush", name)
            if fate:
                clients.do("end", name, fate)
        clients.do("close", name)


def produce_python(address: str, topic: str) -> None:
    from aiokafka import AIOKafkaProducer
    from kafka import KafkaProducer

    sync = KafkaProducer(bootstrap_servers=address, compression_type="gzip")
    for number in range(EACH):
        sync.send(topic, value(number, "gzip"), b"k%d" % number, partition=0)
    sync.flush()
    sync.close()

    async def send() -> None:
        async with AIOKafkaProducer(bootstrap_servers=address, compression_type="zstd") as producer:
            for number in range(EACH):
                await producer.send(topic, value(number, "zstd"), b"k%d" % number, partition=0)
            await producer.flush()

    asyncio.run(send())


def check(what: str, rows: list[Row], codecs: tuple[str, ...], *, via: bool) -> int:
    """Whether the records are what was sent, masked, in order; the header shows that they came through."""
    wanted = [value(number, codec).replace(NUMBER, MASKED) for codec in codecs for number in range(EACH)]
    if [row.value for row in rows] != wanted:
        raise Wrong(f"{what}: {len(rows)} rows, the first {rows[:1]}, instead of {len(wanted)}")
    if any((VIA in row.headers) != via for row in rows):
        raise Wrong(f"{what}: the header of the proxy is {'missing' if via else 'there'}")
    return len(rows)


def committed(rows: list[Row]) -> list[Row]:
    """Those of the first transaction of each producer: the second was aborted."""
    return [row for start in range(0, len(rows), 2 * EACH) for row in rows[start : start + EACH]]


def stored(folder: Path) -> tuple[int, int]:
    """The batches and records of a log on disk, of which none holds a number. Raises: Wrong."""
    batches = records = 0
    for path in sorted(folder.glob("*.log")):
        for batch in kodec.read_batches(path):
            batches += 1
            found = batch.records()
            records += len(found)
            if any(NUMBER in (each.value or b"") for each in found):
                raise Wrong(f"{path}: a number that is not masked")
    return batches, records


def consume(cluster: Cluster, clients: Clients, address: str) -> dict[str, int]:
    """How many records each reader got, all as they must be. Raises: Wrong."""
    file, through = FOLDER / "rows.jsonl", argparse.Namespace(clients=clients)
    rows: dict[str, int] = {}
    for topic in ("plain", "idempotent", "python"):
        for side, name in ((through, "proxy"), (cluster, "broker")):
            found = java_rows(side, topic, file)
            rows[f"Java, {topic}, {name}"] = check(topic, found, TOPICS[topic], via=name == "proxy")
    for reader in (with_kafka_python, with_aiokafka):
        found = reader(address, "plain", EACH * len(CODECS), LINE)
        rows[f"{reader.__name__}, plain, proxy"] = check(reader.__name__, found, CODECS, via=True)
    count = int(clients.do("consume", "transactional", "read_committed", str(file)))
    if count != EACH * len(CODECS):
        raise Wrong(f"{count} committed records")
    found = committed(java_rows(through, "transactional", file))
    rows["Java, transactional, proxy"] = check("transactional", found, CODECS, via=True)
    clients.do("group", "readers", "plain", EACH, "")
    return rows


def make(record: bool) -> str:
    """Run the lab; its figures. Raises: Unusable, Wrong."""
    tools = Toolbox(work_of(generation_of(LINE)), None, generation_of(LINE))
    tools.prepare()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    jar, passed = FOLDER / "messages.jar", FOLDER / "passed.jsonl"
    definitions(tools.jars, jar)
    with step("Importing and generating the protocol"):
        protocol(jar, FOLDER)
    with Cluster(tools) as cluster:
        for topic in TOPICS:
            cluster.clients.do("topic", topic, 1)
        begun = time.monotonic()
        with proxied(cluster.broker.address, passed) as address, Clients(tools) as clients:
            clients.do("connect", address, "-")
            with step(f"Producing through the proxy at {address}"):
                for topic in ("plain", "idempotent", "transactional"):
                    produce_java(clients, topic, topic, CODECS)
                produce_python(address, "python")
            with step("Consuming through the proxy, and at the broker"):
                rows = consume(cluster, clients, address)
        seconds = time.monotonic() - begun
        if errors := (FOLDER / "proxy.err").read_text("utf-8"):
            raise Wrong(f"the proxy printed {errors[-2000:]}")
        cluster.broker.stop()
        logs = [stored(cluster.broker.logs / f"{topic}-0") for topic in TOPICS]
    for name, number in rows.items():
        say(f"    {number:,} records as they must be: {name}")
    messages = [json.loads(line) for line in passed.read_text("utf-8").splitlines()]
    if record:
        shutil.rmtree(DATA, ignore_errors=True)
        DATA.mkdir(parents=True)
        shutil.copy(jar, DATA / "messages.jar")
        text = "".join(json.dumps(each) + "\n" for each in kept(messages))
        (DATA / "passed.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    batches, records = map(sum, zip(*logs, strict=True))
    changed = sum(each[2] != each[3] for each in messages)
    return (
        f"{sum(rows.values()):,} records read as they must be; stored {batches} batches with {records:,} "
        f"records, none with a number; {len(messages):,} messages passed, {changed:,} of them changed; "
        f"{seconds:.0f} s"
    )


def kept(messages: list[Any]) -> list[Any]:
    """The smallest changed message of each kind and version, and one that passed unchanged."""
    found: dict[Any, Any] = {}
    for each in messages:
        way, waiting, before, after = each
        data = base64.b64decode(before)
        kind = (way, *(waiting or (int.from_bytes(data[:2], "big"), int.from_bytes(data[2:4], "big"))))
        key = kind if before != after else "unchanged"
        if key not in found or len(before) < len(found[key][2]):
            found[key] = each
    return [found[key] for key in sorted(found, key=str)]


def main() -> int:
    if sys.argv[1:2] == ["--recording"]:
        recording(Path(sys.argv[2]))
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", action="store_true", help="write tests/data/proxy")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop_on_signal)
    try:
        say(make(options.record))
    except Unusable as error:
        print(f"proxy lab: {error}", file=sys.stderr)
        return 2
    except Wrong as error:
        print(f"proxy lab: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
