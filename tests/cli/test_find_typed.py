"""kodec find with values that have schemas."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kodec.cli.main import main
from tests.data import DATA
from tests.golden import Golden
from tests.labs.registry_lab import serving
from tests.log.values.test_samples import LOGS, VALUES, registry

ORDERS = [each["value"] for each in VALUES if each["topic"] == "orders"]


def found(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> list[dict[str, Any]]:
    assert main(["find", str(LOGS), *arguments, "--json"]) == code
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_topic_of_the_same_directory_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    for more in (
        (),
        ("--value-format", "avro"),
        ("--registry", "_schemas"),
        ("--registry", str(LOGS / "_schemas-0")),
    ):
        rows = found(capsys, "--topic", "orders", *more)
        assert [row["value"] for row in rows] == ORDERS
        assert {row["valueFormat"] for row in rows} == {"avro"}
        assert [row["valueSchema"] for row in rows] == ["2", "2", "3", "2", "3"]


def test_a_partition_is_of_a_directory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["find", str(LOGS / "orders-0"), "--json", "--last", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == ORDERS[-1]


def test_a_registry(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(registry()) as url:
        rows = found(capsys, "--topic", "shipments", "--registry", url, "--value-format", "protobuf")
    assert [row["value"] for row in rows] == [
        each["value"] for each in VALUES if each["topic"] == "shipments"
    ]
    assert main(["find", str(LOGS), "--topic", "shipments", "--registry", url]) == 1
    assert url in capsys.readouterr().err
    assert main(["find", str(LOGS), "--registry", "ftp://x"]) == 2
    assert "no URL of a registry" in capsys.readouterr().err


def test_a_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path, golden: Golden) -> None:
    (schema,) = (each["schema"] for each in registry().ids.values() if each["subject"] == "clicks-value")
    (tmp_path / "clicks-value.avsc").write_text(schema)
    rows = found(capsys, "--topic", "clicks", "--registry", str(tmp_path), "--value-format", "avro")
    assert [row["valueFormat"] for row in rows] == ["avro", "avro", "avro"]
    rows = found(capsys, "--topic", "orders", "--registry", str(tmp_path), "--value-format", "avro")
    assert {row["valueFormat"] for row in rows} == {"base64"}
    golden(rows[0]["valueReason"])
    # the bytes name a schema that the folder lacks
    rows = found(capsys, "--topic", "orders", "--registry", str(tmp_path))
    golden(rows[0]["valueReason"])


@pytest.mark.parametrize(
    ("condition", "offsets"),
    [
        ("value.amount > 2 and value.currency == 'PLN'", [4]),
        ("value.day == '2023-11-14'", [0, 1]),
        ("value.at >= '2023-11-15T01'", [3, 4]),
        ("value.to.zip == null", [1, 3]),
        ("'b' in value.tags or value.extra.n == 1", [1, 2]),
    ],
)
def test_conditions_see_what_is_decoded(
    capsys: pytest.CaptureFixture[str], condition: str, offsets: list[int]
) -> None:
    for more in ((), ("--value-format", "avro")):
        rows = found(capsys, "--topic", "orders", "--where", condition, *more)
        assert [row["offset"] for row in rows] == offsets
    assert main(["find", str(LOGS), "--topic", "orders", "--where", condition, "--count"]) == 0
    assert capsys.readouterr().out == f"{len(offsets)}\n"


def test_one_reader_schema(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    fields = [{"name": "id", "type": "double"}, {"name": "new", "type": "int", "default": 7}]
    schema = {"type": "record", "name": "Order", "namespace": "shop", "fields": fields}
    (tmp_path / "mine.avsc").write_text(json.dumps(schema))
    rows = found(capsys, "--topic", "orders", "--reader-schema", str(tmp_path / "mine.avsc"))
    assert rows[1]["value"] == {"id": 1e12, "new": 7}


def test_templates_and_csv(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert main(["find", str(LOGS), "--topic", "payments", "--template", r"%k{text} %v{json-schema}\n"]) == 0
    golden(capsys.readouterr().out)
    assert main(["find", str(LOGS), "--topic", "payments", "--csv", "--first", "1"]) == 0
    assert '"{""id"":0,""method"":""card""}"' in capsys.readouterr().out


def test_another_kind_stays_bytes_with_the_reason(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert main(["find", str(LOGS), "--topic", "clicks", "--value-format", "protobuf"]) == 0
    golden(capsys.readouterr().out)


def test_mistakes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    other = DATA / "kafka-4.3.1/logs"
    for arguments, code, said in [
        ([str(other), "--value-format", "avro"], 2, "no topic _schemas here"),
        ([str(other), "--registry", "nothing"], 2, "neither a URL, nor a folder"),
        ([str(LOGS), "--key-format", "avro", "--key", "a"], 2, "--key is not avro: use --where"),
        ([str(LOGS), "--reader-schema", str(tmp_path / "x.avsc")], 2, "x.avsc"),
    ]:
        assert main(["find", *arguments]) == code
        assert said in " ".join(capsys.readouterr().err.split())


def test_a_missing_library_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    monkeypatch.setitem(sys.modules, "protoxy", None)
    for topic in ("orders", "shipments"):
        assert main(["find", str(LOGS), "--topic", topic]) != 0
        golden(capsys.readouterr().err)
