meta:
  id: consumer_protocol_assignment
  title: Kafka ConsumerProtocolAssignment (data)
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
    - ../primitives/text
  endian: be
-orig-id: ConsumerProtocolAssignment
-versions: 0-3
-flexible: none
doc: >-
  Assignment of one consumer by the leader of a classic consumer group: the
  contents of `assignment` in `group_metadata_value`. All versions have the same
  fields.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/clients/src/main/resources/common/message/ConsumerProtocolAssignment.json ConsumerProtocolAssignment
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 3
    doc: Version of the message.
  - id: num_assigned_partitions
    type: s4
    valid:
      min: 0
    -derive: count_of(assigned_partitions)
    doc: Number of elements of `assigned_partitions`.
  - id: assigned_partitions
    -orig-id: AssignedPartitions
    type: topic_partition
    repeat: expr
    repeat-expr: num_assigned_partitions
    doc: >-
      Partitions that are assigned to the consumer, by topic; empty if it gets
      none.
  - id: user_data
    -orig-id: UserData
    type: nullable_blob(false)
    doc: Data of the assignor for its counterpart in the consumer, or null.
types:
  topic_partition:
    -orig-id: TopicPartition
    doc: Partitions of one topic that are assigned to the consumer.
    seq:
      - id: topic
        -orig-id: Topic
        type: text(false)
        doc: Name of the topic.
      - id: num_partitions
        type: s4
        valid:
          min: 0
        -derive: count_of(partitions)
        doc: Number of elements of `partitions`.
      - id: partitions
        -orig-id: Partitions
        type: s4
        repeat: expr
        repeat-expr: num_partitions
        doc: Numbers of the partitions.
