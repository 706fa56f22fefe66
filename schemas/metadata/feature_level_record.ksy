meta:
  id: feature_level_record
  title: Kafka FeatureLevelRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields, ../primitives/text]
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 12, topic: __cluster_metadata, flexible: 0+}
doc: >-
  The level of a feature was finalized for the cluster. Each metadata log and
  snapshot starts with the level of `metadata.version`, so this record always
  has version 0.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/FeatureLevelRecord.json FeatureLevelRecord
params:
  - {id: version, type: s2}
seq:
  - id: name
    type: text(true)
    doc: Name of the feature, such as `metadata.version`.
  - id: feature_level
    type: s2
    doc: Level of the feature from this record on; 0 removes the feature.
  - {id: tagged_fields, type: tagged_fields}
