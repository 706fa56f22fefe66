/* Objects that are read from a stream, with any limit of memory, and what of them goes on after an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kodec.h>

#define CHECK(test)                                       \
  do {                                                    \
    if (!(test)) {                                        \
      fprintf(stderr, "%d: not %s\n", __LINE__, #test);   \
      exit(EXIT_FAILURE);                                 \
    }                                                     \
  } while (0)

enum { NODES = 300, START = 2 + 1 + 2 * 4 };

/* Two entries: a chain of `count` nodes called \202, and one node without an end. */
static size_t write_archive(uint8_t *to, size_t count) {
  const uint8_t head[START] = {'A', 'R', 2, START, 0, (uint8_t)(2 * count), (uint8_t)(2 * count >> 8),
                               START, 0, 1, 0};
  memcpy(to, head, sizeof head);
  for (size_t i = 0; i < count; i++) memcpy(to + START + 2 * i, "\202", 2);
  return START + 2 * count;
}

static void read_again(const uint8_t *data, size_t size) {
  kodec_arena arena;
  kodec_archive *archive;
  kodec_archive_node *node, *other;
  kodec_error error;
  size_t used = 0;
  uint32_t end;
  kodec_arena_init(&arena, 0);
  CHECK(kodec_archive_read(&archive, data, size, NULL, &arena, &used, &error) == KODEC_OK);
  CHECK(used == START && archive->entries.count == 2);
  kodec_archive_entry *const first = archive->entries.items[0], *const second = archive->entries.items[1];
  CHECK(first->_object.type == KODEC_TYPE_ARCHIVE_ENTRY && first->_object.parent == &archive->_object);
  CHECK(kodec_archive_entry_get_end(first, &end, NULL) == KODEC_OK && end == size);
  /* an instance is read once, and an error in one is none in another */
  CHECK(kodec_archive_entry_get_body(first, &node, NULL) == KODEC_OK);
  for (int again = 0; again < 2; again++) {
    CHECK(kodec_archive_entry_get_body(second, &other, &error) == KODEC_TRUNCATED);
    CHECK(strcmp(error.path, "body.name") == 0 && error.at == START);
    CHECK(kodec_archive_entry_get_body(first, &other, &error) == KODEC_OK && other == node);
  }
  CHECK(node->name.size == 2 && memcmp(node->name.data, "\303\251", 2) == 0);
  CHECK(node->next->_object.parent == &node->_object && node->_object.root == &archive->_object);
  CHECK(kodec_stream_bytes(node->_object.stream).size == size - START);
  /* nothing but an object that was read has instances */
  kodec_archive_entry none = {0};
  CHECK(kodec_archive_entry_get_body(&none, &other, &error) == KODEC_MALFORMED);
  kodec_arena_free(&arena);
}

static void read_too_deep(const uint8_t *data, size_t size) {
  kodec_arena arena;
  kodec_archive *archive;
  kodec_archive_node *node;
  kodec_error error;
  kodec_arena_init(&arena, 0);
  CHECK(kodec_archive_read(&archive, data, size, NULL, &arena, NULL, &error) == KODEC_OK);
  CHECK(kodec_archive_entry_get_body(archive->entries.items[0], &node, &error) == KODEC_LIMIT_EXCEEDED);
  CHECK(strncmp(error.path, "body.next.next.", 15) == 0 && strlen(error.path) < sizeof error.path);
  kodec_arena_free(&arena);
}

/* Reads with as little memory as there may be, until it is enough. */
static void read_with_limits(const uint8_t *data, size_t size) {
  size_t refused = 0;
  for (size_t limit = 1;; limit += 48, refused++) {
    kodec_arena arena;
    kodec_archive *archive;
    kodec_archive_node *node;
    kodec_error error = {.code = KODEC_OK};
    kodec_arena_init(&arena, limit);
    kodec_code code = kodec_archive_read(&archive, data, size, NULL, &arena, NULL, &error);
    if (code == KODEC_OK) code = kodec_archive_entry_get_body(archive->entries.items[0], &node, &error);
    CHECK(code == KODEC_OK || (code == KODEC_LIMIT_EXCEEDED && error.code == code));
    kodec_arena_free(&arena);
    if (code == KODEC_OK) break;
  }
  CHECK(refused > 20);
}

int main(void) {
  uint8_t data[START + 2 * NODES];
  kodec_arena arena;
  kodec_archive *archive;
  kodec_arena_init(&arena, 0);
  CHECK(kodec_archive_read(&archive, NULL, 0, NULL, &arena, NULL, NULL) == KODEC_TRUNCATED);
  kodec_arena_free(&arena);
  const size_t size = write_archive(data, 40);
  read_again(data, size);
  read_with_limits(data, size);
  read_too_deep(data, write_archive(data, NODES));
  return EXIT_SUCCESS;
}
