"""Wrong uses of kodec, never run: mypy and Pyright must report each line that is marked, and no other."""

# ruff: noqa: B018  (an attribute that is missing is a wrong use by itself)

from __future__ import annotations

from pathlib import Path

import kodec
from kodec import errors

folder = Path("orders-0")
record = kodec.Record(key=b"k")
data = b""

# arguments
kodec.Record(b"k", b"v")  # wrong
kodec.Record(key="k")  # wrong
kodec.Record(headers={"trace": b"7"})  # wrong
kodec.read_records(7)  # wrong
kodec.read_records(data, on_error="ignore")  # wrong
kodec.read_records(data, False)  # wrong
kodec.read_batches(data, control=True)  # wrong
kodec.encode(record)  # wrong
kodec.encode([record], compression=3)  # wrong
kodec.encode([b"value"])  # wrong
kodec.LogConfig(segment_size=1)  # wrong
kodec.LogDirectory([folder])  # wrong
kodec.operations.plan_trim(folder, retention_ms="7d")  # wrong
kodec.operations.plan_conversion(folder, kodec.operations.ConvertOptions())  # wrong
kodec.operations.convert_batches([data], kodec.operations.ConvertOptions())  # wrong

# the fields of a record are not what they seem
record.key.decode()  # wrong
record.headers["trace"]  # wrong
record.partitions  # wrong
record.offset = "7"  # wrong

# logs and writers
log = kodec.PartitionLog(folder)
log.records(isolation="serializable")  # wrong
log.find_timestamp(0).offset  # wrong
log.read("0")  # wrong
with kodec.LogWriter(folder) as writer:
    writer.append([record], codec="zstd")  # wrong
    writer.append([record], level="3")  # wrong
    writer.append(record)  # wrong
    writer.append([record]).offset  # wrong

# plans
kodec.repair.plan_recovery(folder).apply("quarantine")  # wrong
kodec.operations.plan_trim(folder).apply(folder)  # wrong
text: str = kodec.operations.plan_compaction(folder).apply()  # wrong

# tables
kodec.read_table(data).num_lines  # wrong
kodec.read_table(data, offsets="7")  # wrong
kodec.scan_table(data).read_all().to_spark()  # wrong
kodec.encode_table([record])  # wrong
rows: list[kodec.Record] = kodec.read_table(data)  # wrong

# errors
errors.Corrupt  # wrong
try:
    kodec.encode([record])
except errors.EncodeError as error:
    error.at  # wrong
except errors.OffsetOutOfRange as error:
    error.path  # wrong
