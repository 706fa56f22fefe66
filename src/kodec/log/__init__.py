"""Files in, batches and records out."""
