meta:
  id: share_group_current_member_assignment_value
  title: >-
    Kafka ShareGroupCurrentMemberAssignmentValue (value in __consumer_offsets)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/tagged_fields
    - ../primitives/uuid
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 14
  topic: __consumer_offsets
  flexible: 0+
doc: >-
  Current assignment of a share group member: the partitions that it reads.
  Several members can have the same partition.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupCurrentMemberAssignmentValue.json ShareGroupCurrentMemberAssignmentValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - id: member_epoch
    type: s4
    doc: Current epoch of the member, which its next heartbeat must contain.
  - id: previous_member_epoch
    type: s4
    doc: >-
      Previous epoch of the member. It is accepted too, because the response
      with the current epoch may have been lost.
  - id: state
    type: s1
    doc: >-
      State of the member: 0 stable, 127 unknown. Members of a share group never
      revoke partitions, so the other states of consumer groups are not used.
  - {id: num_assigned_partitions, type: count(true)}
  - id: assigned_partitions
    type: topic_partitions
    repeat: expr
    repeat-expr: num_assigned_partitions.value
    doc: Partitions that the member reads, by topic.
  - {id: tagged_fields, type: tagged_fields}
types:
  topic_partitions:
    doc: Partitions of one topic.
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
