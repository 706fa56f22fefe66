meta:
  id: remote_partition_delete_metadata_record
  title: >-
    Kafka RemotePartitionDeleteMetadataRecord (record in __remote_log_metadata)
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
    - ../primitives/text
    - ../primitives/uuid
  endian: be
-orig-id: RemotePartitionDeleteMetadataRecord
-versions: 0
-flexible: 0+
-topic: __remote_log_metadata
-message:
  kind: metadata
  number: 2
doc: >-
  Kafka's RemotePartitionDeleteMetadataRecord: record in __remote_log_metadata,
  number 2 of its kind; version 0, flexible.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemotePartitionDeleteMetadataRecord.json RemotePartitionDeleteMetadataRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: topic_id_partition
    -orig-id: TopicIdPartition
    type: topic_id_partition_entry
    doc: A `topic_id_partition_entry`.
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: An int32.
  - id: event_timestamp_ms
    -orig-id: EventTimestampMs
    type: s8
    doc: An int64.
  - id: remote_partition_delete_state
    -orig-id: RemotePartitionDeleteState
    type: s1
    doc: An int8.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
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
