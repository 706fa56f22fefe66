meta:
  id: consumer_group_regular_expression_value
  title: Kafka ConsumerGroupRegularExpressionValue (value in __consumer_offsets)
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
  endian: be
-orig-id: ConsumerGroupRegularExpressionValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 16
doc: >-
  Topics that matched a regular expression of a consumer group when the broker
  last evaluated it.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupRegularExpressionValue.json ConsumerGroupRegularExpressionValue
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
    type: text(true)
    repeat: expr
    repeat-expr: num_topics_plus_one.value - 1
    doc: Names of the matching topics.
  - id: version_field
    -orig-id: Version
    type: s8
    doc: >-
      Version of the metadata for which the expression was evaluated: an offset
      in `__cluster_metadata`.
  - id: timestamp
    -orig-id: Timestamp
    type: s8
    doc: Time of the evaluation, in milliseconds since 1970-01-01 UTC.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
