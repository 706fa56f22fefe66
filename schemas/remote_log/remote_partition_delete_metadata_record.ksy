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
  A partition in remote storage is being deleted, with all its segments
  (KIP-405).
doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemotePartitionDeleteMetadataRecord.json RemotePartitionDeleteMetadataRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: topic_id_partition
    -orig-id: TopicIdPartition
    type: topic_id_partition_entry
    doc: The partition.
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: >-
      Id of the node that wrote the record: the controller for state 0,
      otherwise the leader of the partition of the metadata topic.
  - id: event_timestamp_ms
    -orig-id: EventTimestampMs
    type: s8
    doc: >-
      Time at which the record was created, in milliseconds since 1970-01-01
      UTC.
  - id: remote_partition_delete_state
    -orig-id: RemotePartitionDeleteState
    type: s1
    doc: >-
      State: 0 marked for deletion, 1 deletion started, 2 deletion finished.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
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
