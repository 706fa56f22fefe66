meta:
  id: consumer_group_partition_metadata_value
  title: Kafka ConsumerGroupPartitionMetadataValue (value in __consumer_offsets)
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
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-orig-id: ConsumerGroupPartitionMetadataValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 4
doc: >-
  Topics that a consumer group subscribed to when its epoch was last increased.
  Written up to Kafka 4.0.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupPartitionMetadataValue.json ConsumerGroupPartitionMetadataValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
  - id: num_topics_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(topics) + 1
    doc: Number of elements of `topics`, plus one.
  - id: topics
    -orig-id: Topics
    type: topic_metadata
    repeat: expr
    repeat-expr: num_topics_plus_one.value - 1
    doc: The subscribed topics that exist.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  topic_metadata:
    -orig-id: TopicMetadata
    doc: A subscribed topic.
    seq:
      - id: topic_id
        -orig-id: TopicId
        type: uuid
        doc: >-
          Id of the topic. A topic that is created again under the same name has
          a new id.
      - id: topic_name
        -orig-id: TopicName
        type: text(true)
        doc: Name of the topic.
      - id: num_partitions
        -orig-id: NumPartitions
        type: s4
        doc: Number of partitions of the topic.
      - id: num_partition_metadata_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(partition_metadata) + 1
        doc: Number of elements of `partition_metadata`, plus one.
      - id: partition_metadata
        -orig-id: PartitionMetadata
        type: partition_metadata
        repeat: expr
        repeat-expr: num_partition_metadata_plus_one.value - 1
        doc: >-
          Racks by partition. Empty if no rack was known, and always empty in
          Kafka 4.0.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  partition_metadata:
    -orig-id: PartitionMetadata
    doc: Racks of one partition.
    seq:
      - id: partition
        -orig-id: Partition
        type: s4
        doc: Number of the partition.
      - id: num_racks_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(racks) + 1
        doc: Number of elements of `racks`, plus one.
      - id: racks
        -orig-id: Racks
        type: text(true)
        repeat: expr
        repeat-expr: num_racks_plus_one.value - 1
        doc: >-
          Racks (`broker.rack`) of the brokers that have a replica, without
          duplicates.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
