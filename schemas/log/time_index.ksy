meta:
  id: time_index
  title: Kafka log segment time index
  application: Apache Kafka
  file-extension: timeindex
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  Sparse map from timestamps to offsets (KIP-33). The timestamp of an entry is
  the largest of the segment up to the entry's offset, so all messages with a
  larger timestamp come later. The index and the segment are named after the
  segment's base offset. Timestamps ascend; offsets do not descend.

  Like the offset index, the index of the active segment is preallocated and
  padded with zeros.
doc-ref: >-
  https://github.com/apache/kafka/blob/4.0.0/storage/src/main/java/org/apache/kafka/storage/internals/log/TimeIndex.java
  TimeIndex
seq:
  - id: entries
    type: entry
    repeat: eos
    doc: The entries, 12 bytes each.
types:
  entry:
    -row: true
    doc: The largest timestamp up to one batch of the segment.
    seq:
      - id: timestamp
        type: s8
        -column:
          type: timestamp[ms]
        doc: |
          Largest timestamp of the segment so far, in milliseconds since
          1970-01-01 UTC.
      - id: relative_offset
        -orig-id: relativeOffset
        type: s4
        doc: |
          Last offset of the batch with that timestamp, minus the segment's base
          offset. Leaders before Kafka 3.7 could write the offset of the message
          itself.
