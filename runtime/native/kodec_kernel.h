/* How the Python bindings (bindings.pyx) reach a kernel: one table of facts and functions for each.
 *
 * A kernel as a Python module is one translation unit: its core, the code that makes objects of its rows, and this
 * table. A struct of the kernel is a void pointer here; the table has its size. */
#ifndef KODEC_KERNEL_H
#define KODEC_KERNEL_H

#include <Python.h>

#include "kodec_arrow.h"
#include "kodec_objects.h"

/* Increase this with each change of the declarations below and of their types. */
enum { KD_KERNEL_VERSION = 4 };

/* Of `before_content`: it is not always the same. */
#define KD_VARIES SIZE_MAX

/* A column of rows. */
typedef struct {
  const char *name;
  const char *format; /* of its numbers, as in Python's memoryview; NULL if it has none */
  size_t width;       /* bytes of a number */
  size_t at;          /* where in the struct of columns its kd_fixed is */
  int filtered;       /* whether its numbers can have bounds */
  int wide;           /* whether they are signed and have 64 bits */
  int members;        /* whether objects can represent them */
} kd_column;

/* A number in the head of a unit. */
typedef struct {
  const char *name;
  char kind; /* `i`: int64_t, `u`: uint64_t, `f`: float, `d`: double */
  size_t at; /* where in the struct of a unit it is */
} kd_number;

/* The position of a unit in the bytes that were read, and its compressible content. */
typedef struct {
  size_t start, size;
  kd_span content;
} kd_place;

/* What a kernel cannot do is NULL. */
typedef struct {
  int version;
  const char *name;
  size_t unit_size, columns_size, heads_size, input_size; /* of its structs, in bytes */
  const char *const *fields;
  const kd_column *columns;
  const char *const *heads; /* the names of a head's columns */
  const kd_number *numbers;
  int count_of_fields, count_of_columns, count_of_heads, count_of_numbers;
  int count_of_slots; /* how many of the columns, the first ones, objects have too */

  void (*place)(const void *unit, kd_place *out);
  const char *(*codec)(const void *unit);

  int (*run)(const uint8_t *buf, size_t pos, size_t end, const kd_options *options, void *columns, void *unit,
             size_t *next, kd_where *where);
  int (*rows)(const void *unit, const uint8_t *data, size_t size, const kd_options *options, void *columns,
              kd_where *where); /* NULL if a unit is a row */
  void (*cut)(const kd_options *options, void *columns, size_t rows);
  int (*not_ascii)(const void *columns);
  size_t (*bytes)(const void *columns);
  int (*give)(void *columns, const int *order, int count, kd_arrow *out);
  void (*clear)(void *columns);

  int (*walk)(const uint8_t *buf, size_t pos, size_t end, int64_t origin, int check, size_t most_rows,
              size_t unit_bytes, void *heads, void *unit, size_t *next, kd_where *where);
  int (*give_heads)(void *heads, kd_arrow *out);
  void (*clear_heads)(void *heads);

  int (*load)(const struct ArrowSchema *schema, const struct ArrowArray *array, void *input, kd_where *where);
  int (*write_rows)(void *unit, const void *input, int64_t first, int64_t last, kd_buffer *out, kd_where *where);
  int (*write_unit)(const void *unit, const uint8_t *content, size_t size, kd_buffer *out, kd_where *where);
  size_t before_content; /* bytes of a unit before its content */

  int (*next)(const uint8_t *buf, size_t pos, size_t end, const kd_options *options, void *unit, size_t *next,
              kd_where *where);
  int (*make)(const void *unit, const uint8_t *data, size_t size, const kd_options *options,
              const kd_shape *shape, kd_texts *kept, PyObject *list, kd_where *where);
  int (*make_units)(const uint8_t *buf, size_t pos, size_t end, size_t most, const kd_options *options,
                    const kd_shape *shape, kd_texts *kept, PyObject *list, size_t *ends, void *unit,
                    size_t *next, kd_where *where); /* replaces the two above if a unit is a row */
} kd_kernel;

/* ------------------------------------------------------------------ functions for the table */

#define KD_FUNCTIONS(k)                                                                                        \
  static int any_run(const uint8_t *buf, size_t pos, size_t end, const kd_options *options, void *columns,     \
                     void *unit, size_t *next, kd_where *where) {                                              \
    return k##_run(buf, pos, end, options, columns, unit, next, where);                                        \
  }                                                                                                            \
  static void any_cut(const kd_options *options, void *columns, size_t rows) { k##_cut(options, columns, rows); } \
  static int any_not_ascii(const void *columns) { return k##_not_ascii(columns); }                             \
  static size_t any_bytes(const void *columns) { return k##_bytes(columns); }                                  \
  static int any_give(void *columns, const int *order, int count, kd_arrow *out) {                             \
    return k##_export(columns, order, count, out);                                                             \
  }                                                                                                            \
  static void any_clear(void *columns) { k##_clear(columns); }                                                 \
  static int any_walk(const uint8_t *buf, size_t pos, size_t end, int64_t origin, int check, size_t most_rows, \
                      size_t unit_bytes, void *heads, void *unit, size_t *next, kd_where *where) {             \
    return k##_walk(buf, pos, end, origin, check, most_rows, unit_bytes, heads, unit, next, where);            \
  }                                                                                                            \
  static int any_give_heads(void *heads, kd_arrow *out) { return k##_export_heads(heads, out); }               \
  static void any_clear_heads(void *heads) { k##_clear_heads(heads); }
#define KD_FUNCTION_CODEC(k) \
  static const char *any_codec(const void *unit) { return k##_codec(unit); }
#define KD_FUNCTION_ROWS(k)                                                                                 \
  static int any_rows(const void *unit, const uint8_t *data, size_t size, const kd_options *options,        \
                      void *columns, kd_where *where) {                                                     \
    return k##_rows(unit, data, size, options, columns, where);                                             \
  }
#define KD_FUNCTIONS_WRITE(k)                                                                                  \
  static int any_load(const struct ArrowSchema *schema, const struct ArrowArray *array, void *input,           \
                      kd_where *where) {                                                                       \
    return k##_load(schema, array, input, where);                                                              \
  }                                                                                                            \
  static int any_write_rows(void *unit, const void *input, int64_t first, int64_t last, kd_buffer *out,        \
                            kd_where *where) {                                                                 \
    return k##_write_rows(unit, input, first, last, out, where);                                               \
  }
#define KD_FUNCTION_WRITE_UNIT(k)                                                                              \
  static int any_write_unit(const void *unit, const uint8_t *content, size_t size, kd_buffer *out,             \
                            kd_where *where) {                                                                 \
    return k##_write_unit(unit, content, size, out, where);                                                    \
  }
#define KD_FUNCTIONS_OBJECTS(k)                                                                                \
  static int any_next(const uint8_t *buf, size_t pos, size_t end, const kd_options *options, void *unit,       \
                      size_t *next, kd_where *where) {                                                         \
    return k##_next(buf, pos, end, options, unit, next, where);                                                \
  }                                                                                                            \
  static int any_make(const void *unit, const uint8_t *data, size_t size, const kd_options *options,           \
                      const kd_shape *shape, kd_texts *kept, PyObject *list, kd_where *where) {                \
    return make(unit, data, size, options, shape, kept, list, where);                                          \
  }

/* ------------------------------------------------------------------ the module */

/* Put the kernel's classes and names into its module. */
KD_UNUSED static int kd_define(PyObject *module, const kd_kernel *kernel) {
  PyObject *bindings = NULL, *done = NULL;
  PyObject *const capsule = PyCapsule_New((void *)(uintptr_t)kernel, "kodec.kernel", NULL);
  if (capsule != NULL) bindings = PyImport_ImportModule("kodec.runtime.native.bindings");
  if (bindings != NULL) done = PyObject_CallMethod(bindings, "define", "OO", module, capsule);
  Py_XDECREF(done);
  Py_XDECREF(bindings);
  Py_XDECREF(capsule);
  return done == NULL ? -1 : 0;
}

/* `source` is what the module's text is known by, so that one that is older than its schema can be noticed */
#define KD_MODULE(k, source, doc)                                                              \
  static int fill_module(PyObject *module) {                                                   \
    k##_prepare();                                                                             \
    if (PyModule_AddStringConstant(module, "SOURCE", source) < 0) return -1;                   \
    return kd_define(module, &kernel);                                                         \
  }                                                                                            \
  PyMODINIT_FUNC PyInit_##k(void) {                                                            \
    static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)(uintptr_t)fill_module}, {0, NULL}}; \
    static PyModuleDef module = {PyModuleDef_HEAD_INIT, #k, doc, 0, NULL, slots, NULL, NULL, NULL}; \
    return PyModuleDef_Init(&module);                                                          \
  }

#endif
