"""Python modules, with readers, writers and rows, and the tests of their contract.

The target is in `target.py`: the names of generated modules are needed without it.
"""
