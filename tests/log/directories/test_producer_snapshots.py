"""Producer snapshots that do not agree with the log: the batches are the evidence, for every answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.generated.log.producer_snapshot import Entry, ProducerSnapshot
from kodec.log.directories.producer_state import ProducerState
from kodec.log.directories.snapshots import agrees
from kodec.log.views.producers import ActiveProducer, read_producers
from tests.data import DATA
from tests.log.made import START, batch, make, marker

END = 12
SECOND = 6


def made(root: Path) -> Path:
    """Two segments. Producer 5 writes to the first only, 6 and 8 to both; 7 is in a transaction since 8."""

    def sent(offset: int, producer: int, sequence: int, transactional: bool = False) -> bytes:
        pairs = [(b"k", b"%d" % offset)]
        return batch(offset, pairs, producer=(producer, 0, sequence), transactional=transactional)

    first = [sent(0, 5, 0), sent(1, 6, 0), sent(2, 8, 0, True), marker(3, 8, commit=True), sent(4, 6, 1)]
    second = [
        sent(6, 6, 2), sent(7, 8, 1, True), sent(8, 7, 0, True), marker(9, 8, commit=False),
        sent(10, 6, 3), sent(11, 7, 1, True),
    ]  # fmt: skip
    folder = make(root / "t-0", [(0, [*first, sent(5, 5, 1)]), (SECOND, second)])
    for offset in (SECOND, END):
        (folder / f"{offset:020d}.snapshot").write_bytes(snapshot_at(folder, offset).to_bytes())
    return folder


def snapshot_at(folder: Path, offset: int) -> ProducerSnapshot:
    state = ProducerState()
    with kodec.PartitionLog(folder) as log:
        for each in log.batches():
            if each.base_offset < offset:
                state.take_batch(each)
    return state.snapshot()


def entry(producer: int, last: int = -1, first: int = -1, *, epoch: int = 0, sequence: int = 0) -> Entry:
    return Entry(
        producer_id=producer,
        producer_epoch=epoch,
        last_sequence=sequence,
        last_offset=last,
        offset_delta=0,
        timestamp=START + 50,
        coordinator_epoch=7,
        current_txn_first_offset=first,
    )


def _entries(change: Callable[[dict[int, Entry]], object]) -> Callable[[bytes], bytes]:
    """Change the entries, by producer."""

    def changed(data: bytes) -> bytes:
        entries = {each.producer_id: each for each in ProducerSnapshot.from_bytes(data).entries}
        change(entries)
        return ProducerSnapshot(entries=list(entries.values())).to_bytes()

    return changed


def _set(producer: int, name: str, value: int) -> Callable[[bytes], bytes]:
    return _entries(lambda entries: setattr(entries[producer], name, value))


def _add(new: Entry) -> Callable[[bytes], bytes]:
    return _entries(lambda entries: entries.update({new.producer_id: new}))


# Of the snapshot at the end of the log: what it is then, and whether that is an error of it.
CAUSES: dict[str, tuple[Callable[[bytes], bytes], bool]] = {
    "right": (lambda data: data, False),
    "torn": (lambda data: data[:-3], True),
    "empty": (lambda _: b"", True),
    "zeros": (lambda data: bytes(len(data)), True),
    "without entries": (lambda _: ProducerSnapshot(entries=[]).to_bytes(), True),
    "of another log": (lambda _: ProducerSnapshot(entries=[entry(90, 11), entry(91, 4, 4)]).to_bytes(), True),
    "another producer in the place of a batch": (_add(entry(90, 4)), True),
    "a producer that wrote last inside a batch that is not its own": (_add(entry(90, 10, sequence=3)), True),
    "a batch above it": (_add(entry(90, 40)), True),
    "a transaction above it": (_add(entry(90, -1, 40)), True),
    "a transaction that is none": (_add(entry(90, -1, 1)), True),
    "a transaction that has ended": (_set(8, "current_txn_first_offset", 7), True),
    "a transaction of before that has ended": (_set(8, "current_txn_first_offset", 2), True),
    "the first offset of the transaction too low": (_set(7, "current_txn_first_offset", 4), True),
    "without the open transaction": (_set(7, "current_txn_first_offset", -1), True),
    "without the producer of the open transaction": (_entries(lambda found: found.pop(7)), True),
    "of before the last batches": (lambda _: b"", True),
    "an older epoch": (_set(6, "producer_epoch", -1), True),
    "a newer epoch": (_set(6, "producer_epoch", 3), True),
    "another sequence": (_set(6, "last_sequence", 77), True),
    "another sequence of a producer of before": (_set(5, "last_sequence", 77), True),
    "a later last offset": (_set(6, "last_offset", 11), True),
    "without an idempotent producer": (_entries(lambda found: found.pop(6)), False),
    "a producer whose batches are gone": (_add(entry(90)), False),
}


def damaged(root: Path, cause: str) -> Path:
    folder = made(root)
    path = folder / f"{END:020d}.snapshot"
    data = path.read_bytes()
    if cause == "of before the last batches":
        data = (folder / f"{SECOND:020d}.snapshot").read_bytes()
    else:
        data = CAUSES[cause][0](data)
    path.write_bytes(data)
    return folder


def producers(folder: Path) -> dict[int, ActiveProducer]:
    with kodec.PartitionLog(folder) as log:
        return {each.producer_id: each for each in read_producers(log).producers}


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[int, ActiveProducer]:
    return producers(made(tmp_path_factory.mktemp("right")))


@pytest.mark.parametrize("cause", CAUSES)
def test_producers(
    tmp_path: Path, cause: str, right: dict[int, ActiveProducer], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = damaged(tmp_path, cause)
    found = producers(folder)
    if cause == "a producer whose batches are gone":
        found.pop(90)
    assert found == right
    assert main(["producers", str(tmp_path)]) == int(CAUSES[cause][1])
    assert (f"{END:020d}.snapshot" in capsys.readouterr().err) == CAUSES[cause][1]


@pytest.mark.parametrize("cause", CAUSES)
def test_verify(tmp_path: Path, cause: str) -> None:
    folder = damaged(tmp_path, cause)
    problems = [each for each in kodec.repair.verify(folder) if each.path.suffix == ".snapshot"]
    assert bool(problems) == CAUSES[cause][1]


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("verb", ["recover", "reindex"])
def test_what_is_written(tmp_path: Path, cause: str, verb: str) -> None:
    """Of a log that is read from its start: the right snapshots, but for producers whose batches are gone."""
    folder = damaged(tmp_path, cause)
    expected = {each.producer_id: each for each in snapshot_at(folder, END).entries}
    if cause == "a producer whose batches are gone":
        expected[90] = entry(90)
    assert main([verb, "--apply", str(tmp_path)]) == 0
    data = (folder / f"{END:020d}.snapshot").read_bytes()
    assert {each.producer_id: each for each in ProducerSnapshot.from_bytes(data).entries} == expected


@pytest.mark.parametrize("cause", CAUSES)
def test_a_conversion_copies_those_that_agree(tmp_path: Path, cause: str) -> None:
    folder = damaged(tmp_path / "source", cause)
    target, options = tmp_path / "target" / "t-0", kodec.operations.ConvertOptions(compression="zstd")
    report = kodec.operations.plan_conversion(folder, target, options).apply()
    losses = {loss.name: each.first for loss, each in report.losses.items()}
    wrong = CAUSES[cause][1]
    assert losses == ({"SNAPSHOTS": [(f"{END:020d}.snapshot", END)]} if wrong else {})
    expected = {f"{each:020d}.snapshot" for each in (SECOND, END)[: 1 if wrong else 2]}
    assert {path.name for path in target.glob("*.snapshot")} == expected


@pytest.mark.parametrize("cause", ["right", "of another log"])
def test_a_writer_goes_on_with_what_the_log_has(tmp_path: Path, cause: str) -> None:
    """The snapshot at the start of the last segment, from which a writer, a backup and a recovery begin."""
    folder = made(tmp_path)
    path = folder / f"{SECOND:020d}.snapshot"
    right = path.read_bytes()
    entries = {each.producer_id for each in snapshot_at(folder, SECOND).entries}
    foreign = ProducerSnapshot(entries=[entry(90, 4, 4), entry(91, 2)]).to_bytes()
    path.write_bytes(right if cause == "right" else foreign)
    (folder / f"{END:020d}.snapshot").unlink()
    with kodec.LogWriter(folder) as writer:
        writer.append([kodec.Record(value=b"v")])
    (after,) = [each for each in folder.glob("*.snapshot") if int(each.stem) > SECOND]
    found = {each.producer_id: each for each in ProducerSnapshot.from_bytes(after.read_bytes()).entries}
    assert found.keys() == entries | {7}


def test_a_compacted_log_is_no_contradiction(tmp_path: Path) -> None:
    """The cleaner has removed the last batches of expired producers, which earlier snapshots have."""
    folder = made(tmp_path)
    data = (folder / "00000000000000000000.log").read_bytes()
    batches = list(kodec.read_batches(data))
    for number in (1, 4):
        kept = b"".join(bytes(each.data) for at, each in enumerate(batches) if at != number)
        (folder / "00000000000000000000.log").write_bytes(kept)
        found = [each for each in kodec.repair.verify(folder) if each.path.suffix == ".snapshot"]
        assert found == []
        with kodec.PartitionLog(folder) as log:
            assert read_producers(log).omissions.is_whole


def test_those_of_real_brokers_agree() -> None:
    """Kafka 0.11, which has a marker as a last batch, to 4.3; compacted logs and crashed brokers too."""
    data = DATA
    count = 0
    for path in sorted(data.glob("kafka-*/*/*/*.snapshot")):
        with kodec.PartitionLog(path.parent) as log:
            if int(path.stem) <= log.end_offset:
                assert agrees(path, int(path.stem), log.segments), path
                count += 1
    assert count > 100


def test_a_snapshot_of_many_segments_leaves_none_open(tmp_path: Path) -> None:
    count = 50
    each = [(at, [batch(at, [(b"k", b"v")], producer=(at, 0, 0))]) for at in range(count)]
    folder = make(tmp_path / "t-0", each)
    path = folder / f"{count:020d}.snapshot"
    path.write_bytes(snapshot_at(folder, count).to_bytes())
    with kodec.PartitionLog(folder) as log:
        assert agrees(path, count, log.segments)
        assert not any(segment.is_open for segment in log.segments)
