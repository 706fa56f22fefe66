meta:
  id: consumer_group_target_assignment_metadata_key
  title: >-
    Kafka ConsumerGroupTargetAssignmentMetadataKey (key in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: PascalCase
-message: {kind: coordinator-key, number: 6, topic: __consumer_offsets}
doc: >-
  Key of the epoch of a consumer group's target assignment. A null value means
  that there is no target assignment.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupTargetAssignmentMetadataKey.json ConsumerGroupTargetAssignmentMetadataKey
seq:
  - id: record_type
    type: s2
    valid: 6
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    type: text(false)
    doc: Id of the consumer group.
