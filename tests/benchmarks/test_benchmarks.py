"""The benchmarks run on every peer installed, and refuse one that is wrong; no time is asserted."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import kodec
from tests.data import ROOT

pytestmark = pytest.mark.thorough


def test_a_small_run_of_everything(bench: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--quick", "--size", "0.02", "--rounds", "1", "--seconds", "0.001", "--out", str(tmp_path)]
    assert sys.modules["benchmarks.__main__"].main(arguments) == 0
    printed = capsys.readouterr()
    assert "kafka-python" in printed.out and "not directly comparable" in printed.out

    (path,) = tmp_path.glob("*.json")
    report = json.loads(path.read_text())
    peers = {*bench.peers.PEERS, *bench.peers.OWN}
    there = peers - set(report["absent"])
    # both are in the group of test dependencies
    assert there >= {"kafka-python", "aiokafka", "kodec-pure"}
    assert (kodec.backend() == "native") is (there >= set(bench.peers.OWN))
    for name in report["absent"]:
        assert f"{name}: absent" in printed.err

    cases: dict[tuple[str, str, int, str], list[Any]] = defaultdict(list)
    for each in report["readers"]:
        cases[each["direction"], each["workload"], each["magic"], each["codec"]].append(each)
    expected = [(each.workload, each.magic, each.codec) for each in bench.corpora.CASES]
    plain = [case for case in expected if case[1:] == (2, "none")]
    assert set(cases) == {
        *((way, *case) for way in ("decode", "encode") for case in expected),
        *((way, *case) for way in ("key-value", "iterate") for case in plain),
    }
    assert {(2, codec) for codec in ("none", "gzip", "snappy", "lz4", "zstd")} <= {
        case[1:] for case in expected
    }
    for (direction, _, magic, codec), readers in cases.items():
        names = {each["reader"] for each in readers}
        wanted = there
        if direction in ("key-value", "iterate"):
            wanted = there & set(sys.modules["benchmarks.__main__"].ITERATED)
        elif direction == "encode":
            wanted = there - {"ksc", "java", "kodec"}
        elif (magic, codec) != (2, "none"):
            wanted = there - {"ksc"}
        alone = {bench.measure.ALONE[direction]} if codec != "none" else set()
        assert names == wanted | alone
        for reader in readers:
            assert reader["rate"] == reader["least"] == reader["most"] > 0 and reader["records"] > 0
            assert set(reader["times"]) == {"kafka-python", "aiokafka"} | alone
            assert (reader["gives"] == "columns") is (reader["reader"] == "kodec-columns")
            for times in reader["times"].values():
                assert times["least"] <= times["median"] <= times["most"]
    if kodec.backend() == "native":
        # each target has its figures, but for those next to a peer that is missing
        targets = [each for each in bench.targets.TARGETS if each.base not in report["absent"]]
        assert len(report["targets"]) == len(targets)
    assert set(report["facts"]) == {"date", "commit", "cpu", "cores", "system", "python", "libraries"}

    (table,) = tmp_path.glob("*.md")
    assert table.read_text().count("| kodec-pure |") >= len(cases)
    (chart,) = tmp_path.glob("*.svg")
    bars = ElementTree.parse(chart).getroot().findall("{http://www.w3.org/2000/svg}rect")
    # the background, a legend for all but kafka-python, and a bar for each that is not kafka-python
    shown = [each["reader"] for each in report["readers"]]
    compared = [name for name in shown if name in peers - {"kafka-python"}]
    assert len(bars) == 1 + len(peers) - 1 + len(compared)


def test_a_verdict_follows_from_the_figures(bench: Any) -> None:
    case = bench.corpora.Case("W2")

    def verdict(target: Any, ours: float, base: float, gives: str = "objects") -> Any:
        figures = [
            bench.measure.Figures("kodec-columns", "columns", 1, [ours]),
            bench.measure.Figures(target.base, gives, 1, [base]),
        ]
        result = bench.report.Result(target.direction, target.case, 100.0, 100.0, figures)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bench.targets, "TARGETS", (target,))
            (found,) = bench.targets.verdicts([result])
        return found

    target = bench.targets.Target("decode", case, "kodec-columns", "aiokafka", 5)
    assert verdict(target, 50.0, 10.0).met and not verdict(target, 49.0, 10.0).met
    alone = bench.targets.Target("decode", case, "kodec-columns", bench.measure.ALONE["decode"], 1.15)
    assert verdict(alone, 10.0, 11.0, "bytes").met and not verdict(alone, 10.0, 12.0, "bytes").met
    rate = bench.targets.Target("decode", case, "kodec-columns", "bytes", 2.6e9)
    assert verdict(rate, 27e6, 1.0).met and not verdict(rate, 25e6, 1.0).met


@pytest.mark.skipif(kodec.backend() != "native", reason="it is the native kernel that is measured")
def test_a_small_run_of_scale(
    bench: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # its processes import the package, as they do behind `python -m`
    monkeypatch.syspath_prepend(ROOT)
    arguments = ["--most", "4", "--seconds", "0.001", "--rounds", "1", "--out", str(tmp_path)]
    assert bench.scale.main(arguments) == 0
    (path,) = tmp_path.glob("*-scale.json")
    whole = json.loads(path.read_text())
    found = {(row["what"], row["mib"]): row for row in whole["sizes"]}
    assert set(found) == {(what, size) for what in ("columns", "objects") for size in (1, 4)}
    for (_, size), row in found.items():
        assert row["rows"] > 0 and row["bytes"] >= size << 20 and row["peak"] >= row["before"] > 0
        assert row["rows"] == found["columns", size]["rows"]
    assert whole["headers"]["rows"] * (15 << 10) < whole["headers"]["bytes"]
    assert whole["threads"]["threads"] > 0 and whole["threads"]["processes_gain"] > 0
    assert "two threads" in capsys.readouterr().out


def test_corpora_are_the_same_each_time_and_as_large_as_they_should_be(bench: Any) -> None:
    sizes = {"W1": 19, "W2": 127, "W3": 189, "W4": 10_270}
    for name, size in sizes.items():
        case = bench.corpora.Case(name)
        corpus = bench.corpora.build(case, 1, 1)
        assert corpus.data == bench.corpora.build(case, 1, 1).data
        assert abs(corpus.raw_bytes - size) <= 0.02 * size
        assert len(list(kodec.read_records(corpus.data))) == corpus.batch


@pytest.mark.parametrize("direction", ["decode", "encode"])
def test_a_peer_that_is_wrong_is_not_timed(bench: Any, direction: str) -> None:
    class Wrong(bench.peers.Pure):
        name = "wrong"

        def rows(self, data: bytes) -> Iterator[Any]:
            for offset, timestamp, key, _, headers in super().rows(data):
                yield offset, timestamp, key, b"another", headers

        def prepare(self, batches: list[list[kodec.Record]], case: Any) -> Any:
            return super().prepare([batch[:-1] for batch in batches], case)

    corpus = bench.corpora.build(bench.corpora.Case("W2"), 1, 1)
    with pytest.raises(bench.measure.Disagreement, match="wrong"):
        getattr(bench.measure, direction)(corpus, [Wrong()], bench.measure.Settings(1, 0.001))


def test_an_interrupted_run_shows_what_was_done(
    bench: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules["benchmarks.__main__"].DIRECTIONS, "encode", interrupt)
    assert sys.modules["benchmarks.__main__"].main(["--quick", "--peers", "", "--workloads", "W1"]) == 130
    printed = capsys.readouterr()
    assert "W1 none" in printed.out and "interrupted" in printed.err


def test_a_peer_that_is_not_there_is_named(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kafka.record.memory_records", None)
    peers, absent = bench.peers.load(["kafka-python"])
    assert peers == [] and "not installed" in absent["kafka-python"]


def test_messages_are_measured_beside_kio(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("kio.serial", reason="kio is not installed")
    messages = importlib.import_module("benchmarks.messages")
    assert messages.main(["--quick"]) == 0
    lines = [
        line for line in capsys.readouterr().out.splitlines() if " decode " in line or " encode " in line
    ]
    assert len(lines) == 2 * len(list(messages.stored())) and all("x  " in line for line in lines)
    # what is read otherwise is not timed
    case = next(each for each in messages.stored() if each.name.startswith("LeaderChangeMessage v1"))
    with pytest.raises((messages.Disagreement, ValueError, OverflowError, EOFError)):
        messages.runners(messages.Case(case.name, case.value, case.given, "leader_change_message.v0.data"))
