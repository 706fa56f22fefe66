# Rows from Arrow columns to bytes. Part of bindings.pyx.

cdef extern from "Python.h":
    PyObject *bytes_of "PyBytes_FromStringAndSize"(const char *, Py_ssize_t) except NULL
    char *start_of "PyBytes_AS_STRING"(PyObject *)
    int _PyBytes_Resize(PyObject **, Py_ssize_t) except -1
    void Py_DECREF(PyObject *)
    ctypedef struct PyVarObject:
        pass
    void Py_SET_SIZE(PyVarObject *, Py_ssize_t)
    void Py_XDECREF(PyObject *)

cdef enum: LEAST_ROOM = 64 << 10

cdef class Writer(Bound):
    """Writes rows from Arrow columns.

    Use: `load` columns, then for each unit `rows`, and `unit` with the content, compressed or not; `take` returns
    the bytes. If a unit is a row, `rows` writes units, and `unit` is not used.
    """

    cdef char *i
    cdef kd_buffer out
    # the bytes object that owns the memory of `out`, so that `take` copies nothing
    cdef PyObject *whole
    # the content of the unit whose rows were written last: it is after `out`, at its final place in the unit
    cdef size_t written
    cdef bint ready
    cdef size_t before
    cdef object held
    cdef int64_t length

    def __cinit__(self):
        memset(&self.out, 0, sizeof(self.out))
        self.out.fixed = True
        if self.k.write_unit != NULL and self.k.before_content != KD_VARIES:
            self.before = self.k.before_content
        self.i = <char *>calloc(1, self.k.input_size)
        if self.i == NULL:
            raise MemoryError

    def __dealloc__(self):
        Py_XDECREF(self.whole)
        free(self.i)

    cdef int grow(self, size_t room) except -1:
        """Make room for `room` bytes in all. Keeps the written bytes, and the content after them."""
        cdef size_t more = self.out.room + self.out.room // 2
        room = max(room, more, LEAST_ROOM)
        if self.whole == NULL:
            self.whole = bytes_of(NULL, room)
        else:
            try:
                _PyBytes_Resize(&self.whole, room)
            except MemoryError:
                # the written bytes are lost
                self.out.data = NULL
                self.out.room = self.out.size = 0
                self.ready = False
                raise
        self.out.data = <uint8_t *>start_of(self.whole)
        self.out.room = room
        return 0

    def reserve(self, size_t size):
        """Reserve room for the number of bytes that one `take` probably returns, which avoids moves."""
        self.start()
        try:
            if size > self.out.room:
                self.grow(size)
        finally:
            self.busy = False

    def set(self, **numbers):
        """Set numbers of the head by name, as in HEADS."""
        for name, value in numbers.items():
            self.kernel.set_number(name, self.u, value)

    def put(self, tuple names, tuple values):
        """Set as many numbers of the head: for names that are not known where the call is written."""
        cdef Py_ssize_t i
        if len(names) != len(values):
            raise ValueError("as many values as names are needed")
        for i in range(len(names)):
            self.kernel.set_number(names[i], self.u, values[i])

    def get(self, str name):
        """A number of the head."""
        numbers = self.head
        if name not in numbers:
            raise ValueError(f"no number {name!r} in the head")
        return numbers[name]

    def load(self, batch):
        """Use the columns of a struct array or a record batch, which is referenced, not copied.

        Raises ValueError if a column is missing or not of the type in the schema.
        """
        schema, array = batch.__arrow_c_array__()
        cdef ArrowSchema *kind = <ArrowSchema *>PyCapsule_GetPointer(schema, "arrow_schema")
        cdef ArrowArray *held = <ArrowArray *>PyCapsule_GetPointer(array, "arrow_array")
        if kind.release == NULL or held.release == NULL:
            raise ValueError("the array was released")
        self.start()
        try:
            # the previous array is released only after the last pointer to it is gone
            self.length = 0
            if self.k.load(kind, held, self.i, &self.w):
                raise ValueError(f"the column {self.kernel.columns[self.w.at]!r} is missing, or of another type")
            self.held = schema, array
            self.length = held.length
        finally:
            self.busy = False

    def rows(self, int64_t first, int64_t last):
        """Write rows `first` to `last` (exclusive); return the status: `ok`, or the error.

        They are the content of the next unit, whose head receives their count and the other derived numbers. If a
        unit is a row, numbers without a column come from `set`.
        """
        cdef int status
        self.start()
        try:
            if not 0 <= first <= last <= self.length:
                raise ValueError("no such rows")
            status = KD_MEMORY
            while status == KD_MEMORY:
                self.out.hope = 0
                with nogil:
                    status = self.write_rows(first, last)
                if status == KD_MEMORY:
                    self.larger()
        finally:
            self.busy = False
        return STATUSES[status]

    cdef int larger(self) except -1:
        """Make room for the bytes that did not fit."""
        if self.out.hope <= self.out.room:
            raise MemoryError
        self.grow(self.out.hope)
        return 0

    cdef int write_rows(self, int64_t first, int64_t last) noexcept nogil:
        cdef kd_buffer content = self.out
        cdef int status
        if self.k.write_unit == NULL:
            return self.k.write_rows(self.u, self.i, first, last, &self.out, &self.w)
        content.size += self.before
        status = KD_MEMORY
        if content.size <= content.room:
            status = self.k.write_rows(self.u, self.i, first, last, &content, &self.w)
            self.out.hope = content.hope
        else:
            self.out.hope = content.size
        self.ready = status == KD_OK
        self.written = content.size - self.out.size - self.before if self.ready else 0
        return status

    @property
    def content(self):
        """The rows written last, as a unit holds them when it is not compressed."""
        self.start()
        try:
            if not self.written:
                return b""
            return PyBytes_FromStringAndSize(<char *>self.out.data + self.out.size + self.before, self.written)
        finally:
            self.busy = False

    def unit(self, content=None):
        """Write the unit around `content`, or around the rows written last; return the status."""
        cdef Py_buffer view
        cdef int status = KD_MEMORY
        cdef const uint8_t *data
        cdef size_t size
        if self.k.write_unit == NULL:
            raise ValueError("a unit is a row: `rows` writes it")
        if content is None and not self.ready:
            raise ValueError("`rows` writes the content first")
        if content is None and self.k.before_content == KD_VARIES:
            content = self.content
        if content is not None:
            PyObject_GetBuffer(content, &view, PyBUF_SIMPLE)
        try:
            self.start()
            try:
                while status == KD_MEMORY:
                    self.out.hope = 0
                    if content is None:
                        data, size = self.out.data + self.out.size + self.before, self.written
                    else:
                        data, size = <const uint8_t *>view.buf, view.len
                    with nogil:
                        status = self.k.write_unit(self.u, data, size, &self.out, &self.w)
                    if status == KD_MEMORY:
                        self.larger()
                self.written = 0
                self.ready = False
            finally:
                self.busy = False
        finally:
            if content is not None:
                PyBuffer_Release(&view)
        return STATUSES[status]

    @property
    def where(self):
        """Why the last call stopped: status, field and row."""
        return self.kernel.where(&self.w, self.w.row)

    def __len__(self):
        return self.out.size

    def take(self):
        """All bytes written since the last call."""
        cdef PyObject *whole
        cdef size_t size, room
        self.start()
        try:
            whole, self.whole = self.whole, NULL
            size, self.out.size = self.out.size, 0
            self.out.data = NULL
            self.written = 0
            self.ready = False
            if whole == NULL:
                return b""
            room, self.out.room = self.out.room, 0
            if room - size > room // 8:
                _PyBytes_Resize(&whole, size)
            else:
                # Shrinking the block a little would leave one too small for the next: the system would then
                # provide a new block each time, with a page fault for every 4 KiB.
                start_of(whole)[size] = 0
                Py_SET_SIZE(<PyVarObject *>whole, size)
            given = <object>whole
            Py_DECREF(whole)
        finally:
            self.busy = False
        return given
