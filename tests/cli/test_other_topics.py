"""`find`, `dump` and `export` show messages of MirrorMaker, Connect and Kafka Streams by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kodec.cli.main import main
from tests.golden import Golden
from tests.other_topics import OTHER

A = str(OTHER / "A")


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_conditions_see_the_parts_of_frames_and_messages(
    capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    where = 'key.key == "user-1" and key.start > 1790000000000'
    counts = ["find", A, "--topic", "app-counts-changelog", "--key-format", "window-store", "--json"]
    assert main([*counts, "--where", where]) == 0
    found = lines(capsys)
    assert found and all(row["keyFormat"] == "window-store" for row in found)
    assert {row["key"]["key"] for row in found} == {"user-1"}
    status = ["find", A, "--topic", "connect-status", "--json", "--where"]
    assert main([*status, 'value.state == "PAUSED" and key.connector == "lines"']) == 0
    assert lines(capsys)[0]["value"]["data"]["state"] == "PAUSED"
    assert main([*counts, "--key", "user-1"]) == 2
    assert "use --where" in capsys.readouterr().err
    # keys of this topic have no such frame: none is chosen, and that is said
    other = ["find", A, "--topic", "left", "--key-format", "window-store", "--where", "key.start > 0"]
    assert main(other) == 1
    golden(capsys.readouterr().err)


def test_dump_shows_parts_without_a_frame_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", "--decode", f"{A}/app-owner-subscription-registration-topic-0"]) == 0
    shown = capsys.readouterr().out
    assert (
        '"c1" = subscription {"version": 1, "instruction": "PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE"' in shown
    )
    assert main(["dump", "--decode", f"{A}/app-counts-changelog-0"]) == 0
    assert "= null" not in capsys.readouterr().out


def test_export_has_frames_as_formats(tmp_path: Path) -> None:
    topic = "app-KTABLE-SUPPRESS-STATE-STORE-0000000003-changelog"
    target = tmp_path / "out"
    given = ["--format", "jsonl", "--value-format", "suppressed", "--key-format", "windowed", "--decode"]
    assert main(["export", f"{A}/{topic}-0", "--to", str(target), *given]) == 0
    rows = [
        json.loads(line) for path in sorted(target.rglob("*.json*")) for line in path.read_text().splitlines()
    ]
    assert rows and all(row["keyFormat"] == "windowed" for row in rows)
    values = [row["value"] for row in rows if row["value"] is not None]
    assert values and all(each["version"] == 3 for each in values)
    assert any(row["valueDecoded"] is not None for row in rows)
