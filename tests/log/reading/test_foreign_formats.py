"""A log that another system has written is reported as that; nothing is truncated, or read out of it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.reading.foreign import is_foreign
from tests.log import wire
from tests.log.foreign import AUTOMQ_END, FOREIGN
from tests.systems import changes_logs

NAME = f"{0:020d}.log"


@pytest.fixture(params=FOREIGN, ids=list(FOREIGN))
def log(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """The log of a topic-partition that is none of Kafka's, and what it is."""
    data, what = FOREIGN[request.param]
    folder = tmp_path / "logs/orders-0"
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(data)
    return folder / NAME, what


def test_readers_say_what_it_is(log: tuple[Path, str]) -> None:
    path, what = log
    for source in (path, path.read_bytes()):
        for read in (kodec.read_records, kodec.read_batches, kodec.read_table):
            with pytest.raises(kodec.errors.Unsupported, match=f"not Kafka's format.*have {what}") as raised:
                list(read(source))  # type: ignore[operator]
            assert is_foreign(raised.value)
            assert (str(path) in str(raised.value)) == (source is path)
    if what != "an object of AutoMQ" or path.read_bytes()[0] == 0x5A:
        # of a stream the end is not looked at
        with pytest.raises(kodec.errors.Unsupported, match=what):
            list(kodec.read_records(io.BytesIO(path.read_bytes())))


def test_nothing_is_read_out_of_it(log: tuple[Path, str]) -> None:
    """An object of AutoMQ holds batches of Kafka's, of several logs."""
    path, _ = log
    reader = kodec.read_batches(path, on_error="skip")
    assert list(reader) == []
    (skipped,) = reader.skipped
    assert (skipped.start, skipped.end) == (0, path.stat().st_size) and is_foreign(skipped.error)
    assert reader.torn_tail is None
    assert kodec.read_table(path, on_error="skip").num_rows == 0


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("dump", ["LOG"]),
        ("dump", ["--on-error", "skip", "LOG"]),
        ("dump", ["--batches", "--no-crc", "LOG"]),
        ("ls", ["LOGS"]),
        ("ls", ["--crc", "LOGS"]),
        ("verify", ["LOGS"]),
        ("verify", ["LOG"]),
        ("inventory", ["LOGS"]),
        ("recover", ["LOGS"]),
        ("recover", ["LOGS", "--apply"]),
        ("recover", ["--from-start", "--apply", "LOGS"]),
        ("reindex", ["LOGS", "--apply"]),
        ("salvage", ["LOGS", "--topic", "orders", "--to", "OUT"]),
        pytest.param("salvage", ["LOGS", "--topic", "orders", "--to", "OUT", "--apply"], marks=changes_logs),
        pytest.param(
            "convert",
            ["LOGS", "--topic", "orders", "--to", "OUT", "--magic", "1", "--apply"],
            marks=changes_logs,
        ),
        ("compact", ["LOGS", "--topic", "orders", "--apply"]),
        ("trim", ["LOGS", "--topic", "orders", "--retention-ms", "1", "--apply"]),
        ("find", ["LOGS", "--topic", "orders", "--partition", "0", "--offset", "0"]),
        ("export", ["LOGS", "--to", "OUT", "--engine", "local"]),
        ("epochs", ["LOGS"]),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_every_verb_refuses_it(
    log: tuple[Path, str], verb: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path, what = log
    before = path.read_bytes()
    names = {"LOG": str(path), "LOGS": str(path.parent.parent), "OUT": str(path.parents[2] / "out")}
    assert main([verb, *(names.get(each, each) for each in arguments)]) == 1
    printed = capsys.readouterr()
    assert "not Kafka's format" in printed.out + printed.err and what in printed.out + printed.err
    assert "truncated" not in printed.out
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [NAME]


@changes_logs
def test_a_writer_does_not_go_on_in_it(log: tuple[Path, str]) -> None:
    path, what = log
    before = path.read_bytes()
    with pytest.raises(kodec.errors.Unsupported, match=what):
        kodec.LogWriter(path.parent)
    assert path.read_bytes() == before


@changes_logs
def test_salvage_keeps_the_other_segments(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / NAME).write_bytes(FOREIGN["gzip"][0])
    (folder / f"{3:020d}.log").write_bytes(wire.batch([wire.record()], base=3))
    report = kodec.repair.plan_salvage(folder, tmp_path / "out/orders-0").apply()
    assert report.batches == 1 and "not Kafka's format" in report.missing[0].reasons[0]


def test_a_good_log_is_not_asked(tmp_path: Path) -> None:
    """The last value ends as an object of AutoMQ does."""
    path = tmp_path / NAME
    data = wire.batch([wire.record(value=b"x" + AUTOMQ_END)])
    assert data[-9:-1] == AUTOMQ_END
    data = wire.message(0, value=b"x" + AUTOMQ_END)
    path.write_bytes(data)
    assert len(list(kodec.read_records(path))) == 1
    # a torn tail after a good batch is one, whatever its bytes
    path.write_bytes(data + AUTOMQ_END)
    reader = kodec.read_batches(path)
    assert len(list(reader)) == 1 and reader.torn_tail is not None
