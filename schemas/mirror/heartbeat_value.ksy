meta:
  id: heartbeat_value
  title: Kafka MirrorMaker HeartbeatValue
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
-orig-id: HeartbeatValue
-versions: 0
-flexible: none
-row: true
-topic: heartbeats
-message:
  kind: mirror-value
  number: 0
doc: |
  Value of a heartbeat.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/Heartbeat.java Heartbeat
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    -column: false
    doc: Version of the value.
  - id: timestamp
    -orig-id: timestamp
    type: s8
    -column:
      type: int64
    doc: When it was sent, in milliseconds since 1970-01-01 UTC.
