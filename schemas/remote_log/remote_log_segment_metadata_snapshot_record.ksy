meta:
  id: remote_log_segment_metadata_snapshot_record
  title: >-
    Kafka RemoteLogSegmentMetadataSnapshotRecord (record in
    __remote_log_metadata)
  license: Apache-2.0
  imports:
    - ../primitives/bool8
    - ../primitives/count
    - ../primitives/nullable_blob
    - ../primitives/tagged_fields
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-names: PascalCase
-versions: 0
-message:
  kind: metadata
  number: 3
  topic: __remote_log_metadata
  flexible: 0+
doc: >-
  A segment in remote storage, in a snapshot of the remote log metadata of one
  partition, therefore without the partition. Kafka defines this record, but
  Kafka 4.4 never stores it.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemoteLogSegmentMetadataSnapshotRecord.json RemoteLogSegmentMetadataSnapshotRecord
params:
  - {id: version, type: s2}
seq:
  - id: segment_id
    type: uuid
    doc: Random id of the segment's copy.
  - id: start_offset
    type: s8
    doc: First offset of the segment.
  - id: end_offset
    type: s8
    doc: Last offset of the segment, inclusive.
  - id: broker_id
    type: s4
    doc: Id of the broker that wrote the latest record of the segment.
  - id: max_timestamp_ms
    type: s8
    doc: >-
      Largest timestamp of the segment's records, in milliseconds since
      1970-01-01 UTC.
  - id: event_timestamp_ms
    type: s8
    doc: >-
      Time at which the latest record of the segment was created, in
      milliseconds since 1970-01-01 UTC.
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
