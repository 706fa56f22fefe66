meta:
  id: offset_commit_key
  title: Kafka OffsetCommitKey (key in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: camelCase
-row: true
-message: {kind: coordinator-key, number: 1, topic: __consumer_offsets}
doc: |
  Key of an offset commit: the consumer group, and the partition whose offset it
  committed. A record with this key and a null value deletes the offset.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/group-coordinator/src/main/resources/common/message/OffsetCommitKey.json OffsetCommitKey
seq:
  - id: record_type
    type: s2
    valid: 1
    -column: false
    doc: |
      Record type, called the version of the key up to Kafka 4.0. Type 0,
      written before Kafka 0.9, is `legacy_offset_commit_key`.
  - id: group
    type: text(false)
    doc: Id of the consumer group. Never null.
  - id: topic
    type: text(false)
    doc: Name of the topic. Never null.
  - id: partition
    type: s4
    doc: Number of the partition.
