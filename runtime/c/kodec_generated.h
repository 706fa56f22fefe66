/* The runtime of generated sources: a reader, a writer, and their errors. Not for users of the library.
 */
#ifndef KODEC_GENERATED_H
#define KODEC_GENERATED_H

#include "kodec_bytes.h"
#include "kodec_runtime.h"

#if defined(__GNUC__) || defined(__clang__)
#define KD_INTERNAL __attribute__((visibility("hidden")))
#else
#define KD_INTERNAL
#endif

/* Bytes up to `end`; `pos` is the next one. After an error the rest is not read. */
typedef struct {
  const uint8_t *buf;
  size_t pos, end;
  kodec_options opt; /* all limits set */
  kodec_arena *arena;
  kodec_error *error;
  unsigned depth;
  bool compressed; /* whether these bytes were decompressed already */
  size_t unpacked; /* how many bytes were decompressed so far, of all the input */
} kd_reader;

/* Appends bytes to `out`. */
typedef struct {
  kodec_buffer *out;
  kodec_error *error;
} kd_writer;

/* The name and the size of a field in a run of such. */
typedef struct {
  const char *name;
  size_t size;
} kd_field;

/* A value as an error shows it. */
typedef struct {
  char text[48];
} kd_shown;

/* Bytes of `out` that are rewritten at their final position, or dropped. */
typedef struct {
  size_t at, size;
} kd_part;

/* A tagged field as it was written, into `part`. */
typedef struct {
  uint32_t number;
  kd_part part;
} kd_known;

/* Where the bytes of a tagged field are. */
typedef struct {
  uint32_t number;
  size_t start, stop;
} kd_tag;

/* ------------------------------------------------------------------ errors */

KD_INTERNAL kd_shown kd_show_int(int64_t value);
KD_INTERNAL kd_shown kd_show_uint(uint64_t value);
KD_INTERNAL kd_shown kd_show_real(double value);
KD_INTERNAL kd_shown kd_show_bytes(kodec_bytes value);
KD_INTERNAL kd_shown kd_show_uuid(kodec_uuid value);
KD_INTERNAL kd_shown kd_show_count(size_t count);

KD_INTERNAL kodec_code kd_stop(kodec_error *error, kodec_code code, const char *path, const char *reason,
                               size_t at, const char *need, const char *have);
/* Put the name of a field, or of an element, in front of an error's path. */
KD_INTERNAL kodec_code kd_within(kodec_error *error, kodec_code code, const char *name);
KD_INTERNAL kodec_code kd_within_item(kodec_error *error, kodec_code code, const char *name, size_t index);

KD_INTERNAL kodec_code kd_truncated(kd_reader *r, const char *name, size_t need, size_t have);
KD_INTERNAL kodec_code kd_short(kd_reader *r, const kd_field *fields, size_t count);
KD_INTERNAL kodec_code kd_refused(kd_reader *r, const char *name, size_t at, const char *need,
                                  kd_shown have);
KD_INTERNAL kodec_code kd_wrong_bytes(kd_reader *r, const char *name, size_t at);
KD_INTERNAL kodec_code kd_wrong_length(kd_reader *r, const char *name, size_t at, int64_t need,
                                       int64_t have);
KD_INTERNAL kodec_code kd_wrong_sum(kd_reader *r, const char *name, size_t at, uint64_t need,
                                    uint64_t have);
KD_INTERNAL kodec_code kd_not_derived(kd_reader *r, const char *name, size_t at, int64_t need,
                                      int64_t have);
KD_INTERNAL kodec_code kd_unknown_version(kd_reader *r, const char *name, size_t at, const char *need,
                                          int64_t have);
KD_INTERNAL kodec_code kd_no_case(kd_reader *r, const char *name, kd_shown have);
KD_INTERNAL kodec_code kd_too_many(kd_reader *r, const char *name);
KD_INTERNAL kodec_code kd_too_deep(kd_reader *r);
KD_INTERNAL kodec_code kd_endless(kd_reader *r, const char *name);
KD_INTERNAL kodec_code kd_bad_varint(kd_reader *r, const char *name, size_t most);
KD_INTERNAL kodec_code kd_not_encodable(kd_writer *w, const char *name, const char *reason, kd_shown have);

/* ------------------------------------------------------------------ reading */

KD_INTERNAL kd_reader kd_open(const uint8_t *data, size_t size, const kodec_options *options,
                              kodec_arena *arena, kodec_error *error);
/* Memory for a number of elements, also for 0; NULL is an error. */
KD_INTERNAL void *kd_make(kd_reader *r, const char *name, size_t count, size_t size);
/* A list that has room for one more than `count`. */
KD_INTERNAL void *kd_more(kd_reader *r, const char *name, void *items, size_t count, size_t *room,
                          size_t size);
/* Whether the arena now releases the memory of a buffer, which is empty then. */
KD_INTERNAL bool kd_adopt(kodec_arena *arena, kodec_buffer *buffer);
KD_INTERNAL kodec_code kd_count(kd_reader *r, const char *name, int64_t count, size_t least, size_t *out);
KD_INTERNAL kodec_code kd_wrong_span(kd_reader *r, const char *name, int64_t size);
KD_INTERNAL kodec_code kd_left_over(kd_reader *r, const char *name, size_t stop);
/* The frame of a tagged section (KIP-482). */
KD_INTERNAL kodec_code kd_read_tags(kd_reader *r, const char *name, kd_tag **tags, size_t *count);
/* Add an unknown tagged field, of `more` that there may be. */
KD_INTERNAL kodec_code kd_keep_tag(kd_reader *r, const char *name, kodec_tags *tags, size_t more,
                                   uint32_t number);
/* A reader of decompressed bytes. */
KD_INTERNAL kodec_code kd_unpack(kd_reader *r, const char *name, const char *codec, kodec_bytes stored,
                                 size_t at, kd_reader *inner);
/* An error of the content, as one of the field that contains it. */
KD_INTERNAL kodec_code kd_outside(kd_reader *r, kodec_code code, const char *name, const char *codec,
                                  size_t at);

/* The next bytes of a run, or NULL if some are missing. */
static inline const uint8_t *kd_take(kd_reader *r, size_t size) {
  if (r->end - r->pos < size) return NULL;
  const uint8_t *const found = r->buf + r->pos;
  r->pos += size;
  return found;
}
/* The end of the next `size` bytes. */
static inline kodec_code kd_span_of(kd_reader *r, const char *name, int64_t size, size_t *stop) {
  *stop = r->pos;
  if (size < 0 || (uint64_t)size > r->end - r->pos) return kd_wrong_span(r, name, size);
  *stop += (size_t)size;
  return KODEC_OK;
}
/* The next bytes; they are a part of the input, not a copy. */
static inline kodec_code kd_octets(kd_reader *r, const char *name, int64_t size, kodec_bytes *out) {
  size_t stop;
  const kodec_code code = kd_span_of(r, name, size, &stop);
  if (code == KODEC_OK) {
    *out = (kodec_bytes){r->buf + r->pos, (size_t)size};
    r->pos = stop;
  }
  return code;
}
static inline kodec_bytes kd_rest(kd_reader *r) {
  const kodec_bytes found = {r->buf + r->pos, r->end - r->pos};
  r->pos = r->end;
  return found;
}
/* What fills a size must have ended there. */
static inline kodec_code kd_ends(kd_reader *r, const char *name, size_t stop) {
  return r->pos == stop ? KODEC_OK : kd_left_over(r, name, stop);
}
#define KD_READ_VARINT(wire, most)                                                              \
  static inline kodec_code kd_get_##wire(kd_reader *r, const char *name, int64_t *out) {        \
    const uint8_t *p = r->buf + r->pos;                                                         \
    *out = 0;                                                                                   \
    if (kd_read_##wire(&p, r->buf + r->end, out) != KD_OK) return kd_bad_varint(r, name, most); \
    r->pos = (size_t)(p - r->buf);                                                              \
    return KODEC_OK;                                                                            \
  }
KD_READ_VARINT(uvarint32, 5)
KD_READ_VARINT(zigzag32, 5)
KD_READ_VARINT(zigzag64, 10)

/* ------------------------------------------------------------------ values */

static inline bool kd_same(kodec_bytes a, kodec_bytes b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}
static inline int kd_compare(kodec_bytes a, kodec_bytes b) {
  const size_t size = a.size < b.size ? a.size : b.size;
  const int found = size == 0 ? 0 : memcmp(a.data, b.data, size);
  return found != 0 ? found : a.size < b.size ? -1 : a.size > b.size;
}
static inline kodec_uuid kd_load_uuid(const uint8_t *p) {
  kodec_uuid found;
  memcpy(found.bytes, p, sizeof found.bytes);
  return found;
}
static inline bool kd_is_zero(kodec_uuid id) {
  static const kodec_uuid none;
  return memcmp(id.bytes, none.bytes, sizeof none.bytes) == 0;
}
/* Shifts by any number of bits; the plan has shown that the results fit, and that no divisor is 0. */
static inline int64_t kd_left(int64_t a, int64_t b) { return b > 62 ? 0 : a * ((int64_t)1 << b); }
static inline int64_t kd_right(int64_t a, int64_t b) { return b > 63 ? (a < 0 ? -1 : 0) : a >> b; }
static inline int64_t kd_floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
static inline int64_t kd_floor_mod(int64_t a, int64_t b) { return a - b * kd_floor_div(a, b); }

/* ------------------------------------------------------------------ writing */

/* Room for `size` bytes, which count as written; NULL is an error. */
KD_INTERNAL uint8_t *kd_extend(kd_writer *w, size_t size);
KD_INTERNAL kodec_code kd_put(kd_writer *w, const uint8_t *data, size_t size);
KD_INTERNAL kodec_code kd_put_uvarint(kd_writer *w, uint64_t value);
/* Bytes of `out` once more, at its end. */
KD_INTERNAL kodec_code kd_again(kd_writer *w, kd_part part);
/* Take bytes out of `out` that were put there to be known before. */
KD_INTERNAL void kd_drop(kd_writer *w, size_t from, size_t to);
/* A tagged section in ascending order: known fields, which are in `out` from `hidden` on and dropped there.
 */
KD_INTERNAL kodec_code kd_put_tags(kd_writer *w, const char *name, const kd_known *known, size_t count,
                                   kodec_tags unknown, size_t hidden);
/* Bytes compressed, at the end of `out`. */
KD_INTERNAL kodec_code kd_pack(kd_writer *w, const char *name, const char *codec, kd_part *part);

#endif
