"""Decoders and encoders based on native kernels; the rest is left to pure Python."""
