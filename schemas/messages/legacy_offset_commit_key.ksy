meta:
  id: legacy_offset_commit_key
  title: Kafka LegacyOffsetCommitKey (key in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: camelCase
-message: {kind: coordinator-key, number: 0, topic: __consumer_offsets}
doc: >-
  Key of an offset commit as early brokers wrote it, with type 0. Brokers still
  read it, and write `offset_commit_key`, type 1, which has the same fields.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/LegacyOffsetCommitKey.json LegacyOffsetCommitKey
seq:
  - id: record_type
    type: s2
    valid: 0
    doc: Record type, which determines the schemas of the key and the value.
  - id: group
    type: text(false)
    doc: Id of the consumer group, `group.id` of its consumers.
  - id: topic
    type: text(false)
    doc: Name of the topic.
  - id: partition
    type: s4
    doc: Number of the partition, from 0.
