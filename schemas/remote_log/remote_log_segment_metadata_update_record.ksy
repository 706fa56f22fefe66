meta:
  id: remote_log_segment_metadata_update_record
  title: >-
    Kafka RemoteLogSegmentMetadataUpdateRecord (record in __remote_log_metadata)
  license: Apache-2.0
  imports:
    - ../primitives/nullable_blob
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/uuid
  endian: be
-names: PascalCase
-versions: 0
-message:
  kind: metadata
  number: 1
  topic: __remote_log_metadata
  flexible: 0+
doc: >-
  The state of a segment in remote storage has changed (KIP-405): its copy is
  complete, or it is being deleted.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemoteLogSegmentMetadataUpdateRecord.json RemoteLogSegmentMetadataUpdateRecord
params:
  - {id: version, type: s2}
seq:
  - id: remote_log_segment_id
    type: remote_log_segment_id_entry
    doc: The segment.
  - id: broker_id
    type: s4
    doc: Id of the broker that wrote the record.
  - id: event_timestamp_ms
    type: s8
    doc: >-
      Time at which the record was created, in milliseconds since 1970-01-01
      UTC.
  - id: custom_metadata
    type: nullable_blob(true)
    doc: Data that the remote storage plugin defines (KIP-917), or null.
  - id: remote_log_segment_state
    type: s1
    doc: >-
      New state: 1 copy finished, 2 deletion started, 3 deletion finished. The
      state cannot change to 0, copy started.
  - {id: tagged_fields, type: tagged_fields}
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
