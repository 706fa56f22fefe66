"""How often `verify` and `convert` hold a large record: once as it is stored, once as it is to be."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

import kodec
from kodec.log.conversion.options import ConvertOptions
from kodec.log.conversion.partition import plan_conversion
from kodec.log.verification.verify import verify_partition

MIB = 1 << 20
SIZE = 24 * MIB
# of the walk and the codecs: windows, parts and pieces
BESIDE = 6 * MIB
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For each codec a log with one large record, which no codec makes smaller."""
    root = tmp_path_factory.mktemp("large")
    value = os.urandom(SIZE)
    for codec in CODECS:
        path = root / codec / "orders-0" / f"{0:020d}.log"
        path.parent.mkdir(parents=True)
        path.write_bytes(kodec.encode([kodec.Record(offset=0, value=value)], compression=codec))
    return root


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codec", CODECS)
def test_verify_holds_the_content_and_its_records(codec: str, large: Path) -> None:
    folder = large / codec / "orders-0"
    most = peak(lambda: [each for each in verify_partition(kodec.PartitionLog(folder)) if not each.note])
    # a right checksum does not show that the records can be read: they are
    assert most < (SIZE if codec == "none" else 2 * SIZE) + BESIDE


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_is_copied_through_its_content_and_its_records(
    codec: str, large: Path, tmp_path: Path
) -> None:
    plan = plan_conversion(
        large / codec / "orders-0", tmp_path / "orders-0", ConvertOptions(compression=codec)
    )
    assert peak(plan.apply) < 2 * SIZE + BESIDE
    copied = (tmp_path / "orders-0" / f"{0:020d}.log").read_bytes()
    assert copied == (large / codec / "orders-0" / f"{0:020d}.log").read_bytes()


PAIRS = [(one, other) for one in CODECS for other in ("none", "snappy", "zstd") if one != other]


@pytest.mark.parametrize(("codec", "target"), PAIRS)
def test_convert_holds_the_content_its_records_and_what_becomes_of_it(
    codec: str, target: str, large: Path, tmp_path: Path
) -> None:
    source, folder = large / codec / "orders-0", tmp_path / "orders-0"
    plan = plan_conversion(source, folder, ConvertOptions(compression=target))
    assert peak(plan.apply) < 3 * SIZE + BESIDE
    (found,) = kodec.read_batches(folder / f"{0:020d}.log")
    (before,) = kodec.read_batches(source / f"{0:020d}.log")
    assert found.codec == target and found.crc_ok
    assert found.records() == before.records()
