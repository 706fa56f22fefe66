meta:
  id: client_quota_record
  title: Kafka ClientQuotaRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports:
    - ../primitives/bool8
    - ../primitives/count
    - ../primitives/nullable_text
    - ../primitives/tagged_fields
    - ../primitives/text
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 14, topic: __cluster_metadata, flexible: 0+}
doc: A client quota was set or removed.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ClientQuotaRecord.json ClientQuotaRecord
params:
  - {id: version, type: s2}
seq:
  - {id: num_entity, type: count(true)}
  - id: entity
    type: entity_data
    repeat: expr
    repeat-expr: num_entity.value
    doc: >-
      Clients that the quota applies to: one element, or two for the combination
      of a user and a client id.
  - id: key
    type: text(true)
    doc: >-
      Name of the quota, such as `producer_byte_rate` or `request_percentage`.
  - id: value
    type: f8
    doc: >-
      Value of the quota, in the unit that its name implies, such as bytes per
      second. Ignored if `remove` is set.
  - id: remove
    type: bool8
    doc: Whether the quota is removed.
  - {id: tagged_fields, type: tagged_fields}
types:
  entity_data:
    doc: One property that identifies clients.
    seq:
      - id: entity_type
        type: text(true)
        doc: 'Type of the property: `user`, `client-id` or `ip`.'
      - id: entity_name
        type: nullable_text(true)
        -default: empty
        doc: >-
          Value of the property; null for the default quota of clients that have
          no quota of their own.
      - {id: tagged_fields, type: tagged_fields}
