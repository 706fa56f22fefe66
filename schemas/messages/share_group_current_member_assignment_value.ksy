meta:
  id: share_group_current_member_assignment_value
  title: >-
    Kafka ShareGroupCurrentMemberAssignmentValue (value in __consumer_offsets)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/tagged_fields
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-orig-id: ShareGroupCurrentMemberAssignmentValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 14
doc: >-
  Current assignment of a share group member: the partitions that it reads.
  Several members can have the same partition.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupCurrentMemberAssignmentValue.json ShareGroupCurrentMemberAssignmentValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
  - id: member_epoch
    -orig-id: MemberEpoch
    type: s4
    doc: Current epoch of the member, which its next heartbeat must contain.
  - id: previous_member_epoch
    -orig-id: PreviousMemberEpoch
    type: s4
    doc: >-
      Previous epoch of the member. It is accepted too, because the response
      with the current epoch may have been lost.
  - id: state
    -orig-id: State
    type: s1
    doc: >-
      State of the member: 0 stable, 127 unknown. Members of a share group never
      revoke partitions, so the other states of consumer groups are not used.
  - id: num_assigned_partitions_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(assigned_partitions) + 1
    doc: Number of elements of `assigned_partitions`, plus one.
  - id: assigned_partitions
    -orig-id: AssignedPartitions
    type: topic_partitions
    repeat: expr
    repeat-expr: num_assigned_partitions_plus_one.value - 1
    doc: Partitions that the member reads, by topic.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  topic_partitions:
    -orig-id: TopicPartitions
    doc: Partitions of one topic.
    seq:
      - id: topic_id
        -orig-id: TopicId
        type: uuid
        doc: Id of the topic.
      - id: num_partitions_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(partitions) + 1
        doc: Number of elements of `partitions`, plus one.
      - id: partitions
        -orig-id: Partitions
        type: s4
        repeat: expr
        repeat-expr: num_partitions_plus_one.value - 1
        doc: Numbers of the partitions.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
