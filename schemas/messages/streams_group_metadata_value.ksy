meta:
  id: streams_group_metadata_value
  title: Kafka StreamsGroupMetadataValue (value in __consumer_offsets)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
  endian: be
-orig-id: StreamsGroupMetadataValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 17
doc: Epoch of a streams group (KIP-1071), and the inputs of its last assignment.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMetadataValue.json StreamsGroupMetadataValue
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
      Epoch of the group. It is increased when members, topology or topics
      change, and a new target assignment is then computed.
  - id: metadata_hash
    -orig-id: MetadataHash
    type: s8
    doc: >-
      Hash of the topology's topics with their partitions and racks, which shows
      whether they have changed; 0 means none.
  - id: tagged_fields
    type: message_tags
    doc: Optional fields, known and unknown.
types:
  last_assignment_config:
    -orig-id: LastAssignmentConfig
    doc: One entry of the configuration.
    seq:
      - id: key
        -orig-id: Key
        type: text(true)
        doc: Name of the entry.
      - id: value
        -orig-id: Value
        type: text(true)
        doc: Value of the entry, as text.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  nullable_last_assignment_config_list:
    -wire: list
    doc: 'Value of a tagged field: a list with its length, or null.'
    seq:
      - id: num_items_plus_one
        type: unsigned_varint
        -derive: count_of(items) + 1
        doc: Number of elements, plus one. 0 means null.
      - id: items
        type: last_assignment_config
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
            0: int32_value
            1: nullable_last_assignment_config_list
            2: int32_value
            3: int32_value
        -tags:
          0:
            id: validated_topology_epoch
            -orig-id: ValidatedTopologyEpoch
            -default: -1
            doc: >-
              Epoch of the topology for which all topics were last found to
              exist and to match it; -1 means none.
          1:
            id: last_assignment_configs
            -orig-id: LastAssignmentConfigs
            -default: empty
            doc: >-
              Configuration for which the last target assignment was computed.
              Null or empty if none was stored.
          2:
            id: stored_description_topology_epoch
            -orig-id: StoredDescriptionTopologyEpoch
            -default: -1
            doc: >-
              Epoch of the topology whose description the broker's plugin has
              stored; -1 means none, -2 means unknown because a change was
              interrupted.
          3:
            id: failed_description_topology_epoch
            -orig-id: FailedDescriptionTopologyEpoch
            -default: -1
            doc: >-
              Epoch of the topology whose description the broker's plugin has
              rejected permanently, so that members are not asked for it again;
              -1 means none.
        doc: The field's value. The values of unknown tags are kept as bytes.
