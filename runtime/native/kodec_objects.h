/* What the part of a generated kernel stands on that makes Python objects of rows. Needs Python.h.
 *
 * An object is an ordinary one of a class with slots: its values are stored where the class's own member
 * descriptors say that they are. The GIL is held throughout. */
#ifndef KODEC_OBJECTS_H
#define KODEC_OBJECTS_H

#include <Python.h>
#include <structmember.h> /* T_OBJECT_EX, which has another name from Python 3.12 on */

#include "kodec_core.h"

enum {
  KD_MOST_SLOTS = 80,    /* columns, and slots that are no columns */
  KD_LEAST_MEMBER = -1,  /* numbers for which a member is looked up in an array: from this one on, */
  KD_SMALL_MEMBERS = 16, /* so many */
  KD_KEPT_TEXTS = 8
};

/* Which object stands for which number of a column. All references are borrowed. */
typedef struct {
  PyObject *small[KD_SMALL_MEMBERS]; /* from KD_LEAST_MEMBER on; NULL is an int */
  PyObject *all;                     /* a dict; NULL where each number is an int */
} kd_members;

/* Where the objects of a class keep the values of a row. All references are borrowed. */
typedef struct {
  PyTypeObject *cls;
  int refills;          /* an object that nobody else holds may be filled again */
  int columns, others;  /* the slots of columns come first */
  Py_ssize_t slots[KD_MOST_SLOTS];
  PyObject *constants[KD_MOST_SLOTS]; /* what is in slots that are no columns */
  kd_members members[KD_MOST_SLOTS];
} kd_shape;

/* Texts that were made before, one for each place in a list: the next row is likely to have the same there. */
typedef struct {
  PyObject *texts[KD_KEPT_TEXTS];
} kd_texts;

KD_UNUSED static void kd_texts_clear(kd_texts *kept) {
  for (int i = 0; i < KD_KEPT_TEXTS; i++) Py_CLEAR(kept->texts[i]);
}

/* ------------------------------------------------------------------ the class */

/* Where the objects of `cls` keep the attribute `name`; -1, and TypeError, where that is no slot of theirs. */
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
  return 0; /* another thread may have one that its count does not say */
#else
  return Py_REFCNT(object) == 1;
#endif
}

/* Whether an object of `cls` is nothing but `slots` slots, so that filling these makes it a new one. */
KD_INLINE int kd_is_all_slots(const PyTypeObject *cls, Py_ssize_t slots) {
  return cls->tp_basicsize == (Py_ssize_t)(sizeof(PyObject) + (size_t)slots * sizeof(PyObject *)) &&
         cls->tp_itemsize == 0 && cls->tp_dictoffset == 0 && cls->tp_weaklistoffset == 0 &&
         cls->tp_finalize == NULL && cls->tp_del == NULL;
}

/* ------------------------------------------------------------------ objects */

/* The object at `i` of the list, a new reference: the one that is there where it may be filled again, else a
 * new one in its place. `i` is at most the list's length. */
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

/* Store a value, whose reference is taken over; what was there is dropped. -1 where `value` is NULL. */
KD_INLINE int kd_put(PyObject *item, Py_ssize_t slot, PyObject *value) {
  PyObject **const at = (PyObject **)((char *)item + slot), *const before = *at;
  if (KD_UNLIKELY(value == NULL)) return -1;
  *at = value;
  Py_XDECREF(before);
  return 0;
}

/* The same of a value whose reference is not taken over; nothing to do where it is there already, as in an
 * object that is filled again it often is. */
KD_INLINE void kd_put_same(PyObject *item, Py_ssize_t slot, PyObject *value) {
  if (*(PyObject **)((char *)item + slot) == value) return;
  Py_INCREF(value);
  kd_put(item, slot, value);
}

/* Store what is in the slots that are no columns. */
KD_INLINE void kd_put_others(const kd_shape *shape, PyObject *item) {
  for (int i = shape->columns; i < shape->columns + shape->others; i++)
    kd_put_same(item, shape->slots[i], shape->constants[i]);
}

/* ------------------------------------------------------------------ values; each gives a new reference */

KD_INLINE PyObject *kd_object_of_bytes(kd_span span) {
  if (span.data == NULL) Py_RETURN_NONE;
  return PyBytes_FromStringAndSize((const char *)span.data, (Py_ssize_t)span.size);
}
/* Bytes that are not UTF-8 become surrogate escapes. */
KD_INLINE PyObject *kd_object_of_text(kd_span span) {
  if (span.data == NULL) Py_RETURN_NONE;
  return PyUnicode_DecodeUTF8((const char *)span.data, (Py_ssize_t)span.size, "surrogateescape");
}
/* The same; the text at `place` of the list before is given again where it is equal. */
KD_INLINE PyObject *kd_object_of_likely_text(kd_texts *kept, size_t place, kd_span span) {
  PyObject *text;
  if (span.data == NULL || place >= KD_KEPT_TEXTS) return kd_object_of_text(span);
  text = kept->texts[place];
  if (text != NULL && PyUnicode_IS_COMPACT_ASCII(text) && (size_t)PyUnicode_GET_LENGTH(text) == span.size &&
      memcmp(PyUnicode_DATA(text), span.data, span.size) == 0) {
    Py_INCREF(text);
    return text;
  }
  text = kd_object_of_text(span);
  if (text != NULL) {
    PyObject *const before = kept->texts[place];
    Py_INCREF(text);
    kept->texts[place] = text;
    Py_XDECREF(before);
  }
  return text;
}
KD_INLINE PyObject *kd_object_of_flag(int value) {
  PyObject *const found = value ? Py_True : Py_False;
  Py_INCREF(found);
  return found;
}
/* A tuple is followed by the collector from when it is made: one that holds only atoms need not be. */
KD_INLINE PyObject *kd_atoms(PyObject *tuple) {
  PyObject_GC_UnTrack(tuple);
  return tuple;
}

/* ------------------------------------------------------------------ values to slots; -1 where one cannot be made */

KD_INLINE int kd_put_bytes(PyObject *item, Py_ssize_t slot, kd_span span) {
  if (span.data != NULL)
    return kd_put(item, slot, PyBytes_FromStringAndSize((const char *)span.data, (Py_ssize_t)span.size));
  kd_put_same(item, slot, Py_None);
  return 0;
}
KD_INLINE int kd_put_text(PyObject *item, Py_ssize_t slot, kd_span span) {
  return kd_put(item, slot, kd_object_of_text(span));
}
KD_INLINE int kd_put_flag(PyObject *item, Py_ssize_t slot, int value) {
  kd_put_same(item, slot, value ? Py_True : Py_False);
  return 0;
}
/* A number of which a member of the column may stand for some. */
KD_INLINE int kd_put_number(PyObject *item, Py_ssize_t slot, const kd_members *members, int64_t number) {
  PyObject *found, *plain;
  if (number >= KD_LEAST_MEMBER && number < KD_LEAST_MEMBER + KD_SMALL_MEMBERS &&
      (found = members->small[number - KD_LEAST_MEMBER]) != NULL) {
    kd_put_same(item, slot, found);
    return 0;
  }
  plain = PyLong_FromLongLong(number);
  if (members->all == NULL || plain == NULL) return kd_put(item, slot, plain);
  found = PyDict_GetItemWithError(members->all, plain);
  if (found == NULL) {
    if (!PyErr_Occurred()) return kd_put(item, slot, plain);
    Py_DECREF(plain);
    return -1;
  }
  kd_put_same(item, slot, found);
  Py_DECREF(plain);
  return 0;
}

#endif
