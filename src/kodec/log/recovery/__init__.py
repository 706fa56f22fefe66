"""Logs that were not shut down cleanly: what a starting broker does to them; and salvage."""
