"""Local segments and remote storage as one log, as a broker reads them."""

from __future__ import annotations

import json
import pickle
import random
import shutil
from pathlib import Path
from uuid import UUID

import pyarrow.parquet
import pytest

import kodec
from kodec.cli.main import main
from kodec.errors import ArgumentError, ReadFailed
from kodec.log.files.checkpoints import LeaderEpoch, write_leader_epochs, write_partition_metadata
from kodec.log.omissions import Omissions
from kodec.log.remote.lineage import CopyState
from kodec.log.remote.one_log import tiers_beside_logs
from kodec.repair import verify
from kodec.stores.context import DEFAULT
from tests.data import DATA
from tests.golden import Golden
from tests.log import made
from tests.log.replica_histories import OWNER, Written, history, right, written
from tests.log.stores import Server
from tests.log.tiers import LAYOUTS, TOPIC_ID, Metadata, copy, folder_of, text_of
from tests.stored_tiers import STORED

RELEASE = DATA / "tiered-4.3.1"
LOGS, TIER = RELEASE / "logs", RELEASE / "tier"


def rows(path: Path) -> list[tuple[int, int, bytes]]:
    """The batches of the topic."""
    log = kodec.LogDirectory(path).partition(*OWNER)
    return [(each.base_offset, each.last_offset, each.data) for each in log.batches(omissions=Omissions())]


def expected(batches: list[Written]) -> list[tuple[int, int, bytes]]:
    return [(each.first, each.last, each.data) for each in batches]


def local(logs: Path, batches: list[Written], lineage: list[LeaderEpoch], base: int | None = None) -> Path:
    """The rest of a log that is on a broker."""
    folder = logs / str(OWNER)
    made.make(folder, [(batches[0].first if base is None else base, [each.data for each in batches])])
    write_leader_epochs(folder / "leader-epoch-checkpoint", lineage)
    write_partition_metadata(folder / "partition.metadata", TOPIC_ID)
    return folder


def joined(logs: Path, tier: Path) -> Path:
    (found,) = kodec.with_remote_storage(logs, tier=tier)
    return found


# -- a real broker ------------------------------------------------------------------------------


TIERS = {"kafka": TIER, "plain": STORED / "plain", "zstd-aes": STORED / "zstd-aes"}


@pytest.mark.quick
@pytest.mark.parametrize("tier", TIERS.values(), ids=TIERS)
def test_a_real_broker(tier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KODEC_TIER_KEY", str(STORED / "key1.pem"))
    DEFAULT.notes.take()
    view = joined(LOGS, tier)
    log = kodec.LogDirectory(view).partition("tiered", 0)
    assert (log.start_offset, log.end_offset, len(log.segments)) == (0, 175, 5)
    assert log.remote_segments == "metadata"
    consumed = [
        json.loads(line)["offset"]
        for line in (RELEASE / "consumed" / "tiered.read_uncommitted.jsonl").read_text().splitlines()
    ]
    assert [record.offset for record in log.records()] == consumed
    consumed = [
        json.loads(line)["offset"]
        for line in (RELEASE / "consumed" / "tiered.read_committed.jsonl").read_text().splitlines()
    ]
    assert [record.offset for record in log.records(isolation="read_committed")] == consumed
    assert log.leader_epochs() == kodec.PartitionLog(LOGS / "tiered-0").leader_epochs()
    for offset in range(175):
        assert log.find(offset) is not None
    assert log.find_timestamp(1795233672698) == log.find_timestamp(1795233672698, use_index=False)
    assert [str(each) for each in verify(view)] == []
    assert DEFAULT.notes.take() == []


def test_one_topic_partition_of_a_broker() -> None:
    columns = ["offset", "timestamp", "key", "value"]
    whole = kodec.read_table(joined(LOGS, TIER), columns, topics="tiered")
    (folder,) = kodec.with_remote_storage(LOGS / "tiered-0", tier=TIER)
    assert kodec.read_table(folder, columns).equals(whole)
    assert kodec.PartitionLog(folder).end_offset == 175
    assert str(folder) == str(LOGS / "tiered-0")
    again = pickle.loads(pickle.dumps(kodec.PartitionLog(folder)))
    assert len(list(again.records())) == whole.num_rows


# -- made histories -----------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(16))
def test_any_history(seed: int, layout: str, tmp_path: Path) -> None:
    """Copies overlap; an election has lost some, others are deleted or unfinished."""
    chance = random.Random(seed)
    members = history(chance)
    for each in members:
        each.good = list(each.log)
    line = right(members)
    newest = line[-1].epoch
    winner = next(each for each in members if line == [one for one in each.log if one.epoch <= newest])
    metadata, known = Metadata(), set()
    tier, logs = tmp_path / "tier", tmp_path / "logs"
    copies = []
    for number in range(chance.randint(2, 7)):
        member = chance.choice(members)
        if not member.log:
            continue
        begin = chance.randrange(len(member.log))
        batches = member.log[begin : begin + chance.randint(1, 8)]
        copies.append((batches[0].epoch, number, batches, member.epochs))
    for _, number, batches, epochs in sorted(copies, key=lambda each: each[:2]):
        segment = copy(tier, layout, batches, epochs, UUID(int=number + 1))
        metadata.begin(segment)
        how = chance.random()
        if how < 0.85:
            metadata.change(segment, CopyState.COPY_FINISHED)
        if how < 0.1 or how > 0.95:
            metadata.change(segment, CopyState.DELETE_STARTED)
        if how < 0.05:
            metadata.change(segment, CopyState.DELETE_FINISHED)
            for path in folder_of(tier, layout).glob(f"*{segment.segment_id}*"):
                path.unlink()
        elif 0.1 <= how < 0.85:
            known.update(batches)
    kept = line[chance.randrange(len(line)) :]
    local(logs, kept, winner.epochs)
    last = copy(tier, layout, line[:1], winner.epochs, UUID(int=99))
    metadata.copied(last)
    known.add(line[0])
    metadata.write(logs)
    found = rows(joined(logs, tier))
    # of each epoch a broker reads the segment that begins last, even if another one goes further
    assert set(found) <= set(expected(line))
    assert found == sorted(found)
    assert found[-len(kept) :] == expected(kept)
    assert {each[0] for each in found} - {each.first for each in kept} <= {each.first for each in known}
    log = kodec.LogDirectory(joined(logs, tier)).partition(*OWNER)
    for first, last, data in found:
        for offset in range(first, last + 1):
            segment, place = log.find(offset) or (None, None)
            assert segment is not None
            assert place is not None
            assert segment.read_bytes(place.position, place.size) == data
    told = [each for each in verify(joined(logs, tier)) if not each.note]
    # what a broker cannot read is missing here too
    assert {(each.what, each.need) for each in told} <= {("offsets", "no gap between segments")}


OLD = [written(n * 3, 0, b"old %d" % n) for n in range(8)]
EPOCHS = [LeaderEpoch(0, 0)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_overlapping_copies_are_read_once(layout: str, tmp_path: Path) -> None:
    tier, logs = tmp_path / "tier", tmp_path / "logs"
    metadata = Metadata()
    metadata.copied(copy(tier, layout, OLD[:4], EPOCHS, UUID(int=1)))
    metadata.copied(copy(tier, layout, OLD[2:7], EPOCHS, UUID(int=2)))
    metadata.write(logs)
    local(logs, OLD[5:], EPOCHS)
    view = joined(logs, tier)
    assert rows(view) == expected(OLD)
    assert [each.base_offset for each in kodec.LogDirectory(view).partition(*OWNER).segments] == [0, 6, 15]
    assert [str(each) for each in verify(view)] == []


def test_without_the_topic_the_manifests_count_and_it_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    tier, logs = tmp_path / "tier", tmp_path / "logs"
    copy(tier, "aiven", OLD[:4], EPOCHS, UUID(int=1))
    copy(tier, "aiven", OLD[2:7], EPOCHS, UUID(int=2))
    local(logs, OLD[5:], EPOCHS)
    assert rows(joined(logs, tier)) == expected(OLD)
    assert kodec.LogDirectory(joined(logs, tier)).partition(*OWNER).remote_segments == "manifests"
    assert rows(tier) == expected(OLD[:7])
    assert kodec.PartitionLog(folder_of(tier, "aiven")).remote_segments == "manifests"
    notes = [each for each in verify(joined(logs, tier)) if each.note]
    golden(str(notes[0]))
    DEFAULT.notes.take()
    for words in (["ls", "--json"], ["verify", "--json"], ["find", "--count"]):
        assert main([words[0], str(logs), *words[1:], "--tier", str(tier)]) == 0
        printed = capsys.readouterr()
        golden(printed.err)
        if words[0] == "ls":
            assert json.loads(printed.out.splitlines()[-1])["remoteSegments"] == "manifests"
    log = next(folder_of(tier, "aiven").glob("*.log"))
    assert main(["dump", str(log)]) == 0
    golden(capsys.readouterr().err)
    Metadata().write(tmp_path / "other")
    assert main(["ls", str(logs), "--tier", str(tier)]) == 0
    assert "manifests" in capsys.readouterr().err


def test_a_segment_that_is_being_deleted_is_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tier, logs = tmp_path / "tier", tmp_path / "logs"
    metadata = Metadata()
    gone = copy(tier, "aiven", OLD[:3], EPOCHS, UUID(int=1))
    metadata.copied(gone)
    metadata.change(gone, CopyState.DELETE_STARTED)
    metadata.copied(copy(tier, "aiven", OLD[3:6], EPOCHS, UUID(int=2)))
    metadata.begin(copy(tier, "aiven", OLD[6:7], EPOCHS, UUID(int=3)))
    metadata.write(logs)
    local(logs, OLD[7:], EPOCHS)
    assert rows(joined(logs, tier)) == expected([*OLD[3:6], OLD[7]])
    # beside each other: the topic selects in the tier too
    assert main(["ls", str(logs), str(tier), "--json"]) == 0
    found = [each for each in map(json.loads, capsys.readouterr().out.splitlines()) if "leftOut" not in each][
        -1
    ]
    assert (found["startOffset"], found["endOffset"], found["remoteSegments"]) == (9, 18, "metadata")
    (_, view) = tiers_beside_logs([logs, tier])
    assert rows(view) == expected(OLD[3:6])
    assert tiers_beside_logs([tier]) == [tier]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_segment_whose_objects_are_missing_is_reported(layout: str, tmp_path: Path) -> None:
    tier, logs = tmp_path / "tier", tmp_path / "logs"
    metadata = Metadata()
    for number in range(3):
        metadata.copied(copy(tier, layout, OLD[number * 2 : number * 2 + 2], EPOCHS, UUID(int=number + 1)))
    metadata.write(logs)
    local(logs, OLD[6:], EPOCHS)
    for path in folder_of(tier, layout).glob(f"*{text_of(UUID(int=2))}*"):
        path.unlink()
    with pytest.raises(ReadFailed, match="names this segment, and its objects are missing"):
        rows(joined(logs, tier))
    (problem,) = (each for each in verify(joined(logs, tier)) if "cannot be read" in each.what)
    assert text_of(UUID(int=2)) in str(problem.path)


def test_the_topic_that_was_made_again(tmp_path: Path) -> None:
    """The id in the local log selects the folder."""
    tier, logs = tmp_path / "tier", tmp_path / "logs"
    copy(tier, "kafka", OLD[:3], EPOCHS, UUID(int=1))
    old = folder_of(tier, "kafka")
    old.rename(old.with_name(f"{OWNER}-AAAAAAAAAAAAAAAAAAAAAA"))
    copy(tier, "kafka", OLD[2:5], EPOCHS, UUID(int=2))
    local(logs, OLD[5:], EPOCHS)
    assert rows(joined(logs, tier)) == expected(OLD[2:])


def test_what_only_remote_storage_has_is_shown_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tier, logs, other = tmp_path / "tier", tmp_path / "logs", tmp_path / "other"
    copy(tier, "aiven", OLD[:3], EPOCHS, UUID(int=1))
    for each in (logs, other):
        made.make(each / "else-0", [(0, [OLD[0].data])])
    assert main(["ls", str(logs), str(other), "--tier", str(tier), "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["topic"], each["remoteSegments"]) for each in found] == [
        ("else", None),
        ("topic", "manifests"),
        ("else", None),
    ]


@pytest.mark.parametrize("tier", TIERS.values(), ids=TIERS)
def test_remote_storage_is_one_of_the_replicas(
    tier: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KODEC_TIER_KEY", str(STORED / "key1.pem"))
    one = Path(shutil.copytree(LOGS, tmp_path / "one"))
    two = tmp_path / "two"
    whole = joined(LOGS, tier)
    batches = list(kodec.LogDirectory(whole).partition("tiered", 0).batches())
    # another broker, which deletes nothing locally, and has lost a batch that is in remote storage
    segments = [
        (0, [each.data for each in batches[:9]]),
        (batches[9].base_offset, [each.data for each in batches[10:]]),
    ]
    made.make(two / "tiered-0", segments)
    shutil.copy(one / "tiered-0" / "partition.metadata", two / "tiered-0")
    shutil.copy(one / "tiered-0" / "leader-epoch-checkpoint", two / "tiered-0")
    assert main(["diff", str(one), str(two), str(tier), "--topic", "tiered", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["differences"]
    assert {(Path(each["path"]).parent.name, each["kind"]) for each in found if each["kind"] != "behind"} == {
        ("one", "start"),
        ("two", "missing"),
    }
    words = ["salvage", str(two), str(one), str(tier), "--topic", "tiered", "--to", str(tmp_path / "out")]
    assert main([*words, "--apply"]) == 0
    assert "0 ranges of offsets missing" in capsys.readouterr().out
    with kodec.PartitionLog(tmp_path / "out" / "tiered-0") as log:
        assert [each.data for each in log.batches()] == [each.data for each in batches]
        found = log.metadata()
        assert found is not None
        assert found.topic_id == TOPIC_ID
    assert [str(each) for each in verify(tmp_path / "out")] == []


def test_what_jobs_write_has_all_of_it(tmp_path: Path) -> None:
    tier = ["--tier", str(TIER)]
    records = list(kodec.LogDirectory(joined(LOGS, TIER)).partition("tiered", 0).records())
    for name, place in {"directory": LOGS, "partition": LOGS / "tiered-0"}.items():
        out = tmp_path / name
        words = ["export", str(place), "--topic", "tiered", "--to", str(out), "--format", "jsonl"]
        assert main([*words, *tier]) == 0
        lines = [line for each in sorted(out.rglob("*.jsonl")) for line in each.read_text().splitlines()]
        assert [json.loads(line)["offset"] for line in lines] == [record.offset for record in records]
    out = tmp_path / "view"
    assert main(["compact-view", str(LOGS), "--topic", "tiered", "--to", str(out), *tier]) == 0
    newest = {record.key: record.offset for record in records if record.key is not None}
    table = pyarrow.parquet.read_table(min(out.rglob("*.parquet")), partitioning=None)
    assert sorted(table["offset"].to_pylist()) == sorted(
        record.offset
        for record in records
        if newest.get(record.key) == record.offset and record.value is not None
    )
    words = ["convert", str(LOGS), "--topic", "tiered", "--to", str(tmp_path / "converted")]
    assert main([*words, "--compression", "zstd", "--apply", *tier]) == 0
    with kodec.PartitionLog(tmp_path / "converted" / "tiered-0") as log:
        assert [record.offset for record in log.records()] == [record.offset for record in records]


def test_remote_storage_in_a_store(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of local files; a lookup reads the listings and manifests once, then an index and a range."""
    monkeypatch.setenv("KODEC_TIER_KEY", str(STORED / "key1.pem"))
    view = joined(LOGS, server.upload(STORED / "zstd-aes", "tier"))  # type: ignore[arg-type]
    server.asked()
    with kodec.LogDirectory(view).partition("tiered", 0) as log:
        assert next(log.records(60)).offset == 60
        asked = server.asked()
        names = [each.key.rpartition(".")[2] for each in asked if not each.key.startswith("?")]
        assert names.count("rsm-manifest") == 4
        assert [name for name in names if name != "rsm-manifest"] in (["log"], ["indexes", "log"])
        assert len(asked) - len(names) <= 4
        assert next(log.records(140)).offset == 140
        assert len(server.asked()) <= 2
        assert [record.offset for record in log.records()] == [
            record.offset
            for record in kodec.LogDirectory(joined(LOGS, TIER)).partition("tiered", 0).records()
        ]


def test_the_metadata_shows_which_segments_are_too_old(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KODEC_TIER_KEY", str(STORED / "key1.pem"))
    view = joined(LOGS, server.upload(STORED / "zstd-aes", "times"))  # type: ignore[arg-type]
    here = kodec.LogDirectory(joined(LOGS, TIER)).partition("tiered", 0)
    records = list(here.records())
    for at in (60, 140, records[-1].offset):
        time = next(record.timestamp for record in records if record.offset == at)
        with kodec.LogDirectory(view).partition("tiered", 0) as log:
            assert log.segments
            server.asked()
            assert log.find_timestamp(time) == here.find_timestamp(time)
            read = {each.key.rpartition("/")[2][:20] for each in server.asked()}
            assert len(read) <= 1, read


def test_a_segment_that_goes_during_a_scan(server: Server) -> None:
    view = joined(LOGS, server.upload(STORED / "plain", "tier"))  # type: ignore[arg-type]
    with kodec.LogDirectory(view).partition("tiered", 0) as log:
        records = log.records()
        assert next(records).offset == 0
        for key in [key for key in server.objects if f"{84:020}" in key]:
            del server.objects[key]
        with pytest.raises(ReadFailed, match="has gone since"):
            list(records)


def test_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ArgumentError, match="not remote storage"):
        kodec.with_remote_storage(LOGS, tier=LOGS)
    with pytest.raises(ArgumentError, match="one segment"):
        kodec.with_remote_storage(LOGS / "tiered-0" / f"{168:020}.log", tier=TIER)
    with pytest.raises(ArgumentError, match="is remote storage itself"):
        kodec.with_remote_storage(TIER, tier=TIER)
    assert main(["ls", str(LOGS), "--tier", str(LOGS)]) == 2
    assert "not remote storage" in capsys.readouterr().err
    assert main(["salvage", str(LOGS), "--tier", str(TIER), "--to", str(tmp_path / "x")]) == 2
    assert "No such option: --tier" in capsys.readouterr().err


def test_what_was_copied_since_is_seen(tmp_path: Path) -> None:
    """`__remote_log_metadata` is read again if it has grown, in the same process."""
    tier, logs = tmp_path / "tier", tmp_path / "logs"
    metadata = Metadata()
    metadata.copied(copy(tier, "aiven", OLD[:3], EPOCHS, UUID(int=1)))
    metadata.write(logs)
    local(logs, OLD[3:], EPOCHS)
    view = joined(logs, tier)
    assert rows(view) == expected(OLD)
    assert joined(logs, tier) == view
    metadata.copied(copy(tier, "aiven", OLD[3:5], EPOCHS, UUID(int=2)))
    for folder in ("__remote_log_metadata-0", str(OWNER)):
        shutil.rmtree(logs / folder)
    metadata.write(logs)
    local(logs, OLD[5:], EPOCHS)
    assert rows(joined(logs, tier)) == expected(OLD)
