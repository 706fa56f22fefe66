"""What the native writer does with numbers and columns that the schema does not allow."""

from __future__ import annotations

from typing import Any

import pytest

import kodec
from kodec.log import kernel

pa = pytest.importorskip("pyarrow")
if not kernel.is_built():
    pytest.skip("the native kernel is not built", allow_module_level=True)

from kodec.generated.kernels import message_set, record_batch  # noqa: E402  # only if there is one


def columns(**other: Any) -> Any:
    rows = kodec.encode([kodec.Record(offset=5, timestamp=9, key=b"k", value=b"v", headers=(("h", b"x"),))])
    table = kodec.read_table(rows).to_batches()[0]
    for name, column in other.items():
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def written(**numbers: int) -> tuple[str, Any]:
    writer = record_batch.Writer()
    writer.set(base_offset=5, base_timestamp=9, **{"magic": 2, **numbers})
    writer.load(columns())
    assert writer.rows(0, 1) == "ok"
    return writer.unit(), writer


def test_what_is_allowed_is_what_encode_writes() -> None:
    numbers = {"partition_leader_epoch": -1, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1}
    status, writer = written(**numbers)
    assert status == "ok"
    record = kodec.Record(offset=5, timestamp=9, key=b"k", value=b"v", headers=(("h", b"x"),))
    assert writer.take() == kodec.encode([record])


@pytest.mark.parametrize(
    ("numbers", "status", "field"),
    [
        ({"magic": 3}, "value", "magic"),
        ({"producer_epoch": 1 << 15}, "overflow", "producer_epoch"),
        ({"compression": 8}, "overflow", "attributes.compression"),
        ({"partition_leader_epoch": -(1 << 31) - 1}, "overflow", "partition_leader_epoch"),
    ],
)
def test_a_head_that_is_not_allowed_is_not_written(numbers: dict[str, int], status: str, field: str) -> None:
    found, writer = written(**numbers)
    assert (found, *writer.where[:2]) == (status, status, field)
    assert len(writer) == 0 and writer.take() == b""


def test_a_row_that_does_not_fit_is_named_and_nothing_is_written() -> None:
    writer = record_batch.Writer()
    writer.set(magic=2, base_offset=-(2**40))
    writer.load(columns())
    assert writer.rows(0, 1) == "overflow"
    assert writer.where == ("overflow", "records[].body.offset_delta", 0)
    assert writer.content == b""


def test_magic_2_is_no_message() -> None:
    writer = message_set.Writer()
    writer.set(magic=2)
    writer.load(columns())
    assert writer.rows(0, 1) == "value"
    assert writer.where[1] == "message.magic"


def test_columns_have_to_be_there_and_of_their_types() -> None:
    writer = record_batch.Writer()
    with pytest.raises(ValueError, match="'key'"):
        writer.load(columns().drop_columns(["key"]))
    with pytest.raises(ValueError, match="'value'"):
        writer.load(columns(value=pa.array([1])))
    with pytest.raises(ValueError, match="no such rows"):
        writer.rows(0, 1)
