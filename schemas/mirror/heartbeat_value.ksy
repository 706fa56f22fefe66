meta:
  id: heartbeat_value
  title: Kafka MirrorMaker HeartbeatValue
  license: Apache-2.0
  endian: be
-names: camelCase
-row: true
-message: {kind: mirror-value, number: 0, topic: heartbeats, flexible: none}
doc: |
  Value of a heartbeat.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/Heartbeat.java Heartbeat
seq:
  - id: version
    type: s2
    valid: {min: 0, max: 0}
    -column: false
    doc: Version of the value.
  - id: timestamp
    type: s8
    doc: When it was sent, in milliseconds since 1970-01-01 UTC.
