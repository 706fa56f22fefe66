/* Hands columns over as Arrow arrays, by the Arrow C data interface: no copy, each buffer freed once.
 *
 * Source: the Arrow C data interface and PyCapsule interface specifications. */
#ifndef KODEC_ARROW_H
#define KODEC_ARROW_H

#include "kodec_arrow_abi.h"
#include "kodec_core.h"

/* An array of one type with its schema, which are built together and then split. */
typedef struct {
  struct ArrowSchema schema;
  struct ArrowArray array;
} kd_arrow;

KD_UNUSED static void kd_release_schema(struct ArrowSchema *schema) {
  for (int64_t i = 0; i < schema->n_children; i++) {
    if (schema->children[i]->release != NULL) schema->children[i]->release(schema->children[i]);
    free(schema->children[i]);
  }
  free(schema->children);
  schema->release = NULL;
}
KD_UNUSED static void kd_release_array(struct ArrowArray *array) {
  for (int64_t i = 0; i < array->n_buffers; i++) kd_release((void *)array->buffers[i]);
  free(array->buffers);
  for (int64_t i = 0; i < array->n_children; i++) {
    if (array->children[i]->release != NULL) array->children[i]->release(array->children[i]);
    free(array->children[i]);
  }
  free(array->children);
  array->release = NULL;
}

/* `format` and `name` must live for ever. On KD_MEMORY nothing is held. */
KD_UNUSED static int kd_arrow_start(kd_arrow *out, const char *format, const char *name, int nullable, size_t rows,
                          int buffers, int children) {
  memset(out, 0, sizeof *out);
  out->schema.format = format;
  out->schema.name = name;
  out->schema.flags = nullable ? ARROW_FLAG_NULLABLE : 0;
  out->schema.release = kd_release_schema;
  out->array.length = (int64_t)rows;
  out->array.release = kd_release_array;
  out->array.buffers = calloc((size_t)buffers + 1, sizeof(void *));
  out->array.n_buffers = buffers;
  if (children) {
    out->schema.children = calloc((size_t)children, sizeof(void *));
    out->array.children = calloc((size_t)children, sizeof(void *));
  }
  if (out->array.buffers == NULL ||
      (children && (out->schema.children == NULL || out->array.children == NULL))) {
    out->array.n_buffers = 0;
    out->schema.release(&out->schema);
    out->array.release(&out->array);
    return KD_MEMORY;
  }
  return KD_OK;
}
/* Release what was built. */
KD_UNUSED static void kd_arrow_drop(kd_arrow *out) {
  if (out->schema.release != NULL) out->schema.release(&out->schema);
  if (out->array.release != NULL) out->array.release(&out->array);
}
/* Make `child` the next child; it is dropped if that fails. */
KD_UNUSED static int kd_arrow_adopt(kd_arrow *parent, kd_arrow *child) {
  struct ArrowSchema *schema = malloc(sizeof *schema);
  struct ArrowArray *array = malloc(sizeof *array);
  if (schema == NULL || array == NULL) {
    free(schema);
    free(array);
    kd_arrow_drop(child);
    return KD_MEMORY;
  }
  *schema = child->schema;
  *array = child->array;
  parent->schema.children[parent->schema.n_children++] = schema;
  parent->array.children[parent->array.n_children++] = array;
  return KD_OK;
}
/* A buffer that is handed over may have this number of unused bytes, and three times its used bytes. */
#ifndef KD_SPARE
#define KD_SPARE 65536
#endif
/* Give a buffer away: its memory, or a copy where much is left over, so that the large block stays for the next. That
 * starts with as much room, so that it does not grow, which costs a copy and fresh memory. */
KD_UNUSED static void *kd_give(kd_buffer *buffer) {
  uint8_t *data = buffer->data;
  if (data != NULL && buffer->room > 4 * buffer->size + KD_SPARE) {
    uint8_t *less = kd_resize(NULL, 0, buffer->size + KD_SLACK);
    if (less != NULL) {
      memcpy(less, data, buffer->size);
      kd_release(data);
      data = less;
    }
    buffer->hope = 2 * buffer->size + KD_SPARE;
  }
  buffer->data = NULL;
  buffer->size = buffer->room = 0;
  return data;
}

/* Numbers of `width` bytes; there may be more rows than when room was made. */
KD_UNUSED static int kd_arrow_fixed(kd_arrow *out, kd_fixed *column, const char *format, const char *name, size_t rows,
                                    size_t width) {
  if (kd_arrow_start(out, format, name, 0, rows, 2, 0)) return KD_MEMORY;
  column->values.size = rows * width;
  out->array.buffers[1] = kd_give(&column->values);
  return KD_OK;
}
/* One byte for each row, to Arrow's bits. */
KD_UNUSED static uint8_t *kd_pack_bits(const uint8_t *bytes, size_t count) {
  uint8_t *bits = kd_resize(NULL, 0, count / 8 + KD_SLACK);
  if (bits == NULL) return NULL;
  memset(bits + count / 8, 0, KD_SLACK);
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t eight = kd_load_u8le(bytes + i) & 0x0101010101010101ULL;
    bits[i / 8] = (uint8_t)(eight * 0x0102040810204080ULL >> 56);
  }
  for (; i < count; i++) bits[i / 8] = (uint8_t)(bits[i / 8] | (bytes[i] & 1) << (i & 7));
  return bits;
}
/* A flag for each row, kept as one byte each. */
KD_UNUSED static int kd_arrow_flags(kd_arrow *out, kd_fixed *column, const char *name, size_t rows) {
  if (kd_arrow_start(out, "b", name, 0, rows, 2, 0)) return KD_MEMORY;
  uint8_t *bits = kd_pack_bits(column->values.data, rows);
  kd_free(&column->values);
  if (bits == NULL) {
    kd_arrow_drop(out);
    return KD_MEMORY;
  }
  out->array.buffers[1] = bits;
  return KD_OK;
}
KD_UNUSED static int kd_arrow_blob(kd_arrow *out, kd_blob *column, const char *format, const char *name, int nullable,
                         size_t rows) {
  if (kd_arrow_start(out, format, name, nullable, rows, 3, 0)) return KD_MEMORY;
  if (column->nulls) {
    out->array.buffers[0] = kd_pack_bits(column->there.data, rows);
    if (out->array.buffers[0] == NULL) {
      kd_arrow_drop(out);
      return KD_MEMORY;
    }
    out->array.null_count = (int64_t)column->nulls;
  }
  out->array.buffers[1] = kd_give(&column->starts);
  out->array.buffers[2] = kd_give(&column->bytes);
  kd_blob_free(column);
  return KD_OK;
}
/* A list whose child is adopted afterwards. */
KD_UNUSED static int kd_arrow_list(kd_arrow *out, kd_list *column, const char *name, size_t rows) {
  if (kd_arrow_start(out, "+l", name, 0, rows, 2, 1)) return KD_MEMORY;
  out->array.buffers[1] = kd_give(&column->starts);
  column->count = 0;
  return KD_OK;
}
/* The child of that name, with one of the formats in `accepted` (each after a blank); NULL if there is none. */
KD_UNUSED static const struct ArrowSchema *kd_arrow_schema(const struct ArrowSchema *schema, const char *name) {
  for (int64_t i = 0; i < schema->n_children; i++)
    if (strcmp(schema->children[i]->name, name) == 0) return schema->children[i];
  return NULL;
}
KD_UNUSED static const struct ArrowArray *kd_arrow_child(const struct ArrowSchema *schema,
                                                         const struct ArrowArray *array, const char *name,
                                                         const char *accepted) {
  const struct ArrowSchema *found = kd_arrow_schema(schema, name);
  if (found == NULL) return NULL;
  size_t length = strlen(found->format);
  for (const char *p = strchr(accepted, ' '); p != NULL; p = strchr(p + 1, ' ')) {
    if (strncmp(p + 1, found->format, length) == 0 && (p[1 + length] == ' ' || p[1 + length] == 0)) {
      for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i] == found) return array->children[i];
    }
  }
  return NULL;
}
KD_UNUSED static kd_text kd_text_of(const struct ArrowArray *array, int64_t offset) {
  kd_text text;
  offset += array->offset;
  text.starts = (const int32_t *)array->buffers[1] + offset;
  text.bytes = array->buffers[2] != NULL ? (const uint8_t *)array->buffers[2] : kd_nothing;
  text.valid = array->null_count != 0 ? (const uint8_t *)array->buffers[0] : NULL;
  text.offset = offset;
  text.end = text.bytes + (array->length ? ((const int32_t *)array->buffers[1])[array->offset + array->length] : 0);
  return text;
}
KD_UNUSED static int kd_arrow_struct(kd_arrow *out, const char *name, size_t rows, int children) {
  return kd_arrow_start(out, "+s", name, 0, rows, 1, children);
}

#endif
