"""Schemas that are supplied at run time: files as columns, as objects, and as plain values."""

from kodec.formats.schema import Format, FormatReader, load_schema, objects_of
from kodec.formats.several import FileProblem, FilesReader, scan_files

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


def __getattr__(name: str) -> object:
    if name == "write_rows":
        # pyarrow takes a while to import
        from kodec.formats.output import write_rows

        return write_rows
    raise AttributeError(name)
