meta:
  id: share_update_value
  title: Kafka ShareUpdateValue (value in __share_group_state)
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
    - ../primitives/unsigned_varint
  endian: be
-orig-id: ShareUpdateValue
-versions: 0
-flexible: 0+
-topic: __share_group_state
-message:
  kind: coordinator-value
  number: 1
doc: >-
  Changes of a share partition (KIP-932) since its snapshot or its previous
  update.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/share-coordinator/src/main/resources/common/message/ShareUpdateValue.json ShareUpdateValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
  - id: snapshot_epoch
    -orig-id: SnapshotEpoch
    type: s4
    doc: Number of the snapshot that the update belongs to.
  - id: leader_epoch
    -orig-id: LeaderEpoch
    type: s4
    doc: Leader epoch of the partition, as its leader sent it; -1 means unset.
  - id: start_offset
    -orig-id: StartOffset
    type: s8
    doc: First offset that the group has not completed; -1 if unchanged.
  - id: num_state_batches_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(state_batches) + 1
    doc: Number of elements of `state_batches`, plus one.
  - id: state_batches
    -orig-id: StateBatches
    type: state_batch
    repeat: expr
    repeat-expr: num_state_batches_plus_one.value - 1
    doc: >-
      Ranges of offsets whose state has changed, to be merged into the known
      state.
  - id: tagged_fields
    type: message_tags
    doc: Optional fields, known and unknown.
types:
  state_batch:
    -orig-id: StateBatch
    doc: A range of offsets with the same state and delivery count.
    seq:
      - id: first_offset
        -orig-id: FirstOffset
        type: s8
        doc: First offset of the range.
      - id: last_offset
        -orig-id: LastOffset
        type: s8
        doc: Last offset of the range, inclusive.
      - id: delivery_state
        -orig-id: DeliveryState
        type: s1
        doc: >-
          State of the records: 0 available, 2 acknowledged, 4 archived.
          Acquired (1) is never stored.
      - id: delivery_count
        -orig-id: DeliveryCount
        type: s2
        doc: Number of times the records were delivered.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
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
        -tags:
          0:
            id: delivery_complete_count
            -orig-id: DeliveryCompleteCount
            -default: -1
            doc: >-
              Number of offsets from the start offset that need no further
              delivery; -1 means unknown. Since Kafka 4.2 (KIP-1226).
        doc: The field's value. The values of unknown tags are kept as bytes.
