"""A file for each verb: its arguments, one call, its printing."""
