meta:
  id: offset_index
  title: Kafka log segment offset index
  application: Apache Kafka
  file-extension: index
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  Sparse map from an offset to the position of its batch in the segment. The
  segment's base offset is the name of both files. Both columns ascend. To find
  an offset, take the last entry that is not above it and read the segment from
  there on.

  The index of the active segment is allocated in advance and padded with
  zeros, so in a file that was not closed the first entry after the first one
  whose offset is 0 ends the index.
doc-ref: >-
  https://github.com/apache/kafka/blob/4.0.0/storage/src/main/java/org/apache/kafka/storage/internals/log/OffsetIndex.java
  OffsetIndex
seq:
  - id: entries
    type: entry
    repeat: eos
    doc: The entries, 8 bytes each.
types:
  entry:
    -row: true
    doc: Where one batch of the segment lies.
    seq:
      - id: relative_offset
        -orig-id: relativeOffset
        type: s4
        -column:
          type: int32
        doc: |
          Last offset of the batch at `ofs_batch`, minus the segment's base
          offset. Older brokers (before 3.8) wrote the last offset of all the
          batches that were appended together.
      - id: ofs_batch
        -orig-id: position
        type: s4
        valid:
          min: 0
        -column:
          name: position
          type: int32
        doc: Where the batch starts in the segment file, in bytes.
