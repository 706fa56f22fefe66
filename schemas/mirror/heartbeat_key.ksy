meta:
  id: heartbeat_key
  title: Kafka MirrorMaker HeartbeatKey
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
-orig-id: HeartbeatKey
-row: true
-topic: heartbeats
-message:
  kind: mirror-key
  number: 0
doc: |
  Key of a heartbeat: the direction of a replication.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/Heartbeat.java Heartbeat
seq:
  - id: source_cluster_alias
    -orig-id: sourceClusterAlias
    type: text(false)
    -column:
      type: string
    doc: Alias of the source cluster. Never null.
  - id: target_cluster_alias
    -orig-id: targetClusterAlias
    type: text(false)
    -column:
      type: string
    doc: Alias of the target cluster. Never null.
