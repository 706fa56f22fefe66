meta:
  id: share_group_state_partition_metadata_key
  title: Kafka ShareGroupStatePartitionMetadataKey (key in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: PascalCase
-message: {kind: coordinator-key, number: 15, topic: __consumer_offsets}
doc: >-
  Key of the partitions for which the share coordinator keeps state of a share
  group. A null value means that the group was deleted.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupStatePartitionMetadataKey.json ShareGroupStatePartitionMetadataKey
seq:
  - id: record_type
    type: s2
    valid: 15
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    type: text(false)
    doc: Id of the share group.
