"""Cells of CSV that a spreadsheet would compute: text that begins as a formula does."""

from __future__ import annotations

import re

__all__ = ["FORMULA", "GUARDED", "guarded"]

FORMULA = r"\A([=+\-@\t\r])"
"""What a spreadsheet takes as the begin of a formula, for `re` and for Arrow."""
GUARDED = r"'\1"
"""What stands there instead: the spreadsheet then shows the text."""
_FORMULA = re.compile(FORMULA)


def guarded(text: str) -> str:
    """The text; with an apostrophe before what a spreadsheet takes as a formula."""
    return _FORMULA.sub(GUARDED, text, count=1)
