"""Logs that were not closed cleanly: what a broker does to them when it starts."""
