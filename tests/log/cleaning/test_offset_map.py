"""The map from keys to their last offsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kodec
from kodec.log.cleaning.offset_map import OffsetMap

# -- the map ------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.binary(max_size=2), st.booleans()), max_size=60),
    st.integers(400, 3000),
    st.integers(0, 5),
)
def test_the_map_is_a_dict_that_fills_up(keys: list[tuple[bytes, bool]], memory: int, start: int) -> None:
    found = OffsetMap(memory, start, start + len(keys))
    assert 24 * found.slots + 2 * ((len(keys) + 7) // 8) <= memory
    model: dict[bytes, int] = {}
    records = [
        kodec.Record(offset=start + number, key=key, value=b"" if value else None)
        for number, (key, value) in enumerate(keys)
    ]
    end = len(records)
    for number, record in enumerate(records):
        if not found.add([(record.key, record.offset, record.value is None)]):
            assert record.key not in model
            assert len(model) == found.capacity
            end = number
            break
        assert record.key is not None
        model[record.key] = record.offset
    assert found.size == len(model)
    for key in {key for key, _ in keys} | {b"never"}:
        assert found.get(key) == model.get(key, -1)
    for record in records[:end]:
        assert record.key is not None
        assert found.is_newest(record.key, record.offset) == (model[record.key] == record.offset)
    for first, record in enumerate(records[:end]):
        for last in range(first, end):
            span = records[first : last + 1]
            newest = [each for each in span if model[each.key or b""] == each.offset]
            told = found.staying(record.offset, records[last].offset, len(span))
            assert told is None or told == len(newest) == len(span) or (told, newest) == (0, [])
            if told:
                assert None not in [each.value for each in span]


def test_the_map_has_bounds() -> None:
    with pytest.raises(ValueError, match="no room"):
        OffsetMap(40)
    with pytest.raises(ValueError, match="load_factor"):
        OffsetMap(1000, load_factor=1.5)
    assert OffsetMap(1 << 20, 0, 1 << 40).slots >= (1 << 20) * 3 // 4 // 24 - 100
    assert OffsetMap(1 << 30, 5, 500).slots < 1200
