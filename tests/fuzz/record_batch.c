/* Fuzz target for the kernel of record batches (magic 2). */
#include "allocate.h"
#include "record_batch_core.c"

#define KERNEL(name) record_batch_##name
#define COLUMNS RECORD_BATCH_COLUMNS
#define FIELDS (sizeof record_batch_fields / sizeof *record_batch_fields)
#define CONTENT(u) ((u)->records)
/* The column that is a list, as the kernel of objects has it. */
#define LIST headers
#define NEXT_ITEM record_batch_item_headers

enum { LENGTH_AT = 8, MAGIC_AT = 16, CRC_AT = 17, COVERED_AT = 21, HEADER = 61 };

/* Make length, magic and checksum of the batch at `p` right; its size, or 0 where there is no room for one. */
static size_t repair(uint8_t *p, size_t have) {
  if (have < HEADER) return 0;
  size_t size = 12 + (size_t)kd_load_u4be(p + LENGTH_AT);
  if (size < HEADER || size > have) size = have;
  kd_store_be(p + LENGTH_AT, size - 12, 4);
  p[MAGIC_AT] = 2;
  kd_store_be(p + CRC_AT, kd_crc32c(p + COVERED_AT, size - COVERED_AT), 4);
  return size;
}

#include "target.h"
