"""Remote storage read as a log directory: the same as the log that was copied there."""

from __future__ import annotations

import json
import pickle
import shutil
import sys
from pathlib import Path
from uuid import UUID

import pytest

import kodec
from kodec.cli.main import main
from kodec.errors import KodecError, Malformed, ReadFailed, Unsupported
from kodec.log.remote.tier import Remote
from kodec.repair import verify
from kodec.stores.context import DEFAULT
from tests.data import DATA
from tests.golden import Golden
from tests.stored_tiers import STORED

TIER = DATA / "tiered-4.3.1/tier"
KEY = STORED / "key1.pem"
FOLDERS = {
    "kafka's": TIER,
    "plain": STORED / "plain",
    "zstd": STORED / "zstd" / "backup",
    "aes": STORED / "aes" / "backup",
    "zstd-aes": STORED / "zstd-aes",
}


@pytest.fixture(params=FOLDERS)
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KODEC_TIER_KEY", str(KEY))
    return FOLDERS[request.param]


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Encrypted segments to be damaged."""
    monkeypatch.setenv("KODEC_TIER_KEY", str(KEY))
    return Path(shutil.copytree(FOLDERS["aes"], tmp_path / "tier"))


def _log(folder: Path, offset: int) -> Path:
    return next(folder.glob(f"*/0/{offset:020}-*.log"))


def _plain_records() -> list[kodec.Record]:
    logs = sorted(next(TIER.iterdir()).glob("*.log"))
    return [record for path in logs for record in kodec.read_records(path.read_bytes())]


@pytest.mark.quick
def test_it_has_what_was_copied(tier: Path) -> None:
    log = kodec.LogDirectory(tier).partition("tiered", 0)
    assert list(log.records()) == _plain_records()
    assert (log.start_offset, log.end_offset, len(log.segments)) == (0, 168, 4)
    assert [(each.epoch, each.start_offset) for each in log.leader_epochs()] == [(0, 0), (2, 84)]
    found = log.metadata()
    assert found is not None
    assert found.topic_id == UUID("2a81d1ab-d0a3-4875-b0ef-0972a1adc73f")
    assert [offset for offset, _ in log.producer_snapshots()][:3] == [52, 84, 136]


def test_its_indexes_lead_to_the_same_places(tier: Path) -> None:
    log = kodec.LogDirectory(tier).partition("tiered", 0)
    for offset in range(168):
        assert log.find(offset) is not None
        assert [each.find(offset) for each in log.segments] == [
            each.find(offset, use_index=False) for each in log.segments
        ]
    assert log.find_timestamp(1795233672698) == log.find_timestamp(1795233672698, use_index=False)


def test_it_is_without_problems(tier: Path) -> None:
    assert [str(each) for each in verify(tier) if not each.note] == []


def test_every_folder_and_each_segment_of_it(tier: Path) -> None:
    columns = ["offset", "timestamp", "key", "value"]
    wanted = kodec.read_table(tier, columns)
    topic = next(tier.iterdir())
    inner = next(each for each in topic.iterdir()) if (topic / "0").is_dir() else topic
    for path in {topic, inner}:
        assert kodec.read_table(path, columns).equals(wanted), path
    assert list(kodec.PartitionLog(inner).records()) == _plain_records()
    logs = sorted(inner.glob("*.log"))
    assert [record for path in logs for record in kodec.read_records(path)] == _plain_records()
    assert [each.num_rows for each in map(kodec.read_table, logs)] == [52, 30, 52, 30]


def test_another_process_reads_it(tier: Path) -> None:
    log = kodec.LogDirectory(tier).partition("tiered", 0)
    again = pickle.loads(pickle.dumps((log, log.segments[3])))
    assert again[0].end_offset == 168
    assert next(again[1].records()).offset == 136
    assert str(again[1].path) == str(log.segments[3].path)
    assert Path(str(again[1].path)).is_file()


def test_a_prefix_of_names_is_not_part_of_the_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KODEC_TIER_KEY", str(KEY))
    (folder,) = FOLDERS["aes"].iterdir()
    assert folder.name.startswith("eu-tiered-")
    assert [str(each) for each in kodec.LogDirectory(FOLDERS["aes"]).topic_partitions] == ["tiered-0"]


def test_a_topic_that_was_made_again_is_ambiguous(tmp_path: Path) -> None:
    shutil.copytree(FOLDERS["plain"], tmp_path / "tier")
    (folder,) = (tmp_path / "tier").iterdir()
    shutil.copytree(folder, folder.with_name("tiered-AAAAAAAAAAAAAAAAAAAAAA"))
    with pytest.raises(Malformed, match=r"give the folder of one: need one folder, have .*tiered-A"):
        kodec.LogDirectory(tmp_path / "tier")
    assert len(kodec.LogDirectory(folder)) == 1


# -- damage ---------------------------------------------------------------------------------------


def test_a_changed_chunk_is_a_problem_and_the_rest_is_checked(copy: Path, golden: Golden) -> None:
    path = _log(copy, 52)
    data = bytearray(path.read_bytes())
    data[1500] ^= 1
    path.write_bytes(data)
    found = [each for each in verify(copy) if not each.note]
    assert {str(each.path) for each in found} == {str(path)}
    golden(str(found[0]))
    with pytest.raises(ReadFailed, match="it was changed after it was encrypted"):
        kodec.read_table(copy)
    with pytest.raises(ReadFailed):
        list(kodec.read_records(path, on_error="skip"))


def test_a_missing_object_with_indexes_is_a_problem(copy: Path, golden: Golden) -> None:
    path = _log(copy, 52).with_suffix(".indexes")
    path.unlink()
    found = [each for each in verify(copy) if not each.note]
    assert found
    assert {str(each.path) for each in found} == {str(path)}
    golden(str(found[0]))


def test_a_segment_without_its_manifest_was_not_copied_whole(copy: Path) -> None:
    DEFAULT.notes.take()
    log = _log(copy, 136)
    log.with_suffix(".rsm-manifest").unlink()
    assert kodec.LogDirectory(copy).partition("tiered", 0).end_offset == 136
    told = [each for each in DEFAULT.notes.take() if "for lack of a manifest" in each]
    assert [each.rpartition(": ")[2] for each in told] == [log.name]
    for number in range(12):
        shutil.copy(log, log.with_name(f"{number:020d}-{'x' * 22}.log"))
    assert kodec.LogDirectory(copy).partition("tiered", 0).end_offset == 136
    assert next(each for each in DEFAULT.notes.take() if "lack" in each).endswith(" and 3 more")


def test_an_unknown_version_is_an_error(copy: Path) -> None:
    path = _log(copy, 84).with_suffix(".rsm-manifest")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": "7"}))
    with pytest.raises(Unsupported, match=r"need 1, have 7.*rsm-manifest"):
        kodec.read_table(copy)


def test_without_a_key_nothing_is_read(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KODEC_TIER_KEY")
    with pytest.raises(Unsupported, match=r"give the private key.*need the private key 'key1', have none"):
        kodec.read_table(copy)
    with pytest.raises(Unsupported, match="give the private key"):
        list(verify(copy))


def test_a_view_is_only_read(copy: Path) -> None:
    view = Remote.at(copy).path
    with pytest.raises(PermissionError, match="only read"):
        view.files.create(view / "tiered-0" / "x", b"")
    with pytest.raises(PermissionError, match="only read"):
        view.files.remove(view / "tiered-0" / "x")
    with pytest.raises(FileNotFoundError):
        (view / "other-0" / "x").stat()
    with pytest.raises(FileNotFoundError):
        list((view / "other-0").iterdir())


# -- commands -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["ls", "--json"],
        ["verify"],
        ["find", "--topic", "tiered", "--last", "3"],
        ["inventory"],
        ["producers"],
        ["epochs"],
        ["dump", "--json"],
    ],
    ids=lambda words: words[0],
)
def test_commands(words: list[str], capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    verb, *options = words
    printed = []
    for folder in FOLDERS.values():
        assert main([verb, str(folder), *options, "--tier-key", str(KEY)]) == 0
        told = capsys.readouterr()
        golden(told.err)
        printed.append(told.out.replace(str(folder), "TIER").replace("objects", "manifests"))
    assert "tiered" in printed[0] or verb in ("verify", "dump")
    assert len(set(printed)) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["convert", "--topic", "tiered", "--compression", "zstd", "--apply"],
        ["salvage", "--apply"],
        ["export", "--topic", "tiered", "--format", "jsonl"],
    ],
    ids=lambda words: words[0],
)
def test_commands_that_write(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verb, *options = words
    found = []
    for name, folder in FOLDERS.items():
        out = tmp_path / name
        assert main([verb, str(folder), "--to", str(out), *options, "--tier-key", str(KEY)]) == 0
        capsys.readouterr()
        files = {each.relative_to(out): each for each in out.rglob("*") if each.is_file()}
        logs = [each.read_bytes() for each in files.values() if each.suffix == ".log"]
        rows = [each.read_text() for each in files.values() if each.suffix == ".jsonl"]
        assert logs or rows
        found.append((sorted(logs), sorted(rows)))
    assert all(each == found[0] for each in found)


def test_bytes_of_a_segment_are_explained_as_they_were(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for folder in FOLDERS.values():
        (log,) = folder.rglob(f"{52:020}-*.log")
        assert main(["explain", str(log), "--limit", "2", "--tier-key", str(KEY)]) == 0
        printed.append(capsys.readouterr().out)
    assert "records[0].body.value" in printed[0]
    assert len(set(printed)) == 1


def test_what_is_beside_a_segment_is_not_dumped_alone(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ("rsm-manifest", "indexes"):
        path = min(FOLDERS["plain"].rglob(f"*.{kind}"))
        assert main(["dump", str(path)]) == 1
        assert f"{path}: belongs to a segment in remote storage; name its .log" in capsys.readouterr().err


def test_a_command_for_the_key(capsys: pytest.CaptureFixture[str]) -> None:
    command = f"{sys.executable} -c \"print(open('{KEY}').read())\""
    assert main(["dump", str(_log(FOLDERS["aes"], 136)), "--tier-key-command", command]) == 0
    assert "batch 136..149" in capsys.readouterr().out


def test_the_key_of_a_command_line_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KODEC_TIER_KEY", raising=False)
    assert main(["ls", str(FOLDERS["aes"]), "--tier-key", str(KEY)]) == 0
    with pytest.raises(KodecError, match="give the private key"):
        kodec.read_table(FOLDERS["aes"])
