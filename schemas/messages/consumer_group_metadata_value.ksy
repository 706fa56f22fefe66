meta:
  id: consumer_group_metadata_value
  title: Kafka ConsumerGroupMetadataValue (value in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/int64_value, ../primitives/unsigned_varint]
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 3
  topic: __consumer_offsets
  flexible: 0+
doc: Epoch of a consumer group (KIP-848).
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupMetadataValue.json ConsumerGroupMetadataValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - id: epoch
    type: s4
    doc: >-
      Epoch of the group. It is increased when members, subscriptions or topics
      change, and a new target assignment is then computed.
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
            id: metadata_hash
            doc: >-
              Hash of the subscribed topics with their partitions and racks,
              which shows whether they have changed; 0 means none. Since Kafka
              4.1 (KIP-1101).
