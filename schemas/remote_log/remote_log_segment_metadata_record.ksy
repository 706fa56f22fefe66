meta:
  id: remote_log_segment_metadata_record
  title: Kafka RemoteLogSegmentMetadataRecord (record in __remote_log_metadata)
  license: Apache-2.0
  imports:
    - ../primitives/bool8
    - ../primitives/count
    - ../primitives/nullable_blob
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-names: PascalCase
-versions: 0
-message:
  kind: metadata
  number: 0
  topic: __remote_log_metadata
  flexible: 0+
doc: >-
  The copy of a segment to remote storage has started (KIP-405). Later changes
  of its state are in `remote_log_segment_metadata_update_record`.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemoteLogSegmentMetadataRecord.json RemoteLogSegmentMetadataRecord
params:
  - {id: version, type: s2}
seq:
  - id: remote_log_segment_id
    type: remote_log_segment_id_entry
    doc: The segment.
  - id: start_offset
    type: s8
    doc: First offset of the segment.
  - id: end_offset
    type: s8
    doc: Last offset of the segment, inclusive.
  - id: broker_id
    type: s4
    doc: 'Id of the broker that wrote the record: the leader of the partition.'
  - id: max_timestamp_ms
    type: s8
    doc: >-
      Largest timestamp of the segment's records, in milliseconds since
      1970-01-01 UTC.
  - id: event_timestamp_ms
    type: s8
    doc: >-
      Time at which the record was created, in milliseconds since 1970-01-01
      UTC.
  - {id: num_segment_leader_epochs, type: count(true)}
  - id: segment_leader_epochs
    type: segment_leader_epoch_entry
    repeat: expr
    repeat-expr: num_segment_leader_epochs.value
    doc: Leader epochs of the segment's records, each with its first offset.
  - id: segment_size_in_bytes
    type: s4
    doc: Size of the segment's log file, in bytes.
  - id: custom_metadata
    type: nullable_blob(true)
    doc: Data that the remote storage plugin defines (KIP-917), or null.
  - id: remote_log_segment_state
    type: s1
    doc: >-
      State: 0 copy started, 1 copy finished, 2 deletion started, 3 deletion
      finished.
  - {id: tagged_fields, type: message_tags}
types:
  remote_log_segment_id_entry:
    doc: >-
      A segment in remote storage. A repeated copy of the same segment has a new
      id.
    seq:
      - id: topic_id_partition
        type: topic_id_partition_entry
        doc: Partition of the segment.
      - id: id
        type: uuid
        doc: Random id of the copy.
      - {id: tagged_fields, type: tagged_fields}
  topic_id_partition_entry:
    doc: Partition of a topic, with the name and the id of the topic.
    seq:
      - id: name
        type: text(true)
        doc: Name of the topic.
      - id: id
        type: uuid
        doc: Id of the topic.
      - id: partition
        type: s4
        doc: Number of the partition.
      - {id: tagged_fields, type: tagged_fields}
  segment_leader_epoch_entry:
    doc: A leader epoch with records in the segment.
    seq:
      - id: leader_epoch
        type: s4
        doc: The epoch.
      - id: offset
        type: s8
        doc: First offset of the epoch in the segment.
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
            0: bool8
        -tags:
          0:
            id: txn_index_empty
            doc: >-
              Whether the segment has no aborted transactions, so that readers
              need not fetch its transaction index.
