meta:
  id: no_op_record
  title: Kafka NoOpRecord (record in __cluster_metadata)
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
-orig-id: NoOpRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 20
doc: >-
  Changes nothing. The active controller writes it periodically, so that the end
  of the log moves and followers can measure their lag.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/NoOpRecord.json NoOpRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
