meta:
  id: streams_group_target_assignment_metadata_value
  title: >-
    Kafka StreamsGroupTargetAssignmentMetadataValue (value in
    __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/int64_value, ../primitives/unsigned_varint]
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 20
  topic: __consumer_offsets
  flexible: 0+
doc: Epoch for which the target assignment of a streams group was computed.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupTargetAssignmentMetadataValue.json StreamsGroupTargetAssignmentMetadataValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - id: assignment_epoch
    type: s4
    doc: >-
      Epoch of the group for which the target assignment was computed. If the
      group's epoch is higher, a new assignment is due.
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
            0: int64_value
        -tags:
          0:
            id: assignment_timestamp
            -ignorable: true
            doc: >-
              Time at which the assignment was computed, in milliseconds since
              1970-01-01 UTC; 0 means unknown. Since Kafka 4.3 (KIP-1263).
