# Whether units follow one another in order, by their heads alone. Part of bindings.pyx.

cdef int64_t loaded(const uint8_t *p, int size) noexcept nogil:
    """The signed big-endian number in so many bytes."""
    cdef uint64_t value = 0
    cdef int i
    for i in range(size):
        value = value << 8 | p[i]
    if size < 8 and value >> (8 * size - 1):
        value |= ~<uint64_t>0 << (8 * size)
    return <int64_t>value


cdef bint within(size_t at, size_t size, size_t least) noexcept nogil:
    """Whether a number of so many bytes lies in the fewest bytes of a unit."""
    return size <= least and at <= least - size


def in_order(data, size_t pos, size_t end, layout, int64_t last, int64_t most, bint gaps):
    """How far the units in `data[pos:end]` are whole and their numbers ascend.

    Args:
        layout: where a unit has its first number (8 bytes), its length (4) and what is to be added to that, its
            kind (1), and the fewest bytes of one. Then the kind of units that say how far their numbers go: where
            the difference of the last (4) and the count (4) are, and the fewest bytes of such a unit. The numbers
            of all other kinds, up to that one, are alone.
        last, most: numbers are above `last` and not above `most`.
        gaps: whether numbers may be missing between units. Where some are, a unit is passed only if the start
            of the one behind it is there, and its number above its own.

    Raises ValueError where a number of the layout is not in the fewest bytes of its unit.

    Returns: (where the first unit is that is not passed, the last number before it, whether a number was missing).
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
            raise ValueError("layout: a number is not in the fewest bytes of its unit")
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
