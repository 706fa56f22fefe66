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


cdef enum:
    MOST_KINDS = 16
    UNKNOWN = -1
    SINGLE = -2


cdef struct Ranged:
    size_t delta_at, count_at, least


cdef struct Kinds:
    # the index in `ranged` of each kind, UNKNOWN or SINGLE
    signed char number[128]
    Ranged ranged[MOST_KINDS]


cdef int load_kinds(Kinds *kinds, ranges) except -1:
    """Fill the table of kinds of units that hold a range of numbers. Raises ValueError."""
    cdef int kind, count = 0
    cdef size_t delta_at, count_at, least
    for kind in range(128):
        kinds.number[kind] = UNKNOWN
    if len(ranges) > MOST_KINDS:
        raise ValueError(f"layout: more than {MOST_KINDS} kinds")
    for kind, delta_at, count_at, least in ranges:
        if not (0 <= kind <= 127 and kinds.number[kind] == UNKNOWN):
            raise ValueError("layout: kinds are not above 127, and each is there once")
        if not (within(delta_at, 4, least) and within(count_at, 4, least)):
            raise ValueError("layout: a number is not within the least size of its unit")
        kinds.number[kind] = count
        kinds.ranged[count] = Ranged(delta_at, count_at, least)
        count += 1
    return 0


def in_order(data, size_t pos, size_t end, layout, int64_t last, int64_t most, bint gaps):
    """How far the units in `data[pos:end]` are complete and their numbers ascend.

    Args:
        layout: where a unit has its first number (8 bytes), its length (4) and the number added to that, its
            kind (1), and the least size of a unit. Then the kinds of units that hold one number, as bytes; and those
            of units that hold a range of numbers, each with the places of the difference to the last number (4) and
            of the count (4), and the least size of such a unit. No kind is above 127.
        last, most: numbers are above `last` and not above `most`.
        gaps: whether numbers may be missing between units. If some are, a unit is accepted only if the next one
            starts within the data and has a greater number.

    Raises ValueError if a number of the layout is not within the least size of its unit.

    Returns: (where the first unit starts that is not accepted, the last number before it, whether a number was
    missing).
    """
    cdef Py_buffer view
    cdef const uint8_t *buf = opened(data, &view, pos, end)
    cdef size_t first_at, length_at, added, kind_at, least, size
    cdef int64_t first, final, length, delta
    cdef int kind, single
    cdef Kinds kinds
    cdef Ranged *ranged
    cdef bint sparse = False
    try:
        first_at, length_at, added, kind_at, least, singles, ranges = layout
        if not (within(first_at, 8, least) and within(length_at, 4, least) and within(kind_at, 1, least)):
            raise ValueError("layout: a number is not within the least size of its unit")
        load_kinds(&kinds, ranges)
        for single in singles:
            if single > 127 or kinds.number[single] != UNKNOWN:
                raise ValueError("layout: kinds are not above 127, and each is there once")
            kinds.number[single] = SINGLE
        with nogil:
            while end - pos >= least:
                first = loaded(buf + pos + first_at, 8)
                length = loaded(buf + pos + length_at, 4)
                kind = buf[pos + kind_at]
                if length < 0 or kind > 127 or kinds.number[kind] == UNKNOWN:
                    break
                size = <size_t>length + added
                if size < least or size > end - pos:
                    break
                final = first
                ranged = NULL
                if kinds.number[kind] != SINGLE:
                    ranged = &kinds.ranged[kinds.number[kind]]
                    if size < ranged.least:
                        break
                    delta = loaded(buf + pos + ranged.delta_at, 4)
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
                if ranged == NULL or loaded(buf + pos + ranged.count_at, 4) <= delta:
                    sparse = True
                last = final
                pos += size
    finally:
        PyBuffer_Release(&view)
    return pos, last, sparse
