meta:
  id: share_group_metadata_value
  title: Kafka ShareGroupMetadataValue (value in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/tagged_fields]
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 11
  topic: __consumer_offsets
  flexible: 0+
doc: Epoch of a share group (KIP-932).
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupMetadataValue.json ShareGroupMetadataValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - id: epoch
    type: s4
    doc: >-
      Epoch of the group. It is increased when members, subscriptions or topics
      change, and a new target assignment is then computed.
  - id: metadata_hash
    type: s8
    doc: >-
      Hash of the subscribed topics with their partitions and racks, which shows
      whether they have changed; 0 means none.
  - {id: tagged_fields, type: tagged_fields}
