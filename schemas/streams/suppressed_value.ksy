meta:
  id: suppressed_value
  title: Kafka Streams value of a suppression buffer
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  encoding: UTF-8
  endian: be
doc: |
  Value in the changelog of a suppression buffer (`suppress`). The header `v` of
  the record has the version as one byte: 1, 2 or 3; records without it have
  version 0. Kafka 2.4.0 to 2.5.0 write version 3 with a header of 2. The key of
  the record is that of the table.
doc-ref: https://github.com/apache/kafka/blob/4.3.1/streams/src/main/java/org/apache/kafka/streams/state/internals/TimeOrderedKeyValueBufferChangelogDeserializationHelper.java TimeOrderedKeyValueBufferChangelogDeserializationHelper
params:
  - id: version
    type: u1
    doc: Version of the value, 0 to 3.
seq:
  - id: early_time
    type: s8
    if: version < 2
    doc: '`time` of versions 0 and 1.'
  - id: context
    type: record_context
    if: version >= 1
    doc: The record of the source that the row was computed from.
  - id: change
    type: change_parts
    if: version == 0
    doc: The old and the new value of the row.
  - id: sized_change
    type: sized_change
    if: version == 1 or version == 2
    doc: The same, in versions 1 and 2.
  - id: prior_value
    type: nullable_bytes
    if: version >= 2
    doc: Value of the row before the first change that is in the buffer.
  - id: old_value
    type: old_value
    if: version == 3
    doc: Value of the row before the last change.
  - id: new_value
    type: nullable_bytes
    if: version == 3
    doc: Value of the row after the last change.
  - id: late_time
    type: s8
    if: version >= 2
    doc: '`time` of versions 2 and 3.'
instances:
  time:
    value: 'version < 2 ? early_time : late_time'
    doc: |
      Time of the row in the buffer, in milliseconds since 1970-01-01 UTC: the
      end of its window, or the timestamp of its first change.
types:
  sized_change:
    doc: A change after its length.
    seq:
      - id: len_change
        type: s4
        valid:
          min: 0
        doc: Length of `change`.
      - id: change
        size: len_change
        type: change_parts
        doc: The old and the new value of the row.
  old_value:
    doc: Bytes after their length, null, or a mark.
    seq:
      - id: len_value
        type: s4
        valid:
          min: -2
        doc: Length of `value`; -1 for null, -2 for the same as `prior_value`.
      - id: value
        size: len_value
        if: len_value >= 0
        doc: The bytes; absent for null and for the mark.
  change_parts:
    doc: A change as versions before 3 write it.
    seq:
      - id: old_value
        type: nullable_bytes
        doc: Value of the row before the last change.
      - id: new_value
        type: nullable_bytes
        doc: Value of the row after the last change.
  record_context:
    doc: Where a record came from.
    seq:
      - id: timestamp
        type: s8
        doc: Timestamp of the record, in milliseconds since 1970-01-01 UTC.
      - id: offset
        type: s8
        doc: Offset of the record in `topic`.
      - id: len_topic
        type: s4
        valid:
          min: 0
        doc: Length of `topic` in bytes.
      - id: topic
        size: len_topic
        type: str
        doc: Name of the topic.
      - id: partition
        type: s4
        doc: Number of the partition.
      - id: num_headers
        type: s4
        valid:
          min: -1
        doc: Number of headers; old versions write -1 for none.
      - id: headers
        type: header
        repeat: expr
        repeat-expr: num_headers
        if: num_headers > 0
        doc: The headers of the record.
  header:
    doc: A header of a record.
    seq:
      - id: len_key
        type: s4
        valid:
          min: 0
        doc: Length of `key` in bytes.
      - id: key
        size: len_key
        type: str
        doc: Name of the header.
      - id: value
        type: nullable_bytes
        doc: Value of the header.
  nullable_bytes:
    doc: Bytes after their length, or null.
    seq:
      - id: len_value
        type: s4
        valid:
          min: -1
        doc: Length of `value`; -1 for null.
      - id: value
        size: len_value
        if: len_value >= 0
        doc: The bytes; absent for null.
