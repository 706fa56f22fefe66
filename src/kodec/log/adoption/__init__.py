"""Prepares a log directory that was written without a broker for one."""
