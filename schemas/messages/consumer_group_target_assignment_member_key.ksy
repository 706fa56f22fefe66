meta:
  id: consumer_group_target_assignment_member_key
  title: >-
    Kafka ConsumerGroupTargetAssignmentMemberKey (key in __consumer_offsets)
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
-orig-id: ConsumerGroupTargetAssignmentMemberKey
-topic: __consumer_offsets
-message:
  kind: coordinator-key
  number: 7
doc: >-
  Key of the target assignment of a consumer group member. A null value means
  that the member has left.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupTargetAssignmentMemberKey.json ConsumerGroupTargetAssignmentMemberKey
seq:
  - id: record_type
    type: s2
    valid:
      eq: 7
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    -orig-id: GroupId
    type: text(false)
    doc: Id of the consumer group.
  - id: member_id
    -orig-id: MemberId
    type: text(false)
    doc: Id of the member that the partitions are assigned to.
