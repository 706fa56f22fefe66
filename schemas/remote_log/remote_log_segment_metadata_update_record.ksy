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
  Kafka's RemoteLogSegmentMetadataUpdateRecord: record in __remote_log_metadata,
  number 1 of its kind; version 0, flexible.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemoteLogSegmentMetadataUpdateRecord.json RemoteLogSegmentMetadataUpdateRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: remote_log_segment_id
    -orig-id: RemoteLogSegmentId
    type: remote_log_segment_id_entry
    doc: A `remote_log_segment_id_entry`.
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: An int32.
  - id: event_timestamp_ms
    -orig-id: EventTimestampMs
    type: s8
    doc: An int64.
  - id: custom_metadata
    -orig-id: CustomMetadata
    type: nullable_blob(true)
    doc: Bytes, or null.
  - id: remote_log_segment_state
    -orig-id: RemoteLogSegmentState
    type: s1
    doc: An int8.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
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
