"""A part of what `make fuzz` does for longer: texts of others are read, or refused by an error of kodec's."""

from __future__ import annotations

import random

import pytest

from . import foreign_texts

NAMES = [
    *(
        "backup manifest",
        "backup manifest, stored",
        "tier manifest",
        "offsets",
        "leader epochs",
        "offset ranges",
    ),
    *("partition metadata", "meta.properties", "clean shutdown", "quorum state", "proto", "avro", "json"),
    *("registry", "schema topic", "language server", "definition", "jar", "vectors", "testee", "kit"),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, foreign_texts.Target]:
    return dict(foreign_texts.targets(tmp_path_factory.mktemp("foreign")))


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_text_is_read_or_refused(name: str, found: dict[str, foreign_texts.Target]) -> None:
    assert sorted(found) == sorted(NAMES)
    target = found[name]
    for seed in target.seeds:
        target.read(seed)
    read, refused, wrong = foreign_texts.tried(target, random.Random(name), lambda count: count >= 200)
    assert wrong is None, repr(wrong)
    assert read + refused == 200


def test_an_error_of_another_kind_is_caught() -> None:
    """The fuzzing itself is tried."""

    def broken(data: bytes) -> int:
        return int(float(data))

    target = foreign_texts.Target([b"1"], broken, (ValueError,))
    assert foreign_texts.tried(target, random.Random(1), lambda count: count >= 2_000)[2] is not None
