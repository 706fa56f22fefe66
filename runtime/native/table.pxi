# Declarations from `kodec_kernel.h` and `kodec_objects.h`. Part of bindings.pyx.

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
    const size_t KD_VARIES
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
        size_t room
        size_t hope
        int fixed
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
        size_t before_content
        int (*next)(const uint8_t *, size_t, size_t, const kd_options *, void *, size_t *, kd_where *) noexcept nogil
        int (*make)(
            const void *, const uint8_t *, size_t, const kd_options *, const kd_shape *, kd_texts *, PyObject *, kd_where *
        ) except -1
        int (*make_units)(
            const uint8_t *, size_t, size_t, size_t, const kd_options *, const kd_shape *, kd_texts *, PyObject *,
            size_t *, void *, size_t *, kd_where *
        ) except -1

cdef extern from "kodec_codecs.h" nogil:
    bint kd_decompress(const char *, const uint8_t *, size_t, size_t, kd_buffer *)
    void kd_free(kd_buffer *)

cdef extern from "kodec_kernel.h":
    Py_ssize_t kd_slot(PyTypeObject *, object) except -1
    bint kd_is_all_slots(const PyTypeObject *, Py_ssize_t)
    bint kd_is_alone(PyObject *)
    void kd_texts_clear(kd_texts *)
