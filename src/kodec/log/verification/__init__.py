"""Verifies logs (`verify`) and summarizes them (`survey`); read only."""
