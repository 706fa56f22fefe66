"""A file that is cut while it is read is an error, and no end of the process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import kodec
from kodec.runtime.native import native_module
from tests.golden import Golden

SCHEMA = (
    "{meta: {id: x, endian: be}, seq: [{id: rows, type: row, repeat: eos}], "
    "types: {row: {seq: [{id: n, type: u4}, {id: rest, size: 60}]}}}"
)
ROWS = 100_000
SCRIPT = """
    import os, sys
    import kodec
    from kodec.formats import schema as schemas

    schemas.MAPPED_BYTES = 100
    format = kodec.formats.load_schema(sys.argv[1])
    if sys.argv[4] == "read":
        # cut by another hand after it was mapped
        mapped = schemas._Mapped.of
        def cut(*given):
            found = mapped(*given)
            os.truncate(sys.argv[2], int(sys.argv[3]))
            return found
        schemas._Mapped.of = cut
        found = lambda: format.read(sys.argv[2])
    else:
        reader = format.scan(sys.argv[2], batch_rows=1000)
        assert next(reader)["n"][0].as_py() == 0
        os.truncate(sys.argv[2], int(sys.argv[3]))
        found = lambda: sum(batch.num_rows for batch in reader)
    try:
        print("rows", found())
    except kodec.errors.ReadFailed as error:
        print(error)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "x.ksy").write_text(SCHEMA)
    data = tmp_path / "data"
    data.write_bytes(b"".join(n.to_bytes(4, "big") + bytes(60) for n in range(ROWS)))
    return data


# in the middle of a page, where zeros stand behind the end; of a row; at the begin; and after what was read
@pytest.mark.parametrize("size", [0, 4096, 3_000_000, 3_000_032, 64 * (ROWS - 1)])
@pytest.mark.parametrize("pure", ["", "1"])
def test_a_scan_of_a_file_that_is_cut(size: int, pure: str, file: Path, golden: Golden) -> None:
    done = run(file, size, "scan", pure)
    if pure or native_module("mapping") is None:
        # nothing is mapped: all was read before
        assert done == f"rows {ROWS - 1_000}"
    else:
        assert str(file) in done
        golden(done)


@pytest.mark.skipif(native_module("mapping") is None, reason="the native part was not built")
def test_an_object_of_a_file_that_is_cut(file: Path, golden: Golden) -> None:
    golden(run(file, 5_000, "read", ""))


def run(file: Path, size: int, door: str, pure: str) -> str:
    words = [sys.executable, "-c", textwrap.dedent(SCRIPT), file.with_name("x.ksy"), file, str(size), door]
    environment = os.environ | ({"KODEC_PURE": pure} if pure else {})
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout.strip()


def test_mappings_are_forgotten(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are places for 256 of them at once."""
    monkeypatch.setattr(kodec.formats.schema, "MAPPED_BYTES", 100)
    format = kodec.formats.load_schema(file.with_name("x.ksy"))
    for _ in range(600):
        assert next(format.scan(file, batch_rows=1))["n"][0].as_py() == 0


@pytest.mark.skipif(native_module("mapping") is None, reason="the native part was not built")
def test_other_faults_still_end_the_process(tmp_path: Path) -> None:
    """The signal of a mapping that is not kodec's goes to whoever had it before."""
    script = """
        import mmap, os, sys
        from kodec.runtime.native import native_module
        file = open(sys.argv[1], "w+b")
        file.write(bytes(1 << 16)); file.flush()
        own, other = (mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) for _ in range(2))
        guard = native_module("mapping")
        number = guard.guard(own)
        file.truncate(0)
        assert own[5000] == 0 and guard.is_cut(number)
        other[5000]
    """
    words = [sys.executable, "-c", textwrap.dedent(script), tmp_path / "file"]
    done = subprocess.run(words, capture_output=True, check=False)
    assert done.returncode < 0
