meta:
  id: kraft_version_record
  title: Kafka KRaftVersionRecord (value of a control record)
  license: Apache-2.0
  imports: [../primitives/tagged_fields]
  endian: be
-orig-id: KRaftVersionRecord
-message: {flexible: 0+}
doc: |
  Value of the control record that sets the feature level `kraft.version`
  (KIP-853).
doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/KRaftVersionRecord.json KRaftVersionRecord
seq:
  - id: version
    -orig-id: Version
    type: s2
    valid: {min: 0, max: 0}
    -default: 0
    doc: Version of the message. Kafka always reads the value as version 0.
  - id: kraft_version
    -orig-id: KRaftVersion
    type: s2
    doc: The feature level. From level 1, the set of voters can change.
  - {id: tagged_fields, type: tagged_fields}
