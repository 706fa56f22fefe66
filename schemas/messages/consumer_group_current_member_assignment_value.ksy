meta:
  id: consumer_group_current_member_assignment_value
  title: >-
    Kafka ConsumerGroupCurrentMemberAssignmentValue (value in
    __consumer_offsets)
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
-orig-id: ConsumerGroupCurrentMemberAssignmentValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 8
doc: >-
  Current assignment of a consumer group member: the partitions that it owns,
  and its progress towards the target assignment.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupCurrentMemberAssignmentValue.json ConsumerGroupCurrentMemberAssignmentValue
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
    doc: >-
      Current epoch of the member, which its next heartbeat must contain; -2 if
      a static member has left temporarily.
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
      State of the member: 0 stable, 1 must revoke partitions, 2 waits for
      partitions that other members still own, 127 unknown.
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
    doc: Partitions that the member owns, by topic.
  - id: num_partitions_pending_revocation_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(partitions_pending_revocation) + 1
    doc: Number of elements of `partitions_pending_revocation`, plus one.
  - id: partitions_pending_revocation
    -orig-id: PartitionsPendingRevocation
    type: topic_partitions
    repeat: expr
    repeat-expr: num_partitions_pending_revocation_plus_one.value - 1
    doc: >-
      Partitions that the member must revoke and has not yet confirmed as
      revoked, by topic.
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
        type: topic_partitions_tags
        doc: Optional fields, known and unknown.
  nullable_int32_list:
    -wire: list
    doc: 'Value of a tagged field: a list with its length, or null.'
    seq:
      - id: num_items_plus_one
        type: unsigned_varint
        -derive: count_of(items) + 1
        doc: Number of elements, plus one. 0 means null.
      - id: items
        type: s4
        repeat: expr
        repeat-expr: num_items_plus_one.value - 1
        if: num_items_plus_one.value - 1 >= 0
        -nullable: num_items_plus_one.value - 1 == -1
        doc: The elements.
  topic_partitions_tags:
    -wire: tags
    doc: The tagged-field section.
    seq:
      - id: num_fields
        type: unsigned_varint
        -derive: count_of(fields)
        doc: Number of tagged fields that follow.
      - id: fields
        type: topic_partitions_tag
        repeat: expr
        repeat-expr: num_fields.value
        doc: The tagged fields, in ascending order of their tags.
  topic_partitions_tag:
    doc: One optional field.
    seq:
      - id: tag
        type: unsigned_varint
        doc: Number of the field, unique within its section.
      - id: len_body
        type: unsigned_varint
        -derive: length_of(body)
        doc: Length of `body`, in bytes.
      - id: body
        size: len_body.value
        type:
          switch-on: tag.value.as<s4>
          cases:
            0: nullable_int32_list
        -tags:
          0:
            id: assignment_epochs
            -orig-id: AssignmentEpochs
            -default: empty
            doc: >-
              Member epoch at which each of `partitions` was assigned, in the
              same order; commits with an older epoch are rejected. Null or
              empty if the epochs are unknown.
        doc: The field's value. The values of unknown tags are kept as bytes.
