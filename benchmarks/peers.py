"""The readers and writers that are measured, each after the same few functions.

All but one give an object for each record, and the same five fields of it are read: offset, timestamp, key,
value and headers. `kodec-columns` gives Arrow batches, which is less work and not directly comparable.
"""

# ruff: noqa: B018  (reading an attribute is what is measured)

from __future__ import annotations

import importlib
import importlib.util
import os
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any, Literal, Protocol

import pyarrow as pa

import kodec
from benchmarks.corpora import Case
from benchmarks.java import peer as java
from kodec.log import kernel

__all__ = ["OWN", "PEERS", "Absent", "Gives", "Loop", "Peer", "Pure", "Row", "load", "own"]

ROOT = Path(__file__).resolve().parent.parent
_CODES = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
_ENTRY = struct.Struct(">qiib")
_ROOMY = 1 << 30
_ROOMY_BATCH = 64 << 20  # more than this, and tables are written by the pure path

Gives = Literal["objects", "columns", "bytes"]
"""What one that is measured makes of a log, or makes a log of."""

Loop = Literal["decode", "key-value", "iterate"]
"""What a loop reads of each record: all five fields, key and value, nothing."""

Row = tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
"""Offset, timestamp (-1: none), key, value, headers."""


class Absent(Exception):
    """A peer that cannot be measured here, and why."""


class Peer(Protocol):
    """The interface of a measured reader or writer."""

    @property
    def name(self) -> str: ...

    @property
    def gives(self) -> Gives: ...

    @property
    def about(self) -> str:
        """One line: the release, and the measured part."""

    def reads(self, case: Case) -> bool:
        """Whether it can decode the case."""

    def writes(self, case: Case) -> bool:
        """Whether it can encode the case."""

    def read(self, data: bytes, loop: Loop) -> int:
        """Decode the log with its checksums, go through its records; how many there were. This is timed."""

    def rows(self, data: bytes) -> Iterator[Row]:
        """Its decoded values, for comparison."""

    def prepare(self, batches: list[list[kodec.Record]], case: Case) -> Callable[[], list[bytes]]:
        """A function that encodes the batches, its input already in the peer's own form. That is timed."""


def _nothing(records: Iterable[Any]) -> int:
    count = 0
    for _ in records:
        count += 1
    return count


def _key_and_value(records: Iterable[Any]) -> int:
    count = 0
    for record in records:
        record.key
        record.value
        count += 1
    return count


def _all_fields(records: Iterable[Any]) -> int:
    count = 0
    for record in records:
        record.offset
        record.timestamp
        record.key
        record.value
        record.headers
        count += 1
    return count


_LOOPS: dict[Loop, Any] = {"decode": _all_fields, "key-value": _key_and_value, "iterate": _nothing}


def _loops() -> dict[Loop, Callable[[Iterable[Any]], int]]:
    """The loops for one reader alone.

    CPython makes the loop's bytecode fit the classes that it meets: shared, it would fit no one's.
    """
    return {name: FunctionType(each.__code__.replace(), globals()) for name, each in _LOOPS.items()}


def _as_rows(records: Iterable[Any]) -> Iterator[Row]:
    for record in records:
        timestamp = -1 if record.timestamp is None else record.timestamp
        yield record.offset, timestamp, record.key, record.value, tuple(record.headers)


class _Objects:
    """kodec's records, through its front door."""

    name = "kodec"
    gives: Gives = "objects"
    about = f"kodec {kodec.__version__}, records of the native kernel"

    def __init__(self) -> None:
        self._loops = _loops()

    def reads(self, case: Case) -> bool:
        return True

    def writes(self, case: Case) -> bool:
        return False  # records are written by the pure path

    def read(self, data: bytes, loop: Loop) -> int:
        return self._loops[loop](kodec.read_records(data))

    def rows(self, data: bytes) -> Iterator[Row]:
        return _as_rows(kodec.read_records(data))

    def prepare(self, batches: list[list[kodec.Record]], case: Case) -> Callable[[], list[bytes]]:
        def encode() -> list[bytes]:
            return [
                kodec.encode(
                    batch,
                    magic=case.magic,
                    compression=case.codec,
                    batch_records=len(batch),
                    batch_bytes=_ROOMY,
                )
                for batch in batches
            ]

        return encode


@contextmanager
def _pure() -> Iterator[None]:
    """Inside, kodec is as under KODEC_PURE=1."""
    before = kernel.backend
    kernel.backend = lambda: "pure"
    try:
        yield
    finally:
        kernel.backend = before


class Pure(_Objects):
    """kodec's records, in pure Python."""

    name = "kodec-pure"
    about = f"kodec {kodec.__version__}, generated pure Python (KODEC_PURE=1)"

    def writes(self, case: Case) -> bool:
        return True

    def read(self, data: bytes, loop: Loop) -> int:
        with _pure():
            return super().read(data, loop)

    def rows(self, data: bytes) -> Iterator[Row]:
        with _pure():
            yield from list(super().rows(data))

    def prepare(self, batches: list[list[kodec.Record]], case: Case) -> Callable[[], list[bytes]]:
        encode = super().prepare(batches, case)

        def encode_pure() -> list[bytes]:
            with _pure():
                return encode()

        return encode_pure


class _Columns(_Objects):
    """kodec's tables: Arrow batches of all columns, each dropped when the next is asked for."""

    name = "kodec-columns"
    gives = "columns"
    about = f"kodec {kodec.__version__}, Arrow columns of the native kernel: no object is made"

    def writes(self, case: Case) -> bool:
        return True

    def read(self, data: bytes, loop: Loop) -> int:
        assert loop == "decode", "there is no record of which a field is read"
        return sum(batch.num_rows for batch in kodec.scan_table(data))

    def rows(self, data: bytes) -> Iterator[Row]:
        for batch in kodec.scan_table(data):
            plain = (
                batch["offset"].to_pylist(), batch["timestamp"].cast(pa.int64()).to_pylist(),
                batch["key"].to_pylist(), batch["value"].to_pylist(), batch["headers"].to_pylist(),
            )  # fmt: skip
            for offset, timestamp, key, value, headers in zip(*plain, strict=True):
                yield offset, timestamp, key, value, tuple((each["key"], each["value"]) for each in headers)

    def prepare(self, batches: list[list[kodec.Record]], case: Case) -> Callable[[], list[bytes]]:
        same = Case(case.workload, case.magic)
        table = kodec.read_table(b"".join(Pure().prepare(batches, same)()))
        size = len(batches[0])

        def encode() -> list[bytes]:
            return [
                kodec.encode_table(
                    table,
                    magic=case.magic,
                    compression=case.codec,
                    batch_records=size,
                    batch_bytes=_ROOMY_BATCH,
                )
            ]

        return encode


OWN = ("kodec-columns", "kodec", "kodec-pure")
"""kodec's own readers, the fastest first."""


def own() -> tuple[list[Peer], dict[str, str]]:
    """Those of OWN that can be had here, and why the others cannot."""
    if kernel.backend() == "native":
        return [_Columns(), _Objects(), Pure()], {}
    return [Pure()], dict.fromkeys(OWN[:2], "the native kernel is not built, or KODEC_PURE=1 is set")


@dataclass(frozen=True)
class _Classes:
    """A library's own classes, in the shape that kafka-python and aiokafka share.

    Attributes:
        batches: the batches of a log, in order.
        builder, legacy_builder: classes that build a v2 batch, and v0 and v1 messages.
    """

    name: str
    about: str
    batches: Callable[[bytes], Iterable[Any]]
    builder: Callable[..., Any]
    legacy_builder: Callable[..., Any]
    gives: Gives = "objects"
    loops: dict[Loop, Callable[[Iterable[Any]], int]] = field(default_factory=_loops)

    def reads(self, case: Case) -> bool:
        return True

    def writes(self, case: Case) -> bool:
        return True

    def read(self, data: bytes, loop: Loop) -> int:
        through = self.loops[loop]
        count = 0
        for batch in self.batches(data):
            if not batch.validate_crc():
                raise ValueError(f"{self.name}: wrong checksum")
            count += through(batch)
        return count

    def rows(self, data: bytes) -> Iterator[Row]:
        for batch in self.batches(data):
            yield from _as_rows(batch)

    def prepare(self, batches: list[list[kodec.Record]], case: Case) -> Callable[[], list[bytes]]:
        own = [
            [
                (index, row.timestamp if case.magic else None, row.key, row.value, list(row.headers))
                for index, row in enumerate(batch)
            ]
            for batch in batches
        ]
        code = _CODES[case.codec]

        def encode_v2() -> list[bytes]:
            made = []
            for batch in own:
                builder = self.builder(
                    magic=2, compression_type=code, is_transactional=False, producer_id=-1, producer_epoch=-1,
                    base_sequence=-1, batch_size=_ROOMY,
                )  # fmt: skip
                append = builder.append
                for offset, timestamp, key, value, headers in batch:
                    append(offset, timestamp, key, value, headers)
                made.append(builder.build())
            return made

        def encode_legacy() -> list[bytes]:
            made = []
            for batch in own:
                builder = self.legacy_builder(magic=case.magic, compression_type=code, batch_size=_ROOMY)
                append = builder.append
                for offset, timestamp, key, value, _ in batch:
                    append(offset, timestamp, key, value)
                made.append(builder.build())
            return made

        return encode_v2 if case.magic == 2 else encode_legacy


def _find(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Absent(f"not installed ({error})") from None


def _kafka_python() -> Peer:
    records = _find("kafka.record.memory_records")
    if _find("kafka.record.util").crc32c_c is None:
        raise Absent("it found no crc32c library, and would compute checksums in Python")
    return _Classes(
        "kafka-python", f"kafka-python {version('kafka-python')}, pure Python with the crc32c library",
        records.MemoryRecords, records.DefaultRecordBatchBuilder, records.LegacyRecordBatchBuilder,
    )  # fmt: skip


def _aiokafka() -> Peer:
    extension = _find("aiokafka.record._crecords")

    def batches(data: bytes) -> Iterator[Any]:
        records = extension.MemoryRecords(data)
        while records.has_next():
            yield records.next_batch()

    return _Classes(
        "aiokafka", f"aiokafka {version('aiokafka')}, Cython", batches,
        extension.DefaultRecordBatchBuilder, extension.LegacyRecordBatchBuilder,
    )  # fmt: skip


def _aiokafka_pure() -> Peer:
    _find("aiokafka")
    crc32c = _find("crc32c")
    # It settles on import whether to use its extension: a second copy of it is imported without.
    others = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "aiokafka"}
    before = os.environ.get("AIOKAFKA_NO_EXTENSIONS")
    os.environ["AIOKAFKA_NO_EXTENSIONS"] = "1"
    try:
        default: Any = importlib.import_module("aiokafka.record.default_records")
        legacy = importlib.import_module("aiokafka.record.legacy_records")
    finally:
        if before is None:
            del os.environ["AIOKAFKA_NO_EXTENSIONS"]
        else:
            os.environ["AIOKAFKA_NO_EXTENSIONS"] = before
        for name in [name for name in sys.modules if name.split(".")[0] == "aiokafka"]:
            del sys.modules[name]
        sys.modules.update(others)
    # Its own CRC-32C is a loop over bytes, which would hide what is measured.
    default.calc_crc32c = crc32c.crc32c

    def batches(data: bytes) -> Iterator[Any]:
        for start, stop, magic in _entries(data):
            view = memoryview(data)[start:stop]
            yield default.DefaultRecordBatch(view) if magic == 2 else legacy.LegacyRecordBatch(view, magic)

    return _Classes(
        "aiokafka-py", f"aiokafka {version('aiokafka')}, its Python classes with the crc32c library", batches,
        default.DefaultRecordBatchBuilder, legacy.LegacyRecordBatchBuilder,
    )  # fmt: skip


def _entries(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Start, end and magic of each entry of a log."""
    start = 0
    while start < len(data):
        _, size, _, magic = _ENTRY.unpack_from(data, start)
        yield start, start + 12 + size, magic
        start += 12 + size


class _Ksc:
    """The Python reader that the stock Kaitai Struct compiler generates from our schema."""

    name = "ksc"
    gives: Gives = "objects"

    def __init__(self, reader: Any, release: str) -> None:
        self._reader = reader
        self.about = f"Kaitai Struct's Python (runtime {release}) of the same schema; verifies no checksum"

    def reads(self, case: Case) -> bool:
        return case.magic == 2 and case.codec == "none"

    def writes(self, case: Case) -> bool:
        return False

    def read(self, data: bytes, loop: Loop) -> int:
        assert loop == "decode", "it makes all of a record at once"
        count = 0
        for start, stop, _ in _entries(data):
            batch = self._reader.from_bytes(data[start:stop])
            base_offset, base_timestamp = batch.base_offset, batch.base_timestamp
            for record in batch.records.entries:
                body = record.body
                base_offset + body.offset_delta.value
                base_timestamp + body.timestamp_delta.value
                body.key if body.len_key.value >= 0 else None
                body.value if body.len_value.value >= 0 else None
                body.headers
                count += 1
        return count

    def rows(self, data: bytes) -> Iterator[Row]:
        for start, stop, _ in _entries(data):
            batch = self._reader.from_bytes(data[start:stop])
            for record in batch.records.entries:
                body = record.body
                yield (
                    batch.base_offset + body.offset_delta.value,
                    batch.base_timestamp + body.timestamp_delta.value,
                    body.key if body.len_key.value >= 0 else None,
                    body.value if body.len_value.value >= 0 else None,
                    tuple(
                        (each.key, each.value if each.len_value.value >= 0 else None) for each in body.headers
                    ),
                )

    def prepare(self, batches: list[list[kodec.Record]], case: Case) -> Callable[[], list[bytes]]:
        raise NotImplementedError("Kaitai Struct's Python readers do not write")


def _ksc() -> Peer:
    _find("kaitaistruct")
    path = ROOT / "tests" / "ksc" / "oracle.py"
    spec = importlib.util.spec_from_file_location("benchmarks_ksc_oracle", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise Absent("needs the clone's tests/ksc")
    oracle = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = oracle
    try:
        spec.loader.exec_module(oracle)
        reader = oracle.reader("record_batch")
    except Exception as error:
        raise Absent(f"its readers cannot be made here ({type(error).__name__})") from None
    return _Ksc(reader, version("kaitaistruct"))


def _java() -> Peer:
    try:
        return java.KafkaClients()
    except java.Absent as reason:
        raise Absent(str(reason)) from None


PEERS: dict[str, Callable[[], Peer]] = {
    "kafka-python": _kafka_python, "aiokafka": _aiokafka, "aiokafka-py": _aiokafka_pure, "ksc": _ksc,
    "java": _java,
}  # fmt: skip


def load(names: Iterable[str]) -> tuple[list[Peer], dict[str, str]]:
    """The peers with these names that can be had here, and why the others cannot."""
    found: list[Peer] = []
    absent = {}
    for name in names:
        try:
            found.append(PEERS[name]())
        except Absent as reason:
            absent[name] = str(reason)
    return found, absent
