/* What the program that is asked, and its table of types, know of each other. */
#ifndef TESTEE_H
#define TESTEE_H

#include <kodec.h>

/* A value of JSON: `{` with named members, `[`, `s` a string, `0` a number, `t`, `f` and `n`. */
typedef struct json {
  char kind;
  const char *text, *name;
  size_t size; /* of a string in bytes; of an object or a list its members */
  size_t index; /* in the list that it is in */
  struct json *first, *next;
  const struct json *within; /* the object or list that it is in; NULL for a request */
} json;

/* A type that is given nothing but its version. */
typedef struct {
  const char *name;
  size_t size;
  void (*init)(void *value);
  kodec_code (*read)(void *value, const uint8_t *data, size_t size, int64_t version,
                     const kodec_options *options, kodec_arena *arena, size_t *used,
                     kodec_error *error);
  kodec_code (*write)(const void *value, int64_t version, kodec_buffer *out, kodec_error *error);
  void (*show)(const void *value);
  void (*take)(const json *from, void *value, kodec_arena *arena);
} type;

extern const type types[]; /* the last one has no name */

const json *member_of(const json *object, const char *name);
/* Whether it is an object whose members are among these; the last name is NULL. */
bool has_only(const json *value, const char *const *names);
/* A whole number from `low` to `high`; of anything else the answer is that it is not encodable. */
int64_t int_in(const json *value, int64_t low, int64_t high);
uint64_t uint_in(const json *value, uint64_t high);
/* The version decides whether a field is written, and so the path where its value is not encodable: none is said. */
void of_version(const json *value);
double real_in(const json *value);
bool flag_in(const json *value);
kodec_bytes bytes_in(const json *value, kodec_arena *arena);
kodec_bytes text_in(const json *value, kodec_arena *arena);
kodec_uuid uuid_in(const json *value);
kodec_tags tags_in(const json *value, kodec_arena *arena);

/* How deep instances in instances are shown; 0 shows none. */
extern int most_instances;
/* An instance that cannot be read. */
void show_failed(const kodec_error *error);
void show_int(int64_t value);
void show_uint(uint64_t value);
void show_real(double value);
void show_flag(bool value);
void show_bytes(kodec_bytes value);
void show_text(kodec_bytes value);
void show_uuid(kodec_uuid value);
void show_tags(kodec_tags value);

#endif
