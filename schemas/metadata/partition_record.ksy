meta:
  id: partition_record
  title: Kafka PartitionRecord (record in __cluster_metadata)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-orig-id: PartitionRecord
-versions: 0-2
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 3
doc: >-
  A partition as it was created or, in a snapshot, its current state. Later
  changes are in `partition_change_record`.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/PartitionRecord.json PartitionRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: partition_id
    -orig-id: PartitionId
    type: s4
    -default: -1
    doc: Number of the partition, from 0.
  - id: topic_id
    -orig-id: TopicId
    type: uuid
    doc: Id of the topic.
  - id: num_replicas_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(replicas) + 1
    doc: Number of elements of `replicas`, plus one.
  - id: replicas
    -orig-id: Replicas
    type: s4
    repeat: expr
    repeat-expr: num_replicas_plus_one.value - 1
    doc: Broker ids of the replicas. The first is the preferred leader.
  - id: num_isr_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(isr) + 1
    doc: Number of elements of `isr`, plus one.
  - id: isr
    -orig-id: Isr
    type: s4
    repeat: expr
    repeat-expr: num_isr_plus_one.value - 1
    doc: Broker ids of the replicas in sync with the leader.
  - id: num_removing_replicas_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(removing_replicas) + 1
    doc: Number of elements of `removing_replicas`, plus one.
  - id: removing_replicas
    -orig-id: RemovingReplicas
    type: s4
    repeat: expr
    repeat-expr: num_removing_replicas_plus_one.value - 1
    doc: Broker ids of the replicas that a reassignment removes. Empty if none.
  - id: num_adding_replicas_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(adding_replicas) + 1
    doc: Number of elements of `adding_replicas`, plus one.
  - id: adding_replicas
    -orig-id: AddingReplicas
    type: s4
    repeat: expr
    repeat-expr: num_adding_replicas_plus_one.value - 1
    doc: >-
      Broker ids of the replicas that a reassignment adds, which are also in
      `replicas`.
  - id: leader
    -orig-id: Leader
    type: s4
    -default: -1
    doc: Broker id of the leader; -1 means none.
  - id: leader_epoch
    -orig-id: LeaderEpoch
    type: s4
    -default: -1
    doc: Leader epoch. Each change that names a leader increases it by one.
  - id: partition_epoch
    -orig-id: PartitionEpoch
    type: s4
    -default: -1
    doc: >-
      Partition epoch: the number of changes of this partition's state. Each
      change increases it by one.
  - id: num_directories_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    if: version >= 1
    -since: 1
    -derive: count_of(directories) + 1
    doc: Number of elements of `directories`, plus one.
  - id: directories
    -orig-id: Directories
    type: uuid
    repeat: expr
    repeat-expr: num_directories_plus_one.value - 1
    if: version >= 1
    -since: 1
    doc: >-
      Id of the log directory of each replica, in the order of `replicas`
      (KIP-858). All zeros means not yet known after a migration; the ids 1 and
      2 mean unassigned and lost.
  - id: tagged_fields
    type: message_tags
    doc: Optional fields, known and unknown.
types:
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
  int8_value:
    -wire: value
    doc: 'Value of a tagged field: one number.'
    seq:
      - id: value
        type: s1
        doc: The number.
  message_tags:
    -wire: tags
    doc: The tagged-field section.
    seq:
      - id: num_fields
        type: unsigned_varint
        -derive: count_of(fields)
        doc: Number of tagged fields that follow.
      - id: fields
        type: message_tag
        repeat: expr
        repeat-expr: num_fields.value
        doc: The tagged fields, in ascending order of their tags.
  message_tag:
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
            0: int8_value
            1: nullable_int32_list
            2: nullable_int32_list
        -tags:
          0:
            id: leader_recovery_state
            -orig-id: LeaderRecoveryState
            doc: >-
              1 if the leader was elected uncleanly and has not recovered,
              otherwise 0.
          1:
            id: eligible_leader_replicas
            -orig-id: EligibleLeaderReplicas
            -since: 2
            doc: >-
              Broker ids of replicas that left the ISR with all committed
              records, and can be elected without data loss (KIP-966), or null.
          2:
            id: last_known_elr
            -orig-id: LastKnownElr
            -since: 2
            doc: >-
              Broker id of the last leader of a partition whose ISR is empty,
              which is elected again if no replica is eligible (KIP-966); at
              most one element, or null.
        doc: The field's value. The values of unknown tags are kept as bytes.
