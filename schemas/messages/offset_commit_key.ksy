meta:
  id: offset_commit_key
  title: Kafka OffsetCommitKey (key in __consumer_offsets)
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
-orig-id: OffsetCommitKey
-row: true
-topic: __consumer_offsets
-message:
  kind: coordinator-key
  number: 1
doc: |
  Key of an offset commit: the consumer group, and the partition whose offset it
  committed. A record with this key and a null value deletes the offset.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/group-coordinator/src/main/resources/common/message/OffsetCommitKey.json OffsetCommitKey
seq:
  - id: record_type
    type: s2
    valid:
      eq: 1
    -column: false
    doc: |
      Record type, called the version of the key up to Kafka 4.0. Type 0,
      written before Kafka 0.9, is `legacy_offset_commit_key`.
  - id: group
    -orig-id: group
    type: text(false)
    -column:
      type: string
    doc: Id of the consumer group. Never null.
  - id: topic
    -orig-id: topic
    type: text(false)
    -column:
      type: string
    doc: Name of the topic. Never null.
  - id: partition
    -orig-id: partition
    type: s4
    -column:
      type: int32
    doc: Number of the partition.
