meta:
  id: share_update_key
  title: Kafka ShareUpdateKey (key in __share_group_state)
  license: Apache-2.0
  imports: [../primitives/text, ../primitives/uuid]
  endian: be
-names: PascalCase
-message: {kind: coordinator-key, number: 1, topic: __share_group_state}
doc: >-
  Key of an update of the state of a share partition. The snapshot of the same
  partition has a key of another type.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/share-coordinator/src/main/resources/common/message/ShareUpdateKey.json ShareUpdateKey
seq:
  - id: record_type
    type: s2
    valid: 1
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    type: text(false)
    doc: Id of the share group.
  - id: topic_id
    type: uuid
    doc: Id of the topic.
  - id: partition
    type: s4
    doc: Number of the partition.
