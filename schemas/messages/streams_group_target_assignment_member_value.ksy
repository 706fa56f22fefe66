meta:
  id: streams_group_target_assignment_member_value
  title: >-
    Kafka StreamsGroupTargetAssignmentMemberValue (value in __consumer_offsets)
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
-orig-id: StreamsGroupTargetAssignmentMemberValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 21
doc: >-
  Target assignment of a streams group member: the tasks that it will run once
  their current owners have revoked them.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupTargetAssignmentMemberValue.json StreamsGroupTargetAssignmentMemberValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
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
    doc: Tasks whose records the member will process.
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
      Tasks of which the member will keep a copy of the state, to take over when
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
    doc: Tasks whose state the member will restore before they move to it.
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
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
