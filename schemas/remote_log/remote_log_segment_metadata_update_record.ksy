meta:
  id: remote_log_segment_metadata_update_record
  title: >-
    Kafka RemoteLogSegmentMetadataUpdateRecord (record in __remote_log_metadata)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/nullable_blob
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/uuid
  endian: be
-orig-id: RemoteLogSegmentMetadataUpdateRecord
-versions: 0
-flexible: 0+
-topic: __remote_log_metadata
-message:
  kind: metadata
  number: 1
doc: >-
  The state of a segment in remote storage has changed (KIP-405): its copy is
  complete, or it is being deleted.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemoteLogSegmentMetadataUpdateRecord.json RemoteLogSegmentMetadataUpdateRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: remote_log_segment_id
    -orig-id: RemoteLogSegmentId
    type: remote_log_segment_id_entry
    doc: The segment.
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: Id of the broker that wrote the record.
  - id: event_timestamp_ms
    -orig-id: EventTimestampMs
    type: s8
    doc: >-
      Time at which the record was created, in milliseconds since 1970-01-01
      UTC.
  - id: custom_metadata
    -orig-id: CustomMetadata
    type: nullable_blob(true)
    doc: Data that the remote storage plugin defines (KIP-917), or null.
  - id: remote_log_segment_state
    -orig-id: RemoteLogSegmentState
    type: s1
    doc: >-
      New state: 1 copy finished, 2 deletion started, 3 deletion finished. The
      state cannot change to 0, copy started.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
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
