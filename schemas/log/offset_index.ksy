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
  Sparse map from offsets to positions of batches in the segment. The index and
  the segment are named after the segment's base offset. Both columns ascend. To
  find an offset, take the last entry whose offset is not larger, and read the
  segment from its position.

  The index of the active segment is preallocated and padded with zeros. In a
  file that was not closed, the first entry with offset 0 after the first entry
  therefore ends the index.
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
    doc: Position of one batch in the segment.
    seq:
      - id: relative_offset
        -orig-id: relativeOffset
        type: s4
        doc: |
          Last offset of the batch at `ofs_batch`, minus the segment's base
          offset. Brokers before Kafka 3.8 wrote the last offset of all batches
          that were appended together.
      - id: ofs_batch
        -orig-id: position
        type: s4
        valid:
          min: 0
        -column:
          name: position
          type: int32
        doc: Position of the batch in the segment file, in bytes.
