meta:
  id: streams_group_current_member_assignment_key
  title: >-
    Kafka StreamsGroupCurrentMemberAssignmentKey (key in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: PascalCase
-message: {kind: coordinator-key, number: 22, topic: __consumer_offsets}
doc: >-
  Key of the current assignment of a streams group member. A null value means
  that the member has left.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupCurrentMemberAssignmentKey.json StreamsGroupCurrentMemberAssignmentKey
seq:
  - id: record_type
    type: s2
    valid: 22
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    type: text(false)
    doc: Id of the streams group.
  - id: member_id
    type: text(false)
    doc: Id of the member that the tasks are assigned to.
