"""Reduces logs as a broker does: retention by offset, size and time; compaction by key."""
