"""Anybody's schema: generated once into a cache, and files of its format read as Arrow columns."""
