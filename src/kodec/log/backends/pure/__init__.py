"""Decoders and encoders in pure Python: they run everywhere, and say what is wrong where something is."""
