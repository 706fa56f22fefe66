meta:
  id: share_group_state_partition_metadata_value
  title: >-
    Kafka ShareGroupStatePartitionMetadataValue (value in __consumer_offsets)
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
-orig-id: ShareGroupStatePartitionMetadataValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 15
doc: >-
  Partitions for which the share coordinator keeps state of a share group, or is
  about to create or delete it.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupStatePartitionMetadataValue.json ShareGroupStatePartitionMetadataValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
  - id: num_initializing_topics_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(initializing_topics) + 1
    doc: Number of elements of `initializing_topics`, plus one.
  - id: initializing_topics
    -orig-id: InitializingTopics
    type: topic_partitions_info
    repeat: expr
    repeat-expr: num_initializing_topics_plus_one.value - 1
    doc: >-
      Partitions whose state the share coordinator was asked to create and has
      not yet confirmed.
  - id: num_initialized_topics_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(initialized_topics) + 1
    doc: Number of elements of `initialized_topics`, plus one.
  - id: initialized_topics
    -orig-id: InitializedTopics
    type: topic_partitions_info
    repeat: expr
    repeat-expr: num_initialized_topics_plus_one.value - 1
    doc: Partitions whose state exists.
  - id: num_deleting_topics_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(deleting_topics) + 1
    doc: Number of elements of `deleting_topics`, plus one.
  - id: deleting_topics
    -orig-id: DeletingTopics
    type: topic_info
    repeat: expr
    repeat-expr: num_deleting_topics_plus_one.value - 1
    doc: Topics whose state is being deleted, for all their partitions.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  topic_partitions_info:
    -orig-id: TopicPartitionsInfo
    doc: Partitions of one topic.
    seq:
      - id: topic_id
        -orig-id: TopicId
        type: uuid
        doc: Id of the topic.
      - id: topic_name
        -orig-id: TopicName
        type: text(true)
        doc: Name of the topic.
      - id: num_partitions_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(partitions) + 1
        doc: Number of elements of `partitions`, plus one.
      - id: partitions
        -orig-id: Partitions
        type: s4
        repeat: expr
        repeat-expr: num_partitions_plus_one.value - 1
        doc: Numbers of the partitions.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  topic_info:
    -orig-id: TopicInfo
    doc: One topic.
    seq:
      - id: topic_id
        -orig-id: TopicId
        type: uuid
        doc: Id of the topic.
      - id: topic_name
        -orig-id: TopicName
        type: text(true)
        doc: Name of the topic.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
