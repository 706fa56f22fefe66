meta:
  id: consumer_group_target_assignment_member_key
  title: >-
    Kafka ConsumerGroupTargetAssignmentMemberKey (key in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: PascalCase
-message: {kind: coordinator-key, number: 7, topic: __consumer_offsets}
doc: >-
  Key of the target assignment of a consumer group member. A null value means
  that the member has left.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupTargetAssignmentMemberKey.json ConsumerGroupTargetAssignmentMemberKey
seq:
  - id: record_type
    type: s2
    valid: 7
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    type: text(false)
    doc: Id of the consumer group.
  - id: member_id
    type: text(false)
    doc: Id of the member that the partitions are assigned to.
