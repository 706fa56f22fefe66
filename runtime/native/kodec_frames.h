/* Objects of streamed schemas as frames: the steps of a unit, taken without a Python object for what they read.
 *
 * A frame has the slots of its class, with values of C; text and bytes stay where they are in the input. Frames are in
 * arenas: one for each level of a path to rows, and one for the row, which is emptied before the next row. So the
 * memory does not grow with the number of rows. An instance belongs to the level of its frame.
 * As the native reader of objects does, this gives up (-1, without an exception) where anything is wrong with the
 * bytes, where 64 bits are not enough, or where a step needs what is not here. Included by streams.c. */
#ifndef KODEC_FRAMES_H
#define KODEC_FRAMES_H

enum { KF_BLOCK = 1 << 16, KF_LEVELS = 16, KF_INLINED = 4096, KF_FEW = 10 };

typedef struct kf_block {
  struct kf_block *next;
  size_t size, used;
} kf_block;

typedef struct kf_stream {
  ks_stream s;
  struct kf_stream *first, *now; /* the one that objects have; of that, the one that is read at the moment */
} kf_stream;

typedef struct kf_node {
  ks_unit *unit;
  struct kf_node *parent, *root;
  kf_stream *io;
  int64_t depth;
  int level;
  signed char little; /* -1: not known */
  kf_val slot[];      /* of the class, and then those of its instances that are read, or depend on a stream */
} kf_node;

typedef struct kf_list {
  Py_ssize_t n, room;
  kf_val *items;
  int64_t *numbers; /* instead of items: whole ones or real ones, by `kind` */
  uint8_t kind;     /* KF_INT, KF_REAL, or KF_BIG of unsigned ones of 64 bits */
} kf_list;

/* What is wanted of an object: which slots columns or conditions need. NULL: everything. */
enum { KF_WANTED = 1, KF_KEPT = 2 }; /* kept: asked for when the whole row is read */
typedef struct kf_wish {
  ks_unit *unit;
  uint8_t *slot;
  struct kf_wish **inner; /* what is wanted inside; NULL: everything */
  struct kf_wish *next;   /* that of another class, where there may be several */
  Py_ssize_t leaves;      /* the columns of its slots, which are filled as soon as these have a value */
  struct kf_leaf *leaf;
  struct kf_wish *met;    /* of the first of several, that of the class that came last */
  int whole, steady;      /* whether all of it is read; whether each row is one */
  struct kf_program *program;
} kf_wish;

typedef struct kf_leaf {
  Py_ssize_t place;
  struct kb_column *column;
  int takes; /* 1: any bytes or text; 2: the name of the class of any object; 0: `kb_fill_value` decides */
} kf_leaf;

typedef struct {
  kf_block *arenas[KF_LEVELS];
  int level; /* that of what is being read */
  int64_t depth, deepest, elements, empty, room, decompressed;
  uint64_t epoch; /* of this run alone */
  int nested, asked, table;
  int settled;       /* whether the row was read: where its streams stand is of no use any more */
  int keeps;         /* whether columns or conditions reach fields through instances, which may lead to any object */
  int fills, early;  /* whether columns are filled while rows are read; whether those of this row were */
  Py_ssize_t row;    /* that of a batch which is read */
  Py_ssize_t filled; /* the bytes of text, bytes and lists in the columns of a batch, about */
  const ks_unit *stopped;   /* that of the innermost object at which the reader stopped */
  ks_unit *own;             /* which owns what is allocated for the run */
  PyObject *names, *decode; /* the names that expressions ask for, and what processes bytes */
} kf_run;

enum { KF_SLOT = 1, KF_COMPUTED = 2, KF_ROOTED = 3 }; /* what is known of an expression */

typedef struct {
  kf_node *node;
  kf_stream *io;
  const kf_val *item;
  Py_ssize_t index;
} kf_at;

static const kf_val kf_null = {.kind = KF_NULL};

/* ------------------------------------------------------------------ memory */

static kf_block *kf_new_block(kf_run *run, size_t size) {
  const size_t room = size > KF_BLOCK ? size : KF_BLOCK;
  kf_block *const block = PyMem_Malloc(sizeof(kf_block) + room + 16);
  if (block == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  *block = (kf_block){run->arenas[run->level], room, 0};
  return run->arenas[run->level] = block;
}

KD_INLINE void *kf_new(kf_run *run, size_t size) {
  kf_block *block = run->arenas[run->level];
  void *found;
  size = (size + 15) & ~(size_t)15;
  if (KD_UNLIKELY(block == NULL || size > block->size - block->used) && (block = kf_new_block(run, size)) == NULL) return NULL;
  found = (uint8_t *)(block + 1) + block->used;
  block->used += size;
  return found;
}

/* Drop all that is on a level; its largest block is kept, if it is not huge. */
static void kf_clear(kf_run *run, int level, int all) {
  kf_block *block = run->arenas[level], *kept = NULL;
  if (block != NULL && block->next == NULL && !all && block->size <= 64 * KF_BLOCK) {
    block->used = 0;
    return;
  }
  while (block != NULL) {
    kf_block *const next = block->next;
    if (!all && block->size <= 64 * KF_BLOCK && (kept == NULL || block->size > kept->size)) {
      PyMem_Free(kept);
      kept = block;
    } else {
      PyMem_Free(block);
    }
    block = next;
  }
  if (kept != NULL) {
    kept->next = NULL;
    kept->used = 0;
  }
  run->arenas[level] = kept;
}

/* The place of the next item; it is one as soon as it is counted. */
static kf_val *kf_next_item(kf_run *run, kf_list *list) {
  if (list->n == list->room) {
    const Py_ssize_t room = list->room ? 2 * list->room : 8;
    kf_val *const items = kf_new(run, (size_t)room * sizeof(kf_val));
    if (items == NULL) return NULL;
    if (list->n) memcpy(items, list->items, (size_t)list->n * sizeof(kf_val));
    list->items = items;
    list->room = room;
  }
  return &list->items[list->n];
}

static int kf_push(kf_run *run, kf_list *list, const kf_val *value) {
  kf_val *const item = kf_next_item(run, list);
  if (item == NULL) return -1;
  *item = *value;
  list->n++;
  return 0;
}

static int kf_push_number(kf_run *run, kf_list *list, int64_t bits) {
  if (list->n == list->room) {
    const Py_ssize_t room = list->room ? 2 * list->room : 16;
    int64_t *const numbers = kf_new(run, (size_t)room * sizeof(int64_t));
    if (numbers == NULL) return -1;
    if (list->n) memcpy(numbers, list->numbers, (size_t)list->n * sizeof(int64_t));
    list->numbers = numbers;
    list->room = room;
  }
  list->numbers[list->n++] = bits;
  return 0;
}

static kf_val kf_item(const kf_list *list, Py_ssize_t i) {
  kf_val found = {.kind = list->kind};
  if (list->numbers == NULL) return list->items[i];
  found.as.i = list->numbers[i];
  if (list->kind == KF_BIG && found.as.i >= 0) found.kind = KF_INT;
  return found;
}

KD_INLINE kf_stream *kf_open(kf_run *run, const uint8_t *bytes, Py_ssize_t base, Py_ssize_t end) {
  kf_stream *const io = kf_new(run, sizeof(kf_stream));
  if (io == NULL) return NULL;
  io->s.buf = bytes;
  io->s.base = io->s.at = base;
  io->s.end = end;
  io->s.bits = 0;
  io->s.left = 0;
  io->first = io->now = io;
  return io;
}

/* ------------------------------------------------------------------ values */

static int kf_eval(kf_run *run, const kf_at *at, ks_expr *expr, kf_val *to);

KD_INLINE int kf_set_int(kf_val *to, int64_t value) {
  to->as.i = value;
  to->kind = KF_INT;
  return 0;
}

KD_INLINE int kf_set_flag(kf_val *to, int value) {
  to->as.i = value;
  to->kind = KF_FLAG;
  return 0;
}

KD_INLINE int kf_is_whole(const kf_val *value) { return value->kind == KF_INT || value->kind == KF_FLAG; }

/* A constant of the table, which lives as long as that does. */
static int kf_constant(ks_expr *expr) {
  PyObject *const o = expr->constant.o;
  kf_val *const to = &expr->frame;
  Py_ssize_t size;
  if (expr->constant.kind == KS_WHOLE) return kf_set_int(to, expr->constant.i);
  if (expr->constant.kind == KS_FLAG) return kf_set_flag(to, expr->constant.i != 0);
  if (o == Py_None) {
    *to = kf_null;
  } else if (PyLong_Check(o)) {
    const uint64_t bits = PyLong_AsUnsignedLongLong(o);
    if (bits == (uint64_t)-1 && PyErr_Occurred()) {
      PyErr_Clear();
      return -1;
    }
    to->as.i = (int64_t)bits;
    to->kind = KF_BIG;
  } else if (PyFloat_Check(o)) {
    to->as.r = PyFloat_AS_DOUBLE(o);
    to->kind = KF_REAL;
  } else if (PyBytes_Check(o)) {
    to->as.p = (const uint8_t *)PyBytes_AS_STRING(o);
    to->size = PyBytes_GET_SIZE(o);
    to->kind = KF_BYTES;
  } else if (PyUnicode_Check(o)) {
    to->as.p = (const uint8_t *)PyUnicode_AsUTF8AndSize(o, &size);
    if (to->as.p == NULL) return -1;
    to->size = size;
    to->encoding = KF_AS_UTF8;
    to->kind = KF_TEXT;
  } else {
    return -1;
  }
  return 0;
}

KD_INLINE int kf_is_ascii(const uint8_t *p, Py_ssize_t size) {
  const uint64_t high = UINT64_C(0x8080808080808080);
  uint64_t word, last;
  uint32_t narrow, end;
  if (KD_LIKELY(size >= 8)) {
    memcpy(&last, p + size - 8, 8);
    for (Py_ssize_t i = 0; i + 8 < size; i += 8) {
      memcpy(&word, p + i, 8);
      last |= word;
    }
    return !(last & high);
  }
  if (size >= 4) {
    memcpy(&narrow, p, 4);
    memcpy(&end, p + size - 4, 4);
    return !((narrow | end) & (uint32_t)high);
  }
  return size <= 0 || !((p[0] | p[size / 2] | p[size - 1]) & 0x80);
}

/* Text in UTF-8, with U+FFFD for what is not text. */
static int kf_utf8(kf_run *run, const kf_val *text, const uint8_t **p, Py_ssize_t *size) {
  PyObject *made;
  const char *found;
  uint8_t *copy;
  *p = text->as.p;
  *size = text->size;
  made = text->encoding == KF_AS_LATIN1 ? PyUnicode_DecodeLatin1((const char *)*p, *size, NULL)
                                        : PyUnicode_DecodeUTF8((const char *)*p, *size, "replace");
  found = made == NULL ? NULL : PyUnicode_AsUTF8AndSize(made, size);
  copy = found == NULL ? NULL : kf_new(run, (size_t)*size);
  if (copy != NULL) memcpy(copy, found, (size_t)*size);
  *p = copy;
  Py_XDECREF(made);
  return copy == NULL ? -1 : 0;
}

static int kf_decoded(kf_run *run, const ks_charset *charset, const uint8_t *p, Py_ssize_t size, kf_val *to) {
  PyObject *made;
  const char *found;
  uint8_t *copy;
  to->encoding = charset->as;
  made = PyUnicode_Decode((const char *)p, size, charset->codec, charset->errors);
  found = made == NULL ? NULL : PyUnicode_AsUTF8AndSize(made, &to->size);
  copy = found == NULL ? NULL : kf_new(run, (size_t)to->size);
  if (copy != NULL) memcpy(copy, found, (size_t)to->size);
  Py_XDECREF(made);
  to->as.p = copy;
  return copy == NULL ? -1 : 0;
}

/* Bytes as text. */
KD_INLINE int kf_text(kf_run *run, const ks_charset *charset, const uint8_t *p, Py_ssize_t size, kf_val *to) {
  to->as.p = p;
  to->size = size;
  to->kind = KF_TEXT;
  to->encoding = charset->as;
  return KD_LIKELY(charset->encoding != KS_OTHER) ? 0 : kf_decoded(run, charset, p, size, to);
}

/* 1 or 0 for whether a value is true, or -1. */
static int kf_is_true(const kf_val *value) {
  switch (value->kind) {
    case KF_UNSET:
    case KF_NULL: return 0;
    case KF_INT:
    case KF_FLAG: return value->as.i != 0;
    case KF_BIG: return 1;
    case KF_REAL: return value->as.r != 0;
    case KF_BYTES:
    case KF_TEXT: return value->size != 0;
    case KF_LIST: return value->as.list->n != 0;
    default: return -1;
  }
}

static const kf_val *kf_ref(kf_run *run, const kf_at *at, ks_expr *expr, kf_val *scratch);

static kf_kind kf_quick(kf_run *run, const kf_at *at, ks_expr *expr, int64_t *to);
KD_INLINE kf_kind kf_quick_leaf(kf_run *run, const kf_at *at, ks_expr *expr, int64_t *to);

static int kf_eval_test(kf_run *run, const kf_at *at, ks_expr *expr) {
  kf_val scratch;
  const kf_val *value;
  int64_t found;
  if (kf_quick_leaf(run, at, expr, &found)) return found != 0;
  value = kf_ref(run, at, expr, &scratch);
  return value == NULL ? -1 : kf_is_true(value);
}

static int kf_eval_whole(kf_run *run, const kf_at *at, ks_expr *expr, int64_t *to) {
  kf_val scratch;
  const kf_val *value;
  if (kf_quick_leaf(run, at, expr, to)) return 0;
  value = kf_ref(run, at, expr, &scratch);
  if (value == NULL || !kf_is_whole(value)) return -1;
  *to = value->as.i;
  return 0;
}

/* -1, 0 or 1 for how two values compare; 2 where that is for Python to say. */
static int kf_compare(const kf_val *a, const kf_val *b) {
  if ((a->kind == KF_TEXT && b->kind == KF_TEXT) || (a->kind == KF_BYTES && b->kind == KF_BYTES)) {
    const Py_ssize_t least = a->size < b->size ? a->size : b->size;
    int found;
    if (a->kind == KF_TEXT && a->encoding != b->encoding && (!kf_is_ascii(a->as.p, a->size) || !kf_is_ascii(b->as.p, b->size)))
      return 2;
    found = least ? memcmp(a->as.p, b->as.p, (size_t)least) : 0;
    return found ? (found < 0 ? -1 : 1) : a->size < b->size ? -1 : a->size > b->size;
  }
  if (kf_is_whole(a) && kf_is_whole(b)) return a->as.i < b->as.i ? -1 : a->as.i > b->as.i;
  if (a->kind == KF_BIG && b->kind == KF_BIG)
    return (uint64_t)a->as.i < (uint64_t)b->as.i ? -1 : (uint64_t)a->as.i > (uint64_t)b->as.i;
  if (a->kind == KF_BIG && kf_is_whole(b)) return 1;
  if (kf_is_whole(a) && b->kind == KF_BIG) return -1;
  if ((a->kind == KF_REAL || kf_is_whole(a)) && (b->kind == KF_REAL || kf_is_whole(b))) {
    const int64_t exact = INT64_C(1) << 53;
    const double x = a->kind == KF_REAL ? a->as.r : (double)a->as.i, y = b->kind == KF_REAL ? b->as.r : (double)b->as.i;
    if (a->kind != KF_REAL && (a->as.i > exact || a->as.i < -exact)) return 2;
    if (b->kind != KF_REAL && (b->as.i > exact || b->as.i < -exact)) return 2;
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
  }
  return 2;
}

static int kf_equal(const kf_val *a, const kf_val *b) {
  const int a_none = a->kind <= KF_NULL, b_none = b->kind <= KF_NULL;
  int found;
  if (KD_LIKELY(a->kind == KF_INT && b->kind == KF_INT)) return a->as.i == b->as.i;
  if ((a->kind == KF_TEXT && b->kind == KF_TEXT && a->encoding == b->encoding) || (a->kind == KF_BYTES && b->kind == KF_BYTES))
    return a->size == b->size && (a->size == 0 || memcmp(a->as.p, b->as.p, (size_t)a->size) == 0);
  if (a_none || b_none) return a_none && b_none;
  if (a->kind == KF_TEXT && b->kind == KF_TEXT) {
    /* the bytes of ASCII are the same in all of the encodings */
    const int same = a->size == b->size && (a->size == 0 || memcmp(a->as.p, b->as.p, (size_t)a->size) == 0);
    return kf_is_ascii(b->as.p, b->size) || kf_is_ascii(a->as.p, a->size) ? same : -1;
  }
  found = kf_compare(a, b);
  return found == 2 ? -1 : found == 0;
}

static int kf_of_reals(ks_op op, double a, double b, kf_val *to) {
  to->kind = KF_REAL;
  switch (op) {
    case KS_ADD: to->as.r = a + b; return 0;
    case KS_SUBTRACT: to->as.r = a - b; return 0;
    case KS_MULTIPLY: to->as.r = a * b; return 0;
    case KS_DIVIDE: to->as.r = a / b; return b == 0 ? -1 : 0;
    default: return -1;
  }
}

static int kf_operation(kf_run *run, ks_op op, const kf_val *a, const kf_val *b, kf_val *to) {
  ks_val whole;
  int found;
  if (op >= KS_EQUAL && op <= KS_AT_LEAST) {
    if (op == KS_EQUAL || op == KS_DIFFERENT) {
      found = kf_equal(a, b);
      return found < 0 ? -1 : kf_set_flag(to, found == (op == KS_EQUAL));
    }
    found = kf_compare(a, b);
    if (found == 2) return -1;
    return kf_set_flag(to, op == KS_LESS ? found < 0 : op == KS_AT_MOST ? found <= 0 : op == KS_MORE ? found > 0 : found >= 0);
  }
  if (KD_LIKELY(kf_is_whole(a) && kf_is_whole(b))) {
    if (ks_of_wholes(op, a->as.i, b->as.i, &whole) != 0) return -1;
    to->as.i = whole.i;
    to->kind = a->kind == KF_FLAG && b->kind == KF_FLAG && (op == KS_BITS_AND || op == KS_BITS_OR || op == KS_BITS_XOR)
                   ? KF_FLAG : KF_INT;
    return 0;
  }
  if ((a->kind == KF_BIG || kf_is_whole(a)) && (b->kind == KF_BIG || kf_is_whole(b))) {
    const uint64_t x = (uint64_t)a->as.i, y = (uint64_t)b->as.i;
    uint64_t bits;
    if ((a->kind != KF_BIG && a->as.i < 0) || (b->kind != KF_BIG && b->as.i < 0)) return -1;
    if (op == KS_BITS_AND) bits = x & y;
    else if (op == KS_BITS_OR) bits = x | y;
    else if (op == KS_BITS_XOR) bits = x ^ y;
    else if (op == KS_RIGHT && b->kind != KF_BIG) bits = y > 63 ? 0 : x >> y;
    else if (op == KS_DIVIDE && y != 0) bits = x / y;
    else if (op == KS_MODULO && y != 0) bits = x % y;
    else return -1;
    to->as.i = (int64_t)bits;
    to->kind = bits > INT64_MAX ? KF_BIG : KF_INT;
    return 0;
  }
  if ((a->kind == KF_REAL && (b->kind == KF_REAL || kf_is_whole(b))) || (b->kind == KF_REAL && kf_is_whole(a)))
    return kf_of_reals(op, a->kind == KF_REAL ? a->as.r : (double)a->as.i, b->kind == KF_REAL ? b->as.r : (double)b->as.i, to);
  if (op == KS_ADD && a->kind == b->kind && (a->kind == KF_BYTES || a->kind == KF_TEXT)) {
    uint8_t *p;
    kf_val made = *a;
    if (a->kind == KF_TEXT && a->encoding != b->encoding) {
      if (!kf_is_ascii(a->as.p, a->size) && !kf_is_ascii(b->as.p, b->size)) return -1;
      if (kf_is_ascii(a->as.p, a->size)) made.encoding = b->encoding;
    }
    made.size = a->size + b->size;
    if ((p = kf_new(run, (size_t)made.size)) == NULL) return -1;
    if (a->size) memcpy(p, a->as.p, (size_t)a->size);
    if (b->size) memcpy(p + a->size, b->as.p, (size_t)b->size);
    made.as.p = p;
    *to = made;
    return 0;
  }
  return -1;
}

static int kf_instance(kf_run *run, kf_node *node, Py_ssize_t number, kf_val *to);

/* Whether a value depends on where a stream stands. */
static int kf_moves(const ks_expr *expr) {
  if (expr->op == KS_POS || expr->op == KS_EOF || expr->op == KS_CALL) return 1;
  for (int i = 0; i < 3; i++)
    if (expr->part[i] != NULL && kf_moves(expr->part[i])) return 1;
  for (Py_ssize_t i = 0; i < expr->items; i++)
    if (kf_moves(expr->item[i])) return 1;
  return 0;
}

/* An instance that depends on a stream: it has the value of when it was first asked for. */
static int kf_standing(kf_run *run, kf_node *node, Py_ssize_t number, kf_val *to) {
  kf_val *const kept = &node->slot[node->unit->frame + node->unit->reads + number];
  const kf_at at = {node, NULL, NULL, 0};
  const int level = run->level;
  int status = -1;
  if (kept->kind == KF_READING || (kept->kind == KF_UNSET && run->settled && kf_moves(node->unit->stand[number]))) return -1;
  if (kept->kind == KF_UNSET) {
    kept->kind = KF_READING;
    run->level = node->level;
    if (run->asked++ < KS_MOST_ASKED) status = kf_eval(run, &at, node->unit->stand[number], to);
    run->asked--;
    run->level = level;
    if (status < 0) return -1;
    *kept = *to;
    if (kept->kind == KF_UNSET) *kept = kf_null;
  }
  *to = *kept;
  return 0;
}

/* Note the innermost object at which the reader stops. */
static int kf_stop(kf_run *run, const kf_node *node) {
  if (run->stopped == NULL) run->stopped = node->unit;
  return -1;
}

/* A field, a parameter or an instance of a frame. */
static int kf_member(kf_run *run, ks_expr *expr, kf_node *of, kf_val *to) {
  PyTypeObject *const cls = (PyTypeObject *)of->unit->cls;
  if (KD_UNLIKELY(expr->seen != cls) && ks_seek_member(&run->table, expr, cls) < 0) return -1;
  if (KD_LIKELY(expr->place >= 0)) {
    *to = of->slot[expr->place];
    if (to->kind == KF_UNSET) *to = kf_null;
    return 0;
  }
  if (expr->computed != NULL) {
    const kf_at at = {of, NULL, NULL, 0};
    const int level = run->level;
    int status = -1;
    if (run->asked++ < KS_MOST_ASKED) status = kf_eval(run, &at, expr->computed, to);
    run->asked--;
    run->level = level;
    return status < 0 ? kf_stop(run, of) : 0;
  }
  if (expr->stands >= 0) return kf_standing(run, of, expr->stands, to) < 0 ? kf_stop(run, of) : 0;
  return expr->sought < 0 || kf_instance(run, of, expr->sought, to) < 0 ? kf_stop(run, of) : 0;
}

static int kf_prepare(kf_run *run, ks_unit *unit);

/* The unit of an object in the frame of one of `unit`, and where it is; NULL: it is not there, or an error. */
static ks_unit *kf_inlined(kf_run *run, ks_unit *unit, ks_expr *expr, Py_ssize_t *offset, Py_ssize_t *via) {
  ks_unit *const around = expr->op == KS_FIELD ? unit : expr->op == KS_MEMBER ? kf_inlined(run, unit, expr->part[0], offset, via) : NULL;
  const ks_step *step;
  if (around == NULL || kf_prepare(run, around) < 0 || ks_seek_member(&run->table, expr, (PyTypeObject *)around->cls) < 0) return NULL;
  if (expr->place < 0 || (step = around->inside[expr->place]) == NULL) return NULL;
  if (expr->op == KS_FIELD) {
    *offset = 0;
    *via = expr->place;
  }
  *offset += step->inlined;
  return step->element->unit;
}

static int kf_is_rooted(const ks_expr *expr) {
  return expr->op == KS_MEMBER ? kf_is_rooted(expr->part[0]) : expr->op == KS_ROOT && expr->part[0] == NULL;
}

/* Find where an expression of a unit's table takes its values from, as far as that is the same for all objects. What
 * cannot be found is sought when it is asked for. */
static void kf_resolve(kf_run *run, ks_unit *unit, ks_expr *expr) {
  ks_unit *around = unit;
  Py_ssize_t offset = 0, via = -1;
  if (expr->resolved) return;
  expr->resolved = 1;
  for (int i = 0; i < 3; i++)
    if (expr->part[i] != NULL) kf_resolve(run, unit, expr->part[i]);
  if (expr->op != KS_FIELD && expr->op != KS_MEMBER) return;
  if (expr->op == KS_MEMBER && kf_is_rooted(expr->part[0])) expr->known = KF_ROOTED;
  if (expr->op == KS_MEMBER) around = kf_inlined(run, unit, expr->part[0], &offset, &via);
  if (around == NULL || ks_seek_member(&run->table, expr, (PyTypeObject *)around->cls) < 0) {
    PyErr_Clear();
    return;
  }
  expr->via = via;
  if (expr->place >= 0) {
    expr->known = KF_SLOT;
    expr->offset = offset + (Py_ssize_t)offsetof(kf_node, slot) + expr->place * (Py_ssize_t)sizeof(kf_val);
  } else if (expr->computed != NULL) {
    expr->known = KF_COMPUTED;
    expr->offset = offset;
    kf_resolve(run, around, expr->computed);
  }
}

/* The object that a known expression starts from, or the slot at its offset; NULL if it is not there yet. */
KD_INLINE void *kf_at_offset(kf_node *node, const ks_expr *expr) {
  return expr->via < 0 || node->slot[expr->via].kind == KF_NODE ? (uint8_t *)node + expr->offset : NULL;
}

/* Whether it leads from slot to slot, none of which changes. */
static int kf_stays(const ks_expr *expr) {
  return expr->op == KS_ROOT || (expr->place >= 0 && kf_stays(expr->part[0]));
}

/* A value, in place where it has one; else in `scratch`. NULL where it cannot be computed. */
static const kf_val *kf_ref(kf_run *run, const kf_at *at, ks_expr *expr, kf_val *scratch) {
  const kf_node *node = at->node;
  const kf_val *found;
  if (KD_UNLIKELY(!expr->resolved)) kf_resolve(run, at->node->unit, expr);
  if (expr->known == KF_SLOT && (found = kf_at_offset(at->node, expr)) != NULL) return found->kind == KF_UNSET ? &kf_null : found;
  if (expr->known == KF_COMPUTED) {
    const kf_at there = {kf_at_offset(at->node, expr), NULL, NULL, 0};
    const int level = run->level;
    found = NULL;
    if (there.node == NULL) return NULL;
    if (run->asked++ < KS_MOST_ASKED) found = kf_ref(run, &there, expr->computed, scratch);
    run->asked--;
    run->level = level;
    return found;
  }
  switch (expr->op) {
    case KS_CONSTANT:
      if (KD_LIKELY(expr->frame.kind != KF_UNSET)) return &expr->frame;
      break;
    case KS_ITEM: return at->item;
    case KS_DECODED:
      found = kf_ref(run, at, expr->part[0], scratch);
      if (found == NULL || found->kind != KF_BYTES) return NULL;
      return kf_text(run, &expr->charset, found->as.p, found->size, scratch) < 0 ? NULL : scratch;
    case KS_NEED:
      found = kf_ref(run, at, expr->part[0], scratch);
      return found == NULL || found->kind <= KF_NULL ? NULL : found;
    case KS_MEMBER:
      /* a slot of the outermost object, or of one in it, stays where it is */
      if (expr->known == KF_ROOTED && expr->epoch == run->epoch && expr->root == node->root) return expr->kept;
      found = kf_ref(run, at, expr->part[0], scratch);
      if (found == NULL || found->kind != KF_NODE) return NULL;
      node = found->as.node;
      if (KD_LIKELY((PyObject *)expr->seen == node->unit->cls && expr->place >= 0)) {
        found = &node->slot[expr->place];
        if (found->kind == KF_UNSET) return &kf_null;
        if (expr->known == KF_ROOTED && at->node->root->level == 0 && kf_stays(expr->part[0])) {
          expr->epoch = run->epoch;
          expr->root = at->node->root;
          expr->kept = found;
        }
        return found;
      }
      if ((PyObject *)expr->seen == node->unit->cls && expr->computed != NULL) {
        const kf_at there = {found->as.node, NULL, NULL, 0};
        const int level = run->level;
        found = NULL;
        if (run->asked++ < KS_MOST_ASKED) found = kf_ref(run, &there, expr->computed, scratch);
        run->asked--;
        run->level = level;
        if (found == NULL) kf_stop(run, node);
        return found;
      }
      return kf_member(run, expr, found->as.node, scratch) < 0 ? NULL : scratch;
    case KS_ROOT:
      if (expr->part[0] != NULL) break;
      scratch->as.node = node->root;
      scratch->kind = KF_NODE;
      return scratch;
    case KS_PARENT:
      if (expr->part[0] != NULL || node->parent == NULL) break;
      scratch->as.node = node->parent;
      scratch->kind = KF_NODE;
      return scratch;
    case KS_ELEMENT: {
      int64_t i;
      if (expr->part[0]->constant_items) {
        if (kf_eval_whole(run, at, expr->part[1], &i) < 0 || i < 0 || i >= expr->part[0]->items) return NULL;
        return kf_ref(run, at, expr->part[0]->item[i], scratch);
      }
      found = kf_ref(run, at, expr->part[0], scratch);
      if (found == NULL || found->kind != KF_LIST) return kf_eval(run, at, expr, scratch) < 0 ? NULL : scratch;
      if (kf_eval_whole(run, at, expr->part[1], &i) < 0 || i < 0 || i >= found->as.list->n) return NULL;
      if (found->as.list->numbers == NULL) return &found->as.list->items[i];
      *scratch = kf_item(found->as.list, (Py_ssize_t)i);
      return scratch;
    }
    default: break;
  }
  return kf_eval(run, at, expr, scratch) < 0 ? NULL : scratch;
}

/* A stream, or that of an object; NULL of any other value. */
static kf_stream *kf_stream_of(const kf_val *value) {
  return value->kind == KF_STREAM ? value->as.io : value->kind == KF_NODE ? value->as.node->io : NULL;
}

/* The position, the size or the end of a stream: the one at hand, or that of an object. */
static int kf_asked(kf_run *run, const kf_at *at, ks_expr *expr, kf_val *to) {
  const kf_stream *io = at->io;
  const ks_stream *now;
  if (expr->part[0] != NULL) {
    kf_val node;
    if (kf_eval(run, at, expr->part[0], &node) < 0 || (io = kf_stream_of(&node)) == NULL) return -1;
  }
  if (io == NULL) return -1;
  now = &io->first->now->s;
  if (expr->op == KS_EOF) return kf_set_flag(to, now->at >= now->end && now->left <= 0);
  return kf_set_int(to, expr->op == KS_POS ? now->at - now->base : now->end - now->base);
}

static int kf_length(const kf_val *of, kf_val *to) {
  Py_ssize_t count = 0;
  if (of->kind == KF_LIST) return kf_set_int(to, of->as.list->n);
  if (of->kind == KF_BYTES) return kf_set_int(to, of->size);
  if (of->kind != KF_TEXT) return -1;
  if (of->encoding != KF_AS_UTF8 || kf_is_ascii(of->as.p, of->size)) return kf_set_int(to, of->size);
  {
    PyObject *const made = PyUnicode_DecodeUTF8((const char *)of->as.p, of->size, "surrogateescape");
    if (made == NULL) return -1;
    count = PyUnicode_GET_LENGTH(made);
    Py_DECREF(made);
  }
  return kf_set_int(to, count);
}

/* A member that is a whole number or a flag. */
static kf_kind kf_quick_member(kf_run *run, ks_expr *expr, kf_node *of, int64_t *to) {
  PyTypeObject *const cls = (PyTypeObject *)of->unit->cls;
  if (KD_UNLIKELY(expr->seen != cls) && ks_seek_member(&run->table, expr, cls) < 0) return KF_UNSET;
  if (KD_LIKELY(expr->place >= 0)) {
    const kf_val *const found = &of->slot[expr->place];
    *to = found->as.i;
    return kf_is_whole(found) ? (kf_kind)found->kind : KF_UNSET;
  }
  if (expr->computed != NULL) {
    const kf_at at = {of, NULL, NULL, 0};
    const int level = run->level;
    kf_kind kind = KF_UNSET;
    if (run->asked++ < KS_MOST_ASKED) kind = kf_quick(run, &at, expr->computed, to);
    run->asked--;
    run->level = level;
    return kind;
  }
  return KF_UNSET;
}

static kf_kind kf_quick_element(kf_run *run, const kf_at *at, ks_expr *expr, int64_t *to) {
  kf_val one;
  int64_t i = at->index;
  const kf_val *const a = kf_ref(run, at, expr->part[0], &one);
  if (a == NULL || (expr->part[1]->op != KS_INDEX && !kf_quick(run, at, expr->part[1], &i)) || i < 0) return KF_UNSET;
  if (a->kind == KF_BYTES && i < a->size) {
    *to = a->as.p[i];
    return KF_INT;
  }
  if (a->kind == KF_LIST && i < a->as.list->n) {
    const kf_val item = kf_item(a->as.list, (Py_ssize_t)i);
    *to = item.as.i;
    return kf_is_whole(&item) ? (kf_kind)item.kind : KF_UNSET;
  }
  return KF_UNSET;
}

/* Texts and bytes, compared. */
static kf_kind kf_quick_equal(kf_run *run, const kf_at *at, ks_expr *expr, int64_t *to) {
  kf_val one, two;
  int found;
  const kf_val *const a = kf_ref(run, at, expr->part[0], &one), *const b = a == NULL ? NULL : kf_ref(run, at, expr->part[1], &two);
  if (b == NULL || (found = kf_equal(a, b)) < 0) return KF_UNSET;
  *to = found == (expr->op == KS_EQUAL);
  return KF_FLAG;
}

/* The same of a constant, or of a slot that is known, at once. */
KD_INLINE kf_kind kf_quick_leaf(kf_run *run, const kf_at *at, ks_expr *expr, int64_t *to) {
  const kf_val *found;
  if (expr->op == KS_CONSTANT && expr->constant.kind == KS_WHOLE) {
    *to = expr->constant.i;
    return KF_INT;
  }
  if (expr->known == KF_SLOT && (found = kf_at_offset(at->node, expr)) != NULL) {
    *to = found->as.i;
    return kf_is_whole(found) ? (kf_kind)found->kind : KF_UNSET;
  }
  return kf_quick(run, at, expr, to);
}

KD_INLINE kf_kind kf_quick_of(kf_run *run, const kf_at *at, ks_expr *expr, int64_t *to) {
  kf_val one, two;
  const kf_val *a;
  kf_kind first, second;
  int64_t y;
  ks_val whole;
  int found;
  if (expr->known == KF_COMPUTED) {
    const kf_at there = {kf_at_offset(at->node, expr), NULL, NULL, 0};
    const int level = run->level;
    kf_kind kind = KF_UNSET;
    if (there.node == NULL) return KF_UNSET;
    if (run->asked++ < KS_MOST_ASKED) kind = kf_quick_leaf(run, &there, expr->computed, to);
    run->asked--;
    run->level = level;
    return kind;
  }
  switch (expr->op) {
    case KS_CONSTANT:
      *to = expr->constant.i;
      return expr->constant.kind == KS_WHOLE ? KF_INT : expr->constant.kind == KS_FLAG ? KF_FLAG : KF_UNSET;
    case KS_FIELD: return kf_quick_member(run, expr, at->node, to);
    case KS_MEMBER:
      a = kf_ref(run, at, expr->part[0], &one);
      return a != NULL && a->kind == KF_NODE ? kf_quick_member(run, expr, a->as.node, to) : KF_UNSET;
    case KS_ITEM:
      if (at->item == NULL || !kf_is_whole(at->item)) return KF_UNSET;
      *to = at->item->as.i;
      return (kf_kind)at->item->kind;
    case KS_INDEX:
      *to = at->index;
      return KF_INT;
    case KS_POS:
    case KS_SIZE:
    case KS_EOF:
      if (kf_asked(run, at, expr, &one) < 0) return KF_UNSET;
      *to = one.as.i;
      return (kf_kind)one.kind;
    case KS_ELEMENT: return kf_quick_element(run, at, expr, to);
    case KS_NEED: return kf_quick_leaf(run, at, expr->part[0], to);
    case KS_INT:
    case KS_ENUM: return kf_quick_leaf(run, at, expr->part[0], to) ? KF_INT : KF_UNSET;
    case KS_LEN:
      if ((a = kf_ref(run, at, expr->part[0], &one)) == NULL || kf_length(a, &two) < 0) return KF_UNSET;
      *to = two.as.i;
      return KF_INT;
    case KS_NULL:
      if ((a = kf_ref(run, at, expr->part[0], &one)) == NULL) return KF_UNSET;
      *to = a->kind <= KF_NULL;
      return KF_FLAG;
    case KS_NOT:
      if ((found = kf_eval_test(run, at, expr->part[0])) < 0) return KF_UNSET;
      *to = !found;
      return KF_FLAG;
    case KS_IF:
      found = kf_eval_test(run, at, expr->part[0]);
      return found < 0 ? KF_UNSET : kf_quick_leaf(run, at, expr->part[found ? 1 : 2], to);
    case KS_AND:
    case KS_OR:
      if (!(first = kf_quick_leaf(run, at, expr->part[0], to))) return KF_UNSET;
      return (*to != 0) == (expr->op == KS_AND) ? kf_quick_leaf(run, at, expr->part[1], to) : first;
    default: break;
  }
  if (expr->op < KS_ADD || expr->op > KS_AT_LEAST) return KF_UNSET;
  if ((expr->op == KS_EQUAL || expr->op == KS_DIFFERENT) && expr->part[1]->op == KS_CONSTANT && expr->part[1]->constant.kind == KS_OBJECT)
    return kf_quick_equal(run, at, expr, to);
  if (!(first = kf_quick_leaf(run, at, expr->part[0], to)) || !(second = kf_quick_leaf(run, at, expr->part[1], &y)))
    return expr->op == KS_EQUAL || expr->op == KS_DIFFERENT ? kf_quick_equal(run, at, expr, to) : KF_UNSET;
  switch (expr->op) {
    case KS_EQUAL: *to = *to == y; return KF_FLAG;
    case KS_DIFFERENT: *to = *to != y; return KF_FLAG;
    case KS_LESS: *to = *to < y; return KF_FLAG;
    case KS_AT_MOST: *to = *to <= y; return KF_FLAG;
    case KS_MORE: *to = *to > y; return KF_FLAG;
    case KS_AT_LEAST: *to = *to >= y; return KF_FLAG;
    case KS_BITS_AND: *to &= y; break;
    case KS_ADD: return ks_add(*to, y, to) < 0 ? KF_UNSET : KF_INT;
    case KS_SUBTRACT: return y == INT64_MIN || ks_add(*to, -y, to) < 0 ? KF_UNSET : KF_INT;
    default:
      if (expr->op == KS_MODULO && y > 0 && (y & (y - 1)) == 0) {
        *to &= y - 1;
        return KF_INT;
      }
      if (ks_of_wholes(expr->op, *to, y, &whole) != 0) return KF_UNSET;
      *to = whole.i;
  }
  return first == KF_FLAG && second == KF_FLAG && expr->op >= KS_BITS_AND && expr->op <= KS_BITS_XOR ? KF_FLAG : KF_INT;
}

#include "kodec_numbers.h"

/* The kind of a value that is a whole number or a flag, as most are, and the value. KF_UNSET (0) where it is another, is
 * missing, does not fit, or cannot be computed: `kf_eval` finds which. */
static kf_kind kf_quick(kf_run *run, const kf_at *at, ks_expr *expr, int64_t *to) {
  enum { OFTEN = 8 };
  kf_kind kind;
  if (KD_LIKELY(expr->code != NULL)) {
    if (expr->brief && KD_LIKELY((kind = kx_take_brief(at, expr, to)) != KF_UNSET)) return kind;
    if (KD_LIKELY((kind = kx_take(run, at, expr, to)) != KF_UNSET)) return kind;
    if (++expr->failed > OFTEN) expr->code = NULL;
  }
  if (expr->careful >= OFTEN) return KF_UNSET;
  if (KD_UNLIKELY(!expr->resolved)) {
    kf_resolve(run, at->node->unit, expr);
    kx_make(at->node->unit, expr);
  }
  kind = kf_quick_of(run, at, expr, to);
  expr->careful = (uint8_t)(expr->careful + (kind == KF_UNSET));
  return kind;
}

/* The last, least or greatest of a list, or of bytes; the first of several that are equal. */
static int kf_edge(ks_op op, const kf_val *of, kf_val *to) {
  const Py_ssize_t count = of->kind == KF_LIST ? of->as.list->n : of->kind == KF_BYTES ? of->size : 0;
  if (count == 0) return -1;
  if (of->kind == KF_BYTES) {
    int found = of->as.p[count - 1];
    for (Py_ssize_t i = 0; op != KS_LAST && i < count; i++)
      if (op == KS_MIN ? of->as.p[i] < found : of->as.p[i] > found) found = of->as.p[i];
    return kf_set_int(to, found);
  }
  *to = kf_item(of->as.list, op == KS_LAST ? count - 1 : 0);
  for (Py_ssize_t i = 1; op != KS_LAST && i < count; i++) {
    const kf_val item = kf_item(of->as.list, i);
    const int order = kf_compare(&item, to);
    if (order == 2) return -1;
    if (op == KS_MIN ? order < 0 : order > 0) *to = item;
  }
  return 0;
}

/* A whole number in decimal digits; a text is one already. */
static int kf_shown(kf_run *run, const kf_val *of, kf_val *to) {
  char digits[24];
  uint8_t *p;
  if (of->kind == KF_TEXT) {
    *to = *of;
    return 0;
  }
  if (of->kind != KF_INT && of->kind != KF_BIG) return -1;
  to->size = of->kind == KF_INT ? PyOS_snprintf(digits, sizeof digits, "%lld", (long long)of->as.i)
                                : PyOS_snprintf(digits, sizeof digits, "%llu", (unsigned long long)of->as.i);
  if ((p = kf_new(run, (size_t)to->size)) == NULL) return -1;
  memcpy(p, digits, (size_t)to->size);
  to->as.p = p;
  to->encoding = KF_AS_UTF8;
  to->kind = KF_TEXT;
  return 0;
}

/* Digits as a number. Whatever else Python takes for a number (signs of a base, underscores) is for Python. */
static int kf_parsed(const kf_val *text, const kf_val *base, kf_val *to) {
  const uint8_t *p = text->as.p, *end = p + text->size;
  int64_t found = 0;
  int negative;
  if (text->kind != KF_TEXT || !kf_is_whole(base) || base->as.i < 2 || base->as.i > 36) return -1;
  while (p < end && *p == ' ') p++;
  while (p < end && end[-1] == ' ') end--;
  negative = p < end && *p == '-';
  p += negative;
  if (p == end) return -1;
  for (; p < end; p++) {
    const int digit = *p >= '0' && *p <= '9' ? *p - '0' : *p >= 'a' && *p <= 'z' ? *p - 'a' + 10 : *p >= 'A' && *p <= 'Z' ? *p - 'A' + 10 : 99;
    if (digit >= base->as.i || found > (INT64_MAX - digit) / base->as.i) return -1;
    found = found * base->as.i + digit;
  }
  return kf_set_int(to, negative ? -found : found);
}

/* The bytes of the character that stands at `p`; 0 where they are not UTF-8. */
static int kf_char(const uint8_t *p, Py_ssize_t left) {
  const int size = *p < 0x80 ? 1 : *p < 0xC2 ? 0 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : *p < 0xF5 ? 4 : 0;
  if (size > left) return 0;
  for (int i = 1; i < size; i++)
    if ((p[i] & 0xC0) != 0x80) return 0;
  /* too long, a surrogate, or too large */
  if (size == 3 && ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F))) return 0;
  if (size == 4 && ((p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F))) return 0;
  return size;
}

/* Whether each byte of a text is a character. */
static int kf_is_narrow(const kf_val *text) { return text->encoding != KF_AS_UTF8 || kf_is_ascii(text->as.p, text->size); }

/* The characters of a text from one index to before another. */
static int kf_part(kf_run *run, const kf_at *at, ks_expr *expr, kf_val *to) {
  int64_t start, stop, i = 0;
  Py_ssize_t from = 0, here = 0;
  if (kf_eval(run, at, expr->part[0], to) < 0 || to->kind != KF_TEXT) return -1;
  if (kf_eval_whole(run, at, expr->part[1], &start) < 0 || kf_eval_whole(run, at, expr->part[2], &stop) < 0) return -1;
  if (start < 0 || stop < 0) return -1;
  if (start > stop) start = stop;
  if (kf_is_narrow(to)) {
    from = start < to->size ? (Py_ssize_t)start : to->size;
    here = stop < to->size ? (Py_ssize_t)stop : to->size;
  } else {
    for (from = start ? to->size : 0; here < to->size && i < stop; i++) {
      const int size = kf_char(to->as.p + here, to->size - here);
      if (size == 0) return -1;
      if (i == start) from = here;
      here += size;
    }
    if (i <= start) from = here;
  }
  to->as.p += from;
  to->size = here - from;
  return 0;
}

/* A real number without its fraction. */
static int kf_truncated(const kf_val *of, kf_val *to) {
  const double limit = 9223372036854775808.0; /* of 63 bits */
  if (kf_is_whole(of)) return kf_set_int(to, of->as.i);
  if (of->kind != KF_REAL || !(of->as.r >= -limit && of->as.r < 2 * limit)) return -1;
  if (of->as.r < limit) return kf_set_int(to, (int64_t)of->as.r);
  to->as.i = (int64_t)(uint64_t)of->as.r;
  to->kind = KF_BIG;
  return 0;
}

/* A text from its end to its start. */
static int kf_reversed(kf_run *run, const kf_val *of, kf_val *to) {
  uint8_t *p;
  const int narrow = of->kind == KF_TEXT && kf_is_narrow(of);
  if (of->kind != KF_TEXT || (p = kf_new(run, (size_t)of->size)) == NULL) return -1;
  for (Py_ssize_t i = 0; i < of->size;) {
    const int size = narrow ? 1 : kf_char(of->as.p + i, of->size - i);
    if (size == 0) return -1;
    memcpy(p + of->size - i - size, of->as.p + i, (size_t)size);
    i += size;
  }
  *to = *of;
  to->as.p = p;
  return 0;
}

/* A list of values. */
static int kf_listed(kf_run *run, const kf_at *at, ks_expr *expr, kf_val *to) {
  kf_list *const list = kf_new(run, sizeof(kf_list));
  if (list == NULL) return -1;
  memset(list, 0, sizeof *list);
  for (Py_ssize_t i = 0; i < expr->items; i++) {
    kf_val item;
    if (kf_eval(run, at, expr->item[i], &item) < 0 || kf_push(run, list, &item) < 0) return -1;
  }
  to->as.list = list;
  to->kind = KF_LIST;
  return 0;
}

/* The bytes that are the numbers of a list. */
static int kf_octets_of(kf_run *run, const kf_val *of, kf_val *to) {
  uint8_t *p;
  if (of->kind != KF_LIST || (p = kf_new(run, (size_t)of->as.list->n)) == NULL) return -1;
  for (Py_ssize_t i = 0; i < of->as.list->n; i++) {
    const kf_val item = kf_item(of->as.list, i);
    if (!kf_is_whole(&item) || item.as.i < 0 || item.as.i > 255) return -1;
    p[i] = (uint8_t)item.as.i;
  }
  to->size = of->as.list->n;
  to->as.p = p;
  to->kind = KF_BYTES;
  return 0;
}

/* Whether a value is of the class that a cast asks for. */
static int kf_is_a(const kf_val *value, const PyObject *cls) {
  switch (value->kind) {
    case KF_INT:
    case KF_BIG:
    case KF_FLAG: return cls == (PyObject *)&PyLong_Type;
    case KF_BYTES: return cls == (PyObject *)&PyBytes_Type;
    case KF_TEXT: return cls == (PyObject *)&PyUnicode_Type;
    case KF_LIST: return cls == (PyObject *)&PyList_Type;
    case KF_NODE: return value->as.node->unit->cls == cls;
    default: return 0;
  }
}

static int kf_eval(kf_run *run, const kf_at *at, ks_expr *expr, kf_val *to) {
  kf_val one, two;
  const kf_val *a, *b;
  int test;
  if (expr->op >= KS_NOT && expr->op < KS_DECODED) {
    const kf_kind kind = kf_quick(run, at, expr, &to->as.i);
    to->kind = (uint8_t)kind;
    if (kind) return 0;
  }
  switch (expr->op) {
    case KS_CONSTANT:
      if (KD_UNLIKELY(expr->frame.kind == KF_UNSET) && kf_constant(expr) < 0) return -1;
      *to = expr->frame;
      return 0;
    case KS_CALL: return -1;
    case KS_DECODED:
      if ((a = kf_ref(run, at, expr, &one)) == NULL) return -1;
      *to = *a;
      return 0;
    case KS_PART: return kf_part(run, at, expr, to);
    case KS_LISTED: return kf_listed(run, at, expr, to);
    case KS_STREAM:
      if (expr->part[0] != NULL) {
        if ((a = kf_ref(run, at, expr->part[0], &one)) == NULL || a->kind != KF_NODE) return -1;
        to->as.io = a->as.node->io;
      } else {
        to->as.io = at->io != NULL ? at->io : at->node->io;
      }
      to->as.io = to->as.io->first;
      to->kind = KF_STREAM;
      return 0;
    case KS_FIELD: return kf_member(run, expr, at->node, to);
    case KS_ITEM:
      if (at->item == NULL) return -1;
      *to = *at->item;
      return 0;
    case KS_INDEX: return kf_set_int(to, at->index);
    case KS_THIS:
      to->as.node = at->node;
      to->kind = KF_NODE;
      return 0;
    case KS_PARENT:
    case KS_ROOT: {
      kf_node *node = at->node;
      if (expr->part[0] != NULL) {
        if ((a = kf_ref(run, at, expr->part[0], &one)) == NULL || a->kind != KF_NODE) return -1;
        node = a->as.node;
      }
      to->as.node = expr->op == KS_ROOT ? node->root : node->parent;
      to->kind = to->as.node == NULL ? KF_NULL : KF_NODE;
      return 0;
    }
    case KS_POS:
    case KS_SIZE:
    case KS_EOF: return kf_asked(run, at, expr, to);
    case KS_IF:
      test = kf_eval_test(run, at, expr->part[0]);
      return test < 0 ? -1 : kf_eval(run, at, expr->part[test ? 1 : 2], to);
    case KS_AND:
    case KS_OR:
      if ((a = kf_ref(run, at, expr->part[0], &one)) == NULL) return -1;
      test = kf_is_true(a);
      if (test < 0 || test == (expr->op == KS_AND)) return test < 0 ? -1 : kf_eval(run, at, expr->part[1], to);
      *to = *a;
      return 0;
    default: break;
  }
  if ((a = kf_ref(run, at, expr->part[0], &one)) == NULL) return -1;
  switch (expr->op) {
    case KS_MEMBER: return a->kind == KF_NODE ? kf_member(run, expr, a->as.node, to) : -1;
    case KS_LEN: return kf_length(a, to);
    case KS_INT:
      *to = *a;
      if (a->kind == KF_FLAG) to->kind = KF_INT;
      return a->kind == KF_BIG || kf_is_whole(a) ? 0 : -1;
    case KS_ENUM:
      *to = *a;
      if (a->kind == KF_FLAG) to->kind = KF_INT;
      return a->kind == KF_BIG || kf_is_whole(a) ? 0 : -1;
    case KS_NEED:
      *to = *a;
      return a->kind <= KF_NULL ? -1 : 0;
    case KS_LAST:
    case KS_MIN:
    case KS_MAX: return kf_edge(expr->op, a, to);
    case KS_AS:
      *to = *a;
      return kf_is_a(a, expr->cls) ? 0 : -1;
    case KS_TRUNCATED: return kf_truncated(a, to);
    case KS_REVERSED: return kf_reversed(run, a, to);
    case KS_OCTETS: return kf_octets_of(run, a, to);
    case KS_SHOWN: return kf_shown(run, a, to);
    case KS_NULL: return kf_set_flag(to, a->kind <= KF_NULL);
    case KS_NOT:
      test = kf_is_true(a);
      return test < 0 ? -1 : kf_set_flag(to, !test);
    case KS_NEGATIVE:
    case KS_INVERT:
      if (a->kind == KF_REAL && expr->op == KS_NEGATIVE) {
        to->as.r = -a->as.r;
        to->kind = KF_REAL;
        return 0;
      }
      if (a->kind != KF_INT || a->as.i == INT64_MIN) return -1;
      return kf_set_int(to, expr->op == KS_INVERT ? ~a->as.i : -a->as.i);
    default: break;
  }
  if ((b = kf_ref(run, at, expr->part[1], &two)) == NULL) return -1;
  if (expr->op == KS_PARSED) return kf_parsed(a, b, to);
  if (expr->op != KS_ELEMENT) return kf_operation(run, expr->op, a, b, to);
  if (!kf_is_whole(b) || b->as.i < 0) return -1;
  if (a->kind == KF_LIST && b->as.i < a->as.list->n) {
    *to = kf_item(a->as.list, b->as.i);
    return 0;
  }
  return a->kind == KF_BYTES && b->as.i < a->size ? kf_set_int(to, a->as.p[b->as.i]) : -1;
}

/* ------------------------------------------------------------------ bytes */

KD_INLINE int kf_little(const kf_node *node, ks_order order) { return order == KS_BY ? node->little : order == KS_LE; }

/* A number, whose bits are those of `as.i` where it is no REAL. */
KD_INLINE int kf_number(const kf_node *node, const uint8_t *p, ks_wire wire, ks_order order, kf_val *to) {
  const int little = kf_little(node, order);
  uint32_t narrow;
  float small;
  to->kind = KF_INT;
  if (wire <= KS_S1) {
    to->as.i = wire == KS_U1 ? p[0] : (int8_t)p[0];
    return 0;
  }
  if (KD_UNLIKELY(little < 0)) return -1;
  switch (wire) {
    case KS_U2: to->as.i = little ? kd_load_u2le(p) : kd_load_u2be(p); return 0;
    case KS_S2: to->as.i = (int16_t)(little ? kd_load_u2le(p) : kd_load_u2be(p)); return 0;
    case KS_U4: to->as.i = little ? kd_load_u4le(p) : kd_load_u4be(p); return 0;
    case KS_S4: to->as.i = (int32_t)(little ? kd_load_u4le(p) : kd_load_u4be(p)); return 0;
    case KS_F4:
      narrow = little ? kd_load_u4le(p) : kd_load_u4be(p);
      memcpy(&small, &narrow, sizeof small);
      to->as.r = (double)small;
      to->kind = KF_REAL;
      return 0;
    default: break;
  }
  to->as.i = (int64_t)(little ? kd_load_u8le(p) : kd_load_u8be(p));
  if (wire == KS_F8) to->kind = KF_REAL; /* whose bits they are */
  else if (wire == KS_U8 && to->as.i < 0) to->kind = KF_BIG;
  return 0;
}

static int kf_span_of(kf_run *run, const kf_at *at, kf_stream *io, const ks_bounds *bounds, const uint8_t **p, Py_ssize_t *size) {
  int64_t given = -1;
  if (bounds->early && bounds->size != NULL && kf_eval_whole(run, at, bounds->size, &given) < 0) return -1;
  if (at->node->unit->loose) ks_align(&io->s);
  if (!bounds->early && bounds->size != NULL && kf_eval_whole(run, at, bounds->size, &given) < 0) return -1;
  return ks_cut(&io->s, bounds, given, p, size);
}

/* The bytes of a value in a stream, which then continues after them. */
KD_INLINE int kf_span(kf_run *run, const kf_at *at, kf_stream *io, const ks_bounds *bounds, const uint8_t **p, Py_ssize_t *size) {
  const Py_ssize_t left = io->s.end - io->s.at;
  int64_t given = left > 0 ? left : 0;
  if (!bounds->plain || at->node->unit->loose) return kf_span_of(run, at, io, bounds, p, size);
  if (bounds->size != NULL) {
    if (!kf_quick_leaf(run, at, bounds->size, &given) && kf_eval_whole(run, at, bounds->size, &given) < 0) return -1;
    if (KD_UNLIKELY(given < 0 || (given && given > left))) return -1;
  }
  *p = io->s.buf + io->s.at;
  *size = (Py_ssize_t)given;
  io->s.at += (Py_ssize_t)given;
  return 0;
}

static PyObject *kf_object_of(const kf_val *value) {
  switch (value->kind) {
    case KF_INT: return PyLong_FromLongLong(value->as.i);
    case KF_FLAG: return PyBool_FromLong((long)value->as.i);
    case KF_BIG: return PyLong_FromUnsignedLongLong((uint64_t)value->as.i);
    case KF_BYTES: return PyBytes_FromStringAndSize((const char *)value->as.p, value->size);
    case KF_TEXT:
      return value->encoding == KF_AS_LATIN1 ? PyUnicode_DecodeLatin1((const char *)value->as.p, value->size, NULL)
             : value->encoding == KF_AS_ASCII
                 ? PyUnicode_DecodeASCII((const char *)value->as.p, value->size, "surrogateescape")
                 : PyUnicode_DecodeUTF8((const char *)value->as.p, value->size, "surrogateescape");
    default: return NULL;
  }
}

/* What is given from outside: a constant, or a list of such. */
static int kf_given(kf_run *run, PyObject *o, kf_val *to) {
  ks_expr constant;
  kf_list *list;
  if (!PyList_Check(o)) {
    memset(&constant, 0, sizeof constant);
    constant.constant = ks_val_of(o);
    if (kf_constant(&constant) < 0) return -1;
    *to = constant.frame;
    return 0;
  }
  if ((list = kf_new(run, sizeof(kf_list))) == NULL) return -1;
  memset(list, 0, sizeof *list);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); i++) {
    kf_val item;
    if (kf_given(run, PyList_GET_ITEM(o, i), &item) < 0 || kf_push(run, list, &item) < 0) return -1;
  }
  to->as.list = list;
  to->kind = KF_LIST;
  return 0;
}

/* Whether a process makes as many bytes as it is given: these count for no limit of all together. */
static int kf_keeps_size(PyObject *name) {
  static const char *const names[] = {"xor", "rol", "ror"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) return 1;
  return 0;
}

/* What a process makes of bytes: bytes in the arena. */
static int kf_processed(kf_run *run, const kf_at *at, const ks_bounds *bounds, const uint8_t **p, Py_ssize_t *size) {
  PyObject *data, *given, *found = NULL, *limit, *zero;
  uint8_t *copy = NULL;
  if (bounds->by == NULL) return -1;
  data = PyBytes_FromStringAndSize((const char *)*p, *size);
  given = PyTuple_New(bounds->arguments);
  limit = PyLong_FromLongLong(run->decompressed);
  zero = PyLong_FromLong(0);
  for (Py_ssize_t i = 0; given != NULL && i < bounds->arguments; i++) {
    kf_val value;
    PyObject *o = NULL;
    if (kf_eval(run, at, bounds->argument[i], &value) == 0) o = kf_object_of(&value);
    if (o == NULL) Py_CLEAR(given);
    else PyTuple_SET_ITEM(given, i, o);
  }
  if (data != NULL && given != NULL && limit != NULL && zero != NULL)
    found = PyObject_CallFunctionObjArgs(run->decode, bounds->by, data, given, limit, bounds->by, zero, NULL);
  if (found != NULL && PyBytes_CheckExact(found)) {
    *size = PyBytes_GET_SIZE(found);
    if (!kf_keeps_size(bounds->by)) run->decompressed -= *size;
    copy = kf_new(run, (size_t)*size);
    if (copy != NULL) memcpy(copy, PyBytes_AS_STRING(found), (size_t)*size);
    *p = copy;
  }
  Py_XDECREF(found);
  Py_XDECREF(data);
  Py_XDECREF(given);
  Py_XDECREF(limit);
  Py_XDECREF(zero);
  return copy == NULL ? -1 : 0;
}

/* ------------------------------------------------------------------ objects */

KD_INLINE int kf_element(kf_run *run, const kf_at *at, kf_stream *io, ks_element *element, Py_ssize_t index, kf_wish *wish,
                         kf_val *to);

static void kf_set_places(ks_step *step, Py_ssize_t count) {
  for (; count > 0; count--, step++) {
    if (step->what == KS_S_WHEN) kf_set_places(step->steps, step->inner);
    if (step->what == KS_S_ONE || step->what == KS_S_MANY) step->place = kf_slot(step->slot);
    for (Py_ssize_t i = 0; step->what == KS_S_FIXED && i < step->slots; i++) step->in[i].place = kf_slot(step->in[i].slot);
  }
}

static int kf_prepare(kf_run *run, ks_unit *unit);

/* Whether an object, which always comes, can be in the frame of the one around it. */
static int kf_inlines(kf_run *run, ks_element *element) {
  if (element->bounds != NULL || element->parent != NULL || element->arguments) return 0;
  if (ks_seek_unit(&run->table, element) < 0) return PyErr_Occurred() ? -1 : 0;
  if (element->unit == NULL || element->unit->prepared == 2 || element->unit->loose) return 0;
  return kf_prepare(run, element->unit) < 0 ? -1 : 1;
}

/* Prepare a unit for frames. What is derived of its bytes is not checked: columns are what a file has. */
static int kf_prepare(kf_run *run, ks_unit *unit) {
  if (KD_LIKELY(unit->prepared)) return 0;
  unit->frame = (((PyTypeObject *)unit->cls)->tp_basicsize - ks.node->tp_basicsize) / (Py_ssize_t)sizeof(PyObject *);
  if (unit->reads && unit->place == NULL) return ks_refuse(unit, unit->cls);
  if (unit->asked == NULL) {
    unit->asked = ks_new(unit, (size_t)unit->frame, 1);
    if (unit->asked == NULL) return -1;
    memset(unit->asked, 1, (size_t)unit->frame);
    {
      PyObject *const fields = PyDict_GetItemString(unit->entry, "fields");
      PyObject *key, *value;
      Py_ssize_t at = 0;
      for (Py_ssize_t i = 0; fields != NULL && PyDict_Next(fields, &at, &key, &value); i++) {
        const int asked = PySet_Contains(run->names, key);
        const Py_ssize_t slot = kf_slot(unit->field[i]);
        if (asked < 0 || slot < 0 || slot >= unit->frame) return -1;
        unit->asked[slot] = (uint8_t)asked;
      }
    }
  }
  kf_set_places(unit->step, unit->steps);
  unit->slots = unit->frame + unit->reads + unit->stands;
  unit->bytes = (Py_ssize_t)(sizeof(kf_node) + (size_t)unit->slots * sizeof(kf_val));
  unit->inside = ks_new(unit, (size_t)unit->frame, sizeof(ks_step *));
  if (unit->inside == NULL) return -1;
  unit->prepared = 2;
  for (Py_ssize_t i = 0; i < unit->steps && !unit->loose; i++) {
    ks_step *const step = &unit->step[i];
    int inlines;
    if (step->what != KS_S_ONE || step->element->kind != KS_E_OBJECT) continue;
    if ((inlines = kf_inlines(run, step->element)) < 0) {
      unit->prepared = 0;
      return -1;
    }
    if (!inlines || unit->bytes + step->element->unit->bytes > KF_INLINED) continue;
    step->inlined = unit->bytes;
    unit->slots = PY_SSIZE_T_MAX;
    unit->bytes += step->element->unit->bytes;
    unit->inside[step->place] = step;
  }
  unit->prepared = 1;
  return 0;
}

KD_INLINE void kf_unset(kf_node *node, const ks_unit *unit) {
  if (unit->slots <= KF_FEW) {
    for (Py_ssize_t i = 0; i < unit->slots; i++) node->slot[i].kind = KF_UNSET;
  } else {
    memset(node->slot, 0, (size_t)unit->bytes - sizeof(kf_node));
  }
}

/* A frame that has nothing in it yet. */
KD_INLINE kf_node *kf_frame(kf_run *run, ks_unit *unit, kf_stream *io, kf_node *parent) {
  kf_node *const node = kf_new(run, (size_t)unit->bytes);
  if (node == NULL) return NULL;
  kf_unset(node, unit);
  node->unit = unit;
  node->parent = parent;
  node->root = parent == NULL ? node : parent->root;
  node->io = io;
  node->depth = run->depth + 1;
  node->level = run->level;
  node->little = parent == NULL ? -1 : parent->little;
  return node;
}

/* An object that stands next in a stream, with its parameters, before it is read. */
static kf_node *kf_begun_with(kf_run *run, const kf_at *at, kf_stream *io, ks_element *element) {
  kf_node *node, *parent = NULL;
  ks_unit *unit;
  kf_val found;
  if (ks_seek_unit(&run->table, element) < 0 || (unit = element->unit) == NULL || kf_prepare(run, unit) < 0) return NULL;
  element->simple = element->parent == NULL && unit->parameters == 0;
  if (element->own) {
    parent = at->node;
  } else if (element->parent != NULL) {
    if (kf_eval(run, at, element->parent, &found) < 0 || (found.kind != KF_NODE && found.kind != KF_NULL)) return NULL;
    parent = found.kind == KF_NODE ? found.as.node : NULL;
  }
  if ((node = kf_frame(run, unit, io, parent)) == NULL) return NULL;
  if (!element->own && element->rooted) node->root = at->node->root;
  for (Py_ssize_t i = 0; i < unit->parameters; i++) {
    const Py_ssize_t slot = kf_slot(unit->parameter[i]);
    if (slot < 0 || slot >= unit->frame || kf_eval(run, at, element->argument[i], &node->slot[slot]) < 0) return NULL;
  }
  return node;
}

KD_INLINE kf_node *kf_begun(kf_run *run, const kf_at *at, kf_stream *io, ks_element *element) {
  kf_node *node;
  if (KD_UNLIKELY(run->depth >= run->deepest || run->nested >= KS_MOST_NESTED)) return NULL;
  if (KD_UNLIKELY(!element->simple)) return kf_begun_with(run, at, io, element);
  node = kf_frame(run, element->unit, io, element->own ? at->node : NULL);
  if (node != NULL && !element->own && element->rooted) node->root = at->node->root;
  return node;
}

/* Programs (kodec_program.h). */
static const struct kf_program *kf_lowered(kf_run *run, ks_unit *unit, kf_wish *wish, int apart);
static int kf_taken(kf_run *run, const struct kf_program *program, kf_node *node, kf_stream *io);
static int kf_many(kf_run *run, const kf_at *at, const ks_step *step, kf_wish *wish, struct kb_column *column, int held, kf_val *to);

/* The wish for objects of a unit; NULL: they are read whole. */
static kf_wish *kf_wish_of(kf_wish *first, const ks_unit *unit) {
  kf_wish *wish = first;
  if (first->met != NULL && first->met->unit == unit) return first->met;
  while (wish != NULL && wish->unit != unit) wish = wish->next;
  return first->met = wish;
}

static int kf_made(kf_run *run, const kf_at *at, kf_stream *io, ks_element *element, kf_wish *wish, kf_val *to) {
  kf_node *const node = kf_begun(run, at, io, element);
  const struct kf_program *program;
  if (node == NULL) return -1;
  if (wish != NULL && wish->unit != node->unit) wish = kf_wish_of(wish, node->unit);
  program = wish != NULL ? wish->program : node->unit->program;
  if (KD_UNLIKELY(program == NULL) && (program = kf_lowered(run, node->unit, wish, 0)) == NULL) return -1;
  to->as.node = node;
  to->kind = KF_NODE;
  return kf_taken(run, program, node, io);
}

static kf_stream *kf_inside_of(kf_run *run, const kf_at *at, const ks_bounds *bounds, const uint8_t *p, Py_ssize_t size) {
  if (bounds->process != NULL && kf_processed(run, at, bounds, &p, &size) < 0) return NULL;
  run->room += size;
  return kf_open(run, p, 0, size);
}

/* The stream that an element is read from: one of its own, or `io` itself; NULL if there is none. */
KD_INLINE kf_stream *kf_inside(kf_run *run, const kf_at *at, kf_stream *io, const ks_bounds *bounds) {
  const uint8_t *p;
  Py_ssize_t size;
  if (bounds == NULL) return io;
  if (kf_span(run, at, io, bounds, &p, &size) < 0) return NULL;
  if (bounds->process == NULL && bounds->terminator == NULL && bounds->pad < 0)
    return kf_open(run, io->s.buf, p - io->s.buf, p - io->s.buf + size);
  return kf_inside_of(run, at, bounds, p, size);
}

/* The element of the case that equals `on`; 0, and NULL if there is none, or -1. */
static int kf_case_of(kf_run *run, const kf_at *at, ks_element *choice, const kf_val *on, ks_element **to) {
  kf_val value;
  const kf_val *known;
  const int small = choice->small != NULL && on->kind == KF_INT && on->as.i >= 0 && on->as.i < KS_SMALL_CASES;
  *to = choice->other;
  if (small && choice->small[on->as.i]) {
    if (choice->small[on->as.i] > 0) *to = choice->chosen[choice->small[on->as.i] - 1].element;
    return 0;
  }
  if (choice->numbers != NULL) {
    PyObject *key, *number;
    ks_expr *const last = choice->chosen[choice->last].values ? choice->chosen[choice->last].value[choice->last_value] : NULL;
    known = last == NULL ? NULL : kf_ref(run, at, last, &value);
    if (known != NULL && known->kind == on->kind && kf_equal(known, on) == 1) {
      *to = choice->chosen[choice->last].element;
      return 0;
    }
    if (on->kind <= KF_NULL || (key = kf_object_of(on)) == NULL) return -1;
    number = PyDict_GetItemWithError(choice->numbers, key);
    Py_DECREF(key);
    if (number == NULL) {
      if (PyErr_Occurred()) return -1;
      if (small) choice->small[on->as.i] = -1;
      return 0;
    }
    {
      const Py_ssize_t found = PyLong_AsSsize_t(number);
      *to = choice->chosen[found].element;
      if (small && found < INT16_MAX) choice->small[on->as.i] = (int16_t)(found + 1);
      for (Py_ssize_t j = 0; j < choice->chosen[found].values; j++)
        if (kf_eval(run, at, choice->chosen[found].value[j], &value) == 0 && kf_equal(&value, on) == 1) {
          choice->last = found;
          choice->last_value = j;
        }
    }
    return 0;
  }
  for (Py_ssize_t i = 0; i < choice->cases; i++)
    for (Py_ssize_t j = 0; j < choice->chosen[i].values; j++) {
      int equal;
      known = kf_ref(run, at, choice->chosen[i].value[j], &value);
      if (known == NULL || (equal = kf_equal(on, known)) < 0) return -1;
      if (equal) {
        if (small && i < INT16_MAX) choice->small[on->as.i] = (int16_t)(i + 1);
        *to = choice->chosen[i].element;
        return 0;
      }
    }
  if (small) choice->small[on->as.i] = -1;
  return 0;
}

KD_INLINE int kf_octets(kf_run *run, const kf_at *at, kf_stream *io, const ks_element *element, kf_val *to) {
  const uint8_t *p;
  Py_ssize_t size;
  if (kf_span(run, at, io, element->bounds, &p, &size) < 0) return -1;
  if (element->bounds->process != NULL && kf_processed(run, at, element->bounds, &p, &size) < 0) return -1;
  if (element->kind == KS_E_TEXT) return kf_text(run, &element->charset, p, size, to);
  to->as.p = p;
  to->size = size;
  to->kind = KF_BYTES;
  return 0;
}

static int kf_choice(kf_run *run, const kf_at *at, kf_stream *io, ks_element *element, Py_ssize_t index, kf_wish *wish, kf_val *to) {
  kf_stream *inner;
  kf_val one;
  ks_element *found;
  const kf_val *const on = kf_ref(run, at, element->on, &one);
  if (on == NULL || (inner = kf_inside(run, at, io, element->bounds)) == NULL) return -1;
  if (kf_case_of(run, at, element, on, &found) < 0) return -1;
  if (found != NULL) return kf_element(run, at, inner, found, index, wish, to);
  *to = kf_null;
  return 0;
}

KD_INLINE int kf_element(kf_run *run, const kf_at *at, kf_stream *io, ks_element *element, Py_ssize_t index, kf_wish *wish,
                         kf_val *to) {
  int64_t number;
  kf_stream *inner;
  switch (element->kind) {
    case KS_E_NUMBER:
      if (at->node->unit->loose) ks_align(&io->s);
      if (ks_widths[element->wire] > io->s.end - io->s.at) return -1;
      if (kf_number(at->node, io->s.buf + io->s.at, element->wire, element->order, to) < 0) return -1;
      io->s.at += ks_widths[element->wire];
      return 0;
    case KS_E_BITS:
      if (ks_bits(&io->s, element->width, element->order == KS_LE, &number) < 0) return -1;
      if (element->cast.flag) return kf_set_flag(to, number != 0);
      to->as.i = number;
      to->kind = number < 0 ? KF_BIG : KF_INT; /* of 64 bits */
      return 0;
    case KS_E_BYTES:
    case KS_E_TEXT: return kf_octets(run, at, io, element, to);
    case KS_E_OBJECT:
      inner = kf_inside(run, at, io, element->bounds);
      return inner == NULL ? -1 : kf_made(run, at, inner, element, wish, to);
    default: return kf_choice(run, at, io, element, index, wish, to);
  }
}

/* ------------------------------------------------------------------ steps */

static int kf_hold(kf_run *run, const kf_at *at, ks_expr **rules, Py_ssize_t count, const kf_val *value) {
  const kf_at here = {at->node, at->io, value, at->index};
  for (Py_ssize_t i = 0; i < count; i++) {
    if (ks_held(rules[i], value)) continue;
    if (kf_eval_test(run, &here, rules[i]) != 1) return -1;
    ks_holds(rules[i], value);
  }
  return 0;
}

KD_INLINE int kf_rules(kf_run *run, const kf_at *at, ks_expr **rules, Py_ssize_t count, const kf_val *value) {
  return KD_LIKELY(count == 0) ? 0 : kf_hold(run, at, rules, count, value);
}

/* How many elements a list has that is counted, where the bytes can hold them; -1 where they cannot. */
static int64_t kf_count(kf_run *run, const kf_at *at, const ks_stream *io, const ks_step *step, int held) {
  int64_t count, left, most;
  if (kf_eval_whole(run, at, step->test, &count) < 0) return -1;
  left = io->end > io->at ? io->end - io->at : 0;
  most = step->least ? left / step->least : 8 * run->room;
  return count < 0 || count > most || (held && count > run->elements) ? -1 : count;
}

/* Numbers that all stand in the stream: 1, 0 where they are read one by one, or -1. */
static int kf_numbers(kf_run *run, const kf_at *at, ks_stream *io, const ks_step *step, int64_t count, kf_list *list) {
  const ks_element *const element = step->element;
  const Py_ssize_t width = ks_widths[element->wire], left = io->end > io->at ? io->end - io->at : 0;
  const uint8_t *p = io->buf + io->at;
  kf_val found;
  if (at->node->unit->loose || step->ends == KS_BY_UNTIL || io->left > 0) return 0;
  if (step->ends == KS_BY_END) {
    if (left % width || left / width > run->elements) return 0;
    count = left / width;
  }
  if (count > left / width) return -1;
  if (count == 0) return 1;
  if ((list->numbers = kf_new(run, (size_t)count * sizeof(int64_t))) == NULL) return -1;
  list->n = list->room = (Py_ssize_t)count;
  for (Py_ssize_t i = 0; element->wire == KS_U1 && i < list->n; i++) list->numbers[i] = p[i];
  for (Py_ssize_t i = 0; element->wire != KS_U1 && i < list->n; i++, p += width) {
    if (kf_number(at->node, p, element->wire, element->order, &found) < 0) return -1;
    list->numbers[i] = found.as.i;
  }
  io->at += list->n * width;
  return 1;
}

static int kf_set_order(kf_run *run, const kf_at *at, const ks_step *step) {
  kf_val on, value;
  PyObject *little = step->other;
  if (kf_eval(run, at, step->test, &on) < 0) return -1;
  for (Py_ssize_t i = 0; i < step->cases; i++) {
    int equal;
    if (kf_eval(run, at, step->order[i].value, &value) < 0 || (equal = kf_equal(&on, &value)) < 0) return -1;
    if (equal) {
      little = step->order[i].little;
      break;
    }
  }
  at->node->little = little == Py_True ? 1 : little == Py_False ? 0 : -1;
  return 0;
}

/* Pass over what nobody wants, where its size is known: 1, 0 where it has to be read, or -1. */
static int kf_passed(kf_run *run, const kf_at *at, const ks_step *step) {
  const ks_element *const element = step->element;
  ks_stream *const io = &at->io->s;
  if (step->rules) return 0;
  if (step->what == KS_S_ONE && (element->kind == KS_E_OBJECT || element->kind == KS_E_CHOICE) && element->bounds != NULL) {
    const uint8_t *p;
    Py_ssize_t size;
    kf_val on;
    if (element->bounds->process != NULL) return 0;
    if (element->kind == KS_E_CHOICE && kf_eval(run, at, element->on, &on) < 0) return -1;
    return kf_span(run, at, at->io, element->bounds, &p, &size) < 0 ? -1 : 1;
  }
  if (step->what == KS_S_MANY && element->kind == KS_E_NUMBER && step->ends == KS_BY_COUNT) {
    int64_t count;
    if (at->node->unit->loose) ks_align(io);
    if ((count = kf_count(run, at, io, step, 1)) < 0) return -1;
    io->at += (Py_ssize_t)count * ks_widths[element->wire];
    return 1;
  }
  return 0;
}

/* ------------------------------------------------------------------ instances that are read */

/* Where an instance is read from; NULL where that is wrong. */
static kf_stream *kf_seek(kf_run *run, kf_node *node, const ks_place *place) {
  const kf_at at = {node, NULL, NULL, 0};
  kf_stream *first = node->io->first, *now, *found;
  kf_val value;
  int64_t position;
  if (place->stream != NULL) {
    if (kf_eval(run, &at, place->stream, &value) < 0 || (found = kf_stream_of(&value)) == NULL) return NULL;
    first = found->first;
  }
  if (place->position == NULL) return first->now;
  if (kf_eval_whole(run, &at, place->position, &position) < 0) return NULL;
  now = first->now;
  if (now->s.left || position < 0 || position > PY_SSIZE_T_MAX / 2) return NULL;
  found = kf_new(run, sizeof(kf_stream));
  if (found == NULL) return NULL;
  found->s = first->s;
  found->s.at = first->s.base + (Py_ssize_t)position;
  found->s.bits = 0;
  found->s.left = 0;
  found->first = first;
  found->now = NULL;
  return found;
}

/* Whether an instance has a value: 1, 0, or -1. */
static int kf_is_there(kf_run *run, kf_node *node, const ks_place *place) {
  const kf_at at = {node, NULL, NULL, 0};
  return place->test == NULL ? 1 : kf_eval_test(run, &at, place->test);
}

static int kf_instance(kf_run *run, kf_node *node, Py_ssize_t number, kf_val *to) {
  const ks_place *const place = &node->unit->place[number];
  const ks_step *const step = &node->unit->read[number];
  kf_val *const kept = &node->slot[node->unit->frame + number];
  const int level = run->level, settled = run->settled;
  const int64_t depth = run->depth;
  kf_stream *io, *before;
  int status;
  if (kept->kind == KF_READING) return -1;
  if (kept->kind != KF_UNSET) {
    *to = *kept;
    return 0;
  }
  run->depth = depth > node->depth ? depth : node->depth;
  if (run->depth++ >= run->deepest || run->nested >= KS_MOST_NESTED) return -1;
  run->level = node->level;
  run->nested++;
  if (place->position != NULL) run->settled = 0;
  status = kf_is_there(run, node, place);
  if (status <= 0) {
    *to = kf_null;
  } else {
    status = -1;
    kept->kind = KF_READING;
    io = kf_seek(run, node, place);
    if (io != NULL) {
      const kf_at at = {node, io, NULL, 0};
      kf_val value = {.kind = KF_UNSET};
      const ks_stream start = io->s;
      before = io->first->now;
      io->first->now = io;
      if (step->what == KS_S_MANY)
        status = kf_many(run, &at, step, NULL, NULL, 1, &value);
      else if (step->what == KS_S_ONE && kf_element(run, &at, io, step->element, -1, NULL, &value) == 0)
        status = kf_rules(run, &at, step->rule, step->rules, &value);
      io->first->now = before;
      /* after a row is read, its stream stands elsewhere than when objects are asked for it */
      if (settled && io == before && (io->s.at != start.at || io->s.left != start.left)) status = -1;
      if (value.kind == KF_UNSET) value = kf_null;
      *to = value;
      /* one that failed fails again */
      if (status == 0) *kept = value;
    }
  }
  run->nested--;
  run->depth = depth;
  run->level = level;
  run->settled = settled;
  return status < 0 ? -1 : 0;
}

#endif
