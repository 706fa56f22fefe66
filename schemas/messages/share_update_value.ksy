meta:
  id: share_update_value
  title: Kafka ShareUpdateValue (value in __share_group_state)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/int32_value
    - ../primitives/tagged_fields
    - ../primitives/unsigned_varint
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 1
  topic: __share_group_state
  flexible: 0+
doc: >-
  Changes of a share partition (KIP-932) since its snapshot or its previous
  update.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/share-coordinator/src/main/resources/common/message/ShareUpdateValue.json ShareUpdateValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - id: snapshot_epoch
    type: s4
    doc: Number of the snapshot that the update belongs to.
  - id: leader_epoch
    type: s4
    doc: Leader epoch of the partition, as its leader sent it; -1 means unset.
  - id: start_offset
    type: s8
    doc: First offset that the group has not completed; -1 if unchanged.
  - {id: num_state_batches, type: count(true)}
  - id: state_batches
    type: state_batch
    repeat: expr
    repeat-expr: num_state_batches.value
    doc: >-
      Ranges of offsets whose state has changed, to be merged into the known
      state.
  - {id: tagged_fields, type: message_tags}
types:
  state_batch:
    doc: A range of offsets with the same state and delivery count.
    seq:
      - id: first_offset
        type: s8
        doc: First offset of the range.
      - id: last_offset
        type: s8
        doc: Last offset of the range, inclusive.
      - id: delivery_state
        type: s1
        doc: >-
          State of the records: 0 available, 2 acknowledged, 4 archived.
          Acquired (1) is never stored.
      - id: delivery_count
        type: s2
        doc: Number of times the records were delivered.
      - {id: tagged_fields, type: tagged_fields}
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
        -tags:
          0:
            id: delivery_complete_count
            -default: -1
            doc: >-
              Number of offsets from the start offset that need no further
              delivery; -1 means unknown. Since Kafka 4.2 (KIP-1226).
