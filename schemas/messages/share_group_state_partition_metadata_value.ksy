meta:
  id: share_group_state_partition_metadata_value
  title: >-
    Kafka ShareGroupStatePartitionMetadataValue (value in __consumer_offsets)
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
  number: 15
  topic: __consumer_offsets
  flexible: 0+
doc: >-
  Partitions for which the share coordinator keeps state of a share group, or is
  about to create or delete it.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupStatePartitionMetadataValue.json ShareGroupStatePartitionMetadataValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - {id: num_initializing_topics, type: count(true)}
  - id: initializing_topics
    type: topic_partitions_info
    repeat: expr
    repeat-expr: num_initializing_topics.value
    doc: >-
      Partitions whose state the share coordinator was asked to create and has
      not yet confirmed.
  - {id: num_initialized_topics, type: count(true)}
  - id: initialized_topics
    type: topic_partitions_info
    repeat: expr
    repeat-expr: num_initialized_topics.value
    doc: Partitions whose state exists.
  - {id: num_deleting_topics, type: count(true)}
  - id: deleting_topics
    type: topic_info
    repeat: expr
    repeat-expr: num_deleting_topics.value
    doc: Topics whose state is being deleted, for all their partitions.
  - {id: tagged_fields, type: tagged_fields}
types:
  topic_partitions_info:
    doc: Partitions of one topic.
    seq:
      - id: topic_id
        type: uuid
        doc: Id of the topic.
      - id: topic_name
        type: text(true)
        doc: Name of the topic.
      - {id: num_partitions, type: count(true)}
      - id: partitions
        type: s4
        repeat: expr
        repeat-expr: num_partitions.value
        doc: Numbers of the partitions.
      - {id: tagged_fields, type: tagged_fields}
  topic_info:
    doc: One topic.
    seq:
      - id: topic_id
        type: uuid
        doc: Id of the topic.
      - id: topic_name
        type: text(true)
        doc: Name of the topic.
      - {id: tagged_fields, type: tagged_fields}
