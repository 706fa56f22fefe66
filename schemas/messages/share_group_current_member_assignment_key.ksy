meta:
  id: share_group_current_member_assignment_key
  title: Kafka ShareGroupCurrentMemberAssignmentKey (key in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: PascalCase
-message: {kind: coordinator-key, number: 14, topic: __consumer_offsets}
doc: >-
  Key of the current assignment of a share group member. A null value means that
  the member has left.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupCurrentMemberAssignmentKey.json ShareGroupCurrentMemberAssignmentKey
seq:
  - id: record_type
    type: s2
    valid: 14
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    type: text(false)
    doc: Id of the share group.
  - id: member_id
    type: text(false)
    doc: Id of the member that the partitions are assigned to.
