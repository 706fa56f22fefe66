meta:
  id: share_snapshot_key
  title: Kafka ShareSnapshotKey (key in __share_group_state)
  license: Apache-2.0
  imports: [../primitives/text, ../primitives/uuid]
  endian: be
-names: PascalCase
-message: {kind: coordinator-key, number: 0, topic: __share_group_state}
doc: >-
  Key of the complete state of a share partition: a partition as one share group
  reads it. A null value deletes the state.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/share-coordinator/src/main/resources/common/message/ShareSnapshotKey.json ShareSnapshotKey
seq:
  - id: record_type
    type: s2
    valid: 0
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
