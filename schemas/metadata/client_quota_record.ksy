meta:
  id: client_quota_record
  title: Kafka ClientQuotaRecord (record in __cluster_metadata)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/bool8
    - ../primitives/nullable_text
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
  endian: be
-orig-id: ClientQuotaRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 14
doc: A client quota was set or removed.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ClientQuotaRecord.json ClientQuotaRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: num_entity_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(entity) + 1
    doc: Number of elements of `entity`, plus one.
  - id: entity
    -orig-id: Entity
    type: entity_data
    repeat: expr
    repeat-expr: num_entity_plus_one.value - 1
    doc: >-
      Clients that the quota applies to: one element, or two for the combination
      of a user and a client id.
  - id: key
    -orig-id: Key
    type: text(true)
    doc: >-
      Name of the quota, such as `producer_byte_rate` or `request_percentage`.
  - id: value
    -orig-id: Value
    type: f8
    doc: >-
      Value of the quota, in the unit that its name implies, such as bytes per
      second. Ignored if `remove` is set.
  - id: remove
    -orig-id: Remove
    type: bool8
    doc: Whether the quota is removed.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  entity_data:
    -orig-id: EntityData
    doc: One property that identifies clients.
    seq:
      - id: entity_type
        -orig-id: EntityType
        type: text(true)
        doc: 'Type of the property: `user`, `client-id` or `ip`.'
      - id: entity_name
        -orig-id: EntityName
        type: nullable_text(true)
        -default: empty
        doc: >-
          Value of the property; null for the default quota of clients that have
          no quota of their own.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
