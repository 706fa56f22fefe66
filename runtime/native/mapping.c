/* Mapped files that are cut while they are read.
 *
 * The kernel answers a read behind the new end with SIGBUS, which ends the process. Here the rest of the mapping then
 * becomes zeros, and `is_cut` reports it: whoever reads asks before a result is accepted. Other causes of the signal
 * go to whoever had it before. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 256

/* Written by Python's thread, read by the handler in any thread: `end` last, and 0 for a free place. */
static struct {
    volatile uintptr_t begin, end;
    volatile sig_atomic_t cut;
} places[MOST];
static struct sigaction before;
static uintptr_t page;
static int installed;

static void on_bus(int number, siginfo_t *info, void *context) {
    uintptr_t at = (uintptr_t)info->si_addr;
    (void)number, (void)context;
    for (int place = 0; place < MOST; place++) {
        if (at < places[place].begin || at >= places[place].end)
            continue;
        uintptr_t from = at & ~(page - 1);
        void *zeros = mmap((void *)from, places[place].end - from, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (zeros == MAP_FAILED)
            break;
        places[place].cut = 1;
        return;
    }
    /* not a mapping of these: the instruction is run again, and meets whoever had the signal before */
    sigaction(SIGBUS, &before, NULL);
    installed = 0;
}

static int install(void) {
    struct sigaction ours;
    if (installed)
        return 0;
    page = (uintptr_t)sysconf(_SC_PAGESIZE);
    ours.sa_sigaction = on_bus;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGBUS, &ours, &before) != 0) {
        PyErr_SetFromErrno(PyExc_OSError);
        return -1;
    }
    installed = 1;
    return 0;
}

static PyObject *guard(PyObject *self, PyObject *mapping) {
    Py_buffer view;
    (void)self;
    if (install() != 0 || PyObject_GetBuffer(mapping, &view, PyBUF_SIMPLE) != 0)
        return NULL;
    uintptr_t begin = (uintptr_t)view.buf, size = (uintptr_t)view.len;
    PyBuffer_Release(&view);
    for (int place = 0; place < MOST; place++) {
        if (places[place].end != 0)
            continue;
        places[place].cut = 0;
        places[place].begin = begin;
        places[place].end = begin + size;
        return PyLong_FromLong(place);
    }
    PyErr_SetString(PyExc_OSError, "too many mapped files");
    return NULL;
}

static int place_of(PyObject *number) {
    long place = PyLong_AsLong(number);
    if (place == -1 && PyErr_Occurred())
        return -1;
    if (place < 0 || place >= MOST) {
        PyErr_SetString(PyExc_ValueError, "not the number of a mapping");
        return -1;
    }
    return (int)place;
}

static PyObject *is_cut(PyObject *self, PyObject *number) {
    int place = place_of(number);
    (void)self;
    return place < 0 ? NULL : PyBool_FromLong(places[place].cut);
}

static PyObject *release(PyObject *self, PyObject *number) {
    int place = place_of(number);
    (void)self;
    if (place < 0)
        return NULL;
    places[place].end = 0;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"guard", guard, METH_O, "Note a mapping of a file; returns its number. Raises OSError."},
    {"is_cut", is_cut, METH_O, "Whether a read met the new end of a file that was cut."},
    {"release", release, METH_O, "Forget a mapping, before it is unmapped."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "mapping", "Mapped files that are cut while they are read.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_mapping(void) { return PyModule_Create(&definition); }
