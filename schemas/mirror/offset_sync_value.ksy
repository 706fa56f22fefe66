meta:
  id: offset_sync_value
  title: Kafka MirrorMaker OffsetSyncValue
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
-orig-id: OffsetSyncValue
-row: true
-topic: mm2-offset-syncs.*.internal
-message:
  kind: mirror-value
  number: 0
doc: |
  Value of an offset sync: one record's offset in the source cluster, and in the
  target cluster. Offsets between two syncs have no exact translation.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/OffsetSync.java OffsetSync
seq:
  - id: upstream_offset
    -orig-id: upstreamOffset
    type: s8
    -column:
      type: int64
    doc: Offset in the source cluster.
  - id: offset
    -orig-id: offset
    type: s8
    -column:
      type: int64
    doc: Offset in the target cluster.
