"""Writes logs as lines that a script can change, and reads them back."""
