# Hashes of many values. Part of bindings.pyx.

cdef uint32_t murmur2_of(const uint8_t *p, size_t size, uint32_t seed) noexcept nogil:
    """MurmurHash2 of `size` bytes, with words in little endian."""
    cdef uint32_t hash = seed ^ <uint32_t>size
    cdef uint32_t word
    while size >= 4:
        word = p[0] | <uint32_t>p[1] << 8 | <uint32_t>p[2] << 16 | <uint32_t>p[3] << 24
        word *= 0x5BD1E995
        word ^= word >> 24
        word *= 0x5BD1E995
        hash = hash * 0x5BD1E995 ^ word
        p += 4
        size -= 4
    if size:
        if size > 2:
            hash ^= <uint32_t>p[2] << 16
        if size > 1:
            hash ^= <uint32_t>p[1] << 8
        hash = (hash ^ p[0]) * 0x5BD1E995
    hash = (hash ^ hash >> 13) * 0x5BD1E995
    return hash ^ hash >> 15


def murmur2(data, offsets, size_t first, size_t count, uint32_t seed):
    """MurmurHash2 of each of `count` values, as bytes of uint32 in the machine's order.

    Args:
        data: the values, one after the other.
        offsets: where each begins and the last one ends, int32 in the machine's order; those from `first` on.

    Raises ValueError for offsets that are missing, descend, or lie outside the data.
    """
    cdef Py_buffer view, places
    cdef const uint8_t *buf = opened(data, &view, 0, 0)
    cdef const int32_t *at
    cdef uint32_t *hashes
    cdef size_t i
    cdef bint wrong = False
    try:
        PyObject_GetBuffer(offsets, &places, PyBUF_SIMPLE)
        try:
            if <size_t>places.buf % sizeof(int32_t):
                raise ValueError("offsets: not aligned")
            i = <size_t>places.len // sizeof(int32_t)
            if first >= i or count > i - first - 1:
                raise ValueError("offsets: fewer than first + count + 1")
            at = <const int32_t *>places.buf + first
            made = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>(count * sizeof(uint32_t)))
            hashes = <uint32_t *>PyBytes_AS_STRING(made)
            with nogil:
                for i in range(count):
                    if at[i] < 0 or at[i + 1] < at[i] or at[i + 1] > view.len:
                        wrong = True
                        break
                    hashes[i] = murmur2_of(buf + at[i], <size_t>(at[i + 1] - at[i]), seed)
        finally:
            PyBuffer_Release(&places)
    finally:
        PyBuffer_Release(&view)
    if wrong:
        raise ValueError("offsets: they descend, or lie outside of the data")
    return made
