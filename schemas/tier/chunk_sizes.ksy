meta:
  id: chunk_sizes
  title: Sizes of a segment's chunks in tiered storage
  application: Tiered Storage for Apache Kafka (Aiven)
  tags:
    - log
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  Sizes, in bytes and in order, of the chunks in which a segment's log is stored
  after compression. The segment's manifest contains it in
  `chunkIndex.transformedChunks`, compressed with zstd and encoded as base64.

  The smallest size of all chunks but the last is the base. Each size but the
  last is stored as its difference from the base, in as few bytes as the largest
  difference needs. The size of the last chunk, which may be much smaller, is
  stored as it is.
doc-ref: >-
  https://github.com/Aiven-Open/tiered-storage-for-apache-kafka/blob/main/core/src/main/java/io/aiven/kafka/tieredstorage/manifest/index/serde/ChunkSizesBinaryCodec.java
  ChunkSizesBinaryCodec
seq:
  - id: count
    type: s4
    valid:
      min: 1
    doc: Number of chunks; at least one.
  - id: base
    type: s4
    valid:
      min: 0
    doc: >-
      Smallest size of all chunks but the last. If there is only one chunk, its
      size, and nothing follows.
  - id: others
    type:
      switch-on: count
      cases:
        1: no_others
        _: others(count - 1)
    doc: The other sizes.
types:
  no_others:
    doc: 'No sizes: `base` is the size of the only chunk.'
    seq: []
  others:
    doc: Sizes of two or more chunks.
    params:
      - id: count
        type: u4
        doc: Number of sizes stored as differences.
    seq:
      - id: width
        type: u1
        valid:
          min: 1
          max: 4
        doc: Width of each difference, in bytes.
      - id: differences
        size: width
        repeat: expr
        repeat-expr: count
        doc: >-
          Each size but the last, minus `base`, as an unsigned big-endian
          integer.
      - id: last
        type: s4
        valid:
          min: 0
        doc: Size of the last chunk.
