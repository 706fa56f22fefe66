meta:
  id: share_group_target_assignment_member_value
  title: >-
    Kafka ShareGroupTargetAssignmentMemberValue (value in __consumer_offsets)
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
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-orig-id: ShareGroupTargetAssignmentMemberValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 13
doc: >-
  Target assignment of a share group member: the partitions that it will read.
  Several members can have the same partition.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupTargetAssignmentMemberValue.json ShareGroupTargetAssignmentMemberValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
  - id: num_topic_partitions_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(topic_partitions) + 1
    doc: Number of elements of `topic_partitions`, plus one.
  - id: topic_partitions
    -orig-id: TopicPartitions
    type: topic_partition
    repeat: expr
    repeat-expr: num_topic_partitions_plus_one.value - 1
    doc: The partitions, by topic; empty if the member gets none.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  topic_partition:
    -orig-id: TopicPartition
    doc: Partitions of one topic in the member's target assignment.
    seq:
      - id: topic_id
        -orig-id: TopicId
        type: uuid
        doc: Id of the topic.
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
