"""Logs converted: another message format, another codec."""
