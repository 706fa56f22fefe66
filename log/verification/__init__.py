"""Logs checked against themselves, and at a glance; reads only."""
