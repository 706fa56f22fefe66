/* Layouts of messages, as `messages.c` reads and writes by them. Needs Python.h.
 *
 * A layout has the fields of one version of a class, as they are on the wire, with the slot of an object for each
 * value. It is made of the rows that the generator wrote (`Wire` of `kodec.runtime.messages`) when a version is first
 * used. Nothing here depends on a format: there are wire types, lengths, lists, objects and tags. */
#ifndef KODEC_MESSAGE_H
#define KODEC_MESSAGE_H

#include "kodec_objects.h"

enum {
  KM_MOST_DEPTH = 64, /* nested objects; pure Python handles deeper ones */
  KM_MOST_TAGS = 64,
  KM_ANY = -1 /* as a version: of a class without versions */
};

/* Wire types. Those of fixed width come first. */
typedef enum {
  KM_U1, KM_S1, KM_U2, KM_S2, KM_U4, KM_S4, KM_U8, KM_S8, KM_F4, KM_F8, KM_BOOL, KM_UUID,
  KM_UVARINT, KM_ZIGZAG32, KM_ZIGZAG64, KM_TEXT, KM_BYTES, KM_LIST, KM_OBJECT, KM_TAGS
} km_kind;

static const struct {
  const char *name;
  int width; /* 0 if it varies */
  int least; /* the fewest bytes */
} km_kinds[] = {
    {"u1", 1, 1}, {"s1", 1, 1}, {"u2", 2, 2}, {"s2", 2, 2}, {"u4", 4, 4}, {"s4", 4, 4}, 
    {"u8", 8, 8}, {"s8", 8, 8}, {"f4", 4, 4}, {"f8", 8, 8}, {"bool8", 1, 1}, {"uuid", 16, 16},
    {"uvarint32", 0, 1}, {"zigzag32", 0, 1}, {"zigzag64", 0, 1},
    {"text", 0, 0}, {"bytes", 0, 0}, {"list", 0, 0}, {"object", 0, 0}, {"tags", 0, 1},
};

typedef struct km_layout km_layout;
typedef struct km_message km_message;

/* The encoding of one value. */
typedef struct km_value {
  uint8_t kind;
  uint8_t counted;  /* whether a length, a count or a presence comes first, a number of kind `length` */
  uint8_t length;
  uint8_t plus;     /* added to it when it is stored; the stored number for null is less by one */
  uint8_t nullable;
  uint8_t has_only; /* whether `only` is the one number that is allowed */
  int64_t only;
  struct km_value *element; /* of a list */
  km_layout *layout;        /* of an object */
  km_message *message;      /* the class of the layout; a reference */
} km_value;

/* How the value of an attribute comes about that the bytes do not have. */
typedef enum { KM_SHARED, KM_NEW_LIST, KM_BLANK, KM_CALLED } km_start;

typedef struct {
  km_value value;
  Py_ssize_t slot;
  int need;        /* bytes of the adjacent fields of fixed width that start here; 0 if an earlier field includes them */
  uint32_t tag;
  uint8_t start;
  uint8_t ignorable; /* fields that a version does not have are dropped when it is written */
  PyObject *initial; /* the value itself, or the callable that returns it; a reference */
  km_layout *blank;   /* of KM_BLANK, an object of one of these classes: a layout of it, to name its attributes */
  km_message *called; /* its class; a reference */
} km_field;

struct km_layout {
  PyTypeObject *cls; /* the message's reference */
  Py_ssize_t fields, tags, absent;
  km_field *field; /* in the order on the wire */
  km_field *tag;   /* of the section of tags, by their numbers */
  km_field *gone;  /* fields that this version does not have */
  Py_ssize_t least; /* the smallest size in bytes; a lower bound if it is not known */
  Py_ssize_t told;  /* the slot of the version that the caller passes */
  PyObject *version; /* what is in it; NULL if objects do not have one. A reference. */
  int whole;        /* completed without an error */
};

/* A class and its rows. */
struct km_message {
  PyObject_HEAD
  PyObject *cls, *rows, *peers, *defaults;
  PyObject *initials;    /* what `defaults` gave for `rows`: (value, whether it is called); NULL until it is needed */
  int started;           /* whether the other members are set */
  long first, versions;  /* 0 versions: the class has no versions */
  int inside;            /* whether the bytes contain the version: at `at`, a number of kind `kind`, kept in `slot` */
  Py_ssize_t at, slot;
  uint8_t kind;
  km_layout **layouts;
};

static km_layout *km_make(km_message *message, long version);
static PyTypeObject *km_message_type;

/* The indexes in a row, as in `Wire`, and in the description of a value, as in `Only` and `Counted`. */
enum { KM_NAME, KM_HOW, KM_FIRST, KM_LAST, KM_IGNORABLE, KM_TAG, KM_SAYS_VERSION, KM_ROW };
enum { KM_WIRE, KM_ONLY, KM_ONE_VALUE };
enum { KM_WHAT, KM_LENGTH, KM_ELEMENT, KM_PLUS, KM_NULL, KM_LONG_VALUE };

/* ------------------------------------------------------------------ from rows to layouts */

/* The kind that a text names; -1 if there is none, or it is not a text. */
static int km_kind_named(PyObject *text) {
  for (int kind = KM_U1; PyUnicode_Check(text) && kind <= KM_TAGS; kind++)
    if (PyUnicode_CompareWithASCIIString(text, km_kinds[kind].name) == 0) return kind;
  return -1;
}

static void km_value_clear(km_value *value) {
  if (value->element != NULL) {
    km_value_clear(value->element);
    PyMem_Free(value->element);
    value->element = NULL;
  }
  Py_CLEAR(value->message);
}

static int km_refuse(km_message *message, PyObject *how) {
  if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "%R: %R is nothing on the wire", message->cls, how);
  return -1;
}

static int km_set_object(km_message *message, PyObject *cls, long version, km_value *value) {
  PyObject *const found = PyDict_GetItemWithError(message->peers, cls);
  if (found == NULL || !PyObject_TypeCheck(found, km_message_type)) return km_refuse(message, cls);
  value->kind = KM_OBJECT;
  value->message = (km_message *)found;
  Py_INCREF(found);
  value->layout = km_make(value->message, version);
  return value->layout == NULL ? -1 : 0;
}

/* The description of a value in a row: a wire type, an `Only`, a `Counted` or a class. */
static int km_set_value(km_message *message, PyObject *how, long version, km_value *value) {
  PyObject *element;
  int kind;
  if (PyType_Check(how)) return km_set_object(message, how, version, value);
  if (!PyTuple_Check(how)) {
    kind = km_kind_named(how);
    if (kind < 0 || (kind >= KM_TEXT && kind != KM_TAGS)) return km_refuse(message, how);
    value->kind = (uint8_t)kind;
    return 0;
  }
  if (PyTuple_GET_SIZE(how) == KM_ONE_VALUE) {
    kind = km_kind_named(PyTuple_GET_ITEM(how, KM_WIRE));
    if (kind < 0 || kind >= KM_U8) return km_refuse(message, how);
    value->kind = (uint8_t)kind;
    value->has_only = 1;
    value->only = PyLong_AsLongLong(PyTuple_GET_ITEM(how, KM_ONLY));
    return PyErr_Occurred() ? -1 : 0;
  }
  if (PyTuple_GET_SIZE(how) != KM_LONG_VALUE) return km_refuse(message, how);
  kind = km_kind_named(PyTuple_GET_ITEM(how, KM_LENGTH));
  if (kind < 0 || (kind > KM_S4 && kind != KM_UVARINT)) return km_refuse(message, how);
  value->counted = 1;
  value->length = (uint8_t)kind;
  value->plus = (uint8_t)PyObject_IsTrue(PyTuple_GET_ITEM(how, KM_PLUS));
  value->nullable = (uint8_t)PyObject_IsTrue(PyTuple_GET_ITEM(how, KM_NULL));
  kind = km_kind_named(PyTuple_GET_ITEM(how, KM_WHAT));
  if (kind < KM_TEXT || kind == KM_TAGS) return km_refuse(message, how);
  value->kind = (uint8_t)kind;
  element = PyTuple_GET_ITEM(how, KM_ELEMENT);
  if (kind == KM_TEXT || kind == KM_BYTES) return element == Py_None ? 0 : km_refuse(message, how);
  if (kind == KM_OBJECT)
    return value->nullable ? km_set_object(message, element, version, value) : km_refuse(message, how);
  value->element = PyMem_Calloc(1, sizeof *value->element);
  if (value->element == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  return km_set_value(message, element, version, value->element);
}

/* The smallest size of a value in bytes. */
static Py_ssize_t km_least(const km_value *value) {
  if (value->counted) return km_kinds[value->length].least;
  return value->kind == KM_OBJECT ? value->layout->least : km_kinds[value->kind].least;
}

static int km_set_field(km_message *message, Py_ssize_t at, long version, km_field *field, int present) {
  PyObject *const row = PyTuple_GET_ITEM(message->rows, at);
  PyObject *const start = PyTuple_GET_ITEM(message->initials, at);
  PyObject *const initial = PyTuple_GET_ITEM(start, 0);
  field->slot = kd_slot((PyTypeObject *)message->cls, PyTuple_GET_ITEM(row, KM_NAME));
  if (field->slot < 0) return -1;
  field->ignorable = (uint8_t)PyObject_IsTrue(PyTuple_GET_ITEM(row, KM_IGNORABLE));
  field->tag = (uint32_t)PyLong_AsLong(PyTuple_GET_ITEM(row, KM_TAG));
  field->start = PyObject_IsTrue(PyTuple_GET_ITEM(start, 1)) ? KM_CALLED : KM_SHARED;
  if (field->start == KM_CALLED && initial == (PyObject *)&PyList_Type) field->start = KM_NEW_LIST;
  field->initial = initial;
  Py_INCREF(initial);
  if (PyErr_Occurred()) return -1;
  if (field->start == KM_CALLED && PyType_Check(initial)) {
    PyObject *const found = PyDict_GetItemWithError(message->peers, initial);
    if (found != NULL && PyObject_TypeCheck(found, km_message_type)) {
      km_message *const called = (km_message *)found;
      field->blank = km_make(called, called->versions ? called->first : KM_ANY);
      if (field->blank == NULL) return -1;
      field->called = called;
      Py_INCREF(called);
      field->start = KM_BLANK;
    } else if (PyErr_Occurred()) {
      return -1;
    }
  }
  return present ? km_set_value(message, PyTuple_GET_ITEM(row, KM_HOW), version, &field->value) : 0;
}

/* Whether a row applies to the version. */
static int km_holds(PyObject *row, long version) {
  const long first = PyLong_AsLong(PyTuple_GET_ITEM(row, KM_FIRST)), last = PyLong_AsLong(PyTuple_GET_ITEM(row, KM_LAST));
  return first < 0 || (first <= version && version <= last);
}

static int km_by_tag(const void *a, const void *b) {
  const uint32_t x = ((const km_field *)a)->tag, y = ((const km_field *)b)->tag;
  return x < y ? -1 : x > y;
}

/* Whether two rows are of one attribute. */
static int km_same(PyObject *row, PyObject *other) {
  PyObject *const name = PyTuple_GET_ITEM(row, KM_NAME);
  return PyUnicode_Compare(name, PyTuple_GET_ITEM(other, KM_NAME)) == 0;
}

/* Whether the attribute of a row has a row that applies to the version. */
static int km_has(PyObject *rows, PyObject *row, long version) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); i++)
    if (km_same(PyTuple_GET_ITEM(rows, i), row) && km_holds(PyTuple_GET_ITEM(rows, i), version)) return 1;
  return 0;
}

static int km_fill(km_message *message, long version, km_layout *layout) {
  PyObject *const rows = message->rows;
  const Py_ssize_t count = PyTuple_GET_SIZE(rows);
  layout->cls = (PyTypeObject *)message->cls;
  if (layout->cls->tp_itemsize || layout->cls->tp_alloc != PyType_GenericAlloc || !PyType_IS_GC(layout->cls) ||
      layout->cls->tp_dictoffset || layout->cls->tp_weaklistoffset) {
    PyErr_Format(PyExc_TypeError, "%R: objects are not plain slots", message->cls);
    return -1;
  }
  layout->field = PyMem_Calloc((size_t)count + 1, sizeof(km_field));
  layout->tag = PyMem_Calloc((size_t)count + 1, sizeof(km_field));
  layout->gone = PyMem_Calloc((size_t)count + 1, sizeof(km_field));
  if (layout->field == NULL || layout->tag == NULL || layout->gone == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *const row = PyTuple_GET_ITEM(rows, i);
    const int tagged = PyLong_AsLong(PyTuple_GET_ITEM(row, KM_TAG)) >= 0;
    if (km_holds(row, version)) {
      km_field *const field = tagged ? &layout->tag[layout->tags++] : &layout->field[layout->fields++];
      if (km_set_field(message, i, version, field, 1) < 0) return -1;
    } else if ((i == 0 || !km_same(PyTuple_GET_ITEM(rows, i - 1), row)) && !km_has(rows, row, version)) {
      /* the rows of an attribute are neighbours */
      if (km_set_field(message, i, version, &layout->gone[layout->absent++], 0) < 0) return -1;
    }
  }
  if (message->versions && !message->inside) {
    PyObject *const name = PyUnicode_FromString("version");
    layout->told = name == NULL ? -1 : kd_slot(layout->cls, name);
    Py_XDECREF(name);
    if (layout->told < 0 || (layout->version = PyLong_FromLong(version)) == NULL) return -1;
  }
  if (layout->tags > KM_MOST_TAGS || (layout->tags && layout->field[layout->fields - 1].value.kind != KM_TAGS)) {
    PyErr_SetString(PyExc_ValueError, "tags without a section of tags at the end");
    return -1;
  }
  qsort(layout->tag, (size_t)layout->tags, sizeof(km_field), km_by_tag);
  for (Py_ssize_t i = layout->fields - 1, run = 0; i >= 0; i--) {
    km_field *const field = &layout->field[i];
    const int width = km_kinds[field->value.kind].width;
    layout->least += km_least(&field->value);
    run = width ? run + width : 0;
    field->need = (int)run;
    if (i > 0 && run && km_kinds[layout->field[i - 1].value.kind].width) field->need = 0;
  }
  return 0;
}

static void km_layout_clear(km_layout *layout) {
  km_field *const lists[] = {layout->field, layout->tag, layout->gone};
  const Py_ssize_t counts[] = {layout->fields, layout->tags, layout->absent};
  for (int i = 0; i < 3; i++) {
    for (Py_ssize_t j = 0; j < counts[i]; j++) {
      km_value_clear(&lists[i][j].value);
      Py_CLEAR(lists[i][j].initial);
      Py_CLEAR(lists[i][j].called);
    }
    PyMem_Free(lists[i]);
  }
  Py_CLEAR(layout->version);
  memset(layout, 0, sizeof *layout);
}

/* What of a message is known once its defaults are. */
static int km_begin(km_message *message) {
  PyObject *versions = NULL, *first = NULL, *initials = NULL;
  Py_ssize_t at = 0;
  int status = -1;
  if (message->started) return 0;
  initials = PyObject_CallFunctionObjArgs(message->defaults, message->cls, message->rows, NULL);
  if (initials == NULL) return -1;
  if (!PyTuple_CheckExact(initials) || PyTuple_GET_SIZE(initials) != PyTuple_GET_SIZE(message->rows)) {
    PyErr_SetString(PyExc_TypeError, "a default for each row");
    goto done;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(initials); i++) {
    PyObject *const row = PyTuple_GET_ITEM(message->rows, i), *const start = PyTuple_GET_ITEM(initials, i);
    if (!PyTuple_Check(row) || PyTuple_GET_SIZE(row) != KM_ROW || !PyUnicode_Check(PyTuple_GET_ITEM(row, KM_NAME)) ||
        !PyTuple_CheckExact(start) || PyTuple_GET_SIZE(start) != 2) {
      PyErr_SetString(PyExc_TypeError, "a row is a tuple of seven, a default one of two");
      goto done;
    }
  }
  if (message->started) { /* by what was called */
    status = 0;
    goto done;
  }
  versions = PyObject_GetAttrString(message->cls, "VERSIONS");
  if (versions == NULL) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) goto done;
    PyErr_Clear();
    message->versions = 0;
  } else {
    const Py_ssize_t count = PyObject_Length(versions);
    if (count <= 0 || count > INT16_MAX || (first = PySequence_GetItem(versions, 0)) == NULL) goto done;
    message->versions = (long)count;
    message->first = PyLong_AsLong(first);
    if (message->first == -1 && PyErr_Occurred()) goto done;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(message->rows) && !message->inside; i++) {
    PyObject *const row = PyTuple_GET_ITEM(message->rows, i), *const how = PyTuple_GET_ITEM(row, KM_HOW);
    const int only = PyTuple_Check(how) && PyTuple_GET_SIZE(how) == KM_ONE_VALUE;
    const int kind = km_kind_named(only ? PyTuple_GET_ITEM(how, KM_WIRE) : how);
    if (PyObject_IsTrue(PyTuple_GET_ITEM(row, KM_SAYS_VERSION))) {
      message->slot = kd_slot((PyTypeObject *)message->cls, PyTuple_GET_ITEM(row, KM_NAME));
      if (message->slot < 0) goto done;
      if (kind < 0 || kind > KM_S4) {
        km_refuse(message, how);
        goto done;
      }
      message->inside = 1;
      message->kind = (uint8_t)kind;
      message->at = at;
    }
    if (kind < 0 || km_kinds[kind].width == 0) break;
    at += km_kinds[kind].width;
  }
  message->layouts = PyMem_Calloc((size_t)message->versions + 1, sizeof *message->layouts);
  if (message->layouts == NULL) {
    PyErr_NoMemory();
    goto done;
  }
  message->initials = initials;
  initials = NULL;
  message->started = 1;
  status = 0;
done:
  Py_XDECREF(initials);
  Py_XDECREF(versions);
  Py_XDECREF(first);
  return status;
}

/* Begin every class of the table. */
static int km_begin_all(km_message *message) {
  PyObject *const peers = PyDict_Values(message->peers);
  int status = peers == NULL ? -1 : km_begin(message);
  for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(peers); i++)
    if (PyObject_TypeCheck(PyList_GET_ITEM(peers, i), km_message_type))
      status = km_begin((km_message *)PyList_GET_ITEM(peers, i));
  Py_XDECREF(peers);
  return status;
}

/* The index of a version's layout; -1 if the class does not have the version. A class without versions can be in any.
 * */
KD_INLINE long km_index(const km_message *message, long version) {
  if (!message->versions) return 0;
  return version < message->first || version - message->first >= message->versions ? -1 : version - message->first;
}

/* The layout of a version, made now if it does not exist. All classes have been started, so no Python code runs here,
 * and no other thread sees an incomplete layout. */
static km_layout *km_make(km_message *message, long version) {
  const long index = message->started ? km_index(message, version) : -1;
  km_layout *layout = index < 0 ? NULL : message->layouts[index];
  if (index < 0) {
    PyErr_Format(PyExc_ValueError, "%R has no version %ld", message->cls, version);
    return NULL;
  }
  if (layout == NULL) {
    layout = PyMem_Calloc(1, sizeof *layout);
    if (layout == NULL) {
      PyErr_NoMemory();
      return NULL;
    }
    message->layouts[index] = layout;
  }
  if (layout->whole) return layout;
  layout->whole = 1; /* a type may hold itself */
  if (km_fill(message, version, layout) == 0) return layout;
  /* others may refer to it already: it stays in place, empty, and is completed at the next request */
  km_layout_clear(layout);
  return NULL;
}

/* The layout of a version. NULL with an error, or without one if the class does not have the version. */
KD_INLINE const km_layout *km_layout_of(km_message *message, long version) {
  long index;
  if (KD_UNLIKELY(km_begin(message) < 0)) return NULL;
  index = km_index(message, version);
  if (index < 0) return NULL;
  if (KD_LIKELY(message->layouts[index] != NULL && message->layouts[index]->whole)) return message->layouts[index];
  return km_begin_all(message) < 0 ? NULL : km_make(message, version);
}

#endif
