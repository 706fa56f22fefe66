/* The steps of a unit as a program: what is known before any byte is read is found once.
 *
 * A program reads an object together with those in its frame (`inlined`). Numbers and bytes of fixed size that follow each
 * other are one run with one check of bounds, through the borders of objects; each goes straight to its column, and to its
 * slot only if something may ask for it. What nobody wants costs nothing but its bytes. Included by kodec_table.h. */
#ifndef KODEC_PROGRAM_H
#define KODEC_PROGRAM_H

/* How a column takes a number: as a value, or its bytes as they are, or reversed, or by the place of an enum's number. */
typedef enum { KP_NOWHERE, KP_AS_VALUE, KP_COPY1, KP_COPY2, KP_COPY4, KP_COPY8, KP_SWAP2, KP_SWAP4, KP_SWAP8, KP_PLACE1 } kp_put;

typedef struct {
  kp_put put;
  Py_ssize_t offset, node, slot; /* in the bytes of the run, and of its object and its slot in the frame */
  int keep;
  const ks_slot *of;
  const char *contents;      /* what bytes have to be, or NULL */
  const ks_charset *charset; /* of text, or NULL */
  kb_column *column;         /* the only one, where it takes numbers of this very type */
  Py_ssize_t leaves;
  const kf_leaf *leaf;
} kp_load;

typedef enum { KP_RUN, KP_BEGIN, KP_DONE, KP_WHEN, KP_ALIGN, KP_ORDER, KP_ONE, KP_MANY, KP_LEAVES } kp_code;

typedef struct {
  kp_code code;
  Py_ssize_t node, slot, level; /* the object at hand and its slot in the frame; how deep it is in it */
  const ks_step *step;
  kf_wish *wish;       /* inside the element */
  int passes, held;    /* whether it may be passed over; whether something may ask for the list */
  int ruled;           /* whether numbers of a run have rules */
  Py_ssize_t size;     /* the bytes of a run; how many operations a condition is for */
  Py_ssize_t loads, first;
  const kp_load *load;
  Py_ssize_t leaves;
  const kf_leaf *leaf;
  kb_column *column;   /* of a list, if it takes elements as soon as they are read */
} kp_op;

typedef struct kf_program {
  const kp_op *op;
  Py_ssize_t *start; /* the first operation of each step of the unit, and the end */
  Py_ssize_t levels; /* of objects in the frame */
} kf_program;

/* Whether a column takes bytes or text, and any. */
static int kb_is_octets(const kb_column *column) {
  return (column->kind == KB_BYTES || column->kind == KB_TEXT) && column->guard == NULL && !column->accepts;
}

/* ------------------------------------------------------------------ from steps to programs */

typedef struct {
  kf_run *run;
  ks_unit *owner;
  kp_op *op;
  kp_load *load;
  Py_ssize_t ops, op_room, loads, load_room, levels;
  int open;   /* whether the last operation is a run that may go on */
  int steady; /* whether what is read comes in each row */
} kp_maker;

static void *kp_grown(void *items, Py_ssize_t count, Py_ssize_t *room, size_t size) {
  void *grown;
  if (count < *room) return items;
  *room = *room ? 2 * *room : 32;
  grown = PyMem_Realloc(items, (size_t)*room * size);
  if (grown == NULL) PyErr_NoMemory();
  return grown;
}

static kp_op *kp_add(kp_maker *maker, kp_code code, const ks_step *step, Py_ssize_t node, Py_ssize_t level) {
  kp_op *const grown = kp_grown(maker->op, maker->ops, &maker->op_room, sizeof(kp_op));
  if (grown == NULL) return NULL;
  maker->op = grown;
  maker->open = 0;
  grown[maker->ops] = (kp_op){.code = code, .step = step, .node = node, .level = level, .first = maker->loads};
  return &grown[maker->ops++];
}

/* The same, but before a run that may go on: nothing can ask while that is read. */
static kp_op *kp_add_before(kp_maker *maker, kp_code code, const ks_step *step, Py_ssize_t node, Py_ssize_t level) {
  const int open = maker->open;
  kp_op *const op = kp_add(maker, code, step, node, level);
  kp_op run;
  if (op == NULL || !open) return op;
  run = op[-1];
  op[-1] = *op;
  *op = run;
  maker->open = 1;
  return op - 1;
}

/* The columns of a slot, which a wish has in the order of places. */
static const kf_leaf *kp_leaves_of(const kp_maker *maker, const kf_wish *wish, Py_ssize_t place, Py_ssize_t *count) {
  Py_ssize_t first = 0;
  *count = 0;
  if (wish == NULL || !maker->run->fills) return NULL;
  while (first < wish->leaves && wish->leaf[first].place < place) first++;
  while (first + *count < wish->leaves && wish->leaf[first + *count].place == place) ++*count;
  return *count ? &wish->leaf[first] : NULL;
}

static void kp_choose_put(kp_load *load) {
  static const kp_put copies[] = {KP_NOWHERE, KP_COPY1, KP_COPY2, KP_AS_VALUE, KP_COPY4, [8] = KP_COPY8};
  static const kp_put swaps[] = {KP_NOWHERE, KP_COPY1, KP_SWAP2, KP_AS_VALUE, KP_SWAP4, [8] = KP_SWAP8};
  const ks_slot *const of = load->of;
  const uint16_t one = 1;
  const int little = *(const uint8_t *)&one;
  load->put = load->keep || load->leaves ? KP_AS_VALUE : KP_NOWHERE;
  if (load->leaves != 1 || of->wire > KS_F8) return;
  load->column = load->leaf->column;
  if (load->column->exact && of->wire <= KS_S8) {
    if (of->size > 1 && of->order != KS_LE && of->order != KS_BE) load->column = NULL;
    else if (!load->keep) load->put = (of->order == KS_LE) == little ? copies[of->size] : swaps[of->size];
  } else {
    if (load->column->kind == KB_ENUM && of->wire == KS_U1 && !load->keep && load->column->guard == NULL && !load->column->accepts)
      load->put = KP_PLACE1;
    else load->column = NULL;
  }
}

/* A number, or bytes of fixed size, that follow. */
static int kp_put_load(kp_maker *maker, const ks_unit *unit, const kf_wish *wish, Py_ssize_t node, const ks_slot *slot, kp_load load) {
  const int wanted = wish == NULL ? KF_KEPT : wish->slot[slot->place];
  const int asked = wish == NULL || maker->run->keeps || unit->asked[slot->place] || (maker->run->fills ? wanted & KF_KEPT : wanted);
  kp_load *grown;
  load.of = slot;
  load.node = node;
  load.slot = node + (Py_ssize_t)offsetof(kf_node, slot) + slot->place * (Py_ssize_t)sizeof(kf_val);
  load.keep = asked || slot->rules;
  load.leaf = kp_leaves_of(maker, wish, slot->place, &load.leaves);
  kp_choose_put(&load);
  if (maker->steady && load.column != NULL && load.put != KP_PLACE1) load.column->steady = 1;
  if (load.put == KP_NOWHERE && load.contents == NULL) return 0;
  grown = kp_grown(maker->load, maker->loads, &maker->load_room, sizeof(kp_load));
  if (grown == NULL) return -1;
  maker->load = grown;
  grown[maker->loads++] = load;
  maker->op[maker->ops - 1].loads++;
  return 0;
}

/* The run that goes on, or a new one. */
static kp_op *kp_run(kp_maker *maker, Py_ssize_t node, Py_ssize_t level) {
  kp_op *const op = maker->open ? &maker->op[maker->ops - 1] : kp_add(maker, KP_RUN, NULL, node, level);
  maker->open = 1;
  return op;
}

static int kp_add_fixed(kp_maker *maker, const ks_unit *unit, const ks_step *step, const kf_wish *wish, Py_ssize_t node, Py_ssize_t level) {
  kp_op *const op = kp_run(maker, node, level);
  if (op == NULL) return -1;
  for (Py_ssize_t i = 0; i < step->slots; i++)
    if (kp_put_load(maker, unit, wish, node, &step->in[i], (kp_load){.offset = op->size + step->in[i].offset}) < 0) return -1;
  op->size += step->size;
  op->ruled |= step->rules > 0;
  if (step->rules) maker->open = 0;
  return 0;
}

/* One number, or bytes of a size that is known: 1, or 0 where it is something else. */
static int kp_add_one(kp_maker *maker, const ks_unit *unit, const ks_step *step, const kf_wish *wish, Py_ssize_t node, Py_ssize_t level) {
  const ks_element *const element = step->element;
  const ks_bounds *const bounds = element->bounds;
  kp_load load = {.put = KP_NOWHERE};
  Py_ssize_t size;
  ks_slot *slot;
  kp_op *op;
  if (element->kind == KS_E_NUMBER) {
    size = ks_widths[element->wire];
  } else if (element->kind == KS_E_BYTES || element->kind == KS_E_TEXT) {
    if (bounds->process != NULL || (element->kind == KS_E_TEXT && element->charset.encoding == KS_OTHER)) return 0;
    if (bounds->how == KS_IN_FIXED) {
      size = bounds->fixed;
      load.contents = bounds->contents;
    } else if (bounds->how == KS_IN_SIZE && bounds->size->op == KS_CONSTANT && bounds->size->constant.kind == KS_WHOLE &&
               bounds->size->constant.i >= 0 && bounds->size->constant.i < INT16_MAX && bounds->pad < 0 && bounds->terminator == NULL) {
      size = (Py_ssize_t)bounds->size->constant.i;
    } else {
      return 0;
    }
    if (element->kind == KS_E_TEXT) load.charset = &element->charset;
  } else {
    return 0;
  }
  if ((slot = ks_new(maker->owner, 1, sizeof(ks_slot))) == NULL || (op = kp_run(maker, node, level)) == NULL) return -1;
  *slot = (ks_slot){.place = step->place, .size = (int)size, .rules = step->rules, .rule = step->rule};
  slot->wire = element->kind == KS_E_NUMBER ? element->wire : KS_BYTES;
  slot->order = element->kind == KS_E_NUMBER ? element->order : KS_ANY_ORDER;
  slot->as = ks_loaded_as(slot->wire, slot->order);
  load.offset = op->size;
  if (kp_put_load(maker, unit, wish, node, slot, load) < 0) return -1;
  op->size += size;
  op->ruled |= step->rules > 0;
  if (step->rules) maker->open = 0;
  return 1;
}

static int kp_add_steps(kp_maker *maker, ks_unit *unit, ks_step *steps, Py_ssize_t count, kf_wish *wish, int whole, Py_ssize_t node,
                        Py_ssize_t level, Py_ssize_t *start);

/* An object in the frame. What is before it in a run may go on in it. */
static int kp_add_inlined(kp_maker *maker, const ks_step *step, kf_wish *wish, int whole, Py_ssize_t node, Py_ssize_t level,
                          const kf_leaf *leaf, Py_ssize_t leaves) {
  ks_unit *const unit = step->element->unit;
  kp_op *op = kp_add_before(maker, KP_BEGIN, step, node, level);
  if (op == NULL) return -1;
  if (level + 1 > maker->levels) maker->levels = level + 1;
  while (wish != NULL && wish->unit != unit) wish = wish->next;
  if (kp_add_steps(maker, unit, unit->step, unit->steps, wish, whole, node + step->inlined, level + 1, NULL) < 0) return -1;
  op = step->rules || leaves ? kp_add(maker, KP_DONE, step, node, level) : kp_add_before(maker, KP_DONE, step, node, level);
  if (op == NULL) return -1;
  op->leaf = leaf;
  op->leaves = leaves;
  return 0;
}

static int kf_is_packed(const ks_step *step) {
  const ks_element *const element = step->element;
  return element->kind == KS_E_NUMBER && !element->cast.flag && element->cast.members == NULL && !step->rules && step->ends != KS_BY_UNTIL;
}

/* Whether a column takes the elements of a list one by one. */
static int kp_is_sink(const kb_column *column, const ks_step *step) {
  return column->kind == KB_LIST && column->guard == NULL && !column->accepts && !kf_is_packed(step);
}

static int kp_add_step(kp_maker *maker, ks_unit *unit, ks_step *step, kf_wish *wish, int whole, Py_ssize_t node, Py_ssize_t level) {
  kf_wish *inner = NULL;
  const kf_leaf *leaf;
  Py_ssize_t at, leaves;
  int wanted = 1, asked = 1;
  kp_op *op;
  switch (step->what) {
    case KS_S_ALIGN: return kp_add(maker, KP_ALIGN, step, node, level) == NULL ? -1 : 0;
    case KS_S_ORDER: return kp_add(maker, KP_ORDER, step, node, level) == NULL ? -1 : 0;
    case KS_S_WHEN:
      at = maker->ops;
      if (kp_add(maker, KP_WHEN, step, node, level) == NULL) return -1;
      wanted = maker->steady;
      maker->steady = 0;
      if (kp_add_steps(maker, unit, step->steps, step->inner, wish, whole, node, level, NULL) < 0) return -1;
      maker->steady = wanted;
      maker->op[at].size = maker->ops - at - 1;
      maker->open = 0;
      return 0;
    /* of bytes that only a check asks for */
    case KS_S_BEGIN:
    case KS_S_END: return 0;
    case KS_S_FIXED:
      if (!unit->loose) return kp_add_fixed(maker, unit, step, wish, node, level);
      if (kp_add(maker, KP_ALIGN, step, node, level) == NULL) return -1;
      return kp_add_fixed(maker, unit, step, wish, node, level);
    default: break;
  }
  if (wish != NULL) {
    asked = unit->asked[step->place];
    wanted = wish->slot[step->place];
    inner = wish->inner[step->place];
  }
  if (step->what == KS_S_ONE && !unit->loose) {
    const int status = kp_add_one(maker, unit, step, wish, node, level);
    if (status) return status < 0 ? -1 : 0;
  }
  leaf = kp_leaves_of(maker, wish, step->place, &leaves);
  /* an expression may ask for anything inside */
  whole |= asked;
  for (kf_wish *each = inner; each != NULL; each = each->next) each->whole = whole;
  if (step->inlined) return kp_add_inlined(maker, step, wanted || whole ? inner : NULL, whole, node, level, leaf, leaves);
  op = kp_add(maker, step->what == KS_S_MANY ? KP_MANY : KP_ONE, step, node, level);
  if (op == NULL) return -1;
  op->passes = !whole && !wanted;
  op->wish = op->passes ? NULL : inner;
  op->slot = node + (Py_ssize_t)offsetof(kf_node, slot) + step->place * (Py_ssize_t)sizeof(kf_val);
  op->leaf = leaf;
  op->leaves = leaves;
  if (step->what == KS_S_ONE) return 0;
  op->held = wish == NULL || asked || maker->run->keeps || leaves != 1 || (wish->slot[step->place] & KF_KEPT) || !kp_is_sink(leaf->column, step);
  if (leaves == 1 && kp_is_sink(leaf->column, step)) op->column = leaf->column;
  return 0;
}

static int kp_is_read(const ks_step *steps, Py_ssize_t count, Py_ssize_t place) {
  for (Py_ssize_t i = 0; i < count; i++) {
    if (steps[i].what == KS_S_WHEN && kp_is_read(steps[i].steps, steps[i].inner, place)) return 1;
    if ((steps[i].what == KS_S_ONE || steps[i].what == KS_S_MANY) && steps[i].place == place) return 1;
    for (Py_ssize_t j = 0; steps[i].what == KS_S_FIXED && j < steps[i].slots; j++)
      if (steps[i].in[j].place == place) return 1;
  }
  return 0;
}

static int kp_add_steps(kp_maker *maker, ks_unit *unit, ks_step *steps, Py_ssize_t count, kf_wish *wish, int whole, Py_ssize_t node,
                        Py_ssize_t level, Py_ssize_t *start) {
  for (Py_ssize_t i = 0; i < count; i++) {
    if (start != NULL) {
      start[i] = maker->ops;
      maker->open = 0;
    }
    if (kp_add_step(maker, unit, &steps[i], wish, whole, node, level) < 0) return -1;
  }
  if (steps != unit->step || wish == NULL || !maker->run->fills) return 0;
  for (Py_ssize_t i = 0; i < wish->leaves; i++) {
    /* a parameter */
    kp_op *op;
    const Py_ssize_t place = wish->leaf[i].place;
    if (kp_is_read(unit->step, unit->steps, place)) continue;
    if ((op = kp_add(maker, KP_LEAVES, NULL, node, level)) == NULL) return -1;
    op->slot = node + (Py_ssize_t)offsetof(kf_node, slot) + place * (Py_ssize_t)sizeof(kf_val);
    op->leaf = &wish->leaf[i];
    op->leaves = 1;
  }
  return 0;
}

/* The program of a unit and a wish; with `apart`, each step can be taken by itself. NULL with an error. */
static const kf_program *kf_lowered(kf_run *run, ks_unit *unit, kf_wish *wish, int apart) {
  kf_program **const to = wish != NULL ? &wish->program : apart ? &unit->apart : &unit->program;
  ks_unit *const owner = wish != NULL ? run->own : unit;
  kp_maker maker = {.run = run, .owner = owner, .steady = wish != NULL && wish->steady && run->fills};
  kf_program *made;
  kp_op *ops = NULL;
  kp_load *loads = NULL;
  if (KD_LIKELY(*to != NULL)) return *to;
  made = ks_new(owner, 1, sizeof(kf_program));
  if (made != NULL) made->start = ks_new(owner, (size_t)unit->steps + 1, sizeof(Py_ssize_t));
  if (made != NULL && made->start != NULL &&
      kp_add_steps(&maker, unit, unit->step, unit->steps, wish, wish != NULL && wish->whole, 0, 0, apart ? made->start : NULL) == 0 &&
      (ops = ks_new(owner, (size_t)maker.ops, sizeof(kp_op))) != NULL && (loads = ks_new(owner, (size_t)maker.loads, sizeof(kp_load))) != NULL) {
    if (maker.loads) memcpy(loads, maker.load, (size_t)maker.loads * sizeof(kp_load));
    if (maker.ops) memcpy(ops, maker.op, (size_t)maker.ops * sizeof(kp_op));
    for (Py_ssize_t i = 0; i < maker.ops; i++) ops[i].load = loads + ops[i].first;
    made->op = ops;
    made->start[unit->steps] = maker.ops;
    made->levels = maker.levels;
    *to = made;
  }
  PyMem_Free(maker.op);
  PyMem_Free(maker.load);
  return *to;
}

/* ------------------------------------------------------------------ to take steps */

KD_INLINE int kp_fill(kf_run *run, const kf_leaf *leaf, Py_ssize_t leaves, const kf_val *value) {
  for (const kf_leaf *const end = leaf + leaves; leaf < end; leaf++) {
    kb_column *const column = leaf->column;
    if (leaf->takes == 1 && value->kind > KF_NULL) {
      if (kb_octets(run, column, value, run->row) < 0) return -1;
    } else if (leaf->takes == 2 && value->kind == KF_NODE && value->as.node->unit->cls == (PyObject *)column->classes[column->last]) {
      const int32_t place = (int32_t)column->last;
      if (kb_next(column, run->row) < 0 || kb_room(&column->data, 4 * (run->row + 1)) < 0) return -1;
      memcpy(column->data.p + 4 * run->row, &place, 4);
    } else if (kb_fill_value(run, column, value, run->row) < 0) {
      return -1;
    }
  }
  return 0;
}

/* Where a column takes a row's number, which is there; NULL without memory. */
KD_INLINE uint8_t *kp_next(const kp_load *load, Py_ssize_t row, Py_ssize_t width) {
  kb_column *const column = load->column;
  if (KD_LIKELY(column->steady)) return column->data.p + row * width;
  if (KD_UNLIKELY((row + 1) * width > column->data.room) && kb_room(&column->data, (row + 1) * width) < 0) return NULL;
  return kb_next(column, row) < 0 ? NULL : column->data.p + row * width;
}

static int kp_value(const kf_node *node, const kp_load *load, const uint8_t *p, kf_val *to) {
  const ks_slot *const of = load->of;
  to->kind = KF_INT;
  switch (of->as) {
    case KS_AS_U1: to->as.i = p[0]; return 0;
    case KS_AS_S1: to->as.i = (int8_t)p[0]; return 0;
    case KS_AS_U2LE: to->as.i = kd_load_u2le(p); return 0;
    case KS_AS_U2BE: to->as.i = kd_load_u2be(p); return 0;
    case KS_AS_S2LE: to->as.i = (int16_t)kd_load_u2le(p); return 0;
    case KS_AS_S2BE: to->as.i = (int16_t)kd_load_u2be(p); return 0;
    case KS_AS_U4LE: to->as.i = kd_load_u4le(p); return 0;
    case KS_AS_U4BE: to->as.i = kd_load_u4be(p); return 0;
    case KS_AS_S4LE: to->as.i = (int32_t)kd_load_u4le(p); return 0;
    case KS_AS_S4BE: to->as.i = (int32_t)kd_load_u4be(p); return 0;
    default: break;
  }
  if (of->wire == KS_BYTES) {
    to->as.p = p;
    to->size = of->size;
    to->kind = KF_BYTES;
    return load->charset == NULL ? 0 : kf_text(NULL, load->charset, p, of->size, to);
  }
  if (of->wire == KS_BITS) {
    const uint64_t all = ks_load(p, of->size, of->order == KS_LE);
    const uint64_t mask = of->width == 64 ? UINT64_MAX : ((uint64_t)1 << of->width) - 1;
    const uint64_t bits = all >> of->shift & mask;
    to->as.i = (int64_t)bits;
    to->kind = bits > INT64_MAX ? KF_BIG : KF_INT;
    return of->cast.flag ? kf_set_flag(to, bits != 0) : 0;
  }
  return kf_number(node, p, of->wire, of->order, to);
}

/* A number, or bytes, as a value. */
static int kp_take(kf_run *run, kf_node *base, const kp_load *load, const uint8_t *p) {
  kf_val value, *to;
  to = load->keep ? (kf_val *)(void *)((uint8_t *)base + load->slot) : &value;
  if (load->contents != NULL && memcmp(p, load->contents, (size_t)load->of->size)) return -1;
  if (kp_value((kf_node *)(void *)((uint8_t *)base + load->node), load, p, to) < 0) return -1;
  if (load->column != NULL && load->put == KP_AS_VALUE) {
    if (kp_next(load, run->row, load->column->width) == NULL) return -1;
    kb_put_bits(load->column, run->row, to->as.i);
    return 0;
  }
  return load->leaves ? kp_fill(run, load->leaf, load->leaves, to) : 0;
}

/* All numbers and bytes of a run. */
static int kp_take_run(kf_run *run, kf_node *base, const kp_load *load, const kp_load *end, const uint8_t *bytes) {
  const Py_ssize_t row = run->row;
  uint8_t *put;
  for (; load < end; load++) {
    const uint8_t *const p = bytes + load->offset;
    switch (load->put) {
      case KP_NOWHERE:
        if (memcmp(p, load->contents, (size_t)load->of->size)) return -1;
        continue;
      case KP_COPY1:
        if ((put = kp_next(load, row, 1)) == NULL) return -1;
        *put = *p;
        continue;
      case KP_COPY2:
        if ((put = kp_next(load, row, 2)) == NULL) return -1;
        memcpy(put, p, 2);
        continue;
      case KP_COPY4:
        if ((put = kp_next(load, row, 4)) == NULL) return -1;
        memcpy(put, p, 4);
        continue;
      case KP_COPY8:
        if ((put = kp_next(load, row, 8)) == NULL) return -1;
        memcpy(put, p, 8);
        continue;
      case KP_SWAP2:
        if ((put = kp_next(load, row, 2)) == NULL) return -1;
        put[0] = p[1];
        put[1] = p[0];
        continue;
      case KP_SWAP4:
        if ((put = kp_next(load, row, 4)) == NULL) return -1;
        for (int i = 0; i < 4; i++) put[i] = p[3 - i];
        continue;
      case KP_SWAP8:
        if ((put = kp_next(load, row, 8)) == NULL) return -1;
        for (int i = 0; i < 8; i++) put[i] = p[7 - i];
        continue;
      case KP_PLACE1: {
        const int32_t place = load->column->small[*p];
        if (KD_UNLIKELY(place < 0)) break;
        if ((put = kp_next(load, row, 4)) == NULL) return -1;
        memcpy(put, &place, 4);
        continue;
      }
      default: break;
    }
    if (KD_UNLIKELY(kp_take(run, base, load, p) < 0)) return -1;
  }
  return 0;
}

/* Begin an object in the frame of the one that holds it. */
static kf_node *kp_begin(const kf_run *run, kf_node *around, const ks_step *step, kf_stream *io) {
  kf_node *const node = (kf_node *)(void *)((uint8_t *)around + step->inlined);
  const ks_element *const element = step->element;
  node->unit = element->unit;
  node->io = io;
  node->depth = around->depth + 1;
  node->level = run->level;
  node->parent = element->own ? around : NULL;
  node->root = element->own || element->rooted ? around->root : node;
  node->little = element->own ? around->little : -1;
  return node;
}

/* The sizes of the elements of a list, where they are those that another list of the object has; else NULL. */
static const int64_t *kp_sizes(const kf_at *at, const ks_bounds *bounds, int64_t count) {
  const kx_code *const code = bounds->size == NULL ? NULL : bounds->size->code;
  const kf_val *found;
  if (code == NULL || code[0].what != KX_AT_INDEX || code[1].what != KX_END) return NULL;
  found = (const kf_val *)(const void *)((const uint8_t *)at->node + code[0].value);
  if (found->kind != KF_LIST || found->as.list->kind != KF_INT || found->as.list->n < count) return NULL;
  return found->as.list->numbers;
}

/* Bytes or texts of known sizes, which stand one after another: 1, 0 where they are read one by one, or -1. */
static int kp_many_sized(kf_run *run, ks_stream *io, const ks_step *step, const int64_t *sizes, Py_ssize_t count, kb_column *child,
                         Py_ssize_t first) {
  const Py_ssize_t left = io->end > io->at ? io->end - io->at : 0, begin = child->data.n;
  const uint8_t *const p = io->buf + io->at;
  int32_t *const ends = (int32_t *)(void *)child->ends.p + first + 1;
  Py_ssize_t all = 0, empty = 0;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (KD_UNLIKELY(sizes[i] < 0 || sizes[i] > left - all)) return -1;
    all += (Py_ssize_t)sizes[i];
    empty += sizes[i] == 0;
    ends[i] = (int32_t)(begin + all);
  }
  if (all > INT32_MAX - begin) return -1;
  if (child->kind == KB_TEXT && !kf_is_ascii(p, all)) return 0;
  if (step->least == 0 && empty && (run->empty += empty) > run->room) return -1;
  if (kb_room(&child->data, begin + all) < 0) return -1;
  if (all) memcpy(child->data.p + begin, p, (size_t)all);
  child->data.n = begin + all;
  io->at += all;
  return 1;
}

/* A list of bytes or texts, each of a size that is computed, straight into a column. */
static int kp_many_octets(kf_run *run, kf_at *at, const ks_step *step, int64_t count, kb_column *column) {
  const ks_element *const element = step->element;
  kb_column *const child = column->child;
  const Py_ssize_t first = column->items, begin = child->data.n;
  const int64_t *const sizes = kp_sizes(at, element->bounds, count);
  Py_ssize_t end = begin;
  int done = 0;
  if (count > INT32_MAX - first - 1) return -1;
  if ((child->ends.n == 0 || 4 * (first + count + 1) > child->ends.room) && kb_end_room(child, first + (Py_ssize_t)count - 1) < 0) return -1;
  if (sizes != NULL && (done = kp_many_sized(run, &at->io->s, step, sizes, (Py_ssize_t)count, child, first)) < 0) return -1;
  if (done) end = child->data.n;
  for (int64_t i = 0; i < count && !done; i++) {
    const uint8_t *p;
    Py_ssize_t size;
    kf_val text;
    int32_t here;
    at->index = (Py_ssize_t)i;
    if (kf_span(run, at, at->io, element->bounds, &p, &size) < 0) return -1;
    if (size == 0 && step->least == 0 && ++run->empty > run->room) return -1;
    if (child->kind == KB_TEXT && KD_UNLIKELY(!kf_is_ascii(p, size))) {
      kf_text(run, &element->charset, p, size, &text);
      if (kf_utf8(run, &text, &p, &size) < 0) return -1;
    }
    if (KD_UNLIKELY(size > INT32_MAX - end) || (KD_UNLIKELY(end + size > child->data.room) && kb_room(&child->data, end + size) < 0)) return -1;
    kb_copy(child->data.p + end, p, size);
    end += size;
    here = (int32_t)end;
    memcpy(child->ends.p + 4 * (first + i + 1), &here, 4);
    if ((i & 0xFFFF) == 0xFFFF && PyErr_CheckSignals() < 0) return -1;
  }
  child->rows = column->items = first + (Py_ssize_t)count;
  child->ends.n = 4 * (child->rows + 1);
  child->data.n = end;
  run->filled += end - begin;
  return 0;
}

/* Read an object in the frame of the one before it in a list, to which nothing refers any more. */
KD_INLINE int kp_again(kf_run *run, kf_node *node, kf_stream *io, const kf_program *program, kf_val *to) {
  kf_unset(node, node->unit);
  node->little = node->parent->little;
  to->as.node = node;
  to->kind = KF_NODE;
  return kf_taken(run, program, node, io);
}

/* The elements of a list, which is in its slot while it is read, where it has one. A column takes them as they come; then
 * the list itself need not be held. */
static int kf_many(kf_run *run, const kf_at *at, const ks_step *step, kf_wish *wish, kb_column *column, int held, kf_val *to) {
  kf_stream *const stream = at->io;
  ks_stream *const io = &stream->s;
  ks_element *const element = step->element;
  kb_column *const child = column == NULL ? NULL : column->child;
  kf_at inner = {at->node, stream, NULL, 0};
  kf_list *list = NULL;
  const Py_ssize_t row = run->row;
  Py_ssize_t before = -1;
  int64_t count = 0;
  int before_left = 0;
  const int packed = kf_is_packed(step), octets = child != NULL && kb_is_octets(child) && child->member == NULL && !child->around;
  /* what is cached of outermost objects is of level 0 */
  const int renews = column != NULL && column->direct && !held && element->kind == KS_E_OBJECT && element->bounds == NULL &&
                     element->own && run->level > 0;
  kf_node *again = NULL;
  const kf_program *program = NULL;
  kf_val one, *found = &one;
  if (held) {
    if ((list = kf_new(run, sizeof(kf_list))) == NULL) return -1;
    list->n = list->room = 0;
    list->items = NULL;
    list->numbers = NULL;
    list->kind = !packed ? KF_UNSET : element->wire == KS_F4 || element->wire == KS_F8 ? KF_REAL : element->wire == KS_U8 ? KF_BIG : KF_INT;
    to->as.list = list;
    to->kind = KF_LIST;
  }
  if (step->ends == KS_BY_COUNT && (count = kf_count(run, at, io, step, 1)) < 0) return -1;
  if (packed) {
    const int all = kf_numbers(run, at, io, step, count, list);
    if (all) return all < 0 ? -1 : 0;
  } else if (held && step->ends == KS_BY_COUNT && step->least && count > 8) {
    list->room = count < 1024 ? (Py_ssize_t)count : 1024;
    list->items = kf_new(run, (size_t)list->room * sizeof(kf_val));
    if (list->items == NULL) return -1;
  }
  if (column != NULL && kb_pad(column, row) < 0) return -1;
  if (octets && !held && step->ends == KS_BY_COUNT && step->rules == 0 && child->rows == column->items && child->valid.p == NULL &&
      element->kind == (child->kind == KB_TEXT ? KS_E_TEXT : KS_E_BYTES) && element->bounds->plain && element->bounds->process == NULL &&
      (element->kind == KS_E_BYTES || element->charset.encoding != KS_OTHER)) {
    if (kp_many_octets(run, &inner, step, count, column) < 0) return -1;
    inner.index = (Py_ssize_t)count - 1;
    count = 0;
  }
  for (Py_ssize_t i = 0;; i++) {
    const Py_ssize_t start = io->at;
    const int left = io->left;
    if (step->ends == KS_BY_COUNT && i == count) break;
    if (step->ends == KS_BY_END) {
      if (io->at >= io->end && io->left <= 0) break;
      if (before == start && before_left == left) return -1;
      before = start;
      before_left = left;
    }
    if (step->ends != KS_BY_COUNT && i >= run->elements) return -1;
    inner.index = i;
    if (held && !packed && (found = kf_next_item(run, list)) == NULL) return -1;
    found->kind = KF_UNSET;
    if (column != NULL) {
      const Py_ssize_t at_row = column->items;
      int status;
      if (at_row == INT32_MAX) return -1;
      if (column->direct) run->row = at_row;
      if (again != NULL) {
        status = kp_again(run, again, stream, program, found);
      } else {
        status = kf_element(run, &inner, stream, element, i, wish, found);
        if (renews && element->simple && status == 0) {
          again = found->as.node;
          if (wish != NULL && wish->unit != again->unit) wish = kf_wish_of(wish, again->unit);
          program = wish != NULL ? wish->program : again->unit->program;
        }
      }
      run->row = row;
      if (status < 0) return -1;
      if (column->direct ? kb_next(child, at_row) < 0
          : octets && found->kind > KF_NULL ? kb_octets(run, child, found, at_row) < 0 : kb_fill_member(run, child, found, at_row) < 0)
        return -1;
      column->items++;
    } else if (kf_element(run, &inner, stream, element, i, wish, found) < 0) {
      return -1;
    }
    if (kf_rules(run, &inner, step->rule, step->rules, found) < 0) return -1;
    if (packed && kf_push_number(run, list, found->as.i) < 0) return -1;
    if (held && !packed) list->n++;
    if (step->ends == KS_BY_UNTIL) {
      int done;
      inner.item = found;
      done = kf_eval_test(run, &inner, step->test);
      inner.item = NULL;
      if (done < 0) return -1;
      if (done) break;
    }
    if ((step->ends == KS_BY_UNTIL || (step->ends == KS_BY_COUNT && step->least == 0)) && io->at == start &&
        io->left == left && ++run->empty > run->room)
      return -1;
    if ((i & 0xFFFF) == 0xFFFF && PyErr_CheckSignals() < 0) return -1;
  }
  if (column == NULL) return 0;
  run->filled += 8 * (inner.index + 1);
  return kb_next(column, row) < 0 ? -1 : kb_put_end(column, row, column->items);
}

/* Take the operations of a program from one to before another, for an object whose frame has begun. */
static int kf_take(kf_run *run, const kf_program *program, kf_node *base, kf_stream *io, Py_ssize_t from, Py_ssize_t upto) {
  kf_at at = {base, io, NULL, 0};
  const int64_t depth = run->depth;
  int status = 0;
  for (const kp_op *op = program->op + from, *const end = program->op + upto; op < end; op++) {
    kf_node *const node = (kf_node *)(void *)((uint8_t *)base + op->node);
    kf_val *to;
    at.node = node;
    switch (op->code) {
      case KP_RUN: {
        const uint8_t *const p = io->s.buf + io->s.at;
        if (KD_UNLIKELY(op->size > io->s.end - io->s.at)) goto failed;
        io->s.at += op->size;
        if (op->loads && KD_UNLIKELY(kp_take_run(run, base, op->load, op->load + op->loads, p) < 0)) goto failed;
        if (KD_LIKELY(!op->ruled)) continue;
        for (const kp_load *load = op->load, *const last = load + op->loads; load < last; load++) {
          if (!load->of->rules) continue;
          at.node = (kf_node *)(void *)((uint8_t *)base + load->node);
          if (kf_rules(run, &at, load->of->rule, load->of->rules, (const kf_val *)(const void *)((uint8_t *)base + load->slot)) < 0)
            goto failed;
        }
        continue;
      }
      case KP_BEGIN: kp_begin(run, node, op->step, io); continue;
      case KP_DONE:
        to = &node->slot[op->step->place];
        to->as.node = (kf_node *)(void *)((uint8_t *)node + op->step->inlined);
        to->kind = KF_NODE;
        break;
      case KP_WHEN:
        run->depth = depth + op->level;
        if ((status = kf_eval_test(run, &at, op->step->test)) < 0) goto failed;
        if (!status) op += op->size;
        continue;
      case KP_ALIGN: ks_align(&io->s); continue;
      case KP_ORDER:
        if (kf_set_order(run, &at, op->step) < 0) goto failed;
        continue;
      case KP_ONE:
      case KP_MANY:
        run->depth = depth + op->level;
        to = (kf_val *)(void *)((uint8_t *)base + op->slot);
        if (op->passes) {
          if ((status = kf_passed(run, &at, op->step)) < 0) goto failed;
          if (status) continue;
        }
        if (op->code == KP_MANY) {
          if (kf_many(run, &at, op->step, op->wish, op->column, op->held, to) < 0) goto failed;
          if (op->column != NULL) continue;
        } else if (kf_element(run, &at, io, op->step->element, -1, op->wish, to) < 0) {
          goto failed;
        }
        break;
      case KP_LEAVES:
        if (kp_fill(run, op->leaf, op->leaves, (const kf_val *)(const void *)((uint8_t *)base + op->slot)) < 0) goto failed;
        continue;
      default: goto failed;
    }
    if (op->step->what == KS_S_ONE && op->step->rules && kf_rules(run, &at, op->step->rule, op->step->rules, to) < 0) goto failed;
    if (op->leaves && kp_fill(run, op->leaf, op->leaves, to) < 0) goto failed;
  }
  run->depth = depth;
  return 0;
failed:
  run->depth = depth;
  return kf_stop(run, at.node);
}

/* The same of the whole program. */
static int kf_taken(kf_run *run, const kf_program *program, kf_node *node, kf_stream *io) {
  int status;
  if (run->depth + 1 + program->levels > run->deepest) return -1;
  run->depth++;
  run->nested++;
  status = kf_take(run, program, node, io, 0, program->start[node->unit->steps]);
  run->nested--;
  run->depth--;
  return status;
}

#endif
