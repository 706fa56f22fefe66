meta:
  id: snapshot_header_record
  title: Kafka SnapshotHeaderRecord (value of a control record)
  license: Apache-2.0
  imports: [../primitives/tagged_fields]
  endian: be
-names: PascalCase
-message: {flexible: 0+}
doc: |
  Value of the control record that starts a KRaft snapshot (KIP-630).
doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/SnapshotHeaderRecord.json SnapshotHeaderRecord
seq:
  - id: version
    -orig-id: Version
    type: s2
    valid: {min: 0, max: 0}
    -default: 0
    doc: Version of the message. Kafka always reads the value as version 0.
  - id: last_contained_log_timestamp
    type: s8
    doc: |
      Append time of the last batch that the snapshot covers, in milliseconds
      since 1970-01-01 UTC.
  - {id: tagged_fields, type: tagged_fields}
