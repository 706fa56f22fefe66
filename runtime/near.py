"""What somebody may have meant who typed a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["meant"]

# how much less alike than the nearest another word may be
_AS_GOOD = 0.03


def meant(word: object, words: Iterable[str], then: str = "") -> str:
    """`; did you mean offset?`, with the nearest word, or several that are as near; empty where none is.

    Args: word is what was typed; words are the names that exist; then is a further part of the sentence.
    """
    from difflib import SequenceMatcher, get_close_matches

    typed = str(word).lower()
    known = {each.lower(): each for each in words}
    parts = [part.strip() for part in typed.split(",")]
    if len(parts) > 1 and known.keys() >= set(parts):
        return f"; name each by itself: {', '.join(known[part] for part in parts)}"
    near = get_close_matches(typed, known) if len(typed) < 200 else []
    alike = {each: SequenceMatcher(None, typed, each).ratio() for each in near}
    best = [known[each] for each in near if alike[each] > alike[near[0]] - _AS_GOOD]
    if best:
        return f"; did you mean {' or '.join(best)}?" + (f" {then[0].upper()}{then[1:]}" if then else "")
    return f"; {then}" if then else ""
