"""Reads logs from start to end: bytes by position, consecutive batches, damage skipped."""
