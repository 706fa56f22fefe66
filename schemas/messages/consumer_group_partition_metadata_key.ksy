meta:
  id: consumer_group_partition_metadata_key
  title: Kafka ConsumerGroupPartitionMetadataKey (key in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: PascalCase
-message: {kind: coordinator-key, number: 4, topic: __consumer_offsets}
doc: >-
  Key of the topics that a consumer group subscribes to. Since Kafka 4.1
  (KIP-1101), `metadata_hash` of `consumer_group_metadata_value` replaces this
  record, and a null value removes it.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupPartitionMetadataKey.json ConsumerGroupPartitionMetadataKey
seq:
  - id: record_type
    type: s2
    valid: 4
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    type: text(false)
    doc: Id of the consumer group.
