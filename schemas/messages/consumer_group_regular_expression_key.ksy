meta:
  id: consumer_group_regular_expression_key
  title: Kafka ConsumerGroupRegularExpressionKey (key in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: PascalCase
-message: {kind: coordinator-key, number: 16, topic: __consumer_offsets}
doc: >-
  Key of the topics that match a regular expression of a consumer group. A null
  value means that no member uses the expression any more.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupRegularExpressionKey.json ConsumerGroupRegularExpressionKey
seq:
  - id: record_type
    type: s2
    valid: 16
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    type: text(false)
    doc: Id of the consumer group.
  - id: regular_expression
    type: text(false)
    doc: The regular expression, in the syntax of RE2/J.
