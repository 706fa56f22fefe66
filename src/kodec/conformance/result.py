"""The result of one check of one vector."""

from __future__ import annotations

from dataclasses import dataclass

from kodec.conformance.suite import Vector

__all__ = ["BROKEN", "Result"]

BROKEN = ("crashed", "hung", "memory", "protocol")
"""Outcomes without an answer."""


@dataclass(frozen=True, slots=True)
class Result:
    """One check of one vector.

    Attributes:
        outcome: passed, failed, unsupported, known, or one of `BROKEN`.
        text: the failure, or the reason of a known failure.
    """

    vector: Vector
    check: str
    outcome: str
    text: str = ""
