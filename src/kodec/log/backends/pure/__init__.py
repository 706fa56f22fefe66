"""Decoders and encoders in pure Python: they run everywhere and raise all errors."""
