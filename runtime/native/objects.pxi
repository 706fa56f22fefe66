# Rows as objects of a class. Part of bindings.pyx.

cdef class Shape:
    """Maps the columns of a row to the slots of a class.

    Args:
        cls: a class with a slot for each of COLUMNS, except those that `head` of a `-row` adds.
        members: for a column of whole numbers, the object for each number.
        others: the values of slots that are not columns.
    """

    cdef Kernel kernel
    cdef kd_shape s
    cdef object kept

    def __cinit__(self, type cls not None, members=None, others=None):
        cdef int i
        self.kernel = getattr(type(self), "_kernel", None)
        if self.kernel is None:
            raise TypeError(f"{type(self).__name__} of no kernel: a kernel's module has one of its own")
        columns = self.kernel.columns[: self.kernel.k.count_of_slots]
        given = {name: dict(numbers) for name, numbers in (members or {}).items()}
        constants = dict(others or {})
        for name in given:
            if name not in columns or not self.kernel.k.columns[columns.index(name)].members:
                raise ValueError(f"members: {name!r} is not a column of whole numbers")
        if len(columns) + len(constants) > KD_MOST_SLOTS:
            raise ValueError("others: too many")
        memset(&self.s, 0, sizeof(self.s))
        # keeps alive the objects that the shape points to
        self.kept = cls, given, constants
        self.s.cls = <PyTypeObject *>cls
        self.s.columns = len(columns)
        self.s.others = len(constants)
        for i, name in enumerate([*columns, *constants]):
            self.s.slots[i] = kd_slot(self.s.cls, name)
            if i >= self.s.columns:
                self.s.constants[i] = <PyObject *>constants[name]
            elif name in given:
                self.s.members[i].all = <PyObject *>given[name]
                for number, member in given[name].items():
                    if KD_LEAST_MEMBER <= number < KD_LEAST_MEMBER + KD_SMALL_MEMBERS:
                        self.s.members[i].small[<int>number - KD_LEAST_MEMBER] = <PyObject *>member
        slots = {self.s.slots[i] for i in range(self.s.columns + self.s.others)}
        self.s.refills = kd_is_all_slots(self.s.cls, len(slots))


cdef class Objects(Bound):
    """Makes objects of a class from the rows of unit after unit.

    The objects are complete, and independent of the bytes they were made from. A list and its objects are reused
    for the next unit if nothing else refers to them.

    Args:
        shape: of the class.
        check: verify checksums.
        stop_at_hidden: stop at a unit whose rows are not for users; otherwise it is skipped.
        rows: where a unit is a row, the most that are made at once.
        unit_bytes, elements: as for Rows.

    Use an object from one thread at a time.
    """

    cdef Shape shape
    cdef kd_options o
    cdef kd_texts texts
    cdef list made
    # if a unit is a row: the end of the unit of each object, and the number of these ends
    cdef size_t *ends
    cdef Py_ssize_t ended

    def __cinit__(
        self,
        Shape shape not None,
        *,
        bint check=True,
        bint stop_at_hidden=False,
        size_t rows=256,
        size_t unit_bytes=1 << 30,
        size_t elements=1_000_000,
    ):
        memset(&self.o, 0, sizeof(self.o))
        memset(&self.texts, 0, sizeof(self.texts))
        if shape.kernel is not self.kernel:
            raise TypeError(f"the shape is of the kernel {shape.kernel.name}, not of {self.kernel.name}")
        self.made = []
        self.shape = shape
        self.o.check = check
        self.o.stop_at_hidden = stop_at_hidden
        self.o.most_rows = max(rows, <size_t>1)
        self.o.unit_bytes = unit_bytes
        self.o.elements = elements
        if self.k.make_units != NULL:
            self.ends = <size_t *>calloc(self.o.most_rows, sizeof(size_t))
            if self.ends == NULL:
                raise MemoryError

    def __dealloc__(self):
        kd_texts_clear(&self.texts)
        free(self.ends)

    cdef list to_fill(self):
        """The list to fill; dropping its old values may run any code."""
        self.start()
        self.compressed = False
        self.ended = 0
        if not kd_is_alone(<PyObject *>self.made):
            self.made = []
        return self.made

    def next(self, data, size_t pos, size_t end):
        """Go to the next unit in `data[pos:end]` that has rows; return (status, place).

        `ok`: `items` are its rows; the place is where it ends. `compressed`: see `content`; the place is where it
        ends. `hidden`: its rows are not for users. `end`, and any other status: why there is none, and where that
        unit starts. If a unit is a row, `items` are consecutive rows, and the place is the end of the last one; the
        next call continues there.
        """
        cdef Py_buffer view
        cdef size_t stop = pos
        cdef int status
        cdef const uint8_t *buf = opened(data, &view, pos, end)
        try:
            items = self.to_fill()
            try:
                if self.k.make_units != NULL:
                    status = self.k.make_units(
                        buf, pos, end, self.o.most_rows, &self.o, &self.shape.s, &self.texts, <PyObject *>items,
                        self.ends, self.u, &stop, &self.w,
                    )
                    self.ended = PyList_GET_SIZE(items)
                    if self.ended:
                        status = KD_OK
                    self.reached(status, buf)
                    if status == KD_COMPRESSED:
                        stop += self.place.size
                else:
                    with nogil:
                        status = self.k.next(buf, pos, end, &self.o, self.u, &stop, &self.w)
                    if status == KD_OK:
                        self.k.place(self.u, &self.place)
                        status = self.k.make(
                            self.u, self.place.content.data, self.place.content.size, &self.o, &self.shape.s,
                            &self.texts, <PyObject *>items, &self.w,
                        )
                        if status != KD_OK:
                            stop = self.place.start
                    self.reached(status, buf)
            finally:
                self.busy = False
        finally:
            PyBuffer_Release(&view)
        return STATUSES[status], stop

    def rows(self, bytes data not None):
        """Make `items` from the rows of the compressed unit; `data` is its decompressed content.

        Returns the status: `ok`, or the error.
        """
        cdef const uint8_t *buf = <const uint8_t *><const char *>data
        cdef int status
        cdef size_t stop = 0
        cdef char *inner
        if not self.compressed:
            raise ValueError("no compressed unit was reached")
        items = self.to_fill()
        try:
            if self.k.make != NULL:
                status = self.k.make(
                    self.u, buf, len(data), &self.o, &self.shape.s, &self.texts, <PyObject *>items, &self.w
                )
            else:
                inner = <char *>calloc(1, self.k.unit_size)
                if inner == NULL:
                    raise MemoryError
                try:
                    status = self.k.make_units(
                        buf, 0, len(data), self.o.elements, &self.o, &self.shape.s, &self.texts, <PyObject *>items,
                        NULL, inner, &stop, &self.w,
                    )
                finally:
                    free(inner)
                status = KD_OK if status == KD_END else KD_LIMIT if status == KD_FULL else status
        finally:
            self.busy = False
        return STATUSES[status]

    @property
    def items(self):
        """The objects made last. The list is reused for the next ones if nothing else refers to it."""
        return self.made

    def size_of_last(self, Py_ssize_t count):
        """The size in bytes of the units of the last `count` objects; 0 if they share one unit."""
        if not 0 < count < self.ended:
            return 0
        return self.ends[self.ended - 1] - self.ends[self.ended - 1 - count]

    def forget(self):
        """Drop all objects."""
        self.made = []


cdef class Flattened:
    """The items of the lists that an iterator yields, one after another.

    Unlike `itertools.chain`, it loses no item if the iterator refuses a call while another call is running.
    """

    cdef object source
    cdef list items
    cdef Py_ssize_t at

    def __cinit__(self, source):
        self.source = iter(source)
        self.items = []

    def __iter__(self):
        return self

    def left(self):
        """The number of items of the current list that are still to come."""
        return max(PyList_GET_SIZE(self.items) - self.at, 0)

    def __next__(self):
        while self.at >= PyList_GET_SIZE(self.items):
            # dropped before the next is requested: a list without other references can be reused
            self.items = NO_ITEMS
            found = next(self.source)
            self.items = found if type(found) is list else list(found)
            found = None
            self.at = 0
        self.at += 1
        return <object>PyList_GET_ITEM(self.items, self.at - 1)


cdef list NO_ITEMS = []
