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
  The copy of a segment to remote storage has started (KIP-405). Later changes
  of its state are in `remote_log_segment_metadata_update_record`.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemoteLogSegmentMetadataRecord.json RemoteLogSegmentMetadataRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: remote_log_segment_id
    -orig-id: RemoteLogSegmentId
    type: remote_log_segment_id_entry
    doc: The segment.
  - id: start_offset
    -orig-id: StartOffset
    type: s8
    doc: First offset of the segment.
  - id: end_offset
    -orig-id: EndOffset
    type: s8
    doc: Last offset of the segment, inclusive.
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: 'Id of the broker that wrote the record: the leader of the partition.'
  - id: max_timestamp_ms
    -orig-id: MaxTimestampMs
    type: s8
    doc: >-
      Largest timestamp of the segment's records, in milliseconds since
      1970-01-01 UTC.
  - id: event_timestamp_ms
    -orig-id: EventTimestampMs
    type: s8
    doc: >-
      Time at which the record was created, in milliseconds since 1970-01-01
      UTC.
  - id: num_segment_leader_epochs_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(segment_leader_epochs) + 1
    doc: Number of elements of `segment_leader_epochs`, plus one.
  - id: segment_leader_epochs
    -orig-id: SegmentLeaderEpochs
    type: segment_leader_epoch_entry
    repeat: expr
    repeat-expr: num_segment_leader_epochs_plus_one.value - 1
    doc: Leader epochs of the segment's records, each with its first offset.
  - id: segment_size_in_bytes
    -orig-id: SegmentSizeInBytes
    type: s4
    doc: Size of the segment's log file, in bytes.
  - id: custom_metadata
    -orig-id: CustomMetadata
    type: nullable_blob(true)
    doc: Data that the remote storage plugin defines (KIP-917), or null.
  - id: remote_log_segment_state
    -orig-id: RemoteLogSegmentState
    type: s1
    doc: >-
      State: 0 copy started, 1 copy finished, 2 deletion started, 3 deletion
      finished.
  - id: tagged_fields
    type: message_tags
    doc: Optional fields, known and unknown.
types:
  remote_log_segment_id_entry:
    -orig-id: RemoteLogSegmentIdEntry
    doc: >-
      A segment in remote storage. A repeated copy of the same segment has a new
      id.
    seq:
      - id: topic_id_partition
        -orig-id: TopicIdPartition
        type: topic_id_partition_entry
        doc: Partition of the segment.
      - id: id
        -orig-id: Id
        type: uuid
        doc: Random id of the copy.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  topic_id_partition_entry:
    -orig-id: TopicIdPartitionEntry
    doc: Partition of a topic, with the name and the id of the topic.
    seq:
      - id: name
        -orig-id: Name
        type: text(true)
        doc: Name of the topic.
      - id: id
        -orig-id: Id
        type: uuid
        doc: Id of the topic.
      - id: partition
        -orig-id: Partition
        type: s4
        doc: Number of the partition.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  segment_leader_epoch_entry:
    -orig-id: SegmentLeaderEpochEntry
    doc: A leader epoch with records in the segment.
    seq:
      - id: leader_epoch
        -orig-id: LeaderEpoch
        type: s4
        doc: The epoch.
      - id: offset
        -orig-id: Offset
        type: s8
        doc: First offset of the epoch in the segment.
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
            doc: >-
              Whether the segment has no aborted transactions, so that readers
              need not fetch its transaction index.
        doc: The field's value. The values of unknown tags are kept as bytes.
