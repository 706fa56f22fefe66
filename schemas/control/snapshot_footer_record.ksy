meta:
  id: snapshot_footer_record
  title: Kafka SnapshotFooterRecord (value of a control record)
  license: Apache-2.0
  imports: [../primitives/tagged_fields]
  endian: be
-names: PascalCase
-message: {flexible: 0+}
doc: |
  Value of the control record that ends a KRaft snapshot (KIP-630). A snapshot
  without it is incomplete.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/SnapshotFooterRecord.json SnapshotFooterRecord
seq:
  - id: version
    -orig-id: Version
    type: s2
    valid: {min: 0, max: 0}
    -default: 0
    doc: Version of the message. Kafka always reads the value as version 0.
  - {id: tagged_fields, type: tagged_fields}
