"""Compaction, trimming and conversion, and a machine that goes down at each of their calls to the system."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import kodec
from kodec.log.cleaning.swap import replace_segments
from kodec.log.recovery.planning import plan_recovery
from tests.log import made
from tests.log.faults import Faults
from tests.log.made import START, batch
from tests.log.writing.test_order_on_disk import each_call

Rows = dict[int, tuple[bytes | None, bytes | None]]


def rows(folder: Path) -> Rows:
    return {each.offset: (each.key, each.value) for each in made.rows(folder)}


def source(base: Path) -> Path:
    """Three segments, 0 to 9, 10 to 19 and 20 to 29, of five keys, the third active; the folder."""

    def five(first: int) -> bytes:
        return batch(first, [(b"%d" % (n % 5), b"%d" % n) for n in range(first, first + 5)], time=START)

    segments = [(at, [five(at), five(at + 5)]) for at in (0, 10, 20)]
    return made.make(base / "logs" / "t-0", segments)


def lose(faults: Faults, number: int) -> None:
    """All goes that was not fsynced, or, at every second call, some of it."""
    faults.lose(random.Random(number) if number % 2 and faults.failed is not None else None)


def recovered(folder: Path) -> Rows:
    """What exists once a broker would start, which finds nothing wrong a second time."""
    plan_recovery(folder).apply()
    assert plan_recovery(folder).steps == []
    # a gap is a note, as the checkpoint says that the log is compacted, or it is unknown yet
    assert [
        str(each) for each in kodec.repair.verify(folder) if not each.note and each.what != "offsets"
    ] == []
    return rows(folder)


def test_a_compaction(tmp_path: Path) -> None:
    base = tmp_path / "base"
    folder = source(base)
    before = rows(folder)
    newest = {key: (offset, value) for offset, (key, value) in before.items()}
    shutil.copytree(base, tmp_path / "source")
    calls = each_call(
        base, tmp_path / "source", lambda: kodec.operations.plan_compaction(folder, from_start=True).apply()
    )
    sizes = set()
    for number, faults in enumerate(calls):
        lose(faults, number)
        after = recovered(folder)
        assert after.items() <= before.items(), number
        assert {key: (offset, value) for offset, (key, value) in after.items()} == newest, number
        assert after.keys() >= set(range(20, 30)), "the active segment stays"
        sizes.add(len(after))
        assert faults.failed is not None or len(after) == 15, "it returned, and is not durable"
    assert sizes == {30, 15}


def test_a_redaction(tmp_path: Path) -> None:
    base = tmp_path / "base"
    folder = source(base)
    before = rows(folder)
    wanted = kodec.RecordFilter(keys=b"3")
    kept = {offset: row for offset, row in before.items() if row[0] != b"3" or offset >= 20}
    shutil.copytree(base, tmp_path / "source")
    calls = each_call(
        base, tmp_path / "source", lambda: kodec.operations.plan_redaction(folder, wanted).apply()
    )
    sizes = set()
    for number, faults in enumerate(calls):
        lose(faults, number)
        names = [path.name for path in folder.iterdir()]
        assert faults.failed is not None or not [each for each in names if "deleted" in each], "they are back"
        after = recovered(folder)
        assert kept.items() <= after.items() <= before.items(), number
        sizes.add(len(after))
        assert faults.failed is not None or after == kept, "it returned, and is not durable"
        kodec.operations.plan_redaction(folder, wanted).apply()
        assert rows(folder) == kept
    assert sizes == {30, 28, 26}


def test_a_load(tmp_path: Path) -> None:
    base = tmp_path / "base"
    folder = source(base)
    before = rows(folder)
    lines = [json.dumps(each).encode() for each in kodec.operations.log_lines(kodec.PartitionLog(folder))]
    shutil.copytree(base, tmp_path / "source")
    target = base / "new"
    calls = each_call(
        base,
        tmp_path / "source",
        lambda: kodec.operations.plan_load("lines", lambda: lines, target).apply(),
    )
    found = set()
    for number, faults in enumerate(calls):
        lose(faults, number)
        if target.is_dir():
            assert rows(target / "t-0") == before, number
            assert [str(each) for each in kodec.repair.verify(target / "t-0") if not each.note] == []
        found.add(target.is_dir())
        assert faults.failed is not None or target.is_dir(), "it returned, and is not durable"
    assert found == {False, True}


def test_a_trim(tmp_path: Path) -> None:
    base = tmp_path / "base"
    folder = source(base)
    before = rows(folder)
    shutil.copytree(base, tmp_path / "source")
    calls = each_call(
        base, tmp_path / "source", lambda: kodec.operations.plan_trim(folder, before_offset=23).apply()
    )
    starts = set()
    for number, faults in enumerate(calls):
        lose(faults, number)
        after = recovered(folder)
        start = min(after)
        assert after == {offset: row for offset, row in before.items() if offset >= start}, number
        assert faults.failed is not None or start == 23, "it returned, and is not durable"
        starts.add(start)
        # the next one goes on
        kodec.operations.plan_trim(folder, before_offset=23).apply()
        assert min(rows(folder)) == 23
        assert sorted(path.name for path in folder.glob("*.log*")) == [f"{20:020d}.log"]
    assert starts >= {0, 23}


def test_a_conversion(tmp_path: Path) -> None:
    base = tmp_path / "base"
    folder = source(base)
    before = rows(folder)
    shutil.copytree(base, tmp_path / "source")
    target = base / "other" / "t-0"
    calls = each_call(
        base,
        tmp_path / "source",
        lambda: kodec.operations.plan_conversion(
            folder, target, kodec.operations.ConvertOptions(compression="gzip")
        ).apply(),
    )
    found = set()
    for number, faults in enumerate(calls):
        lose(faults, number)
        assert rows(folder) == before
        if target.is_dir():
            assert rows(target) == before, number
            assert [str(each) for each in kodec.repair.verify(target) if not each.note] == []
        found.add(target.is_dir())
        assert faults.failed is not None or target.is_dir(), "it returned, and is not durable"
    assert found == {False, True}


def test_segments_are_replaced_all_or_none_whatever_of_it_is_on_the_disk(tmp_path: Path) -> None:
    """The names `.swap` are durable before an old segment gives up its own, and so on."""
    base = tmp_path / "base"
    made.make(base, [(0, [batch(0, [(b"a", b"1")])]), (5, [batch(5, [(b"a", b"2")])])])
    old = {path.name: path.read_bytes() for path in base.glob("*.log")}
    new = {f"{0:020d}.log": batch(5, [(b"a", b"2")])}
    for name, data in new.items():
        (base / f"{name}.cleaned").write_bytes(data)
    shutil.copytree(base, tmp_path / "source")
    ends = []
    for seed in range(8):
        calls = each_call(base, tmp_path / "source", lambda: replace_segments(base, [0], [0, 5]))
        for number, faults in enumerate(calls):
            faults.lose(random.Random(100 * seed + number) if seed else None)
            made.broker_start(base)
            found = {path.name: path.read_bytes() for path in base.glob("*.log")}
            assert found in (old, new), (seed, number)
            assert faults.failed is not None or found == new
            ends.append(found == new)
    assert {False, True} == set(ends)
