meta:
  id: consumer_group_target_assignment_member_value
  title: >-
    Kafka ConsumerGroupTargetAssignmentMemberValue (value in __consumer_offsets)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/tagged_fields
    - ../primitives/uuid
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 7
  topic: __consumer_offsets
  flexible: 0+
doc: >-
  Target assignment of a consumer group member: the partitions that it will own
  once their current owners have revoked them.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupTargetAssignmentMemberValue.json ConsumerGroupTargetAssignmentMemberValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - {id: num_topic_partitions, type: count(true)}
  - id: topic_partitions
    type: topic_partition
    repeat: expr
    repeat-expr: num_topic_partitions.value
    doc: The partitions, by topic; empty if the member gets none.
  - {id: tagged_fields, type: tagged_fields}
types:
  topic_partition:
    doc: Partitions of one topic in the member's target assignment.
    seq:
      - id: topic_id
        type: uuid
        doc: Id of the topic.
      - {id: num_partitions, type: count(true)}
      - id: partitions
        type: s4
        repeat: expr
        repeat-expr: num_partitions.value
        doc: Numbers of the partitions.
      - {id: tagged_fields, type: tagged_fields}
