meta:
  id: checkpoint_value
  title: Kafka MirrorMaker CheckpointValue
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: camelCase
-row: true
-message:
  kind: mirror-value
  number: 0
  topic: '*.checkpoints.internal'
  flexible: none
doc: |
  Value of a checkpoint: the offset that the group has committed in the source
  cluster, and its translation.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/Checkpoint.java Checkpoint
seq:
  - id: version
    type: s2
    valid: {min: 0, max: 0}
    -column: false
    doc: Version of the value.
  - id: upstream_offset
    type: s8
    doc: Offset in the source cluster.
  - id: offset
    type: s8
    doc: Offset in the target cluster.
  - id: metadata
    type: text(false)
    doc: Metadata of the commit. Never null.
