/* Compressed data: own implementations of LZ4 and snappy, as Kafka frames them; gzip and zstd through zlib and libzstd.
 *
 * Source: lz4_Block_format.md, lz4_Frame_format.md, snappy's format_description.txt, xxHash's specification; for the
 * framing org.apache.kafka.common.compress and org.xerial.snappy. */
#include "kodec_codecs.h"

#include <stdio.h>

#include "kodec_generated.h"

#ifdef KODEC_WITH_ZLIB
#include <zlib.h>
#endif
#ifdef KODEC_WITH_ZSTD
#include <zstd.h>
#endif

/* What a codec works on: an input, an output that grows to a limit, and the place for an error. */
typedef struct {
  const char *codec;
  kodec_bytes data;
  size_t limit; /* the most that `out` may have */
  kodec_buffer *out;
  kodec_error *error;
} task;

static kodec_code stop(const task *t, kodec_code code, size_t at, const char *reason) {
  char text[96];
  snprintf(text, sizeof text, "%s: %s", t->codec, reason);
  return kd_stop(t->error, code, "", text, at, "", "");
}
static kodec_code over_limit(const task *t) {
  return stop(t, KODEC_LIMIT_EXCEEDED, 0, "too many decompressed bytes");
}
/* Make room at the end; `out->room` is the room that there is. */
static kodec_code grow(const task *t, size_t more) {
  const size_t size = t->out->size;
  kd_writer w = {t->out, t->error};
  if (t->out->room - size >= more) return KODEC_OK;
  if (kd_extend(&w, more) == NULL) return t->error->code;
  t->out->size = size;
  return KODEC_OK;
}

/* ------------------------------------------------------------------ blocks of LZ4 and snappy, written */

enum {
  HASH_BITS = 12,
  LZ4_BLOCK = 64 << 10,
  SNAPPY_BLOCK = 32 << 10,
  LAST_LITERALS = 5,
  NO_MATCH_BEFORE_END = 12
};

static uint8_t *put_length(uint8_t *to, size_t rest) {
  for (; rest >= 255; rest -= 255) *to++ = 255;
  *to++ = (uint8_t)rest;
  return to;
}
/* Literals and then a match; without one at the end. */
static uint8_t *put_lz4(uint8_t *to, const uint8_t *from, size_t run, size_t offset, size_t match) {
  const size_t more = match != 0 ? match - 4 : 0;
  *to++ = (uint8_t)((run < 15 ? run : 15) << 4 | (more < 15 ? more : 15));
  if (run >= 15) to = put_length(to, run - 15);
  memcpy(to, from, run);
  to += run;
  if (match == 0) return to;
  kd_store_le(to, offset, 2);
  to += 2;
  return more >= 15 ? put_length(to, more - 15) : to;
}
static uint8_t *put_snappy(uint8_t *to, const uint8_t *from, size_t run, size_t offset, size_t match) {
  if (run > 0) {
    if (run <= 60) {
      *to++ = (uint8_t)((run - 1) << 2);
    } else {
      *to++ = 61 << 2;
      kd_store_le(to, run - 1, 2);
      to += 2;
    }
    memcpy(to, from, run);
    to += run;
  }
  while (match > 0) {
    const size_t size = match < 64 ? match : 64;
    *to++ = (uint8_t)((size - 1) << 2 | 2);
    kd_store_le(to, offset, 2);
    to += 2;
    match -= size;
  }
  return to;
}
static size_t hash_of(const uint8_t *p) { return kd_load_u4le(p) * 2654435761U >> (32 - HASH_BITS); }

/* Compress at most 64 KiB, with matches at the last position where four bytes had the same hash. Returns the end of the
 * output. */
static uint8_t *put_block(uint8_t *to, const uint8_t *from, size_t size,
                          uint8_t *(*put)(uint8_t *, const uint8_t *, size_t, size_t, size_t)) {
  uint16_t seen[1 << HASH_BITS] = {0};
  size_t literals = 0, at = 1;
  while (at + NO_MATCH_BEFORE_END < size) {
    const size_t hash = hash_of(from + at), before = seen[hash];
    seen[hash] = (uint16_t)at;
    if (kd_load_u4le(from + before) != kd_load_u4le(from + at)) {
      at += 1 + ((at - literals) >> 6); /* data without repetitions is skipped in growing steps */
      continue;
    }
    size_t match = 4;
    while (at + match < size - LAST_LITERALS && from[before + match] == from[at + match]) match++;
    to = put(to, from + literals, at - literals, at - before, match);
    at += match;
    literals = at;
  }
  return put(to, from + literals, size - literals, 0, 0);
}
static size_t most_of_block(size_t size) { return size + size / 6 + 32; }

/* ------------------------------------------------------------------ LZ4 frames */

enum {
  INDEPENDENT = 32,
  BLOCK_CHECKSUM = 16,
  CONTENT_SIZE = 8,
  CONTENT_CHECKSUM = 4,
  RESERVED = 2,
  DICTIONARY = 1
};

static uint32_t turned(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

/* xxHash32, seed 0. */
static uint32_t xxhash32(const uint8_t *p, size_t size) {
  const uint32_t prime[5] = {0x9E3779B1U, 0x85EBCA77U, 0xC2B2AE3DU, 0x27D4EB2FU, 0x165667B1U};
  const uint32_t length = (uint32_t)size;
  uint32_t value = prime[4];
  if (size >= 16) {
    uint32_t lane[4] = {prime[0] + prime[1], prime[1], 0, 0U - prime[0]};
    for (; size >= 16; size -= 16, p += 16)
      for (int i = 0; i < 4; i++)
        lane[i] = turned(lane[i] + kd_load_u4le(p + 4 * i) * prime[1], 13) * prime[0];
    value = turned(lane[0], 1) + turned(lane[1], 7) + turned(lane[2], 12) + turned(lane[3], 18);
  }
  value += length;
  for (; size >= 4; size -= 4, p += 4) value = turned(value + kd_load_u4le(p) * prime[2], 17) * prime[3];
  for (; size > 0; size--, p++) value = turned(value + *p * prime[4], 11) * prime[0];
  value = (value ^ value >> 15) * prime[1];
  value = (value ^ value >> 13) * prime[2];
  return value ^ value >> 16;
}

/* The first frame, of independent blocks; bytes after it are ignored. The content's size and checksum are not verified.
 * `checked`: whether to verify the header checksum, which is wrong in messages of magic 0. */
static kodec_code unpack_lz4(const task *t, bool checked) {
  const uint8_t *const p = t->data.data;
  const size_t size = t->data.size;
  if (size >= 4 && kd_load_u4le(p) != 0x184D2204U) return stop(t, KODEC_MALFORMED, 0, "not an LZ4 frame");
  if (size < 7) return stop(t, KODEC_TRUNCATED, 0, "frame header");
  const unsigned flags = p[4], descriptor = p[5];
  if (flags >> 6 != 1) return stop(t, KODEC_UNSUPPORTED, 4, "frame version");
  if (!(flags & INDEPENDENT)) return stop(t, KODEC_UNSUPPORTED, 4, "blocks that depend on each other");
  if (flags & DICTIONARY) return stop(t, KODEC_UNSUPPORTED, 4, "a dictionary");
  if (flags & RESERVED || descriptor & 0x8F)
    return stop(t, KODEC_MALFORMED, 4, "reserved bits in the frame header");
  if (descriptor >> 4 < 4) return stop(t, KODEC_MALFORMED, 5, "block size code");
  const size_t most = (size_t)1 << (8 + 2 * (descriptor >> 4)), end = flags & CONTENT_SIZE ? 14 : 6;
  if (size <= end) return stop(t, KODEC_TRUNCATED, 0, "frame header");
  if (checked && p[end] != (xxhash32(p + 4, end - 4) >> 8 & 0xFF))
    return stop(t, KODEC_MALFORMED, end, "frame header checksum");
  for (size_t at = end + 1;;) {
    if (size - at < 4) return stop(t, KODEC_TRUNCATED, at, "no end mark");
    const uint32_t word = kd_load_u4le(p + at), length = word & 0x7FFFFFFFU;
    const size_t behind = flags & BLOCK_CHECKSUM ? 4 : 0, start = at + 4;
    if (length == 0) {
      if (flags & CONTENT_CHECKSUM && size - start < 4)
        return stop(t, KODEC_TRUNCATED, start, "content checksum");
      return KODEC_OK;
    }
    if (length > most) return stop(t, KODEC_MALFORMED, at, "block size");
    if (size - start < length + behind) return stop(t, KODEC_TRUNCATED, start, "block");
    if (behind != 0 && xxhash32(p + start, length) != kd_load_u4le(p + start + length))
      return stop(t, KODEC_MALFORMED, at, "block checksum");
    size_t made = length, room = word >> 31 ? length : length > most / 255 ? most : (size_t)length * 255;
    const kodec_code code = grow(t, room + KD_SLACK);
    if (code != KODEC_OK) return code;
    if (word >> 31) {
      memcpy(t->out->data + t->out->size, p + start, length);
    } else if (!kd_lz4_block(p + start, length, t->out->data + t->out->size, room, &made)) {
      return stop(t, KODEC_MALFORMED, start, "block");
    }
    if (made > t->limit - t->out->size) return over_limit(t);
    t->out->size += made;
    at = start + length + behind;
  }
}

/* Independent blocks of 64 KiB without sizes or checksums, as Java clients write them. */
static kodec_code pack_lz4(const task *t, bool legacy) {
  kd_writer w = {t->out, t->error};
  uint8_t head[7] = {0x04, 0x22, 0x4D, 0x18, 0x40 | INDEPENDENT, 0x40, 0};
  head[6] = (uint8_t)(legacy ? xxhash32(head, 6) >> 8 : xxhash32(head + 4, 2) >> 8);
  kodec_code code = kd_put(&w, head, sizeof head);
  for (size_t at = 0; code == KODEC_OK && at < t->data.size; at += LZ4_BLOCK) {
    const uint8_t *const from = t->data.data + at;
    const size_t size = t->data.size - at < LZ4_BLOCK ? t->data.size - at : LZ4_BLOCK;
    code = grow(t, 4 + most_of_block(size));
    if (code != KODEC_OK) return code;
    uint8_t *const to = t->out->data + t->out->size;
    size_t made = (size_t)(put_block(to + 4, from, size, put_lz4) - to - 4);
    const bool stored = made >= size;
    if (stored) {
      memcpy(to + 4, from, size);
      made = size;
    }
    kd_store_le(to, made | (stored ? 0x80000000U : 0), 4);
    t->out->size += 4 + made;
  }
  static const uint8_t end_mark[4];
  return code != KODEC_OK ? code : kd_put(&w, end_mark, sizeof end_mark);
}

/* ------------------------------------------------------------------ snappy */

static const uint8_t xerial[16] = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1};

static kodec_code unpack_snappy_block(const task *t, size_t at, size_t end) {
  const uint8_t *p = t->data.data + at;
  const uint8_t *const last = t->data.data + end;
  uint64_t size;
  if (kd_uvarint(&p, last, 5, &size) != KD_OK)
    return stop(t, KODEC_MALFORMED, at, "no size in front of the block");
  size = (uint32_t)size;
  if (size > t->limit - t->out->size) return over_limit(t);
  /* three bytes decompress to at most 64 */
  if (size > (uint64_t)(end - at) * 22) return stop(t, KODEC_MALFORMED, at, "size in front of the block");
  const kodec_code code = grow(t, (size_t)size + KD_SLACK);
  if (code != KODEC_OK) return code;
  if (!kd_snappy_block(p, last, t->out->data + t->out->size, (size_t)size))
    return stop(t, KODEC_MALFORMED, at, "block");
  t->out->size += (size_t)size;
  return KODEC_OK;
}

/* Chunks as snappy-java frames them, with repeated headers; otherwise one raw block. */
static kodec_code unpack_snappy(const task *t) {
  const uint8_t *const p = t->data.data;
  const size_t size = t->data.size;
  if (size < sizeof xerial || memcmp(p, xerial, 8) != 0) {
    if (size >= 10 && memcmp(p, "\xff\x06\0\0sNaPpY", 10) == 0)
      return stop(t, KODEC_UNSUPPORTED, 0, "the official framing format");
    return unpack_snappy_block(t, 0, size);
  }
  for (size_t at = sizeof xerial; size - at >= 4;) {
    if (memcmp(p + at, xerial, 4) == 0) {
      if (size - at < sizeof xerial) return stop(t, KODEC_TRUNCATED, at, "repeated header");
      if (memcmp(p + at, xerial, 8) != 0)
        return stop(t, KODEC_MALFORMED, at, "repeated header with a wrong magic");
      if ((int32_t)kd_load_u4be(p + at + 8) < 1)
        return stop(t, KODEC_UNSUPPORTED, at, "version of a repeated header");
      at += sizeof xerial;
      continue;
    }
    const uint32_t length = kd_load_u4be(p + at);
    if (length > INT32_MAX) return stop(t, KODEC_MALFORMED, at, "negative chunk length");
    at += 4;
    if (size - at < length) return stop(t, KODEC_TRUNCATED, at, "chunk");
    const kodec_code code = unpack_snappy_block(t, at, at + length);
    if (code != KODEC_OK) return code;
    at += length;
  }
  return KODEC_OK;
}

static kodec_code pack_snappy(const task *t) {
  kd_writer w = {t->out, t->error};
  kodec_code code = kd_put(&w, xerial, sizeof xerial);
  for (size_t at = 0; code == KODEC_OK && at < t->data.size; at += SNAPPY_BLOCK) {
    const size_t size = t->data.size - at < SNAPPY_BLOCK ? t->data.size - at : SNAPPY_BLOCK;
    code = grow(t, 9 + most_of_block(size));
    if (code != KODEC_OK) break;
    uint8_t *const to = t->out->data + t->out->size;
    uint8_t *const end = put_block(kd_write_uvarint(to + 4, size), t->data.data + at, size, put_snappy);
    kd_store_be(to, (uint64_t)(end - to - 4), 4);
    t->out->size += (size_t)(end - to);
  }
  return code;
}

/* ------------------------------------------------------------------ gzip */

#ifdef KODEC_WITH_ZLIB
enum { GZIP_WINDOW = 31 };

/* All members; bytes after them that are not the whole header of a member are ignored, as in Java. */
static kodec_code unpack_gzip(const task *t) {
  z_stream z = {0};
  gz_header head = {.done = 1};
  size_t at = 0;
  kodec_code code = KODEC_OK;
  if (inflateInit2(&z, GZIP_WINDOW) != Z_OK) return stop(t, KODEC_LIMIT_EXCEEDED, 0, "no memory");
  for (int status = Z_OK; code == KODEC_OK;) {
    const size_t left = t->data.size - at;
    if (status == Z_STREAM_END) {
      const bool more = left >= 10 && memcmp(t->data.data + at, "\x1f\x8b\x08", 3) == 0;
      if (!more || inflateReset(&z) != Z_OK || inflateGetHeader(&z, &head) != Z_OK) break;
    }
    code = grow(t, left < 1024 ? 4096 : 1 << 16);
    if (code != KODEC_OK) break;
    size_t room = t->out->room - t->out->size;
    /* one byte above the limit shows that there is too much */
    if (room > t->limit - t->out->size + 1) room = t->limit - t->out->size + 1;
    if (room > UINT_MAX / 2) room = UINT_MAX / 2;
    const uInt given = left < UINT_MAX / 2 ? (uInt)left : UINT_MAX / 2;
    z.next_in = (z_const Bytef *)(uintptr_t)(t->data.data + at);
    z.avail_in = given;
    z.next_out = t->out->data + t->out->size;
    z.avail_out = (uInt)room;
    status = inflate(&z, Z_NO_FLUSH);
    at += given - z.avail_in;
    t->out->size += room - z.avail_out;
    if (t->out->size > t->limit) {
      code = over_limit(t);
    } else if (head.done != 1 && (status == Z_DATA_ERROR || at == t->data.size)) {
      break;
    } else if (status == Z_BUF_ERROR || (status == Z_OK && at == t->data.size && z.avail_out != 0)) {
      code = stop(t, KODEC_TRUNCATED, at, "the data ends early");
    } else if (status != Z_OK && status != Z_STREAM_END) {
      code = stop(t, KODEC_MALFORMED, at, z.msg != NULL ? z.msg : "not gzip");
    }
  }
  inflateEnd(&z);
  return code;
}

static kodec_code pack_gzip(const task *t) {
  z_stream z = {0};
  if (t->data.size > UINT_MAX / 2) return stop(t, KODEC_LIMIT_EXCEEDED, 0, "too much data for zlib");
  if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return stop(t, KODEC_LIMIT_EXCEEDED, 0, "no memory");
  const size_t room = deflateBound(&z, (uLong)t->data.size);
  kodec_code code = grow(t, room);
  if (code == KODEC_OK) {
    z.next_in = (z_const Bytef *)(uintptr_t)t->data.data;
    z.avail_in = (uInt)t->data.size;
    z.next_out = t->out->data + t->out->size;
    z.avail_out = (uInt)room;
    if (deflate(&z, Z_FINISH) == Z_STREAM_END) {
      t->out->size += room - z.avail_out;
    } else {
      code = stop(t, KODEC_NOT_ENCODABLE, 0, "zlib failed");
    }
  }
  deflateEnd(&z);
  return code;
}
#endif

/* ------------------------------------------------------------------ zstd */

#ifdef KODEC_WITH_ZSTD
/* All frames; the window is bounded by the library. */
static kodec_code unpack_zstd(const task *t) {
  ZSTD_DCtx *const context = ZSTD_createDCtx();
  if (context == NULL) return stop(t, KODEC_LIMIT_EXCEEDED, 0, "no memory");
  ZSTD_inBuffer in = {t->data.data, t->data.size, 0};
  kodec_code code = KODEC_OK;
  size_t left = 1;
  while (code == KODEC_OK && (in.pos < in.size || left != 0)) {
    code = grow(t, in.size < 1024 ? 4096 : ZSTD_DStreamOutSize());
    if (code != KODEC_OK) break;
    size_t room = t->out->room;
    if (room > t->limit + 1) room = t->limit + 1;
    ZSTD_outBuffer out = {t->out->data, room, t->out->size};
    const size_t before = in.pos;
    left = ZSTD_decompressStream(context, &out, &in);
    const bool full = out.pos == out.size, moved = in.pos != before || out.pos != t->out->size;
    t->out->size = out.pos;
    if (ZSTD_isError(left)) {
      code = stop(t, KODEC_MALFORMED, in.pos, ZSTD_getErrorName(left));
    } else if (out.pos > t->limit) {
      code = over_limit(t);
    } else if (left != 0 && in.pos == in.size && !full && !moved) {
      code = stop(t, KODEC_TRUNCATED, in.pos, "the data ends early");
    }
  }
  ZSTD_freeDCtx(context);
  return code;
}

/* One frame without a content size, as Java clients write it. */
static kodec_code pack_zstd(const task *t) {
  ZSTD_CCtx *const context = ZSTD_createCCtx();
  if (context == NULL) return stop(t, KODEC_LIMIT_EXCEEDED, 0, "no memory");
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  const size_t room = ZSTD_compressBound(t->data.size);
  kodec_code code = grow(t, room);
  if (code == KODEC_OK) {
    const size_t made =
        ZSTD_compress2(context, t->out->data + t->out->size, room, t->data.data, t->data.size);
    if (ZSTD_isError(made)) {
      code = stop(t, KODEC_NOT_ENCODABLE, 0, ZSTD_getErrorName(made));
    } else {
      t->out->size += made;
    }
  }
  ZSTD_freeCCtx(context);
  return code;
}
#endif

/* ------------------------------------------------------------------ both ways */

kodec_code kodec_decompress(const char *codec, kodec_bytes data, size_t limit, kodec_buffer *out,
                            kodec_error *error) {
  if (limit > SIZE_MAX / 4 - out->size) limit = SIZE_MAX / 4 - out->size;
  if (data.data == NULL) data = (kodec_bytes){kodec_empty, 0};
  const task t = {codec, data, out->size + limit, out, error};
  if (data.size == 0) return stop(&t, KODEC_TRUNCATED, 0, "the payload is empty");
  if (strcmp(codec, "lz4") == 0) return unpack_lz4(&t, true);
  if (strcmp(codec, "lz4_legacy") == 0) return unpack_lz4(&t, false);
  if (strcmp(codec, "snappy") == 0) return unpack_snappy(&t);
#ifdef KODEC_WITH_ZLIB
  if (strcmp(codec, "gzip") == 0) return unpack_gzip(&t);
#endif
#ifdef KODEC_WITH_ZSTD
  if (strcmp(codec, "zstd") == 0) return unpack_zstd(&t);
#endif
  return stop(&t, KODEC_UNSUPPORTED, 0, "this build does not have it");
}

kodec_code kodec_compress(const char *codec, kodec_bytes data, kodec_buffer *out, kodec_error *error) {
  if (data.data == NULL) data = (kodec_bytes){kodec_empty, 0};
  const task t = {codec, data, SIZE_MAX, out, error};
  if (strcmp(codec, "lz4") == 0) return pack_lz4(&t, false);
  if (strcmp(codec, "lz4_legacy") == 0) return pack_lz4(&t, true);
  if (strcmp(codec, "snappy") == 0) return pack_snappy(&t);
#ifdef KODEC_WITH_ZLIB
  if (strcmp(codec, "gzip") == 0) return pack_gzip(&t);
#endif
#ifdef KODEC_WITH_ZSTD
  if (strcmp(codec, "zstd") == 0) return pack_zstd(&t);
#endif
  return stop(&t, KODEC_NOT_ENCODABLE, 0, "this build does not have it");
}

/* ------------------------------------------------------------------ fields */

kodec_code kd_unpack(kd_reader *r, const char *name, const char *codec, kodec_bytes stored, size_t at,
                     kd_reader *inner) {
  *inner = *r;
  inner->pos = 0;
  inner->buf = stored.data;
  inner->end = stored.size;
  if (strcmp(codec, "none") == 0) return KODEC_OK;
  if (r->compressed) {
    char reason[64];
    snprintf(reason, sizeof reason, "%s data inside compressed data", codec);
    return kd_stop(r->error, KODEC_MALFORMED, name, reason, at, "", "");
  }
  kodec_buffer content = {0};
  const kodec_code code = kodec_decompress(codec, stored, r->opt.most_decompressed - r->unpacked, &content, r->error);
  if (code != KODEC_OK) {
    kodec_buffer_free(&content);
    r->error->at = at;
    return kd_within(r->error, code, name);
  }
  inner->compressed = true;
  inner->unpacked = r->unpacked + content.size;
  inner->end = content.size;
  inner->buf = content.data != NULL ? content.data : kodec_empty;
  if (content.data != NULL && !kd_adopt(r->arena, &content)) {
    kodec_buffer_free(&content);
    return kd_stop(r->error, KODEC_LIMIT_EXCEEDED, name, "more memory than there may be", at, "",
                   kd_show_uint(r->arena->limit).text);
  }
  return KODEC_OK;
}

kodec_code kd_outside(kd_reader *r, kodec_code code, const char *name, const char *codec, size_t at) {
  if (strcmp(codec, "none") == 0) {
    r->error->at += at;
  } else {
    if (r->error->inside == NULL) {
      r->error->inside = codec;
      r->error->at_inside = r->error->at;
    }
    r->error->at = at;
  }
  return kd_within(r->error, code, name);
}

kodec_code kd_pack(kd_writer *w, const char *name, const char *codec, kd_part *part) {
  if (strcmp(codec, "none") == 0) return KODEC_OK;
  /* the compressed bytes are in the growing buffer */
  kodec_buffer made = {0};
  const kodec_bytes content = {part->size != 0 ? w->out->data + part->at : kodec_empty, part->size};
  kodec_code code = kodec_compress(codec, content, &made, w->error);
  if (code != KODEC_OK) {
    code = kd_within(w->error, code, name);
  } else {
    *part = (kd_part){w->out->size, made.size};
    code = kd_put(w, made.data, made.size);
  }
  kodec_buffer_free(&made);
  return code;
}
