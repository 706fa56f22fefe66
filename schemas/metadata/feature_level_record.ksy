meta:
  id: feature_level_record
  title: Kafka FeatureLevelRecord (record in __cluster_metadata)
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
-orig-id: FeatureLevelRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 12
doc: >-
  Kafka's FeatureLevelRecord: record in __cluster_metadata, number 12 of its
  kind; version 0, flexible.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/FeatureLevelRecord.json FeatureLevelRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: name
    -orig-id: Name
    type: text(true)
    doc: A string.
  - id: feature_level
    -orig-id: FeatureLevel
    type: s2
    doc: An int16.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
