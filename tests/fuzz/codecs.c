/* Fuzz target for what decompresses LZ4 and snappy: the first byte shows which, and how much may come out. */
#include "kodec_codecs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const char *const codec = data[0] & 1 ? "lz4" : "snappy";
  const size_t limit = (size_t)1 << (data[0] >> 1 & 31) % 21;
  /* memory of its own, so that a byte too far is seen on both sides */
  uint8_t *const stored = malloc(size - 1 ? size - 1 : 1);
  if (stored == NULL) return 0;
  memcpy(stored, data + 1, size - 1);
  kd_buffer out = {0};
  const int done = kd_decompress(codec, stored, size - 1, limit, &out);
  uint64_t sum = 0;
  for (size_t i = 0; done && i < out.size; i++) sum += out.data[i];
  if (out.size > limit || out.room > 2 * limit + 2 * KD_SLACK || sum > 255 * out.size) abort();
  kd_free(&out);
  free(stored);
  return 0;
}
