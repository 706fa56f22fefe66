"""Logs as Arrow tables and tables as logs, by the kernels or in pure Python."""
