#!/usr/bin/env python3
"""MirrorMaker, Connect and Kafka Streams write their topics, and their own classes decode them.

Two brokers: MirrorMaker copies a topic and groups from A to B, Connect runs a connector on A, and a program
of Kafka Streams fills changelogs and repartition topics there. The partitions are kept, with what Kafka's
classes answered about them; test_topics_lab.py compares kodec's answers. Cruise Control is not published for
Maven: its classes are compiled from its public source.

Usage: topics_lab.py [--out FOLDER] [--cruise-control REPOSITORY]
Exit code: 0 where they are made, 2 where something cannot be run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_lab import (
    CACHE,
    GENERATIONS,
    HERE,
    JAVA_SOURCES,
    Broker,
    Toolbox,
    Unusable,
    free_ports,
    require_pinned,
    run,
    say,
    step,
    stop_on_signal,
    wait_for,
)

import kodec
from kodec.generated.mirror.offset_sync_key import OffsetSyncKey
from kodec.generated.mirror.offset_sync_value import OffsetSyncValue

DATA = HERE.parent / "data"
SOURCES = JAVA_SOURCES / "topics"
NAME = "topics-4.3.1.zip"
# What is kept of a partition; a reader needs no more.
KEPT = (".log", "leader-epoch-checkpoint", "partition.metadata")
# The date of the files in the archive, so that the same content is the same file.
DATE = (2026, 1, 1, 0, 0, 0)
MIRROR = """\
clusters=A,B
A.bootstrap.servers={a}
B.bootstrap.servers={b}
A->B.enabled=true
B->A.enabled=false
A->B.topics=orders
A->B.groups=group-.*
replication.factor=1
checkpoints.topic.replication.factor=1
heartbeats.topic.replication.factor=1
offset-syncs.topic.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
config.storage.replication.factor=1
offset.storage.partitions=1
status.storage.partitions=1
A->B.offset.lag.max=3
A->B.offset.flush.interval.ms=1000
emit.checkpoints.interval.seconds=1
emit.heartbeats.interval.seconds=2
refresh.groups.interval.seconds=1
refresh.topics.interval.seconds=1
sync.group.offsets.enabled=true
sync.group.offsets.interval.seconds=1
tasks.max=1
"""
CONNECT = """\
bootstrap.servers={a}
group.id=connect-cluster
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
offset.storage.topic=connect-offsets
offset.storage.replication.factor=1
offset.storage.partitions=1
offset.flush.interval.ms=500
config.storage.topic=connect-configs
config.storage.replication.factor=1
status.storage.topic=connect-status
status.storage.replication.factor=1
status.storage.partitions=1
listeners=http://127.0.0.1:{port}
plugin.discovery=only_scan
"""
SOURCE = "https://github.com/linkedin/cruise-control"
CRUISE_CONTROL = "dadba67e2324238b3e97c7042c2831919b45b597"
PARTS = (
    "cruise-control-core/src/main/java",
    "cruise-control/src/main/java",
    "cruise-control-metrics-reporter/src/main/java",
)
SETTINGS = "log.cleaner.enable=false\n"


class Tools(Toolbox):
    """The broker with MirrorMaker, Connect and Streams, and our programs."""

    def fetch(self) -> None:
        pom = SOURCES / "pom.xml"
        stamp = self.jars / "pom.sha256"
        digest = hashlib.sha256(pom.read_bytes()).hexdigest()
        if stamp.is_file() and stamp.read_text() == digest:
            return
        shutil.rmtree(self.jars, ignore_errors=True)
        run(
            [
                self.mvn, "-B", "-q", "-f", str(pom), f"-Dmaven.repo.local={self.repository}",
                f"-Djava.io.tmpdir={self.temporary}", "dependency:copy-dependencies",
                f"-DoutputDirectory={self.jars}", "-DincludeScope=runtime",
            ],
            "Maven could not fetch Kafka",
        )  # fmt: skip
        require_pinned(self.jars)
        stamp.write_text(digest)

    def sources(self) -> list[Path]:
        return [
            *sorted(SOURCES.rglob("*.java")),
            JAVA_SOURCES / "Broker.java",
            JAVA_SOURCES / "ParentWatch.java",
        ]

    def topics(self, *arguments: str) -> str:
        """What our program prints. Raises: Unusable."""
        errors = self.work / "topics.err"
        with errors.open("wb") as stderr:
            process = subprocess.Popen(
                self.command("Topics", *arguments),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
            assert process.stdout is not None and process.stdin is not None
            # it ends when its standard input does
            with process.stdin, process.stdout as stream:
                printed = stream.read().decode()
                code = process.wait()
        if code != 0:
            raise Unusable(f"Topics {arguments} failed:\n{errors.read_text(errors='replace')[-4000:]}")
        return printed

    @contextmanager
    def running(self, what: str, config: Path) -> Iterator[None]:
        """MirrorMaker or Connect, until the block ends."""
        with (self.work / f"{what}.out").open("wb") as output:
            process = subprocess.Popen(
                self.command("Topics", what, str(config), heap="512m"),
                stdin=subprocess.PIPE, stdout=output, stderr=output, cwd=self.work,
            )  # fmt: skip
            try:
                yield
                if process.poll() is not None:
                    text = (self.work / f"{what}.out").read_text(errors="replace")
                    raise Unusable(f"{what} ended:\n{text[-6000:]}")
            finally:
                process.terminate()
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                assert process.stdin is not None
                process.stdin.close()

    def ends(self, broker: Broker) -> dict[str, int]:
        lines = (line.rsplit(" ", 1) for line in self.topics("ends", broker.address).splitlines())
        return {name: int(end) for name, end in lines}


def answers(tools: Toolbox, main: str, questions: list[str]) -> list[str]:
    """What one of our judges answers. Raises: Unusable."""
    done = subprocess.run(
        tools.command(main), input="\n".join(questions) + "\n", capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Unusable(f"{main} failed:\n{done.stderr[-4000:]}")
    return done.stdout.splitlines()


def mirrored(tools: Tools, a: Broker, b: Broker) -> None:
    config = tools.work / "mirror.properties"
    config.write_text(MIRROR.format(a=a.address, b=b.address))
    with step("MirrorMaker copies a topic and its groups"), tools.running("mirror", config):
        tools.topics("orders", a.address, "0", "60")
        # later syncs lie further apart: records come in turns while it runs
        for begin in (60, 120, 200, 300):
            wait_for("MirrorMaker", lambda at=begin: tools.ends(b).get("A.orders-0", 0) >= at // 3, 90)
            tools.topics("orders", a.address, str(begin), str(begin + 100 if begin == 200 else begin + 60))
        tools.topics("commit", a.address)
        wait_for("checkpoints", lambda: tools.ends(b).get("A.checkpoints.internal-0", 0) >= 6, 90)
        time.sleep(3)


def connected(tools: Tools, a: Broker) -> None:
    (port,) = free_ports(1)
    config = tools.work / "connect.properties"
    config.write_text(CONNECT.format(a=a.address, port=port))
    (tools.work / "lines.txt").write_text("one\ntwo\n")
    address = f"http://127.0.0.1:{port}/connectors"

    def asked(path: str = "", method: str = "GET", body: object = None) -> object:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            address + path, data, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def ready() -> bool:
        try:
            return asked() is not None
        except OSError:
            return False

    def running(name: str) -> bool:
        found = asked(f"/{name}/status")
        assert isinstance(found, dict)
        return [each["state"] for each in found["tasks"]] == ["RUNNING"]

    with step("Connect runs a connector, pauses it and deletes another"), tools.running("connect", config):
        wait_for("Connect", ready, 90)
        for name in ("lines", "gone"):
            settings = {
                "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
                "file": "lines.txt",
                "topic": "file-lines",
                "tasks.max": "1",
                "topic.creation.default.replication.factor": "1",
                "topic.creation.default.partitions": "1",
            }
            try:
                asked("", "POST", {"name": name, "config": settings})
            except urllib.error.HTTPError as error:
                raise Unusable(f"Connect refused: {error.read().decode()}") from None
            wait_for("the connector", lambda at=name: _quiet(running, at), 60)
        wait_for("offsets", lambda: tools.ends(a).get("connect-offsets-0", 0) >= 2, 60)
        asked("/lines/restart?includeTasks=true", "POST")
        asked("/lines/pause", "PUT")
        asked("/gone", "DELETE")
        time.sleep(4)


def _quiet(call: object, name: str) -> bool:
    try:
        return bool(call(name))  # type: ignore[operator]
    except OSError:
        return False


# The frames of the program's topics, as schemas name them: of keys, and of values.
FRAMED: dict[str, tuple[str | None, str | None]] = {
    "app-counts-changelog": ("window_store_key", None),
    "app-sessions-changelog": ("session_key", None),
    "windowed-counts": ("windowed_key", None),
    "app-KTABLE-SUPPRESS-STATE-STORE-0000000003-changelog": ("windowed_key", "suppressed_value"),
    "app-by-customer-repartition": (None, "change"),
    "app-owner-subscription-registration-topic": (None, "subscription"),
    "app-owner-subscription-response-topic": (None, "subscription_response"),
    "app-owner-subscription-store-changelog": ("subscription_key", "subscription"),
    "app-pairs-outer-this-join-store-changelog": ("window_store_key", None),
    "app-pairs-outer-shared-join-store-changelog": ("join_key", "join_values"),
}


def frame_questions(folder: Path) -> list[str]:
    """Each framed key and value of the program's topics, and forms that it does not write."""
    found = []
    for topic, frames in FRAMED.items():
        for record in kodec.read_records(folder / "A", topics=[topic]):
            for frame, data in zip(frames, (record.key, record.value), strict=True):
                if frame is not None and data is not None:
                    found.append(f"{frame} {data.hex()}" + " 3" * (frame == "suppressed_value"))
    text = nullable(b"old"), nullable(None)
    time_ = (1_790_000_000_000).to_bytes(8, "big")
    context = time_ + bytes(7) + b"\5" + nullable(b"orders") + bytes(3) + b"\2" + bytes(3) + b"\1"
    context += nullable(b"h") + nullable(None)
    for old in text:
        change = old + nullable(b"new")
        found += [f"suppressed_value {(time_ + change).hex()} 0"]
        found += [f"suppressed_value {(time_ + context + nullable(change)).hex()} 1"]
        found += [f"suppressed_value {(context + nullable(change) + old + time_).hex()} 2"]
    same = (-2).to_bytes(4, "big", signed=True)
    for version in (2, 3):
        found += [
            f"suppressed_value {(context + nullable(b'p') + same + nullable(b'n') + time_).hex()} {version}"
        ]
    found += [
        f"change {each}" for each in ("7800", "7801", "0678797a02", "780003", "780104", "06787a7a79790005")
    ]
    return [*found, f"subscription 8001{b'key'.hex()}", f"subscription 0003{'ab' * 16}{b'key'.hex()}"]


def nullable(data: bytes | None) -> bytes:
    return (-1 if data is None else len(data)).to_bytes(4, "big", signed=True) + (data or b"")


def mirror_questions(folder: Path) -> list[str]:
    """Syncs, real and generated ones, with offsets to translate; and the records of MirrorMaker."""
    found = ["fresh false"]
    for topic, cluster, kind in (
        ("mm2-offset-syncs.B.internal", "A", "sync"),
        ("A.checkpoints.internal", "B", "checkpoint"),
        ("heartbeats", "B", "heartbeat"),
    ):
        for record in kodec.read_records(folder / cluster, topics=[topic]):
            assert record.key is not None and record.value is not None
            pair = f"{record.key.hex()} {record.value.hex()}"
            found += [f"show {kind} {pair}", *[f"sync {pair}"] * (kind == "sync")]
    found += ["ready", *(f"translate orders {part} {at}" for part in (0, 1, 2) for at in range(0, 330, 3))]
    key = OffsetSyncKey(topic="t", partition=0).to_bytes().hex()
    choice = random.Random(9)
    for round_ in range(40):
        found += ["fresh false"]
        up = down = choice.choice((0, 5, 1 << 40, (1 << 63) - 3000))
        offsets = []
        for _ in range(choice.randrange(1, 120)):
            up += choice.choice((0, 1, 1, 2, 7, 100)) if round_ % 8 else choice.randrange(-50, 300)
            up = min(max(up, 0), (1 << 63) - 1)
            down += choice.randrange(3)
            offsets.append(up)
            found += [f"sync {key} {OffsetSyncValue(upstream_offset=up, offset=down).to_bytes().hex()}"]
        asked = {0, up + 1, *(choice.choice(offsets) + choice.randrange(-3, 4) for _ in range(30))}
        found += ["ready", *(f"translate t 0 {at}" for at in sorted(asked) if 0 <= at < 1 << 63)]
    return found


def judged(tools: Tools, folder: Path) -> None:
    """Keep what Kafka's own classes answer, after the questions."""
    questions = frame_questions(folder)
    package = "org.apache.kafka.streams.state.internals.Judge"
    lines = answers(tools, package, questions)
    text = "".join(f"{asked}\t{found}\n" for asked, found in zip(questions, lines, strict=True))
    (folder / "frames.tsv").write_text(text, encoding="utf-8")
    questions = mirror_questions(folder)
    waiting = iter(answers(tools, "org.apache.kafka.connect.mirror.Translations", questions))
    with (folder / "translations.tsv").open("w", encoding="utf-8") as out:
        for asked in questions:
            out.write(
                f"{asked}\t{next(waiting)}\n" if asked.startswith(("show", "translate")) else f"{asked}\t\n"
            )


def cruise_control(tools: Tools, repository: str, folder: Path) -> None:
    """Records that Cruise Control's own classes write, compiled from its source. Raises: Unusable."""
    sources = tools.work / "cruise-control"
    shutil.rmtree(sources, ignore_errors=True)
    with step("Compiling Cruise Control's classes"):
        run(["git", "clone", "--quiet", "--no-checkout", repository, str(sources)], "no Cruise Control")
        run(
            ["git", "-C", str(sources), "checkout", "--quiet", CRUISE_CONTROL, "--", *PARTS],
            "no Cruise Control",
        )
        classes = tools.work / "cruise-classes"
        classes.mkdir(exist_ok=True)
        path = os.pathsep.join(str(sources / part) for part in PARTS)
        run(
            [
                tools.javac, "-J-XX:-UsePerfData", "-encoding", "UTF-8", "-nowarn", "-cp", str(tools.jars /
                "*"), "-sourcepath", path, "-d", str(classes), str(JAVA_SOURCES / "cruise" /
                "CruiseControl.java"),
            ],
            "javac refused Cruise Control",
        )  # fmt: skip
    with (folder / "cruise-control.tsv").open("wb") as out:
        command = [
            tools.java, "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8",
            "-cp", os.pathsep.join([str(classes), str(tools.jars / "*")]), "CruiseControl",
        ]  # fmt: skip
        subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, check=True)


def kept(a: Broker, b: Broker, folder: Path) -> None:
    """Keep the partitions that tests read, as clusters A and B."""
    for name, broker in (("A", a), ("B", b)):
        for path in sorted(broker.logs.iterdir()):
            if not path.is_dir() or path.name.startswith("__cluster_metadata"):
                continue
            target = folder / name / path.name
            target.mkdir(parents=True)
            for file in sorted(path.iterdir()):
                if file.name.endswith(KEPT):
                    shutil.copyfile(file, target / file.name)


def archive(folder: Path, out: Path) -> None:
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                info = zipfile.ZipInfo(path.relative_to(folder).as_posix(), DATE)
                info.compress_type = zipfile.ZIP_DEFLATED
                target.writestr(info, path.read_bytes())


def make(work: Path, out: Path, repository: Path | None, repository_of_cruise_control: str) -> None:
    """Make the archive of topics and the answers of Kafka's classes. Raises: Unusable."""
    work.mkdir(parents=True, exist_ok=True)
    tools = Tools(work, repository, GENERATIONS["4.3"])
    tools.prepare()
    folder = work / "kept"
    for old in (folder, work / "A", work / "B", work / "state"):
        shutil.rmtree(old, ignore_errors=True)
    brokers = []
    for name in ("A", "B"):
        (work / name).mkdir()
        brokers.append(Broker(tools, SETTINGS, folder=work / name))
    a, b = brokers
    try:
        with step("Starting two brokers"):
            for broker in brokers:
                broker.format()
                broker.start()
        mirrored(tools, a, b)
        connected(tools, a)
        with step("A program of Kafka Streams runs"):
            tools.topics("streams", a.address, str(work / "state"))
        answered = tools.topics("translated", b.address)
        with step("Shutting down in order"):
            for broker in brokers:
                broker.stop()
    finally:
        for broker in brokers:
            broker.kill()
    kept(a, b, folder)
    (folder / "remote-cluster-utils.txt").write_text(answered)
    judged(tools, folder)
    cruise_control(tools, repository_of_cruise_control, folder)
    archive(folder, out / NAME)
    say(f"    {(out / NAME).stat().st_size} bytes")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--cruise-control", default=SOURCE)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, stop_on_signal)
    work = CACHE / "topics"
    try:
        make(work, arguments.out, CACHE / "maven-repository", arguments.cruise_control)
    except Unusable as error:
        say(str(error))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
