"""Schemas packed for teams that write other languages: a folder or archive with all that is made of them."""

from kodec.handoff.kit import Kit, make_kit, write_folder, write_zip

__all__ = ["Kit", "make_kit", "write_folder", "write_zip"]
