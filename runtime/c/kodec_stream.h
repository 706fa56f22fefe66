/* Objects that are read from streams, and the streams: what all of them have in common. */
#ifndef KODEC_STREAM_H
#define KODEC_STREAM_H

#include "kodec_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes that objects are read from: the input, a part of it, or bytes that a process returned. */
typedef struct kodec_stream kodec_stream;

/* The first member of every object that is read from a stream. A pointer to it is one to the object, of the type that
 * its `type` names. */
typedef struct kodec_object {
  int type;                    /* KODEC_TYPE_X for a kodec_x */
  kodec_stream *stream;        /* what it was read from */
  struct kodec_object *parent; /* the object that it is a part of; NULL for the outermost */
  struct kodec_object *root;   /* the outermost object */
  int64_t start;               /* where it starts, from the start of the input */
  uint64_t seen;               /* the rest is the reader's */
  struct ks_span *spans;
  unsigned depth, order;
} kodec_object;

/* All bytes of a stream; they are not a copy. */
kodec_bytes kodec_stream_bytes(const kodec_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
