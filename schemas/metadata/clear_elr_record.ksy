meta:
  id: clear_elr_record
  title: Kafka ClearElrRecord (record in __cluster_metadata)
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
    - ../primitives/text
  endian: be
-orig-id: ClearElrRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 28
doc: >-
  Clears the eligible leader replicas (KIP-966) of one topic or of all topics.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ClearElrRecord.json ClearElrRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: topic_name
    -orig-id: TopicName
    type: text(true)
    doc: Name of the topic; empty means all topics.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
