"""A module for each verb: its arguments, one call, its output."""
