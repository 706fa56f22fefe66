"""Runs a suite of test vectors against a program in any language: docs/conformance.md.

It is independent of formats: vectors have bytes and their values, a testee returns its results.
"""
