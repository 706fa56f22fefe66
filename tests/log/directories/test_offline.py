"""What is asked of a log that no broker uses."""

from __future__ import annotations

from pathlib import Path

import pytest

import kodec
from kodec.log.directories.offline import require_in_order
from kodec.log.directories.snapshots import newest_state
from kodec.log.files.names import file_name


@pytest.mark.parametrize(("above", "wanted"), [(0, 30), (1, 20)])
def test_a_snapshot_above_the_end_of_the_log_is_of_records_that_are_gone(
    tmp_path: Path, above: int, wanted: int
) -> None:
    folder = tmp_path / "orders-0"
    with kodec.LogWriter(folder, config=kodec.LogConfig(segment_bytes=1000)) as log:
        for turn in range(3):
            records = [kodec.Record(value=bytes(60))] * 10
            log.append(records, producer_id=7, producer_epoch=0, base_sequence=10 * turn)
    newest = max(folder.glob("*.snapshot"))
    assert newest.name == file_name(30, "snapshot")
    newest.rename(folder / file_name(30 + above, "snapshot"))
    found = kodec.PartitionLog(folder)
    offset, state = newest_state(found.segments, found.files.snapshots, found.end_offset)
    assert offset == wanted
    assert [each.last_sequence for each in state.snapshot().entries] == [wanted - 1]


@pytest.mark.parametrize("kind", ["stray", "delete", "future"])
def test_a_replica_that_is_not_live_is_not_changed(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "orders-0"
    with kodec.LogWriter(folder) as log:
        log.append([kodec.Record(value=b"v")])
    require_in_order(kodec.PartitionLog(folder))
    other = folder.rename(tmp_path / f"orders-0.{'a' * 32}-{kind}")
    with pytest.raises(ValueError, match=kind):
        require_in_order(kodec.PartitionLog(other))
