"""Broker state from the files alone: offsets, groups, transactions, metadata."""
