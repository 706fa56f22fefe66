meta:
  id: partition_change_record
  title: Kafka PartitionChangeRecord (record in __cluster_metadata)
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
-orig-id: PartitionChangeRecord
-versions: 0-2
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 5
doc: >-
  Changes of a partition. Each tagged field replaces a value; an absent field
  leaves the value unchanged. The change increases the partition epoch by one.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/PartitionChangeRecord.json PartitionChangeRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: partition_id
    -orig-id: PartitionId
    type: s4
    -default: -1
    doc: Number of the partition.
  - id: topic_id
    -orig-id: TopicId
    type: uuid
    doc: Id of the topic.
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
  nullable_uuid_list:
    -wire: list
    doc: 'Value of a tagged field: a list with its length, or null.'
    seq:
      - id: num_items_plus_one
        type: unsigned_varint
        -derive: count_of(items) + 1
        doc: Number of elements, plus one. 0 means null.
      - id: items
        type: uuid
        repeat: expr
        repeat-expr: num_items_plus_one.value - 1
        if: num_items_plus_one.value - 1 >= 0
        -nullable: num_items_plus_one.value - 1 == -1
        doc: The elements.
  int32_value:
    -wire: value
    doc: 'Value of a tagged field: one number.'
    seq:
      - id: value
        type: s4
        doc: The number.
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
            0: nullable_int32_list
            1: int32_value
            2: nullable_int32_list
            3: nullable_int32_list
            4: nullable_int32_list
            5: int8_value
            6: nullable_int32_list
            7: nullable_int32_list
            8: nullable_uuid_list
        -tags:
          0:
            id: isr
            -orig-id: Isr
            doc: Broker ids of the in-sync replicas. Null if unchanged.
          1:
            id: leader
            -orig-id: Leader
            -default: -2
            doc: >-
              Broker id of the new leader; -1 means none, -2 means unchanged.
              Unless it is -2, the leader epoch is increased.
          2:
            id: replicas
            -orig-id: Replicas
            doc: >-
              Broker ids of the replicas, the preferred leader first. Null if
              unchanged.
          3:
            id: removing_replicas
            -orig-id: RemovingReplicas
            doc: >-
              Broker ids of the replicas that a reassignment removes. Null if
              unchanged, empty if none.
          4:
            id: adding_replicas
            -orig-id: AddingReplicas
            doc: >-
              Broker ids of the replicas that a reassignment adds. Null if
              unchanged, empty if none.
          5:
            id: leader_recovery_state
            -orig-id: LeaderRecoveryState
            -default: -1
            doc: >-
              1 if the leader was elected uncleanly and has not recovered, 0 if
              it has recovered or need not, -1 if unchanged.
          6:
            id: eligible_leader_replicas
            -orig-id: EligibleLeaderReplicas
            -since: 2
            doc: >-
              Broker ids of replicas that left the ISR with all committed
              records, and can be elected without data loss (KIP-966). Null if
              unchanged.
          7:
            id: last_known_elr
            -orig-id: LastKnownElr
            -since: 2
            doc: >-
              Broker id of the last leader if the ISR is now empty, which is
              elected again if no replica is eligible (KIP-966); at most one
              element. Null if unchanged, empty if none.
          8:
            id: directories
            -orig-id: Directories
            -since: 1
            doc: >-
              Id of the log directory of each replica, in the order of the
              replicas (KIP-858); reserved ids as in `partition_record`. Null if
              unchanged.
        doc: The field's value. The values of unknown tags are kept as bytes.
