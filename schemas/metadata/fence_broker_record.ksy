meta:
  id: fence_broker_record
  title: Kafka FenceBrokerRecord (record in __cluster_metadata)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/tagged_fields
  endian: be
-orig-id: FenceBrokerRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 7
doc: >-
  A broker was fenced. Older controllers write this record; newer ones write
  `broker_registration_change_record`.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/FenceBrokerRecord.json FenceBrokerRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: id
    -orig-id: Id
    type: s4
    doc: Id of the broker.
  - id: epoch
    -orig-id: Epoch
    type: s8
    doc: Epoch of the fenced registration.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
