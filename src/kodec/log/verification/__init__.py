"""Logs checked (`verify`), and summed up (`survey`); reads only."""
