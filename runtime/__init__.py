"""The small hand-written base of the generated modules: varints, checksums, codecs, errors."""
