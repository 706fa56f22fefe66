meta:
  id: checkpoint_value
  title: Kafka MirrorMaker CheckpointValue
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
-orig-id: CheckpointValue
-versions: 0
-flexible: none
-row: true
-topic: '*.checkpoints.internal'
-message:
  kind: mirror-value
  number: 0
doc: |
  Value of a checkpoint: the offset that the group has committed in the source
  cluster, and its translation.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/Checkpoint.java Checkpoint
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    -column: false
    doc: Version of the value.
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
  - id: metadata
    -orig-id: metadata
    type: text(false)
    -column:
      type: string
    doc: Metadata of the commit. Never null.
