"""The benchmarks run on every peer installed, and refuse one that is wrong; no time is asserted."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

import kodec

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    """The package `benchmarks` of the clone, which is not installed."""
    folder = ROOT / "benchmarks"
    spec = importlib.util.spec_from_file_location(
        "benchmarks", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["benchmarks"] = package
    spec.loader.exec_module(package)
    for name in ("corpora", "measure", "peers", "report", "__main__"):
        importlib.import_module(f"benchmarks.{name}")
    yield package
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        del sys.modules[name]


def test_a_small_run_of_everything(bench: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--quick", "--size", "0.02", "--rounds", "1", "--seconds", "0.001", "--out", str(tmp_path)]
    assert sys.modules["benchmarks.__main__"].main(arguments) == 0
    printed = capsys.readouterr()
    assert "kafka-python" in printed.out and "kodec is" in printed.out

    (path,) = tmp_path.glob("*.json")
    report = json.loads(path.read_text())
    peers = set(bench.peers.PEERS)
    there = peers - set(report["absent"])
    # both are in the group of test dependencies
    assert there >= {"kafka-python", "aiokafka"}
    for name in report["absent"]:
        assert f"{name}: absent" in printed.err

    cases = {
        (each["direction"], each["workload"], each["magic"], each["codec"]): each for each in report["cases"]
    }
    expected = [(each.workload, each.magic, each.codec) for each in bench.corpora.CASES]
    assert set(cases) == {(way, *case) for way in ("decode", "encode") for case in expected}
    assert {(2, codec) for codec in ("none", "gzip", "snappy", "lz4", "zstd")} <= {
        case[1:] for case in expected
    }
    for (direction, _, magic, codec), case in cases.items():
        names = [reader["name"] for reader in case["readers"]]
        ksc = {"ksc"} if direction == "decode" and magic == 2 and codec == "none" else set()
        readers = {"java"} if direction == "encode" else set()
        assert names[0] == "kodec" and set(names[1:]) == there - ({"ksc"} - ksc) - readers
        for reader in case["readers"]:
            assert reader["rate"] > 0 and reader["records"] > 0
        for reader in case["readers"][1:]:
            ratio = reader["kodec_ratio"]
            assert ratio["least"] <= ratio["median"] <= ratio["most"]
    assert set(report["facts"]) == {"date", "commit", "cpu", "cores", "system", "python", "libraries"}

    (table,) = tmp_path.glob("*.md")
    assert table.read_text().count("| kodec |") == len(cases)
    (chart,) = tmp_path.glob("*.svg")
    bars = ElementTree.parse(chart).getroot().findall("{http://www.w3.org/2000/svg}rect")
    # the background, a legend for all but kafka-python, and a bar for each that is not kafka-python
    assert len(bars) == 1 + len(peers) + sum(len(case["readers"]) - 1 for case in cases.values())


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
    class Wrong(bench.peers.Kodec):  # type: ignore[name-defined,misc]
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

    monkeypatch.setattr(bench.measure, "encode", interrupt)
    assert sys.modules["benchmarks.__main__"].main(["--quick", "--peers", "", "--workloads", "W1"]) == 130
    printed = capsys.readouterr()
    assert "W1 none" in printed.out and "interrupted" in printed.err


def test_a_peer_that_is_not_there_is_named(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kafka.record.memory_records", None)
    peers, absent = bench.peers.load(["kafka-python"])
    assert peers == [] and "not installed" in absent["kafka-python"]
