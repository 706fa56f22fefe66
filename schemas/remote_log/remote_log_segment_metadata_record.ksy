meta:
  id: remote_log_segment_metadata_record
  title: Kafka RemoteLogSegmentMetadataRecord (record in __remote_log_metadata)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/bool8
    - ../primitives/nullable_blob
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-orig-id: RemoteLogSegmentMetadataRecord
-versions: 0
-flexible: 0+
-topic: __remote_log_metadata
-message:
  kind: metadata
  number: 0
doc: >-
  Kafka's RemoteLogSegmentMetadataRecord: record in __remote_log_metadata,
  number 0 of its kind; version 0, flexible.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemoteLogSegmentMetadataRecord.json RemoteLogSegmentMetadataRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: remote_log_segment_id
    -orig-id: RemoteLogSegmentId
    type: remote_log_segment_id_entry
    doc: A `remote_log_segment_id_entry`.
  - id: start_offset
    -orig-id: StartOffset
    type: s8
    doc: An int64.
  - id: end_offset
    -orig-id: EndOffset
    type: s8
    doc: An int64.
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: An int32.
  - id: max_timestamp_ms
    -orig-id: MaxTimestampMs
    type: s8
    doc: An int64.
  - id: event_timestamp_ms
    -orig-id: EventTimestampMs
    type: s8
    doc: An int64.
  - id: num_segment_leader_epochs_plus_one
    type: unsigned_varint
    valid:
      expr: _.value >= 1
    -derive: count_of(segment_leader_epochs) + 1
    doc: Number of elements of `segment_leader_epochs`, plus one.
  - id: segment_leader_epochs
    -orig-id: SegmentLeaderEpochs
    type: segment_leader_epoch_entry
    repeat: expr
    repeat-expr: num_segment_leader_epochs_plus_one.value - 1
    doc: An array of `segment_leader_epoch_entry`.
  - id: segment_size_in_bytes
    -orig-id: SegmentSizeInBytes
    type: s4
    doc: An int32.
  - id: custom_metadata
    -orig-id: CustomMetadata
    type: nullable_blob(true)
    doc: Bytes, or null.
  - id: remote_log_segment_state
    -orig-id: RemoteLogSegmentState
    type: s1
    doc: An int8.
  - id: tagged_fields
    type: message_tags
    doc: Optional fields, known and unknown.
types:
  remote_log_segment_id_entry:
    -orig-id: RemoteLogSegmentIdEntry
    doc: Kafka's RemoteLogSegmentIdEntry.
    seq:
      - id: topic_id_partition
        -orig-id: TopicIdPartition
        type: topic_id_partition_entry
        doc: A `topic_id_partition_entry`.
      - id: id
        -orig-id: Id
        type: uuid
        doc: A uuid; all zeros is none.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  topic_id_partition_entry:
    -orig-id: TopicIdPartitionEntry
    doc: Kafka's TopicIdPartitionEntry.
    seq:
      - id: name
        -orig-id: Name
        type: text(true)
        doc: A string.
      - id: id
        -orig-id: Id
        type: uuid
        doc: A uuid; all zeros is none.
      - id: partition
        -orig-id: Partition
        type: s4
        doc: An int32.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  segment_leader_epoch_entry:
    -orig-id: SegmentLeaderEpochEntry
    doc: Kafka's SegmentLeaderEpochEntry.
    seq:
      - id: leader_epoch
        -orig-id: LeaderEpoch
        type: s4
        doc: An int32.
      - id: offset
        -orig-id: Offset
        type: s8
        doc: An int64.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
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
            0: bool8
        -tags:
          0:
            id: txn_index_empty
            -orig-id: TxnIndexEmpty
            doc: A bool.
        doc: >-
          The field's value. A tag that is not known here gives bytes, which are
          kept.
