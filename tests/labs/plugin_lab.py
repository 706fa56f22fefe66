#!/usr/bin/env python3
"""A real broker with Aiven's plugin for remote storage: kodec's rows are a consumer's, for each transform.

The plugin is built from its public source. A broker copies segments with it and deletes them locally, a
restart adds a leader epoch, and retention deletes some in remote storage; then kodec reads the broker's disk
and the remote storage as one log, remote storage alone, and the same through a server of the S3 API.

Usage: plugin_lab.py [--source REPOSITORY] [--generation NAME] [--transform NAME] [--store]
Exit code: 0 where all is as it must be, 1 where not, 2 where something cannot be run.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import lab_records
from kafka_lab import (
    CACHE,
    GENERATIONS,
    JAVA_SOURCES,
    Cluster,
    Generation,
    Toolbox,
    Unusable,
    find_program,
    kafka_version,
    require_pinned,
    run,
    say,
    step,
    stop_on_signal,
    wait_for,
)
from make_generation import Writer
from make_tiered import METADATA, TIERED, TOPIC
from make_tiered import write as write_turn

import kodec
from kodec.stores.context import DEFAULT

SOURCE = "https://github.com/Aiven-Open/tiered-storage-for-apache-kafka"
COMMIT = "8fb15816df2d0b3f880b76e5ac0a14b64dd790d9"
PARTS = ("core", "commons", "storage/core", "storage/filesystem")
# What needs more than Maven Central has; files in tests/labs/java/plugin stand for it.
LEFT_OUT = ("IcebergRemoteStorageManager.java", "package-info.java", "module-info.java")
KEPT_OF_ICEBERG = ("NamespaceAwareCachingCatalog.java",)
MANAGER = "io.aiven.kafka.tieredstorage.RemoteStorageManager"
KAFKAS = "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
SETTINGS = """\
remote.log.storage.manager.class.path={jars}
rsm.config.storage.backend.class=io.aiven.kafka.tieredstorage.storage.filesystem.FileSystemStorage
rsm.config.storage.root={tier}
rsm.config.key.prefix=backup/
rsm.config.chunk.size={chunk}
rsm.config.compression.enabled={compressed}
rsm.config.encryption.enabled={encrypted}
"""
KEYS = """\
rsm.config.encryption.key.pair.id=key1
rsm.config.encryption.key.pairs=key1
rsm.config.encryption.key.pairs.key1.public.key.file={public}
rsm.config.encryption.key.pairs.key1.private.key.file={private}
"""


class Transform(NamedTuple):
    """What the plugin does with a segment: the size of chunks in bytes, zstd, AES."""

    chunk: int
    compressed: bool
    encrypted: bool


TRANSFORMS = {
    "plain": Transform(1000, False, False),
    "zstd": Transform(700, True, False),
    "aes": Transform(512, False, True),
    "zstd-aes": Transform(1 << 20, True, True),
}


class Wrong(Exception):
    """kodec and the consumer differ."""


# -- the plugin -----------------------------------------------------------------------------------


def sources(work: Path, repository: str) -> Path:
    """The plugin's public source, of one commit. Raises Unusable."""
    git = find_program("git", "the plugin's source is in a repository")
    clone, folder = work / "repository", work / f"source-{COMMIT[:12]}"
    if folder.is_dir():
        return folder
    if not Path(repository).is_dir():
        if not clone.is_dir():
            run([git, "clone", "-q", "--bare", repository, str(clone)], f"{repository} cannot be cloned")
        repository = str(clone)
    command = [git, "-C", repository, "archive", COMMIT, *(f"{part}/src/main" for part in PARTS)]
    packed = subprocess.run(command, capture_output=True, check=False)
    if packed.returncode:
        raise Unusable(
            f"{repository} has no commit {COMMIT}: {packed.stderr.decode(errors='replace')[-500:]}"
        )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def build(work: Path, tools: Toolbox, repository: str) -> Path:
    """The folder with the plugin's classes in a jar, and with what it needs. Raises Unusable."""
    work.mkdir(parents=True, exist_ok=True)
    pom = JAVA_SOURCES / "plugin" / "pom.xml"
    ours = sorted((JAVA_SOURCES / "plugin").glob("*.java"))
    digest = hashlib.sha256(b"\0".join([COMMIT.encode(), *(each.read_bytes() for each in (pom, *ours))]))
    jars = work / "jars"
    stamp = jars / "plugin.sha256"
    if stamp.is_file() and stamp.read_text() == digest.hexdigest():
        return jars
    shutil.rmtree(jars, ignore_errors=True)
    with step("Getting what Aiven's plugin needs through Maven, and building it"):
        for scope, folder in (("runtime", jars), ("provided", work / "kafka")):
            run(
                [
                    tools.mvn, "-B", "-q", "-f", str(pom), f"-Dmaven.repo.local={tools.repository}",
                    "dependency:copy-dependencies", f"-DoutputDirectory={folder}", f"-DincludeScope={scope}",
                ],
                "Maven could not fetch what the plugin needs",
            )  # fmt: skip
            require_pinned(folder)
        files = [
            path
            for path in sources(work, repository).rglob("*.java")
            if path.name not in LEFT_OUT and ("iceberg" not in path.parts or path.name in KEPT_OF_ICEBERG)
        ]
        classes = work / "classes"
        shutil.rmtree(classes, ignore_errors=True)
        path = os.pathsep.join([str(jars / "*"), str(work / "kafka" / "*")])
        command = [
            tools.javac,
            "-J-XX:-UsePerfData",
            "-encoding",
            "UTF-8",
            "-nowarn",
            "-cp",
            path,
            "-d",
            str(classes),
        ]
        run([*command, *map(str, [*files, *ours])], "javac refused the plugin's source")
        jar = find_program("jar", "a JDK is needed, a bare Java runtime is not enough")
        run([jar, "--create", "--file", str(jars / "plugin.jar"), "-C", str(classes), "."], "jar failed")
    stamp.write_text(digest.hexdigest())
    return jars


def key_pair(work: Path) -> tuple[Path, Path]:
    """The files of a public and a private RSA key, made for this run."""
    from Cryptodome.PublicKey import RSA

    public, private = work / "public.pem", work / "private.pem"
    if not private.exists():
        key = RSA.generate(2048)
        private.write_bytes(key.export_key(pkcs=8))
        public.write_bytes(key.public_key().export_key())
    return public, private


# -- a broker -------------------------------------------------------------------------------------


class Stored(NamedTuple):
    """What a broker has left: its log directory, remote storage, and the rows of a consumer by isolation."""

    logs: Path
    tier: Path
    consumed: dict[str, list[dict[str, Any]]]


def settings(jars: Path, tier: Path, transform: Transform, keys: tuple[Path, Path]) -> str:
    """The broker's configuration for remote storage."""
    text = TIERED.replace(KAFKAS, MANAGER)
    lines = [line for line in text.splitlines() if not line.startswith("rsm.config.")]
    text = (
        "\n".join(lines)
        + "\n"
        + SETTINGS.format(
            jars=f"{jars.as_posix()}/*",
            tier=tier.as_posix(),
            chunk=transform.chunk,
            compressed=str(transform.compressed).lower(),
            encrypted=str(transform.encrypted).lower(),
        )
    )
    if transform.encrypted:
        text += KEYS.format(public=keys[0].as_posix(), private=keys[1].as_posix())
    return text


def logs_in(tier: Path) -> list[str]:
    return sorted(path.name for path in tier.rglob("*.log") if f"{TOPIC}-" in path.parent.parent.name)


def settled(cluster: Cluster, tier: Path, least: int) -> None:
    """Wait until only the active segment is local, and the others are in remote storage."""
    partition = cluster.broker.logs / f"{TOPIC}-0"

    def is_settled() -> bool:
        names = [path.name for path in partition.iterdir()]
        logs = [name for name in names if name.endswith(".log")]
        stored = {name[:20] for name in logs_in(tier)}
        manifests = {path.name[:20] for path in tier.rglob("*.rsm-manifest")}
        return (
            len(logs) == 1
            and int(logs[0][:20]) > 0
            and len(stored) >= least
            and stored <= manifests
            and not any(".deleted" in name for name in names)
        )

    wait_for("the segments to leave the broker", is_settled, 120)


def store(tools: Toolbox, text: str, tier: Path) -> Stored:
    """Have a broker write, copy, delete and serve a topic."""
    consumed: dict[str, list[dict[str, Any]]] = {}
    tier.mkdir(parents=True)
    with Cluster(tools, text) as cluster:
        writer = Writer(cluster)
        writer.topic(
            TOPIC,
            "segments of 2 KiB that are copied and deleted locally",
            remote_storage_enable="true",
            **{"internal_segment_bytes" if not tools.generation.kafka else "segment_bytes": "2048"},
            index_interval_bytes="256",
            local_retention_bytes="1",
        )
        with step("Writing until a restart"):
            write_turn(writer, "first")
            cluster.broker.stop()
        cluster.start()
        with step("Writing more, waiting for remote storage"):
            write_turn(writer, "second")
            settled(cluster, tier, 3)
        with step("Having retention delete the oldest segments there"):
            before = logs_in(tier)
            cluster.clients.do("alter", TOPIC, "retention.bytes=4000")
            wait_for("retention", lambda: len(logs_in(tier)) < len(before), 60)
            cluster.clients.do("alter", TOPIC, "retention.bytes=-1")
            writer.write(TOPIC, "lz4", lab_records.numbered("local", 6), lab_records.numbered("last", 1))
            settled(cluster, tier, 1)
        with step("Reading everything with the Java consumer"):
            for isolation in ("read_uncommitted", "read_committed"):
                rows = tools.work / f"{TOPIC}.{isolation}.jsonl"
                cluster.clients.do("consume", TOPIC, isolation, str(rows))
                consumed[isolation] = [json.loads(line) for line in rows.read_text().splitlines()]
        with step("Shutting down in order"):
            cluster.broker.stop()
    return Stored(tools.work / "logs", tier, consumed)


# -- kodec ----------------------------------------------------------------------------------------


@contextmanager
def private_key(path: Path) -> Any:
    """The key in the environment, where kodec finds it."""
    os.environ["KODEC_TIER_KEY"] = str(path)
    try:
        yield
    finally:
        del os.environ["KODEC_TIER_KEY"]


def rows_of(path: Path | str, isolation: str) -> list[tuple[int, int, bytes | None, bytes | None]]:
    with kodec.LogDirectory(path).partition(TOPIC, 0) as log:
        return [
            (each.offset, each.timestamp, each.key, each.value)
            for each in log.records(isolation=isolation)  # type: ignore[arg-type]
        ]


def rows_read(rows: list[dict[str, Any]]) -> list[tuple[int, int, bytes | None, bytes | None]]:
    import base64

    def data(text: str | None) -> bytes | None:
        return None if text is None else base64.b64decode(text)

    return [(each["offset"], each["timestamp"], data(each["key"]), data(each["value"])) for each in rows]


def compare(stored: Stored, tier: str | Path, expected: Transform) -> dict[str, int]:
    """Compare kodec's rows with the consumer's. Raises Wrong."""
    DEFAULT.notes.take()
    (view,) = kodec.with_remote_storage(stored.logs, tier=tier)
    log = kodec.LogDirectory(view).partition(TOPIC, 0)
    require(log.remote_segments == "metadata", f"the segments were selected by {log.remote_segments}")
    local = min(int(path.stem) for path in (stored.logs / f"{TOPIC}-0").glob("*.log"))
    first = stored.consumed["read_uncommitted"][0]["offset"]
    require(0 < first < local, f"the consumer's first row is {first}, the first local offset {local}")
    for isolation, rows in stored.consumed.items():
        same(rows_of(view, isolation), rows_read(rows), f"{isolation}, one log")
    remote = [each for each in rows_read(stored.consumed["read_uncommitted"]) if each[0] < local]
    same(rows_of(tier, "read_uncommitted"), remote, "remote storage alone")
    for offset, *_ in remote:
        require(log.find(offset) == log.find(offset, use_index=False), f"offset {offset}: the index is wrong")
    problems = [str(each) for each in kodec.repair.verify(view) if not each.note]
    require(not problems, "\n".join(problems[:5]))
    require(
        not [each for each in DEFAULT.notes.take() if METADATA in each and "not whole" in each],
        "metadata is not whole",
    )
    manifests = [json.loads(path.read_text()) for path in stored.tier.rglob("*.rsm-manifest")]
    manifests = [each for each in manifests if each["remoteLogSegmentMetadata"]["remoteLogSegmentId"]]
    found = {(each["compression"], "encryption" in each) for each in manifests}
    require(found == {(expected.compressed, expected.encrypted)}, f"the plugin transformed {found}")
    log.close()
    return {
        "segments": len(manifests),
        "rows": len(stored.consumed["read_uncommitted"]),
        "remote": len(remote),
    }


def require(found: bool, otherwise: str) -> None:
    if not found:
        raise Wrong(otherwise)


def same(found: list[Any], expected: list[Any], what: str) -> None:
    if found != expected:
        at = next((n for n, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), None)
        differ = "" if at is None else f"; row {at}: {found[at]} and {expected[at]}"
        raise Wrong(f"{what}: kodec {len(found)} rows, the consumer {len(expected)}{differ}")


def through_a_store(stored: Stored, transform: Transform, folder: Path) -> None:
    """The same from a bucket. Raises Unusable, Wrong."""
    from store_servers import KEY, SECRET, fetch_gateway, server

    work = CACHE / "s3"
    work.mkdir(parents=True, exist_ok=True)
    program = fetch_gateway(work)
    buckets = folder / "buckets"
    with server(program, buckets) as port:
        # a client of kodec's stays with the endpoint that a bucket had first
        bucket = f"tier-{folder.name}"
        shutil.copytree(stored.tier, buckets / bucket)
        os.environ |= {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        }
        compare(stored, f"s3://{bucket}/backup", transform)


def make(
    repository: Path | None, source: str, names: list[str], generation: Generation, *, store_too: bool
) -> list[str]:
    """A line for each transform. Raises Unusable, Wrong."""
    folder = CACHE / "work" / f"plugin-{generation.name}"
    shutil.rmtree(folder / "runs", ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    tools = Toolbox(folder, repository, generation)
    tools.prepare()
    jars = build(CACHE / "work" / "plugin", tools, source)
    keys = key_pair(folder)
    lines = []
    for name in names:
        transform = TRANSFORMS[name]
        say(f"==== Kafka {kafka_version(generation)}, {name}")
        tier = folder / "runs" / name / "tier"
        stored = store(tools, settings(jars, tier, transform, keys), tier)
        with private_key(keys[1]), step("Reading with kodec"):
            found = compare(stored, tier / "backup", transform)
            if store_too:
                through_a_store(stored, transform, folder / "runs" / name)
        facts = ", ".join(f"{count} {what}" for what, count in found.items())
        lines.append(f"Kafka {kafka_version(generation)}, {name}: {facts}: as the consumer")
        say(f"    {lines[-1]}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default=os.environ.get("KODEC_PLUGIN_SOURCE", SOURCE))
    parser.add_argument("--generation", default="4.3", choices=["3.9", "4.3"])
    parser.add_argument("--transform", action="append", choices=TRANSFORMS)
    parser.add_argument("--store", action="store_true", help="also through a server of the S3 API")
    parser.add_argument("--maven-repository", type=Path, default=CACHE / "maven-repository")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop_on_signal)
    try:
        names = options.transform or list(TRANSFORMS)
        generation = GENERATIONS[options.generation]
        lines = make(options.maven_repository, options.source, names, generation, store_too=options.store)
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    except Wrong as problem:
        print(f"kodec and the consumer differ: {problem}", file=sys.stderr)
        return 1
    say("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
