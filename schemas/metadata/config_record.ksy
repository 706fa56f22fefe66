meta:
  id: config_record
  title: Kafka ConfigRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports:
    - ../primitives/nullable_text
    - ../primitives/tagged_fields
    - ../primitives/text
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 4, topic: __cluster_metadata, flexible: 0+}
doc: A dynamic configuration was set or removed.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ConfigRecord.json ConfigRecord
params:
  - {id: version, type: s2}
seq:
  - id: resource_type
    type: s1
    doc: >-
      Type of the configured resource: 2 topic, 4 broker, 16 client metrics, 32
      group.
  - id: resource_name
    type: text(true)
    doc: >-
      Name of the configured resource; for a broker, its id. Empty means the
      default for all brokers.
  - id: name
    type: text(true)
    doc: Name of the configuration, such as `retention.ms`.
  - id: value
    type: nullable_text(true)
    -default: empty
    doc: >-
      Value of the configuration, as text; null removes the configuration.
      Passwords are stored unencrypted.
  - {id: tagged_fields, type: tagged_fields}
