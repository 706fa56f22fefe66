"""Random holes and cuts of every real log, and of logs whose values hold batches: nothing is invented."""

from __future__ import annotations

import pytest

from tests.log.holes import all_logs, run

pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.thorough
def test_nothing_is_given_that_was_not_there() -> None:
    logs = all_logs(20)
    assert len(logs) > 800
    told = run(len(logs), 20, logs)
    counts = told.counts
    assert counts["holes"] + counts["shifts"] == counts["cuts"] == len(logs)
    # bytes that went, or came in between, may put what a value holds just where a length points
    shifted = [fault for fault in told.faults if fault.startswith("invented (shifts)")]
    assert told.faults == shifted and len(shifted) <= 2
    # most of what no byte was changed of is given: the logs have few batches, and often three holes
    assert counts["whole batches in real logs skipped"] < 0.1 * counts["whole batches in real logs"]
