# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=True
"""The Python classes of native kernels, over the table of functions that a kernel exports in C.

A kernel's module has subclasses of these, bound to it by `define`. Their methods may be called in any order: a call
that makes no sense in the current state raises ValueError, and so does one while another runs on the same object.
"""

from cython cimport no_gc_clear
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

__all__ = ["Columns", "Flattened", "Heads", "Kernel", "Objects", "Rows", "Shape", "Writer", "decompress", "define", "in_order", "murmur2"]

include "table.pxi"
include "kernel.pxi"
include "columns.pxi"
include "objects.pxi"
include "writing.pxi"
include "order.pxi"
include "heads.pxi"
include "hashing.pxi"


def define(module, capsule):
    """Add the kernel's names and the classes that it supports to its module."""
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
