/* Expressions of whole numbers and flags as sequences of operations, for frames. Slots that are known are taken at once,
 * also those of objects in the frame, and what is computed from them is part of the sequence; any other part is asked of
 * `kf_quick`. Where a value is not a whole number, or does not fit, the whole is left to that. Included by kodec_frames.h. */
#ifndef KODEC_NUMBERS_H
#define KODEC_NUMBERS_H

enum { KX_DEEP = 12, KX_LONG = 96, KX_NESTED = 24 };

typedef enum {
  KX_END, KX_CONSTANT, KX_SLOT, KX_THERE, KX_MEMBER, KX_INDEX, KX_ITEM, KX_AT_INDEX, KX_EOF, KX_ANY, KX_SAME, KX_NOT, KX_UNLESS, KX_UNTIL, KX_ELSE, KX_SKIP,
  KX_BINARY, /* and one for each operator */
  KX_BINARY_CONSTANT = KX_BINARY + KS_AT_LEAST - KS_ADD + 1 /* the same with a constant at the right */
} kx_what;

typedef struct kx_code {
  uint8_t what, whole; /* `whole`: a flag is not taken */
  int32_t skip;
  int64_t value; /* a constant, or an offset from the object at hand */
  ks_expr *expr;
} kx_code;

typedef struct {
  kx_code code[KX_LONG];
  int n, deep;
} kx_maker;

static kx_code *kx_add(kx_maker *maker, int what, int64_t value, int grows) {
  kx_code *const to = &maker->code[maker->n];
  maker->deep += grows;
  if (maker->n + 2 > KX_LONG || maker->deep >= KX_DEEP) return NULL;
  *to = (kx_code){(uint8_t)what, 0, 0, value, NULL};
  maker->n++;
  return to;
}

/* Add an expression of an object at an offset, with `inside` outside of a step. What it makes, or KF_UNSET where there is no
 * sequence. With `exact` that is its kind; otherwise flags may be numbers. */
static kf_kind kx_add_expr(kx_maker *maker, const ks_expr *expr, int64_t node, int inside, int exact) {
  kf_kind first, second;
  kx_code *to;
  int at;
  if (inside > KX_NESTED) return KF_UNSET;
  if (expr->known == KF_SLOT || expr->known == KF_COMPUTED) {
    if (expr->via >= 0 &&
        kx_add(maker, KX_THERE, node + (int64_t)offsetof(kf_node, slot) + expr->via * (int64_t)sizeof(kf_val), 0) == NULL)
      return KF_UNSET;
    if (expr->known == KF_COMPUTED) return kx_add_expr(maker, expr->computed, node + expr->offset, inside + 1, exact);
    if ((to = kx_add(maker, KX_SLOT, node + expr->offset, 1)) == NULL) return KF_UNSET;
    to->whole = (uint8_t)exact;
    return KF_INT;
  }
  switch (expr->op) {
    case KS_CONSTANT:
      if (expr->constant.kind == KS_OBJECT || kx_add(maker, KX_CONSTANT, expr->constant.i, 1) == NULL) return KF_UNSET;
      return expr->constant.kind == KS_FLAG ? KF_FLAG : KF_INT;
    case KS_INDEX: return inside || kx_add(maker, KX_INDEX, 0, 1) == NULL ? KF_UNSET : KF_INT;
    case KS_ITEM:
      if (inside || (to = kx_add(maker, KX_ITEM, 0, 1)) == NULL) return KF_UNSET;
      to->whole = (uint8_t)exact;
      return KF_INT;
    case KS_ELEMENT:
      if (inside || expr->part[1]->op != KS_INDEX || expr->part[0]->known != KF_SLOT || expr->part[0]->via >= 0) break;
      if ((to = kx_add(maker, KX_AT_INDEX, expr->part[0]->offset, 1)) == NULL) return KF_UNSET;
      to->whole = (uint8_t)exact;
      return KF_INT;
    case KS_MEMBER:
      if (expr->part[0]->part[0] != NULL || (expr->part[0]->op != KS_PARENT && expr->part[0]->op != KS_ROOT && (inside || expr->part[0]->op != KS_ITEM)))
        break;
      if ((to = kx_add(maker, KX_MEMBER, node, 1)) == NULL) return KF_UNSET;
      to->expr = (ks_expr *)expr;
      to->whole = (uint8_t)exact;
      return KF_INT;
    case KS_EOF:
      if (inside || expr->part[0] != NULL) break;
      return kx_add(maker, KX_EOF, 0, 1) == NULL ? KF_UNSET : KF_FLAG;
    case KS_NEED: return kx_add_expr(maker, expr->part[0], node, inside, exact);
    case KS_INT:
    case KS_ENUM: return kx_add_expr(maker, expr->part[0], node, inside, 0) ? KF_INT : KF_UNSET;
    case KS_NOT: return kx_add_expr(maker, expr->part[0], node, inside, 0) && kx_add(maker, KX_NOT, 0, 0) != NULL ? KF_FLAG : KF_UNSET;
    case KS_AND:
    case KS_OR:
      if (!(first = kx_add_expr(maker, expr->part[0], node, inside, exact))) return KF_UNSET;
      at = maker->n;
      if (kx_add(maker, expr->op == KS_AND ? KX_UNLESS : KX_UNTIL, 0, -1) == NULL) return KF_UNSET;
      second = kx_add_expr(maker, expr->part[1], node, inside, exact);
      maker->code[at].skip = maker->n - at - 1;
      return exact && first != second ? KF_UNSET : second;
    case KS_IF:
      if (!kx_add_expr(maker, expr->part[0], node, inside, 0)) return KF_UNSET;
      at = maker->n;
      if (kx_add(maker, KX_ELSE, 0, -1) == NULL || !(first = kx_add_expr(maker, expr->part[1], node, inside, exact))) return KF_UNSET;
      maker->code[at].skip = maker->n - at;
      at = maker->n;
      if (kx_add(maker, KX_SKIP, 0, -1) == NULL || !(second = kx_add_expr(maker, expr->part[2], node, inside, exact))) return KF_UNSET;
      maker->code[at].skip = maker->n - at - 1;
      return exact && first != second ? KF_UNSET : second;
    default: break;
  }
  if (!inside && (expr->op == KS_EQUAL || expr->op == KS_DIFFERENT) && expr->part[1]->op == KS_CONSTANT && expr->part[1]->constant.kind == KS_OBJECT) {
    if ((to = kx_add(maker, KX_SAME, 0, 1)) == NULL) return KF_UNSET;
    to->expr = (ks_expr *)expr;
    return KF_FLAG;
  }
  if (expr->op >= KS_ADD && expr->op <= KS_AT_LEAST && !(expr->part[0]->op == KS_CONSTANT && expr->part[0]->constant.kind == KS_OBJECT) &&
      !(expr->part[1]->op == KS_CONSTANT && expr->part[1]->constant.kind == KS_OBJECT)) {
    const int bits = expr->op >= KS_BITS_AND && expr->op <= KS_BITS_XOR;
    const ks_expr *const right = expr->part[1];
    const int what = (int)(expr->op - KS_ADD);
    if (!(first = kx_add_expr(maker, expr->part[0], node, inside, bits))) return KF_UNSET;
    if (right->op == KS_CONSTANT && right->constant.kind == KS_WHOLE) {
      if (kx_add(maker, KX_BINARY_CONSTANT + what, right->constant.i, 0) == NULL) return KF_UNSET;
      second = KF_INT;
    } else if (!(second = kx_add_expr(maker, right, node, inside, bits)) || kx_add(maker, KX_BINARY + what, 0, -1) == NULL) {
      return KF_UNSET;
    }
    return expr->op >= KS_EQUAL || (bits && first == KF_FLAG && second == KF_FLAG) ? KF_FLAG : KF_INT;
  }
  /* the object of an expression that is computed for another is not at hand */
  if (inside || (to = kx_add(maker, KX_ANY, 0, 1)) == NULL) return KF_UNSET;
  to->expr = (ks_expr *)expr;
  to->whole = (uint8_t)exact;
  return KF_INT;
}

/* Whether a sequence is a slot, or a member of the item, and operations with constants that `kx_take_brief` does. */
static int kx_is_brief(const kx_code *code, int n) {
  if (code[0].what == KX_THERE && n > 1) {
    code++;
    n--;
  }
  if (code[0].what != KX_SLOT && (code[0].what != KX_MEMBER || code[0].expr->part[0]->op != KS_ITEM)) return 0;
  for (int i = 1; i < n; i++) {
    const int op = code[i].what - KX_BINARY_CONSTANT + KS_ADD;
    const int64_t y = code[i].value;
    if (code[i].what < KX_BINARY_CONSTANT) return 0;
    if (op == KS_MODULO ? y <= 0 || (y & (y - 1)) : op == KS_SUBTRACT ? y == INT64_MIN : op != KS_ADD && op != KS_BITS_AND && op < KS_EQUAL)
      return 0;
  }
  return 1;
}

/* Make the sequence of an expression of a unit's table, if there is one that saves something. */
static void kx_make(ks_unit *unit, ks_expr *expr) {
  kx_maker maker = {.n = 0};
  const kf_kind makes = kx_add_expr(&maker, expr, 0, 0, 1);
  kx_code *made;
  if (!makes || (maker.n == 1 && (maker.code[0].what == KX_ANY || maker.code[0].what == KX_SAME))) return;
  made = ks_new(unit, (size_t)maker.n + 1, sizeof(kx_code));
  if (made == NULL) {
    PyErr_Clear();
    return;
  }
  memcpy(made, maker.code, (size_t)maker.n * sizeof(kx_code));
  made[maker.n].what = KX_END;
  expr->makes = makes;
  expr->brief = (uint8_t)kx_is_brief(made, maker.n);
  expr->code = made;
}

/* What a brief sequence makes, as most tests are; KF_UNSET where it does not do. */
static kf_kind kx_take_brief(const kf_at *at, const ks_expr *expr, int64_t *to) {
  const kx_code *code = expr->code;
  const kf_val *found = (const kf_val *)(const void *)((const uint8_t *)at->node + code->value);
  int64_t x;
  if (code->what == KX_THERE) {
    if (KD_UNLIKELY(found->kind != KF_NODE)) return KF_UNSET;
    code++;
    found = (const kf_val *)(const void *)((const uint8_t *)at->node + code->value);
  }
  if (code->what == KX_MEMBER) {
    const kf_node *const item = at->item == NULL || at->item->kind != KF_NODE ? NULL : at->item->as.node;
    if (item == NULL || (PyObject *)code->expr->seen != item->unit->cls || code->expr->place < 0) return KF_UNSET;
    found = &item->slot[code->expr->place];
  }
  if (KD_UNLIKELY(found->kind != KF_INT && (found->kind != KF_FLAG || code->whole))) return KF_UNSET;
  x = found->as.i;
  for (code++; code->what != KX_END; code++) {
    const int64_t y = code->value;
    switch ((ks_op)(code->what - KX_BINARY_CONSTANT + KS_ADD)) {
      case KS_ADD:
        if (ks_add(x, y, &x) < 0) return KF_UNSET;
        continue;
      case KS_SUBTRACT:
        if (ks_add(x, -y, &x) < 0) return KF_UNSET;
        continue;
      case KS_MODULO: x &= y - 1; continue;
      case KS_BITS_AND: x &= y; continue;
      case KS_EQUAL: x = x == y; continue;
      case KS_DIFFERENT: x = x != y; continue;
      case KS_LESS: x = x < y; continue;
      case KS_AT_MOST: x = x <= y; continue;
      case KS_MORE: x = x > y; continue;
      default: x = x >= y; continue;
    }
  }
  *to = x;
  return expr->makes;
}

/* What a sequence makes, into `to`; KF_UNSET where it does not do. */
static kf_kind kx_take(kf_run *run, const kf_at *at, const ks_expr *expr, int64_t *to) {
  int64_t stack[KX_DEEP + 1], *top = stack, x, y;
  const uint8_t *const node = (const uint8_t *)at->node;
  const kf_val *found;
  ks_val whole;
  kf_kind kind;
  for (const kx_code *code = expr->code;; code++) {
    switch (code->what) {
      case KX_END: *to = *top; return expr->makes;
      case KX_CONSTANT: *++top = code->value; continue;
      case KX_SLOT:
        found = (const kf_val *)(const void *)(node + code->value);
        if (KD_UNLIKELY(found->kind != KF_INT && (found->kind != KF_FLAG || code->whole))) return KF_UNSET;
        *++top = found->as.i;
        continue;
      case KX_THERE:
        if (KD_UNLIKELY(((const kf_val *)(const void *)(node + code->value))->kind != KF_NODE)) return KF_UNSET;
        continue;
      case KX_MEMBER: {
        kf_node *around = (kf_node *)(void *)((uint8_t *)at->node + code->value);
        const ks_op op = code->expr->part[0]->op;
        if (op == KS_ITEM) around = at->item == NULL || at->item->kind != KF_NODE ? NULL : at->item->as.node;
        else around = op == KS_PARENT ? around->parent : around->root;
        if (around == NULL) return KF_UNSET;
        if (KD_LIKELY((PyObject *)code->expr->seen == around->unit->cls && code->expr->place >= 0)) {
          found = &around->slot[code->expr->place];
          kind = (kf_kind)found->kind;
          x = found->as.i;
        } else {
          kind = kf_quick_member(run, code->expr, around, &x);
        }
        if (kind != KF_INT && (kind != KF_FLAG || code->whole)) return KF_UNSET;
        *++top = x;
        continue;
      }
      case KX_EOF:
        if (at->io == NULL) return KF_UNSET;
        *++top = at->io->first->now->s.at >= at->io->first->now->s.end && at->io->first->now->s.left <= 0;
        continue;
      case KX_INDEX: *++top = at->index; continue;
      case KX_ITEM:
        found = at->item;
        if (found == NULL || (found->kind != KF_INT && (found->kind != KF_FLAG || code->whole))) return KF_UNSET;
        *++top = found->as.i;
        continue;
      case KX_AT_INDEX:
        found = (const kf_val *)(const void *)(node + code->value);
        if (found->kind != KF_LIST || at->index < 0 || at->index >= found->as.list->n) return KF_UNSET;
        if (KD_LIKELY(found->as.list->numbers != NULL && found->as.list->kind == KF_INT)) {
          *++top = found->as.list->numbers[at->index];
          continue;
        }
        if (found->as.list->numbers != NULL) return KF_UNSET;
        found = &found->as.list->items[at->index];
        if (found->kind != KF_INT && (found->kind != KF_FLAG || code->whole)) return KF_UNSET;
        *++top = found->as.i;
        continue;
      case KX_ANY:
        kind = kf_quick(run, at, code->expr, &x);
        if (kind == KF_UNSET || (kind == KF_FLAG && code->whole)) return KF_UNSET;
        *++top = x;
        continue;
      case KX_SAME:
        if (kf_quick_equal(run, at, code->expr, &x) == KF_UNSET) return KF_UNSET;
        *++top = x;
        continue;
      case KX_NOT: *top = *top == 0; continue;
      case KX_UNLESS:
        if (*top == 0) code += code->skip;
        else top--;
        continue;
      case KX_UNTIL:
        if (*top != 0) code += code->skip;
        else top--;
        continue;
      case KX_ELSE:
        if (*top-- == 0) code += code->skip;
        continue;
      case KX_SKIP: code += code->skip; continue;
      default: break;
    }
    if (code->what >= KX_BINARY_CONSTANT) {
      y = code->value;
      x = *top;
    } else {
      y = *top--;
      x = *top;
    }
    switch ((ks_op)(code->what - (code->what >= KX_BINARY_CONSTANT ? KX_BINARY_CONSTANT : KX_BINARY) + KS_ADD)) {
      case KS_EQUAL: *top = x == y; continue;
      case KS_DIFFERENT: *top = x != y; continue;
      case KS_LESS: *top = x < y; continue;
      case KS_AT_MOST: *top = x <= y; continue;
      case KS_MORE: *top = x > y; continue;
      case KS_AT_LEAST: *top = x >= y; continue;
      case KS_BITS_AND: *top = x & y; continue;
      case KS_ADD:
        if (ks_add(x, y, top) < 0) return KF_UNSET;
        continue;
      case KS_MODULO:
        if (y > 0 && (y & (y - 1)) == 0) {
          *top = x & (y - 1);
          continue;
        }
        break;
      case KS_LEFT:
        if (x >= 0 && x <= UINT32_MAX && y >= 0 && y < 31) {
          *top = x << y;
          continue;
        }
        break;
      default: break;
    }
    if (ks_of_wholes((ks_op)(code->what - (code->what >= KX_BINARY_CONSTANT ? KX_BINARY_CONSTANT : KX_BINARY) + KS_ADD), x, y, &whole) != 0)
      return KF_UNSET;
    *top = whole.i;
  }
}

#endif
