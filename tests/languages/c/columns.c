/* What tests/languages/test_c_columns.py calls beside the library's own functions. */
#include <kodec.h>

kodec_code rewrite(const uint8_t *data, size_t size, int codec, const struct ArrowSchema *schema,
                   const struct ArrowArray *array, int64_t rows, kodec_buffer *out, kodec_error *error);

/* The rows as one batch whose head is that of another one, but for the codec. */
kodec_code rewrite(const uint8_t *data, size_t size, int codec, const struct ArrowSchema *schema,
                   const struct ArrowArray *array, int64_t rows, kodec_buffer *out, kodec_error *error) {
  kodec_arena arena;
  kodec_record_batch head;
  kodec_arena_init(&arena, 0);
  kodec_code code = kodec_record_batch_read(&head, data, size, NULL, &arena, NULL, error);
  if (code == KODEC_OK) {
    head.attributes.compression = (uint8_t)codec;
    code = kodec_record_batch_columns_write(&head, schema, array, 0, rows, out, error);
  }
  kodec_arena_free(&arena);
  return code;
}
