"""Logs as lines that a script can change, and back."""
