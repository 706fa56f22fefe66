/* What is fuzzed in every kernel, and what must hold whatever the bytes are.
 *
 * An input is HEAD bytes of options and then the bytes to read. Whoever includes this has included a kernel
 * and defined KERNEL, COLUMNS, FIELDS, CONTENT, `repair`, and UNIT_IS_ROW where a unit is itself a row. */
#include <stdio.h>

enum {
  CHECK = 1,      /* verify checksums */
  EVERYTHING = 2, /* rows that are not for users, too */
  FILTERED = 4,   /* bounds on a column */
  REPAIR = 8,     /* make lengths and checksums right first */
  WALK = 16,      /* heads instead of rows */
  SCARCE = 32,    /* run out of memory */
  STRAIGHT = 64,  /* rows of a unit whose head need not be right */
  CUT = 128       /* take rows back */
};
enum { HEAD = 25 };

#define MUST(condition)                                                             \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);       \
      abort();                                                                      \
    }                                                                               \
  } while (0)

/* ------------------------------------------------------------------ Arrow arrays */

static uint64_t mixed(uint64_t sum, uint64_t value) {
  sum = (sum ^ value) * 0x9E3779B97F4A7C15ULL;
  return sum ^ sum >> 29;
}
static uint64_t mixed_bytes(uint64_t sum, const uint8_t *p, size_t size) {
  sum = mixed(sum, size);
  for (size_t i = 0; i < size; i++) sum = mixed(sum, p[i]);
  return sum;
}
static int bit(const void *bits, int64_t at) { return ((const uint8_t *)bits)[at / 8] >> (at & 7) & 1; }
static int width_of(const char *format) {
  switch (format[0]) {
    case 'c': case 'C': return 1;
    case 's': case 'S': return 2;
    case 'i': case 'I': case 'f': return 4;
    case 'l': case 'L': case 'g': case 't': return 8;
  }
  return 0;
}

/* Hold an array against the rules of its kind. */
static void hold(const struct ArrowSchema *schema, const struct ArrowArray *array) {
  MUST(schema->release != NULL && array->release != NULL);
  MUST(schema->name != NULL && schema->dictionary == NULL && array->dictionary == NULL);
  MUST(array->length >= 0 && array->offset == 0 && array->n_children == schema->n_children);
  const void *const *buffers = array->buffers;
  const int64_t rows = array->length;
  int64_t nulls = 0;
  MUST(array->n_buffers >= 1);
  if (buffers[0] != NULL)
    for (int64_t i = 0; i < rows; i++) nulls += !bit(buffers[0], i);
  MUST(array->null_count == nulls);
  MUST(nulls == 0 || schema->flags & ARROW_FLAG_NULLABLE);
  if (strcmp(schema->format, "+s") == 0) {
    MUST(array->n_buffers == 1);
    for (int64_t i = 0; i < array->n_children; i++) {
      hold(schema->children[i], array->children[i]);
      MUST(array->children[i]->length == rows);
    }
  } else if (strcmp(schema->format, "+l") == 0) {
    const int32_t *starts = buffers[1];
    MUST(array->n_buffers == 2 && array->n_children == 1 && starts[0] == 0);
    for (int64_t i = 0; i < rows; i++) MUST(starts[i] <= starts[i + 1]);
    hold(schema->children[0], array->children[0]);
    MUST(array->children[0]->length == starts[rows]);
  } else if (strcmp(schema->format, "z") == 0 || strcmp(schema->format, "u") == 0) {
    const int32_t *starts = buffers[1];
    MUST(array->n_buffers == 3 && starts[0] == 0);
    for (int64_t i = 0; i < rows; i++) MUST(starts[i] <= starts[i + 1]);
    for (int64_t i = 0; i < rows; i++)
      if (buffers[0] != NULL && !bit(buffers[0], i)) MUST(starts[i] == starts[i + 1]);
  } else {
    MUST(array->n_buffers == 2 && array->n_children == 0);
    MUST(strcmp(schema->format, "b") == 0 || width_of(schema->format) != 0);
    MUST(rows == 0 || buffers[1] != NULL);
  }
}

/* A sum over the values in rows `from` to `to`, which reads every byte of them. */
static uint64_t summed(uint64_t sum, const struct ArrowSchema *schema, const struct ArrowArray *array,
                       int64_t from, int64_t to) {
  const void *const *buffers = array->buffers;
  if (strcmp(schema->format, "+s") == 0) {
    for (int64_t i = 0; i < array->n_children; i++)
      sum = summed(sum, schema->children[i], array->children[i], from, to);
    return sum;
  }
  for (int64_t i = from; i < to; i++) {
    if (buffers[0] != NULL && !bit(buffers[0], i)) {
      sum = mixed(sum, 1);
      continue;
    }
    if (strcmp(schema->format, "+l") == 0) {
      const int32_t *starts = buffers[1];
      sum = mixed(sum, (uint64_t)(starts[i + 1] - starts[i]));
      sum = summed(sum, schema->children[0], array->children[0], starts[i], starts[i + 1]);
    } else if (strcmp(schema->format, "z") == 0 || strcmp(schema->format, "u") == 0) {
      const int32_t *starts = buffers[1];
      sum = mixed_bytes(sum, (const uint8_t *)buffers[2] + starts[i], (size_t)(starts[i + 1] - starts[i]));
    } else if (strcmp(schema->format, "b") == 0) {
      sum = mixed(sum, (uint64_t)bit(buffers[1], i) + 2);
    } else {
      int width = width_of(schema->format);
      sum = mixed_bytes(sum, (const uint8_t *)buffers[1] + i * width, (size_t)width);
    }
  }
  return sum;
}

/* Release it in two parts, as a consumer may that moves a child out of its parent. */
static void release(kd_arrow *made) {
  if (made->array.n_children) {
    struct ArrowArray *child = made->array.children[made->array.n_children - 1];
    struct ArrowArray moved = *child;
    child->release = NULL;
    made->array.release(&made->array);
    MUST(moved.release != NULL);
    moved.release(&moved);
    MUST(moved.release == NULL);
  } else {
    made->array.release(&made->array);
  }
  made->schema.release(&made->schema);
  MUST(made->array.release == NULL && made->schema.release == NULL);
}

/* ------------------------------------------------------------------ rows */

typedef struct {
  kd_options options;
  uint8_t flags;
  long memory;
} asked;

/* What came out: a sum for each column, and how it ended. */
typedef struct {
  size_t rows;
  uint64_t sums[COLUMNS];
  int status;
  size_t next;
} outcome;

static void fits(const kd_where *where, size_t size) {
  MUST(where->status >= KD_TRUNCATED && where->status <= KD_MEMORY);
  MUST(where->field >= 0 && (size_t)where->field < FIELDS);
  MUST(where->at <= size);
}

/* Numbers are within the bounds that were asked for. */
static void within(const asked *a, const kd_arrow *made, const int *order) {
  for (int i = 0; i < made->array.n_children; i++) {
    const char *format = made->schema.children[i]->format;
    const struct ArrowArray *array = made->array.children[i];
    const int64_t least = a->options.least[order[i]], most = a->options.most[order[i]];
    if (format[0] != 'l' && format[0] != 't' && format[0] != 'i') continue;
    for (int64_t row = 0; row < array->length; row++) {
      const int64_t value =
          format[0] == 'i' ? ((const int32_t *)array->buffers[1])[row] : ((const int64_t *)array->buffers[1])[row];
      MUST(value >= least && value <= most);
    }
  }
}

/* Give the columns away, hold them against the rules, and add rows `from` to `to` to the sums. */
static void give(const asked *a, KERNEL(columns) *c, size_t from, size_t to, uint64_t *sums) {
  int order[COLUMNS], count = 0;
  const size_t rows = c->rows;
  kd_arrow made;
  for (int i = COLUMNS - 1; i >= 0; i--)
    if (a->options.wanted >> i & 1) order[count++] = i;
  int status = KERNEL(export)(c, order, count, &made);
  MUST(c->rows == 0 && KERNEL(bytes)(c) == 0);
  if (status != KD_OK) {
    MUST(status == KD_MEMORY && fuzz_left == 0);
    return;
  }
  MUST(made.array.length == (int64_t)rows && made.array.n_children == count);
  hold(&made.schema, &made.array);
  within(a, &made, order);
  for (int i = 0; i < count && sums != NULL; i++)
    sums[order[i]] = summed(sums[order[i]], made.schema.children[i], made.array.children[i], (int64_t)from,
                            (int64_t)(to < rows ? to : rows));
  release(&made);
}

/* Append the rows of what is compressed, taking the stored bytes for the decompressed ones. */
static int inside(const asked *a, const KERNEL(unit) *u, kd_span content, KERNEL(columns) *c) {
  const size_t rows = c->rows, bytes = KERNEL(bytes)(c);
  kd_where where = {0};
  uint8_t *copy = (malloc)(content.size ? content.size : 1);
  MUST(copy != NULL);
  if (content.size) memcpy(copy, content.data, content.size);
#ifdef UNIT_IS_ROW
  kd_options whole = a->options;
  KERNEL(unit) inner;
  size_t next = 0;
  whole.most_rows = SIZE_MAX;
  whole.most_bytes = SIZE_MAX;
  (void)u;
  int status = KERNEL(run)(copy, 0, content.size, &whole, c, &inner, &next, &where);
  MUST(next <= content.size);
  if (status == KD_END) {
    MUST(next == content.size);
    status = KD_OK;
  } else {
    KERNEL(cut)(&whole, c, rows);
  }
#else
  int status = KERNEL(rows)(u, copy, content.size, &a->options, c, &where);
#endif
  if (status == KD_OK) {
    MUST(c->rows >= rows && KERNEL(bytes)(c) >= bytes);
  } else {
    if (status != KD_COMPRESSED) fits(&where, content.size);
    MUST(c->rows == rows && KERNEL(bytes)(c) == bytes);
  }
  (free)(copy);
  return status;
}

/* Read as far as it goes; what is gathered stays in `c` where it is given, else it is summed. */
static outcome gather(const asked *a, const uint8_t *buf, size_t size, KERNEL(columns) *kept) {
  outcome out = {0};
  KERNEL(columns) own = {0}, *c = kept != NULL ? kept : &own;
  KERNEL(unit) u;
  kd_where where = {0};
  size_t pos = 0;
  for (;;) {
    const size_t before = c->rows;
    out.status = KERNEL(run)(buf, pos, size, &a->options, c, &u, &out.next, &where);
    MUST(out.next >= pos && out.next <= size);
    MUST(c->rows >= before);
    pos = out.next;
    if (out.status == KD_FULL) {
      MUST(c->rows >= a->options.most_rows || KERNEL(bytes)(c) >= a->options.most_bytes);
      if (kept != NULL || c->rows == 0) break;
      out.rows += c->rows;
      give(a, c, 0, SIZE_MAX, out.sums);
      continue;
    }
    if (out.status == KD_COMPRESSED) {
      const kd_span content = CONTENT(&u);
      MUST(u.unit_start == pos && u.unit_size > 0 && u.unit_size <= size - pos);
      MUST(KERNEL(codec)(&u) != NULL);
      if (content.data != NULL) MUST(content.data >= buf + pos && content.size <= u.unit_size);
      inside(a, &u, content, c);
      pos += u.unit_size;
      continue;
    }
    if (out.status == KD_HIDDEN) {
      MUST(a->options.stop_at_hidden && u.unit_start == pos && u.unit_size > 0 && u.unit_size <= size - pos);
      pos += u.unit_size;
      continue;
    }
    if (out.status == KD_END)
      MUST(pos == size);
    else
      fits(&where, size);
    break;
  }
  if (kept == NULL) {
    out.rows += c->rows;
    give(a, c, 0, SIZE_MAX, out.sums);
  }
  return out;
}

/* Rows do not depend on which columns are asked for, nor on how many are taken at once. */
static void same_whatever_is_asked(const asked *a, const uint8_t *buf, size_t size) {
  const outcome found = gather(a, buf, size, NULL);
  if (found.status == KD_FULL) return;
  asked whole = *a;
  whole.options.wanted = ((uint64_t)1 << COLUMNS) - 1;
  whole.options.most_rows = whole.options.most_bytes = SIZE_MAX;
  const outcome expected = gather(&whole, buf, size, NULL);
  MUST(found.status == expected.status && found.next == expected.next && found.rows == expected.rows);
  for (int i = 0; i < COLUMNS; i++)
    if (a->options.wanted >> i & 1) MUST(found.sums[i] == expected.sums[i]);
}

/* Rows taken back leave those before them, and new ones come behind these. */
static void cut_and_go_on(const asked *a, const uint8_t *buf, size_t size) {
  asked whole = *a;
  KERNEL(columns) first = {0}, second = {0}, cut = {0};
  uint64_t expected[COLUMNS] = {0}, found[COLUMNS] = {0};
  whole.options.most_rows = whole.options.most_bytes = SIZE_MAX;
  gather(&whole, buf, size, &first);
  gather(&whole, buf, size, &second);
  gather(&whole, buf, size, &cut);
  const size_t rows = first.rows, keep = rows / 2;
  KERNEL(cut)(&a->options, &cut, keep);
  MUST(cut.rows == keep && KERNEL(bytes)(&cut) <= KERNEL(bytes)(&first));
  gather(&whole, buf, size, &cut);
  MUST(second.rows == rows && cut.rows == keep + rows);
  give(a, &first, 0, keep, expected);
  give(a, &second, 0, SIZE_MAX, expected);
  give(a, &cut, 0, SIZE_MAX, found);
  for (int i = 0; i < COLUMNS; i++) MUST(found[i] == expected[i]);
}

/* Running out of memory at any point reports it, keeps what was there, and leaks nothing. */
static void run_out_of_memory(const asked *a, const uint8_t *buf, size_t size) {
  KERNEL(columns) c = {0};
  fuzz_left = a->memory;
  gather(a, buf, size, &c);
  if (a->memory & 1) fuzz_left = -1;
  give(a, &c, 0, SIZE_MAX, NULL);
  fuzz_left = -1;
}

#ifdef LIST
/* Rows one by one, as objects are made of them: so many as there are as columns, or as much is wrong. */
static void objects(const asked *a, const KERNEL(unit) *u, kd_span content) {
  kd_options whole = a->options;
  KERNEL(columns) c = {0};
  kd_where where = {0};
  kd_items rows = {0};
  size_t room = 0, taken = 0;
  uint8_t *copy = (malloc)(content.size ? content.size : 1);
  MUST(copy != NULL);
  memcpy(copy, content.data, content.size);
  whole.filtered = 0;
  for (int i = 0; i < COLUMNS; i++) {
    whole.least[i] = INT64_MIN;
    whole.most[i] = INT64_MAX;
  }
  const int expected = KERNEL(rows)(u, copy, content.size, &whole, &c, &where);
  const size_t count = c.rows;
  KERNEL(clear)(&c);
  int status = KERNEL(open)(u, copy, content.size, &whole, &rows, &room, &where);
  while (status == KD_OK) {
    KERNEL(object) one;
    const uint8_t *const before = rows.data;
    const size_t left = rows.count;
    status = KERNEL(take)(u, &rows, &room, &one, &where);
    if (status != KD_OK) break;
    taken++;
    MUST(rows.count == left - 1 && rows.data > before && rows.data <= copy + content.size);
    MUST(one.key.size + one.value.size <= content.size);
    kd_items rest = one.LIST;
    for (size_t items = rest.count; items; items--) {
      KERNEL(object_headers) item;
      MUST(NEXT_ITEM(u, &rest, &item) == KD_OK);
      MUST(item.key.data >= copy && item.key.data + item.key.size <= copy + content.size);
      MUST(item.value.size <= content.size);
    }
    KERNEL(object_headers) none;
    MUST(rest.count == 0 && NEXT_ITEM(u, &rest, &none) == KD_COUNT);
  }
  if (status == KD_END)
    MUST(expected == KD_OK && taken == count);
  else
    MUST(expected == status);
  (free)(copy);
}

/* Go from unit to unit that has rows. */
static void walk_objects(const asked *a, const uint8_t *buf, size_t size) {
  KERNEL(unit) u;
  kd_where where = {0};
  size_t pos = 0, next = 0;
  for (;;) {
    const int status = KERNEL(next)(buf, pos, size, &a->options, &u, &next, &where);
    MUST(next >= pos && next <= size);
    if (status != KD_OK && status != KD_COMPRESSED) {
      if (status == KD_END) MUST(next == size);
      return;
    }
    MUST(next > pos && u.unit_start + u.unit_size == next && CONTENT(&u).data != NULL);
    objects(a, &u, CONTENT(&u));
    pos = next;
  }
}
#endif

#ifndef UNIT_IS_ROW
/* A head that was refused, or was not, over content that need not be its own. */
static void rows_of_any_head(const asked *a, const uint8_t *buf, size_t size) {
  KERNEL(columns) c = {0};
  KERNEL(unit) u;
  kd_where where = {0};
  memset(&u, 0, sizeof u);
  KERNEL(read)(buf, 0, size, &u, &where);
  const size_t start = size < HEADER ? size : HEADER;
  for (int i = 0; i < 2; i++) inside(a, &u, (kd_span){buf + start, size - start}, &c);
  objects(a, &u, (kd_span){buf + start, size - start});
  give(a, &c, 0, SIZE_MAX, NULL);
}
#endif

/* ------------------------------------------------------------------ heads */

static void walk(const asked *a, const uint8_t *buf, size_t size) {
  KERNEL(heads) c = {0};
  KERNEL(unit) u;
  kd_where where = {0};
  kd_arrow made;
  size_t pos = 0, next = 0;
  const int check = a->flags & CHECK;
  for (;;) {
    if (a->flags & SCARCE) fuzz_left = a->memory;
    int status = KERNEL(walk)(buf, pos, size, 1000, check, a->options.most_rows, a->options.unit_bytes, &c, &u,
                              &next, &where);
    MUST(next >= pos && next <= size);
    if (status == KD_END) MUST(next == size);
    if (status > KD_COMPRESSED) fits(&where, size);
    const size_t rows = c.rows;
    const int given = KERNEL(export_heads)(&c, &made);
    MUST(c.rows == 0);
    if (given == KD_OK) {
      MUST(made.array.length == (int64_t)rows);
      hold(&made.schema, &made.array);
      summed(0, &made.schema, &made.array, 0, (int64_t)rows);
      const int64_t *position = made.array.children[0]->buffers[1], *length = made.array.children[1]->buffers[1];
      const struct ArrowArray *last = made.array.children[made.array.n_children - 1];
      int64_t at = 1000 + (int64_t)pos;
      for (size_t i = 0; i < rows; i++) {
        MUST(position[i] == at && length[i] > 0);
        if (check) {
          MUST(KERNEL(read)(buf, (size_t)(at - 1000), size, &u, &where) == KD_OK);
          MUST((KERNEL(verify)(&u, &where) == KD_OK) == bit(last->buffers[1], (int64_t)i));
        }
        at += length[i];
      }
      MUST(at == 1000 + (int64_t)next);
      release(&made);
    } else {
      MUST(given == KD_MEMORY && fuzz_left == 0);
    }
    if (next == pos || status != KD_FULL) break;
    pos = next;
  }
  fuzz_left = -1;
}

/* Checksums by the processor's instructions are those by tables, at any start and size. */
static void sums(const uint8_t *buf, size_t size, size_t salt) {
  const size_t long_size = salt * 97 % 40000, start = salt % 17;
  uint8_t *copy = (malloc)(start + long_size + 1);
  MUST(copy != NULL);
  for (size_t i = 0; i < start + long_size; i++) copy[i] = size ? (uint8_t)(buf[i % size] + i / size) : 0;
  const uint8_t *from = copy + start;
  MUST(kd_crc32c(from, long_size) == (uint32_t)~kd_crc_by_table(&kd_crc32c_tables, ~0U, from, long_size));
  MUST(kd_crc32(from, long_size) == (uint32_t)~kd_crc_by_table(&kd_crc32_tables, ~0U, from, long_size));
  (free)(copy);
}

/* ------------------------------------------------------------------ one input */

#define PICK(list, byte) (list)[(byte) % (sizeof(list) / sizeof *(list))]

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const size_t rows[] = {SIZE_MAX, 1, 2, 3, 7, 100, 0}, bytes[] = {SIZE_MAX, 1, 16, 100, 4 << 20, 0},
                      elements[] = {1 << 20, 0, 1, 2, 3, 10, 1000, SIZE_MAX},
                      units[] = {1 << 30, 0, 60, 100, 300, SIZE_MAX};
  asked a = {0};
  if (size < HEAD) return 0;
  KERNEL(prepare)();
  a.flags = data[0];
  a.options.wanted = kd_load_u2le(data + 1) & (((uint64_t)1 << COLUMNS) - 1);
  a.options.check = a.flags & CHECK;
  a.options.everything = a.flags & EVERYTHING;
  a.options.stop_at_hidden = data[2] >> 7;
  a.options.filtered = a.flags & FILTERED;
  a.options.most_rows = PICK(rows, data[3]);
  a.options.most_bytes = PICK(bytes, data[4]);
  a.options.elements = PICK(elements, data[5]);
  a.options.unit_bytes = PICK(units, data[6]);
  a.memory = data[7];
  for (int i = 0; i < COLUMNS; i++) {
    a.options.least[i] = INT64_MIN;
    a.options.most[i] = INT64_MAX;
  }
  if (a.flags & FILTERED) {
    a.options.least[data[8] % COLUMNS] = (int64_t)kd_load_u8be(data + 9);
    a.options.most[data[8] % COLUMNS] = (int64_t)kd_load_u8be(data + 17);
  }
  data += HEAD;
  size -= HEAD;
  uint8_t *copy = (malloc)(size ? size : 1);
  if (copy == NULL) return 0;
  memcpy(copy, data, size);
  if (a.flags & REPAIR)
    for (size_t at = 0, done; at < size && (done = repair(copy + at, size - at)) != 0; at += done) continue;
  if (data[-1] % 16 == 1) sums(copy, size, (size_t)a.memory * 331 + data[-2]);
  if (a.flags & WALK)
    walk(&a, copy, size);
  else if (a.flags & SCARCE)
    run_out_of_memory(&a, copy, size);
#ifndef UNIT_IS_ROW
  else if (a.flags & STRAIGHT)
    rows_of_any_head(&a, copy, size);
#endif
#ifdef LIST
  else if (a.flags & CUT && a.flags & EVERYTHING)
    walk_objects(&a, copy, size);
#endif
  else if (a.flags & CUT)
    cut_and_go_on(&a, copy, size);
  else
    same_whatever_is_asked(&a, copy, size);
  (free)(copy);
  return 0;
}
