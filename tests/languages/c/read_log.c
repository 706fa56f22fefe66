/* Prints each record of a segment of a Kafka log, from its start to its end: offset, timestamp, key and value.
 *
 * Formats 0, 1 and 2, checksums, all codecs that the library has, offsets inside compressed messages, control records.
 * What a broker has not written to its end (a torn tail) ends the log without an error. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kodec.h>

static void show(const char *name, kodec_bytes value) {
  printf("\t%s=", name);
  if (value.data == NULL) {
    printf("null");
  } else {
    fwrite(value.data, 1, value.size, stdout);
  }
}

static void show_record(int64_t offset, int64_t timestamp, kodec_bytes key, kodec_bytes value) {
  printf("%" PRId64 "\t%" PRId64, offset, timestamp);
  show("key", key);
  show("value", value);
  printf("\n");
}

static void show_control(int64_t offset, int64_t timestamp, kodec_bytes key, kodec_arena *arena) {
  kodec_control_record_key kind;
  const char *name = "control";
  if (kodec_control_record_key_read(&kind, key.data, key.size, NULL, arena, NULL, NULL) == KODEC_OK) {
    if (kind.control_type == KODEC_CONTROL_RECORD_KEY_CONTROL_RECORD_TYPE_COMMIT) name = "commit";
    if (kind.control_type == KODEC_CONTROL_RECORD_KEY_CONTROL_RECORD_TYPE_ABORT) name = "abort";
  }
  printf("%" PRId64 "\t%" PRId64 "\t%s\n", offset, timestamp, name);
}

static void show_batch(const kodec_record_batch *batch, kodec_arena *arena) {
  const bool appended =
      batch->attributes.timestamp_type == KODEC_RECORD_BATCH_TIMESTAMP_TYPE_LOG_APPEND_TIME;
  for (size_t i = 0; i < batch->records.count; i++) {
    const kodec_record_record_body *record = &batch->records.items[i].body;
    const int64_t offset = batch->base_offset + record->offset_delta;
    const int64_t timestamp = appended ? *batch->max_timestamp : batch->base_timestamp + record->timestamp_delta;
    if (batch->attributes.is_control) {
      show_control(offset, timestamp, record->key, arena);
    } else {
      show_record(offset, timestamp, record->key, record->value);
    }
  }
}

/* Whether a file that was made as large as it may become is not written from here on. */
static bool is_unwritten(const uint8_t *data, size_t size) {
  size_t at = 0;
  while (at < size && data[at] == 0) at++;
  return at == size;
}

/* A message of format 0 or 1, or those that are compressed inside it. */
static void show_entry(const kodec_message_set_entry *entry) {
  const kodec_message_set_message *message = &entry->message;
  if (message->value.kind != KODEC_MESSAGE_SET_MESSAGE_VALUE_MESSAGE_SET) {
    const kodec_bytes none = {0};
    const bool there = message->value.kind == KODEC_MESSAGE_SET_MESSAGE_VALUE_BYTES;
    show_record(entry->offset, message->timestamp, message->key, there ? message->value.as.bytes : none);
    return;
  }
  const kodec_message_set_entry_list inside = message->value.as.message_set->entries;
  const bool appended =
      message->attributes.timestamp_type == KODEC_MESSAGE_SET_TIMESTAMP_TYPE_LOG_APPEND_TIME;
  /* in format 1 the last one has the offset of the message around it, and the others count from there */
  const bool relative = message->magic != 0 && entry->offset != 0 && inside.count != 0;
  const int64_t base = relative ? entry->offset - inside.items[inside.count - 1].offset : 0;
  for (size_t i = 0; i < inside.count; i++) {
    kodec_message_set_entry each = inside.items[i];
    each.offset += base;
    if (appended && each.message.magic != 0) each.message.timestamp = message->timestamp;
    show_entry(&each);
  }
}

static uint8_t *read_file(const char *path, size_t *size) {
  FILE *const file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) return NULL;
  const long end = ftell(file);
  rewind(file);
  uint8_t *const data = end < 0 ? NULL : malloc((size_t)end + 1);
  *size = data == NULL ? 0 : fread(data, 1, (size_t)end, file);
  fclose(file);
  return data;
}

int main(int count, char **words) {
  size_t size = 0, at = 0;
  uint8_t *const data = count == 2 ? read_file(words[1], &size) : NULL;
  kodec_arena arena;
  int status = 0;
  if (data == NULL) {
    fprintf(stderr, "usage: read_log SEGMENT.log\n");
    return 2;
  }
  kodec_arena_init(&arena, 0);
  while (at < size) {
    kodec_log_segment_entry entry;
    kodec_error error;
    size_t used = 0;
    char text[1024];
    if (kodec_log_segment_entry_read(&entry, data + at, size - at, NULL, &arena, &used, &error) != KODEC_OK) {
      /* what is inside an entry has a path with a point; an entry that is not whole has none */
      const bool torn = (error.code == KODEC_TRUNCATED && strchr(error.path, '.') == NULL) ||
                        is_unwritten(data + at, size - at);
      error.at += at;
      fprintf(stderr, "%s: %s\n", torn ? "torn tail" : "error", kodec_error_text(&error, text, sizeof text));
      status = torn ? 0 : 1;
      break;
    }
    if (entry.body.kind == KODEC_LOG_SEGMENT_ENTRY_BODY_RECORD_BATCH) {
      show_batch(entry.body.as.record_batch, &arena);
    } else if (entry.body.kind == KODEC_LOG_SEGMENT_ENTRY_BODY_ENTRY) {
      show_entry(entry.body.as.entry);
    }
    at += used;
    kodec_arena_reset(&arena);
  }
  kodec_arena_free(&arena);
  free(data);
  return status;
}
