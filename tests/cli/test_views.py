"""kodec offsets, groups, transactions, producers, metadata, epochs and retention as a user calls them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from kodec.cli.main import main
from tests.data import DATA, LOGS
from tests.golden import Golden


def rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The topics of the coordinators, to be damaged."""
    for name in ("__consumer_offsets-0", "__transaction_state-0", "__cluster_metadata-0", "transactions-0"):
        shutil.copytree(LOGS / name, tmp_path / "logs" / name)
    return tmp_path / "logs"


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_offsets_of_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["offsets", str(LOGS), "--json", "--group", "orders-classic", "--topic", "orders"]) == 0
    found = rows(capsys)
    assert [(row["partition"], row["offset"], row["logEndOffset"], row["lag"]) for row in found] == [
        (0, 199, 421, 222),
        (1, 61, 415, 354),
        (2, 0, 364, 364),
    ]
    assert found[0] | {} == {
        "kind": "committed",
        "group": "orders-classic",
        "topic": "orders",
        "partition": 0,
        "offset": 199,
        "logStartOffset": 0,
        "logEndOffset": 421,
        "lag": 222,
        "leaderEpoch": None,
        "metadata": "réglé ✓",
        "commitTimestamp": 1795227858448,
        "expireTimestamp": None,
        "topicId": "gMAhvBCsTsm2AzDZu7LYrw",
        "producerId": None,
        "producerEpoch": None,
        "source": "__consumer_offsets-0",
        "recordOffset": 13,
    }


def test_offsets_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["offsets", str(LOGS)]) == 0
    out = capsys.readouterr().out
    assert "16 committed offsets" in out and "2 start offsets of share groups" in out
    (row,) = [line for line in out.splitlines() if "payments-group" in line]
    cells = re.split("  +", row)
    assert cells[:6] == ["payments-group", "orders", "0", "17", "421", "404"]


def test_share_groups_have_a_start_offset(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["offsets", str(LOGS), "--json", "--group", "orders-shared"]) == 0
    found = rows(capsys)
    assert [(row["kind"], row["partition"], row["startOffset"], row["lag"]) for row in found] == [
        ("share", 0, 0, 0),
        ("share", 1, 0, 0),
    ]
    assert found[0]["topic"] == "names-with.dots_and-dashes"


def test_groups_and_their_members(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", str(LOGS), "--json"]) == 0
    found = {row["group"]: row for row in rows(capsys)}
    assert {name: (row["type"], row["state"]) for name, row in found.items()} == {
        "by-pattern": ("consumer", "Empty"),
        "manual-group": ("classic", "Empty"),
        "orders-classic": ("classic", "Stable"),
        "orders-next": ("consumer", "Empty"),
        "orders-shared": ("share", "Empty"),
        "payments-group": ("classic", "Empty"),
    }
    (member,) = found["orders-classic"]["members"]
    assert member["instanceId"] == "worker-1"
    assert {"topic": "orders", "topicId": None, "partitions": [0, 1, 2]} in member["assignment"]
    assert main(["groups", str(LOGS), "--members"]) == 0
    assert "orders(0,1,2)" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["offsets", "groups"])
def test_what_is_not_there_is_an_error(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert main([verb, str(LOGS), "--group", "nobody"]) == 2
    assert "no group nobody" in capsys.readouterr().err
    assert main([verb, str(LOGS / "orders-0")]) == 2
    golden(capsys.readouterr().err)
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "meta.properties").touch()
    assert main([verb, str(tmp_path)]) == 2
    golden(capsys.readouterr().err)


def test_damage_of_the_offsets_is_told(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = copy / "__consumer_offsets-0/00000000000000000000.log"
    flip(path, 600)
    assert main(["offsets", str(copy), "--json"]) == 1
    found = capsys.readouterr()
    assert "codec-zstd" in found.out
    assert "CrcMismatch" in found.err and "1 thing left out, 230 bytes" in found.err
    *rows, last = map(json.loads, found.out.splitlines())
    assert not any(each["group"] == "manual-group" for each in rows)
    assert [(each["cause"], each["size"]) for each in last["leftOut"]] == [("damaged", 230)]
    with path.open("ab") as file:
        file.write(b"\0\0\0")
    flip(path, 600)
    assert main(["offsets", str(copy), "--json"]) == 0
    assert "3 bytes before the end" in capsys.readouterr().err


# -- transactions, producers, metadata: of the broker that tests/labs/make_views.py ran --------------

MADE = DATA / "views-4.3.1"
VIEWS = MADE / "logs"
SAID = json.loads((MADE / "MANIFEST.json").read_text(encoding="utf-8"))


def test_transactions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transactions", str(VIEWS), "--json", "--now", str(SAID["asked"])]) == 0
    found = rows(capsys)
    ids = {row["transactionalId"]: row["state"] for row in found if row["kind"] == "transactionalId"}
    assert ids == {
        "aborted": "CompleteAbort",
        "committed": "CompleteCommit",
        "idle": "Empty",
        "other-group": "CompleteCommit",
        "undecided": "Ongoing",
    }
    is_open = {(row["topic"], row["partition"]): row["status"] for row in found if row["kind"] == "open"}
    assert is_open == {
        ("__consumer_offsets", 2): "open",
        ("kept", 0): "hanging",
        ("orders", 0): "hanging",
        ("payments", 0): "open",
        ("stuck", 0): "open",
    }
    stable = {(row["topic"], row["partition"]): row for row in found if row["kind"] == "partition"}
    assert (stable["payments", 0]["lastStableOffset"], stable["payments", 0]["endOffset"]) == (60, 63)
    assert stable["orders", 1]["lastStableOffset"] == stable["orders", 1]["endOffset"] == 10


def test_transactions_as_a_table(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert main(["transactions", str(VIEWS), "--topic", "orders"]) == 0
    out = capsys.readouterr().out
    assert "5 transactional ids" in out and "1 open transaction" in out
    golden(out.replace("\n", " "))
    golden(out)
    assert main(["transactions", str(VIEWS), "--now", "yesterday"]) == 2
    assert main(["transactions", str(VIEWS), "--topic", "nothing"]) == 2


def test_producers_of_a_topic(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["producers", str(VIEWS), "--topic", "payments", "--json"]) == 0
    first, second = rows(capsys)
    assert (first["producerId"], first["lastSequence"], first["lastOffset"]) == (0, 59, 59)
    assert (second["producerId"], second["transactionOffset"]) == (3, 60)
    assert (second["lastStableOffset"], second["endOffset"]) == (60, 63)
    assert main(["producers", str(VIEWS), "--topic", "orders", "--partition", "1"]) == 0
    assert "1 producer" in capsys.readouterr().out
    assert main(["producers", str(VIEWS), "--topic", "orders", "--partition", "9"]) == 2
    assert main(["producers", str(VIEWS), "--topic", "nothing"]) == 2
    assert "no topic nothing" in capsys.readouterr().err


def test_damage_of_a_producer_snapshot_is_told(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot = max((copy / "transactions-0").glob("*.snapshot"))
    flip(snapshot, 20)
    assert main(["producers", str(copy), "--topic", "transactions", "--json"]) == 1
    found = capsys.readouterr()
    assert "CrcMismatch" in found.err
    # From the snapshot before it, and the log: the same.
    *rows, last = map(json.loads, found.out.splitlines())
    assert [each["producerId"] for each in rows] == [12, 13, 14, 25, 1004] and last["leftOut"]


def test_metadata(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metadata", str(VIEWS), "--json", "--before-offset", str(SAID["metadata_offset"])]) == 0
    found = rows(capsys)
    kinds = {row["kind"]: row for row in found}
    assert set(kinds) == {"cluster", "broker", "controller", "topic", "configs", "quota", "acl", "user"}
    assert (
        kinds["cluster"]["endOffset"] == SAID["metadata_offset"]
        and kinds["cluster"]["features"]["kraft.version"] == 1
    )
    topics = {row["topic"]: row for row in found if row["kind"] == "topic"}
    assert topics["kept"]["configs"] == {"cleanup.policy": "compact", "min.compaction.lag.ms": "5"}
    assert [each["leader"] for each in topics["kept"]["partitions"]] == [1, 1]
    assert "dropped" not in topics


def test_metadata_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metadata", str(VIEWS)]) == 0
    out = capsys.readouterr().out
    for text in (
        "quota of user alice: producer_byte_rate=1024",
        "ALLOW User:bob from *: READ",
        "user alice: SCRAM",
    ):
        assert text in out
    assert main(["metadata", str(VIEWS), "--topic", "orders"]) == 0
    assert "1 topic" in capsys.readouterr().out
    assert main(["metadata", str(VIEWS), "--topic", "nothing"]) == 2
    assert "no topic nothing" in capsys.readouterr().err
    assert main(["metadata", str(VIEWS), "--before-offset", "1000000"]) == 2
    assert main(["metadata", str(VIEWS / "orders-0")]) == 2


def test_metadata_of_a_snapshot(capsys: pytest.CaptureFixture[str]) -> None:
    (newest,) = sorted((VIEWS / "__cluster_metadata-0").glob("*-0000000001.checkpoint"))[-1:]
    assert main(["metadata", str(newest), "--json"]) == 0
    assert len([row for row in rows(capsys) if row["kind"] == "topic"]) == 9
    assert main(["metadata", str(newest), "--before-offset", "3"]) == 2


def test_secrets_in_configs_are_hidden() -> None:
    from kodec.cli.verbs.metadata import _hidden

    assert _hidden({"listener.name.x.ssl.key.password": "p", "retention.ms": "1"}) == {
        "listener.name.x.ssl.key.password": "(hidden)",
        "retention.ms": "1",
    }


def test_unknown_records_of_the_metadata_are_told_and_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    from kodec import Record, encode

    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(
        encode([Record(value=b"\x01\x50\x00", timestamp=1)] * 2)
    )
    assert main(["metadata", str(tmp_path), "--json"]) == 1
    golden(capsys.readouterr().err)


def test_epochs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["epochs", str(LOGS), "--topic", "orders", "--partition", "0", "--json"]) == 0
    first, second = rows(capsys)
    assert (first["epoch"], first["startOffset"], first["firstOffset"], first["endOffset"]) == (0, 0, 0, 322)
    assert (second["epoch"], second["startOffset"], second["endOffset"]) == (2, 322, 421)
    assert main(["epochs", str(LOGS), "--topic", "orders"]) == 0
    assert "6 leader epochs" in capsys.readouterr().out


def test_epochs_that_contradict_each_other(
    copy: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    (copy / "transactions-0/leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    assert main(["epochs", str(copy), "--topic", "transactions"]) == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "leader epoch" in line]
    golden(line)


def test_retention(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    now = ["--now", str(SAID["asked"])]
    assert main(["retention", str(VIEWS), "--topic", "payments", "--json", *now]) == 0
    (found,) = rows(capsys)
    assert found["settings"]["retention.ms"] == {"value": "7200000", "source": "cluster"}
    assert found["settings"]["retention.bytes"] == {"value": "4096", "source": "topic"}
    assert [each["baseOffset"] for each in found["deletable"]] == [0]
    assert found["next"]["baseOffset"] == 19 and found["next"]["missingBytes"] == 1477
    assert main(["retention", str(VIEWS), "--topic", "payments", "--retention-bytes", "-1", *now]) == 0
    golden(capsys.readouterr().out)


def test_retention_with_defaults_says_so(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert main(["retention", str(LOGS), "--topic", "segments", "--now", "2026-11-22"]) == 0
    found = capsys.readouterr()
    golden(found.out)
    golden(found.err)
    assert main(["retention", str(LOGS), "--topic", "segments", "--retention-ms", "-1"]) == 0
    found = capsys.readouterr()
    assert "no time limit" in found.out and found.err == ""


def test_retention_without_metadata_says_so(
    copy: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    shutil.rmtree(copy / "__cluster_metadata-0")
    assert main(["retention", str(copy), "--topic", "transactions", "--json"]) == 0
    found = capsys.readouterr()
    golden(found.err)
    assert {each["source"] for each in json.loads(found.out)["settings"].values()} == {"default"}


def test_retention_of_a_damaged_log_is_told(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = copy / "transactions-0/00000000000000000000.log"
    flip(path, 16)
    for index in (copy / "transactions-0").glob("*index"):
        index.unlink()
    assert main(["retention", str(copy), "--topic", "transactions"]) == 1
    assert "unknown message format" in capsys.readouterr().err
    assert main(["retention", str(copy), "--now", "soon"]) == 2
