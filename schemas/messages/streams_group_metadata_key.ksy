meta:
  id: streams_group_metadata_key
  title: Kafka StreamsGroupMetadataKey (key in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: PascalCase
-message: {kind: coordinator-key, number: 17, topic: __consumer_offsets}
doc: >-
  Key of a streams group: the instances of one Kafka Streams application
  (KIP-1071). A null value means that the group was deleted.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMetadataKey.json StreamsGroupMetadataKey
seq:
  - id: record_type
    type: s2
    valid: 17
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    type: text(false)
    doc: Id of the streams group, `application.id` of its members.
