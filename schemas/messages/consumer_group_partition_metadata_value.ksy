meta:
  id: consumer_group_partition_metadata_value
  title: Kafka ConsumerGroupPartitionMetadataValue (value in __consumer_offsets)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/uuid
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 4
  topic: __consumer_offsets
  flexible: 0+
doc: >-
  Topics that a consumer group subscribed to when its epoch was last increased.
  Written up to Kafka 4.0.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupPartitionMetadataValue.json ConsumerGroupPartitionMetadataValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - {id: num_topics, type: count(true)}
  - id: topics
    type: topic_metadata
    repeat: expr
    repeat-expr: num_topics.value
    doc: The subscribed topics that exist.
  - {id: tagged_fields, type: tagged_fields}
types:
  topic_metadata:
    doc: A subscribed topic.
    seq:
      - id: topic_id
        type: uuid
        doc: >-
          Id of the topic. A topic that is created again under the same name has
          a new id.
      - id: topic_name
        type: text(true)
        doc: Name of the topic.
      - id: num_partitions
        type: s4
        doc: Number of partitions of the topic.
      - {id: num_partition_metadata, type: count(true)}
      - id: partition_metadata
        type: partition_metadata
        repeat: expr
        repeat-expr: num_partition_metadata.value
        doc: >-
          Racks by partition. Empty if no rack was known, and always empty in
          Kafka 4.0.
      - {id: tagged_fields, type: tagged_fields}
  partition_metadata:
    doc: Racks of one partition.
    seq:
      - id: partition
        type: s4
        doc: Number of the partition.
      - {id: num_racks, type: count(true)}
      - id: racks
        type: text(true)
        repeat: expr
        repeat-expr: num_racks.value
        doc: >-
          Racks (`broker.rack`) of the brokers that have a replica, without
          duplicates.
      - {id: tagged_fields, type: tagged_fields}
