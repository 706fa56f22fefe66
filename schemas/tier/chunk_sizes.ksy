meta:
  id: chunk_sizes
  title: Sizes of the stored chunks of a segment in a remote tier
  application: Tiered Storage for Apache Kafka (Aiven)
  tags:
    - log
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  The sizes, in bytes, of the chunks in which a segment's log is stored after
  compression, in order. In the manifest of a segment it is compressed with
  zstd and written in base64, as `chunkIndex.transformedChunks`.

  All sizes but the last are written as what they have above the smallest of
  them, in as few bytes as the largest difference needs. The last chunk may be
  much smaller, so its size is written by itself.
doc-ref: >-
  https://github.com/Aiven-Open/tiered-storage-for-apache-kafka/blob/main/core/src/main/java/io/aiven/kafka/tieredstorage/manifest/index/serde/ChunkSizesBinaryCodec.java
  ChunkSizesBinaryCodec
seq:
  - id: count
    type: s4
    valid:
      min: 1
    doc: The number of chunks; a segment has at least one.
  - id: base
    type: s4
    valid:
      min: 0
    doc: >-
      The smallest size of all chunks but the last; of one chunk, its
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
    doc: There is one chunk, whose size was given.
    seq: []
  others:
    doc: The sizes of several chunks.
    params:
      - id: count
        type: u4
        doc: The number of sizes that are written as differences.
    seq:
      - id: width
        type: u1
        valid:
          min: 1
          max: 4
        doc: The bytes of each difference.
      - id: differences
        size: width
        repeat: expr
        repeat-expr: count
        doc: >-
          What each size but the last has above `base`; big-endian,
          without a sign.
      - id: last
        type: s4
        valid:
          min: 0
        doc: The size of the last chunk.
