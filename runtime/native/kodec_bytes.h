/* What kernels and the C library read and write bytes with: loads, stores, varints, numbers that may not fit.
 *
 * Plain C11. All functions are static: whoever includes this file has its own. */
#ifndef KODEC_BYTES_H
#define KODEC_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* GCC and Clang have functions and attributes that C lacks, and MSVC with it; 0 for plain C. */
#if !defined(KD_GNU)
#if defined(__GNUC__) || defined(__clang__)
#define KD_GNU 1
#else
#define KD_GNU 0
#endif
#endif

#if KD_GNU
#define KD_LIKELY(x) __builtin_expect(!!(x), 1)
#define KD_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define KD_UNUSED __attribute__((unused))
#define KD_INLINE static inline __attribute__((always_inline, unused))
#define KD_COLD static __attribute__((noinline, cold, unused))
#define KD_INLINED inline __attribute__((always_inline)) /* inline within its file; others can link it too */
#else
#define KD_LIKELY(x) (x)
#define KD_UNLIKELY(x) (x)
#define KD_UNUSED
#define KD_INLINE static inline
#define KD_COLD static
#define KD_INLINED
#endif

/* ------------------------------------------------------------------ statuses */

/* Why a kernel stopped. The first four are not errors. */
enum {
  KD_OK = 0,
  KD_END = 1,        /* the bytes end at the end of a unit */
  KD_FULL = 2,       /* the wanted number of rows or bytes */
  KD_COMPRESSED = 3, /* the next unit's content is compressed: decompress it, then read its rows */
  KD_TRUNCATED = 4,  /* the bytes end before the field does */
  KD_VALUE = 5,      /* a value that the schema does not allow */
  KD_VARINT = 6,     /* a varint longer than its type */
  KD_LENGTH = 7,     /* a length that differs from the fields it covers */
  KD_COUNT = 8,      /* a count that is not that of the elements */
  KD_CHECKSUM = 9,   /* the stored checksum is not that of the bytes */
  KD_LIMIT = 10,     /* more elements or bytes than allowed */
  KD_OVERFLOW = 11,  /* a computed value that does not fit 64 bits, or its column's type */
  KD_NULL = 12,      /* a null that the format does not allow (writing) */
  KD_MEMORY = 13,    /* no memory */
  KD_HIDDEN = 14     /* no error: the next unit's rows are not for users, and it was to stop there */
};

/* ------------------------------------------------------------------ loads and stores */

KD_INLINE uint8_t kd_load_u1(const uint8_t *p) { return p[0]; }
KD_INLINE uint16_t kd_load_u2be(const uint8_t *p) { return (uint16_t)((unsigned)p[0] << 8 | p[1]); }
KD_INLINE uint16_t kd_load_u2le(const uint8_t *p) { return (uint16_t)((unsigned)p[1] << 8 | p[0]); }
KD_INLINE uint32_t kd_load_u4be(const uint8_t *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
KD_INLINE uint32_t kd_load_u4le(const uint8_t *p) {
  return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}
KD_INLINE uint64_t kd_load_u8be(const uint8_t *p) {
  return (uint64_t)kd_load_u4be(p) << 32 | kd_load_u4be(p + 4);
}
KD_INLINE uint64_t kd_load_u8le(const uint8_t *p) {
  return (uint64_t)kd_load_u4le(p + 4) << 32 | kd_load_u4le(p);
}
/* Bit fields fill whole bytes, most significant first, up to eight of them. */
KD_INLINE uint64_t kd_load_bits(const uint8_t *p, int size) {
  uint64_t value = 0;
  for (int i = 0; i < size; i++) value = value << 8 | p[i];
  return value;
}
KD_INLINE float kd_float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
KD_INLINE double kd_double_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, 8);
  return value;
}
KD_INLINE uint32_t kd_bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}
KD_INLINE uint64_t kd_bits_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, 8);
  return bits;
}
KD_INLINE void kd_store_be(uint8_t *p, uint64_t value, int size) {
  for (int i = size - 1; i >= 0; i--, value >>= 8) p[i] = (uint8_t)value;
}
KD_INLINE void kd_store_le(uint8_t *p, uint64_t value, int size) {
  for (int i = 0; i < size; i++, value >>= 8) p[i] = (uint8_t)value;
}

/* ------------------------------------------------------------------ numbers that may not fit */

/* Each sets `*wrong` if the result does not fit 64 bits; callers check it once for several. */
#if KD_GNU
KD_INLINE int64_t kd_add(int64_t a, int64_t b, int *wrong) {
  int64_t out;
  *wrong |= __builtin_add_overflow(a, b, &out);
  return out;
}
KD_INLINE int64_t kd_sub(int64_t a, int64_t b, int *wrong) {
  int64_t out;
  *wrong |= __builtin_sub_overflow(a, b, &out);
  return out;
}
KD_INLINE int64_t kd_mul(int64_t a, int64_t b, int *wrong) {
  int64_t out;
  *wrong |= __builtin_mul_overflow(a, b, &out);
  return out;
}
#else
KD_INLINE int64_t kd_add(int64_t a, int64_t b, int *wrong) {
  int64_t out = (int64_t)((uint64_t)a + (uint64_t)b);
  *wrong |= ((a ^ out) & (b ^ out)) < 0;
  return out;
}
KD_INLINE int64_t kd_sub(int64_t a, int64_t b, int *wrong) {
  int64_t out = (int64_t)((uint64_t)a - (uint64_t)b);
  *wrong |= ((a ^ b) & (a ^ out)) < 0;
  return out;
}
KD_INLINE int64_t kd_mul(int64_t a, int64_t b, int *wrong) {
  int64_t out = (int64_t)((uint64_t)a * (uint64_t)b);
  *wrong |= (a == -1 && b == INT64_MIN) || (b == -1 && a == INT64_MIN) ||
            (a != 0 && !(a == -1 && out == INT64_MIN) && out / a != b);
  return out;
}
#endif
/* Division and remainder as in Kaitai: towards minus infinity. */
KD_INLINE int64_t kd_div(int64_t a, int64_t b, int *wrong) {
  if (b == 0 || (b == -1 && a == INT64_MIN)) {
    *wrong = 1;
    return 0;
  }
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
KD_INLINE int64_t kd_mod(int64_t a, int64_t b, int *wrong) {
  if (b == 0 || b == -1) {
    *wrong |= b == 0;
    return 0;
  }
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
KD_INLINE int64_t kd_shift_left(int64_t a, int64_t b, int *wrong) {
  if (b < 0 || b > 62) {
    *wrong = 1;
    return 0;
  }
  return kd_mul(a, (int64_t)1 << b, wrong);
}
KD_INLINE int64_t kd_shift_right(int64_t a, int64_t b, int *wrong) {
  if (b < 0) {
    *wrong = 1;
    return 0;
  }
  return b > 63 ? (a < 0 ? -1 : 0) : a >> b;
}
/* An unsigned 64-bit field in an expression. */
KD_INLINE int64_t kd_signed(uint64_t value, int *wrong) {
  *wrong |= value > INT64_MAX;
  return (int64_t)value;
}

/* ------------------------------------------------------------------ varints */

/* Groups of 7 bits, least significant first; of the last group only the bits that fit count, and it must
 * not ask for another. Source: org.apache.kafka.common.utils.ByteUtils. */
KD_COLD int kd_uvarint_slow(const uint8_t **pos, const uint8_t *end, int most, uint64_t *out) {
  const uint8_t *p = *pos;
  uint64_t value = 0;
  for (int i = 0; i < most; i++) {
    if (p + i >= end) return KD_TRUNCATED;
    value |= (uint64_t)(p[i] & 0x7F) << (7 * i);
    if (p[i] < 0x80) {
      *out = value;
      *pos = p + i + 1;
      return KD_OK;
    }
  }
  return KD_VARINT;
}
KD_INLINE int kd_uvarint(const uint8_t **pos, const uint8_t *end, int most, uint64_t *out) {
  const uint8_t *p = *pos;
  if (KD_LIKELY(p < end && p[0] < 0x80)) {
    *out = p[0];
    *pos = p + 1;
    return KD_OK;
  }
  if (KD_LIKELY(end - p >= 2 && p[1] < 0x80)) {
    *out = (uint64_t)(p[0] & 0x7F) | (uint64_t)p[1] << 7;
    *pos = p + 2;
    return KD_OK;
  }
  return kd_uvarint_slow(pos, end, most, out);
}
KD_INLINE int kd_read_uvarint32(const uint8_t **pos, const uint8_t *end, int64_t *out) {
  uint64_t raw;
  int status = kd_uvarint(pos, end, 5, &raw);
  if (KD_LIKELY(status == KD_OK)) *out = (int64_t)(uint32_t)raw;
  return status;
}
KD_INLINE int kd_read_zigzag32(const uint8_t **pos, const uint8_t *end, int64_t *out) {
  uint64_t raw;
  int status = kd_uvarint(pos, end, 5, &raw);
  if (KD_LIKELY(status == KD_OK)) {
    /* mostly lengths, of which the next field's place depends: a branch that is foreseen is faster than arithmetic */
    uint32_t low = (uint32_t)raw;
    *out = KD_LIKELY(!(low & 1)) ? (int64_t)(low >> 1) : -1 - (int64_t)(low >> 1);
  }
  return status;
}
KD_INLINE int kd_read_zigzag64(const uint8_t **pos, const uint8_t *end, int64_t *out) {
  uint64_t raw;
  int status = kd_uvarint(pos, end, 10, &raw);
  if (KD_LIKELY(status == KD_OK)) *out = (int64_t)(raw >> 1 ^ (0U - (raw & 1)));
  return status;
}
KD_INLINE uint64_t kd_zigzag(int64_t value) { return (uint64_t)value << 1 ^ (uint64_t)(value >> 63); }
/* Of one byte or of two without a branch: where lengths lie around that bound, it could not be foreseen. */
KD_INLINE size_t kd_size_uvarint(uint64_t value) {
  if (KD_LIKELY(value < 0x4000)) return 1 + (size_t)(value >= 0x80);
#if KD_GNU
  return (size_t)(70 - __builtin_clzll(value | 1)) / 7;
#else
  size_t size = 1;
  while (value >= 0x80) value >>= 7, size++;
  return size;
#endif
}
/* There is room for two bytes, whatever the value. */
KD_INLINE uint8_t *kd_write_uvarint(uint8_t *p, uint64_t value) {
  if (KD_LIKELY(value < 0x4000)) {
    const size_t more = value >= 0x80;
    p[0] = (uint8_t)(value | more << 7);
    p[1] = (uint8_t)(value >> 7);
    return p + 1 + more;
  }
  while (value >= 0x80) {
    *p++ = (uint8_t)(value | 0x80);
    value >>= 7;
  }
  *p++ = (uint8_t)value;
  return p;
}

#endif
