"""What a log directory has and a reader does not give: verbs and functions x obstacles, as a user sees it.

Each obstacle is put into `orders-0`, which has offsets 0 to 49 in five segments; `orders-1` is like it.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.omissions import Cause, Omissions
from kodec.runtime.checksums import crc32c
from kodec.runtime.errors import KodecError
from tests.data import DATA
from tests.golden import Golden
from tests.log.gaps import batch, checkpoint, dense, log

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes with names")

ID = "a" * 32


class Obstacle(NamedTuple):
    """What is done to the log directory, and what of it is lost.

    `rows` are those that can be read of 100 with everything skipped; `headers`: whether headers show it.
    """

    name: str
    make: Callable[[Path], object]
    causes: set[Cause]
    rows: int = 100
    headers: bool = True
    # what a verb that shows files, and no records, says
    named: str = "orders-0"


def _in_place_of_folder(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def put(root: Path) -> None:
        shutil.rmtree(root / "orders-0")
        make(root / "orders-0")

    return put


def _in_place_of_log(base: int, make: Callable[[Path], object]) -> Callable[[Path], object]:
    def put(root: Path) -> None:
        path = log(root / "orders-0", base)
        path.unlink()
        make(path)

    return put


def _dangling(path: Path) -> None:
    path.symlink_to(path.parent / "nothing")


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _file(path: Path) -> None:
    path.write_bytes(b"")


def _changed(base: int, change: Callable[[bytearray], bytes | bytearray]) -> Callable[[Path], object]:
    def put(root: Path) -> None:
        path = log(root / "orders-0", base)
        path.write_bytes(change(bytearray(path.read_bytes())))

    return put


def _with(at: int, value: int, *, right_crc: bool = False) -> Callable[[bytearray], bytearray]:
    """A byte of the first batch changed, of which the checksum may be right."""
    size = len(batch(range(20, 25)))

    def change(data: bytearray) -> bytearray:
        data[at] = value
        if right_crc:
            data[17:21] = struct.pack(">I", crc32c(bytes(data[21:size])))
        return data

    return change


def _copy(name: str) -> Callable[[Path], object]:
    return lambda root: shutil.copytree(root / "orders-1", root / name)


def _all_gone(root: Path) -> None:
    for path in (root / "orders-0").iterdir():
        path.unlink()


UNREACHABLE, MISSING, DAMAGED = {Cause.UNREACHABLE}, {Cause.MISSING}, {Cause.DAMAGED}
TORN = batch(range(50, 55))[:-9]
OBSTACLES = [
    Obstacle("nothing", lambda root: None, set()),
    Obstacle("a dangling link for a folder", _in_place_of_folder(_dangling), UNREACHABLE, 50),
    Obstacle("a loop for a folder", _in_place_of_folder(_loop), UNREACHABLE, 50),
    Obstacle("a file for a folder", _in_place_of_folder(_file), UNREACHABLE, 50),
    Obstacle("a dangling link for a log", _in_place_of_log(20, _dangling), UNREACHABLE, 90),
    Obstacle("a loop for a log", _in_place_of_log(20, _loop), UNREACHABLE, 90),
    Obstacle("a folder for a log", _in_place_of_log(20, Path.mkdir), UNREACHABLE, 90),
    Obstacle("a pipe for a log", _in_place_of_log(20, os.mkfifo), UNREACHABLE, 90),
    Obstacle("a dangling link for the last log", _in_place_of_log(40, _dangling), UNREACHABLE, 90),
    Obstacle("a middle segment missing", lambda root: log(root / "orders-0", 20).unlink(), MISSING, 90),
    Obstacle("a middle segment of 0 bytes", _in_place_of_log(20, _file), MISSING, 90),
    Obstacle("a torn closed segment", _changed(20, lambda data: data[:-7]), {*MISSING, *DAMAGED}, 95),
    Obstacle("a torn active segment", _changed(40, lambda data: data + TORN), {Cause.UNFINISHED}),
    Obstacle("an end below the checkpoints", lambda root: log(root / "orders-0", 40).unlink(), MISSING, 90),
    Obstacle("an empty folder", _all_gone, MISSING, 50),
    Obstacle("a wrong checksum", _changed(20, _with(70, 1)), DAMAGED, 95, headers=False),
    Obstacle("broken content", _changed(20, _with(61, 127, right_crc=True)), DAMAGED, 95, headers=False),
    Obstacle("an unknown magic", _changed(20, _with(16, 5)), {Cause.UNKNOWN}, 95),
    Obstacle("an unknown codec", _changed(20, _with(22, 6, right_crc=True)), {Cause.UNKNOWN}, 95),
    *(
        Obstacle(f"a replica that is {kind}", _copy(f"orders-2.{ID}-{kind}"), {Cause.ABSENT}, named=kind)
        for kind in ("stray", "delete", "future")
    ),
    *(
        Obstacle(f"a folder {name!r} with segments", _copy(name), {Cause.UNKNOWN}, named="5 segments")
        for name in ("orders-", "orders-00", "orders\n-0", os.fsdecode(b"orders\xff-0"))
    ),
    Obstacle(
        "a torn checkpoint of ends",
        lambda root: (root / "recovery-point-offset-checkpoint").write_text("0\n5\norders 0"),
        DAMAGED,
        named="recovery-point-offset-checkpoint",
    ),
    Obstacle(
        "a torn checkpoint of starts",
        lambda root: (root / "log-start-offset-checkpoint").write_text("0\n5\norders 0"),
        DAMAGED,
        named="log-start-offset-checkpoint",
    ),
]
NAMES = {each.name: each for each in OBSTACLES}


def made(root: Path, obstacle: Obstacle) -> Path:
    root.mkdir()
    for number in (0, 1):
        dense(root / f"orders-{number}")
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        checkpoint(root / "orders-0", name, ("orders 0", 50), ("orders 1", 50))
    obstacle.make(root)
    return root


def lost(causes: set[Cause]) -> bool:
    return any(each.is_loss for each in causes)


VERBS = (
    ["ls"],
    ["ls", "--json"],
    ["inventory"],
    ["find"],
    ["find", "--json"],
    ["find", "--count"],
    ["find", "--first", "100"],
    ["find", "--last", "100"],
    ["find", "--since", "2000-01-01"],
    ["dump"],
    ["dump", "--json", "--on-error", "skip"],
    ["verify"],
)
# what reads headers alone
OF_HEADERS = ("ls", "inventory", "find --count")


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
@pytest.mark.parametrize(
    "obstacle", OBSTACLES, ids=lambda each: each.name.encode("ascii", "replace").decode()
)
def test_a_verb_says_it(
    tmp_path: Path, obstacle: Obstacle, verb: Sequence[str], capfd: pytest.CaptureFixture[str], golden: Golden
) -> None:
    root = made(tmp_path / "logs", obstacle)
    code = main([*verb, str(root)])
    out, err = capfd.readouterr()
    name = " ".join(verb)
    unseen = not obstacle.headers and name.startswith(OF_HEADERS)
    # `dump` prints files, whatever their folders are; a checkpoint of starts does not matter to it
    dumped = verb[0] == "dump" and obstacle.name.startswith(("a replica", "a folder 'o"))
    torn_tail = verb[0] == "verify" and obstacle.causes == {Cause.UNFINISHED}
    assert code == int((lost(obstacle.causes) and not unseen and not dumped) or torn_tail)
    if obstacle.causes and not unseen and not dumped:
        assert obstacle.named in out if verb[0] == "verify" else obstacle.named in err
    if "--json" in verb and verb[0] != "ls" and obstacle.causes and not dumped:
        left_out = json.loads(out.splitlines()[-1])["leftOut"]
        assert {each["cause"] for each in left_out} <= {each.value for each in obstacle.causes}
    if name == "find --count":
        # a number is printed only where it is true, as far as headers show
        assert out == ("" if lost(obstacle.causes) and not unseen else "100\n")
        golden(err)


READERS: dict[str, Callable[..., int]] = {
    "read_records": lambda root, mode, account: _counted(kodec.read_records(root, on_error=mode), account),
    "read_table": lambda root, mode, account: (
        kodec.read_table(root, on_error=mode, omissions=account).num_rows
    ),
    "scan_table": lambda root, mode, account: _rows(kodec.scan_table(root, on_error=mode), account),
    "scan_table in one thread": lambda root, mode, account: _rows(
        kodec.scan_table(root, on_error=mode, threads=1), account
    ),
    "count_rows": lambda root, mode, account: kodec.count_rows(root, on_error=mode, omissions=account),
    "log_dataset": lambda root, mode, account: _of_dataset(root, mode, account),
    "scan_polars": lambda root, mode, account: (
        kodec.scan_polars(root, on_error=mode, omissions=account).collect().height
    ),
}


def _counted(reader: kodec.RecordReader, account: Omissions) -> int:
    number = sum(1 for _ in reader)
    account.extend(reader.omissions)
    return number


def _rows(reader: kodec.TableReader, account: Omissions) -> int:
    number = reader.read_all().num_rows
    account.extend(reader.omissions)
    return number


def _of_dataset(root: Path, mode: str, account: Omissions) -> int:
    dataset = kodec.log_dataset(root, on_error=mode)  # type: ignore[arg-type]
    number = dataset.to_table().num_rows
    account.extend(dataset.omissions)
    return number


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "obstacle", OBSTACLES, ids=lambda each: each.name.encode("ascii", "replace").decode()
)
def test_a_reader_raises_or_has_it_in_its_account(tmp_path: Path, obstacle: Obstacle, reader: str) -> None:
    if reader == "scan_polars":
        pytest.importorskip("polars")
    root = made(tmp_path / "logs", obstacle)
    read = READERS[reader]
    unseen = reader == "count_rows" and not obstacle.headers
    causes = set() if unseen else obstacle.causes
    rows = 100 if unseen else obstacle.rows
    for mode, skipped in (
        ("raise", set()),
        ("skip", {Cause.DAMAGED, Cause.UNKNOWN, Cause.MISSING}),
        ("skip-unreachable", set(Cause)),
    ):
        account = Omissions()
        if lost(causes - skipped):
            with pytest.raises((KodecError, OSError)):
                read(root, mode, account)
            continue
        assert read(root, mode, account) == rows
        assert {each.cause for each in account} == causes
        assert account.is_whole == (not lost(causes))


@pytest.mark.parametrize("ask", ["records", "find_records", "count_records"])
@pytest.mark.parametrize(
    "name",
    [each.name for each in OBSTACLES if each.named == "orders-0" and each.headers and lost(each.causes)],
)
def test_a_partition_raises(tmp_path: Path, name: str, ask: str) -> None:
    root = made(tmp_path / "logs", NAMES[name])
    wanted = kodec.RecordFilter()
    with pytest.raises((KodecError, OSError)):
        partition = kodec.PartitionLog(root / "orders-0")
        if ask == "records":
            list(partition.records())
        elif ask == "find_records":
            list(partition.find_records(wanted))
        else:
            partition.count_records(wanted)


@pytest.mark.parametrize("offsets", [(20, 29), (22, 25), (15, 24), (25, 35)])
@pytest.mark.parametrize("mode", ["raise", "skip"])
def test_selected_offsets_that_are_missing(tmp_path: Path, offsets: tuple[int, int], mode: str) -> None:
    root = made(tmp_path / "logs", NAMES["a middle segment missing"])
    for read in (kodec.read_table, kodec.count_rows):
        account = Omissions()
        if mode == "raise":
            with pytest.raises(kodec.errors.OffsetsMissing):
                read(root / "orders-0", offsets=offsets)
        else:
            read(root / "orders-0", offsets=offsets, on_error="skip", omissions=account)  # type: ignore[call-arg]
            assert [(each.cause, each.last_offset) for each in account] == [(Cause.MISSING, 29)]


@pytest.mark.parametrize("offsets", [(0, 19), (30, None), (40, 45)])
def test_offsets_that_are_not_selected_are_not_missed(
    tmp_path: Path, offsets: tuple[int, int | None]
) -> None:
    root = made(tmp_path / "logs", NAMES["a middle segment missing"])
    account = Omissions()
    assert kodec.read_table(root / "orders-0", offsets=offsets, omissions=account).num_rows
    assert kodec.count_rows(root / "orders-0", offsets=offsets, omissions=account)
    assert not len(account)


def test_topics_that_are_not_selected_are_not_missed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root = made(tmp_path / "logs", NAMES["a folder 'orders-00' with segments"])
    shutil.copytree(root / "orders-1", root / "other-0")
    assert kodec.read_table(root, topics="other").num_rows == 50
    assert main(["find", str(root), "--topic", "other", "--count"]) == 0
    assert capfd.readouterr().out == "50\n"


def test_a_folder_of_log_directories_of_which_one_cannot_be_read(tmp_path: Path) -> None:
    made(tmp_path / "all", NAMES["nothing"]).rename(tmp_path / "one")
    (tmp_path / "all").mkdir()
    (tmp_path / "one").rename(tmp_path / "all" / "one")
    (tmp_path / "all" / "two").symlink_to(tmp_path / "nothing")
    for mode in ("raise", "skip"):
        with pytest.raises(OSError, match="two"):
            kodec.read_table(tmp_path / "all", on_error=mode)  # type: ignore[arg-type]
    account = Omissions()
    table = kodec.read_table(tmp_path / "all", on_error="skip-unreachable", omissions=account)
    assert table.num_rows == 100
    assert [(each.cause, each.path.name) for each in account] == [(Cause.UNREACHABLE, "two")]


@pytest.mark.parametrize("options", [["--since", "2000-01-01"], ["--until", "2100-01-01"], ["--last", "5"]])
@pytest.mark.parametrize("how", [[], ["--count"]])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_records_without_a_time(
    tmp_path: Path,
    options: list[str],
    how: list[str],
    compression: str,
    capfd: pytest.CaptureFixture[str],
    golden: Golden,
) -> None:
    dense(tmp_path / "old-0", magic=0, compression=compression)
    dense(tmp_path / "new-0")
    code = main(["find", str(tmp_path), *options, *(how if "--last" not in options else [])])
    out, err = capfd.readouterr()
    if "--last" in options:
        assert code == 0
        return
    assert code == 1
    golden(err)
    assert out == "" if how else len(out.splitlines()) == 50


def test_a_link_to_a_folder_is_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = made(tmp_path / "logs", NAMES["nothing"])
    (root / "orders-0").rename(tmp_path / "orders-0")
    (root / "orders-0").symlink_to(tmp_path / "orders-0")
    assert main(["dump", "--json", str(root)]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 100
    assert kodec.count_rows(root) == 100


def test_explain_beyond_the_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = log(made(tmp_path / "logs", NAMES["nothing"]) / "orders-0", 0)
    size = path.stat().st_size
    assert main(["explain", str(path), "--at", str(size - 1)]) == 0
    assert main(["explain", str(path), "--at", str(size)]) == 2
    assert f"--at: byte {size} is beyond the end of {path}, which has {size} bytes" in capfd.readouterr().err


TIERED = DATA / "tiered-4.3.1"


def test_a_tiered_topic_without_its_tier(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], golden: Golden
) -> None:
    logs = TIERED / "logs"
    with pytest.raises(kodec.errors.OffsetsMissing) as raised:
        kodec.read_table(logs)
    assert (raised.value.first, raised.value.last) == (0, 167)
    account = Omissions()
    with pytest.raises(kodec.errors.OffsetsMissing):
        kodec.count_rows(logs, on_error="skip")
    assert kodec.count_rows(logs, on_error="skip-unreachable", omissions=account) == 7
    assert [(each.cause, each.first_offset, each.last_offset) for each in account] == [
        (Cause.UNREACHABLE, 0, 167)
    ]
    assert kodec.read_table(logs, offsets=(168, None)).num_rows == 7
    assert main(["find", str(logs), "--topic", "tiered"]) == 1
    out, err = capfd.readouterr()
    assert len(out.splitlines()) == 7
    golden(err)
    assert "give --tier" in err
    assert main(["find", str(logs), "--topic", "tiered", "--tier", str(TIERED / "tier"), "--count"]) == 0
    assert capfd.readouterr().out == "171\n"
    assert main(["find", str(logs), "--topic", "tiered", "--offset", "170", "--count"]) == 0
    assert main(["ls", str(logs)]) == 0
    assert main(["verify", str(logs)]) == 0
    golden(capfd.readouterr().out)


def test_a_start_offset_below_the_first_segment_is_of_a_tiered_topic(tmp_path: Path) -> None:
    root = made(tmp_path / "logs", NAMES["nothing"])
    for base in (0, 10):
        log(root / "orders-0", base).unlink()
    assert kodec.count_rows(root) == 80
    checkpoint(root / "orders-0", "log-start-offset-checkpoint", ("orders 0", 5))
    with pytest.raises(kodec.errors.OffsetsMissing) as raised:
        kodec.count_rows(root)
    assert (raised.value.first, raised.value.last) == (5, 19)
