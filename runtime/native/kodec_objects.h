/* The runtime of the part of a generated kernel that makes Python objects of rows. Needs Python.h.
 *
 * An object is an ordinary instance of a class with slots: its values are stored at the offsets of the class's member
 * descriptors. Objects and values without other references are overwritten in place: this is checked directly before,
 * and no Python code runs in between. The GIL is held throughout. */
#ifndef KODEC_OBJECTS_H
#define KODEC_OBJECTS_H

#include <Python.h>
#include <structmember.h> /* T_OBJECT_EX, which has another name from Python 3.12 on */

#include "kodec_core.h"

enum {
  KD_MOST_SLOTS = 80,    /* columns, and slots that are no columns */
  KD_LEAST_MEMBER = -1,  /* numbers whose member is looked up in an array: from this one, */
  KD_SMALL_MEMBERS = 16, /* so many */
  KD_KEPT_TEXTS = 8
};

/* The objects that represent numbers of a column. All references are borrowed. */
typedef struct {
  PyObject *small[KD_SMALL_MEMBERS]; /* from KD_LEAST_MEMBER on; NULL is an int */
  PyObject *all;                     /* a dict; NULL where each number is an int */
} kd_members;

/* Where the objects of a class keep the values of a row. All references are borrowed. */
typedef struct {
  PyTypeObject *cls;
  int refills;          /* an object without other references may be reused */
  int columns, others;  /* the slots of columns come first */
  Py_ssize_t slots[KD_MOST_SLOTS];
  PyObject *constants[KD_MOST_SLOTS]; /* values of slots that are not columns */
  kd_members members[KD_MOST_SLOTS];
} kd_shape;

/* Earlier texts, one for each index in a list: the next row is likely to have the same. */
typedef struct {
  PyObject *texts[KD_KEPT_TEXTS];
} kd_texts;

KD_UNUSED static void kd_texts_clear(kd_texts *kept) {
  for (int i = 0; i < KD_KEPT_TEXTS; i++) Py_CLEAR(kept->texts[i]);
}

/* ------------------------------------------------------------------ the class */

/* The offset of the slot `name` in objects of `cls`; -1, and TypeError, if it is not a slot. */
KD_UNUSED static Py_ssize_t kd_slot(PyTypeObject *cls, PyObject *name) {
  PyObject *found = PyObject_GetAttr((PyObject *)cls, name);
  if (found == NULL) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
  } else if (Py_TYPE(found) == &PyMemberDescr_Type) {
    const PyMemberDescrObject *descriptor = (PyMemberDescrObject *)found;
    const PyMemberDef *member = descriptor->d_member;
    const Py_ssize_t at = member->offset;
    const int fits = member->type == T_OBJECT_EX && member->flags == 0 &&
                     PyType_IsSubtype(cls, PyDescr_TYPE(descriptor)) && at >= (Py_ssize_t)sizeof(PyObject) &&
                     at % (Py_ssize_t)sizeof(PyObject *) == 0 &&
                     at <= cls->tp_basicsize - (Py_ssize_t)sizeof(PyObject *);
    Py_DECREF(found);
    if (fits) return at;
  } else {
    Py_DECREF(found);
  }
  PyErr_Format(PyExc_TypeError, "%s has no slot %R", cls->tp_name, name);
  return -1;
}

/* Whether nobody but the one who asks has a reference to an object. */
KD_INLINE int kd_is_alone(PyObject *object) {
#ifdef Py_GIL_DISABLED
  (void)object;
  return 0; /* another thread may hold a reference that its count does not include */
#else
  return Py_REFCNT(object) == 1;
#endif
}

/* Whether an object of `cls` consists of `slots` slots only, so that setting these makes a new one of it. */
KD_INLINE int kd_is_all_slots(const PyTypeObject *cls, Py_ssize_t slots) {
  return cls->tp_basicsize == (Py_ssize_t)(sizeof(PyObject) + (size_t)slots * sizeof(PyObject *)) &&
         cls->tp_itemsize == 0 && cls->tp_dictoffset == 0 && cls->tp_weaklistoffset == 0 &&
         cls->tp_finalize == NULL && cls->tp_del == NULL;
}

/* ------------------------------------------------------------------ objects */

/* The object at `i` of the list, a new reference: the existing one if it may be reused, otherwise a new one in its
 * place. `i` is at most the list's length. */
KD_INLINE PyObject *kd_object(const kd_shape *shape, PyObject *list, Py_ssize_t i) {
  PyObject *item;
  if (i < PyList_GET_SIZE(list)) {
    item = PyList_GET_ITEM(list, i);
    if (shape->refills && kd_is_alone(item) && Py_TYPE(item) == shape->cls) {
      Py_INCREF(item);
      return item;
    }
    item = shape->cls->tp_alloc(shape->cls, 0);
    if (item == NULL) return NULL;
    Py_INCREF(item);
    if (PyList_SetItem(list, i, item) == 0) return item;
  } else {
    item = shape->cls->tp_alloc(shape->cls, 0);
    if (item == NULL) return NULL;
    if (PyList_Append(list, item) == 0) return item;
  }
  Py_DECREF(item);
  return NULL;
}

/* The place of a value in an object, and in a tuple. */
KD_INLINE PyObject **kd_in(PyObject *item, Py_ssize_t slot) { return (PyObject **)(void *)((char *)item + slot); }
KD_INLINE PyObject **kd_of(PyObject *tuple, size_t i) { return ((PyTupleObject *)tuple)->ob_item + i; }

/* Store a value, stealing its reference; the previous one is released. Returns -1 if `value` is NULL. */
KD_INLINE int kd_put(PyObject **at, PyObject *value) {
  PyObject *const before = *at;
  if (KD_UNLIKELY(value == NULL)) return -1;
  *at = value;
  Py_XDECREF(before);
  return 0;
}

/* The same without stealing the reference; does nothing if it is already stored, which is common in reused objects. */
KD_INLINE void kd_put_same(PyObject **at, PyObject *value) {
  if (*at == value) return;
  Py_INCREF(value);
  kd_put(at, value);
}

/* Store the values of slots that are not columns. */
KD_INLINE void kd_put_others(const kd_shape *shape, PyObject *item) {
  for (int i = shape->columns; i < shape->columns + shape->others; i++)
    kd_put_same(kd_in(item, shape->slots[i]), shape->constants[i]);
}

/* ------------------------------------------------------------------ values that are written again */

/* Whether the value at `at` is of the class, has no other references, and has the layout of the versions of CPython for
 * which this was written. Values that Python shares (small numbers, single bytes, the empty tuple) have other
 * references. */
KD_INLINE int kd_rewrites(PyObject **at, PyTypeObject *cls) {
#if PY_VERSION_HEX < 0x030F0000
  return *at != NULL && Py_TYPE(*at) == cls && kd_is_alone(*at);
#else
  (void)at;
  (void)cls;
  return 0;
#endif
}
/* Bytes of the same size as the stored ones. */
KD_INLINE int kd_rewrite_bytes(PyObject **at, kd_span span) {
  if (!kd_rewrites(at, &PyBytes_Type) || (size_t)PyBytes_GET_SIZE(*at) != span.size) return 0;
  memcpy(PyBytes_AS_STRING(*at), span.data, span.size);
  _Py_COMP_DIAG_PUSH
  _Py_COMP_DIAG_IGNORE_DEPR_DECLS
  ((PyBytesObject *)*at)->ob_shash = -1; /* its hash is not known yet */
  _Py_COMP_DIAG_POP
  return 1;
}
/* A number of as many digits as the stored one; not a small one, which Python shares. */
KD_INLINE int kd_rewrite_int(PyObject **at, int64_t number) {
  if (number <= 1024 || number >> (2 * PyLong_SHIFT) || !kd_rewrites(at, &PyLong_Type)) return 0;
  const int two = number >> PyLong_SHIFT != 0;
  PyLongObject *const integer = (PyLongObject *)*at;
#if PY_VERSION_HEX >= 0x030C0000
  digit *const digits = integer->long_value.ob_digit;
  if (integer->long_value.lv_tag != (uintptr_t)(1 + two) << 3) return 0; /* positive, with this number of digits */
#else
  digit *const digits = integer->ob_digit;
  if (Py_SIZE(integer) != 1 + two) return 0;
#endif
  digits[0] = (digit)(number & PyLong_MASK);
  if (two) digits[1] = (digit)(number >> PyLong_SHIFT);
  return 1;
}
/* A tuple with the same number of items; the empty one needs no writing. */
KD_INLINE int kd_rewrite_tuple(PyObject **at, size_t count) {
  if (*at == NULL || !PyTuple_CheckExact(*at) || (size_t)PyTuple_GET_SIZE(*at) != count) return 0;
  if (count == 0) return 1;
  if (!kd_rewrites(at, &PyTuple_Type)) return 0;
#if PY_VERSION_HEX >= 0x030E0000
  ((PyTupleObject *)*at)->ob_hash = -1;
#endif
  return 1;
}

/* ------------------------------------------------------------------ values; each put returns -1 on failure */

KD_INLINE int kd_put_bytes(PyObject **at, kd_span span) {
  if (span.data == NULL) {
    kd_put_same(at, Py_None);
    return 0;
  }
  if (kd_rewrite_bytes(at, span)) return 0;
  return kd_put(at, PyBytes_FromStringAndSize((const char *)span.data, (Py_ssize_t)span.size));
}
/* Bytes that are not UTF-8 become surrogate escapes. */
KD_INLINE int kd_put_text(PyObject **at, kd_span span) {
  if (span.data == NULL) {
    kd_put_same(at, Py_None);
    return 0;
  }
  return kd_put(at, PyUnicode_DecodeUTF8((const char *)span.data, (Py_ssize_t)span.size, "surrogateescape"));
}
/* The same; the text at `place` of the previous list is reused if it is equal. */
KD_INLINE int kd_put_likely_text(PyObject **at, kd_texts *kept, size_t place, kd_span span) {
  PyObject *text;
  if (span.data == NULL || place >= KD_KEPT_TEXTS) return kd_put_text(at, span);
  text = kept->texts[place];
  if (text == NULL || !PyUnicode_IS_COMPACT_ASCII(text) || (size_t)PyUnicode_GET_LENGTH(text) != span.size ||
      memcmp(PyUnicode_DATA(text), span.data, span.size) != 0) {
    if (kd_put_text(&kept->texts[place], span)) return -1;
    text = kept->texts[place];
  }
  kd_put_same(at, text);
  return 0;
}
KD_INLINE int kd_put_flag(PyObject **at, int value) {
  kd_put_same(at, value ? Py_True : Py_False);
  return 0;
}
KD_INLINE int kd_put_int(PyObject **at, int64_t number) {
  return kd_rewrite_int(at, number) ? 0 : kd_put(at, PyLong_FromLongLong(number));
}
/* A number that a member of the column may represent. */
KD_INLINE int kd_put_number(PyObject **at, const kd_members *members, int64_t number) {
  PyObject *found, *plain;
  if (number >= KD_LEAST_MEMBER && number < KD_LEAST_MEMBER + KD_SMALL_MEMBERS &&
      (found = members->small[number - KD_LEAST_MEMBER]) != NULL) {
    kd_put_same(at, found);
    return 0;
  }
  if (members->all == NULL) return kd_put_int(at, number);
  plain = PyLong_FromLongLong(number);
  if (plain == NULL) return -1;
  found = PyDict_GetItemWithError(members->all, plain);
  if (found == NULL) {
    if (!PyErr_Occurred()) return kd_put(at, plain);
    Py_DECREF(plain);
    return -1;
  }
  kd_put_same(at, found);
  Py_DECREF(plain);
  return 0;
}
/* A tuple to fill, a new reference: its items are values, or NULL. Releasing a replaced value may run any code, also
 * code that releases the tuple. The collector need not track it, as it will contain only atoms, or tuples of them. NULL
 * if there is no memory. */
KD_INLINE PyObject *kd_put_tuple(PyObject **at, size_t count) {
  PyObject *tuple;
  if (kd_rewrite_tuple(at, count)) {
    Py_INCREF(*at);
    return *at;
  }
  tuple = PyTuple_New((Py_ssize_t)count);
  if (tuple == NULL) return NULL;
  if (count) PyObject_GC_UnTrack(tuple);
  Py_INCREF(tuple);
  kd_put(at, tuple);
  return tuple;
}

#endif
