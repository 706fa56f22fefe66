"""Schemas: from .ksy files to the model, which shows what they say and nothing of any target language."""
