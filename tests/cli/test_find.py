"""kodec find as a user calls it: what is printed, in which form, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.cli.main import main
from kodec.cli.times import parse_time
from tests.data import ROOT
from tests.golden import Golden
from tests.log import made, wire

DATA = ROOT / "tests/data/kafka-4.3.1"
LOGS = DATA / "logs"


def found(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> list[dict[str, Any]]:
    assert main(["find", str(LOGS), *arguments, "--json"]) == code
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_by_offset(capsys: pytest.CaptureFixture[str]) -> None:
    of_one = ("--topic", "orders", "--partition", "0")
    assert [row["offset"] for row in found(capsys, *of_one, "--offset", "198..200")] == [198, 199, 200]
    assert [row["offset"] for row in found(capsys, *of_one, "--offset", "419..")] == [419, 420]
    assert [row["offset"] for row in found(capsys, *of_one, "--offset", "..1")] == [0, 1]
    rows = found(capsys, "--topic", "orders", "--offset", "7")
    assert [(row["topic"], row["partition"], row["offset"]) for row in rows] == [
        ("orders", n, 7) for n in range(3)
    ]
    assert found(capsys, *of_one, "--offset", "421", code=1) == []


def test_by_time(capsys: pytest.CaptureFixture[str]) -> None:
    of_one = ("--topic", "orders", "--partition", "0", "--first", "1")
    for moment in ("1700000400000", "2023-11-14T22:20:00", "2023-11-14T23:20:00+01:00"):
        (row,) = found(capsys, *of_one, "--since", moment)
        assert (row["offset"], row["timestamp"]) == (94, 1700000400500)
    rows = found(capsys, "--topic", "orders", "--since", "2023-11-14T22:20:00Z", "--until", "1700000403500")
    assert sorted(row["timestamp"] for row in rows) == [1700000400500, 1700000402000]
    assert found(capsys, "--topic", "orders", "--since", "-1h", code=1) == []


def test_the_newest_of_a_topic(capsys: pytest.CaptureFixture[str]) -> None:
    rows = found(capsys, "--topic", "orders", "--last", "10")
    wanted = [
        json.loads(line)
        for line in (DATA / "consumed/orders.read_uncommitted.jsonl").read_text().splitlines()
    ]
    newest = sorted((row["timestamp"], row["partition"], row["offset"]) for row in wanted)[-10:]
    assert [(row["timestamp"], row["partition"], row["offset"]) for row in rows] == newest


def test_by_what_they_hold(capsys: pytest.CaptureFixture[str]) -> None:
    rows = found(capsys, "--key", "customer-9", "--where", "value.count > 4", "--header", "source=shop")
    assert rows
    for row in rows:
        assert (row["topic"], row["key"]) == ("orders", "customer-9") and row["value"]["count"] > 4
        assert {"key": "source", "value": "shop", "valueFormat": "text"} in row["headers"]
    rows = found(capsys, "--topic", "orders", "--value-contains", "Gen\u00e8ve")
    assert {row["value"]["city"] for row in rows} == {"Gen\u00e8ve"}
    assert (
        len(found(capsys, "--topic", "orders", "--key", b"customer-9".hex(), "--key-format", "hex"))
        > len(rows) / 10
    )


def test_only_what_is_committed(capsys: pytest.CaptureFixture[str]) -> None:
    of_one = ("--topic", "transactions", "--partition", "0")
    *committed, last = found(capsys, *of_one, "--isolation", "read_committed")
    assert [each["cause"] for each in last["leftOut"]] == ["unfinished"]
    lines = (DATA / "consumed/transactions.read_committed.jsonl").read_text("utf-8").splitlines()
    wanted = [row["offset"] for row in map(json.loads, lines) if row["partition"] == 0]
    assert [row["offset"] for row in committed] == wanted
    everything = found(capsys, *of_one)
    assert len(found(capsys, *of_one, "--control")) > len(everything) > len(committed)


def test_why_only_what_is_committed_ends_early(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    view = kodec.operations.read_producers(kodec.PartitionLog(LOGS / "transactions-0"))
    stable = view.last_stable_offset
    (producer,) = (each.producer_id for each in view.producers if each.transaction_offset == stable)
    why = (
        f"read_committed ends before offset {stable}, where an open transaction of producer {producer} begins"
    )
    of_one = ["--topic", "transactions", "--partition", "0", "--isolation", "read_committed"]
    for more in ([], ["--last", "1"], ["--count"]):
        assert main(["find", str(LOGS), *of_one, *more]) == 0
        assert why in capsys.readouterr().err
    assert main(["find", str(LOGS), *of_one, "--offset", "0..10"]) == 0
    assert "read_committed" not in capsys.readouterr().err
    folder = str(LOGS / "transactions-0")
    assert main(["export", folder, "--isolation", "read_committed", "--to", str(tmp_path / "x.parquet")]) == 0
    assert why in capsys.readouterr().err


def test_by_transactional_id(capsys: pytest.CaptureFixture[str]) -> None:
    counts = []
    for state in kodec.operations.read_transactions(LOGS).ids:
        main(["find", str(LOGS), "--transactional-id", state.transactional_id, "--count", "--control"])
        said = capsys.readouterr()
        assert str(state.producer_id) in said.err
        with kodec.LogDirectory(LOGS) as directory:
            heads = [head for log in directory for _, head in log.headers() if head.base_offset is not None]
        # the former producer ids of one that was fenced count too
        assert int(said.out) >= sum(
            each.count or 0 for each in heads if each.producer_id == state.producer_id
        )
        counts.append(int(said.out))
    assert max(counts) > 0
    assert main(["find", str(LOGS), "--transactional-id", "nobody"]) == 2
    assert "no producer of nobody" in capsys.readouterr().err


def test_only_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["find", str(LOGS), "--topic", "orders", "--count", "--stats"]) == 0
    said = capsys.readouterr()
    assert int(said.out) == len((DATA / "consumed/orders.read_uncommitted.jsonl").read_text().splitlines())
    assert "partitions 3" in said.err and "bytes read 0" in said.err


def test_csv_and_templates(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    of_two = ["find", str(LOGS / "orders-0"), "--offset", "199..200"]
    assert main([*of_two, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["offset"] for row in rows] == ["199", "200"]
    assert json.loads(rows[0]["value"])["order"] == 600 and json.loads(rows[0]["headers"])[0] == [
        "source",
        "shop",
    ]
    assert main([*of_two, "--template", r"%t/%p@%o %T %k{hex} %V %h %%\n"]) == 0
    lines = capsys.readouterr().out.splitlines()
    golden(lines[0])
    for wrong, said in (("%x", "%x"), ("%v{pdf}", "pdf"), ("%", "letter is missing")):
        assert main([*of_two, "--template", wrong]) == 2
        assert said in capsys.readouterr().err


def test_a_template_tells_null_from_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [wire.record(0, None, None, [(b"h", None)]), wire.record(1, b"", b"", [(b"h", b"")])]
    folder = made.make(tmp_path / "topic-0", [(0, [wire.batch(records)])])
    assert main(["find", str(folder), "--template", r"%k|%v|%v{hex}|%s|%h|%K|%V\n"]) == 0
    assert capsys.readouterr().out.splitlines() == ["null|null|null|null|h=null|-1|-1", "||||h=|0|0"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--topic", "none"], 2, "has no topic none"),
        (["--topic", "ordres"], 2, "did you mean orders?"),
        (["--partition", "77"], 2, "has no partition 77"),
        (["--offset", "5..3"], 2, "3 is below 5"),
        (["--offset", "-1"], 2, "--offset"),
        (["--offset", ".."], 2, "--offset"),
        (["--since", "yesterday"], 2, "--since"),
        (["--since", "1969-01-01"], 2, "before 1970"),
        (["--since", "1700000000"], 2, "1700000000000"),
        (["--until", "1700000000000000"], 2, "microseconds"),
        (["--since", "2024-01-02", "--until", "2024-01-01"], 2, "not after --since"),
        (["--last", "0"], 2, "--last"),
        (["--last", "1", "--first", "1"], 2, "exclude each other"),
        (["--json", "--csv"], 2, "exclude each other"),
        (["--follow", "--count"], 2, "--follow"),
        (["--header", "source"], 2, "key=value"),
        (["--where", "import os"], 2, "invalid syntax"),
        (["--where", "nothing > 1"], 2, "nothing"),
        (["--key", "x", "--key-format", "hex"], 2, "not hex"),
        (["--key", "nobody has it"], 1, "no record matches"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_not_there_and_what_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    assert main(["find", str(LOGS), *arguments]) == code
    # a message in a box has ends of lines anywhere
    assert message.replace(" ", "") in "".join(capsys.readouterr().err.replace("\u2502", "").split())


def test_damage_is_told_and_the_rest_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("orders-0", "orders-1"):
        shutil.copytree(LOGS / name, tmp_path / name)
    log = min((tmp_path / "orders-0").glob("*.log"))
    data = bytearray(log.read_bytes())
    data[200] ^= 1
    log.write_bytes(data)
    assert main(["find", str(tmp_path), "--offset", "0..20"]) == 1
    said = capsys.readouterr()
    assert "CrcMismatch" in said.err and "orders-0" in said.err
    assert "orders-1" in said.out


def test_what_is_appended_is_printed(tmp_path: Path) -> None:
    writer = kodec.LogWriter(tmp_path / "orders-0")
    writer.append([kodec.Record(key=b"a", value=b"1"), kodec.Record(key=b"b", value=b"2")])
    writer.flush()
    words = [
        sys.executable,
        "-m",
        "kodec",
        "find",
        str(tmp_path),
        "--last",
        "1",
        "--follow",
        "--template",
        r"%o=%v\n",
    ]
    # a shell that starts the tests in the background has them ignore it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    following = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    try:
        assert following.stdout is not None
        assert following.stdout.readline() == "1=2\n"
        writer.append([kodec.Record(value=b"3")])
        writer.flush()
        assert following.stdout.readline() == "2=3\n"
        other = kodec.LogWriter(tmp_path / "new-0")
        other.append([kodec.Record(value=b"first")])
        other.close()
        assert following.stdout.readline() == "0=first\n"
        time.sleep(0.1)
        following.send_signal(signal.SIGINT)
        assert following.wait(20) == 130
    finally:
        following.kill()
        following.wait()
        following.stdout.close()
        writer.close()


def test_times() -> None:
    assert parse_time("0") == 0
    assert parse_time("1970-01-01T00:00:01.002Z") == 1002
    assert parse_time("2023-11-14") == 1699920000000
    before = parse_time("now")
    ago = parse_time("-2h") + 7_200_000
    assert before <= ago <= parse_time("now")
    assert parse_time("-99999w") == 0
