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
  Kafka's ShareGroupCurrentMemberAssignmentValue: value in __consumer_offsets,
  number 14 of its kind; version 0, flexible.
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
    doc: An int32.
  - id: previous_member_epoch
    -orig-id: PreviousMemberEpoch
    type: s4
    doc: An int32.
  - id: state
    -orig-id: State
    type: s1
    doc: An int8.
  - id: num_assigned_partitions_plus_one
    type: unsigned_varint
    valid:
      expr: _.value >= 1
    -derive: count_of(assigned_partitions) + 1
    doc: Number of elements of `assigned_partitions`, plus one.
  - id: assigned_partitions
    -orig-id: AssignedPartitions
    type: topic_partitions
    repeat: expr
    repeat-expr: num_assigned_partitions_plus_one.value - 1
    doc: An array of `topic_partitions`.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  topic_partitions:
    -orig-id: TopicPartitions
    doc: Kafka's TopicPartitions.
    seq:
      - id: topic_id
        -orig-id: TopicId
        type: uuid
        doc: A uuid; all zeros is none.
      - id: num_partitions_plus_one
        type: unsigned_varint
        valid:
          expr: _.value >= 1
        -derive: count_of(partitions) + 1
        doc: Number of elements of `partitions`, plus one.
      - id: partitions
        -orig-id: Partitions
        type: s4
        repeat: expr
        repeat-expr: num_partitions_plus_one.value - 1
        doc: An array of int32.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
