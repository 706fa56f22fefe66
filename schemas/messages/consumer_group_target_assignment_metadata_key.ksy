meta:
  id: consumer_group_target_assignment_metadata_key
  title: >-
    Kafka ConsumerGroupTargetAssignmentMetadataKey (key in __consumer_offsets)
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
-orig-id: ConsumerGroupTargetAssignmentMetadataKey
-topic: __consumer_offsets
-message:
  kind: coordinator-key
  number: 6
doc: >-
  Key of the epoch of a consumer group's target assignment. A null value means
  that there is no target assignment.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupTargetAssignmentMetadataKey.json ConsumerGroupTargetAssignmentMetadataKey
seq:
  - id: record_type
    type: s2
    valid:
      eq: 6
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    -orig-id: GroupId
    type: text(false)
    doc: Id of the consumer group.
