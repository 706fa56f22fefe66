/* Errors, memory, and the common parts of readers and writers of all types. */
#include "kodec_generated.h"

#include <stdio.h>
#include <stdlib.h>

#include "kodec_core.h"

enum {
  MOST_ELEMENTS = 4000000,
  MOST_DECOMPRESSED = 256 << 20,
  MOST_DEPTH = 100,
  ARENA_LIMIT = 1 << 30,
  LEAST_BLOCK = 4096,
  MOST_BLOCK = 1 << 20,
};

_Alignas(max_align_t) uint8_t kodec_empty[sizeof(max_align_t)];

/* ------------------------------------------------------------------ errors */

const char *kodec_code_name(kodec_code code) {
  static const char *const names[] = {"ok",          "truncated",      "malformed",    "bad_checksum",
                                      "unsupported", "limit_exceeded", "not_encodable"};
  return names[code];
}

static void copy_text(char *to, size_t room, const char *from) {
  const size_t size = strlen(from) < room - 1 ? strlen(from) : room - 1;
  memcpy(to, from, size);
  to[size] = 0;
}

char *kodec_error_text(const kodec_error *error, char *text, size_t size) {
  char place[96] = "";
  if (error->inside != NULL) {
    snprintf(place, sizeof place, ", at byte %zu of what the %s data at byte %zu decompresses to",
             error->at_inside, error->inside, error->at);
  } else if (error->code != KODEC_NOT_ENCODABLE) {
    snprintf(place, sizeof place, ", at byte %zu", error->at);
  }
  snprintf(text, size, "%s%s%s%s%s%s%s%s%s%s", error->path, error->path[0] ? ": " : "",
           kodec_code_name(error->code), error->reason[0] ? ": " : "", error->reason,
           error->need[0] ? ": need " : "", error->need, error->have[0] ? ", have " : "", error->have,
           place);
  return text;
}

kodec_code kd_stop(kodec_error *error, kodec_code code, const char *path, const char *reason, size_t at,
                   const char *need, const char *have) {
  *error = (kodec_error){.code = code, .at = at};
  copy_text(error->path, sizeof error->path, path);
  copy_text(error->reason, sizeof error->reason, reason);
  copy_text(error->need, sizeof error->need, need);
  copy_text(error->have, sizeof error->have, have);
  return code;
}

kodec_code kd_within(kodec_error *error, kodec_code code, const char *name) {
  const bool apart = name[0] != 0 && error->path[0] != 0 && error->path[0] != '[';
  const size_t room = sizeof error->path - 1;
  const size_t head = strlen(name) < room ? strlen(name) : room;
  const size_t dot = apart && head < room;
  size_t size = strlen(error->path);
  if (size > room - head - dot) size = room - head - dot;
  memmove(error->path + head + dot, error->path, size);
  memcpy(error->path, name, head);
  if (dot) error->path[head] = '.';
  error->path[head + dot + size] = 0;
  return code;
}

kodec_code kd_within_item(kodec_error *error, kodec_code code, const char *name, size_t index) {
  char shown[160];
  snprintf(shown, sizeof shown, "%s[%zu]", name, index);
  return kd_within(error, code, shown);
}

kd_shown kd_show_int(int64_t value) {
  kd_shown found;
  snprintf(found.text, sizeof found.text, "%lld", (long long)value);
  return found;
}
kd_shown kd_show_uint(uint64_t value) {
  kd_shown found;
  snprintf(found.text, sizeof found.text, "%llu", (unsigned long long)value);
  return found;
}
kd_shown kd_show_count(size_t count) { return kd_show_uint(count); }
kd_shown kd_show_real(double value) {
  kd_shown found;
  snprintf(found.text, sizeof found.text, "%.17g", value);
  return found;
}
kd_shown kd_show_bytes(kodec_bytes value) {
  kd_shown found;
  if (value.data == NULL) {
    copy_text(found.text, sizeof found.text, "null");
  } else {
    snprintf(found.text, sizeof found.text, "%zu bytes", value.size);
  }
  return found;
}
kd_shown kd_show_uuid(kodec_uuid value) {
  kd_shown found;
  for (size_t i = 0; i < sizeof value.bytes; i++) snprintf(found.text + 2 * i, 3, "%02x", value.bytes[i]);
  return found;
}

kodec_code kd_truncated(kd_reader *r, const char *name, size_t need, size_t have) {
  return kd_stop(r->error, KODEC_TRUNCATED, name, "", r->pos, kd_show_uint(need).text,
                 kd_show_uint(have).text);
}
/* The error for the first of the fields that is not whole. */
kodec_code kd_short(kd_reader *r, const kd_field *fields, size_t count) {
  size_t at = r->pos, i = 0;
  while (i + 1 < count && at + fields[i].size <= r->end) at += fields[i++].size;
  return kd_stop(r->error, KODEC_TRUNCATED, fields[i].name, "", at, kd_show_uint(fields[i].size).text,
                 kd_show_uint(at < r->end ? r->end - at : 0).text);
}
kodec_code kd_refused(kd_reader *r, const char *name, size_t at, const char *need, kd_shown have) {
  return kd_stop(r->error, KODEC_MALFORMED, name, "value not allowed", at, need, have.text);
}
kodec_code kd_wrong_bytes(kd_reader *r, const char *name, size_t at) {
  return kd_stop(r->error, KODEC_MALFORMED, name, "wrong fixed bytes", at, "", "");
}
kodec_code kd_wrong_length(kd_reader *r, const char *name, size_t at, int64_t need, int64_t have) {
  return kd_stop(r->error, KODEC_MALFORMED, name, "not the length of the fields it covers", at,
                 kd_show_int(need).text, kd_show_int(have).text);
}
kodec_code kd_wrong_sum(kd_reader *r, const char *name, size_t at, uint64_t need, uint64_t have) {
  return kd_stop(r->error, KODEC_BAD_CHECKSUM, name, "", at, kd_show_uint(need).text,
                 kd_show_uint(have).text);
}
kodec_code kd_not_derived(kd_reader *r, const char *name, size_t at, int64_t need, int64_t have) {
  return kd_stop(r->error, KODEC_MALFORMED, name, "differs from the value it is derived from", at, kd_show_int(need).text,
                 kd_show_int(have).text);
}
kodec_code kd_unknown_version(kd_reader *r, const char *name, size_t at, const char *need, int64_t have) {
  return kd_stop(r->error, KODEC_UNSUPPORTED, name, "unknown version", at, need, kd_show_int(have).text);
}
kodec_code kd_no_case(kd_reader *r, const char *name, kd_shown have) {
  return kd_stop(r->error, KODEC_UNSUPPORTED, name, "no case for this value", r->pos, "", have.text);
}
kodec_code kd_too_many(kd_reader *r, const char *name) {
  return kd_stop(r->error, KODEC_LIMIT_EXCEEDED, name, "too many elements", r->pos,
                 kd_show_uint(r->opt.most_elements + 1).text, kd_show_uint(r->opt.most_elements).text);
}
kodec_code kd_too_deep(kd_reader *r) {
  return kd_stop(r->error, KODEC_LIMIT_EXCEEDED, "", "values nest too deep", r->pos,
                 kd_show_uint(r->depth).text, kd_show_uint(r->opt.most_depth).text);
}
kodec_code kd_endless(kd_reader *r, const char *name) {
  return kd_stop(r->error, KODEC_MALFORMED, name, "an element without bytes would repeat forever", r->pos,
                 "", "");
}
kodec_code kd_bad_varint(kd_reader *r, const char *name, size_t most) {
  const size_t left = r->end - r->pos;
  if (left < most) return kd_truncated(r, name, left + 1, left);
  return kd_stop(r->error, KODEC_MALFORMED, name, "varint does not end in time", r->pos, "", "");
}
kodec_code kd_not_encodable(kd_writer *w, const char *name, const char *reason, kd_shown have) {
  return kd_stop(w->error, KODEC_NOT_ENCODABLE, name, reason, 0, "", have.text);
}

/* ------------------------------------------------------------------ memory */

/* Memory that is allocated from its start; for memory of others, only `data`. */
typedef struct kodec_block {
  struct kodec_block *next;
  size_t used, room;
  uint8_t *data;
} kodec_block;

void kodec_arena_init(kodec_arena *arena, size_t limit) {
  *arena = (kodec_arena){.limit = limit != 0 ? limit : ARENA_LIMIT};
}

static void free_block(kodec_block *block) {
  if (block->data != (uint8_t *)(block + 1)) free(block->data);
  free(block);
}

void kodec_arena_reset(kodec_arena *arena) {
  kodec_block *kept = NULL, *next;
  for (kodec_block *block = arena->blocks; block != NULL; block = next) {
    next = block->next;
    if (block->data == (uint8_t *)(block + 1) && (kept == NULL || block->room > kept->room)) {
      if (kept != NULL) free_block(kept);
      kept = block;
    } else {
      free_block(block);
    }
  }
  if (kept != NULL) {
    kept->next = NULL;
    kept->used = 0;
  }
  arena->blocks = kept;
  arena->used = kept == NULL ? 0 : sizeof *kept + kept->room;
}

void kodec_arena_free(kodec_arena *arena) {
  kodec_block *next;
  for (kodec_block *block = arena->blocks; block != NULL; block = next) {
    next = block->next;
    free_block(block);
  }
  arena->blocks = NULL;
  arena->used = 0;
}

static kodec_block *add_block(kodec_arena *arena, size_t room, size_t inside) {
  if (arena->used > arena->limit || room > arena->limit - arena->used) return NULL;
  kodec_block *const block = malloc(sizeof *block + inside);
  if (block == NULL) return NULL;
  *block = (kodec_block){.next = arena->blocks, .room = room, .data = (uint8_t *)(block + 1)};
  arena->blocks = block;
  arena->used += sizeof *block + room;
  return block;
}

static void *take(kodec_arena *arena, size_t size) {
  const size_t unit = sizeof(max_align_t);
  if (size > SIZE_MAX / 4) return NULL;
  size = (size + unit - 1) / unit * unit;
  kodec_block *block = arena->blocks;
  if (block == NULL || block->room - block->used < size) {
    size_t room = block == NULL ? LEAST_BLOCK : 2 * block->room;
    if (room > MOST_BLOCK) room = MOST_BLOCK;
    const size_t left = arena->used < arena->limit ? arena->limit - arena->used : 0;
    if (room > left) room = left / unit * unit;
    if (room < size) room = size;
    block = add_block(arena, room, room);
    if (block == NULL) return NULL;
  }
  void *const found = block->data + block->used;
  block->used += size;
  return found;
}

void *kodec_arena_alloc(kodec_arena *arena, size_t size) {
  void *const found = take(arena, size);
  return found == NULL ? NULL : memset(found, 0, size);
}

/* Whether the arena now releases the memory of a buffer, which is empty then. */
bool kd_adopt(kodec_arena *arena, kodec_buffer *buffer) {
  kodec_block *const first = arena->blocks;
  kodec_block *const block = add_block(arena, buffer->room, 0);
  if (block == NULL) return false;
  block->used = block->room;
  block->data = buffer->data;
  if (first != NULL) { /* blocks with room stay first */
    arena->blocks = first;
    block->next = first->next;
    first->next = block;
  }
  *buffer = (kodec_buffer){0};
  return true;
}

void kodec_buffer_free(kodec_buffer *buffer) {
  free(buffer->data);
  *buffer = (kodec_buffer){0};
}

kodec_bytes kodec_text(const char *text) {
  if (text == NULL) return (kodec_bytes){0};
  return (kodec_bytes){(const uint8_t *)text, strlen(text)};
}

/* ------------------------------------------------------------------ reading */

kd_reader kd_open(const uint8_t *data, size_t size, const kodec_options *options, kodec_arena *arena,
                  kodec_error *error) {
  kd_reader r = {.buf = data != NULL ? data : kodec_empty, .end = data != NULL ? size : 0, .arena = arena};
  if (options != NULL) r.opt = *options;
  if (r.opt.most_elements == 0) r.opt.most_elements = MOST_ELEMENTS;
  if (r.opt.most_decompressed == 0) r.opt.most_decompressed = MOST_DECOMPRESSED;
  if (r.opt.most_depth == 0) r.opt.most_depth = MOST_DEPTH;
  r.error = error;
  return r;
}

void *kd_make(kd_reader *r, const char *name, size_t count, size_t size) {
  if (count == 0) return kodec_empty;
  void *const found = count > SIZE_MAX / size ? NULL : take(r->arena, count * size);
  if (found == NULL)
    kd_stop(r->error, KODEC_LIMIT_EXCEEDED, name, "more memory than there may be", r->pos, "",
            kd_show_uint(r->arena->limit).text);
  return found;
}

void *kd_more(kd_reader *r, const char *name, void *items, size_t count, size_t *room, size_t size) {
  if (count < *room) return items;
  *room = *room < 4 ? 4 : 2 * *room;
  void *const found = kd_make(r, name, *room, size);
  if (found != NULL && count != 0) memcpy(found, items, count * size);
  return found;
}

kodec_code kd_wrong_span(kd_reader *r, const char *name, int64_t size) {
  if (size >= 0) return kd_truncated(r, name, (size_t)size, r->end - r->pos);
  return kd_stop(r->error, KODEC_MALFORMED, name, "negative size", r->pos, "at least 0",
                 kd_show_int(size).text);
}

kodec_code kd_left_over(kd_reader *r, const char *name, size_t stop) {
  return kd_stop(r->error, KODEC_MALFORMED, name, "bytes are left over after the field's content", r->pos,
                 "0", kd_show_uint(stop - r->pos).text);
}

/* A number of elements that the bytes can hold. */
kodec_code kd_count(kd_reader *r, const char *name, int64_t count, size_t least, size_t *out) {
  const size_t left = r->end - r->pos;
  if (count < 0)
    return kd_stop(r->error, KODEC_MALFORMED, name, "negative count", r->pos, "at least 0",
                   kd_show_int(count).text);
  if ((uint64_t)count > left / (least != 0 ? least : 1)) {
    if (least != 0) return kd_truncated(r, name, (size_t)count * least, left);
    return kd_stop(r->error, KODEC_LIMIT_EXCEEDED, name, "more elements than bytes", r->pos,
                   kd_show_int(count).text, kd_show_uint(left).text);
  }
  if ((uint64_t)count > r->opt.most_elements) return kd_too_many(r, name);
  *out = (size_t)count;
  return KODEC_OK;
}

kodec_code kd_read_tags(kd_reader *r, const char *name, kd_tag **tags, size_t *count) {
  int64_t many, number, size;
  kodec_code code = kd_get_uvarint32(r, name, &many);
  *count = 0;
  *tags = NULL;
  if (code != KODEC_OK || many == 0) return code;
  code = kd_count(r, name, many, 2, count);
  if (code != KODEC_OK) return code;
  *tags = kd_make(r, name, *count, sizeof **tags);
  if (*tags == NULL) return r->error->code;
  for (size_t i = 0; i < *count; i++) {
    size_t stop;
    if ((code = kd_get_uvarint32(r, name, &number)) != KODEC_OK) return code;
    if ((code = kd_get_uvarint32(r, name, &size)) != KODEC_OK) return code;
    if ((code = kd_span_of(r, name, size, &stop)) != KODEC_OK) return code;
    (*tags)[i] = (kd_tag){(uint32_t)number, r->pos, stop};
    r->pos = stop;
  }
  return KODEC_OK;
}

kodec_code kd_keep_tag(kd_reader *r, const char *name, kodec_tags *tags, size_t more, uint32_t number) {
  if (tags->count == 0) {
    tags->items = kd_make(r, name, more, sizeof *tags->items);
    if (tags->items == NULL) return r->error->code;
  }
  tags->items[tags->count++] = (kodec_tag){number, kd_rest(r)};
  return KODEC_OK;
}

/* ------------------------------------------------------------------ writing */

static bool reserve(kodec_buffer *out, size_t more) {
  if (out->room - out->size >= more) return true;
  if (more > SIZE_MAX / 4 || out->size > SIZE_MAX / 4) return false;
  size_t room = out->room < 64 ? 128 : 2 * out->room;
  if (room < out->size + more) room = out->size + more;
  uint8_t *const data = realloc(out->data, room);
  if (data == NULL) return false;
  out->data = data;
  out->room = room;
  return true;
}

uint8_t *kd_extend(kd_writer *w, size_t size) {
  if (!reserve(w->out, size)) {
    kd_stop(w->error, KODEC_LIMIT_EXCEEDED, "", "no memory", 0, kd_show_uint(size).text, "");
    return NULL;
  }
  w->out->size += size;
  return w->out->data + w->out->size - size;
}

kodec_code kd_put(kd_writer *w, const uint8_t *data, size_t size) {
  if (size == 0) return KODEC_OK;
  uint8_t *const to = kd_extend(w, size);
  if (to == NULL) return w->error->code;
  memcpy(to, data, size);
  return KODEC_OK;
}

kodec_code kd_put_uvarint(kd_writer *w, uint64_t value) {
  uint8_t made[10]; /* the encoding may be one byte longer than the number */
  return kd_put(w, made, (size_t)(kd_write_uvarint(made, value) - made));
}

kodec_code kd_again(kd_writer *w, kd_part part) {
  if (part.size == 0) return KODEC_OK;
  uint8_t *const to = kd_extend(w, part.size);
  if (to == NULL) return w->error->code;
  memcpy(to, w->out->data + part.at, part.size);
  return KODEC_OK;
}

void kd_drop(kd_writer *w, size_t from, size_t to) {
  if (to == from) return;
  memmove(w->out->data + from, w->out->data + to, w->out->size - to);
  w->out->size -= to - from;
}

/* A tagged field of either kind. */
typedef struct {
  uint32_t number;
  size_t size, at;
  const uint8_t *data; /* NULL if it is in the buffer, at `at` */
} any_tag;

static int by_number(const void *one, const void *other) {
  const uint32_t a = ((const any_tag *)one)->number, b = ((const any_tag *)other)->number;
  return a < b ? -1 : a > b;
}

kodec_code kd_put_tags(kd_writer *w, const char *name, const kd_known *known, size_t count,
                       kodec_tags unknown, size_t hidden) {
  const size_t all = count + unknown.count, start = w->out->size;
  if (all == 0) return kd_put_uvarint(w, 0);
  any_tag *const tags = calloc(all, sizeof *tags);
  if (tags == NULL) return kd_stop(w->error, KODEC_LIMIT_EXCEEDED, name, "no memory", 0, "", "");
  for (size_t i = 0; i < count; i++)
    tags[i] = (any_tag){known[i].number, known[i].part.size, known[i].part.at, NULL};
  for (size_t i = 0; i < unknown.count; i++) {
    const kodec_bytes data = unknown.items[i].data;
    tags[count + i] =
        (any_tag){unknown.items[i].number, data.size, 0, data.data != NULL ? data.data : kodec_empty};
  }
  qsort(tags, all, sizeof *tags, by_number);
  kodec_code code = kd_put_uvarint(w, all);
  for (size_t i = 0; code == KODEC_OK && i < all; i++) {
    if (i > 0 && tags[i - 1].number == tags[i].number) {
      code = kd_not_encodable(w, name, "the tag occurs twice", kd_show_uint(tags[i].number));
      break;
    }
    code = kd_put_uvarint(w, tags[i].number);
    if (code == KODEC_OK) code = kd_put_uvarint(w, tags[i].size);
    if (code == KODEC_OK)
      code = tags[i].data != NULL ? kd_put(w, tags[i].data, tags[i].size)
                                  : kd_again(w, (kd_part){tags[i].at, tags[i].size});
  }
  free(tags);
  if (code == KODEC_OK) kd_drop(w, hidden, start);
  return code;
}

/* ------------------------------------------------------------------ checksums */

#if defined(__GNUC__) || defined(__clang__)
__attribute__((constructor)) static void prepare(void) { kd_prepare(); }
#define PREPARED
#else
#include <threads.h>
static once_flag prepared = ONCE_FLAG_INIT;
#define PREPARED call_once(&prepared, kd_prepare);
#endif

uint32_t kodec_crc32c(const uint8_t *data, size_t size) {
  PREPARED
  return kd_crc32c(data, size);
}

uint32_t kodec_crc32(const uint8_t *data, size_t size) {
  PREPARED
  return kd_crc32(data, size);
}
