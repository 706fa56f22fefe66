"""Keys and values decoded by the `kafka-log` source, in Spark."""

from __future__ import annotations

import datetime
import json
import shutil
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql.types import VariantVal

import kodec
from kodec.pipeline import KafkaLogDataSource, served_by
from kodec.pipeline.options import OptionError
from kodec.pipeline.spark_schema import arrow_type, spark_type
from kodec.pipeline.typed import _cast, _variants
from tests.fixtures import write_segment
from tests.log.values.test_samples import LOGS, VALUES


def frame(spark: Any, **options: str) -> DataFrame:
    return spark.read.format("kafka-log").options(**options).load(str(LOGS))


def of(topic: str) -> list[Any]:
    return [row["value"] for row in VALUES if row["topic"] == topic]


def problem(**options: str) -> str:
    with pytest.raises(OptionError) as caught:
        source = KafkaLogDataSource({"path": str(LOGS), **options})
        source.reader(source.schema())
    return str(caught.value)


@pytest.mark.parametrize(
    ("number", "exact"),
    [
        ("0.1", True),
        ("1.5e3", True),
        ("12345678901234567890123", True),
        ("0.10000000000000000000000000000000000001", True),
        ("0.123456789012345678901234567890123456789", False),
        ("1" * 39, False),
        ("1e999", False),
        ("1e-999", False),
    ],
)
def test_a_number_that_variant_would_round_is_a_reason(number: str, exact: bool) -> None:
    values, reasons = _variants(pa.array([f'{{"n":{number}}}', "[1]"]), pa.nulls(2, pa.string()))
    assert values.is_valid().to_pylist() == [exact, True] and reasons[1].as_py() is None
    if exact:
        with localcontext(prec=60):  # PySpark computes with the context's precision
            shown = VariantVal(values[0]["value"].as_py(), values[0]["metadata"].as_py()).toJson()
        assert Decimal(shown[5:-1]) == Decimal(number)
    else:
        assert f"no exact form of the number {number}" in reasons[0].as_py()


def test_json_of_mixed_schemas(spark: Any) -> None:
    found = frame(spark, valueFormat="auto", subscribe="orders,shipments,payments")
    assert served_by(found) == "python"
    assert found.columns[-3:] == ["valueTyped", "valueSchema", "valueReason"]
    rows = found.orderBy("offset").collect()
    for topic in ("orders", "shipments", "payments"):
        said = [json.loads(row.valueTyped) for row in rows if row.topic == topic]
        assert said == of(topic)
    assert [row.valueSchema for row in rows if row.topic == "orders"] == ["2", "2", "3", "2", "3"]


def test_variant_is_what_spark_parses(spark: Any) -> None:
    options = {"subscribe": "orders,payments,shipments"}
    text = frame(spark, valueFormat="auto", **options).selectExpr(
        "topic", "offset", "to_json(parse_json(valueTyped)) v"
    )
    found = frame(spark, valueFormat="auto", typedAs="variant", **options)
    assert dict(found.dtypes)["valueTyped"] == "variant"
    own = found.selectExpr("topic", "offset", "to_json(valueTyped) v")
    assert sorted(own.collect()) == sorted(text.collect())
    cities = found.where("topic = 'orders'").selectExpr(
        "variant_get(valueTyped, '$.to.city', 'string') c", "valueTyped:id::bigint i"
    )
    assert [tuple(row) for row in cities.collect()] == [
        (each["to"]["city"], each["id"]) for each in of("orders")
    ]


def test_struct_of_a_readers_schema(spark: Any, tmp_path: Path) -> None:
    found = frame(spark, subscribe="orders", valueFormat="avro", readerSchema="orders-value")
    rows = [row.asDict(recursive=True) for row in found.orderBy("offset").collect()]
    first = rows[0]["valueTyped"]
    assert first["amount"] == Decimal("-0.05") and first["day"] == datetime.date(2023, 11, 14)
    # in microseconds, as Spark's from_avro has it
    assert first["time"] == 3_723_000_000 and first["extra"] == {"n": 0}
    assert [row["valueTyped"]["currency"] for row in rows] == ["EUR", "EUR", "PLN", "EUR", "PLN"]
    assert found.where("valueTyped.to.city = 'Kraków'").count() == len(rows)
    mine = tmp_path / "mine.avsc"
    field = {"name": "customer", "type": "string"}
    mine.write_text(json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": [field]}))
    found = frame(spark, subscribe="orders,payments", valueFormat="auto", readerSchema=str(mine))
    assert found.select("valueTyped").dtypes == [("valueTyped", "struct<customer:string>")]
    named = found.where("topic = 'orders'").select("valueTyped.customer").collect()
    assert [row.customer for row in named] == [each["customer"] for each in of("orders")]
    # what is not resolved stays bytes, with its reason
    others = found.where("topic = 'payments'").collect()
    assert all(
        row.valueTyped is None and row.value and "does not resolve" in row.valueReason for row in others
    )


def test_a_stream_finds_schemas_that_are_registered_later(spark: Any, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for name in ("_schemas-0", "orders-0"):
        shutil.copytree(LOGS / name, logs / name)
    registered, late = logs / "_schemas-0" / f"{0:020d}.log", tmp_path / "late.log"
    orders = logs / "orders-0" / f"{0:020d}.log"
    batches = {path: [bytes(each.data) for each in kodec.read_batches(path)] for path in (registered, orders)}
    shutil.copy(registered, late)
    registered.write_bytes(b"".join(batches[registered][:2]))
    orders.write_bytes(batches[orders][0])
    found = (
        spark.readStream.format("kafka-log")
        .options(valueFormat="avro", startingOffsets="earliest", subscribe="orders")
        .load(str(logs))
    )
    query = found.writeStream.format("memory").queryName("typed_orders").start()
    try:
        query.processAllAvailable()
        # appended, as a broker does: a log that is cut first has lost records
        with registered.open("ab") as file:
            file.write(late.read_bytes()[registered.stat().st_size :])
        with orders.open("ab") as file:
            file.write(b"".join(batches[orders][1:]))
        query.processAllAvailable()
        rows = spark.table("typed_orders").orderBy("offset").collect()
    finally:
        query.stop()
    assert "schema 2 is not in" in rows[0].valueReason and rows[0].value and len(rows) == 5
    assert [json.loads(row.valueTyped) for row in rows[1:]] == of("orders")[1:]


def test_keys_and_columns() -> None:
    options = {"keyFormat": "json-schema", "columns": "keyReason,offset,keyTyped", "subscribe": "orders"}
    source = KafkaLogDataSource({"path": str(LOGS), **options})
    reader = source.reader(source.schema())
    rows = [row for task in reader.partitions() for each in reader.read(task) for row in each.to_pylist()]
    assert [*rows[0]] == ["keyReason", "offset", "keyTyped"] and len(rows) == 5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"valueFormat": "arvo"},
            "valueFormat: expected auto or avro or protobuf or json-schema; not 'arvo'",
        ),
        ({"schemas": "_schemas"}, "schemas: it needs keyFormat or valueFormat"),
        ({"valueFormat": "avro", "keyReaderSchema": "x"}, "keyReaderSchema: it needs keyFormat"),
        ({"valueFormat": "avro", "typedAs": "struct"}, "typedAs: struct needs readerSchema"),
        (
            {"valueFormat": "avro", "typedAs": "text"},
            "typedAs: expected struct or json or variant; not 'text'",
        ),
        ({"valueFormat": "avro", "framing": "x"}, "framing: expected auto or confluent or "),
        ({"columns": "offset,valueTyped"}, "columns: valueTyped needs valueFormat"),
        ({"valueFormat": "avro", "schemas": "none"}, "schemas: none: neither a URL, nor a folder"),
        ({"valueFormat": "avro", "readerSchema": "no.avsc"}, "no.avsc is neither a file nor a subject"),
        (
            {"valueFormat": "auto", "readerSchema": "payments-value"},
            "is a JSON Schema, whose values are text",
        ),
        ({"valueFromat": "avro"}, "did you mean valueFormat?"),
    ],
)
def test_options_that_cannot_be_followed(options: dict[str, str], said: str) -> None:
    assert said in problem(**options)


def test_no_schemas(spark: Any, tmp_path: Path) -> None:
    write_segment(tmp_path / "t-0", 0, 4)
    with pytest.raises(
        Exception, match=r"^kafka-log: schemas: the log directory has no topic _schemas; name a "
    ):
        spark.read.format("kafka-log").option("valueFormat", "avro").load(str(tmp_path))


def test_moments_that_spark_does_not_hold() -> None:
    kind = pa.struct([("at", pa.timestamp("ms"))])
    moments = pa.array([{"at": 1}, {"at": 2**62}, None], kind)
    found, reasons = _cast(moments, arrow_type(kind), pa.nulls(3, pa.string()))
    assert found.is_valid().to_pylist() == [True, False, False]
    assert [each and each[:41] for each in reasons.to_pylist()] == [
        None,
        "outside the range of a column of struct<a",
        None,
    ]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (pa.uint64(), "decimal(20,0)"),
        (pa.list_(pa.uint32()), "array<bigint>"),
        (pa.map_(pa.string(), pa.struct([("a", pa.binary(4))])), "map<string,struct<a:binary>>"),
        (pa.decimal256(40, 2), "string"),
        (
            pa.struct([("n", pa.timestamp("ns")), ("m", pa.timestamp("ms"))]),
            "struct<n:bigint,m:timestamp_ntz>",
        ),
        (pa.struct([("m", pa.time32("ms")), ("u", pa.time64("us"))]), "struct<m:int,u:bigint>"),
    ],
)
def test_types(kind: pa.DataType, said: str) -> None:
    """Spark demands of a batch what it makes of its own type."""
    from pyspark.sql.pandas.types import to_arrow_type

    found = spark_type(arrow_type(kind))
    assert found.simpleString() == said
    assert to_arrow_type(found, timezone="UTC") == arrow_type(kind)
    assert pa.nulls(2, kind).cast(arrow_type(kind)).null_count == 2
