/* Memory that runs out on demand: to be included before a kernel, whose allocations then come here. */
#ifndef KODEC_FUZZ_ALLOCATE_H
#define KODEC_FUZZ_ALLOCATE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* How many allocations are still given; negative: all. */
static long fuzz_left = -1;

static int fuzz_refused(void) {
  if (fuzz_left < 0) return 0;
  if (fuzz_left == 0) return 1;
  fuzz_left--;
  return 0;
}
static void *fuzz_malloc(size_t size) { return fuzz_refused() ? NULL : malloc(size); }
static void *fuzz_calloc(size_t count, size_t size) { return fuzz_refused() ? NULL : calloc(count, size); }
static void *fuzz_realloc(void *old, size_t size) { return fuzz_refused() ? NULL : realloc(old, size); }

/* With arguments, so that `(malloc)(size)` still is the one of the library. */
#define malloc(size) fuzz_malloc(size)
#define calloc(count, size) fuzz_calloc(count, size)
#define realloc(old, size) fuzz_realloc(old, size)

/* Buffers are cut to their size before they are given away, however little is left over. */
#define KD_SPARE 0

#endif
