/* Columns that are filled from frames (kodec_frames.h), and then become Arrow arrays.
 *
 * Columns are a tree: `group` and `choice` are objects whose members are columns, a `struct` is one column with parts, a
 * `list` one with elements. What a row does not have is filled in when the next value comes, or at the end: a case that a
 * row is not costs one comparison. Included by kodec_table.h. */
#ifndef KODEC_FILL_H
#define KODEC_FILL_H

#include "kodec_arrow.h"

typedef enum { KB_INT, KB_REAL, KB_FLAG, KB_BYTES, KB_TEXT, KB_ENUM, KB_HERE, KB_NAME, KB_LIST, KB_STRUCT, KB_CHOICE, KB_GROUP } kb_kind;
static const char *const kb_kinds[] = {"int", "real", "flag", "bytes", "text", "enum", "here", "name", "list", "struct",
                                       "choice", "group", NULL};
static const char *const kb_values[] = {"int", "bool", "float", "bytes", "str", "list", "object", NULL};

/* Memory that becomes a buffer of an array. */
typedef struct {
  uint8_t *p; /* of kd_resize, or NULL */
  Py_ssize_t n, room, hope; /* `hope`: how much room to begin with */
  int dense;                /* whether all of it is written, so that it need not be zero before */
} kb_buffer;

/* Which children of a column may have a value of a class. */
typedef struct kb_way {
  struct kb_way *next;
  const PyObject *cls;
  Py_ssize_t count, at[];
} kb_way;

typedef struct kb_column {
  kb_kind kind;
  ks_expr *member;     /* the member of the object around it; NULL: that value itself */
  int around;          /* its parent (1) or its root (2), rather than a member */
  Py_ssize_t slot;     /* of the member, where the class of the object around it is known, or -1 */
  PyTypeObject *guard; /* the class that the value has, or NULL */
  unsigned accepts;    /* the kinds of values, by bits; 0: all */
  int width, is_signed;
  int exact; /* whether the member is a number of this very type */
  Py_ssize_t rows, nulls, items; /* the values that are there; the elements of a list */
  kb_buffer data, ends, valid;
  Py_ssize_t children;
  struct kb_column *child;
  int late;     /* whether it, or one inside, is filled when the whole row is read */
  int steady;   /* whether it takes a number in each row, without being asked (`kb_make_room`) */
  int direct;   /* of a list: whether its elements fill their columns as soon as they are read */
  int chooses;  /* whether most of them are each of one class */
  kb_way *ways; /* of classes that were met */
  /* of an enum: the numbers by their place, and places by number */
  int32_t small[256];
  PyObject *places, *known_places; /* those of this batch, and those that each batch has */
  PyObject *words;                 /* of the known ones, and of a type's names: a list */
  Py_ssize_t order;                /* of a column, where it is in a batch */
  /* of a type's name */
  Py_ssize_t names;
  PyTypeObject **classes;
  int *kinds; /* of each, where it has no class */
  Py_ssize_t last; /* the one that was found last */
} kb_column;

/* ------------------------------------------------------------------ buffers */

/* Room for `size` bytes; what was never written is zero. */
static int kb_room(kb_buffer *buffer, Py_ssize_t size) {
  uint8_t *grown;
  Py_ssize_t room;
  if (KD_LIKELY(size <= buffer->room)) return 0;
  if (size > (PY_SSIZE_T_MAX >> 2)) return -1;
  room = buffer->room ? 2 * buffer->room : buffer->hope > 512 ? buffer->hope : 512;
  if (room < size) room = size;
  grown = kd_resize(buffer->p, (size_t)buffer->room, (size_t)room);
  if (grown == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  if (!buffer->dense) memset(grown + buffer->room, 0, (size_t)(room - buffer->room));
  buffer->p = grown;
  buffer->room = room;
  return 0;
}

static int kb_zeros(kb_buffer *buffer, Py_ssize_t upto) {
  if (kb_room(buffer, upto) < 0) return -1;
  if (upto > buffer->n) buffer->n = upto;
  return 0;
}

KD_INLINE void kb_set_bit(uint8_t *bits, Py_ssize_t i) { bits[i >> 3] |= (uint8_t)(1 << (i & 7)); }

/* The first of something is missing: from now on a bit shows for each value whether it is there. */
static int kb_nulls(kb_column *column, Py_ssize_t upto) {
  if (column->valid.p == NULL) {
    if (kb_zeros(&column->valid, (column->rows + 7) / 8) < 0) return -1;
    for (Py_ssize_t i = 0; i < column->rows; i++) kb_set_bit(column->valid.p, i);
  }
  column->nulls += upto - column->rows;
  return kb_zeros(&column->valid, (upto + 7) / 8);
}

/* Whether each value has as many bytes. */
static int kb_is_even(kb_kind kind) { return kind == KB_INT || kind == KB_REAL || kind == KB_ENUM || kind == KB_NAME; }

/* Put the bits of a number of the column's width; there must be room. */
KD_INLINE void kb_put_bits(kb_column *column, Py_ssize_t row, int64_t bits) {
  switch (column->width) {
    case 1: column->data.p[row] = (uint8_t)bits; break;
    case 2: ((uint16_t *)(void *)column->data.p)[row] = (uint16_t)bits; break;
    case 4: ((uint32_t *)(void *)column->data.p)[row] = (uint32_t)bits; break;
    default: ((uint64_t *)(void *)column->data.p)[row] = (uint64_t)bits;
  }
}

/* Have the column have `row` values, of which those that are new are missing. */
static int kb_pad(kb_column *column, Py_ssize_t row) {
  Py_ssize_t end;
  if (row <= column->rows || column->kind == KB_GROUP) return 0;
  if (row == column->rows + 1 && column->valid.p != NULL && kb_is_even(column->kind) && row <= 8 * column->valid.room &&
      row * column->width <= column->data.room) {
    kb_put_bits(column, column->rows, 0);
    column->valid.n = (row + 7) / 8;
    column->nulls++;
    column->rows = row;
    return 0;
  }
  if (kb_nulls(column, row) < 0) return -1;
  switch (column->kind) {
    case KB_FLAG:
    case KB_HERE:
      if (kb_zeros(&column->data, (row + 7) / 8) < 0) return -1;
      break;
    case KB_STRUCT:
    case KB_CHOICE: break;
    case KB_BYTES:
    case KB_TEXT:
    case KB_LIST:
      if (kb_room(&column->ends, 4 * (row + 1)) < 0) return -1;
      if (column->ends.n == 0) memset(column->ends.p, 0, 4);
      end = column->kind == KB_LIST ? column->items : column->data.n;
      for (Py_ssize_t i = column->rows; i < row; i++) {
        const int32_t value = (int32_t)end;
        memcpy(column->ends.p + 4 * (i + 1), &value, 4);
      }
      column->ends.n = 4 * (row + 1);
      break;
    default:
      if (kb_room(&column->data, row * column->width) < 0) return -1;
      memset(column->data.p + column->rows * column->width, 0, (size_t)((row - column->rows) * column->width));
  }
  column->rows = row;
  return 0;
}

/* The value of `row` comes next, and is there. */
KD_INLINE int kb_next(kb_column *column, Py_ssize_t row) {
  if (KD_UNLIKELY(column->rows < row) && kb_pad(column, row) < 0) return -1;
  if (KD_UNLIKELY(column->valid.p != NULL)) {
    if (KD_UNLIKELY((row >> 3) >= column->valid.n) && kb_zeros(&column->valid, (row + 8) / 8) < 0) return -1;
    kb_set_bit(column->valid.p, row);
  }
  column->rows = row + 1;
  return 0;
}

/* Room for one more end, after those before it. */
static int kb_end_room(kb_column *column, Py_ssize_t row) {
  if (kb_room(&column->ends, 4 * (row + 2)) < 0) return -1;
  if (column->ends.n == 0) memset(column->ends.p, 0, 4);
  return 0;
}

/* The end of the value of `row`, which `kb_next` announced. */
KD_INLINE int kb_put_end(kb_column *column, Py_ssize_t row, Py_ssize_t at) {
  const int32_t end = (int32_t)at;
  if (KD_UNLIKELY(column->ends.n == 0 || 4 * (row + 2) > column->ends.room) && kb_end_room(column, row) < 0) return -1;
  memcpy(column->ends.p + 4 * (row + 1), &end, 4);
  column->ends.n = 4 * (row + 2);
  return 0;
}

/* ------------------------------------------------------------------ values */

static int kb_place(kb_column *column, const kf_val *value, int32_t *to) {
  PyObject *key, *found;
  const int64_t number = value->kind == KF_BIG ? -1 : value->as.i; /* of a small one */
  if (number >= 0 && number < 256 && column->small[number] >= 0) {
    *to = column->small[number];
    return 0;
  }
  key = value->kind == KF_BIG ? PyLong_FromUnsignedLongLong((uint64_t)value->as.i) : PyLong_FromLongLong(number);
  if (key == NULL) return -1;
  found = PyDict_GetItemWithError(column->places, key);
  if (found != NULL) {
    *to = (int32_t)PyLong_AsLong(found);
  } else {
    PyObject *place;
    if (PyErr_Occurred() || PyDict_GET_SIZE(column->places) >= INT32_MAX) return Py_DECREF(key), -1;
    *to = (int32_t)PyDict_GET_SIZE(column->places);
    place = PyLong_FromLong(*to);
    if (place == NULL || PyDict_SetItem(column->places, key, place) < 0) {
      Py_XDECREF(place);
      Py_DECREF(key);
      return -1;
    }
    Py_DECREF(place);
  }
  Py_DECREF(key);
  if (number >= 0 && number < 256) column->small[number] = *to;
  return 0;
}

KD_INLINE int kb_fits(const kb_column *column, int64_t value) {
  const int bits = 8 * column->width;
  if (column->is_signed) return bits == 64 || (value < INT64_C(1) << (bits - 1) && value >= -(INT64_C(1) << (bits - 1)));
  return value >= 0 && (bits == 64 || !(value >> bits));
}

static int kb_whole(kb_column *column, const kf_val *value, Py_ssize_t row) {
  if (value->kind == KF_BIG ? column->is_signed || column->width < 8 : !kf_is_whole(value) || !kb_fits(column, value->as.i))
    return -1;
  if (kb_next(column, row) < 0 || kb_room(&column->data, (row + 1) * column->width) < 0) return -1;
  column->data.n = (row + 1) * column->width;
  kb_put_bits(column, row, value->as.i);
  return 0;
}

/* Copy bytes, of which there are often few. */
KD_INLINE void kb_copy(uint8_t *to, const uint8_t *p, Py_ssize_t size) {
  if (size > 16 || size < 4) {
    if (size) memcpy(to, p, (size_t)size);
  } else if (size >= 8) {
    uint64_t first, last;
    memcpy(&first, p, 8);
    memcpy(&last, p + size - 8, 8);
    memcpy(to, &first, 8);
    memcpy(to + size - 8, &last, 8);
  } else {
    uint32_t first, last;
    memcpy(&first, p, 4);
    memcpy(&last, p + size - 4, 4);
    memcpy(to, &first, 4);
    memcpy(to + size - 4, &last, 4);
  }
}

static int kb_octets(kf_run *run, kb_column *column, const kf_val *value, Py_ssize_t row) {
  const uint8_t *p = value->as.p;
  Py_ssize_t size = value->size;
  const Py_ssize_t at = column->data.n;
  if (KD_UNLIKELY(value->kind != (column->kind == KB_TEXT ? KF_TEXT : KF_BYTES))) return -1;
  if (column->kind == KB_TEXT && KD_UNLIKELY(!kf_is_ascii(p, size)) && kf_utf8(run, value, &p, &size) < 0) return -1;
  if (KD_UNLIKELY(size > INT32_MAX - at) || kb_next(column, row) < 0 || kb_put_end(column, row, at + size) < 0) return -1;
  if (KD_UNLIKELY(at + size > column->data.room) && kb_room(&column->data, at + size) < 0) return -1;
  kb_copy(column->data.p + at, p, size);
  column->data.n = at + size;
  run->filled += size + 4;
  return 0;
}

/* The children of a column that may have a value of a class; NULL: any may. */
static const kb_way *kb_way_of(kf_run *run, kb_column *column, const PyObject *cls) {
  kb_way *way = column->ways, **before;
  if (KD_LIKELY(way != NULL && way->cls == cls)) return way;
  for (before = &column->ways; (way = *before) != NULL && way->cls != cls;) before = &way->next;
  if (way != NULL) {
    *before = way->next;
  } else {
    way = ks_new(run->own, 1, sizeof(kb_way) + (size_t)column->children * sizeof(Py_ssize_t));
    if (way == NULL) return NULL;
    way->cls = cls;
    for (Py_ssize_t i = 0; i < column->children; i++) {
      const kb_column *const child = &column->child[i];
      if (child->member != NULL || child->around || child->guard == NULL || (PyObject *)child->guard == cls)
        way->at[way->count++] = i;
    }
  }
  way->next = column->ways;
  column->ways = way;
  return way;
}

/* Elements that are numbers, all at once: 1, 0 where they come one by one, or -1. */
static int kb_fill_numbers(kb_column *child, Py_ssize_t at, const kf_list *list) {
  if (list->numbers == NULL || list->kind != KF_INT || child->kind != KB_INT || child->member != NULL || child->around ||
      child->guard != NULL || (child->accepts && !(child->accepts & 1)) || child->rows != at || child->valid.p != NULL)
    return 0;
  if (kb_room(&child->data, (at + list->n) * child->width) < 0) return -1;
  if (child->width == 1 && !child->is_signed) {
    uint8_t *const to = child->data.p + at;
    uint64_t all = 0;
    for (Py_ssize_t i = 0; i < list->n; i++) {
      all |= (uint64_t)list->numbers[i];
      to[i] = (uint8_t)list->numbers[i];
    }
    if (all > UINT8_MAX) return -1;
  } else {
    for (Py_ssize_t i = 0; i < list->n; i++) {
      if (!kb_fits(child, list->numbers[i])) return -1;
      kb_put_bits(child, at + i, list->numbers[i]);
    }
  }
  child->rows = at + list->n;
  child->data.n = child->rows * child->width;
  return 1;
}

static int kb_kind_of(const kf_val *value) {
  switch (value->kind) {
    case KF_INT:
    case KF_BIG: return 0;
    case KF_FLAG: return 1;
    case KF_REAL: return 2;
    case KF_BYTES: return 3;
    case KF_TEXT: return 4;
    case KF_LIST: return 5;
    default: return 6;
  }
}

static int kb_fill(kf_run *run, kb_column *column, const kf_val *value, Py_ssize_t row);

/* Fill in a value, if there is one, and it is of the column's class or kinds. 1 where it was there. */
KD_INLINE int kb_fill_value(kf_run *run, kb_column *column, const kf_val *value, Py_ssize_t row) {
  if (value->kind <= KF_NULL) return 0;
  if (column->guard != NULL && (value->kind != KF_NODE || value->as.node->unit->cls != (PyObject *)column->guard)) return 0;
  if (column->accepts && !(column->accepts >> kb_kind_of(value) & 1)) return 0;
  return kb_fill(run, column, value, row) < 0 ? -1 : 1;
}

/* Fill a member of an object, or what an object is. 1 where it was there. */
KD_INLINE int kb_fill_member(kf_run *run, kb_column *column, const kf_val *around, Py_ssize_t row) {
  kf_val found;
  const kf_val *value = around;
  if (column->member != NULL || column->around) {
    kf_node *node;
    if (around->kind != KF_NODE) return 0;
    node = around->as.node;
    if (column->slot >= 0) {
      value = &node->slot[column->slot];
      if (value->kind == KF_INT && column->exact && (row + 1) * column->width <= column->data.room) {
        /* a number of the column's own width, as most are */
        if (kb_next(column, row) < 0) return -1;
        kb_put_bits(column, row, value->as.i);
        return 1;
      }
    } else if (column->around) {
      found.as.node = column->around == 1 ? node->parent : node->root;
      found.kind = found.as.node == NULL ? KF_NULL : KF_NODE;
    } else if (kf_member(run, column->member, node, &found) < 0) {
      return -1;
    }
    if (column->slot < 0) value = &found;
  }
  return kb_fill_value(run, column, value, row);
}

static int kb_fill(kf_run *run, kb_column *column, const kf_val *value, Py_ssize_t row) {
  int32_t place;
  int there = 0, status;
  switch (column->kind) {
    case KB_INT: return kb_whole(column, value, row);
    case KB_REAL: {
      const double real = value->kind == KF_REAL ? value->as.r : (double)value->as.i;
      if (value->kind != KF_REAL && (!kf_is_whole(value) || column->width == 4)) return -1;
      if (kb_next(column, row) < 0 || kb_room(&column->data, (row + 1) * column->width) < 0) return -1;
      column->data.n = (row + 1) * column->width;
      if (column->width == 8) {
        memcpy(column->data.p + 8 * row, &real, 8);
      } else {
        const float narrow = (float)real;
        memcpy(column->data.p + 4 * row, &narrow, 4);
      }
      return 0;
    }
    case KB_FLAG:
    case KB_HERE:
      if (column->kind == KB_FLAG && value->kind != KF_FLAG) return -1;
      if (kb_next(column, row) < 0 || kb_zeros(&column->data, (row + 8) / 8) < 0) return -1;
      if (column->kind == KB_HERE || value->as.i) kb_set_bit(column->data.p, row);
      return 0;
    case KB_BYTES:
    case KB_TEXT: return kb_octets(run, column, value, row);
    case KB_ENUM:
    case KB_NAME:
      if (column->kind == KB_ENUM) {
        if ((value->kind != KF_BIG && !kf_is_whole(value)) || kb_place(column, value, &place) < 0) return -1;
      } else {
        const PyObject *const cls = value->kind == KF_NODE ? value->as.node->unit->cls : NULL;
        const int kind = kb_kind_of(value);
        Py_ssize_t i = column->last;
        if (column->names && (cls != NULL ? (PyObject *)column->classes[i] != cls : column->kinds[i] != kind)) i = 0;
        while (i < column->names && (cls != NULL ? (PyObject *)column->classes[i] != cls : column->kinds[i] != kind)) i++;
        if (i == column->names) return 0; /* no case has it */
        column->last = i;
        place = (int32_t)i;
      }
      if (kb_next(column, row) < 0 || kb_room(&column->data, 4 * (row + 1)) < 0) return -1;
      column->data.n = 4 * (row + 1);
      memcpy(column->data.p + 4 * row, &place, 4);
      return 0;
    case KB_LIST: {
      const kf_list *const list = value->as.list;
      kb_column *const child = column->child;
      const Py_ssize_t first = column->items;
      if (value->kind != KF_LIST || list->n > INT32_MAX - column->items) return -1;
      if (kb_pad(column, row) < 0 || (there = kb_fill_numbers(child, first, list)) < 0) return -1;
      if (there) column->items += list->n;
      if (list->numbers == NULL && child->member == NULL && !child->around && (child->kind == KB_BYTES || child->kind == KB_TEXT)) {
        for (const kf_val *item = list->items, *const last = item + list->n; item < last; item++, column->items++)
          if (item->kind > KF_NULL && !child->accepts ? kb_octets(run, child, item, column->items) < 0
                                                      : kb_fill_value(run, child, item, column->items) < 0)
            return -1;
        there = 1;
      }
      for (Py_ssize_t i = 0; i < list->n && !there; i++) {
        const kf_val item = kf_item(list, i);
        if (kb_fill_member(run, child, &item, column->items) < 0) return -1;
        column->items++;
      }
      if (kb_next(column, row) < 0 || kb_put_end(column, row, column->items) < 0) return -1;
      run->filled += 8 * list->n;
      return 0;
    }
    default: break;
  }
  if (column->kind == KB_STRUCT && value->kind != KF_NODE) return -1;
  if (column->chooses && value->kind == KF_NODE) {
    const kb_way *const way = kb_way_of(run, column, value->as.node->unit->cls);
    if (way == NULL) return -1;
    for (Py_ssize_t i = 0; i < way->count; i++) {
      if (run->early && !column->child[way->at[i]].late) continue;
      if ((status = kb_fill_member(run, &column->child[way->at[i]], value, row)) < 0) return -1;
      there |= status;
    }
  } else {
    for (Py_ssize_t i = 0; i < column->children; i++) {
      if (run->early && !column->child[i].late) continue;
      if ((status = kb_fill_member(run, &column->child[i], value, row)) < 0) return -1;
      there |= status;
    }
  }
  if (column->kind == KB_STRUCT || (column->kind == KB_CHOICE && there)) return kb_next(column, row);
  return 0;
}

/* ------------------------------------------------------------------ from columns to buffers */

static void kb_cut(kb_buffer *buffer, Py_ssize_t n) {
  if (buffer->n > n) buffer->n = n;
}

/* Have a column have `rows` values: the row that was being filled when something was wrong is not one of them. */
static int kb_finish(kb_column *column, Py_ssize_t rows) {
  /* a column that no row has any value of stays empty */
  if (column->rows == 0 && column->kind != KB_GROUP) return 0;
  if (kb_pad(column, rows) < 0) return -1;
  if (column->rows > rows) {
    int32_t end;
    if (column->valid.p != NULL) {
      column->nulls = 0;
      for (Py_ssize_t i = 0; i < rows; i++) column->nulls += !(column->valid.p[i >> 3] >> (i & 7) & 1);
    }
    kb_cut(&column->valid, (rows + 7) / 8);
    if (column->kind == KB_BYTES || column->kind == KB_TEXT || column->kind == KB_LIST) {
      memcpy(&end, column->ends.p + 4 * rows, 4);
      kb_cut(&column->ends, 4 * (rows + 1));
      if (column->kind == KB_LIST) column->items = end;
      else kb_cut(&column->data, end);
    }
    column->rows = rows;
  }
  if (kb_is_even(column->kind)) column->data.n = rows * column->width;
  /* what is behind an offset of a list whose row was not finished */
  if (column->kind == KB_BYTES || column->kind == KB_TEXT || column->kind == KB_LIST) {
    int32_t end;
    memcpy(&end, column->ends.p + 4 * rows, 4);
    if (column->kind == KB_LIST) column->items = end;
    else kb_cut(&column->data, end);
  }
  /* the elements of a list are counted, whether they have values or not */
  if (column->kind == KB_LIST && kb_pad(column->child, column->items) < 0) return -1;
  for (Py_ssize_t i = 0; i < column->children; i++)
    if (kb_finish(&column->child[i], column->kind == KB_LIST ? column->items : rows) < 0) return -1;
  return 0;
}

/* ------------------------------------------------------------------ from buffers to arrays */

/* Values that are all missing, in as many rows as a batch usually has, are the same memory. */
enum { KB_ROWS = 16384 };
static const uint64_t kb_nothing[KB_ROWS + 8];

static void kb_release(struct ArrowArray *array) {
  if (array->dictionary != NULL) {
    if (array->dictionary->release != NULL) array->dictionary->release(array->dictionary);
    free(array->dictionary);
  }
  for (int64_t i = 0; i < array->n_buffers; i++)
    if (array->buffers[i] != (const void *)kb_nothing) kd_release((void *)array->buffers[i]);
  array->n_buffers = 0;
  kd_release_array(array);
}

/* An array without values yet. */
static int kb_array(struct ArrowArray *to, Py_ssize_t rows, int buffers, Py_ssize_t children) {
  memset(to, 0, sizeof *to);
  to->length = rows;
  to->release = kb_release;
  to->buffers = calloc((size_t)buffers, sizeof(void *));
  to->children = children ? calloc((size_t)children, sizeof(void *)) : NULL;
  if (to->buffers != NULL) to->n_buffers = buffers;
  if (to->buffers != NULL && (!children || to->children != NULL)) {
    while (to->n_children < children) {
      struct ArrowArray *const child = calloc(1, sizeof *child);
      if (child == NULL) break;
      to->children[to->n_children++] = child;
    }
    if (to->n_children == children) return 0;
  }
  to->release(to);
  PyErr_NoMemory();
  return -1;
}

/* The buffer as it is, which begins anew. */
static void *kb_given(kb_buffer *buffer) {
  uint8_t *data = buffer->p;
  const Py_ssize_t n = buffer->n, spare = buffer->room - 4 * n;
  if (data != NULL && spare > KD_SPARE) {
    uint8_t *const less = kd_resize(NULL, 0, (size_t)n + 1);
    if (less != NULL) {
      memcpy(less, data, (size_t)n);
      kd_release(data);
      data = less;
    }
  }
  *buffer = (kb_buffer){NULL, 0, 0, n + n / 8, buffer->dense};
  return data;
}

static int kb_buffers(kb_kind kind) {
  return kind == KB_STRUCT || kind == KB_CHOICE ? 1 : kind == KB_BYTES || kind == KB_TEXT ? 3 : 2;
}

/* Zeros for `size` bytes. */
static const void *kb_zeros_for(size_t size) {
  uint8_t *made;
  if (size <= sizeof kb_nothing) return kb_nothing;
  made = kd_resize(NULL, 0, size);
  if (made == NULL) PyErr_NoMemory();
  else memset(made, 0, size);
  return made;
}

/* The words of an enum's numbers, or of a type's names; of the known ones alone where no row has any. */
static int kb_dictionary(const kb_column *column, int used, struct ArrowArray *to) {
  const Py_ssize_t known = used ? PyList_GET_SIZE(column->words) : 0;
  const Py_ssize_t count = used && column->places != NULL ? PyDict_GET_SIZE(column->places) : known;
  kb_buffer ends = {NULL, 0, 0, 0, 0}, data = {NULL, 0, 0, 0, 1};
  PyObject *key, *value;
  Py_ssize_t at = 0;
  if (kb_array(to, count, 3, 0) < 0) return -1;
  if (kb_room(&ends, 4 * (count + 1)) < 0) goto failed;
  memset(ends.p, 0, 4);
  for (Py_ssize_t i = 0; i < count; i++) {
    char digits[24];
    const char *p = digits;
    Py_ssize_t size;
    int32_t end;
    if (column->places != NULL && !PyDict_Next(column->places, &at, &key, &value)) goto failed;
    if (i < known) {
      p = PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(column->words, i), &size);
      if (p == NULL) goto failed;
    } else {
      int overflow;
      const long long number = PyLong_AsLongLongAndOverflow(key, &overflow);
      size = overflow ? PyOS_snprintf(digits, sizeof digits, "%llu", PyLong_AsUnsignedLongLong(key))
                      : PyOS_snprintf(digits, sizeof digits, "%lld", number);
    }
    if (size > INT32_MAX - data.n || kb_room(&data, data.n + size) < 0) goto failed;
    memcpy(data.p + data.n, p, (size_t)size);
    data.n += size;
    end = (int32_t)data.n;
    memcpy(ends.p + 4 * (i + 1), &end, 4);
  }
  to->buffers[1] = ends.p;
  to->buffers[2] = data.p;
  return 0;
failed:
  kd_release(ends.p);
  kd_release(data.p);
  to->release(to);
  return -1;
}

static int kb_give_dictionary(const kb_column *column, struct ArrowArray *to) {
  if (column->kind != KB_ENUM && column->kind != KB_NAME) return 0;
  to->dictionary = calloc(1, sizeof *to->dictionary);
  if (to->dictionary == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  return kb_dictionary(column, column->rows > 0, to->dictionary);
}

/* A column without any value. */
static int kb_give_nulls(const kb_column *column, Py_ssize_t rows, struct ArrowArray *to) {
  const int buffers = kb_buffers(column->kind);
  if (kb_array(to, rows, buffers, column->children) < 0) return -1;
  to->null_count = rows;
  for (int i = 0; i < buffers; i++) {
    const size_t width = i + 1 < buffers || column->kind == KB_LIST ? 4 : column->width > 4 ? 8 : 4;
    if ((to->buffers[i] = kb_zeros_for(i == 2 ? 1 : ((size_t)rows + 1) * width)) == NULL) return -1;
  }
  for (Py_ssize_t i = 0; i < column->children; i++)
    if (kb_give_nulls(&column->child[i], column->kind == KB_LIST ? 0 : rows, to->children[i]) < 0) return -1;
  return kb_give_dictionary(column, to);
}

/* A column as an array; afterwards it is empty. */
static int kb_give(kb_column *column, Py_ssize_t rows, struct ArrowArray *to) {
  const int buffers = kb_buffers(column->kind);
  int status = 0;
  if (column->rows == 0) {
    status = kb_give_nulls(column, rows, to);
  } else if ((status = kb_array(to, rows, buffers, column->children)) == 0) {
    to->null_count = column->nulls;
    if (column->nulls) to->buffers[0] = kb_given(&column->valid);
    if (column->kind == KB_BYTES || column->kind == KB_TEXT || column->kind == KB_LIST) to->buffers[1] = kb_given(&column->ends);
    if (buffers == 3 || (buffers == 2 && column->kind != KB_LIST)) to->buffers[buffers - 1] = kb_given(&column->data);
    for (Py_ssize_t i = 0; i < column->children && status == 0; i++)
      status = kb_give(&column->child[i], column->kind == KB_LIST ? column->items : rows, to->children[i]);
    if (status == 0) status = kb_give_dictionary(column, to);
  }
  if (column->valid.p != NULL) kb_given(&column->valid);
  column->rows = column->nulls = column->items = 0;
  if (column->places != NULL && PyDict_GET_SIZE(column->places) > PyDict_GET_SIZE(column->known_places)) {
    /* unknown numbers are those of a batch: a file may have many */
    PyObject *const places = PyDict_Copy(column->known_places);
    if (places == NULL) status = -1;
    else Py_SETREF(column->places, places);
    memset(column->small, 0xFF, sizeof column->small);
  }
  return status;
}

/* The columns of a group, each to its place in a batch. */
static int kb_give_all(kb_column *group, Py_ssize_t rows, struct ArrowArray *to) {
  for (Py_ssize_t i = 0; i < group->children; i++) {
    kb_column *const each = &group->child[i];
    if ((each->kind == KB_GROUP ? kb_give_all(each, rows, to) : kb_give(each, rows, to->children[each->order])) < 0) return -1;
  }
  return 0;
}

static void kb_forget(PyObject *capsule) {
  struct ArrowArray *const array = PyCapsule_GetPointer(capsule, "arrow_array");
  if (array->release != NULL) array->release(array);
  free(array);
}

/* A capsule of a batch with the columns of a group. */
static PyObject *kb_batch(kb_column *group, Py_ssize_t rows, Py_ssize_t columns) {
  struct ArrowArray *const batch = calloc(1, sizeof *batch);
  PyObject *found = NULL;
  if (batch == NULL) return PyErr_NoMemory();
  if (kb_array(batch, rows, 1, columns) == 0) {
    if (kb_give_all(group, rows, batch) == 0) found = PyCapsule_New(batch, "arrow_array", kb_forget);
    if (found == NULL) batch->release(batch);
  }
  if (found == NULL) free(batch);
  return found;
}

/* Say how many rows a batch may have. */
static void kb_begin(kb_column *column, Py_ssize_t rows) {
  if (kb_is_even(column->kind)) column->data.hope = rows * column->width;
  column->ends.hope = 4 * (rows + 1);
  for (Py_ssize_t i = 0; column->kind == KB_GROUP && i < column->children; i++) kb_begin(&column->child[i], rows);
}

/* Have room for numbers of each row up to one; those before it are there. Without room, columns have to be asked again. */
static int kb_make_room(kb_column *column, Py_ssize_t rows, Py_ssize_t upto) {
  if (column->steady) {
    if (kb_room(&column->data, upto * column->width) < 0) return -1;
    column->rows = rows;
    column->steady = upto >= rows;
  }
  for (Py_ssize_t i = 0; column->kind == KB_GROUP && i < column->children; i++)
    if (kb_make_room(&column->child[i], rows, upto) < 0) return -1;
  return 0;
}

/* Drop the values of a batch that was not finished. */
static void kb_empty(kb_column *column) {
  kb_buffer *const buffers[] = {&column->data, &column->ends, &column->valid};
  for (Py_ssize_t i = 0; i < column->children; i++) kb_empty(&column->child[i]);
  for (int i = 0; i < 3; i++) {
    kd_release(buffers[i]->p);
    buffers[i]->p = NULL;
    buffers[i]->n = buffers[i]->room = 0;
  }
  column->rows = column->nulls = column->items = 0;
}

static void kb_drop(kb_column *column) {
  for (Py_ssize_t i = 0; i < column->children; i++) kb_drop(&column->child[i]);
  Py_CLEAR(column->places);
}

#endif
