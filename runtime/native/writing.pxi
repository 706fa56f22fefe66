# Rows from Arrow columns to bytes. Part of face.pyx.

cdef class Writer(Bound):
    """Writes rows from Arrow columns.

    Use: `load` columns, then for each unit `rows`, and `unit` with the content, compressed or not; `take` gives the
    bytes. Where a unit is a row, `rows` writes units, and there is no `unit`.
    """

    cdef char *i
    cdef kd_buffer rows_of_unit
    cdef kd_buffer out
    cdef object held
    cdef int64_t length

    def __cinit__(self):
        memset(&self.rows_of_unit, 0, sizeof(self.rows_of_unit))
        memset(&self.out, 0, sizeof(self.out))
        self.i = <char *>calloc(1, self.k.input_size)
        if self.i == NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.k != NULL:
            self.k.release(&self.rows_of_unit)
            self.k.release(&self.out)
        free(self.i)

    def set(self, **numbers):
        """Set numbers of the head by name, as in HEADS."""
        for name, value in numbers.items():
            self.kernel.set_number(name, self.u, value)

    def get(self, str name):
        """A number of the head."""
        numbers = self.head
        if name not in numbers:
            raise ValueError(f"no number {name!r} in the head")
        return numbers[name]

    def load(self, batch):
        """Take the columns of a struct array or a record batch, which is held, not copied.

        Raises ValueError where one is not there, or of another type than the schema has.
        """
        schema, array = batch.__arrow_c_array__()
        cdef ArrowSchema *kind = <ArrowSchema *>PyCapsule_GetPointer(schema, "arrow_schema")
        cdef ArrowArray *held = <ArrowArray *>PyCapsule_GetPointer(array, "arrow_array")
        if kind.release == NULL or held.release == NULL:
            raise ValueError("the array was released")
        self.start()
        try:
            # what was loaded before is let go of only when it is no more pointed to
            self.length = 0
            if self.k.load(kind, held, self.i, &self.w):
                raise ValueError(f"the column {self.kernel.columns[self.w.at]!r} is not there, or of another type")
            self.held = schema, array
            self.length = held.length
        finally:
            self.busy = False

    def rows(self, int64_t first, int64_t last):
        """Write rows `first` to `last` (exclusive); give the status, `ok` or why not.

        They are the content of the next unit, whose head then counts them and says what follows from them. Where a
        unit is a row, what no column says is taken from what was `set`.
        """
        cdef int status
        self.start()
        try:
            if not 0 <= first <= last <= self.length:
                raise ValueError("no such rows")
            with nogil:
                if self.k.write_unit != NULL:
                    self.rows_of_unit.size = 0
                    status = self.k.write_rows(self.u, self.i, first, last, &self.rows_of_unit, &self.w)
                else:
                    status = self.k.write_rows(self.u, self.i, first, last, &self.out, &self.w)
        finally:
            self.busy = False
        if status == KD_MEMORY:
            raise MemoryError
        return STATUSES[status]

    @property
    def content(self):
        """The rows written last, as a unit holds them when it is not compressed."""
        self.start()
        try:
            return PyBytes_FromStringAndSize(<char *>self.rows_of_unit.data, self.rows_of_unit.size)
        finally:
            self.busy = False

    def unit(self, content=None):
        """Write the unit around `content`, or around the rows written last; give the status."""
        cdef Py_buffer view
        cdef int status
        if self.k.write_unit == NULL:
            raise ValueError("a unit is a row: `rows` writes it")
        if content is not None:
            PyObject_GetBuffer(content, &view, PyBUF_SIMPLE)
        try:
            self.start()
            try:
                if content is None:
                    with nogil:
                        status = self.k.write_unit(
                            self.u, self.rows_of_unit.data, self.rows_of_unit.size, &self.out, &self.w
                        )
                else:
                    with nogil:
                        status = self.k.write_unit(self.u, <const uint8_t *>view.buf, view.len, &self.out, &self.w)
            finally:
                self.busy = False
        finally:
            if content is not None:
                PyBuffer_Release(&view)
        if status == KD_MEMORY:
            raise MemoryError
        return STATUSES[status]

    @property
    def where(self):
        """Where it stopped last: status, field and row."""
        return self.kernel.where(&self.w, self.w.row)

    def __len__(self):
        return self.out.size

    def take(self):
        """All bytes that were written since it was called last."""
        self.start()
        try:
            given = PyBytes_FromStringAndSize(<char *>self.out.data, self.out.size)
            self.out.size = 0
        finally:
            self.busy = False
        return given
