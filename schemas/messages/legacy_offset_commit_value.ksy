meta:
  id: legacy_offset_commit_value
  title: Kafka LegacyOffsetCommitValue (value in __consumer_offsets)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/text
  endian: be
-orig-id: LegacyOffsetCommitValue
-versions: 0
-flexible: none
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 0
doc: >-
  Value of an offset commit whose key has type 0: the committed offset of a
  consumer group in a partition.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/LegacyOffsetCommitValue.json LegacyOffsetCommitValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
  - id: offset
    -orig-id: offset
    type: s8
    doc: 'The committed offset: the offset of the next record to read.'
  - id: metadata
    -orig-id: metadata
    type: text(false)
    doc: Free text from the client. May be empty, never null.
  - id: commit_timestamp
    -orig-id: commitTimestamp
    type: s8
    doc: Time of the commit, in milliseconds since 1970-01-01 UTC.
