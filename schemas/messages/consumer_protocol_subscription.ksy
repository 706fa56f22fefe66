meta:
  id: consumer_protocol_subscription
  title: Kafka ConsumerProtocolSubscription (data)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/nullable_blob
    - ../primitives/nullable_text
    - ../primitives/text
  endian: be
-names: PascalCase
-message: {flexible: none}
doc: >-
  Subscription that a consumer of the classic protocol sends to the group's
  leader when it joins: the topics that it subscribes to, and the partitions
  that it owns. It is the contents of `subscription` in `group_metadata_value`.
  Later versions only append fields, so Kafka reads an unknown version as the
  highest version that it knows.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/clients/src/main/resources/common/message/ConsumerProtocolSubscription.json ConsumerProtocolSubscription
seq:
  - {id: version, type: s2, valid: {min: 0, max: 3}}
  - {id: num_topics, type: count(false)}
  - id: topics
    type: text(false)
    repeat: expr
    repeat-expr: num_topics.value
    doc: Names of the topics that the consumer subscribes to.
  - id: user_data
    type: nullable_blob(false)
    doc: >-
      Data for the assignor on the leader, in a format that the assignor
      defines, or null.
  - {id: num_owned_partitions, type: count(false), if: version >= 1}
  - id: owned_partitions
    type: topic_partition
    repeat: expr
    repeat-expr: num_owned_partitions.value
    if: version >= 1
    -ignorable: true
    doc: >-
      Partitions that the consumer still owns, for assignors that avoid moving
      partitions.
  - id: generation_id
    type: s4
    if: version >= 2
    -ignorable: true
    -default: -1
    doc: >-
      Generation in which `owned_partitions` were assigned to the consumer; -1
      means unknown.
  - id: rack_id
    type: nullable_text(false)
    if: version >= 3
    -ignorable: true
    doc: '`client.rack` of the consumer, or null.'
types:
  topic_partition:
    doc: Partitions of one topic that the consumer owns.
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
