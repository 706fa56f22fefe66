meta:
  id: streams_group_current_member_assignment_value
  title: >-
    Kafka StreamsGroupCurrentMemberAssignmentValue (value in __consumer_offsets)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/nullable_int32_list
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 22
  topic: __consumer_offsets
  flexible: 0+
doc: >-
  Current assignment of a streams group member: its tasks, and its progress
  towards the target assignment.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupCurrentMemberAssignmentValue.json StreamsGroupCurrentMemberAssignmentValue
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
      State of the member: 1 stable, 2 must revoke tasks, 3 waits for tasks that
      other members still have, 127 unknown. Consumer groups number these states
      from 0.
  - {id: num_active_tasks, type: count(true)}
  - id: active_tasks
    type: task_ids
    repeat: expr
    repeat-expr: num_active_tasks.value
    doc: Tasks whose records the member processes.
  - {id: num_standby_tasks, type: count(true)}
  - id: standby_tasks
    type: task_ids
    repeat: expr
    repeat-expr: num_standby_tasks.value
    doc: >-
      Tasks of which the member keeps a copy of the state, to take over when
      another member fails.
  - {id: num_warmup_tasks, type: count(true)}
  - id: warmup_tasks
    type: task_ids
    repeat: expr
    repeat-expr: num_warmup_tasks.value
    doc: Tasks whose state the member restores before they move to it.
  - {id: num_active_tasks_pending_revocation, type: count(true)}
  - id: active_tasks_pending_revocation
    type: task_ids
    repeat: expr
    repeat-expr: num_active_tasks_pending_revocation.value
    doc: >-
      Active tasks that the member must revoke and has not yet confirmed as
      revoked.
  - {id: num_standby_tasks_pending_revocation, type: count(true)}
  - id: standby_tasks_pending_revocation
    type: task_ids
    repeat: expr
    repeat-expr: num_standby_tasks_pending_revocation.value
    doc: >-
      Standby tasks that the member must revoke and has not yet confirmed as
      revoked.
  - {id: num_warmup_tasks_pending_revocation, type: count(true)}
  - id: warmup_tasks_pending_revocation
    type: task_ids
    repeat: expr
    repeat-expr: num_warmup_tasks_pending_revocation.value
    doc: >-
      Warm-up tasks that the member must revoke and has not yet confirmed as
      revoked.
  - {id: tagged_fields, type: tagged_fields}
types:
  task_ids:
    doc: Tasks of one subtopology.
    seq:
      - id: subtopology_id
        type: text(true)
        doc: Id of the subtopology in the group's topology.
      - {id: num_partitions, type: count(true)}
      - id: partitions
        type: s4
        repeat: expr
        repeat-expr: num_partitions.value
        doc: >-
          Numbers of the tasks: a task reads the partition with its number from
          each input topic.
      - {id: tagged_fields, type: task_ids_tags}
  task_ids_tags:
    doc: Optional fields, known and unknown.
    seq:
      - {id: num_fields, type: unsigned_varint}
      - id: fields
        type: task_ids_tag
        repeat: expr
        repeat-expr: num_fields.value
  task_ids_tag:
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
              same order; commits with an older epoch are rejected. For active
              tasks only; null or empty if the epochs are unknown.
