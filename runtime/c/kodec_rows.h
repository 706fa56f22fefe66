/* What the columns of every kernel share. Included by one source for each kernel. */
#ifndef KODEC_ROWS_H
#define KODEC_ROWS_H

#include "kodec_arrow.h"
#include "kodec_columns.h"
#include "kodec_generated.h"

/* The options of a kernel; `order` has the selected columns. Returns false if one does not exist. */
KD_UNUSED static bool kd_rows_options(const kodec_columns_options *given, const char *const *names,
                                      int most, kd_options *o, int *order, int *count) {
  const kodec_columns_options none = {0};
  if (given == NULL) given = &none;
  *o = (kd_options){
      .check = !given->ignore_checksums,
      .everything = given->everything,
      .most_rows = given->most_rows != 0 ? given->most_rows : SIZE_MAX,
      .most_bytes = given->most_bytes != 0 ? given->most_bytes : (size_t)1 << 30,
      .unit_bytes = (size_t)1 << 30,
      .elements = given->most_elements != 0 ? given->most_elements : 4000000,
  };
  *count = 0;
  for (int i = 0; i < most && given->columns == NULL; i++) order[(*count)++] = i;
  for (const char *const *name = given->columns; name != NULL && *name != NULL; name++) {
    int i = 0;
    while (i < most && strcmp(names[i], *name) != 0) i++;
    if (i == most || o->wanted >> i & 1) return false;
    order[(*count)++] = i;
    o->wanted |= (uint64_t)1 << i;
  }
  for (int i = 0; i < *count; i++) o->wanted |= (uint64_t)1 << order[i];
  return true;
}

KD_UNUSED static kodec_code kd_rows_stop(kodec_error *error, const kd_where *where,
                                         const char *const *fields, size_t at) {
  static const kodec_code codes[] = {
      [KD_TRUNCATED] = KODEC_TRUNCATED,    [KD_VALUE] = KODEC_MALFORMED,
      [KD_VARINT] = KODEC_MALFORMED,       [KD_LENGTH] = KODEC_MALFORMED,
      [KD_COUNT] = KODEC_MALFORMED,        [KD_CHECKSUM] = KODEC_BAD_CHECKSUM,
      [KD_LIMIT] = KODEC_LIMIT_EXCEEDED,   [KD_OVERFLOW] = KODEC_UNSUPPORTED,
      [KD_NULL] = KODEC_NOT_ENCODABLE,     [KD_MEMORY] = KODEC_LIMIT_EXCEEDED,
      [KD_COMPRESSED] = KODEC_UNSUPPORTED, [KD_HIDDEN] = KODEC_UNSUPPORTED,
  };
  return kd_stop(error, codes[where->status], fields[where->field], kd_status_names[where->status], at, "",
                 "");
}

#endif
