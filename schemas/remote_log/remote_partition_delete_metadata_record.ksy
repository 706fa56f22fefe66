meta:
  id: remote_partition_delete_metadata_record
  title: >-
    Kafka RemotePartitionDeleteMetadataRecord (record in __remote_log_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields, ../primitives/text, ../primitives/uuid]
  endian: be
-names: PascalCase
-versions: 0
-message:
  kind: metadata
  number: 2
  topic: __remote_log_metadata
  flexible: 0+
doc: >-
  A partition in remote storage is being deleted, with all its segments
  (KIP-405).
doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemotePartitionDeleteMetadataRecord.json RemotePartitionDeleteMetadataRecord
params:
  - {id: version, type: s2}
seq:
  - id: topic_id_partition
    type: topic_id_partition_entry
    doc: The partition.
  - id: broker_id
    type: s4
    doc: >-
      Id of the node that wrote the record: the controller for state 0,
      otherwise the leader of the partition of the metadata topic.
  - id: event_timestamp_ms
    type: s8
    doc: >-
      Time at which the record was created, in milliseconds since 1970-01-01
      UTC.
  - id: remote_partition_delete_state
    type: s1
    doc: >-
      State: 0 marked for deletion, 1 deletion started, 2 deletion finished.
  - {id: tagged_fields, type: tagged_fields}
types:
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
