"""What cannot be read or is missing, at every verb that repairs or rewrites logs, as a user sees it."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kodec.cli.main import main
from kodec.runtime.crc import crc32c
from tests.golden import Golden
from tests.log import made
from tests.log.made import batch

ROWS = [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]


def whole(root: Path) -> Path:
    """Segments 0, 4, 8 and 12 of two batches, an active one, and a second topic-partition."""
    bases = (0, 4, 8, 12)
    segments = [(at, [batch(at, ROWS), batch(at + 3, [(b"a", b"9")])]) for at in bases]
    made.make(root / "t-0", [*segments, (16, [batch(16, [(b"z", b"1")])])])
    made.make(root / "v-0", [(0, [batch(0, [(b"q", b"1")])])])
    return root


def middle(root: Path) -> Path:
    return root / "t-0" / f"{4:020d}.log"


def in_its_place(make: Callable[[Path], object]) -> Callable[[Path], Path]:
    def replace(root: Path) -> Path:
        middle(root).unlink()
        make(middle(root))
        return middle(root)

    return replace


def changed(change: Callable[[bytes], bytes]) -> Callable[[Path], Path]:
    def write(root: Path) -> Path:
        middle(root).write_bytes(change(middle(root).read_bytes()))
        return middle(root)

    return write


def lost(root: Path) -> Path:
    for path in (root / "t-0").glob(f"{4:020d}.*"):
        path.unlink()
    return Path("offsets 4 to 7")


def emptied(root: Path) -> Path:
    middle(root).write_bytes(b"")
    return Path("offsets 4 to 7")


def flipped(data: bytes) -> bytes:
    return data[:80] + bytes([data[80] ^ 1]) + data[81:]


def broken(data: bytes) -> bytes:
    """The length of a record is wrong, the checksum of the batch is right."""
    body = bytearray(data)
    body[61] = 0x05
    size = 12 + int.from_bytes(body[8:12], "big")
    body[17:21] = crc32c(bytes(body[21:size])).to_bytes(4, "big")
    return bytes(body)


def below_a_checkpoint(root: Path) -> Path:
    (root / "replication-offset-checkpoint").write_text("0\n1\nt 0 40\n")
    return Path("offsets 17 to 39")


def strange_name(root: Path) -> Path:
    return made.make(root / "t-00", [(0, [batch(0, ROWS)])])


def folder(make: Callable[[Path], object]) -> Callable[[Path], Path]:
    def add(root: Path) -> Path:
        make(root / "u-0")
        return root / "u-0"

    return add


ALL = {"salvage", "diff", "recover", "reindex", "trim", "compact", "redact", "convert", "dump"}
OF_FOLDERS = ALL - {"trim", "compact", "convert"}
"""The others are asked for one topic, and do not come to another."""
OBSTACLES: dict[str, tuple[Callable[[Path], Path], set[str]]] = {
    "a folder is a dangling link": (folder(lambda at: at.symlink_to(at.parent / "none")), OF_FOLDERS),
    "a folder is a loop": (folder(lambda at: at.symlink_to(at)), OF_FOLDERS),
    "a folder is a file": (folder(lambda at: at.write_bytes(b"x")), OF_FOLDERS),
    "a log is a dangling link": (in_its_place(lambda at: at.symlink_to(at.parent / "none")), ALL),
    "a log is a loop": (in_its_place(lambda at: at.symlink_to(at)), ALL),
    "a log is a folder": (in_its_place(Path.mkdir), ALL),
    "a log is a pipe": (in_its_place(os.mkfifo), ALL),
    "a log is lost": (lost, ALL),
    "a log has 0 bytes": (emptied, ALL),
    "the log ends below a checkpoint": (below_a_checkpoint, ALL),
    "a strange name": (strange_name, ALL),
    # recovery cuts the log there, as a broker does, and shows it
    "a torn closed segment": (changed(lambda data: data[:-5]), ALL - {"recover"}),
    # these read no batch, or no record
    "damage": (
        changed(lambda data: data[:80] + bytes([data[80] ^ 1]) + data[81:]),
        ALL - {"recover", "trim"},
    ),
    "broken content": (changed(broken), ALL - {"recover", "reindex", "trim"}),
}
CASES = [(name, verb) for name, (_, verbs) in OBSTACLES.items() for verb in sorted(verbs)]


def words(verb: str, root: Path, other: Path) -> list[str]:
    out = str(root.parent / "out")
    return {
        "salvage": ["salvage", str(root), "--to", out],
        "diff": ["diff", str(root), str(other)],
        "recover": ["recover", str(root)],
        "reindex": ["reindex", str(root)],
        "trim": ["trim", str(root), "--topic", "t", "--retention-bytes", "1"],
        "compact": ["compact", str(root), "--topic", "t"],
        "redact": ["redact", str(root), "--key", "a"],
        "convert": ["convert", str(root), "--topic", "t", "--to", out, "--compression", "gzip"],
        "dump": ["dump", "--edit-format", str(root)],
    }[verb]


@pytest.mark.parametrize(("name", "verb"), CASES)
def test_it_is_said_and_the_exit_code_is_1(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, verb: str
) -> None:
    root, other = whole(tmp_path / "logs"), whole(tmp_path / "other")
    path = OBSTACLES[name][0](root)
    assert main(words(verb, root, other)) == 1
    out, err = capfd.readouterr()
    # the differences of replicas are what diff prints
    assert str(path) in err or (verb == "diff" and (path.name in out or "missing" in out)), (out, err)
    if path.parent.name == "t-0" or "offsets" in str(path):
        assert ", 0 B missing" not in out.split("v-0")[0]
    assert "no record matches" not in err


@pytest.mark.parametrize("verb", sorted(ALL - {"dump"}))
def test_it_is_in_the_json(tmp_path: Path, capfd: pytest.CaptureFixture[str], verb: str) -> None:
    root, other = whole(tmp_path / "logs"), whole(tmp_path / "other")
    path = strange_name(root)
    assert main([*words(verb, root, other), "--json"]) == 1
    last = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert [each["path"] for each in last["leftOut"]] == [str(path)]


@pytest.mark.parametrize("verb", sorted(ALL))
def test_nothing_is_said_of_a_whole_log(tmp_path: Path, capfd: pytest.CaptureFixture[str], verb: str) -> None:
    root, other = whole(tmp_path / "logs"), whole(tmp_path / "other")
    assert main(words(verb, root, other)) == (0 if verb in ("dump", "diff") else 3)
    assert "left out" not in capfd.readouterr().err


def test_replicas_that_are_not_in_use_are_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = whole(tmp_path / "logs")
    stray = made.make(root / f"t-1.{'0' * 32}-stray", [(0, [batch(0, [(b"b", b"1")])])])
    for verb, code in (
        ("salvage", 3),
        ("trim", 3),
        ("compact", 3),
        ("convert", 3),
        ("dump", 0),
        ("redact", 1),
    ):
        assert main(words(verb, root, root)) == code
        assert str(stray) in capfd.readouterr().err


# -- load -----------------------------------------------------------------------------------------------


def test_a_dump_that_fails_is_not_loaded(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Between two logs, too, where no line is cut off: without pipefail only the second code is seen."""
    root = whole(tmp_path / "logs")
    (root / "w-0").symlink_to(root / "w-0")
    assert main(["dump", "--edit-format", str(root)]) == 1
    lines = tmp_path / "lines"
    lines.write_text(capfd.readouterr().out)
    assert main(["load", str(lines), "--to", str(tmp_path / "new"), "--apply"]) == 1
    assert "no line of type eof" in capfd.readouterr().err
    assert not (tmp_path / "new").exists()


def test_offsets_that_the_source_has_lost_are_said_by_load(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], golden: Golden
) -> None:
    root = whole(tmp_path / "logs")
    lost(root)
    assert main(["dump", "--edit-format", str(root)]) == 1
    lines = tmp_path / "lines"
    lines.write_text(capfd.readouterr().out)
    assert main(["load", str(lines), "--to", str(tmp_path / "new"), "--apply", "--json"]) == 1
    out, err = capfd.readouterr()
    golden(err)
    assert json.loads(out.splitlines()[-1])["leftOut"][0]["firstOffset"] == 4
    assert (tmp_path / "new" / "t-0").is_dir()


# -- redact ---------------------------------------------------------------------------------------------


def test_a_dry_run_has_the_code_of_the_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], golden: Golden
) -> None:
    root = whole(tmp_path / "logs")
    command = ["redact", str(root), "--key", "z"]
    for options in ([], ["--apply"]):
        assert main([*command, *options]) == 1
        golden(capfd.readouterr().out)
    assert main([*command, "--roll"]) == 3
    assert main([*command, "--roll", "--apply"]) == 0
    golden(capfd.readouterr().out)
    assert main(command) == 0
    assert "no record matches" in capfd.readouterr().err


SCHEMA = json.dumps({"type": "record", "name": "R", "fields": [{"name": "v", "type": "long"}]})


def schemas(root: Path) -> Path:
    key = json.dumps({"keytype": "SCHEMA", "subject": "t-value", "version": 1, "magic": 1})
    value = json.dumps({"subject": "t-value", "version": 1, "id": 1, "schema": SCHEMA, "deleted": False})
    return made.make(root / "_schemas-0", [(0, [batch(0, [(key.encode(), value.encode())])])])


def test_a_condition_that_cannot_be_decided(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], golden: Golden
) -> None:
    """Without its schema a value is not known to match, nor known not to."""
    root = tmp_path / "logs"
    rows = [(b"a", b"\0\0\0\0\1\x02"), (b"b", b"\0\0\0\0\1\x04")]
    made.make(root / "t-0", [(0, [batch(0, rows)]), (2, [])])
    folder = schemas(root)
    command = ["redact", str(root), "--topic", "t", "--where", "value.v == 2"]
    assert main(command) == 3
    golden(capfd.readouterr().out)
    log = folder / f"{0:020d}.log"
    whole_log = log.read_bytes()
    for spoil in (lambda: log.write_bytes(whole_log[:-20]), lambda: log.write_bytes(b""), log.unlink):
        spoil()
        assert main(command) == 1
        err = capfd.readouterr().err
        golden(err)
        assert "no record matches" not in err
    assert main([*command, "--value-format", "hex"]) == 0


# -- recover --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [b"-----BEGIN PGP MESSAGE-----\n" * 40, bytes(range(7, 207)) * 3, gzip.compress(bytes(9999))],
    ids=["text", "encrypted", "gzip"],
)
def test_what_is_no_log_is_not_cut_to_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], data: bytes
) -> None:
    log = made.make(tmp_path / "logs" / "t-0", [(0, [])]) / f"{0:020d}.log"
    log.write_bytes(data)
    for options in ([], ["--apply"]):
        assert main(["recover", str(tmp_path / "logs"), *options]) == 1
        err = capfd.readouterr().err
        assert "refused" in err and ("gzip file" in err or data[:8].hex(" ") in err)
        assert log.read_bytes() == data
    if data[:2] != b"\x1f\x8b":
        assert main(["recover", str(tmp_path / "logs"), "--allow-empty", "--apply"]) == 0
        assert log.read_bytes() == b""


@pytest.mark.parametrize("size", [1, 16, 17, 40, 61, 70])
def test_a_torn_first_batch_is_cut(tmp_path: Path, size: int) -> None:
    log = made.make(tmp_path / "logs" / "t-0", [(0, [])]) / f"{0:020d}.log"
    log.write_bytes(batch(0, ROWS)[:size])
    assert main(["recover", str(tmp_path / "logs"), "--apply"]) == 0
    assert log.read_bytes() == b""
