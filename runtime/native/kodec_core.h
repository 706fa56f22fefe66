/* The runtime of every generated kernel: statuses, checksums, growing buffers, columns.
 *
 * Plain C11 without Python.h, so that a kernel can be fuzzed and sanitised alone. All functions are static: a kernel is
 * one translation unit that includes this file. */
#ifndef KODEC_CORE_H
#define KODEC_CORE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kodec_bytes.h"

static const char *const kd_status_names[] KD_UNUSED = {
    "ok",     "end",   "full",     "compressed", "truncated", "value", "varint",
    "length", "count", "checksum", "limit",      "overflow",  "null",  "memory",
    "hidden"};

/* Where a kernel stopped: `field` is an index into the kernel's own table of names, `at` counts in the
 * buffer that was read. */
typedef struct {
  int status;
  int field;
  size_t at;
  size_t row;
} kd_where;

KD_COLD int kd_fail(kd_where *where, int status, int field, size_t at) {
  where->status = status;
  where->field = field;
  where->at = at;
  return status;
}

/* Bytes inside the buffer that is read; `data` is NULL for null. */
typedef struct {
  const uint8_t *data;
  size_t size;
} kd_span;

/* Elements of a list that were not read yet: their number, and their bytes. */
typedef struct {
  const uint8_t *data, *end;
  size_t count;
} kd_items;

/* What to read: which columns (bit n is column n), from which rows, and how far. */
enum { KD_MOST_COLUMNS = 64 };
typedef struct {
  uint64_t wanted;
  int check;          /* verify checksums */
  int everything;     /* also the rows of containers that are not for users, */
  int stop_at_hidden; /* or stop at such a container */
  int filtered;       /* whether `least` and `most` are set */
  size_t most_rows;   /* stop before the next unit at this number of rows, */
  size_t most_bytes;  /* or at this number of bytes in columns of bytes */
  size_t unit_bytes;  /* the largest unit that is read */
  size_t elements;    /* the most rows, with the elements of their lists, in one unit */
  int64_t least[KD_MOST_COLUMNS], most[KD_MOST_COLUMNS];
} kd_options;

/* ------------------------------------------------------------------ memory */

/* Released memory is kept for reuse, up to a limit: fresh memory costs a page fault per 4 KiB, which takes longer than
 * filling it. Each block starts with its size. */
typedef struct {
  size_t room;
  size_t padding; /* the memory after it is aligned as malloc's */
} kd_block;

#if defined(__SANITIZE_ADDRESS__)
#define KD_KEEPS_MEMORY 0 /* a block that is kept would hide that it is used after it was released */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KD_KEEPS_MEMORY 0
#endif
#endif
#if !defined(KD_KEEPS_MEMORY)
#define KD_KEEPS_MEMORY KD_GNU
#endif

#if KD_KEEPS_MEMORY
enum { KD_KEPT_BLOCKS = 32, KD_KEPT_BYTES = 32 << 20, KD_KEPT_LEAST = 16 << 10 };
static struct {
  char busy;
  int count;
  size_t bytes;
  kd_block *blocks[KD_KEPT_BLOCKS];
} kd_kept KD_UNUSED;

KD_UNUSED static kd_block *kd_take_kept(size_t room) {
  int best = -1;
  if (__atomic_test_and_set(&kd_kept.busy, __ATOMIC_ACQUIRE)) return NULL;
  for (int i = kd_kept.count - 1; i >= 0; i--) {
    const size_t has = kd_kept.blocks[i]->room;
    /* the smallest one: a larger one is kept for those who need it */
    if (has >= room && has <= 2 * room && (best < 0 || has < kd_kept.blocks[best]->room)) best = i;
  }
  kd_block *const found = best < 0 ? NULL : kd_kept.blocks[best];
  if (found != NULL) {
    kd_kept.blocks[best] = kd_kept.blocks[--kd_kept.count];
    kd_kept.bytes -= found->room;
  }
  __atomic_clear(&kd_kept.busy, __ATOMIC_RELEASE);
  return found;
}
KD_UNUSED static int kd_keep(kd_block *block) {
  int kept = 0;
  if (__atomic_test_and_set(&kd_kept.busy, __ATOMIC_ACQUIRE)) return 0;
  if (kd_kept.count < KD_KEPT_BLOCKS && block->room <= (size_t)KD_KEPT_BYTES - kd_kept.bytes) {
    kd_kept.blocks[kd_kept.count++] = block;
    kd_kept.bytes += block->room;
    kept = 1;
  }
  __atomic_clear(&kd_kept.busy, __ATOMIC_RELEASE);
  return kept;
}
#else
enum { KD_KEPT_LEAST = 1 };
KD_UNUSED static kd_block *kd_take_kept(size_t room) { return (void)room, NULL; }
KD_UNUSED static int kd_keep(kd_block *block) { return (void)block, 0; }
#endif

KD_UNUSED static void kd_release(void *data) {
  if (data == NULL) return;
  kd_block *block = (kd_block *)data - 1;
  if (block->room < KD_KEPT_LEAST || !kd_keep(block)) free(block);
}
/* Memory of at least `room` bytes that starts with the first `used` bytes of `data`, which is released. */
KD_UNUSED static void *kd_resize(void *data, size_t used, size_t room) {
  kd_block *block = room < KD_KEPT_LEAST ? NULL : kd_take_kept(room);
  if (block != NULL) {
    if (data != NULL) memcpy(block + 1, data, used);
    kd_release(data);
    return block + 1;
  }
  block = realloc(data == NULL ? NULL : (kd_block *)data - 1, sizeof(kd_block) + room);
  if (block == NULL) return NULL;
  block->room = room;
  return block + 1;
}
KD_INLINE size_t kd_room(const void *data) { return ((const kd_block *)data - 1)->room; }

/* ------------------------------------------------------------------ growing buffers */

/* Room after the end of each, so that short copies may write whole words. */
#define KD_SLACK 64

typedef struct {
  uint8_t *data;
  size_t size; /* in bytes */
  size_t room;
  size_t hope; /* how much room to start with */
  int fixed;   /* the memory belongs to others: if it is too small, `hope` is set to the size that would do */
} kd_buffer;

KD_COLD int kd_grow(kd_buffer *buffer, size_t more) {
  if (more > SIZE_MAX / 4 || buffer->size > SIZE_MAX / 4) return KD_MEMORY;
  size_t need = buffer->size + more + KD_SLACK;
  if (buffer->fixed) {
    buffer->hope = need;
    return KD_MEMORY;
  }
  size_t room = buffer->room == 0 ? buffer->hope + KD_SLACK : 2 * buffer->room;
  if (room < need) room = need;
  uint8_t *data = kd_resize(buffer->data, buffer->size, room);
  if (data == NULL && room > need) data = kd_resize(buffer->data, buffer->size, need);
  if (data == NULL) return KD_MEMORY;
  buffer->hope = room - KD_SLACK;
  buffer->data = data;
  buffer->room = kd_room(data);
  return KD_OK;
}
/* Make room for `more` bytes at the end. */
KD_INLINE int kd_reserve(kd_buffer *buffer, size_t more) {
  if (KD_LIKELY(buffer->room - buffer->size >= more + KD_SLACK && buffer->room != 0)) return KD_OK;
  return kd_grow(buffer, more);
}
/* Where a reserved buffer is written, and up to where, in locals; the buffer's own size is set at the end. */
typedef struct {
  uint8_t *p; /* NULL if there was no memory */
  const uint8_t *end;
} kd_pen;
KD_INLINE kd_pen kd_pen_of(const kd_buffer *buffer) {
  return (kd_pen){buffer->data + buffer->size, buffer->data + buffer->room - KD_SLACK};
}
KD_COLD kd_pen kd_pen_grown(kd_buffer *buffer, kd_pen pen, size_t more) {
  const size_t before = buffer->size;
  buffer->size = (size_t)(pen.p - buffer->data);
  pen = kd_reserve(buffer, more) == KD_OK ? kd_pen_of(buffer) : (kd_pen){NULL, NULL};
  buffer->size = before;
  return pen;
}
KD_INLINE void kd_free(kd_buffer *buffer) {
  kd_release(buffer->data);
  buffer->data = NULL;
  buffer->size = buffer->room = 0;
}
/* Say how much room to start with, where nothing is known from before. */
KD_INLINE void kd_expect(kd_buffer *buffer, size_t bytes) {
  if (buffer->room == 0 && buffer->hope == 0) buffer->hope = bytes;
}
/* Copy `size` bytes; up to 63 more may be read and written if `source_left` bytes allow it. */
KD_INLINE void kd_copy(uint8_t *to, const uint8_t *from, size_t size, size_t source_left) {
  if (KD_LIKELY(size <= 128 && source_left >= 128)) {
    memcpy(to, from, 32);
    if (size > 32) {
      memcpy(to + 32, from + 32, 32);
      if (size > 64) memcpy(to + 64, from + 64, 64);
    }
    return;
  }
  if (to != from) memcpy(to, from, size);
}

/* ------------------------------------------------------------------ columns */

/* Numbers of one width. */
typedef struct {
  kd_buffer values;
} kd_fixed;

/* Byte strings: the start of each (and the end of the last), their bytes, and whether each is present. */
typedef struct {
  kd_buffer starts; /* int32_t, one more than there are rows */
  kd_buffer bytes;
  kd_buffer there; /* uint8_t; packed to bits when it is handed over, and only if a null is among them */
  size_t nulls;
  int not_ascii; /* whether a text may be other than ASCII */
} kd_blob;

/* The size of an element of a list, beside its bytes, when the size of columns is computed: even an empty one uses
 * memory. */
enum { KD_ITEM = 16 };

/* Where each row's list starts in its children, and how many children there are. */
typedef struct {
  kd_buffer starts; /* int32_t, one more than there are rows */
  size_t count;
} kd_list;

KD_INLINE int kd_blob_reserve(kd_blob *blob, size_t rows, size_t bytes) {
  if (blob->bytes.size + bytes > INT32_MAX) return KD_LIMIT;
  if (kd_reserve(&blob->starts, (rows + 1) * 4) || kd_reserve(&blob->bytes, bytes) ||
      kd_reserve(&blob->there, rows))
    return KD_MEMORY;
  if (KD_UNLIKELY(blob->starts.size == 0)) {
    memset(blob->starts.data, 0, 4);
    blob->starts.size = 4;
  }
  return KD_OK;
}
/* Append one; there must be room. `limit` is the end of the bytes that contain `span`. */
KD_INLINE void kd_blob_push(kd_blob *blob, kd_span span, const uint8_t *limit) {
  size_t at = blob->bytes.size;
  uint8_t there = span.data != NULL;
  if (KD_LIKELY(there)) {
    kd_copy(blob->bytes.data + at, span.data, span.size, (size_t)(limit - span.data));
    at += span.size;
  }
  blob->nulls += !there;
  blob->there.data[blob->there.size++] = there;
  int32_t stop = (int32_t)at;
  memcpy(blob->starts.data + blob->starts.size, &stop, 4);
  blob->starts.size += 4;
  blob->bytes.size = at;
}
/* A column of bytes in locals while rows are added; changes are lost unless they are put back. */
typedef struct {
  uint8_t *bytes, *there;
  int32_t *stops; /* of row n its n-th */
  size_t size, nulls;
} kd_blob_end;
KD_INLINE kd_blob_end kd_blob_open(const kd_blob *blob) {
  return (kd_blob_end){blob->bytes.data, blob->there.data,
                       blob->starts.data == NULL ? NULL : (int32_t *)(void *)blob->starts.data + 1,
                       blob->bytes.size, blob->nulls};
}
KD_INLINE void kd_blob_add(kd_blob_end *to, size_t row, kd_span span, const uint8_t *limit) {
  uint8_t there = span.data != NULL;
  if (KD_LIKELY(there)) {
    kd_copy(to->bytes + to->size, span.data, span.size, (size_t)(limit - span.data));
    to->size += span.size;
  }
  to->nulls += !there;
  to->there[row] = there;
  to->stops[row] = (int32_t)to->size;
}
KD_INLINE void kd_blob_close(kd_blob *blob, const kd_blob_end *end, size_t rows) {
  blob->bytes.size = end->size;
  blob->there.size = rows;
  blob->starts.size = 4 * (rows + 1);
  blob->nulls = end->nulls;
}
/* Note whether a text is other than ASCII: its reader then verifies that it is UTF-8. */
KD_INLINE void kd_blob_look(kd_blob *blob, kd_span span) {
  uint8_t any = 0;
  for (size_t i = 0; i < span.size; i++) any |= span.data[i];
  blob->not_ascii |= any >> 7;
}
/* Take rows back, to the first `rows`. */
KD_INLINE void kd_blob_cut(kd_blob *blob, size_t rows) {
  if (blob->starts.size == 0) return;
  for (size_t i = rows; i < blob->there.size; i++) blob->nulls -= !blob->there.data[i];
  int32_t stop;
  memcpy(&stop, blob->starts.data + 4 * rows, 4);
  blob->bytes.size = (size_t)stop;
  blob->starts.size = 4 * (rows + 1);
  blob->there.size = rows;
}
KD_INLINE void kd_blob_free(kd_blob *blob) {
  kd_free(&blob->starts);
  kd_free(&blob->bytes);
  kd_free(&blob->there);
  blob->nulls = 0;
  blob->not_ascii = 0;
}
KD_INLINE int kd_list_reserve(kd_list *list, size_t rows) {
  if (kd_reserve(&list->starts, (rows + 1) * 4)) return KD_MEMORY;
  if (KD_UNLIKELY(list->starts.size == 0)) {
    memset(list->starts.data, 0, 4);
    list->starts.size = 4;
  }
  return KD_OK;
}
KD_INLINE void kd_list_free(kd_list *list) {
  kd_free(&list->starts);
  list->count = 0;
}
/* As kd_blob_end, of a column of lists. */
typedef struct {
  int32_t *stops;
} kd_list_end;
KD_INLINE kd_list_end kd_list_open(const kd_list *list) {
  return (kd_list_end){list->starts.data == NULL ? NULL : (int32_t *)(void *)list->starts.data + 1};
}
KD_INLINE void kd_list_add(kd_list_end *to, size_t row, size_t count) { to->stops[row] = (int32_t)count; }
KD_INLINE void kd_list_close(kd_list *list, size_t rows) { list->starts.size = 4 * (rows + 1); }
KD_INLINE void kd_list_cut(kd_list *list, size_t rows) {
  if (list->starts.size == 0) return;
  int32_t stop;
  memcpy(&stop, list->starts.data + 4 * rows, 4);
  list->starts.size = 4 * (rows + 1);
  list->count = (size_t)stop;
}

/* A column of bytes that is written, as Arrow has it. */
typedef struct {
  const int32_t *starts;
  const uint8_t *bytes;
  const uint8_t *valid; /* NULL if there is no null */
  int64_t offset;       /* of the first row, in bits of `valid` */
  const uint8_t *end;
} kd_text;

static const uint8_t kd_nothing[1] = {0};

KD_INLINE kd_span kd_text_at(const kd_text *text, int64_t row) {
  int64_t bit = row + text->offset;
  if (text->valid != NULL && !(text->valid[bit >> 3] >> (bit & 7) & 1)) return (kd_span){NULL, 0};
  int32_t start = text->starts[row];
  return (kd_span){text->bytes + start, (size_t)(text->starts[row + 1] - start)};
}

/* ------------------------------------------------------------------ checksums */

/* Tables for eight bytes per step, computed once for each polynomial (reflected). */
typedef struct {
  uint32_t table[8][256];
  int ready;
} kd_crc_tables;

static void kd_crc_prepare(kd_crc_tables *t, uint32_t polynomial) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    t->table[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; i++)
    for (int k = 1; k < 8; k++) t->table[k][i] = t->table[k - 1][i] >> 8 ^ t->table[0][t->table[k - 1][i] & 0xFF];
  t->ready = 1;
}
KD_INLINE uint32_t kd_crc_by_table(const kd_crc_tables *t, uint32_t crc, const uint8_t *p, size_t size) {
  while (size >= 8) {
    uint64_t word = kd_load_u8le(p) ^ crc;
    crc = t->table[7][word & 0xFF] ^ t->table[6][word >> 8 & 0xFF] ^ t->table[5][word >> 16 & 0xFF] ^
          t->table[4][word >> 24 & 0xFF] ^ t->table[3][word >> 32 & 0xFF] ^ t->table[2][word >> 40 & 0xFF] ^
          t->table[1][word >> 48 & 0xFF] ^ t->table[0][word >> 56];
    p += 8;
    size -= 8;
  }
  while (size--) crc = crc >> 8 ^ t->table[0][(crc ^ *p++) & 0xFF];
  return crc;
}

#if defined(__x86_64__) && KD_GNU
#define KD_CRC_HARDWARE 1
#include <cpuid.h>
#include <immintrin.h>
/* Clang from version 14 has the CRC instruction as a separate feature, which sse4.2 does not include. */
#if defined(__clang__) && __clang_major__ >= 14
#define KD_SSE42 "sse4.2,crc32"
#else
#define KD_SSE42 "sse4.2"
#endif
#define KD_TARGET_CRC __attribute__((target(KD_SSE42)))
#define KD_CRC_8(crc, p) _mm_crc32_u64((crc), kd_load_u8le(p))
#define KD_CRC_1(crc, byte) _mm_crc32_u8((uint32_t)(crc), (byte))
/* Not __builtin_cpu_supports: it needs a symbol that not every compiler's library has (zig's does not). */
static int kd_cpu_has(unsigned bits) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bits) == bits;
}
static int kd_crc_has_hardware(void) { return kd_cpu_has(bit_SSE4_2); }
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32) && KD_GNU
#define KD_CRC_HARDWARE 1
#include <arm_acle.h>
#define KD_TARGET_CRC
#define KD_CRC_8(crc, p) __crc32cd((uint32_t)(crc), kd_load_u8le(p))
#define KD_CRC_1(crc, byte) __crc32cb((uint32_t)(crc), (byte))
static int kd_crc_has_hardware(void) { return 1; }
#endif

#ifdef KD_CRC_HARDWARE
/* The result of the instruction is available after three cycles, so three ranges are processed in parallel; the CRC of
 * the first is then shifted over the length of the ranges after it, with four table lookups each. */
enum { KD_LONG = 4096, KD_SHORT = 256 };
typedef struct {
  uint32_t over_long[4][256], over_short[4][256];
} kd_crc_shifts;
static kd_crc_shifts kd_shifts;

static uint32_t kd_gf2_times(const uint32_t *matrix, uint32_t vector) {
  uint32_t sum = 0;
  for (int i = 0; vector; i++, vector >>= 1)
    if (vector & 1) sum ^= matrix[i];
  return sum;
}
/* Tables that shift a CRC over `zeros` zero bytes (a power of two). */
static void kd_crc_prepare_shift(uint32_t table[4][256], uint32_t polynomial, size_t zeros) {
  uint32_t matrix[32], square[32];
  matrix[0] = polynomial; /* the operator for one zero bit */
  for (int i = 1; i < 32; i++) matrix[i] = 1U << (i - 1);
  for (size_t bits = 1; bits < zeros * 8; bits *= 2) {
    for (int i = 0; i < 32; i++) square[i] = kd_gf2_times(matrix, matrix[i]);
    memcpy(matrix, square, sizeof matrix);
  }
  for (int k = 0; k < 4; k++)
    for (uint32_t i = 0; i < 256; i++) table[k][i] = kd_gf2_times(matrix, i << (8 * k));
}
KD_INLINE uint32_t kd_crc_shift(uint32_t table[4][256], uint32_t crc) {
  return table[0][crc & 0xFF] ^ table[1][crc >> 8 & 0xFF] ^ table[2][crc >> 16 & 0xFF] ^ table[3][crc >> 24];
}
KD_TARGET_CRC static uint32_t kd_crc32c_hardware(uint32_t crc, const uint8_t *p, size_t size) {
  uint64_t a = crc;
  for (int round = 0; round < 2; round++) {
    size_t width = round == 0 ? KD_LONG : KD_SHORT;
    uint32_t(*table)[256] = round == 0 ? kd_shifts.over_long : kd_shifts.over_short;
    while (size >= 3 * width) {
      uint64_t b = 0, c = 0;
      for (const uint8_t *stop = p + width; p < stop; p += 8) {
        a = KD_CRC_8(a, p);
        b = KD_CRC_8(b, p + width);
        c = KD_CRC_8(c, p + 2 * width);
      }
      a = kd_crc_shift(table, (uint32_t)a) ^ b;
      a = kd_crc_shift(table, (uint32_t)a) ^ c;
      p += 2 * width;
      size -= 3 * width;
    }
  }
  for (; size >= 8; size -= 8, p += 8) a = KD_CRC_8(a, p);
  for (; size; size--, p++) a = KD_CRC_1(a, *p);
  return (uint32_t)a;
}
#endif

static kd_crc_tables kd_crc32_tables, kd_crc32c_tables;
static int kd_crc_fast;

#if defined(__x86_64__) && defined(KD_CRC_HARDWARE)
#define KD_CRC_FOLDS 1
#define KD_TARGET_FOLD __attribute__((target(KD_SSE42 ",pclmul")))
/* 16 bytes are carried over those that are 16, 64 or 128 further on, by multiplication without carries.
 * Source: Intel, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction". */
typedef struct {
  uint64_t over_16[2], over_64[2], over_128[2];
} kd_crc_folds;
static kd_crc_folds kd_crc32_folds, kd_crc32c_folds;
static int kd_crc_can_fold, kd_crc_can_fold_wide;

/* x to the power of `n`, modulo the polynomial, bits reflected. */
static uint32_t kd_crc_power(uint32_t polynomial, unsigned n) {
  uint32_t power = 1U << 31;
  while (n--) power = power >> 1 ^ (power & 1 ? polynomial : 0);
  return power;
}
static void kd_crc_prepare_folds(kd_crc_folds *folds, uint32_t polynomial) {
  for (unsigned i = 0; i < 2; i++) {
    folds->over_16[i] = kd_crc_power(polynomial, 8 * 16 + 31 - 64 * i);
    folds->over_64[i] = kd_crc_power(polynomial, 8 * 64 + 31 - 64 * i);
    folds->over_128[i] = kd_crc_power(polynomial, 8 * 128 + 31 - 64 * i);
  }
}
#define KD_LOAD_16(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define KD_FOLD(x, over, next)                                                                         \
  _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128((x), (over), 0x00), _mm_clmulepi64_si128((x), (over), 0x11)), \
                KD_LOAD_16(next))
KD_TARGET_FOLD static uint32_t kd_crc32_by_folding(uint32_t crc, const uint8_t *p, size_t size) {
  const __m128i over_64 = KD_LOAD_16(kd_crc32_folds.over_64), over_16 = KD_LOAD_16(kd_crc32_folds.over_16);
  __m128i lane[4];
  uint8_t rest[64];
  for (int i = 0; i < 4; i++) lane[i] = KD_LOAD_16(p + 16 * i);
  lane[0] = _mm_xor_si128(lane[0], _mm_cvtsi32_si128((int)crc));
  for (p += 64, size -= 64; size >= 64; p += 64, size -= 64)
    for (int i = 0; i < 4; i++) lane[i] = KD_FOLD(lane[i], over_64, p + 16 * i);
  for (int i = 0; i < 4; i++) _mm_storeu_si128((__m128i *)(void *)(rest + 16 * i), lane[i]);
  for (int i = 1; i < 4; i++) lane[0] = KD_FOLD(lane[0], over_16, rest + 16 * i);
  for (; size >= 16; p += 16, size -= 16) lane[0] = KD_FOLD(lane[0], over_16, p);
  _mm_storeu_si128((__m128i *)(void *)rest, lane[0]);
  return kd_crc_by_table(&kd_crc32_tables, kd_crc_by_table(&kd_crc32_tables, 0, rest, 16), p, size);
}

#if (defined(__clang__) && __clang_major__ >= 7) || (!defined(__clang__) && __GNUC__ >= 8)
#define KD_CRC_FOLDS_WIDE 1
#define KD_TARGET_WIDE __attribute__((target(KD_SSE42 ",pclmul,avx2,vpclmulqdq")))
/* It is faster from this number of bytes; at least the 128 that it starts with. */
enum { KD_WIDE_LEAST = 1024 };

/* Whether the processor has the instructions, and the system keeps the registers that they need. */
static int kd_cpu_folds_wide(void) {
  unsigned a, b, c, d, low, high;
  if (!kd_cpu_has(bit_PCLMUL | bit_SSE4_2 | bit_OSXSAVE | bit_AVX)) return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  return (b & bit_AVX2) && (c & 1U << 10);
}
#define KD_LOAD_32(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
/* Twice 16 bytes per step. The CRC of all but the last 0 to 15 bytes is that of the 16 in `rest`; returns the number of
 * these last bytes. */
KD_TARGET_WIDE static size_t kd_crc_fold_wide(const kd_crc_folds *folds, uint32_t crc, const uint8_t *p,
                                              size_t size, uint8_t rest[128]) {
  const __m256i over_128 = _mm256_broadcastsi128_si256(KD_LOAD_16(folds->over_128));
  const __m128i over_16 = KD_LOAD_16(folds->over_16);
  __m256i lane[4];
  for (int i = 0; i < 4; i++) lane[i] = KD_LOAD_32(p + 32 * i);
  lane[0] = _mm256_xor_si256(lane[0], _mm256_set_epi32(0, 0, 0, 0, 0, 0, 0, (int)crc));
  for (p += 128, size -= 128; size >= 128; p += 128, size -= 128)
    for (int i = 0; i < 4; i++)
      lane[i] = _mm256_xor_si256(_mm256_xor_si256(_mm256_clmulepi64_epi128(lane[i], over_128, 0x00),
                                                  _mm256_clmulepi64_epi128(lane[i], over_128, 0x11)),
                                 KD_LOAD_32(p + 32 * i));
  for (int i = 0; i < 4; i++) _mm256_storeu_si256((__m256i *)(void *)(rest + 32 * i), lane[i]);
  __m128i sum = KD_LOAD_16(rest);
  for (int i = 1; i < 8; i++) sum = KD_FOLD(sum, over_16, rest + 16 * i);
  for (; size >= 16; p += 16, size -= 16) sum = KD_FOLD(sum, over_16, p);
  _mm_storeu_si128((__m128i *)(void *)rest, sum);
  return size;
}
#endif
#endif

/* Compute the tables; call it once, before all other functions, from one thread. */
KD_UNUSED static void kd_prepare(void) {
  if (kd_crc32_tables.ready) return;
#ifdef KD_CRC_HARDWARE
  kd_crc_fast = kd_crc_has_hardware();
  kd_crc_prepare_shift(kd_shifts.over_long, 0x82F63B78U, KD_LONG);
  kd_crc_prepare_shift(kd_shifts.over_short, 0x82F63B78U, KD_SHORT);
#endif
  kd_crc_prepare(&kd_crc32c_tables, 0x82F63B78U);
  kd_crc_prepare(&kd_crc32_tables, 0xEDB88320U);
#ifdef KD_CRC_FOLDS
  kd_crc_prepare_folds(&kd_crc32_folds, 0xEDB88320U);
  kd_crc_prepare_folds(&kd_crc32c_folds, 0x82F63B78U);
  kd_crc_can_fold = kd_cpu_has(bit_PCLMUL | bit_SSE4_2);
#endif
#ifdef KD_CRC_FOLDS_WIDE
  kd_crc_can_fold_wide = kd_cpu_folds_wide();
#endif
}
/* CRC-32C (Castagnoli). */
KD_UNUSED static uint32_t kd_crc32c(const uint8_t *p, size_t size) {
#ifdef KD_CRC_FOLDS_WIDE
  if (KD_LIKELY(kd_crc_can_fold_wide && size >= KD_WIDE_LEAST)) {
    uint8_t rest[128];
    const size_t left = kd_crc_fold_wide(&kd_crc32c_folds, ~0U, p, size, rest);
    return ~kd_crc32c_hardware(kd_crc32c_hardware(0, rest, 16), p + size - left, left);
  }
#endif
#ifdef KD_CRC_HARDWARE
  if (KD_LIKELY(kd_crc_fast)) return ~kd_crc32c_hardware(~0U, p, size);
#endif
  return ~kd_crc_by_table(&kd_crc32c_tables, ~0U, p, size);
}
/* CRC-32 (IEEE), as in zlib. */
KD_UNUSED static uint32_t kd_crc32(const uint8_t *p, size_t size) {
#ifdef KD_CRC_FOLDS_WIDE
  if (kd_crc_can_fold_wide && size >= KD_WIDE_LEAST) {
    uint8_t rest[128];
    const size_t left = kd_crc_fold_wide(&kd_crc32_folds, ~0U, p, size, rest);
    const uint32_t sum = kd_crc_by_table(&kd_crc32_tables, 0, rest, 16);
    return ~kd_crc_by_table(&kd_crc32_tables, sum, p + size - left, left);
  }
#endif
#ifdef KD_CRC_FOLDS
  if (KD_LIKELY(kd_crc_can_fold && size >= 64)) return ~kd_crc32_by_folding(~0U, p, size);
#endif
  return ~kd_crc_by_table(&kd_crc32_tables, ~0U, p, size);
}

#endif
