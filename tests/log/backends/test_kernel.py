"""Which backend is chosen, and that nothing is imported before it is needed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kodec.generated import kernels
from kodec.log import kernel


def run(code: str, **environment: str) -> str:
    given = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=given, check=True)
    return done.stdout.strip()


def test_pyarrow_is_imported_only_where_it_is_needed() -> None:
    assert run("import kodec, sys; print('pyarrow' in sys.modules)") == "False"
    calls = ["scan_table(b'')", "read_table(b'')", "read_batch_table(b'')", "encode_table(None)"]
    for call in calls:
        code = f"""
import sys
sys.modules["pyarrow"] = None
import kodec
try:
    kodec.{call}
except kodec.errors.MissingDependency as error:
    print(error, error.name)
"""
        assert re.fullmatch(r"tables need `pyarrow`: pip install 'pyarrow>=\d+' pyarrow", run(code))


def test_the_environment_chooses_pure() -> None:
    assert run("import kodec; print(kodec.backend())", KODEC_PURE="1") == "pure"


def test_a_kernel_that_does_not_import_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.delenv("KODEC_PURE", raising=False)
    (tmp_path / "broken_kernel.py").write_text("raise ImportError('built for another machine')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(kernel, "KERNELS", ("broken_kernel",))
    choose = kernel.backend.__wrapped__
    with pytest.raises(ImportError, match="another machine"):
        choose()
    monkeypatch.setenv("KODEC_PURE", "1")
    assert choose() == "pure"
    monkeypatch.delenv("KODEC_PURE")
    monkeypatch.setattr(kernel, "KERNELS", ("no_such_package.kernel",))
    assert choose() == "pure"
    assert not kernel.is_built()


def test_a_kernel_that_is_older_than_its_schema_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernel.is_built():
        pytest.skip("no native kernel")
    monkeypatch.delenv("KODEC_PURE", raising=False)
    choose = kernel.backend.__wrapped__
    assert choose() == "native"
    monkeypatch.setitem(kernels.SOURCES, "message_set", "0123456789abcdef")
    with pytest.raises(ImportError, match=r"kernel `message_set` is older than its schema: .*`make setup`"):
        choose()
    monkeypatch.setenv("KODEC_PURE", "1")
    assert choose() == "pure"
