meta:
  id: consumer_group_regular_expression_value
  title: Kafka ConsumerGroupRegularExpressionValue (value in __consumer_offsets)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/tagged_fields
    - ../primitives/text
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 16
  topic: __consumer_offsets
  flexible: 0+
doc: >-
  Topics that matched a regular expression of a consumer group when the broker
  last evaluated it.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupRegularExpressionValue.json ConsumerGroupRegularExpressionValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - {id: num_topics, type: count(true)}
  - id: topics
    type: text(true)
    repeat: expr
    repeat-expr: num_topics.value
    doc: Names of the matching topics.
  - id: version_field
    -orig-id: Version
    type: s8
    doc: >-
      Version of the metadata for which the expression was evaluated: an offset
      in `__cluster_metadata`.
  - id: timestamp
    type: s8
    doc: Time of the evaluation, in milliseconds since 1970-01-01 UTC.
  - {id: tagged_fields, type: tagged_fields}
