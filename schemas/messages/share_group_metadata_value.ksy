meta:
  id: share_group_metadata_value
  title: Kafka ShareGroupMetadataValue (value in __consumer_offsets)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/tagged_fields
  endian: be
-orig-id: ShareGroupMetadataValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 11
doc: Epoch of a share group (KIP-932).
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupMetadataValue.json ShareGroupMetadataValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
  - id: epoch
    -orig-id: Epoch
    type: s4
    doc: >-
      Epoch of the group. It is increased when members, subscriptions or topics
      change, and a new target assignment is then computed.
  - id: metadata_hash
    -orig-id: MetadataHash
    type: s8
    doc: >-
      Hash of the subscribed topics with their partitions and racks, which shows
      whether they have changed; 0 means none.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
