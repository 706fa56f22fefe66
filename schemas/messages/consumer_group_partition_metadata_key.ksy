meta:
  id: consumer_group_partition_metadata_key
  title: Kafka ConsumerGroupPartitionMetadataKey (key in __consumer_offsets)
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
-orig-id: ConsumerGroupPartitionMetadataKey
-topic: __consumer_offsets
-message:
  kind: coordinator-key
  number: 4
doc: >-
  Key of the topics that a consumer group subscribes to. Since Kafka 4.1
  (KIP-1101), `metadata_hash` of `consumer_group_metadata_value` replaces this
  record, and a null value removes it.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupPartitionMetadataKey.json ConsumerGroupPartitionMetadataKey
seq:
  - id: record_type
    type: s2
    valid:
      eq: 4
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    -orig-id: GroupId
    type: text(false)
    doc: Id of the consumer group.
