meta:
  id: consumer_group_current_member_assignment_key
  title: >-
    Kafka ConsumerGroupCurrentMemberAssignmentKey (key in __consumer_offsets)
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
-orig-id: ConsumerGroupCurrentMemberAssignmentKey
-topic: __consumer_offsets
-message:
  kind: coordinator-key
  number: 8
doc: >-
  Key of the current assignment of a consumer group member. A null value means
  that the member has left.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupCurrentMemberAssignmentKey.json ConsumerGroupCurrentMemberAssignmentKey
seq:
  - id: record_type
    type: s2
    valid:
      eq: 8
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    -orig-id: GroupId
    type: text(false)
    doc: Id of the consumer group.
  - id: member_id
    -orig-id: MemberId
    type: text(false)
    doc: Id of the member that owns the partitions.
