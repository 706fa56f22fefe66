/* How fast a segment of record batches is read, as structs and as columns: records and bytes in a second.
 *
 * cc -O2 -DNDEBUG records.c $(pkg-config --cflags --libs --static kodec) -o records && ./records SEGMENT.log 20 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <kodec.h>

static double now(void) {
  struct timespec found;
  timespec_get(&found, TIME_UTC);
  return (double)found.tv_sec + 1e-9 * (double)found.tv_nsec;
}

static size_t as_structs(const uint8_t *data, size_t size, kodec_arena *arena) {
  size_t at = 0, count = 0;
  while (at < size) {
    kodec_record_batch batch;
    size_t used = 0;
    if (kodec_record_batch_read(&batch, data + at, size - at, NULL, arena, &used, NULL) != KODEC_OK) exit(1);
    count += batch.records.count;
    at += used;
    kodec_arena_reset(arena);
  }
  return count;
}

static size_t as_columns(const uint8_t *data, size_t size) {
  size_t at = 0, count = 0;
  const kodec_columns_options options = {.most_rows = 32768, .most_bytes = 4 << 20};
  while (at < size) {
    struct ArrowSchema schema;
    struct ArrowArray array;
    size_t used = 0;
    if (kodec_record_batch_columns_read(data + at, size - at, &options, &schema, &array, &used, NULL) != KODEC_OK)
      exit(1);
    count += (size_t)array.length;
    array.release(&array);
    schema.release(&schema);
    at += used;
  }
  return count;
}

int main(int words, char **word) {
  FILE *const file = words == 3 ? fopen(word[1], "rb") : NULL;
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) return 2;
  const size_t size = (size_t)ftell(file);
  uint8_t *const data = malloc(size);
  rewind(file);
  if (data == NULL || fread(data, 1, size, file) != size) return 2;
  fclose(file);
  kodec_arena arena;
  kodec_arena_init(&arena, 0);
  double best[2] = {1e9, 1e9};
  size_t count[2] = {0, 0};
  for (int round = 0; round < atoi(word[2]); round++) {
    for (int way = 0; way < 2; way++) {
      const double start = now();
      count[way] = way == 0 ? as_structs(data, size, &arena) : as_columns(data, size);
      const double took = now() - start;
      if (took < best[way]) best[way] = took;
    }
  }
  for (int way = 0; way < 2; way++)
    printf("%s: %zu records, %.2f ms, %.1f million records/s, %.0f MB/s\n", way == 0 ? "structs" : "columns",
           count[way], 1e3 * best[way], 1e-6 * (double)count[way] / best[way], 1e-6 * (double)size / best[way]);
  kodec_arena_free(&arena);
  free(data);
  return 0;
}
