"""Rows as Arrow columns by the C library, and back, next to those of kodec itself and of real logs."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import kodec
from kodec.generator.driver import generate
from tests.data import DATA, ROOT

from . import c_testee
from .compilers import is_here

LOGS = sorted((DATA).glob("kafka-*/logs/*/*.log"))
KERNELS = ("record_batch", "message_set")
PARTS = ("kodec_*.c", "columns_*.c", "log_log_segment.c", "log_record*.c", "log_message*.c")

pytestmark = [
    pytest.mark.languages,
    pytest.mark.skipif(not is_here("cc"), reason="no C compiler here"),
    pytest.mark.xdist_group("c"),
]


class Buffer(ctypes.Structure):
    """kodec_buffer."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("room", ctypes.c_size_t))


class Options(ctypes.Structure):
    """kodec_columns_options."""

    _fields_ = (
        ("columns", ctypes.c_void_p),
        ("most_rows", ctypes.c_size_t),
        ("most_bytes", ctypes.c_size_t),
        ("ignore_checksums", ctypes.c_bool),
        ("everything", ctypes.c_bool),
        ("most_elements", ctypes.c_size_t),
        ("most_decompressed", ctypes.c_size_t),
    )


class Library:
    """The functions for record batches."""

    def __init__(self, path: Path) -> None:
        self.c = ctypes.CDLL(str(path))
        self.c.kodec_buffer_free.restype = None
        self.error = ctypes.create_string_buffer(4096)

    def read(self, data: bytes, **options: int) -> tuple[int, int, pa.RecordBatch]:
        """(code, where it stopped, the rows before)."""
        schema, array = ctypes.create_string_buffer(256), ctypes.create_string_buffer(256)
        used = ctypes.c_size_t()
        code = self.c.kodec_record_batch_columns_read(
            data, len(data), ctypes.byref(Options(**options)), schema, array, ctypes.byref(used), self.error
        )
        found = pa.RecordBatch._import_from_c(ctypes.addressof(array), ctypes.addressof(schema))
        return code, used.value, found

    def write(self, like: bytes, codec: int, rows: pa.RecordBatch) -> bytes:
        """The rows as one batch whose head is that of another one, but for the codec."""
        schema, array = ctypes.create_string_buffer(256), ctypes.create_string_buffer(256)
        rows._export_to_c(ctypes.addressof(array), ctypes.addressof(schema))
        out = Buffer()
        code = self.c.rewrite(
            *(like, ctypes.c_size_t(len(like)), codec, schema, array),
            *(ctypes.c_int64(rows.num_rows), ctypes.byref(out), self.error),
        )
        pa.RecordBatch._import_from_c(ctypes.addressof(array), ctypes.addressof(schema))
        assert code == 0, self.error.raw[:700]
        found = ctypes.string_at(out.data, out.size)
        self.c.kodec_buffer_free(ctypes.byref(out))
        return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library's sources are."""
    folder = tmp_path_factory.mktemp("c")
    generate(ROOT / "schemas", folder, targets=["c", "native"], kernels=KERNELS)
    return folder


def compiled(folder: Path, name: str, own: str, *flags: str) -> Path:
    """What is made of the library's sources for logs, and one of ours."""
    sources = sorted({str(path) for part in PARTS for path in (folder / "c" / "src").glob(part)})
    includes = [f"-I{each}" for each in (folder / "c" / "include", folder / "c" / "src", folder / "kernels")]
    command = [
        *("cc", *c_testee.WARNINGS, *c_testee.CODECS, *flags, *includes, *sources, str(c_testee.HERE / own)),
        *("-o", str(folder / name), *c_testee.LIBRARIES),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder / name


@pytest.fixture(scope="module")
def library(folder: Path) -> Library:
    return Library(compiled(folder, "kodec.so", "columns.c", "-O1", "-g0", "-shared", "-fPIC"))


def test_changed_bytes_are_an_error_and_nothing_else(folder: Path) -> None:
    program = compiled(folder, "mutated", "mutated.c", *c_testee.SANITIZED)
    done = subprocess.run([program, *LOGS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]


def of_format_2() -> Iterator[Path]:
    for path in LOGS:
        head = path.read_bytes()[:17]
        if len(head) == 17 and head[16] == 2:
            yield path


def test_real_logs_have_the_same_columns(library: Library) -> None:
    seen = 0
    for path in of_format_2():
        data = path.read_bytes()
        wanted = kodec.read_table(data)
        code, used, found = library.read(data)
        assert (code, used) == (0, len(data)), (path, library.error.raw[:100])
        table = pa.Table.from_batches([found])
        assert table.num_rows == wanted.num_rows, path
        for name in table.column_names:
            assert table[name].to_pylist() == wanted[name].to_pylist(), (path, name)
        seen += 1
    assert seen > 5


def test_rows_that_are_written_are_read_back_by_kodec(library: Library) -> None:
    seen = same = 0
    for path in of_format_2():
        data = path.read_bytes()
        batch = next(iter(kodec.read_batches(data)))
        first = data[: batch.position + batch.size]
        code, _, rows = library.read(first)
        assert code == 0
        if not rows.num_rows:
            continue
        for codec in range(5):
            written = library.write(first, codec, rows)
            (again,) = kodec.read_batches(written)
            assert [each.value for each in again.records()] == rows["value"].to_pylist()
            assert [each.offset for each in again.records()] == rows["offset"].to_pylist()
            # an append time takes the place of what the records' own deltas were
            if codec == 0 and batch.codec == "none" and set(rows["timestamp_type"].to_pylist()) == {0}:
                assert written == first, path
                same += 1
            seen += 1
    assert seen > 20 and same > 5


def test_what_is_wrong_is_said_as_by_the_careful_reader(library: Library) -> None:
    path = next(of_format_2())
    data = path.read_bytes()
    batches = list(kodec.read_batches(data))
    last = batches[-1].position
    code, used, rows = library.read(data[:-1])
    assert (code, used) == (1, last)
    assert rows.num_rows == library.read(data[:last])[2].num_rows
    changed = bytearray(data)
    changed[last + 61] ^= 1
    assert library.read(bytes(changed))[:2] == (3, last)
    assert library.error.raw[4:8] == b"crc\0"
    assert library.read(bytes(changed), ignore_checksums=True)[0] != 3
