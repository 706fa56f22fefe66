"""Reads and writes single batches of a log, in any format, and their records."""
