meta:
  id: streams_group_metadata_key
  title: Kafka StreamsGroupMetadataKey (key in __consumer_offsets)
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
-orig-id: StreamsGroupMetadataKey
-topic: __consumer_offsets
-message:
  kind: coordinator-key
  number: 17
doc: >-
  Key of a streams group: the instances of one Kafka Streams application
  (KIP-1071). A null value means that the group was deleted.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMetadataKey.json StreamsGroupMetadataKey
seq:
  - id: record_type
    type: s2
    valid:
      eq: 17
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    -orig-id: GroupId
    type: text(false)
    doc: Id of the streams group, `application.id` of its members.
