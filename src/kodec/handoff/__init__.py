"""Packs schemas for teams that use other languages: a folder or archive with all generated files."""

from kodec.handoff.kit import Kit, make_kit, write_folder, write_zip

__all__ = ["Kit", "make_kit", "write_folder", "write_zip"]
