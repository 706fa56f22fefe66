"""A user's program: every kind of call that the pages show, with the type that a checker is to see for it.

test_typing.py gives it to mypy and to Pyright, and runs it.

    python user_program.py LOG_DIRECTORY SCRATCH
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, assert_type

import pyarrow as pa

import kodec
from kodec import errors


def records(log: Path) -> int:
    reader = kodec.read_records(log, on_error="skip", control=True)
    assert_type(reader, kodec.RecordReader)
    count = 0
    for record in reader:
        assert_type(record, kodec.Record)
        assert_type(record.offset, int)
        assert_type(record.timestamp, int)
        assert_type(record.timestamp_type, kodec.TimestampType)
        assert_type(record.key, bytes | None)
        assert_type(record.value, bytes | None)
        assert_type(record.headers, tuple[tuple[str, bytes | None], ...])
        if isinstance(record, kodec.ControlRecord):
            assert_type(record.type, kodec.ControlRecordType)
        count += 1
    assert_type(reader.position, int)
    assert_type(reader.torn_tail, kodec.results.TornTail | None)
    assert_type(reader.skipped, kodec.results.SkippedRanges)
    for gap in reader.skipped:
        assert_type(gap, kodec.results.SkippedRange)
        assert_type(gap.error, errors.FormatError | errors.ReadFailed)
    return count


def batches(data: bytes) -> list[str]:
    with kodec.read_batches(data, limits=kodec.Limits(batch_bytes=1 << 20)) as reader:
        assert_type(reader, kodec.BatchReader)
        codecs: list[str] = []
        for batch in reader:
            assert_type(batch, kodec.Batch)
            assert_type(batch.codec, str)
            assert_type(batch.base_offset, int)
            assert_type(batch.crc_ok, bool)
            assert_type(batch.delete_horizon, int | None)
            assert_type(batch.records(), list[kodec.Record])
            codecs.append(batch.codec)
        return codecs


def directory(root: Path) -> None:
    with kodec.LogDirectory(root) as logs:
        assert_type(logs.topic_partitions, list[kodec.TopicPartition])
        for log in logs:
            assert_type(log, kodec.PartitionLog)
            assert_type(log.topic_partition.topic, str)
            assert_type(log.topic_partition.partition, int)
            assert_type(log.start_offset, int)
            assert_type(log.segments, list[kodec.Segment])
            assert_type(log.records(isolation="read_committed"), Iterator[kodec.Record])
            assert_type(log.find_timestamp(0), kodec.results.TimestampOffset | None)
            assert_type(log.transactions(), kodec.results.Transactions)
            read = log.read(log.start_offset, max_bytes=1 << 16)
            assert_type(read, kodec.results.LogRead)
            assert_type(read.batches(), list[kodec.Batch])
            overview = kodec.repair.survey(log)
            assert_type(overview, kodec.repair.PartitionOverview)
            assert_type(overview.codecs, list[str])
    assert_type(kodec.repair.verify(root), Iterator[kodec.repair.Problem])


def writing(folder: Path) -> None:
    config = kodec.LogConfig(segment_bytes=1 << 20, flush_messages=1)
    with kodec.LogWriter(folder, config=config) as log:
        assert_type(log, kodec.LogWriter)
        one = kodec.Record(key=b"k", value=None, headers=(("trace", b"7"),), timestamp=1_700_000_000_000)
        result = log.append([one, one], compression="zstd", level=3)
        assert_type(result, kodec.results.AppendResult)
        assert_type(result.last_offset, int)
        assert_type(result.durable, bool)
        log.append(kodec.encode(iter([one]), magic=2))
        assert_type(log.flush(), int)


def plans(folder: Path, converted: Path, quarantine: Path) -> None:
    recovery = kodec.repair.plan_recovery(folder, quarantine=quarantine)
    assert_type(recovery, kodec.repair.RecoveryPlan)
    assert_type(recovery.has_changes, bool)
    assert_type(recovery.problems, list[str])
    assert_type(recovery.apply().kept, list[Path])
    assert_type(kodec.repair.plan_reindex(folder), kodec.repair.RecoveryPlan)
    assert_type(kodec.repair.plan_recoveries(folder.parent), Iterator[kodec.repair.RecoveryPlan])
    trim = kodec.operations.plan_trim(folder, before_offset=1)
    assert_type(trim, kodec.operations.TrimPlan)
    assert_type(trim.preview().applied, bool)
    assert_type(trim.apply().kept, list[Path])
    compaction = kodec.operations.plan_compaction(folder)
    assert_type(compaction, kodec.operations.CompactionPlan)
    assert_type(compaction.preview(), kodec.operations.CompactionReport)
    assert_type(compaction.apply(), kodec.operations.CompactionReport)
    conversion = kodec.operations.plan_conversion(
        folder, converted, kodec.operations.ConvertOptions(compression="gzip")
    )
    assert_type(conversion, kodec.operations.ConversionPlan)
    assert_type(conversion.apply(), kodec.operations.ConversionReport)


def converted(data: bytes) -> bytes:
    report = kodec.operations.ConversionReport()
    parts = kodec.operations.convert_batches(
        kodec.read_batches(data), kodec.operations.ConvertOptions(magic=1), report=report
    )
    assert_type(parts, Iterator[bytes])
    return b"".join(parts)


def encoded() -> bytes:
    found = (kodec.Record(value=str(number).encode()) for number in range(10))
    data = kodec.encode(found, compression="gzip", timestamp_type=kodec.TimestampType.CREATE_TIME)
    assert_type(data, bytes)
    return data


def tables(log: Path, data: bytes) -> bytes:
    table = kodec.read_table(log, ["offset", "value"], offsets=(0, None))
    assert_type(table, pa.Table)
    assert_type(table.num_rows, int)
    with kodec.scan_table(log) as scan:
        assert_type(scan, kodec.TableReader)
        assert_type(scan.schema, pa.Schema)
        for batch in scan:
            assert_type(batch, pa.RecordBatch)
        assert_type(scan.read_all(), pa.Table)
    assert_type(kodec.read_batch_table(data, check_crc=True), pa.Table)
    assert_type(kodec.scan_batch_table(data), kodec.TableReader)
    assert_type(kodec.encode_table(table.to_batches()[0]), bytes)
    return kodec.encode_table(table, compression="zstd", batch_records=1000)


def refused(data: bytes) -> str:
    try:
        kodec.encode(kodec.read_records(data), level=99)
    except errors.LimitExceeded as error:
        assert_type(error.limit, str)
    except errors.FormatError as error:
        assert_type(error.path, str)
        assert_type(error.at, int)
        assert_type(error.need, object)
        assert_type(error.inside, str | None)
        assert_type(error.source, str | None)
    except errors.EncodeError as error:
        assert_type(error.reason, str)
        return error.path
    except errors.OffsetOutOfRange as error:
        assert_type((error.offset, error.start, error.end, error.log), tuple[int, int, int, str])
    except errors.LogFailed as error:
        assert_type(error.reason, str)
    except errors.KodecError as error:
        print(error)
    return ""


def main(root: Path, scratch: Path) -> None:
    assert_type(kodec.backend(), Literal["native", "pure"])
    assert_type(kodec.__version__, str)
    folder = scratch / "logs" / "orders-0"
    folder.parent.mkdir()
    writing(folder)
    log = folder / f"{0:020}.log"
    data = log.read_bytes()
    directory(root)
    print(records(log), batches(data), len(converted(encoded())), len(tables(log, data)), refused(data))
    plans(folder, scratch / "converted" / "orders-0", scratch / "quarantine")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
