# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=True
"""What every native kernel is in Python: classes over the table of functions that a kernel is in C.

A kernel's module has subclasses of these, bound to it by `define`. Their methods may be called in any order: one
that cannot do anything raises ValueError, and so does one that is called while another runs on the same object.
"""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

__all__ = ["Columns", "Flattened", "Heads", "Kernel", "Objects", "Rows", "Shape", "Writer", "define"]

cdef extern from "kodec_kernel.h" nogil:
    enum:
        KD_KERNEL_VERSION
        KD_MOST_COLUMNS
        KD_MOST_SLOTS
        KD_LEAST_MEMBER
        KD_SMALL_MEMBERS
        KD_OK
        KD_END
        KD_FULL
        KD_COMPRESSED
        KD_LIMIT
        KD_MEMORY
    const char *const kd_status_names[]

    ctypedef struct kd_where:
        int status
        int field
        size_t at
        size_t row
    ctypedef struct kd_span:
        const uint8_t *data
        size_t size
    ctypedef struct kd_buffer:
        uint8_t *data
        size_t size
    ctypedef struct kd_fixed:
        kd_buffer values
    ctypedef struct kd_options:
        uint64_t wanted
        bint check
        bint everything
        bint stop_at_hidden
        bint filtered
        size_t most_rows
        size_t most_bytes
        size_t unit_bytes
        size_t elements
        int64_t least[64]
        int64_t most[64]

    struct ArrowSchema:
        void (*release)(ArrowSchema *) noexcept nogil
    struct ArrowArray:
        int64_t length
        void (*release)(ArrowArray *) noexcept nogil
    ctypedef struct kd_arrow:
        ArrowSchema schema
        ArrowArray array

    ctypedef struct kd_members:
        PyObject *small[16]
        PyObject *all
    ctypedef struct kd_shape:
        PyTypeObject *cls
        bint refills
        int columns
        int others
        Py_ssize_t slots[80]
        PyObject *constants[80]
        kd_members members[80]
    ctypedef struct kd_texts:
        pass

    ctypedef struct kd_column:
        const char *name
        const char *format
        size_t width
        size_t at
        bint filtered
        bint wide
        bint members
    ctypedef struct kd_number:
        const char *name
        char kind
        size_t at
    ctypedef struct kd_place:
        size_t start
        size_t size
        kd_span content
    ctypedef struct kd_kernel:
        int version
        const char *name
        size_t unit_size
        size_t columns_size
        size_t heads_size
        size_t input_size
        const char *const *fields
        const kd_column *columns
        const char *const *heads
        const kd_number *numbers
        int count_of_fields
        int count_of_columns
        int count_of_slots
        int count_of_heads
        int count_of_numbers
        void (*place)(const void *, kd_place *) noexcept nogil
        const char *(*codec)(const void *) noexcept nogil
        int (*run)(const uint8_t *, size_t, size_t, const kd_options *, void *, void *, size_t *, kd_where *) noexcept nogil
        int (*rows)(const void *, const uint8_t *, size_t, const kd_options *, void *, kd_where *) noexcept nogil
        void (*cut)(const kd_options *, void *, size_t) noexcept nogil
        int (*not_ascii)(const void *) noexcept nogil
        size_t (*bytes)(const void *) noexcept nogil
        int (*give)(void *, const int *, int, kd_arrow *) noexcept nogil
        void (*clear)(void *) noexcept nogil
        int (*walk)(
            const uint8_t *, size_t, size_t, int64_t, int, size_t, size_t, void *, void *, size_t *, kd_where *
        ) noexcept nogil
        int (*give_heads)(void *, kd_arrow *) noexcept nogil
        void (*clear_heads)(void *) noexcept nogil
        int (*load)(const ArrowSchema *, const ArrowArray *, void *, kd_where *) noexcept nogil
        int (*write_rows)(void *, const void *, int64_t, int64_t, kd_buffer *, kd_where *) noexcept nogil
        int (*write_unit)(const void *, const uint8_t *, size_t, kd_buffer *, kd_where *) noexcept nogil
        void (*release)(kd_buffer *) noexcept nogil
        int (*next)(const uint8_t *, size_t, size_t, const kd_options *, void *, size_t *, kd_where *) noexcept nogil
        int (*make)(
            const void *, const uint8_t *, size_t, const kd_options *, const kd_shape *, kd_texts *, PyObject *, kd_where *
        ) except -1
        int (*make_units)(
            const uint8_t *, size_t, size_t, size_t, const kd_options *, const kd_shape *, kd_texts *, PyObject *,
            size_t *, void *, size_t *, kd_where *
        ) except -1

cdef extern from "kodec_kernel.h":
    Py_ssize_t kd_slot(PyTypeObject *, object) except -1
    bint kd_is_all_slots(const PyTypeObject *, Py_ssize_t)
    bint kd_is_alone(PyObject *)
    void kd_texts_clear(kd_texts *)

cdef uint8_t NOTHING = 0

STATUSES = tuple([kd_status_names[status].decode() for status in range(15)])
"""Why a kernel stopped, by number."""


# ---------------------------------------------------------------------- a kernel


cdef class Kernel:
    """A kernel's table, and the names in it."""

    cdef const kd_kernel *k
    cdef readonly str name
    cdef readonly tuple columns
    cdef readonly tuple heads

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

    cdef int column(self, name) except -1:
        """The index of a column. Raises ValueError."""
        if name not in self.columns:
            raise ValueError(f"no column {name!r}: {', '.join(self.columns)}")
        return self.columns.index(name)

    cdef dict numbers(self, const char *unit):
        """The numbers in a unit's head, by name."""
        return {self.k.numbers[i].name.decode(): self.number(i, unit) for i in range(self.k.count_of_numbers)}

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
        cdef int i
        for i in range(self.k.count_of_numbers):
            if self.k.numbers[i].name == name.encode():
                break
        else:
            raise ValueError(f"no number {name!r} in the head")
        cdef const kd_number *number = &self.k.numbers[i]
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
        """To be called before anything that changes the object, and `busy` put back behind it."""
        if self.busy:
            raise ValueError("already in use by another call")
        self.busy = True
        return 0

    cdef int reached(self, int status, const uint8_t *buf) except -1:
        """Note where the unit is that was looked at last, and whether its content is to be decompressed."""
        self.k.place(self.u, &self.place)
        self.compressed = status == KD_COMPRESSED
        self.content_start = self.place.start
        if self.compressed and self.place.content.data != NULL:
            self.content_start = self.place.content.data - buf
        # what it points to is not held
        self.place.content.data = NULL
        return 0

    @property
    def unit(self):
        """Where the unit that was looked at last starts, and its size, in bytes."""
        return self.place.start, self.place.size

    @property
    def head(self):
        """The numbers in the head of that unit, by name."""
        return self.kernel.numbers(self.u)

    @property
    def content(self):
        """Of a unit that was reached as compressed: codec, where its content starts, and its size."""
        cdef const char *codec = self.k.codec(self.u) if self.compressed else NULL
        if codec == NULL:
            raise ValueError("no compressed unit was reached")
        return codec.decode(), self.content_start, self.place.content.size

    @property
    def where(self):
        """Why it stopped last: status, field, and the byte in the data that was read."""
        return self.kernel.where(&self.w, self.w.at)


cdef const uint8_t *opened(object data, Py_buffer *view, size_t pos, size_t end) except NULL:
    """The bytes of `data`, to be released. Raises ValueError where `pos` and `end` are no part of them."""
    PyObject_GetBuffer(data, view, PyBUF_SIMPLE)
    if end > <size_t>view.len or pos > end:
        PyBuffer_Release(view)
        raise ValueError("pos and end are outside of the data")
    return <const uint8_t *>view.buf if view.len else &NOTHING


# ---------------------------------------------------------------------- columns


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
    """Columns that were taken: an Arrow struct array, handed over once by `__arrow_c_array__`."""

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
    """Takes over what was made."""
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


cdef class Rows(Bound):
    """Reads units one after another and keeps their rows, column by column.

    Args:
        columns: which of COLUMNS, in the order in which they are wanted; None is all.
        check: verify checksums.
        everything: also give rows of units that are not for users.
        stop_at_hidden: stop at such a unit, with the status `hidden`.
        rows, nbytes: stop before the next unit once there are so many rows, or bytes in columns of bytes.
        unit_bytes: the largest unit that is read.
        elements: the most rows, with the elements of their lists, that one unit may have.
        bounds: for a column of whole numbers its least and its most value (None: no bound); other rows
            are left out, and units whose head says that they have none are passed over unread.

    An object is to be used by one thread at a time; several may work at once, each with its own.
    """

    cdef char *c
    cdef kd_options o
    cdef int order[64]
    cdef int count
    # views of the numbers that are alive, and how often what they show went elsewhere
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
    ):
        cdef int i
        known = self.kernel.columns
        wanted = list(known if columns is None else columns)
        if len(set(wanted)) != len(wanted) or not set(wanted) <= set(known):
            raise ValueError(f"columns: some of {', '.join(known)}, each once; not {wanted}")
        memset(&self.o, 0, sizeof(self.o))
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

    cdef size_t rows_so_far(self) noexcept:
        return (<size_t *>self.c)[0]

    cdef int change(self) except -1:
        """To be called in place of `start` by what may move the numbers."""
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
        """Whether a text so far may be something else than ASCII: it is as it was stored, UTF-8 or not."""
        return bool(self.k.not_ascii(self.c))

    def run(self, data, size_t pos, size_t end):
        """Append the rows of the units in `data[pos:end]`; give (status, where it stopped).

        `end`: there is no more. `full`: there are as many rows or bytes as asked for. `compressed`: see
        `content`. `hidden`: the unit's rows are not for users. Anything else is what is wrong with the unit
        there: see `where`. The rows before stay.
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
                self.reached(status, buf)
            finally:
                self.busy = False
        finally:
            PyBuffer_Release(&view)
        if status == KD_MEMORY:
            raise MemoryError
        return STATUSES[status], next

    def rows(self, data):
        """Append the rows of the unit at which `run` stopped as compressed, whose content `data` was decompressed.

        Gives the status, `ok` or why not; no row was then appended.
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
        """Take rows back, to the first `rows`."""
        self.change()
        if rows < self.rows_so_far():
            self.k.cut(&self.o, self.c, rows)
        self.busy = False

    cdef char *numbers(self, int index, size_t first) except NULL:
        """The numbers of a column. Raises ValueError where it has none."""
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
        """A writable view of the numbers of a column from row `first` on. While it is there rows cannot be added or taken."""
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
        """Add `by` to a column of 64-bit numbers from row `first` on. Raises OverflowError, and then did nothing."""
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


cdef class Numbers:
    """The numbers of a column from a row on, for as long as they stay where they are."""

    cdef Rows rows
    cdef char *data
    cdef size_t moves
    cdef Py_ssize_t count
    cdef Py_ssize_t width
    cdef const char *format

    def __getbuffer__(self, Py_buffer *view, int flags):
        if self.moves != self.rows.moves:
            raise BufferError("the numbers are no more where they were")
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
        """Append the heads of the units in `data[pos:end]`, until there are `rows`; give (status, where it stopped).

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


# ---------------------------------------------------------------------- objects


cdef class Shape:
    """Where the objects of a class keep the values of a row.

    Args:
        cls: a class with a slot for each of COLUMNS, but for those that `head` of a `-row` adds.
        members: for a column of whole numbers, which object stands for which number.
        others: what is in slots that are no columns.
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
        # what the shape points to lives as long as it
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
    """Goes from unit to unit, and makes objects of a class of the rows of the one that was reached.

    The objects are whole when they are given, and hold nothing of the bytes that they were made of. One that nobody
    else holds when the next are made, with the list that it is in, is filled again.

    Args:
        shape: of the class.
        check: verify checksums.
        stop_at_hidden: stop at a unit whose rows are not for users, which is else passed over.
        rows: where a unit is a row, the most that are made at once.
        unit_bytes, elements: as of Rows.

    An object is to be used by one thread at a time.
    """

    cdef Shape shape
    cdef kd_options o
    cdef kd_texts texts
    cdef list made
    # where a unit is a row: where the unit of each object ends, and of how many that is known
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
        self.o.most_rows = max(rows, 1)
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
        """The list to be filled: of what it holds the values are dropped, which may run any code."""
        self.start()
        self.compressed = False
        self.ended = 0
        if not kd_is_alone(<PyObject *>self.made):
            self.made = []
        return self.made

    def next(self, data, size_t pos, size_t end):
        """Go to the next unit in `data[pos:end]` that has rows; give (status, place).

        `ok`: `items` are its rows; the place is where it ends. `compressed`: see `content`, and the same.
        `hidden`: its rows are not for users. `end`, and anything else: why there is none, and where that unit
        starts. Where a unit is a row, `items` are the rows that follow one another, and the place is where the
        last of them ends; the next call says what is there.
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
        """Make objects of the rows of the compressed unit, whose content `data` was decompressed: `items`.

        Gives the status, `ok` or why not.
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
        """The objects that were made last. The list is filled again where nobody else holds it then."""
        return self.made

    def size_of_last(self, Py_ssize_t count):
        """How many bytes the units of the last `count` objects take; 0 where one unit has them all."""
        if not 0 < count < self.ended:
            return 0
        return self.ends[self.ended - 1] - self.ends[self.ended - 1 - count]

    def forget(self):
        """Keep no object."""
        self.made = []


cdef class Flattened:
    """The items of the lists that an iterator gives, one after another.

    Unlike a chain, it loses nothing where the iterator refuses a call that comes while another is inside of it.
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
        """How many items of the list that was given last are still to come."""
        return max(PyList_GET_SIZE(self.items) - self.at, 0)

    def __next__(self):
        while self.at >= PyList_GET_SIZE(self.items):
            # let go of before the next is asked for: a list that nobody holds can be filled again
            self.items = NO_ITEMS
            found = next(self.source)
            self.items = found if type(found) is list else list(found)
            found = None
            self.at = 0
        self.at += 1
        return <object>PyList_GET_ITEM(self.items, self.at - 1)


cdef list NO_ITEMS = []


# ---------------------------------------------------------------------- writing


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


# ---------------------------------------------------------------------- modules


def define(module, capsule):
    """Put into a kernel's module its names, and the classes of what it can do."""
    kernel = Kernel(capsule)
    bases = [Rows, Heads]
    if (<Kernel>kernel).k.make != NULL or (<Kernel>kernel).k.make_units != NULL:
        bases += [Shape, Objects]
    if (<Kernel>kernel).k.load != NULL:
        bases += [Writer]
    for base in bases:
        members = {"__slots__": (), "__module__": module.__name__, "__doc__": base.__doc__, "_kernel": kernel}
        setattr(module, base.__name__, type(base.__name__, (base,), members))
    module.COLUMNS, module.HEADS, module.STATUSES = kernel.columns, kernel.heads, STATUSES
    module.Columns = Columns
    module.__all__ = ["COLUMNS", "HEADS", "STATUSES", "Columns", *(base.__name__ for base in bases)]
