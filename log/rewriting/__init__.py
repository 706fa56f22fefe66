"""Logs made smaller or other: retention, compaction, conversion."""
