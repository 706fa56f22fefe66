"""Segments of more than 2 GiB: no broker makes them, joined copies and other programs do."""

from __future__ import annotations

from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.recovery import salvage
from kodec.log.verification.verify import verify_partition
from kodec.log.writing import segment_scan, segment_writer
from tests.golden import Golden
from tests.log import made
from tests.log.made import START, batch

GIB = 1 << 30


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with a segment of 2.1 GiB, which takes little of the disk, and with a small one."""
    root = tmp_path_factory.mktemp("sparse")
    data = kodec.encode([kodec.Record(value=bytes(100 << 20), timestamp=START)], batch_bytes=GIB)
    (root / "large-0").mkdir()
    with (root / "large-0" / f"{0:020d}.log").open("wb") as file:
        for number in range(22):
            file.seek(number * len(data))
            file.write(number.to_bytes(8, "big") + data[8:100])
            file.seek((number + 1) * len(data) - 1)
            file.write(data[-1:])
        file.write(batch(22, [(b"last", b"v")], time=START))
    made.make(root / "small-0", [(0, [batch(0, [(b"k", b"v")], time=START)])])
    return root


def test_it_is_read_and_looked_up(sparse: Path) -> None:
    with kodec.PartitionLog(sparse / "large-0") as log:
        assert log.size > 2 * GIB and log.end_offset == 23
        found = log.find(22)
        assert found is not None and found[1].position > 2 * GIB
        assert [record.key for record in log.records(22)] == [b"last"]
        assert kodec.repair.survey(log).health == "clean"
    headers = kodec.read_batch_table(sparse / "large-0" / f"{0:020d}.log")
    assert headers["position"][-1].as_py() > 2 * GIB
    assert headers["base_offset"].to_pylist() == [*range(22), 22]


@pytest.mark.thorough
def test_the_verbs_go_on_with_the_rest(
    sparse: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert main(["ls", str(sparse)]) == 0
    assert main(["verify", str(sparse)]) == 0
    golden(capsys.readouterr().out)
    assert main(["recover", "--from-start", "--json", str(sparse)]) == 1
    told = capsys.readouterr()
    assert "large-0" in told.err
    golden(told.err)
    assert '"partitions": 2' in told.out and '"refused": 1' in told.out


def test_salvage_splits_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    parts = [batch(n, [(b"k", b"v" * 100)], time=START, producer=(7, 0, n)) for n in range(50)]
    folder = made.make(tmp_path / "in" / "topic-0", [(0, parts[:40]), (40, parts[40:])])
    most = 10 * len(parts[0]) + 7
    monkeypatch.setattr(segment_writer, "MAX_SEGMENT", most)
    report = salvage.plan_salvage(folder, tmp_path / "out" / "topic-0").apply()
    assert (report.batches, report.missing) == (50, [])
    with kodec.PartitionLog(tmp_path / "out" / "topic-0") as log:
        assert [each.base_offset for each in log.segments] == [0, 10, 20, 30, 40]
        assert [record.offset for record in log.records()] == list(range(50))
        assert [str(each) for each in verify_partition(log)] == []
    monkeypatch.setattr(segment_scan, "MAX_SEGMENT", most)
    plan = kodec.repair.plan_recovery(folder, from_start=True)
    assert plan.steps == []
    golden(plan.problems[0])
    golden(kodec.repair.plan_reindex(folder).problems[0])
    assert kodec.repair.plan_recovery(tmp_path / "out" / "topic-0", from_start=True).steps == []
