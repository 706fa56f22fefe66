"""Files that are written keep whom they belong to, and nothing is written through a link."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

import kodec
from kodec.log.files import durable
from kodec.log.files.checkpoints import LeaderEpoch, write_leader_epochs
from kodec.log.files.durable import create_file, make_folder, replace_file
from kodec.log.writing.config import LogConfig
from kodec.log.writing.writer import LogWriter
from tests.log.faults import Faults

pytestmark = pytest.mark.quick

OTHER = (1234, 5678)
RECORDS = [kodec.Record(key=b"k", value=b"v", timestamp=1)]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def owner(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_uid, status.st_gid


def give(path: Path, to: tuple[int, int] = OTHER) -> None:
    for each in (path, *path.rglob("*")):
        os.chown(each, *to, follow_symlinks=False)


@pytest.fixture(autouse=True)
def usual_umask() -> object:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    path.touch()
    for wanted in (0o600, 0o640, 0o666, 0o444):
        path.chmod(wanted)
        write_leader_epochs(path, [LeaderEpoch(0, 0)])
        assert mode(path) == wanted
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_new_file_has_the_mode_of_those_beside_it(tmp_path: Path) -> None:
    replace_file(tmp_path / "first", b"")
    assert mode(tmp_path / "first") == 0o644
    os.umask(0o077)
    replace_file(tmp_path / "second", b"")
    assert mode(tmp_path / "second") == 0o644
    (tmp_path / f"{0:020d}.log").touch()
    (tmp_path / f"{0:020d}.log").chmod(0o440)
    replace_file(tmp_path / "third", b"")
    assert mode(tmp_path / "third") == 0o640
    (tmp_path / "empty").mkdir()
    os.close(create_file(tmp_path / "empty" / "a"))
    assert mode(tmp_path / "empty" / "a") == 0o600


def test_all_files_of_a_log_have_one_mode(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "t-0") as writer:
        writer.append(RECORDS)
    for each in (tmp_path / "t-0").iterdir():
        each.chmod(0o600)
    with LogWriter(tmp_path / "t-0", config=LogConfig(segment_bytes=100), leader_epoch=4) as writer:
        for _ in range(5):
            writer.append(RECORDS)
    assert len(list((tmp_path / "t-0").glob("*.log"))) == 6
    assert {mode(each) for each in (tmp_path / "t-0").iterdir()} == {0o600}


@as_root
def test_as_root_files_belong_to_whom_they_did(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    with kodec.LogDirectoryWriter(root, cluster_id="c", node_id=1) as directory:
        for number in range(3):
            directory.partition("t", number).append(RECORDS)
    (root / ".lock").unlink()
    give(root)
    config = LogConfig(segment_bytes=100)
    with kodec.LogDirectoryWriter(root, config=config) as directory:
        for number in range(4):
            log = directory.partition("t", number, leader_epoch=7)
            for _ in range(4):
                log.append(RECORDS)
    kodec.operations.plan_compaction(root / "t-0").apply()
    kodec.operations.plan_trim(root / "t-1", before_offset=3).apply()
    (root / "t-2" / f"{4:020d}.index").write_bytes(b"nonsense")
    give(root / "t-2")
    kodec.repair.plan_reindex(root / "t-2").apply()
    assert {owner(each) for each in (root, *root.rglob("*"))} == {OTHER}
    assert (root / ".lock").exists() and (root / "t-3").is_dir()


@as_root
def test_as_root_a_log_alone_belongs_to_the_owner_of_the_folder(tmp_path: Path) -> None:
    give(tmp_path)
    with LogWriter(tmp_path / "t-0") as writer:
        writer.append(RECORDS)
    assert {owner(each) for each in tmp_path.rglob("*")} == {OTHER}


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir(mode=0o700)
    make_folder(tmp_path / "t-0")
    assert mode(tmp_path / "t-0") == 0o700
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "file")


def test_a_new_folder_or_file_is_made_though_it_cannot_be_given_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a folder belongs to a broker's user and a group of which this user is none."""
    real = os.fstat

    def of_another(fd: int) -> os.stat_result:
        found = list(real(fd))
        found[4] += 1
        return os.stat_result(found)

    def refused(fd: int, uid: int, gid: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "fstat", of_another)
    monkeypatch.setattr(os, "fchown", refused)
    make_folder(tmp_path / "t-0")
    os.close(create_file(tmp_path / "t-0" / "file"))
    assert [each.name for each in tmp_path.rglob("*")] == ["t-0", "file"]


def test_a_file_whose_owner_cannot_be_kept_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    real = Path.lstat

    def of_another(self: Path) -> os.stat_result:
        found = list(real(self))
        found[4] += 1
        return os.stat_result(found)

    def refused(fd: int, uid: int, gid: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "lstat", of_another)
    monkeypatch.setattr(os, "fchown", refused)
    with pytest.raises(PermissionError, match="cannot give it the old file's owner"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    # A new one is made all the same: it cannot do worse than not to be there.
    replace_file(tmp_path / "new", b"new")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "new"]


def test_no_link_is_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    folder = tmp_path / "logs" / "t-0"
    folder.mkdir(parents=True)
    for name in ("leader-epoch-checkpoint", "leader-epoch-checkpoint.tmp"):
        (folder / name).symlink_to(victim)
    write_leader_epochs(folder / "leader-epoch-checkpoint", [])
    assert victim.read_bytes() == b"precious"
    assert [each.name for each in folder.iterdir()] == ["leader-epoch-checkpoint"]
    assert not (folder / "leader-epoch-checkpoint").is_symlink()


@pytest.mark.parametrize("kind", ["log", "index", "timeindex", "txnindex", "index.tmp", "snapshot"])
def test_a_writer_follows_no_link_of_a_name_that_it_makes(kind: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    with LogWriter(tmp_path / "t-0", config=LogConfig(index_interval_bytes=0)) as writer:
        writer.append(RECORDS)
        writer.append(RECORDS)
        (tmp_path / "t-0" / f"{2:020d}.{kind}").symlink_to(victim)
        writer.roll()
        writer.append(RECORDS)
    assert victim.read_bytes() == b"precious"
    assert not (tmp_path / "t-0" / f"{2:020d}.log").is_symlink()


def test_a_writer_opens_no_segment_that_is_a_link(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "t-0") as writer:
        writer.append(RECORDS)
    log = tmp_path / "t-0" / f"{0:020d}.log"
    log.rename(tmp_path / "elsewhere")
    log.symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").read_bytes()
    with pytest.raises(OSError, match="symbolic link"):
        LogWriter(tmp_path / "t-0")
    assert (tmp_path / "elsewhere").read_bytes() == before


@pytest.mark.parametrize("name", ["open", "pwrite", "fsync", "replace", "fchmod"])
def test_what_fails_leaves_the_old_file_alone(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with Faults(0, calls=(name,)) as faults, pytest.raises(OSError, match="Input/output"):
        replace_file(path, b"new contents")
    assert faults.failed is not None
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_short_write_goes_on(tmp_path: Path) -> None:
    with Faults(0, calls=("pwrite",), short=True) as faults:
        replace_file(tmp_path / "file", b"new contents")
    assert len(faults.made) == 2
    assert (tmp_path / "file").read_bytes() == b"new contents"


def test_only_folders_that_were_made_are_made_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those further up may be no one's business here, and closed to us."""
    synced: list[Path] = []
    monkeypatch.setattr(durable, "sync_folder", synced.append)
    durable.make_root(tmp_path / "a" / "b")
    # The last one again: who made it may have died before its name was durable.
    assert synced == [tmp_path, tmp_path / "a", tmp_path / "a"]
