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
  Key of a streams group: of the instances of one Kafka Streams application
  (KIP-1071). With a null value the group is gone.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMetadataKey.json StreamsGroupMetadataKey
seq:
  - id: record_type
    type: s2
    valid:
      eq: 17
    doc: Number of the record's type, which says what the key and the value are.
  - id: group_id
    -orig-id: GroupId
    type: text(false)
    doc: Id of the streams group, `application.id` of its members.
