"""Log directories together with remote storage, by the options `tier`, `tierKey` and `tierKeyCommand`."""

from __future__ import annotations

import json
import pickle
import random
import shutil
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import kodec
from kodec.errors import ArgumentError, KodecError
from kodec.log.files.checkpoints import LeaderEpoch, write_leader_epochs
from kodec.log.remote import one_log, tier
from kodec.pipeline import KafkaLogDataSource, served_by
from kodec.pipeline.options import OptionError, Options
from kodec.pipeline.spark import JAR
from kodec.runtime.permission import ALLOW
from kodec.stores.storage import context_of
from tests.data import DATA
from tests.log import made
from tests.log.replica_histories import OWNER, Written, written
from tests.log.stores import Server, serving
from tests.log.tiers import LAYOUTS, Metadata, copy
from tests.stored_tiers import STORED

RELEASE = DATA / "tiered-4.3.1"
LOGS = RELEASE / "logs"
KEY = str(STORED / "key1.pem")
TIERS = {
    "kafka": RELEASE / "tier",
    "plain": STORED / "plain",
    "zstd": STORED / "zstd" / "backup",
    "aes": STORED / "aes" / "backup",
    "zstd-aes": STORED / "zstd-aes",
}
COMMITTED = {"kafka.isolation.level": "read_committed"}
Rows = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def own_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key in the environment."""
    monkeypatch.delenv("KODEC_TIER_KEY", raising=False)


def planned(path: Path | list[Path], **options: str) -> tuple[bytes, list[bytes]]:
    """A reader and its tasks, as they go to workers."""
    given = (
        {"paths": json.dumps([str(each) for each in path])} if isinstance(path, list) else {"path": str(path)}
    )
    one = KafkaLogDataSource({**given, **options})
    reader = one.reader(one.schema())
    return pickle.dumps(reader), [pickle.dumps(task) for task in reader.partitions()]


def read(reader: bytes, tasks: list[bytes]) -> Rows:
    """The rows, as a process reads them that has listed nothing yet."""
    found = []
    for task in tasks:
        for cached in (tier._remote, one_log._one_log):
            cached.cache_clear()
        there = pickle.loads(reader)
        found += [row for batch in there.read(pickle.loads(task)) for row in batch.to_pylist()]
    return found


def rows(path: Path | list[Path], **options: str) -> Rows:
    return read(*planned(path, **options))


def consumed(isolation: str = "read_uncommitted") -> list[int]:
    lines = (RELEASE / "consumed" / f"tiered.{isolation}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["offset"] for line in lines]


def recorded(view: Path) -> list[tuple[int, bytes | None, bytes | None]]:
    with kodec.LogDirectory(view).partition("tiered", 0) as log:
        return [(each.offset, each.key, each.value) for each in log.records()]


# -- rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"maxPartitionBytes": "1"}, {"maxRecordsPerPartition": "7"}])
@pytest.mark.parametrize("name", TIERS)
def test_the_rows_of_both(name: str, more: dict[str, str]) -> None:
    options = {"tier": str(TIERS[name]), "tierKey": KEY, **more}
    reader, tasks = planned(LOGS, **options)
    assert len(tasks) > 3 or not more
    found = read(reader, tasks)
    context = kodec.Context(kodec.TierKeys(Path(KEY)))
    (view,) = kodec.with_remote_storage(LOGS, tier=kodec.open_location(TIERS[name], context))
    assert [(row["offset"], row["key"], row["value"]) for row in found] == recorded(view)
    assert [row["offset"] for row in found] == consumed()
    assert rows(LOGS / "tiered-0", **options) == found
    assert [row["offset"] for row in rows(LOGS, **options, **COMMITTED)] == consumed("read_committed")


def test_any_offsets_and_tasks() -> None:
    chance = random.Random(4)
    options = {"tier": str(TIERS["zstd-aes"]), "tierKey": KEY}
    every = rows(LOGS, **options)
    for _ in range(20):
        first = chance.randrange(174)
        last = chance.randrange(first + 1, 176)
        some = {
            "startingOffsets": json.dumps({"tiered": {"0": first}}),
            "endingOffsets": json.dumps({"tiered": {"0": last}}),
            "maxRecordsPerPartition": str(chance.randrange(1, 60)),
        }
        assert rows(LOGS, **options, **some) == [row for row in every if first <= row["offset"] < last]
    time = every[60]["timestamp"]
    since = rows(LOGS, **options, startingTimestamp=str(round(time.timestamp() * 1000)))
    first = next(n for n, row in enumerate(every) if row["timestamp"] >= time)
    assert since == every[first:]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_only_planning_selects_segments(layout: str, tmp_path: Path) -> None:
    """Tasks need no manifest and no `__remote_log_metadata`, also where copies overlap."""
    batches = [written(n * 3, 0, b"%d" % n) for n in range(8)]
    tier, logs = tmp_path / "tier", tmp_path / "logs"
    metadata = Metadata()
    for number, part in enumerate((batches[:4], batches[2:7])):
        metadata.copied(copy(tier, layout, part, [LeaderEpoch(0, 0)], UUID(int=number + 1)))
    metadata.write(logs)
    here(logs, batches[5:])
    plan = planned(logs, tier=str(tier), maxPartitionBytes="1")
    assert len(plan[1]) == 5
    shutil.rmtree(logs / "__remote_log_metadata-0")
    for path in tier.rglob("*.rsm-manifest"):
        path.unlink()
    assert [row["offset"] for row in read(*plan)] == list(range(24))


def here(logs: Path, batches: list[Written]) -> None:
    """The rest of a log that is on a broker."""
    made.make(logs / str(OWNER), [(each.first, [each.data]) for each in batches])
    write_leader_epochs(logs / str(OWNER) / "leader-epoch-checkpoint", [LeaderEpoch(0, 0)])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_segments_that_a_broker_moves_meanwhile(layout: str, tmp_path: Path) -> None:
    """Local segments are copied and deleted between planning and reading: rows are the same."""
    batches = [written(n * 3, 0, b"%d" % n) for n in range(6)]
    tier, logs = tmp_path / "tier", tmp_path / "logs"
    metadata = Metadata()
    metadata.copied(copy(tier, layout, batches[:1], [LeaderEpoch(0, 0)], UUID(int=1)))
    metadata.write(logs)
    here(logs, batches[1:])
    plan = planned(logs, tier=str(tier))
    for number in (1, 2, 3):
        one = copy(tier, layout, batches[number : number + 1], [LeaderEpoch(0, 0)], UUID(int=number + 1))
        metadata.copied(one)
        for path in (logs / str(OWNER)).glob(f"{batches[number].first:020d}.*"):
            path.unlink()
    shutil.rmtree(logs / "__remote_log_metadata-0")
    metadata.write(logs)
    assert [row["offset"] for row in read(*plan)] == list(range(18))
    # and in the process that has planned it
    reader, tasks = plan
    there = pickle.loads(reader)
    found = [
        offset
        for task in tasks
        for batch in there.read(pickle.loads(task))
        for offset in batch["offset"].to_pylist()
    ]
    assert found == list(range(18)) == [row["offset"] for row in rows(logs, tier=str(tier))]


def test_replicas_share_a_tier(tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(LOGS, tmp_path / name)
    for place in (tmp_path, [tmp_path / "one", tmp_path / "two"], tmp_path / "*"):
        found = rows(place, tier=str(TIERS["plain"]))
        assert [row["offset"] for row in found] == consumed()


def test_from_a_store_workers_read_chunks_alone() -> None:
    with serving() as server:
        tier = server.upload(STORED / "zstd-aes", "tier")
        plan = planned(LOGS, tier=tier, tierKey=KEY, maxPartitionBytes="1")
        server.asked()
        assert [row["offset"] for row in read(*plan)] == consumed()
        asked = keys(server)
        assert {key.rpartition(".")[2] for key in asked} == {"log"}
        assert len(asked) == 4


def keys(server: Server) -> list[str]:
    return [each.key for each in server.asked()]


# -- keys -----------------------------------------------------------------------------------------


def test_a_command_for_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOW, "plans, tierKeyCommand")
    command = f"{sys.executable} -c \"print(open('{KEY}').read())\""
    found = rows(LOGS, tier=str(TIERS["aes"]), tierKeyCommand=command)
    assert [row["offset"] for row in found] == consumed()
    # without a log directory
    assert rows(TIERS["aes"], tierKeyCommand=command) == found[: consumed().index(168)]


def test_the_key_of_a_query_is_not_that_of_the_next() -> None:
    options = {"tier": str(TIERS["aes"])}
    assert rows(LOGS, **options, tierKey=KEY)
    with pytest.raises(KodecError, match=r"give the private key: .*the options tierKey or tierKeyCommand"):
        rows(LOGS, **options)


@pytest.mark.parametrize("allowed", [None, "", "1", "plans", "tierkeycommand"])
def test_a_command_needs_permission(
    allowed: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes options in SQL is not whoever may run commands on the driver and the workers."""
    monkeypatch.delenv(ALLOW, raising=False)
    if allowed is not None:
        monkeypatch.setenv(ALLOW, allowed)
    command = f"touch {tmp_path / 's3cr3t'}"
    with pytest.raises(
        OptionError, match="allowed only where KODEC_ALLOW=tierKeyCommand is in the"
    ) as caught:
        rows(LOGS, tier=str(TIERS["aes"]), tierKeyCommand=command)
    assert "s3cr3t" not in str(caught.value) and not list(tmp_path.iterdir())


def test_keys_and_commands_are_in_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOW, "tierKeyCommand")
    command = "sh -c 'echo s3cr3t; exit 3'"
    with pytest.raises(ArgumentError, match="ended with code 3") as caught:
        rows(LOGS, tier=str(TIERS["aes"]), tierKeyCommand=command)
    parsed = Options.parse({"path": "/", "tierKeyCommand": command})
    assert context_of(parsed.paths[0]).keys == kodec.TierKeys(command=command)
    assert "s3cr3t" not in f"{caught.value}{parsed!r}"
    with pytest.raises(OptionError) as wrong:
        Options.parse({"path": "/", "tierKey": KEY, "tierKeyCommand": command})
    assert str(wrong.value) == "kafka-log: tierKey: give either tierKey or tierKeyCommand"
    with pytest.raises(ArgumentError, match=r"the key 'key1', .*: No such file"):
        rows(LOGS, tier=str(TIERS["aes"]), tierKey=str(tmp_path / "none.pem"))


# -- wrong use ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tier": "/nowhere"}, "tier: there is no /nowhere"),
        ({"tier": " "}, "tier: expected the path or the URL of remote storage"),
        ({"tier": "hdfs://x/y"}, "tier: hdfs://x/y: only local paths"),
        ({"tier": "s3://key@b/y"}, "tier: s3://...@b: a URL with credentials is refused"),
        ({"tier": str(LOGS)}, f"tier: {LOGS}: not remote storage"),
        ({"tierKey": " "}, "tierKey: it is empty"),
        ({"tierKey": "s3://b/key"}, "tierKey: expected a file or a folder of each worker"),
        ({"tierKeyCommand": ""}, "tierKeyCommand: it is empty"),
        ({"tiers": "/t"}, "tiers: there is no such option; did you mean tier"),
    ],
)
def test_a_wrong_option(options: dict[str, str], text: str) -> None:
    with pytest.raises(OptionError) as caught:
        rows(LOGS, **options)
    assert str(caught.value).startswith(f"kafka-log: {text}")


def test_a_path_that_cannot_be_joined() -> None:
    tier = str(TIERS["kafka"])
    for path in (TIERS["plain"], [LOGS, TIERS["kafka"]], RELEASE):
        with pytest.raises(OptionError, match=r"tier: .* is remote storage itself: give a log directory"):
            rows(path, tier=tier)
    with pytest.raises(OptionError, match=r"tier: .*: one segment; give the folder of its topic-partition"):
        rows(LOGS / "tiered-0" / f"{168:020}.log", tier=tier)


# -- Spark ----------------------------------------------------------------------------------------


def offsets(frame: Any) -> list[int]:
    return sorted(row.offset for row in frame.select("offset").collect())


@pytest.mark.parametrize("name", ["plain", "zstd", "aes", "zstd-aes"])
def test_spark_reads_what_the_plugin_has_transformed(spark: Any, name: str) -> None:
    """Tasks in several workers, which have the key of the option alone."""
    options = {"tierKey": KEY, "maxPartitionBytes": "1"}
    tier = str(TIERS[name])
    joined = spark.read.format("kafka-log").options(**options, tier=tier).load(str(LOGS))
    assert served_by(joined) == "python"
    assert joined.rdd.getNumPartitions() == 5
    assert offsets(joined) == consumed()
    alone = spark.read.format("kafka-log").options(**options).load(tier)
    assert offsets(alone) == [each for each in consumed() if each < 168]


def test_a_stream_begins_in_remote_storage(spark: Any) -> None:
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "50", "tierKey": KEY}
    stream = spark.readStream.format("kafka-log").options(**options).option("tier", str(TIERS["zstd-aes"]))
    query = (
        stream.load(str(LOGS))
        .writeStream.format("memory")
        .queryName("tiered")
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert offsets(spark.table("tiered")) == consumed()
    assert len([each for each in query.recentProgress if each["numInputRows"]]) == 4


def test_a_view_in_sql_runs_and_shows_no_command(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The driver was started without KODEC_ALLOW; a setting of the session, which SQL can set, is none."""
    spark.sql("SET KODEC_ALLOW=tierKeyCommand")
    given = f"path '{LOGS}', tier '{TIERS['aes']}', tierKeyCommand 'touch {tmp_path / 's3cr3t'}'"
    with pytest.raises(Exception, match="allowed only where KODEC_ALLOW=tierKeyCommand"):
        spark.sql(f"CREATE TEMPORARY VIEW mine USING `kafka-log` OPTIONS ({given})")
        frame = spark.table("mine")
        frame.explain(True)
        frame.collect()
    assert "s3cr3t" not in f"{capsys.readouterr()}" and not list(tmp_path.iterdir())
    spark.sql("DROP VIEW IF EXISTS mine")


needs_jar = pytest.mark.skipif(not JAR.is_file(), reason="no JDK: the source for the JVM was not built")


@needs_jar
def test_a_table_of_the_catalog(spark: Any) -> None:
    """Its options reach the source in Python, and so do those of a query."""
    spark.sql("DROP TABLE IF EXISTS joined")
    given = f"path '{LOGS}', tier '{TIERS['aes']}', tierKey '{KEY}'"
    spark.sql(f"CREATE TABLE joined USING `kafka-log` OPTIONS ({given})")
    try:
        assert offsets(spark.table("joined")) == consumed()
        some = """WITH ('startingOffsets' = '{"tiered":{"0":100}}')"""
        assert offsets(spark.sql(f"SELECT offset FROM joined {some}")) == [n for n in consumed() if n >= 100]
        assert offsets(spark.table("joined").where("offset < 9")) == [n for n in consumed() if n < 9]
        sums = spark.sql("SELECT count(*), max(offset) FROM joined").first()
        assert tuple(sums) == (len(consumed()), 174)
    finally:
        spark.sql("DROP TABLE joined")


@needs_jar
def test_the_source_in_the_jvm_names_the_other_one(spark: Any) -> None:
    with pytest.raises(Exception, match=r"^kafka-log: the option tier: this takes .* not hdfs:$"):
        spark.read.format("kafka-log").option("tier", "hdfs://x/y").load(str(LOGS))
    alone = spark.newSession()
    for name in ("tier", "tierKey", "tierKeyCommand"):
        with pytest.raises(Exception, match="this also needs the source in Python, ") as caught:
            alone.read.format("kafka-log").option(name, "s3cr3t").load(str(LOGS))
        assert "s3cr3t" not in str(caught.value)
