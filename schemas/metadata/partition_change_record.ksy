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
  Kafka's PartitionChangeRecord: record in __cluster_metadata, number 5 of its
  kind; versions 0-2, flexible.
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
    doc: An int32.
  - id: topic_id
    -orig-id: TopicId
    type: uuid
    doc: A uuid; all zeros is none.
  - id: tagged_fields
    type: message_tags
    doc: Optional fields, known and unknown.
types:
  nullable_int32_list:
    -wire: list
    doc: An array of int32, or null.
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
    doc: An array of uuid, or null.
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
    doc: An int32.
    seq:
      - id: value
        type: s4
        doc: The number.
  int8_value:
    -wire: value
    doc: An int8.
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
            doc: An array of int32, or null.
          1:
            id: leader
            -orig-id: Leader
            -default: -2
            doc: An int32.
          2:
            id: replicas
            -orig-id: Replicas
            doc: An array of int32, or null.
          3:
            id: removing_replicas
            -orig-id: RemovingReplicas
            doc: An array of int32, or null.
          4:
            id: adding_replicas
            -orig-id: AddingReplicas
            doc: An array of int32, or null.
          5:
            id: leader_recovery_state
            -orig-id: LeaderRecoveryState
            -default: -1
            doc: An int8.
          6:
            id: eligible_leader_replicas
            -orig-id: EligibleLeaderReplicas
            -since: 2
            doc: An array of int32, or null.
          7:
            id: last_known_elr
            -orig-id: LastKnownElr
            -since: 2
            doc: An array of int32, or null.
          8:
            id: directories
            -orig-id: Directories
            -since: 1
            doc: An array of uuid, or null.
        doc: >-
          The field's value. A tag that is not known here gives bytes, which are
          kept.
