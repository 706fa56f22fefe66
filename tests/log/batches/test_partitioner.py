"""Which partition a key goes to: as Kafka's producers say, one by one and as a column."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from kafka.partitioner.default import murmur2

import kodec
from kodec.log import kernel
from kodec.log.backends.pure.partitions import partitions_of as pure

pytestmark = pytest.mark.quick

Column = Callable[[Any, int], Any]
COLUMNS: list[Column] = [pure]
if kernel.is_built():
    from kodec.log.backends.native.partitions import partitions_of as native

    COLUMNS.append(native)

# What BuiltInPartitioner.partitionForKey of Kafka 4.3.1 gives.
OF_KAFKA = [
    ("", 115, 76),
    ("183477a35a94c9bf390b770209d32a595d4a987d41f4b3e592471abe05194bb55dcab391", 755731201, 96076252),
    ("e98ee81edf7fae40bfe793d9fced52b202e34d15e5c4caaf166fc2edcea4fb1b", 43, 3),
    ("0705e6c8", 52, 43),
]


@pytest.fixture(params=COLUMNS, ids=lambda column: column.__module__.split(".")[-2])
def column(request: pytest.FixtureRequest) -> Column:
    found: Column = request.param
    return found


@pytest.mark.parametrize(("key", "partitions", "wanted"), OF_KAFKA)
def test_a_key_goes_where_kafkas_producer_sends_it(key: str, partitions: int, wanted: int) -> None:
    assert kodec.partition_of(bytes.fromhex(key), partitions) == wanted


def test_keys_go_where_other_clients_send_them(column: Column) -> None:
    dice = random.Random(1)
    keys = [None if n % 7 == 0 else dice.randbytes(n % 23) for n in range(500)]
    for partitions in (1, 2, 3, 12, 2**31 - 1):
        wanted = [
            None if key is None else (murmur2(key) & 0x7FFFFFFF) % partitions  # type: ignore[no-untyped-call]
            for key in keys
        ]
        found = column(pa.array(keys, pa.binary()), partitions)
        assert found.type == pa.int32() and found.to_pylist() == wanted
        assert column(pa.array(keys, pa.binary())[50:90], partitions).to_pylist() == wanted[50:90]


def test_a_column_of_nothing(column: Column) -> None:
    assert column(pa.array([], pa.binary()), 3).to_pylist() == []
    assert column(pa.nulls(3, pa.binary()), 3).to_pylist() == [None] * 3
    assert column(pa.array([b""], pa.binary()), 7).to_pylist() == [kodec.partition_of(b"", 7)]


def test_what_has_no_partition_is_refused() -> None:
    with pytest.raises(ValueError, match="partition_count=0: expected at least 1"):
        kodec.partition_of(b"k", 0)
    with pytest.raises(TypeError, match="a key is bytes, not str"):
        kodec.partition_of("k", 3)  # type: ignore[arg-type]
