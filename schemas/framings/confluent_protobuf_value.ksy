meta:
  id: confluent_protobuf_value
  title: Protobuf message framed for a Confluent schema registry
  application: Confluent Schema Registry
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/uuid
    - ../primitives/varint
  endian: be
doc: |
  A key or value as Confluent's serializer for Protobuf writes it: the framing
  of a `confluent_value`, then the index of the message in its schema.

  If the serializer puts the id into a record header (`__key_schema_id` or
  `__value_schema_id`), the header has these bytes with an empty `payload`.
doc-ref: >-
  https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format
  Wire format
seq:
  - id: magic
    type: u1
    valid:
      any-of: [0, 1]
    -default: 0
    doc: |
      Kind of the id that follows: 0 is the schema's number in the registry, 1
      is a GUID. Other values are not used; older readers reject all values but
      0.
  - id: schema
    type:
      switch-on: magic
      cases:
        0: schema_number
        1: schema_guid
    doc: Number or GUID of the schema.
  - id: num_message_indexes
    type: varint
    -valid:
      expr: _.value >= 0
    -derive: count_of(message_indexes)
    doc: |
      Number of elements of `message_indexes`. 0 stands for a single index 0:
      the first message of the schema.
  - id: message_indexes
    type: varint
    -valid:
      expr: _.value >= 0
    repeat: expr
    repeat-expr: num_message_indexes.value
    doc: |
      Path to the message in its schema: the index of the top-level message,
      then the index of the message nested in it, and so on, each from 0. Empty
      for the first top-level message.
  - id: payload
    size-eos: true
    doc: The message, encoded as Protobuf.
types:
  schema_number:
    doc: A schema, by its number in one registry.
    seq:
      - id: number
        type: s4
        doc: Positive number of the schema in the registry.
  schema_guid:
    doc: A schema, by an id that is the same in all registries.
    seq:
      - id: guid
        type: uuid
        doc: GUID of the schema.
