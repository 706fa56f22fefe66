"""The vectors of a type, from a document of vectors."""

from __future__ import annotations

from typing import Any


def right(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Those whose bytes hold a value, and are what that is written as; without those that have arguments."""
    return [
        each
        for each in document["vectors"]
        if each["type"] == name and each.get("encodes") == "same" and "arguments" not in each
    ]


def with_bytes(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Those with bytes, right or wrong."""
    return [each for each in document["vectors"] if each["type"] == name and "bytes" in each]
