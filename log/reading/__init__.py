"""A log from end to end: bytes by position, entries one after another, damage passed over."""
