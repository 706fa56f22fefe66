meta:
  id: checkpoint_key
  title: Kafka MirrorMaker CheckpointKey
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
-orig-id: CheckpointKey
-row: true
-topic: '*.checkpoints.internal'
-message:
  kind: mirror-key
  number: 0
doc: |
  Key of a checkpoint: a consumer group, and a topic-partition of the target
  cluster.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/Checkpoint.java Checkpoint
seq:
  - id: group
    -orig-id: group
    type: text(false)
    -column:
      type: string
    doc: Id of the consumer group. Never null.
  - id: topic
    -orig-id: topic
    type: text(false)
    -column:
      type: string
    doc: Name of the topic in the target cluster. Never null.
  - id: partition
    -orig-id: partition
    type: s4
    -column:
      type: int32
    doc: Number of the partition.
