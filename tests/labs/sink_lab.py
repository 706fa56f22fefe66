"""Gives logs that the Spark sink wrote to a real broker: adopted, served, read, and written on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

from client_readers import Row
from kafka_lab import CACHE, GENERATIONS, Cluster, Toolbox, Unusable, say, step, work_of
from kafka_reads_ours import Differs, compare, java_rows
from raw_produce import RawProducer

import kodec
from kodec.log.adoption.adopt import plan_adoption
from kodec.log.files.checkpoints import write_partition_metadata

LOGS = Path(__file__).resolve().parents[1] / "data" / "kafka-4.3.1" / "logs"
# Topics of the golden logs with one partition each: codecs, gaps of compaction, both types of timestamp.
RESTORED = ("codec-none", "codec-gzip", "codec-zstd", "compacted", "append.time", "idempotent", "large")
STREAMED = "codec-lz4"
MADE_UP = "made-up"


def make(repository: Path | None) -> None:
    """Write with Spark, adopt, start the broker, compare. Raises: Unusable."""
    tools = Toolbox(work_of(GENERATIONS["4.3"]), repository, GENERATIONS["4.3"])
    tools.prepare()
    folder = CACHE / "work" / "sink"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    written = folder / "logs"
    with step("Writing log directories with Spark"):
        write(written, folder / "checkpoint")
    with Cluster(tools) as cluster:
        for name in (*RESTORED, STREAMED, MADE_UP):
            cluster.clients.do("topic", name, 1, "retention.ms=-1")
        cluster.broker.stop()
        adopt(cluster, written)
        make_up(cluster, written)
        cluster.start()
        with step("Reading what was adopted with the Java consumer"):
            for name in (*RESTORED, STREAMED):
                check(cluster, name, folder / "consumed.jsonl")
        check_made_up(cluster, folder / "consumed.jsonl")
        cluster.broker.stop()
    say(f"{len(RESTORED) + 1} topics are served as they were written")


def write(root: Path, checkpoint: Path) -> None:
    """Some topics with their offsets, as a restore does, and one as a stream."""
    from kodec.pipeline import session
    from kodec.pipeline.spark import QUIET

    spark = session("local[2]", config=QUIET)
    try:
        rows = spark.read.format("kafka-log").options(subscribe=",".join(RESTORED), includeHeaders="true")
        ordered = rows.load(str(LOGS)).repartition("topic", "partition")
        ordered = ordered.sortWithinPartitions("topic", "partition", "offset")
        ordered.write.format("kafka-log").option("compression", "lz4").mode("append").save(str(root))
        stream: Any = spark.readStream.format("kafka-log").options(
            subscribe=STREAMED, includeHeaders="true", startingOffsets="earliest", maxOffsetsPerTrigger="50"
        )
        query = (
            stream.load(str(LOGS)).drop("offset").writeStream.format("kafka-log")
            .option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start(str(root))
        )  # fmt: skip
        query.awaitTermination()
    finally:
        spark.stop()


def adopt(cluster: Cluster, written: Path) -> None:
    """Raises: Unusable if something stands in the way."""
    logs = cluster.broker.logs
    late = plan_adoption(written, logs, metadata=metadata_of(cluster), retention_ms=604_800_000)
    if late.problems:
        raise Unusable("\n".join(late.problems))
    late.apply()


def metadata_of(cluster: Cluster) -> Path:
    """The directory that holds the metadata log."""
    found = [path.parent for path in cluster.tools.work.glob("*/__cluster_metadata-0")]
    if len(found) != 1:
        raise Unusable(f"metadata logs: {found}")
    return found[0]


def make_up(cluster: Cluster, written: Path) -> None:
    """A folder with an id that the cluster has not given."""
    target = cluster.broker.logs / f"{MADE_UP}-0"
    shutil.rmtree(target)
    shutil.copytree(written / f"{STREAMED}-0", target)
    write_partition_metadata(target / "partition.metadata", uuid4())


def check(cluster: Cluster, name: str, file: Path) -> None:
    """Raises: Unusable for a row that is not the one that was written."""
    with kodec.PartitionLog(LOGS / f"{name}-0") as log:
        wanted = [Row(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in log.records()]
    if name == STREAMED:
        wanted = [row._replace(offset=offset) for offset, row in enumerate(wanted)]
    try:
        compare(java_rows(cluster, name, file), wanted)
    except Differs as error:
        raise Unusable(f"{name}: {error}") from error
    with RawProducer("127.0.0.1", cluster.broker.port) as producer:
        data = kodec.encode([kodec.Record(key=b"k", value=b"one more", timestamp=wanted[-1].timestamp)])
        offset = producer.produce(cluster.tools.generation.produce[2], name, data)
    if offset <= wanted[-1].offset:
        raise Unusable(f"{name}: the broker gave offset {offset} after {wanted[-1].offset}")


def check_made_up(cluster: Cluster, file: Path) -> None:
    """See that a broker takes the folder for a stray one, and serves nothing: else the guide is wrong."""
    stray = list(cluster.broker.logs.glob(f"{MADE_UP}-0.*-stray"))
    if not stray or java_rows(cluster, MADE_UP, file):
        raise Unusable("the broker served a folder with an id that was made up")
