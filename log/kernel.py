"""The one place that chooses between the native kernel and pure Python."""

from __future__ import annotations

import importlib
import importlib.util
import os
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from kodec.log.tables.scan import Tables

__all__ = ["Backend", "backend", "is_built", "tables"]

Backend = Literal["native", "pure"]

_KERNEL = "kodec.generated.kernels.record_batch"


@cache
def backend() -> Backend:
    """What reads and writes tables: `native`, or `pure` where the kernel was not built.

    Chosen once, when it is first needed. `KODEC_PURE=1` in the environment chooses `pure`.
    Raises: ImportError where the kernel was built and cannot be imported.
    """
    if os.environ.get("KODEC_PURE") == "1" or not is_built():
        return "pure"
    importlib.import_module(_KERNEL)
    return "native"


def is_built() -> bool:
    """Whether there is a compiled kernel, which may yet fail to import."""
    try:
        return importlib.util.find_spec(_KERNEL) is not None
    except ModuleNotFoundError:
        return False


def tables() -> Tables:
    """The functions that make and take tables, of the backend that was chosen."""
    if backend() == "native":
        from kodec.log.tables import native_table

        return native_table
    from kodec.log.tables import pure_table

    return pure_table
