meta:
  id: legacy_offset_commit_value
  title: Kafka LegacyOffsetCommitValue (value in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: camelCase
-message:
  kind: coordinator-value
  number: 0
  topic: __consumer_offsets
  flexible: none
doc: >-
  Value of an offset commit whose key has type 0: the committed offset of a
  consumer group in a partition.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/LegacyOffsetCommitValue.json LegacyOffsetCommitValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - id: offset
    type: s8
    doc: 'The committed offset: the offset of the next record to read.'
  - id: metadata
    type: text(false)
    doc: Free text from the client. May be empty, never null.
  - id: commit_timestamp
    type: s8
    doc: Time of the commit, in milliseconds since 1970-01-01 UTC.
