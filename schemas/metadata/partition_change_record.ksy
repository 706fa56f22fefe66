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
  What has changed of a partition. Each tagged field replaces the value that was
  there; one that is absent leaves it. The change raises the partition's epoch
  by one.
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
    doc: >-
      Value of a tagged field: the elements, with their number in front, or
      null.
    seq:
      - id: num_items_plus_one
        type: unsigned_varint
        -derive: count_of(items) + 1
        doc: Number of elements, plus one. 0 is null.
      - id: items
        type: s4
        repeat: expr
        repeat-expr: num_items_plus_one.value - 1
        if: num_items_plus_one.value - 1 >= 0
        -nullable: num_items_plus_one.value - 1 == -1
        doc: The elements.
  nullable_uuid_list:
    -wire: list
    doc: >-
      Value of a tagged field: the elements, with their number in front, or
      null.
    seq:
      - id: num_items_plus_one
        type: unsigned_varint
        -derive: count_of(items) + 1
        doc: Number of elements, plus one. 0 is null.
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
            doc: >-
              Broker ids of the replicas that are in sync now. Null where that
              has not changed.
          1:
            id: leader
            -orig-id: Leader
            -default: -2
            doc: >-
              Broker id of the new leader; -1 is none, -2 is unchanged. The
              leader epoch is raised where it is given.
          2:
            id: replicas
            -orig-id: Replicas
            doc: >-
              Broker ids of the replicas now, the preferred leader first. Null
              where that has not changed.
          3:
            id: removing_replicas
            -orig-id: RemovingReplicas
            doc: >-
              Broker ids of the replicas that a reassignment takes away now.
              Null where that has not changed; without elements, none.
          4:
            id: adding_replicas
            -orig-id: AddingReplicas
            doc: >-
              Broker ids of the replicas that a reassignment adds now. Null
              where that has not changed; without elements, none.
          5:
            id: leader_recovery_state
            -orig-id: LeaderRecoveryState
            -default: -1
            doc: >-
              1 where the leader was elected uncleanly and has not recovered, 0
              where it has or need not, -1 where that has not changed.
          6:
            id: eligible_leader_replicas
            -orig-id: EligibleLeaderReplicas
            -since: 2
            doc: >-
              Broker ids of replicas that left the ISR with all committed
              records, and may be elected without loss (KIP-966). Null where
              that has not changed.
          7:
            id: last_known_elr
            -orig-id: LastKnownElr
            -since: 2
            doc: >-
              Broker id of the last leader, where the ISR is empty now, to be
              elected again where no replica is eligible (KIP-966): at most one.
              Null where that has not changed; without elements, none.
          8:
            id: directories
            -orig-id: Directories
            -since: 1
            doc: >-
              Id of the log directory that each replica is in, in the order of
              the replicas (KIP-858); reserved ids as in `partition_record`.
              Null where that has not changed.
        doc: >-
          The field's value. A tag that is not known here gives bytes, which are
          kept.
