meta:
  id: streams_group_target_assignment_member_value
  title: >-
    Kafka StreamsGroupTargetAssignmentMemberValue (value in __consumer_offsets)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/tagged_fields
    - ../primitives/text
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 21
  topic: __consumer_offsets
  flexible: 0+
doc: >-
  Target assignment of a streams group member: the tasks that it will run once
  their current owners have revoked them.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupTargetAssignmentMemberValue.json StreamsGroupTargetAssignmentMemberValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - {id: num_active_tasks, type: count(true)}
  - id: active_tasks
    type: task_ids
    repeat: expr
    repeat-expr: num_active_tasks.value
    doc: Tasks whose records the member will process.
  - {id: num_standby_tasks, type: count(true)}
  - id: standby_tasks
    type: task_ids
    repeat: expr
    repeat-expr: num_standby_tasks.value
    doc: >-
      Tasks of which the member will keep a copy of the state, to take over when
      another member fails.
  - {id: num_warmup_tasks, type: count(true)}
  - id: warmup_tasks
    type: task_ids
    repeat: expr
    repeat-expr: num_warmup_tasks.value
    doc: Tasks whose state the member will restore before they move to it.
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
      - {id: tagged_fields, type: tagged_fields}
