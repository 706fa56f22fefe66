"""Logs made smaller as a broker does it: retention by offset, size and time; compaction by key."""
