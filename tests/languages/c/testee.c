/* A program that reads a request a line, and answers a line: what the generated C makes of bytes and values. */
#include "testee.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ JSON, read */

typedef struct {
  const char *p;
  kodec_arena *arena;
} parser;

static void *made(kodec_arena *arena, size_t size) {
  void *const found = kodec_arena_alloc(arena, size == 0 ? 1 : size);
  if (found == NULL) abort();
  return found;
}
static void skip(parser *in) {
  while (*in->p != 0 && strchr(" \t\r\n", *in->p) != NULL) in->p++;
}
static unsigned hex4(const char *p) {
  char text[5] = {p[0], p[1], p[2], p[3], 0};
  return (unsigned)strtoul(text, NULL, 16);
}
static char *put_utf8(char *to, unsigned sign) {
  if (sign < 0x80) {
    *to++ = (char)sign;
  } else if (sign < 0x800) {
    *to++ = (char)(0xC0 | sign >> 6);
    *to++ = (char)(0x80 | (sign & 63));
  } else if (sign < 0x10000) {
    *to++ = (char)(0xE0 | sign >> 12);
    *to++ = (char)(0x80 | (sign >> 6 & 63));
    *to++ = (char)(0x80 | (sign & 63));
  } else {
    *to++ = (char)(0xF0 | sign >> 18);
    *to++ = (char)(0x80 | (sign >> 12 & 63));
    *to++ = (char)(0x80 | (sign >> 6 & 63));
    *to++ = (char)(0x80 | (sign & 63));
  }
  return to;
}
static json *read_string(parser *in) {
  json *const found = made(in->arena, sizeof *found);
  char *to = made(in->arena, strlen(in->p) + 1);
  found->kind = 's';
  found->text = to;
  for (in->p++; *in->p != '"' && *in->p != 0; in->p++) {
    if (*in->p != '\\') {
      *to++ = *in->p;
      continue;
    }
    const char *const escape = strchr("\"\"\\\\//b\bf\fn\nr\rt\t", *++in->p);
    if (*in->p == 'u') {
      unsigned sign = hex4(in->p + 1);
      in->p += 4;
      if (sign >= 0xD800 && sign < 0xDC00 && in->p[1] == '\\') {
        sign = 0x10000 + ((sign - 0xD800) << 10) + (hex4(in->p + 3) - 0xDC00);
        in->p += 6;
      }
      to = put_utf8(to, sign);
    } else if (escape != NULL) {
      *to++ = escape[1];
    }
  }
  in->p++;
  found->size = (size_t)(to - found->text);
  return found;
}
static json *read_value(parser *in) {
  skip(in);
  if (*in->p == '"') return read_string(in);
  json *const found = made(in->arena, sizeof *found);
  if (*in->p == '[' || *in->p == '{') {
    found->kind = *in->p;
    const char end = *in->p == '[' ? ']' : '}';
    in->p++;
    for (json **next = &found->first;; next = &(*next)->next) {
      skip(in);
      if (*in->p == ',') in->p++;
      skip(in);
      if (*in->p == end || *in->p == 0) break;
      const char *name = NULL;
      if (end == '}') {
        name = read_string(in)->text;
        skip(in);
        in->p++;
      }
      *next = read_value(in);
      (*next)->name = name;
      (*next)->within = found;
      (*next)->index = found->size++;
    }
    in->p++;
    return found;
  }
  const size_t size = strcspn(in->p, ",]} \t\r\n");
  char *const text = made(in->arena, size + 1);
  memcpy(text, in->p, size);
  found->kind = strchr("tfn", *text) != NULL ? *text : '0';
  found->text = text;
  found->size = size;
  in->p += size;
  return found;
}

const json *member_of(const json *object, const char *name) {
  for (const json *each = object->first; each != NULL; each = each->next)
    if (strcmp(each->name, name) == 0) return each;
  return NULL;
}
bool has_only(const json *value, const char *const *names) {
  if (value->kind != '{') return false;
  for (const json *each = value->first; each != NULL; each = each->next) {
    const char *const *name = names;
    while (*name != NULL && strcmp(*name, each->name) != 0) name++;
    if (*name == NULL) return false;
  }
  return true;
}

static const json *beyond; /* the first value of the request that its type cannot hold */
static bool has_path;

static const char *digits_of(const json *value) {
  errno = 0;
  return value->kind == '0' || value->kind == 's' ? value->text : "";
}
static bool is_held(const json *value, bool in_range, const char *text, const char *end) {
  const bool held = in_range && errno == 0 && end != text && *end == 0;
  if (!held && beyond == NULL) {
    beyond = value;
    has_path = true;
  }
  return held;
}
int64_t int_in(const json *value, int64_t low, int64_t high) {
  const char *const text = digits_of(value);
  char *end;
  const int64_t found = strtoll(text, &end, 10);
  return is_held(value, low <= found && found <= high, text, end) ? found : 0;
}
uint64_t uint_in(const json *value, uint64_t high) {
  const char *const text = digits_of(value);
  char *end;
  const uint64_t found = strtoull(text, &end, 10);
  return is_held(value, *text != '-' && found <= high, text, end) ? found : 0;
}
void of_version(const json *value) {
  if (beyond == value) has_path = false;
}
double real_in(const json *value) { return strtod(value->text, NULL); }
bool flag_in(const json *value) { return value->kind == 't'; }

static unsigned digit(char sign) { return (unsigned)(sign <= '9' ? sign - '0' : (sign | 32) - 'a' + 10); }

kodec_bytes bytes_in(const json *value, kodec_arena *arena) {
  uint8_t *const data = made(arena, value->size / 2);
  if (value->kind == 'n') return (kodec_bytes){0};
  for (size_t i = 0; i < value->size / 2; i++)
    data[i] = (uint8_t)(digit(value->text[2 * i]) << 4 | digit(value->text[2 * i + 1]));
  return (kodec_bytes){data, value->size / 2};
}
kodec_bytes text_in(const json *value, kodec_arena *arena) {
  if (value->kind == 'n') return (kodec_bytes){0};
  if (value->kind == '{') return bytes_in(member_of(value, "raw"), arena);
  return (kodec_bytes){(const uint8_t *)value->text, value->size};
}
kodec_uuid uuid_in(const json *value) {
  kodec_uuid found = {0};
  const char *p = value->text;
  for (size_t i = 0; i < 16; i++, p += 2) {
    if (*p == '-') p++;
    found.bytes[i] = (uint8_t)(digit(p[0]) << 4 | digit(p[1]));
  }
  return found;
}
kodec_tags tags_in(const json *value, kodec_arena *arena) {
  kodec_tags found = {made(arena, value->size * sizeof(kodec_tag)), 0};
  for (const json *each = value->first; each != NULL; each = each->next)
    found.items[found.count++] =
        (kodec_tag){(uint32_t)uint_in(member_of(each, "number"), UINT32_MAX), bytes_in(member_of(each, "data"), arena)};
  return found;
}

/* ------------------------------------------------------------------ JSON, written */

void show_int(int64_t value) {
  const bool wide = value > 9007199254740991 || value < -9007199254740991;
  printf(wide ? "\"%" PRId64 "\"" : "%" PRId64, value);
}
void show_uint(uint64_t value) { printf(value > 9007199254740991 ? "\"%" PRIu64 "\"" : "%" PRIu64, value); }
void show_real(double value) {
  if (isnan(value)) {
    printf("\"nan\"");
  } else if (isinf(value)) {
    printf(value < 0 ? "\"-inf\"" : "\"inf\"");
  } else {
    printf("%.16e", value); /* never like a whole number, which has no negative zero */
  }
}
void show_flag(bool value) { printf(value ? "true" : "false"); }
static void show_hex(const uint8_t *data, size_t size) {
  putchar('"');
  for (size_t i = 0; i < size; i++) printf("%02x", data[i]);
  putchar('"');
}
void show_bytes(kodec_bytes value) { show_hex(value.data, value.size); }
/* The number of bytes of the UTF-8 character at `p`; 0 if there is none. */
static size_t utf8(const uint8_t *p, const uint8_t *end) {
  const size_t size = *p < 0x80 ? 1 : *p >= 0xC2 && *p < 0xE0 ? 2 : *p >= 0xE0 && *p < 0xF0 ? 3 : *p < 0xF5 ? 4 : 0;
  if (size == 0 || (size == 4 && *p < 0xF0) || (size_t)(end - p) < size) return 0;
  for (size_t i = 1; i < size; i++)
    if ((p[i] & 0xC0) != 0x80) return 0;
  if ((*p == 0xE0 && p[1] < 0xA0) || (*p == 0xED && p[1] >= 0xA0)) return 0;
  return (*p == 0xF0 && p[1] < 0x90) || (*p == 0xF4 && p[1] >= 0x90) ? 0 : size;
}
void show_text(kodec_bytes value) {
  if (value.size == 0) value.data = kodec_empty;
  const uint8_t *const end = value.data + value.size;
  for (const uint8_t *p = value.data; p < end; p += utf8(p, end)) {
    if (utf8(p, end) == 0) {
      printf("{\"raw\":");
      show_hex(value.data, value.size);
      putchar('}');
      return;
    }
  }
  putchar('"');
  for (const uint8_t *p = value.data; p < end; p++) {
    if (*p == '"' || *p == '\\') {
      printf("\\%c", *p);
    } else if (*p < 0x20) {
      printf("\\u%04x", *p);
    } else {
      putchar(*p);
    }
  }
  putchar('"');
}
void show_uuid(kodec_uuid value) {
  putchar('"');
  for (size_t i = 0; i < 16; i++) printf(i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", value.bytes[i]);
  putchar('"');
}
void show_tags(kodec_tags value) {
  putchar('[');
  for (size_t i = 0; i < value.count; i++) {
    printf("%s{\"number\":%" PRIu32 ",\"data\":", i == 0 ? "" : ",", value.items[i].number);
    show_hex(value.items[i].data.data, value.items[i].data.size);
    putchar('}');
  }
  putchar(']');
}

/* ------------------------------------------------------------------ requests */

int most_instances;

static void show_error(const char *key, const kodec_error *error) {
  printf("\"%s\":{\"code\":\"%s\",\"path\":", key, kodec_code_name(error->code));
  show_text(kodec_text(error->path));
  if (error->code != KODEC_NOT_ENCODABLE) printf(",\"at\":%zu", error->at);
  printf(",\"need\":");
  show_text(kodec_text(error->need));
  printf(",\"have\":");
  show_text(kodec_text(error->have));
  putchar('}');
}
void show_failed(const kodec_error *error) {
  putchar('{');
  show_error("error", error);
  putchar('}');
}
/* Where a value is in the one that is to be written, which is a member of the request. */
static void print_path(const json *value) {
  if (value->within == NULL || value->within->within == NULL) return;
  print_path(value->within);
  if (value->name == NULL) {
    printf("[%zu]", value->index);
  } else {
    printf("%s%s", value->within->within->within == NULL ? "" : ".", value->name);
  }
}
static void show_beyond(void) {
  printf(",\"error\":{\"code\":\"%s\"", kodec_code_name(KODEC_NOT_ENCODABLE));
  if (has_path) {
    printf(",\"path\":\"");
    print_path(beyond);
    putchar('"');
  }
  putchar('}');
}
static void show_written(const type *kind, const void *value, int64_t version, const char *key) {
  kodec_buffer out = {0};
  kodec_error error;
  if (kind->write(value, version, &out, &error) == KODEC_OK) {
    printf(",\"bytes\":");
    show_hex(out.data, out.size);
  } else {
    putchar(',');
    show_error(key, &error);
  }
  kodec_buffer_free(&out);
}
enum { MOST_INSTANCES = 4 };

static void decode(const type *kind, const json *asked, int64_t version, bool again, kodec_arena *arena) {
  const kodec_bytes given = bytes_in(member_of(asked, "bytes"), arena);
  const json *const exact = member_of(asked, "exact"), *const limit = member_of(asked, "limit");
  const json *const elements = member_of(asked, "elements"), *const depth = member_of(asked, "depth");
  const json *const instances = member_of(asked, "instances");
  const kodec_options options = {.most_decompressed = limit == NULL ? 0 : (size_t)uint_in(limit, SIZE_MAX),
                                 .most_elements = elements == NULL ? 0 : (size_t)uint_in(elements, SIZE_MAX),
                                 .most_depth = depth == NULL ? 0 : (unsigned)uint_in(depth, UINT_MAX)};
  uint8_t *const data = malloc(given.size + 1); /* of its size, so that a sanitizer sees who reads beyond it */
  uint8_t *const start = data + 1;
  void *const value = made(arena, kind->size);
  kodec_error error;
  size_t used = 0;
  if (data == NULL) abort();
  memcpy(start, given.data, given.size);
  kodec_code code = kind->read(value, start, given.size, version, &options, arena, &used, &error);
  if (code == KODEC_OK && exact != NULL && exact->kind == 't' && used != given.size) {
    error = (kodec_error){.code = code = KODEC_MALFORMED, .at = used};
    strcpy(error.reason, "bytes are left over");
  }
  if (code != KODEC_OK) {
    putchar(',');
    show_error("error", &error);
  } else {
    printf(",\"value\":");
    most_instances = instances != NULL && instances->kind == 't' ? MOST_INSTANCES : 0;
    kind->show(value);
    if (again) show_written(kind, value, version, "encode_error");
  }
  free(data);
}
static void answer(const char *line, kodec_arena *arena) {
  parser in = {line, arena};
  const json *const asked = read_value(&in);
  const json *const id = member_of(asked, "id"), *const name = member_of(asked, "type");
  const json *const version = member_of(asked, "version");
  const char *const what = member_of(asked, "do")->text;
  printf("{\"id\":%s", id != NULL ? id->text : "0");
  if (strcmp(what, "hello") == 0) {
    printf(",\"protocol\":1,\"name\":\"kodec-c\",\"language\":\"C\",\"version\":\"C11 (%s)\"", __VERSION__);
    printf(",\"does\":[\"decode\",\"encode\",\"round_trip\"],\"types\":[");
    for (const type *each = types; each->name != NULL; each++)
      printf("%s\"%s\"", each == types ? "" : ",", each->name);
    printf("],\"reads\":[");
    const char *between = "";
    for (const type *each = types; each->name != NULL; each++) {
      if (each->write != NULL) continue;
      printf("%s\"%s\"", between, each->name);
      between = ",";
    }
    printf("]}\n");
    return;
  }
  const type *kind = types;
  while (kind->name != NULL && (name == NULL || strcmp(kind->name, name->text) != 0)) kind++;
  const int64_t told = version != NULL && version->kind != 'n' ? int_in(version, INT64_MIN, INT64_MAX) : 0;
  if (kind->name == NULL) {
    printf(",\"unsupported\":\"no such type\"");
  } else if (kind->write == NULL && strcmp(what, "decode") != 0) {
    printf(",\"unsupported\":\"streams are only read\"");
  } else if (strcmp(what, "encode") == 0) {
    void *const value = made(arena, kind->size);
    beyond = NULL;
    kind->init(value);
    kind->take(member_of(asked, "value"), value, arena);
    if (beyond == NULL) {
      show_written(kind, value, told, "error");
    } else {
      show_beyond();
    }
  } else {
    decode(kind, asked, told, strcmp(what, "round_trip") == 0, arena);
  }
  printf("}\n");
}

int main(void) {
  char *line = NULL;
  size_t size = 0, room = 0;
  kodec_arena arena;
  kodec_arena_init(&arena, 0);
  for (int sign; (sign = getchar()) != EOF;) {
    if (size + 2 > room) {
      room = room == 0 ? 4096 : 2 * room;
      line = realloc(line, room);
      if (line == NULL) return 1;
    }
    line[size++] = (char)sign;
    if (sign != '\n') continue;
    line[size] = 0;
    answer(line, &arena);
    fflush(stdout);
    kodec_arena_reset(&arena);
    size = 0;
  }
  kodec_arena_free(&arena);
  free(line);
  return 0;
}
