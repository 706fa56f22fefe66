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
    doc: Which segment it is.
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: Id of the broker that wrote the record.
  - id: event_timestamp_ms
    -orig-id: EventTimestampMs
    type: s8
    doc: When the record was made, in milliseconds since 1970-01-01 UTC.
  - id: custom_metadata
    -orig-id: CustomMetadata
    type: nullable_blob(true)
    doc: Bytes of the remote storage plugin's own (KIP-917). Null is none.
  - id: remote_log_segment_state
    -orig-id: RemoteLogSegmentState
    type: s1
    doc: >-
      State from here on: 1 copy finished, 2 deletion started, 3 deletion
      finished. 0, copy started, is none to change to.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  remote_log_segment_id_entry:
    -orig-id: RemoteLogSegmentIdEntry
    doc: >-
      A segment in remote storage. A repeated copy of the same segment has
      another id.
    seq:
      - id: topic_id_partition
        -orig-id: TopicIdPartition
        type: topic_id_partition_entry
        doc: Partition that the segment is of.
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
