"""The plan itself, run step by step: the reference for what printed readers and writers do with bytes."""
