# Reads the heads of a file's units and skips their content. Part of bindings.pyx.

cdef extern from *:
    """
    #ifdef _WIN32
    /* No function reads at a position without moving the file's own; the caller reads the file in another way. */
    static int64_t kd_read_at(int fd, uint8_t *out, size_t size, int64_t at) {
      (void)fd; (void)out; (void)size; (void)at;
      return -1;
    }
    #else
    #include <fcntl.h>
    #include <sys/uio.h>
    #include <unistd.h>
    #ifdef __linux__
    #include <sys/syscall.h>
    #endif
    static int64_t kd_read_at(int fd, uint8_t *out, size_t size, int64_t at) {
      return (int64_t)pread(fd, out, size, (off_t)at);
    }
    #endif
    /* Like kd_read_at; if the file is not in memory, also starts reading ahead, up to `*ahead`. Otherwise the system
       reads a page for each head, which takes many times as long as reading everything. In steps, as systems limit
       the size of a request. */
    static int64_t kd_read_on(int fd, uint8_t *out, size_t size, int64_t at, int64_t far, int64_t *ahead) {
    #if defined(SYS_preadv2) && defined(RWF_NOWAIT) && defined(POSIX_FADV_WILLNEED)
      const struct iovec part = {out, size};
      /* The call itself: glibc before 2.26 and musl before 1.2.5 have no preadv2, and a wheel must load there. */
      if (syscall(SYS_preadv2, fd, &part, 1L, (long)at, (long)(at >> 32), RWF_NOWAIT) == (long)size)
        return (int64_t)size;
      if (at + far / 2 > *ahead) {
        if (*ahead < at) *ahead = at;
        for (; *ahead < at + far; *ahead += 128 << 10)
          (void)posix_fadvise(fd, (off_t)*ahead, 128 << 10, POSIX_FADV_WILLNEED);
      }
    #else
      (void)far; (void)ahead;
    #endif
      return kd_read_at(fd, out, size, at);
    }
    """
    int64_t kd_read_at(int fd, uint8_t *out, size_t size, int64_t at) nogil
    int64_t kd_read_on(int fd, uint8_t *out, size_t size, int64_t at, int64_t far, int64_t *ahead) nogil


# Units smaller than SMALL are read whole, as their heads lie close together on disk; AHEAD: bytes read ahead.
cdef enum:
    SMALL = 128 << 10
    AHEAD = 4 << 20


def gather_heads(int fd, int64_t pos, int64_t end, layout, int64_t largest, size_t most):
    """The heads of up to `most` units from `pos` on, one after the other, each with its length set to that of a
    unit without content.

    Args:
        layout: where a unit has its length (4 bytes) and the number added to that, where it has its kind (1 byte),
            and the kinds of units that are gathered, each with the size of its head.
        largest: the most bytes of a unit.

    Stops at a unit of another kind, at one that does not end by `end`, and where the file cannot be read. Raises
    ValueError if a number of the layout is not in the head, MemoryError.

    Returns: (the heads, position and size of each unit as int64 of this machine, where it stopped).
    """
    cdef size_t length_at, added, kind_at, head, least = 4096, largest_head = 0, used = 0, count = 0
    cdef size_t sizes_of[128]
    cdef int kind, i
    cdef int64_t got, length, start = pos, ahead = pos
    cdef uint32_t own
    cdef uint8_t *heads
    cdef int64_t *places
    cdef int64_t *sizes
    cdef uint8_t *p
    length_at, added, kind_at, kinds = layout
    for kind in range(128):
        sizes_of[kind] = 0
    for kind, head in kinds:
        if not (within(length_at, 4, head) and within(kind_at, 1, head) and added <= head and head < 4096):
            raise ValueError("layout: a number is not in the head of its unit")
        if not 0 <= kind <= 127:
            raise ValueError("layout: kinds are not above 127")
        sizes_of[kind] = head
        least, largest_head = min(least, head), max(largest_head, head)
    if not largest_head:
        raise ValueError("layout: no kinds")
    if most < 1 or most > 1 << 20:
        raise ValueError("most: from 1 to 2**20")
    heads = <uint8_t *>malloc(most * largest_head)
    places = <int64_t *>malloc(most * 8)
    sizes = <int64_t *>malloc(most * 8)
    try:
        if heads == NULL or places == NULL or sizes == NULL:
            raise MemoryError
        with nogil:
            while count < most and end - pos >= <int64_t>least:
                # as much as the largest head has, which the next one overwrites
                p = heads + used
                head = largest_head if end - pos >= <int64_t>largest_head else least
                if count < 4 or pos - start > <int64_t>count * SMALL:
                    got = kd_read_at(fd, p, head, pos)
                else:
                    got = kd_read_on(fd, p, head, pos, AHEAD, &ahead)
                if got != <int64_t>head or p[kind_at] > 127 or sizes_of[p[kind_at]] == 0:
                    break
                if sizes_of[p[kind_at]] > head and end - pos < <int64_t>sizes_of[p[kind_at]]:
                    break
                if sizes_of[p[kind_at]] > head and kd_read_at(
                    fd, p, sizes_of[p[kind_at]], pos
                ) != <int64_t>sizes_of[p[kind_at]]:
                    break
                head = sizes_of[p[kind_at]]
                own = <uint32_t>(head - added)
                length = loaded(p + length_at, 4) + <int64_t>added
                if length < <int64_t>head or length > largest or length > end - pos:
                    break
                for i in range(4):
                    p[length_at + i] = <uint8_t>(own >> (24 - 8 * i))
                places[count] = pos
                sizes[count] = length
                pos += length
                used += head
                count += 1
        return (
            PyBytes_FromStringAndSize(<char *>heads, used),
            PyBytes_FromStringAndSize(<char *>places, count * 8),
            PyBytes_FromStringAndSize(<char *>sizes, count * 8),
            pos,
        )
    finally:
        free(heads)
        free(places)
        free(sizes)
