"""Runs a real Kafka of any generation on loopback, and drives its Java clients."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, NoReturn
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
JAVA_SOURCES = HERE / "java"
LAB_SOURCES = JAVA_SOURCES / "lab"
# What the labs of a clone fetch and make.
CACHE = HERE.parent.parent / ".cache" / "interop"
NODE_ID = 1
# Fixed, so that two runs differ in no more than they must.
CLUSTER_ID = "a29kZWMtcmVhbC1sb2dzMQ"
DIRECTORY_ID = "a29kZWMtZGlyZWN0b3J5MQ"
LEGACY_CODECS = ("none", "gzip", "snappy", "lz4")
CODECS = (*LEGACY_CODECS, "zstd")
# The line of a Java exception, from the name of its class on.
THROWN = re.compile(r"^(?:[a-z][\w]*\.)+(\w+(?:Exception|Error)\b.*)$", re.MULTILINE)
# What a broker with ZooKeeper prints when it is ready.
STARTED = re.compile(r"\[Kafka ?Server [^\]]*\],? started")


class Unusable(Exception):
    """Something the lab needs is not on the machine, or the making failed; the text shows what."""


class Refused(Exception):
    """What a Java client answered to a command of ours."""


# ------------------------------------------------------------------ generations


@dataclass(frozen=True)
class Generation:
    """One line of Kafka releases and what it can hold.

    `formats` says for each magic that its topics can be made to hold the `message.format.version` that does
    so (None: there is no such setting, it is the only one). `produce` says for each magic the Produce version
    that carries it; magics that the line does not know are absent. `api` names a folder of java/lab/.
    """

    name: str
    kafka: str
    scala: str
    api: str
    formats: dict[int, str | None]
    produce: dict[int, int]
    zookeeper: bool = False
    zstd: bool = False
    golden: bool = True

    @property
    def magic(self) -> int:
        """The format that the line writes unless told otherwise."""
        return max(self.formats)

    def codecs(self, magic: int) -> tuple[str, ...]:
        return CODECS if magic == 2 and self.zstd else LEGACY_CODECS


GENERATIONS = {
    generation.name: generation
    for generation in (
        Generation("0.9", "0.9.0.1", "2.11", "0.9", {0: None}, {0: 1}, zookeeper=True),
        Generation(
            "0.10", "0.10.2.2", "2.11", "0.10", {0: "0.9.0", 1: "0.10.2"}, {0: 2, 1: 2}, zookeeper=True
        ),
        Generation(
            "0.11",
            "0.11.0.3",
            "2.11",
            "0.11",
            {0: "0.9.0", 1: "0.10.2", 2: "0.11.0"},
            {0: 2, 1: 2, 2: 3},
            zookeeper=True,
        ),
        Generation(
            "2.8",
            "2.8.2",
            "2.13",
            "2.8",
            {0: "0.9.0", 1: "0.10.2", 2: "2.8"},
            {0: 2, 1: 2, 2: 7},
            zookeeper=True,
            zstd=True,
        ),
        Generation("3.9", "3.9.1", "2.13", "2.8", {2: None}, {0: 2, 1: 2, 2: 7}, zstd=True),
        # Its golden directory is the richer one of make_logs.py.
        Generation("4.3", "", "2.13", "2.8", {2: None}, {0: 2, 1: 2, 2: 7}, zstd=True, golden=False),
    )
}

# Releases after the newest one whose logs are committed: of 4.4.0 the tools are missing.
LATER = {
    generation.name: generation
    for generation in (
        Generation("4.4", "4.4.0", "2.13", "2.8", {2: None}, {0: 2, 1: 2, 2: 7}, zstd=True, golden=False),
    )
}


def generation_of(line: str) -> Generation:
    """The generation of a line, a later one too. Raises: Unusable."""
    known = GENERATIONS | LATER
    if line not in known:
        raise Unusable(f"no line {line} of Kafka: {', '.join(known)}")
    return known[line]


def kafka_version(generation: Generation | None = None) -> str:
    """The Kafka release of a generation; the newest one's is named by the committed pom."""
    if generation is not None and generation.kafka:
        return generation.kafka
    found = ElementTree.parse(JAVA_SOURCES / "pom.xml").findtext("properties/kafka.version")
    if not found:
        raise Unusable("pom.xml names no kafka.version")
    return found


def work_of(generation: Generation) -> Path:
    """The folder in which a generation is run; made if missing."""
    work = CACHE / "work" / generation.name
    work.mkdir(parents=True, exist_ok=True)
    return work


# ------------------------------------------------------------------ the machine


def say(text: str) -> None:
    print(text, flush=True)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Print what begins, and how long it took."""
    print(f"{text} ...", flush=True)
    begun = time.monotonic()
    yield
    print(f"    done in {time.monotonic() - begun:.1f} s", flush=True)


def stop_on_signal(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def find_program(name: str, why: str) -> str:
    """Path of a JDK or Maven program: JAVA_HOME first, then PATH."""
    home = os.environ.get("JAVA_HOME")
    if home and name in ("java", "javac"):
        for candidate in (Path(home, "bin", name), Path(home, "bin", name + ".exe")):
            if candidate.is_file():
                return str(candidate)
    found = shutil.which(name)
    if found is None:
        raise Unusable(f"`{name}` was not found on PATH: {why}")
    return found


def java_major(java: str) -> int:
    done = subprocess.run([java, "-XX:-UsePerfData", "-version"], capture_output=True, text=True, check=False)
    match = re.search(r'version "(\d+)', done.stderr)
    if match is None:
        raise Unusable(f"`java -version` says nothing known: {done.stderr.strip()}")
    return int(match[1])


def run(command: list[str], otherwise: str, cwd: Path | None = None) -> None:
    """Run a command to its end; on failure raise with the end of what it printed."""
    # Without this Maven's JVM leaves a file in the system's temporary directory.
    environment = {**os.environ, "MAVEN_OPTS": f"{os.environ.get('MAVEN_OPTS', '')} -XX:-UsePerfData".strip()}
    # Standard input is a pipe of ours: our Java programs end with it, so that none outlives this process.
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=cwd,
        env=environment,
    ) as process:
        assert process.stdout is not None
        try:
            output = process.stdout.read()
        except BaseException:
            process.kill()
            raise
        code = process.wait()
    if code != 0:
        raise Unusable(f"{otherwise} (exit code {code}):\n{output[-6000:]}")


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def wait_for(what: str, ready: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise Unusable(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.1)


def require_pinned(jars: Path) -> None:
    """Hold every jar against its pinned SHA-256; differential/jvm.py shows how. Raises its WrongJar."""
    spec = importlib.util.spec_from_file_location("kodec_pinned_jars", HERE / "differential" / "jvm.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.require_pinned(jars)


class Toolbox:
    """The Java programs, Kafka's jars and our compiled classes, all inside the work directory."""

    def __init__(self, work: Path, repository: Path | None, generation: Generation) -> None:
        self.work = work
        self.generation = generation
        self.java = find_program("java", "Kafka needs a JDK of version 17 or newer")
        self.javac = find_program("javac", "a JDK is needed, a bare Java runtime is not enough")
        self.mvn = find_program("mvn", "Apache Maven fetches Kafka")
        self.major = java_major(self.java)
        if self.major < 17:
            raise Unusable(f"Kafka needs Java 17 or newer, this is {self.major}")
        self.jars = work / "jars"
        self.classes = work / "classes"
        self.temporary = work / "tmp"
        self.temporary.mkdir(exist_ok=True)
        self.repository = repository or work / "maven-repository"

    def fetch(self) -> None:
        """Fetch Kafka by the coordinates of the committed pom, once for each content of it."""
        pom = (LAB_SOURCES if self.generation.kafka else JAVA_SOURCES) / "pom.xml"
        versions = []
        if self.generation.kafka:
            versions = [
                f"-Dkafka.version={self.generation.kafka}",
                f"-Dscala.version={self.generation.scala}",
            ]
        stamp = self.jars / "pom.sha256"
        digest = hashlib.sha256(pom.read_bytes() + repr(versions).encode()).hexdigest()
        if stamp.is_file() and stamp.read_text() == digest:
            say("    already there")
            return
        shutil.rmtree(self.jars, ignore_errors=True)
        run(
            [
                self.mvn, "-B", "-q", "-f", str(pom), f"-Dmaven.repo.local={self.repository}",
                f"-Djava.io.tmpdir={self.temporary}", *versions, "dependency:copy-dependencies",
                f"-DoutputDirectory={self.jars}", "-DincludeScope=runtime",
            ],
            "Maven could not fetch Kafka",
        )  # fmt: skip
        require_pinned(self.jars)
        stamp.write_text(digest)

    def sources(self) -> list[Path]:
        """Our Java sources for this generation."""
        folders = [LAB_SOURCES, LAB_SOURCES / self.generation.api]
        if self.generation.zookeeper:
            folders.append(LAB_SOURCES / "zookeeper")
        if not self.generation.kafka:
            folders.append(JAVA_SOURCES)
        common = [JAVA_SOURCES / f"{name}.java" for name in ("Broker", "DumpEach", "ParentWatch")]
        return sorted({*common, *(path for folder in folders for path in folder.glob("*.java"))})

    def compile(self) -> None:
        """Compile our Java sources, once for each content of them."""
        stamp = self.classes / "sources.sha256"
        parts = [self.jars / "pom.sha256", *self.sources()]
        digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in parts)).hexdigest()
        if stamp.is_file() and stamp.read_text() == digest:
            say("    already there")
            return
        shutil.rmtree(self.classes, ignore_errors=True)
        self.classes.mkdir()
        command = [
            self.javac, "-J-XX:-UsePerfData", "-encoding", "UTF-8", "-nowarn",
            "-cp", str(self.jars / "*"), "-d", str(self.classes), *map(str, self.sources()),
        ]  # fmt: skip
        run(command, "javac refused our sources")
        stamp.write_text(digest)

    def prepare(self) -> None:
        with step(f"Getting Apache Kafka {kafka_version(self.generation)} through Maven"):
            self.fetch()
        with step(f"Compiling our Java sources (Java {self.major})"):
            self.compile()

    def command(
        self, main: str, *arguments: str, heap: str = "256m", verbose: tuple[str, ...] = ()
    ) -> list[str]:
        """The command line of a Java program; the loggers `verbose` print INFO too."""
        return [
            self.java, f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
            *(f"-Dorg.slf4j.simpleLogger.log.{name}=info" for name in verbose),
            "-Dfile.encoding=UTF-8", f"-Djava.io.tmpdir={self.temporary}", f"-DLOG_DIR={self.work}",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true",
            f"-Dlog4j.configuration={(LAB_SOURCES / 'log4j.properties').as_uri()}",
            # Else the old clients of ZooKeeper look for a Kerberos that is missing.
            "-Dzookeeper.sasl.client=false",
            "-cp", os.pathsep.join([str(self.classes), str(self.jars / "*")]), main, *arguments,
        ]  # fmt: skip


# ------------------------------------------------------------------ the broker

# No roll by age (markers bear the wall clock, records do not), small pre-allocated indexes,
# small internal topics, an eager cleaner.
COMMON = """\
listeners={listeners}
advertised.listeners={listeners}
log.dirs={logs}
auto.create.topics.enable=false
log.retention.ms=-1
log.roll.ms=315360000000
log.index.size.max.bytes=4096
log.segment.delete.delay.ms=500
log.cleaner.enable=true
log.cleaner.backoff.ms=200
log.cleaner.threads=1
log.cleaner.dedupe.buffer.size=4194304
log.initial.task.delay.ms=500
group.initial.rebalance.delay.ms=0
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
controlled.shutdown.enable=true
num.network.threads=2
num.io.threads=2
background.threads=2
"""
ZOOKEEPER = """\
broker.id={node}
zookeeper.connect={zookeeper}
zookeeper.session.timeout.ms=3000
"""
# Snapshots of the metadata every few kilobytes.
KRAFT = """\
process.roles=broker,controller
node.id={node}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers={controllers}
metadata.log.max.record.bytes.between.snapshots=4000
metadata.log.max.snapshot.interval.ms=0
metadata.max.idle.interval.ms=5000
"""
SHARE_GROUPS = """\
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.share.enable=true
"""


class Broker:
    """One broker on loopback (in KRaft with its controller), which never outlives this process.

    `settings` are further lines of its configuration; the loggers `verbose` print INFO too. Its files are in
    `folder`; `node` is its id.
    """

    def __init__(
        self,
        tools: Toolbox,
        settings: str = "",
        verbose: tuple[str, ...] = (),
        *,
        folder: Path | None = None,
        node: int = NODE_ID,
    ) -> None:
        self.tools = tools
        self.settings = settings
        self.verbose = verbose
        self.node = node
        folder = folder or tools.work
        self.logs = folder / "logs"
        self.roots = [self.logs]
        self.config = folder / "broker.properties"
        self.output = folder / "broker.out"
        self.port, self.controller_port = free_ports(2)
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def voter(self) -> str:
        """The broker's controller, as `kafka-storage format` takes it."""
        directory = base64.b64encode(f"kodec-directory{self.node}".encode()).decode().rstrip("=")
        return f"{self.node}@127.0.0.1:{self.controller_port}:{directory}"

    def format(
        self, zookeeper: str = "", quorum: Sequence[Broker] = (), cluster_id: str = CLUSTER_ID
    ) -> None:
        """Write the configuration and, if there is no ZooKeeper, format the storage.

        `quorum` are all brokers of the cluster, this one too; without, it is alone.
        """
        quorum = quorum or [self]
        self.configure(zookeeper, quorum)
        if not self.tools.generation.zookeeper:
            voters = ",".join(each.voter for each in quorum)
            arguments = ["format", "-t", cluster_id, "-c", str(self.config), "--initial-controllers", voters]
            run(self.tools.command("kafka.tools.StorageTool", *arguments), "kafka-storage format failed")

    def configure(self, zookeeper: str, quorum: Sequence[Broker]) -> None:
        """Write the configuration; the controllers are those of `quorum`."""
        generation = self.tools.generation
        listeners = f"PLAINTEXT://{self.address}"
        text = COMMON + (ZOOKEEPER if generation.zookeeper else KRAFT)
        if not generation.zookeeper:
            listeners += f",CONTROLLER://127.0.0.1:{self.controller_port}"
        if not generation.kafka:
            text += SHARE_GROUPS
        text = (text + self.settings).format(
            node=self.node,
            listeners=listeners,
            controllers=",".join(f"127.0.0.1:{each.controller_port}" for each in quorum),
            logs=self.logs.as_posix(),
            zookeeper=zookeeper,
        )
        self.config.write_text(text, encoding="utf-8")

    def start(self) -> None:
        self.begin()
        self.await_listening()

    def begin(self) -> None:
        """Start the process; `await_listening` waits for it."""
        command = self.tools.command("Broker", str(self.config), heap="512m", verbose=self.verbose)
        with self.output.open("ab") as output:
            # Its standard input is a pipe that ends when this process ends, however that comes about.
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output)

    def await_listening(self) -> None:
        wait_for("the broker to listen", self.listening, 60)
        if self.tools.generation.zookeeper:
            # It listens before it is in ZooKeeper, and only then can it have topics.
            self.starts += 1
            wait_for("the broker to register", self.registered, 60)

    def registered(self) -> bool:
        return len(STARTED.findall(self.output.read_text(errors="replace"))) >= self.starts

    def listening(self) -> bool:
        if self.process is None or self.process.poll() is not None:
            raise Unusable(f"the broker ended:\n{self.output.read_text(errors='replace')[-6000:]}")
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def explained(self, reason: str) -> str:
        """The reason, and the newest exception that the broker has printed, if there is one."""
        thrown = THROWN.findall(self.output.read_text(errors="replace"))
        return f"{reason}; the broker: {thrown[-1]}" if thrown else reason

    def stop(self) -> None:
        """Shut down in order: indexes are trimmed, snapshots and checkpoints written."""
        assert self.process is not None
        self.process.terminate()
        code = self._ended(90)
        if not (self.logs / ".kafka_cleanshutdown").is_file():
            raise Unusable(f"the broker left (exit code {code}) without a clean shutdown")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self._ended()

    def _ended(self, seconds: float | None = None) -> int:
        assert self.process is not None
        code = self.process.wait(seconds)
        pipe(self.process.stdin).close()
        self.process = None
        return code


class Clients:
    """The Java clients of a generation (and its ZooKeeper) in one JVM that does command after command."""

    def __init__(self, tools: Toolbox, main: str = "Lab") -> None:
        self.errors = tools.work / "clients.err"
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(
                tools.command(main), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )

    def __enter__(self) -> Clients:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def do(self, *parts: str | int | bytes | None) -> str:
        """Have one command done. Returns the answer. Raises: Refused with what Java said."""
        line = "\t".join(field(part) for part in parts) + "\n"
        stdin, stdout = pipe(self.process.stdin), pipe(self.process.stdout)
        try:
            stdin.write(line.encode())
            stdin.flush()
            answer = stdout.readline().decode()
        except BrokenPipeError:
            answer = ""
        kind, _, text = answer.rstrip("\n").partition("\t")
        if kind == "ok":
            return text
        if kind == "error":
            raise Refused(f"{field(parts[0])}: {text}")
        raise Unusable(f"the Java clients ended:\n{self.errors.read_text(errors='replace')[-6000:]}")


def pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def field(part: str | int | bytes | None) -> str:
    """A field of a command: bytes in base64, null as "-"."""
    if part is None:
        return "-"
    if isinstance(part, bytes):
        return base64.b64encode(part).decode()
    return str(part)


class Cluster:
    """A broker with its clients, started in order and always stopped."""

    def __init__(self, tools: Toolbox, settings: str = "", verbose: tuple[str, ...] = ()) -> None:
        self.tools = tools
        self.broker = Broker(tools, settings, verbose)
        self.zookeeper = "-"

    def __enter__(self) -> Cluster:
        for old in ("logs", "metadata", "zookeeper"):
            shutil.rmtree(self.tools.work / old, ignore_errors=True)
        for old in ("broker.out", "clients.err"):
            (self.tools.work / old).unlink(missing_ok=True)
        self.clients = Clients(self.tools)
        try:
            if self.tools.generation.zookeeper:
                directory = self.tools.work / "zookeeper"
                directory.mkdir()
                self.zookeeper = f"127.0.0.1:{self.clients.do('zookeeper', str(directory))}"
            with step("Preparing the storage"):
                self.broker.format(self.zookeeper)
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def start(self) -> None:
        """Start the broker, for the first time or again."""
        version = kafka_version(self.tools.generation)
        with step(f"Starting Kafka {version} on {self.broker.address}"):
            self.broker.start()
            self.clients.do("connect", self.broker.address, self.zookeeper)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.broker.kill()
        finally:
            self.clients.__exit__(kind, value, trace)
