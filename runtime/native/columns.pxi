# Rows and heads as Arrow columns. Part of bindings.pyx.

cdef void drop_schema(object capsule) noexcept:
    cdef ArrowSchema *schema = <ArrowSchema *>PyCapsule_GetPointer(capsule, "arrow_schema")
    if schema.release != NULL:
        schema.release(schema)
    free(schema)


cdef void drop_array(object capsule) noexcept:
    cdef ArrowArray *array = <ArrowArray *>PyCapsule_GetPointer(capsule, "arrow_array")
    if array.release != NULL:
        array.release(array)
    free(array)


cdef class Columns:
    """The result of `take`: an Arrow struct array, which `__arrow_c_array__` hands over once."""

    cdef object schema
    cdef object array

    def __arrow_c_array__(self, requested_schema=None):
        """The capsules of schema and array (Arrow PyCapsule interface); their memory goes with them."""
        if self.array is None:
            raise ValueError("the columns were handed over already")
        given = self.schema, self.array
        self.schema = self.array = None
        return given


cdef Columns columns_of(kd_arrow *made):
    """Moves a C struct array into an object."""
    cdef Columns columns
    cdef ArrowSchema *schema = <ArrowSchema *>malloc(sizeof(ArrowSchema))
    cdef ArrowArray *array = <ArrowArray *>malloc(sizeof(ArrowArray))
    if schema == NULL or array == NULL:
        free(schema)
        free(array)
        made.schema.release(&made.schema)
        made.array.release(&made.array)
        raise MemoryError
    schema[0] = made.schema
    array[0] = made.array
    columns = Columns.__new__(Columns)
    try:
        columns.schema = PyCapsule_New(schema, "arrow_schema", drop_schema)
    except:
        schema.release(schema)
        array.release(array)
        free(schema)
        free(array)
        raise
    try:
        columns.array = PyCapsule_New(array, "arrow_array", drop_array)
    except:
        array.release(array)
        free(array)
        raise
    return columns


def decompress(str codec, data, size_t limit):
    """The at most `limit` bytes that `data` decompresses to; None if the caller must use `kodec.runtime.compression`.

    None is returned for other codecs than LZ4 and snappy, for a larger result, and for unusual or invalid data.
    """
    cdef Py_buffer view
    cdef kd_buffer out
    cdef bytes name = codec.encode()
    cdef const char *named = name
    cdef bint done
    memset(&out, 0, sizeof(out))
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    with nogil:
        done = kd_decompress(named, <const uint8_t *>view.buf if view.len else &NOTHING, view.len, limit, &out)
    PyBuffer_Release(&view)
    try:
        return PyBytes_FromStringAndSize(<char *>out.data, out.size) if done else None
    finally:
        kd_free(&out)


cdef class Rows(Bound):
    """Reads units one after another and keeps their rows, column by column.

    Args:
        columns: the wanted ones of COLUMNS, in this order; None is all.
        check: verify checksums.
        everything: include rows of units that are not for users.
        stop_at_hidden: stop at such a unit, with the status `hidden`.
        rows, nbytes: stop before the next unit after this number of rows, or of bytes in columns of bytes.
        unit_bytes: the largest unit that is read.
        elements: the most rows, with the elements of their lists, that one unit may have.
        bounds: the least and the greatest value of a column of whole numbers (None: no bound). Other rows are
            left out, and units without matching rows, as their heads show, are skipped.
        decompressed_bytes: decompress content of at most this number of bytes without stopping, if `decompress`
            supports it; 0 to always stop.

    Use an object from one thread at a time; threads may work in parallel, each with its own object.
    """

    cdef char *c
    cdef kd_options o
    # the last decompressed content, and its greatest size
    cdef kd_buffer content_of
    cdef size_t most_content
    cdef int order[64]
    cdef int count
    # the number of live views of numbers, and how often the numbers moved
    cdef Py_ssize_t views
    cdef size_t moves

    def __cinit__(
        self,
        columns=None,
        *,
        bint check=True,
        bint everything=False,
        bint stop_at_hidden=False,
        size_t rows=32768,
        size_t nbytes=4 << 20,
        size_t unit_bytes=1 << 30,
        size_t elements=1_000_000,
        bounds=None,
        size_t decompressed_bytes=0,
    ):
        cdef int i
        known = self.kernel.columns
        wanted = list(known if columns is None else columns)
        if len(set(wanted)) != len(wanted) or not set(wanted) <= set(known):
            raise ValueError(f"columns: some of {', '.join(known)}, each once; not {wanted}")
        memset(&self.o, 0, sizeof(self.o))
        memset(&self.content_of, 0, sizeof(self.content_of))
        # if a unit is a row, the unit around it changes the inner rows
        self.most_content = decompressed_bytes if self.k.rows != NULL else 0
        self.count = len(wanted)
        for i, name in enumerate(wanted):
            self.order[i] = self.kernel.column(name)
            self.o.wanted |= <uint64_t>1 << self.order[i]
        self.o.check = check
        self.o.everything = everything
        self.o.stop_at_hidden = stop_at_hidden
        self.o.most_rows = rows
        self.o.most_bytes = nbytes
        self.o.unit_bytes = unit_bytes
        self.o.elements = elements
        self.o.filtered = bool(bounds)
        for i in range(KD_MOST_COLUMNS):
            self.o.least[i] = INT64_MIN
            self.o.most[i] = INT64_MAX
        for name, (least, most) in (bounds or {}).items():
            i = self.kernel.column(name)
            if not self.k.columns[i].filtered:
                raise ValueError(f"bounds: {name!r} is not a column of whole numbers")
            if least is not None:
                self.o.least[i] = least
            if most is not None:
                self.o.most[i] = most
        self.c = <char *>calloc(1, self.k.columns_size)
        if self.c == NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.c != NULL:
            self.k.clear(self.c)
            free(self.c)
        kd_free(&self.content_of)

    cdef size_t rows_so_far(self) noexcept:
        return (<size_t *>self.c)[0]

    cdef int change(self) except -1:
        """`start` for methods that may move the numbers."""
        if self.views:
            raise BufferError("a view of the numbers is in use")
        self.start()
        self.moves += 1
        return 0

    def __len__(self):
        return self.rows_so_far()

    @property
    def nbytes(self):
        """Bytes in the columns of bytes so far."""
        return self.k.bytes(self.c)

    @property
    def not_ascii(self):
        """Whether a text so far may be other than ASCII: texts keep their stored bytes, UTF-8 or not."""
        return bool(self.k.not_ascii(self.c))

    def run(self, data, size_t pos, size_t end):
        """Append the rows of the units in `data[pos:end]`; return (status, where it stopped).

        `end`: no unit is left. `full`: the wanted number of rows or bytes is reached. `compressed`: see
        `content`. `hidden`: the unit's rows are not for users. Any other status is an error in the unit
        there: see `where`. Rows of earlier units stay.
        """
        cdef Py_buffer view
        cdef size_t next = pos
        cdef int status
        cdef const uint8_t *buf = opened(data, &view, pos, end)
        try:
            self.change()
            try:
                with nogil:
                    status = self.k.run(buf, pos, end, &self.o, self.c, self.u, &next, &self.w)
                    while status == KD_COMPRESSED and self.append_content():
                        pos = next + self.place.size
                        status = self.k.run(buf, pos, end, &self.o, self.c, self.u, &next, &self.w)
                self.reached(status, buf)
            finally:
                self.busy = False
        finally:
            PyBuffer_Release(&view)
        if status == KD_MEMORY:
            raise MemoryError
        return STATUSES[status], next

    cdef bint append_content(self) noexcept nogil:
        """Append the rows of a compressed unit; false if none was appended, whatever the reason."""
        cdef kd_buffer *content = &self.content_of
        if self.most_content == 0:
            return False
        self.k.place(self.u, &self.place)
        return (
            kd_decompress(
                self.k.codec(self.u), self.place.content.data, self.place.content.size, self.most_content, content
            )
            and self.k.rows(
                self.u, content.data if content.size else &NOTHING, content.size, &self.o, self.c, &self.w
            ) == KD_OK
        )

    def rows(self, data):
        """Append the rows of the unit where `run` stopped with `compressed`; `data` is its decompressed content.

        Returns the status; if it is not `ok`, no row was appended.
        """
        cdef Py_buffer view
        cdef int status
        cdef const uint8_t *buf
        if not self.compressed:
            raise ValueError("no compressed unit was reached")
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            buf = <const uint8_t *>view.buf if view.len else &NOTHING
            self.change()
            try:
                if self.k.rows != NULL:
                    with nogil:
                        status = self.k.rows(self.u, buf, view.len, &self.o, self.c, &self.w)
                else:
                    status = self.units(buf, view.len)
            finally:
                self.busy = False
        finally:
            PyBuffer_Release(&view)
        if status == KD_MEMORY:
            raise MemoryError
        return STATUSES[status]

    cdef int units(self, const uint8_t *buf, size_t size) except -1:
        """`rows` of a kernel whose units are rows."""
        cdef size_t before = self.rows_so_far(), next = 0
        cdef kd_options whole = self.o
        cdef int status
        cdef char *inner = <char *>calloc(1, self.k.unit_size)
        if inner == NULL:
            raise MemoryError
        whole.most_rows = before + whole.elements + 1
        whole.most_bytes = <size_t>-1
        with nogil:
            status = self.k.run(buf, 0, size, &whole, self.c, inner, &next, &self.w)
            free(inner)
            if status == KD_END:
                status = KD_OK
            else:
                self.k.cut(&self.o, self.c, before)
        return status

    def cut(self, size_t rows):
        """Keep only the first `rows` rows."""
        self.change()
        if rows < self.rows_so_far():
            self.k.cut(&self.o, self.c, rows)
        self.busy = False

    cdef char *numbers(self, int index, size_t first) except NULL:
        """The numbers of a column. Raises ValueError if it has none."""
        cdef const kd_column *column = &self.k.columns[index]
        if self.busy:
            raise ValueError("already in use by another call")
        if not self.o.wanted >> index & 1 or first > self.rows_so_far():
            raise ValueError("no such column, or row")
        if column.format == NULL:
            raise ValueError("not a column of numbers")
        if first == self.rows_so_far():
            return <char *>&NOTHING
        return <char *>(<kd_fixed *>(self.c + column.at)).values.data + first * column.width

    def values(self, str column, size_t first):
        """A writable view of the numbers of a column from row `first` on. While it exists rows cannot be added or taken."""
        cdef int index = self.kernel.column(column)
        cdef Numbers numbers = Numbers.__new__(Numbers)
        numbers.data = self.numbers(index, first)
        numbers.rows = self
        numbers.moves = self.moves
        numbers.count = self.rows_so_far() - first
        numbers.width = self.k.columns[index].width
        numbers.format = self.k.columns[index].format
        return memoryview(numbers)

    def add(self, str column, size_t first, int64_t by):
        """Add `by` to a column of 64-bit numbers from row `first` on. Raises OverflowError before any change."""
        cdef int index = self.kernel.column(column)
        if not self.k.columns[index].wide:
            raise ValueError(f"{column!r} is not a column of 64-bit numbers")
        cdef int64_t *data = <int64_t *>self.numbers(index, first)
        cdef size_t i, count = self.rows_so_far() - first
        for i in range(count):
            if (by > 0 and data[i] > INT64_MAX - by) or (by < 0 and data[i] < INT64_MIN - by):
                raise OverflowError
        for i in range(count):
            data[i] += by

    def take(self):
        """The columns so far, as Columns; the object is empty afterwards."""
        cdef kd_arrow made
        self.change()
        try:
            if self.k.give(self.c, self.order, self.count, &made):
                raise MemoryError
        finally:
            self.busy = False
        return columns_of(&made)


@no_gc_clear  # when a cycle of objects is collected, a view is released after its Numbers were cleared
cdef class Numbers:
    """The numbers of a column from a row on, valid until they move."""

    cdef Rows rows
    cdef char *data
    cdef size_t moves
    cdef Py_ssize_t count
    cdef Py_ssize_t width
    cdef const char *format

    def __getbuffer__(self, Py_buffer *view, int flags):
        if self.moves != self.rows.moves:
            raise BufferError("the numbers have moved")
        view.buf = self.data
        view.obj = self
        view.len = self.count * self.width
        view.readonly = False
        view.itemsize = self.width
        view.format = <char *>self.format if flags & PyBUF_FORMAT else NULL
        view.ndim = 1
        view.shape = &self.count
        view.strides = &self.width
        view.suboffsets = NULL
        view.internal = NULL
        self.rows.views += 1

    def __releasebuffer__(self, Py_buffer *view):
        self.rows.views -= 1


cdef class Heads(Bound):
    """Reads the head of one unit after another and keeps its numbers, column by column.

    Args: `check` also verifies each unit's checksum, for the column `checksum_ok`; `unit_bytes` is the largest
    unit that is read.
    """

    cdef char *c
    cdef bint check
    cdef size_t unit_bytes

    def __cinit__(self, *, bint check=False, size_t unit_bytes=1 << 30):
        self.check = check
        self.unit_bytes = unit_bytes
        self.c = <char *>calloc(1, self.k.heads_size)
        if self.c == NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.c != NULL:
            self.k.clear_heads(self.c)
            free(self.c)

    def __len__(self):
        return (<size_t *>self.c)[0]

    def run(self, data, size_t pos, size_t end, int64_t origin=0, size_t rows=1 << 40):
        """Append the heads of the units in `data[pos:end]`, until there are `rows`; return (status, where it stopped).

        `origin` is added to the column `position`.
        """
        cdef Py_buffer view
        cdef size_t next = pos
        cdef int status
        cdef const uint8_t *buf = opened(data, &view, pos, end)
        try:
            self.start()
            try:
                with nogil:
                    status = self.k.walk(
                        buf, pos, end, origin, self.check, rows, self.unit_bytes, self.c, self.u, &next, &self.w
                    )
                self.reached(KD_OK, buf)
            finally:
                self.busy = False
        finally:
            PyBuffer_Release(&view)
        if status == KD_MEMORY:
            raise MemoryError
        return STATUSES[status], next

    def take(self):
        """The columns so far, as Columns; the object is empty afterwards."""
        cdef kd_arrow made
        self.start()
        try:
            if self.k.give_heads(self.c, &made):
                raise MemoryError
        finally:
            self.busy = False
        return columns_of(&made)
