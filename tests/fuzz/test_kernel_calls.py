"""The classes of the kernels hold whatever is called in whatever order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kodec

pytestmark = pytest.mark.skipif(kodec.backend() != "native", reason="the native kernel is not built")


@pytest.mark.thorough
def test_calls_in_any_order() -> None:
    script = Path(__file__).with_name("kernel_calls.py")
    done = subprocess.run(
        [sys.executable, str(script), "--examples", "40"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
