meta:
  id: clear_elr_record
  title: Kafka ClearElrRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields, ../primitives/text]
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 28, topic: __cluster_metadata, flexible: 0+}
doc: >-
  Clears the eligible leader replicas (KIP-966) of one topic or of all topics.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ClearElrRecord.json ClearElrRecord
params:
  - {id: version, type: s2}
seq:
  - id: topic_name
    type: text(true)
    doc: Name of the topic; empty means all topics.
  - {id: tagged_fields, type: tagged_fields}
