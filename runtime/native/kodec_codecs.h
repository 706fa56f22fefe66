/* LZ4 and snappy as Kafka's Java producer writes them, decompressed into a buffer that is used again and again.
 *
 * Only usual and valid data: anything else is left to the codecs in Python (runtime/compression), which decompress it
 * or report the error. Each rule here may therefore be stricter than theirs. Source: lz4_Block_format.md,
 * lz4_Frame_format.md; snappy's format_description.txt; for the framing runtime/compression/lz4.py and snappy.py. */
#ifndef KODEC_CODECS_H
#define KODEC_CODECS_H

#include "kodec_core.h"

/* The length of a run cannot be predicted, so up to 32 bytes are copied without checking it. */
KD_INLINE void kd_copy_16(uint8_t *to, const uint8_t *from) { memcpy(to, from, 16); }
KD_INLINE void kd_copy_run(uint8_t *to, const uint8_t *from, size_t size) {
  kd_copy_16(to, from);
  kd_copy_16(to + 16, from + 16);
  for (size_t i = 32; i < size; i += 32) {
    kd_copy_16(to + i, from + i);
    kd_copy_16(to + i + 16, from + i + 16);
  }
}

/* Copy `size` bytes that start `offset` (less than 16) before `to`, and so overlap the output. */
KD_INLINE void kd_copy_near(uint8_t *to, size_t offset, size_t size) {
  const uint8_t *const from = to - offset;
  size_t back = offset, done = 0;
  if (offset < 8) {
    /* eight bytes of the pattern, which also repeats with a multiple of its length that is at least eight */
    for (; done < 8; done++) to[done] = from[done];
    back = offset * ((8 + offset - 1) / offset);
  }
  for (; done < size; done += 8) memcpy(to + done, to + done - back, 8);
}

/* Copy `size` bytes; `left` bytes are available. */
KD_INLINE void kd_copy_literals(uint8_t *to, const uint8_t *from, size_t size, size_t left) {
  if (KD_LIKELY(left >= size + 32)) {
    kd_copy_run(to, from, size);
  } else {
    memcpy(to, from, size);
  }
}

/* The length of a run that continues in bytes after its token; 0 if these end. */
KD_INLINE size_t kd_lz4_more(const uint8_t **pos, const uint8_t *end) {
  size_t size = 15;
  for (const uint8_t *p = *pos; p < end; p++) {
    size += *p;
    if (*p != 255) {
      *pos = p + 1;
      return size;
    }
  }
  return 0;
}

/* Decompress one block of at most `room` bytes, with KD_SLACK after `to + room`. Returns whether it is valid. */
static int kd_lz4_block(const uint8_t *p, size_t size, uint8_t *const to, size_t room, size_t *made) {
  const uint8_t *const end = p + size;
  uint8_t *at = to, *const stop = to + room, *matched = NULL;
  for (;;) {
    if (p == end) return 0;
    const unsigned token = *p++;
    size_t run = token >> 4;
    if (KD_LIKELY(run < 15 && end - p >= 18 && stop - at >= 15)) {
      kd_copy_16(at, p);
    } else {
      if (run == 15 && (run = kd_lz4_more(&p, end)) == 0) return 0;
      if (run > (size_t)(end - p) || run > (size_t)(stop - at)) return 0;
      kd_copy_literals(at, p, run, (size_t)(end - p));
    }
    at += run;
    p += run;
    if (p == end) break;
    if (end - p < 2) return 0;
    const size_t offset = kd_load_u2le(p);
    p += 2;
    /* the format also wants a last match to start twelve bytes before the end, or the library refuses it */
    if (KD_UNLIKELY(offset == 0 || offset > (size_t)(at - to) || stop - at < 12)) return 0;
    run = token & 15;
    if (run == 15 && (run = kd_lz4_more(&p, end)) == 0) return 0;
    run += 4;
    if (KD_UNLIKELY(run > (size_t)(stop - at))) return 0;
    if (KD_UNLIKELY(offset < 16)) {
      kd_copy_near(at, offset, run);
    } else {
      kd_copy_run(at, at - offset, run);
    }
    at += run;
    matched = at;
  }
  *made = (size_t)(at - to);
  /* the format requires five literals at the end; the library decides about blocks with fewer */
  return matched == NULL || at - matched >= 5;
}

/* The first frame, of independent blocks without checksums. */
static int kd_lz4(const uint8_t *p, size_t size, size_t limit, kd_buffer *out) {
  static const struct {
    uint8_t header[7];
    uint32_t block;
  } known[] = {
      {{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82}, 64 << 10},
      {{0x04, 0x22, 0x4d, 0x18, 0x60, 0x50, 0xfb}, 256 << 10},
      {{0x04, 0x22, 0x4d, 0x18, 0x60, 0x60, 0x51}, 1 << 20},
      {{0x04, 0x22, 0x4d, 0x18, 0x60, 0x70, 0x73}, 4 << 20},
  };
  const uint8_t *const end = p + size;
  uint32_t most = 0;
  if (size < 7) return 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (memcmp(p, known[i].header, 7) == 0) most = known[i].block;
  if (most == 0) return 0;
  for (p += 7;;) {
    if (end - p < 4) return 0;
    const uint32_t word = kd_load_u4le(p), length = word & 0x7fffffff;
    p += 4;
    if (length == 0) return 1;
    if (length > most || length > (size_t)(end - p)) return 0;
    size_t room = word >> 31 ? length : most / 255 < length ? most : length * 255;
    if (room > limit - out->size) room = limit - out->size;
    if (kd_reserve(out, room)) return 0;
    size_t made = length;
    if (word >> 31) {
      if (length > room) return 0;
      memcpy(out->data + out->size, p, length);
    } else if (!kd_lz4_block(p, length, out->data + out->size, room, &made)) {
      return 0;
    }
    out->size += made;
    p += length;
  }
}

/* Decompress one block to exactly `room` bytes, with KD_SLACK after `to + room`. Returns whether it is valid. */
static int kd_snappy_block(const uint8_t *p, const uint8_t *const end, uint8_t *const to, size_t room) {
  uint8_t *at = to, *const stop = to + room;
  while (p < end) {
    const unsigned tag = *p++;
    size_t run = (tag >> 2) + 1, offset;
    if ((tag & 3) == 0) {
      if (KD_UNLIKELY(run > 60)) {
        const size_t bytes = run - 60;
        if ((size_t)(end - p) < bytes) return 0;
        run = 1;
        for (size_t i = 0; i < bytes; i++) run += (size_t)*p++ << (8 * i);
      }
      if (run > (size_t)(end - p) || run > (size_t)(stop - at)) return 0;
      kd_copy_literals(at, p, run, (size_t)(end - p));
      at += run;
      p += run;
      continue;
    }
    if ((tag & 3) == 1) {
      if (p == end) return 0;
      run = (tag >> 2 & 7) + 4;
      offset = (size_t)(tag >> 5) << 8 | *p++;
    } else if ((tag & 3) == 2) {
      if (end - p < 2) return 0;
      offset = kd_load_u2le(p);
      p += 2;
    } else {
      if (end - p < 4) return 0;
      offset = kd_load_u4le(p);
      p += 4;
    }
    if (KD_UNLIKELY(offset == 0 || offset > (size_t)(at - to) || run > (size_t)(stop - at))) return 0;
    if (KD_UNLIKELY(offset < 16)) {
      kd_copy_near(at, offset, run);
    } else {
      kd_copy_run(at, at - offset, run);
    }
    at += run;
  }
  return at == stop;
}

/* Chunks after one header, as snappy-java writes them. */
static int kd_snappy(const uint8_t *p, size_t size, size_t limit, kd_buffer *out) {
  const uint8_t *const end = p + size;
  if (size < 16 || memcmp(p, "\x82SNAPPY", 8) != 0) return 0;
  for (p += 16; end - p >= 4;) {
    const uint32_t length = kd_load_u4be(p);
    uint64_t room;
    p += 4;
    if (length > (size_t)(end - p)) return 0; /* or another header */
    const uint8_t *const stop = p + length;
    if (kd_uvarint(&p, stop, 5, &room) || room > (uint64_t)length * 22 || room > limit - out->size) return 0;
    if (kd_reserve(out, (size_t)room)) return 0;
    if (!kd_snappy_block(p, stop, out->data + out->size, (size_t)room)) return 0;
    out->size += (size_t)room;
    p = stop;
  }
  return 1;
}

/* Decompress `data` into `out`, at most `limit` bytes. Returns whether this was possible. `out` grows to at most twice
 * the decompressed size, if the codec has sizes. */
KD_UNUSED static int kd_decompress(const char *codec, const uint8_t *data, size_t size, size_t limit, kd_buffer *out) {
  out->size = 0;
  if (strcmp(codec, "lz4") == 0) return kd_lz4(data, size, limit, out);
  if (strcmp(codec, "snappy") == 0) return kd_snappy(data, size, limit, out);
  return 0;
}

#endif
