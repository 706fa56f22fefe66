"""Objects and columns of any schema, natively and under sanitizers: `python streams.py`.

The tests that compare the native reader with Python, over cut and changed bytes, run with the native module
built with address and undefined-behaviour sanitizers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import sanitized

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("tests/formats/test_filling.py", "tests/generator/test_native_streams.py")


def main() -> int:
    paths = [str(ROOT / each) for each in TESTS]
    options = ["-q", "-p", "sanitized", "-p", "no:cacheprovider", "-n", "0", "-m", "not thorough"]
    return sanitized.run("streams", ["-m", "pytest", *options, *paths])


if __name__ == "__main__":
    sys.exit(main())
