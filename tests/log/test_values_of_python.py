"""What Python asks of objects: equality, hashes, reprs, pickles."""

from __future__ import annotations

import pickle

import kodec
from tests.data import LOGS
from tests.golden import Golden

LOG = LOGS / "orders-0"
FILE = LOG / "00000000000000000000.log"


def test_equal_records_and_batches_are_one_in_a_set() -> None:
    once, again = ([*kodec.read_records(FILE, control=True), *kodec.read_batches(FILE)] for _ in range(2))
    assert once == again and len({*once, *again}) == len(once) > 100
    first, second, *_ = kodec.read_batches(FILE)
    assert first != second and first != "batch"


def test_control_records_have_hashes() -> None:
    folder = LOG.parent / "transactions-0"
    found = list(kodec.PartitionLog(folder).records(control=True))
    assert len(set(found)) == len(found)


def test_readers_say_what_they_read(golden: Golden) -> None:
    with kodec.read_records(FILE) as reader:
        next(reader)
        assert repr(reader) == f"<RecordReader of {FILE}, at byte {reader.position}>"
    golden(repr(kodec.read_batches(b"")))
    golden(repr(kodec.scan_table([LOG, FILE.parent.parent / "orders-1"])))


def test_other_processes_get_logs_and_segments() -> None:
    with kodec.PartitionLog(LOG, log_start_offset=7) as log:
        records = list(log.records())
        again = pickle.loads(pickle.dumps(log))
        assert again.start_offset == 7 and list(again.records()) == records
        segment = log.segments[0]
        assert list(pickle.loads(pickle.dumps(segment)).batches()) == list(segment.batches())
