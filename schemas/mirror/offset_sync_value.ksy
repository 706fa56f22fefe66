meta:
  id: offset_sync_value
  title: Kafka MirrorMaker OffsetSyncValue
  license: Apache-2.0
  endian: be
-names: camelCase
-row: true
-message: {kind: mirror-value, number: 0, topic: mm2-offset-syncs.*.internal}
doc: |
  Value of an offset sync: one record's offset in the source cluster, and in the
  target cluster. Offsets between two syncs have no exact translation.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/OffsetSync.java OffsetSync
seq:
  - id: upstream_offset
    type: s8
    doc: Offset in the source cluster.
  - id: offset
    type: s8
    doc: Offset in the target cluster.
