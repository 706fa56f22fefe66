/* What objects are read from streams with: positions, lists, instances, expressions, text, processes. */
#include "kodec_reading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef KODEC_WITH_ZLIB
#include <zlib.h>
#endif

enum { SPARE = 4096, FIRST_ROOM = 1024, NUMBER = 24 };

/* ------------------------------------------------------------------ errors, memory */

bool ks_fail(ks_reading *r, kodec_code code, const char *name, const char *reason, int64_t at,
             const char *need, const char *have) {
  kd_stop(r->error, code, name, reason, (size_t)at, need, have);
  for (const ks_path *each = r->path; each != NULL; each = each->outer) {
    if (each->index < 0) {
      kd_within(r->error, code, each->name);
    } else {
      kd_within_item(r->error, code, each->name, (size_t)each->index);
    }
  }
  return false;
}
void ks_stop(const kodec_object *x, const char *name, const char *reason) {
  ks_fail(x->stream->r, KODEC_MALFORMED, name, reason, x->stream->at, "", "");
}
bool ks_beyond(const kodec_object *x) {
  return ks_fail(x->stream->r, KODEC_LIMIT_EXCEEDED, "", "an expression exceeds 64 bits", x->stream->at, "",
                 "");
}

void *ks_new(ks_reading *r, size_t count, size_t size) {
  if (count == 0) return kodec_empty;
  void *const found = count > SIZE_MAX / size ? NULL : kodec_arena_alloc(r->arena, count * size);
  if (found == NULL)
    ks_fail(r, KODEC_LIMIT_EXCEEDED, "", "more memory than there may be", 0, "",
            kd_show_uint(r->arena->limit).text);
  return found;
}
/* Bytes that are written next. */
static uint8_t *new_bytes(ks_reading *r, size_t size, kodec_bytes *out) {
  uint8_t *const found = ks_new(r, size, 1);
  *out = (kodec_bytes){found, size};
  return found;
}

/* ------------------------------------------------------------------ objects */

static kodec_stream *stream_of(ks_reading *r, const uint8_t *buf, int64_t base, int64_t end) {
  kodec_stream *const s = ks_new(r, 1, sizeof *s);
  if (s == NULL) return NULL;
  *s = (kodec_stream){.r = r, .buf = buf, .base = base, .end = end, .at = base};
  s->first = s;
  s->turn = &s->first;
  return s;
}

kodec_stream *ks_open(const uint8_t *data, size_t size, const kodec_options *options, kodec_arena *arena,
                      kodec_error *error) {
  const kd_reader opened = kd_open(data, size, options, arena, error);
  ks_reading first = {.arena = arena, .error = error, .opt = opened.opt};
  ks_reading *const r = ks_new(&first, 1, sizeof *r);
  if (r == NULL) return NULL;
  *r = first;
  r->room = opened.end + SPARE;
  return stream_of(r, opened.buf, 0, (int64_t)opened.end);
}

kodec_bytes kodec_stream_bytes(const kodec_stream *stream) {
  const int64_t size = stream->end - stream->base;
  return size == 0 ? (kodec_bytes){kodec_empty, 0} : (kodec_bytes){stream->buf + stream->base, (size_t)size};
}

static bool too_deep(ks_reading *r, const char *name, int64_t at, unsigned depth) {
  return ks_fail(r, KODEC_LIMIT_EXCEEDED, name, "nested too deep", at, kd_show_uint(depth + 1ULL).text,
                 kd_show_uint(r->opt.most_depth).text);
}

void *ks_begin(size_t size, int type, kodec_stream *io, ks_path *path, const char *name, int64_t index,
               kodec_object *parent, kodec_object *root) {
  ks_reading *const r = io->r;
  if (r->depth >= r->opt.most_depth) {
    const ks_path step = {name, index, r->path};
    if (name[0] != 0) r->path = &step;
    too_deep(r, "", io->at, r->depth);
    r->path = step.outer;
    return NULL;
  }
  kodec_object *const x = ks_new(r, 1, size);
  if (x == NULL) return NULL;
  x->type = type;
  x->stream = io;
  x->parent = parent;
  x->root = root != NULL ? root : parent != NULL ? parent->root : x;
  x->start = io->at;
  x->depth = ++r->depth;
  if (parent != NULL) x->order = parent->order;
  if (name[0] != 0) {
    *path = (ks_path){name, index, r->path};
    r->path = path;
  }
  return x;
}

kodec_code ks_ask(const kodec_object *x, const char *name, kodec_error *error) {
  if (x->stream == NULL)
    return kd_stop(error, KODEC_MALFORMED, name, "the object was not read from bytes", 0, "", "");
  x->stream->r->error = error;
  return KODEC_OK;
}

bool ks_enter(ks_visit *visit, const kodec_object *x, bool *reading, const char *name) {
  ks_reading *const r = x->stream->r;
  if (*reading) return ks_fail(r, KODEC_MALFORMED, name, "the instance needs itself", x->start, "", "");
  const unsigned deep = r->depth > x->depth ? r->depth : x->depth;
  if (deep >= r->opt.most_depth) return too_deep(r, name, x->start, deep);
  *visit = (ks_visit){r, r->depth, r->path, r->sought, reading};
  *reading = true;
  r->depth = deep + 1;
  return true;
}

void ks_leave(ks_visit *visit) {
  ks_reading *const r = visit->r;
  r->depth = visit->depth;
  r->path = visit->path;
  for (; r->sought != visit->sought; r->sought = r->sought->older)
    *r->sought->turn = r->sought->before;
  *visit->reading = false;
}

bool ks_seek(kodec_stream *s, const char *name, int64_t pos, kodec_stream **out) {
  kodec_stream *const before = ks_current(s);
  if (before->left != 0) {
    before->bits = 0;
    before->left = KS_FORGOTTEN;
  }
  if (pos < 0)
    return ks_fail(s->r, KODEC_MALFORMED, name, "negative position", s->base, "at least 0",
                   kd_show_int(pos).text);
  kodec_stream *const found = stream_of(s->r, s->buf, s->base, s->end);
  if (found == NULL) return false;
  found->at = s->base + (pos < INT64_MAX - s->base ? pos : INT64_MAX - s->base);
  found->before = before;
  found->older = s->r->sought;
  found->turn = s->turn;
  s->r->sought = found;
  *s->turn = found;
  *out = found;
  return true;
}

bool ks_ordered(const kodec_object *x) {
  return x->order != 0 || ks_fail(x->stream->r, KODEC_MALFORMED, "",
                                  "no byte order is known for this value", x->start, "", "");
}

/* ------------------------------------------------------------------ bytes */

bool ks_take(kodec_stream *s, const char *name, int64_t size, kodec_bytes *out) {
  const int64_t left = s->end - s->at;
  if (size < 0)
    return ks_fail(s->r, KODEC_MALFORMED, name, "negative size", s->at, "at least 0",
                   kd_show_int(size).text);
  if (size > 0 && size > left)
    return ks_fail(s->r, KODEC_TRUNCATED, name, "", s->at, kd_show_int(size).text,
                   kd_show_int(left > 0 ? left : 0).text);
  *out = size == 0 ? (kodec_bytes){kodec_empty, 0} : (kodec_bytes){s->buf + s->at, (size_t)size};
  s->at += size;
  return true;
}

bool ks_short(kodec_stream *s, const kd_field *fields, size_t count) {
  kodec_bytes found;
  for (size_t i = 0; i + 1 < count; i++)
    if (!ks_take(s, fields[i].name, (int64_t)fields[i].size, &found)) return false;
  return ks_take(s, fields[count - 1].name, (int64_t)fields[count - 1].size, &found);
}

bool ks_contents(kodec_stream *s, const char *name, kodec_bytes need, kodec_bytes *out) {
  if (!ks_take(s, name, (int64_t)need.size, out)) return false;
  return kd_same(*out, need) ||
         ks_fail(s->r, KODEC_MALFORMED, name, "wrong fixed bytes", s->at - (int64_t)need.size, "", "");
}

bool ks_until(kodec_stream *s, const char *name, kodec_bytes end, bool include, bool consume, bool needed,
              kodec_bytes *out) {
  const int64_t unit = (int64_t)end.size;
  for (int64_t stop = s->at; unit <= s->end && stop <= s->end - unit; stop += unit) {
    const uint8_t *const found = s->buf + stop;
    if (found[0] != end.data[0] || memcmp(found, end.data, end.size) != 0) continue;
    *out = (kodec_bytes){s->buf + s->at, (size_t)(stop - s->at + (include ? unit : 0))};
    s->at = stop + (consume ? unit : 0);
    return true;
  }
  if (needed)
    return ks_fail(s->r, KODEC_TRUNCATED, name, "no terminator", s->at, kd_show_int(unit).text, "0");
  *out = ks_rest(s);
  return true;
}

kodec_bytes ks_trimmed(kodec_bytes data, int64_t pad, kodec_bytes end, bool include) {
  if (pad >= 0)
    while (data.size > 0 && data.data[data.size - 1] == pad) data.size--;
  for (size_t at = 0; end.size > 0 && at + end.size <= data.size; at += end.size) {
    if (memcmp(data.data + at, end.data, end.size) != 0) continue;
    data.size = at + (include ? end.size : 0);
    break;
  }
  return data;
}

static uint64_t lowest(uint64_t bits, int count) { return count <= 0 ? 0 : bits & (UINT64_MAX >> (64 - count)); }

bool ks_bits(kodec_stream *s, const char *name, int64_t width, bool little, uint64_t *out) {
  const int need = (int)width;
  int done = s->left > 0 ? s->left : 0;
  kodec_bytes data = {kodec_empty, 0};
  if (need > s->left) {
    if (s->left == KS_FORGOTTEN)
      return ks_fail(s->r, KODEC_UNSUPPORTED, name,
                     "bits of the byte before were left when an instance was read", s->at, "", "");
    if (!ks_take(s, name, (need - s->left + 7) / 8, &data)) return false;
  }
  uint64_t found = s->bits;
  if (data.size == 0) { /* the bits are left of the byte before */
    s->left = done - need;
    *out = little ? lowest(found, need) : need == 0 ? 0 : found >> s->left;
    s->bits = little ? (need == 0 ? found : found >> need) : lowest(found, s->left);
    return true;
  }
  for (size_t i = 0; i < data.size; i++) {
    const uint64_t each = data.data[i];
    const int more = need - done < 8 ? need - done : 8;
    if (little) {
      found |= lowest(each, more) << done;
      s->bits = each >> more;
    } else {
      found = found << more | each >> (8 - more);
      s->bits = lowest(each, 8 - more);
    }
    s->left = 8 - more;
    done += more;
  }
  *out = found;
  return true;
}

bool ks_part(kodec_stream *s, const char *name, int64_t size, kodec_stream **out) {
  const int64_t start = s->at;
  kodec_bytes data;
  if (!ks_take(s, name, size, &data)) return false;
  *out = stream_of(s->r, s->buf, start, start + size);
  return *out != NULL;
}
bool ks_remaining(kodec_stream *s, kodec_stream **out) {
  const int64_t start = s->at;
  *out = stream_of(s->r, s->buf, start, start + (int64_t)ks_rest(s).size);
  return *out != NULL;
}
bool ks_inside(kodec_stream *s, kodec_bytes data, kodec_stream **out) {
  s->r->room += data.size;
  *out = stream_of(s->r, data.data, 0, (int64_t)data.size);
  return *out != NULL;
}
void ks_stop_at(kodec_stream *s, const char *name, int64_t at, kd_shown need, kd_shown have) {
  ks_fail(s->r, KODEC_MALFORMED, name, "value not allowed", at, need.text, have.text);
}
kd_shown ks_show_text(kodec_bytes value) {
  kd_shown found;
  if (value.data == NULL) return kd_show_bytes(value);
  snprintf(found.text, sizeof found.text, "%.*s", (int)(value.size < 40 ? value.size : 40),
           (const char *)value.data);
  return found;
}

/* ------------------------------------------------------------------ lists */

static bool too_many(const ks_walk *w) {
  const size_t most = w->s->r->opt.most_elements;
  return ks_fail(w->s->r, KODEC_LIMIT_EXCEEDED, w->name, "too many elements", w->s->at,
                 kd_show_uint(most + 1ULL).text, kd_show_uint(most).text);
}

bool ks_counted(ks_walk *w, kodec_stream *s, const char *name, int64_t count, int64_t least, bool watched) {
  const uint64_t bytes = s->at < s->end ? (uint64_t)(s->end - s->at) : 0, left = least == 0 ? 8 * s->r->room : bytes;
  *w = (ks_walk){.s = s, .name = name, .count = count, .watched = watched};
  if (count < 0)
    return ks_fail(s->r, KODEC_MALFORMED, name, "negative count", s->at, "at least 0",
                   kd_show_int(count).text);
  if (least > 0 && (uint64_t)count > left / (uint64_t)least) {
    char need[64];
    snprintf(need, sizeof need, "%lld times %lld", (long long)count, (long long)least);
    return ks_fail(s->r, KODEC_TRUNCATED, name, "", s->at, need, kd_show_uint(left).text);
  }
  if ((uint64_t)count > left)
    return ks_fail(s->r, KODEC_LIMIT_EXCEEDED, name, "more elements than bytes", s->at,
                   kd_show_int(count).text, kd_show_uint(left).text);
  return (uint64_t)count <= s->r->opt.most_elements || too_many(w);
}

/* End an element. */
static bool done(ks_walk *w) {
  ks_reading *const r = w->s->r;
  w->index++;
  if (!w->watched || w->at != w->s->at || w->left != w->s->left || ++r->empty <= r->room) return true;
  return ks_fail(r, KODEC_LIMIT_EXCEEDED, w->name, "more elements without bytes than there are bytes", w->at,
                 kd_show_uint(r->empty).text, kd_show_uint(r->room).text);
}

/* Whether there is another element, as far as that is no error. */
static bool more(ks_walk *w) {
  kodec_stream *const s = w->s;
  if (w->count >= 0 && w->index >= w->count) return false;
  if (w->count == KS_TO_END) {
    if (ks_at_end(s)) return false;
    if (w->started && w->at == s->at && w->left == s->left) {
      w->failed = true;
      return ks_fail(s->r, KODEC_MALFORMED, w->name, "an element without bytes would repeat forever", s->at,
                     "", "");
    }
  }
  if (w->count < 0 && (uint64_t)w->index >= s->r->opt.most_elements) {
    w->failed = true;
    return too_many(w);
  }
  w->at = s->at;
  w->left = s->left;
  return w->started = true;
}

bool ks_goes_on(ks_walk *w) {
  if (w->open) w->failed = !done(w);
  return w->open = !w->failed && more(w);
}

void *ks_grown(ks_walk *w, void *items, size_t count, size_t size) {
  if (count < w->room) return items;
  const size_t known = w->count > FIRST_ROOM ? FIRST_ROOM : w->count > 0 ? (size_t)w->count : 4;
  w->room = w->room == 0 ? known : 2 * w->room;
  void *const found = ks_new(w->s->r, w->room, size);
  if (found != NULL && count != 0) memcpy(found, items, count * size);
  return found;
}

/* ------------------------------------------------------------------ values of expressions */

bool ks_plus(const kodec_object *x, int64_t a, int64_t b, int64_t *out) {
  int wrong = 0;
  *out = kd_add(a, b, &wrong);
  return !wrong || ks_beyond(x);
}
bool ks_minus(const kodec_object *x, int64_t a, int64_t b, int64_t *out) {
  int wrong = 0;
  *out = kd_sub(a, b, &wrong);
  return !wrong || ks_beyond(x);
}
bool ks_times(const kodec_object *x, int64_t a, int64_t b, int64_t *out) {
  int wrong = 0;
  *out = kd_mul(a, b, &wrong);
  return !wrong || ks_beyond(x);
}
bool ks_negated(const kodec_object *x, int64_t a, int64_t *out) { return ks_minus(x, 0, a, out); }

static bool by_zero(const kodec_object *x) { return ks_wrong(x, "", "an expression divides by 0"); }

bool ks_divided(const kodec_object *x, int64_t a, int64_t b, int64_t *out) {
  if (b == 0) return by_zero(x);
  if (b == -1) return ks_negated(x, a, out);
  *out = kd_floor_div(a, b);
  return true;
}
bool ks_modulo(const kodec_object *x, int64_t a, int64_t b, int64_t *out) {
  if (b == 0) return by_zero(x);
  *out = b == -1 ? 0 : kd_floor_mod(a, b);
  return true;
}

static bool is_near(const kodec_object *x, int64_t by) {
  return (by >= -128 && by <= 128) || ks_wrong(x, "", "an expression shifts by too many bits");
}
bool ks_shifted_left(const kodec_object *x, int64_t a, int64_t by, int64_t *out) {
  if (!is_near(x, by)) return false;
  if (by < 0) {
    *out = kd_right(a, -by);
    return true;
  }
  *out = by > 63 ? 0 : (int64_t)((uint64_t)a << by);
  return (by > 63 ? a == 0 : kd_right(*out, by) == a) || ks_beyond(x);
}
bool ks_shifted_right(const kodec_object *x, int64_t a, int64_t by, int64_t *out) {
  if (!is_near(x, by)) return false;
  return ks_shifted_left(x, a, -by, out);
}
bool ks_shifted_right_unsigned(const kodec_object *x, uint64_t a, int64_t by, uint64_t *out) {
  if (!is_near(x, by)) return false;
  if (by < 0) {
    int64_t found;
    if (!ks_signed(x, a, &found) || !ks_shifted_left(x, found, -by, &found)) return false;
    *out = (uint64_t)found;
    return true;
  }
  *out = by > 63 ? 0 : a >> by;
  return true;
}

double ks_plus_real(double a, double b) { return a + b; }
double ks_minus_real(double a, double b) { return a - b; }
double ks_times_real(double a, double b) { return a * b; }
bool ks_divided_real(const kodec_object *x, double a, double b, double *out) {
  if (b == 0) return by_zero(x);
  *out = a / b;
  return true;
}
bool ks_modulo_real(const kodec_object *x, double a, double b, double *out) {
  if (b == 0) return by_zero(x);
  *out = fmod(a, b);
  if (*out != 0 && (*out < 0) != (b < 0)) *out += b;
  return true;
}
bool ks_truncated(const kodec_object *x, double v, int64_t *out) {
  if (isnan(v) || isinf(v)) return ks_wrong(x, "", "an expression needs a number");
  if (!(v >= -9223372036854775808.0 && v < 9223372036854775808.0)) return ks_beyond(x);
  *out = (int64_t)v;
  return true;
}

/* The bytes of the UTF-8 character at `p`; 1 for a byte that begins none. */
static size_t utf8_size(const uint8_t *p, size_t left) {
  const size_t size = *p < 0xC2 ? 1 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : *p < 0xF5 ? 4 : 1;
  if (size > left) return 1;
  for (size_t i = 1; i < size; i++)
    if ((p[i] & 0xC0) != 0x80) return 1;
  if ((*p == 0xE0 && p[1] < 0xA0) || (*p == 0xED && p[1] >= 0xA0)) return 1;
  return (*p == 0xF0 && p[1] < 0x90) || (*p == 0xF4 && p[1] >= 0x90) ? 1 : size;
}

/* The bytes of the white space at `p`; 0 for anything else. */
static size_t space_size(const uint8_t *p, size_t left) {
  static const char *const wide[] = {"\302\205",     "\302\240",     "\341\232\200", "\342\200\250", "\342\200\251",
                                     "\342\200\257", "\342\201\237", "\343\200\200"};
  if (*p == ' ' || (*p >= '\t' && *p <= '\r')) return 1;
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
    const size_t size = strlen(wide[i]);
    if (size <= left && memcmp(p, wide[i], size) == 0) return size;
  }
  return left >= 3 && p[0] == 0xE2 && p[1] == 0x80 && p[2] >= 0x80 && p[2] <= 0x8A ? 3 : 0;
}
static kodec_bytes without_space(kodec_bytes text) {
  while (text.size > 0) {
    const size_t size = space_size(text.data, text.size);
    if (size == 0) break;
    text.data += size;
    text.size -= size;
  }
  for (size_t size = 1; size <= 3 && size <= text.size; size++) {
    if (space_size(text.data + text.size - size, size) != size) continue;
    text.size -= size;
    size = 0;
  }
  return text;
}
static int digit_of(uint8_t sign) {
  if (sign >= '0' && sign <= '9') return sign - '0';
  sign |= 32;
  return sign >= 'a' && sign <= 'z' ? sign - 'a' + 10 : 99;
}

bool ks_number_of(const kodec_object *x, kodec_bytes text, int64_t base, int64_t *out) {
  kodec_bytes rest = without_space(text);
  const bool is_negative = rest.size > 0 && rest.data[0] == '-';
  if (is_negative || (rest.size > 0 && rest.data[0] == '+')) rest = (kodec_bytes){rest.data + 1, rest.size - 1};
  const char letter = base == 16 ? 'x' : base == 8 ? 'o' : base == 2 ? 'b' : 0;
  bool may_join = false; /* whether a `_` may follow */
  if (letter != 0 && rest.size > 1 && rest.data[0] == '0' && (rest.data[1] | 32) == letter) {
    rest = (kodec_bytes){rest.data + 2, rest.size - 2};
    may_join = true;
  }
  bool is_number = base >= 2 && base <= 36 && rest.size > 0, is_digit = false;
  uint64_t found = 0;
  const uint64_t most = (uint64_t)INT64_MAX + (is_negative ? 1 : 0);
  bool exceeds = false;
  for (size_t i = 0; is_number && i < rest.size; i++) {
    if (rest.data[i] == '_') {
      is_number = may_join;
      is_digit = may_join = false;
      continue;
    }
    const int digit = digit_of(rest.data[i]);
    is_number = digit < base;
    if (is_number) {
      exceeds |= found > (most - (uint64_t)digit) / (uint64_t)base;
      found = exceeds ? 0 : found * (uint64_t)base + (uint64_t)digit;
    }
    is_digit = may_join = true;
  }
  if (!is_number || !is_digit) return ks_wrong(x, "", "an expression needs a number");
  if (exceeds) return ks_beyond(x);
  *out = is_negative ? (int64_t)(0 - found) : (int64_t)found;
  return true;
}

static bool shown(const kodec_object *x, kd_shown text, kodec_bytes *out) {
  uint8_t *const to = new_bytes(x->stream->r, strlen(text.text), out);
  if (to != NULL) memcpy(to, text.text, out->size);
  return to != NULL;
}
bool ks_decimal(const kodec_object *x, int64_t v, kodec_bytes *out) { return shown(x, kd_show_int(v), out); }
bool ks_decimal_unsigned(const kodec_object *x, uint64_t v, kodec_bytes *out) {
  return shown(x, kd_show_uint(v), out);
}
bool ks_joined(const kodec_object *x, kodec_bytes a, kodec_bytes b, kodec_bytes *out) {
  uint8_t *const to = new_bytes(x->stream->r, a.size + b.size, out);
  if (to == NULL) return false;
  if (a.size != 0) memcpy(to, a.data, a.size);
  if (b.size != 0) memcpy(to + a.size, b.data, b.size);
  return true;
}
bool ks_reversed(const kodec_object *x, kodec_bytes text, kodec_bytes *out) {
  uint8_t *const to = new_bytes(x->stream->r, text.size, out);
  if (to == NULL) return false;
  for (size_t at = 0, size; at < text.size; at += size) {
    size = utf8_size(text.data + at, text.size - at);
    memcpy(to + text.size - at - size, text.data + at, size);
  }
  return true;
}
int64_t ks_size_of_text(kodec_bytes text) {
  int64_t count = 0;
  for (size_t at = 0; at < text.size; count++) at += utf8_size(text.data + at, text.size - at);
  return count;
}
/* The characters from one to before another; negative numbers count from the end. */
kodec_bytes ks_substring(kodec_bytes text, int64_t start, int64_t stop) {
  const int64_t size = ks_size_of_text(text);
  if (start < 0) start = start < -size ? 0 : start + size;
  if (stop < 0) stop = stop < -size ? 0 : stop + size;
  size_t from = 0, at = 0;
  for (int64_t index = 0; index < stop && at < text.size; index++) {
    at += utf8_size(text.data + at, text.size - at);
    if (index < start) from = at;
  }
  if (start >= stop || start >= size) return (kodec_bytes){kodec_empty, 0};
  return (kodec_bytes){text.data + from, at - from};
}
bool ks_byte(const kodec_object *x, int64_t v, uint8_t *out) {
  *out = (uint8_t)v;
  return (v >= 0 && v <= 255) || ks_wrong(x, "", "an expression needs bytes");
}
bool ks_index(const kodec_object *x, int64_t index, size_t count, size_t *out) {
  *out = (size_t)index;
  return (index >= 0 && (uint64_t)index < count) || ks_wrong(x, "", "an expression needs an element");
}
bool ks_some(const kodec_object *x, size_t count) {
  return count != 0 || ks_wrong(x, "", "an expression needs an element of an empty list");
}
int64_t ks_min_byte(kodec_bytes data) {
  uint8_t found = data.data[0];
  for (size_t i = 1; i < data.size; i++) found = data.data[i] < found ? data.data[i] : found;
  return found;
}
int64_t ks_max_byte(kodec_bytes data) {
  uint8_t found = data.data[0];
  for (size_t i = 1; i < data.size; i++) found = data.data[i] > found ? data.data[i] : found;
  return found;
}

/* ------------------------------------------------------------------ what fields are derived from */

bool ks_later(const kodec_stream *io, kodec_object *x, bool (*check)(kodec_object *object)) {
  ks_unchecked *const found = ks_new(io->r, 1, sizeof *found);
  if (found == NULL) return false;
  *found = (ks_unchecked){x, check, io->r->unchecked};
  io->r->unchecked = found;
  return true;
}
bool ks_check(const kodec_stream *io) {
  for (ks_unchecked *next; (next = io->r->unchecked) != NULL;) {
    io->r->unchecked = next->older;
    if (!next->check(next->object)) return false;
  }
  return true;
}

bool ks_mark(kodec_object *x, const kodec_stream *io, int64_t index, int64_t count, bool ended) {
  if (x->spans == NULL) x->spans = ks_new(io->r, (size_t)count, sizeof *x->spans);
  if (x->spans == NULL) return false;
  ks_span *const span = &x->spans[index];
  if (!ended) span->start = io->at;
  span->stream = io;
  span->stop = io->at;
  return true;
}
static const ks_span *span_of(const kodec_object *x, const kodec_object *of, int64_t index, const char *name) {
  const ks_span *const found = of == NULL || of->spans == NULL ? NULL : &of->spans[index];
  if (found != NULL && found->stream != NULL) return found;
  ks_stop(of == NULL ? x : of, name, "its bytes are needed, and it is not there");
  return NULL;
}
bool ks_position(const kodec_object *x, const kodec_object *of, int64_t index, const char *name, int64_t *out) {
  const ks_span *const found = span_of(x, of, index, name);
  if (found != NULL) *out = found->start - found->stream->base;
  return found != NULL;
}
bool ks_between(const kodec_object *x, const kodec_object *of, int64_t first, const char *name, int64_t last,
                const char *last_name, int64_t own, int64_t blank, kodec_bytes *out) {
  const ks_span *const from = span_of(x, of, first, name);
  if (from == NULL) return false;
  const ks_span *const to = span_of(x, of, last, last_name);
  if (to == NULL) return false;
  const int64_t start = from->start, stop = to->stop < from->stream->end ? to->stop : from->stream->end;
  *out = (kodec_bytes){kodec_empty, 0};
  if (start >= stop) return true;
  *out = (kodec_bytes){from->stream->buf + start, (size_t)(stop - start)};
  if (own < 0 || x->spans == NULL || x->spans[own].stream == NULL) return true;
  const int64_t low = x->spans[own].start > start ? x->spans[own].start : start;
  const int64_t high = x->spans[own].stop < stop ? x->spans[own].stop : stop;
  if (low >= high) return true;
  const uint8_t *const data = out->data;
  uint8_t *const to_data = new_bytes(x->stream->r, out->size, out);
  if (to_data == NULL) return false;
  memcpy(to_data, data, out->size);
  memset(to_data + (low - start), (int)blank, (size_t)(high - low));
  return true;
}

/* A CRC of a width with the most significant bit of each byte first. */
static uint32_t upwards(kodec_bytes data, unsigned width, uint32_t poly, uint32_t start) {
  uint32_t found = start << (32 - width);
  for (size_t i = 0; i < data.size; i++) {
    found ^= (uint32_t)data.data[i] << 24;
    for (int bit = 0; bit < 8; bit++) found = found << 1 ^ (found >> 31 ? poly << (32 - width) : 0);
  }
  return found >> (32 - width);
}
static uint32_t adler_32(kodec_bytes data) {
  uint32_t low = 1, high = 0;
  for (size_t i = 0; i < data.size; i++) {
    low = (low + data.data[i]) % 65521;
    high = (high + low) % 65521;
  }
  return high << 16 | low;
}
static uint32_t xored(kodec_bytes data, uint32_t poly) {
  uint32_t found = 0;
  for (size_t i = 0; i < data.size; i++) {
    found ^= data.data[i];
    for (int bit = 0; bit < 8 && poly != 0; bit++) found = found >> 1 ^ (found & 1 ? poly : 0);
  }
  return found;
}
static uint32_t internet_checksum(const kodec_object *x, kodec_bytes data) {
  uint64_t found = 0;
  ks_sum_of(x, data, 2, false, &found);
  while (found >> 16 != 0) found = (found & 0xFFFF) + (found >> 16);
  return (uint32_t)found ^ 0xFFFF;
}
bool ks_checksum(const kodec_object *x, const char *name, kodec_bytes data, int64_t *out) {
  if (strcmp(name, "crc32") == 0)
    *out = kodec_crc32(data.data, data.size);
  else if (strcmp(name, "crc32c") == 0)
    *out = kodec_crc32c(data.data, data.size);
  else if (strcmp(name, "crc32_mpeg2") == 0)
    *out = upwards(data, 32, 0x04C11DB7, UINT32_MAX);
  else if (strcmp(name, "crc32_bzip2") == 0)
    *out = ~upwards(data, 32, 0x04C11DB7, UINT32_MAX);
  else if (strcmp(name, "crc32_ogg") == 0)
    *out = upwards(data, 32, 0x04C11DB7, 0);
  else if (strcmp(name, "crc16_ccitt") == 0)
    *out = upwards(data, 16, 0x1021, 0xFFFF);
  else if (strcmp(name, "crc16_xmodem") == 0)
    *out = upwards(data, 16, 0x1021, 0);
  else if (strcmp(name, "adler32") == 0)
    *out = adler_32(data);
  else if (strcmp(name, "internet_checksum") == 0)
    *out = internet_checksum(x, data);
  else
    *out = xored(data, strcmp(name, "crc16_arc") == 0 ? 0xA001 : 0);
  return true;
}
bool ks_sum_of(const kodec_object *x, kodec_bytes data, int64_t size, bool little, uint64_t *out) {
  const size_t width = (size_t)size;
  uint64_t found = 0;
  for (size_t i = 0; i < data.size; i++) {
    const size_t place = little ? i % width : width - 1 - i % width;
    found += (uint64_t)data.data[i] << (8 * place);
  }
  (void)x;
  *out = found;
  return true;
}
void ks_stop_differing(const kodec_object *x, const char *name, bool checksum, kd_shown need, kd_shown have) {
  if (checksum)
    ks_fail(x->stream->r, KODEC_BAD_CHECKSUM, name, "", x->start, have.text, need.text);
  else
    ks_fail(x->stream->r, KODEC_MALFORMED, name, "not what it is derived from", x->start, need.text, have.text);
}

/* ------------------------------------------------------------------ text */

/* The next character of bytes in an encoding, and how many it has; 0 for bytes that are none. */
static size_t next_character(kodec_bytes data, size_t at, const char *encoding, const uint16_t *upper,
                             uint32_t *out) {
  const uint8_t *const p = data.data + at;
  const size_t left = data.size - at;
  const bool little = encoding[strlen(encoding) - 2] == 'L';
  if (strncmp(encoding, "UTF-16", 6) == 0) {
    if (left < 2) return 0;
    *out = little ? kd_load_u2le(p) : kd_load_u2be(p);
    if (*out < 0xD800 || *out > 0xDFFF) return 2;
    const uint32_t low = left < 4 ? 0 : little ? kd_load_u2le(p + 2) : kd_load_u2be(p + 2);
    if (*out > 0xDBFF || low < 0xDC00 || low > 0xDFFF) return 0;
    *out = 0x10000 + ((*out - 0xD800) << 10) + (low - 0xDC00);
    return 4;
  }
  if (strncmp(encoding, "UTF-32", 6) == 0) {
    if (left < 4) return 0;
    *out = little ? kd_load_u4le(p) : kd_load_u4be(p);
    return *out > 0x10FFFF || (*out >= 0xD800 && *out <= 0xDFFF) ? 0 : 4;
  }
  *out = *p < 0x80 || upper == NULL ? *p : upper[*p - 0x80];
  return *out == 0xFFFD ? 0 : 1;
}
static size_t put_utf8(uint8_t *to, uint32_t sign) {
  const size_t size = sign < 0x80 ? 1 : sign < 0x800 ? 2 : sign < 0x10000 ? 3 : 4;
  if (to == NULL) return size;
  if (size == 1) {
    to[0] = (uint8_t)sign;
    return size;
  }
  for (size_t i = size - 1; i > 0; i--, sign >>= 6) to[i] = (uint8_t)(0x80 | (sign & 63));
  to[0] = (uint8_t)(0xF00 >> size | sign);
  return size;
}
/* Text as UTF-8, unless bytes are none: then `data` is NULL. */
static bool decode(ks_reading *r, kodec_bytes data, const char *encoding, const uint16_t *upper,
                   kodec_bytes *out) {
  size_t size = 0;
  uint32_t sign;
  *out = (kodec_bytes){0};
  if (strcmp(encoding, "UTF-16") == 0) { /* in the order of its mark, and little-endian without one */
    const uint32_t mark = data.size < 2 ? 0 : kd_load_u2be(data.data);
    encoding = mark == 0xFEFF ? "UTF-16BE" : "UTF-16LE";
    if (mark == 0xFEFF || mark == 0xFFFE) data = (kodec_bytes){.data = data.data + 2, .size = data.size - 2};
  }
  for (size_t at = 0, width; at < data.size; at += width, size += put_utf8(NULL, sign))
    if ((width = next_character(data, at, encoding, upper, &sign)) == 0) return true;
  uint8_t *to = new_bytes(r, size, out);
  if (to == NULL) return false;
  for (size_t at = 0; at < data.size; to += put_utf8(to, sign))
    at += next_character(data, at, encoding, upper, &sign);
  return true;
}

bool ks_text(kodec_stream *s, const char *name, kodec_bytes data, const char *encoding,
             const uint16_t *upper, kodec_bytes *out) {
  char reason[64];
  if (!decode(s->r, data, encoding, upper, out)) return false;
  if (out->data != NULL) return true;
  snprintf(reason, sizeof reason, "not %s", encoding);
  return ks_fail(s->r, KODEC_MALFORMED, name, reason, s->at, "", "");
}
bool ks_decoded(const kodec_object *x, kodec_bytes data, const char *encoding, const uint16_t *upper,
                kodec_bytes *out) {
  if (!decode(x->stream->r, data, encoding, upper, out)) return false;
  return out->data != NULL || ks_wrong(x, "", "an expression needs text");
}

/* ------------------------------------------------------------------ processes */

/* Whether bytes are few enough for a process; an error if not. */
static bool is_within(kodec_stream *s, const char *name, const char *way, kodec_bytes data) {
  const size_t most = s->r->opt.most_decompressed;
  return data.size <= most ||
         ks_fail(s->r, KODEC_LIMIT_EXCEEDED, name, way, s->at - (int64_t)data.size,
                 kd_show_uint(most + 1ULL).text, kd_show_uint(most).text);
}
static bool bad_key(kodec_stream *s, const char *name, const char *reason, kodec_bytes data) {
  return ks_fail(s->r, KODEC_MALFORMED, name, reason, s->at - (int64_t)data.size, "", "");
}

bool ks_xor_all(kodec_stream *s, const char *name, kodec_bytes data, kodec_bytes key, kodec_bytes *out) {
  if (!is_within(s, name, "xor", data)) return false;
  if (key.size == 0) return bad_key(s, name, "xor: the key is empty", data);
  uint8_t *const to = new_bytes(s->r, data.size, out);
  if (to == NULL) return false;
  for (size_t i = 0, k = 0; i < data.size; i++, k = k + 1 == key.size ? 0 : k + 1)
    to[i] = data.data[i] ^ key.data[k];
  return true;
}
bool ks_xor(kodec_stream *s, const char *name, kodec_bytes data, int64_t key, kodec_bytes *out) {
  const uint8_t byte = (uint8_t)key;
  if (!is_within(s, name, "xor", data)) return false;
  if (key < 0 || key > 255) return bad_key(s, name, "xor: the key is not a byte", data);
  return ks_xor_all(s, name, data, (kodec_bytes){&byte, 1}, out);
}
bool ks_rol(kodec_stream *s, const char *name, kodec_bytes data, int64_t by, kodec_bytes *out) {
  const unsigned left = (unsigned)kd_floor_mod(by, 8);
  if (!is_within(s, name, "rol", data)) return false;
  uint8_t *const to = new_bytes(s->r, data.size, out);
  if (to == NULL) return false;
  for (size_t i = 0; i < data.size; i++)
    to[i] = (uint8_t)(data.data[i] << left | data.data[i] >> (8 - left));
  return true;
}
bool ks_ror(kodec_stream *s, const char *name, kodec_bytes data, int64_t by, kodec_bytes *out) {
  return ks_rol(s, name, data, 8 - kd_floor_mod(by, 8), out);
}

#ifdef KODEC_WITH_ZLIB
enum { FIRST_OUTPUT = 4096, MOST_AT_ONCE = 1 << 28 };

/* Append what data decompresses to, at most `most` bytes and one; a status of zlib. */
static int inflated(kodec_bytes data, int window, size_t most, kd_writer *w) {
  z_stream z = {0};
  size_t given = 0;
  int status = inflateInit2(&z, window);
  if (status != Z_OK) return status;
  while (status == Z_OK && w->out->size <= most) {
    const size_t before = w->out->size, left = most - before;
    if (z.avail_in == 0 && given < data.size) {
      z.next_in = (Bytef *)(data.data + given);
      z.avail_in = (uInt)(data.size - given < MOST_AT_ONCE ? data.size - given : MOST_AT_ONCE);
      given += z.avail_in;
    }
    size_t room = before < FIRST_OUTPUT ? FIRST_OUTPUT : before < MOST_AT_ONCE ? before : MOST_AT_ONCE;
    if (room > left) room = left + 1;
    z.next_out = kd_extend(w, room);
    if (z.next_out == NULL) {
      status = Z_MEM_ERROR;
      break;
    }
    z.avail_out = (uInt)room;
    status = inflate(&z, Z_NO_FLUSH);
    w->out->size = before + room - z.avail_out;
  }
  inflateEnd(&z);
  return status;
}

bool ks_zlib(kodec_stream *s, const char *name, kodec_bytes data, kodec_bytes *out) {
  ks_reading *const r = s->r;
  const int64_t at = s->at - (int64_t)data.size;
  const size_t most = r->opt.most_decompressed - r->inflated;
  kodec_buffer found = {0};
  kd_writer w = {&found, r->error};
  const int status = inflated(data, MAX_WBITS, most, &w);
  *out = (kodec_bytes){found.data != NULL ? found.data : kodec_empty, found.size};
  if (found.size <= most && status == Z_STREAM_END && kd_adopt(r->arena, &found)) {
    r->inflated += out->size;
    return true;
  }
  kodec_buffer_free(&found);
  if (out->size > most)
    return ks_fail(r, KODEC_LIMIT_EXCEEDED, name, "zlib", at, kd_show_uint(most + 1ULL).text,
                   kd_show_uint(most).text);
  if (status == Z_STREAM_END || status == Z_MEM_ERROR)
    return ks_fail(r, KODEC_LIMIT_EXCEEDED, name, "more memory than there may be", at, "", "");
  return ks_fail(r, KODEC_MALFORMED, name,
                 status == Z_BUF_ERROR ? "zlib: the data have no end" : "zlib: the data are damaged", at, "",
                 "");
}

bool ks_unpacked(const kodec_object *x, kodec_bytes data, const char *form, const char *name, kodec_bytes *out) {
  ks_reading *const r = x->stream->r;
  const size_t most = r->opt.most_decompressed;
  const int window = form[0] == 'g' ? MAX_WBITS + 16 : form[0] == 'd' ? -MAX_WBITS : MAX_WBITS;
  kodec_buffer found = {0};
  kd_writer w = {&found, r->error};
  const int status = inflated(data, window, most, &w);
  char reason[64];
  *out = (kodec_bytes){found.data != NULL ? found.data : kodec_empty, found.size};
  if (found.size <= most && status == Z_STREAM_END && kd_adopt(r->arena, &found)) return true;
  kodec_buffer_free(&found);
  snprintf(reason, sizeof reason, "it is no whole %s stream", form);
  return ks_wrong(x, name, reason);
}
#else
bool ks_unpacked(const kodec_object *x, kodec_bytes data, const char *form, const char *name, kodec_bytes *out) {
  (void)form;
  *out = data;
  return ks_fail(x->stream->r, KODEC_UNSUPPORTED, name, "zlib: the library was built without it", x->stream->at, "", "");
}
bool ks_zlib(kodec_stream *s, const char *name, kodec_bytes data, kodec_bytes *out) {
  *out = data;
  return ks_fail(s->r, KODEC_UNSUPPORTED, name, "zlib: the library was built without it",
                 s->at - (int64_t)data.size, "", "");
}
#endif
