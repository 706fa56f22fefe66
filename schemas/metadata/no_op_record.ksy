meta:
  id: no_op_record
  title: Kafka NoOpRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields]
  endian: be
-names: camelCase
-versions: 0
-message: {kind: metadata, number: 20, topic: __cluster_metadata, flexible: 0+}
doc: >-
  Changes nothing. The active controller writes it periodically, so that the end
  of the log moves and followers can measure their lag.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/NoOpRecord.json NoOpRecord
params:
  - {id: version, type: s2}
seq:
  - {id: tagged_fields, type: tagged_fields}
