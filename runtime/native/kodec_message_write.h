/* Messages to bytes, by their layouts. Needs Python.h.
 *
 * Only values of exactly the expected types are written: nothing here calls Python code, so nothing changes meanwhile.
 * For other values, and those that the version does not have, the result is -1, mostly without an error: the writer in
 * Python then writes them, or reports the error. */
#ifndef KODEC_MESSAGE_WRITE_H
#define KODEC_MESSAGE_WRITE_H

#include "kodec_message_read.h"

#include <float.h>
#include <math.h>

enum { KM_ROOM = 1024, KM_SLACK = 32 /* bytes that are always free: for any value of fixed width, or a length */ };

typedef struct {
  uint8_t *data; /* `room` bytes: `small`, or more */
  size_t used, room;
  int depth;
  uint8_t small[KM_ROOM];
} km_writer;

static int km_write_object(km_writer *w, const km_layout *layout, PyObject *object);

static int km_grow(km_writer *w, size_t more) {
  size_t room = w->room;
  uint8_t *data;
  if (more > (size_t)PY_SSIZE_T_MAX / 4 || w->used > (size_t)PY_SSIZE_T_MAX / 4) {
    PyErr_NoMemory();
    return -1;
  }
  while (room - w->used < more + KM_SLACK) room *= 2;
  data = PyMem_Realloc(w->data == w->small ? NULL : w->data, room);
  if (data == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  if (w->data == w->small) memcpy(data, w->small, w->used);
  w->data = data;
  w->room = room;
  return 0;
}

/* Room for `more` bytes, and for `KM_SLACK` after them. */
KD_INLINE int km_room(km_writer *w, size_t more) {
  return KD_LIKELY(w->room - w->used >= more + KM_SLACK) ? 0 : km_grow(w, more);
}

static int km_write_bytes(km_writer *w, const void *data, size_t size) {
  if (km_room(w, size)) return -1;
  memcpy(w->data + w->used, data, size);
  w->used += size;
  return 0;
}

/* There is room for it. */
KD_INLINE void km_put_uvarint(km_writer *w, uint64_t value) {
  uint8_t *p = w->data + w->used;
  while (value > 0x7F) {
    *p++ = (uint8_t)(value | 0x80);
    value >>= 7;
  }
  *p++ = (uint8_t)value;
  w->used = (size_t)(p - w->data);
}

static const struct {
  int64_t least, most;
} km_ranges[] = {{0, UINT8_MAX},   {INT8_MIN, INT8_MAX},   {0, UINT16_MAX}, {INT16_MIN, INT16_MAX},
                 {0, UINT32_MAX}, {INT32_MIN, INT32_MAX}, {0, 0},          {INT64_MIN, INT64_MAX}};

/* A length, a count or a presence in front of something; -1 is null. */
KD_INLINE int km_write_length(km_writer *w, const km_value *value, Py_ssize_t length) {
  const int64_t stored = (int64_t)length + value->plus;
  if (km_room(w, 0)) return -1;
  if (value->length == KM_UVARINT) {
    if (stored > INT32_MAX) return -1;
    km_put_uvarint(w, (uint32_t)stored);
  } else {
    const int width = km_kinds[value->length].width;
    if (stored < km_ranges[value->length].least || stored > km_ranges[value->length].most) return -1;
    kd_store_be(w->data + w->used, (uint64_t)stored, width);
    w->used += (size_t)width;
  }
  return 0;
}

/* The 16 bytes of a UUID. */
static int km_uuid_bytes(PyObject *object, uint8_t *p) {
  PyObject *number;
  if (object == km_uuids.zero) {
    memset(p, 0, 16);
    return 0;
  }
  if (Py_TYPE(object) != km_uuids.cls) return -1;
  number = *kd_in(object, km_uuids.number);
  if (number == NULL || !PyLong_CheckExact(number)) return -1;
#if PY_VERSION_HEX >= 0x030D0000
  {
    const int how =
        Py_ASNATIVEBYTES_BIG_ENDIAN | Py_ASNATIVEBYTES_UNSIGNED_BUFFER | Py_ASNATIVEBYTES_REJECT_NEGATIVE;
    const Py_ssize_t size = PyLong_AsNativeBytes(number, p, 16, how);
    return size >= 0 && size <= 16 ? 0 : -1;
  }
#else
  return _PyLong_AsByteArray((PyLongObject *)number, p, 16, 0, 0);
#endif
}

/* A value of fixed width, for which there is room. */
KD_INLINE int km_put_fixed(km_writer *w, const km_value *value, PyObject *object) {
  uint8_t *const p = w->data + w->used;
  const int kind = value->kind;
  uint64_t bits;
  if (kind == KM_UUID) {
    if (km_uuid_bytes(object, p)) return -1;
  } else if (kind == KM_BOOL) {
    if (object != Py_True && object != Py_False) return -1;
    *p = object == Py_True;
  } else if (kind == KM_F4 || kind == KM_F8) {
    double number;
    float narrow;
    uint32_t few;
    if (!PyFloat_CheckExact(object)) return -1;
    number = PyFloat_AS_DOUBLE(object);
    memcpy(&bits, &number, sizeof bits);
    if (kind == KM_F8) {
      kd_store_be(p, bits, 8);
    } else {
      if (isfinite(number) && fabs(number) > FLT_MAX) return -1; /* too large, or not when it is rounded */
      narrow = (float)number;
      memcpy(&few, &narrow, sizeof few);
      if (isnan(number)) { /* its low bits are kept */
        const uint32_t kept = (uint32_t)(bits >> 29) & 0x7FFFFF;
        few = (uint32_t)(bits >> 63) << 31 | 0x7F800000u | (kept ? kept : 1u << 22);
      }
      kd_store_be(p, few, 4);
    }
  } else {
    if (!PyLong_Check(object)) return -1;
    if (kind == KM_U8) {
      bits = PyLong_AsUnsignedLongLong(object);
      if (bits == (uint64_t)-1 && PyErr_Occurred()) return -1;
    } else {
      int overflow;
      const int64_t number = PyLong_AsLongLongAndOverflow(object, &overflow);
      if (overflow || number < km_ranges[kind].least || number > km_ranges[kind].most) return -1;
      if (value->has_only && number != value->only) return -1;
      bits = (uint64_t)number;
    }
    switch (km_kinds[kind].width) {
      case 1: *p = (uint8_t)bits; break;
      case 2: kd_store_be(p, bits, 2); break;
      case 4: kd_store_be(p, bits, 4); break;
      default: kd_store_be(p, bits, 8);
    }
  }
  w->used += (size_t)km_kinds[kind].width;
  return 0;
}

static int km_write_text(km_writer *w, const km_value *value, PyObject *object) {
  PyObject *encoded;
  int status;
  if (!PyUnicode_CheckExact(object)) return -1;
  if (PyUnicode_IS_COMPACT_ASCII(object)) {
    const Py_ssize_t size = PyUnicode_GET_LENGTH(object);
    return km_write_length(w, value, size) || km_write_bytes(w, PyUnicode_DATA(object), (size_t)size) ? -1 : 0;
  }
  encoded = PyUnicode_AsEncodedString(object, "utf-8", "surrogateescape");
  if (encoded == NULL) return -1;
  status = km_write_length(w, value, PyBytes_GET_SIZE(encoded)) ||
           km_write_bytes(w, PyBytes_AS_STRING(encoded), (size_t)PyBytes_GET_SIZE(encoded));
  Py_DECREF(encoded);
  return status ? -1 : 0;
}

static int km_write_value(km_writer *w, const km_value *value, PyObject *object) {
  int64_t number;
  uint64_t bits;
  int overflow;
  if (km_kinds[value->kind].width) return km_room(w, 0) ? -1 : km_put_fixed(w, value, object);
  if (value->counted && object == Py_None) return value->nullable ? km_write_length(w, value, -1) : -1;
  switch (value->kind) {
    case KM_TEXT: return km_write_text(w, value, object);
    case KM_BYTES:
      if (!PyBytes_CheckExact(object) || km_write_length(w, value, PyBytes_GET_SIZE(object))) return -1;
      return km_write_bytes(w, PyBytes_AS_STRING(object), (size_t)PyBytes_GET_SIZE(object));
    case KM_LIST: {
      const Py_ssize_t count = PyList_CheckExact(object) ? PyList_GET_SIZE(object) : -1;
      const km_value *const element = value->element;
      const size_t width = (size_t)km_kinds[element->kind].width;
      if (count < 0 || km_write_length(w, value, count)) return -1;
      if (width) {
        if ((size_t)count > (size_t)PY_SSIZE_T_MAX / 16 || km_room(w, (size_t)count * width)) return -1;
        for (Py_ssize_t i = 0; i < count; i++)
          if (km_put_fixed(w, element, PyList_GET_ITEM(object, i))) return -1;
        return 0;
      }
      for (Py_ssize_t i = 0; i < count; i++)
        if (km_write_value(w, element, PyList_GET_ITEM(object, i))) return -1;
      return 0;
    }
    case KM_OBJECT:
      if (value->counted && km_write_length(w, value, value->plus ? 0 : 1)) return -1;
      return km_write_object(w, value->layout, object);
    case KM_UVARINT:
    case KM_ZIGZAG32:
    case KM_ZIGZAG64:
      if (!PyLong_Check(object)) return -1;
      number = PyLong_AsLongLongAndOverflow(object, &overflow);
      if (overflow || km_room(w, 0)) return -1;
      if (value->kind == KM_UVARINT ? number < 0 || number > UINT32_MAX
                                    : value->kind == KM_ZIGZAG32 && (number < INT32_MIN || number > INT32_MAX))
        return -1;
      bits = (uint64_t)number;
      km_put_uvarint(w, value->kind == KM_UVARINT ? bits : bits << 1 ^ (0 - (bits >> 63)));
      return 0;
    default: return -1;
  }
}

static int km_is_initial(const km_field *field, PyObject *value);

/* Whether an object equals one of `km_blank`; -1 if Python must decide. */
static int km_is_blank(const km_layout *layout, PyObject *object) {
  const km_field *const lists[] = {layout->field, layout->tag, layout->gone};
  const Py_ssize_t counts[] = {layout->fields, layout->tags, layout->absent};
  int found = 1;
  if (object == Py_None) return 0;
  if (Py_TYPE(object) != layout->cls || !layout->whole) return -1;
  for (int i = 0; i < 3; i++)
    for (Py_ssize_t j = 0; j < counts[i]; j++) {
      PyObject *const value = *kd_in(object, lists[i][j].slot);
      const int same = value == NULL ? -1 : km_is_initial(&lists[i][j], value);
      if (same < 0) return -1;
      found &= same;
    }
  return found;
}

/* Whether `value` equals the attribute's default; -1 if Python must decide. */
static int km_is_initial(const km_field *field, PyObject *value) {
  PyObject *const initial = field->initial;
  if (field->start == KM_NEW_LIST) {
    if (PyList_CheckExact(value)) return PyList_GET_SIZE(value) == 0;
    return value == Py_None ? 0 : -1;
  }
  if (field->start == KM_BLANK) return km_is_blank(field->blank, value);
  if (field->start == KM_CALLED) return -1;
  if (PyFloat_CheckExact(value) && PyFloat_CheckExact(initial))
    return PyFloat_AS_DOUBLE(value) == PyFloat_AS_DOUBLE(initial); /* NaN equals nothing */
  if (value == initial) return 1;
  if (initial == Py_None || value == Py_None) {
    PyObject *const other = initial == Py_None ? value : initial;
    PyTypeObject *const kind = Py_TYPE(other);
    if (kind == &PyList_Type || kind == &PyUnicode_Type || kind == &PyBytes_Type || kind == &PyLong_Type ||
        kind == &PyBool_Type || kind == km_uuids.cls || other == Py_None)
      return 0;
    /* an object of ours is no None */
    return field->value.kind == KM_OBJECT && kind == field->value.layout->cls ? 0 : -1;
  }
  if (Py_TYPE(value) != Py_TYPE(initial)) return -1;
  if (PyLong_CheckExact(value)) {
    int a, b;
    const int64_t x = PyLong_AsLongLongAndOverflow(value, &a), y = PyLong_AsLongLongAndOverflow(initial, &b);
    return a || b ? -1 : x == y;
  }
  if (PyBool_Check(value)) return 0;
  if (PyUnicode_CheckExact(value)) return PyUnicode_Compare(value, initial) == 0;
  if (PyBytes_CheckExact(value))
    return PyBytes_GET_SIZE(value) == PyBytes_GET_SIZE(initial) &&
           memcmp(PyBytes_AS_STRING(value), PyBytes_AS_STRING(initial), (size_t)PyBytes_GET_SIZE(value)) == 0;
  if (Py_TYPE(value) == km_uuids.cls) {
    uint8_t x[16], y[16];
    if (km_uuid_bytes(value, x) || km_uuid_bytes(initial, y)) return -1;
    return memcmp(x, y, 16) == 0;
  }
  return -1;
}

/* The body of a tagged field, with its length in front, which is known when it is written. */
static int km_write_tag(km_writer *w, const km_field *field, PyObject *value) {
  size_t start, size, more = 0;
  if (km_room(w, 0)) return -1;
  km_put_uvarint(w, field->tag);
  start = ++w->used; /* one byte for the length */
  if (km_write_value(w, &field->value, value)) return -1;
  size = w->used - start;
  if (size > INT32_MAX) return -1;
  for (size_t rest = size >> 7; rest; rest >>= 7) more++;
  if (more) {
    if (km_room(w, more)) return -1;
    memmove(w->data + start + more, w->data + start, size);
  }
  w->used = start - 1;
  km_put_uvarint(w, (uint32_t)size);
  w->used += size;
  return 0;
}

/* The section of tags, in ascending order: those of the layout that differ from their defaults, and `others`. */
static int km_write_tags(km_writer *w, const km_layout *layout, PyObject *object, PyObject *others) {
  uint64_t given = 0;
  Py_ssize_t count, at = 0;
  int64_t last = -1;
  if (!PyList_CheckExact(others)) return -1;
  count = PyList_GET_SIZE(others);
  if (count > INT32_MAX) return -1;
  for (Py_ssize_t i = 0; i < layout->tags; i++) {
    PyObject *const value = *kd_in(object, layout->tag[i].slot);
    const int initial = value == NULL ? -1 : km_is_initial(&layout->tag[i], value);
    if (initial < 0) return -1;
    if (!initial) {
      given |= (uint64_t)1 << i;
      count++;
    }
  }
  if (km_room(w, 0)) return -1;
  km_put_uvarint(w, (uint32_t)count);
  if (!count) return 0;
  for (Py_ssize_t i = 0;;) {
    int64_t other = INT64_MAX;
    PyObject *data = NULL;
    while (i < layout->tags && !(given >> i & 1)) i++;
    if (at < PyList_GET_SIZE(others)) {
      PyObject *const pair = PyList_GET_ITEM(others, at);
      int overflow;
      if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2) return -1;
      if (!PyLong_CheckExact(PyTuple_GET_ITEM(pair, 0))) return -1;
      data = PyTuple_GET_ITEM(pair, 1);
      other = PyLong_AsLongLongAndOverflow(PyTuple_GET_ITEM(pair, 0), &overflow);
      if (overflow || other < 0 || other > INT32_MAX) return -1;
      if (!PyBytes_CheckExact(data) || PyBytes_GET_SIZE(data) > INT32_MAX) return -1;
    } else if (i == layout->tags) {
      return 0;
    }
    if (i < layout->tags && layout->tag[i].tag < other) {
      if ((int64_t)layout->tag[i].tag <= last) return -1;
      last = layout->tag[i].tag;
      if (km_write_tag(w, &layout->tag[i], *kd_in(object, layout->tag[i].slot))) return -1;
      i++;
    } else {
      if (other <= last || (i < layout->tags && layout->tag[i].tag == other)) return -1;
      last = other;
      if (km_room(w, 0)) return -1;
      km_put_uvarint(w, (uint32_t)other);
      km_put_uvarint(w, (uint32_t)PyBytes_GET_SIZE(data));
      if (km_write_bytes(w, PyBytes_AS_STRING(data), (size_t)PyBytes_GET_SIZE(data))) return -1;
      at++;
    }
  }
}

static int km_write_object(km_writer *w, const km_layout *layout, PyObject *object) {
  int status = -1;
  if (Py_TYPE(object) != layout->cls || w->depth == KM_MOST_DEPTH || !layout->whole) return -1;
  w->depth++;
  for (const km_field *field = layout->gone, *const stop = field + layout->absent; field < stop; field++) {
    PyObject *const value = *kd_in(object, field->slot);
    if (!field->ignorable && (value == NULL || km_is_initial(field, value) != 1)) goto done;
  }
  for (const km_field *field = layout->field, *const stop = field + layout->fields; field < stop; field++) {
    PyObject *const value = *kd_in(object, field->slot);
    if (value == NULL) goto done;
    if (field->value.kind <= KM_UUID) {
      if (km_room(w, 0) || km_put_fixed(w, &field->value, value)) goto done;
    } else if (field->value.kind == KM_TAGS) {
      if (km_write_tags(w, layout, object, value)) goto done;
    } else if (km_write_value(w, &field->value, value)) {
      goto done;
    }
  }
  status = 0;
done:
  w->depth--;
  return status;
}

#endif
