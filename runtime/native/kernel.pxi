# A kernel, the base of its objects, and access to their input. Part of bindings.pyx.

cdef uint8_t NOTHING = 0

STATUSES = tuple([kd_status_names[status].decode() for status in range(15)])
"""Why a kernel stopped, by number."""


cdef class Kernel:
    """A kernel's table of functions, with its names."""

    cdef const kd_kernel *k
    cdef readonly str name
    cdef readonly tuple columns
    cdef readonly tuple heads
    cdef dict index_of_number

    def __cinit__(self, capsule):
        self.k = <const kd_kernel *>PyCapsule_GetPointer(capsule, "kodec.kernel")
        if self.k.version != KD_KERNEL_VERSION:
            raise ImportError(
                f"the kernel was built for version {self.k.version} of kodec's kernels, here it is {KD_KERNEL_VERSION}: "
                "generate and build it again"
            )
        self.name = self.k.name.decode()
        self.columns = tuple([self.k.columns[i].name.decode() for i in range(self.k.count_of_columns)])
        self.heads = tuple([self.k.heads[i].decode() for i in range(self.k.count_of_heads)])
        self.index_of_number = {self.k.numbers[i].name.decode(): i for i in range(self.k.count_of_numbers)}

    cdef int column(self, name) except -1:
        """The index of a column. Raises ValueError."""
        if name not in self.columns:
            raise ValueError(f"no column {name!r}: {', '.join(self.columns)}")
        return self.columns.index(name)

    cdef dict numbers(self, const char *unit):
        """The numbers in a unit's head, by name."""
        return {name: self.number(i, unit) for name, i in self.index_of_number.items()}

    cdef number(self, int i, const char *unit):
        cdef const kd_number *number = &self.k.numbers[i]
        cdef const char *at = unit + number.at
        if number.kind == b"i":
            return (<const int64_t *>at)[0]
        if number.kind == b"u":
            return (<const uint64_t *>at)[0]
        if number.kind == b"f":
            return (<const float *>at)[0]
        return (<const double *>at)[0]

    cdef int set_number(self, str name, char *unit, value) except -1:
        i = self.index_of_number.get(name)
        if i is None:
            raise ValueError(f"no number {name!r} in the head")
        cdef const kd_number *number = &self.k.numbers[<int>i]
        cdef char *at = unit + number.at
        if number.kind == b"i":
            (<int64_t *>at)[0] = value
        elif number.kind == b"u":
            (<uint64_t *>at)[0] = value
        elif number.kind == b"f":
            (<float *>at)[0] = value
        else:
            (<double *>at)[0] = value
        return 0

    cdef tuple where(self, const kd_where *where, size_t at):
        field = ""
        if 0 <= where.field < self.k.count_of_fields:
            field = self.k.fields[where.field].decode()
        return STATUSES[where.status], field, at


cdef class Bound:
    """An object of a kernel: one unit of it, why it stopped last, and whether a method is running."""

    cdef Kernel kernel
    cdef const kd_kernel *k
    cdef char *u
    cdef kd_where w
    cdef kd_place place
    cdef size_t content_start
    cdef bint compressed
    cdef bint busy

    def __cinit__(self, *args, **kwargs):
        memset(&self.w, 0, sizeof(self.w))
        memset(&self.place, 0, sizeof(self.place))
        self.kernel = getattr(type(self), "_kernel", None)
        if self.kernel is None:
            raise TypeError(f"{type(self).__name__} of no kernel: a kernel's module has one of its own")
        self.k = self.kernel.k
        self.u = <char *>calloc(1, self.k.unit_size)
        if self.u == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.u)

    cdef int start(self) except -1:
        """Call this before anything that changes the object, and reset `busy` after it."""
        if self.busy:
            raise ValueError("already in use by another call")
        self.busy = True
        return 0

    cdef int reached(self, int status, const uint8_t *buf) except -1:
        """Store the place of the current unit, and whether its content must be decompressed."""
        self.k.place(self.u, &self.place)
        self.compressed = status == KD_COMPRESSED
        self.content_start = self.place.start
        if self.compressed and self.place.content.data != NULL:
            self.content_start = self.place.content.data - buf
        # the content's memory is not owned
        self.place.content.data = NULL
        return 0

    @property
    def unit(self):
        """Where the current unit starts, and its size, in bytes."""
        return self.place.start, self.place.size

    @property
    def head(self):
        """The numbers in the head of that unit, by name."""
        return self.kernel.numbers(self.u)

    @property
    def content(self):
        """The codec, start and size of the content of a unit where a call stopped with `compressed`."""
        cdef const char *codec = self.k.codec(self.u) if self.compressed else NULL
        if codec == NULL:
            raise ValueError("no compressed unit was reached")
        return codec.decode(), self.content_start, self.place.content.size

    @property
    def where(self):
        """Why the last call stopped: status, field, and the byte in the data."""
        return self.kernel.where(&self.w, self.w.at)


cdef const uint8_t *opened(object data, Py_buffer *view, size_t pos, size_t end) except NULL:
    """The bytes of `data`; the caller releases `view`. Raises ValueError if `pos` or `end` is outside them."""
    PyObject_GetBuffer(data, view, PyBUF_SIMPLE)
    if end > <size_t>view.len or pos > end:
        PyBuffer_Release(view)
        raise ValueError("pos and end are outside of the data")
    return <const uint8_t *>view.buf if view.len else &NOTHING
