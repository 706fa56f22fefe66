meta:
  id: streams_group_metadata_value
  title: Kafka StreamsGroupMetadataValue (value in __consumer_offsets)
  license: Apache-2.0
  imports:
    - ../primitives/int32_value
    - ../primitives/nullable_count
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 17
  topic: __consumer_offsets
  flexible: 0+
doc: Epoch of a streams group (KIP-1071), and the inputs of its last assignment.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMetadataValue.json StreamsGroupMetadataValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - id: epoch
    type: s4
    doc: >-
      Epoch of the group. It is increased when members, topology or topics
      change, and a new target assignment is then computed.
  - id: metadata_hash
    type: s8
    doc: >-
      Hash of the topology's topics with their partitions and racks, which shows
      whether they have changed; 0 means none.
  - {id: tagged_fields, type: message_tags}
types:
  last_assignment_config:
    doc: One entry of the configuration.
    seq:
      - id: key
        type: text(true)
        doc: Name of the entry.
      - id: value
        type: text(true)
        doc: Value of the entry, as text.
      - {id: tagged_fields, type: tagged_fields}
  nullable_last_assignment_config_list:
    -unwrap: items
    doc: 'Value of a tagged field: a list with its length, or null.'
    seq:
      - {id: num_items, type: nullable_count(true)}
      - id: items
        type: last_assignment_config
        repeat: expr
        repeat-expr: num_items.value
        if: num_items.value >= 0
        -nullable: true
        doc: The elements.
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
            0: int32_value
            1: nullable_last_assignment_config_list
            2: int32_value
            3: int32_value
        -tags:
          0:
            id: validated_topology_epoch
            -default: -1
            doc: >-
              Epoch of the topology for which all topics were last found to
              exist and to match it; -1 means none.
          1:
            id: last_assignment_configs
            -default: empty
            doc: >-
              Configuration for which the last target assignment was computed.
              Null or empty if none was stored.
          2:
            id: stored_description_topology_epoch
            -default: -1
            doc: >-
              Epoch of the topology whose description the broker's plugin has
              stored; -1 means none, -2 means unknown because a change was
              interrupted.
          3:
            id: failed_description_topology_epoch
            -default: -1
            doc: >-
              Epoch of the topology whose description the broker's plugin has
              rejected permanently, so that members are not asked for it again;
              -1 means none.
