/* What generated sources read streams with. Not for users of the library.
 *
 * All functions that return a bool return false after an error, which is described then. */
#ifndef KODEC_READING_H
#define KODEC_READING_H

#include "kodec_generated.h"
#include "kodec_stream.h"

/* The name of an object in the one that holds it, and its index in a list or -1. */
typedef struct ks_path {
  const char *name;
  int64_t index;
  const struct ks_path *outer;
} ks_path;

/* An object whose derived fields are compared when what is around it is read. */
typedef struct ks_unchecked {
  kodec_object *object;
  bool (*check)(kodec_object *object);
  struct ks_unchecked *older;
} ks_unchecked;

/* Where the bytes of a field are. */
typedef struct ks_span {
  const kodec_stream *stream; /* NULL where it was not read */
  int64_t start, stop;
} ks_span;

/* What all streams of one input have in common. */
typedef struct {
  kodec_options opt; /* all limits set */
  kodec_arena *arena;
  kodec_error *error;
  unsigned depth;
  const ks_path *path;  /* the objects that are read at the moment */
  uint64_t empty, room; /* elements without bytes, and how many there may be */
  size_t inflated;      /* bytes that were decompressed */
  kodec_stream *sought; /* the last that was opened at a position */
  ks_unchecked *unchecked;
} ks_reading;

/* The bytes from `base` to `end` of `buf`. Several may read one stream, each at its own position; `turn` points to the
 * one that does at the moment. */
struct kodec_stream {
  ks_reading *r;
  const uint8_t *buf;
  int64_t base, end, at;
  uint64_t bits; /* those that are left of a byte */
  int left;      /* how many; KS_FORGOTTEN if an instance was read since */
  kodec_stream **turn, *first;
  kodec_stream *before, *older; /* of one at a position: what was read before it, and the last one like it */
};
enum { KS_FORGOTTEN = -1 };

/* An instance that is read. */
typedef struct {
  ks_reading *r;
  unsigned depth;
  const ks_path *path;
  kodec_stream *sought;
  bool *reading;
} ks_visit;

/* The elements of a list, one after the other. */
typedef struct {
  kodec_stream *s;
  const char *name;
  int64_t index, count; /* KS_TO_END or KS_REPEATED without a count */
  int64_t at;           /* where the element starts */
  int left;
  bool watched; /* whether elements without bytes are counted */
  bool started, open, failed;
  size_t room;
} ks_walk;
enum { KS_TO_END = -1, KS_REPEATED = -2 };

/* ------------------------------------------------------------------ errors, memory */

KD_INTERNAL bool ks_fail(ks_reading *r, kodec_code code, const char *name, const char *reason, int64_t at,
                         const char *need, const char *have);
/* An error at the place where an object's stream is; compilers see that it returns false. */
KD_INTERNAL void ks_stop(const kodec_object *x, const char *name, const char *reason);
static inline bool ks_wrong(const kodec_object *x, const char *name, const char *reason) {
  ks_stop(x, name, reason);
  return false;
}
/* A number needs more than 64 bits. */
KD_INTERNAL bool ks_beyond(const kodec_object *x);
/* Zeroed memory for a number of elements, also for 0; NULL is an error. */
KD_INTERNAL void *ks_new(ks_reading *r, size_t count, size_t size);

/* ------------------------------------------------------------------ objects */

/* A stream of all bytes; NULL is an error. */
KD_INTERNAL kodec_stream *ks_open(const uint8_t *data, size_t size, const kodec_options *options,
                                  kodec_arena *arena, kodec_error *error);
/* A new object of a type, called `name` in the one that holds it; NULL is an error. */
KD_INTERNAL void *ks_begin(size_t size, int type, kodec_stream *io, ks_path *path, const char *name,
                           int64_t index, kodec_object *parent, kodec_object *root);
static inline void ks_finish(kodec_stream *io, const char *name) {
  io->r->depth--;
  if (name[0] != 0) io->r->path = io->r->path->outer;
}
/* Direct the errors of an object's stream to `error`. */
KD_INTERNAL kodec_code ks_ask(const kodec_object *x, const char *name, kodec_error *error);
/* Start to read an instance, maybe long after its object; ks_leave follows if it returned true. */
KD_INTERNAL bool ks_enter(ks_visit *visit, const kodec_object *x, bool *reading, const char *name);
KD_INTERNAL void ks_leave(ks_visit *visit);
/* A stream at a position; what was read of it before goes on from where it stood. */
KD_INTERNAL bool ks_seek(kodec_stream *s, const char *name, int64_t pos, kodec_stream **out);
static inline kodec_stream *ks_current(const kodec_stream *s) { return *s->turn; }
/* An object of a type; NULL for any other. */
static inline void *ks_as(kodec_object *x, int type) { return x != NULL && x->type == type ? x : NULL; }
/* Whether the order of bytes, which bytes said, is known; an error if not. */
KD_INTERNAL bool ks_ordered(const kodec_object *x);
enum { KS_LITTLE = 1, KS_BIG = 2 };

/* ------------------------------------------------------------------ bytes */

static inline int64_t ks_pos(const kodec_stream *s) { return ks_current(s)->at - s->base; }
static inline int64_t ks_size(const kodec_stream *s) { return s->end - s->base; }
static inline bool ks_at_end(const kodec_stream *s) { return s->at >= s->end && s->left <= 0; }
static inline bool ks_eof(const kodec_stream *s) { return ks_at_end(ks_current(s)); }
static inline int64_t ks_ago(const kodec_stream *s, int64_t size) { return s->at - size; }
static inline void ks_align(kodec_stream *s) {
  s->bits = 0;
  s->left = 0;
}
KD_INTERNAL bool ks_take(kodec_stream *s, const char *name, int64_t size, kodec_bytes *out);
KD_INTERNAL bool ks_short(kodec_stream *s, const kd_field *fields, size_t count);
/* The next bytes of a number; NULL is an error. */
static inline const uint8_t *ks_next(kodec_stream *s, const char *name, int64_t size) {
  if (size > s->end - s->at) {
    const kd_field field = {name, (size_t)size};
    ks_short(s, &field, 1);
    return NULL;
  }
  s->at += size;
  return s->buf + (s->at - size);
}
/* The next bytes, of fixed width; NULL is an error, which names the first field that is not whole. */
static inline const uint8_t *ks_fixed(kodec_stream *s, int64_t size, const kd_field *fields, size_t count) {
  if (size > s->end - s->at) {
    ks_short(s, fields, count);
    return NULL;
  }
  s->at += size;
  return s->buf + (s->at - size);
}
static inline kodec_bytes ks_rest(kodec_stream *s) {
  kodec_bytes found = {kodec_empty, 0};
  if (s->at < s->end) {
    found = (kodec_bytes){s->buf + s->at, (size_t)(s->end - s->at)};
    s->at = s->end;
  }
  return found;
}
KD_INTERNAL bool ks_contents(kodec_stream *s, const char *name, kodec_bytes need, kodec_bytes *out);
/* The bytes up to a terminator, which stands at a whole number of its own size. */
KD_INTERNAL bool ks_until(kodec_stream *s, const char *name, kodec_bytes end, bool include, bool consume,
                          bool needed, kodec_bytes *out);
/* Bytes without what fills them up: `pad`, unless it is -1, and what follows a terminator. */
KD_INTERNAL kodec_bytes ks_trimmed(kodec_bytes data, int64_t pad, kodec_bytes end, bool include);
/* The next bits; `little` takes the lowest bits of a byte first. */
KD_INTERNAL bool ks_bits(kodec_stream *s, const char *name, int64_t width, bool little, uint64_t *out);
static inline uint64_t ks_bits_at(uint64_t bits, int shift, int width) {
  return bits >> shift & (UINT64_MAX >> (64 - width));
}
/* The stream of the next bytes, of all that are left, and of bytes that are not those of the input. */
KD_INTERNAL bool ks_part(kodec_stream *s, const char *name, int64_t size, kodec_stream **out);
KD_INTERNAL bool ks_remaining(kodec_stream *s, kodec_stream **out);
KD_INTERNAL bool ks_inside(kodec_stream *s, kodec_bytes data, kodec_stream **out);
KD_INTERNAL void ks_stop_at(kodec_stream *s, const char *name, int64_t at, kd_shown need, kd_shown have);
static inline bool ks_refuse(kodec_stream *s, const char *name, int64_t at, kd_shown need, kd_shown have) {
  ks_stop_at(s, name, at, need, have);
  return false;
}
/* Text as a value that an error shows. */
KD_INTERNAL kd_shown ks_show_text(kodec_bytes value);

/* ------------------------------------------------------------------ lists */

KD_INTERNAL bool ks_counted(ks_walk *w, kodec_stream *s, const char *name, int64_t count, int64_t least,
                            bool watched);
static inline ks_walk ks_repeated(kodec_stream *s, const char *name) {
  return (ks_walk){.s = s, .name = name, .count = KS_REPEATED, .watched = true};
}
static inline ks_walk ks_to_end(kodec_stream *s, const char *name) {
  return (ks_walk){.s = s, .name = name, .count = KS_TO_END};
}
/* Whether there is another element; after an error there is none, and `failed` is set. */
KD_INTERNAL bool ks_goes_on(ks_walk *w);
/* The list with room for one more; NULL is an error. */
KD_INTERNAL void *ks_grown(ks_walk *w, void *items, size_t count, size_t size);

/* ------------------------------------------------------------------ values of expressions */

static inline bool ks_signed(const kodec_object *x, uint64_t v, int64_t *out) {
  *out = (int64_t)v;
  return v <= INT64_MAX || ks_beyond(x);
}
static inline bool ks_unsigned(const kodec_object *x, int64_t v, uint64_t *out) {
  *out = (uint64_t)v;
  return v >= 0 || ks_beyond(x);
}
/* A size, a count or a position; what is larger is more than there are bytes too. */
static inline int64_t ks_at_most(uint64_t v) { return v > INT64_MAX ? INT64_MAX : (int64_t)v; }
KD_INTERNAL bool ks_plus(const kodec_object *x, int64_t a, int64_t b, int64_t *out);
KD_INTERNAL bool ks_minus(const kodec_object *x, int64_t a, int64_t b, int64_t *out);
KD_INTERNAL bool ks_times(const kodec_object *x, int64_t a, int64_t b, int64_t *out);
KD_INTERNAL bool ks_divided(const kodec_object *x, int64_t a, int64_t b, int64_t *out);
KD_INTERNAL bool ks_modulo(const kodec_object *x, int64_t a, int64_t b, int64_t *out);
KD_INTERNAL bool ks_negated(const kodec_object *x, int64_t a, int64_t *out);
KD_INTERNAL bool ks_shifted_left(const kodec_object *x, int64_t a, int64_t by, int64_t *out);
KD_INTERNAL bool ks_shifted_right(const kodec_object *x, int64_t a, int64_t by, int64_t *out);
KD_INTERNAL bool ks_shifted_right_unsigned(const kodec_object *x, uint64_t a, int64_t by, uint64_t *out);
/* Real numbers are computed one operation at a time, so that no compiler joins two. */
KD_INTERNAL double ks_plus_real(double a, double b);
KD_INTERNAL double ks_minus_real(double a, double b);
KD_INTERNAL double ks_times_real(double a, double b);
KD_INTERNAL bool ks_divided_real(const kodec_object *x, double a, double b, double *out);
KD_INTERNAL bool ks_modulo_real(const kodec_object *x, double a, double b, double *out);
KD_INTERNAL bool ks_truncated(const kodec_object *x, double v, int64_t *out);
/* The number that digits to a base stand for. */
KD_INTERNAL bool ks_number_of(const kodec_object *x, kodec_bytes text, int64_t base, int64_t *out);
KD_INTERNAL bool ks_decimal(const kodec_object *x, int64_t v, kodec_bytes *out);
KD_INTERNAL bool ks_decimal_unsigned(const kodec_object *x, uint64_t v, kodec_bytes *out);
KD_INTERNAL bool ks_joined(const kodec_object *x, kodec_bytes a, kodec_bytes b, kodec_bytes *out);
KD_INTERNAL bool ks_reversed(const kodec_object *x, kodec_bytes text, kodec_bytes *out);
/* The characters of a text: bytes that are not UTF-8 are one each. */
KD_INTERNAL int64_t ks_size_of_text(kodec_bytes text);
KD_INTERNAL kodec_bytes ks_substring(kodec_bytes text, int64_t start, int64_t stop);
/* Whether a number is a byte; an error if not. */
KD_INTERNAL bool ks_byte(const kodec_object *x, int64_t v, uint8_t *out);
/* An index into this number of elements. */
KD_INTERNAL bool ks_index(const kodec_object *x, int64_t index, size_t count, size_t *out);
/* Whether there is an element; an error if not. */
KD_INTERNAL bool ks_some(const kodec_object *x, size_t count);
KD_INTERNAL int64_t ks_min_byte(kodec_bytes data);
KD_INTERNAL int64_t ks_max_byte(kodec_bytes data);

/* ------------------------------------------------------------------ what fields are derived from */

/* Whether derived fields are compared. */
static inline bool ks_checks(const kodec_object *x, bool checksum) {
  const kodec_options *const opt = &x->stream->r->opt;
  return !(checksum ? opt->ignore_checksums : opt->ignore_derived);
}
/* Have an object checked by ks_check. */
KD_INTERNAL bool ks_later(const kodec_stream *io, kodec_object *x, bool (*check)(kodec_object *object));
/* Compare the derived fields of objects whose surroundings are read. */
KD_INTERNAL bool ks_check(const kodec_stream *io);
/* Note where one of several fields begins, or where it ends. */
KD_INTERNAL bool ks_mark(kodec_object *x, const kodec_stream *io, int64_t index, int64_t count, bool ended);
/* Where a field begins in its stream. */
KD_INTERNAL bool ks_position(const kodec_object *x, const kodec_object *of, int64_t index, const char *name, int64_t *out);
/* The bytes from one field of an object to another. Those of the field `own` of x count as `blank`. */
KD_INTERNAL bool ks_between(const kodec_object *x, const kodec_object *of, int64_t first, const char *name, int64_t last,
                            const char *last_name, int64_t own, int64_t blank, kodec_bytes *out);
/* What bytes decompress to, if they begin with a whole stream. */
KD_INTERNAL bool ks_unpacked(const kodec_object *x, kodec_bytes data, const char *form, const char *name,
                             kodec_bytes *out);
KD_INTERNAL bool ks_checksum(const kodec_object *x, const char *name, kodec_bytes data, int64_t *out);
/* The sum of numbers of a size; a partial one at the end is filled with zeros. */
KD_INTERNAL bool ks_sum_of(const kodec_object *x, kodec_bytes data, int64_t size, bool little, uint64_t *out);
KD_INTERNAL void ks_stop_differing(const kodec_object *x, const char *name, bool checksum, kd_shown need, kd_shown have);
/* The error that a field is not what it is derived from. */
static inline bool ks_differs(const kodec_object *x, const char *name, bool checksum, kd_shown need, kd_shown have) {
  ks_stop_differing(x, name, checksum, need, have);
  return false;
}

/* ------------------------------------------------------------------ text, processes */

/* Text as UTF-8. `upper` has the characters of the bytes from 0x80 on, or is NULL: then the encoding has no table. */
KD_INTERNAL bool ks_text(kodec_stream *s, const char *name, kodec_bytes data, const char *encoding,
                         const uint16_t *upper, kodec_bytes *out);
KD_INTERNAL bool ks_decoded(const kodec_object *x, kodec_bytes data, const char *encoding,
                            const uint16_t *upper, kodec_bytes *out);
KD_INTERNAL bool ks_xor(kodec_stream *s, const char *name, kodec_bytes data, int64_t key, kodec_bytes *out);
KD_INTERNAL bool ks_xor_all(kodec_stream *s, const char *name, kodec_bytes data, kodec_bytes key,
                            kodec_bytes *out);
KD_INTERNAL bool ks_rol(kodec_stream *s, const char *name, kodec_bytes data, int64_t by, kodec_bytes *out);
KD_INTERNAL bool ks_ror(kodec_stream *s, const char *name, kodec_bytes data, int64_t by, kodec_bytes *out);
KD_INTERNAL bool ks_zlib(kodec_stream *s, const char *name, kodec_bytes data, kodec_bytes *out);

#endif
