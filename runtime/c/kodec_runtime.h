/* What every type of the library has in common: errors, memory, options, and the values that C has no type
 * for. */
#ifndef KODEC_RUNTIME_H
#define KODEC_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ errors */

/* Kinds of errors of bytes, or of values to write. */
typedef enum {
  KODEC_OK = 0,
  KODEC_TRUNCATED,
  KODEC_MALFORMED,
  KODEC_BAD_CHECKSUM,
  KODEC_UNSUPPORTED,
  KODEC_LIMIT_EXCEEDED,
  KODEC_NOT_ENCODABLE
} kodec_code;

/* The word for a code, the same in every language: `truncated`, `bad_checksum`, ... */
const char *kodec_code_name(kodec_code code);

/* An error: its kind, field and byte, what was needed and what was found. */
typedef struct {
  kodec_code code;
  char path[512];  /* `records[3].value`; empty for the whole value; truncated if it is longer */
  char reason[96]; /* a phrase for people; may be empty */
  size_t
      at; /* bytes from the start of the input; if `inside` is set, the start of the compressed bytes */
  char need[96]; /* empty if there is none */
  char have[96];
  const char *inside; /* the codec in whose decompressed bytes the field is, at `at_inside`; or NULL */
  size_t at_inside;
} kodec_error;

/* An error as one line, truncated to `size`. Returns `text`. */
char *kodec_error_text(const kodec_error *error, char *text, size_t size);

/* ------------------------------------------------------------------ memory */

/* Memory for the results of readers. It is released as a whole, with everything in it. */
typedef struct {
  struct kodec_block *blocks;
  size_t used;  /* bytes, including overhead */
  size_t limit; /* the most; reading more is `limit_exceeded` */
} kodec_arena;

/* An empty arena; with a limit of 0 it is 1 GiB. */
void kodec_arena_init(kodec_arena *arena, size_t limit);
/* Release all but the largest block, which is used again. */
void kodec_arena_reset(kodec_arena *arena);
void kodec_arena_free(kodec_arena *arena);
/* Zeroed memory; NULL beyond the limit or if there is none. */
void *kodec_arena_alloc(kodec_arena *arena, size_t size);

/* Bytes that grow; {0} is an empty one. */
typedef struct {
  uint8_t *data;
  size_t size;
  size_t room;
} kodec_buffer;

void kodec_buffer_free(kodec_buffer *buffer);

/* ------------------------------------------------------------------ values */

/* Bytes or text, without a terminating 0; `data` is NULL for null. Readers return parts of their input. */
typedef struct {
  const uint8_t *data;
  size_t size;
} kodec_bytes;

/* An empty text or list, which is not null, points here. */
extern uint8_t kodec_empty[];

/* The bytes of a C string; null of NULL. */
kodec_bytes kodec_text(const char *text);

/* 16 bytes, the most significant first. */
typedef struct {
  uint8_t bytes[16];
} kodec_uuid;

/* A field of a tagged section that the schema does not know. */
typedef struct {
  uint32_t number;
  kodec_bytes data;
} kodec_tag;

typedef struct {
  kodec_tag *items;
  size_t count;
} kodec_tags;

/* ------------------------------------------------------------------ reading */

/* How strict a reader is, and how much it may allocate; NULL and {0} are the defaults. */
typedef struct {
  bool ignore_checksums;
  bool ignore_derived;      /* the largest or last element of a list differs from the field derived from it */
  size_t most_elements;     /* of one list; 4,000,000 by default */
  size_t most_decompressed; /* bytes of all compressed fields of an input together; 256 MiB by default */
  unsigned most_depth;      /* how deep values may nest; 100 by default */
} kodec_options;

/* CRC-32C (Castagnoli), and CRC-32 as in zlib. */
uint32_t kodec_crc32c(const uint8_t *data, size_t size);
uint32_t kodec_crc32(const uint8_t *data, size_t size);

/* Append at most `limit` decompressed bytes to `out`; the codecs are gzip, snappy, lz4, lz4_legacy and zstd, if their
 * libraries were available when this one was built. */
kodec_code kodec_decompress(const char *codec, kodec_bytes data, size_t limit, kodec_buffer *out,
                            kodec_error *error);
/* Append compressed bytes to `out`. */
kodec_code kodec_compress(const char *codec, kodec_bytes data, kodec_buffer *out, kodec_error *error);

#ifdef __cplusplus
}
#endif

#endif
