meta:
  id: legacy_offset_commit_key
  title: Kafka LegacyOffsetCommitKey (key in __consumer_offsets)
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
-orig-id: LegacyOffsetCommitKey
-topic: __consumer_offsets
-message:
  kind: coordinator-key
  number: 0
doc: >-
  Kafka's LegacyOffsetCommitKey: key in __consumer_offsets, number 0 of its
  kind.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/LegacyOffsetCommitKey.json LegacyOffsetCommitKey
seq:
  - id: record_type
    type: s2
    valid:
      eq: 0
    doc: Number of the record's type, which says what the key and the value are.
  - id: group
    -orig-id: group
    type: text(false)
    doc: A string.
  - id: topic
    -orig-id: topic
    type: text(false)
    doc: A string.
  - id: partition
    -orig-id: partition
    type: s4
    doc: An int32.
