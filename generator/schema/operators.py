"""Operators of other languages, which people write into expressions, and what they are called here."""

from __future__ import annotations

__all__ = ["OPERATORS", "WORDS"]

OPERATORS = {
    "&&": "did you mean `and`?",
    "||": "did you mean `or`?",
    "!": "did you mean `not`?",
    "===": "did you mean `==`?",
    "!==": "did you mean `!=`?",
    "=": "did you mean `==`?",
    "<>": "did you mean `!=`?",
    "**": "there is no power; `1 << n` is 2 to the power of n",
    "//": "did you mean `/`? It divides whole numbers",
}
"""Operators of other languages, and what they are called here."""
WORDS = {
    "AND": "did you mean `and`?",
    "OR": "did you mean `or`?",
    "NOT": "did you mean `not`?",
    "xor": "did you mean `^`?",
    "mod": "did you mean `%`?",
    "div": "did you mean `/`?",
}
"""Words of other languages that stand between values."""
