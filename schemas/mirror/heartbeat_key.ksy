meta:
  id: heartbeat_key
  title: Kafka MirrorMaker HeartbeatKey
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: camelCase
-row: true
-message: {kind: mirror-key, number: 0, topic: heartbeats}
doc: |
  Key of a heartbeat: the direction of a replication.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/Heartbeat.java Heartbeat
seq:
  - id: source_cluster_alias
    type: text(false)
    doc: Alias of the source cluster. Never null.
  - id: target_cluster_alias
    type: text(false)
    doc: Alias of the target cluster. Never null.
