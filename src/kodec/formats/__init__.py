"""Anybody's schema: generated once into a cache, and files of its format read as Arrow columns."""

from kodec.formats.schema import Format, FormatReader, load_schema

__all__ = ["Format", "FormatReader", "load_schema"]
