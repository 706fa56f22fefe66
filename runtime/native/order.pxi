# Whether units follow one another in order, by their heads alone. Part of bindings.pyx.

cdef int64_t loaded(const uint8_t *p, int size) noexcept nogil:
    """The signed big-endian number of `size` bytes."""
    cdef uint64_t value = 0
    cdef int i
    for i in range(size):
        value = value << 8 | p[i]
    if size < 8 and value >> (8 * size - 1):
        value |= ~<uint64_t>0 << (8 * size)
    return <int64_t>value


cdef bint within(size_t at, size_t size, size_t least) noexcept nogil:
    """Whether a number of `size` bytes lies within the least size of a unit."""
    return size <= least and at <= least - size


def in_order(data, size_t pos, size_t end, layout, int64_t last, int64_t most, bint gaps):
    """How far the units in `data[pos:end]` are complete and their numbers ascend.

    Args:
        layout: where a unit has its first number (8 bytes), its length (4) and the number added to that, its
            kind (1), and the least size of a unit. Then, for units that hold a range of numbers: their kind, where
            the difference to the last number (4) and the count (4) are, and the least size of such a unit. Units
            of lower kinds hold one number each.
        last, most: numbers are above `last` and not above `most`.
        gaps: whether numbers may be missing between units. If some are, a unit is accepted only if the next one
            starts within the data and has a greater number.

    Raises ValueError if a number of the layout is not within the least size of its unit.

    Returns: (where the first unit starts that is not accepted, the last number before it, whether a number was
    missing).
    """
    cdef Py_buffer view
    cdef const uint8_t *buf = opened(data, &view, pos, end)
    cdef size_t first_at, length_at, added, kind_at, least, delta_at, count_at, least_of_kind, size
    cdef int64_t first, final, length, delta
    cdef int kind, ranged
    cdef bint sparse = False
    try:
        first_at, length_at, added, kind_at, least, ranged, delta_at, count_at, least_of_kind = layout
        if not (
            within(first_at, 8, least)
            and within(length_at, 4, least)
            and within(kind_at, 1, least)
            and within(delta_at, 4, least_of_kind)
            and within(count_at, 4, least_of_kind)
        ):
            raise ValueError("layout: a number is not within the least size of its unit")
        with nogil:
            while end - pos >= least:
                first = loaded(buf + pos + first_at, 8)
                length = loaded(buf + pos + length_at, 4)
                kind = buf[pos + kind_at]
                if length < 0 or kind > ranged:
                    break
                size = <size_t>length + added
                if size < least or size > end - pos:
                    break
                final = first
                if kind == ranged:
                    if size < least_of_kind:
                        break
                    delta = loaded(buf + pos + delta_at, 4)
                    if delta < 0 or first > INT64_MAX - delta:
                        break
                    final = first + delta
                if first <= last or final > most:
                    break
                if first - 1 > last:
                    if not gaps or end - pos - size < least:
                        break
                    if loaded(buf + pos + size + first_at, 8) <= final:
                        break
                    sparse = True
                if kind != ranged or loaded(buf + pos + count_at, 4) <= delta:
                    sparse = True
                last = final
                pos += size
    finally:
        PyBuffer_Release(&view)
    return pos, last, sparse
