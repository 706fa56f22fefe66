"""Translated offsets: names, errors, damage. test_topics_lab.py compares the offsets with MirrorMaker's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.errors import ArgumentError
from kodec.log.remote.resolve import NotALog
from kodec.log.views.translation import _Names
from kodec.operations import translate_offsets
from kodec.results import Cause
from tests.golden import Golden
from tests.other_topics import OTHER

pytestmark = pytest.mark.quick
SYNCS = "mm2-offset-syncs.B.internal"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """What a translation needs of cluster A, to be changed."""
    for name in ("__consumer_offsets-0", f"{SYNCS}-0"):
        shutil.copytree(OTHER / "A" / name, tmp_path / "A" / name)
    return tmp_path / "A"


@pytest.mark.parametrize(
    ("topic", "identity", "separator", "renamed"),
    [
        ("orders", False, ".", "A.orders"),
        ("my.orders", False, ".", "A.my.orders"),
        ("orders.", False, ".", "A.orders."),
        # it came from the target, and goes back
        ("B.orders", False, ".", "orders"),
        ("B.x.orders", False, ".", "orders"),
        ("B.orders", False, "_", "A_B.orders"),
        ("B_orders", False, "_", "orders"),
        ("my.orders", True, ".", "my.orders"),
        ("heartbeats", True, ".", "A.heartbeats"),
    ],
)
def test_names_in_the_target(topic: str, identity: bool, separator: str, renamed: str) -> None:
    assert _Names("A", "B", identity, separator).renamed(topic) == renamed


def test_aliases_and_topics_that_are_not_there(source: Path) -> None:
    for given in ({"source": "A", "target": "A"}, {"source": "", "target": "B"}):
        with pytest.raises(ArgumentError, match="aliases of two clusters"):
            translate_offsets(source, **given)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="separator"):
        translate_offsets(source, source="A", target="B", separator="")
    with pytest.raises(NotALog, match=r"mm2-offset-syncs\.X\.internal, A\.checkpoints\.internal"):
        translate_offsets(source, source="A", target="X")
    shutil.rmtree(source / "__consumer_offsets-0")
    with pytest.raises(NotALog, match="__consumer_offsets"):
        translate_offsets(source, source="A", target="B")


def test_only_chosen_groups_and_topics(source: Path) -> None:
    found = translate_offsets(source, source="A", target="B", groups="group-57", topics="orders").offsets
    assert {each.group for each in found} == {"group-57"} and {each.topic for each in found} == {"orders"}
    assert found[0].metadata == "from the lab" and found[0].checkpoint_offset is None
    there = translate_offsets(OTHER / "B", source="A", target="B", groups="group-57", topics="other")
    assert not there.offsets
    assert translate_offsets(source, source="A", target="B", topics="orders", identity=True).offsets[
        0
    ].target_topic == ("orders")


def test_syncs_on_the_target(source: Path, tmp_path: Path) -> None:
    wanted = translate_offsets(source, source="A", target="B", topics="orders").offsets
    shutil.copytree(source / f"{SYNCS}-0", tmp_path / "B" / "mm2-offset-syncs.A.internal-0")
    shutil.rmtree(source / f"{SYNCS}-0")
    found = translate_offsets(source, source="A", target="B", topics="orders", target_logs=tmp_path / "B")
    assert found.offsets == wanted


def test_records_that_are_no_syncs_are_named(source: Path) -> None:
    (file,) = (source / f"{SYNCS}-0").glob("*.log")
    end = kodec.PartitionLog(source / f"{SYNCS}-0").end_offset
    before = translate_offsets(source, source="A", target="B", topics="orders")
    records = [kodec.Record(key=b"k", value=b"v"), kodec.Record(key=None, value=None)]
    with file.open("ab") as out:
        out.write(kodec.encode(records, base_offset=end))
    after = translate_offsets(source, source="A", target="B", topics="orders")
    assert after.offsets == before.offsets
    assert [each.cause for each in after.omissions].count(Cause.UNKNOWN) == 2


def test_the_command(source: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    here = ["offsets", str(source), "--translate", "A,B", "--topic", "orders"]
    assert main([*here, "--group", "group-57"]) == 0
    assert "2 translated offsets" in capsys.readouterr().out
    assert main([*here, "--json"]) == 1
    shown = capsys.readouterr()
    assert '"kind": "untranslated"' in shown.out
    golden(shown.err)
    assert main(["offsets", str(OTHER / "B"), "--translate", "A,B", "--wide"]) == 0
    assert main([*here, "--group", "nobody"]) == 2
    golden(capsys.readouterr().err)
    alone = (["--identity"], ["--target-dir", str(source)], ["--separator", "_"])
    aliases = (["--translate", each] for each in ("A", "A,", "A,A"))
    for wrong in (*alone, *aliases, ["--translate", "A,X"], ["--translate", "A,B", "--separator", ""]):
        assert main(["offsets", str(source), *wrong]) == 2, wrong
