"""Rows up to each edge: of offsets asked for, batches, segments, tasks, the log, and of what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kodec
from kodec.pipeline import KafkaLogDataSource
from kodec.pipeline.plan import DataLoss
from tests.fixtures import NOW, write_segment

LAYOUT = {"t-0": [range(10), range(10, 20), range(20, 30)]}

# of 0 to 29 in segments of ten and batches of five
EDGES = (0, 1, 4, 5, 6, 9, 10, 11, 19, 20, 25, 29, 30)


def tasks(path: Path, **options: str) -> list[list[int]]:
    """The offsets in the rows of each task."""
    one = KafkaLogDataSource({"path": str(path), "columns": "offset", **options})
    reader = one.reader(one.schema())
    return [
        [offset for batch in reader.read(task) for offset in batch["offset"].to_pylist()]
        for task in reader.partitions()
    ]


def rows(path: Path, **options: str) -> list[int]:
    return [offset for task in tasks(path, **options) for offset in task]


def between(first: int, end: int) -> dict[str, str]:
    return {
        "startingOffsets": json.dumps({"t": {"0": first}}),
        "endingOffsets": json.dumps({"t": {"0": end}}),
    }


@pytest.mark.parametrize("first", EDGES)
def test_each_range_of_offsets(logs: Path, first: int) -> None:
    for end in EDGES:
        if end >= first:
            assert rows(logs, **between(first, end)) == list(range(first, end)), (first, end)


@pytest.mark.parametrize("first", EDGES)
def test_each_start_by_time(logs: Path, first: int) -> None:
    assert rows(logs, startingTimestamp=str(NOW + first - 1)) == list(range(max(first - 1, 0), 30))
    ending = {"endingTimestamp": str(NOW + first)}
    assert rows(logs, **ending) == list(range(first))


@pytest.mark.parametrize("most", [1, 3, 5, 9, 10, 11, 29, 30, 31])
def test_tasks_of_so_many_offsets(logs: Path, most: int) -> None:
    found = tasks(logs, maxRecordsPerPartition=str(most))
    assert [offset for task in found for offset in task] == list(range(30))
    assert all(0 < len(task) <= most for task in found)
    # a segment, or what is left of one, is not cut to fill a task
    assert len(found) == {1: 30, 3: 12, 5: 6, 9: 6, 10: 3, 11: 3, 29: 2, 30: 1, 31: 1}[most]


@pytest.mark.parametrize("least", [1, 2, 3, 7, 30, 31])
def test_so_many_tasks(logs: Path, least: int) -> None:
    found = tasks(logs, minPartitions=str(least))
    assert [offset for task in found for offset in task] == list(range(30))
    assert len(found) >= min(least, 30)


@pytest.mark.parametrize("lost", ["the last of a segment", "the first of a segment", "both"])
def test_one_offset_that_is_missing(logs: Path, lost: str) -> None:
    """At the end of the middle segment, 19; at the start of the last, 20; nothing explains it."""
    gone = {"the last of a segment": (19, 19), "the first of a segment": (20, 20), "both": (19, 20)}[lost]
    if gone[0] == 19:
        write_segment(logs / "t-0", 10, 9)
    if gone[1] == 20:
        (logs / "t-0" / f"{20:020d}.log").unlink()
        write_segment(logs / "t-0", 21, 9)
    there = [offset for offset in range(30) if offset not in gone]
    assert rows(logs, failOnDataLoss="false") == there
    for first in (0, 18, 19, 20, 21):
        for end in (18, 19, 20, 21, 22, 30):
            if first >= end:
                continue
            options = between(first, end)
            least, most = max(gone[0], first), min(gone[1], end - 1)
            if least > most:
                assert rows(logs, **options) == list(range(first, end))
                continue
            with pytest.raises(DataLoss, match=f"offsets {least} to {most} of t-0 are in no segment"):
                rows(logs, **options)
            assert rows(logs, **options, failOnDataLoss="false") == [
                offset for offset in there if first <= offset < end
            ]


def test_one_offset_that_is_missing_in_tasks(logs: Path) -> None:
    """The task that has it reports it, and no other."""
    write_segment(logs / "t-0", 10, 9)
    one = KafkaLogDataSource({"path": str(logs), "columns": "offset", "maxRecordsPerPartition": "1"})
    reader = one.reader(one.schema())
    raised = []
    for number, task in enumerate(reader.partitions()):
        try:
            (batch,) = reader.read(task)
            assert batch["offset"].to_pylist() == [number]
        except DataLoss:
            raised.append(number)
    assert raised == [19]


def test_a_batch_that_was_skipped_does_not_explain_what_is_missing_behind_the_next(logs: Path) -> None:
    """It leaves a gap between two batches; but no compaction has made that."""
    parts = [
        bytearray(kodec.encode([kodec.Record(offset=n, timestamp=NOW) for n in range(first, first + 3)]))
        for first in (10, 13, 16)
    ]
    parts[1][-1] ^= 1
    (logs / "t-0" / f"{10:020d}.log").write_bytes(b"".join(parts))
    with pytest.raises(DataLoss, match="offsets 19 to 19 of t-0 are in no segment"):
        rows(logs, mode="permissive", failOnDataLoss="true")
    there = [*range(13), 16, 17, 18, *range(20, 30)]
    assert rows(logs, mode="permissive") == there


@pytest.mark.parametrize("start", [0, 1, 9, 10, 11, 29, 30, 31])
def test_a_log_starts_at_its_start_offset(logs: Path, start: int) -> None:
    (logs / "log-start-offset-checkpoint").write_text(f"0\n1\nt 0 {start}\n")
    assert rows(logs) == list(range(start, 30))
    for asked in {max(start - 1, 0), min(start, 30)}:
        options = {"startingOffsets": json.dumps({"t": {"0": asked}})}
        if start <= asked <= 30:
            assert rows(logs, **options) == list(range(start, 30))
        else:
            with pytest.raises(DataLoss):
                rows(logs, **options)


def test_what_lies_behind_the_end_was_not_there(logs: Path) -> None:
    for first, end in ((30, 31), (0, 31), (31, 31)):
        with pytest.raises(DataLoss, match=r"t-0 has offsets 0 to 30 \(exclusive\), not 31"):
            rows(logs, **between(first, end))


@pytest.mark.parametrize("at", [4, 5, 9, 10])
def test_a_transaction_is_read_when_it_is_decided(tmp_path: Path, at: int) -> None:
    """Open from an offset on: nothing from there on is committed, whatever lies around."""
    folder = tmp_path / "logs" / "t-0"
    folder.parent.mkdir()
    with kodec.LogWriter(folder) as writer:
        records = [kodec.Record(value=b"v", timestamp=NOW)]
        for _ in range(at):
            writer.append(records)
        sent = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
        writer.append(records, **sent)
        writer.append(records)
    committed = {"kafka.isolation.level": "read_committed"}
    assert rows(folder.parent) == list(range(at + 2))
    assert rows(folder.parent, **committed) == list(range(at))
    first = {"startingOffsets": json.dumps({"t": {"0": at - 1}})}
    assert rows(folder.parent, **committed, **first) == [at - 1]
