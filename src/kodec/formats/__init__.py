"""Schemas that are supplied at run time: files as columns, as objects, and as plain values."""

from typing import TYPE_CHECKING

from kodec.formats.schema import Format, FormatReader, load_schema, objects_of
from kodec.formats.several import FileProblem, FilesReader, scan_files
from kodec.runtime.public import publish, published

__all__ = [
    "FileProblem",
    "FilesReader",
    "Format",
    "FormatReader",
    "load_schema",
    "objects_of",
    "scan_files",
    "write_rows",
]


if TYPE_CHECKING:
    from kodec.formats.output import write_rows
else:
    _unknown, __dir__ = publish(__name__, globals())

    def __getattr__(name: str) -> object:
        if name == "write_rows":
            # pyarrow takes a while to import
            from kodec.formats.output import write_rows

            return published(write_rows, __name__)
        return _unknown(name)
