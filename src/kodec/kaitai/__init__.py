"""Spark's data source `kaitai`: the rows of files of any format that a schema describes."""

from typing import TYPE_CHECKING

from kodec.runtime.errors import MissingDependency
from kodec.runtime.extras import install_command

if TYPE_CHECKING:
    from kodec.kaitai.source import KaitaiDataSource, register

__all__ = ["KaitaiDataSource", "register"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)
    try:
        from kodec.kaitai import source
    except ImportError as error:
        raise MissingDependency(
            f"the source `kaitai` needs `{error.name}`: {install_command('spark', 'generator')}"
        ) from error
    return getattr(source, name)
