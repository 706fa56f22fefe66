"""Exports with typed columns."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kodec.pipeline import ExportOptions, export
from kodec.runtime.errors import ArgumentError
from tests.log.values.test_samples import LOGS, VALUES

FILE = "topic={}/partition=0/00000000000000000000.{}"


def test_typed_columns(tmp_path: Path) -> None:
    export(
        LOGS, tmp_path / "p", ExportOptions(value_format="avro", topics=["orders", "clicks"]), engine="local"
    )
    orders = pq.ParquetFile(tmp_path / "p" / FILE.format("orders", "parquet")).read()
    assert [each["currency"] for each in orders["valueTyped"].to_pylist()] == [
        "EUR",
        "EUR",
        "PLN",
        "EUR",
        "PLN",
    ]
    assert orders["valueSchema"].to_pylist() == ["2", "2", "3", "2", "3"]
    assert orders["valueReason"].null_count == 5 and orders["value"].null_count == 0
    # its subject is deleted: no newest version, and so JSON
    clicks = pq.ParquetFile(tmp_path / "p" / FILE.format("clicks", "parquet")).read()
    assert pa.types.is_string(clicks.schema.field("valueTyped").type)
    assert json.loads(clicks["valueTyped"][0].as_py())["page"] == "/p/0"


def test_another_format_is_json(tmp_path: Path) -> None:
    """The newest schema of the topic is no type for values of another format."""
    export(LOGS, tmp_path / "p", ExportOptions(value_format="avro", topics=["shipments"]), engine="local")
    found = pq.ParquetFile(tmp_path / "p" / FILE.format("shipments", "parquet")).read()
    assert pa.types.is_string(found.schema.field("valueTyped").type)
    assert "protobuf, not avro" in found["valueReason"][0].as_py()


def test_lines_are_as_find_has_them(tmp_path: Path) -> None:
    export(
        LOGS,
        tmp_path / "j",
        ExportOptions(format="jsonl", value_format="avro", topics=["orders"]),
        engine="local",
    )
    lines = (tmp_path / "j" / FILE.format("orders", "jsonl")).read_text().splitlines()
    assert [json.loads(line)["value"] for line in lines] == [row["value"] for row in VALUES[:5]]


def test_headers_may_name_schemas(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="headers may name"):
        export(
            LOGS, tmp_path / "p", ExportOptions(value_format="avro", include_headers=False), engine="local"
        )
