/* Messages from bytes, by their layouts. Needs Python.h.
 *
 * The result is correct, or NULL, mostly without an error: the reader in Python then reports the error of the same
 * bytes, or reads what is not supported here. Nothing is allocated for a count that the bytes cannot hold.
 *
 * The garbage collector tracks the objects and lists of a message once it is complete: it never sees a part of one, and
 * does not visit repeatedly what cannot be garbage yet. */
#ifndef KODEC_MESSAGE_READ_H
#define KODEC_MESSAGE_READ_H

#include "kodec_message.h"

enum { KM_FEW = 48 };

typedef struct {
  const uint8_t *p, *end;
  int64_t elements; /* the most that a list may have */
  int depth;
  size_t count, room;   /* of `made`: objects that the collector does not track yet; borrowed references */
  PyObject **made;
  PyObject *few[KM_FEW];
} km_reader;

static void km_reader_start(km_reader *r) {
  r->depth = 0;
  r->count = 0;
  r->room = KM_FEW;
  r->made = r->few;
}

/* Tell the collector, where all went well. */
static void km_reader_end(km_reader *r, int well) {
  for (size_t i = 0; well && i < r->count; i++) PyObject_GC_Track(r->made[i]);
  if (r->made != r->few) PyMem_Free(r->made);
}

/* Objects are released only with the whole message: untracked ones must exist at the end.
 *
 * Remember an object that the collector does not track; returns NULL, and releases it, if there is no memory. */
static PyObject *km_made_more(km_reader *r, PyObject *object) {
  const size_t room = r->room * 2;
  PyObject **const made = PyMem_Realloc(r->made == r->few ? NULL : r->made, room * sizeof *made);
  if (made == NULL) {
    Py_DECREF(object);
    return PyErr_NoMemory();
  }
  if (r->made == r->few) memcpy(made, r->few, sizeof r->few);
  r->made = made;
  r->room = room;
  r->made[r->count++] = object;
  return object;
}

KD_INLINE PyObject *km_made(km_reader *r, PyObject *object) {
  if (KD_UNLIKELY(r->count == r->room)) return km_made_more(r, object);
  r->made[r->count++] = object;
  return object;
}

/* An object of a class with slots, all of which are empty. */
KD_INLINE PyObject *km_new(km_reader *r, PyTypeObject *cls) {
  PyObject *const object = PyObject_GC_New(PyObject, cls);
  if (KD_UNLIKELY(object == NULL)) return NULL;
  memset(object + 1, 0, (size_t)cls->tp_basicsize - sizeof(PyObject));
  return km_made(r, object);
}

/* A list whose items are empty. */
KD_INLINE PyObject *km_new_list(km_reader *r, Py_ssize_t count) {
  PyObject *const list = PyList_New(count);
  if (KD_UNLIKELY(list == NULL)) return NULL;
  PyObject_GC_UnTrack(list);
  return km_made(r, list);
}

/* `uuid.UUID`: its class and its two slots; `zero` is the UUID of all zeros. */
static struct {
  PyTypeObject *cls;
  Py_ssize_t number, safe;
  PyObject *unknown, *zero;
} km_uuids;

/* The default limit of elements of a list. */
static int64_t km_elements;

static PyObject *km_read_object(km_reader *r, const km_layout *layout);

KD_INLINE Py_ssize_t km_left(const km_reader *r) { return r->end - r->p; }

/* At most `most` bytes; the bits of the last one that do not fit are dropped. */
static int km_read_varint(km_reader *r, int most, uint64_t *value) {
  uint64_t found = 0;
  for (int i = 0; i < most && r->p < r->end; i++) {
    const uint8_t byte = *r->p++;
    found |= (uint64_t)(byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      *value = found;
      return 0;
    }
  }
  return -1;
}

KD_INLINE int km_read_uvarint(km_reader *r, uint32_t *value) {
  uint32_t found;
  uint64_t whole;
  if (KD_LIKELY(r->p < r->end && (found = *r->p) < 0x80)) {
    r->p++;
    *value = found;
    return 0;
  }
  if (km_read_varint(r, 5, &whole)) return -1;
  *value = (uint32_t)whole;
  return 0;
}

static PyObject *km_uuid(km_reader *r, const uint8_t *p) {
  PyObject *found, *number;
  if (kd_load_u8be(p) == 0 && kd_load_u8be(p + 8) == 0) {
    Py_INCREF(km_uuids.zero);
    return km_uuids.zero;
  }
#if PY_VERSION_HEX >= 0x030D0000
  number = PyLong_FromUnsignedNativeBytes(p, 16, Py_ASNATIVEBYTES_BIG_ENDIAN);
#else
  number = _PyLong_FromByteArray(p, 16, 0, 0);
#endif
  if (number == NULL) return NULL;
  found = km_new(r, km_uuids.cls);
  if (found == NULL) {
    Py_DECREF(number);
    return NULL;
  }
  *kd_in(found, km_uuids.number) = number;
  Py_INCREF(km_uuids.unknown);
  *kd_in(found, km_uuids.safe) = km_uuids.unknown;
  return found;
}

/* A value of fixed width, whose bytes are available. */
KD_INLINE PyObject *km_fixed(km_reader *r, const uint8_t *p, int kind) {
  switch (kind) {
    case KM_U1: return PyLong_FromLong(*p);
    case KM_S1: return PyLong_FromLong((int8_t)*p);
    case KM_U2: return PyLong_FromLong(kd_load_u2be(p));
    case KM_S2: return PyLong_FromLong((int16_t)kd_load_u2be(p));
    case KM_U4: return PyLong_FromLongLong(kd_load_u4be(p));
    case KM_S4: return PyLong_FromLong((int32_t)kd_load_u4be(p));
    case KM_U8: return PyLong_FromUnsignedLongLong(kd_load_u8be(p));
    case KM_S8: return PyLong_FromLongLong((int64_t)kd_load_u8be(p));
    case KM_F4: {
      const uint32_t bits = kd_load_u4be(p);
      float number;
      if ((bits & 0x7FFFFFFF) > 0x7F800000) { /* not a number: its bits are kept */
        const uint64_t wide = (uint64_t)(bits >> 31) << 63 | (uint64_t)0x7FF << 52 | (uint64_t)(bits & 0x7FFFFF) << 29;
        double kept;
        memcpy(&kept, &wide, sizeof kept);
        return PyFloat_FromDouble(kept);
      }
      memcpy(&number, &bits, sizeof number);
      return PyFloat_FromDouble(number);
    }
    case KM_F8: {
      const uint64_t bits = kd_load_u8be(p);
      double number;
      memcpy(&number, &bits, sizeof number);
      return PyFloat_FromDouble(number);
    }
    case KM_BOOL: return PyBool_FromLong(*p);
    default: return km_uuid(r, p);
  }
}

/* A number in C, of the kinds that can be a length, a count, a presence or a version. */
KD_INLINE int64_t km_number(const uint8_t *p, int kind) {
  switch (kind) {
    case KM_U1: return *p;
    case KM_S1: return (int8_t)*p;
    case KM_U2: return kd_load_u2be(p);
    case KM_S2: return (int16_t)kd_load_u2be(p);
    case KM_U4: return kd_load_u4be(p);
    default: return (int32_t)kd_load_u4be(p);
  }
}

/* A length, a count or a presence: less than 0 is null. */
KD_INLINE int km_read_length(km_reader *r, const km_value *value, int64_t *length) {
  if (value->length == KM_UVARINT) {
    uint32_t stored;
    if (km_read_uvarint(r, &stored)) return -1;
    *length = (int64_t)stored - value->plus;
  } else {
    const int width = km_kinds[value->length].width;
    if (km_left(r) < width) return -1;
    *length = km_number(r->p, value->length) - value->plus;
    r->p += width;
  }
  return *length < 0 && !value->nullable ? -1 : 0;
}

KD_INLINE PyObject *km_none(void) {
  Py_INCREF(Py_None);
  return Py_None;
}

static PyObject *km_read_value(km_reader *r, const km_value *value);

static PyObject *km_read_list(km_reader *r, const km_value *value) {
  const km_value *const element = value->element;
  PyObject *list;
  PyObject **items;
  int64_t count;
  Py_ssize_t least = km_least(element);
  const int width = km_kinds[element->kind].width;
  if (km_read_length(r, value, &count)) return NULL;
  if (count < 0) return km_none();
  if (least < 1) least = 1;
  if (count > r->elements || count > km_left(r) / least) return NULL;
  list = km_new_list(r, (Py_ssize_t)count);
  if (list == NULL || count == 0) return list;
  items = ((PyListObject *)list)->ob_item;
  if (width && !element->has_only) {
    if (count > km_left(r) / width) goto bad;
    for (Py_ssize_t i = 0; i < (Py_ssize_t)count; i++, r->p += width)
      if ((items[i] = km_fixed(r, r->p, element->kind)) == NULL) goto bad;
    return list;
  }
  if (element->kind == KM_OBJECT && !element->counted) {
    for (Py_ssize_t i = 0; i < (Py_ssize_t)count; i++)
      if ((items[i] = km_read_object(r, element->layout)) == NULL) goto bad;
  } else {
    for (Py_ssize_t i = 0; i < (Py_ssize_t)count; i++)
      if ((items[i] = km_read_value(r, element)) == NULL) goto bad;
  }
  return list;
bad:
  Py_DECREF(list);
  return NULL;
}

/* Any value; it may pass the end. */
static PyObject *km_read_value(km_reader *r, const km_value *value) {
  const int width = km_kinds[value->kind].width;
  PyObject *found;
  int64_t length = 0;
  uint64_t whole;
  uint32_t number;
  if (width) {
    if (km_left(r) < width) return NULL;
    if (value->has_only && km_number(r->p, value->kind) != value->only) return NULL;
    found = km_fixed(r, r->p, value->kind);
    r->p += width;
    return found;
  }
  switch (value->kind) {
    case KM_TEXT:
    case KM_BYTES:
      if (km_read_length(r, value, &length)) return NULL;
      if (length < 0) return km_none();
      if (length > km_left(r)) return NULL;
      found = value->kind == KM_BYTES ? PyBytes_FromStringAndSize((const char *)r->p, (Py_ssize_t)length)
                                      : PyUnicode_DecodeUTF8((const char *)r->p, (Py_ssize_t)length, "surrogateescape");
      r->p += length;
      return found;
    case KM_LIST: return km_read_list(r, value);
    case KM_OBJECT:
      if (value->counted) {
        if (km_read_length(r, value, &length)) return NULL;
        if (length < 0) return km_none();
      }
      return km_read_object(r, value->layout);
    case KM_UVARINT: return km_read_uvarint(r, &number) ? NULL : PyLong_FromLongLong(number);
    case KM_ZIGZAG32:
      if (km_read_varint(r, 5, &whole)) return NULL;
      number = (uint32_t)whole;
      return PyLong_FromLong((int32_t)(number >> 1 ^ (0 - (number & 1))));
    case KM_ZIGZAG64:
      return km_read_varint(r, 10, &whole) ? NULL : PyLong_FromLongLong((int64_t)(whole >> 1 ^ (0 - (whole & 1))));
    default: return NULL;
  }
}

static PyObject *km_blank(km_reader *r, const km_layout *layout);

/* What an attribute is that the bytes do not have. */
KD_INLINE PyObject *km_initial(km_reader *r, const km_field *field) {
  if (field->start == KM_NEW_LIST) return km_new_list(r, 0);
  if (field->start == KM_BLANK) return km_blank(r, field->blank);
  if (field->start == KM_CALLED) return PyObject_CallNoArgs(field->initial);
  Py_INCREF(field->initial);
  return field->initial;
}

/* An object with all defaults. */
static PyObject *km_blank(km_reader *r, const km_layout *layout) {
  const km_field *const lists[] = {layout->field, layout->tag, layout->gone};
  const Py_ssize_t counts[] = {layout->fields, layout->tags, layout->absent};
  PyObject *const object = layout->whole ? km_new(r, layout->cls) : NULL;
  if (object == NULL) return NULL;
  for (int i = 0; i < 3; i++)
    for (Py_ssize_t j = 0; j < counts[i]; j++)
      if ((*kd_in(object, lists[i][j].slot) = km_initial(r, &lists[i][j])) == NULL) {
        Py_DECREF(object);
        return NULL;
      }
  if (layout->version != NULL) {
    Py_INCREF(Py_None);
    *kd_in(object, layout->told) = Py_None;
  }
  return object;
}

/* The section of tags: known ones into their slots, others as pairs into a list, which is returned. */
static PyObject *km_read_tags(km_reader *r, const km_layout *layout, PyObject *object) {
  PyObject *const others = km_new_list(r, 0);
  const uint8_t *const end = r->end;
  uint32_t count, tag, size;
  if (others == NULL) return NULL;
  if (r->p < end && *r->p == 0) {
    r->p++;
    return others;
  }
  if (km_read_uvarint(r, &count) || count > (uint64_t)km_left(r) / 2 || count > km_elements) goto bad;
  for (; count; count--) {
    Py_ssize_t at = 0;
    if (km_read_uvarint(r, &tag) || km_read_uvarint(r, &size) || size > (uint64_t)km_left(r)) goto bad;
    while (at < layout->tags && layout->tag[at].tag != tag) at++;
    if (at < layout->tags) {
      PyObject *value;
      if (*kd_in(object, layout->tag[at].slot) != NULL) goto bad; /* it occurs twice */
      r->end = r->p + size;
      value = km_read_value(r, &layout->tag[at].value);
      if (value == NULL || r->p != r->end) {
        Py_XDECREF(value);
        goto bad;
      }
      r->end = end;
      *kd_in(object, layout->tag[at].slot) = value;
    } else {
      PyObject *const pair = Py_BuildValue("(Iy#)", (unsigned)tag, (const char *)r->p, (Py_ssize_t)size);
      if (pair == NULL || PyList_Append(others, pair)) {
        Py_XDECREF(pair);
        goto bad;
      }
      Py_DECREF(pair);
      r->p += size;
    }
  }
  return others;
bad:
  r->end = end;
  Py_DECREF(others);
  return NULL;
}

static PyObject *km_read_object(km_reader *r, const km_layout *layout) {
  PyObject *object, *value;
  if (r->depth == KM_MOST_DEPTH || !layout->whole) return NULL;
  object = km_new(r, layout->cls);
  if (object == NULL) return NULL;
  r->depth++;
  for (const km_field *field = layout->field, *const stop = field + layout->fields; field < stop; field++) {
    const int kind = field->value.kind;
    if (kind <= KM_UUID) {
      if (field->need > km_left(r)) goto bad;
      if (field->value.has_only && km_number(r->p, kind) != field->value.only) goto bad;
      value = km_fixed(r, r->p, kind);
      r->p += km_kinds[kind].width;
    } else if (kind == KM_TAGS) {
      value = km_read_tags(r, layout, object);
    } else {
      value = km_read_value(r, &field->value);
    }
    if (KD_UNLIKELY(value == NULL)) goto bad;
    *kd_in(object, field->slot) = value;
  }
  for (const km_field *field = layout->tag, *const stop = field + layout->tags; field < stop; field++)
    if (*kd_in(object, field->slot) == NULL && (*kd_in(object, field->slot) = km_initial(r, field)) == NULL) goto bad;
  for (const km_field *field = layout->gone, *const stop = field + layout->absent; field < stop; field++)
    if ((*kd_in(object, field->slot) = km_initial(r, field)) == NULL) goto bad;
  if (layout->version != NULL) {
    Py_INCREF(layout->version);
    *kd_in(object, layout->told) = layout->version;
  }
  r->depth--;
  return object;
bad:
  r->depth--;
  Py_DECREF(object);
  return NULL;
}

#endif
