"""Decoders and encoders by the native kernels; what those do not do is done in pure Python."""
