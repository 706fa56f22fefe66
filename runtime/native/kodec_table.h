/* Rows that are read from frames (kodec_frames.h) by programs (kodec_program.h), for columns (kodec_fill.h).
 *
 * A `Rows` goes along a path from the outermost object to a list, or to objects, and fills columns with one row after
 * another. Included by streams.c. */
#ifndef KODEC_TABLE_H
#define KODEC_TABLE_H

#include "kodec_fill.h"
#include "kodec_program.h"

/* ------------------------------------------------------------------ conditions */

typedef enum { KW_EQUAL, KW_DIFFERENT, KW_LESS, KW_AT_MOST, KW_MORE, KW_AT_LEAST, KW_IN, KW_NULL, KW_THERE } kw_op;
static const char *const kw_ops[] = {"==", "!=", "<", "<=", ">", ">=", "in", "null", "there", NULL};

typedef struct {
  kw_op op;
  Py_ssize_t steps, values;
  ks_expr **member; /* NULL: the value itself, if its class is the one */
  int *around;
  PyTypeObject **guard;
  unsigned *accepts;
  kf_val *value;
  int is_type; /* it asks for the name of the type: values are classes */
  PyTypeObject **classes;
  Py_ssize_t ready; /* the step of the row after which it can be asked; the last one where it is -1 */
} kw_condition;

static int kw_compared(kf_run *run, const kw_condition *condition, const kf_val *row);

/* 1 where it holds, 0, or -1. What is missing fulfils no condition but that it is missing. */
static int kw_holds(kf_run *run, const kw_condition *condition, const kf_val *row) {
  int status;
  run->settled = 1;
  status = kw_compared(run, condition, row);
  run->settled = 0;
  return status;
}

static int kw_compared(kf_run *run, const kw_condition *condition, const kf_val *row) {
  kf_val value = *row;
  int found;
  for (Py_ssize_t i = 0; i < condition->steps && value.kind > KF_NULL; i++) {
    if (condition->around[i]) {
      kf_node *const node = value.kind == KF_NODE ? value.as.node : NULL;
      value.as.node = node == NULL ? NULL : condition->around[i] == 1 ? node->parent : node->root;
      value.kind = value.as.node == NULL ? KF_NULL : KF_NODE;
    } else if (condition->member[i] != NULL) {
      if (value.kind != KF_NODE || kf_member(run, condition->member[i], value.as.node, &value) < 0) return -1;
    }
    if (value.kind <= KF_NULL) break;
    if (condition->guard[i] != NULL && (value.kind != KF_NODE || value.as.node->unit->cls != (PyObject *)condition->guard[i]))
      value.kind = KF_NULL;
    else if (condition->accepts[i] && !(condition->accepts[i] >> kb_kind_of(&value) & 1))
      value.kind = KF_NULL;
  }
  if (condition->op == KW_NULL) return value.kind <= KF_NULL;
  if (condition->op == KW_THERE) return value.kind > KF_NULL;
  if (value.kind <= KF_NULL) return 0;
  if (value.kind == KF_TEXT) {
    const uint8_t *p;
    if (kf_utf8(run, &value, &p, &value.size) < 0) return -1;
    value.as.p = p;
    value.encoding = KF_AS_UTF8;
  }
  for (Py_ssize_t i = 0; i < condition->values; i++) {
    if (condition->op == KW_EQUAL || condition->op == KW_DIFFERENT || condition->op == KW_IN) {
      found = kf_equal(&value, &condition->value[i]);
      if (found < 0) return value.kind == KF_REAL && value.as.r != value.as.r ? condition->op == KW_DIFFERENT : -1;
      if (condition->op == KW_DIFFERENT) return !found;
      if (found) return 1;
    } else {
      found = kf_compare(&value, &condition->value[i]);
      if (found == 2) return value.kind == KF_REAL && value.as.r != value.as.r ? 0 : -1;
      return condition->op == KW_LESS      ? found < 0
             : condition->op == KW_AT_MOST ? found <= 0
             : condition->op == KW_MORE    ? found > 0
                                           : found >= 0;
    }
  }
  return 0;
}

/* ------------------------------------------------------------------ rows */

typedef struct {
  ks_expr *member;     /* NULL: the value itself */
  PyTypeObject *guard; /* the class of what is gone to, or NULL */
} kr_part;

/* An object on the way to the rows, which is being read. */
typedef struct {
  kf_node *node;
  kf_stream *io;
  Py_ssize_t next;
  const ks_step *found; /* the step on the path; NULL: the object is read whole first */
  int inside;           /* whether that is a list which is being read */
  Py_ssize_t i, before;
  int64_t count;
  int before_left;
} kr_level;

typedef struct {
  PyObject_HEAD
  ks_unit unit; /* owns what is allocated; no class has it */
  ks_unit *root;
  PyObject *form, *parameters; /* `form` owns what is used of the arguments */
  Py_buffer view;
  kf_run run;
  Py_ssize_t parts, columns, conditions;
  kr_part *part;
  kb_column group; /* of all columns */
  kw_condition *condition;
  kf_wish *wish, *none; /* what is wanted of a row; and of one that a condition hides */
  int depth; /* of levels; 0: not begun, or done */
  kr_level level[KF_LEVELS];
  kf_list pending; /* rows that were found in an object that was read whole */
  Py_ssize_t next_pending;
  int begun, done;
  int64_t skip, most, size; /* elements that are left out, and how many there may be; the bytes of each, or 0 */
  int64_t stop;             /* the element before which to stop, or -1 */
  int whole;                /* whether all is read before the first row, as columns need what stands after it */
  int steady;               /* whether each row so far was read for its columns */
} kr_rows;

/* The step of a field, whether it depends on a condition or not; NULL where it has none by itself. */
static const ks_step *kr_step_of(const ks_unit *unit, ks_expr *member, Py_ssize_t *number) {
  const Py_ssize_t slot = member->slot;
  for (Py_ssize_t i = 0; i < unit->steps; i++) {
    const ks_step *step = &unit->step[i];
    if (step->what == KS_S_WHEN && step->inner == 1) step = step->steps;
    *number = i;
    if ((step->what == KS_S_ONE || step->what == KS_S_MANY) && step->slot == slot) return step;
    for (Py_ssize_t j = 0; step->what == KS_S_FIXED && j < step->slots; j++)
      if (step->in[j].slot == slot) return step;
  }
  return NULL;
}

/* Begin an object on the path at part `depth` of it. */
static int kr_enter(kr_rows *rows, kf_node *node, kf_stream *io) {
  kf_run *const run = &rows->run;
  kr_level *const level = &rows->level[rows->depth];
  *level = (kr_level){.node = node, .io = io, .before = -1};
  if (!rows->whole && rows->depth < rows->parts && rows->depth + 2 < KF_LEVELS) {
    const kr_part *const part = &rows->part[rows->depth];
    const int last = rows->depth + 1 == rows->parts;
    Py_ssize_t number;
    if (part->member != NULL && ks_seek_member(&run->table, part->member, (PyTypeObject *)node->unit->cls) < 0) return -1;
    if (part->member != NULL && part->member->place >= 0) {
      const ks_step *const step = kr_step_of(node->unit, part->member, &number);
      const int object = step != NULL && step->what != KS_S_FIXED && step->element->kind == KS_E_OBJECT;
      const int free = step != NULL && !node->unit->asked[part->member->place];
      if (step != NULL && step->what == KS_S_MANY && free && (object || last)) level->found = step;
      if (step != NULL && step->what == KS_S_ONE && object && !last) level->found = step;
    }
  }
  rows->depth++;
  return 0;
}

/* All that a path leads to from a value, into `pending`. */
static int kr_collect(kr_rows *rows, const kf_val *from, Py_ssize_t part) {
  kf_run *const run = &rows->run;
  kf_val value;
  if (from->kind <= KF_NULL) return 0;
  if (from->kind == KF_LIST) {
    for (Py_ssize_t i = 0; i < from->as.list->n; i++) {
      value = kf_item(from->as.list, i);
      if (kr_collect(rows, &value, part) < 0) return -1;
    }
    return 0;
  }
  if (part == rows->parts) return kf_push(run, &rows->pending, from);
  value = *from;
  if (rows->part[part].member != NULL) {
    if (from->kind != KF_NODE || kf_member(run, rows->part[part].member, from->as.node, &value) < 0) return -1;
  }
  if (rows->part[part].guard != NULL && value.kind != KF_LIST &&
      (value.kind != KF_NODE || value.as.node->unit->cls != (PyObject *)rows->part[part].guard))
    return 0;
  return kr_collect(rows, &value, part + 1);
}

/* Take one step of an object. */
static int kr_step(kf_run *run, kf_node *node, kf_stream *io, Py_ssize_t number, kf_wish *wish) {
  const kf_program *program;
  while (wish != NULL && wish->unit != node->unit) wish = wish->next;
  if ((program = kf_lowered(run, node->unit, wish, 1)) == NULL || run->depth + program->levels > run->deepest) return -1;
  return kf_take(run, program, node, io, program->start[number], program->start[number + 1]);
}

/* Read an element that is a row, with an eye on the conditions: 1 where it is one, 0 where it is hidden, or -1. */
static int kr_read_row(kr_rows *rows, const kf_at *at, kf_stream *io, ks_element *element, Py_ssize_t index, kf_val *row) {
  kf_run *const run = &rows->run;
  kf_stream *inner;
  kf_node *node;
  kf_wish *wish = rows->wish;
  int hidden = 0;
  if (element->kind != KS_E_OBJECT || !rows->conditions) {
    int status;
    status = kf_element(run, at, io, element, index, wish, row);
    /* it may be an object of another class, or none */
    run->early = run->fills && row->kind == KF_NODE && rows->wish->unit == row->as.node->unit;
    return status < 0 ? -1 : 1;
  }
  inner = kf_inside(run, at, io, element->bounds);
  if (inner == NULL || (node = kf_begun(run, at, inner, element)) == NULL) return -1;
  row->as.node = node;
  row->kind = KF_NODE;
  {
    run->depth++;
    run->nested++;
    for (Py_ssize_t i = 0; i < node->unit->steps; i++) {
      if (kr_step(run, node, inner, i, wish) < 0) return -1;
      for (Py_ssize_t j = 0; j < rows->conditions && !hidden; j++) {
        int holds;
        if (rows->condition[j].ready != i) continue;
        if ((holds = kw_holds(run, &rows->condition[j], row)) < 0) return -1;
        hidden = !holds;
      }
      if (hidden && element->bounds != NULL) break;
      if (hidden) wish = rows->none;
    }
    run->nested--;
    run->depth--;
  }
  return !hidden;
}

/* Whether a row fulfils the conditions that were not asked while it was read. */
static int kr_holds(kr_rows *rows, const kf_val *row, int all) {
  for (Py_ssize_t j = 0; j < rows->conditions; j++) {
    int holds;
    if (!all && rows->condition[j].ready >= 0) continue;
    if ((holds = kw_holds(&rows->run, &rows->condition[j], row)) <= 0) return holds;
  }
  return 1;
}

/* What follows an element of a list on the path: rules, and whether it was the last one. */
static int kr_after(kr_rows *rows, kr_level *level, const kf_val *item, Py_ssize_t start, int left) {
  kf_run *const run = &rows->run;
  const ks_step *const step = level->found;
  kf_at at = {level->node, level->io, NULL, level->i};
  if (kf_rules(run, &at, step->rule, step->rules, item) < 0) return -1;
  if (step->ends == KS_BY_UNTIL) {
    int done;
    at.item = item;
    if ((done = kf_eval_test(run, &at, step->test)) < 0) return -1;
    if (done) level->count = level->i + 1;
  }
  if ((step->ends == KS_BY_UNTIL || (step->ends == KS_BY_COUNT && step->least == 0)) && level->io->s.at == start &&
      level->io->s.left == left && ++run->empty > run->room)
    return -1;
  level->i++;
  if ((level->i & 0xFFFF) == 0 && PyErr_CheckSignals() < 0) return -1;
  return 0;
}

/* Whether a list on the path has another element: 1, 0, or -1. */
static int kr_more(kr_level *level) {
  const ks_stream *const io = &level->io->s;
  if (level->found->ends != KS_BY_END) return level->count < 0 || level->i < level->count;
  if (io->at >= io->end && io->left <= 0) return 0;
  if (level->before == io->at && level->before_left == io->left) return -1;
  level->before = io->at;
  level->before_left = io->left;
  return 1;
}

/* The bytes of an object whose steps are all of fixed width, or -1. */
static Py_ssize_t kr_fixed_size(kr_rows *rows, ks_element *element, int deep) {
  Py_ssize_t size = 0;
  if (deep > 16) return -1;
  if (element->kind == KS_E_NUMBER) return ks_widths[element->wire];
  if (element->kind == KS_E_BYTES || element->kind == KS_E_TEXT || (element->kind == KS_E_OBJECT && element->bounds != NULL)) {
    const ks_bounds *const bounds = element->bounds;
    if (bounds->how == KS_IN_FIXED) return bounds->fixed;
    if (bounds->how != KS_IN_SIZE || bounds->size->op != KS_CONSTANT || bounds->size->constant.kind != KS_WHOLE ||
        bounds->size->constant.i < 0 || bounds->size->constant.i > INT32_MAX)
      return -1;
    return (Py_ssize_t)bounds->size->constant.i;
  }
  if (element->kind != KS_E_OBJECT || ks_seek_unit(&rows->run.table, element) < 0 || element->unit == NULL ||
      kf_prepare(&rows->run, element->unit) < 0 || element->unit->loose)
    return -1;
  for (Py_ssize_t i = 0; i < element->unit->steps; i++) {
    const ks_step *const step = &element->unit->step[i];
    Py_ssize_t found = -1;
    if (step->what == KS_S_FIXED) found = step->size;
    if (step->what == KS_S_ONE) found = kr_fixed_size(rows, step->element, deep + 1);
    if (step->what == KS_S_ALIGN || step->what == KS_S_ORDER || step->what == KS_S_BEGIN || step->what == KS_S_END) found = 0;
    if (found < 0 || found > INT32_MAX) return -1;
    size += found;
  }
  return size > INT32_MAX ? -1 : size;
}

/* Whether an expression is the same for each element of a list. */
static int kr_is_same(const ks_expr *expr) {
  if (expr->op == KS_ITEM || expr->op == KS_INDEX || expr->op == KS_POS || expr->op == KS_SIZE || expr->op == KS_EOF || expr->op == KS_CALL)
    return 0;
  for (int i = 0; i < 3; i++)
    if (expr->part[i] != NULL && !kr_is_same(expr->part[i])) return 0;
  for (Py_ssize_t i = 0; i < expr->items; i++)
    if (!kr_is_same(expr->item[i])) return 0;
  return 1;
}

/* The bytes of each element of a list on the path, where they all have as many; else 0. */
static int kr_set_size(kr_rows *rows, const kf_at *at, kr_level *level) {
  ks_element *const element = level->found->element;
  Py_ssize_t size = -1;
  rows->size = 0;
  if (level->found->ends == KS_BY_UNTIL || level->found->rules || at->node->unit->loose) return 0;
  if ((element->kind == KS_E_OBJECT || element->kind == KS_E_CHOICE || element->kind == KS_E_BYTES || element->kind == KS_E_TEXT) &&
      element->bounds != NULL && element->bounds->how == KS_IN_SIZE && kr_is_same(element->bounds->size)) {
    int64_t given;
    if (kf_eval_whole(&rows->run, at, element->bounds->size, &given) == 0 && given > 0 && given <= INT32_MAX) size = (Py_ssize_t)given;
    PyErr_Clear();
  } else {
    size = kr_fixed_size(rows, element, 0);
  }
  rows->size = size > 0 ? size : 0;
  return 0;
}

/* The next row: 1, 0 at the end, or -1. It is valid until the next call. */
static int kr_next(kr_rows *rows, kf_val *row) {
  kf_run *const run = &rows->run;
  for (;;) {
    kr_level *level;
    if (rows->next_pending < rows->pending.n) {
      int holds;
      run->level = rows->depth;
      kf_clear(run, run->level, 0);
      *row = rows->pending.items[rows->next_pending++];
      if ((holds = kr_holds(rows, row, 1)) < 0) return -1;
      if (holds) return 1;
      continue;
    }
    if (rows->depth == 0) return 0;
    level = &rows->level[rows->depth - 1];
    run->level = rows->depth - 1;
    if (level->inside) {
      const Py_ssize_t start = level->io->s.at;
      const int stops = rows->stop >= 0 && rows->depth == rows->parts && level->i >= rows->stop;
      const int left = level->io->s.left, more = stops ? 0 : kr_more(level);
      const kf_at at = {level->node, level->io, NULL, level->i};
      int found;
      if (more < 0) return -1;
      if (stops) return 0; /* what follows is read by others */
      if (!more) {
        level->inside = 0;
        level->next++;
        continue;
      }
      run->level = rows->depth;
      kf_clear(run, run->level, 0);
      if (rows->depth < rows->parts) {
        ks_element *const element = level->found->element;
        kf_stream *const inner = kf_inside(run, &at, level->io, element->bounds);
        kf_node *const node = inner == NULL ? NULL : kf_begun(run, &at, inner, element);
        if (node == NULL) return -1;
        level->before = start;
        level->before_left = left;
        run->depth++;
        if (kr_enter(rows, node, inner) < 0) return -1;
        continue;
      }
      found = kr_read_row(rows, &at, level->io, level->found->element, level->i, row);
      if (found < 0 || kr_after(rows, level, row, start, left) < 0) return -1;
      if (!found || row->kind <= KF_NULL) continue;
      if (rows->part[rows->parts - 1].guard != NULL &&
          (row->kind != KF_NODE || row->as.node->unit->cls != (PyObject *)rows->part[rows->parts - 1].guard))
        continue;
      if ((found = kr_holds(rows, row, level->found->element->kind != KS_E_OBJECT)) < 0) return -1;
      if (found) return 1;
      continue;
    }
    if (level->next == level->node->unit->steps) {
      kr_level *const outer = rows->depth > 1 ? level - 1 : NULL;
      kf_val item = {.as.node = level->node, .kind = KF_NODE};
      const int whole = level->found == NULL;
      level->found = NULL;
      if (whole && level->before != -2) {
        /* it was read whole: its rows come first, and then it ends */
        level->before = -2;
        rows->pending = (kf_list){0};
        rows->next_pending = 0;
        if (kr_collect(rows, &item, rows->depth - 1) < 0) return -1;
        continue;
      }
      rows->depth--;
      if (outer == NULL) continue;
      run->depth--;
      run->level = rows->depth - 1;
      if (outer->inside) {
        if (kr_after(rows, outer, &item, outer->before, outer->before_left) < 0) return -1;
      } else {
        if (outer->found->rules) {
          const kf_at at = {outer->node, outer->io, NULL, 0};
          if (kf_rules(run, &at, outer->found->rule, outer->found->rules, &item) < 0) return -1;
        }
        outer->node->slot[outer->found->place] = item;
        outer->next++;
      }
      continue;
    }
    {
      const ks_step *step = &level->node->unit->step[level->next];
      const kf_at at = {level->node, level->io, NULL, 0};
      kf_wish *const wish = rows->parts == 0 ? rows->wish : NULL;
      const int on_path = level->found != NULL && (step == level->found || (step->what == KS_S_WHEN && step->steps == level->found));
      if (on_path && step->what == KS_S_WHEN) {
        const int test = kf_eval_test(run, &at, step->test);
        if (test < 0) return -1;
        if (!test) {
          level->next++;
          continue;
        }
        step = level->found;
      }
      if (!on_path) {
        if (kr_step(run, level->node, level->io, level->next, wish) < 0) return -1;
        level->next++;
      } else if (step->what == KS_S_ONE) {
        kf_stream *inner;
        kf_node *node;
        run->level = rows->depth;
        kf_clear(run, run->level, 0);
        /* the object lives as long as the one that holds it */
        run->level = rows->depth - 1;
        inner = kf_inside(run, &at, level->io, step->element->bounds);
        node = inner == NULL ? NULL : step->inlined ? kp_begin(run, level->node, step, inner) : kf_begun(run, &at, inner, step->element);
        if (node == NULL) return -1;
        run->depth++;
        if (kr_enter(rows, node, inner) < 0) return -1;
      } else {
        level->inside = 1;
        level->i = 0;
        level->count = -1;
        level->before = -1;
        if (step->ends == KS_BY_COUNT && (level->count = kf_count(run, &at, &level->io->s, step, 0)) < 0) return -1;
        if (rows->depth == rows->parts && kr_set_size(rows, &at, level) < 0) return -1;
        if (rows->skip || rows->most >= 0) {
          ks_stream *const io = &level->io->s;
          int64_t rest;
          if (!rows->size) return -1;
          rest = io->end > io->at ? (io->end - io->at) / rows->size : 0;
          if (rows->skip > rest) rows->skip = rest;
          io->at += (Py_ssize_t)(rows->skip * rows->size);
          level->i += (Py_ssize_t)rows->skip;
          if (rows->most >= 0) rows->stop = level->i + rows->most;
        }
      }
    }
  }
}

/* ------------------------------------------------------------------ from forms to columns */

static int kr_wish_for(kr_rows *rows, kf_wish **to, ks_unit *unit) {
  for (; *to != NULL; to = &(*to)->next)
    if ((*to)->unit == unit) return 0;
  *to = ks_new(&rows->unit, 1, sizeof(kf_wish));
  if (*to == NULL) return -1;
  (*to)->unit = unit;
  (*to)->slot = ks_new(&rows->unit, (size_t)unit->frame, 1);
  (*to)->inner = ks_new(&rows->unit, (size_t)unit->frame, sizeof(kf_wish *));
  return (*to)->slot == NULL || (*to)->inner == NULL ? -1 : 0;
}

static kf_wish kr_everything;

/* Have a column filled from a slot of the objects of a wish. */
static int kr_leaf(kr_rows *rows, kf_wish *wish, Py_ssize_t place, kb_column *column) {
  kf_leaf *grown;
  Py_ssize_t at;
  if ((wish->leaves & (wish->leaves - 1)) == 0) {
    grown = ks_new(&rows->unit, (size_t)(wish->leaves ? 2 * wish->leaves : 1), sizeof(kf_leaf));
    if (grown == NULL) return -1;
    if (wish->leaves) memcpy(grown, wish->leaf, (size_t)wish->leaves * sizeof(kf_leaf));
    wish->leaf = grown;
  }
  at = wish->leaves++;
  for (; at > 0 && wish->leaf[at - 1].place > place; at--) wish->leaf[at] = wish->leaf[at - 1];
  wish->leaf[at] = (kf_leaf){place, column, 0};
  if (kb_is_octets(column)) wish->leaf[at].takes = 1;
  else if (column->kind == KB_NAME && column->names && column->guard == NULL && !column->accepts) wish->leaf[at].takes = 2;
  column->late = 0;
  return 0;
}

static int kr_resolve(kr_rows *rows, PyTypeObject *cls, kb_column *column);

/* The class of the elements of a list, where a column can be filled with their fields as these are read; else NULL. */
static PyTypeObject *kr_direct(kr_rows *rows, const ks_unit *unit, const kb_column *column) {
  const kb_column *const child = column->child;
  Py_ssize_t number;
  const ks_step *const step = kr_step_of(unit, column->member, &number);
  PyTypeObject *cls;
  const ks_unit *inner;
  if (step == NULL || step->what != KS_S_MANY || step->element->kind != KS_E_OBJECT) return NULL;
  cls = step->element->cls;
  if (child->kind != KB_STRUCT || child->member != NULL || child->around || child->accepts || (child->guard != NULL && child->guard != cls)) return NULL;
  if ((inner = ks_unit_of(cls)) == NULL) return NULL;
  for (Py_ssize_t i = 0; i < child->children; i++) {
    kb_column *const each = &child->child[i];
    if (each->kind == KB_STRUCT || each->kind == KB_CHOICE || each->kind == KB_GROUP || each->member == NULL || each->guard != NULL) return NULL;
    if (kr_resolve(rows, cls, each) < 0 || each->member->place < 0) return NULL;
    if (each->kind == KB_LIST && each->child->kind == KB_STRUCT && kr_direct(rows, inner, each) == NULL) return NULL;
  }
  return cls;
}

/* Note what a column needs of the object around it, which has the class `cls`, into `wish`. `in` is the wish with the slot
 * of that object, at a place; NULL: it is the row, or of a class among several. */
static int kr_want(kr_rows *rows, kf_wish **wish, PyTypeObject *cls, kb_column *column, kf_wish *in, Py_ssize_t place, int parts) {
  const int is_leaf = column->kind != KB_GROUP;
  ks_unit *unit;
  kf_wish *found;
  PyTypeObject *element;
  Py_ssize_t slot;
  if (column->around) return 0; /* what is around rows is read whole */
  if (column->member == NULL) {
    if (is_leaf && in != NULL && !parts && kr_leaf(rows, in, place, column) < 0) return -1;
    for (Py_ssize_t i = 0; i < column->children; i++)
      if (kr_want(rows, wish, column->guard != NULL ? column->guard : cls, &column->child[i], column->guard != NULL ? NULL : in, place,
                  parts || is_leaf) < 0)
        return -1;
    return 0;
  }
  if (cls == NULL || (unit = ks_unit_of(cls)) == NULL) {
    rows->run.keeps = 1;
    return PyErr_Occurred() ? -1 : 0;
  }
  if (ks_begin(unit) < 0 || kf_prepare(&rows->run, unit) < 0) return -1;
  if (ks_seek_member(&rows->run.table, column->member, cls) < 0) return -1;
  if (column->member->slot < 0) {
    /* an instance: what it needs is asked for, but not what a column takes of the object that it is */
    rows->run.keeps = 1;
    return 0;
  }
  if (kr_wish_for(rows, wish, unit) < 0) return -1;
  for (found = *wish; found->unit != unit; found = found->next) continue;
  slot = column->member->place;
  if (slot < 0) return 0;
  found->slot[slot] |= is_leaf && !parts ? KF_WANTED : KF_WANTED | KF_KEPT;
  if (found->inner[slot] == &kr_everything && !is_leaf) return 0;
  if (is_leaf && !parts && kr_leaf(rows, found, slot, column) < 0) return -1;
  if (found->inner[slot] == &kr_everything) return 0;
  if (column->kind == KB_LIST && !parts && found->inner[slot] == NULL && (element = kr_direct(rows, unit, column)) != NULL) {
    kb_column *const child = column->child;
    column->direct = 1;
    for (Py_ssize_t i = 0; i < child->children; i++)
      if (kr_want(rows, &found->inner[slot], element, &child->child[i], found, slot, 0) < 0) return -1;
    return 0;
  }
  if (PyErr_Occurred()) return -1;
  if (column->kind != KB_GROUP && column->kind != KB_CHOICE && column->kind != KB_STRUCT) {
    /* columns inside that are filled early would not be reached */
    if (found->inner[slot] != NULL) rows->run.fills = 0;
    found->inner[slot] = &kr_everything;
    return 0;
  }
  for (Py_ssize_t i = 0; i < column->children; i++)
    if (kr_want(rows, &found->inner[slot], column->guard, &column->child[i], found, slot, parts || is_leaf) < 0) return -1;
  return 0;
}

/* Whether a column, or one inside, is filled when the whole row is read. */
static int kr_is_late(kb_column *column) {
  if (column->kind != KB_GROUP) return column->late;
  for (Py_ssize_t i = 0; i < column->children; i++)
    if (kr_is_late(&column->child[i])) column->late = 1;
  return column->late;
}

/* Find where members are, below an object of the class `cls`. */
static int kr_resolve(kr_rows *rows, PyTypeObject *cls, kb_column *column) {
  PyTypeObject *inner = column->guard;
  ks_unit *const unit = cls == NULL || column->member == NULL ? NULL : ks_unit_of(cls);
  Py_ssize_t number;
  if (PyErr_Occurred()) return -1;
  if (unit != NULL) {
    if (ks_begin(unit) < 0 || kf_prepare(&rows->run, unit) < 0) return -1;
    if (ks_seek_member(&rows->run.table, column->member, cls) < 0) return -1;
    if (column->member->place >= 0) {
      const ks_step *const step = kr_step_of(unit, column->member, &number);
      column->slot = column->member->place;
      for (Py_ssize_t j = 0; step != NULL && step->what == KS_S_FIXED && j < step->slots; j++)
        if (step->in[j].slot == column->member->slot && step->in[j].wire < KS_F4)
          column->exact = ks_widths[step->in[j].wire] == column->width && (step->in[j].wire % 2 == KS_S1) == column->is_signed;
      if (step != NULL && step->what == KS_S_ONE && step->element->kind == KS_E_NUMBER && step->element->wire < KS_F4)
        column->exact = ks_widths[step->element->wire] == column->width && (step->element->wire % 2 == KS_S1) == column->is_signed;
      column->exact = column->exact && column->kind == KB_INT; /* an enum has places of words */
    }
  }
  if (column->member == NULL && !column->around && inner == NULL && column->kind != KB_LIST) inner = cls;
  for (Py_ssize_t i = 0; i < column->children; i++)
    if (kr_resolve(rows, inner, &column->child[i]) < 0) return -1;
  return 0;
}

static int kr_column_of(kr_rows *rows, PyObject *form, kb_column *to) {
  PyObject *member, *guard, *accepts, *extra, *children, *each;
  const char *kind;
  int number = 0;
  if (!PyArg_ParseTuple(form, "sOOOOO!|n", &kind, &member, &guard, &accepts, &extra, &PyTuple_Type, &children, &to->order))
    return -1;
  while (kb_kinds[number] != NULL && strcmp(kb_kinds[number], kind)) number++;
  if (kb_kinds[number] == NULL) return ks_refuse(&rows->unit, form);
  to->kind = (kb_kind)number;
  to->late = to->kind != KB_GROUP;
  to->data.dense = to->kind != KB_FLAG && to->kind != KB_HERE;
  to->ends.dense = 1;
  to->slot = -1;
  if (member != Py_None) {
    if (PyUnicode_CompareWithASCIIString(member, "_parent") == 0) to->around = 1;
    else if (PyUnicode_CompareWithASCIIString(member, "_root") == 0) to->around = 2;
    else {
      to->member = ks_new(&rows->unit, 1, sizeof(ks_expr));
      if (to->member == NULL) return -1;
      ((ks_memory *)(void *)to->member - 1)->expr = to->member;
      to->member->op = KS_FIELD;
      to->member->value = member;
      to->member->slot = to->member->sought = -1;
    }
  }
  if (guard != Py_None) {
    if (!PyType_Check(guard)) return ks_refuse(&rows->unit, form);
    to->guard = (PyTypeObject *)guard;
  }
  for (Py_ssize_t i = 0; PyTuple_Check(accepts) && i < PyTuple_GET_SIZE(accepts); i++) {
    const int value = ks_named(PyTuple_GET_ITEM(accepts, i), kb_values);
    if (value < 0) return ks_refuse(&rows->unit, form);
    to->accepts |= 1u << value;
  }
  to->width = 4;
  if (to->kind == KB_INT && !PyArg_ParseTuple(extra, "ip", &to->width, &to->is_signed)) return -1;
  if (to->kind == KB_REAL && !PyArg_ParseTuple(extra, "i", &to->width)) return -1;
  if ((to->kind == KB_INT || to->kind == KB_REAL) && to->width != 1 && to->width != 2 && to->width != 4 && to->width != 8)
    return ks_refuse(&rows->unit, form);
  if (to->kind == KB_ENUM || to->kind == KB_NAME) {
    to->words = PyObject_GetAttrString(extra, "words");
    if (to->words == NULL) return -1;
    Py_DECREF(to->words); /* `extra` keeps it */
    if (!PyList_Check(to->words)) return ks_refuse(&rows->unit, form);
  }
  if (to->kind == KB_ENUM) {
    if (!PyDict_Check(extra) || PyDict_GET_SIZE(extra) != PyList_GET_SIZE(to->words)) return ks_refuse(&rows->unit, form);
    memset(to->small, 0xFF, sizeof to->small);
    if ((to->places = PyDict_Copy(extra)) == NULL) return -1;
    to->known_places = extra;
  }
  if (to->kind == KB_NAME) {
    if (!PyTuple_Check(extra)) return ks_refuse(&rows->unit, form);
    to->names = PyTuple_GET_SIZE(extra);
    to->classes = ks_new(&rows->unit, (size_t)to->names, sizeof(PyTypeObject *));
    to->kinds = ks_new(&rows->unit, (size_t)to->names, sizeof(int));
    if (to->classes == NULL || to->kinds == NULL) return -1;
    for (Py_ssize_t i = 0; i < to->names; i++) {
      each = PyTuple_GET_ITEM(extra, i);
      to->kinds[i] = -1;
      if (PyType_Check(each)) to->classes[i] = (PyTypeObject *)each;
      else if ((to->kinds[i] = ks_named(each, kb_values)) < 0) return ks_refuse(&rows->unit, form);
    }
  }
  to->child = ks_new(&rows->unit, (size_t)PyTuple_GET_SIZE(children), sizeof(kb_column));
  if (to->child == NULL) return -1;
  to->children = PyTuple_GET_SIZE(children);
  if (to->kind == KB_LIST && to->children != 1) return ks_refuse(&rows->unit, form);
  for (Py_ssize_t i = 0; i < to->children; i++)
    if (kr_column_of(rows, PyTuple_GET_ITEM(children, i), &to->child[i]) < 0) return -1;
  for (Py_ssize_t i = 0, each_one = 0; i < to->children; i++) {
    each_one += to->child[i].member == NULL && !to->child[i].around && to->child[i].guard != NULL;
    to->chooses = each_one > 2;
  }
  return 0;
}

/* Whether each column has its place in a batch. */
static int kr_is_ordered(const kr_rows *rows, const kb_column *group) {
  if (group->kind != KB_GROUP) return -1;
  for (Py_ssize_t i = 0; i < group->children; i++) {
    const kb_column *const each = &group->child[i];
    if (each->kind == KB_GROUP ? kr_is_ordered(rows, each) < 0 : each->order < 0 || each->order >= rows->columns) return -1;
  }
  return 0;
}

/* A condition: (op, path of (member, class, kinds), values). */
static int kr_condition_of(kr_rows *rows, PyObject *form, kw_condition *to) {
  PyObject *path, *values, *op, *member, *guard, *accepts;
  int number;
  if (!PyArg_ParseTuple(form, "OO!O!", &op, &PyTuple_Type, &path, &PyTuple_Type, &values)) return -1;
  if ((number = ks_named(op, kw_ops)) < 0) return ks_refuse(&rows->unit, form);
  to->op = (kw_op)number;
  to->steps = PyTuple_GET_SIZE(path);
  to->values = PyTuple_GET_SIZE(values);
  to->ready = -1;
  to->member = ks_new(&rows->unit, (size_t)to->steps, sizeof(ks_expr *));
  to->around = ks_new(&rows->unit, (size_t)to->steps, sizeof(int));
  to->guard = ks_new(&rows->unit, (size_t)to->steps, sizeof(PyTypeObject *));
  to->accepts = ks_new(&rows->unit, (size_t)to->steps, sizeof(unsigned));
  to->value = ks_new(&rows->unit, (size_t)to->values, sizeof(kf_val));
  if (to->member == NULL || to->around == NULL || to->guard == NULL || to->accepts == NULL || to->value == NULL) return -1;
  for (Py_ssize_t i = 0; i < to->steps; i++) {
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(path, i), "OOO", &member, &guard, &accepts)) return -1;
    if (member != Py_None) {
      kb_column made;
      PyObject *const column = Py_BuildValue("(sOOO()())", "here", member, guard, accepts);
      int status;
      if (column == NULL) return -1;
      memset(&made, 0, sizeof made);
      status = kr_column_of(rows, column, &made);
      Py_DECREF(column);
      if (status < 0) return -1;
      to->member[i] = made.member;
      to->around[i] = made.around;
    }
    if (guard != Py_None) to->guard[i] = (PyTypeObject *)guard;
    for (Py_ssize_t j = 0; PyTuple_Check(accepts) && j < PyTuple_GET_SIZE(accepts); j++) {
      const int value = ks_named(PyTuple_GET_ITEM(accepts, j), kb_values);
      if (value < 0) return ks_refuse(&rows->unit, form);
      to->accepts[i] |= 1u << value;
    }
  }
  for (Py_ssize_t i = 0; i < to->values; i++) {
    if (kf_given(&rows->run, PyTuple_GET_ITEM(values, i), &to->value[i]) < 0) return ks_refuse(&rows->unit, form);
  }
  return 0;
}

/* ------------------------------------------------------------------ the class */

static PyObject *kr_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"cls", "path", "group", "columns", "conditions", "row", "names", "decode", "whole", NULL};
  PyObject *cls, *path, *group, *conditions, *row, *asked, *decode, *member, *guard;
  Py_ssize_t count;
  int whole;
  kr_rows *self;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!nO!OO!Op", names, &PyType_Type, &cls, &PyTuple_Type, &path, &PyTuple_Type,
                                   &group, &count, &PyTuple_Type, &conditions, &row, &PyFrozenSet_Type, &asked, &decode,
                                   &whole))
    return NULL;
  self = (kr_rows *)type->tp_alloc(type, 0);
  if (self == NULL) return NULL;
  self->unit.cls = cls;
  self->run.own = &self->unit;
  self->done = 1;
  self->whole = whole;
  self->form = PyTuple_Pack(7, cls, path, group, conditions, row, asked, decode);
  self->run.names = asked;
  self->run.decode = decode;
  if (self->form == NULL) goto failed;
  self->root = ks_unit_of((PyTypeObject *)cls);
  if (self->root == NULL && PyErr_Occurred()) goto failed;
  if (self->root != NULL && ks_begin(self->root) < 0) goto failed;
  self->parts = PyTuple_GET_SIZE(path);
  self->part = ks_new(&self->unit, (size_t)self->parts, sizeof(kr_part));
  if (self->part == NULL) goto failed;
  for (Py_ssize_t i = 0; i < self->parts; i++) {
    kb_column made;
    PyObject *form;
    int status;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(path, i), "OO", &member, &guard)) goto failed;
    form = Py_BuildValue("(sOOO()())", "here", member, guard, Py_None);
    if (form == NULL) goto failed;
    memset(&made, 0, sizeof made);
    status = kr_column_of(self, form, &made);
    Py_DECREF(form);
    if (status < 0) goto failed;
    self->part[i] = (kr_part){made.member, made.guard};
  }
  self->columns = count;
  if (kr_column_of(self, group, &self->group) < 0) goto failed;
  if (kr_is_ordered(self, &self->group) < 0) {
    ks_refuse(&self->unit, group);
    goto failed;
  }
  self->condition = ks_new(&self->unit, (size_t)PyTuple_GET_SIZE(conditions), sizeof(kw_condition));
  if (self->condition == NULL) goto failed;
  self->conditions = PyTuple_GET_SIZE(conditions);
  for (Py_ssize_t i = 0; i < self->conditions; i++)
    if (kr_condition_of(self, PyTuple_GET_ITEM(conditions, i), &self->condition[i]) < 0) goto failed;
  if (kr_resolve(self, PyType_Check(row) ? (PyTypeObject *)row : NULL, &self->group) < 0) goto failed;
  if (PyType_Check(row)) {
    /* rows are objects of one class, of which only what is asked for needs to be read */
    ks_unit *const unit = ks_unit_of((PyTypeObject *)row);
    if (unit == NULL && PyErr_Occurred()) goto failed;
    if (unit != NULL) {
      Py_ssize_t number;
      if (ks_begin(unit) < 0 || kf_prepare(&self->run, unit) < 0) goto failed;
      if (kr_wish_for(self, &self->none, unit) < 0 || kr_wish_for(self, &self->wish, unit) < 0) goto failed;
      self->run.fills = self->conditions == 0 && self->parts > 0 && self->part[self->parts - 1].guard == NULL;
      if (kr_want(self, &self->wish, (PyTypeObject *)row, &self->group, NULL, 0, 0) < 0) goto failed;
      self->steady = self->wish->steady = self->run.fills;
      if (self->steady && kf_lowered(&self->run, unit, self->wish, 0) == NULL) goto failed;
      kr_is_late(&self->group);
      for (Py_ssize_t i = 0; i < self->conditions; i++) {
        kw_condition *const each = &self->condition[i];
        if (each->steps == 0 || each->member[0] == NULL) continue;
        if (ks_seek_member(&self->run.table, each->member[0], (PyTypeObject *)row) < 0) goto failed;
        if (each->member[0]->place < 0) {
          self->run.keeps = 1;
          continue;
        }
        if (kr_step_of(unit, each->member[0], &number) != NULL) each->ready = number;
        self->wish->slot[each->member[0]->place] = KF_WANTED | KF_KEPT;
        self->wish->inner[each->member[0]->place] = &kr_everything;
      }
    }
  }
  return (PyObject *)self;
failed:
  Py_DECREF(self);
  return NULL;
}

/* Begin the outermost object, with its parameters. */
static int kr_begin(kr_rows *rows) {
  kf_run *const run = &rows->run;
  ks_unit *const unit = rows->root;
  kf_stream *const io = kf_open(run, rows->view.buf, 0, rows->view.len);
  kf_node *node;
  if (io == NULL || unit == NULL || unit->parameters != PyTuple_GET_SIZE(rows->parameters) || kf_prepare(run, unit) < 0) return -1;
  if ((node = kf_frame(run, unit, io, NULL)) == NULL) return -1;
  run->depth = 1;
  for (Py_ssize_t i = 0; i < unit->parameters; i++)
    if (kf_given(run, PyTuple_GET_ITEM(rows->parameters, i), &node->slot[kf_slot(unit->parameter[i])]) < 0) return -1;
  return kr_enter(rows, node, io);
}

/* Leave what was being read. */
static PyObject *kr_close(PyObject *object, PyObject *unused) {
  kr_rows *const self = (kr_rows *)object;
  (void)unused;
  self->done = 1;
  kb_empty(&self->group);
  for (int i = 0; i < KF_LEVELS; i++) kf_clear(&self->run, i, 0);
  if (self->view.obj != NULL) PyBuffer_Release(&self->view);
  Py_RETURN_NONE;
}

/* Begin to read bytes: (data, (depth, elements, decompressed), the parameters of the
 * outermost object, (rows that are left out, rows after these or -1)). */
static PyObject *kr_open(PyObject *object, PyObject *args) {
  kr_rows *const self = (kr_rows *)object;
  kf_run *const run = &self->run;
  PyObject *data, *parameters, *closed;
  long long depth, elements, decompressed, skip, most;
  if (!PyArg_ParseTuple(args, "O(LLL)O!(LL)", &data, &depth, &elements, &decompressed, &PyTuple_Type, &parameters, &skip, &most)) return NULL;
  if ((closed = kr_close(object, NULL)) == NULL) return NULL;
  if (PyObject_GetBuffer(data, &self->view, PyBUF_SIMPLE) < 0) return Py_DECREF(closed), NULL;
  run->deepest = depth;
  run->elements = elements;
  run->decompressed = decompressed;
  run->room = self->view.len + 4096;
  run->stopped = NULL;
  run->depth = run->empty = 0;
  run->level = run->nested = run->asked = run->table = 0;
  Py_XSETREF(self->parameters, Py_NewRef(parameters));
  self->skip = skip;
  self->most = most;
  self->stop = -1;
  self->size = 0;
  self->depth = 0;
  self->pending = (kf_list){0};
  self->next_pending = 0;
  self->begun = self->done = 0;
  return closed;
}

/* Fill columns with rows: (whether there may be more, rows, a capsule of the batch, the address in it). */
static PyObject *kr_run(PyObject *object, PyObject *args) {
  kr_rows *const self = (kr_rows *)object;
  kf_run *const run = &self->run;
  Py_ssize_t most_rows, most_bytes, rows = 0, room = 0;
  PyObject *batch, *found;
  int status = 1;
  if (!PyArg_ParseTuple(args, "nn", &most_rows, &most_bytes)) return NULL;
  if (self->done) return PyErr_Format(PyExc_ValueError, "there are no more rows");
  if (!self->begun) {
    static uint64_t epoch;
    self->begun = 1;
    run->epoch = ++epoch;
    run->level = 0;
    status = kr_begin(self) < 0 ? -1 : 1;
  }
  kb_begin(&self->group, most_rows < KB_ROWS ? most_rows : KB_ROWS);
  run->filled = 0;
  while (status == 1 && rows < most_rows) {
    kf_val row;
    if (KD_UNLIKELY(rows == room)) {
      room += rows ? rows : most_rows < KB_ROWS ? most_rows : KB_ROWS;
      if (kb_make_room(&self->group, rows, room) < 0) return NULL;
    }
    run->row = rows;
    run->early = run->settled = 0;
    status = kr_next(self, &row);
    if (status != 1) break;
    run->settled = 1;
    if (!run->early && self->steady) {
      /* a row of another kind, which may lack what the others have */
      self->steady = 0;
      if (kb_make_room(&self->group, rows, -1) < 0) return NULL;
    }
    if ((!run->early || self->group.late) && kb_fill_member(run, &self->group, &row, rows) < 0)
      status = row.kind == KF_NODE ? kf_stop(run, row.as.node) : -1;
    if (status != 1) break;
    rows++;
    if (run->filled >= most_bytes) break;
  }
  if (status < 0 && PyErr_Occurred()) {
    if (run->table || !PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) return NULL;
    PyErr_Clear();
  }
  if (status != 1) self->done = 1;
  if (kb_make_room(&self->group, rows, rows) < 0 || kb_finish(&self->group, rows) < 0 || (batch = kb_batch(&self->group, rows, self->columns)) == NULL) return NULL;
  found = Py_BuildValue("snOn", status < 0 ? "stopped" : status == 0 ? "end" : "more", rows, batch,
                        (Py_ssize_t)PyCapsule_GetPointer(batch, "arrow_array"));
  Py_DECREF(batch);
  return found;
}

/* (the bytes of each row, or 0; how many rows the bytes still hold), while the list is read. */
static PyObject *kr_fixed(PyObject *object, PyObject *unused) {
  kr_rows *const self = (kr_rows *)object;
  int64_t left = 0;
  (void)unused;
  if (self->depth > 0 && self->level[self->depth - 1].inside) {
    const kr_level *const level = &self->level[self->depth - 1];
    left = self->size ? (level->io->s.end - level->io->s.at) / self->size : 0;
    if (level->count >= 0 && level->count - level->i < left) left = level->count - level->i;
  }
  return Py_BuildValue("LL", (long long)self->size, (long long)left);
}

/* The class of the objects at which the reader stopped; None where it was before any. */
static PyObject *kr_stopped(PyObject *object, PyObject *unused) {
  const kr_rows *const self = (kr_rows *)object;
  const ks_unit *const unit = self->run.stopped != NULL || self->depth == 0 ? self->run.stopped : self->level[self->depth - 1].node->unit;
  (void)unused;
  return unit == NULL ? Py_NewRef(Py_None) : Py_NewRef(unit->cls);
}

static void kr_dealloc(PyObject *object) {
  kr_rows *const self = (kr_rows *)object;
  PyTypeObject *const type = Py_TYPE(object);
  kb_empty(&self->group);
  kb_drop(&self->group);
  for (int i = 0; i < KF_LEVELS; i++) kf_clear(&self->run, i, 1);
  ks_forget(&self->unit);
  if (self->view.obj != NULL) PyBuffer_Release(&self->view);
  Py_XDECREF(self->parameters);
  Py_XDECREF(self->form);
  type->tp_free(object);
  Py_DECREF(type);
}

static PyMethodDef kr_methods[] = {
    {"open", kr_open, METH_VARARGS, NULL},
    {"close", kr_close, METH_NOARGS, NULL},
    {"run", kr_run, METH_VARARGS, NULL},
    {"fixed", kr_fixed, METH_NOARGS, NULL},
    {"stopped", kr_stopped, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot kr_slots[] = {
    {Py_tp_new, kr_new},
    {Py_tp_dealloc, kr_dealloc},
    {Py_tp_methods, kr_methods},
    {0, NULL},
};

static PyType_Spec kr_spec = {"kodec.runtime.native.streams.Rows", sizeof(kr_rows), 0, Py_TPFLAGS_DEFAULT, kr_slots};

#endif
