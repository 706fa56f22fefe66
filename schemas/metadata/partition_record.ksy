meta:
  id: partition_record
  title: Kafka PartitionRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/int8_value
    - ../primitives/nullable_int32_list
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-names: PascalCase
-versions: 0-2
-message: {kind: metadata, number: 3, topic: __cluster_metadata, flexible: 0+}
doc: >-
  A partition as it was created or, in a snapshot, its current state. Later
  changes are in `partition_change_record`.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/PartitionRecord.json PartitionRecord
params:
  - {id: version, type: s2}
seq:
  - id: partition_id
    type: s4
    -default: -1
    doc: Number of the partition, from 0.
  - id: topic_id
    type: uuid
    doc: Id of the topic.
  - {id: num_replicas, type: count(true)}
  - id: replicas
    type: s4
    repeat: expr
    repeat-expr: num_replicas.value
    doc: Broker ids of the replicas. The first is the preferred leader.
  - {id: num_isr, type: count(true)}
  - id: isr
    type: s4
    repeat: expr
    repeat-expr: num_isr.value
    doc: Broker ids of the replicas in sync with the leader.
  - {id: num_removing_replicas, type: count(true)}
  - id: removing_replicas
    type: s4
    repeat: expr
    repeat-expr: num_removing_replicas.value
    doc: Broker ids of the replicas that a reassignment removes. Empty if none.
  - {id: num_adding_replicas, type: count(true)}
  - id: adding_replicas
    type: s4
    repeat: expr
    repeat-expr: num_adding_replicas.value
    doc: >-
      Broker ids of the replicas that a reassignment adds, which are also in
      `replicas`.
  - id: leader
    type: s4
    -default: -1
    doc: Broker id of the leader; -1 means none.
  - id: leader_epoch
    type: s4
    -default: -1
    doc: Leader epoch. Each change that names a leader increases it by one.
  - id: partition_epoch
    type: s4
    -default: -1
    doc: >-
      Partition epoch: the number of changes of this partition's state. Each
      change increases it by one.
  - {id: num_directories, type: count(true), if: version >= 1}
  - id: directories
    type: uuid
    repeat: expr
    repeat-expr: num_directories.value
    if: version >= 1
    doc: >-
      Id of the log directory of each replica, in the order of `replicas`
      (KIP-858). All zeros means not yet known after a migration; the ids 1 and
      2 mean unassigned and lost.
  - {id: tagged_fields, type: message_tags}
types:
  message_tags:
    doc: Optional fields, known and unknown.
    seq:
      - {id: num_fields, type: unsigned_varint}
      - id: fields
        type: message_tag
        repeat: expr
        repeat-expr: num_fields.value
  message_tag:
    seq:
      - {id: tag, type: unsigned_varint}
      - {id: len_body, type: unsigned_varint}
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
            doc: >-
              1 if the leader was elected uncleanly and has not recovered,
              otherwise 0.
          1:
            id: eligible_leader_replicas
            -versions: 2+
            doc: >-
              Broker ids of replicas that left the ISR with all committed
              records, and can be elected without data loss (KIP-966), or null.
          2:
            id: last_known_elr
            -versions: 2+
            doc: >-
              Broker id of the last leader of a partition whose ISR is empty,
              which is elected again if no replica is eligible (KIP-966); at
              most one element, or null.
