meta:
  id: checkpoint_key
  title: Kafka MirrorMaker CheckpointKey
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: camelCase
-row: true
-message: {kind: mirror-key, number: 0, topic: '*.checkpoints.internal'}
doc: |
  Key of a checkpoint: a consumer group, and a topic-partition of the target
  cluster.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/Checkpoint.java Checkpoint
seq:
  - id: group
    type: text(false)
    doc: Id of the consumer group. Never null.
  - id: topic
    type: text(false)
    doc: Name of the topic in the target cluster. Never null.
  - id: partition
    type: s4
    doc: Number of the partition.
