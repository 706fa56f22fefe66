meta:
  id: fence_broker_record
  title: Kafka FenceBrokerRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields]
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 7, topic: __cluster_metadata, flexible: 0+}
doc: >-
  A broker was fenced. Older controllers write this record; newer ones write
  `broker_registration_change_record`.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/FenceBrokerRecord.json FenceBrokerRecord
params:
  - {id: version, type: s2}
seq:
  - id: id
    type: s4
    doc: Id of the broker.
  - id: epoch
    type: s8
    doc: Epoch of the fenced registration.
  - {id: tagged_fields, type: tagged_fields}
