meta:
  id: consumer_group_metadata_key
  title: Kafka ConsumerGroupMetadataKey (key in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: PascalCase
-message: {kind: coordinator-key, number: 3, topic: __consumer_offsets}
doc: >-
  Key of a consumer group of KIP-848, whose assignment the broker computes. A
  null value means that the group was deleted or has become a classic group.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupMetadataKey.json ConsumerGroupMetadataKey
seq:
  - id: record_type
    type: s2
    valid: 3
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    type: text(false)
    doc: Id of the consumer group.
