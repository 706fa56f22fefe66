"""Recovers logs after an unclean shutdown, like a starting broker, and salvages damaged ones."""
