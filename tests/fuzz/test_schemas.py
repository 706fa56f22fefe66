"""Some seconds of what `make fuzz` does with schemas: they agree with ksc, and a fault is found."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kodec.runtime.errors import Malformed
from kodec.runtime.streams import ByteSource
from tests.foreign import compare
from tests.fuzz import grammar, schemas

pytestmark = pytest.mark.thorough


def test_made_schemas_are_mostly_taken_and_agree_with_ksc(tmp_path: Path) -> None:
    counts = schemas.run(120, 4000, tmp_path, [], most=30)
    assert schemas.findings(counts) == 0, counts
    assert sum(counts.values()) == 30
    made = {what: count for what, count in counts.items() if what.startswith("made: ")}
    assert made["made: taken and compared"] * 2 > sum(made.values())


def test_a_reader_that_is_wrong_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ByteSource, "bits_be", lambda self, width, name: self.u1(name) & 1)
    monkeypatch.setattr(ByteSource, "bits_le", lambda self, width, name: self.u1(name) & 1)
    counts = schemas.run(120, 4000, tmp_path, [], most=30)
    assert counts["made: wrong"] > 0
    assert len(list(tmp_path.glob("*.ksy"))) == schemas.findings(counts)


def test_a_seed_gives_the_same_schema_again() -> None:
    first, second = (grammar.made(random.Random(7), "x") for _ in range(2))
    assert first == second != grammar.made(random.Random(8), "x")


def test_half_an_instance_is_forgotten_and_nothing_else() -> None:
    class Stock:
        """What ksc makes of an instance that is a list."""

        def __init__(self) -> None:
            self._m_kept = [1]

        @property
        def half(self) -> list[int]:
            if not hasattr(self, "_m_half"):
                self._m_half = [1]
                raise EOFError
            return self._m_half

        @property
        def asks(self) -> int:
            return self.half[0]

    stock = Stock()
    for name in ("asks", "half"):
        with pytest.raises(EOFError) as caught:
            getattr(stock, name)
        compare._forget_halves(caught.value)
        assert vars(stock) == {"_m_kept": [1]}

    class Ours:
        """What we make of it: nothing is kept of what failed."""

        __slots__ = ()

        @property
        def half(self) -> list[int]:
            raise EOFError

    with pytest.raises(EOFError) as caught:
        Ours().half  # noqa: B018  # it fails
    compare._forget_halves(caught.value)


def test_an_absent_instance_that_an_expression_needs_is_known_and_nothing_else() -> None:
    class Stock:
        """What ksc makes of instances, of which one is absent."""

        plain = None
        absent = property(lambda self: None)
        there = property(lambda self: 0)

    for name, reason, known in (
        ("absent", compare.ABSENT, True),
        ("there", compare.ABSENT, False),
        ("plain", compare.ABSENT, False),
        ("absent", "an expression divides by 0", False),
    ):
        assert compare._absent(Malformed(name, reason, at=0), Stock()) is known
