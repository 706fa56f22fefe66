"""Schemas: from .ksy files to the model, which says what they say and nothing of any target language."""
