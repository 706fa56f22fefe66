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
  Key of an offset commit as early brokers wrote it, with type 0. Brokers still
  read it, and write `offset_commit_key`, type 1, which has the same fields.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/LegacyOffsetCommitKey.json LegacyOffsetCommitKey
seq:
  - id: record_type
    type: s2
    valid:
      eq: 0
    doc: Record type, which determines the schemas of the key and the value.
  - id: group
    -orig-id: group
    type: text(false)
    doc: Id of the consumer group, `group.id` of its consumers.
  - id: topic
    -orig-id: topic
    type: text(false)
    doc: Name of the topic.
  - id: partition
    -orig-id: partition
    type: s4
    doc: Number of the partition, from 0.
