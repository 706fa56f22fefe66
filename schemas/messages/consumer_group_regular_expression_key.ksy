meta:
  id: consumer_group_regular_expression_key
  title: Kafka ConsumerGroupRegularExpressionKey (key in __consumer_offsets)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/text
  endian: be
-orig-id: ConsumerGroupRegularExpressionKey
-topic: __consumer_offsets
-message:
  kind: coordinator-key
  number: 16
doc: >-
  Key of the topics that match a regular expression of a consumer group. A null
  value means that no member uses the expression any more.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupRegularExpressionKey.json ConsumerGroupRegularExpressionKey
seq:
  - id: record_type
    type: s2
    valid:
      eq: 16
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    -orig-id: GroupId
    type: text(false)
    doc: Id of the consumer group.
  - id: regular_expression
    -orig-id: RegularExpression
    type: text(false)
    doc: The regular expression, in the syntax of RE2/J.
