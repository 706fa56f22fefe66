meta:
  id: partition_change_record
  title: Kafka PartitionChangeRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports:
    - ../primitives/int32_value
    - ../primitives/int8_value
    - ../primitives/nullable_int32_list
    - ../primitives/nullable_uuid_list
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-names: PascalCase
-versions: 0-2
-message: {kind: metadata, number: 5, topic: __cluster_metadata, flexible: 0+}
doc: >-
  Changes of a partition. Each tagged field replaces a value; an absent field
  leaves the value unchanged. The change increases the partition epoch by one.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/PartitionChangeRecord.json PartitionChangeRecord
params:
  - {id: version, type: s2}
seq:
  - id: partition_id
    type: s4
    -default: -1
    doc: Number of the partition.
  - id: topic_id
    type: uuid
    doc: Id of the topic.
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
            doc: Broker ids of the in-sync replicas. Null if unchanged.
          1:
            id: leader
            -default: -2
            doc: >-
              Broker id of the new leader; -1 means none, -2 means unchanged.
              Unless it is -2, the leader epoch is increased.
          2:
            id: replicas
            doc: >-
              Broker ids of the replicas, the preferred leader first. Null if
              unchanged.
          3:
            id: removing_replicas
            doc: >-
              Broker ids of the replicas that a reassignment removes. Null if
              unchanged, empty if none.
          4:
            id: adding_replicas
            doc: >-
              Broker ids of the replicas that a reassignment adds. Null if
              unchanged, empty if none.
          5:
            id: leader_recovery_state
            -default: -1
            doc: >-
              1 if the leader was elected uncleanly and has not recovered, 0 if
              it has recovered or need not, -1 if unchanged.
          6:
            id: eligible_leader_replicas
            -versions: 2+
            doc: >-
              Broker ids of replicas that left the ISR with all committed
              records, and can be elected without data loss (KIP-966). Null if
              unchanged.
          7:
            id: last_known_elr
            -versions: 2+
            doc: >-
              Broker id of the last leader if the ISR is now empty, which is
              elected again if no replica is eligible (KIP-966); at most one
              element. Null if unchanged, empty if none.
          8:
            id: directories
            -versions: 1+
            doc: >-
              Id of the log directory of each replica, in the order of the
              replicas (KIP-858); reserved ids as in `partition_record`. Null if
              unchanged.
