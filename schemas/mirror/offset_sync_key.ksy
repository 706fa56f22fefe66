meta:
  id: offset_sync_key
  title: Kafka MirrorMaker OffsetSyncKey
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
-orig-id: OffsetSyncKey
-row: true
-topic: mm2-offset-syncs.*.internal
-message:
  kind: mirror-key
  number: 0
doc: |
  Key of an offset sync: a topic-partition of the source cluster.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/OffsetSync.java OffsetSync
seq:
  - id: topic
    -orig-id: topic
    type: text(false)
    -column:
      type: string
    doc: Name of the topic in the source cluster. Never null.
  - id: partition
    -orig-id: partition
    type: s4
    -column:
      type: int32
    doc: Number of the partition.
