meta:
  id: consumer_protocol_assignment
  title: Kafka ConsumerProtocolAssignment (data)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/nullable_blob
    - ../primitives/text
  endian: be
-names: PascalCase
-message: {flexible: none}
doc: >-
  Assignment of one consumer by the leader of a classic consumer group: the
  contents of `assignment` in `group_metadata_value`. All versions have the same
  fields.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/clients/src/main/resources/common/message/ConsumerProtocolAssignment.json ConsumerProtocolAssignment
seq:
  - {id: version, type: s2, valid: {min: 0, max: 3}}
  - {id: num_assigned_partitions, type: count(false)}
  - id: assigned_partitions
    type: topic_partition
    repeat: expr
    repeat-expr: num_assigned_partitions.value
    doc: >-
      Partitions that are assigned to the consumer, by topic; empty if it gets
      none.
  - id: user_data
    type: nullable_blob(false)
    doc: Data of the assignor for its counterpart in the consumer, or null.
types:
  topic_partition:
    doc: Partitions of one topic that are assigned to the consumer.
    seq:
      - id: topic
        type: text(false)
        doc: Name of the topic.
      - {id: num_partitions, type: count(false)}
      - id: partitions
        type: s4
        repeat: expr
        repeat-expr: num_partitions.value
        doc: Numbers of the partitions.
