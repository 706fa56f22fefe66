"""What a writer that opens a log keeps and drops next to it; which epochs and producers it notes."""

from __future__ import annotations

from pathlib import Path

import pytest

import kodec
from kodec.generated.log import producer_snapshot
from kodec.log.directories.epochs import assign, from_start, up_to
from kodec.log.directories.producer_state import ProducerState
from kodec.log.files.checkpoints import LeaderEpoch
from kodec.log.files.listing import list_partition
from kodec.log.files.names import file_name
from kodec.log.recovery.planning import plan_recovery, plan_reindex
from kodec.log.writing.prepare import drop_snapshots
from tests.log.files.test_paths import another_process
from tests.log.made import batch, files, make

# of a log with segments from 0, 5 and 10 on, that ends at 12: the snapshots there, those kept, the newest
SNAPSHOTS = {
    "none": ([], [], 0),
    "of each segment": ([5, 10], [5, 10], 10),
    "and of the end": ([5, 10, 12], [5, 10, 12], 12),
    "and from amid the last segment": ([5, 10, 11], [5, 10, 11], 11),
    "two behind the last segment": ([5, 10, 11, 12], [5, 10, 12], 12),
    "above the end": ([5, 10, 13], [5, 10], 10),
    "from amid segments": ([3, 5, 7, 10], [5, 10], 10),
    "of segments that are gone": ([0, 5, 8], [0, 5], 5),
    "amid the last, and no other": ([11], [11], 11),
}


@pytest.mark.parametrize("kind", SNAPSHOTS)
def test_a_writer_keeps_the_snapshots_of_segments_and_the_newest(tmp_path: Path, kind: str) -> None:
    there, kept, newest = SNAPSHOTS[kind]
    for base in (0, 5, 10):
        (tmp_path / file_name(base, "log")).touch()
    for offset in there:
        (tmp_path / file_name(offset, "snapshot")).touch()
    assert drop_snapshots(list_partition(tmp_path), 12) == newest
    assert [offset for offset, _ in list_partition(tmp_path).snapshots] == kept


Epochs = list[tuple[int, int]]
# the list (epoch, first offset), a new one, the list then
ASSIGNED: list[tuple[Epochs, tuple[int, int], Epochs]] = [
    ([], (3, 7), [(3, 7)]),
    ([(0, 0)], (1, 5), [(0, 0), (1, 5)]),
    ([(0, 0), (1, 5)], (1, 7), [(0, 0), (1, 5)]),
    ([(0, 0), (1, 5)], (1, 5), [(0, 0), (1, 5)]),
    ([(0, 0), (1, 5)], (1, 4), [(0, 0), (1, 4)]),
    # the epoch before has written nothing
    ([(0, 0), (1, 5)], (2, 5), [(0, 0), (2, 5)]),
    ([(0, 0), (1, 5)], (2, 3), [(0, 0), (2, 3)]),
    ([(0, 0), (3, 5), (4, 6)], (2, 9), [(0, 0), (2, 9)]),
    ([(0, 0), (2, 5), (4, 6)], (2, 9), [(0, 0), (2, 9)]),
]


@pytest.mark.parametrize(("epochs", "new", "wanted"), ASSIGNED)
def test_an_epoch_is_assigned_as_by_a_broker(epochs: Epochs, new: tuple[int, int], wanted: Epochs) -> None:
    """`LeaderEpochFileCache.assign` and `maybeTruncateNonMonotonicEntries`."""
    found = [LeaderEpoch(*each) for each in epochs]
    assign(found, LeaderEpoch(*new))
    assert found == wanted


@pytest.mark.parametrize(
    ("end", "wanted"), [(0, [(1, 0)]), (4, [(1, 0)]), (5, [(1, 0), (2, 5)]), (6, [(1, 0), (2, 5)])]
)
def test_epochs_up_to_an_end(end: int, wanted: Epochs) -> None:
    assert up_to([LeaderEpoch(1, 0), LeaderEpoch(2, 5), LeaderEpoch(3, 7)], end) == wanted


@pytest.mark.parametrize(
    ("start", "wanted"),
    [
        (0, [(1, 2), (2, 5)]),
        (1, [(1, 2), (2, 5)]),
        (2, [(1, 2), (2, 5)]),
        (3, [(1, 3), (2, 5)]),
        (4, [(1, 4), (2, 5)]),
        (5, [(2, 5)]),
        (6, [(2, 6)]),
    ],
)
def test_epochs_from_a_start(start: int, wanted: Epochs) -> None:
    assert from_start([LeaderEpoch(1, 2), LeaderEpoch(2, 5)], start) == wanted


@pytest.mark.parametrize(
    ("count", "buckets"), [(1, 16), (12, 16), (13, 32), (24, 32), (25, 64), (48, 64), (49, 128)]
)
def test_producers_are_in_the_order_of_a_java_hash_map(count: int, buckets: int) -> None:
    """It has 16 buckets at first, and twice as many where more than three quarters are taken."""
    state = ProducerState()
    numbers = [7 * each for each in range(count)]
    for number in numbers:
        state.known[number] = producer_snapshot.Entry(producer_epoch=0)
    found = [each.producer_id for each in state.snapshot().entries]
    assert found == sorted(numbers, key=lambda each: each % buckets)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux reports open files")
def test_nobody_writes_a_log_that_another_process_has_open_for_writing(tmp_path: Path) -> None:
    """As a broker that knows the log directory by another path, and holds another lock."""
    folder = make(tmp_path / "topic-0", [(0, [batch(0, [(b"k", b"v")])])])
    before = files(folder)
    with another_process("fd = os.open(sys.argv[1], os.O_RDWR)", folder / file_name(0, "index")):
        for change in (
            lambda: kodec.LogWriter(folder),
            lambda: plan_recovery(folder, from_start=True).apply(),
            lambda: plan_reindex(folder).apply(),
        ):
            with pytest.raises(BlockingIOError, match="open for writing"):
                change()
            assert files(folder) == before
