meta:
  id: consumer_group_metadata_value
  title: Kafka ConsumerGroupMetadataValue (value in __consumer_offsets)
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
-orig-id: ConsumerGroupMetadataValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 3
doc: Epoch of a consumer group (KIP-848).
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupMetadataValue.json ConsumerGroupMetadataValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
  - id: epoch
    -orig-id: Epoch
    type: s4
    doc: >-
      Epoch of the group. It is increased when members, subscriptions or topics
      change, and a new target assignment is then computed.
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
            id: metadata_hash
            -orig-id: MetadataHash
            doc: >-
              Hash of the subscribed topics with their partitions and racks,
              which shows whether they have changed; 0 means none. Since Kafka
              4.1 (KIP-1101).
        doc: The field's value. The values of unknown tags are kept as bytes.
