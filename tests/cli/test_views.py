"""kodec offsets, groups, transactions, producers, metadata, epochs and retention as a user calls them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kodec.cli.main import main

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "tests/data/kafka-4.3.1/logs"


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
    cells = [cell.strip() for cell in row.strip("│").split("│")]
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
def test_what_is_not_there_is_an_error(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, str(LOGS), "--group", "nobody"]) == 1
    assert "no group nobody" in capsys.readouterr().err
    assert main([verb, str(LOGS / "orders-0")]) == 2
    assert "not a log directory" in capsys.readouterr().err
    (tmp_path / "orders-0").mkdir()
    assert main([verb, str(tmp_path)]) == 2
    assert "no topic __consumer_offsets" in capsys.readouterr().err


def test_damage_of_the_offsets_is_told(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = copy / "__consumer_offsets-0/00000000000000000000.log"
    flip(path, 600)
    assert main(["offsets", str(copy), "--json"]) == 1
    found = capsys.readouterr()
    assert "codec-zstd" in found.out
    assert "CrcMismatch" in found.err and "230 bytes could not be read" in found.err
    assert not any(json.loads(line)["group"] == "manual-group" for line in found.out.splitlines())
    with path.open("ab") as file:
        file.write(b"\0\0\0")
    flip(path, 600)
    assert main(["offsets", str(copy), "--json"]) == 0
    assert "3 bytes before the end" in capsys.readouterr().err
