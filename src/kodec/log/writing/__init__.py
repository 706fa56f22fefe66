"""Writes segments, partitions and log directories as a broker does."""
