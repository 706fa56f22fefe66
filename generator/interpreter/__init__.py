"""The plan itself, written step by step: the reference for what printed writers do."""
