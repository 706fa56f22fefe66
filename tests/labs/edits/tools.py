"""What the cases of the lab are written with."""

from __future__ import annotations

import gzip
import os
import shlex
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

from tests.labs.edits.case import needs, shell

__all__ = ["changed", "code", "made_by", "put", "python", "wheel"]

JUDGE_PYTHON = os.environ.get("EDITS_PYTHON", sys.executable)
"""The Python that has the readers which judge: mido, dnspython, olefile, ..."""


def put(data: Callable[[], bytes], *tools: str) -> Callable[[Path], None]:
    """Makes a sample of bytes that a function gives."""

    def make(file: Path) -> None:
        needs(*tools)
        file.write_bytes(data())

    return make


def python(code: str) -> str:
    """A command in Python, with the file's name as `f`."""
    return f"{JUDGE_PYTHON} -c {shlex.quote(f'import sys; f = sys.argv[1]; {code}')} {{}}"


def made_by(code: str) -> Callable[[Path], None]:
    """Makes a sample by Python code."""
    return shell(python(code))


def wheel(name: str, platform: str, suffix: str, *tools: str) -> Callable[[Path], None]:
    """Makes a sample of the first file of a suffix in a wheel from PyPI."""

    def make(file: Path) -> None:
        platforms = f"--platform {platform} --python-version 3.12 --only-binary=:all: --no-deps"
        shell(f"{JUDGE_PYTHON} -m pip -q download {platforms} {name}", *tools)(file)
        with zipfile.ZipFile(next(file.parent.glob("*.whl"))) as found:
            file.write_bytes(found.read(next(each for each in found.namelist() if each.endswith(suffix))))

    return make


def changed(path: str, value: Any) -> Callable[[Any, Any], None]:
    """Sets what a path leads to: `a.b[0].c`, the last part an attribute."""

    def change(module: Any, x: Any) -> None:
        owner, _, name = path.rpartition(".")
        target = eval(f"x.{owner}" if owner else "x", {"x": x})  # the paths below
        setattr(target, name, value(getattr(target, name)) if callable(value) else value)

    return change


def code(text: str) -> Callable[[Any, Any], None]:
    """Runs lines, in which `x` is the object and `m` its module."""

    def change(module: Any, x: Any) -> Any:
        names = {"x": x, "m": module, "copy": copy, "zlib": zlib, "gzip": gzip, "struct": struct}
        exec(text, names)  # the lines below
        return names["x"]

    return change
