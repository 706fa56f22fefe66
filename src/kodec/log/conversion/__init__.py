"""Converts logs to another message format or codec."""
