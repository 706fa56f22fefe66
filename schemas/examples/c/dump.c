/* Prints every record of log segments as a line of JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <kodec.h>

static void show_bytes(const char *name, kodec_bytes value) {
  printf(", \"%s\": %s", name, value.data == NULL ? "null" : "\"");
  if (value.data == NULL) return;
  for (size_t i = 0; i < value.size; i++) printf("%02x", value.data[i]);
  putchar('"');
}

/* `timestamp` is NULL where the format has none. */
static void show(int64_t offset, const int64_t *timestamp, bool control, kodec_bytes key, kodec_bytes value) {
  printf("{\"offset\": %" PRId64 ", \"timestamp\": ", offset);
  if (timestamp == NULL) {
    printf("null");
  } else {
    printf("%" PRId64, *timestamp);
  }
  printf(", \"control\": %s", control ? "true" : "false");
  show_bytes("key", key);
  show_bytes("value", value);
  printf("}\n");
}

static void show_batch(const kodec_record_batch *batch) {
  const bool appended =
      batch->attributes.timestamp_type == KODEC_RECORD_BATCH_TIMESTAMP_TYPE_LOG_APPEND_TIME;
  for (size_t i = 0; i < batch->records.count; i++) {
    const kodec_record_record_body *record = &batch->records.items[i].body;
    const int64_t timestamp = appended ? *batch->max_timestamp : batch->base_timestamp + record->timestamp_delta;
    const int64_t offset = batch->base_offset + record->offset_delta;
    show(offset, &timestamp, batch->attributes.is_control, record->key, record->value);
  }
}

/* A message of format 0 or 1, or those that are compressed inside it. */
static void show_message(const kodec_message_set_entry *entry) {
  const kodec_message_set_message *message = &entry->message;
  if (message->value.kind != KODEC_MESSAGE_SET_MESSAGE_VALUE_MESSAGE_SET) {
    const kodec_bytes none = {0};
    const bool there = message->value.kind == KODEC_MESSAGE_SET_MESSAGE_VALUE_BYTES;
    const int64_t *timestamp = message->magic == 0 ? NULL : &message->timestamp;
    show(entry->offset, timestamp, false, message->key, there ? message->value.as.bytes : none);
    return;
  }
  const kodec_message_set_entry_list inside = message->value.as.message_set->entries;
  const bool appended =
      message->attributes.timestamp_type == KODEC_MESSAGE_SET_TIMESTAMP_TYPE_LOG_APPEND_TIME;
  /* in magic 1 the offsets inside count from 0, and the wrapper has that of the last one */
  const bool relative = message->magic != 0 && entry->offset != 0 && inside.count != 0;
  const int64_t base = relative ? entry->offset - inside.items[inside.count - 1].offset : 0;
  for (size_t i = 0; i < inside.count; i++) {
    kodec_message_set_entry each = inside.items[i];
    each.offset += base;
    if (appended) each.message.timestamp = message->timestamp;
    show_message(&each);
  }
}

/* Whether a part of an entry, or zeros, are all that is left. */
static bool is_torn(const uint8_t *data, size_t size) {
  size_t zeros = 0;
  if (size < 17) return true;
  const uint32_t left = (uint32_t)data[8] << 24 | (uint32_t)data[9] << 16 | (uint32_t)data[10] << 8 | data[11];
  while (zeros < size && data[zeros] == 0) zeros++;
  return left > size - 12 || zeros == size;
}

static int dump(const uint8_t *data, size_t size) {
  kodec_arena arena;
  int status = 0;
  size_t at = 0;
  kodec_arena_init(&arena, 0);
  while (at < size) {
    kodec_log_segment_entry entry;
    kodec_error error;
    size_t used = 0;
    char text[1024];
    if (is_torn(data + at, size - at)) {
      fprintf(stderr, "torn tail: %zu bytes at byte %zu\n", size - at, at);
      break;
    }
    if (kodec_log_segment_entry_read(&entry, data + at, size - at, NULL, &arena, &used, &error) != KODEC_OK) {
      fprintf(stderr, "entry at byte %zu: %s\n", at, kodec_error_text(&error, text, sizeof text));
      status = 1;
      break;
    }
    if (entry.body.kind == KODEC_LOG_SEGMENT_ENTRY_BODY_RECORD_BATCH) {
      show_batch(entry.body.as.record_batch);
    } else if (entry.body.kind == KODEC_LOG_SEGMENT_ENTRY_BODY_ENTRY) {
      show_message(entry.body.as.entry);
    } else {
      fprintf(stderr, "entry at byte %zu: unknown magic %d\n", at, (int8_t)data[at + 16]);
      status = 1;
      break;
    }
    at += used;
    kodec_arena_reset(&arena);
  }
  kodec_arena_free(&arena);
  return status;
}

static uint8_t *read_file(const char *path, size_t *size) {
  FILE *const file = fopen(path, "rb");
  if (file == NULL) return NULL;
  const long end = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  rewind(file);
  uint8_t *const data = end < 0 ? NULL : malloc((size_t)end + 1);
  *size = data == NULL ? 0 : fread(data, 1, (size_t)end, file);
  fclose(file);
  return data;
}

int main(int count, char **words) {
  int status = 0;
  for (int i = 1; i < count && status == 0; i++) {
    size_t size = 0;
    uint8_t *const data = read_file(words[i], &size);
    if (data == NULL) {
      perror(words[i]);
      return 1;
    }
    status = dump(data, size);
    free(data);
  }
  return status;
}
