"""How fast are messages read and written, beside kio's: `python -m benchmarks.messages`.

Both read the same bytes and write the same bytes, which is checked before anything is timed; then each runs
once in every round, in turned order. Requests and responses are generated for it, of Kafka's jars: those that
`make messages` has fetched, or `--jars`. Without jars there are the stored messages alone.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import io
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import UUID

from benchmarks.measure import frozen
from kodec.generator.driver import generate
from kodec.importer.plan import plan_import

ROOT = Path(__file__).resolve().parent.parent
JARS = sorted((ROOT / ".cache" / "differential").glob("jars-messages-*"))
PACKAGE = "kafka_messages"


@dataclass(frozen=True, slots=True)
class Case:
    """A message: our class, its version where nothing in front of the bytes says it, and kio's class.

    `before` is how many bytes stand in front of the fields, which kio does not know.
    """

    name: str
    value: Any
    given: int | None
    kio: str
    before: int = 0

    @property
    def data(self) -> bytes:
        keys = {} if self.given is None else {"version": self.given}
        return bytes(self.value.to_bytes(**keys))


def stored() -> Iterator[Case]:
    """Messages that Kafka stores, of those that kio has."""
    from kodec.generated.control import leader_change_message as leader
    from kodec.generated.control import voters_record as voters
    from kodec.generated.messages import consumer_protocol_assignment as assignment
    from kodec.generated.messages import consumer_protocol_subscription as subscription

    for members in (3, 100):
        found = [
            voters.Voter(
                number,
                UUID(int=number + 1),
                [voters.Endpoint("CONTROLLER", f"controller-{number}.example.org", 9093)],
                voters.KraftVersionFeature(0, 1),
            )
            for number in range(members)
        ]
        yield Case(
            f"VotersRecord v0, {members} voters",
            voters.VotersRecord(voters=found),
            None,
            "voters_record.v0.data",
        )
    heard = [leader.Voter(number, UUID(int=number + 1)) for number in range(3)]
    message = leader.LeaderChangeMessage(version=1, leader_id=1, voters=heard, granting_voters=heard)
    yield Case("LeaderChangeMessage v1", message, None, "leader_change_message.v1.data")
    topics = [f"topic-{number}" for number in range(20)]
    owned = [subscription.TopicPartition(topic, list(range(12))) for topic in topics]
    member = subscription.ConsumerProtocolSubscription(
        version=3, topics=topics, user_data=b"\0" * 8, owned_partitions=owned, generation_id=7, rack_id="a"
    )
    yield Case(
        "ConsumerProtocolSubscription v3", member, None, "consumer_protocol_subscription.v3.data", before=2
    )
    given = [assignment.TopicPartition(topic, list(range(12))) for topic in topics]
    share = assignment.ConsumerProtocolAssignment(version=3, assigned_partitions=given)
    yield Case("ConsumerProtocolAssignment v3", share, None, "consumer_protocol_assignment.v3.data", before=2)


def protocol(package: str) -> Iterator[Case]:
    """Requests and responses, small and large."""

    def module(name: str) -> Any:
        return importlib.import_module(f"{package}.protocol.{name}")

    head = module("request_header").RequestHeader
    value = head(request_api_key=3, request_api_version=12, correlation_id=7, client_id="client")
    yield Case("RequestHeader v2", value, 2, "request_header.v2.header")
    api = module("api_versions_response")
    keys = [api.ApiVersion(number, 0, 9) for number in range(60)]
    yield Case(
        "ApiVersionsResponse v3", api.ApiVersionsResponse(api_keys=keys), 3, "api_versions.v3.response"
    )
    beat = module("heartbeat_request").HeartbeatRequest(group_id="group", generation_id=3, member_id="m-1")
    yield Case("HeartbeatRequest v4", beat, 4, "heartbeat.v4.request")
    commit = module("offset_commit_request")
    offsets = [
        commit.OffsetCommitRequestPartition(
            partition_index=number, committed_offset=1234, committed_leader_epoch=1, committed_metadata=""
        )
        for number in range(5)
    ]
    topic = commit.OffsetCommitRequestTopic(name="orders", partitions=offsets)
    value = commit.OffsetCommitRequest(
        group_id="group", generation_id_or_member_epoch=3, member_id="m-1", topics=[topic]
    )
    yield Case("OffsetCommitRequest v8", value, 8, "offset_commit.v8.request")
    fetch = module("fetch_request")
    partitions = [
        fetch.FetchPartition(partition=number, fetch_offset=123456, partition_max_bytes=1 << 20)
        for number in range(10)
    ]
    asked = [fetch.FetchTopic(topic=f"topic-{number}", partitions=partitions) for number in range(10)]
    value = fetch.FetchRequest(replica_id=-1, max_wait_ms=500, min_bytes=1, topics=asked)
    yield Case("FetchRequest v12, 100 partitions", value, 12, "fetch.v12.request")
    produce = module("produce_request")
    batch = produce.PartitionProduceData(index=0, records=b"r" * 16_384)
    written = produce.ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[produce.TopicProduceData(name="orders", partition_data=[batch])],
    )
    yield Case("ProduceRequest v9, 16 KiB", written, 9, "produce.v9.request")
    meta = module("metadata_response")
    brokers = [
        meta.MetadataResponseBroker(node_id=number, host=f"broker-{number}.example.org", port=9092)
        for number in range(3)
    ]
    for topics, each in ((1, 3), (100, 12)):
        told = [
            meta.MetadataResponseTopic(
                name=f"topic-{number}",
                topic_id=UUID(int=number + 1),
                partitions=[
                    meta.MetadataResponsePartition(
                        partition_index=index,
                        leader_id=1,
                        leader_epoch=5,
                        replica_nodes=[0, 1, 2],
                        isr_nodes=[0, 1, 2],
                    )
                    for index in range(each)
                ],
            )
            for number in range(topics)
        ]
        value = meta.MetadataResponse(brokers=brokers, cluster_id="cluster", controller_id=1, topics=told)
        yield Case(f"MetadataResponse v12, {topics * each} partitions", value, 12, "metadata.v12.response")


def generated(jars: Path, folder: Path) -> str:
    """All of Kafka's messages, as `kodec import-kafka --protocol` and `kodec generate` make them."""
    schemas = folder / "schemas"
    (schemas / "primitives").mkdir(parents=True)
    for path in (ROOT / "schemas" / "primitives").glob("*.ksy"):
        (schemas / "primitives" / path.name).write_bytes(path.read_bytes())
    plan_import(jars, schemas, protocol=True).apply()
    generate(schemas, folder / PACKAGE)
    sys.path.insert(0, str(folder))
    return PACKAGE


def is_native() -> bool:
    """Whether our messages are read and written natively."""
    from kodec.generated.control.voters_record import VotersRecord
    from kodec.runtime.messages import in_python

    return in_python(VotersRecord.to_bytes) is not VotersRecord.to_bytes


class Disagreement(Exception):
    """The two do not read or write the same."""


def runners(case: Case) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Of reading and of writing: ours and kio's. Raises Disagreement."""
    from kio.serial import entity_reader, entity_writer

    module = importlib.import_module(f"kio.schema.{case.kio}")
    theirs = getattr(module, type(case.value).__name__)
    read, write = entity_reader(theirs), entity_writer(theirs)
    data, keys = case.data, {} if case.given is None else {"version": case.given}
    rest = data[case.before :]
    kind, value = type(case.value), case.value

    def kio_read() -> Any:
        return read(rest, 0)[0]

    held = kio_read()

    def kio_write() -> bytes:
        buffer = io.BytesIO()
        write(buffer, held)
        return buffer.getvalue()

    if kio_write() != rest or kind.from_bytes(data, **keys) != value:
        raise Disagreement(case.name)
    if case.given is None:
        return {
            "decode": (lambda: kind.from_bytes(data), kio_read),
            "encode": (lambda: value.to_bytes(), kio_write),
        }
    given = case.given
    return {
        "decode": (lambda: kind.from_bytes(data, version=given), kio_read),
        "encode": (lambda: value.to_bytes(version=given), kio_write),
    }


def timed(work: Callable[[], object], repeats: int) -> float:
    """CPU seconds of one call."""
    started = time.process_time()
    for _ in range(repeats):
        work()
    return (time.process_time() - started) / repeats


def measure(
    pair: tuple[Callable[[], object], ...], rounds: int, seconds: float
) -> tuple[float, float, list[float]]:
    """Medians of both in seconds, and how many times as fast the first was in each round."""
    repeats = [max(1, int(seconds / max(timed(work, 3), 1e-7))) for work in pair]
    found: list[list[float]] = []
    for number in range(rounds):
        gc.collect()
        order = (0, 1) if number % 2 else (1, 0)
        times = {index: timed(pair[index], repeats[index]) for index in order}
        found.append([times[0], times[1]])
    ratios = [theirs / ours for ours, theirs in found]
    return statistics.median(each[0] for each in found), statistics.median(each[1] for each in found), ratios


_ALL = """
import importlib, pathlib, pkgutil, {package} as package
for each in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(each.name)
status = pathlib.Path("/proc/self/status")
lines = status.read_text().splitlines() if status.exists() else []
print(next((line.split()[1] for line in lines if line.startswith("VmRSS")), 0))
"""


def imported(code: str, rounds: int) -> tuple[float, str]:
    """The least CPU seconds that a process takes, bytecode written before, and what it prints."""
    best, printed = float("inf"), ""
    with tempfile.TemporaryDirectory() as cache:
        paths = os.pathsep.join(sys.path)
        env = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env |= {"PYTHONPATH": paths, "PYTHONPYCACHEPREFIX": cache}
        for number in range(rounds + 1):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(
                [sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            best, printed = min(best, spent) if number else best, done.stdout.strip()
    return best, printed


def size_of(folder: Path) -> str:
    """The size of a package's text, its files, their blocks of 4 KiB, and its wheel."""
    files = sorted(folder.rglob("*.py"))
    sizes = [path.stat().st_size for path in files]
    blocks = sum(-(-size // 4096) * 4096 for size in sizes)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            archive.write(path, path.relative_to(folder))
    return (
        f"{sum(sizes) / 1e6:.2f} MB in {len(files):,} files, {blocks / 1e6:.2f} MB on disk, "
        f"{len(packed.getvalue()) / 1e6:.2f} MB zipped"
    )


def packages(package: str, rounds: int) -> None:
    """Print how long importing takes, and how large the packages are."""
    import kio.schema

    one = {
        "kodec": f"from {package}.protocol.fetch_request import FetchRequest",
        "kio": "from kio.schema.fetch.v12.request import FetchRequest\n"
        "from kio.serial import entity_reader, entity_writer\n"
        "entity_reader(FetchRequest), entity_writer(FetchRequest)",
    }
    every = {"kodec": _ALL.format(package=f"{package}.protocol"), "kio": _ALL.format(package="kio.schema")}
    nothing, _ = imported("pass", rounds)
    folders = {
        "kodec": Path(importlib.import_module(f"{package}.protocol").__path__[0]),
        "kio": Path(kio.schema.__path__[0]),
    }
    for name in ("kodec", "kio"):
        first, _ = imported(one[name], rounds)
        whole, memory = imported(every[name], rounds)
        print(
            f"{name:8} FetchRequest {(first - nothing) * 1e3:6.0f} ms   everything {whole - nothing:5.2f} s,"
            f" {int(memory) / 1024:4.0f} MiB   {size_of(folders[name])}"
        )


def main(arguments: list[str] | None = None) -> int:
    """Measure; 0 when done, 1 if the two do not agree, 2 if kio is not installed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.messages",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--jars", type=Path, default=JARS[-1] if JARS else None, help="folder of Kafka's jars"
    )
    parser.add_argument("--kio", type=Path, help="another release of kio: a folder of `pip install --target`")
    parser.add_argument("--rounds", type=int, default=7, help="(%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.1, help="CPU seconds of one run (%(default)s)")
    parser.add_argument(
        "--quick", action="store_true", help="stored messages, short runs: shows that it works"
    )
    options = parser.parse_args(arguments)
    if options.kio is not None:
        sys.path.insert(0, str(options.kio))
    if options.quick:
        options.rounds, options.seconds, options.jars = 1, 0.001, None
    try:
        importlib.import_module("kio.serial")
    except ImportError as error:
        print(f"kio is not here ({error}): pip install kio", file=sys.stderr)
        return 2
    where = "" if options.kio is None else f" of {options.kio.name}"
    release = getattr(importlib.import_module("kio._version"), "__version__", version("kio"))
    python = sys.version.split()[0]
    done = "natively" if is_native() else "in Python"
    print(f"kodec {done}, kio {release}{where}, CPython {python}; CPU µs, medians of {options.rounds} rounds")
    with tempfile.TemporaryDirectory() as folder:
        cases = list(stored())
        package = ""
        if options.jars is not None:
            package = generated(options.jars, Path(folder))
            cases += protocol(package)
        print(f"{'':38}{'bytes':>8}{'':10}{'kodec':>10}{'kio':>10}{'ratio':>8}  in any round")
        with frozen():
            for case in cases:
                try:
                    both = runners(case)
                except Disagreement as error:
                    print(f"the two do not agree: {error}", file=sys.stderr)
                    return 1
                for what, pair in both.items():
                    ours, theirs, ratios = measure(pair, options.rounds, options.seconds)
                    print(
                        f"{case.name:38}{len(case.data):>8,} {what:9}{ours * 1e6:>10.1f}{theirs * 1e6:>10.1f}"
                        f"{statistics.median(ratios):>7.2f}x  {min(ratios):.2f} to {max(ratios):.2f}",
                        flush=True,
                    )
        if package:
            packages(package, 1 if options.quick else 3)
    return 0


if __name__ == "__main__":
    sys.exit(main())
