/* Reads objects of streamed schemas natively, for `kodec.runtime.streams`: executes the steps of a unit on bytes.
 * kodec_frames.h and kodec_table.h read the same steps into columns.
 *
 * A `Unit` is a class with its steps (kodec_streams.h). `read` fills an object, and those inside it, as the class's
 * `_read` does. If the bytes are invalid, or the steps need something unsupported, it restores the object and its
 * stream and returns False, and Python reads all of it again: so there is one set of errors. It calls Python for what
 * only Python can do (instances that are read, expressions that are functions); all streams are updated before such a
 * call, and read again after it. */
#define PY_SSIZE_T_CLEAN
#include "kodec_streams.h"

enum {
  KS_MOST_NESTED = 300, /* nested objects, as the C stack is finite; deeper ones are read in Python */
  KS_MOST_ASKED = 100,  /* instances that need each other */
  KS_MOST_FREED = 2000, /* nested objects that are freed at once; the collector frees deeper ones */
  KS_FORGOTTEN = -1     /* what `_left` is where bits were lost */
};

static PyTypeObject *ks_unit_type, *ks_node_type;

/* What every object has besides its fields, the base of `StreamNode`. */
typedef struct {
  PyObject_HEAD
  PyObject *weak;           /* weak references to it */
  PyObject *around, *outer; /* its parent and the outermost object, or weak references to them; NULL: none, and itself */
  PyObject *io;             /* the stream that it was read from; NULL: none */
  PyObject *rare;           /* of few objects: instances, places (`_Rare` in runtime/streams.py); NULL: nothing */
  Py_ssize_t start, stop;   /* where it was read */
  int depth;
  signed char order; /* 1: little-endian, 0: big-endian, -1: neither, as `ks_little` */
  char freed;        /* whether nobody has it or a part of it, and it is being freed with what it is in */
} ks_node;

static signed char ks_order_of(PyObject *little) { return little == Py_True ? 1 : little == Py_False ? 0 : -1; }

static ks_node *ks_node_of(PyObject *object) { return (ks_node *)object; }

/* What of `kodec.runtime.streams` is used, and where its objects keep their attributes. */
static struct {
  PyTypeObject *source, *state, *node, *rare;
  struct { Py_ssize_t bits, left, main, stand, at, base, buf, end, state; } in_source;
  struct { Py_ssize_t depth, empty, inflated, native, opt, room, sought, stored, unchecked; } in_state;
  Py_ssize_t spare;
  struct { Py_ssize_t marks, out, places, spans, taught, values; } in_rare;
  PyObject *stay, *native, *depth, *elements, *pos, *size, *eof, *read, *root, *check, *made, *zero;
} ks;

/* ------------------------------------------------------------------ streams */

/* A stream that is being read, in a chain with those around it. `source` is its ByteSource. */
typedef struct ks_stream {
  struct ks_stream *outer;
  const uint8_t *buf;
  Py_ssize_t base, at, end;
  uint64_t bits;
  int left;
  PyObject *source; /* a reference, which objects share */
} ks_stream;

/* One call of `read`. */
typedef struct {
  PyObject *state;
  const uint8_t *bytes; /* of `whole`, which the streams of the outermost one share */
  PyObject *whole;
  int64_t depth, deepest, elements, empty, room;
  int nested, asked, table;
  ks_stream *top;
} ks_run;

/* The context of a step: its object, its stream, the index in a list. */
typedef struct {
  PyObject *node;
  ks_unit *unit;
  ks_stream *io;
  ks_val *item;
  Py_ssize_t index;
} ks_at;

static int ks_put_whole(PyObject *object, Py_ssize_t slot, int64_t value) {
  return kd_put(kd_in(object, slot), PyLong_FromLongLong(value));
}

static int ks_take_whole(PyObject *object, Py_ssize_t slot, int64_t *value) {
  PyObject *const found = *kd_in(object, slot);
  int overflow;
  if (found == NULL || !PyLong_CheckExact(found)) return -1;
  *value = PyLong_AsLongLongAndOverflow(found, &overflow);
  return overflow ? -1 : 0;
}

static int ks_store(const ks_stream *io) {
  if (ks_put_whole(io->source, ks.in_source.at, io->at) < 0) return -1;
  if (ks_put_whole(io->source, ks.in_source.left, io->left) < 0) return -1;
  return kd_put(kd_in(io->source, ks.in_source.bits), PyLong_FromUnsignedLongLong(io->bits));
}

/* Write the state of all streams to Python before a call; and read it again after it. */
static int ks_sync(const ks_run *run) {
  for (const ks_stream *each = run->top; each != NULL; each = each->outer)
    if (ks_store(each) < 0) return -1;
  if (ks_put_whole(run->state, ks.in_state.depth, run->depth) < 0) return -1;
  if (ks_put_whole(run->state, ks.in_state.empty, run->empty) < 0) return -1;
  return ks_put_whole(run->state, ks.in_state.room, run->room);
}

static int ks_reload(ks_run *run) {
  int64_t at, left;
  for (ks_stream *each = run->top; each != NULL; each = each->outer) {
    PyObject *const bits = *kd_in(each->source, ks.in_source.bits);
    if (ks_take_whole(each->source, ks.in_source.at, &at) < 0 ||
        ks_take_whole(each->source, ks.in_source.left, &left) < 0 || bits == NULL || !PyLong_CheckExact(bits) ||
        left > 63)
      return -1;
    each->at = (Py_ssize_t)at;
    each->left = (int)left;
    each->bits = PyLong_AsUnsignedLongLong(bits);
    if (each->bits == (uint64_t)-1 && PyErr_Occurred()) return -1;
  }
  if (ks_take_whole(run->state, ks.in_state.empty, &run->empty) < 0) return -1;
  return ks_take_whole(run->state, ks.in_state.room, &run->room);
}

/* The result of Python, with the streams read again; NULL stays NULL. */
static PyObject *ks_back(ks_run *run, PyObject *found) {
  if (found != NULL && ks_reload(run) < 0) Py_CLEAR(found);
  return found;
}

/* A stream of bytes that are part of `buf`, or were computed from them. */
static int ks_open(ks_run *run, ks_stream *io, PyObject *buf, const uint8_t *bytes, Py_ssize_t base, Py_ssize_t end) {
  PyObject *const source = ks.source->tp_alloc(ks.source, 0);
  if (source == NULL) return -1;
  *io = (ks_stream){run->top, bytes, base, base, end, 0, 0, source};
  Py_INCREF(buf);
  *kd_in(source, ks.in_source.buf) = buf;
  Py_INCREF(run->state);
  *kd_in(source, ks.in_source.state) = run->state;
  Py_INCREF(Py_None);
  *kd_in(source, ks.in_source.stand) = Py_None;
  Py_INCREF(Py_None);
  *kd_in(source, ks.in_source.main) = Py_None;
  Py_INCREF(ks.zero);
  *kd_in(source, ks.in_source.bits) = ks.zero;
  Py_INCREF(ks.zero);
  *kd_in(source, ks.in_source.left) = ks.zero;
  Py_INCREF(ks.zero);
  *kd_in(source, ks.in_source.at) = ks.zero;
  if (ks_put_whole(source, ks.in_source.base, base) < 0 || ks_put_whole(source, ks.in_source.end, end) < 0) {
    Py_CLEAR(io->source);
    return -1;
  }
  run->top = io;
  return 0;
}

/* End a stream; `status` is the result of reading it. */
static int ks_close(ks_run *run, ks_stream *io, int status) {
  run->top = io->outer;
  if (status == 0) status = ks_store(io);
  /* it holds bytes, and what streams have in common: the collector need not look at it */
  PyObject_GC_UnTrack(io->source);
  Py_CLEAR(io->source);
  return status;
}

/* ------------------------------------------------------------------ what is around an object */

/* A weak reference to an object. Without a callback it is in no cycle. */
static PyObject *ks_weakly(PyObject *node) {
  PyObject *const found = PyWeakref_NewRef(node, NULL);
  if (found != NULL) PyObject_GC_UnTrack(found);
  return found;
}

/* The object that a link leads to, a new reference; NULL if it was freed, or there is no link. */
static PyObject *ks_target(PyObject *link) {
  PyObject *found = link;
  if (found != NULL && PyWeakref_CheckRefExact(found)) {
#if PY_VERSION_HEX >= 0x030D0000
    return PyWeakref_GetRef(link, &found) == 1 ? found : NULL;
#else
    found = PyWeakref_GET_OBJECT(link);
    if (found == Py_None) return NULL;
#endif
  }
  Py_XINCREF(found);
  return found;
}

/* Whether a link is a weak reference to an object. */
static int ks_leads_to(PyObject *link, PyObject *node) {
  PyObject *const found = link != NULL && PyWeakref_CheckRefExact(link) ? ks_target(link) : NULL;
  Py_XDECREF(found);
  return found == node;
}

/* The outermost object around one, a new reference; NULL if it was freed. */
static PyObject *ks_root_of(PyObject *node) {
  PyObject *const outer = ks_node_of(node)->outer;
  return ks_target(outer == NULL || outer == Py_None ? node : outer);
}

/* Its parent, or None, a new reference; NULL if it was freed. */
static PyObject *ks_parent_of(PyObject *node) {
  PyObject *const around = ks_node_of(node)->around;
  return ks_target(around == NULL ? Py_None : around);
}

/* A link to the outermost object around one, of which `weak` is a link. */
static PyObject *ks_outer_of(PyObject *node, PyObject *weak) {
  PyObject *const outer = ks_node_of(node)->outer;
  PyObject *const found = outer == NULL || outer == Py_None ? weak : outer;
  Py_XINCREF(found);
  return found;
}

/* Link an object with its parent, or NULL; the outermost object is that of `root`, or that of the parent if it is NULL. */
static int ks_link(PyObject *object, PyObject *parent, PyObject *root) {
  ks_node *const node = ks_node_of(object);
  if (parent != NULL) {
    if ((node->around = ks_weakly(parent)) == NULL) return -1;
    if (root == NULL) node->outer = ks_outer_of(parent, node->around);
  }
  if (root != NULL) {
    PyObject *const weak = ks_weakly(root);
    if (weak == NULL) return -1;
    node->outer = ks_outer_of(root, weak);
    Py_DECREF(weak);
  }
  return 0;
}

static void ks_finalize(PyObject *self);

static int ks_is_node(PyObject *value) {
  PyTypeObject *const type = Py_TYPE(value);
  /* derived classes may have a method of their own */
  return type->tp_finalize == ks_finalize || (PyType_IS_GC(type) && PyType_IsSubtype(type, ks_node_type));
}

/* The instances that an object has, borrowed; NULL: none. */
static PyObject *ks_values(PyObject *node) {
  PyObject *const rare = ks_node_of(node)->rare;
  PyObject *const found = rare == NULL || rare == Py_None ? NULL : *kd_in(rare, ks.in_rare.values);
  return found == NULL || !PyDict_CheckExact(found) ? NULL : found;
}

static int ks_is_unshared(PyObject *node, int depth);

/* Whether nobody else has a value that `node` has, or a part of it. */
static int ks_holds_unshared(PyObject *node, PyObject *value, int depth) {
  if (value == NULL || !PyType_IS_GC(Py_TYPE(value))) return 1;
  if (PyList_CheckExact(value)) {
    if (Py_REFCNT(value) > 1 || depth > KS_MOST_FREED) return 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++)
      if (!ks_holds_unshared(node, PyList_GET_ITEM(value, i), depth + 1)) return 0;
    return 1;
  }
  if (!ks_is_node(value)) return 1;
  if (Py_REFCNT(value) > 1) return 0;
  if (!ks_leads_to(ks_node_of(value)->around, node)) return 1;
  ks_node_of(value)->freed = 1;
  return ks_is_unshared(value, depth + 1);
}

/* Whether nobody has any part of an object. They are marked: they need not look again when they are freed. */
static int ks_is_unshared(PyObject *node, int depth) {
  const Py_ssize_t stop = Py_TYPE(node)->tp_basicsize;
  PyObject *const values = ks_values(node);
  PyObject *name, *value;
  Py_ssize_t at = 0;
  if (depth > KS_MOST_FREED) return 0;
  for (Py_ssize_t i = ks.node->tp_basicsize; i < stop; i += (Py_ssize_t)sizeof(PyObject *))
    if (!ks_holds_unshared(node, *kd_in(node, i), depth)) return 0;
  if (values == NULL) return 1;
  while (PyDict_Next(values, &at, &name, &value))
    if (!ks_holds_unshared(node, value, depth)) return 0;
  return 1;
}

static void ks_unmark(PyObject *node);

/* Take the marks from the objects in a value. */
static void ks_unmark_in(PyObject *value) {
  if (value == NULL || !PyType_IS_GC(Py_TYPE(value))) return;
  if (PyList_CheckExact(value)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++) ks_unmark_in(PyList_GET_ITEM(value, i));
  } else if (ks_is_node(value) && ks_node_of(value)->freed) {
    ks_node_of(value)->freed = 0;
    ks_unmark(value);
  }
}

/* Undo what `ks_is_unshared` did before it met what somebody has. */
static void ks_unmark(PyObject *node) {
  const Py_ssize_t stop = Py_TYPE(node)->tp_basicsize;
  PyObject *const values = ks_values(node);
  PyObject *name, *value;
  Py_ssize_t at = 0;
  for (Py_ssize_t i = ks.node->tp_basicsize; i < stop; i += (Py_ssize_t)sizeof(PyObject *))
    ks_unmark_in(*kd_in(node, i));
  if (values == NULL) return;
  while (PyDict_Next(values, &at, &name, &value)) ks_unmark_in(value);
}

/* Whether nobody has any part of an object; else none is marked. */
static int ks_is_free_inside(PyObject *node) {
  if (ks_is_unshared(node, 0)) return 1;
  ks_unmark(node);
  return 0;
}

/* `StreamNode.__del__`: an object stays while somebody has a part of it. */
static void ks_finalize(PyObject *self) {
  PyObject *type, *value, *traceback, *found;
  /* nothing asks for it; or the collector of cycles frees it, which has cleared all weak references */
  if (ks_node_of(self)->weak == NULL || ks_node_of(self)->freed || ks_is_free_inside(self)) return;
  PyErr_Fetch(&type, &value, &traceback);
  found = PyObject_CallOneArg(ks.stay, self);
  if (found == NULL) PyErr_WriteUnraisable(self);
  Py_XDECREF(found);
  PyErr_Restore(type, value, traceback);
}

/* `_is_free` of runtime/streams.py. */
static PyObject *ks_is_free(PyObject *module, PyObject *entry) {
  PyObject *node;
  (void)module;
  if (!PyList_CheckExact(entry) || PyList_GET_SIZE(entry) < 1 || !ks_is_node(node = PyList_GET_ITEM(entry, 0)))
    return PyErr_Format(PyExc_TypeError, "is_free takes a list of an object of a stream");
  return PyBool_FromLong(Py_REFCNT(node) == 1 && ks_is_free_inside(node));
}

/* ------------------------------------------------------------------ values */

static int ks_eval(ks_run *run, const ks_at *at, ks_expr *expr, ks_val *to);

static void ks_drop(ks_val *value) { Py_CLEAR(value->o); }

/* A value as an object, which steals its reference; NULL without memory. */
static PyObject *ks_object_of(ks_val *value) {
  PyObject *found = value->o;
  value->o = NULL;
  if (found != NULL) return found;
  if (value->kind == KS_WHOLE) return PyLong_FromLongLong(value->i);
  found = value->i ? Py_True : Py_False;
  Py_INCREF(found);
  return found;
}

static PyObject *ks_eval_object(ks_run *run, const ks_at *at, ks_expr *expr) {
  ks_val value;
  return ks_eval(run, at, expr, &value) < 0 ? NULL : ks_object_of(&value);
}

/* A 64-bit integer; -1 if the value is not one. */
static int ks_eval_whole(ks_run *run, const ks_at *at, ks_expr *expr, int64_t *to) {
  ks_val value;
  int status;
  if (ks_eval(run, at, expr, &value) < 0) return -1;
  *to = value.i;
  status = value.kind == KS_OBJECT ? -1 : 0;
  ks_drop(&value);
  return status;
}

/* 1 or 0 for whether the value is true, or -1. */
static int ks_is_true(ks_val *value) {
  int found = value->i != 0;
  if (value->kind == KS_OBJECT) found = PyObject_IsTrue(value->o);
  ks_drop(value);
  return found;
}

static int ks_eval_test(ks_run *run, const ks_at *at, ks_expr *expr) {
  ks_val value;
  return ks_eval(run, at, expr, &value) < 0 ? -1 : ks_is_true(&value);
}

static int ks_set_whole(ks_val *to, int64_t value) {
  *to = (ks_val){NULL, value, KS_WHOLE};
  return 0;
}

static int ks_set_flag(ks_val *to, int value) {
  *to = (ks_val){NULL, value, KS_FLAG};
  return value < 0 ? -1 : 0;
}

/* Steals the reference `o`. */
static int ks_set_object(ks_val *to, PyObject *o) {
  if (o == NULL) return -1;
  *to = ks_val_of(o);
  return 0;
}

/* The unit of a class, borrowed from it; NULL if it is read in Python, or with an error. */
static ks_unit *ks_unit_of(PyTypeObject *cls) {
  PyObject *found;
  if (!PyType_IsSubtype(cls, ks.node)) return NULL;
  found = PyObject_GetAttr((PyObject *)cls, ks.native);
  if (found == NULL) return NULL;
  Py_DECREF(found); /* the class has it */
  if (Py_TYPE(found) != ks_unit_type || ((ks_unit *)found)->cls != (PyObject *)cls) return NULL;
  return (ks_unit *)found;
}

/* Find where objects of a class have an attribute. */
/* The place in a frame of the slot at an offset. */
static Py_ssize_t kf_slot(Py_ssize_t offset) {
  return (offset - ks.node->tp_basicsize) / (Py_ssize_t)sizeof(PyObject *);
}

static int ks_seek_member(int *table, ks_expr *expr, PyTypeObject *cls) {
  ks_unit *const unit = ks_unit_of(cls);
  if (unit == NULL && PyErr_Occurred()) return -1;
  expr->slot = expr->sought = expr->place = expr->stands = -1;
  expr->computed = NULL;
  if (unit != NULL) {
    *table = 1;
    if (ks_begin(unit) < 0) return -1;
    *table = 0;
    for (Py_ssize_t i = 0; unit->place != NULL && i < unit->reads && expr->sought < 0; i++)
      if (unit->place[i].name == expr->value || PyObject_RichCompareBool(unit->place[i].name, expr->value, Py_EQ) == 1)
        expr->sought = i;
    for (Py_ssize_t i = 0; i < unit->stands && expr->stands < 0; i++)
      if (unit->stand_name[i] == expr->value || PyObject_RichCompareBool(unit->stand_name[i], expr->value, Py_EQ) == 1)
        expr->stands = i;
    for (Py_ssize_t i = 0; i < unit->computed && expr->computed == NULL; i++)
      if (unit->names[i] == expr->value || PyObject_RichCompareBool(unit->names[i], expr->value, Py_EQ) == 1)
        expr->computed = unit->instance[i];
  }
  if (expr->computed == NULL) {
    expr->slot = kd_slot(cls, expr->value);
    if (expr->slot < 0) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
      PyErr_Clear();
    } else if (expr->slot >= ks.node->tp_basicsize && expr->slot < cls->tp_basicsize) {
      expr->place = kf_slot(expr->slot);
    }
  }
  Py_INCREF(cls);
  Py_XDECREF(expr->seen);
  expr->seen = cls;
  return 0;
}

static int ks_member(ks_run *run, ks_expr *expr, PyObject *of, ks_val *to) {
  PyObject *found;
  if (KD_UNLIKELY(expr->seen != Py_TYPE(of)) && ks_seek_member(&run->table, expr, Py_TYPE(of)) < 0) return -1;
  if (expr->slot >= 0) {
    found = *kd_in(of, expr->slot);
    if (found == NULL) return -1;
    Py_INCREF(found);
    return ks_set_object(to, found);
  }
  if (expr->computed != NULL) {
    ks_at at = {of, NULL, NULL, NULL, 0};
    int status = -1;
    if (run->asked++ < KS_MOST_ASKED) status = ks_eval(run, &at, expr->computed, to);
    run->asked--;
    return status;
  }
  if (ks_sync(run) < 0) return -1;
  Py_INCREF(of);
  found = ks_back(run, PyObject_GetAttr(of, expr->value));
  Py_DECREF(of);
  return ks_set_object(to, found);
}

/* The position, the size or the end of a stream: the one at hand, or that of an object. */
static int ks_asked(ks_run *run, const ks_at *at, ks_expr *expr, ks_val *to) {
  const ks_stream *io = at->io;
  PyObject *node, *source, *found;
  if (expr->part[0] != NULL) {
    node = ks_eval_object(run, at, expr->part[0]);
    if (node == NULL) return -1;
    source = Py_TYPE(node) == ks.source ? node : PyType_IsSubtype(Py_TYPE(node), ks.node) ? ks_node_of(node)->io : NULL;
    if (source == NULL || Py_TYPE(source) != ks.source) {
      Py_DECREF(node);
      return -1;
    }
    for (io = run->top; io != NULL && io->source != source; io = io->outer) continue;
    if (io == NULL || *kd_in(source, ks.in_source.stand) != Py_None) {
      found = NULL;
      Py_INCREF(source);
      if (ks_sync(run) == 0)
        found = PyObject_GetAttr(source, expr->op == KS_POS ? ks.pos : expr->op == KS_SIZE ? ks.size : ks.eof);
      Py_DECREF(source);
      Py_DECREF(node);
      return ks_set_object(to, ks_back(run, found));
    }
    Py_DECREF(node);
  } else if (io == NULL || *kd_in(io->source, ks.in_source.stand) != Py_None) {
    if (io == NULL || ks_sync(run) < 0) return -1;
    found = PyObject_GetAttr(io->source, expr->op == KS_POS ? ks.pos : expr->op == KS_SIZE ? ks.size : ks.eof);
    return ks_set_object(to, ks_back(run, found));
  }
  if (expr->op == KS_EOF) return ks_set_flag(to, io->at >= io->end && io->left <= 0);
  return ks_set_whole(to, expr->op == KS_POS ? io->at - io->base : io->end - io->base);
}

static PyObject *ks_call(ks_run *run, const ks_at *at, PyObject *function, PyObject *data) {
  PyObject *item = Py_None, *index, *found = NULL, *io;
  io = at->io != NULL ? at->io->source : ks_node_of(at->node)->io;
  if (io == NULL || ks_sync(run) < 0) return NULL;
  Py_INCREF(item);
  if (at->item != NULL) {
    ks_val copy = *at->item;
    Py_XINCREF(copy.o);
    Py_DECREF(item);
    item = ks_object_of(&copy);
  }
  index = PyLong_FromSsize_t(at->index);
  if (item != NULL && index != NULL) {
    PyObject *const arguments[] = {at->node, io, item, index, data};
    found = PyObject_Vectorcall(function, arguments, data == NULL ? 4 : 5, NULL);
  }
  Py_XDECREF(item);
  Py_XDECREF(index);
  return ks_back(run, found);
}

static int ks_add(int64_t a, int64_t b, int64_t *to) {
  if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return -1;
  *to = a + b;
  return 0;
}

static int ks_multiply(int64_t a, int64_t b, int64_t *to) {
  enum { SMALL = 1 << 30 };
  if (a > -SMALL && a < SMALL && b > -SMALL && b < SMALL) {
    *to = a * b;
    return 0;
  }
  if (a == 0 || b == 0) {
    *to = 0;
    return 0;
  }
  if (a == INT64_MIN || b == INT64_MIN || (a < 0 ? -a : a) > INT64_MAX / (b < 0 ? -b : b)) return -1;
  *to = a * b;
  return 0;
}

/* An operation on two integers: 1 if 64 bits are not enough, or Python must report an error. */
static int ks_of_wholes(ks_op op, int64_t a, int64_t b, ks_val *to) {
  int64_t found = 0;
  switch (op) {
    case KS_ADD:
      if (ks_add(a, b, &found) < 0) return 1;
      break;
    case KS_SUBTRACT:
      if (b == INT64_MIN || ks_add(a, -b, &found) < 0) return 1;
      break;
    case KS_MULTIPLY:
      if (ks_multiply(a, b, &found) < 0) return 1;
      break;
    case KS_DIVIDE:
    case KS_MODULO: {
      int64_t rest;
      if (b == 0 || (a == INT64_MIN && b == -1)) return 1;
      found = a / b;
      rest = a % b;
      if (rest != 0 && (rest < 0) != (b < 0)) {
        rest += b;
        found--;
      }
      if (op == KS_MODULO) found = rest;
      break;
    }
    case KS_BITS_AND: found = a & b; break;
    case KS_BITS_OR: found = a | b; break;
    case KS_BITS_XOR: found = a ^ b; break;
    case KS_LEFT:
      if (b < 0 || b > 62 || a < 0 || (b > 0 && a >> (63 - b))) return 1;
      found = a << b;
      break;
    case KS_RIGHT:
      if (b < 0 || b > 63) return 1;
      found = a < 0 ? ~(~a >> b) : a >> b;
      break;
    case KS_EQUAL: return ks_set_flag(to, a == b);
    case KS_DIFFERENT: return ks_set_flag(to, a != b);
    case KS_LESS: return ks_set_flag(to, a < b);
    case KS_AT_MOST: return ks_set_flag(to, a <= b);
    case KS_MORE: return ks_set_flag(to, a > b);
    case KS_AT_LEAST: return ks_set_flag(to, a >= b);
    default: return 1;
  }
  return ks_set_whole(to, found);
}

/* The same of any two objects, as Python does it. */
static PyObject *ks_of_objects(ks_op op, PyObject *a, PyObject *b) {
  switch (op) {
    case KS_ADD: return PyNumber_Add(a, b);
    case KS_SUBTRACT: return PyNumber_Subtract(a, b);
    case KS_MULTIPLY: return PyNumber_Multiply(a, b);
    case KS_DIVIDE: return PyFloat_Check(a) || PyFloat_Check(b) ? PyNumber_TrueDivide(a, b) : PyNumber_FloorDivide(a, b);
    case KS_MODULO: return PyNumber_Remainder(a, b);
    case KS_BITS_AND: return PyNumber_And(a, b);
    case KS_BITS_OR: return PyNumber_Or(a, b);
    case KS_BITS_XOR: return PyNumber_Xor(a, b);
    case KS_LEFT:
    case KS_RIGHT: {
      /* Python has the rules for long and negative shifts */
      int overflow;
      const long by = PyLong_Check(b) ? PyLong_AsLongAndOverflow(b, &overflow) : -1;
      if (by < 0 || by > 128) return NULL;
      return op == KS_LEFT ? PyNumber_Lshift(a, b) : PyNumber_Rshift(a, b);
    }
    case KS_EQUAL: return PyObject_RichCompare(a, b, Py_EQ);
    case KS_DIFFERENT: return PyObject_RichCompare(a, b, Py_NE);
    case KS_LESS: return PyObject_RichCompare(a, b, Py_LT);
    case KS_AT_MOST: return PyObject_RichCompare(a, b, Py_LE);
    case KS_MORE: return PyObject_RichCompare(a, b, Py_GT);
    case KS_AT_LEAST: return PyObject_RichCompare(a, b, Py_GE);
    default: return NULL;
  }
}

static int ks_operation(ks_op op, ks_val *a, ks_val *b, ks_val *to) {
  PyObject *left, *right;
  int status = 1;
  /* `&` of two flags is a flag, so these are left to Python */
  if (a->kind != KS_OBJECT && b->kind != KS_OBJECT &&
      (op >= KS_EQUAL || a->kind == KS_WHOLE || b->kind == KS_WHOLE))
    status = ks_of_wholes(op, a->i, b->i, to);
  if (status <= 0) {
    ks_drop(a);
    ks_drop(b);
    return status;
  }
  left = ks_object_of(a);
  right = ks_object_of(b);
  status = -1;
  if (left != NULL && right != NULL) status = ks_set_object(to, ks_of_objects(op, left, right));
  Py_XDECREF(left);
  Py_XDECREF(right);
  return status;
}

static PyObject *ks_member_of(const ks_enum *members, int64_t number, PyObject *o) {
  PyObject *found;
  if (o == NULL && number >= 0 && number < KS_SMALL_MEMBERS) {
    found = members->small[number];
    if (found != NULL) {
      Py_INCREF(found);
      return found;
    }
    return PyLong_FromLongLong(number);
  }
  if (o == NULL && (o = PyLong_FromLongLong(number)) == NULL) return NULL;
  found = PyDict_GetItemWithError(members->all, o);
  if (found == NULL) return PyErr_Occurred() ? (Py_DECREF(o), NULL) : o;
  Py_INCREF(found);
  Py_DECREF(o);
  return found;
}

static PyObject *ks_text(const ks_charset *charset, const uint8_t *p, Py_ssize_t size) {
  const char *const text = (const char *)p;
  switch (charset->encoding) {
    case KS_UTF8: return PyUnicode_DecodeUTF8(text, size, charset->errors);
    case KS_ASCII: return PyUnicode_DecodeASCII(text, size, charset->errors);
    case KS_LATIN1: return PyUnicode_DecodeLatin1(text, size, charset->errors);
    default: return PyUnicode_Decode(text, size, charset->codec, charset->errors);
  }
}

static int ks_length(ks_val *of, ks_val *to) {
  Py_ssize_t size;
  if (of->kind != KS_OBJECT) {
    ks_drop(of);
    return -1;
  }
  size = PyObject_Length(of->o);
  ks_drop(of);
  return size < 0 ? -1 : ks_set_whole(to, size);
}

static int ks_item_at(ks_val *of, ks_val *index, ks_val *to) {
  PyObject *found = NULL;
  if (of->kind == KS_OBJECT && index->kind != KS_OBJECT && index->i >= 0) {
    if (PyList_CheckExact(of->o) && index->i < PyList_GET_SIZE(of->o)) {
      found = PyList_GET_ITEM(of->o, index->i);
      Py_INCREF(found);
    } else if (PyBytes_CheckExact(of->o) && index->i < PyBytes_GET_SIZE(of->o)) {
      found = PyLong_FromLong((unsigned char)PyBytes_AS_STRING(of->o)[index->i]);
    }
  }
  ks_drop(of);
  ks_drop(index);
  return ks_set_object(to, found);
}

static int ks_around(ks_run *run, const ks_at *at, ks_expr *expr, ks_val *to) {
  PyObject *node = at->node, *found;
  Py_INCREF(node);
  if (expr->part[0] != NULL) {
    Py_DECREF(node);
    node = ks_eval_object(run, at, expr->part[0]);
    if (node == NULL) return -1;
  }
  found = NULL;
  if (PyType_IsSubtype(Py_TYPE(node), ks.node))
    found = expr->op == KS_ROOT ? ks_root_of(node) : ks_parent_of(node);
  Py_DECREF(node);
  return ks_set_object(to, found);
}

static int ks_eval(ks_run *run, const ks_at *at, ks_expr *expr, ks_val *to) {
  ks_val a, b;
  int test;
  switch (expr->op) {
    case KS_CONSTANT:
      *to = expr->constant;
      Py_XINCREF(to->o);
      return 0;
    case KS_CALL:
    case KS_LAST:
    case KS_MIN:
    case KS_MAX:
    case KS_AS:
    case KS_SHOWN:
    case KS_PARSED:
    case KS_PART:
    case KS_TRUNCATED:
    case KS_REVERSED:
    case KS_LISTED:
    case KS_OCTETS:
    case KS_STREAM: return ks_set_object(to, ks_call(run, at, expr->value, NULL));
    case KS_FIELD: return ks_member(run, expr, at->node, to);
    case KS_ITEM:
      if (at->item == NULL) return -1;
      *to = *at->item;
      Py_XINCREF(to->o);
      return 0;
    case KS_INDEX: return ks_set_whole(to, at->index);
    case KS_THIS:
      Py_INCREF(at->node);
      *to = (ks_val){at->node, 0, KS_OBJECT};
      return 0;
    case KS_PARENT:
    case KS_ROOT: return ks_around(run, at, expr, to);
    case KS_POS:
    case KS_SIZE:
    case KS_EOF: return ks_asked(run, at, expr, to);
    case KS_IF:
      test = ks_eval_test(run, at, expr->part[0]);
      return test < 0 ? -1 : ks_eval(run, at, expr->part[test ? 1 : 2], to);
    case KS_AND:
    case KS_OR:
      if (ks_eval(run, at, expr->part[0], &a) < 0) return -1;
      b = a;
      Py_XINCREF(b.o);
      test = ks_is_true(&b);
      if (test < 0 || test == (expr->op == KS_AND)) {
        ks_drop(&a);
        return test < 0 ? -1 : ks_eval(run, at, expr->part[1], to);
      }
      *to = a;
      return 0;
    default: break;
  }
  if (ks_eval(run, at, expr->part[0], &a) < 0) return -1;
  switch (expr->op) {
    case KS_MEMBER:
      if (a.kind == KS_OBJECT) {
        const int status = ks_member(run, expr, a.o, to);
        ks_drop(&a);
        return status;
      }
      ks_drop(&a);
      return -1;
    case KS_LEN: return ks_length(&a, to);
    case KS_INT:
      if (a.kind == KS_OBJECT) return ks_set_object(to, PyNumber_Long(a.o)) < 0 ? (ks_drop(&a), -1) : (ks_drop(&a), 0);
      ks_drop(&a);
      return ks_set_whole(to, a.i);
    case KS_ENUM:
      if (a.kind == KS_WHOLE) ks_drop(&a); /* its members are found by its number */
      return ks_set_object(to, ks_member_of(expr->members, a.i, a.o));
    case KS_DECODED: {
      PyObject *found = NULL;
      if (a.kind == KS_OBJECT && PyBytes_CheckExact(a.o))
        found = ks_text(&expr->charset, (const uint8_t *)PyBytes_AS_STRING(a.o), PyBytes_GET_SIZE(a.o));
      ks_drop(&a);
      return ks_set_object(to, found);
    }
    case KS_NEED:
      if (a.o == Py_None) return ks_drop(&a), -1;
      *to = a;
      return 0;
    case KS_NULL:
      test = a.o == Py_None;
      ks_drop(&a);
      return ks_set_flag(to, test);
    case KS_NOT:
      test = ks_is_true(&a);
      return test < 0 ? -1 : ks_set_flag(to, !test);
    case KS_NEGATIVE:
    case KS_INVERT: {
      PyObject *o, *found = NULL;
      if (a.kind == KS_WHOLE && a.i != INT64_MIN) {
        ks_drop(&a);
        return ks_set_whole(to, expr->op == KS_INVERT ? ~a.i : -a.i);
      }
      o = ks_object_of(&a);
      if (o != NULL) found = expr->op == KS_INVERT ? PyNumber_Invert(o) : PyNumber_Negative(o);
      Py_XDECREF(o);
      return ks_set_object(to, found);
    }
    default: break;
  }
  if (ks_eval(run, at, expr->part[1], &b) < 0) {
    ks_drop(&a);
    return -1;
  }
  return expr->op == KS_ELEMENT ? ks_item_at(&a, &b, to) : ks_operation(expr->op, &a, &b, to);
}

/* ------------------------------------------------------------------ bytes */

static uint64_t ks_load(const uint8_t *p, int size, int little) {
  uint64_t found = 0;
  if (little)
    for (int i = size - 1; i >= 0; i--) found = found << 8 | p[i];
  else
    for (int i = 0; i < size; i++) found = found << 8 | p[i];
  return found;
}

static PyObject *ks_float(uint64_t bits, int size) {
  double value;
  if (size == 4) {
    const uint32_t narrow = (uint32_t)bits;
    float small;
    if ((narrow & 0x7F800000u) == 0x7F800000u && (narrow & 0x7FFFFFu) != 0) {
      /* a NaN keeps its bits (kodec/runtime/floats.py) */
      bits = (uint64_t)(narrow >> 31) << 63 | (uint64_t)0x7FF << 52 | (uint64_t)(narrow & 0x7FFFFF) << 29;
    } else {
      memcpy(&small, &narrow, sizeof small);
      return PyFloat_FromDouble((double)small);
    }
  }
  memcpy(&value, &bits, sizeof value);
  return PyFloat_FromDouble(value);
}

static PyObject *ks_cast_of(const ks_cast *cast, int64_t value) {
  if (cast->flag) return PyBool_FromLong(value != 0);
  return cast->members != NULL ? ks_member_of(cast->members, value, NULL) : PyLong_FromLongLong(value);
}

/* 1 for little-endian, 0 for big-endian, -1 if unset. */
static int ks_little(const ks_at *at, ks_order order) {
  if (order == KS_BY) return ks_node_of(at->node)->order;
  return order == KS_LE;
}

static PyObject *ks_number(const ks_at *at, const uint8_t *p, ks_wire wire, ks_order order, const ks_cast *cast) {
  const int size = ks_widths[wire], little = ks_little(at, order);
  uint64_t bits;
  if (little < 0) return NULL;
  bits = ks_load(p, size, little);
  switch (wire) {
    case KS_F4:
    case KS_F8: return ks_float(bits, size);
    case KS_S1: return ks_cast_of(cast, (int8_t)bits);
    case KS_S2: return ks_cast_of(cast, (int16_t)bits);
    case KS_S4: return ks_cast_of(cast, (int32_t)bits);
    case KS_S8: return ks_cast_of(cast, (int64_t)bits);
    default: break;
  }
  if (bits > INT64_MAX) {
    PyObject *const found = PyLong_FromUnsignedLongLong(bits);
    return found == NULL || cast->members == NULL ? found : ks_member_of(cast->members, 0, found);
  }
  return ks_cast_of(cast, (int64_t)bits);
}

static void ks_align(ks_stream *io) {
  io->bits = 0;
  io->left = 0;
}

static int ks_bits(ks_stream *io, int width, int little, int64_t *to) {
  const int missing = width - io->left;
  const uint64_t mask = ((uint64_t)1 << (width & 63)) - 1;
  if (width > 56) {
    /* with the bits that are left it may be more than 64 */
    enum { LOW = 32 };
    int64_t low, high;
    if (little ? ks_bits(io, LOW, 1, &low) < 0 || ks_bits(io, width - LOW, 1, &high) < 0
               : ks_bits(io, width - LOW, 0, &high) < 0 || ks_bits(io, LOW, 0, &low) < 0)
      return -1;
    *to = (int64_t)((uint64_t)high << LOW | (uint64_t)low);
    return 0;
  }
  if (missing > 0) {
    const int size = (missing + 7) / 8;
    if (io->left < 0 || size > io->end - io->at || io->left + 8 * size > 63) return -1;
    if (little)
      io->bits |= ks_load(io->buf + io->at, size, 1) << io->left;
    else
      io->bits = io->bits << 8 * size | ks_load(io->buf + io->at, size, 0);
    io->at += size;
    io->left += 8 * size;
  }
  io->left -= width;
  if (little) {
    *to = (int64_t)(io->bits & mask);
    io->bits >>= width;
  } else {
    *to = (int64_t)(io->bits >> io->left & mask);
    io->bits &= ((uint64_t)1 << io->left) - 1;
  }
  return 0;
}

/* The start of a terminator, at a multiple of its size; -1 if there is none. */
static Py_ssize_t ks_find(const uint8_t *p, Py_ssize_t size, const ks_bounds *bounds) {
  const Py_ssize_t unit = bounds->ending;
  if (unit == 1) {
    const uint8_t *const found = size > 0 ? memchr(p, (unsigned char)bounds->terminator[0], (size_t)size) : NULL;
    return found == NULL ? -1 : found - p;
  }
  for (Py_ssize_t i = 0; i + unit <= size; i += unit)
    if (memcmp(p + i, bounds->terminator, (size_t)unit) == 0) return i;
  return -1;
}

/* The bytes of a value in a stream, which then continues after them; `given` is the computed size. */
static int ks_cut(ks_stream *io, const ks_bounds *bounds, int64_t given, const uint8_t **p, Py_ssize_t *size) {
  Py_ssize_t found;
  switch (bounds->how) {
    case KS_IN_FIXED:
      if (bounds->fixed > io->end - io->at) return -1;
      *p = io->buf + io->at;
      *size = bounds->fixed;
      io->at += bounds->fixed;
      return memcmp(*p, bounds->contents, (size_t)bounds->fixed) ? -1 : 0;
    case KS_IN_UNTIL:
      found = ks_find(io->buf + io->at, io->end - io->at, bounds);
      if (found >= 0) {
        *p = io->buf + io->at;
        *size = found + (bounds->include ? bounds->ending : 0);
        io->at += found + (bounds->consume ? bounds->ending : 0);
        return 0;
      }
      if (bounds->needed) return -1;
      /* fall through */
    case KS_IN_REST:
      *p = io->buf + io->at;
      *size = io->end > io->at ? io->end - io->at : 0;
      io->at += *size;
      break;
    default:
      if (given < 0 || (given && given > io->end - io->at)) return -1;
      *p = io->buf + io->at;
      *size = (Py_ssize_t)given;
      io->at += *size;
  }
  if (bounds->how == KS_IN_UNTIL) return 0;
  if (bounds->pad >= 0 && (bounds->terminator == NULL || (unsigned char)bounds->terminator[bounds->ending - 1] != bounds->pad))
    while (*size && (*p)[*size - 1] == bounds->pad) --*size;
  if (bounds->terminator != NULL) {
    found = ks_find(*p, *size, bounds);
    if (found >= 0) *size = found + (bounds->include ? bounds->ending : 0);
  }
  return 0;
}

/* The same, with its size. */
static int ks_span(ks_run *run, const ks_at *at, ks_stream *io, const ks_bounds *bounds, const uint8_t **p, Py_ssize_t *size) {
  int64_t given = -1;
  if (bounds->early && bounds->size != NULL && ks_eval_whole(run, at, bounds->size, &given) < 0) return -1;
  if (at->unit->loose) ks_align(io);
  if (!bounds->early && bounds->size != NULL && ks_eval_whole(run, at, bounds->size, &given) < 0) return -1;
  return ks_cut(io, bounds, given, p, size);
}

/* Bytes after a process. */
static PyObject *ks_processed(ks_run *run, const ks_at *at, const ks_bounds *bounds, const uint8_t *p, Py_ssize_t size) {
  PyObject *const data = PyBytes_FromStringAndSize((const char *)p, size);
  PyObject *found = NULL;
  if (data != NULL) found = ks_call(run, at, bounds->process, data);
  Py_XDECREF(data);
  if (found != NULL && !PyBytes_CheckExact(found)) Py_CLEAR(found);
  return found;
}

/* ------------------------------------------------------------------ objects */

static int ks_steps(ks_run *run, const ks_at *at, const ks_step *steps, Py_ssize_t count);
static PyObject *ks_element_at(ks_run *run, const ks_at *at, ks_stream *io, ks_element *element, Py_ssize_t index);

/* Have an object keep what few do. */
static int ks_begin_rare(PyObject **rare) {
  const Py_ssize_t slots[] = {ks.in_rare.marks, ks.in_rare.out,    ks.in_rare.places,
                              ks.in_rare.spans, ks.in_rare.taught, ks.in_rare.values};
  if (*rare != NULL && *rare != Py_None) return 0;
  if (kd_put(rare, ks.rare->tp_alloc(ks.rare, 0)) < 0) return -1;
  for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
    Py_INCREF(Py_None);
    *kd_in(*rare, slots[i]) = Py_None;
  }
  return 0;
}

/* A field whose bytes are asked for begins or ends. */
static int ks_mark(const ks_at *at, PyObject *name, int ends) {
  PyObject *place, *span, *before, **spans, **const rare = &ks_node_of(at->node)->rare;
  int status = -1;
  if (ks_begin_rare(rare) < 0) return -1;
  spans = kd_in(*rare, ks.in_rare.spans);
  if ((*spans == NULL || *spans == Py_None) && kd_put(spans, PyDict_New()) < 0) return -1;
  if (!PyDict_Check(*spans) || (place = PyLong_FromSsize_t(at->io->at - at->io->base)) == NULL) return -1;
  before = ends ? PyDict_GetItemWithError(*spans, name) : NULL;
  if (!ends || (before != NULL && PyTuple_Check(before) && PyTuple_GET_SIZE(before) == 3)) {
    span = PyTuple_Pack(3, at->io->source, ends ? PyTuple_GET_ITEM(before, 1) : place, place);
    if (span != NULL) {
      status = PyDict_SetItem(*spans, name, span);
      Py_DECREF(span);
    }
  }
  Py_DECREF(place);
  return status;
}

/* See that the fields of an object that are derived of bytes are right, at once or when all around it is read. */
static int ks_checked(ks_run *run, const ks_unit *unit, PyObject *node) {
  PyObject *found;
  if (!unit->local) {
    PyObject *const later = *kd_in(run->state, ks.in_state.unchecked);
    return later == NULL || !PyList_Check(later) ? -1 : PyList_Append(later, node);
  }
  if (ks_sync(run) < 0) return -1;
  found = ks_back(run, PyObject_CallMethodNoArgs(node, ks.check));
  Py_XDECREF(found);
  return found == NULL ? -1 : 0;
}

static void ks_initial(PyObject *node, Py_ssize_t slot, PyObject *value) {
  Py_INCREF(value);
  kd_put(kd_in(node, slot), value);
}

/* Whether an object holds nothing that could hold it: no objects, and no lists. Members of an enum are numbers. */
static int ks_is_leaf(const ks_unit *unit, PyObject *node) {
  if (ks_node_of(node)->rare != NULL || unit->parameters) return 0;
  for (Py_ssize_t i = 0; i < unit->fields; i++) {
    PyObject *const value = *kd_in(node, unit->field[i]);
    if (value != NULL && PyType_IS_GC(Py_TYPE(value)) && !PyLong_Check(value)) return 0;
  }
  return 1;
}

/* The next object of a unit in a stream. */
static PyObject *ks_made(ks_run *run, const ks_at *at, ks_stream *io, ks_element *element, Py_ssize_t index) {
  ks_unit *const unit = element->unit;
  PyObject *parent = NULL, *node;
  if (run->depth >= run->deepest || run->nested >= KS_MOST_NESTED) return NULL;
  node = element->cls->tp_alloc(element->cls, 0);
  if (node == NULL) return NULL;
  ks_node *const made = ks_node_of(node);
  made->start = io->at;
  made->depth = (int)run->depth + 1;
  made->order = -1;
  Py_INCREF(io->source);
  made->io = io->source;
  for (Py_ssize_t i = 0; i < unit->fields; i++) ks_initial(node, unit->field[i], unit->initial[i]);
  for (Py_ssize_t i = 0; i < unit->parameters; i++) {
    PyObject *const given = ks_eval_object(run, at, element->argument[i]);
    if (given == NULL) goto failed;
    kd_put(kd_in(node, unit->parameter[i]), given);
  }
  if (element->own) {
    parent = at->node;
    Py_INCREF(parent);
  } else if (element->parent != NULL) {
    if ((parent = ks_eval_object(run, at, element->parent)) == NULL) goto failed;
    if (parent == Py_None) Py_CLEAR(parent);
  }
  if (parent != NULL) {
    if (!PyType_IsSubtype(Py_TYPE(parent), ks.node)) {
      Py_DECREF(parent);
      goto failed;
    }
    made->order = ks_node_of(parent)->order;
  }
  {
    const int status = ks_link(node, parent, !element->own && element->rooted ? at->node : NULL);
    Py_XDECREF(parent);
    if (status < 0) goto failed;
  }
  {
    const ks_at inner = {node, unit, io, NULL, 0};
    int status;
    run->depth++;
    run->nested++;
    status = ks_steps(run, &inner, unit->step, unit->steps);
    run->nested--;
    run->depth--;
    if (status < 0) goto failed;
    made->stop = io->at;
    if (unit->checks && ks_checked(run, unit, node) < 0) goto failed;
    /* the collector need not look at it, until an attribute is set (`ks_node_set`) */
    if (ks_is_leaf(unit, node)) PyObject_GC_UnTrack(node);
  }
  (void)index;
  return node;
failed:
  Py_DECREF(node);
  return NULL;
}

/* The same of a class that is read in Python. */
static PyObject *ks_by_python(ks_run *run, const ks_at *at, ks_stream *io, ks_element *element, Py_ssize_t index) {
  PyObject *const given = PyTuple_New(element->arguments);
  PyObject *node = NULL, *parent = NULL, *number = NULL, *root = NULL, *found = NULL;
  if (given == NULL) return NULL;
  for (Py_ssize_t i = 0; i < element->arguments; i++) {
    PyObject *const each = ks_eval_object(run, at, element->argument[i]);
    if (each == NULL) goto done;
    PyTuple_SET_ITEM(given, i, each);
  }
  if (element->own) {
    parent = at->node;
    Py_INCREF(parent);
  } else if (element->parent != NULL && (parent = ks_eval_object(run, at, element->parent)) == NULL) {
    goto done;
  }
  if (index < 0) {
    number = Py_None;
    Py_INCREF(number);
  } else if ((number = PyLong_FromSsize_t(index)) == NULL) {
    goto done;
  }
  if (!element->own && element->rooted && (root = ks_root_of(at->node)) == NULL) goto done;
  node = PyObject_CallMethodOneArg((PyObject *)element->cls, ks.made, given);
  if (node != NULL && ks_sync(run) == 0) {
    PyObject *const arguments[] = {io->source, node, parent == NULL ? Py_None : parent, element->name, number, root == NULL ? Py_None : root};
    found = ks_back(run, PyObject_VectorcallMethod(ks.read, arguments, 6, NULL));
  }
done:
  Py_DECREF(given);
  Py_XDECREF(node);
  Py_XDECREF(parent);
  Py_XDECREF(root);
  Py_XDECREF(number);
  return found;
}

/* Find the unit of an object's class. */
static int ks_seek_unit(int *table, ks_element *element) {
  if (KD_UNLIKELY(!element->sought)) {
    ks_unit *const unit = ks_unit_of(element->cls);
    if (unit == NULL && PyErr_Occurred()) return -1;
    if (unit != NULL) {
      *table = 1;
      if (ks_begin(unit) < 0) return -1;
      *table = 0;
      if (unit->parameters != element->arguments) return -1;
    }
    element->unit = unit;
    element->sought = 1;
  }
  return 0;
}

static PyObject *ks_object_in(ks_run *run, const ks_at *at, ks_stream *io, ks_element *element, Py_ssize_t index) {
  if (ks_seek_unit(&run->table, element) < 0) return NULL;
  return element->unit == NULL ? ks_by_python(run, at, io, element, index) : ks_made(run, at, io, element, index);
}

/* The stream that an element is read from: 1 if it is a substream, in `inner`; 0 if it is `io`. */
static int ks_inside(ks_run *run, const ks_at *at, ks_stream *io, const ks_bounds *bounds, ks_stream *inner) {
  const uint8_t *p;
  Py_ssize_t size;
  PyObject *data;
  int status;
  if (bounds == NULL) return 0;
  if (ks_span(run, at, io, bounds, &p, &size) < 0) return -1;
  if (bounds->process == NULL && bounds->terminator == NULL && bounds->pad < 0) {
    const Py_ssize_t start = p - io->buf;
    return ks_open(run, inner, *kd_in(io->source, ks.in_source.buf), io->buf, start, start + size) < 0 ? -1 : 1;
  }
  data = bounds->process != NULL ? ks_processed(run, at, bounds, p, size) : PyBytes_FromStringAndSize((const char *)p, size);
  if (data == NULL) return -1;
  run->room += PyBytes_GET_SIZE(data);
  status = ks_open(run, inner, data, (const uint8_t *)PyBytes_AS_STRING(data), 0, PyBytes_GET_SIZE(data));
  Py_DECREF(data); /* the stream has it */
  return status < 0 ? -1 : 1;
}

/* The element of the case that equals `on`, or the default; -1 if that cannot be computed. */
static int ks_case_of(ks_run *run, const ks_at *at, const ks_element *choice, const ks_val *on, ks_element **to) {
  ks_val copy = *on;
  *to = choice->other;
  if (choice->numbers != NULL) {
    PyObject *key, *number;
    Py_XINCREF(copy.o);
    key = ks_object_of(&copy);
    number = key == NULL ? NULL : PyDict_GetItemWithError(choice->numbers, key);
    Py_XDECREF(key);
    if (number != NULL) *to = choice->chosen[PyLong_AsSsize_t(number)].element;
    return number == NULL && PyErr_Occurred() ? -1 : 0;
  }
  for (Py_ssize_t i = 0; i < choice->cases; i++)
    for (Py_ssize_t j = 0; j < choice->chosen[i].values; j++) {
      ks_val value, flag;
      int equal;
      if (ks_eval(run, at, choice->chosen[i].value[j], &value) < 0) return -1;
      copy = *on;
      Py_XINCREF(copy.o);
      if (ks_operation(KS_EQUAL, &copy, &value, &flag) < 0) return -1;
      equal = ks_is_true(&flag);
      if (equal < 0) return -1;
      if (equal) {
        *to = choice->chosen[i].element;
        return 0;
      }
    }
  return 0;
}

static PyObject *ks_chosen(ks_run *run, const ks_at *at, ks_stream *io, ks_element *element, Py_ssize_t index) {
  ks_val on;
  ks_element *found;
  ks_stream part;
  PyObject *made = NULL;
  int own = 0;
  if (ks_eval(run, at, element->on, &on) < 0) return NULL;
  if (element->bounds != NULL) own = ks_inside(run, at, io, element->bounds, &part);
  if (own >= 0 && ks_case_of(run, at, element, &on, &found) == 0) {
    if (found == NULL) {
      made = Py_None;
      Py_INCREF(made);
    } else {
      made = ks_element_at(run, at, own ? &part : io, found, index);
    }
  }
  if (own > 0 && ks_close(run, &part, made == NULL ? -1 : 0) < 0) Py_CLEAR(made);
  ks_drop(&on);
  return made;
}

/* A value: a new reference, or NULL. */
static PyObject *ks_element_at(ks_run *run, const ks_at *at, ks_stream *io, ks_element *element, Py_ssize_t index) {
  const uint8_t *p;
  Py_ssize_t size;
  int64_t number;
  ks_stream inner;
  PyObject *found, *data;
  int own;
  switch (element->kind) {
    case KS_E_NUMBER:
      if (at->unit->loose) ks_align(io);
      if (ks_widths[element->wire] > io->end - io->at) return NULL;
      found = ks_number(at, io->buf + io->at, element->wire, element->order, &element->cast);
      io->at += ks_widths[element->wire];
      return found;
    case KS_E_BITS:
      if (ks_bits(io, element->width, element->order == KS_LE, &number) < 0) return NULL;
      if (number < 0) {
        /* of 64 bits */
        found = PyLong_FromUnsignedLongLong((uint64_t)number);
        if (found != NULL && element->cast.members != NULL) found = ks_member_of(element->cast.members, -1, found);
        return found;
      }
      return ks_cast_of(&element->cast, number);
    case KS_E_BYTES:
    case KS_E_TEXT:
      if (ks_span(run, at, io, element->bounds, &p, &size) < 0) return NULL;
      if (element->kind == KS_E_BYTES && element->bounds->whole != NULL) {
        Py_INCREF(element->bounds->whole);
        return element->bounds->whole;
      }
      if (element->bounds->process == NULL)
        return element->kind == KS_E_TEXT ? ks_text(&element->charset, p, size) : PyBytes_FromStringAndSize((const char *)p, size);
      data = ks_processed(run, at, element->bounds, p, size);
      if (data == NULL || element->kind == KS_E_BYTES) return data;
      found = ks_text(&element->charset, (const uint8_t *)PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data));
      Py_DECREF(data);
      return found;
    case KS_E_OBJECT:
      own = ks_inside(run, at, io, element->bounds, &inner);
      if (own < 0) return NULL;
      found = ks_object_in(run, at, own ? &inner : io, element, index);
      if (own && ks_close(run, &inner, found == NULL ? -1 : 0) < 0) Py_CLEAR(found);
      return found;
    default: return ks_chosen(run, at, io, element, index);
  }
}

/* ------------------------------------------------------------------ steps */

/* Whether an expression depends on the item alone. */
static int ks_is_alone(const ks_expr *expr) {
  switch (expr->op) {
    case KS_FIELD:
    case KS_INDEX:
    case KS_THIS:
    case KS_PARENT:
    case KS_ROOT:
    case KS_MEMBER:
    case KS_POS:
    case KS_SIZE:
    case KS_EOF:
    case KS_STREAM:
    case KS_CALL: return 0;
    default: break;
  }
  for (int i = 0; i < 3; i++)
    if (expr->part[i] != NULL && !ks_is_alone(expr->part[i])) return 0;
  for (Py_ssize_t i = 0; i < expr->items; i++)
    if (!ks_is_alone(expr->item[i])) return 0;
  return 1;
}

/* Rules hold for most values, and many values are as one before: a rule of the value alone is not computed again for it. */
static int ks_held(ks_expr *rule, const kf_val *value) {
  if (KD_UNLIKELY(!rule->alone)) rule->alone = ks_is_alone(rule) ? 1 : -1;
  if (rule->alone < 0 || value->kind != rule->passed.kind) return 0;
  if (value->kind == KF_INT) return value->as.i == rule->passed.as.i;
  return value->kind == KF_BYTES && value->size == rule->passed.size && memcmp(value->as.p, rule->octets, (size_t)value->size) == 0;
}

/* Note that a rule held for a value. */
static void ks_holds(ks_expr *rule, const kf_val *value) {
  const int octets = value->kind == KF_BYTES && value->size <= (Py_ssize_t)sizeof rule->octets;
  if (rule->alone < 0 || (value->kind != KF_INT && !octets)) return;
  rule->passed = *value;
  if (octets) memcpy(rule->octets, value->as.p, (size_t)value->size);
}

static int ks_rules(ks_run *run, const ks_at *at, ks_expr **rules, Py_ssize_t count, PyObject *value) {
  ks_at here = *at;
  ks_val item;
  kf_val plain = {.kind = KF_UNSET};
  int status = 1;
  if (KD_LIKELY(count == 0)) return 0;
  Py_INCREF(value);
  item = ks_val_of(value);
  here.item = &item;
  if (item.kind == KS_WHOLE) {
    plain.as.i = item.i;
    plain.kind = KF_INT;
  } else if (PyBytes_CheckExact(value)) {
    plain.as.p = (const uint8_t *)PyBytes_AS_STRING(value);
    plain.size = PyBytes_GET_SIZE(value);
    plain.kind = KF_BYTES;
  }
  for (Py_ssize_t i = 0; i < count && status == 1; i++) {
    if (ks_held(rules[i], &plain)) continue;
    status = ks_eval_test(run, &here, rules[i]);
    if (status == 1) ks_holds(rules[i], &plain);
  }
  Py_DECREF(value);
  return status == 1 ? 0 : -1;
}

static int ks_fixed(ks_run *run, const ks_at *at, const ks_step *step) {
  ks_stream *const io = at->io;
  const uint8_t *p;
  if (at->unit->loose) ks_align(io);
  if (step->size > io->end - io->at) return -1;
  p = io->buf + io->at;
  io->at += step->size;
  for (Py_ssize_t i = 0; i < step->slots; i++) {
    const ks_slot *const slot = &step->in[i];
    PyObject *found;
    if (slot->wire == KS_BYTES) {
      found = PyBytes_FromStringAndSize((const char *)p + slot->offset, slot->size);
    } else if (slot->wire == KS_BITS) {
      const uint64_t all = ks_load(p + slot->offset, slot->size, slot->order == KS_LE);
      const uint64_t mask = slot->width == 64 ? UINT64_MAX : ((uint64_t)1 << slot->width) - 1;
      const uint64_t bits = all >> slot->shift & mask;
      if (bits > INT64_MAX) return -1;
      found = ks_cast_of(&slot->cast, (int64_t)bits);
    } else {
      found = ks_number(at, p + slot->offset, slot->wire, slot->order, &slot->cast);
    }
    if (kd_put(kd_in(at->node, slot->slot), found) < 0) return -1;
  }
  for (Py_ssize_t i = 0; i < step->slots; i++) {
    const ks_slot *const slot = &step->in[i];
    if (slot->rules && ks_rules(run, at, slot->rule, slot->rules, *kd_in(at->node, slot->slot)) < 0) return -1;
  }
  return 0;
}

/* The elements of a list; if it is an attribute, it is set while it is read. */
static PyObject *ks_many(ks_run *run, const ks_at *at, const ks_step *step, int kept) {
  ks_stream *const io = at->io;
  ks_at inner = *at;
  PyObject *list = PyList_New(0);
  Py_ssize_t before = -1;
  int64_t count = 0;
  int before_left = 0;
  if (list == NULL) return NULL;
  if (kept) ks_initial(at->node, step->slot, list);
  if (step->ends == KS_BY_COUNT) {
    int64_t left, most;
    if (ks_eval_whole(run, at, step->test, &count) < 0) goto failed;
    left = io->end > io->at ? io->end - io->at : 0;
    most = step->least ? left / step->least : 8 * run->room;
    if (count < 0 || count > most || count > run->elements) goto failed;
  }
  for (Py_ssize_t i = 0;; i++) {
    const Py_ssize_t start = io->at;
    const int left = io->left;
    ks_val item;
    PyObject *found;
    if (step->ends == KS_BY_COUNT && i == count) break;
    if (step->ends == KS_BY_END) {
      if (io->at >= io->end && io->left <= 0) break;
      if (before == start && before_left == left) goto failed;
      before = start;
      before_left = left;
    }
    if (step->ends != KS_BY_COUNT && i >= run->elements) goto failed;
    inner.index = i;
    found = ks_element_at(run, &inner, io, step->element, i);
    if (found == NULL) goto failed;
    if (ks_rules(run, &inner, step->rule, step->rules, found) < 0 || PyList_Append(list, found) < 0) {
      Py_DECREF(found);
      goto failed;
    }
    if (step->ends == KS_BY_UNTIL) {
      int done;
      item = ks_val_of(found);
      inner.item = &item;
      done = ks_eval_test(run, &inner, step->test);
      inner.item = NULL;
      Py_DECREF(found);
      if (done < 0) goto failed;
      if (done) break;
    } else {
      Py_DECREF(found);
    }
    if ((step->ends == KS_BY_UNTIL || (step->ends == KS_BY_COUNT && step->least == 0)) && io->at == start &&
        io->left == left && ++run->empty > run->room)
      goto failed;
    /* a list of numbers can be long: let the user end it */
    if ((i & 0xFFFF) == 0xFFFF && PyErr_CheckSignals() < 0) goto failed;
  }
  return list;
failed:
  Py_DECREF(list);
  return NULL;
}

static int ks_set_order(ks_run *run, const ks_at *at, const ks_step *step) {
  ks_val on;
  PyObject *little = step->other;
  if (ks_eval(run, at, step->test, &on) < 0) return -1;
  for (Py_ssize_t i = 0; i < step->cases; i++) {
    ks_val value, left = on, flag;
    int equal;
    if (ks_eval(run, at, step->order[i].value, &value) < 0) return ks_drop(&on), -1;
    Py_XINCREF(left.o);
    if (ks_operation(KS_EQUAL, &left, &value, &flag) < 0) return ks_drop(&on), -1;
    equal = ks_is_true(&flag);
    if (equal < 0) return ks_drop(&on), -1;
    if (equal) {
      little = step->order[i].little;
      break;
    }
  }
  ks_drop(&on);
  ks_node_of(at->node)->order = ks_order_of(little);
  return 0;
}

static int ks_steps(ks_run *run, const ks_at *at, const ks_step *steps, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++) {
    const ks_step *const step = &steps[i];
    PyObject *found;
    int status;
    switch (step->what) {
      case KS_S_ALIGN: ks_align(at->io); break;
      case KS_S_BEGIN:
      case KS_S_END:
        if (ks_mark(at, step->other, step->what == KS_S_END) < 0) return -1;
        break;
      case KS_S_ORDER:
        if (ks_set_order(run, at, step) < 0) return -1;
        break;
      case KS_S_WHEN:
        status = ks_eval_test(run, at, step->test);
        if (status < 0 || (status && ks_steps(run, at, step->steps, step->inner) < 0)) return -1;
        break;
      case KS_S_FIXED:
        if (ks_fixed(run, at, step) < 0) return -1;
        break;
      case KS_S_ONE:
        found = ks_element_at(run, at, at->io, step->element, -1);
        if (kd_put(kd_in(at->node, step->slot), found) < 0) return -1;
        if (step->rules && ks_rules(run, at, step->rule, step->rules, found) < 0) return -1;
        break;
      default:
        found = ks_many(run, at, step, 1);
        if (found == NULL) return -1;
        Py_DECREF(found);
    }
  }
  return 0;
}

/* ------------------------------------------------------------------ the one method */

static int ks_option(PyObject *options, PyObject *name, int64_t *to) {
  PyObject *const found = PyObject_GetAttr(options, name);
  int overflow;
  if (found == NULL) return -1;
  *to = PyLong_Check(found) ? PyLong_AsLongLongAndOverflow(found, &overflow) : -1;
  if (PyLong_Check(found) && overflow > 0) *to = INT64_MAX;
  Py_DECREF(found);
  return 0;
}

/* Whether Python must report the failure by reading all of it again; otherwise it is an error. */
static int ks_given_up(const ks_run *run) {
  if (!PyErr_Occurred()) return 1;
  if (run->table || !PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) return 0;
  PyErr_Clear();
  return 1;
}

/* The step that reads an instance; NULL if there is none. */
static const ks_step *ks_step_called(const ks_unit *unit, PyObject *name) {
  for (Py_ssize_t i = 0; i < unit->reads; i++) {
    const int same = PyObject_RichCompareBool(unit->sought[i], name, Py_EQ);
    if (same) return same < 0 ? NULL : &unit->read[i];
  }
  return NULL;
}

static PyObject *ks_sought(ks_run *run, const ks_at *at, const ks_step *step) {
  PyObject *found;
  if (step->what == KS_S_MANY) return ks_many(run, at, step, 0);
  if (step->what != KS_S_ONE) return NULL;
  found = ks_element_at(run, at, at->io, step->element, -1);
  if (found != NULL && ks_rules(run, at, step->rule, step->rules, found) < 0) Py_CLEAR(found);
  return found;
}

/* Fill `node` from the stream `source`, or read the instance `of_instance` into `*to`; 1, 0 if Python must do it, or
 * -1. */
static int ks_read(ks_unit *unit, PyObject *node, PyObject *source, PyObject *of_instance, PyObject **to) {
  PyObject *const stand = *kd_in(source, ks.in_source.stand), *const buf = *kd_in(source, ks.in_source.buf);
  PyObject *options, *bits;
  ks_run run = {NULL, NULL, buf, 0, 0, 0, 0, 0, 0, 0, 0, NULL};
  ks_stream io = {NULL, NULL, 0, 0, 0, 0, 0, source};
  const ks_at at = {node, unit, &io, NULL, 0};
  int64_t base, start, end, left;
  ks_stream saved;
  const ks_step *step = NULL;
  Py_buffer view;
  int status;
  if (stand != Py_None) {
    PyObject *current;
    if (!PyList_Check(stand) || PyList_GET_SIZE(stand) != 1) return 0;
    current = PyList_GET_ITEM(stand, 0);
    if (current != source && (current != Py_None || *kd_in(source, ks.in_source.main) != Py_None)) return 0;
  }
  run.state = *kd_in(source, ks.in_source.state);
  bits = *kd_in(source, ks.in_source.bits);
  if (run.state == NULL || Py_TYPE(run.state) != ks.state || buf == NULL || bits == NULL || !PyLong_CheckExact(bits))
    return 0;
  if (*kd_in(run.state, ks.in_state.native) != Py_True) return 0;
  options = *kd_in(run.state, ks.in_state.opt);
  if (options == NULL || ks_option(options, ks.depth, &run.deepest) < 0 || ks_option(options, ks.elements, &run.elements) < 0)
    return -1;
  if (ks_take_whole(run.state, ks.in_state.depth, &run.depth) < 0 ||
      ks_take_whole(run.state, ks.in_state.empty, &run.empty) < 0 ||
      ks_take_whole(run.state, ks.in_state.room, &run.room) < 0 ||
      ks_take_whole(source, ks.in_source.base, &base) < 0 || ks_take_whole(source, ks.in_source.at, &start) < 0 ||
      ks_take_whole(source, ks.in_source.end, &end) < 0 || ks_take_whole(source, ks.in_source.left, &left) < 0 ||
      left > 63 || run.room > INT64_MAX / 16)
    return 0;
  io.bits = PyLong_AsUnsignedLongLong(bits);
  if (io.bits == (uint64_t)-1 && PyErr_Occurred()) {
    PyErr_Clear();
    return 0;
  }
  if (ks_begin(unit) < 0) return -1;
  if (of_instance != NULL && (step = ks_step_called(unit, of_instance)) == NULL) return PyErr_Occurred() ? -1 : 0;
  if (PyObject_GetBuffer(buf, &view, PyBUF_SIMPLE) < 0) {
    PyErr_Clear();
    return 0;
  }
  if (base < 0 || start < base || end < base || end > view.len || start > end) {
    PyBuffer_Release(&view);
    return 0;
  }
  io.buf = run.bytes = view.buf;
  io.base = (Py_ssize_t)base;
  io.at = (Py_ssize_t)start;
  io.end = (Py_ssize_t)end;
  io.left = (int)left;
  saved = io;
  run.top = &io;
  const int64_t empty = run.empty, room = run.room;
  PyObject *const later = *kd_in(run.state, ks.in_state.unchecked);
  const Py_ssize_t unchecked = later == NULL || !PyList_Check(later) ? 0 : PyList_GET_SIZE(later);
  Py_INCREF(source);
  const signed char order = ks_node_of(node)->order;
  {
    const int collects = PyGC_Disable();
    if (step == NULL) {
      status = ks_steps(&run, &at, unit->step, unit->steps);
    } else {
      *to = ks_sought(&run, &at, step);
      status = *to == NULL ? -1 : 0;
    }
    if (collects) PyGC_Enable();
  }
  if (status == 0 && ks_sync(&run) == 0) {
    status = 1;
  } else if (ks_given_up(&run)) {
    run.empty = empty;
    run.room = room;
    io = saved;
    run.top = &io;
    if (step == NULL) {
      for (Py_ssize_t i = 0; i < unit->fields; i++) ks_initial(node, unit->field[i], unit->initial[i]);
      Py_CLEAR(ks_node_of(node)->rare);
    }
    if (later != NULL && PyList_Check(later) && PyList_GET_SIZE(later) > unchecked &&
        PyList_SetSlice(later, unchecked, PyList_GET_SIZE(later), NULL) < 0)
      PyErr_Clear();
    ks_node_of(node)->order = order;
    ks_initial(run.state, ks.in_state.native, Py_False);
    status = ks_sync(&run) < 0 ? -1 : 0;
  } else {
    status = -1;
  }
  if (status <= 0 && to != NULL) Py_CLEAR(*to);
  Py_DECREF(source);
  PyBuffer_Release(&view);
  return status;
}

static PyObject *ks_unit_read(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  ks_unit *const unit = (ks_unit *)self;
  int status = 0;
  if (count != 2) return PyErr_Format(PyExc_TypeError, "read takes an object and a stream");
  if ((PyObject *)Py_TYPE(args[0]) == unit->cls && Py_TYPE(args[1]) == ks.source) status = ks_read(unit, args[0], args[1], NULL, NULL);
  return status < 0 ? NULL : PyBool_FromLong(status);
}

/* What the streams of one reading have in common (`ReadingState`). */
static PyObject *ks_new_state(PyObject *options) {
  PyObject *const state = ks.state->tp_alloc(ks.state, 0);
  if (state == NULL) return NULL;
  ks_initial(state, ks.in_state.opt, options);
  ks_initial(state, ks.in_state.native, Py_True);
  ks_initial(state, ks.in_state.inflated, ks.zero);
  if (kd_put(kd_in(state, ks.in_state.sought), PyList_New(0)) < 0 ||
      kd_put(kd_in(state, ks.in_state.stored), PyDict_New()) < 0 ||
      kd_put(kd_in(state, ks.in_state.unchecked), PyList_New(0)) < 0) {
    Py_DECREF(state);
    return NULL;
  }
  return state;
}

/* `whole(cls, data, options)`: an object read from bytes that are a stream; None if Python must do it. */
static PyObject *ks_unit_whole(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  ks_unit *const unit = (ks_unit *)self;
  PyObject *node = NULL;
  ks_stream io;
  if (count != 3) return PyErr_Format(PyExc_TypeError, "whole takes a class, bytes and options");
  if (args[0] != unit->cls || !PyBytes_CheckExact(args[1])) Py_RETURN_NONE;
  if (ks_begin(unit) < 0) return NULL;
  if (unit->parameters) Py_RETURN_NONE;
  const Py_ssize_t size = PyBytes_GET_SIZE(args[1]);
  ks_element outermost = {.kind = KS_E_OBJECT, .cls = (PyTypeObject *)unit->cls, .unit = unit};
  ks_run run = {.whole = args[1], .bytes = (const uint8_t *)PyBytes_AS_STRING(args[1]), .room = size + ks.spare};
  if (ks_option(args[2], ks.depth, &run.deepest) < 0 || ks_option(args[2], ks.elements, &run.elements) < 0) return NULL;
  if ((run.state = ks_new_state(args[2])) == NULL) return NULL;
  const int collects = PyGC_Disable();
  if (ks_sync(&run) == 0 && ks_open(&run, &io, args[1], run.bytes, 0, size) == 0) {
    node = ks_made(&run, NULL, &io, &outermost, -1);
    if (ks_close(&run, &io, node == NULL ? -1 : ks_sync(&run)) < 0) Py_CLEAR(node);
  }
  if (collects) PyGC_Enable();
  Py_DECREF(run.state);
  if (node != NULL) return node;
  if (!ks_given_up(&run)) return NULL;
  Py_RETURN_NONE;
}

static PyObject *ks_unit_instance(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  ks_unit *const unit = (ks_unit *)self;
  PyObject *found = NULL;
  int status = 0;
  if (count != 3) return PyErr_Format(PyExc_TypeError, "instance takes an object, a name and a stream");
  if ((PyObject *)Py_TYPE(args[0]) == unit->cls && Py_TYPE(args[2]) == ks.source)
    status = ks_read(unit, args[0], args[2], args[1], &found);
  if (status < 0) return NULL;
  if (found != NULL) return found;
  Py_RETURN_NONE;
}

/* ------------------------------------------------------------------ the class */

static PyObject *ks_unit_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"cls", "table", NULL};
  PyObject *cls, *table;
  ks_unit *self;
  if (ks.node == NULL) return PyErr_Format(PyExc_RuntimeError, "kodec.runtime.streams was not imported");
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O", names, &PyType_Type, &cls, &table)) return NULL;
  if (!PyType_IsSubtype((PyTypeObject *)cls, ks.node) || !PyCallable_Check(table))
    return PyErr_Format(PyExc_TypeError, "a unit is made of a class of streamed objects and a function");
  self = (ks_unit *)type->tp_alloc(type, 0);
  if (self == NULL) return NULL;
  Py_INCREF(cls);
  Py_INCREF(table);
  self->cls = cls;
  self->table = table;
  return (PyObject *)self;
}

static int ks_unit_traverse(PyObject *object, visitproc visit, void *arg) {
  const ks_unit *const self = (ks_unit *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->cls);
  Py_VISIT(self->table);
  Py_VISIT(self->entry);
  for (const ks_memory *each = self->blocks; each != NULL; each = each->next)
    if (each->expr != NULL) Py_VISIT(each->expr->seen);
  return 0;
}

static void ks_unit_dealloc(PyObject *object) {
  ks_unit *const self = (ks_unit *)object;
  PyTypeObject *const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  ks_forget(self);
  Py_XDECREF(self->entry);
  Py_XDECREF(self->table);
  Py_XDECREF(self->cls);
  type->tp_free(object);
  Py_DECREF(type);
}

/* ------------------------------------------------------------------ the base of objects */

static int ks_node_traverse(PyObject *object, visitproc visit, void *arg) {
  const ks_node *const self = ks_node_of(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->around);
  Py_VISIT(self->outer);
  Py_VISIT(self->io);
  Py_VISIT(self->rare);
  return 0;
}

static int ks_node_clear(PyObject *object) {
  ks_node *const self = ks_node_of(object);
  Py_CLEAR(self->around);
  Py_CLEAR(self->outer);
  Py_CLEAR(self->io);
  Py_CLEAR(self->rare);
  return 0;
}

static void ks_node_dealloc(PyObject *object) {
  PyTypeObject *const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (ks_node_of(object)->weak != NULL) PyObject_ClearWeakRefs(object);
  ks_node_clear(object);
  type->tp_free(object);
  Py_DECREF(type);
}

/* `__post_init__`: as it is before it is read. */
static PyObject *ks_node_begin(PyObject *object, PyObject *nothing) {
  ks_node *const self = ks_node_of(object);
  (void)nothing;
  ks_node_clear(object);
  self->start = self->stop = 0;
  self->depth = 0;
  self->order = -1;
  Py_RETURN_NONE;
}

static PyObject *ks_node_order(PyObject *object, void *closure) {
  const int order = ks_node_of(object)->order;
  (void)closure;
  return Py_NewRef(order < 0 ? Py_None : order ? Py_True : Py_False);
}

static int ks_node_set_order(PyObject *object, PyObject *value, void *closure) {
  (void)closure;
  ks_node_of(object)->order = ks_order_of(value);
  return 0;
}

/* Set an attribute. Then the object may be part of a cycle. */
static int ks_node_set(PyObject *object, PyObject *name, PyObject *value) {
  if (!PyObject_GC_IsTracked(object)) PyObject_GC_Track(object);
  return PyObject_GenericSetAttr(object, name, value);
}

static PyMemberDef ks_node_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ks_node, weak), READONLY, NULL},
    {"_around", T_OBJECT, offsetof(ks_node, around), 0, NULL},
    {"_outer", T_OBJECT, offsetof(ks_node, outer), 0, NULL},
    {"_io", T_OBJECT, offsetof(ks_node, io), 0, NULL},
    {"_rare", T_OBJECT, offsetof(ks_node, rare), 0, NULL},
    {"_start", T_PYSSIZET, offsetof(ks_node, start), 0, NULL},
    {"_stop", T_PYSSIZET, offsetof(ks_node, stop), 0, NULL},
    {"_depth", T_INT, offsetof(ks_node, depth), 0, NULL},
    {"_freed", T_BOOL, offsetof(ks_node, freed), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef ks_node_getset[] = {
    {"_is_le", ks_node_order, ks_node_set_order, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef ks_node_methods[] = {
    {"__post_init__", ks_node_begin, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot ks_node_slots[] = {
    {Py_tp_dealloc, ks_node_dealloc},
    {Py_tp_traverse, ks_node_traverse},
    {Py_tp_clear, ks_node_clear},
    {Py_tp_finalize, ks_finalize},
    {Py_tp_setattro, ks_node_set},
    {Py_tp_members, ks_node_members},
    {Py_tp_getset, ks_node_getset},
    {Py_tp_methods, ks_node_methods},
    {0, NULL},
};

static PyType_Spec ks_node_spec = {"kodec.runtime.native.streams.Node", sizeof(ks_node), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, ks_node_slots};

static PyMethodDef ks_unit_methods[] = {
    {"read", (PyCFunction)(void (*)(void))ks_unit_read, METH_FASTCALL, NULL},
    {"whole", (PyCFunction)(void (*)(void))ks_unit_whole, METH_FASTCALL, NULL},
    {"instance", (PyCFunction)(void (*)(void))ks_unit_instance, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot ks_unit_slots[] = {
    {Py_tp_new, ks_unit_new},
    {Py_tp_dealloc, ks_unit_dealloc},
    {Py_tp_traverse, ks_unit_traverse},
    {Py_tp_methods, ks_unit_methods},
    {0, NULL},
};

static PyType_Spec ks_unit_spec = {"kodec.runtime.native.streams.Unit", sizeof(ks_unit), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, ks_unit_slots};

#include "kodec_frames.h"
#include "kodec_table.h"

/* ------------------------------------------------------------------ the module */

static int ks_set_slot(PyTypeObject *cls, const char *name, Py_ssize_t *to) {
  PyObject *const text = PyUnicode_InternFromString(name);
  if (text == NULL) return -1;
  *to = kd_slot(cls, text);
  Py_DECREF(text);
  return *to < 0 ? -1 : 0;
}

static int ks_set_class(PyObject *module, const char *name, PyTypeObject **to) {
  PyObject *const found = PyObject_GetAttrString(module, name);
  if (found == NULL) return -1;
  *to = (PyTypeObject *)found;
  return PyType_Check(found) ? 0 : -1;
}

static int ks_import(PyObject *module) {
  static const struct {
    PyTypeObject **cls;
    const char *name;
    Py_ssize_t *slot;
  } slots[] = {
      {&ks.source, "_bits", &ks.in_source.bits},   {&ks.source, "_left", &ks.in_source.left},
      {&ks.source, "_main", &ks.in_source.main},
      {&ks.source, "_stand", &ks.in_source.stand}, {&ks.source, "at", &ks.in_source.at},
      {&ks.source, "base", &ks.in_source.base},    {&ks.source, "buf", &ks.in_source.buf},
      {&ks.source, "end", &ks.in_source.end},      {&ks.source, "state", &ks.in_source.state},
      {&ks.state, "depth", &ks.in_state.depth},    {&ks.state, "empty", &ks.in_state.empty},
      {&ks.state, "native", &ks.in_state.native},  {&ks.state, "opt", &ks.in_state.opt},
      {&ks.state, "room", &ks.in_state.room},      {&ks.state, "unchecked", &ks.in_state.unchecked},
      {&ks.state, "inflated", &ks.in_state.inflated}, {&ks.state, "sought", &ks.in_state.sought},
      {&ks.state, "stored", &ks.in_state.stored},
      {&ks.rare, "marks", &ks.in_rare.marks},      {&ks.rare, "out", &ks.in_rare.out},
      {&ks.rare, "places", &ks.in_rare.places},    {&ks.rare, "spans", &ks.in_rare.spans},
      {&ks.rare, "taught", &ks.in_rare.taught},    {&ks.rare, "values", &ks.in_rare.values},
  };
  static const struct {
    const char *text;
    PyObject **to;
  } names[] = {{"_native", &ks.native}, {"depth", &ks.depth}, {"elements", &ks.elements}, {"pos", &ks.pos},
               {"size", &ks.size},      {"eof", &ks.eof},     {"read", &ks.read},         {"root", &ks.root},
               {"_check", &ks.check},
               {"_made", &ks.made}};
  PyObject *spare;
  if (ks_set_class(module, "ByteSource", &ks.source) < 0 || ks_set_class(module, "ReadingState", &ks.state) < 0 ||
      ks_set_class(module, "StreamNode", &ks.node) < 0 || ks_set_class(module, "_Rare", &ks.rare) < 0)
    return -1;
  for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
    if (ks_set_slot(*slots[i].cls, slots[i].name, slots[i].slot) < 0) return -1;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if ((*names[i].to = PyUnicode_InternFromString(names[i].text)) == NULL) return -1;
  ks.zero = PyLong_FromLong(0);
  ks.stay = PyObject_GetAttrString(module, "_stay");
  if ((spare = PyObject_GetAttrString(module, "_SPARE")) == NULL) return -1;
  ks.spare = PyLong_AsSsize_t(spare);
  Py_DECREF(spare);
  return ks.zero == NULL || ks.stay == NULL ? -1 : 0;
}

/* `begin(module)`: use the classes of `kodec.runtime.streams`, which is derived from this module. */
static PyObject *ks_begin_module(PyObject *self, PyObject *module) {
  (void)self;
  if (ks_import(module) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef ks_methods[] = {
    {"begin", ks_begin_module, METH_O, NULL}, {"is_free", ks_is_free, METH_O, NULL}, {NULL, NULL, 0, NULL}};

static PyModuleDef ks_module = {
    PyModuleDef_HEAD_INIT, "streams", "Objects of streamed schemas read natively, by what the generator wrote of them.",
    -1, ks_methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_streams(void) {
  PyObject *module, *rows;
  module = PyModule_Create(&ks_module);
  if (module == NULL) return NULL;
  ks_unit_type = (PyTypeObject *)PyType_FromSpec(&ks_unit_spec);
  ks_node_type = (PyTypeObject *)PyType_FromSpec(&ks_node_spec);
  rows = PyType_FromSpec(&kr_spec);
  if (ks_unit_type == NULL || ks_node_type == NULL || rows == NULL ||
      PyModule_AddObjectRef(module, "Node", (PyObject *)ks_node_type) < 0 || PyModule_AddObjectRef(module, "Unit", (PyObject *)ks_unit_type) < 0 ||
      PyModule_AddObjectRef(module, "Rows", rows) < 0)
    Py_CLEAR(module);
  Py_XDECREF(rows);
  return module;
}
