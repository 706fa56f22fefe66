meta:
  id: offset_sync_key
  title: Kafka MirrorMaker OffsetSyncKey
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: camelCase
-row: true
-message: {kind: mirror-key, number: 0, topic: mm2-offset-syncs.*.internal}
doc: |
  Key of an offset sync: a topic-partition of the source cluster.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/OffsetSync.java OffsetSync
seq:
  - id: topic
    type: text(false)
    doc: Name of the topic in the source cluster. Never null.
  - id: partition
    type: s4
    doc: Number of the partition.
