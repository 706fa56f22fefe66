"""Any schema: generates it once into a cache, and reads files of its format as Arrow columns."""

from kodec.formats.schema import Format, FormatReader, load_schema

__all__ = ["Format", "FormatReader", "load_schema"]
