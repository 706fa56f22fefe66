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
  Tasks that a member of a streams group is to run, once those who have them
  give them up.
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
    doc: Tasks whose records the member is to process.
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
      Tasks whose state the member is to keep a copy of, to take over when
      another fails.
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
    doc: Tasks whose state the member is to restore before they move to it.
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
        doc: Id of the subtopology, as in the group's topology.
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
          Numbers of the tasks: a task reads the partitions of this number of
          all input topics.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
