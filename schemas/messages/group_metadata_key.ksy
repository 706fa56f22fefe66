meta:
  id: group_metadata_key
  title: Kafka GroupMetadataKey (key in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: camelCase
-message: {kind: coordinator-key, number: 2, topic: __consumer_offsets}
doc: >-
  Key of a classic consumer group, whose leader computes the assignment. A null
  value means that the group was deleted; its offsets have separate records.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/GroupMetadataKey.json GroupMetadataKey
seq:
  - id: record_type
    type: s2
    valid: 2
    doc: Record type, which determines the schemas of the key and the value.
  - id: group
    type: text(false)
    doc: Id of the group, `group.id` of its members.
