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
  A key or a value as Confluent's serializer for Protobuf writes it: as
  `confluent_value`, and behind the id which message of the schema it is.

  The header of a record (`__key_schema_id`, `__value_schema_id`) has these
  bytes with an empty `payload` where the id is there.
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
      Which id follows: 0 the registry's number, 1 a GUID. Other values are not
      in use; older readers refuse everything but 0.
  - id: schema
    type:
      switch-on: magic
      cases:
        0: schema_number
        1: schema_guid
    doc: The schema, by its number or its GUID.
  - id: num_message_indexes
    type: varint
    -valid:
      expr: _.value >= 0
    -derive: count_of(message_indexes)
    doc: |
      Number of elements of `message_indexes`. 0 is short for one element that
      is 0: the first message of the schema.
  - id: message_indexes
    type: varint
    -valid:
      expr: _.value >= 0
    repeat: expr
    repeat-expr: num_message_indexes.value
    doc: |
      The place of the message in its schema: the number of the message on the
      top level, then that of the message inside it, and so on; each counts
      from 0. Empty for the first message on the top level.
  - id: payload
    size-eos: true
    doc: The message in Protobuf.
types:
  schema_number:
    doc: A schema as one registry knows it.
    seq:
      - id: number
        type: s4
        doc: Number of the schema in the registry, positive.
  schema_guid:
    doc: A schema as every registry knows it.
    seq:
      - id: guid
        type: uuid
        doc: GUID of the schema.
