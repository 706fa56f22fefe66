/* Reads logs of which some bytes are changed, as columns and entry by entry: nothing but an error may come of it. */
#include <stdio.h>
#include <stdlib.h>

#include <kodec.h>

static uint32_t drawn(uint32_t *state) {
  *state = *state * 1664525U + 1013904223U;
  return *state >> 8;
}

int main(int count, char **paths) {
  uint32_t state = 7;
  size_t sound = 0, wrong = 0;
  for (int n = 1; n < count; n++) {
    FILE *const file = fopen(paths[n], "rb");
    uint8_t kept[4096];
    if (file == NULL) return 2;
    const size_t size = fread(kept, 1, sizeof kept, file);
    fclose(file);
    for (int round = 0; round < 200; round++) {
      const size_t part = round % 4 == 0 ? drawn(&state) % (size + 1) : size;
      uint8_t *const data = malloc(part + 1); /* so that a sanitizer sees who reads beyond it */
      if (data == NULL) return 2;
      for (size_t i = 0; i < part; i++) data[i] = kept[i];
      for (uint32_t changes = drawn(&state) % 4; part != 0 && changes > 0; changes--)
        data[drawn(&state) % part] = (uint8_t)drawn(&state);
      const kodec_columns_options options = {.ignore_checksums = round % 2 == 0, .most_decompressed = 1 << 20};
      struct ArrowSchema schema;
      struct ArrowArray array;
      kodec_error error;
      const kodec_code code =
          kodec_record_batch_columns_read(data, part, &options, &schema, &array, NULL, &error);
      *(code == KODEC_OK ? &sound : &wrong) += 1;
      if (schema.release != NULL) schema.release(&schema);
      if (array.release != NULL) array.release(&array);
      const kodec_options careful = {.ignore_checksums = round % 2 == 0, .most_decompressed = 1 << 20};
      kodec_arena arena;
      kodec_log_segment_entry entry;
      size_t at = 0, used = 0;
      kodec_arena_init(&arena, 16 << 20);
      while (at < part && kodec_log_segment_entry_read(&entry, data + at, part - at, &careful, &arena, &used,
                                                       NULL) == KODEC_OK)
        at += used;
      kodec_arena_free(&arena);
      free(data);
    }
  }
  printf("%zu sound, %zu wrong\n", sound, wrong);
  return sound != 0 && wrong != 0 ? 0 : 1;
}
