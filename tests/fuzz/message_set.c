/* Fuzz target for the kernel of messages (magic 0 and 1). */
#include "allocate.h"
#include "message_set_core.c"

#define KERNEL(name) message_set_##name
#define COLUMNS MESSAGE_SET_COLUMNS
#define FIELDS (sizeof message_set_fields / sizeof *message_set_fields)
#define CONTENT(u) ((u)->message.value)
/* A message is itself a row; what is compressed in it is messages again. */
#define UNIT_IS_ROW

enum { LENGTH_AT = 8, CRC_AT = 12, MAGIC_AT = 16, LEAST = 26 };

/* Make sizes, magic and checksum of the message at `p` right; its size, or 0 where there is no room for one. */
static size_t repair(uint8_t *p, size_t have) {
  if (have < LEAST + 8) return 0;
  size_t size = 12 + (size_t)kd_load_u4be(p + LENGTH_AT);
  if (size < LEAST + 8 || size > have) size = have;
  kd_store_be(p + LENGTH_AT, size - 12, 4);
  p[MAGIC_AT] &= 1;
  size_t at = MAGIC_AT + 2 + (p[MAGIC_AT] ? 8 : 0);
  int32_t key = (int32_t)kd_load_u4be(p + at);
  size_t rest = size - at - 8;
  if (key > 0 && (size_t)key > rest) kd_store_be(p + at, rest, 4);
  key = (int32_t)kd_load_u4be(p + at);
  if (key > 0) rest -= (size_t)key;
  at += 4 + (key > 0 ? (size_t)key : 0);
  if (rest || (int32_t)kd_load_u4be(p + at) > 0) kd_store_be(p + at, rest, 4);
  kd_store_be(p + CRC_AT, kd_crc32(p + MAGIC_AT, size - MAGIC_AT), 4);
  return size;
}

#include "target.h"
