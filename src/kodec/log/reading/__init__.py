"""A log from start to end: bytes by position, batches one after another, damage skipped."""
