meta:
  id: consumer_group_target_assignment_metadata_value
  title: >-
    Kafka ConsumerGroupTargetAssignmentMetadataValue (value in
    __consumer_offsets)
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
  endian: be
-orig-id: ConsumerGroupTargetAssignmentMetadataValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 6
doc: Epoch for which the target assignment of a consumer group was computed.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupTargetAssignmentMetadataValue.json ConsumerGroupTargetAssignmentMetadataValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
  - id: assignment_epoch
    -orig-id: AssignmentEpoch
    type: s4
    doc: >-
      Epoch of the group for which the target assignment was computed. If the
      group's epoch is higher, a new assignment is due.
  - id: tagged_fields
    type: message_tags
    doc: Optional fields, known and unknown.
types:
  int64_value:
    -wire: value
    doc: 'Value of a tagged field: one number.'
    seq:
      - id: value
        type: s8
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
            0: int64_value
        -tags:
          0:
            id: assignment_timestamp
            -orig-id: AssignmentTimestamp
            -ignorable: true
            doc: >-
              Time at which the assignment was computed, in milliseconds since
              1970-01-01 UTC; 0 means unknown. Since Kafka 4.3 (KIP-1263).
        doc: The field's value. The values of unknown tags are kept as bytes.
