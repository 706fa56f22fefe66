/* Rows as columns, by the Arrow C data interface. */
#ifndef KODEC_COLUMNS_H
#define KODEC_COLUMNS_H

#include "kodec_arrow_abi.h"
#include "kodec_runtime.h"

/* Which columns, and how many rows; NULL and {0} are the defaults. */
typedef struct {
  const char *const *columns; /* their names, the last one NULL; NULL is all */
  size_t most_rows;           /* stop before the next unit at this number of rows; unlimited by default */
  size_t most_bytes;          /* or at this number of bytes of text and bytes; 1 GiB by default, at most 2 GiB */
  bool ignore_checksums;
  bool everything;          /* also rows that are not for users, such as control records */
  size_t most_elements;     /* rows of one unit, with the elements of lists in them; 4,000,000 by default */
  size_t most_decompressed; /* bytes of one unit's content; 256 MiB by default */
} kodec_columns_options;

#endif
