meta:
  id: consumer_group_current_member_assignment_value
  title: >-
    Kafka ConsumerGroupCurrentMemberAssignmentValue (value in
    __consumer_offsets)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/nullable_int32_list
    - ../primitives/tagged_fields
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 8
  topic: __consumer_offsets
  flexible: 0+
doc: >-
  Current assignment of a consumer group member: the partitions that it owns,
  and its progress towards the target assignment.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupCurrentMemberAssignmentValue.json ConsumerGroupCurrentMemberAssignmentValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - id: member_epoch
    type: s4
    doc: >-
      Current epoch of the member, which its next heartbeat must contain; -2 if
      a static member has left temporarily.
  - id: previous_member_epoch
    type: s4
    doc: >-
      Previous epoch of the member. It is accepted too, because the response
      with the current epoch may have been lost.
  - id: state
    type: s1
    doc: >-
      State of the member: 0 stable, 1 must revoke partitions, 2 waits for
      partitions that other members still own, 127 unknown.
  - {id: num_assigned_partitions, type: count(true)}
  - id: assigned_partitions
    type: topic_partitions
    repeat: expr
    repeat-expr: num_assigned_partitions.value
    doc: Partitions that the member owns, by topic.
  - {id: num_partitions_pending_revocation, type: count(true)}
  - id: partitions_pending_revocation
    type: topic_partitions
    repeat: expr
    repeat-expr: num_partitions_pending_revocation.value
    doc: >-
      Partitions that the member must revoke and has not yet confirmed as
      revoked, by topic.
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
      - {id: tagged_fields, type: topic_partitions_tags}
  topic_partitions_tags:
    doc: Optional fields, known and unknown.
    seq:
      - {id: num_fields, type: unsigned_varint}
      - id: fields
        type: topic_partitions_tag
        repeat: expr
        repeat-expr: num_fields.value
  topic_partitions_tag:
    seq:
      - {id: tag, type: unsigned_varint}
      - {id: len_body, type: unsigned_varint}
      - id: body
        size: len_body.value
        type:
          switch-on: tag.value.as<s4>
          cases:
            0: nullable_int32_list
        -tags:
          0:
            id: assignment_epochs
            -default: empty
            doc: >-
              Member epoch at which each of `partitions` was assigned, in the
              same order; commits with an older epoch are rejected. Null or
              empty if the epochs are unknown.
