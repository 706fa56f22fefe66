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
  The level of a feature was finalized for the cluster. Each metadata log and
  snapshot starts with the level of `metadata.version`, so this record always
  has version 0.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/FeatureLevelRecord.json FeatureLevelRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: name
    -orig-id: Name
    type: text(true)
    doc: Name of the feature, such as `metadata.version`.
  - id: feature_level
    -orig-id: FeatureLevel
    type: s2
    doc: Level of the feature from this record on; 0 removes the feature.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
