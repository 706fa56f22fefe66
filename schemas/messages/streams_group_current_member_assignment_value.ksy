meta:
  id: streams_group_current_member_assignment_value
  title: >-
    Kafka StreamsGroupCurrentMemberAssignmentValue (value in __consumer_offsets)
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
    - ../primitives/text
    - ../primitives/unsigned_varint
  endian: be
-orig-id: StreamsGroupCurrentMemberAssignmentValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 22
doc: >-
  Current assignment of a streams group member: its tasks, and its progress
  towards the target assignment.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupCurrentMemberAssignmentValue.json StreamsGroupCurrentMemberAssignmentValue
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
      State of the member: 1 stable, 2 must revoke tasks, 3 waits for tasks that
      other members still have, 127 unknown. Consumer groups number these states
      from 0.
  - id: num_active_tasks_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(active_tasks) + 1
    doc: Number of elements of `active_tasks`, plus one.
  - id: active_tasks
    -orig-id: ActiveTasks
    type: task_ids
    repeat: expr
    repeat-expr: num_active_tasks_plus_one.value - 1
    doc: Tasks whose records the member processes.
  - id: num_standby_tasks_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(standby_tasks) + 1
    doc: Number of elements of `standby_tasks`, plus one.
  - id: standby_tasks
    -orig-id: StandbyTasks
    type: task_ids
    repeat: expr
    repeat-expr: num_standby_tasks_plus_one.value - 1
    doc: >-
      Tasks of which the member keeps a copy of the state, to take over when
      another member fails.
  - id: num_warmup_tasks_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(warmup_tasks) + 1
    doc: Number of elements of `warmup_tasks`, plus one.
  - id: warmup_tasks
    -orig-id: WarmupTasks
    type: task_ids
    repeat: expr
    repeat-expr: num_warmup_tasks_plus_one.value - 1
    doc: Tasks whose state the member restores before they move to it.
  - id: num_active_tasks_pending_revocation_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(active_tasks_pending_revocation) + 1
    doc: Number of elements of `active_tasks_pending_revocation`, plus one.
  - id: active_tasks_pending_revocation
    -orig-id: ActiveTasksPendingRevocation
    type: task_ids
    repeat: expr
    repeat-expr: num_active_tasks_pending_revocation_plus_one.value - 1
    doc: >-
      Active tasks that the member must revoke and has not yet confirmed as
      revoked.
  - id: num_standby_tasks_pending_revocation_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(standby_tasks_pending_revocation) + 1
    doc: Number of elements of `standby_tasks_pending_revocation`, plus one.
  - id: standby_tasks_pending_revocation
    -orig-id: StandbyTasksPendingRevocation
    type: task_ids
    repeat: expr
    repeat-expr: num_standby_tasks_pending_revocation_plus_one.value - 1
    doc: >-
      Standby tasks that the member must revoke and has not yet confirmed as
      revoked.
  - id: num_warmup_tasks_pending_revocation_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(warmup_tasks_pending_revocation) + 1
    doc: Number of elements of `warmup_tasks_pending_revocation`, plus one.
  - id: warmup_tasks_pending_revocation
    -orig-id: WarmupTasksPendingRevocation
    type: task_ids
    repeat: expr
    repeat-expr: num_warmup_tasks_pending_revocation_plus_one.value - 1
    doc: >-
      Warm-up tasks that the member must revoke and has not yet confirmed as
      revoked.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  task_ids:
    -orig-id: TaskIds
    doc: Tasks of one subtopology.
    seq:
      - id: subtopology_id
        -orig-id: SubtopologyId
        type: text(true)
        doc: Id of the subtopology in the group's topology.
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
        doc: >-
          Numbers of the tasks: a task reads the partition with its number from
          each input topic.
      - id: tagged_fields
        type: task_ids_tags
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
  task_ids_tags:
    -wire: tags
    doc: The tagged-field section.
    seq:
      - id: num_fields
        type: unsigned_varint
        -derive: count_of(fields)
        doc: Number of tagged fields that follow.
      - id: fields
        type: task_ids_tag
        repeat: expr
        repeat-expr: num_fields.value
        doc: The tagged fields, in ascending order of their tags.
  task_ids_tag:
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
              same order; commits with an older epoch are rejected. For active
              tasks only; null or empty if the epochs are unknown.
        doc: The field's value. The values of unknown tags are kept as bytes.
