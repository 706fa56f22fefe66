"""A log from end to end: bytes by position, batches one after another, damage passed over."""
