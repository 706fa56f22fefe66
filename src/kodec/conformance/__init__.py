"""A suite of test vectors, run against a program in any language: docs/conformance.md.

It knows no format: vectors say what bytes and values are, a testee says what it makes of them.
"""
