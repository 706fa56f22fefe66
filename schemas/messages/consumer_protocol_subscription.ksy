meta:
  id: consumer_protocol_subscription
  title: Kafka ConsumerProtocolSubscription (data)
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
    - ../primitives/nullable_text
    - ../primitives/text
  endian: be
-orig-id: ConsumerProtocolSubscription
-versions: 0-3
-flexible: none
doc: >-
  Subscription that a consumer of the classic protocol sends to the group's
  leader when it joins: the topics that it subscribes to, and the partitions
  that it owns. It is the contents of `subscription` in `group_metadata_value`.
  Later versions only append fields, so Kafka reads an unknown version as the
  highest version that it knows.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/clients/src/main/resources/common/message/ConsumerProtocolSubscription.json ConsumerProtocolSubscription
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 3
    doc: Version of the message.
  - id: num_topics
    type: s4
    valid:
      min: 0
    -derive: count_of(topics)
    doc: Number of elements of `topics`.
  - id: topics
    -orig-id: Topics
    type: text(false)
    repeat: expr
    repeat-expr: num_topics
    doc: Names of the topics that the consumer subscribes to.
  - id: user_data
    -orig-id: UserData
    type: nullable_blob(false)
    doc: >-
      Data for the assignor on the leader, in a format that the assignor
      defines, or null.
  - id: num_owned_partitions
    type: s4
    valid:
      min: 0
    if: version >= 1
    -since: 1
    -derive: count_of(owned_partitions)
    doc: Number of elements of `owned_partitions`.
  - id: owned_partitions
    -orig-id: OwnedPartitions
    type: topic_partition
    repeat: expr
    repeat-expr: num_owned_partitions
    if: version >= 1
    -since: 1
    -ignorable: true
    doc: >-
      Partitions that the consumer still owns, for assignors that avoid moving
      partitions.
  - id: generation_id
    -orig-id: GenerationId
    type: s4
    if: version >= 2
    -since: 2
    -ignorable: true
    -default: -1
    doc: >-
      Generation in which `owned_partitions` were assigned to the consumer; -1
      means unknown.
  - id: rack_id
    -orig-id: RackId
    type: nullable_text(false)
    if: version >= 3
    -since: 3
    -ignorable: true
    doc: '`client.rack` of the consumer, or null.'
types:
  topic_partition:
    -orig-id: TopicPartition
    doc: Partitions of one topic that the consumer owns.
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
