"""Logs that were not closed in order: what a broker does to them when it starts."""
